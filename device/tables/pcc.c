/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc.c - the port's congestion control for tools, telemetry and flows: the state word, slots,
 * counters, parameters.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "board/board_priv.h"
#include "tables/pcc.h"
#include "tables/pcc_priv.h"

#define PARAM_TRIES 1000	      /* times 1 ms for the image's process to answer */
#define SUM_TRIES   16		      /* tries to sum up without a process ending meanwhile */
#define BEHIND	    (UINT32_MAX / 16) /* so far below a counter's base is not a wrap */

_Atomic uint64_t *dpa_board_pcc_word(struct dpa_board *b)
{
	return &b->shm->pcc.rp.word;
}

static uint64_t load_pcc_word(struct dpa_board *b)
{
	return atomic_load_explicit(&b->shm->pcc.rp.word, memory_order_acquire);
}

bool dpa_pcc_word_change(struct dpa_board *b, uint64_t *old, uint64_t new)
{
	const uint64_t mask = ((UINT64_C(1) << DPA_BOARD_PCC_IMAGE) - 1) &
			      ~((UINT64_C(1) << DPA_BOARD_PCC_CHANGE) - 1);
	uint64_t change = (*old & mask) + (UINT64_C(1) << DPA_BOARD_PCC_CHANGE);

	new = (new & ~mask) | (change & mask);
	return atomic_compare_exchange_weak_explicit(&b->shm->pcc.rp.word, old, new,
						     memory_order_acq_rel, memory_order_acquire);
}

uint64_t dpa_pcc_word_counting_set(uint64_t w, int slot)
{
	w &= ~(UINT64_C(31) << DPA_BOARD_PCC_COUNTING);
	return w | (uint64_t)(slot + 1) << DPA_BOARD_PCC_COUNTING;
}

/* Removes the slots of the image; the built-in counters count again. */
void dpa_pcc_word_drop_image(struct dpa_board *b, uint32_t image)
{
	uint64_t old = load_pcc_word(b), new;

	do {
		if (dpa_pcc_word_image(old) != image || !(old >> 16 & 0xff))
			return;
		new = old & ~(UINT64_C(0xff) << DPA_BOARD_PCC_POPULATED) & ~UINT64_C(0xff);
		if (dpa_pcc_word_counting(old) >= 0 &&
		    dpa_pcc_word_counting(old) < (int)DPA_PCC_USER_SLOTS)
			new = dpa_pcc_word_counting_set(new, dpa_pcc_word_acting(new));
	} while (!dpa_pcc_word_change(b, &old, new));
}

void dpa_board_pcc_check(struct dpa_board *b)
{
	uint32_t image = dpa_pcc_word_image(load_pcc_word(b));
	dpa_owner_t o = atomic_load_explicit(&b->shm->pcc.rp.owner, memory_order_acquire);

	if (!o || dpa_board_alive(b, dpa_owner_slot(o), dpa_owner_gen(o)))
		return;
	/* A later owner's image has another number. */
	dpa_pcc_word_drop_image(b, image);
	DPA_BOARD_STEP("pcc-drop");
	atomic_compare_exchange_strong_explicit(&b->shm->pcc.rp.owner, &o, 0, memory_order_acq_rel,
						memory_order_relaxed);
}

/* A reader without write access leaves a dead process's image to others, but hides it. */
static uint64_t current_word(struct dpa_board *b)
{
	dpa_owner_t o = atomic_load_explicit(&b->shm->pcc.rp.owner, memory_order_acquire);
	uint64_t w;

	if (!b->peek) {
		dpa_board_pcc_check(b);
		return load_pcc_word(b);
	}
	w = load_pcc_word(b);
	if (!o || !dpa_board_alive(b, dpa_owner_slot(o), dpa_owner_gen(o)))
		w &= ~(UINT64_C(0xff) << DPA_BOARD_PCC_POPULATED);
	return w;
}

