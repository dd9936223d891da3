/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include "util.h"

const char *const pcap_names[] = {"rc_atomic",	  "rc_ipv6_mix",   "rc_mtu4096",   "rc_pingpong",
				  "rc_read",	  "rc_send",	   "rc_verbs_mix", "rc_write",
				  "srq_pingpong", "uc_send_write", "ud_send",	   NULL};

uint8_t *pcap_load(const char *name, size_t *n)
{
	const size_t room = 1 << 20;
	uint8_t *p = malloc(room);
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), DPA_PCAPS "/%s.pcap", name);
	f = fopen(path, "rb");
	cr_assert(f && p, "%s", path);
	*n = fread(p, 1, room, f);
	cr_assert(*n > 24 && *n < room);
	fclose(f);
	return p;
}

struct dpa_roce_net net_v4(void)
{
	return (struct dpa_roce_net){
		.src = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1},
		.dst = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2},
		.sport = 0xc123,
		.dport = DPA_ROCE_PORT,
		.ip_id = 0x1234,
		.df = true,
		.tclass = 0x1a,
		.hop = 64,
	};
}

struct dpa_roce_net net_v6(void)
{
	return (struct dpa_roce_net){
		.src = {0xfd, 0x77, [15] = 1},
		.dst = {0xfd, 0x77, [15] = 2},
		.sport = 0xc123,
		.dport = DPA_ROCE_PORT,
		.tclass = 0x1a,
		.hop = 64,
		.flow = 0x54321,
	};
}

uint32_t rnd_next(struct rnd *r)
{
	r->s ^= r->s << 13;
	r->s ^= r->s >> 7;
	r->s ^= r->s << 17;
	return (uint32_t)(r->s >> 16);
}

void rnd_fill(struct rnd *r, void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)p)[i] = (uint8_t)rnd_next(r);
}

void rnd_pkt(struct rnd *r, uint8_t opcode, const uint8_t *data, uint32_t max,
	     struct dpa_roce_pkt *k)
{
	uint32_t ext = dpa_roce_ext_of(opcode), w = rnd_next(r);

	memset(k, 0, sizeof(*k));
	k->opcode = opcode;
	k->se = w & 1;
	k->mig = w & 2;
	k->ackreq = w & 4;
	k->fecn = w & 8;
	k->becn = w & 16;
	k->resv6 = w >> 8 & 0x3f;
	k->resv7 = w >> 16 & 0x7f;
	k->pkey = (uint16_t)rnd_next(r);
	k->dqpn = 2 + rnd_next(r) % 0xfffff0;
	k->psn = rnd_next(r) & 0xffffff;
	if (ext & DPA_ROCE_DETH) {
		k->qkey = rnd_next(r);
		k->sqpn = rnd_next(r) & 0xffffff;
	}
	if (ext & DPA_ROCE_XRCETH)
		k->xrcsrq = rnd_next(r) & 0xffffff;
	if (ext & DPA_ROCE_FETH)
		k->feth = rnd_next(r);
	if (ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH)) {
		rnd_fill(r, &k->va, 8);
		k->rkey = rnd_next(r);
	}
	if (ext & DPA_ROCE_RETH)
		k->dmalen = rnd_next(r);
	if (ext & DPA_ROCE_ATOMICETH) {
		rnd_fill(r, &k->swap_add, 8);
		rnd_fill(r, &k->compare, 8);
	}
	if (ext & DPA_ROCE_AETH) {
		k->syndrome = (uint8_t)rnd_next(r);
		k->msn = rnd_next(r) & 0xffffff;
	}
	if (ext & DPA_ROCE_ATOMICACKETH)
		rnd_fill(r, &k->orig, 8);
	if (ext & DPA_ROCE_IMMDT)
		k->imm = rnd_next(r);
	if (ext & DPA_ROCE_IETH)
		k->inv_rkey = rnd_next(r);
	k->payload = data;
	k->len = ext & DPA_ROCE_PAYLOAD ? rnd_next(r) % (max + 1) : 0;
	k->pad = (uint8_t)dpa_roce_pad(k->len);
}
