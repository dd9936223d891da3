/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_wire.c - faults of a network: duplicated, reordered, lost; MADs of other hosts; and the ids
 * of processes that died. The test controls the time.
 */
#include <dpa_hw.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "../provider/fake_hw.h"
#include "clock.h"
#include "util.h"

static struct pair p;

/* The last MAD that was sent of each attribute. */
static struct dpa_mad last[32];
static atomic_int sent[32];
static int (*network)(const uint8_t *mad);

static int copies(const uint8_t *mad)
{
	struct dpa_mad m;

	cr_assert_eq(dpa_mad_decode(mad, DPA_MAD_BYTES, &m), DPA_MAD_OK);
	last[m.attr & 31] = m;
	sent[m.attr & 31]++;
	return network ? network(mad) : 1;
}

static void setup(void)
{
	fake_gsi.copies = copies;
}

TestSuite(cma_wire, .init = setup);

static int twice(const uint8_t *mad)
{
	return 2;
}

Test(cma_wire, every_mad_comes_twice)
{
	struct event ev;

	network = twice;
	pair_connect(&p);
	expect_none(p.s);
	expect_none(p.c);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, p.passive);
	expect_none(p.s);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect_of(p.c, &ev, EV_DISCONNECTED, UID + 2, p.active);
	expect_none(p.c);
	expect_none(p.s);
}

Test(cma_wire, every_mad_of_ud_comes_twice)
{
	struct event ev;

	network = twice;
	pair_listen(&p, PS_UDP, QP_UD);
	p.active = pair_route(&p, PS_UDP, QP_UD, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	expect_none(p.s);
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = 5}), 0);
	expect(p.c, &ev, EV_ESTABLISHED);
	expect_none(p.c);
}

static int keep_rtu(const uint8_t *mad)
{
	return mad[17] == DPA_CM_RTU ? FAKE_GSI_KEEP : 1;
}

/* The end overtakes the confirmation: DISCONNECTED, and nothing when the confirmation comes. */
Test(cma_wire, a_dreq_before_the_rtu)
{
	struct event ev;

	network = keep_rtu;
	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(establish(p.c, p.active), 0);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, p.passive);
	cr_assert_eq(fake_gsi_release(false), 1);
	expect_none(p.s);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect(p.c, &ev, EV_DISCONNECTED);
}

/* ---------------------------------------------- waits for events due soon */

static int hold_requests(const uint8_t *mad)
{
	return mad[17] == DPA_CM_REQ ? FAKE_GSI_KEEP : 1;
}

static void *release_when_it_waits(void *arg)
{
	while (!fake_answers)
		sched_yield();
	fake_gsi_release(false);
	return arg;
}

/* Only the wait behind a request is told that an answer is about to come. */
Test(cma_wire, a_wait_behind_a_request, .timeout = 60)
{
	struct event ev;
	pthread_t t;

	clock_stop(); /* an answer is expected for a moment */
	network = hold_requests;
	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_expect_eq(fake_answers, 0);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	cr_assert_eq(pthread_create(&t, NULL, release_when_it_waits, NULL), 0);
	cr_assert_eq(try_event(p.s, &ev), 0);
	cr_assert_eq(ev.type, (uint32_t)EV_CONNECT_REQUEST);
	pthread_join(t, NULL);
	network = NULL;
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	cr_assert_eq(try_event(p.c, &ev), 0);
	cr_assert_eq(ev.type, (uint32_t)EV_CONNECT_RESPONSE);
	cr_assert_eq(establish(p.c, p.active), 0);
	cr_assert_eq(try_event(p.s, &ev), 0);
	cr_expect_eq(fake_answers, 1);
}

/* --------------------------------- a server that dies and has read nothing */

static int keep_requests(const uint8_t *mad)
{
	return mad[17] == DPA_CM_REQ || mad[17] == DPA_CM_SIDR_REQ ? 0 : 1;
}

