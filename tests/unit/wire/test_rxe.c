/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_rxe.c - packets of kernel rxe, recorded on the wire (tests/pcaps/README.md). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "util.h"

typedef void packet_fn(const struct dpa_pcap_rec *r, const struct dpa_roce_net *net,
		       const uint8_t *p, size_t n);

static uint32_t each_packet(const char *name, packet_fn *fn)
{
	const char *why = NULL;
	struct dpa_roce_net net;
	struct dpa_pcap_rec r;
	struct dpa_pcap f;
	const uint8_t *p;
	uint32_t count = 0;
	size_t len, n;
	uint8_t *file = pcap_load(name, &len);
	int rc;

	cr_assert(dpa_pcap_open(&f, file, len), "%s: %s", name, f.why);
	while ((rc = dpa_pcap_next(&f, &r)) == 1) {
		cr_assert_eq(dpa_pcap_udp(&r, &net, &p, &n, &why), DPA_PCAP_ROCE, "%s: %s", name,
			     why);
		fn(&r, &net, p, n);
		count++;
	}
	cr_assert_eq(rc, 0, "%s: %s", name, f.why);
	free(file);
	return count;
}

static void all_files(packet_fn *fn)
{
	uint32_t count = 0;

	for (int i = 0; pcap_names[i]; i++)
		count += each_packet(pcap_names[i], fn);
	cr_assert_eq(count, 1004); /* number that tcpdump counts */
}

static void decodes(const struct dpa_pcap_rec *r, const struct dpa_roce_net *net, const uint8_t *p,
		    size_t n)
{
	struct dpa_roce_pkt k;
	enum dpa_roce_verdict v = dpa_roce_decode(p, n, &k);

	cr_assert_eq(v, DPA_ROCE_OK, "at %zu: %s", r->at, dpa_roce_verdict_name(v));
	cr_assert_eq(k.pkey, DPA_ROCE_PKEY);
	cr_assert(dpa_icrc_ok(net, p, n), "at %zu", r->at);
	cr_assert_eq(k.icrc, dpa_icrc_of(net, p, n));
}

/* IBA CA17-22 */
Test(wire_rxe, every_packet_decodes_and_its_icrc_is_right)
{
	all_files(decodes);
}

static void same_again(const struct dpa_pcap_rec *r, const struct dpa_roce_net *net,
		       const uint8_t *p, size_t n)
{
	uint8_t buf[DPA_ROCE_MAX_MTU + DPA_ROCE_MAX_HDR + 8];
	struct dpa_roce_pkt k;

	dpa_roce_decode(p, n, &k);
	cr_assert_eq(dpa_roce_encode_all(net, &k, buf, sizeof(buf)), n, "at %zu", r->at);
	cr_assert_arr_eq(buf, p, n, "at %zu", r->at);
	cr_assert_eq(dpa_roce_encode_all(net, &k, buf, (uint32_t)n - 1), 0);
}

Test(wire_rxe, every_packet_is_the_same_when_encoded_again)
{
	all_files(same_again);
}

static void solves(const struct dpa_pcap_rec *r, const struct dpa_roce_net *net, const uint8_t *p,
		   size_t n)
{
	struct dpa_roce_net unknown = *net;
	uint16_t id;
	bool df;

	unknown.ip_id = 0x5555;
	unknown.df = !net->df;
	cr_assert(dpa_icrc_solve(&unknown, p, n, &id, &df), "at %zu", r->at);
	cr_assert_eq(id, net->ip_id, "at %zu: %x, not %x", r->at, id, net->ip_id);
	cr_assert_eq(df, net->df);
}

Test(wire_rxe, the_icrc_tells_identification_and_df)
{
	all_files(solves);
}

static void headers(const struct dpa_pcap_rec *r, const struct dpa_roce_net *net, const uint8_t *p,
		    size_t n)
{
	uint8_t buf[DPA_RAW_MAX_HDR];
	uint32_t len = dpa_raw_headers(net, (uint32_t)n, buf);

	cr_assert_eq(r->n, 14 + len + n);
	cr_assert_arr_eq(buf, r->p + 14, len, "at %zu", r->at);
}

/* The kernel made the headers' bytes, checksum included. */
Test(wire_rxe, ip_and_udp_headers_are_the_same_when_made_again)
{
	all_files(headers);
}
