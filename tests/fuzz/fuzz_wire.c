/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz_wire.c - the reader of packet files and the codec: the input is a file, a packet and a
 * message of the CM. Accepted data lies inside the input, and is equal when encoded again.
 */
#include <stdlib.h>
#include <dpa_mad.h>
#include <wire/pcap.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static void check_again(const struct dpa_roce_net *net, const struct dpa_roce_pkt *k, size_t n)
{
	uint8_t buf[DPA_ROCE_MAX_MTU + DPA_ROCE_MAX_HDR + 8];
	struct dpa_roce_net other = *net;
	struct dpa_roce_pkt again;
	uint16_t id;
	bool df;

	MUST(dpa_roce_encode_all(net, k, buf, sizeof(buf)) == n);
	MUST(dpa_roce_decode(buf, n, &again) == DPA_ROCE_OK);
	MUST(dpa_icrc_ok(net, buf, n));
	other.ip_id = 0;
	MUST(dpa_icrc_solve(&other, buf, n, &id, &df));
	if (dpa_roce_is_v4(net))
		MUST(id == net->ip_id && df == net->df);
	MUST(!memcmp(again.payload, k->payload, k->len));
	again.payload = k->payload;
	again.icrc = k->icrc;
	MUST(!memcmp(&again, k, sizeof(again)));
}

/*
 * Read the input as a message of the CM: in a separate buffer, so that an access beyond it is
 * detected.
 */
static void message(const uint8_t *data, size_t size)
{
	uint8_t *p = malloc(DPA_MAD_BYTES), again[DPA_MAD_BYTES];
	struct dpa_mad m, back;

	MUST(p);
	for (size_t i = 0; i < DPA_MAD_BYTES; i++)
		p[i] = i < size ? data[i] : 0;
	p[0] = 1; /* fields common to all messages, so that the others are reached */
	p[1] = 7;
	p[2] = 2;
	p[3] = 3;
	if (dpa_mad_decode(p, DPA_MAD_BYTES, &m) == DPA_MAD_OK) {
		MUST(dpa_mad_encode(&m, again));
		MUST(dpa_mad_decode(again, sizeof(again), &back) == DPA_MAD_OK);
		MUST(!memcmp(&m, &back, sizeof(m)));
	}
	p[16] = 0;
	p[17] = (uint8_t)(DPA_CM_REQ + p[17] % 9);
	MUST(dpa_mad_decode(p, DPA_MAD_BYTES, &m) != DPA_MAD_ATTR);
	MUST(dpa_mad_encode(&m, again) == (m.attr != 0));
	free(p);
}

static void packet(const struct dpa_roce_net *net, const uint8_t *p, size_t n)
{
	struct dpa_roce_pkt k;
	enum dpa_roce_verdict v = dpa_roce_decode(p, n, &k);
	uint16_t id;
	bool df, right = dpa_icrc_ok(net, p, n);

	MUST(v < DPA_ROCE_VERDICTS && dpa_roce_verdict_name(v));
	MUST(dpa_icrc_solve(net, p, n, &id, &df) >= right);
	if (v != DPA_ROCE_OK)
		return;
	MUST(k.payload >= p && k.payload + k.len + k.pad + DPA_ROCE_ICRC == p + n);
	check_again(net, &k, n);
}

static void write_again(const struct dpa_pcap_rec *r, const struct dpa_roce_net *net,
			const uint8_t *p, size_t n)
{
	uint32_t room = DPA_PCAPNG_BEGIN_MAX + DPA_PCAPNG_PACKET_MAX((uint32_t)n), len, w;
	uint8_t *buf = malloc(room);
	struct dpa_pcap_rec back;
	struct dpa_roce_net got;
	const char *why;
	struct dpa_pcap f;
	const uint8_t *q;
	size_t m;

	MUST(buf);
	len = dpa_pcapng_begin(buf, room, "a", "b");
	w = dpa_pcapng_packet(buf + len, room - len, r->ns, DPA_PCAPNG_IN, "comment", net, p,
			      (uint32_t)n);
	MUST(len && w && dpa_pcap_open(&f, buf, len + w) && dpa_pcap_next(&f, &back) == 1);
	MUST(back.ns == r->ns && dpa_pcap_udp(&back, &got, &q, &m, &why) == DPA_PCAP_ROCE);
	MUST(m == n && !memcmp(q, p, n) && !memcmp(&got, net, sizeof(got)));
	free(buf);
}

static void entry(const struct dpa_pcap_rec *r)
{
	size_t n = 0;
	const char *text = dpa_pcap_journal(r, "MESSAGE", &n);

	MUST(!text || (text >= (const char *)r->p && text + n <= (const char *)r->p + r->n));
}

static void file(const uint8_t *data, size_t size)
{
	struct dpa_roce_net net;
	struct dpa_pcap_rec r;
	struct dpa_pcap f;
	const char *why;
	const uint8_t *p;
	size_t n;
	int rc = -1;

	if (dpa_pcap_open(&f, data, size))
		while ((rc = dpa_pcap_next(&f, &r)) == 1) {
			MUST(r.p >= data && r.p + r.n <= data + size && r.at < size);
			if (r.journal)
				entry(&r);
			if (dpa_pcap_udp(&r, &net, &p, &n, &why) != DPA_PCAP_ROCE)
				continue;
			MUST(p >= r.p && p + n <= r.p + r.n);
			packet(&net, p, n);
			write_again(&r, &net, p, n);
		}
	MUST(rc == 0 || (f.why && f.at <= size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dpa_roce_net net = {.src = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1},
				   .dst = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2},
				   .ip_id = 77};

	message(data, size);
	packet(&net, data, size);
	net.dst[0] = 1;
	packet(&net, data, size);
	file(data, size);
	return 0;
}
