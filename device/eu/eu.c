/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * eu.c - EU placement: threads that carry out the doorbells of the QPs assigned to them. An EU
 * reads a QP's doorbell slot directly. A BlueFlame write puts the WQE into the cache line that is
 * read anyway.
 *
 *   slot word   written by the poster (release), read by the EU (acquire).
 *   eu->sleep   written by the EU only (relaxed): 1, full fence, a last check, block. The poster
 *               fences between its slot write and its read of this word.
 *   eu->wakes   incremented by wakers (release); the EU reads it (acquire) before its last check
 *               and blocks only while it is unchanged: a wake-up in between is not lost.
 *   eu->stop    written by the thread that closes the device (release), read by the EU (acquire).
 *   qp->eu      written under hw->ctl and eu->lock (release), read by posters (acquire). A poster
 *               may find none, or the previous EU: the thread that changes it wakes the EU or rings.
 *   eu->qps     under eu->lock; while another thread has that lock the EU touches none of them.
 *
 * A QP whose SQ is watched (watch.c) has the word of its poster in place of that of its slot. That
 * poster wakes no thread, so an EU with such a QP sleeps by a timer.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <dpa_hw_trace.h>
#include "link/kick.h"
#include "transport/api.h"
#include "eu/eu.h"
#include "eu/inject.h"
#include "meter/meter.h"
#include "eu/progress.h"
#include "eu/sched.h"
#include "eu/watch.h"
#include "util/backoff.h"
#include "util/rest.h"

struct dpa_eu {
	struct dpa_hw *hw;
	uint32_t number; /* number on the board */
	pthread_t thread;
	struct dpa_eu *next;
	/* In a cache line that every poster reads and hardly any thread writes. */
	_Atomic uint32_t sleep __attribute__((aligned(DPA_CACHE_LINE)));
	_Atomic uint32_t stop;
	_Atomic uint32_t
		wakes; /* incremented by wakers; the futex: a wake-up before the wait is not lost */
	/* Used by the EU itself. */
	dpa_spin_t lock __attribute__((aligned(DPA_CACHE_LINE))); /* the list */
	struct dpa_hw_qp *qps;
	struct dpa_backoff seldom; /* interval of checks for DPA_LOOK_SELDOM */
	/* The service thread's: its processor time at the last figures. */
	uint64_t cpu __attribute__((aligned(DPA_CACHE_LINE)));
};

