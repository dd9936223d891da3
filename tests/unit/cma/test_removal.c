/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_removal.c - ids whose device fails: the event is the last thing that happens to them, as in Linux,
 * where ucma destroys the kernel's id (ucma_removal_event_handler()). By a clock of the test.
 */
#include <errno.h>
#include <string.h>
#include <dpa_hw.h>
#include "../provider/fake_hw.h"
#include "clock.h"
#include "util.h"

#define FAR_N  9
#define ROUNDS 100000 /* far more than the timers of a connection need */

static struct pair p;

static void one_round(void)
{
	fake_gsi_wake();
	settle();
}

static void removed(int fd, uint64_t uid, uint32_t id)
{
	struct event ev;

	expect_of(fd, &ev, EV_DEVICE_REMOVAL, uid, id);
	cr_expect_eq(ev.status, 0);
}

Test(cma_removal, a_listener)
{
	const struct conn c = {.qpn = new_qpn(), .responder = 1, .depth = 1};
	struct event ev;
	uint32_t id;

	pair_listen(&p, PS_TCP, QP_RC);
	fake_event(DPA_EVENT_DEVICE_FATAL, NULL);
	removed(p.s, UID, p.listener);
	cr_expect_eq(fake_gsi.services, 0, "QP1 serves it no more");
	id = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p.c, id, &c), 0);
	one_round();
	clock_advance(1000); /* a request waits for a listener */
	expect_of(p.c, &ev, EV_REJECTED, UID + 2, id);
	cr_expect_eq(ev.status, 8, "no listener");
	expect_none(p.s);
	cr_expect_eq(listen_id(p.s, p.listener, 0), EINVAL);
	id = create(p.s, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, id, "127.0.0.1", p.port), 0, "its port is free");
	cr_assert_eq(listen_id(p.s, id, 0), 0);
	cr_expect_eq(destroy(p.s, p.listener, NULL), 0);
}

Test(cma_removal, an_id_that_waits_for_a_neighbour)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), later = create(fd, UID, PS_TCP, QP_RC);
	struct event ev;

	fake_gsi.far = FAR_N;
	fake_gsi.silent = true;
	cr_assert_eq(resolve(fd, id, "127.0.0.1", "127.0.0.9", 7174), 0);
	fake_event(DPA_EVENT_DEVICE_FATAL, NULL);
	removed(fd, UID, id);
	cr_assert_eq(resolve(fd, later, "127.0.0.1", "127.0.0.9", 7174), 0);
	fake_gsi.silent = false;
	clock_advance(1000);
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, later); /* the same round looks at the other */
	expect_none(fd);
	cr_expect_eq(route(fd, id), EINVAL);
	cr_expect_eq(resolve(fd, id, NULL, "127.0.0.1", 7), EINVAL);
	cr_expect_eq(destroy(fd, id, NULL), 0);
}

Test(cma_removal, a_connection)
{
	pair_connect(&p);
	fake_event(DPA_EVENT_DEVICE_FATAL, NULL);
	removed(p.s, UID, p.listener);
	removed(p.s, UID + 1, p.passive);
	removed(p.c, UID + 2, p.active);
	for (int i = 0; fake_gsi.ids && i < ROUNDS; i++) {
		clock_advance(1000);
		one_round();
	}
	cr_expect_eq(fake_gsi.ids, 0, "their communication ids are free");
	expect_none(p.s);
	expect_none(p.c);
	cr_expect_eq(disconnect(p.c, p.active), EINVAL);
	cr_expect_eq(notify(p.s, p.passive, 4), EINVAL);
	pair_close(&p);
}

/* The program gets the request, and can only destroy its id. */
Test(cma_removal, a_request_that_is_queued)
{
	const struct conn c = {.qpn = new_qpn(), .responder = 1, .depth = 1};
	struct event ev;
	uint32_t id;

	pair_listen(&p, PS_TCP, QP_RC);
	id = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p.c, id, &c), 0);
	settle();
	fake_event(DPA_EVENT_DEVICE_FATAL, NULL);
	removed(p.c, UID + 2, id);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	id = ev.id;
	removed(p.s, UID, p.listener);
	cr_expect_eq(accept_id(p.s, id, UID + 1, &c), EINVAL);
	cr_expect_eq(reject(p.s, id, NULL, 0, 0), EINVAL);
	cr_expect_eq(destroy(p.s, id, NULL), 0);
	expect_none(p.s);
}
