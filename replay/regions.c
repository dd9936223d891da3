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

/* A region that the user names ends nowhere: it is the one of its key at all addresses. */
static bool ends_before(const struct rp_region *x, uint32_t rkey, uint64_t addr)
{
	if (x->r.rkey != rkey)
		return x->r.rkey < rkey;
	return !x->users && x->r.addr + x->r.len < addr;
}

/*
 * Return the region of a key at an address; else the next one of the key above it, else the one
 * below. NULL: the key has none. The regions are in the order of regions_by_key().
 */
static struct rp_region *region_of(const struct rp *rp, uint32_t rkey, uint64_t addr)
{
	uint32_t from = 0, to = rp->nregion;

	while (from < to) {
		const uint32_t mid = from + (to - from) / 2;

		if (ends_before(&rp->region[mid], rkey, addr))
			from = mid + 1;
		else
			to = mid;
	}
	if (from < rp->nregion && rp->region[from].r.rkey == rkey)
		return &rp->region[from];
	return from && rp->region[from - 1].r.rkey == rkey ? &rp->region[from - 1] : NULL;
}

/* at: index of the packet; of the option, if it is the user's. */
static struct rp_region *add_replay_region(struct rp *rp, const struct dpa_replay_region *r,
					   bool users, uint32_t at)
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
	*all = (struct rp_region){.r = *r, .users = users, .first = at};
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

static int regions_by_first(const void *a, const void *b)
{
	const struct rp_region *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Keys in order, and the regions of a key by address; those of the user in the user's order. */
static int regions_by_key(const void *a, const void *b)
{
	const struct rp_region *x = a, *y = b;

	if (x->r.rkey != y->r.rkey)
		return x->r.rkey < y->r.rkey ? -1 : 1;
	if (x->users)
		return regions_by_first(x, y);
	return (x->r.addr > y->r.addr) - (x->r.addr < y->r.addr);
}

/* Join what is near, from index `from` on. The regions are then in the order of their packets. */
static void join_regions(struct rp *rp, uint32_t from)
{
	const uint32_t n = rp->nregion - from;
	struct rp_region *all, *last;

	if (!n)
		return;
	all = last = rp->region + from;
	qsort(all, n, sizeof(*all), regions_by_key);
	for (const struct rp_region *x = all + 1; x < all + n; x++) {
		if (!is_near(&last->r, &x->r)) {
			*++last = *x;
			continue;
		}
		widen_region(&last->r, &x->r);
		last->first = x->first < last->first ? x->first : last->first;
	}
	rp->nregion = (uint32_t)(last + 1 - rp->region);
	qsort(all, rp->nregion - from, sizeof(*all), regions_by_first);
}

static bool is_users_key(const struct rp *rp, uint32_t rkey)
{
	for (uint32_t i = 0; i < rp->o->nregions; i++)
		if (rp->o->region[i].rkey == rkey)
			return true;
	return false;
}

/* The range that a packet of the flow needs. False: none, or the user names a region for it. */
static bool needs_range(const struct rp *rp, const struct rp_pkt *p, struct dpa_replay_region *r)
{
	return p->flow == rp->s && p->verdict == DPA_ROCE_OK && p->icrc && !p->refused &&
	       names_range(&p->k, r) && !is_users_key(rp, r->rkey);
}

/* False: no memory. */
static bool see_regions(struct rp *rp)
{
	const uint32_t users = rp->nregion;
	struct rp_region *last = NULL;

	for (uint32_t i = 0; i < rp->npkt && !rp_halted(rp); i++) {
		struct dpa_replay_region r;

		if (!needs_range(rp, &rp->pkt[i], &r))
			continue;
		if (last && is_near(&last->r, &r))
			widen_region(&last->r, &r);
		else if (!(last = add_replay_region(rp, &r, false, i)))
			return false;
	}
	join_regions(rp, users);
	if (rp->nregion - users > MOST_REGIONS) {
		rp->nregion = users + MOST_REGIONS;
		rp_note(rp, "not replayed: more than %u regions", MOST_REGIONS);
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

/* Make the memory of a region and its key. Returns 0 or an errno. */
static int make_region_memory(struct rp *rp, struct rp_region *x)
{
	x->mem = mmap(NULL, 2 * region_mem_bytes(x), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->mem == MAP_FAILED) {
		x->mem = NULL;
		return errno;
	}
	return alone_register(&rp->alone, (uint8_t *)x->mem + (x->r.addr & 4095), x->r.addr,
			      x->r.len, x->r.access & ~(uint32_t)DPA_ACCESS_FLUSH_PERSISTENT,
			      &x->key);
}

/* *bytes: of all regions so far. */
static void register_it(struct rp *rp, struct rp_region *x, uint64_t *bytes)
{
	int rc;

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
	rc = make_region_memory(rp, x);
	if (rc) {
		rp_note(rp, "not replayed: no memory for 0x%llx bytes of rkey 0x%x: %s",
			(unsigned long long)x->r.len, x->r.rkey, strerror(rc));
		x->key = NO_KEY;
	}
	show_region(rp, x);
}

bool rp_regions_make(struct rp *rp)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < rp->o->nregions; i++)
		if (!add_replay_region(rp, &rp->o->region[i], true, i))
			return false;
	if (!see_regions(rp))
		return false;
	for (uint32_t i = 0; i < rp->nregion && !rp_halted(rp); i++)
		register_it(rp, &rp->region[i], &bytes);
	if (rp->nregion)
		qsort(rp->region, rp->nregion, sizeof(*rp->region), regions_by_key);
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
