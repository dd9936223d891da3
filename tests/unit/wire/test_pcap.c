/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>
#include "util.h"

#define DAMAGED 20000

/* ---- A file in the making, in either byte order */

struct out {
	uint8_t b[4096];
	size_t n;
	bool big; /* the order that is not this machine's */
};

static void w16(struct out *o, uint16_t v)
{
	v = o->big ? __builtin_bswap16(v) : v;
	memcpy(o->b + o->n, &v, 2);
	o->n += 2;
}

static void w32(struct out *o, uint32_t v)
{
	v = o->big ? __builtin_bswap32(v) : v;
	memcpy(o->b + o->n, &v, 4);
	o->n += 4;
}

static void wbytes(struct out *o, const void *p, size_t n)
{
	memcpy(o->b + o->n, p, n);
	o->n += n;
}

/* Make a RoCE packet without link header: UC SEND Only of 4 bytes. Return its length. */
static uint32_t raw(uint8_t *buf, const struct dpa_roce_net *net)
{
	const struct dpa_roce_pkt k = {.opcode = 0x24,
				       .pkey = 0xffff,
				       .dqpn = 0x77,
				       .payload = (const uint8_t *)"four",
				       .len = 4};
	uint32_t h = dpa_raw_headers(net, 20, buf);

	return h + dpa_roce_encode_all(net, &k, buf + h, 64);
}

static void classic(struct out *o, uint32_t magic, uint32_t link, uint32_t frac, const void *frame,
		    uint32_t n)
{
	w32(o, magic);
	w16(o, 2);
	w16(o, 4);
	w32(o, 0);
	w32(o, 0);
	w32(o, 65535);
	w32(o, link);
	w32(o, 1000);
	w32(o, frac);
	w32(o, n);
	w32(o, n);
	wbytes(o, frame, n);
}

static bool same_net(const struct dpa_roce_net *a, const struct dpa_roce_net *b)
{
	return !memcmp(a->src, b->src, sizeof(a->src)) && !memcmp(a->dst, b->dst, sizeof(a->dst)) &&
	       a->sport == b->sport && a->dport == b->dport && a->ip_id == b->ip_id &&
	       a->df == b->df && a->tclass == b->tclass && a->hop == b->hop && a->flow == b->flow;
}

static void expect_roce(const struct dpa_pcap_rec *r, const struct dpa_roce_net *want)
{
	const char *why = NULL;
	struct dpa_roce_net net;
	const uint8_t *p;
	size_t n;

	cr_assert_eq(dpa_pcap_udp(r, &net, &p, &n, &why), DPA_PCAP_ROCE, "link %u: %s", r->link,
		     why);
	cr_expect_eq(n, 20);
	cr_expect(same_net(&net, want));
	cr_expect(dpa_icrc_ok(&net, p, n));
}

Test(wire_pcap, both_byte_orders_micro_and_nanoseconds)
{
	struct dpa_roce_net net = net_v4();
	uint8_t frame[128];
	uint32_t n = raw(frame, &net);

	for (int i = 0; i < 4; i++) {
		struct out o = {.big = i & 1};
		struct dpa_pcap_rec r;
		struct dpa_pcap f;

		classic(&o, i & 2 ? 0xa1b23c4d : 0xa1b2c3d4, 101, 5, frame, n);
		cr_assert(dpa_pcap_open(&f, o.b, o.n));
		cr_assert_eq(dpa_pcap_next(&f, &r), 1);
		cr_expect_eq(r.ns, 1000000000000 + (i & 2 ? 5 : 5000));
		expect_roce(&r, &net);
		cr_expect_eq(dpa_pcap_next(&f, &r), 0);
	}
}

/* ---- Link types: what precedes the IP packet */

static void with_link(uint32_t link, const void *head, uint32_t hlen, bool v6)
{
	struct dpa_roce_net net = v6 ? net_v6() : net_v4();
	uint8_t frame[160];
	struct dpa_pcap_rec r = {.link = (uint16_t)link, .p = frame};

	memcpy(frame, head, hlen);
	r.n = r.len = hlen + raw(frame + hlen, &net);
	expect_roce(&r, &net);
}