/* Lose the first request of each kind. */
static void lose_requests(uint16_t ps, uint8_t type)
{
	network = keep_requests;
	pair_listen(&p, ps, type);
	p.active = pair_route(&p, ps, type, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	expect_none(p.s);
	network = NULL;
}

static void server_died(void)
{
	atomic_store(&fake_gsi.died, true);
	fake_gsi_wake();
}

/* The clock does not advance here: the retransmission would come seconds later. */
Test(cma_wire, a_request_is_sent_again_when_a_process_died)
{
	struct event ev;

	lose_requests(PS_TCP, QP_RC);
	server_died();
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(sent[DPA_CM_REQ], 2);
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	server_died();
	expect_none(p.s);
	cr_assert_eq(sent[DPA_CM_REQ], 2, "it has its answer");
}

Test(cma_wire, a_request_that_comes_back_is_not_held)
{
	struct event ev;

	lose_requests(PS_TCP, QP_RC);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	clock_advance(250);
	server_died();
	expect_of(p.c, &ev, EV_REJECTED, UID + 2, p.active);
	cr_assert_eq(ev.status, 8);
}

static void listen_again(void)
{
	p.listener = create(p.s, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, p.listener, "127.0.0.1", p.port), 0);
	cr_assert_eq(listen_id(p.s, p.listener, 0), 0);
}

/*
 * One copy of the request is held here, another process refuses the other one. The held one must
 * not reach a listener that appears then: its accept would be rejected (6).
 */
Test(cma_wire, a_request_that_was_refused_elsewhere_reaches_no_listener)
{
	struct dpa_mad rej = {.attr = DPA_CM_REJ};
	struct dpa_gsi_addr a = {.hop_limit = 64};
	uint8_t b[DPA_MAD_BYTES];
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	settle();
	rej.tid = last[DPA_CM_REQ].tid;
	rej.rej.remote_id = last[DPA_CM_REQ].req.local_id;
	rej.rej.reason = 8;
	memcpy(a.sgid, last[DPA_CM_REQ].req.primary_local_gid, 16);
	memcpy(a.dgid, last[DPA_CM_REQ].req.primary_remote_gid, 16);
	cr_assert(dpa_mad_encode(&rej, b));
	fake_gsi_inject(&a, b);
	expect_of(p.c, &ev, EV_REJECTED, UID + 2, p.active);
	cr_assert_eq(ev.status, 8);
	listen_again();
	expect_none(p.s);
}

/* The program gives up while its request is held. */
Test(cma_wire, a_request_of_a_destroyed_id_reaches_no_listener)
{
	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	settle();
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	listen_again();
	expect_none(p.s);
}

/* qperf's server: a process for each test, which ends while the next client's request is held. */
Test(cma_wire, another_death_does_not_end_the_wait_for_a_listener)
{
	struct event ev;

	lose_requests(PS_TCP, QP_RC);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	server_died();
	settle();
	cr_assert_eq(sent[DPA_CM_REJ], 0);
	listen_again();
	expect(p.s, &ev, EV_CONNECT_REQUEST);
}

Test(cma_wire, a_request_of_ud_that_comes_back)
{
	struct event ev;

	lose_requests(PS_UDP, QP_UD);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	clock_advance(250);
	server_died();
	expect_of(p.c, &ev, EV_UNREACHABLE, UID + 2, p.active);
	cr_assert_eq(ev.status, 1);
}

/* -------------------------------------------------------- a random network */

static unsigned int seed;

static int random_network(const uint8_t *mad)
{
	int r = rand_r(&seed) % 100;

	return r < 10 ? 0 : r < 20 ? 2 : r < 30 ? FAKE_GSI_KEEP : 1;
}

enum { CONNS = 60, SLOW = 20000 };

/* One connection: how often each side got each event. */
struct both {
	uint32_t active, passive;
	int requests, responses, established, ends[2];
};
static struct both conns[CONNS];

