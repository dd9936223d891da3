/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm.c - endpoints of QP1, services and communication ids. cm.h defines the shared words and their
 * order.
 *
 * The reaper of a dead process clears nothing here. Readers ignore the services of a dead process.
 * Its ids stay until another process takes them over. A process counts as dead if its process index
 * is not LIVE with its generation (dpa_board_proc_live()): readers make no system call.
 */
#include <errno.h>
#include <string.h>
#include "board_priv.h"

#define OWNER_BITS ((1ull << 48) - 1)
#define WINDOW_MIN 4096u
#define CROWDED	   16u /* number of ids in use in a row that widens the window */

static bool is_owner_live(struct dpa_board *b, dpa_owner_t o)
{
	return dpa_board_proc_live(b, dpa_owner_slot(o), dpa_owner_gen(o));
}

/* ---------------------------------------------------------------- endpoints */

void dpa_board_gsi_set(struct dpa_board *b, uint32_t qpn)
{
	atomic_store_explicit(&b->self->gsi, qpn ? (uint64_t)b->gen << 32 | qpn : 0,
			      memory_order_release);
}

bool dpa_board_gsi_of(struct dpa_board *b, uint32_t slot, uint32_t gen, struct dpa_board_gsi *g)
{
	struct dpa_board_proc *p = dpa_board_proc(b, slot);
	uint64_t w = p ? atomic_load_explicit(&p->gsi, memory_order_acquire) : 0;

	if (!w || w >> 32 != gen || !is_owner_live(b, dpa_owner(slot, gen)))
		return false;
	*g = (struct dpa_board_gsi){.slot = slot, .gen = gen, .qpn = (uint32_t)w};
	return true;
}

static bool gsi_in(struct dpa_board *b, uint32_t from, uint32_t end, struct dpa_board_gsi *g)
{
	for (uint32_t i = dpa_board_proc_next(b, from); i < end;
	     i = dpa_board_proc_next(b, i + 1)) {
		struct dpa_board_proc *p = &b->shm->procs[i];
		uint32_t gen = atomic_load_explicit(&p->gen, memory_order_acquire);

		if (p != b->self && dpa_board_gsi_of(b, i, gen, g))
			return true;
	}
	return false;
}

bool dpa_board_gsi_next(struct dpa_board *b, uint32_t from, struct dpa_board_gsi *g)
{
	return gsi_in(b, from, DPA_BOARD_PROCS, g) || gsi_in(b, 0, from, g);
}

static uint32_t next_index(struct dpa_board *b, uint32_t slot)
{
	slot = dpa_board_proc_next(b, slot + 1);
	return slot < DPA_BOARD_PROCS ? slot : dpa_board_proc_next(b, 0);
}

bool dpa_board_gsi_is_next(struct dpa_board *b)
{
	struct dpa_board_gsi g;

	for (uint32_t i = next_index(b, b->slot); i != b->slot; i = next_index(b, i)) {
		const uint32_t gen =
			atomic_load_explicit(&b->shm->procs[i].gen, memory_order_acquire);

		if (dpa_board_gsi_of(b, i, gen, &g))
			return true;
		if (dpa_board_alive(b, i, gen))
			return false;
	}
	return false;
}

void dpa_board_gsi_watch(struct dpa_board *b)
{
	struct dpa_board_gsi g;

	if (dpa_board_gsi_next(b, b->slot + 1, &g) && !dpa_board_proc_held(b, g.slot))
		dpa_board_reap(b);
}

uint32_t dpa_board_gsi_died(struct dpa_board *b)
{
	return atomic_load_explicit(&b->shm->head.cm_died, memory_order_acquire);
}

void dpa_board_cm_gone(struct dpa_board *b, const struct dpa_board_proc *p)
{
	if (atomic_load_explicit(&p->gsi, memory_order_acquire))
		atomic_fetch_add_explicit(&b->shm->head.cm_died, 1, memory_order_release);
}

/* ----------------------------------------------------------------- services */

#define V4 1u
#define V6 2u

static uint64_t service_off(uint32_t i)
{
	return DPA_BOARD_OFF_SERVICES + (uint64_t)i * sizeof(struct dpa_board_service);
}

