/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_many.c - many ids, descriptors, ports, services and events, none of which is left at the
 * end.
 */
#include <sched.h>
#include "clock.h"
#include "util.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CONNECTIONS = 1000 };
#else
enum { CONNECTIONS = 10000 };
#endif
enum { IDS = 1000 };

static struct pair p;

/* Wait for the end of connections without an owner: the clock advances. */
static void all_end(const struct held *h)
{
	while (fake_gsi.ids != h->ids) {
		clock_advance(1000);
		settle();
	}
	expect_held(h);
}

/* Start the engine, which keeps its own descriptors from now on. */
static struct held warm(void)
{
	struct held none = {0};

	pair_connect(&p);
	pair_close(&p);
	while (fake_gsi.ids) {
		clock_advance(1000);
		settle();
	}
	none = held_now();
	cr_assert_eq(none.ids, 0);
	cr_assert_eq(none.services, 0);
	return none;
}

static void one_connection(bool active_ends)
{
	const struct conn c = {.qpn = new_qpn(), .responder = 1, .depth = 1};
	struct event ev;
	uint32_t reported;
	int a = active_ends ? p.c : p.s, b = active_ends ? p.s : p.c;

	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &c), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	p.passive = ev.id;
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect_of(p.c, &ev, EV_CONNECT_RESPONSE, UID + 2, p.active);
	cr_assert_eq(establish(p.c, p.active), 0);
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, p.passive);
	cr_assert_eq(disconnect(a, active_ends ? p.active : p.passive), 0);
	expect(b, &ev, EV_DISCONNECTED);
	cr_assert_eq(disconnect(b, active_ends ? p.passive : p.active), 0);
	expect(a, &ev, EV_DISCONNECTED);
	cr_assert_eq(destroy(p.c, p.active, &reported), 0);
	cr_assert_eq(reported, 4);
	cr_assert_eq(destroy(p.s, p.passive, &reported), 0);
	cr_assert_eq(reported, 2);
}

Test(cma_many, connections_one_after_the_other)
{
	struct held before = warm();
	uint32_t reported;

	pair_listen(&p, PS_TCP, QP_RC);
	for (int i = 0; i < CONNECTIONS; i++)
		one_connection(i & 1);
	cr_assert_eq(destroy(p.s, p.listener, &reported), 0);
	cr_assert_eq(reported, CONNECTIONS);
	pair_close(&p);
	all_end(&before);
}

/* cmtime: a thousand at once, in each step. */
Test(cma_many, ids_on_one_channel)
{
	struct held before = warm();
	static uint32_t id[IDS], passive[IDS];
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	for (int i = 0; i < IDS; i++) {
		id[i] = create(p.c, UID + 10 + (uint64_t)i, PS_TCP, QP_RC);
		cr_assert_eq(resolve(p.c, id[i], NULL, "127.0.0.1", p.port), 0);
	}
	for (int i = 0; i < IDS; i++)
		expect_of(p.c, &ev, EV_ADDR_RESOLVED, UID + 10 + (uint64_t)i, id[i]);
	for (int i = 0; i < IDS; i++)
		cr_assert_eq(route(p.c, id[i]), 0);
	for (int i = 0; i < IDS; i++)
		expect_of(p.c, &ev, EV_ROUTE_RESOLVED, UID + 10 + (uint64_t)i, id[i]);
	for (int i = 0; i < IDS; i++)
		cr_assert_eq(connect_id(p.c, id[i], &(struct conn){.qpn = new_qpn()}), 0);
	for (int i = 0; i < IDS; i++) {
		expect(p.s, &ev, EV_CONNECT_REQUEST);
		passive[i] = ev.id;
		cr_assert_eq(accept_id(p.s, ev.id, UID + 5, &(struct conn){.qpn = new_qpn()}), 0);
	}
	for (int i = 0; i < IDS; i++) {
		expect(p.c, &ev, EV_CONNECT_RESPONSE);
		cr_assert_eq(establish(p.c, ev.id), 0);
	}
	for (int i = 0; i < IDS; i++)
		expect(p.s, &ev, EV_ESTABLISHED);
	/* half of them end properly, half with their channels */
	for (int i = 0; i < IDS; i += 2) {
		cr_assert_eq(destroy(p.c, id[i], NULL), 0);
		cr_assert_eq(destroy(p.s, passive[i], NULL), 0);
	}
	pair_close(&p);
	all_end(&before);
}

Test(cma_many, channels)
{
	struct held before = warm();

	for (int i = 0; i < 300; i++) {
		int fd = channel_open(O_CLOEXEC);
		uint32_t a = create(fd, UID, PS_TCP, QP_RC), b = create(fd, UID, PS_UDP, QP_UD), mc;

		cr_assert_eq(bind_id(fd, a, "127.0.0.1", 0), 0);
		cr_assert_eq(listen_id(fd, a, 0), 0);
		cr_assert_eq(resolve(fd, b, "127.0.0.1", "239.1.1.1", 7), 0);
		cr_assert_eq(join(fd, b, 5, "239.1.1.1", 0, &mc), 0);
		channel_close(fd);
	}
	expect_held(&before);
}

/* librdmacm indexes ids up to 65,535; then none is left, and later some are free again. */
Test(cma_many, ids_run_out)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id, n = 0;
	int err;

	while (!(err = try_create(fd, 1, PS_TCP, QP_RC, &id))) {
		cr_assert_lt(id, 65536u);
		n++;
	}
	cr_assert_eq(err, ENOMEM);
	cr_assert_gt(n, 60000u);
	cr_assert_eq(destroy(fd, 777, NULL), 0);
	cr_assert_eq(create(fd, 1, PS_TCP, QP_RC), 777u);
	channel_close(fd);
	fd = channel_open(O_CLOEXEC);
	cr_assert_eq(try_create(fd, 1, PS_TCP, QP_RC, &id), 0);
}

/* The device has no communication id left, or no room for a service. */
Test(cma_many, the_device_has_no_more)
{
	struct event ev;
	uint32_t id;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	fake_gsi.fail_id = ENOMEM;
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), ENOMEM);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(destroy(p.s, ev.id, NULL), 0);
	id = create(p.s, 1, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, id, "127.0.0.1", 0), 0);
	fake_gsi.fail_listen = ENOMEM;
	cr_assert_eq(listen_id(p.s, id, 0), ENOMEM);
	cr_assert_eq(listen_id(p.s, id, 0), 0, "it is BOUND still");
}