Test(wire_pcap, link_types)
{
	static const uint8_t eth4[14] = {[12] = 8}, eth6[14] = {[12] = 0x86, 0xdd};
	static const uint8_t vlan[18] = {[12] = 0x81, 0, 0, 5, 8};
	static const uint8_t qinq[22] = {[12] = 0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 0x86, 0xdd};
	static const uint8_t sll[16] = {[14] = 8}, sll2[20] = {0x86, 0xdd};
	static const uint8_t null[4] = {2}, loop[4] = {[3] = 24};

	with_link(1, eth4, 14, false);
	with_link(1, eth6, 14, true);
	with_link(1, vlan, 18, false);
	with_link(1, qinq, 22, true);
	with_link(113, sll, 16, false);
	with_link(276, sll2, 20, true);
	with_link(0, null, 4, false);
	with_link(108, loop, 4, true);
	with_link(12, "", 0, false);
	with_link(14, "", 0, true);
	with_link(101, "", 0, true);
	with_link(228, "", 0, false);
	with_link(229, "", 0, true);
}

/* Return the verdict on a raw IPv4 packet with one byte changed, truncated to n bytes. */
static enum dpa_pcap_kind kind_of(size_t at, uint8_t to, uint32_t n, const char **why)
{
	struct dpa_roce_net net = net_v4();
	struct dpa_pcap_rec r = {.link = 101};
	enum dpa_pcap_kind k;
	uint8_t frame[128], *p;
	size_t len;

	r.len = raw(frame, &net);
	frame[at] = to;
	r.n = n && n < r.len ? n : r.len;
	r.p = p = malloc(r.n);
	memcpy(p, frame, r.n);
	*why = "";
	k = dpa_pcap_udp(&r, &net, (const uint8_t **)&p, &len, why);
	free((void *)r.p);
	return k;
}

Test(wire_pcap, other_packets_differ_from_bad_ones)
{
	const char *why;

	cr_expect_eq(kind_of(0, 0x45, 0, &why), DPA_PCAP_ROCE);
	cr_expect_eq(kind_of(0, 0x55, 0, &why), DPA_PCAP_OTHER);
	cr_expect_eq(kind_of(0, 0x44, 0, &why), DPA_PCAP_OTHER);
	cr_expect_eq(kind_of(9, 6, 0, &why), DPA_PCAP_OTHER);	  /* TCP */
	cr_expect_eq(kind_of(6, 0x20, 0, &why), DPA_PCAP_OTHER);  /* more fragments */
	cr_expect_eq(kind_of(7, 1, 0, &why), DPA_PCAP_OTHER);	  /* a later fragment */
	cr_expect_eq(kind_of(22, 0x13, 0, &why), DPA_PCAP_OTHER); /* another port */
	cr_expect_eq(kind_of(25, 100, 0, &why), DPA_PCAP_BAD);	  /* UDP's length */
	cr_expect_str_eq(why, "the lengths of IP and UDP do not agree");
	cr_expect_eq(kind_of(25, 7, 0, &why), DPA_PCAP_BAD);
	cr_expect_eq(kind_of(0, 0x45, 47, &why), DPA_PCAP_BAD);
	cr_expect_str_eq(why, "not captured whole");
	for (uint32_t n = 1; n < 28; n++)
		cr_expect_eq(kind_of(0, 0x45, n, &why), DPA_PCAP_OTHER);
}

Test(wire_pcap, options_of_ip_are_refused)
{
	struct dpa_roce_net net = net_v4();
	struct dpa_pcap_rec r = {.link = 101};
	uint8_t frame[128], opt[132];
	const char *why = "";
	const uint8_t *p;
	size_t n;
	uint32_t len = raw(frame, &net);

	memcpy(opt, frame, 20);
	memset(opt + 20, 1, 4);
	memcpy(opt + 24, frame + 20, len - 20);
	opt[0] = 0x46;
	opt[3] += 4;
	r.p = opt;
	r.n = r.len = len + 4;
	cr_expect_eq(dpa_pcap_udp(&r, &net, &p, &n, &why), DPA_PCAP_BAD);
	cr_expect_str_eq(why, "IPv4 options");
}

