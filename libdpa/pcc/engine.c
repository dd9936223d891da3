/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The service thread of a congestion control program, and its workers: see pcc.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "../eu/clock.h"
#include "../eu/thread.h"
#include "../run/fault.h"
#include "pcc.h"

#define STANDBY_MS 100	 /* between two looks whether the port has lost its image */
#define SLEEP_MS   100	 /* of the service thread at most */
#define BUSY_MS	   10	 /* between two looks for parameters while workers run */
#define STOP_MS	   1000	 /* for workers to end by themselves */
#define KILL_MS	   20	 /* between two signals */
#define SPIN_NS	   20000 /* that a worker waits for more */

enum { RING_IDLE, RING_BUSY, RING_AGAIN };

/* ---------------------------------------------------------------- calls of the image */

struct code {
	const struct dpa_image_entry *entry;
	uint64_t arg;
};

static void run_entry(void *arg)
{
	const struct code *c = arg;

	((void (*)(uint64_t))(uintptr_t)c->entry->fn)(c->arg);
}

static bool run_here(struct doca_pcc *pcc, uint32_t rank, const struct dpa_image_entry *entry,
		     void *arg)
{
	struct code code = {entry, (uintptr_t)arg};
	struct dpal_run run = {
		.kind = DPA_RUN_KERNEL,
		.dpa = pcc->dpa,
		.cur = pcc->dpa,
		.name = entry->name,
		.rank = rank,
		.num_threads = pcc->num_workers,
	};

	return dpal_run_code(&run, run_entry, &code) == DPA_EU_RETURNED;
}

struct call {
	struct dpa_work work;
	struct doca_pcc *pcc;
	const struct dpa_image_entry *entry;
	void *arg;
	bool returned, done;
	pthread_mutex_t lock;
	pthread_cond_t over;
};

static void run_call(struct dpa_work *work)
{
	struct call *c = container_of(work, struct call, work);
	bool ok = run_here(c->pcc, 0, c->entry, c->arg);

	pthread_mutex_lock(&c->lock);
	c->returned = ok;
	c->done = true;
	pthread_cond_signal(&c->over);
	pthread_mutex_unlock(&c->lock);
}

bool pcc_call(struct doca_pcc *pcc, int entry, void *arg)
{
	struct call c = {.pcc = pcc, .entry = pcc->entry[entry], .arg = arg};

	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.over, NULL);
	dpa_work_init(&c.work, run_call);
	c.work.urgent = c.work.awaited = true;
	c.work.eus = dpa_ctx_eus(pcc->dpa);
	pthread_mutex_lock(&pcc->call_lock);
	dpa_pool_dispatch(&c.work);
	pthread_mutex_lock(&c.lock);
	while (!c.done)
		pthread_cond_wait(&c.over, &c.lock);
	pthread_mutex_unlock(&c.lock);
	pthread_mutex_unlock(&pcc->call_lock);
	pthread_cond_destroy(&c.over);
	pthread_mutex_destroy(&c.lock);
	return c.returned;
}

static bool is_fatal(const struct doca_pcc *pcc)
{
	return atomic_load_explicit(&pcc->dpa->fatal, memory_order_acquire);
}

/* --------------------------------------------------------------------------- workers */

bool pcc_run(struct pcc_worker *w, int entry, void *arg)
{
	return run_here(w->pcc, w->rank, w->pcc->entry[entry], arg);
}

void pcc_count(struct pcc_worker *w, uint32_t n)
{
	atomic_store_explicit(&w->events, w->events + n, memory_order_relaxed);
	atomic_store_explicit(&w->batches, w->batches + 1, memory_order_relaxed);
}

static bool is_ending(struct doca_pcc *pcc)
{
	return atomic_load_explicit(&pcc->ending, memory_order_acquire) || is_fatal(pcc);
}

/* One worker for a ring at a time: what comes meanwhile is noticed by the one that has it. */
static void serve_ring(struct pcc_worker *w, uint32_t ring)
{
	_Atomic uint8_t *state = &w->pcc->rings[ring];
	uint8_t was = RING_IDLE;

	if (!atomic_compare_exchange_strong(state, &was, RING_BUSY)) {
		was = RING_BUSY;
		if (atomic_compare_exchange_strong(state, &was, RING_AGAIN) || was == RING_AGAIN)
			return;
		/* it became idle: once more */
		was = RING_IDLE;
		if (!atomic_compare_exchange_strong(state, &was, RING_BUSY))
			return;
	}
	for (;;) {
		while (!is_ending(w->pcc) && w->pcc->role->serve(w, ring))
			;
		was = RING_BUSY;
		if (atomic_compare_exchange_strong(state, &was, RING_IDLE) || is_ending(w->pcc))
			return;
		atomic_store(state, RING_BUSY);
	}
}