void dpa_board_pcc_query(void *port, struct dpa_pcc_port *out)
{
	struct dpa_board *b = port;
	uint64_t w = current_word(b);
	dpa_owner_t o = atomic_load_explicit(&b->shm->pcc.rp.owner, memory_order_acquire);
	struct dpa_board_proc *p = o ? dpa_board_proc(b, dpa_owner_slot(o)) : NULL;

	*out = (struct dpa_pcc_port){
		.populated = dpa_pcc_word_populated(w),
		.enabled = dpa_pcc_word_enabled(w) & dpa_pcc_word_populated(w),
		.acting = dpa_pcc_word_acting(w),
		.counting = dpa_pcc_word_counting(w),
		.image = dpa_pcc_word_image(w),
		.loaded = o != 0,
		.pid = p ? dpa_proc_pid(p) : 0,
	};
}

/* Returns the slot of the existing image; NULL: it is empty. */
static struct dpa_board_pcc_slot *user_slot(struct dpa_board *b, uint32_t slot, uint64_t w)
{
	uint64_t off = DPA_BOARD_OFF_PCC_SLOT + slot * sizeof(struct dpa_board_pcc_slot);

	if (slot >= DPA_PCC_USER_SLOTS || !(dpa_pcc_word_populated(w) >> slot & 1) ||
	    !dpa_board_present(b, off) || !dpa_board_present(b, off + DPA_BOARD_UNIT))
		return NULL;
	return &b->shm->pcc_slots[slot];
}

static bool is_slot_there(struct dpa_board *b, uint32_t slot, uint64_t w)
{
	return dpa_board_pcc_builtin(slot) || user_slot(b, slot, w);
}

/* ------------------------------------------------------------------------- slots */

static void put_slot_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%.*s", (int)size - 1, from);
}

void dpa_board_pcc_params(struct dpa_board *b, uint32_t slot, uint32_t value[DPA_PCC_PARAMS])
{
	const struct dpa_pcc_builtin_desc *d = dpa_board_pcc_builtin(slot);
	struct dpa_board_pcc_builtin *p = &b->shm->pcc.builtin[slot - DPA_PCC_SLOT_RTT];
	uint64_t set = atomic_load_explicit(&p->set, memory_order_acquire);

	for (uint32_t i = 0; i < d->nparams; i++) {
		uint32_t v = atomic_load_explicit(&p->value[i], memory_order_relaxed);

		/*
		 * Limits each value once: a damaged file must not give an algorithm an invalid
		 * value.
		 */
		if (!(set >> i & 1) || v < d->params[i].min || v > d->params[i].max)
			v = d->params[i].def;
		value[i] = v;
	}
}

static void read_builtin(struct dpa_board *b, uint32_t slot, struct dpa_pcc_slot *out)
{
	const struct dpa_pcc_builtin_desc *d = dpa_board_pcc_builtin(slot);
	uint32_t value[DPA_PCC_PARAMS];

	dpa_board_pcc_params(b, slot, value);
	out->id = d->id;
	out->major = d->major;
	out->minor = d->minor;
	out->nparams = d->nparams;
	out->ncounters = d->ncounters;
	put_slot_text(out->text, sizeof(out->text), d->text);
	for (uint32_t i = 0; i < d->nparams; i++) {
		out->params[i] = (struct dpa_pcc_param_desc){
			value[i], d->params[i].def, d->params[i].min, d->params[i].max, 1, ""};
		put_slot_text(out->params[i].text, DPA_PCC_TEXT, d->params[i].text);
	}
	for (uint32_t i = 0; i < d->ncounters; i++)
		put_slot_text(out->counters[i], DPA_PCC_TEXT, d->counters[i]);
}

static uint32_t pcc_at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

static void read_user(const struct dpa_board_pcc_slot *s, struct dpa_pcc_slot *out)
{
	out->id = s->id;
	out->major = s->major;
	out->minor = s->minor;
	out->nparams = pcc_at_most(s->nparams, DPA_PCC_PARAMS);
	out->ncounters = pcc_at_most(s->ncounters, DPA_PCC_COUNTERS);
	put_slot_text(out->text, sizeof(out->text), s->text);
	for (uint32_t i = 0; i < out->nparams; i++) {
		out->params[i] = (struct dpa_pcc_param_desc){
			__atomic_load_n(&s->values[i], __ATOMIC_RELAXED),
			s->def[i],
			s->min[i],
			s->max[i],
			s->may_set[i],
			""};
		put_slot_text(out->params[i].text, DPA_PCC_TEXT, s->ptext[i]);
	}
	for (uint32_t i = 0; i < out->ncounters; i++)
		put_slot_text(out->counters[i], DPA_PCC_TEXT, s->ctext[i]);
}

