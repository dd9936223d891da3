/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_reach.c - a host on which no process has port 4791 any more, by a clock of the test.
 * 127.0.0.9 is that host; it accepts MADs and answers none.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <dpa_hw.h>
#include "clock.h"
#include "util.h"

#define FAR   "127.0.0.9"
#define FAR_N 9
#define PORT  7174

static int ch;
static struct dpa_mad last[32]; /* last MAD sent, by attribute */
static atomic_int sent[32];

static int copies(const uint8_t *mad)
{
	struct dpa_mad m;

	cr_assert_eq(dpa_mad_decode(mad, DPA_MAD_BYTES, &m), DPA_MAD_OK);
	last[m.attr & 31] = m;
	sent[m.attr & 31]++;
	return 1;
}

static void setup(void)
{
	fake_gsi.copies = copies;
	fake_gsi.far = FAR_N;
	ch = channel_open(O_CLOEXEC);
}

TestSuite(cma_reach, .init = setup);

/* An id that sent its REQ, or SIDR_REQ, to the other host. */
static uint32_t calling(uint16_t ps, uint8_t type)
{
	const struct conn c = {.qpn = new_qpn(), .responder = 1, .depth = 1};
	uint32_t id = create(ch, UID, ps, type);
	struct event ev;

	cr_assert_eq(resolve(ch, id, "127.0.0.1", FAR, PORT), 0);
	expect(ch, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(route(ch, id), 0);
	expect(ch, &ev, EV_ROUTE_RESOLVED);
	cr_assert_eq(connect_id(ch, id, &c), 0);
	return id;
}

static uint8_t answers = FAR_N; /* 127.0.0.answers */
static uint32_t answers_id = 77;

/* Send a message of the other host. */
static void answer(uint16_t attr, const struct dpa_mad *of)
{
	struct dpa_gsi_addr from = {.sgid = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1},
				    .dgid = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = answers}};
	struct dpa_mad m = {.attr = attr, .tid = of->tid};
	uint8_t bytes[DPA_MAD_BYTES];

	m.rep.local_id = answers_id; /* at the same offset in all */
	m.rep.remote_id = of->req.local_id;
	if (attr == DPA_CM_REP) {
		m.rep.qpn = 5;
		m.rep.ca_guid = 0x1234;
	}
	cr_assert(dpa_mad_encode(&m, bytes));
	fake_gsi_inject(&from, bytes);
}

