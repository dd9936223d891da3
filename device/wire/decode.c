/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* decode.c - converts the bytes of a packet to a struct, or returns the reason of a refusal. */
#include "ops.h"

#define MAD_BYTES 256 /* IBA 13.4.1 */
#define QPN_MULTI 0xffffff
#define UD_SEND	  0x64
#define TRANSPORT 0xe0
#define UD	  0x60

static void get_bth(const uint8_t *p, struct dpa_roce_pkt *k)
{
	k->opcode = p[0];
	k->se = p[1] >> 7;
	k->mig = p[1] >> 6 & 1;
	k->pad = p[1] >> 4 & 3;
	k->tver = p[1] & 0xf;
	k->pkey = (uint16_t)(p[2] << 8 | p[3]);
	k->fecn = p[4] >> 7;
	k->becn = p[4] >> 6 & 1;
	k->resv6 = p[4] & 0x3f;
	k->dqpn = dpa_get24(p + 5);
	k->ackreq = p[8] >> 7;
	k->resv7 = p[8] & 0x7f;
	k->psn = dpa_get24(p + 9);
}

static const uint8_t *get_reth(const uint8_t *p, struct dpa_roce_pkt *k)
{
	k->va = dpa_get64(p);
	k->rkey = dpa_get32(p + 8);
	k->dmalen = dpa_get32(p + 12);
	return p + 16;
}

static const uint8_t *get_atomic(const uint8_t *p, struct dpa_roce_pkt *k)
{
	k->va = dpa_get64(p);
	k->rkey = dpa_get32(p + 8);
	k->swap_add = dpa_get64(p + 12);
	k->compare = dpa_get64(p + 20);
	return p + 28;
}

static const uint8_t *get_word(const uint8_t *p, uint32_t *w)
{
	*w = dpa_get32(p);
	return p + 4;
}

/* All headers in ext are present. FETH precedes RETH (annex A19). */
/* IBA 9.3 (order) */
static void get_ext(const uint8_t *p, uint32_t ext, struct dpa_roce_pkt *k)
{
	if (ext & DPA_ROCE_DETH) {
		k->qkey = dpa_get32(p);
		k->sqpn = dpa_get24(p + 5);
		p += 8;
	}
	if (ext & DPA_ROCE_XRCETH) {
		k->xrcsrq = dpa_get24(p + 1);
		p += 4;
	}
	if (ext & DPA_ROCE_FETH)
		p = get_word(p, &k->feth);
	if (ext & DPA_ROCE_RETH)
		p = get_reth(p, k);
	if (ext & DPA_ROCE_ATOMICETH)
		p = get_atomic(p, k);
	if (ext & DPA_ROCE_AETH) {
		k->syndrome = p[0];
		k->msn = dpa_get24(p + 1);
		p += 4;
	}
	if (ext & DPA_ROCE_ATOMICACKETH) {
		k->orig = dpa_get64(p);
		p += 8;
	}
	if (ext & DPA_ROCE_IMMDT)
		p = get_word(p, &k->imm);
	if (ext & DPA_ROCE_IETH)
		get_word(p, &k->inv_rkey);
}

/* RoCE has no QP0 (annex A16.4.2); QP1 takes MADs; the multicast QPN is for datagrams (IBA 9.2.2).
 */
/* IBA 9.2 (dqpn), CA17-33 */
static bool dqpn_fits(const struct dpa_roce_pkt *k)
{
	if (k->dqpn == 0)
		return false;
	if (k->dqpn == 1)
		return k->opcode == UD_SEND && k->len == MAD_BYTES;
	return k->dqpn != QPN_MULTI || (k->opcode & TRANSPORT) == UD;
}

/* IBA 9.2 (reserved-opcode), 9.2 (tver), 9.2 (pad), CA17-39 */
enum dpa_roce_verdict dpa_roce_decode(const uint8_t *p, size_t n, struct dpa_roce_pkt *pkt)
{
	const struct dpa_roce_op *op;
	size_t body;

	memset(pkt, 0, sizeof(*pkt));
	if (n >= DPA_ROCE_BTH)
		get_bth(p, pkt);
	if (n < DPA_ROCE_BTH + DPA_ROCE_ICRC)
		return DPA_ROCE_SHORT;
	pkt->icrc = dpa_getle32(p + n - DPA_ROCE_ICRC);
	if (pkt->tver)
		return DPA_ROCE_VERSION;
	op = &dpa_roce_ops[pkt->opcode];
	if (!op->ext)
		return DPA_ROCE_OPCODE;
	if (n < (size_t)op->hdr + DPA_ROCE_ICRC)
		return DPA_ROCE_SHORT;
	get_ext(p + DPA_ROCE_BTH, op->ext, pkt);
	body = n - op->hdr - DPA_ROCE_ICRC;
	if (body % 4 || pkt->pad > body)
		return DPA_ROCE_PAD;
	if (body && !(op->ext & DPA_ROCE_PAYLOAD))
		return DPA_ROCE_NO_PAYLOAD;
	body -= pkt->pad;
	if (body > DPA_ROCE_MAX_MTU)
		return DPA_ROCE_LONG;
	pkt->payload = p + op->hdr;
	pkt->len = (uint32_t)body;
	return dqpn_fits(pkt) ? DPA_ROCE_OK : DPA_ROCE_DQPN;
}
