/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_times.c - retransmissions, their end, and TIMEWAIT, by a clock of the test (whole seconds).
 */
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <dpa_hw.h>
#include "clock.h"
#include "util.h"

enum { REQ = 0x10, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP };

static struct pair p;
static atomic_int sent[32]; /* by attribute */
static atomic_uint lost;    /* attributes that do not arrive: bits */

static int copies(const uint8_t *mad)
{
	unsigned int attr = mad[17];

	sent[attr & 31]++;
	return atomic_load(&lost) & 1u << (attr & 31) ? 0 : 1;
}

static void lose(unsigned int attr)
{
	atomic_store(&lost, attr ? 1u << (attr & 31) : 0);
}

static void setup(void)
{
	fake_gsi.copies = copies;
}

TestSuite(cma_times, .init = setup);

static void wait_sent(unsigned int attr, int n)
{
	while (atomic_load(&sent[attr & 31]) < n)
		sched_yield();
	settle();
	cr_assert_eq(atomic_load(&sent[attr & 31]), n);
}

/* Wait until the engine has checked its timers since the clock advanced. */
static void pass(uint64_t s)
{
	clock_advance(s * 1000);
}

Test(cma_times, a_request_is_repeated_16_times)
{
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	lose(REQ);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	wait_sent(REQ, 1);
	for (int i = 2; i <= 16; i++) {
		pass(5); /* 6,144 ms: not yet */
		cr_assert_not(has_event(p.c));
		pass(2);
		wait_sent(REQ, i);
	}
	pass(7);
	expect_of(p.c, &ev, EV_UNREACHABLE, UID + 2, p.active);
	cr_assert_eq(ev.status, -ETIMEDOUT);
	cr_expect_eq(fake_gsi.noted.why, DPA_GSI_NO_ANSWER);
	cr_assert_eq(atomic_load(&sent[REQ]), 16);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	settle();
	cr_assert_eq(fake_gsi.ids, 0);
}

Test(cma_times, a_lost_request_is_repeated)
{
	struct event ev;

	pair_listen(&p, PS_TCP, QP_RC);
	p.active = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	lose(REQ);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = new_qpn()}), 0);
	settle();
	lose(0);
	pass(7);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	expect_none(p.s);
}

/* The program has not answered: the CM requests time (MRA), and the peer waits. */
Test(cma_times, a_program_that_takes_its_time)
{
	struct event ev;

	pair_request(&p);
	pass(7);
	wait_sent(REQ, 2);
	while (!atomic_load(&sent[MRA & 31]))
		sched_yield();
	settle();
	pass(60); /* the MRA requests 65 s */
	settle();
	cr_assert_eq(atomic_load(&sent[REQ]), 2);
	expect_none(p.s);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
}

Test(cma_times, a_lost_reply_is_repeated)
{
	struct event ev;

	pair_request(&p);
	lose(REP);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	wait_sent(REP, 1);
	lose(0);
	pass(5);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	expect_none(p.c);
}

/* The DREQ behind it must not come first: the peer would have no event ESTABLISHED. */
Test(cma_times, a_confirmation_without_room_is_sent_when_there_is_some)
{
	struct event ev;

	clock_stop(); /* what waits for 2 s is lost */
	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	fake_gsi.full = true;
	cr_assert_eq(establish(p.c, p.active), 0);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect_none(p.s);
	fake_gsi.full = false;
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, p.passive);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, p.passive);
	cr_assert_eq(atomic_load(&sent[RTU]), 1);
	cr_assert_eq(atomic_load(&sent[DREQ]), 1);
}

/* Another user's process takes nothing. Its connection waits, others do not. */
Test(cma_times, an_instance_without_room_delays_no_other)
{
	struct pair other;
	struct event ev;

	clock_stop(); /* what waits for 2 s is lost */
	fake_gsi.instance = 7;
	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	fake_gsi.full_instance = 7;
	cr_assert_eq(establish(p.c, p.active), 0);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	fake_gsi.instance = 9;
	pair_connect(&other);
	expect_none(p.s);
	fake_gsi.full_instance = 0;
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, p.passive);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, p.passive);
}

/*
 * Another user asks for any number of answers and takes none. So many wait, and no more; the rest is
 * lost.
 */