static void on_passive(const struct event *ev)
{
	if (ev->type == EV_CONNECT_REQUEST) {
		uint32_t n = get32(ev->raw, 20 + 8);
		const struct conn c = {.qpn = 0x20000 + n};

		cr_assert_lt(n, CONNS);
		cr_assert_eq(++conns[n].requests, 1, "the request of %u again", n);
		conns[n].passive = ev->id;
		cr_assert_eq(accept_id(p.s, ev->id, UID + 1000 + n, &c), 0);
		return;
	}
	struct both *b = &conns[ev->uid - UID - 1000];

	if (ev->type == EV_ESTABLISHED) {
		cr_assert_eq(++b->established, 1);
		cr_assert_eq(b->ends[0], 0, "ESTABLISHED behind the end");
	} else if (ev->type == EV_DISCONNECTED) {
		cr_assert_eq(++b->ends[0], 1);
		cr_assert_eq(disconnect(p.s, ev->id), 0);
	} else {
		cr_assert_eq(ev->type, EV_TIMEWAIT_EXIT, "event %u, status %d", ev->type,
			     ev->status);
	}
}

static void on_active(const struct event *ev)
{
	struct both *b = &conns[ev->uid - UID - 2000];

	if (ev->type == EV_CONNECT_RESPONSE) {
		cr_assert_eq(++b->responses, 1);
		cr_assert_eq(establish(p.c, ev->id), 0);
	} else if (ev->type == EV_DISCONNECTED) {
		cr_assert_eq(++b->ends[1], 1);
		cr_assert_eq(disconnect(p.c, ev->id), 0);
	} else {
		cr_assert_eq(ev->type, EV_TIMEWAIT_EXIT, "event %u, status %d", ev->type,
			     ev->status);
	}
}

/* Handle events until none is pending; then advance time by a second. */
static void go_on(void)
{
	struct event ev;

	for (settle(); has_event(p.s) || has_event(p.c); settle()) {
		while (has_event(p.s) && !try_event(p.s, &ev))
			on_passive(&ev);
		while (has_event(p.c) && !try_event(p.c, &ev))
			on_active(&ev);
	}
	if (!fake_gsi_release(rand_r(&seed) & 1))
		clock_advance(1000);
}

static bool all_have(bool ended)
{
	for (int i = 0; i < CONNS; i++)
		if (ended ? !conns[i].ends[0] || !conns[i].ends[1]
			  : !conns[i].established || !conns[i].responses)
			return false;
	return true;
}

/*
 * A tenth of the MADs is lost, duplicated, delayed: every connection is established and ends, once.
 */
Test(cma_wire, loss_duplication_reordering)
{
	int steps = 0;

	seed = test_seed();
	pair_listen(&p, PS_TCP, QP_RC);
	for (int i = 0; i < CONNS; i++)
		conns[i].active = pair_route(&p, PS_TCP, QP_RC, UID + 2000 + (uint64_t)i);
	network = random_network;
	for (uint32_t i = 0; i < CONNS; i++) {
		const struct conn c = {.qpn = 0x10000 + i, .data = &i, .len = 4};

		cr_assert_eq(connect_id(p.c, conns[i].active, &c), 0);
	}
	while (!all_have(false)) {
		cr_assert_lt(steps++, SLOW, "connections do not come about");
		go_on();
	}
	for (int i = 0; i < CONNS; i++) {
		if (i % 3 != 1)
			cr_assert_eq(disconnect(p.c, conns[i].active), 0);
		if (i % 3 != 2)
			cr_assert_eq(disconnect(p.s, conns[i].passive), 0);
	}
	while (!all_have(true)) {
		cr_assert_lt(steps++, SLOW, "connections do not end");
		go_on();
	}
	for (int i = 0; i < CONNS; i++) {
		cr_assert_eq(destroy(p.c, conns[i].active, NULL), 0);
		cr_assert_eq(destroy(p.s, conns[i].passive, NULL), 0);
	}
	while (fake_gsi.ids) {
		cr_assert_lt(steps++, SLOW, "%d ids do not end", (int)fake_gsi.ids);
		go_on();
	}
}

