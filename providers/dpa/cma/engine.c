/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* engine.c - the engine: QP1 and the thread that takes its messages and runs the timers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "dpa.h"
#include "cma/cma.h"
#include "cma/kernel.h"

#define TAKE_INS 4 /* DREQs of a round that are answered at once: data is taken in for each */
#define STAND_MS 1000
#define LED_MS	 2 /* ms in which a leader may come back */
#define ASKED_MS 1 /* the answer to a request is likely to come within this time */

/*
 * Set by a device thread that requests a start, cleared by the thread that it started: one at a
 * time.
 */
static atomic_flag starting = ATOMIC_FLAG_INIT;

/* ------------------------------------------------------------------- thread */

static void receive_all(void)
{
	uint8_t mad[DPA_MAD_BYTES];
	struct dpa_gsi_addr from;
	struct dpa_gsi_id past;

	cma.take_ins = TAKE_INS;
	while (dpa_hw_gsi_recv(cma.gsi, &from, mad)) {
		cma.full = 0;
		if (dpa_trace_is_on())
			cma_trace_received(mad);
		if (!cma_receive(&from, mad, false))
			cma_early_keep(&from, mad);
	}
	if (dpa_hw_gsi_died(cma.gsi))
		cma_requests_again();
	while (dpa_hw_gsi_orphan(cma.gsi, &past))
		cma_adopt(&past);
}

static void run_cm_timers(void)
{
	struct dpav_cm_input in = {.kind = DPA_CM_TIMER};
	struct cma_conn *c;
	uint64_t now = cma_now();

	while ((c = cma_timer_first()) && c->deadline <= now)
		cma_step(c, &in);
}