/* Found by fuzzing: it was taken for IPv4, with the ICRC of another header. */
Test(wire_pcap, mapped_addresses_are_refused_in_ipv6_headers)
{
	struct dpa_roce_net net = net_v6(), v4 = net_v4();
	struct dpa_pcap_rec r = {.link = 101};
	const char *why = "";
	const uint8_t *p;
	uint8_t frame[128];
	size_t n;

	r.p = frame;
	r.n = r.len = raw(frame, &net);
	memcpy(frame + 24, v4.dst, 16);
	cr_expect_eq(dpa_pcap_udp(&r, &net, &p, &n, &why), DPA_PCAP_BAD);
	cr_expect_str_eq(why, "an IPv4 address in an IPv6 header");
}

Test(wire_pcap, link_headers_that_are_cut_off)
{
	static const uint16_t links[] = {0, 1, 101, 108, 113, 276, 9999};
	const uint8_t vlans[24] = {[12] = 0x81, 0, 0, 5, 0x81, 0, 0, 5, 0x81, 0, 0, 5};
	struct dpa_roce_net net;
	const uint8_t *udp;
	const char *why;
	size_t len;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		for (uint32_t n = 0; n <= sizeof(vlans); n++) {
			uint8_t *p = malloc(n ? n : 1);
			struct dpa_pcap_rec r = {.link = links[i], .p = p, .n = n, .len = n};

			memcpy(p, vlans, n);
			cr_expect_eq(dpa_pcap_udp(&r, &net, &udp, &len, &why), DPA_PCAP_OTHER);
			free(p);
		}
}

/* ---- pcapng */

static void shb(struct out *o)
{
	w32(o, 0x0a0d0d0a);
	w32(o, 28);
	w32(o, 0x1a2b3c4d);
	w16(o, 1);
	w16(o, 0);
	w32(o, ~0u);
	w32(o, ~0u);
	w32(o, 28);
}

/* An interface with if_tsresol res; 0: without. */
static void idb(struct out *o, uint16_t link, uint8_t res, uint32_t snap)
{
	uint32_t len = res ? 32 : 20;

	w32(o, 1);
	w32(o, len);
	w16(o, link);
	w16(o, 0);
	w32(o, snap);
	if (res) {
		w16(o, 9);
		w16(o, 1);
		wbytes(o, (uint8_t[]){res, 0, 0, 0}, 4);
		w32(o, 0);
	}
	w32(o, len);
}

static void epb(struct out *o, uint32_t id, uint64_t t, const uint8_t *p, uint32_t n)
{
	w32(o, 6);
	w32(o, 32 + (n + 3) / 4 * 4);
	w32(o, id);
	w32(o, (uint32_t)(t >> 32));
	w32(o, (uint32_t)t);
	w32(o, n);
	w32(o, n);
	wbytes(o, p, (n + 3) / 4 * 4);
	w32(o, 32 + (n + 3) / 4 * 4);
}

static void spb(struct out *o, const uint8_t *p, uint32_t n)
{
	w32(o, 3);
	w32(o, 16 + n);
	w32(o, n);
	wbytes(o, p, n);
	w32(o, 16 + n);
}

Test(wire_pcap, pcapng_blocks_both_byte_orders)
{
	static const struct {
		uint8_t res;
		uint64_t t, ns;
	} times[] = {{0, 5000001, 5000001000}, {9, 5000001, 5000001},
		     {3, 5001, 5001000000},    {0x80 | 1, 3, 1500000000},
		     {19, 50000000000, 5},     {0x80 | 32, 1ull << 33, 2000000000}};
	struct dpa_roce_net net = net_v4();
	uint8_t frame[128];
	uint32_t n = raw(frame, &net);

	for (int big = 0; big < 2; big++) {
		struct out o = {.big = big};
		struct dpa_pcap_rec r;
		struct dpa_pcap f;

		shb(&o);
		for (int i = 0; i < 6; i++)
			idb(&o, 101, times[i].res, 0);
		w32(&o, 0xbad); /* a block of an unknown kind */
		w32(&o, 12);
		w32(&o, 12);
		for (uint32_t i = 0; i < 6; i++)
			epb(&o, i, times[i].t, frame, n);
		spb(&o, frame, n);
		cr_assert(dpa_pcap_open(&f, o.b, o.n));
		for (int i = 0; i < 7; i++) {
			cr_assert_eq(dpa_pcap_next(&f, &r), 1, "%s", f.why);
			cr_expect_eq(r.ns, i < 6 ? times[i].ns : 0, "%d: %llu", i,
				     (unsigned long long)r.ns);
			expect_roce(&r, &net);
		}
		cr_expect_eq(dpa_pcap_next(&f, &r), 0);
	}
}