/* ------------------------------------------------------------ other hosts */

static const uint8_t us[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
static const uint8_t far[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 77};
enum { FAR_GUID = 0x1234 };

static struct dpa_gsi_addr from_far(void)
{
	struct dpa_gsi_addr a = {.hop_limit = 64};

	memcpy(a.sgid, us, 16);
	memcpy(a.dgid, far, 16);
	return a;
}

static void arrive(const struct dpa_mad *m)
{
	struct dpa_gsi_addr a = from_far();
	uint8_t b[DPA_MAD_BYTES];

	cr_assert(dpa_mad_encode(m, b));
	fake_gsi_inject(&a, b);
	settle();
}

static struct dpa_mad far_req(uint32_t local_id, uint32_t qpn)
{
	const struct dpa_cm_ip ip = {.ip_version = 4,
				     .sport = 4444,
				     .src = {[12] = 192, [14] = 2, [15] = 77},
				     .dst = {[12] = 127, [15] = 1}};
	struct dpa_mad m = {.attr = DPA_CM_REQ, .tid = 0x1000 + local_id};

	m.req.local_id = local_id;
	m.req.service_id = 0x01060000u + p.port;
	m.req.ca_guid = FAR_GUID;
	m.req.qpn = qpn;
	m.req.responder_resources = 2;
	m.req.initiator_depth = 3;
	m.req.remote_cm_timeout = 20;
	m.req.local_cm_timeout = 20;
	m.req.psn = 0xabc;
	m.req.pkey = 0xffff;
	m.req.path_mtu = 3;
	m.req.max_cm_retries = 15;
	m.req.primary_local_lid = m.req.primary_remote_lid = 0xffff;
	memcpy(m.req.primary_local_gid, far, 16);
	memcpy(m.req.primary_remote_gid, us, 16);
	m.req.primary_hop_limit = 64;
	m.req.primary_ack_timeout = 19;
	cr_assert(dpa_cm_ip_encode(&ip, m.req.data));
	return m;
}

Test(cma_wire, a_connection_from_another_host)
{
	struct dpa_mad m, rtu = {.attr = DPA_CM_RTU}, dreq = {.attr = DPA_CM_DREQ};
	uint8_t r[208], a[144];
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	m = far_req(0x77, 0x555);
	arrive(&m);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(get32(ev.raw, 20), 0x555);
	cr_assert_eq(ev.raw[20 + 266], 3);
	cr_assert_eq(ev.raw[20 + 267], 2);
	cr_assert_eq(query_route(p.s, ev.id, r), 0);
	cr_assert_arr_eq(r + 164 + 4, far + 12, 4, "the peer's address");
	cr_assert_eq(get16(r, 164 + 2), htons(4444));
	cr_assert_eq(qp_attr(p.s, ev.id, 2, a), 0);
	cr_assert_arr_eq(a + 40, far, 16);
	cr_assert_eq(get32(a, 12), 3, "the MTU of the request");
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = 0x666}), 0);
	m = last[DPA_CM_REP];
	cr_assert_eq(m.tid, 0x1077, "an answer repeats the transaction id");
	cr_assert_eq(m.rep.remote_id, 0x77);
	cr_assert_eq(m.rep.qpn, 0x666);
	rtu.rtu.local_id = 0x77;
	rtu.rtu.remote_id = m.rep.local_id;
	arrive(&rtu);
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, ev.id);
	dreq.tid = 0x9999;
	dreq.dreq.local_id = 0x77;
	dreq.dreq.remote_id = m.rep.local_id;
	dreq.dreq.remote_qpn = 0x667;
	arrive(&dreq);
	expect_none(p.s); /* for another QP: not ours */
	dreq.dreq.remote_qpn = 0x666;
	arrive(&dreq);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, ev.id);
	cr_assert_eq(disconnect(p.s, ev.id), 0);
	cr_assert_eq(last[DPA_CM_DREP].tid, 0x9999);
	cr_assert_eq(last[DPA_CM_DREP].drep.remote_id, 0x77);
}

