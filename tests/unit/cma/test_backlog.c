/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_backlog.c - the number of requests that a listener keeps until the program takes them. */
#include <stdio.h>
#include "util.h"

static struct pair p;

static void listen_with(uint32_t backlog)
{
	pair_listen(&p, PS_TCP, QP_RC);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	p.listener = create(p.s, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, p.listener, "127.0.0.1", p.port), 0);
	cr_assert_eq(listen_id(p.s, p.listener, backlog), 0);
}

/* Wait until that number of requests was dropped. */
static void await_notes(int n)
{
	do
		settle();
	while (fake_gsi.notes < n);
}

static int requests; /* REQs that were sent */

static int count_requests(const uint8_t *mad)
{
	requests += mad[17] == 0x10;
	return 1;
}

/* For 250 ms: then its sender must repeat it. */
Test(cma_backlog, a_request_beyond_it_waits_and_is_dropped)
{
	struct event ev;
	uint32_t id[4];

	listen_with(2);
	fake_gsi.copies = count_requests;
	for (int i = 0; i < 4; i++) {
		id[i] = pair_route(&p, PS_TCP, QP_RC, UID + 10 + (uint64_t)i);
		cr_assert_eq(connect_id(p.c, id[i], &(struct conn){.qpn = new_qpn()}), 0);
		settle();
	}
	cr_assert_eq(requests, 4);
	cr_expect_eq(fake_gsi.notes, 0);
	await_notes(2);
	cr_expect_eq(fake_gsi.noted.why, DPA_GSI_BACKLOG);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	expect_none(p.s);
	expect_none(p.c); /* no answer: they are repeated after 6 s */
	/* delivered requests do not count any more */
	id[0] = pair_route(&p, PS_TCP, QP_RC, UID + 20);
	cr_assert_eq(connect_id(p.c, id[0], &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
}

Test(cma_backlog, a_request_beyond_it_finds_room)
{
	struct event ev;
	uint32_t id;

	listen_with(1);
	fake_gsi.copies = count_requests;
	for (int i = 0; i < 3; i++) {
		id = pair_route(&p, PS_TCP, QP_RC, UID + 10 + (uint64_t)i);
		cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
		settle();
	}
	for (int i = 0; i < 3; i++)
		expect(p.s, &ev, EV_CONNECT_REQUEST);
	expect_none(p.s);
	cr_expect_eq(requests, 3, "none was repeated");
	cr_expect_eq(fake_gsi.notes, 0);
}

/* The program destroys the new id, whose number it can guess, before it has taken the event. */
Test(cma_backlog, a_request_that_is_destroyed_does_not_count)
{
	struct event ev;
	uint32_t id, guess;

	listen_with(1);
	id = pair_route(&p, PS_TCP, QP_RC, UID + 10);
	guess = create(p.s, UID + 11, PS_TCP, QP_RC); /* the lowest free number is the next one's */
	cr_assert_eq(destroy(p.s, guess, NULL), 0);
	cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
	settle();
	cr_assert_eq(destroy(p.s, guess, NULL), 0);
	expect(p.c, &ev, EV_REJECTED);
	expect_none(p.s);
	id = pair_route(&p, PS_TCP, QP_RC, UID + 20);
	cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
}

/* rdma_ucm's max_backlog, 1024 where there is no such module. */
static uint32_t limit(void)
{
	FILE *f = fopen("/proc/sys/net/rdma_ucm/max_backlog", "re");
	unsigned n = 0;

	if (!f || fscanf(f, "%u", &n) != 1)
		n = 1024;
	if (f)
		fclose(f);
	return n;
}

Test(cma_backlog, has_a_limit)
{
	struct event ev;
	uint32_t n = limit(), id;

	listen_with(n + 1);
	fake_gsi.copies = count_requests;
	for (uint32_t i = 0; i <= n; i++) {
		id = pair_route(&p, PS_TCP, QP_RC, UID + 10 + i);
		cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
	}
	await_notes(1);
	for (uint32_t i = 0; i < n; i++)
		expect(p.s, &ev, EV_CONNECT_REQUEST);
	expect_none(p.s);
}
