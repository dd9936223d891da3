/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_rc.c - connections of RC and XRC: the events of both sides in their order, and each field of
 * them.
 */
#include <arpa/inet.h>
#include "util.h"

static struct pair p;
static uint8_t data[256];

static void setup(void)
{
	for (int i = 0; i < 256; i++)
		data[i] = (uint8_t)(i + 1);
}

TestSuite(cma_rc, .init = setup);

/* Fields of a connection event, 20 bytes into the answer. */
struct fields {
	uint32_t qpn;
	uint8_t len, srq, responder, depth, flow, retry, rnr;
	uint32_t vendor, attr_mod;
};

static void check(const struct event *ev, const struct fields *f, size_t sent)
{
	const uint8_t *c = ev->raw + 20, zero[256] = {0};

	cr_expect_eq(get32(c, 0), f->qpn);
	cr_expect_eq(get32(c, 4), 0, "Q_Key");
	cr_expect_eq(c[264], f->len, "private data: %u", c[264]);
	cr_expect_eq(c[265], f->srq, "srq");
	cr_expect_eq(c[266], f->responder, "responder resources %u", c[266]);
	cr_expect_eq(c[267], f->depth, "initiator depth %u", c[267]);
	cr_expect_eq(c[268], f->flow, "flow control");
	cr_expect_eq(c[269], f->retry, "retry %u", c[269]);
	cr_expect_eq(c[270], f->rnr, "rnr %u", c[270]);
	cr_expect_eq(get32(ev->raw, 328), f->vendor);
	cr_expect_eq(get32(ev->raw, 332), f->attr_mod);
	cr_assert_arr_eq(c + 8, data, sent);
	cr_assert_arr_eq(c + 8 + sent, zero, 256 - sent, "zero-filled");
}

Test(cma_rc, a_connection_field_by_field)
{
	const struct conn req = {.qpn = 0x123456,
				 .data = data,
				 .len = 20,
				 .srq = 1,
				 .responder = 3,
				 .depth = 5,
				 .flow = 1,
				 .retry = 6,
				 .rnr = 4,
				 .vendor = 0xabcdef,
				 .attr_mod = 0x11223344};
	const struct conn rep = {.qpn = 0x654321,
				 .data = data,
				 .len = 100,
				 .srq = 0,
				 .responder = 7,
				 .depth = 2,
				 .flow = 1,
				 .rnr = 5,
				 .vendor = 0x020304,
				 .attr_mod = 0x99};
	struct event ev;
	uint8_t r[208];

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &req), 0);
	/* the request: the listener's uid, a new id */
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, UID);
	cr_assert_neq(ev.id, p.listener);
	cr_assert_eq(ev.status, 0);
	check(&ev,
	      &(struct fields){.qpn = 0x123456,
			       .len = 56,
			       .srq = 1,
			       .responder = 5,
			       .depth = 3,
			       .flow = 1,
			       .retry = 6,
			       .rnr = 4,
			       .vendor = 0xabcdef,
			       .attr_mod = 0x11223344},
	      20);
	p.passive = ev.id;
	/* its addresses */
	cr_assert_eq(query_route(p.s, p.passive, r), 0);
	cr_assert_neq(get64(r, 0), 0);
	cr_assert_eq(get32(r, 192), 1);
	cr_assert_eq(ntohs(get16(r, 138)), p.port);
	cr_assert_eq(get32(r, 140), htonl(INADDR_LOOPBACK));
	cr_assert_eq(ntohs(get16(r, 166)), port_of(p.c, p.active));
	cr_assert_eq(get32(r, 168), htonl(INADDR_LOOPBACK));

	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &rep), 0);
	expect_of(p.c, &ev, EV_CONNECT_RESPONSE, UID + 2, p.active);
	cr_assert_eq(ev.status, 0);
	check(&ev,
	      &(struct fields){.qpn = 0x654321,
			       .len = 196,
			       .responder = 2,
			       .depth = 7,
			       .flow = 1,
			       .rnr = 5,
			       .vendor = 0x020304,
			       .attr_mod = 0x99},
	      100);
	expect_none(p.s);
	cr_assert_eq(establish(p.c, p.active), 0);
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, p.passive);
	cr_assert_eq(ev.status, 0);
	check(&ev, &(struct fields){0}, 0); /* as in the kernel: it has no parameters */
	expect_none(p.c);
	expect_none(p.s);
	/* once */
	cr_assert_eq(establish(p.c, p.active), EINVAL);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &rep), EINVAL);
}

