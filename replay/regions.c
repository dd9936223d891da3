/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * regions.c - memory for the keys of a flow: the ranges that the user names, else as wide as the
 * requests show. A request that the capture shows refused for its access makes no region.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "priv.h"

#define MOST_REGION (UINT64_C(1) << 36)
#define NO_KEY	    0xfffffffeu /* no region has it: the last index, of a table that is never full */

static struct rp_region *region_of(const struct rp *rp, uint32_t rkey)
{
	for (uint32_t i = 0; i < rp->nregion; i++)
		if (rp->region[i].r.rkey == rkey)
			return &rp->region[i];
	return NULL;
}

static struct rp_region *add_replay_region(struct rp *rp, const struct dpa_replay_region *r,
					   bool users)
{
	struct rp_region *all = rp->region;

	if (rp->nregion == rp->rregion) {
		rp->rregion = rp->rregion ? 2 * rp->rregion : 16;
		all = realloc(all, rp->rregion * sizeof(*all));
		if (!all)
			return NULL;
		rp->region = all;
	}
	all = &all[rp->nregion++];
	*all = (struct rp_region){.r = *r, .users = users};
	return all;
}

/* The range that a request names. False: none. */
static bool names_range(const struct dpa_roce_pkt *k, struct dpa_replay_region *r)
{
	const uint16_t p = dpa_op_props(k->opcode);
	const uint32_t ext = dpa_roce_ext_of(k->opcode);

	if (!rp_is_request(k) || !(ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH)))
		return false;
	r->rkey = k->rkey;
	r->addr = k->va;
	r->len = ext & DPA_ROCE_RETH ? k->dmalen : 8;
	r->access = p & DPA_OPP_READ			   ? DPA_ACCESS_REMOTE_READ
		    : p & (DPA_OPP_WRITE | DPA_OPP_AWRITE) ? DPA_ACCESS_REMOTE_WRITE
		    : p & DPA_OPP_ATOMIC		   ? DPA_ACCESS_REMOTE_ATOMIC
							   : DPA_ACCESS_FLUSH_GLOBAL;
	return r->len && r->addr + r->len > r->addr;
}

static void widen_region(struct dpa_replay_region *r, const struct dpa_replay_region *more)
{
	const uint64_t end = r->addr + r->len, other = more->addr + more->len;

	r->addr = more->addr < r->addr ? more->addr : r->addr;
	r->len = (other > end ? other : end) - r->addr;
	r->access |= more->access;
}

/* False: no memory. */
static bool see_regions(struct rp *rp)
{
	for (uint32_t i = 0; i < rp->npkt && !rp_halted(rp); i++) {
		const struct rp_pkt *p = &rp->pkt[i];
		struct dpa_replay_region r;
		struct rp_region *was;

		if (p->flow != rp->s || p->verdict != DPA_ROCE_OK || !p->icrc || p->refused ||
		    !names_range(&p->k, &r))
			continue;
		was = region_of(rp, r.rkey);
		if (!was && !add_replay_region(rp, &r, false))
			return false;
		if (was && !was->users)
			widen_region(&was->r, &r);
	}
	return true;
}

static void show_region(struct rp *rp, const struct rp_region *x)
{
	struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_REGION);

	if (e)
		e->region = x->r;
}

/*
 * Bytes of a region's memory, which begins at the begin of a page: the low bits of addresses are
 * kept, for atomics. As many bytes behind it are not 0 where rp_memory()'s user has set them.
 */
static size_t region_mem_bytes(const struct rp_region *x)
{
	return ((x->r.addr & 4095) + x->r.len + 4095) & ~(size_t)4095;
}

static void register_it(struct rp *rp, struct rp_region *x)
{
	x->key = NO_KEY;
	if (x->r.len > MOST_REGION) {
		rp_note(rp, "not replayed: rkey 0x%x covers 0x%llx bytes", x->r.rkey,
			(unsigned long long)x->r.len);
		return;
	}
	x->mem = mmap(NULL, 2 * region_mem_bytes(x), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->mem == MAP_FAILED)
		x->mem = NULL;
	if (!x->mem ||
	    alone_register(&rp->alone, (uint8_t *)x->mem + (x->r.addr & 4095), x->r.addr, x->r.len,
			   x->r.access & ~(uint32_t)DPA_ACCESS_FLUSH_PERSISTENT, &x->key)) {
		rp_note(rp, "not replayed: no memory for the region of rkey 0x%x", x->r.rkey);
		x->key = NO_KEY;
	}
	show_region(rp, x);
}

bool rp_regions_make(struct rp *rp)
{
	for (uint32_t i = 0; i < rp->o->nregions; i++)
		if (!add_replay_region(rp, &rp->o->region[i], true))
			return false;
	if (!see_regions(rp))
		return false;
	for (uint32_t i = 0; i < rp->nregion && !rp_halted(rp); i++)
		register_it(rp, &rp->region[i]);
	return true;
}

void rp_regions_free(struct rp *rp)
{
	for (uint32_t i = 0; i < rp->nregion; i++)
		if (rp->region[i].mem)
			munmap(rp->region[i].mem, 2 * region_mem_bytes(&rp->region[i]));
	rp->nregion = 0;
}

uint32_t rp_key(const struct rp *rp, uint32_t rkey)
{
	const struct rp_region *x = region_of(rp, rkey);

	return x ? x->key : NO_KEY;
}

void *rp_memory(const struct rp *rp, uint32_t rkey, uint64_t addr, uint64_t len, uint8_t **known)
{
	const struct rp_region *x = region_of(rp, rkey);
	uint64_t off = x ? addr - x->r.addr : 0;

	if (!x || !x->mem || addr < x->r.addr || off > x->r.len || len > x->r.len - off)
		return NULL;
	off += x->r.addr & 4095;
	*known = (uint8_t *)x->mem + region_mem_bytes(x) + off;
	return (uint8_t *)x->mem + off;
}