static uint32_t services_used(struct dpa_board *b)
{
	uint32_t n = atomic_load_explicit(&b->shm->head.services_used, memory_order_acquire);

	return n < DPA_BOARD_SERVICES ? n : DPA_BOARD_SERVICES;
}

/* Context: the board's lock. seq is odd at entry if the last writer died: the next value is even.
 */
static void service_put(struct dpa_board_service *e, const struct dpa_gsi_service *s,
			dpa_owner_t owner)
{
	uint32_t odd = atomic_load_explicit(&e->seq, memory_order_relaxed) | 1;
	uint64_t addr[2];

	memcpy(addr, s->addr, sizeof(addr));
	atomic_store_explicit(&e->seq, odd, memory_order_relaxed);
	DPA_BOARD_STEP("service-odd");
	/* release: a reader that sees one of these values sees the odd seq */
	atomic_store_explicit(&e->id, s->service_id, memory_order_release);
	atomic_store_explicit(&e->mask, s->mask ? s->mask : UINT64_MAX, memory_order_release);
	atomic_store_explicit(&e->addr[0], addr[0], memory_order_release);
	atomic_store_explicit(&e->addr[1], addr[1], memory_order_release);
	atomic_store_explicit(&e->families, (s->v4 ? V4 : 0) | (s->v6 ? V6 : 0),
			      memory_order_release);
	atomic_store_explicit(&e->owner, owner, memory_order_release);
	atomic_store_explicit(&e->seq, odd + 1, memory_order_release);
}

/* Index of a free entry, or `used`. Context: the board's lock. */
static uint32_t service_gap(struct dpa_board *b, uint32_t used)
{
	for (uint32_t i = 0; i < used; i++) {
		struct dpa_board_service *e = &b->shm->services[i];
		dpa_owner_t o = atomic_load_explicit(&e->owner, memory_order_relaxed);

		if (!o || !is_owner_live(b, o))
			return i;
	}
	return used;
}

int dpa_board_service_add(struct dpa_board *b, const struct dpa_gsi_service *s, uint32_t *at)
{
	int rc = dpa_board_lock(b);
	uint32_t used, gap;

	if (rc)
		return rc;
	used = services_used(b);
	gap = service_gap(b, used);
	if (gap >= DPA_BOARD_SERVICES)
		rc = ENOMEM;
	else
		rc = dpa_board_reserve_entry(b, service_off(gap), sizeof(*b->shm->services));
	if (!rc) {
		service_put(&b->shm->services[gap], s, dpa_board_me(b));
		if (gap == used)
			atomic_store_explicit(&b->shm->head.services_used, gap + 1,
					      memory_order_release);
		*at = gap;
	}
	dpa_board_unlock(b);
	return rc;
}

/* Clears the owner word only, without the board's lock. */
void dpa_board_service_remove(struct dpa_board *b, uint32_t at)
{
	dpa_owner_t me = dpa_board_me(b);

	if (at < services_used(b))
		atomic_compare_exchange_strong_explicit(&b->shm->services[at].owner, &me, 0,
							memory_order_release, memory_order_relaxed);
}

/*
 * Copies an entry. False: the entry is free, a writer changes it, or its process ended. Each load
 * is an acquire, so that the second load of seq comes last.
 */
static bool service_get(struct dpa_board *b, struct dpa_board_service *e, struct dpa_gsi_service *s,
			dpa_owner_t *owner)
{
	uint32_t seq = atomic_load_explicit(&e->seq, memory_order_acquire);
	uint64_t addr[2];
	uint32_t families;

	*owner = atomic_load_explicit(&e->owner, memory_order_acquire);
	s->service_id = atomic_load_explicit(&e->id, memory_order_acquire);
	s->mask = atomic_load_explicit(&e->mask, memory_order_acquire);
	addr[0] = atomic_load_explicit(&e->addr[0], memory_order_acquire);
	addr[1] = atomic_load_explicit(&e->addr[1], memory_order_acquire);
	families = atomic_load_explicit(&e->families, memory_order_acquire);
	memcpy(s->addr, addr, sizeof(addr));
	s->v4 = families & V4;
	s->v6 = families & V6;
	return !(seq & 1) && atomic_load_explicit(&e->seq, memory_order_relaxed) == seq && *owner &&
	       is_owner_live(b, *owner);
}