Test(cma_wire, requests_that_are_refused)
{
	struct dpa_mad m;

	pair_listen(&p, PS_TCP, QP_RC);
	m = far_req(0x1, 0x555);
	m.req.primary_remote_gid[12] = 11;
	arrive(&m);
	cr_assert_eq(sent[DPA_CM_REJ], 1);
	cr_assert_eq(last[DPA_CM_REJ].rej.reason, 12, "no GID of ours");
	cr_assert_eq(last[DPA_CM_REJ].rej.remote_id, 0x1);
	cr_assert_eq(last[DPA_CM_REJ].rej.local_id, 0);
	cr_assert_eq(last[DPA_CM_REJ].rej.message, 0);
	m = far_req(0x2, 0x556);
	m.req.transport = 1;
	arrive(&m);
	cr_assert_eq(sent[DPA_CM_REJ], 2, "the listener is RC");
	m = far_req(0x3, 0x557);
	m.req.service_id++;
	arrive(&m);
	for (int i = 0; i < 5 && sent[DPA_CM_REJ] < 3; i++) /* it is checked again for 250 ms */
		clock_advance(1000);
	while (sent[DPA_CM_REJ] < 3)
		sched_yield();
	cr_assert_eq(last[DPA_CM_REJ].rej.reason, 8);
	expect_none(p.s);
	cr_assert_eq(fake_gsi.ids, 0);
}

/* A program connects again before its server listens again, and the server does not run for a while. */
Test(cma_wire, a_request_waits_for_the_next_listener)
{
	struct dpa_mad m, dreq = {.attr = DPA_CM_DREQ, .tid = 0x42};
	struct event ev;
	uint32_t id;

	pair_listen(&p, PS_TCP, QP_RC);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	m = far_req(0x77, 0x555);
	arrive(&m);
	clock_advance(100);
	arrive(&dreq); /* the thread checks the request between these two */
	arrive(&dreq);
	cr_assert_eq(sent[DPA_CM_REJ], 0);
	id = create(p.s, UID + 1, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, id, "127.0.0.1", p.port), 0);
	cr_assert_eq(listen_id(p.s, id, 0), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, UID + 1);
}

static void listen_for_one(struct pair *q)
{
	pair_listen(q, PS_TCP, QP_RC);
	cr_assert_eq(destroy(q->s, q->listener, NULL), 0);
	q->listener = create(q->s, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(q->s, q->listener, "127.0.0.1", q->port), 0);
	cr_assert_eq(listen_id(q->s, q->listener, 1), 0);
}

/*
 * Two listeners have no room for the second request to each. One takes its first request: then it
 * gets the second one, although the request of the other listener is before it and still waits.
 */
Test(cma_wire, a_full_listener_does_not_hold_up_another)
{
	struct pair q, *to[2] = {&p, &q};
	struct event ev;
	uint32_t id;

	listen_for_one(&p);
	listen_for_one(&q);
	clock_stop();
	for (int i = 0; i < 4; i++) {
		id = pair_route(to[i % 2], PS_TCP, QP_RC, UID + 10 + (uint64_t)i);
		cr_assert_eq(connect_id(to[i % 2]->c, id, &(struct conn){.qpn = new_qpn()}), 0);
		settle();
	}
	expect(q.s, &ev, EV_CONNECT_REQUEST);
	clock_advance(5);
	expect(q.s, &ev, EV_CONNECT_REQUEST);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	expect_none(p.s);
}

static void await_refusals(int n)
{
	while (sent[DPA_CM_REJ] < n)
		sched_yield();
}