Test(cma_times, answers_that_wait_for_an_instance_are_limited)
{
	const struct dpa_gsi_addr from = {.sgid = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1},
					  .dgid = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	struct dpa_mad m = {.attr = DPA_CM_DREQ};
	uint8_t bytes[DPA_MAD_BYTES];

	clock_stop();
	pair_connect(&p);
	fake_gsi.full_instance = 7;
	for (uint32_t i = 0; i < 5000; i++) {
		m.dreq.local_id = 7u << 24 | i;
		m.dreq.remote_id = 1u << 20 | i; /* of no connection */
		cr_assert(dpa_mad_encode(&m, bytes));
		fake_gsi_inject(&from, bytes);
	}
	settle();
	cr_assert_eq(atomic_load(&sent[DREP]), 0);
	fake_gsi.full_instance = 0;
	while (atomic_load(&sent[DREP]) < 4096)
		sched_yield();
	settle();
	cr_assert_eq(atomic_load(&sent[DREP]), 4096);
}

/* It would be sent behind a repetition of itself. */
Test(cma_times, a_confirmation_that_waits_too_long_is_lost)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	fake_gsi.full = true;
	cr_assert_eq(establish(p.c, p.active), 0);
	pass(3);
	fake_gsi.full = false;
	expect_none(p.s);
	cr_assert_eq(atomic_load(&sent[RTU]), 0);
	pass(5); /* the reply again, and with it the confirmation */
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, p.passive);
}

Test(cma_times, a_lost_confirmation_is_sent_again)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	lose(RTU);
	cr_assert_eq(establish(p.c, p.active), 0);
	settle();
	lose(0);
	expect_none(p.s);
	pass(5); /* the reply again, and with it the confirmation */
	expect_of(p.s, &ev, EV_ESTABLISHED, UID + 1, p.passive);
	expect_none(p.c);
}

Test(cma_times, a_reply_without_an_answer)
{
	struct event ev;

	pair_request(&p);
	lose(REP);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	for (int i = 1; i <= 16; i++) {
		wait_sent(REP, i);
		/* the request is repeated meanwhile, too, and not taken for a new one */
		pass(5);
	}
	expect_of(p.s, &ev, EV_UNREACHABLE, UID + 1, p.passive);
	cr_assert_eq(ev.status, -ETIMEDOUT);
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
}

Test(cma_times, a_disconnect_without_an_answer)
{
	struct event ev;

	pair_connect(&p);
	lose(DREQ);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	for (int i = 1; i <= 16; i++) {
		wait_sent(DREQ, i);
		pass(7);
	}
	expect_of(p.c, &ev, EV_DISCONNECTED, UID + 2, p.active);
	cr_assert_eq(ev.status, -ETIMEDOUT);
	pass(3);
	expect_of(p.c, &ev, EV_TIMEWAIT_EXIT, UID + 2, p.active);
	cr_assert_eq(ev.status, 0);
	expect_none(p.c);
}

/* After DISCONNECTED, on both sides, once, if the id still exists. */
Test(cma_times, timewait_exit)
{
	struct event ev;

	pair_connect(&p);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect(p.s, &ev, EV_DISCONNECTED);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect(p.c, &ev, EV_DISCONNECTED);
	expect_none(p.s);
	pass(3);
	expect_of(p.c, &ev, EV_TIMEWAIT_EXIT, UID + 2, p.active);
	expect_of(p.s, &ev, EV_TIMEWAIT_EXIT, UID + 1, p.passive);
	pass(3);
	expect_none(p.c);
	expect_none(p.s);
	uint32_t reported;

	cr_assert_eq(destroy(p.c, p.active, &reported), 0);
	cr_assert_eq(reported, 5);
	cr_assert_eq(destroy(p.s, p.passive, &reported), 0);
	cr_assert_eq(reported, 3);
	settle();
	cr_assert_eq(fake_gsi.ids, 0, "both have ended");
}

/* cmtime: the id is destroyed in TIMEWAIT. */
Test(cma_times, destroyed_in_timewait)
{
	struct event ev;

	pair_connect(&p);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect(p.s, &ev, EV_DISCONNECTED);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect(p.c, &ev, EV_DISCONNECTED);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
	pass(3);
	while (fake_gsi.ids)
		sched_yield();
	expect_none(p.c);
	expect_none(p.s);
}

/* Linux: TIMEWAIT_EXIT only for an id that got DISCONNECTED. */
Test(cma_times, no_timewait_exit_after_a_rejection)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(reject(p.c, p.active, NULL, 0, 0), 0);
	expect(p.s, &ev, EV_REJECTED);
	pass(10);
	settle();
	expect_none(p.c);
	expect_none(p.s);
}

