/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_events.c - the id for which an event counts, and the events that MIGRATE moves. One too many
 * hangs librdmacm.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "util.h"

static struct pair p;

Test(cma_events, only_delivered_ones_count)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), reported;
	struct event ev;

	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(route(fd, id), 0);
	cr_assert(has_event(fd));
	cr_assert_eq(destroy(fd, id, &reported), 0);
	cr_assert_eq(reported, 1);
	cr_assert_not(has_event(fd), "dropped with the id");
}

Test(cma_events, the_events_of_others_stay_in_their_order)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id[5];
	struct event ev;

	for (int i = 0; i < 5; i++) {
		id[i] = create(fd, UID + (uint64_t)i, PS_TCP, QP_RC);
		cr_assert_eq(resolve(fd, id[i], NULL, "127.0.0.1", 7), 0);
	}
	for (int i = 0; i < 5; i++)
		cr_assert_eq(route(fd, id[i]), 0);
	cr_assert_eq(destroy(fd, id[4], NULL), 0);
	cr_assert_eq(destroy(fd, id[1], NULL), 0);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5; i++)
			if (i != 1 && i != 4)
				expect_of(fd, &ev, round ? EV_ROUTE_RESOLVED : EV_ADDR_RESOLVED,
					  UID + (uint64_t)i, id[i]);
	cr_assert_not(has_event(fd));
	/* the queue still works after its last event was taken */
	cr_assert_eq(disconnect(fd, id[0]), EINVAL);
	id[1] = create(fd, UID + 1, PS_TCP, QP_RC);
	cr_assert_eq(resolve(fd, id[1], NULL, "127.0.0.1", 7), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID + 1, id[1]);
}

/* perftest destroys ids with ESTABLISHED and DISCONNECTED unread. */
Test(cma_events, unread_events_of_a_connection)
{
	struct event ev;
	uint32_t reported;

	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(establish(p.c, p.active), 0);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	settle();
	cr_assert(has_event(p.s));
	cr_assert_eq(destroy(p.s, p.passive, &reported), 0);
	cr_assert_eq(reported, 0);
	cr_assert_not(has_event(p.s));
	expect(p.c, &ev, EV_DISCONNECTED);
	cr_assert_eq(destroy(p.s, p.listener, &reported), 0);
	cr_assert_eq(reported, 1);
}

