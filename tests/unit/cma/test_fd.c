/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_fd.c - the descriptor of an event channel in programs: poll, epoll, O_NONBLOCK, signals. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include "cma/cma.h"
#include "dpa.h"
#include "redirect/hooks.h"
#include "util.h"
#include "redirect/fds.h"

static int fd;

static void setup(void)
{
	fd = channel_open(O_CLOEXEC);
}

TestSuite(cma_fd, .init = setup);

/* Queue one event. */
static uint32_t fire(void)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);

	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	return id;
}

static short events_of(int f)
{
	struct pollfd p = {.fd = f, .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP};

	cr_assert_geq(poll(&p, 1, 0), 0);
	return p.revents;
}

Test(cma_fd, poll_reports_pollin_exactly_while_an_event_is_queued)
{
	struct event ev;

	cr_assert_eq(events_of(fd), 0);
	fire();
	cr_assert_eq(events_of(fd), POLLIN);
	fire();
	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(events_of(fd), POLLIN, "one more");
	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(events_of(fd), 0);
}

Test(cma_fd, epoll_by_level)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct event ev;

	cr_assert_eq(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
	cr_assert_eq(epoll_wait(ep, &e, 1, 0), 0);
	fire();
	fire();
	for (int left = 2; left; left--) {
		for (int i = 0; i < 3; i++) {
			cr_assert_eq(epoll_wait(ep, &e, 1, 0), 1);
			cr_assert_eq(e.events, EPOLLIN);
		}
		expect(fd, &ev, EV_ADDR_RESOLVED);
	}
	cr_assert_eq(epoll_wait(ep, &e, 1, 0), 0);
}

Test(cma_fd, each_event_is_an_edge)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct event ev;

	cr_assert_eq(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
	for (int i = 0; i < 4; i++) { /* none is taken meanwhile */
		fire();
		cr_assert_eq(epoll_wait(ep, &e, 1, 0), 1, "event %d", i);
		cr_assert_eq(epoll_wait(ep, &e, 1, 0), 0, "one edge each");
	}
	for (int i = 0; i < 4; i++)
		expect(fd, &ev, EV_ADDR_RESOLVED);
	fire();
	cr_assert_eq(epoll_wait(ep, &e, 1, 0), 1);
}

/* libfabric: the channel in an epoll descriptor that is in another one. */
Test(cma_fd, nested_epoll_and_dup)
{
	struct epoll_event e = {.events = EPOLLIN};
	int inner = epoll_create1(EPOLL_CLOEXEC), outer = epoll_create1(EPOLL_CLOEXEC);
	int copy = dup(fd);
	struct event ev;

	cr_assert_eq(epoll_ctl(inner, EPOLL_CTL_ADD, fd, &e), 0);
	e.events = EPOLLIN;
	cr_assert_eq(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &e), 0);
	cr_assert_eq(events_of(copy), 0);
	cr_assert_eq(epoll_wait(outer, &e, 1, 0), 0);
	fire();
	cr_assert_eq(epoll_wait(outer, &e, 1, 0), 1);
	cr_assert_eq(events_of(copy), POLLIN);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(epoll_wait(outer, &e, 1, 0), 0);
	cr_assert_eq(events_of(copy), 0);
	close(copy);
	fire();
	cr_assert_eq(events_of(fd), POLLIN);
}