bool dpa_board_service_next(struct dpa_board *b, uint32_t *at, struct dpa_gsi_service *s,
			    uint32_t *slot, uint32_t *gen)
{
	dpa_owner_t o;

	for (uint32_t n = services_used(b); *at < n; ++*at) {
		if (!service_get(b, &b->shm->services[*at], s, &o))
			continue;
		*slot = dpa_owner_slot(o);
		*gen = dpa_owner_gen(o);
		return true;
	}
	return false;
}

/* 0: the service does not match; 1: its wildcard matches; 2: its address matches. */
static int service_fits(struct dpa_board *b, struct dpa_board_service *e, uint64_t service_id,
			const uint8_t addr[16], bool v4, dpa_owner_t *owner)
{
	static const uint8_t any[16];
	struct dpa_gsi_service s;

	if (!service_get(b, e, &s, owner) || (s.service_id & s.mask) != (service_id & s.mask))
		return 0;
	if (memcmp(s.addr, any, sizeof(any)))
		return memcmp(s.addr, addr, sizeof(any)) ? 0 : 2;
	return v4 ? s.v4 : s.v6;
}

bool dpa_board_service_find(struct dpa_board *b, uint64_t service_id, const uint8_t addr[16],
			    struct dpa_board_gsi *g)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const bool v4 = !memcmp(addr, mapped, sizeof(mapped));
	struct dpa_board_gsi at;
	int best = 0;

	for (uint32_t i = 0, n = services_used(b); i < n && best < 2; i++) {
		dpa_owner_t o;
		int fits = service_fits(b, &b->shm->services[i], service_id, addr, v4, &o);

		if (fits > best && dpa_board_gsi_of(b, dpa_owner_slot(o), dpa_owner_gen(o), &at)) {
			best = fits;
			*g = at;
		}
	}
	return best;
}

/* ------------------------------------------------------- communication ids */

/*
 * The first count of lives differs between adapter instances: a peer's kernel remembers the ids of
 * the last instance for some time.
 */
static uint32_t first_life(const struct dpa_board *b)
{
	return b->shm->head.ident.id[0];
}

static uint32_t comm_id_of(const struct dpa_board *b, uint32_t index, uint64_t word)
{
	uint32_t life = (uint32_t)(word >> 48) + first_life(b);

	return b->board_num << 24 | (life & 0xff) << 16 | index;
}

/* The record of an id. NULL: the record is free, or is in another life. */
static struct dpa_board_cmid *find_cmid(struct dpa_board *b, uint32_t id, uint64_t *word)
{
	uint32_t i = id & (DPA_BOARD_CMIDS - 1);
	struct dpa_board_cmid *r = &b->shm->cmids[i];

	if (!dpa_board_present(b, DPA_BOARD_OFF_CMIDS + i * sizeof(*r)))
		return NULL;
	*word = atomic_load_explicit(&r->owner, memory_order_acquire);
	return *word & OWNER_BITS && comm_id_of(b, i, *word) == id ? r : NULL;
}

static struct dpa_board_cmid *own_record(struct dpa_board *b, uint32_t id, uint64_t *word)
{
	struct dpa_board_cmid *r = find_cmid(b, id, word);

	return r && (*word & OWNER_BITS) == dpa_board_me(b) ? r : NULL;
}

/*
 * Publishes *id in the record. Context: the owner of the record, one call at a time. The copy that
 * seq names stays as it was, so that readers and an heir always find a complete copy.
 */
static void put_cmid(struct dpa_board_cmid *r, const struct dpa_gsi_id *id)
{
	const uint32_t seq = atomic_load_explicit(&r->seq, memory_order_relaxed) + 1;
	uint64_t w[DPA_BOARD_CMID_WORDS];

	memcpy(w, id, sizeof(w));
	for (size_t i = 0; i < DPA_BOARD_CMID_WORDS; i++)
		atomic_store_explicit(&r->copy[seq & 1][i], w[i], memory_order_release);
	DPA_BOARD_STEP("cmid-written");
	atomic_store_explicit(&r->seq, seq, memory_order_release);
}

