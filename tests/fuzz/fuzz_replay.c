/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz_replay.c - a file from a user: dpactl replay, from the reader of the file to the QPs that get
 * its packets. The input is a byte for the options (enum how), then a pcap or pcapng file; or (CHUNKS)
 * packets, which become a file here with right ICRCs, as a fuzzer finds none: a byte that says whether
 * the packet is an answer, length (16 bits), UDP payload. Twice the same events; no access beyond the
 * file, no memory that stays; the reduced capture is one.
 */
#include <stdlib.h>
#include <string.h>
#include "replay.h"
#include "wire/pcap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

enum how {
	ROLE = 3, /* 0: both */
	FEW_RECEIVES = 1 << 2,
	DCQCN = 1 << 3,
	CHUNKS = 1 << 4,
	RETRIES = 1 << 5, /* few */
	NO_TIMEOUT = 1 << 6,
	REGION = 1 << 7,
};

struct bytes {
	uint8_t *p;
	size_t n, room;
};

static bool add(void *arg, const void *p, size_t n)
{
	struct bytes *b = arg;

	if (b->n + n > b->room) {
		b->room = 2 * (b->n + n);
		b->p = realloc(b->p, b->room);
		MUST(b->p);
	}
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return true;
}

/* FNV-1a over what is shown of each event. */
static void note(void *arg, const struct dpa_replay_event *e)
{
	uint64_t *hash = arg;
	const uint64_t of[] = {e->what,	  e->mark,	e->ns,	       e->no,	      e->other,
			       e->again,  e->pkt.psn,	e->pkt.opcode, e->is.epsn,    e->is.una,
			       e->is.max, e->wc.status, e->wc.wr_id,   e->vendor_err, e->ncounts};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		*hash = (*hash ^ of[i]) * 0x100000001b3ull;
	MUST(memchr(e->text, 0, sizeof(e->text)));
}

static void set_options(struct dpa_replay_opt *o, uint8_t how)
{
	*o = (struct dpa_replay_opt){.role = how & ROLE ? how & ROLE : DPA_REPLAY_BOTH,
				     .receives = how & FEW_RECEIVES ? 2 : DPA_REPLAY_CAPTURED,
				     .timeout = how & NO_TIMEOUT ? 0 : 14,
				     .retry = how & RETRIES ? 1 : 7,
				     .rnr_retry = how & RETRIES ? 1 : 7,
				     .rd = 16,
				     .dcqcn = how & DCQCN,
				     .most_events = 3000,
				     .most_read = 1 << 16};
	if (how & REGION) {
		o->nregions = 1;
		o->region[0] = (struct dpa_replay_region){
			.rkey = 0x1234, .addr = 0x1003, .len = 9000, .access = 0xf};
	}
}

/* A file of the packets in the input. */
static void make_file(const uint8_t *data, size_t size, struct bytes *b)
{
	static const uint8_t side[2][16] = {{[10] = 0xff, [11] = 0xff, 10, 0, 0, 1},
					    {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2}};
	uint8_t block[DPA_PCAPNG_PACKET_MAX(8192)], packet[8192];
	uint32_t n = dpa_pcapng_begin(block, sizeof(block), "a", "b");
	uint64_t ns = 0;

	add(b, block, n);
	for (size_t at = 0; size - at >= 3;) {
		const uint8_t how = data[at];
		size_t len = data[at + 1] | (size_t)data[at + 2] << 8;
		struct dpa_roce_net net = {.sport = 50000, .dport = DPA_ROCE_PORT, .df = true};
		struct dpa_roce_pkt k;

		at += 3;
		len = len > size - at ? size - at : len;
		ns += (uint64_t)(how >> 2) * 50000;
		memcpy(net.src, side[how & 1], 16);
		memcpy(net.dst, side[!(how & 1)], 16);
		if (dpa_roce_decode(data + at, len, &k) == DPA_ROCE_OK) {
			k.dqpn = k.dqpn == 1 ? 1 : 0x11 + (how & 1);
			n = dpa_roce_encode_all(&net, &k, packet, sizeof(packet));
			n = dpa_pcapng_packet(block, sizeof(block), ns, DPA_PCAPNG_UNKNOWN, NULL,
					      &net, packet, n);
			add(b, block, n);
		}
		at += len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t first = 0xcbf29ce484222325ull, again = first;
	struct bytes file = {0}, less = {0};
	struct dpa_replay_sum a = {0}, b = {0};
	struct dpa_replay_opt o;
	char err[128];
	bool ok;

	if (size < 4)
		return 0;
	set_options(&o, data[0]);
	if (data[0] & CHUNKS)
		make_file(data + 1, size - 1, &file);
	else
		add(&file, data + 1, size - 1);
	ok = dpa_replay_run(file.p, file.n, &o, note, &first, &a, err, sizeof(err));
	MUST(dpa_replay_run(file.p, file.n, &o, note, &again, &b, err, sizeof(err)) == ok);
	MUST(first == again && !memcmp(&a, &b, sizeof(a)));
	if (dpa_replay_reduce(file.p, file.n, &o, false, add, &less, err, sizeof(err)))
		MUST(dpa_replay_run(less.p, less.n, &o, note, &again, &b, err, sizeof(err)));
	free(file.p);
	free(less.p);
	return 0;
}