Test(wire_pcap, sections_have_their_own_order_and_interfaces)
{
	uint8_t frame[128] = {0};
	struct out o = {0};
	struct dpa_pcap_rec r;
	struct dpa_pcap f;

	shb(&o);
	idb(&o, 101, 0, 0);
	o.big = true;
	shb(&o);
	idb(&o, 1, 0, 0);
	epb(&o, 0, 1, frame, 20);
	shb(&o);
	epb(&o, 0, 1, frame, 20);
	cr_assert(dpa_pcap_open(&f, o.b, o.n));
	cr_assert_eq(dpa_pcap_next(&f, &r), 1);
	cr_expect_eq(r.link, 1);
	cr_expect_eq(dpa_pcap_next(&f, &r), -1);
	cr_expect_str_eq(f.why, "a packet of an interface that is not described");
	cr_expect_eq(dpa_pcap_next(&f, &r), -1); /* and stays so */
}

/* ---- Damage: the reason and where */

static void refused(const struct out *o, size_t n, const char *why, size_t at)
{
	uint8_t *p = malloc(n ? n : 1); /* a read past the end is seen by sanitizers */
	struct dpa_pcap_rec r;
	struct dpa_pcap f;
	int rc = -1;

	memcpy(p, o->b, n);
	if (dpa_pcap_open(&f, p, n))
		while ((rc = dpa_pcap_next(&f, &r)) == 1)
			;
	cr_expect_eq(rc, -1, "%s", why);
	cr_expect_str_eq(f.why, why);
	cr_expect_eq(f.at, at, "%s: at %zu", why, f.at);
	free(p);
}

static void poke32(struct out *o, size_t at, uint32_t v)
{
	memcpy(o->b + at, &v, 4);
}

Test(wire_pcap, damaged_pcap)
{
	uint8_t frame[20] = {0};
	struct out o = {0};

	classic(&o, 0xa1b2c3d4, 101, 0, frame, 20);
	refused(&o, 3, "too short for a file of packets", 0);
	refused(&o, 23, "the file header is cut off", 0);
	refused(&o, 25, "a record's header is cut off", 24);
	refused(&o, 24 + 16 + 19, "a record is cut off", 32);
	poke32(&o, 32, 0x7fffffff);
	refused(&o, o.n, "a record is longer than any packet", 32);
	o.b[4] = 3;
	refused(&o, o.n, "unknown version of the pcap format", 4);
	o.b[0] = 0;
	refused(&o, o.n, "neither pcap nor pcapng", 0);
}

/* The file: SHB at 0, IDB with an option at 28, EPB at 60. */
static struct out small_ng(void)
{
	uint8_t frame[20] = {0};
	struct out o = {0};

	shb(&o);
	idb(&o, 101, 9, 0);
	epb(&o, 0, 0, frame, 20);
	return o;
}

static void poked(size_t at, uint32_t v, const char *why, size_t where)
{
	struct out o = small_ng();

	poke32(&o, at, v);
	refused(&o, o.n, why, where);
}

Test(wire_pcap, damaged_pcapng)
{
	struct out o = small_ng();

	refused(&o, 20, "a section header is cut off", 0);
	refused(&o, 28 + 11, "a block is cut off", 28);
	refused(&o, o.n - 1, "a block is cut off", 64);
	poked(8, 5, "a section header without its byte order", 8);
	poked(12, 2, "unknown version of the pcapng format", 12);
	poked(4, 24, "a section header is too short", 4);
	poked(32, 8, "a block with an impossible length", 32);
	poked(32, 33, "a block with an impossible length", 32);
	poked(32, 0xfffffffc, "a block is cut off", 32);
	poked(56, 36, "a block's two lengths differ", 56);
	poked(44, 9 | 200 << 16, "an option is longer than its block", 44);
	poked(48, 77, "a time resolution that does not fit 64 bits", 28);
	poked(68, 1, "a packet of an interface that is not described", 68);
	poked(80, 21, "a packet is longer than its block", 80);
	poked(80, ~0u, "a packet is longer than its block", 80);
}