/* The network made a copy, which is held longer than the request. Both are of one id. */
Test(cma_wire, a_copy_of_a_refused_request_is_refused)
{
	struct dpa_mad m;
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	m = far_req(0x77, 0x555);
	arrive(&m);
	clock_advance(100);
	arrive(&m);
	clock_advance(150);
	await_refusals(1);
	listen_again();
	expect_none(p.s);
	await_refusals(2);
	cr_assert_eq(last[DPA_CM_REJ].rej.reason, 8);
	cr_assert_eq(last[DPA_CM_REJ].rej.remote_id, 0x77);
	arrive(&m);
	await_refusals(3);
	expect_none(p.s);
	m = far_req(0x78, 0x556); /* another one is accepted */
	arrive(&m);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	m = far_req(0x77, 0x555); /* and the sender's retransmission, much later */
	clock_advance(6144);
	arrive(&m);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
}

/* Its sender has given up meanwhile: REJ "timeout" with the GUID of its CA. */
Test(cma_wire, a_request_that_is_withdrawn_reaches_no_listener)
{
	struct dpa_mad m, rej = {.attr = DPA_CM_REJ, .tid = 0x1077};

	pair_listen(&p, PS_TCP, QP_RC);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	m = far_req(0x77, 0x555);
	arrive(&m);
	rej.rej.local_id = 0x77;
	rej.rej.reason = 4;
	rej.rej.info_length = 8;
	rej.rej.info[6] = FAR_GUID >> 8;
	rej.rej.info[7] = FAR_GUID & 0xff;
	arrive(&rej);
	listen_again();
	expect_none(p.s);
	cr_assert_eq(sent[DPA_CM_REJ], 0);
}

/*
 * A listener of AF_IB takes a request without the IP CM header: all 92 bytes are data of the
 * program, and the addresses are the GIDs of the request.
 */
Test(cma_wire, a_request_without_addresses)
{
	uint8_t a[48] = {0}, r[208];
	struct dpa_mad m;
	struct event ev;
	uint32_t id;

	pair_listen(&p, PS_TCP, QP_RC);
	m = far_req(0x77, 0x555);
	for (int i = 0; i < 92; i++)
		m.req.data[i] = (uint8_t)(200 - i);
	arrive(&m); /* the listener is bound to an address: not for it */
	expect_none(p.s);
	id = create(p.s, UID + 1, PS_IB, QP_RC);
	put16(a, 0, AF_IB);
	put64(a, 24, __builtin_bswap64(0x013f0000));
	put64(a, 32, __builtin_bswap64(0xffffffffffff0000));
	cr_assert_eq(bind_raw(p.s, id, a, 48), 0);
	cr_assert_eq(listen_id(p.s, id, 0), 0);
	uint8_t q[280];

	cr_assert_eq(query(p.s, id, 0, q, 280), 0);
	m.req.local_id = 0x78;
	m.req.service_id = __builtin_bswap64(get64(q, 16 + 24));
	cr_assert_eq(m.req.service_id >> 16, 0x13f);
	arrive(&m);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, UID + 1);
	cr_assert_eq(ev.raw[20 + 264], 92);
	cr_assert_arr_eq(ev.raw + 28, m.req.data, 92);
	cr_assert_eq(query_route(p.s, ev.id, r), 0);
	cr_assert_arr_eq(r + 24, us, 16, "its own GID");
	cr_assert_arr_eq(r + 8, far, 16, "the peer's");
}

/* Its QP is connected here already: the old connection is stale, the new one is refused (10). */
Test(cma_wire, a_stale_connection)
{
	struct dpa_mad m, rtu = {.attr = DPA_CM_RTU}, drep = {.attr = DPA_CM_DREP};
	struct event ev;
	uint32_t id;

	pair_listen(&p, PS_TCP, QP_RC);
	m = far_req(0x77, 0x555);
	arrive(&m);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	id = ev.id;
	cr_assert_eq(accept_id(p.s, id, UID + 1, &(struct conn){.qpn = 0x666}), 0);
	rtu.rtu.local_id = 0x77;
	rtu.rtu.remote_id = last[DPA_CM_REP].rep.local_id;
	arrive(&rtu);
	expect(p.s, &ev, EV_ESTABLISHED);
	m = far_req(0x78, 0x555);
	arrive(&m);
	cr_assert_eq(last[DPA_CM_REJ].rej.reason, 10);
	cr_assert_eq(last[DPA_CM_REJ].rej.remote_id, 0x78);
	cr_assert_eq(sent[DPA_CM_DREQ], 1, "the old one is ended");
	drep.drep.local_id = 0x77;
	drep.drep.remote_id = last[DPA_CM_REP].rep.local_id;
	arrive(&drep);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, id);
	/* then it may connect */
	arrive(&m);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
}