Test(cma_times, sidr_is_repeated_and_given_up)
{
	struct event ev;

	pair_listen(&p, PS_UDP, QP_UD);
	p.active = pair_route(&p, PS_UDP, QP_UD, UID + 2);
	lose(SIDR_REQ);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1}), 0);
	for (int i = 1; i <= 16; i++) {
		wait_sent(SIDR_REQ, i);
		pass(5);
	}
	expect(p.c, &ev, EV_UNREACHABLE);
	cr_assert_eq(ev.status, -ETIMEDOUT);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	cr_assert_eq(fake_gsi.ids, 0);
}

/* The answer was lost: the request comes again, as a new one. */
Test(cma_times, a_lost_sidr_answer)
{
	struct event ev;

	pair_listen(&p, PS_UDP, QP_UD);
	p.active = pair_route(&p, PS_UDP, QP_UD, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	lose(SIDR_REP);
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = 5}), 0);
	settle();
	lose(0);
	pass(5);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(accept_id(p.s, ev.id, UID + 3, &(struct conn){.qpn = 5}), 0);
	expect(p.c, &ev, EV_ESTABLISHED);
	expect_none(p.c);
}

/* A request that the backlog has dropped is accepted when it comes again. */
Test(cma_times, beyond_the_backlog)
{
	struct event ev;
	uint32_t id[2];

	pair_listen(&p, PS_TCP, QP_RC);
	cr_assert_eq(destroy(p.s, p.listener, NULL), 0);
	p.listener = create(p.s, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(p.s, p.listener, "127.0.0.1", p.port), 0);
	cr_assert_eq(listen_id(p.s, p.listener, 1), 0);
	for (int i = 0; i < 2; i++) {
		id[i] = pair_route(&p, PS_TCP, QP_RC, UID + 10 + (uint64_t)i);
		cr_assert_eq(connect_id(p.c, id[i], &(struct conn){.qpn = new_qpn()}), 0);
		settle();
	}
	pass(1); /* it waits for 250 ms */
	while (!fake_gsi.notes)
		settle();
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect_of(p.c, &ev, EV_CONNECT_RESPONSE, UID + 10, id[0]);
	expect_none(p.s);
	pass(7);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect_of(p.c, &ev, EV_CONNECT_RESPONSE, UID + 11, id[1]);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Connected; the passive side's QP has completions that its program has not polled. */
static void connect_unread(void)
{
	pair_connect(&p);
	atomic_store(&fake_gsi.unread, new_qpn() - 2); /* ACCEPT had the one before CONNECT */
}

/* DISCONNECTED comes after earlier completions. */
Test(cma_times, a_dreq_waits_for_completions)
{
	struct event ev;
	uint64_t begin;
	bool none;

	connect_unread();
	begin = now_ms();
	cr_assert_eq(disconnect(p.c, p.active), 0);
	wait_sent(DREQ, 1);
	none = !has_event(p.s);
	cr_expect(none || now_ms() - begin >= 50);
	cr_expect(atomic_load(&sent[DREP]) == 0 || now_ms() - begin >= 50);
	atomic_store(&fake_gsi.unread, 0);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, p.passive);
	expect_of(p.c, &ev, EV_DISCONNECTED, UID + 2, p.active);
	cr_assert_eq(ev.status, 0);
}

Test(cma_times, a_dreq_waits_no_longer_than_that)
{
	struct event ev;

	connect_unread();
	cr_assert_eq(disconnect(p.c, p.active), 0);
	wait_sent(DREQ, 1);
	pass(1);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, p.passive);
	expect_of(p.c, &ev, EV_DISCONNECTED, UID + 2, p.active);
}

/* The program ends the connection itself meanwhile: each side gets its event, and no other. */
Test(cma_times, a_dreq_that_waits_crosses_another)
{
	struct event ev;

	connect_unread();
	cr_assert_eq(disconnect(p.c, p.active), 0);
	wait_sent(DREQ, 1);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, p.passive);
	expect_of(p.c, &ev, EV_DISCONNECTED, UID + 2, p.active);
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
	pass(1);
	expect_none(p.s);
	cr_assert_eq(destroy(p.c, p.active, NULL), 0);
	settle();
	cr_assert_eq(fake_gsi.services, 1);
}
