/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_kernel_fd.c - the descriptor of an event channel that has a kernel's rdma_cm behind it as
 * well.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include "model.h"
#include "util.h"

static int fd;

static void setup(void)
{
	model_install();
	fd = channel_open(O_CLOEXEC);
}

TestSuite(cma_kernel_fd, .init = setup);

Test(cma_kernel_fd, neither_side_waits_for_the_other)
{
	uint32_t k = create(fd, UID, PS_TCP, QP_RC), d;
	int of_kernel = 0;
	struct event ev;

	cr_assert_eq(bind_id(fd, k, MODEL_V4, 0), 0);
	for (int i = 0; i < 4; i++) {
		model_event(model_id(k), EV_ADDR_CHANGE);
		d = create(fd, UID + 1, PS_TCP, QP_RC);
		cr_assert_eq(resolve(fd, d, NULL, "127.0.0.1", 7), 0);
	}
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(try_event(fd, &ev), 0);
		of_kernel += ev.uid == UID;
	}
	cr_assert_eq(of_kernel, 2);
}

static short readable(int f)
{
	struct pollfd p = {.fd = f, .events = POLLIN | POLLOUT | POLLPRI};

	cr_assert_geq(poll(&p, 1, 0), 0);
	return p.revents;
}

/* Make an id of side KERNEL. The test makes its events. */
static uint32_t kernels(void)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);

	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	return id;
}

Test(cma_kernel_fd, pollin_exactly_while_an_event_is_queued)
{
	uint32_t k = model_id(kernels());
	struct event ev;

	cr_assert_eq(readable(fd), 0);
	model_event(k, EV_ADDR_CHANGE);
	model_event(k, EV_ADDR_CHANGE);
	cr_assert_eq(readable(fd), POLLIN);
	expect(fd, &ev, EV_ADDR_CHANGE);
	cr_assert_eq(readable(fd), POLLIN);
	expect(fd, &ev, EV_ADDR_CHANGE);
	cr_assert_eq(readable(fd), 0);
}

Test(cma_kernel_fd, each_event_of_the_kernel_is_an_edge)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET};
	int inner = epoll_create1(EPOLL_CLOEXEC), ep = epoll_create1(EPOLL_CLOEXEC);
	uint32_t k = model_id(kernels());
	struct event ev;

	cr_assert_eq(epoll_ctl(inner, EPOLL_CTL_ADD, dup(fd), &e), 0);
	e.events = EPOLLIN;
	cr_assert_eq(epoll_ctl(ep, EPOLL_CTL_ADD, inner, &e), 0);
	for (int i = 0; i < 3; i++) {
		model_event(k, EV_ADDR_CHANGE);
		cr_assert_eq(epoll_wait(ep, &e, 1, 0), 1, "event %d", i);
		cr_assert_eq(epoll_wait(inner, &e, 1, 0), 1, "event %d", i);
		cr_assert_eq(epoll_wait(inner, &e, 1, 0), 0, "one edge each");
		cr_assert_eq(epoll_wait(ep, &e, 1, 0), 0);
	}
	for (int i = 0; i < 3; i++)
		expect(fd, &ev, EV_ADDR_CHANGE);
	model_event(k, EV_ADDR_CHANGE);
	cr_assert_eq(epoll_wait(ep, &e, 1, 0), 1);
}

/* Linux: 100 paths from one file through three epoll sets, of which the channel's is one. */
Test(cma_kernel_fd, many_channels_in_a_nested_epoll_set)
{
	struct epoll_event e = {.events = EPOLLIN};
	int inner = epoll_create1(EPOLL_CLOEXEC), outer = epoll_create1(EPOLL_CLOEXEC);
	uint32_t first = create(fd, UID, PS_TCP, QP_RC);
	struct held before;
	int f[120];

	cr_assert_eq(resolve(fd, first, NULL, "127.0.0.1", 7), 0);
	before = held_now();
	cr_assert_eq(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &e), 0);
	for (int i = 0; i < 120; i++) {
		f[i] = channel_open(O_CLOEXEC);
		cr_assert_eq(epoll_ctl(inner, EPOLL_CTL_ADD, f[i], &e), 0, "channel %d", i);
	}
	for (int i = 0; i < 120; i++) {
		uint32_t id = create(f[i], UID, PS_TCP, QP_RC);

		cr_assert_eq(resolve(f[i], id, NULL, "127.0.0.1", 7), 0);
	}
	for (int i = 0; i < 120; i++)
		cr_assert_eq(readable(f[i]), POLLIN, "channel %d", i);
	for (int i = 0; i < 120; i++)
		channel_close(f[i]);
	cr_assert_leq(held_now().fds, before.fds, "what channels share goes with the last");
}

