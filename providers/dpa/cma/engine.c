/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The engine: QP1 and the thread that takes what comes there and runs the timers.
 *
 * A request without a listener is held for 250 ms, and checked again when a listener comes: programs
 * connect a second time as soon as the first connection stands, while their peer is still about to
 * listen (perftest's -R -c UD). With several runnable threads a core the peer takes tens of
 * milliseconds to do that. A request for which the listener's backlog has no room waits as long: a
 * program that connects 2,000 times at once would else wait for the repetition, 6 s.
 *
 * A DREQ is held, too, 50 ms at most, while the program has not polled all completions of that QP.
 * A program that finds its CQ empty and then DISCONNECTED at its channel destroys the QP, and loses
 * completions that came between the two looks. On hardware a DREQ takes longer than such a program
 * needs for a round; here a thread that is not running for a moment would miss them.
 *
 * In a forked child the thread and the device are not there. Connections are the parent's; ids and
 * listeners go on here once the parent has ended (daemon(3)): cma_inherit(). A child that waits at
 * its channel learns of that by the channel's timer: once a process has forked, it lets the timers
 * of idle channels expire in a while, and its engine puts that off again and again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "dpa.h"
#include "cma/cma.h"
#include "cma/kernel.h"

#define EARLY_LOOK 5
#define DREQ_MS	   50
#define DREQ_LOOK  1
#define TAKE_INS   4	 /* DREQs of a round that are answered at once: data is taken in for each */
#define EARLY_MAX  4096u /* as many as QP1 receives */
#define STAND_MS   1000
#define LED_MS	   2 /* a leader may come back */
/*
 * ms until a channel's timer notifies a child that the parent ended: at the fork, and from then on
 */
#define HELD_FIRST 100
#define HELD_OFF   3000

/* Set by the device's thread that asks, cleared by the thread that it started: one at a time. */
static atomic_flag starting = ATOMIC_FLAG_INIT;

static void engine_ready(void *arg)
{
	const uint64_t one = 1;
	int fd = *(int *)arg;
	ssize_t n = syscall(SYS_write, fd, &one, sizeof(one));

	(void)n;
}

void cma_engine_wake(void)
{
	if (cma.engine == CMA_ENGINE_ON)
		engine_ready(&cma.wake);
}

/* ------------------------------------------------------------ MADs that wait */

static bool is_dreq(const uint8_t mad[DPA_MAD_BYTES])
{
	return (mad[16] << 8 | mad[17]) == DPA_CM_DREQ;
}

static void keep_early(const struct dpa_gsi_addr *from, const uint8_t mad[DPA_MAD_BYTES])
{
	struct cma_early *e = cma.num_early < EARLY_MAX ? malloc(sizeof(*e)) : NULL;

	if (!e) {
		(void)cma_receive(from, mad, true);
		return;
	}
	e->next = NULL;
	e->dreq = is_dreq(mad);
	e->full = cma.full;
	e->until = cma_now() + (e->dreq ? DREQ_MS : CMA_EARLY_MS);
	e->look = cma_now() + (e->dreq ? DREQ_LOOK : EARLY_LOOK);
	e->from = *from;
	memcpy(e->mad, mad, DPA_MAD_BYTES);
	*cma.early_tail = e;
	cma.early_tail = &e->next;
	cma.num_early++;
}

static bool dreq_is_due(uint64_t now)
{
	const struct cma_early *e = cma.early;

	while (e && (!e->dreq || now < e->look))
		e = e->next;
	return e;
}

/* True: it waits on. */
static bool try_early(struct cma_early *e, bool last, bool all)
{
	cma.full = 0;
	if (cma_receive(&e->from, e->mad, last))
		return false;
	e->full = cma.full;
	return all || e->dreq || !dpa_hw_gsi_pass_on(cma.gsi, &e->from, e->mad);
}

/*
 * Those that are due; all of them if a listener came here. One request that finds no room is enough
 * for those behind it that wait for the same listener.
 */
static void look_at_early(bool all)
{
	uint64_t now = cma_now();
	struct cma_early *list = cma.early, *e;
	uint32_t full = 0;

	if (dreq_is_due(now)) {
		dpa_hw_gsi_take_in(cma.gsi);
		cma.taken_in = true;
	}
	cma.early = NULL;
	cma.early_tail = &cma.early;
	while ((e = list)) {
		bool last = now >= e->until, waits = e->full && e->full == full;

		list = e->next;
		e->next = NULL;
		if (last || (!waits && (all || now >= e->look))) {
			waits = try_early(e, last, all);
			full = e->full ? e->full : full;
			if (!waits) {
				free(e);
				cma.num_early--;
				continue;
			}
		}
		if (now >= e->look)
			e->look = now + (e->dreq ? DREQ_LOOK : EARLY_LOOK);
		*cma.early_tail = e;
		cma.early_tail = &e->next;
	}
	cma.taken_in = false;
}

void cma_early_look(void)
{
	look_at_early(true);
}

/* ------------------------------------------------------------------- thread */

static void receive_all(void)
{
	uint8_t mad[DPA_MAD_BYTES];
	struct dpa_gsi_addr from;
	struct dpa_gsi_id past;

	cma.take_ins = TAKE_INS;
	while (dpa_hw_gsi_recv(cma.gsi, &from, mad)) {
		cma.full = 0;
		if (!cma_receive(&from, mad, false))
			keep_early(&from, mad);
	}
	if (dpa_hw_gsi_died(cma.gsi))
		cma_requests_again();
	while (dpa_hw_gsi_orphan(cma.gsi, &past))
		cma_adopt(&past);
}

static void run_timers(void)
{
	struct dpav_cm_input in = {.kind = DPA_CM_TIMER};
	struct cma_conn *c;
	uint64_t now = cma_now();

	while ((c = cma_timer_first()) && c->deadline <= now)
		cma_step(c, &in);
}

/* See above: the idle channels of a process that forked. */
static void hold_off(long ms, uint64_t again)
{
	const struct itimerspec its = {
		.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};

	cma.hold_due = cma_now() + again;
	cma_fd_hold_all(&its);
}

/* ms until something is due; -1: nothing is */
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
	for (const struct cma_early *e = cma.early; e; e = e->next)
		next = e->look < next ? e->look : next;
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

/* A wake-up that comes while it runs begins another round. */
static void engine_round(void)
{
	drain_wake();
	receive_all();
	run_timers();
	cma_reach_round();
	cma_neighbour_round();
	look_at_early(false);
	if (cma.forked && cma_now() >= cma.hold_due)
		hold_off(HELD_OFF, HELD_OFF / 3);
}

/*
 * The thread that does the rounds waits at cma.wake. That is one of the program's in
 * rdma_get_cm_event(), if there is one (the leader): a peer's message wakes it and no other thread
 * before the event is there. The engine's thread stands by meanwhile, and for a moment longer, for
 * programs come back at once. It looks once a second whether the leader is kept from its work, as
 * by a signal's handler.
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
 * Until a leader has stopped and not come back. One expiration serves all leaders that stop before
 * it: a timer is not set at each end of a wait.
 */
static void stand_by(void)
{
	struct pollfd p[2] = {{.fd = cma.stand, .events = POLLIN},
			      {.fd = cma.wake, .events = POLLIN}};
	const struct timespec stand = {.tv_sec = STAND_MS / 1000,
				       .tv_nsec = STAND_MS % 1000 * 1000000};
	const struct timespec none = {0};
	uint64_t count;

	/* ppoll: librspreload replaces poll() */
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
		 * not dpa_hw_wait_fd(): a thread that waits for data shall have the wake-ups of
		 * peers
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
	(void)arg;
	cma_lock();
	stop_leading();
	cma_unlock();
	cma_engine_wake(); /* what woke the leader is still to be done */
}

static bool start_leading(struct cma_channel *ch, int *timeout)
{
	bool leads = cma.engine == CMA_ENGINE_ON && !cma.leader && !ch->head && !ch->closed;

	if (!leads || ch->kernel) /* its events come at the descriptor */
		return false;
	if (cma.owner) /* a child waits at the descriptor: the parent's end shows there */
		return false;
	cma.leader = ch;
	*timeout = until_next();
	return true;
}

/* By itself: no variable of the caller may change between push and pop. */
static int wait_leading(int timeout)
{
	int err;

	pthread_cleanup_push(engine_cancelled, NULL);
	err = dpa_hw_wait_fd_beside(cma.ctx, cma.wake, timeout);
	pthread_cleanup_pop(0);
	return err ? err : EAGAIN; /* EAGAIN of the wait: a timer's time */
}

bool cma_lead(struct cma_channel *ch, struct rdma_ucm_event_resp *resp, int *err)
{
	int timeout;
	bool leads;

	if (fcntl(ch->fd, F_GETFL) & O_NONBLOCK)
		return false;
	cma_lock();
	leads = start_leading(ch, &timeout);
	cma_unlock();
	if (!leads)
		return false;
	*err = wait_leading(timeout);
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

/* A thread that no signal of the program goes to. */
static int start_detached(const char *name, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t t;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&t, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		pthread_setname_np(t, name);
	return err;
}

/* --------------------------------------------------------------------- fork */

/* Gone, or a zombie: then nothing of it runs. */
static bool has_ended(pid_t pid)
{
	char path[32], stat[256], *p;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kill(pid, 0) && errno == ESRCH;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (n <= 0)
		return true;
	stat[n] = 0;
	p = strrchr(stat, ')'); /* pid (name) state */
	return p && (p[2] == 'Z' || p[2] == 'X');
}

/* Threads of the parent that waited are not here. */
static void forget_sleepers(void)
{
	for (struct cma_channel *ch = cma.channels; ch; ch = ch->next) {
		ch->users = ch->sleepers = 0;
		sem_init(&ch->wake, 0, 0);
	}
}

static void share_channels(bool on)
{
	for (struct cma_channel *ch = cma.channels; ch; ch = ch->next)
		ch->shared = on;
}

void cma_inherit(void)
{
	if (!cma.owner || !has_ended(cma.owner))
		return;
	if (cma.listeners && cma_engine_start())
		return; /* no descriptor or no memory: the next call tries again */
	cma.owner = 0;
	share_channels(false);
	for (struct cma_channel *ch = cma.channels; ch; ch = ch->next) {
		cma_fd_show(ch, ch->head); /* not the parent's events any more */
		(void)cma_fd_expired(ch);  /* it expired to report the end */
	}
	cma_listeners_serve();
}

static pid_t forking;

static void before_fork(void)
{
	cma_lock();
	cma_kernel_before_fork();
	forking = getpid(); /* the child may ask for its parent when that has ended */
}

static void after_fork_parent(void)
{
	cma_kernel_after_fork();
	if (cma.engine == CMA_ENGINE_ON && cma.channels && !cma.owner) {
		cma.forked = cma.may_expire = true;
		/* daemon(3): nothing of this process may run any more */
		hold_off(HELD_FIRST, HELD_FIRST / 3);
		cma_engine_wake();
	}
	cma_unlock();
}

/* Connections and requests are the parent's: here ids have no connection any more. */
static void forget_connections(void)
{
	for (uint32_t i = 0; i < cma.num_ids; i++) {
		struct cma_id *id = cma.ids[i];

		if (!id || !id->conn)
			continue;
		id->conn = NULL;
		id->state = CMA_DISCONNECT;
	}
	cma_reach_forget();
	cma_neighbour_forget();
	cma.heap_len = 0;
	cma.num_conns = 0;
	while (cma.early) {
		struct cma_early *e = cma.early;

		cma.early = e->next;
		free(e);
	}
	cma.early_tail = &cma.early;
	cma.num_early = 0;
}

static void after_fork_child(void)
{
	forget_sleepers();
	cma_fd_forget();
	cma_kernel_forget();
	if (cma.engine == CMA_ENGINE_ON) {
		cma.engine = CMA_ENGINE_OFF;
		forget_connections();
		close(cma.wake);
		close(cma.stand);
		cma.wake = -1;
		cma.leader = NULL;
		cma.led_until = 0;
		cma.gsi = NULL; /* the parent's: the device has seen to it */
		cma.ctx = NULL;
		cma.forked = false;
		cma.may_expire = true;
		atomic_flag_clear(&starting);
		if (cma.channels)
			cma.owner = forking;
		share_channels(true);
	}
	cma_unlock();
}

/*
 * Registered after the device's handlers, so that ours run before them: the engine waits for locks
 * of the device with cma.lock held.
 */
void cma_watch_fork(void)
{
	static bool done;

	if (done)
		return;
	dpa_hw_watch_fork();
	done = !pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* -------------------------------------------------------------------- start */

static void no_event(void *arg, const struct dpa_event *ev)
{
	(void)arg;
	(void)ev;
}

static int open_device(void)
{
	const struct dpa_hw_open_attr attr = {.hw_version = DPA_HW_VERSION, .event = no_event};
	struct dpa_hw_dev_attr dev;
	int err = dpa_hw_open(&attr, &cma.ctx);

	if (err)
		return err;
	err = dpa_hw_query_device(cma.ctx, &dev);
	if (!err)
		err = dpa_hw_gsi_open(cma.ctx, engine_ready, &cma.wake, &cma.gsi);
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
	err = open_device();
	if (err)
		goto fini_index;
	err = start_detached("dpa-cm", engine_main, NULL);
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

/* ---------------------------------------------------- a process without ids */

static void *start_main(void *arg)
{
	cma_lock();
	(void)cma_engine_start();
	cma_unlock();
	atomic_flag_clear(&starting); /* where it failed the device asks again */
	return arg;
}

static void need_engine(void *arg)
{
	(void)arg;
	if (atomic_flag_test_and_set(&starting))
		return;
	if (start_detached("dpa-cm-start", start_main, NULL))
		atomic_flag_clear(&starting);
}

void cma_watch(void)
{
	dpa_hw_gsi_on_need(need_engine, NULL);
}