static void eu_wake(struct dpa_eu *eu)
{
	atomic_fetch_add_explicit(&eu->wakes, 1, memory_order_release);
	syscall(SYS_futex, &eu->wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static uint64_t slot_word(const struct dpa_hw_qp *qp)
{
	return __atomic_load_n(qp->poll.word, __ATOMIC_ACQUIRE);
}

static bool slot_seen(const struct dpa_hw_qp *qp)
{
	return slot_word(qp) == __atomic_load_n(&qp->poll.seen, __ATOMIC_RELAXED);
}

/*
 * Copies a WQE from the slot, which the poster may be writing: word by word. Returns the check
 * value, which shows whether all words belong together.
 */
static uint32_t slot_copy(const struct dpa_hw_qp *qp, void *to, uint32_t nbb)
{
	const uint64_t *from = (const void *)qp->slot->bf;
	uint64_t *t = to, sum = nbb;

	for (uint32_t b = 0; b < nbb * 8; b += 8) {
#pragma GCC unroll 8
		for (uint32_t i = b; i < b + 8; i++) {
			t[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
			sum += dpa_wqe_mix(i, t[i]);
		}
	}
	return dpa_wqe_mixed(sum);
}

/* Number of blocks in a word that is no doorbell. */
static uint32_t slot_blocks(uint64_t word)
{
	struct dpa_db d;

	memcpy(&d, &word, sizeof(d));
	return d.nbb;
}

/*
 * Other processes may write to a slot. So the doorbell record decides, which the poster writes
 * before the slot.
 */
static bool is_posted(const struct dpa_hw_qp *qp, uint32_t pi)
{
	return dpa_likely((int32_t)(__atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE) - pi) >=
			  0);
}

/* Carries out the slot's word. The WQE in the slot is used if it is complete and the next one. */
static int serve_qp(struct dpa_hw_qp *qp)
{
	uint8_t bf[DPA_BF_BLOCKS * 64] __attribute__((aligned(64)));
	const struct dpa_wqe_ctrl *c = (const void *)bf;
	uint64_t w;

	/* for is_posted(): arrives together with the slot's cache line */
	__builtin_prefetch(qp->dbrec);
	if (slot_seen(qp))
		return 0;
	if (!dpa_qplock_enter_or_note(&qp->lock))
		return 1;
	/*
	 * Read again under the lock: a reset clears the last value, and an old word must not be
	 * carried out again.
	 */
	w = slot_word(qp);
	if (dpa_unlikely(qp->poll.watched)) {
		dpa_watch_take(qp);
		dpa_requester_run(qp);
		dpa_qp_leave(qp);
		return 1;
	}
	__atomic_store_n(&qp->poll.seen, w, __ATOMIC_RELAXED);
	if (qp->qpn && qp->dbrec && (uint8_t)w != DPA_OP_DOORBELL) {
		const uint32_t nbb = slot_blocks(w);

		if (nbb && nbb <= DPA_BF_BLOCKS) {
			const uint32_t check = slot_copy(qp, bf, nbb);

			if (c->nbb == nbb && c->index == qp->req.send_idx && c->check == check &&
			    is_posted(qp, c->index + nbb)) {
				qp->bf = bf;
			}
		}
	}
	if (qp->qpn)
		dpa_requester_run(qp);
	qp->bf = NULL;
	dpa_qp_leave(qp);
	return 1;
}

static int round_of(struct dpa_eu *eu)
{
	int n = 0;

	dpa_spin_lock(&eu->lock);
	for (struct dpa_hw_qp *qp = eu->qps; qp; qp = qp->poll.next)
		n += serve_qp(qp);
	dpa_spin_unlock(&eu->lock);
	return n;
}

/* How often an idle EU must check its QPs. True if their words are unchanged. */
static bool slots_quiet(struct dpa_eu *eu, enum dpa_look *look)
{
	bool quiet = true;

	*look = DPA_LOOK_NEVER;
	dpa_spin_lock(&eu->lock);
	for (struct dpa_hw_qp *qp = eu->qps; qp && quiet; qp = qp->poll.next) {
		quiet = slot_seen(qp);
		if (dpa_unlikely(qp->poll.watched) && dpa_watch_look(qp) > *look)
			*look = dpa_watch_look(qp);
	}
	dpa_spin_unlock(&eu->lock);
	return quiet;
}

/* Returns the ns until the EU checks by itself; 0: it does not. */
static uint32_t look_within(struct dpa_eu *eu, enum dpa_look look)
{
	switch (look) {
	case DPA_LOOK_OFTEN:
		return DPA_WATCH_NS;
	case DPA_LOOK_SELDOM:
		return dpa_backoff_step(&eu->seldom, DPA_WATCH_SELDOM_MIN_NS,
					DPA_WATCH_SELDOM_MAX_NS);
	default:
		return 0;
	}
}

/* True: the time of a check has come. */
static bool eu_block(struct dpa_eu *eu, uint32_t wakes, uint32_t ns)
{
	const struct timespec ts = {.tv_nsec = ns};
	long ret;

	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_SLEEP, 0, DPA_TRACE_EU, eu->number, 0, 0, 0);
	dpa_own_sleeps();
	ret = syscall(SYS_futex, &eu->wakes, FUTEX_WAIT_PRIVATE, wakes, ns ? &ts : NULL, NULL, 0);
	ns = ret < 0 && errno == ETIMEDOUT;
	dpa_own_woke();
	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_WAKE, 0, DPA_TRACE_EU, eu->number, 0, 0, 0);
	return ns;
}