/* A ring that waits for a worker; false: none does. */
static bool next_ring(struct doca_pcc *pcc, uint32_t *ring)
{
	for (uint32_t i = 0; i < DPA_PCC_RINGS / 64; i++) {
		uint64_t word = atomic_load_explicit(&pcc->ready[i], memory_order_acquire);

		while (word) {
			uint64_t bit = word & -word;

			if (atomic_fetch_and(&pcc->ready[i], ~bit) & bit) {
				*ring = i * 64 + (uint32_t)__builtin_ctzll(bit);
				return true;
			}
			word &= ~bit;
		}
	}
	return false;
}

/* Takes over what flows have announced. How many rings that are. */
static uint32_t collect_rings(struct doca_pcc *pcc)
{
	uint64_t rings[DPA_PCC_RINGS / 64];
	uint32_t n = 0;

	if (!pcc->ops->pending(pcc->image, rings))
		return 0;
	for (uint32_t i = 0; i < DPA_PCC_RINGS / 64; i++)
		if (rings[i]) {
			n += (uint32_t)__builtin_popcountll(rings[i]);
			atomic_fetch_or(&pcc->ready[i], rings[i]);
		}
	return n;
}

/* The lock is held. Wakes as many idle workers as there are rings. */
static void dispatch_workers(struct doca_pcc *pcc, uint32_t rings)
{
	for (uint32_t i = 0; i < pcc->num_workers && rings; i++) {
		if (pcc->workers[i].active)
			continue;
		pcc->workers[i].active = true;
		pcc->active++;
		rings--;
		dpa_pool_dispatch(&pcc->workers[i].work);
	}
}

static bool wait_for_events(struct doca_pcc *pcc)
{
	uint64_t end = dpal_now_ns() + SPIN_NS;
	uint32_t n;

	while (!is_ending(pcc)) {
		n = collect_rings(pcc);
		if (n > 1 && pcc->num_workers > 1) {
			pthread_mutex_lock(&pcc->lock);
			dispatch_workers(pcc, n - 1);
			pthread_mutex_unlock(&pcc->lock);
		}
		if (n)
			return true;
		if (dpal_now_ns() >= end)
			return false;
		for (int i = 0; i < 16; i++)
			dpal_pause();
	}
	return false;
}

static uint32_t count_ready(struct doca_pcc *pcc)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < DPA_PCC_RINGS / 64; i++)
		n += (uint32_t)__builtin_popcountll(atomic_load(&pcc->ready[i]));
	return n;
}

/* False: there is work again, which another thread left to the active workers. */
static bool go_idle(struct pcc_worker *w)
{
	struct doca_pcc *pcc = w->pcc;
	bool idle;

	pthread_mutex_lock(&pcc->lock);
	idle = is_ending(pcc) || !count_ready(pcc);
	if (idle) {
		w->active = false;
		pcc->active--;
		/* under the lock: the thread that waits for the last one frees the workers */
		pthread_cond_broadcast(&pcc->changed);
	}
	pthread_mutex_unlock(&pcc->lock);
	return idle;
}

static void run_worker(struct dpa_work *work)
{
	struct pcc_worker *w = container_of(work, struct pcc_worker, work);
	struct doca_pcc *pcc = w->pcc;
	uint32_t ring;

	do {
		while (!is_ending(pcc) && next_ring(pcc, &ring))
			serve_ring(w, ring);
	} while (wait_for_events(pcc) || !go_idle(w));
}

/* -------------------------------------------------------------------- service thread */

void pcc_set_stage(struct doca_pcc *pcc, enum pcc_stage stage)
{
	pthread_mutex_lock(&pcc->lock);
	if (pcc->stage != stage) {
		pcc->stage = stage;
		pthread_cond_broadcast(&pcc->changed);
		eventfd_write(pcc->news, 1);
	}
	pthread_mutex_unlock(&pcc->lock);
}

static void set_pcc_params(struct doca_pcc *pcc)
{
	struct dpa_pcc_set s = {0};

	while (pcc->ops->next_param(pcc->image, &s.slot, &s.id, &s.value)) {
		bool ok = pcc_call(pcc, PCC_PARAM, &s);

		pcc->ops->answer_param(pcc->image, ok && s.ok ? 0 : EINVAL);
		if (!ok)
			return;
	}
}

/* The lock is held: until no worker runs, or so long. */
static bool await_workers(struct doca_pcc *pcc, uint32_t ms)
{
	const struct timespec end = dpal_deadline(ms);

	while (pcc->active && !pthread_cond_timedwait(&pcc->changed, &pcc->lock, &end))
		;
	return !pcc->active;
}

/* Workers end by themselves, or are ended. Then the port is given up. */
static void give_up_port(struct doca_pcc *pcc)
{
	struct dpa_pcc_image *image;

	atomic_store_explicit(&pcc->ending, true, memory_order_release);
	pthread_mutex_lock(&pcc->lock);
	for (uint32_t ms = STOP_MS; !await_workers(pcc, ms); ms = KILL_MS)
		for (uint32_t i = 0; i < pcc->num_workers; i++)
			dpa_pool_kill(&pcc->workers[i].work);
	image = pcc->image;
	pcc->image = NULL;
	pthread_mutex_unlock(&pcc->lock);
	pcc->ops->unload(image);
}