static uint32_t connected(void)
{
	uint32_t id = calling(PS_TCP, QP_RC);
	struct event ev;

	answer(DPA_CM_REP, &last[DPA_CM_REQ & 31]);
	expect(ch, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(establish(ch, id), 0);
	return id;
}

/*
 * Wait until the engine has done a round: it handles an invalid MAD, under the lock that settle()
 * takes, too.
 */
static void one_round(void)
{
	static const struct dpa_gsi_addr from;
	static const uint8_t nothing[DPA_MAD_BYTES];

	fake_gsi_inject(&from, nothing);
	settle();
}

/*
 * Advance second by second: each packet has the time for its answer. False: no event within s
 * seconds.
 */
static bool event_within(int s)
{
	for (int i = 0; i < s && !has_event(ch); i++) {
		clock_advance(1000);
		one_round();
	}
	return has_event(ch);
}

Test(cma_reach, a_request_ends_soon)
{
	struct event ev;
	uint32_t id;

	fake_gsi.refuses = true;
	id = calling(PS_TCP, QP_RC);
	cr_assert_not(event_within(3), "the port may just be taken over");
	cr_assert(event_within(5));
	expect_of(ch, &ev, EV_UNREACHABLE, UID, id);
	cr_assert_eq(ev.status, -ETIMEDOUT);
	cr_assert_eq(fake_gsi.notes, 1);
	cr_expect_eq(fake_gsi.noted.why, DPA_GSI_NO_PORT);
	cr_expect_eq(fake_gsi.noted.service_id, (uint64_t)PS_TCP << 16 | PORT);
	cr_expect_eq(fake_gsi.noted.peer[15], FAR_N);
	cr_assert_eq(destroy(ch, id, NULL), 0);
	settle();
	cr_assert_eq(fake_gsi.ids, 0);
}

Test(cma_reach, a_request_of_ud_ends_soon)
{
	struct event ev;
	uint32_t id;

	fake_gsi.refuses = true;
	id = calling(PS_UDP, QP_UD);
	cr_assert(event_within(8));
	expect_of(ch, &ev, EV_UNREACHABLE, UID, id);
	cr_assert_eq(ev.status, -ETIMEDOUT);
}

Test(cma_reach, a_connection_ends)
{
	struct event ev;
	uint32_t id = connected();

	cr_assert_not(event_within(30));
	fake_gsi.refuses = true;
	cr_assert(event_within(10));
	expect_of(ch, &ev, EV_DISCONNECTED, UID, id);
	cr_assert_eq(ev.status, -ETIMEDOUT);
	cr_assert_eq(sent[DPA_CM_DREQ & 31], 1, "if it is there all the same it is told");
	cr_assert_eq(disconnect(ch, id), 0);
	cr_assert_eq(sent[DPA_CM_DREQ & 31], 1);
	cr_assert_eq(destroy(ch, id, NULL), 0);
	event_within(5);
	cr_assert_eq(fake_gsi.ids, 0);
}

/* A disconnect to a host that is gone; no call waits for its answer. */
Test(cma_reach, a_disconnect_ends)
{
	struct event ev;
	uint32_t id = connected();

	fake_gsi.refuses = true;
	cr_assert_eq(disconnect(ch, id), 0);
	cr_assert(event_within(10));
	expect_of(ch, &ev, EV_DISCONNECTED, UID, id);
}

Test(cma_reach, what_nobody_owns_ends)
{
	uint32_t id = connected();

	fake_gsi.refuses = true;
	cr_assert_eq(destroy(ch, id, NULL), 0);
	cr_assert_eq(fake_gsi.ids, 1);
	event_within(12);
	settle();
	cr_assert_eq(fake_gsi.ids, 0, "the DREQ goes on for 98 s else");
}

/* The board that has the port ends, another one takes it over. */
Test(cma_reach, a_port_that_is_taken_over)
{
	(void)connected();
	for (int i = 0; i < 5; i++) {
		fake_gsi.refuses = true;
		cr_assert_not(event_within(3));
		fake_gsi.refuses = false;
		cr_assert_not(event_within(5));
	}
}

/* A sender that has not seen the packet may send such messages. */
Test(cma_reach, a_forged_refusal)
{
	(void)connected();
	fake_gsi.refuses = fake_gsi.forged = true;
	cr_assert_not(event_within(60));
	cr_assert_gt(fake_gsi.probes, 15);
}

/* A MAD from there shows that a process exists there. */
Test(cma_reach, a_host_that_speaks)
{
	(void)connected();
	fake_gsi.refuses = true;
	for (int i = 0; i < 6; i++) {
		cr_assert_not(event_within(3));
		answer(DPA_CM_REP, &last[DPA_CM_REQ & 31]); /* again: gets the RTU again */
		settle();
	}
	cr_assert(event_within(8));
}

/* Nothing is sent if no id waits. */
Test(cma_reach, a_host_that_nobody_waits_for)
{
	struct event ev;
	uint32_t id = connected();
	int before;

	cr_assert_eq(disconnect(ch, id), 0);
	answer(DPA_CM_DREP, &last[DPA_CM_REQ & 31]);
	expect(ch, &ev, EV_DISCONNECTED);
	settle();
	before = fake_gsi.probes;
	expect(ch, &ev, EV_TIMEWAIT_EXIT);
	event_within(20);
	cr_assert_eq(fake_gsi.probes, before);
}

/* ------------------------------------------ another adapter instance of this host */

static int swallow(const uint8_t *mad)
{
	return copies(mad) * 0;
}

Test(cma_reach, an_adapter_instance_that_is_gone)
{
	const struct conn c = {.qpn = new_qpn(), .responder = 1, .depth = 1};
	uint32_t id = create(ch, UID, PS_TCP, QP_RC);
	struct event ev;

	fake_gsi.copies = swallow;
	cr_assert_eq(resolve(ch, id, NULL, "127.0.0.1", PORT), 0);
	expect(ch, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(route(ch, id), 0);
	expect(ch, &ev, EV_ROUTE_RESOLVED);
	cr_assert_eq(connect_id(ch, id, &c), 0);
	answers = 1;
	answers_id = 7u << 24 | 77; /* of the instance with number 7 */
	answer(DPA_CM_REP, &last[DPA_CM_REQ & 31]);
	expect(ch, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(establish(ch, id), 0);
	cr_assert_not(event_within(10));
	fake_gsi.board_gone = true;
	cr_assert_not(event_within(3), "another process may take the number over");
	cr_assert(event_within(6));
	expect_of(ch, &ev, EV_DISCONNECTED, UID, id);
}

/* ------------------------------------------------ a next hop without a known link address */

/* RESOLVE_ADDR of that host. */
static uint32_t asking(void)
{
	uint32_t id = create(ch, UID, PS_TCP, QP_RC);

	cr_assert_eq(resolve(ch, id, "127.0.0.1", FAR, PORT), 0);
	return id;
}

Test(cma_reach, a_neighbour_that_answers)
{
	struct event ev;
	uint32_t id;

	fake_gsi.silent = true;
	id = asking();
	expect_none(ch);
	cr_expect_eq(fake_gsi.probes, 1);
	cr_expect_eq(resolve(ch, id, "127.0.0.1", FAR, PORT), EINVAL, "it is under way");
	cr_expect_eq(route(ch, id), EINVAL);
	fake_gsi.silent = false;
	expect_of(ch, &ev, EV_ADDR_RESOLVED, UID, id);
	cr_expect_eq(ev.status, 0);
	cr_assert_eq(route(ch, id), 0);
	expect_of(ch, &ev, EV_ROUTE_RESOLVED, UID, id);
}

/* resolve() waits two seconds for it. */
Test(cma_reach, a_neighbour_that_does_not_answer)
{
	struct event ev;
	uint32_t id;

	fake_gsi.silent = true;
	id = asking();
	clock_advance(1900);
	one_round();
	expect_none(ch);
	clock_advance(200);
	one_round();
	expect_of(ch, &ev, EV_ADDR_ERROR, UID, id);
	cr_expect_eq(ev.status, -ETIMEDOUT);
	cr_expect_geq(fake_gsi.probes, 2, "the kernel is made to look again");
	/* again: as often as the program requests it */
	fake_gsi.silent = false;
	cr_assert_eq(resolve(ch, id, "127.0.0.1", FAR, PORT), 0);
	expect_of(ch, &ev, EV_ADDR_RESOLVED, UID, id);
}

Test(cma_reach, an_id_that_is_destroyed_meanwhile)
{
	uint32_t id;

	fake_gsi.silent = true;
	id = asking();
	cr_assert_eq(destroy(ch, id, NULL), 0);
	id = asking();
	channel_close(ch);
	fake_gsi.silent = false;
	ch = channel_open(O_CLOEXEC);
	clock_advance(3000);
	one_round();
	expect_none(ch);
}