/* True: the time of a check has come, and no thread has woken it. */
static bool eu_sleep(struct dpa_eu *eu)
{
	uint32_t wakes = atomic_load_explicit(&eu->wakes, memory_order_acquire);
	enum dpa_look look;
	bool timer = false;

	atomic_store_explicit(&eu->sleep, 1, memory_order_relaxed);
	dpa_full_fence();
	if (slots_quiet(eu, &look) && !atomic_load_explicit(&eu->stop, memory_order_acquire))
		timer = eu_block(eu, wakes, look_within(eu, look));
	atomic_store_explicit(&eu->sleep, 0, memory_order_relaxed);
	return timer;
}

static void *eu_main(void *arg)
{
	struct dpa_eu *eu = arg;
	uint32_t idle = 0;
	char name[16];
	int n;

	snprintf(name, sizeof(name), "dpa-eu-%u", eu->number);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, (unsigned long)DPA_WATCH_SLACK_NS);
	dpa_run_soon();
	dpa_own_begin();
	while (!atomic_load_explicit(&eu->stop, memory_order_acquire)) {
		dpa_own_rest();
		n = round_of(eu) + dpa_progress_once(eu->hw);
		if (n)
			dpa_backoff_reset(&eu->seldom);
		if (dpa_sched_eu(eu->hw, &idle, n) == DPA_SLEEP) {
			dpa_settle_kicks(eu->hw);
			while (eu_sleep(eu)) /* a check of the words, without spinning */
				dpa_own_rest();
			dpa_inject_steal(eu->hw, false);
		}
	}
	dpa_own_end();
	return NULL;
}

static struct dpa_eu *eu_start(struct dpa_hw *hw, uint32_t number)
{
	struct dpa_eu *eu;

	if (posix_memalign((void **)&eu, DPA_CACHE_LINE, sizeof(*eu)))
		return NULL;
	memset(eu, 0, sizeof(*eu));
	eu->hw = hw;
	eu->number = number;
	if (dpa_own_start(&eu->thread, eu_main, eu)) {
		free(eu);
		return NULL;
	}
	eu->next = hw->eus;
	hw->eus = eu;
	hw->neus++;
	return eu;
}

/*
 * Returns the EU of this number, or (-1) one that the policy names; starts it at first use.
 * Context: hw->ctl.
 */
static struct dpa_eu *eu_find(struct dpa_hw *hw, int number)
{
	uint32_t n = 0;

	if (number < 0) {
		while (n < 255 && !dpa_cfg_place_has_eu(&hw->cfg.placement, n))
			n++;
		number = (int)n;
	}
	for (struct dpa_eu *eu = hw->eus; eu; eu = eu->next)
		if (eu->number == (uint32_t)number)
			return eu;
	return eu_start(hw, (uint32_t)number);
}

static uint32_t meter_of(struct dpa_eu *eu, uint64_t ns)
{
	struct dpa_meter_thread t = {
		.there = true,
		.number = eu->number,
		.busy = dpa_meter_busy(eu->thread, &eu->cpu, ns),
		.asleep = atomic_load_explicit(&eu->sleep, memory_order_relaxed),
	};

	dpa_spin_lock(&eu->lock);
	for (struct dpa_hw_qp *qp = eu->qps; qp; qp = qp->poll.next)
		t.qps++;
	dpa_spin_unlock(&eu->lock);
	return dpa_meter_pack(&t);
}

void dpa_eu_meters(struct dpa_hw *hw, uint64_t ns, _Atomic uint32_t *word, uint32_t n)
{
	uint32_t i = 0;

	pthread_mutex_lock(&hw->ctl);
	for (struct dpa_eu *eu = hw->eus; eu && i < n; eu = eu->next)
		atomic_store_explicit(&word[i++], meter_of(eu, ns), memory_order_relaxed);
	pthread_mutex_unlock(&hw->ctl);
	while (i < n)
		atomic_store_explicit(&word[i++], 0, memory_order_relaxed);
}

