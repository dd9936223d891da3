/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * foreign.c - regions of memory that this process cannot address, the thread that copies
 * (dpa-foreign), and the life of a QP's part: see foreign.h.
 *
 * The thread:  ASLEEP --a QP is queued--> it takes the QP (busy) --QP's lock--> takes its copies
 *              --no lock--> copy() --QP's lock--> reports, runs the QP --> the next QP, or ASLEEP
 *
 * A QP's part is freed when it is neither queued nor busy: the thread has no pointer to it then.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "foreign/foreign.h"
#include "util/sys.h"
#include "ctx/ops.h"
#include "ctx/schedule.h"
#include "util/rest.h"

#define PASSES	  400u	 /* without work, before the thread sleeps */
#define SETTLE_NS 20000l /* between checks that copies are done */
#define TABLE	  (DPA_MAX_MR * sizeof(struct dpa_foreign *))

/* ------------------------------------------------------------------ windows */

static uint32_t window_skip(const struct dpa_window *w, uint32_t n)
{
	const uint32_t at = w->head & (DPA_FOREIGN_WINDOW - 1);

	return at + n > DPA_FOREIGN_WINDOW ? DPA_FOREIGN_WINDOW - at : 0;
}

static uint32_t round_to_line(uint32_t n)
{
	return (n + DPA_CACHE_LINE - 1) & ~(DPA_CACHE_LINE - 1);
}

bool dpa_window_room(const struct dpa_window *w, uint32_t n)
{
	n = round_to_line(n);
	return n <= DPA_FOREIGN_WINDOW &&
	       w->head - w->tail + window_skip(w, n) + n <= DPA_FOREIGN_WINDOW;
}

/* The kernel allocates its pages at first use; pages without data are not allocated. */
uint8_t *dpa_window_take(struct dpa_window *w, uint32_t n)
{
	uint8_t *at;

	if (!dpa_window_room(w, n))
		return NULL;
	if (!w->mem) {
		at = mmap(NULL, DPA_FOREIGN_WINDOW, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at == MAP_FAILED)
			return NULL;
		dpa_sys_madvise(at, DPA_FOREIGN_WINDOW, MADV_DONTFORK);
		w->mem = at;
	}
	n = round_to_line(n);
	w->head += window_skip(w, n);
	at = w->mem + (w->head & (DPA_FOREIGN_WINDOW - 1));
	w->head += n;
	return at;
}

static void window_free(struct dpa_window *w)
{
	if (w->mem)
		munmap(w->mem, DPA_FOREIGN_WINDOW);
}

/* ------------------------------------------------------------------ the thread */

static struct dpa_fqp *take_queued_qp(struct dpa_foreigns *fs)
{
	struct dpa_fqp *fq;

	dpa_spin_lock(&fs->lock);
	fq = fs->head;
	if (fq) {
		fs->head = fq->next;
		if (!fs->head)
			fs->tail = NULL;
		fq->queued = false;
		fq->busy = true;
	}
	dpa_spin_unlock(&fs->lock);
	return fq;
}

