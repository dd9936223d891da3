/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The record of a communication id, which another process reads after this one was killed: at the
 * moment that a MAD is sent it must say that the peer is to be notified.
 */
#include <dpa_hw.h>
#include <stdatomic.h>
#include "util.h"

static struct pair p;
static atomic_int looked[32]; /* MADs of each attribute, whose record was looked at */

/* The record of the side that sends m. False: it has none yet, as before the answer to a REQ. */
static bool record_of_sender(const struct dpa_mad *m, struct dpa_gsi_id *id)
{
	switch (m->attr) {
	case DPA_CM_REJ:
		return fake_gsi_record(m->rej.remote_id, id);
	case DPA_CM_REP:
		return fake_gsi_record(m->rep.remote_id, id);
	case DPA_CM_SIDR_REP:
		return fake_gsi_record(m->sidr_rep.request_id, id);
	default:
		return false;
	}
}

static int look(const uint8_t *mad)
{
	struct dpa_gsi_id id;
	struct dpa_mad m;

	cr_assert_eq(dpa_mad_decode(mad, DPA_MAD_BYTES, &m), DPA_MAD_OK);
	if (record_of_sender(&m, &id)) {
		looked[m.attr & 31]++;
		cr_expect(id.tell_peer, "attribute %#x leaves state %u", m.attr, id.state);
	}
	return 1;
}

static void setup(void)
{
	fake_gsi.copies = look;
}

TestSuite(cma_record, .init = setup);

Test(cma_record, a_rejection_of_the_passive_side)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(reject(p.s, p.passive, NULL, 0, 0), 0);
	expect(p.c, &ev, EV_REJECTED);
	cr_assert_eq(looked[DPA_CM_REJ & 31], 1);
}

Test(cma_record, a_request_that_is_destroyed)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
	expect(p.c, &ev, EV_REJECTED);
	cr_assert_eq(looked[DPA_CM_REJ & 31], 1);
}

Test(cma_record, a_rejection_of_the_active_side)
{
	struct event ev;

	pair_request(&p);
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = new_qpn()}), 0);
	cr_assert_eq(looked[DPA_CM_REP & 31], 1);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	cr_assert_eq(reject(p.c, p.active, NULL, 0, 0), 0);
	expect(p.s, &ev, EV_REJECTED);
	cr_assert_eq(looked[DPA_CM_REJ & 31], 1);
}

static void request_ud(void)
{
	struct event ev;

	pair_listen(&p, PS_UDP, QP_UD);
	p.active = pair_route(&p, PS_UDP, QP_UD, UID + 2);
	cr_assert_eq(connect_id(p.c, p.active, &(struct conn){.qpn = 1}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	p.passive = ev.id;
}

Test(cma_record, an_answer_of_ud)
{
	struct event ev;

	request_ud();
	cr_assert_eq(accept_id(p.s, p.passive, UID + 1, &(struct conn){.qpn = 5}), 0);
	expect(p.c, &ev, EV_ESTABLISHED);
	cr_assert_eq(looked[DPA_CM_SIDR_REP & 31], 1);
}

Test(cma_record, a_rejection_of_ud)
{
	struct event ev;

	request_ud();
	cr_assert_eq(destroy(p.s, p.passive, NULL), 0);
	expect(p.c, &ev, EV_UNREACHABLE);
	cr_assert_eq(looked[DPA_CM_SIDR_REP & 31], 1);
}