int dpa_board_pcc_read_slot(void *port, uint32_t slot, struct dpa_pcc_slot *out)
{
	struct dpa_board *b = port;
	uint64_t w = current_word(b);
	struct dpa_board_pcc_slot *s = user_slot(b, slot, w);

	memset(out, 0, sizeof(*out));
	if (dpa_board_pcc_builtin(slot)) {
		read_builtin(b, slot, out);
		return 0;
	}
	if (!s)
		return ENOENT;
	read_user(s, out);
	atomic_thread_fence(memory_order_acquire);
	return dpa_pcc_word_image(load_pcc_word(b)) == dpa_pcc_word_image(w) ? 0 : EAGAIN;
}

int dpa_board_pcc_enable(void *port, uint32_t slot, bool on)
{
	struct dpa_board *b = port;
	uint64_t old = current_word(b), new;

	do {
		if (slot >= DPA_PCC_SLOTS || !is_slot_there(b, slot, old))
			return ENOENT;
		new = on ? old | UINT64_C(1) << slot : old & ~(UINT64_C(1) << slot);
	} while (!dpa_pcc_word_change(b, &old, new));
	return 0;
}

int dpa_board_pcc_count(void *port, uint32_t slot, bool on)
{
	struct dpa_board *b = port;
	uint64_t old = current_word(b), new;

	do {
		if (slot >= DPA_PCC_SLOTS || !is_slot_there(b, slot, old))
			return ENOENT;
		if (!on && dpa_pcc_word_counting(old) != (int)slot)
			return 0;
		new = dpa_pcc_word_counting_set(old, on ? (int)slot : -1);
	} while (!dpa_pcc_word_change(b, &old, new));
	return 0;
}

/* ---------------------------------------------------------------------- counters */

static struct dpa_board_pcc_counts *proc_counts(struct dpa_board *b, uint32_t proc)
{
	if (!dpa_board_present(b,
			       DPA_BOARD_OFF_PCC_CNT + proc * sizeof(struct dpa_board_pcc_counts)))
		return NULL;
	return &b->shm->pcc_counts[proc];
}

_Atomic uint32_t *dpa_board_pcc_counts(struct dpa_board *b, uint32_t slot)
{
	if (dpa_board_reserve(b, DPA_BOARD_OFF_PCC_CNT + b->slot * sizeof(b->shm->pcc_counts[0]),
			      sizeof(b->shm->pcc_counts[0])))
		return NULL;
	return b->shm->pcc_counts[b->slot].n[slot - DPA_PCC_SLOT_RTT];
}

/* fold: see board_layout.h. Its count is read as if the addition were complete. */
static void sum_past(struct dpa_board *b, uint32_t s, uint64_t fold, uint32_t *values)
{
	uint32_t which = (uint32_t)(fold >> DPA_BOARD_PCC_FOLD_WHICH) & 31;

	for (uint32_t i = 0; i < DPA_PCC_N_NUM; i++)
		values[i] = atomic_load_explicit(&b->shm->pcc.past[s][i], memory_order_seq_cst);
	for (uint32_t i = 0; fold & DPA_BOARD_PCC_FOLD && i < DPA_PCC_N_NUM; i++)
		if (which == s * DPA_PCC_BUILTIN_COUNTERS + i)
			values[i] = (uint32_t)fold;
}

static void sum_proc(struct dpa_board *b, uint32_t proc, uint32_t s, uint64_t fold,
		     uint32_t *values)
{
	struct dpa_board_pcc_counts *c = proc_counts(b, proc);
	uint32_t which = (uint32_t)(fold >> DPA_BOARD_PCC_FOLD_WHICH) & 31;
	bool folds = fold & DPA_BOARD_PCC_FOLD &&
		     (fold >> DPA_BOARD_PCC_FOLD_PROC) % DPA_BOARD_PROCS == proc;

	for (uint32_t i = 0; c && i < DPA_PCC_N_NUM; i++)
		if (!folds || which != s * DPA_PCC_BUILTIN_COUNTERS + i)
			values[i] += atomic_load_explicit(&c->n[s][i], memory_order_seq_cst);
}