static void short_block(uint32_t type, const char *why, size_t at)
{
	struct out o = {0};

	shb(&o);
	w32(&o, type);
	w32(&o, 12);
	w32(&o, 12);
	refused(&o, o.n, why, at);
}

Test(wire_pcap, damaged_pcapng_blocks)
{
	struct out o = {0};

	short_block(1, "an interface block is too short", 32);
	short_block(3, "a packet block is too short", 32);
	short_block(6, "a packet block is too short", 32);
	shb(&o);
	spb(&o, o.b, 4);
	refused(&o, o.n, "a packet of an interface that is not described", 28);
	o.n = 0;
	shb(&o);
	idb(&o, 101, 0, 0);
	spb(&o, o.b, 4);
	poke32(&o, 28 + 20 + 8, 5);
	refused(&o, o.n, "a packet is longer than its block", 28 + 20 + 8);
	o.n = 0;
	shb(&o);
	for (int i = 0; i < DPA_PCAP_IFS + 1; i++)
		idb(&o, 101, 0, 0);
	refused(&o, o.n, "more interfaces than this program takes", 28 + 20 * DPA_PCAP_IFS);
}

Test(wire_pcap, simple_blocks_are_cut_at_the_snap_length)
{
	uint8_t frame[20] = {0};
	struct out o = {0};
	struct dpa_pcap_rec r;
	struct dpa_pcap f;

	shb(&o);
	idb(&o, 101, 0, 20);
	spb(&o, frame, 20);
	poke32(&o, 28 + 20 + 8, 5000);
	cr_assert(dpa_pcap_open(&f, o.b, o.n));
	cr_assert_eq(dpa_pcap_next(&f, &r), 1);
	cr_expect_eq(r.n, 20);
	cr_expect_eq(r.len, 5000);
}

/* ---- files that were written are read */

Test(wire_pcap, what_is_written_is_read)
{
	const struct dpa_roce_net nets[2] = {net_v4(), net_v6()};
	static uint8_t file[8192];
	uint8_t frame[128], old[128];
	struct dpa_pcap_rec r;
	struct dpa_pcap f;
	uint32_t n = dpa_pcapng_begin(file, sizeof(file), "dpa0", "the test");

	cr_assert(n && n % 4 == 0);
	for (int i = 0; i < 8; i++) {
		uint32_t len = raw(frame, &nets[i & 1]), h = i & 1 ? 48 : 28, w;

		memset(old, 0x55, sizeof(old));
		cr_expect_eq(dpa_pcapng_packet(old, len, 0, DPA_PCAPNG_IN, NULL, &nets[i & 1],
					       frame + h, len - h),
			     0);
		cr_expect_eq(old[0], 0x55);
		w = dpa_pcapng_packet(file + n, DPA_PCAPNG_PACKET_MAX(len - h),
				      1700000000123456789u,
				      i & 2 ? DPA_PCAPNG_OUT : DPA_PCAPNG_UNKNOWN,
				      i & 4 ? "a comment of some length" : NULL, &nets[i & 1],
				      frame + h, len - h);
		cr_assert(w && w % 4 == 0);
		n += w;
	}
	cr_assert(dpa_pcap_open(&f, file, n));
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(dpa_pcap_next(&f, &r), 1, "%s at %zu", f.why, f.at);
		cr_expect_eq(r.ns, 1700000000123456789u);
		cr_expect_eq(r.link, 101);
		expect_roce(&r, &nets[i & 1]);
	}
	cr_expect_eq(dpa_pcap_next(&f, &r), 0);
}

