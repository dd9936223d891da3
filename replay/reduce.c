/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* reduce.c - a capture with the packets of some flows only, without payload. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_mad.h>
#include "priv.h"
#include "wire/ops.h"

/* The packet belongs to a flow that is selected, to its answers, or to the making of connections. */
static bool is_wanted(const struct rp *rp, const struct rp_pkt *p)
{
	if (p->flow == RP_NONE)
		return !rp->o->qpn;
	return rp->stream[p->flow].dqpn == DPA_MAD_QPN || rp_selected(rp, p->flow);
}

/* Zeros as payload. A wrong ICRC stays as wrong as it was: by the same bits. */
static void without_payload(const struct rp_pkt *p, uint8_t *bytes)
{
	const uint32_t end = p->n - DPA_ROCE_ICRC;
	uint32_t wrong;

	if (p->verdict != DPA_ROCE_OK || p->k.dqpn == DPA_MAD_QPN)
		return;
	wrong = dpa_getle32(bytes + end) ^ dpa_icrc_of(&p->net, bytes, p->n);
	memset(bytes + (p->k.payload - p->p), 0, p->k.len);
	dpa_icrc_put(bytes + end, dpa_icrc_of(&p->net, bytes, p->n) ^ (p->cut ? 0 : wrong));
}

static bool put_packet(const struct rp *rp, const struct rp_pkt *p, bool payload,
		       dpa_replay_put_fn *put, void *arg)
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

static bool put_all(const struct rp *rp, bool payload, dpa_replay_put_fn *put, void *arg)
{
	uint8_t begin[DPA_PCAPNG_BEGIN_MAX];
	const uint32_t n = dpa_pcapng_begin(begin, sizeof(begin), "replay", "dpactl replay");
	bool ok = n && put(arg, begin, n);

	for (uint32_t i = 0; i < rp->npkt && ok; i++)
		if (is_wanted(rp, &rp->pkt[i]))
			ok = put_packet(rp, &rp->pkt[i], payload, put, arg);
	return ok;
}

bool dpa_replay_reduce(const uint8_t *file, size_t n, const struct dpa_replay_opt *o, bool payload,
		       dpa_replay_put_fn *put, void *arg, char *err, size_t errlen)
{
	struct rp *rp = rp_open(file, n, o, err, errlen);
	bool ok;

	if (!rp)
		return false;
	ok = put_all(rp, payload, put, arg);
	if (!ok)
		snprintf(err, errlen, "cannot write the reduced capture");
	rp_close(rp);
	return ok;
}