Test(cma_wire, a_dreq_for_nobody_is_answered)
{
	struct dpa_mad dreq = {.attr = DPA_CM_DREQ, .tid = 0x42};

	pair_listen(&p, PS_TCP, QP_RC);
	dreq.dreq.local_id = 0x77;
	dreq.dreq.remote_id = 0x12345;
	arrive(&dreq);
	cr_assert_eq(sent[DPA_CM_DREP], 1);
	cr_assert_eq(last[DPA_CM_DREP].tid, 0x42);
	cr_assert_eq(last[DPA_CM_DREP].drep.remote_id, 0x77);
}

/* --------------------------------------------- ids of processes that died */

Test(cma_wire, the_peer_of_a_dead_process_is_disconnected)
{
	struct dpa_mad drep = {.attr = DPA_CM_DREP};
	struct dpa_gsi_id past = {.local_id = 0x5000,
				  .remote_id = 0x77,
				  .remote_guid = FAR_GUID,
				  .remote_qpn = 0x555,
				  .tell_peer = 1,
				  .state = 9, /* ESTABLISHED */
				  .addr = from_far()};

	pair_listen(&p, PS_TCP, QP_RC);
	fake_gsi_leave(&past);
	settle();
	while (!sent[DPA_CM_DREQ])
		sched_yield();
	cr_assert_eq(last[DPA_CM_DREQ].dreq.local_id, 0x5000);
	cr_assert_eq(last[DPA_CM_DREQ].dreq.remote_id, 0x77);
	cr_assert_eq(last[DPA_CM_DREQ].dreq.remote_qpn, 0x555);
	cr_assert_eq(fake_gsi.ids, 1);
	drep.drep.local_id = 0x77;
	drep.drep.remote_id = 0x5000;
	arrive(&drep);
	clock_advance(200000); /* TIMEWAIT is over, with any duration */
	while (fake_gsi.ids)
		sched_yield();
	expect_none(p.s);
}

/* --------------------------------------------------------------- garbage */

/* Bytes that look like MADs of the CM, to existing ids, and random data. */
Test(cma_wire, random_mads)
{
	struct dpa_gsi_addr a = from_far();
	struct event ev;

	seed = test_seed();
	pair_connect(&p);
	cr_assert_eq(fcntl(p.s, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(fcntl(p.c, F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 30000; i++) {
		uint8_t b[DPA_MAD_BYTES];

		for (int k = 0; k < DPA_MAD_BYTES; k++)
			b[k] = (uint8_t)rand_r(&seed);
		if (i % 4) {
			static const uint8_t head[4] = {1, 7, 2, 3};

			memcpy(b, head, 4);
			b[16] = 0;
			b[17] = (uint8_t)(0x10 + rand_r(&seed) % 9);
			for (int k = 24; k < 32; k++) /* small ids */
				b[k] = k % 4 == 3 ? (uint8_t)(rand_r(&seed) % 6) : 0;
		}
		fake_gsi_inject(&a, b);
		if (i % 64 == 0) {
			settle();
			while (!try_event(p.s, &ev) || !try_event(p.c, &ev))
				;
			clock_advance((uint64_t)(rand_r(&seed) % 3) * 1000);
		}
	}
	settle();
	pair_close(&p);
	/* and it still works */
	pair_connect(&p);
}
