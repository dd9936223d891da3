/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hop.c - see hop.h. A switch calculates the ICRC again, because the probe has changed. */
#include <string.h>
#include "inspect/hop.h"
#include "wire/opcode.h"

#define PAYLOAD (DPA_IFA_HEAD + DPA_IFA_HOPS * DPA_IFA_HOP)

static bool is_whole(const struct dpa_frame *f, struct dpa_roce_net *net)
{
	if (f->ip_known || !dpa_roce_is_v4(net))
		return dpa_icrc_ok(net, f->p, f->n);
	return dpa_icrc_solve(net, f->p, f->n, &net->ip_id, &net->df);
}

void dpa_hop_add(struct dpa_frame *f, const struct dpa_ifa_hop *hop)
{
	uint8_t payload[PAYLOAD], all[DPA_ROCE_MAX_HDR + PAYLOAD + DPA_ROCE_ICRC];
	struct dpa_roce_net net = f->net;
	struct dpa_ifa_hop h = *hop;
	struct dpa_roce_pkt pkt;
	uint32_t n;

	if (!f->n || f->p[0] != DPA_BTH_PROBE || dpa_roce_decode(f->p, f->n, &pkt) != DPA_ROCE_OK ||
	    pkt.len + DPA_IFA_HOP > PAYLOAD || !is_whole(f, &net))
		return;
	h.ttl = net.hop;
	n = dpa_ifa_add((enum dpa_pcc_format)(pkt.rkey & DPA_PROBE_FORMAT), pkt.payload, pkt.len,
			&h, payload);
	if (!n)
		return;
	pkt.payload = payload;
	pkt.len = n;
	n = dpa_roce_encode_all(&net, &pkt, all, sizeof(all));
	memcpy((uint8_t *)(uintptr_t)f->p, all, n);
	f->n = n;
	f->net.ip_id = net.ip_id;
	f->net.df = net.df;
	f->ip_known = true;
}