Test(cma_rc, older_libraries_have_no_ece)
{
	uint8_t b[296] = {0}, ans[400];
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	put32(b, 0, 77);
	b[271] = 1;
	put32(b, 272, p.active);
	cr_assert_eq(command(p.c, CONNECT, b, 280, 0), 0);
	while (!has_event(p.s))
		settle();
	memset(ans, 0xee, sizeof(ans));
	uint8_t get[8];

	cr_assert_eq(command_answer(p.s, GET_EVENT, get, 8, ans, 324), 0);
	cr_assert_eq(get32(ans, 12), EV_CONNECT_REQUEST);
	cr_assert_eq(get32(ans, 20), 77);
	for (int i = 324; i < 400; i++)
		cr_assert_eq(ans[i], 0xee, "byte %d", i);
	memset(b, 0, sizeof(b));
	put64(b, 0, UID + 1);
	put32(b, 8, 78);
	b[8 + 271] = 1;
	put32(b, 280, get32(ans, 8));
	cr_assert_eq(command(p.s, ACCEPT, b, 288, 0), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(get32(ev.raw, 20), 78);
}

/* The private data that fits into a REQ and a REP. */
Test(cma_rc, private_data_that_is_too_long)
{
	struct conn c = {.qpn = new_qpn(), .data = data, .len = 57};
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &c), EINVAL);
	c.len = 255;
	cr_assert_eq(connect_id(p.c, p.active, &c), EINVAL);
	expect_none(p.s);
	c.len = 56;
	cr_assert_eq(connect_id(p.c, p.active, &c), 0, "the id is still ROUTE_RESOLVED");
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.raw[20 + 264], 56);
	cr_assert_arr_eq(ev.raw + 28, data, 56);
	/* a reply that does not fit rejects (rdma_accept() of Linux) */
	c.len = 197;
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &c), EINVAL);
	expect_of(p.c, &ev, EV_REJECTED, UID + 2, p.active);
	cr_assert_eq(ev.status, 28);
}

Test(cma_rc, a_whole_reply)
{
	const struct conn c = {.qpn = new_qpn(), .data = data, .len = 196};
	struct event ev;

	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &c), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_arr_eq(ev.raw + 28, data, 196);
}

Test(cma_rc, connect_needs_valid_parameters)
{
	uint8_t b[288] = {0};

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	put32(b, 272, p.active);
	cr_assert_eq(command(p.c, CONNECT, b, 288, 0), EINVAL);
	b[271] = 1;
	cr_assert_eq(command(p.c, CONNECT, b, 288, 0), 0);
	cr_assert_eq(command(p.c, CONNECT, b, 288, 0), EINVAL, "once");
}

/* ------------------------------------------------------------------- reject */

Test(cma_rc, the_passive_side_rejects)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(reject(p.s, p.passive, data, 149, 0), EINVAL, "too long");
	cr_assert_eq(reject(p.s, p.passive, data, 12, 7), EINVAL, "not a reason of programs");
	cr_assert_eq(reject(p.s, p.passive, data, 148, 0), 0);
	expect_of(p.c, &ev, EV_REJECTED, UID + 2, p.active);
	cr_assert_eq(ev.status, 28);
	check(&ev, &(struct fields){.len = 148}, 148);
	cr_assert_eq(reject(p.s, p.passive, NULL, 0, 0), EINVAL, "once");
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
	expect_none(p.s);
	expect_none(p.c);
}