/* Skipped by readers that do not have this type of block; a row among the packets in Wireshark. */
Test(wire_pcap, entries_of_a_journal)
{
	uint8_t file[DPA_PCAPNG_BEGIN_MAX + 2 * DPA_PCAPNG_ENTRY_MAX];
	const uint64_t ns = 1700000000123456000u;
	struct dpa_roce_net net;
	struct dpa_pcap_rec r;
	const uint8_t *udp;
	const char *why, *v;
	struct dpa_pcap f;
	char text[1000];
	uint32_t n, w;
	size_t len;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[3] = '\n';
	n = dpa_pcapng_begin(file, sizeof(file), "dpa0", "the test");
	cr_expect_eq(dpa_pcapng_entry(file + n, DPA_PCAPNG_ENTRY_MAX - 1, ns, "a", 7, "b"), 0);
	w = dpa_pcapng_entry(file + n, DPA_PCAPNG_ENTRY_MAX, ns, "a", 4711, "injected: reg_mr=EIO");
	cr_assert(w && w % 4 == 0);
	n += w;
	w = dpa_pcapng_entry(file + n, DPA_PCAPNG_ENTRY_MAX, ns, text, UINT32_MAX, text);
	cr_assert(w && w <= DPA_PCAPNG_ENTRY_MAX && w % 4 == 0);
	cr_assert(dpa_pcap_open(&f, file, n + w));
	cr_assert_eq(dpa_pcap_next(&f, &r), 1, "%s", f.why);
	cr_expect(r.journal);
	cr_expect_eq(r.ns, ns);
	v = dpa_pcap_journal(&r, "MESSAGE", &len);
	cr_expect(v && len == 20 && !memcmp(v, "injected: reg_mr=EIO", len));
	v = dpa_pcap_journal(&r, "_PID", &len);
	cr_expect(v && len == 4 && !memcmp(v, "4711", len));
	cr_expect_null(dpa_pcap_journal(&r, "PID", &len));
	cr_expect_null(dpa_pcap_journal(&r, "MESSAG", &len));
	cr_expect_eq(dpa_pcap_udp(&r, &net, &udp, &len, &why), DPA_PCAP_OTHER);
	cr_assert_eq(dpa_pcap_next(&f, &r), 1, "%s", f.why);
	v = dpa_pcap_journal(&r, "MESSAGE", &len);
	cr_expect(v && len > 99 && !memcmp(v, "xxx xxx", 7));
	cr_expect_eq(dpa_pcap_next(&f, &r), 0);
}

/* Of any length, also without a text. */
Test(wire_pcap, short_entries_of_a_journal)
{
	struct dpa_pcap_rec r;
	struct dpa_pcap f;

	for (uint32_t n = 0; n < 12; n += 4) {
		struct out o = {0};
		size_t len;

		shb(&o);
		w32(&o, 9);
		w32(&o, 12 + n);
		wbytes(&o, "A=bc\n=\nA=\0\0", n);
		w32(&o, 12 + n);
		cr_assert(dpa_pcap_open(&f, o.b, o.n));
		cr_assert_eq(dpa_pcap_next(&f, &r), 1, "%s", f.why);
		cr_expect_eq(dpa_pcap_journal(&r, "A", &len) != NULL, n > 0);
		cr_expect_eq(r.ns, 0u);
		cr_expect_eq(dpa_pcap_next(&f, &r), 0);
	}
}

/* It was the mark of an entry, and the file chooses it. */
Test(wire_pcap, frames_of_link_type_65535_are_no_entries)
{
	static const uint8_t frame[12] = "MESSAGE=none"; /* no zero at its end */
	const uint32_t n = sizeof(frame);
	struct out files[2] = {0};

	classic(&files[0], 0xa1b2c3d4, 0xffff, 0, frame, n);
	shb(&files[1]);
	idb(&files[1], 0xffff, 0, 0);
	for (int i = 0; i < 2; i++) { /* an entry before the frame leaves no mark */
		w32(&files[1], 9);
		w32(&files[1], 12);
		w32(&files[1], 12);
		if (i)
			epb(&files[1], 0, 1, frame, n);
		else
			spb(&files[1], frame, n);
	}
	for (int i = 0; i < 2; i++) {
		struct dpa_pcap_rec r;
		struct dpa_roce_net net;
		struct dpa_pcap f;
		const uint8_t *udp;
		const char *why;
		int frames = 0;
		size_t len;

		cr_assert(dpa_pcap_open(&f, files[i].b, files[i].n));
		while (dpa_pcap_next(&f, &r) == 1) {
			cr_expect_eq(r.journal, i && !r.n);
			cr_expect_eq(r.link, r.journal ? 0 : 0xffff);
			cr_expect_eq(dpa_pcap_udp(&r, &net, &udp, &len, &why), DPA_PCAP_OTHER);
			frames += !r.journal;
		}
		cr_expect_eq(frames, 1 + i, "%s", f.why);
	}
}