/*
 * The sum over all processes, modulo 2^32 as the words are. Repeated if a process ends meanwhile.
 */
static void sum_builtin(struct dpa_board *b, uint32_t s, uint32_t values[DPA_PCC_COUNTERS])
{
	uint64_t fold = atomic_load_explicit(&b->shm->pcc.fold, memory_order_seq_cst), now;

	for (int i = 0; i < SUM_TRIES; i++) {
		sum_past(b, s, fold, values);
		for (uint32_t p = dpa_board_proc_next(b, 0); p < DPA_BOARD_PROCS;
		     p = dpa_board_proc_next(b, p + 1))
			sum_proc(b, p, s, fold, values);
		now = atomic_load_explicit(&b->shm->pcc.fold, memory_order_seq_cst);
		if (now == fold)
			return;
		fold = now;
	}
}

/* If another reader has set the base meanwhile a value older than the base counts 0. */
static uint32_t count_from(_Atomic uint32_t *base, uint32_t n, bool clear)
{
	uint32_t was = atomic_load_explicit(base, memory_order_relaxed);

	do {
		if (was - n - 1 < BEHIND)
			return 0;
	} while (clear && !atomic_compare_exchange_weak_explicit(
				  base, &was, n, memory_order_relaxed, memory_order_relaxed));
	return n - was;
}

int dpa_board_pcc_read_counters(void *port, uint32_t slot, bool clear, uint32_t *num,
				uint32_t values[DPA_PCC_COUNTERS])
{
	struct dpa_board *b = port;
	uint64_t w = current_word(b);
	struct dpa_board_pcc_slot *s = user_slot(b, slot, w);

	if (slot >= DPA_PCC_SLOTS || !is_slot_there(b, slot, w))
		return ENOENT;
	if (dpa_pcc_word_counting(w) != (int)slot || !(dpa_pcc_word_enabled(w) >> slot & 1))
		return ENODATA;
	*num = s ? pcc_at_most(s->ncounters, DPA_PCC_COUNTERS) : DPA_PCC_N_NUM;
	if (!s)
		sum_builtin(b, slot - DPA_PCC_SLOT_RTT, values);
	for (uint32_t i = 0; i < *num; i++) {
		_Atomic uint32_t *base = &b->shm->pcc.base[slot][i];
		uint32_t n = s ? __atomic_load_n(&s->counters[i], __ATOMIC_RELAXED) : values[i];

		values[i] = count_from(base, n, clear);
	}
	return 0;
}

static uint64_t load_count(_Atomic uint64_t *counters, enum dpa_counter c)
{
	return counters ? atomic_load_explicit(&counters[c], memory_order_relaxed) : 0;
}

/* Live processes and past ones. A process that ends meanwhile counts once or not yet. */
void dpa_board_pcc_port_bytes(void *port, uint64_t *tx, uint64_t *rx)
{
	struct dpa_board *b = port;
	_Atomic uint64_t *c = dpa_board_counters_past(b);

	*tx = load_count(c, DPA_CNT_tx_bytes);
	*rx = load_count(c, DPA_CNT_rx_bytes);
	for (uint32_t p = dpa_board_proc_next(b, 0); p < DPA_BOARD_PROCS;
	     p = dpa_board_proc_next(b, p + 1)) {
		c = dpa_board_counters(b, p);
		*tx += load_count(c, DPA_CNT_tx_bytes);
		*rx += load_count(c, DPA_CNT_rx_bytes);
	}
}

/* -------------------------------------------------------------------- parameters */

static int set_builtin(struct dpa_board *b, uint32_t slot, uint32_t id, uint32_t value)
{
	const struct dpa_pcc_builtin_desc *d = dpa_board_pcc_builtin(slot);
	struct dpa_board_pcc_builtin *p = &b->shm->pcc.builtin[slot - DPA_PCC_SLOT_RTT];
	uint64_t old = load_pcc_word(b);

	if (id >= d->nparams || value < d->params[id].min || value > d->params[id].max)
		return ERANGE;
	atomic_store_explicit(&p->value[id], value, memory_order_relaxed);
	atomic_fetch_or_explicit(&p->set, UINT64_C(1) << id, memory_order_release);
	while (!dpa_pcc_word_change(b, &old, old)) /* flows read their parameters again */
		;
	return 0;
}

