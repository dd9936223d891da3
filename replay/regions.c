/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * regions.c - memory for the keys of a flow: the ranges that the user names, else as wide as the
 * requests show. A request that the capture shows refused for its access makes no region.
 *
 * Address space that no request touches is not mapped: where the requests of a key are more than GAP
 * apart, the key has several regions, each with a key of the device. So many keys with distant
 * requests fit. A note names the first limit that is met.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "priv.h"

#define GAP	     (UINT64_C(1) << 28)
#define MOST_REGION  (UINT64_C(1) << 36)
#define MOST_BYTES   (UINT64_C(1) << 45) /* of all regions of a flow; twice as much is mapped */
#define MOST_REGIONS 16384u
#define NO_KEY	     0xfffffffeu /* no region has it: the last index, of a table that is never full */

static bool has_address(const struct rp_region *x, uint64_t addr)
{
	return x->users || (addr >= x->r.addr && addr - x->r.addr <= x->r.len);
}

/* The region of a key at an address; else any of its regions. NULL: it has none. */
static struct rp_region *region_of(const struct rp *rp, uint32_t rkey, uint64_t addr)
{
	struct rp_region *any = NULL;

	for (uint32_t i = 0; i < rp->nregion; i++) {
		struct rp_region *x = &rp->region[i];

		if (x->r.rkey != rkey)
			continue;
		if (has_address(x, addr))
			return x;
		any = any ? any : x;
	}
	return any;
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

static bool is_near(const struct dpa_replay_region *a, const struct dpa_replay_region *b)
{
	const uint64_t end = a->addr + a->len, other = b->addr + b->len;

	if (a->rkey != b->rkey)
		return false;
	return a->addr > other ? a->addr - other <= GAP : b->addr <= end || b->addr - end <= GAP;
}

/* A region that `r` is near to, from index i on. NULL: none. */
static struct rp_region *near_region(const struct rp *rp, uint32_t i,
				     const struct dpa_replay_region *r)
{
	for (; i < rp->nregion; i++) {
		struct rp_region *x = &rp->region[i];

		if (x->users ? x->r.rkey == r->rkey : is_near(&x->r, r))
			return x;
	}
	return NULL;
}

/* Widens a region; it may then be near to others, which become part of it. */
static void join_regions(struct rp *rp, struct rp_region *x, const struct dpa_replay_region *r)
{
	const uint32_t next = (uint32_t)(x - rp->region) + 1;
	struct rp_region *y;

	if (x->users)
		return;
	widen_region(&x->r, r);
	while ((y = near_region(rp, next, &x->r))) {
		widen_region(&x->r, &y->r);
		rp->nregion--;
		memmove(y, y + 1, (size_t)(&rp->region[rp->nregion] - y) * sizeof(*y));
	}
}

/* False: no memory. */
static bool see_regions(struct rp *rp)
{
	bool more = false;

	for (uint32_t i = 0; i < rp->npkt && !rp_halted(rp); i++) {
		const struct rp_pkt *p = &rp->pkt[i];
		struct dpa_replay_region r;
		struct rp_region *was;

		if (p->flow != rp->s || p->verdict != DPA_ROCE_OK || !p->icrc || p->refused ||
		    !names_range(&p->k, &r))
			continue;
		was = near_region(rp, 0, &r);
		if (was)
			join_regions(rp, was, &r);
		else if (rp->nregion >= MOST_REGIONS + rp->o->nregions)
			more = true;
		else if (!add_replay_region(rp, &r, false))
			return false;
	}
	if (more)
		rp_note(rp, "not replayed: more than %u regions", MOST_REGIONS);
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

/* *bytes: of all regions so far. */
static void register_it(struct rp *rp, struct rp_region *x, uint64_t *bytes)
{
	x->key = NO_KEY;
	if (x->r.len > MOST_REGION) {
		rp_note(rp, "not replayed: rkey 0x%x covers 0x%llx bytes", x->r.rkey,
			(unsigned long long)x->r.len);
		return;
	}
	if (x->r.len > MOST_BYTES - *bytes) {
		rp_note(rp, "not replayed: rkey 0x%x: the regions have more than 32 TiB",
			x->r.rkey);
		return;
	}
	*bytes += x->r.len;
	x->mem = mmap(NULL, 2 * region_mem_bytes(x), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->mem == MAP_FAILED)
		x->mem = NULL;
	if (!x->mem ||
	    alone_register(&rp->alone, (uint8_t *)x->mem + (x->r.addr & 4095), x->r.addr, x->r.len,
			   x->r.access & ~(uint32_t)DPA_ACCESS_FLUSH_PERSISTENT, &x->key)) {
		rp_note(rp, "not replayed: no memory for 0x%llx bytes of rkey 0x%x: %s",
			(unsigned long long)x->r.len, x->r.rkey, strerror(x->mem ? ENOMEM : errno));
		x->key = NO_KEY;
	}
	show_region(rp, x);
}

bool rp_regions_make(struct rp *rp)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < rp->o->nregions; i++)
		if (!add_replay_region(rp, &rp->o->region[i], true))
			return false;
	if (!see_regions(rp))
		return false;
	for (uint32_t i = 0; i < rp->nregion && !rp_halted(rp); i++)
		register_it(rp, &rp->region[i], &bytes);
	return true;
}

void rp_regions_free(struct rp *rp)
{
	for (uint32_t i = 0; i < rp->nregion; i++)
		if (rp->region[i].mem)
			munmap(rp->region[i].mem, 2 * region_mem_bytes(&rp->region[i]));
	rp->nregion = 0;
}

uint32_t rp_key(const struct rp *rp, uint32_t rkey, uint64_t addr)
{
	const struct rp_region *x = region_of(rp, rkey, addr);

	return x ? x->key : NO_KEY;
}

bool rp_lacks_memory(const struct rp *rp, const struct rp_pkt *p)
{
	const struct rp_region *x;
	struct dpa_replay_region r;

	if (p->verdict != DPA_ROCE_OK || !p->icrc || p->refused || !names_range(&p->k, &r))
		return false;
	x = region_of(rp, r.rkey, r.addr);
	return !x || x->key == NO_KEY || !has_address(x, r.addr);
}

void *rp_memory(const struct rp *rp, uint32_t rkey, uint64_t addr, uint64_t len, uint8_t **known)
{
	const struct rp_region *x = region_of(rp, rkey, addr);
	uint64_t off = x ? addr - x->r.addr : 0;

	if (!x || !x->mem || addr < x->r.addr || off > x->r.len || len > x->r.len - off)
		return NULL;
	off += x->r.addr & 4095;
	*known = (uint8_t *)x->mem + region_mem_bytes(x) + off;
	return (uint8_t *)x->mem + off;
}