static atomic_int tid, result;

static void *take(void *arg)
{
	atomic_store(&tid, (int)gettid());
	atomic_store(&result, try_event(fd, arg));
	return arg;
}

static pthread_t blocked(struct event *ev)
{
	pthread_t t;

	atomic_store(&tid, 0);
	atomic_store(&result, -1);
	cr_assert_eq(pthread_create(&t, NULL, take, ev), 0);
	while (!atomic_load(&tid) || !sleeps(atomic_load(&tid)))
		sched_yield();
	return t;
}

Test(cma_kernel_fd, either_sides_event_wakes_the_blocked_thread)
{
	uint32_t id = kernels(), d = create(fd, UID + 1, PS_TCP, QP_RC);
	struct event ev;
	pthread_t t = blocked(&ev);

	model_event(model_id(id), EV_ADDR_CHANGE);
	pthread_join(t, NULL);
	cr_assert_eq(atomic_load(&result), 0);
	cr_assert_eq(ev.uid, UID);
	t = blocked(&ev);
	cr_assert_eq(resolve(fd, d, NULL, "127.0.0.1", 7), 0);
	pthread_join(t, NULL);
	cr_assert_eq(atomic_load(&result), 0);
	cr_assert_eq(ev.uid, UID + 1);
}

/* libiscsi cancels its thread; rping and mckey close the channel while the thread waits. */
Test(cma_kernel_fd, a_blocked_thread_is_cancelled_or_left_behind)
{
	uint32_t id = kernels(), k = model_id(id);
	struct event ev;
	pthread_t t = blocked(&ev);

	cr_assert_eq(pthread_cancel(t), 0);
	pthread_join(t, NULL);
	model_event(k, EV_ADDR_CHANGE);
	expect_of(fd, &ev, EV_ADDR_CHANGE, UID, id);
	(void)blocked(&ev);
	channel_close(fd);
	cr_assert_eq(model.files, 0u);
	cr_assert_eq(model.ids, 0u);
}

Test(cma_kernel_fd, events_of_an_id_on_both_sides)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), n;
	struct event ev;

	model_event(model_id(id), EV_ADDR_CHANGE);
	expect_of(fd, &ev, EV_ADDR_CHANGE, UID, id);
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(try_event(fd, &ev), EAGAIN);
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_assert_eq(destroy(fd, id, &n), 0);
	cr_assert_eq(n, 1u, "the sum of both sides");
}

/* As after setuid(): the descriptor stays readable, and no command takes the event. */
Test(cma_kernel_fd, a_kernel_that_refuses_does_not_keep_a_thread_awake)
{
	uint32_t id = kernels(), d = create(fd, UID + 1, PS_TCP, QP_RC), n;
	struct event ev;
	pthread_t t;

	model_event(model_id(id), EV_ADDR_CHANGE);
	model.fail_all = EACCES;
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(try_event(fd, &ev), EAGAIN);
	cr_assert_eq(readable(fd), 0);
	cr_assert_eq(fcntl(fd, F_SETFL, 0), 0);
	n = model.commands;
	t = blocked(&ev);
	cr_assert_eq(model.commands, n, "it does not ask again");
	cr_assert_eq(resolve(fd, d, NULL, "127.0.0.1", 7), 0);
	pthread_join(t, NULL);
	cr_assert_eq(atomic_load(&result), 0);
	cr_assert_eq(ev.uid, UID + 1);
}
