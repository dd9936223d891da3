/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_dcqcn.c - the rate of the default algorithm, step by step: CNPs in, rates out. */
#include <criterion/criterion.h>

#include "pcc/dcqcn.h"

#define US UINT64_C(1000)
#define GB UINT64_C(1000000000)

static struct dpa_pcc_dcqcn_param p;
static struct dpa_pcc_flow f;

static void setup(void)
{
	p = dpa_pcc_dcqcn_default;
	dpa_pcc_init(&f, &dpa_pcc_dcqcn, &p, 0);
}

TestSuite(pcc_dcqcn, .init = setup);

static bool tell(uint32_t type, uint64_t now, uint32_t bytes)
{
	struct dpa_pcc_event ev = {.type = type, .now = now, .bytes = bytes};

	return dpa_pcc_event(&f, &ev);
}

static uint64_t rate_at(uint64_t now)
{
	tell(DPA_PCC_TIMER, now, 0);
	return f.rate;
}

Test(pcc_dcqcn, defaults_are_allowed_and_used)
{
	struct dpa_pcc_flow g;

	cr_expect(dpa_pcc_dcqcn_param_ok(&dpa_pcc_dcqcn_default));
	dpa_pcc_init(&g, &dpa_pcc_dcqcn, NULL, 0);
	cr_expect_eq(g.window, 128u << 10);
	cr_expect_eq(g.rate, DPA_PCC_NO_LIMIT);
}

Test(pcc_dcqcn, unpaced_until_the_first_cnp)
{
	for (uint64_t now = 0; now < GB; now += 1000 * US)
		tell(DPA_PCC_ACK, now, 4096);
	cr_expect_not(dpa_pcc_active(&f));
	cr_expect(tell(DPA_PCC_CNP, GB, 0));
	cr_expect(dpa_pcc_active(&f));
}

/* alpha is 1023/1024 at first, Gd 2: the first cut is by half. */
Test(pcc_dcqcn, first_cnp_halves)
{
	tell(DPA_PCC_CNP, 100 * US, 0);
	cr_expect_eq(f.rate, p.rpg_max_rate - p.rpg_max_rate / 2 * 1023 / 1024, "%lu", f.rate);
}

Test(pcc_dcqcn, first_cnp_cuts_from_what_the_window_lets_through)
{
	struct dpa_pcc_event ack = {
		.type = DPA_PCC_ACK, .now = US, .bytes = 4096, .rtt_ns = 100 * US};
	uint64_t through;

	dpa_pcc_event(&f, &ack);
	through = f.window * GB / (100 * US);
	tell(DPA_PCC_CNP, 100 * US, 0);
	cr_expect_eq(f.rate, through - through / 2 * 1023 / 1024, "%lu", f.rate);
}

Test(pcc_dcqcn, first_cnp_cuts_from_the_rate_that_is_set)
{
	p.rate_to_set_on_first_cnp = GB;
	tell(DPA_PCC_CNP, 0, 0);
	cr_expect_eq(f.rate, GB - GB / 2 * 1023 / 1024, "%lu", f.rate);
}

Test(pcc_dcqcn, one_cut_a_monitor_period)
{
	uint64_t rate;

	tell(DPA_PCC_CNP, 1000 * US, 0);
	rate = f.rate;
	cr_expect(tell(DPA_PCC_CNP, 1000 * US, 0));
	cr_expect(tell(DPA_PCC_CNP, 1049 * US, 0));
	cr_expect_eq(f.rate, rate);
	tell(DPA_PCC_CNP, 1050 * US, 0);
	cr_expect_lt(f.rate, rate);
}

Test(pcc_dcqcn, a_cut_leaves_the_share_that_is_set)
{
	p.rpg_gd = 0; /* by all of alpha */
	tell(DPA_PCC_CNP, 0, 0);
	cr_expect_eq(f.rate, p.rpg_max_rate / 2, "%lu", f.rate);
}

Test(pcc_dcqcn, never_below_the_least_rate)
{
	for (uint64_t now = 0; now < GB; now += 50 * US)
		tell(DPA_PCC_CNP, now, 0);
	cr_expect_eq(f.rate, p.rpg_min_rate);
}

/* Five times half the way back, and no further: the target stays at the rate before the cut. */
Test(pcc_dcqcn, fast_recovery)
{
	uint64_t before, rate, gap;

	tell(DPA_PCC_CNP, 0, 0);
	tell(DPA_PCC_CNP, 50 * US, 0);
	before = p.rpg_max_rate - p.rpg_max_rate / 2 * 1023 / 1024;
	rate = f.rate;
	for (unsigned i = 1; i < p.rpg_threshold; i++) {
		gap = before - rate;
		rate = rate_at(50 * US + i * 55 * US);
		cr_expect_eq(rate, before - gap / 2, "step %u: %lu", i, rate);
		cr_expect_eq(rate_at(50 * US + i * 55 * US + 54 * US), rate);
	}
}