/* As each synchronous accept does: a separate channel, MIGRATE, then ACCEPT. */
Test(cma_events, a_request_moves_before_its_accept)
{
	int own;
	uint32_t reported;
	struct event ev;

	pair_request(&p);
	own = channel_open(O_CLOEXEC);
	cr_assert_eq(migrate(own, p.s, p.passive, &reported), 0);
	cr_assert_eq(reported, 0, "the request counts for the listener");
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = 9}), EINVAL,
		     "it is on the other channel");
	cr_assert_eq(accept_id(own, p.passive, UID + 1, &(struct conn){.qpn = 9}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(establish(p.c, p.active), 0);
	expect_of(own, &ev, EV_ESTABLISHED, UID + 1, p.passive);
	cr_assert_not(has_event(p.s));
	/* the old channel is closed, the connection stays */
	channel_close(p.s);
	cr_assert_not(has_event(own));
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect_of(own, &ev, EV_DISCONNECTED, UID + 1, p.passive);
	cr_assert_eq(destroy(own, p.passive, &reported), 0);
	cr_assert_eq(reported, 2);
}

Test(cma_events, a_listener_moves_with_its_requests)
{
	uint32_t id[3], reported, other;
	struct event ev;
	int own;

	pair_listen(&p, PS_TCP, QP_RC);
	for (int i = 0; i < 3; i++) {
		id[i] = pair_route(&p, PS_TCP, QP_RC, UID + 10 + (uint64_t)i);
		cr_assert_eq(connect_id(p.c, id[i], &(struct conn){.qpn = new_qpn()}), 0);
		settle();
	}
	/* an event of another id stays where it is */
	other = create(p.s, UID + 99, PS_TCP, QP_RC);
	cr_assert_eq(resolve(p.s, other, NULL, "127.0.0.1", 7), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	own = channel_open(O_CLOEXEC);
	cr_assert_eq(migrate(own, p.s, p.listener, &reported), 0);
	cr_assert_eq(reported, 1);
	expect_of(p.s, &ev, EV_ADDR_RESOLVED, UID + 99, other);
	cr_assert_not(has_event(p.s));
	channel_close(p.s);
	for (int i = 1; i < 3; i++) {
		expect(own, &ev, EV_CONNECT_REQUEST);
		cr_assert_eq(ev.uid, UID);
		cr_assert_eq(accept_id(own, ev.id, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
		expect_of(p.c, &ev, i == 1 ? EV_REJECTED : EV_CONNECT_RESPONSE,
			  i == 1 ? UID + 10 : UID + 12, i == 1 ? id[0] : id[2]);
		if (i == 1)
			expect_of(p.c, &ev, EV_CONNECT_RESPONSE, UID + 11, id[1]);
	}
	/* it continues to listen, and keeps its port */
	id[0] = pair_route(&p, PS_TCP, QP_RC, UID + 30);
	cr_assert_eq(connect_id(p.c, id[0], &(struct conn){.qpn = new_qpn()}), 0);
	expect(own, &ev, EV_CONNECT_REQUEST);
	other = create(own, 1, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(own, other, "127.0.0.1", p.port), EADDRINUSE);
	cr_assert_eq(destroy(own, p.listener, &reported), 0);
	cr_assert_eq(reported, 4);
	cr_assert_eq(bind_id(own, other, "127.0.0.1", p.port), 0);
}

Test(cma_events, queued_events_move_behind_those_that_are_there)
{
	int a = channel_open(O_CLOEXEC), b = channel_open(O_CLOEXEC);
	uint32_t id = create(a, UID, PS_TCP, QP_RC), there = create(b, UID + 1, PS_TCP, QP_RC);
	uint32_t reported;
	struct event ev;

	cr_assert_eq(resolve(a, id, NULL, "127.0.0.1", 7), 0);
	expect(a, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(route(a, id), 0);
	cr_assert_eq(resolve(b, there, NULL, "127.0.0.1", 7), 0);
	cr_assert_eq(migrate(b, a, id, &reported), 0);
	cr_assert_eq(reported, 1);
	cr_assert_not(has_event(a));
	expect_of(b, &ev, EV_ADDR_RESOLVED, UID + 1, there);
	cr_assert(has_event(b));
	expect_of(b, &ev, EV_ROUTE_RESOLVED, UID, id);
	cr_assert_not(has_event(b));
	cr_assert_eq(destroy(a, id, NULL), EINVAL);
	cr_assert_eq(destroy(b, id, &reported), 0);
	cr_assert_eq(reported, 2);
}

/* ... to the same channel. */
Test(cma_events, migrate_to_the_same_channel)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), reported;
	struct event ev;

	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	cr_assert_eq(migrate(fd, fd, id, &reported), 0);
	cr_assert_eq(reported, 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
	cr_assert_not(has_event(fd));
}

/* Its events keep their order among those of other ids. */
Test(cma_events, migrate_to_the_same_channel_keeps_the_order)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t one = create(fd, UID, PS_TCP, QP_RC), two = create(fd, UID + 1, PS_TCP, QP_RC);
	uint32_t reported;
	struct event ev;

	cr_assert_eq(resolve(fd, one, NULL, "127.0.0.1", 7), 0);
	cr_assert_eq(resolve(fd, two, NULL, "127.0.0.1", 7), 0);
	cr_assert_eq(migrate(fd, fd, one, &reported), 0);
	cr_assert_eq(reported, 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, one);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID + 1, two);
	cr_assert_not(has_event(fd));
}

/* An id without a port keeps none of a channel: its next port belongs to the new channel. */
Test(cma_events, ports_of_ids_that_moved)
{
	int a = channel_open(O_CLOEXEC), b = channel_open(O_CLOEXEC);
	uint32_t id = create(a, UID, PS_TCP, QP_RC), id2 = create(a, UID, PS_TCP, QP_RC), x;
	uint16_t port;

	cr_assert_eq(bind_id(a, id, "127.0.0.1", 0), 0);
	port = port_of(a, id);
	cr_assert_eq(migrate(b, a, id, NULL), 0);
	cr_assert_eq(migrate(b, a, id2, NULL), 0);
	channel_close(a);
	cr_assert_eq(bind_id(b, id2, "127.0.0.1", port), EADDRINUSE);
	cr_assert_eq(destroy(b, id, NULL), 0);
	cr_assert_eq(bind_id(b, id2, "127.0.0.1", port), 0);
	channel_close(b);
	a = channel_open(O_CLOEXEC);
	x = create(a, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(a, x, "127.0.0.1", port), 0);
}

/* The program gets no event of a request that ends before its accept. */
Test(cma_events, no_event_of_a_request_before_its_accept)
{
	struct event ev;
	uint32_t reported;

	pair_request(&p);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	expect_none(p.s);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = 9}), EINVAL);
	cr_assert_eq(destroy(p.s, p.passive, &reported), 0);
	cr_assert_eq(reported, 0);
	cr_assert_eq(destroy(p.s, p.listener, &reported), 0);
	cr_assert_eq(reported, 1);
	cr_assert_eq(fcntl(p.s, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(try_event(p.s, &ev), EAGAIN);
}

/* A request that is not delivered yet has no name; an ended one still has (Linux). */
Test(cma_events, a_request_that_ended_before_it_was_delivered)
{
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	settle();
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	settle();
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = 9}), EINVAL);
	cr_assert_eq(destroy(p.s, ev.id, NULL), 0);
	cr_assert_eq(fake_gsi.ids, 0);
}

