/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_fuzz.c - events that no network sends, at times that no clock shows: the answers stay within
 * bounds.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "pcc/dcqcn.h"

static uint64_t state;

static uint64_t rnd(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Return a number; each number of digits has the same probability. */
static uint64_t any(void)
{
	return rnd() >> (rnd() % 64);
}

static uint64_t seed(void)
{
	const char *s = getenv("DPA_TEST_SEED");

	return s ? strtoull(s, NULL, 0) : 0x5eed;
}

static void check(struct dpa_pcc_flow *f, const struct dpa_pcc_dcqcn_param *p, uint64_t i)
{
	bool paced = f->rate < DPA_PCC_NO_LIMIT;

	cr_assert(f->rate >= p->rpg_min_rate && (!paced || f->rate <= p->rpg_max_rate),
		  "seed %#lx event %lu: rate %lu", seed(), i, f->rate);
	cr_assert(f->window >= p->wnd_min && f->window <= p->wnd_max,
		  "seed %#lx event %lu: window %u", seed(), i, f->window);
	cr_assert(f->tokens <= (int64_t)dpa_pcc_burst(f) * 1000000000,
		  "seed %#lx event %lu: tokens %ld", seed(), i, f->tokens);
	cr_assert(dpa_pcc_burst(f) >= 16384 && dpa_pcc_burst(f) <= 262144);
	cr_assert(!paced || f->active);
}

static void one(struct dpa_pcc_flow *f, uint64_t now)
{
	struct dpa_pcc_event ev = {.type = (uint32_t)(rnd() % (DPA_PCC_EVENTS + 1)),
				   .now = now,
				   .psn = (uint32_t)any(),
				   .rtt_ns = any(),
				   .bytes = (uint32_t)any(),
				   .inflight = (uint32_t)any()};
	uint64_t wait;

	switch (rnd() % 4) {
	case 0:
		wait = dpa_pcc_may_send(f, now, (uint32_t)any());
		/* a debt of 2^30 bytes at most, at the least rate */
		cr_assert_leq(wait, (UINT64_C(2) << 30) * 1000000000 / DPA_PCC_RATE_MIN);
		break;
	case 1:
		dpa_pcc_sent(f, now, (uint32_t)any());
		break;
	default:
		(void)dpa_pcc_event(f, &ev);
	}
}

/* Times of any size in any order. */
Test(pcc_fuzz, absurd_times)
{
	struct dpa_pcc_flow f;

	state = seed();
	dpa_pcc_init(&f, &dpa_pcc_dcqcn, NULL, any());
	for (uint64_t i = 0; i < 300000; i++) {
		if (rnd() % 1000 == 0)
			dpa_pcc_init(&f, &dpa_pcc_dcqcn, NULL, any());
		one(&f, any());
		check(&f, &dpa_pcc_dcqcn_default, i);
	}
}

/* Times that rise, up to and over 2^63 and to the end of the counter. */
Test(pcc_fuzz, to_the_end_of_time)
{
	static const uint64_t starts[] = {0, (UINT64_C(1) << 63) - 50000000, UINT64_MAX - 50000000};

	state = seed() + 1;
	for (size_t s = 0; s < 3; s++) {
		uint64_t now = starts[s];
		struct dpa_pcc_flow f;

		dpa_pcc_init(&f, &dpa_pcc_dcqcn, NULL, now);
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t step = rnd() % 1000 ? rnd() % 2000 : rnd() % 1000000;

			now = now > UINT64_MAX - step ? UINT64_MAX : now + step;
			one(&f, now);
			check(&f, &dpa_pcc_dcqcn_default, i);
		}
	}
}

/* Any parameters that are allowed. */
Test(pcc_fuzz, any_parameters)
{
	unsigned tried = 0;

	state = seed() + 2;
	for (unsigned n = 0; n < 2000000 && tried < 500; n++) {
		struct dpa_pcc_dcqcn_param p = dpa_pcc_dcqcn_default;
		uint64_t now = any();
		struct dpa_pcc_flow f;

		for (unsigned k = rnd() % 12; k; k--)
			switch (rnd() % 18) {
#define SET(n, field)                                                                              \
	case n:                                                                                    \
		p.field = (typeof(p.field))any();                                                  \
		break
				SET(0, rpg_max_rate);
				SET(1, rpg_min_rate);
				SET(2, rpg_ai_rate);
				SET(3, rpg_hai_rate);
				SET(4, rate_to_set_on_first_cnp);
				SET(5, rpg_time_reset);
				SET(6, rpg_byte_reset);
				SET(7, rpg_threshold);
				SET(8, rpg_gd);
				SET(9, rpg_min_dec_fac);
				SET(10, rate_reduce_monitor_period);
				SET(11, dce_tcp_g);
				SET(12, dce_tcp_rtt);
				SET(13, initial_alpha_value);
				SET(14, wnd_initial);
				SET(15, wnd_min);
				SET(16, wnd_max);
				SET(17, wnd_ai);
#undef SET
			}
		if (!dpa_pcc_dcqcn_param_ok(&p))
			continue;
		tried++;
		dpa_pcc_init(&f, &dpa_pcc_dcqcn, &p, now);
		for (uint64_t i = 0; i < 500; i++) {
			now = rnd() % 50 ? now + rnd() % 100000 : any();
			one(&f, now);
			check(&f, &p, i);
		}
	}
	cr_expect_eq(tried, 500u);
}