static void sleep_1ms(void)
{
	struct timespec ms = {.tv_nsec = 1000000};

	nanosleep(&ms, NULL);
}

/* Posts the request; takes the word over from another caller that has had it for too long. */
static uint64_t post_request(_Atomic uint64_t *r, uint64_t what)
{
	const uint64_t one = UINT64_C(1) << DPA_BOARD_PCC_REQ_SERIAL;
	const uint64_t serials = (UINT64_C(1) << DPA_BOARD_PCC_REQ_VALUE) - one;
	uint64_t s = atomic_load_explicit(r, memory_order_acquire), seen = s, mine;

	for (int i = 0;; sleep_1ms()) {
		mine = what | ((s + one) & serials) | DPA_PCC_REQ_POSTED;
		if (((s & DPA_BOARD_PCC_REQ_STATE) == DPA_PCC_REQ_FREE || i > PARAM_TRIES) &&
		    atomic_compare_exchange_strong_explicit(r, &s, mine, memory_order_acq_rel,
							    memory_order_acquire))
			return mine;
		s = atomic_load_explicit(r, memory_order_acquire);
		i = s == seen ? i + 1 : 0;
		seen = s;
	}
}

static bool is_answered(uint64_t s)
{
	return (s & DPA_BOARD_PCC_REQ_STATE) == DPA_PCC_REQ_ANSWERED;
}

/* Frees the word. Returns the request's errno; EBUSY: no answer, or another caller has taken it. */
static int end_pcc_request(_Atomic uint64_t *r, uint64_t mine)
{
	uint64_t s = atomic_load_explicit(r, memory_order_acquire);

	do {
		if ((uint32_t)(s ^ mine) & ~(uint32_t)DPA_BOARD_PCC_REQ_STATE)
			return EBUSY;
	} while (!atomic_compare_exchange_strong_explicit(
		r, &s, s & ~DPA_BOARD_PCC_REQ_STATE, memory_order_acq_rel, memory_order_acquire));
	return is_answered(s) ? (int)(s >> DPA_BOARD_PCC_REQ_VALUE) : EBUSY;
}

static int ask_image(struct dpa_board *b, uint32_t slot, uint32_t id, uint32_t value)
{
	_Atomic uint64_t *r = &b->shm->pcc.req;
	uint64_t mine = post_request(r, (uint64_t)value << DPA_BOARD_PCC_REQ_VALUE |
						id << DPA_BOARD_PCC_REQ_ID |
						slot << DPA_BOARD_PCC_REQ_SLOT);

	DPA_BOARD_STEP("pcc-request");
	dpa_pcc_bell_ring(&b->shm->pcc.rp);
	for (int i = 0; i < PARAM_TRIES; i++, sleep_1ms())
		if (atomic_load_explicit(r, memory_order_acquire) != mine)
			break;
	return end_pcc_request(r, mine);
}

int dpa_board_pcc_set_param(void *port, uint32_t slot, uint32_t id, uint32_t value)
{
	struct dpa_board *b = port;
	struct dpa_board_pcc_slot *s = user_slot(b, slot, current_word(b));

	if (dpa_board_pcc_builtin(slot))
		return set_builtin(b, slot, id, value);
	if (!s)
		return ENOENT;
	if (id >= pcc_at_most(s->nparams, DPA_PCC_PARAMS) || !(s->may_set[id] & 1) ||
	    value < s->min[id] || value > s->max[id])
		return ERANGE;
	return ask_image(b, slot, id, value);
}

int dpa_board_pcc_writable(struct dpa_board *b)
{
	int fd = open(b->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	void *shm;
	int rc;

	if (fd < 0)
		return errno;
	shm = dpa_board_file_named(fd, b->path)
		      ? mmap(NULL, b->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
		      : MAP_FAILED;
	rc = shm == MAP_FAILED ? ENOENT : 0;
	close(fd);
	if (rc)
		return rc;
	munmap(b->shm, b->map_len);
	b->shm = shm;
	return 0;
}
