/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* reduce.c - a capture with the packets of some flows only, without payload. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_mad.h>
#include "priv.h"
#include "wire/ops.h"

/*
 * The packet belongs to a flow that is selected, to its answers, or made its connection. Of a CM
 * message that was cut off nothing was read.
 */
static bool is_wanted_packet(const struct rp *rp, const struct rp_pkt *p)
{
	if (p->k.dqpn == DPA_MAD_QPN && p->cut)
		return false;
	if (p->made != RP_NONE)
		return rp_selected(rp, p->made);
	if (p->flow == RP_NONE || p->k.dqpn == DPA_MAD_QPN)
		return !rp->o->qpn;
	return rp_selected(rp, p->flow);
}

/* Where the private data of a message begins, behind the MAD header; it ends with the message. */
static uint32_t private_data(uint16_t attr)
{
	static const uint8_t at[] = {
		[DPA_CM_REQ] = 140, [DPA_CM_MRA] = 10,	    [DPA_CM_REJ] = 12,
		[DPA_CM_REP] = 36,  [DPA_CM_RTU] = 8,	    [DPA_CM_DREQ] = 12,
		[DPA_CM_DREP] = 8,  [DPA_CM_SIDR_REQ] = 16, [DPA_CM_SIDR_REP] = 24,
	};

	return attr < sizeof(at) ? at[attr] : 0;
}

/* The first byte that goes: of a MAD that is not read all behind its header. */
static uint32_t payload_at(const struct rp_pkt *p)
{
	const uint32_t at = dpa_roce_hdr_len(p->p[0]);
	struct dpa_mad m;

	if (p->verdict != DPA_ROCE_OK || p->k.dqpn != DPA_MAD_QPN)
		return at < DPA_ROCE_BTH ? DPA_ROCE_BTH : at;
	dpa_mad_decode(p->k.payload, p->k.len, &m); /* m.attr is 0 if it is none */
	return (uint32_t)(p->k.payload - p->p) + DPA_MAD_HDR + private_data(m.attr);
}

/* Zeros as payload. A wrong ICRC stays as wrong as it was: by the same bits. */
static void without_payload(const struct rp_pkt *p, uint8_t *bytes)
{
	const uint32_t at = p->n < DPA_ROCE_BTH + DPA_ROCE_ICRC ? p->n : payload_at(p);
	const uint32_t end = p->n - DPA_ROCE_ICRC;
	uint32_t wrong;

	if (at >= end || p->n < DPA_ROCE_ICRC)
		return;
	wrong = dpa_getle32(bytes + end) ^ dpa_icrc_of(&p->net, bytes, p->n);
	memset(bytes + at, 0, end - at);
	dpa_icrc_put(bytes + end, dpa_icrc_of(&p->net, bytes, p->n) ^ (p->cut ? 0 : wrong));
}

static bool put_reduced_packet(const struct rp_pkt *p, bool payload, dpa_replay_put_fn *put,
			       void *arg)
{
	const uint32_t room = DPA_PCAPNG_PACKET_MAX(RP_PACKET);
	uint8_t bytes[RP_PACKET], *block = malloc(room);
	uint32_t n;
	bool ok;

	if (!block)
		return false;
	memcpy(bytes, p->p, p->n);
	if (p->cut || !payload)
		without_payload(p, bytes);
	n = dpa_pcapng_packet(block, room, p->ns, DPA_PCAPNG_UNKNOWN, NULL, &p->net, bytes, p->n);
	ok = n && put(arg, block, n);
	free(block);
	return ok;
}

static bool put_wanted_packets(const struct rp *rp, bool payload, dpa_replay_put_fn *put, void *arg)
{
	uint8_t begin[DPA_PCAPNG_BEGIN_MAX];
	const uint32_t n = dpa_pcapng_begin(begin, sizeof(begin), "replay", "dpactl replay");
	bool ok = n && put(arg, begin, n);

	for (uint32_t i = 0; i < rp->npkt && ok; i++)
		if (is_wanted_packet(rp, &rp->pkt[i]))
			ok = put_reduced_packet(&rp->pkt[i], payload, put, arg);
	return ok;
}

bool dpa_replay_reduce(const uint8_t *file, size_t n, const struct dpa_replay_opt *o, bool payload,
		       dpa_replay_put_fn *put, void *arg, char *err, size_t errlen)
{
	struct rp *rp = rp_open(file, n, o, err, errlen);
	bool ok;

	if (!rp)
		return false;
	ok = put_wanted_packets(rp, payload, put, arg);
	if (!ok)
		snprintf(err, errlen, "cannot write the reduced capture");
	rp_close(rp);
	return ok;
}
