/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* encode.c - converts a struct to the bytes of a packet. */
#include "ops.h"

static uint8_t *put_bth(const struct dpa_roce_pkt *k, uint8_t *p)
{
	p[0] = k->opcode;
	p[1] = (uint8_t)(k->se << 7 | k->mig << 6 | dpa_roce_pad(k->len) << 4 | (k->tver & 0xf));
	p = dpa_put16(p + 2, k->pkey);
	p = dpa_put8_24(p, (uint8_t)(k->fecn << 7 | k->becn << 6 | (k->resv6 & 0x3f)), k->dqpn);
	return dpa_put8_24(p, (uint8_t)(k->ackreq << 7 | (k->resv7 & 0x7f)), k->psn);
}

static uint8_t *put_reth(const struct dpa_roce_pkt *k, uint8_t *p)
{
	p = dpa_put64(p, k->va);
	p = dpa_put32(p, k->rkey);
	return dpa_put32(p, k->dmalen);
}

static uint8_t *put_atomic_eth(const struct dpa_roce_pkt *k, uint8_t *p)
{
	p = dpa_put64(p, k->va);
	p = dpa_put32(p, k->rkey);
	p = dpa_put64(p, k->swap_add);
	return dpa_put64(p, k->compare);
}

static uint8_t *put_cnp(uint8_t *p)
{
	memset(p, 0, DPA_ROCE_CNP_RESERVED);
	return p + DPA_ROCE_CNP_RESERVED;
}

/* In the order of get_ext() in decode.c. */
/* IBA 9.3 (order) */
uint32_t dpa_roce_encode(const struct dpa_roce_pkt *pkt, uint8_t *buf)
{
	uint32_t ext = dpa_roce_ops[pkt->opcode].ext;
	uint8_t *p = put_bth(pkt, buf);

	if (ext & DPA_ROCE_DETH)
		p = dpa_put8_24(dpa_put32(p, pkt->qkey), 0, pkt->sqpn);
	if (ext & DPA_ROCE_XRCETH)
		p = dpa_put8_24(p, 0, pkt->xrcsrq);
	if (ext & DPA_ROCE_FETH)
		p = dpa_put32(p, pkt->feth);
	if (ext & DPA_ROCE_RETH)
		p = put_reth(pkt, p);
	if (ext & DPA_ROCE_ATOMICETH)
		p = put_atomic_eth(pkt, p);
	if (ext & DPA_ROCE_AETH)
		p = dpa_put8_24(p, pkt->syndrome, pkt->msn);
	if (ext & DPA_ROCE_ATOMICACKETH)
		p = dpa_put64(p, pkt->orig);
	if (ext & DPA_ROCE_IMMDT)
		p = dpa_put32(p, pkt->imm);
	if (ext & DPA_ROCE_IETH)
		p = dpa_put32(p, pkt->inv_rkey);
	if (ext & DPA_ROCE_CNP)
		p = put_cnp(p);
	return (uint32_t)(p - buf);
}

uint32_t dpa_roce_encode_all(const struct dpa_roce_net *net, const struct dpa_roce_pkt *pkt,
			     uint8_t *buf, uint32_t room)
{
	uint32_t hdr = dpa_roce_hdr_len(pkt->opcode), pad = dpa_roce_pad(pkt->len), crc;
	uint64_t all = (uint64_t)hdr + pkt->len + pad + DPA_ROCE_ICRC;
	uint8_t *end;

	if (all > room)
		return 0;
	dpa_roce_encode(pkt, buf);
	crc = dpa_icrc_begin(net, (uint32_t)all, buf);
	crc = dpa_icrc_add(crc, buf + DPA_ROCE_BTH, hdr - DPA_ROCE_BTH);
	crc = dpa_icrc_add_copy(crc, buf + hdr, pkt->payload, pkt->len);
	end = buf + hdr + pkt->len;
	memset(end, 0, pad);
	crc = dpa_icrc_add(crc, end, pad);
	dpa_icrc_put(end + pad, dpa_icrc_end(crc));
	return (uint32_t)all;
}