Test(cma_rc, a_reason_for_ece)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(reject(p.s, p.passive, data, 5, 35), 0);
	expect(p.c, &ev, EV_REJECTED);
	cr_assert_eq(ev.status, 35);
	check(&ev, &(struct fields){.len = 148}, 5);
}

Test(cma_rc, the_active_side_rejects)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(reject(p.c, p.active, data, 10, 0), 0);
	expect_of(p.s, &ev, EV_REJECTED, UID + 1, p.passive);
	cr_assert_eq(ev.status, 28);
	check(&ev, &(struct fields){.len = 148}, 10);
	expect_none(p.c);
}

/* A response is accepted where a request is: the request is rejected, as by rdma_accept(). */
Test(cma_rc, a_request_accepted_as_a_response)
{
	struct event ev;
	int notes;

	pair_request(&p);
	cr_assert_eq(establish(p.s, p.passive), EINVAL);
	expect_of(p.c, &ev, EV_REJECTED, UID + 2, p.active);
	cr_assert_eq(ev.status, 28);
	pair_connect(&p);
	notes = fake_gsi.notes;
	cr_assert_eq(establish(p.c, p.active), EINVAL, "twice");
	cr_expect_eq(fake_gsi.notes, notes, "nothing was rejected");
	expect_none(p.s);
	expect_none(p.c);
}

Test(cma_rc, a_port_without_a_listener)
{
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	expect_of(p.c, &ev, EV_REJECTED, UID + 2, p.active);
	cr_assert_eq(ev.status, 8);
	cr_assert_eq(disconnect(p.c, p.active), 0, "not connected");
	expect_none(p.c);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	settle();
	cr_assert_eq(fake_gsi.ids, 0);
}

/* The listener has another transport. */
Test(cma_rc, types_that_do_not_match)
{
	struct event ev;
	uint32_t id;

	pair_listen(&p, PS_IB, QP_RC);
	id = pair_route(&p, PS_IB, QP_UC, UID + 2);
	cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_REJECTED);
	expect_none(p.s);
}

/* -------------------------------------------------------------- disconnect */

static void expect_disconnected(int fd, uint64_t uid, uint32_t id)
{
	struct event ev;

	expect_of(fd, &ev, EV_DISCONNECTED, uid, id);
	cr_assert_eq(ev.status, 0);
	check(&ev, &(struct fields){0}, 0);
}

static void disconnect_from(bool active)
{
	struct held before;

	pair_connect(&p);
	pair_close(&p);
	settle();
	before = held_now();
	pair_connect(&p);
	int a = active ? p.c : p.s, b = active ? p.s : p.c;
	uint32_t ida = active ? p.active : p.passive, idb = active ? p.passive : p.active;
	uint64_t ua = UID + (active ? 2 : 1), ub = UID + (active ? 1 : 2);

	cr_assert_eq(disconnect(a, ida), 0);
	expect_disconnected(b, ub, idb);
	expect_disconnected(a, ua, ida); /* independent of the other program */
	cr_assert_eq(disconnect(b, idb), 0);
	/* once */
	cr_assert_eq(disconnect(a, ida), 0);
	cr_assert_eq(disconnect(b, idb), 0);
	expect_none(a);
	expect_none(b);
	uint32_t reported;

	cr_assert_eq(destroy(a, ida, &reported), 0);
	cr_assert_eq(reported, active ? 4 : 2);
	cr_assert_eq(destroy(b, idb, &reported), 0);
	cr_assert_eq(reported, active ? 2 : 4);
	pair_close(&p);
	cr_assert_eq(before.services, 0);
}

Test(cma_rc, the_active_side_disconnects)
{
	disconnect_from(true);
}

Test(cma_rc, the_passive_side_disconnects)
{
	disconnect_from(false);
}

static bool keep_all;

static int keep(const uint8_t *mad)
{
	return keep_all ? FAKE_GSI_KEEP : 1;
}