/* The last line of the text may have no end, and the text may end the file. */
Test(wire_pcap, fields_of_an_entry_without_a_last_line_end)
{
	static const char text[] = "A=1\nB=22";
	char *p = malloc(sizeof(text) - 1); /* a read past the end is seen by sanitizers */
	struct dpa_pcap_rec r = {.journal = true, .p = (uint8_t *)p, .n = sizeof(text) - 1};
	const char *v;
	size_t n;

	cr_assert(p);
	memcpy(p, text, sizeof(text) - 1);
	v = dpa_pcap_journal(&r, "B", &n);
	cr_expect(v == p + 6 && n == 2);
	cr_expect_null(dpa_pcap_journal(&r, "C", &n));
	free(p);
}

Test(wire_pcap, long_names_and_comments_are_cut)
{
	struct dpa_roce_net net = net_v6();
	uint8_t file[DPA_PCAPNG_BEGIN_MAX + DPA_PCAPNG_PACKET_MAX(3)], n3[3] = {1, 2, 3};
	char text[1000];
	struct dpa_pcap_rec r;
	struct dpa_pcap f;
	uint32_t n, w;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect_eq(dpa_pcapng_begin(file, DPA_PCAPNG_BEGIN_MAX - 1, text, text), 0);
	n = dpa_pcapng_begin(file, DPA_PCAPNG_BEGIN_MAX, text, text);
	cr_assert(n && n <= DPA_PCAPNG_BEGIN_MAX);
	w = dpa_pcapng_packet(file + n, DPA_PCAPNG_PACKET_MAX(3), 1, DPA_PCAPNG_IN, text, &net, n3,
			      3);
	cr_assert(w && w <= DPA_PCAPNG_PACKET_MAX(3));
	cr_assert(dpa_pcap_open(&f, file, n + w));
	cr_expect_eq(dpa_pcap_next(&f, &r), 1, "%s", f.why);
	cr_expect_eq(r.n, 51);
	cr_expect_eq(dpa_pcap_next(&f, &r), 0);
}

/* ---- At random: whatever was damaged, the reader ends and stays inside */

static void read_all(const uint8_t *file, size_t n)
{
	const char *why = "";
	struct dpa_roce_net net;
	struct dpa_roce_pkt k;
	struct dpa_pcap_rec r;
	struct dpa_pcap f;
	const uint8_t *p;
	size_t len;
	int rc = -1;

	if (dpa_pcap_open(&f, file, n))
		while ((rc = dpa_pcap_next(&f, &r)) == 1) {
			cr_assert(r.p >= file && r.p + r.n <= file + n);
			if (dpa_pcap_udp(&r, &net, &p, &len, &why) != DPA_PCAP_ROCE)
				continue;
			cr_assert(p >= r.p && p + len <= r.p + r.n);
			dpa_roce_decode(p, len, &k);
		}
	cr_assert(rc == 0 || (f.why && f.at <= n));
}

Test(wire_pcap, damaged_files_at_random)
{
	struct rnd rnd = {(uint64_t)time(NULL) | 1};
	struct out ng = small_ng();
	size_t n;
	uint8_t *file = pcap_load("srq_pingpong", &n);

	cr_log_info("seed %llu", (unsigned long long)rnd.s);
	for (int i = 0; i < DAMAGED; i++) {
		size_t len = i & 1 ? ng.n : n > 2000 ? 2000 : n;
		uint8_t *p;

		len -= i & 2 ? rnd_next(&rnd) % len : 0;
		p = malloc(len);
		memcpy(p, i & 1 ? ng.b : file, len);
		for (uint32_t k = rnd_next(&rnd) % 4; k; k--)
			p[rnd_next(&rnd) % len] = (uint8_t)rnd_next(&rnd);
		read_all(p, len);
		free(p);
	}
	free(file);
}