Test(cma_fd, nonblocking)
{
	struct event ev;
	int nb = channel_open(O_CLOEXEC | O_NONBLOCK);

	cr_assert_eq(try_event(nb, &ev), EAGAIN);
	cr_assert_eq(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
	cr_assert_eq(try_event(fd, &ev), EAGAIN);
	fire();
	cr_assert_eq(try_event(fd, &ev), 0);
	cr_assert_eq(try_event(fd, &ev), EAGAIN);
	cr_assert_eq(events_of(fd), 0);
	cr_assert_eq(fcntl(fd, F_SETFL, 0), 0);
	cr_assert_eq(fcntl(nb, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	cr_assert_eq(fcntl(channel_open(0), F_GETFD) & FD_CLOEXEC, 0);
}

/* --------------------------------------------------------- a blocked thread */

static atomic_int result = -1;
static atomic_int tid;
static struct event taken;

static void *take(void *arg)
{
	atomic_store(&tid, (int)gettid());
	atomic_store(&result, try_event(fd, arg));
	return arg;
}

static pthread_t blocked(void)
{
	pthread_t t;

	atomic_store(&tid, 0);
	atomic_store(&result, -1);
	cr_assert_eq(pthread_create(&t, NULL, take, &taken), 0);
	while (!atomic_load(&tid) || !sleeps(atomic_load(&tid)))
		sched_yield();
	return t;
}

Test(cma_fd, an_event_wakes_the_blocked_thread)
{
	pthread_t t = blocked();
	uint32_t id = fire(); /* commands go on while it waits */

	pthread_join(t, NULL);
	cr_assert_eq(atomic_load(&result), 0);
	cr_assert_eq(taken.type, EV_ADDR_RESOLVED);
	cr_assert_eq(taken.id, id);
	cr_assert_eq(events_of(fd), 0);
}

Test(cma_fd, one_event_for_two_threads)
{
	pthread_t a = blocked(), b;
	struct event ev;

	cr_assert_eq(pthread_create(&b, NULL, take, &ev), 0);
	fire();
	fire();
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(try_event(fd, &ev), EAGAIN);
}

static atomic_int handled;

static void on_signal(int sig)
{
	atomic_fetch_add(&handled, 1);
}

static void handle(int flags)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = flags};

	cr_assert_eq(sigaction(SIGUSR1, &sa, NULL), 0);
}

/* Start the engine: a thread that waits does its work meanwhile. */
static void warm(void)
{
	struct event ev;
	uint32_t id = fire();

	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(destroy(fd, id, NULL), 0);
}

static void interrupt(void)
{
	pthread_t t;

	handle(0);
	t = blocked();
	pthread_kill(t, SIGUSR1);
	pthread_join(t, NULL);
	cr_assert_eq(atomic_load(&result), EINTR);
	cr_assert_eq(atomic_load(&handled), 1);
	warm(); /* and nothing is lost */
}

Test(cma_fd, a_signal_interrupts)
{
	interrupt();
}

Test(cma_fd, a_signal_interrupts_while_the_engine_runs)
{
	warm();
	interrupt();
}

/* An id moves to the channel of a waiting thread: its event wakes that thread. */
static void move_there(void)
{
	int from = channel_open(O_CLOEXEC);
	uint32_t id = create(from, UID + 1, PS_TCP, QP_RC);
	pthread_t t = blocked();

	cr_assert_eq(resolve(from, id, NULL, "127.0.0.1", 7), 0);
	cr_assert_eq(migrate(fd, from, id, NULL), 0);
	pthread_join(t, NULL);
	cr_assert_eq(atomic_load(&result), 0);
	cr_assert_eq(taken.uid, UID + 1);
	cr_assert_eq(events_of(from), 0);
	cr_assert_eq(events_of(fd), 0);
}

Test(cma_fd, an_id_moves_to_a_blocked_thread)
{
	move_there();
}

Test(cma_fd, an_id_moves_to_a_blocked_thread_while_the_engine_runs)
{
	warm();
	move_there();
}

/* Connections begin and end while one thread waits for their events on another channel. */
Test(cma_fd, connections_beside_a_blocked_thread)
{
	struct pair p;
	struct event ev;
	pthread_t t;

	warm();
	t = blocked();
	for (int i = 0; i < 20; i++) {
		pair_connect(&p);
		cr_assert_eq(disconnect(p.c, p.active), 0);
		expect(p.s, &ev, EV_DISCONNECTED);
		pair_close(&p);
	}
	cr_assert_eq(atomic_load(&result), -1);
	fire();
	pthread_join(t, NULL);
	cr_assert_eq(atomic_load(&result), 0);
}

#ifndef __SANITIZE_THREAD__ /* runs handlers only when the read() has returned */
Test(cma_fd, unless_its_handler_restarts)
{
	pthread_t t;

	handle(SA_RESTART);
	t = blocked();
	pthread_kill(t, SIGUSR1);
	while (!atomic_load(&handled))
		sched_yield();
	fire();
	pthread_join(t, NULL);
	cr_assert_eq(atomic_load(&result), 0);
}

/* libiscsi cancels the thread that waits for events, then destroys its id. */
Test(cma_fd, cancellation)
{
	struct event ev;
	void *ret;
	uint32_t reported;

	for (int i = 0; i < 50; i++) {
		pthread_t t = blocked();
		uint32_t id;

		cr_assert_eq(pthread_cancel(t), 0);
		pthread_join(t, &ret);
		cr_assert_eq(ret, PTHREAD_CANCELED);
		id = fire();
		cr_assert_eq(events_of(fd), POLLIN);
		expect(fd, &ev, EV_ADDR_RESOLVED);
		cr_assert_eq(destroy(fd, id, &reported), 0);
		cr_assert_eq(reported, 1);
	}
}

/* It is cancelled as the event arrives: the event is taken and reported, or it is still queued. */
Test(cma_fd, cancellation_and_an_event_at_once)
{
	for (int i = 0; i < 200; i++) {
		pthread_t t = blocked();
		uint32_t id = fire(), reported;
		struct event ev;
		bool got;

		pthread_cancel(t);
		pthread_join(t, NULL);
		got = atomic_load(&result) == 0;
		if (!got) {
			cr_assert_eq(events_of(fd), POLLIN, "the event is lost to poll");
			expect(fd, &ev, EV_ADDR_RESOLVED);
		}
		cr_assert_eq(destroy(fd, id, &reported), 0);
		cr_assert_eq(reported, 1);
		cr_assert_eq(events_of(fd), 0);
	}
}

#endif

/* mckey and rping close the channel while a thread waits there. */
static void close_under(void)
{
	pthread_t t = blocked();
	struct pair p;

	channel_close(fd);
	pthread_detach(t);
	fd = channel_open(O_CLOEXEC);
	fire();
	cr_assert_eq(events_of(fd), POLLIN);
	pair_connect(&p);
	cr_assert_eq(atomic_load(&result), -1, "it waits on, as with the kernel");
}

#ifndef __SANITIZE_THREAD__ /* which says rightly that close() and read() race */
Test(cma_fd, closing_under_a_blocked_thread)
{
	close_under();
}
#endif

Test(cma_fd, closing_under_a_blocked_thread_while_the_engine_runs)
{
	warm();
	close_under();
}

/* A command whose channel another thread closes creates no id there, and moves none there. */
Test(cma_fd, no_id_on_a_channel_that_was_closed)
{
	int ch = channel_open(O_CLOEXEC), from = channel_open(O_CLOEXEC);
	struct cma_channel *held = dpa_fd_find_cm(ch);
	uint32_t num, id = create(from, UID, PS_TCP, QP_RC), reported;

	cr_assert_not_null(held);
	channel_close(ch);
	cr_expect_eq(cma_create_id(held, UID, PS_TCP, QP_RC, &num), EBADF);
	cr_expect_eq(cma_migrate(held, from, id, &reported), EBADF);
	cma_channel_put(held);
	cr_expect_eq(destroy(from, id, NULL), 0);
	channel_close(from);
}

/*
 * The thread that reads the flags of a channel's descriptor stops there until the test continues
 * it.
 */
static _Thread_local bool stops;
static pthread_barrier_t at_flags, reused;
static sem_t at_the_end;

int __real_fcntl(int f, int cmd, ...);
int __real_pause(void);
int __wrap_pause(void);
int __wrap_fcntl(int f, int cmd, ...);
int __wrap_fcntl(int f, int cmd, ...)
{
	void *arg;
	va_list ap;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (stops && cmd == F_GETFL) {
		stops = false;
		pthread_barrier_wait(&at_flags);
		pthread_barrier_wait(&reused);
	}
	return __real_fcntl(f, cmd, arg);
}

/* For ever: the channel is closed. */
int __wrap_pause(void)
{
	sem_post(&at_the_end);
	return __real_pause();
}

#ifndef __SANITIZE_THREAD__ /* it loses atomic operations of clean-up at a cancellation */

static void *wait_once(void *arg)
{
	uint8_t answer[336], cmd[16] = {0};
	int ch = *(int *)arg;
	ssize_t ret;

	put32(cmd, 0, GET_EVENT);
	put16(cmd, 4, 8);
	put16(cmd, 6, sizeof(answer));
	put64(cmd, 8, (uintptr_t)answer);
	stops = true;
	(void)dpa_hook_write(ch, cmd, sizeof(cmd), &ret);
	return arg;
}

/*
 * A channel is closed while another thread is about to wait in GET_EVENT, and a pipe takes its
 * number at once: nothing is read from the pipe.
 */
Test(cma_fd, a_number_that_is_used_again)
{
	int ch = channel_open(O_CLOEXEC), fds[2];
	char data[8];
	pthread_t t;

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(write(fds[1], "12345678", 8), 8);
	sem_init(&at_the_end, 0, 0);
	pthread_barrier_init(&at_flags, NULL, 2);
	pthread_barrier_init(&reused, NULL, 2);
	cr_assert_eq(pthread_create(&t, NULL, wait_once, &ch), 0);
	pthread_barrier_wait(&at_flags);
	channel_close(ch);
	cr_assert_eq(dup2(fds[0], ch), ch);
	pthread_barrier_wait(&reused);
	while (sem_wait(&at_the_end))
		;
	pthread_cancel(t);
	pthread_join(t, NULL);
	cr_assert_eq(fcntl(ch, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(read(ch, data, sizeof(data)), 8, "it was read from");
}
#endif