/* DREQs that cross: one DISCONNECTED for each side. */
Test(cma_rc, both_disconnect_at_once)
{
	fake_gsi.copies = keep;
	pair_connect(&p);
	keep_all = true;
	cr_assert_eq(disconnect(p.c, p.active), 0);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	keep_all = false;
	cr_assert_eq(fake_gsi_release(false), 2);
	expect_disconnected(p.c, UID + 2, p.active);
	expect_disconnected(p.s, UID + 1, p.passive);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect_none(p.c);
	expect_none(p.s);
}

/* ----------------------------------------------------------------- destroy */

Test(cma_rc, destroying_a_connected_id_disconnects)
{
	pair_connect(&p);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	expect_disconnected(p.s, UID + 1, p.passive);
	cr_assert_eq(destroy(p.c, p.active, NULL), ENOENT);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect_none(p.c);
}

Test(cma_rc, closing_the_channel_disconnects)
{
	pair_connect(&p);
	channel_close(p.s);
	expect_disconnected(p.c, UID + 2, p.active);
	/* and one whose peer waits for its DREP gives it */
	pair_connect(&p);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect_disconnected(p.s, UID + 1, p.passive);
	channel_close(p.s);
	expect_disconnected(p.c, UID + 2, p.active);
}

Test(cma_rc, destroying_a_request_rejects_it)
{
	struct event ev;
	uint32_t reported;

	pair_request(&p);
	cr_assert_eq(destroy(p.s, p.passive, &reported), 0);
	cr_assert_eq(reported, 0, "the request counts for the listener");
	expect(p.c, &ev, EV_REJECTED);
	cr_assert_eq(ev.status, 28);
	cr_assert_eq(destroy(p.s, p.listener, &reported), 0);
	cr_assert_eq(reported, 1);
}

Test(cma_rc, destroying_the_active_id_ends_the_request)
{
	pair_request(&p);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	settle();
	expect_none(p.s); /* no uid yet: dropped */
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), EINVAL);
	expect_none(p.s);
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
}

Test(cma_rc, destroying_after_the_reply)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
	settle();
	/* the active side's confirmation fails, or it gets a REJ (cm.c: REJ in REP_RCVD) */
	expect(p.c, &ev, EV_REJECTED);
	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	expect_of(p.s, &ev, EV_REJECTED, UID + 1, p.passive);
	cr_assert_eq(ev.status, 28);
}

/* Requests that wait in the queue are rejected, delivered ones live on. */
Test(cma_rc, destroying_a_listener)
{
	uint32_t id[3], reported, first;
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	for (int i = 0; i < 3; i++) {
		id[i] = pair_route(&p, PS_TCP, QP_RC, UID + 10 + (uint64_t)i);
		cr_assert_eq(connect_id(p.c, id[i], &(struct conn){.qpn = new_qpn()}), 0);
		settle();
	}
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	first = ev.id;
	cr_assert_eq(destroy(p.s, p.listener, &reported), 0);
	cr_assert_eq(reported, 1);
	cr_assert_not(has_event(p.s));
	for (int i = 1; i < 3; i++) {
		expect(p.c, &ev, EV_REJECTED);
		cr_assert_eq(ev.status, 28);
		cr_assert(ev.id == id[1] || ev.id == id[2]);
	}
	cr_assert_eq(accept_id(p.s, first, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect_of(p.c, &ev, EV_CONNECT_RESPONSE, UID + 10, id[0]);
	cr_assert_eq(establish(p.c, id[0]), 0);
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, first);
}

/*
 * perftest: the listener is destroyed, its port is bound again, the connection stays (Linux: an
 * accepted id has no port).
 */
Test(cma_rc, an_accepted_id_has_no_port)
{
	uint32_t second;

	pair_connect(&p);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	second = create(p.s, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, second, "127.0.0.1", p.port), 0);
	cr_assert_eq(listen_id(p.s, second, 0), 0);
	expect_none(p.s);
	expect_none(p.c);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect_disconnected(p.s, UID + 1, p.passive);
}