/* Returns the ms until something is due; -1: nothing is. */
static int until_next(void)
{
	const struct cma_conn *c = cma_timer_first();
	uint64_t now = cma_now(), next = UINT64_MAX;

	if (c)
		next = c->deadline;
	if (cma_reach_next() < next)
		next = cma_reach_next();
	if (cma_neighbour_next() < next)
		next = cma_neighbour_next();
	if (cma_early_next() < next)
		next = cma_early_next();
	if (cma_unsent_next() < next)
		next = cma_unsent_next();
	if (cma.forked && cma.hold_due < next)
		next = cma.hold_due;
	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

static void drain_wake(void)
{
	uint64_t count;

	while (read(cma.wake, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

/*
 * The id gets the event, and nothing else happens to it: as in Linux, where the kernel's id is destroyed
 * then (ucma_removal_event_handler()). It listens no more, its port is free, its peer gets a DREQ or
 * REJ.
 */
static void remove_id(struct cma_id *id)
{
	cma_neighbour_end(id);
	cma_unbind(id);
	cma_id_enter(id, CMA_DISCONNECT);
	cma_event(id, CMA_DEVICE_REMOVAL, 0);
	if (id->conn)
		cma_conn_leave(id->conn);
	id->removed = true;
}

/* The program can only destroy its ids then. An id of a wildcard address has no device. Locked. */
static void remove_device(void)
{
	for (uint32_t i = 0; i < cma.num_ids; i++) {
		struct cma_id *id = cma.ids[i];

		if (id && id->has_device && !id->removed)
			remove_id(id);
	}
}

/* A wake-up that comes while it runs begins another round. */
static void engine_round(void)
{
	drain_wake();
	cma_unsent_round();
	if (atomic_exchange_explicit(&cma.removed, false, memory_order_acquire))
		remove_device();
	receive_all();
	run_cm_timers();
	cma_reach_round();
	cma_neighbour_round();
	cma_early_look(false);
	cma_fork_round();
}

/*
 * The thread that runs the rounds waits at cma.wake. If a thread of the program is in
 * rdma_get_cm_event() it is that thread (the leader): a peer's message wakes it, and no other
 * thread before the event is there. Meanwhile, and for a moment longer, because programs come back
 * at once, the engine's thread stands by. It checks once a second whether the leader is kept from
 * its work, for example by a signal handler.
 */
static bool stands_by(void)
{
	return cma.leader || cma_now() < cma.led_until;
}

static void set_stand(uint64_t ms)
{
	const struct itimerspec its = {.it_value = {.tv_nsec = (long)ms * 1000000 + 500000}};

	cma.stand_set = !timerfd_settime(cma.stand, 0, &its, NULL);
}

/*
 * Waits until a leader has stopped and not come back. One expiration serves all leaders that stop
 * before it, so that the timer is not set at each end of a wait.
 */
static void stand_by(void)
{
	struct pollfd p[2] = {{.fd = cma.stand, .events = POLLIN},
			      {.fd = cma.wake, .events = POLLIN}};
	const struct timespec stand = {.tv_sec = STAND_MS / 1000,
				       .tv_nsec = STAND_MS % 1000 * 1000000};
	const struct timespec none = {0};
	uint64_t count;

	/* ppoll(), because librspreload replaces poll() */
	if (ppoll(p, 1, &stand, NULL) > 0) {
		cma_lock();
		cma.stand_set = read(cma.stand, &count, sizeof(count)) < 0;
		if (!cma.leader && cma_now() < cma.led_until)
			set_stand(cma.led_until - cma_now());
		cma_unlock();
	} else if (ppoll(p + 1, 1, &none, NULL) > 0) {
		cma_lock();
		engine_round();
		cma_unlock();
	}
}

static void *engine_main(void *arg)
{
	struct pollfd pfd = {.fd = cma.wake, .events = POLLIN};

	for (;;) {
		struct timespec ts;
		int timeout;

		cma_lock();
		if (stands_by()) {
			cma_unlock();
			stand_by();
			continue;
		}
		engine_round();
		timeout = until_next();
		ts = (struct timespec){.tv_sec = timeout / 1000,
				       .tv_nsec = timeout % 1000 * 1000000l};
		cma_unlock();
		/*
		 * Not dpa_hw_wait_fd(): a thread that waits for data must get the wake-ups of
		 * peers.
		 */
		(void)ppoll(&pfd, 1, timeout < 0 ? NULL : &ts, NULL);
	}
	return arg;
}

static void stop_leading(void)
{
	cma.leader = NULL;
	cma.led_until = cma_now() + LED_MS;
	if (!cma.stand_set)
		set_stand(LED_MS);
}

static void engine_cancelled(void *arg)
{
	cma_lock();
	stop_leading();
	cma_unlock();
	cma_engine_wake(); /* the event that woke the leader is not handled yet */
}

/* answer: the program has just sent a request. */
static bool start_leading(struct cma_channel *ch, int *timeout, bool *answer)
{
	bool leads = cma.engine == CMA_ENGINE_ON && !cma.leader && !ch->head && !ch->closed;

	if (!leads || ch->kernel) /* its events arrive at the descriptor */
		return false;
	if (cma.owner) /* a child waits at the descriptor, which also shows the parent's end */
		return false;
	cma.leader = ch;
	*timeout = until_next();
	*answer = cma.asked && cma_now() - cma.asked <= ASKED_MS;
	cma.asked = 0;
	return true;
}

/* A function of its own: no variable of the caller may change between push and pop. */
static int wait_leading(int timeout, bool answer)
{
	int err;

	pthread_cleanup_push(engine_cancelled, NULL);
	err = dpa_hw_wait_fd_beside(cma.ctx, cma.wake, timeout, answer);
	pthread_cleanup_pop(0);
	return err ? err : EAGAIN; /* EAGAIN of the wait: a timer is due */
}

bool cma_lead(struct cma_channel *ch, struct rdma_ucm_event_resp *resp, int *err)
{
	bool leads, answer;
	int timeout;

	if (fcntl(ch->fd, F_GETFL) & O_NONBLOCK)
		return false;
	cma_lock();
	leads = start_leading(ch, &timeout, &answer);
	cma_unlock();
	if (!leads)
		return false;
	*err = wait_leading(timeout, answer);
	cma_lock();
	stop_leading();
	cma.taker = ch;
	engine_round();
	cma.taker = NULL;
	if (cma_deliver(ch, resp))
		*err = 0;
	cma_unlock();
	return true;
}

/* Starts a thread that gets no signal of the program. */
static int start_detached(const char *name, void *(*fn)(void *))
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t t;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&t, &attr, fn, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		pthread_setname_np(t, name);
	return err;
}

/* -------------------------------------------------------------------- start */

/* A device thread, which holds locks of the device: takes none of ours. */
static void device_event(void *arg, const struct dpa_event *ev)
{
	if (ev->type != DPA_EVENT_DEVICE_FATAL)
		return;
	atomic_store_explicit(&cma.removed, true, memory_order_release);
	cma_engine_ready(&cma.wake);
}

static int open_cma_device(void)
{
	const struct dpa_hw_open_attr attr = {
		.hw_version = DPA_HW_VERSION, .event = device_event, .log = dpa_log_line};
	struct dpa_hw_dev_attr dev;
	int err = dpa_hw_open(&attr, &cma.ctx);

	if (err)
		return err;
	err = dpa_hw_query_device(cma.ctx, &dev);
	if (!err)
		err = dpa_hw_gsi_open(cma.ctx, cma_engine_ready, &cma.wake, &cma.gsi);
	if (err) {
		dpa_hw_close(cma.ctx);
		return err;
	}
	cma.node_guid = dev.node_guid;
	cma_watch_fork();
	return 0;
}

static int start_engine(void)
{
	int err;

	cma.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cma.wake < 0)
		return errno;
	cma.stand = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (cma.stand < 0) {
		err = errno;
		goto close_wake;
	}
	cma.stand_set = false;
	cma.tid_high = cma_random();
	err = dpav_cm_index_init(&cma.index);
	if (err)
		goto close_stand;
	err = open_cma_device();
	if (err)
		goto fini_index;
	err = start_detached("dpa-cm", engine_main);
	if (err)
		goto close_device;
	cma.engine = CMA_ENGINE_ON;
	return 0;

close_device:
	dpa_hw_gsi_close(cma.gsi);
	cma.gsi = NULL;
	dpa_hw_close(cma.ctx);
fini_index:
	dpav_cm_index_fini(&cma.index);
close_stand:
	close(cma.stand);
close_wake:
	close(cma.wake);
	cma.wake = -1;
	return err;
}

int cma_engine_start(void)
{
	return cma.engine == CMA_ENGINE_ON ? 0 : start_engine();
}

void cma_engine_forget(void)
{
	cma.engine = CMA_ENGINE_OFF;
	close(cma.wake);
	close(cma.stand);
	cma.wake = -1;
	cma.leader = NULL;
	cma.led_until = 0;
	cma.asked = 0;
	cma.gsi = NULL; /* it is the parent's; the device has handled this */
	cma.ctx = NULL;
	atomic_flag_clear(&starting);
}

/* ---------------------------------------------------- a process without ids */

static void *start_main(void *arg)
{
	cma_lock();
	(void)cma_engine_start();
	cma_unlock();
	atomic_flag_clear(&starting); /* if it failed the device requests it again */
	return arg;
}

static void need_engine(void *arg)
{
	if (atomic_flag_test_and_set(&starting))
		return;
	if (start_detached("dpa-cm-start", start_main))
		atomic_flag_clear(&starting);
}

void cma_watch(void)
{
	dpa_hw_gsi_on_need(need_engine, NULL);
}