Test(pcc_dcqcn, additive_increase_by_the_timer)
{
	uint64_t cut = 50 * US, old, rate = 0;

	p.rate_to_set_on_first_cnp = GB;
	tell(DPA_PCC_CNP, cut, 0);
	for (unsigned i = 1; i < 40; i++) {
		old = rate;
		rate = rate_at(cut + i * 55 * US);
	}
	/* long after fast recovery the rate trails the target by one step and rises like it */
	cr_expect(rate - old >= p.rpg_ai_rate - 10 && rate - old <= p.rpg_ai_rate + 10, "%lu",
		  rate - old);
}

/* The byte counter counts for as much as the timer does. */
Test(pcc_dcqcn, byte_counter_steps)
{
	uint64_t before = GB, rate, gap;

	p.rate_to_set_on_first_cnp = GB;
	tell(DPA_PCC_CNP, 0, 0);
	for (unsigned i = 1; i < p.rpg_threshold; i++) {
		gap = before - f.rate;
		for (unsigned n = 0; n < 9; n++) {
			rate = f.rate;
			tell(DPA_PCC_SENT, 1, 1000000);
			cr_expect_eq(f.rate, rate);
		}
		tell(DPA_PCC_SENT, 1, 1000000);
		cr_expect_eq(f.rate, before - gap / 2);
	}
}

/* The remainder at a step counts for the next one, but a cut restarts the count. */
Test(pcc_dcqcn, byte_counter_keeps_the_rest)
{
	uint64_t rate;

	p.rate_to_set_on_first_cnp = GB;
	tell(DPA_PCC_CNP, 0, 0);
	tell(DPA_PCC_SENT, 1, p.rpg_byte_reset + p.rpg_byte_reset / 2);
	rate = f.rate;
	tell(DPA_PCC_SENT, 1, p.rpg_byte_reset / 2);
	cr_expect_gt(f.rate, rate);
	tell(DPA_PCC_SENT, 1, p.rpg_byte_reset - 1);
	tell(DPA_PCC_CNP, 54 * US, 0);
	rate = f.rate;
	tell(DPA_PCC_SENT, 54 * US, 1);
	cr_expect_eq(f.rate, rate);
}

/* A window that lets through less than the least rate: the target is the least rate, too. */
Test(pcc_dcqcn, a_very_long_way)
{
	struct dpa_pcc_event ack = {.type = DPA_PCC_ACK, .now = US, .rtt_ns = 4 * GB};

	dpa_pcc_event(&f, &ack);
	tell(DPA_PCC_CNP, US, 0);
	cr_expect_eq(f.rate, p.rpg_min_rate);
	cr_expect_eq(rate_at(56 * US), p.rpg_min_rate);
}

Test(pcc_dcqcn, hyper_increase_needs_both)
{
	uint64_t old, step;

	p.rate_to_set_on_first_cnp = GB / 10;
	tell(DPA_PCC_CNP, 0, 0);
	for (unsigned i = 0; i < 6; i++)
		tell(DPA_PCC_SENT, 0, p.rpg_byte_reset);
	rate_at(5 * 55 * US);
	old = f.rate;
	step = rate_at(6 * 55 * US) - old; /* sixth of both: the target rises by hai_rate */
	cr_expect_gt(step, p.rpg_hai_rate / 2, "%lu", step);
	tell(DPA_PCC_SENT, 6 * 55 * US, p.rpg_byte_reset);
	old = f.rate;
	step = rate_at(7 * 55 * US) - old; /* seventh: by twice that */
	cr_expect_gt(step, p.rpg_hai_rate, "%lu", step);
}

/* Without CNPs a flow returns to no pacing at all, and the next CNP cuts by half again. */
Test(pcc_dcqcn, recovers_when_cnps_stop)
{
	uint64_t now, last = 0;

	for (now = 0; now < 1000 * US; now += 50 * US)
		tell(DPA_PCC_CNP, now, 0);
	cr_assert_lt(f.rate, p.rpg_max_rate / 100);
	for (; dpa_pcc_active(&f) && now < 10 * GB; now += 55 * US) {
		cr_expect_geq(f.rate, last);
		last = f.rate;
		tell(DPA_PCC_TIMER, now, 0);
	}
	cr_expect_not(dpa_pcc_active(&f), "%lu", f.rate);
	cr_expect_lt(now, GB);
	tell(DPA_PCC_CNP, now, 0);
	cr_expect_eq(f.rate, p.rpg_max_rate - p.rpg_max_rate / 2 * 1023 / 1024);
}

