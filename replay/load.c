/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* load.c - the RoCEv2 packets of a file; what was cut off by a snap length becomes zeros. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

#define MOST_PACKETS 2000000u
#define MOST_CUT                                                                                   \
	(DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + 256u) /* bytes of a frame that is completed */

static struct rp_pkt *new_packet(struct rp *rp)
{
	struct rp_pkt *all = rp->pkt;

	if (rp->npkt == rp->rpkt) {
		rp->rpkt = rp->rpkt ? 2 * rp->rpkt : 256;
		all = realloc(all, rp->rpkt * sizeof(*all));
		if (!all)
			return NULL;
		rp->pkt = all;
	}
	return memset(&all[rp->npkt], 0, sizeof(*all));
}

/*
 * The frame with zeros behind what was captured. False: no memory. Its lengths are checked by
 * dpa_pcap_udp(), for which it must be as long as it was.
 */
static bool complete_frame(struct rp_pkt *p, struct dpa_pcap_rec *r)
{
	if (r->len <= r->n || r->len > MOST_CUT)
		return true;
	p->own = calloc(1, r->len);
	if (!p->own)
		return false;
	memcpy(p->own, r->p, r->n);
	r->p = p->own;
	r->n = r->len;
	p->cut = true;
	return true;
}

/* Bytes of the UDP payload that were captured: the headers must be among them. */
static bool headers_there(const struct rp_pkt *p, size_t captured)
{
	const size_t before = (size_t)(p->p - p->own);

	return captured >= before + DPA_ROCE_BTH && captured >= before + dpa_roce_hdr_len(p->p[0]);
}

/* False: no memory. */
static bool take_frame(struct rp *rp, uint32_t no, uint64_t ns, struct dpa_pcap_rec *r)
{
	struct rp_pkt *p = new_packet(rp);
	const size_t captured = r->n;
	enum dpa_pcap_kind kind;
	const char *why;
	size_t n = 0;

	if (!p || !complete_frame(p, r))
		return false;
	kind = dpa_pcap_udp(r, &p->net, &p->p, &n, &why);
	if (kind != DPA_PCAP_ROCE || n > RP_PACKET || (p->cut && !headers_there(p, captured))) {
		rp->sum.other += kind == DPA_PCAP_OTHER;
		rp->sum.malformed += kind != DPA_PCAP_OTHER;
		free(p->own);
		return true;
	}
	p->no = no;
	p->ns = ns;
	p->n = (uint32_t)n;
	p->flow = p->made = RP_NONE;
	p->verdict = dpa_roce_decode(p->p, n, &p->k);
	p->icrc = p->cut || dpa_icrc_ok(&p->net, p->p, n);
	rp->sum.packets++;
	rp->sum.cut += p->cut;
	rp->sum.malformed += p->verdict != DPA_ROCE_OK;
	rp->sum.icrc += !p->icrc;
	rp->npkt++;
	return true;
}

bool rp_load(struct rp *rp, const uint8_t *file, size_t n)
{
	uint64_t first = 0, ns = 0;
	struct dpa_pcap_rec r;
	struct dpa_pcap f;
	bool begun = false;
	uint32_t no = 0;
	int rc = 0;

	if (!dpa_pcap_open(&f, file, n)) {
		snprintf(rp->err, rp->errlen, "%s", f.why);
		return false;
	}
	while (!rp_halted(rp) && (rc = dpa_pcap_next(&f, &r)) == 1) {
		no++;
		if (r.journal)
			continue;
		if (!begun)
			first = r.ns;
		begun = true;
		if (r.ns > first + ns) /* a packet without time has that of the one before */
			ns = r.ns - first;
		if (rp->npkt == MOST_PACKETS) {
			snprintf(rp->err, rp->errlen, "more than %u RoCEv2 packets", MOST_PACKETS);
			return false;
		}
		if (!take_frame(rp, no, ns, &r)) {
			snprintf(rp->err, rp->errlen, "no memory for its packets");
			return false;
		}
	}
	rp->damaged = rc < 0;
	if (rc < 0)
		snprintf(rp->err, rp->errlen, "at offset %zu: %s", f.at, f.why);
	return true;
}