/* The second connection comes before its listener (perftest -R). */
Test(cma_rc, a_listener_that_comes_a_little_late)
{
	uint32_t second, id;
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	id = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	second = create(p.s, UID + 5, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, second, "127.0.0.1", p.port), 0);
	cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
	cr_assert_eq(listen_id(p.s, second, 0), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, UID + 5);
}

/* ------------------------------------------------------------------- notify */

Test(cma_rc, data_came_before_the_rtu)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(notify(p.s, p.passive, 4), EINVAL, "no reply yet");
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(notify(p.s, p.passive, 3), EINVAL, "another event");
	cr_assert_eq(notify(p.s, p.passive, 4), 0);
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, p.passive);
	cr_assert_eq(notify(p.s, p.passive, 4), EISCONN);
	cr_assert_eq(establish(p.c, p.active), 0);
	expect_none(p.s); /* the RTU makes no second one */
}

/* --------------------------------------------------------------- listeners */

Test(cma_rc, the_address_decides_between_listeners)
{
	uint32_t any, exact, id;
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	exact = create(p.s, UID + 50, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, exact, "127.0.0.9", p.port), 0);
	cr_assert_eq(listen_id(p.s, exact, 0), 0);
	id = create(p.c, UID + 2, PS_TCP, QP_RC);
	cr_assert_eq(resolve(p.c, id, NULL, "127.0.0.9", p.port), 0);
	expect(p.c, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(route(p.c, id), 0);
	expect(p.c, &ev, EV_ROUTE_RESOLVED);
	cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, UID + 50);
	/* an address without a listener */
	id = create(p.c, UID + 3, PS_TCP, QP_RC);
	cr_assert_eq(resolve(p.c, id, NULL, "127.0.0.8", p.port), 0);
	expect(p.c, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(route(p.c, id), 0);
	expect(p.c, &ev, EV_ROUTE_RESOLVED);
	cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_REJECTED);
	cr_assert_eq(ev.status, 8);
	/* a wildcard takes both families */
	any = create(p.s, UID + 60, PS_TCP, QP_RC);
	int off = 0;

	cr_assert_eq(set_option(p.s, any, 0, 2, &off, 4), 0);
	cr_assert_eq(bind_id(p.s, any, "::", 0), 0);
	cr_assert_eq(listen_id(p.s, any, 0), 0);
	for (int i = 0; i < 2; i++) {
		id = create(p.c, UID + 4, PS_TCP, QP_RC);
		cr_assert_eq(resolve(p.c, id, NULL, i ? "::1" : "127.0.0.1", port_of(p.s, any)), 0);
		expect(p.c, &ev, EV_ADDR_RESOLVED);
		cr_assert_eq(route(p.c, id), 0);
		expect(p.c, &ev, EV_ROUTE_RESOLVED);
		cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
		expect(p.s, &ev, EV_CONNECT_REQUEST);
		cr_assert_eq(ev.uid, UID + 60);
	}
}

/* --------------------------------------------------------------------- XRC */

Test(cma_rc, xrc)
{
	const struct conn req = {.qpn = 0x111, .responder = 4, .depth = 6, .retry = 7, .rnr = 7};
	const struct conn rep = {.qpn = 0x222, .responder = 5};
	struct event ev;

	pair_listen(&p, PS_IB, QP_XRC_RECV);
	p.active = pair_route(&p, PS_IB, QP_XRC_SEND, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &req), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(get32(ev.raw, 20), 0x111);
	p.passive = ev.id;
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &rep), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(get32(ev.raw, 20), 0x222, "the target's QPN");
	cr_assert_eq(establish(p.c, p.active), 0);
	expect(p.s, &ev, EV_ESTABLISHED);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect_disconnected(p.s, UID + 1, p.passive);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect_disconnected(p.c, UID + 2, p.active);
}

Test(cma_rc, xrc_and_rc_do_not_match)
{
	struct event ev;

	pair_listen(&p, PS_IB, QP_RC);
	p.active = pair_route(&p, PS_IB, QP_XRC_SEND, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_REJECTED);
	expect_none(p.s);
}