/* Numbers are used again, and an event of the old id never reaches the new one. */
Test(cma_events, a_number_that_is_used_again)
{
	int fd = channel_open(O_CLOEXEC | O_NONBLOCK);
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), second;
	struct event ev;

	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	cr_assert_eq(destroy(fd, id, NULL), 0);
	second = create(fd, UID + 1, PS_TCP, QP_RC);
	cr_assert_eq(try_event(fd, &ev), EAGAIN);
	cr_assert_eq(resolve(fd, second, NULL, "127.0.0.1", 7), 0);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID + 1, second);
}

static struct {
	int fd, destroyer;
	uint32_t id;
	_Atomic bool first, seen, destroyed;
} gap;

/* An event thread as in rping since rdma-core 50: poll(), then a call that waits. */
static void *take_events(void *arg)
{
	struct pollfd pfd = {.fd = gap.fd, .events = POLLIN};
	struct event ev;

	expect_of(gap.fd, &ev, EV_ADDR_RESOLVED, UID, gap.id);
	gap.first = true;
	cr_assert_eq(poll(&pfd, 1, -1), 1);
	gap.seen = true;
	while (!sleeps(gap.destroyer) && !gap.destroyed)
		sched_yield();
	cr_assert_not(gap.destroyed, "the event that poll() reported is gone");
	expect_of(gap.fd, &ev, EV_ROUTE_RESOLVED, UID, gap.id);
	return arg;
}

/* Another thread destroys the id between that poll() and that call. */
Test(cma_events, one_that_poll_has_reported_can_be_taken)
{
	uint32_t reported = 0;
	pthread_t t;

	gap.destroyer = gettid();
	gap.fd = channel_open(O_CLOEXEC);
	gap.id = create(gap.fd, UID, PS_TCP, QP_RC);
	cr_assert_eq(pthread_create(&t, NULL, take_events, NULL), 0);
	cr_assert_eq(resolve(gap.fd, gap.id, NULL, "127.0.0.1", 7), 0);
	while (!gap.first) /* no wait: the other thread looks for one */
		sched_yield();
	cr_assert_eq(route(gap.fd, gap.id), 0);
	while (!gap.seen)
		sched_yield();
	cr_assert_eq(destroy(gap.fd, gap.id, &reported), 0);
	gap.destroyed = true;
	cr_assert_eq(pthread_join(t, NULL), 0);
	cr_assert_eq(reported, 2);
}