/* False: a writer changed it meanwhile. Each load is an acquire: the second load of seq is last. */
static bool get_copy(struct dpa_board_cmid *r, struct dpa_gsi_id *id)
{
	uint32_t seq = atomic_load_explicit(&r->seq, memory_order_acquire);
	uint64_t w[DPA_BOARD_CMID_WORDS];

	for (size_t i = 0; i < DPA_BOARD_CMID_WORDS; i++)
		w[i] = atomic_load_explicit(&r->copy[seq & 1][i], memory_order_acquire);
	memcpy(id, w, sizeof(*id));
	return atomic_load_explicit(&r->seq, memory_order_relaxed) == seq;
}

/*
 * Copies what the owner has published in the life that `word` names. False: the owner has published
 * nothing in that life, or changed the record during each of 100 tries.
 */
static bool get_cmid(struct dpa_board *b, struct dpa_board_cmid *r, uint64_t word,
		     struct dpa_gsi_id *id)
{
	const uint32_t local_id = comm_id_of(b, (uint32_t)(r - b->shm->cmids), word);

	for (int i = 0; i < 100; i++)
		if (get_copy(r, id))
			return id->local_id == local_id;
	return false;
}

/* Always a power of two in range: the word is shared, and may hold any value. */
static uint32_t window_size(struct dpa_board *b)
{
	uint32_t w = atomic_load_explicit(&b->shm->head.cmid_window, memory_order_relaxed);

	if (w < WINDOW_MIN)
		return WINDOW_MIN;
	return w < DPA_BOARD_CMIDS ? 1u << (31 - __builtin_clz(w)) : DPA_BOARD_CMIDS;
}

static void widen_window(struct dpa_board *b, uint32_t from)
{
	uint32_t was = atomic_load_explicit(&b->shm->head.cmid_window, memory_order_relaxed);

	if (from < DPA_BOARD_CMIDS && was <= from)
		atomic_compare_exchange_strong_explicit(&b->shm->head.cmid_window, &was, 2 * from,
							memory_order_relaxed, memory_order_relaxed);
}

/* Takes the record if it is free, and publishes that nothing is set. */
static bool take_cmid(struct dpa_board *b, uint32_t i, uint32_t *id)
{
	struct dpa_board_cmid *r = &b->shm->cmids[i];
	uint64_t was = atomic_load_explicit(&r->owner, memory_order_acquire), now;
	static const struct dpa_gsi_id none;

	now = ((was >> 48) + 1) << 48 | dpa_board_me(b);
	if ((was & OWNER_BITS) ||
	    !atomic_compare_exchange_strong_explicit(&r->owner, &was, now, memory_order_acq_rel,
						     memory_order_relaxed))
		return false;
	DPA_BOARD_STEP("cmid-owned");
	put_cmid(r, &none);
	*id = comm_id_of(b, i, now);
	return true;
}

int dpa_board_cmid_new(struct dpa_board *b, uint32_t *id)
{
	for (uint32_t tries = 0; tries < 2 * DPA_BOARD_CMIDS; tries++) {
		uint32_t n = window_size(b);
		uint32_t i = atomic_fetch_add_explicit(&b->shm->head.cmid_next, 1,
						       memory_order_relaxed) &
			     (n - 1);
		const uint64_t off = DPA_BOARD_OFF_CMIDS + i * sizeof(struct dpa_board_cmid);

		if (dpa_board_reserve_entry(b, off, sizeof(struct dpa_board_cmid)))
			return ENOSPC;
		if (take_cmid(b, i, id))
			return 0;
		if (tries % CROWDED == CROWDED - 1)
			widen_window(b, n);
	}
	return ENOMEM;
}

void dpa_board_cmid_set(struct dpa_board *b, const struct dpa_gsi_id *id)
{
	uint64_t word;
	struct dpa_board_cmid *r = own_record(b, id->local_id, &word);

	if (r)
		put_cmid(r, id);
}

void dpa_board_cmid_free(struct dpa_board *b, uint32_t id)
{
	uint64_t word;
	struct dpa_board_cmid *r = own_record(b, id, &word);

	if (r)
		atomic_store_explicit(&r->owner, word & ~OWNER_BITS, memory_order_release);
}

bool dpa_board_cmid_owner(struct dpa_board *b, uint32_t id, struct dpa_board_gsi *g)
{
	uint64_t word;

	return id >> 24 == b->board_num && find_cmid(b, id, &word) &&
	       dpa_board_gsi_of(b, dpa_owner_slot(word & OWNER_BITS),
				dpa_owner_gen(word & OWNER_BITS), g);
}