/* One look; then a sleep until there is something to do. */
static void serve_port(struct doca_pcc *pcc)
{
	uint32_t active;

	if (pcc->entry[PCC_PARAM])
		set_pcc_params(pcc);
	pthread_mutex_lock(&pcc->lock);
	collect_rings(pcc);
	dispatch_workers(pcc, count_ready(pcc));
	active = pcc->active;
	if (active) /* they look for events themselves; flows need not wake a thread */
		await_workers(pcc, BUSY_MS);
	pthread_mutex_unlock(&pcc->lock);
	if (!active)
		pcc->ops->wait(pcc->image, SLEEP_MS);
}

static bool is_engine_over(struct doca_pcc *pcc)
{
	bool over;

	pthread_mutex_lock(&pcc->lock);
	over = pcc->stop || pcc->deactivate;
	pthread_mutex_unlock(&pcc->lock);
	return over;
}

static void *run_service(void *arg)
{
	struct doca_pcc *pcc = arg;
	bool good = true;

	while (!is_engine_over(pcc) && pcc->ops->take_over(pcc->image) == DPA_PCC_STANDBY)
		pcc->ops->wait(pcc->image, STANDBY_MS);
	if (!is_engine_over(pcc)) {
		good = pcc->role->activate(pcc);
		pcc_set_stage(pcc, good ? PCC_ACTIVE : PCC_ERROR);
	}
	while (good && !is_engine_over(pcc)) {
		serve_port(pcc);
		good = !is_fatal(pcc);
	}
	give_up_port(pcc);
	pcc_set_stage(pcc, good ? PCC_DEACTIVATED : PCC_ERROR);
	return NULL;
}

void pcc_engine_wake(struct doca_pcc *pcc)
{
	pthread_cond_broadcast(&pcc->changed);
	if (pcc->image)
		pcc->ops->wake(pcc->image);
}

/* --------------------------------------------------------------------- start and stop */

static int make_workers(struct doca_pcc *pcc)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t n = pcc->num_eus ? pcc->num_eus : 1;

	if (cpus > 0 && n > (uint32_t)cpus)
		n = (uint32_t)cpus;
	pcc->workers = calloc(n, sizeof(*pcc->workers));
	if (pcc->entry[PCC_EVENTS])
		pcc->flows = calloc(PCC_FLOWS, sizeof(*pcc->flows));
	if (!pcc->workers || (pcc->entry[PCC_EVENTS] && !pcc->flows))
		return ENOMEM;
	pcc->num_workers = n;
	for (uint32_t i = 0; i < n; i++) {
		struct pcc_worker *w = &pcc->workers[i];

		dpa_work_init(&w->work, run_worker);
		w->pcc = pcc;
		w->rank = i;
		w->work.eus = dpa_ctx_eus(pcc->dpa);
		if (pcc->num_eus)
			w->work.pin = (int32_t)pcc->eus[i];
	}
	return 0;
}

static void free_workers(struct doca_pcc *pcc)
{
	free(pcc->workers);
	free(pcc->flows);
	pcc->workers = NULL;
	pcc->flows = NULL;
	pcc->num_workers = 0;
}

static void wait_for_first_stage(struct doca_pcc *pcc, enum dpa_pcc_state state)
{
	pthread_mutex_lock(&pcc->lock);
	while (state == DPA_PCC_ACTIVE && pcc->stage == PCC_STANDBY)
		pthread_cond_wait(&pcc->changed, &pcc->lock);
	pthread_mutex_unlock(&pcc->lock);
}

int pcc_engine_start(struct doca_pcc *pcc)
{
	enum dpa_pcc_state state;
	int ret = make_workers(pcc);

	/* a place for each worker, and one for calls */
	if (!ret)
		ret = dpa_pool_reserve(pcc->num_workers + 1);
	if (ret)
		goto err_workers;
	pcc->stage = PCC_STANDBY;
	pcc->stop = pcc->deactivate = false;
	atomic_store(&pcc->ending, false);
	memset((void *)pcc->ready, 0, sizeof(pcc->ready));
	memset((void *)pcc->rings, 0, sizeof(pcc->rings));
	ret = pcc->ops->load(pcc->port, pcc->role->role, &pcc->image, &state);
	if (ret)
		goto err_reserve;
	ret = dpa_start_thread(&pcc->service, "dpa-pcc", run_service, pcc);
	if (ret)
		goto err_load;
	wait_for_first_stage(pcc, state);
	return 0;

err_load:
	pcc->ops->unload(pcc->image);
	pcc->image = NULL;
err_reserve:
	dpa_pool_unreserve(pcc->num_workers + 1);
err_workers:
	free_workers(pcc);
	return ret;
}

void pcc_engine_stop(struct doca_pcc *pcc)
{
	pthread_mutex_lock(&pcc->lock);
	pcc->stop = true;
	pcc_engine_wake(pcc);
	pthread_mutex_unlock(&pcc->lock);
	pthread_join(pcc->service, NULL);
	dpa_pool_quiesce();
	dpa_pool_unreserve(pcc->num_workers + 1);
	free_workers(pcc);
}