void dpa_foreign_queue(struct dpa_fqp *fq)
{
	struct dpa_foreigns *fs = fq->qp->hw->foreigns;
	bool first = false;

	dpa_spin_lock(&fs->lock);
	if (!fq->queued) {
		fq->queued = first = true;
		fq->next = NULL;
		if (fs->tail)
			fs->tail->next = fq;
		else
			fs->head = fq;
		fs->tail = fq;
	}
	dpa_spin_unlock(&fs->lock);
	if (!first)
		return;
	dpa_full_fence();
	if (!atomic_load_explicit(&fs->sleep, memory_order_relaxed))
		return;
	atomic_fetch_add_explicit(&fs->wakes, 1, memory_order_release);
	syscall(SYS_futex, &fs->wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool has_work(struct dpa_foreigns *fs)
{
	bool has;

	dpa_spin_lock(&fs->lock);
	has = fs->head != NULL;
	dpa_spin_unlock(&fs->lock);
	return has;
}

/* Makes one call for copies with the same ops and arg. */
static int copy_together(const struct dpa_fwork *w, uint32_t n)
{
	struct dpa_foreign_copy list[DPA_FOREIGN_COPIES];

	for (uint32_t i = 0; i < n; i++)
		list[i] = w[i].c;
	return w->f->ops->copy(w->f->arg, list, n);
}

/*
 * Carries out n copies, DPA_FOREIGN_COPIES at most. bad: one bit for each copy that failed. Returns
 * their number. If a call fails its copies are repeated one by one. Copies behind a failed one are
 * made as well: an earlier put without a copy of its own is overwritten by one of them and is
 * reported as done.
 */
uint32_t dpa_foreign_copy(struct dpa_fwork *w, uint32_t n, uint64_t *bad)
{
	uint32_t i = 0, k, failed = 0;

	memset(bad, 0, DPA_FOREIGN_COPIES / 8);
	for (; i < n; i += k) {
		for (k = 1;
		     i + k < n && w[i + k].f->ops == w[i].f->ops && w[i + k].f->arg == w[i].f->arg;
		     k++)
			;
		if (!copy_together(&w[i], k))
			continue;
		for (uint32_t j = i; j < i + k; j++)
			if (copy_together(&w[j], 1)) {
				bad[j / 64] |= 1ull << j % 64;
				failed++;
			}
	}
	return failed;
}

/* Reads, changes and writes back. All atomics run on this thread, so each is atomic. 0 or errno. */
static int do_foreign_atomic(const struct dpa_put *p, uint64_t *found)
{
	struct dpa_foreign_copy c = {.foreign = p->addr, .host = found, .length = sizeof(*found)};
	uint64_t v = p->a.swap_add;
	int ret = p->f->ops->copy(p->f->arg, &c, 1);

	if (ret || (p->a.swaps && *found != p->a.compare))
		return ret;
	if (!p->a.swaps)
		v += *found;
	c.host = &v;
	c.flags = DPA_FOREIGN_TO;
	return p->f->ops->copy(p->f->arg, &c, 1);
}

/* The next put is an atomic: carries it out alone. */
static void serve_atomic(struct dpa_fqp *fq, const struct dpa_put *p)
{
	struct dpa_hw_qp *qp = fq->qp;
	uint64_t found = 0, bad[DPA_FOREIGN_COPIES / 64] = {0};
	const struct dpa_put copy = *p;

	dpa_qp_leave(qp);
	bad[0] = do_foreign_atomic(&copy, &found) != 0;
	dpa_qplock_lock(&qp->lock);
	if (!bad[0]) {
		qp->resp.rd[copy.a.rd].orig = found;
		qp->resp.saved[copy.a.saved].orig = found;
	}
	dpa_foreign_puts_end(fq, 1, &(struct dpa_fwork){.n = fq->put_tail}, 1, bad);
}

/* Carries out the next copies of a QP that are not atomics, in one call. */
static void serve_copies(struct dpa_fqp *fq, struct dpa_fwork *w)
{
	const uint32_t ng = dpa_gets_begin(fq, w, DPA_FOREIGN_COPIES);
	uint64_t bad[DPA_FOREIGN_COPIES / 64];
	struct dpa_hw_qp *qp = fq->qp;
	uint32_t np, puts;

	puts = dpa_foreign_puts_begin(fq, w + ng, DPA_FOREIGN_COPIES - ng, &np);
	dpa_qp_leave(qp);
	dpa_foreign_copy(w, ng + np, bad);
	dpa_qplock_lock(&qp->lock);
	dpa_gets_end(fq, w, ng, bad);
	if (puts)
		dpa_foreign_puts_end(fq, puts, w, ng + np, bad);
}

/* The requester that was refused may continue: transport/ask.c. */
static void report_room(struct dpa_hw_qp *qp)
{
	struct dpa_resp *r = &qp->resp;

	if (!r->room_awaited || !dpa_foreign_roomy(qp))
		return;
	r->room_awaited = false;
	r->room_due = true;
}

/* One round for a QP. */
static void serve_foreign_qp(struct dpa_fqp *fq, struct dpa_fwork *w)
{
	struct dpa_hw_qp *qp = fq->qp;
	struct dpa_put *atomic;

	dpa_qplock_lock(&qp->lock);
	atomic = dpa_foreign_next_atomic(fq);
	if (atomic)
		serve_atomic(fq, atomic);
	else
		serve_copies(fq, w);
	if (fq->held || dpa_gets_left(fq))
		dpa_foreign_queue(fq);
	report_room(qp);
	qp->ops->answer(qp);
	qp->ops->send(qp);
	dpa_qp_leave(qp);
	qp->hw->ops->settle(qp->hw); /* this thread drives no progress that would do it later */
}

static void qp_done(struct dpa_foreigns *fs, struct dpa_fqp *fq)
{
	dpa_spin_lock(&fs->lock);
	fq->busy = false;
	dpa_spin_unlock(&fs->lock);
}

static void foreign_sleep(struct dpa_foreigns *fs)
{
	uint32_t wakes = atomic_load_explicit(&fs->wakes, memory_order_acquire);

	atomic_store_explicit(&fs->sleep, 1, memory_order_relaxed);
	dpa_full_fence();
	if (!has_work(fs) && !atomic_load_explicit(&fs->stop, memory_order_acquire)) {
		dpa_own_sleeps();
		syscall(SYS_futex, &fs->wakes, FUTEX_WAIT_PRIVATE, wakes, NULL, NULL, 0);
		dpa_own_woke();
	}
	atomic_store_explicit(&fs->sleep, 0, memory_order_relaxed);
}

static void *foreign_main(void *arg)
{
	struct dpa_foreigns *fs = arg;
	struct dpa_fwork w[DPA_FOREIGN_COPIES];
	struct dpa_fqp *fq;
	uint32_t idle = 0;

	prctl(PR_SET_NAME, "dpa-foreign");
	dpa_own_begin();
	while (!atomic_load_explicit(&fs->stop, memory_order_acquire)) {
		dpa_own_rest();
		fq = take_queued_qp(fs);
		if (fq) {
			serve_foreign_qp(fq, w);
			qp_done(fs, fq);
			idle = 0;
			continue;
		}
		dpa_relax(&idle);
		if (idle < PASSES)
			continue;
		idle = 0;
		foreign_sleep(fs);
	}
	dpa_own_end();
	return NULL;
}

/* -------------------------------------------------------------------- regions */

static int foreigns_new(struct dpa_hw *hw)
{
	struct dpa_foreigns *fs = calloc(1, sizeof(*fs));
	int ret = ENOMEM;

	if (!fs)
		return ENOMEM;
	fs->of = mmap(NULL, TABLE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fs->of == MAP_FAILED)
		goto err_table;
	ret = dpa_own_start(&fs->thread, foreign_main, fs);
	if (ret)
		goto err_thread;
	__atomic_store_n(&hw->foreigns, fs, __ATOMIC_RELEASE);
	return 0;

err_thread:
	munmap(fs->of, TABLE);
err_table:
	free(fs);
	return ret;
}

int dpa_foreign_add(struct dpa_hw *hw, uint32_t i, const struct dpa_mr_attr *a)
{
	struct dpa_foreign *f;
	int ret = hw->foreigns ? 0 : foreigns_new(hw);

	if (ret)
		return ret;
	f = calloc(1, sizeof(*f));
	if (!f)
		return ENOMEM;
	f->ops = a->foreign;
	f->arg = a->foreign_arg;
	hw->foreigns->of[i] = f;
	atomic_fetch_add_explicit(&hw->nforeign, 1, memory_order_relaxed);
	return 0;
}

static void sleep_shortly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
}

void dpa_foreign_drain(struct dpa_hw *hw, uint32_t i)
{
	const struct dpa_foreign *f = hw->foreigns->of[i];

	while (atomic_load_explicit(&f->busy, memory_order_acquire))
		sleep_shortly();
}

void dpa_foreign_remove(struct dpa_hw *hw, uint32_t i)
{
	free(hw->foreigns->of[i]);
	hw->foreigns->of[i] = NULL;
	atomic_fetch_sub_explicit(&hw->nforeign, 1, memory_order_relaxed);
}

void dpa_foreign_fini(struct dpa_hw *hw)
{
	struct dpa_foreigns *fs = hw->foreigns;

	if (!fs)
		return;
	atomic_store_explicit(&fs->stop, 1, memory_order_release);
	atomic_fetch_add_explicit(&fs->wakes, 1, memory_order_release);
	syscall(SYS_futex, &fs->wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	pthread_join(fs->thread, NULL);
	munmap(fs->of, TABLE);
	free(fs);
	hw->foreigns = NULL;
}

/* -------------------------------------------------------------- a QP's part */

struct dpa_fqp *dpa_foreign_use(struct dpa_hw_qp *qp)
{
	struct dpa_fqp *fq = qp->fq;

	if (dpa_likely(fq != NULL))
		return fq->closed ? NULL : fq;
	fq = calloc(1, sizeof(*fq));
	if (!fq)
		return NULL;
	fq->qp = qp;
	qp->fq = fq;
	qp->slow.foreign = true;
	return fq;
}

/* True if dpa-foreign has nothing of it and nothing is held. Context: the QP's lock. */
static bool is_settled(struct dpa_hw_qp *qp)
{
	struct dpa_fqp *fq = qp->fq;
	struct dpa_foreigns *fs = qp->hw->foreigns;
	bool at_it;

	if (!fq)
		return true;
	dpa_spin_lock(&fs->lock);
	at_it = fq->queued || fq->busy;
	dpa_spin_unlock(&fs->lock);
	return !at_it && !fq->held;
}

void dpa_foreign_lock(struct dpa_hw_qp *qp)
{
	for (;;) {
		dpa_qplock_lock(&qp->lock);
		if (is_settled(qp))
			break;
		qp->fq->leaving = true;
		dpa_qp_leave(qp);
		sleep_shortly();
	}
	if (!qp->fq)
		return;
	qp->fq->leaving = false;
	report_room(qp);
	if (qp->resp.room_due)
		dpa_schedule(qp, 0);
}

void dpa_foreign_close(struct dpa_hw_qp *qp)
{
	dpa_qplock_lock(&qp->lock);
	if (qp->fq)
		qp->fq->closed = true;
	dpa_qp_leave(qp);
	dpa_foreign_lock(qp);
	dpa_qp_leave(qp);
}

void dpa_foreign_free(struct dpa_hw_qp *qp)
{
	struct dpa_fqp *fq = qp->fq;

	if (dpa_likely(!fq))
		return;
	window_free(&fq->in);
	window_free(&fq->source.w);
	window_free(&fq->response.w);
	free(fq->cqe);
	free(fq);
	qp->fq = NULL;
	qp->slow.foreign = false;
}