/* Index of the first record in use from i on. DPA_BOARD_CMIDS: there is none. */
static uint32_t next_used(struct dpa_board *b, uint32_t i, uint64_t *word)
{
	const uint32_t per = DPA_BOARD_UNIT / sizeof(struct dpa_board_cmid);

	for (uint32_t end = window_size(b); i < end; i++) {
		if (!dpa_board_present(b, DPA_BOARD_OFF_CMIDS + i * sizeof(*b->shm->cmids))) {
			i |= per - 1;
			continue;
		}
		*word = atomic_load_explicit(&b->shm->cmids[i].owner, memory_order_acquire);
		if (*word & OWNER_BITS)
			return i;
	}
	return DPA_BOARD_CMIDS;
}

bool dpa_board_cmid_next(struct dpa_board *b, uint32_t *at, struct dpa_gsi_id *id, uint32_t *slot,
			 uint32_t *gen)
{
	uint64_t word;

	for (; (*at = next_used(b, *at, &word)) < DPA_BOARD_CMIDS; ++*at) {
		*slot = dpa_owner_slot(word & OWNER_BITS);
		*gen = dpa_owner_gen(word & OWNER_BITS);
		if (get_cmid(b, &b->shm->cmids[*at], word, id))
			return true;
	}
	return false;
}

bool dpa_board_cmid_of_peer(struct dpa_board *b, uint32_t remote_id, uint64_t remote_guid,
			    struct dpa_board_gsi *g)
{
	struct dpa_gsi_id id;
	uint32_t slot, gen;

	for (uint32_t at = 0; dpa_board_cmid_next(b, &at, &id, &slot, &gen); at++)
		if (id.remote_id == remote_id && id.remote_guid == remote_guid &&
		    dpa_board_gsi_of(b, slot, gen, g))
			return true;
	return false;
}

/* ----------------------------------------------------- ids of dead processes */

bool dpa_board_cmid_orphan(struct dpa_board *b, uint32_t *at, struct dpa_gsi_id *id)
{
	uint64_t word;

	while ((*at = next_used(b, *at, &word)) < DPA_BOARD_CMIDS) {
		struct dpa_board_cmid *r = &b->shm->cmids[(*at)++];
		const uint64_t life = word & ~OWNER_BITS;

		if (is_owner_live(b, word & OWNER_BITS) ||
		    !atomic_compare_exchange_strong_explicit(
			    &r->owner, &word, life | dpa_board_me(b), memory_order_acq_rel,
			    memory_order_relaxed))
			continue;
		DPA_BOARD_STEP("cmid-taken-over");
		if (get_cmid(b, r, life, id))
			return true;
		atomic_store_explicit(&r->owner, life, memory_order_release);
	}
	return false;
}

bool dpa_board_cmid_orphans(struct dpa_board *b)
{
	struct dpa_gsi_id id;
	uint32_t slot, gen;

	for (uint32_t at = 0; dpa_board_cmid_next(b, &at, &id, &slot, &gen); at++)
		if (!is_owner_live(b, dpa_owner(slot, gen)))
			return true;
	return false;
}

void dpa_board_cm_end(struct dpa_board *b)
{
	uint64_t word;

	for (uint32_t i = 0, n = services_used(b); i < n; i++)
		dpa_board_service_remove(b, i);
	DPA_BOARD_STEP("cm-services-ended");
	for (uint32_t i = 0; (i = next_used(b, i, &word)) < DPA_BOARD_CMIDS; i++)
		if ((word & OWNER_BITS) == dpa_board_me(b))
			atomic_store_explicit(&b->shm->cmids[i].owner, word & ~OWNER_BITS,
					      memory_order_release);
	/* last: a process that dies before leaves ids, which dpa_board_cm_gone() announces */
	dpa_board_gsi_set(b, 0);
}

bool dpa_board_cm_left(struct dpa_board_shm *shm)
{
	struct dpa_board b = {.shm = shm, .board_num = shm->head.ident.board_num};
	struct dpa_gsi_id id;
	uint32_t slot, gen;

	for (uint32_t at = 0; dpa_board_cmid_next(&b, &at, &id, &slot, &gen); at++)
		if (id.tell_peer)
			return true;
	return false;
}