/* Few CNPs make small cuts: alpha has decayed. */
Test(pcc_dcqcn, alpha_decays)
{
	uint64_t old, now = 100000 * US, cut;

	p.rate_to_set_on_first_cnp = GB;
	p.rpg_ai_rate = 1;
	tell(DPA_PCC_CNP, 0, 0);
	for (uint64_t t = 0; t < now; t += 55 * US)
		tell(DPA_PCC_TIMER, t, 0);
	old = f.rate;
	tell(DPA_PCC_CNP, now, 0);
	cut = (old - f.rate) * 10000 / old;
	/* 1818 periods: (1 - 1/256)^1818 / 2 = 0.04 % */
	cr_expect(cut >= 1 && cut <= 10, "%lu", cut);
}

Test(pcc_dcqcn, late_timers_change_nothing)
{
	struct dpa_pcc_flow g = f;

	p.rate_to_set_on_first_cnp = GB;
	tell(DPA_PCC_CNP, 7, 0);
	g = f;
	for (uint64_t t = 7; t <= 7 + 30 * 55 * US; t += 1 * US)
		tell(DPA_PCC_TIMER, t, 0);
	{
		struct dpa_pcc_event ev = {.type = DPA_PCC_TIMER, .now = 7 + 30 * 55 * US};

		cr_assert(dpa_pcc_event(&g, &ev));
	}
	cr_expect_eq(g.rate, f.rate, "%lu %lu", g.rate, f.rate);
	cr_expect_eq(g.wake, f.wake);
}

/* The algorithm requests its timer; a request to send is enough to fire it. */
Test(pcc_dcqcn, asking_to_send_raises_the_rate)
{
	uint64_t rate;

	tell(DPA_PCC_CNP, 0, 0);
	rate = f.rate;
	cr_assert_eq(f.wake, 55 * US);
	dpa_pcc_may_send(&f, 55 * US - 1, 1);
	cr_expect_eq(f.rate, rate);
	dpa_pcc_may_send(&f, 55 * US, 1);
	cr_expect_gt(f.rate, rate);
}

Test(pcc_dcqcn, a_flow_that_was_silent_for_long_starts_anew)
{
	tell(DPA_PCC_CNP, 0, 0);
	tell(DPA_PCC_CNP, 50 * US, 0);
	p.rpg_ai_rate = p.rpg_hai_rate = 1;
	cr_expect_eq(rate_at(UINT64_C(3600) * GB), DPA_PCC_NO_LIMIT);
}

Test(pcc_dcqcn, parameters_that_would_stop_something_are_refused)
{
	static const struct {
		size_t off, len;
		uint64_t bad;
	} bad[] = {
#define BAD(field, value) {offsetof(struct dpa_pcc_dcqcn_param, field), sizeof(p.field), value}
		BAD(rpg_max_rate, DPA_PCC_NO_LIMIT),
		BAD(rpg_max_rate, 1),
		BAD(rpg_min_rate, 1),
		BAD(rpg_min_rate, 13 * GB),
		BAD(rpg_ai_rate, 0),
		BAD(rpg_ai_rate, UINT64_MAX),
		BAD(rpg_hai_rate, 0),
		BAD(rpg_hai_rate, UINT64_MAX),
		BAD(rate_to_set_on_first_cnp, 13 * GB),
		BAD(rpg_time_reset, 0),
		BAD(rpg_byte_reset, 0),
		BAD(rpg_threshold, 0),
		BAD(rpg_threshold, 32),
		BAD(rpg_gd, 11),
		BAD(rpg_min_dec_fac, 101),
		BAD(rate_reduce_monitor_period, 56 * US),
		BAD(dce_tcp_g, 0),
		BAD(dce_tcp_g, 1025),
		BAD(dce_tcp_rtt, 0),
		BAD(initial_alpha_value, 1025),
		BAD(wnd_initial, 1 << 21),
		BAD(wnd_initial, 1 << 13),
		BAD(wnd_min, 1),
		BAD(wnd_max, UINT32_MAX),
		BAD(wnd_ai, 0),
		BAD(wnd_ai, UINT32_MAX),
		BAD(wnd_cut, 1024),
		BAD(wnd_cut, 1000),
		BAD(wnd_cut_wide, 1024),
		BAD(wnd_wide, 1 << 13),
#undef BAD
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t small = (uint32_t)bad[i].bad;

		p = dpa_pcc_dcqcn_default;
		memcpy((char *)&p + bad[i].off,
		       bad[i].len == 8 ? (const void *)&bad[i].bad : &small, bad[i].len);
		cr_expect_not(dpa_pcc_dcqcn_param_ok(&p), "%zu", i);
	}
}