int dpa_eu_init(struct dpa_hw *hw)
{
	hw->eus = NULL;
	hw->neus = 0;
	return 0;
}

void dpa_eu_fini(struct dpa_hw *hw)
{
	struct dpa_eu *eu, *next;

	for (eu = hw->eus; eu; eu = next) {
		next = eu->next;
		atomic_store_explicit(&eu->stop, 1, memory_order_release);
		eu_wake(eu);
		pthread_join(eu->thread, NULL);
		free(eu);
	}
	hw->eus = NULL;
}

int dpa_eu_attach(struct dpa_hw_qp *qp, int number)
{
	struct dpa_hw *hw = qp->hw;
	struct dpa_eu *eu;

	pthread_mutex_lock(&hw->ctl);
	eu = qp->eu ? qp->eu : eu_find(hw, number);
	if (eu && !qp->eu) {
		dpa_spin_lock(&eu->lock);
		__atomic_store_n(&qp->eu, eu, __ATOMIC_RELEASE);
		qp->poll.word = dpa_watch_word(qp);
		qp->poll.watched = qp->poll.word != NULL;
		qp->poll.seen = qp->poll.watched ? dpa_watch_taken(qp) : 0;
		if (!qp->poll.watched)
			qp->poll.word = &qp->slot->word;
		qp->poll.next = eu->qps;
		eu->qps = qp;
		dpa_spin_unlock(&eu->lock);
		atomic_store_explicit(&qp->placement, DPA_PLACE_EU, memory_order_release);
		if (qp->info)
			qp->info->placement = DPA_PLACE_EU;
		eu_wake(eu); /* the last post may have woken the previous EU */
	}
	pthread_mutex_unlock(&hw->ctl);
	return eu ? 0 : EAGAIN;
}

int dpa_eu_detach(struct dpa_hw_qp *qp)
{
	struct dpa_hw *hw = qp->hw;
	struct dpa_hw_qp **p;
	struct dpa_eu *eu;
	int number = -1;

	pthread_mutex_lock(&hw->ctl);
	eu = qp->eu;
	if (eu) {
		number = (int)eu->number;
		dpa_spin_lock(&eu->lock);
		for (p = &eu->qps; *p != qp; p = &(*p)->poll.next)
			;
		*p = qp->poll.next;
		__atomic_store_n(&qp->eu, NULL, __ATOMIC_RELEASE);
		dpa_spin_unlock(&eu->lock);
		atomic_store_explicit(&qp->placement, DPA_PLACE_INLINE, memory_order_release);
		if (qp->info)
			qp->info->placement = DPA_PLACE_INLINE;
	}
	pthread_mutex_unlock(&hw->ctl);
	return number;
}

void dpa_hw_kick_sq(struct dpa_hw_qp *qp)
{
	struct dpa_eu *eu = __atomic_load_n(&qp->eu, __ATOMIC_ACQUIRE);

	if (!eu) {
		dpa_hw_ring_sq(qp);
		return;
	}
	dpa_full_fence();
	if (atomic_load_explicit(&eu->sleep, memory_order_relaxed))
		eu_wake(eu); /* may be repeated: only the sleeper clears the word */
}

int dpa_hw_set_placement(struct dpa_hw_qp *qp, uint32_t placement, int eu)
{
	if (placement == DPA_PLACE_EU) {
		if (eu >= 256)
			return EINVAL;
		dpa_eu_detach(qp);
		return dpa_eu_attach(qp, eu);
	}
	if (placement != DPA_PLACE_INLINE)
		return EINVAL;
	if (dpa_watch_is_on(qp))
		return EBUSY; /* no thread of the application rings for it */
	dpa_eu_detach(qp);
	dpa_hw_ring_sq(qp); /* for the last post to the slot */
	return 0;
}
