/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_overtaken.c - packets of UC that other processes forwarded, after later ones that arrived
 * directly: the bug was that message 0 completed after message 184.
 */
#include <criterion/criterion.h>
#include "door.h"

static bool arrives(struct door *d, uint32_t psn, bool passed_on)
{
	uint64_t before = errors(d);
	struct dpa_cqe e;
	bool came;

	d->k.psn = psn & DPA_PSN_MASK;
	d->f.passed_on = passed_on;
	knock(d, 0);
	came = th_poll(&d->th->b.rcq, &e);
	cr_expect_eq(errors(d), before + !came, "%06x: lost and not counted, or the reverse", psn);
	return came;
}

Test(udp_overtaken, what_was_passed_on_never_comes_behind_later_messages)
{
	struct door *d = door_of(DPA_QP_UC);

	for (uint64_t i = 3; i < 10; i++)
		cr_assert(th_recv(&d->th->b, i, (uint32_t)i * 4096, 4096));
	cr_expect(arrives(d, PSN0, true), "in its turn");
	cr_expect(arrives(d, PSN0 + 185, false), "straight");
	cr_expect_not(arrives(d, PSN0 + 1, true), "overtaken");
	cr_expect_not(arrives(d, PSN0 + 184, true), "overtaken");
	cr_expect_not(arrives(d, PSN0 + 185, true), "the last one again");
	cr_expect(arrives(d, PSN0 + 186, true), "the next one");
	cr_expect(arrives(d, PSN0 + 300, true), "one behind a gap");
	cr_expect(arrives(d, PSN0 + 301 - 5000, true), "its sender began anew");
	close_door(d);
}

/*
 * A process of another user has the socket, so all packets are forwarded: a sender that was reset
 * and set up again with the same PSN lost up to 4,096 messages.
 */
Test(udp_overtaken, a_sender_that_begins_anew_by_the_detour_is_taken)
{
	struct door *d = door_of(DPA_QP_UC);

	for (uint64_t i = 3; i < 10; i++)
		cr_assert(th_recv(&d->th->b, i, (uint32_t)i * 4096, 4096));
	for (uint32_t i = 0; i < 3; i++)
		cr_expect(arrives(d, PSN0 + i, true));
	cr_expect(arrives(d, PSN0, true), "anew");
	cr_expect(arrives(d, PSN0 + 100, false), "straight for once");
	cr_expect_not(arrives(d, PSN0 + 1, true), "overtaken");
	cr_expect(arrives(d, PSN0 + 101, true), "the detour again");
	cr_expect(arrives(d, PSN0, true), "anew");
	close_door(d);
}

/* IBA 9.8.2 (gap): without forwarding any first packet begins a message. */
Test(udp_overtaken, what_came_straight_is_taken)
{
	struct door *d = door_of(DPA_QP_UC);

	cr_expect(arrives(d, PSN0 + 10, false));
	cr_expect(arrives(d, PSN0 + 1, false));
	close_door(d);
}

/* RC has its own rules: a duplicate is acknowledged. */
Test(udp_overtaken, rc_is_as_ever)
{
	struct door *d = door_of(DPA_QP_RC);

	cr_expect(arrives(d, PSN0, true));
	d->f.passed_on = true;
	d->k.psn = PSN0;
	knock(d, 0);
	cr_expect_eq(th_count(d->th, DPA_CNT_duplicate_request), 1);
	cr_expect_eq(errors(d), 0);
	close_door(d);
}
