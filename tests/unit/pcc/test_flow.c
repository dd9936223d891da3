/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_flow.c - a flow around any algorithm: pacing, bounds, and the events that arrive. */
#include <criterion/criterion.h>
#include <string.h>

#include "pcc/dcqcn.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* An algorithm that answers as the test says and records its input. */
static struct dpa_pcc_result answer;
static struct dpa_pcc_event told;
static unsigned told_num;

static void fake_init(void *priv, const void *param, uint64_t now)
{
}

static void fake_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	told = *ev;
	told_num++;
}

static void fake_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	*res = answer;
}

static const struct dpa_pcc_algo fake = {
	.name = "fake", .init = fake_init, .on_event = fake_event, .get = fake_get};

static void start(struct dpa_pcc_flow *f, uint64_t rate, uint64_t now)
{
	answer = (struct dpa_pcc_result){.rate = rate, .wake = DPA_PCC_NEVER, .window = 1 << 20};
	told_num = 0;
	dpa_pcc_init(f, &fake, NULL, now);
}

/* Send packets of n bytes as fast as allowed from `now` to `end`; return the bytes that left. */
static uint64_t send_until(struct dpa_pcc_flow *f, uint64_t now, uint64_t end, uint32_t n,
			   uint64_t late)
{
	uint64_t sent = 0;

	while (now < end) {
		uint64_t wait = dpa_pcc_may_send(f, now, n);

		if (wait) {
			now += wait + late;
			continue;
		}
		dpa_pcc_sent(f, now, n);
		sent += n;
	}
	return sent;
}

Test(pcc_flow, pace_is_the_rate_and_one_burst_at_most)
{
	static const uint64_t rates[] = {125000, 1250000, 999999937, UINT64_C(12500000000)};
	static const uint32_t sizes[] = {1, 64, 1024, 4096, 16384};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			uint64_t span = rates[i] > 100000000 ? MS : S;
			uint64_t want = rates[i] * span / S, got;
			struct dpa_pcc_flow f;

			start(&f, rates[i], 5 * S);
			got = send_until(&f, 5 * S, 5 * S + span, sizes[j], 0);
			cr_expect_leq(got, want + dpa_pcc_burst(&f) + sizes[j], "%lu %u", rates[i],
				      sizes[j]);
			cr_expect_geq(got + sizes[j], want, "%lu %u: %lu < %lu", rates[i], sizes[j],
				      got, want);
		}
}

/*
 * A caller that asks later than the returned time (an EU that slept) loses nothing while the burst
 * covers it.
 */
Test(pcc_flow, lateness_within_a_burst_costs_no_rate)
{
	struct dpa_pcc_flow f;
	uint64_t got;

	start(&f, 1000000000, 0);
	got = send_until(&f, 0, 100 * MS, 4096, 60000);
	cr_expect_geq(got, 99000000u, "%lu", got);
	cr_expect_leq(got, 100000000u + dpa_pcc_burst(&f) + 4096);
}

/* Frequent requests, in steps in which less than a byte accrues, lose nothing either. */
Test(pcc_flow, asking_often_costs_no_rate)
{
	struct dpa_pcc_flow f;
	uint64_t sent = 0;

	start(&f, 1250000, 0);
	for (uint64_t now = 0; now < 100 * MS; now += 100)
		if (dpa_pcc_may_send(&f, now, 1000) == 0) {
			dpa_pcc_sent(&f, now, 1000);
			sent += 1000;
		}
	cr_expect_geq(sent, 124000u, "%lu", sent);
	cr_expect_leq(sent, 125000u + dpa_pcc_burst(&f) + 1000);
}

Test(pcc_flow, a_segment_above_the_burst_is_paced_afterwards)
{
	struct dpa_pcc_flow f;
	uint64_t wait;

	start(&f, 1000000000, 0);
	cr_assert_lt(dpa_pcc_burst(&f), 1u << 20);
	wait = dpa_pcc_may_send(&f, 0, 1 << 20);
	cr_assert_eq(dpa_pcc_may_send(&f, wait, 1 << 20), 0u);
	dpa_pcc_sent(&f, wait, 1 << 20);
	cr_expect_eq(dpa_pcc_may_send(&f, wait, 1), (1u << 20) - dpa_pcc_burst(&f) + 1);
}

Test(pcc_flow, asking_takes_nothing)
{
	struct dpa_pcc_flow f;

	start(&f, 125000, 0);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(dpa_pcc_may_send(&f, 0, 4096), 0u);
}

Test(pcc_flow, wait_is_exact)
{
	struct dpa_pcc_flow f;
	uint64_t wait;

	start(&f, 2999999, 0);
	send_until(&f, 0, 1, 4096, 0);
	wait = dpa_pcc_may_send(&f, 7, 4096);
	cr_assert_gt(wait, 1u);
	cr_expect_neq(dpa_pcc_may_send(&f, 7 + wait - 1, 4096), 0u);
	cr_expect_eq(dpa_pcc_may_send(&f, 7 + wait, 4096), 0u);
}

/* The rate before an event applies to the time until the event. */
Test(pcc_flow, a_new_rate_holds_from_its_event_on)
{
	struct dpa_pcc_event ev = {.type = DPA_PCC_CNP, .now = MS};
	struct dpa_pcc_flow f;

	start(&f, 10000000, 0);
	f.events = DPA_PCC_WANT(DPA_PCC_CNP);
	dpa_pcc_sent(&f, 0, dpa_pcc_burst(&f)); /* empty */
	answer.rate = 1000000;
	cr_assert(dpa_pcc_event(&f, &ev));
	cr_expect_eq(dpa_pcc_may_send(&f, MS, 10000), 0u);
	cr_expect_eq(dpa_pcc_may_send(&f, MS, 10001), 1000u);
}

Test(pcc_flow, no_limit_asks_for_no_time)
{
	struct dpa_pcc_flow f;

	start(&f, DPA_PCC_NO_LIMIT, 0);
	cr_expect_not(dpa_pcc_active(&f));
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(dpa_pcc_may_send(&f, 0, UINT32_MAX), 0u);
		dpa_pcc_sent(&f, 0, UINT32_MAX);
	}
	cr_expect_eq(told_num, 0u);
}

/* Pacing that begins after an hour without it may spend one burst, not the amount of an hour. */
Test(pcc_flow, a_limit_that_begins_late_finds_no_savings)
{
	uint64_t hour = 3600 * S;
	struct dpa_pcc_event ev = {.type = DPA_PCC_CNP, .now = hour};
	struct dpa_pcc_flow f;
	uint64_t got;

	start(&f, DPA_PCC_NO_LIMIT, 0);
	answer.rate = 1000000;
	f.events = DPA_PCC_WANT(DPA_PCC_CNP);
	cr_assert(dpa_pcc_event(&f, &ev));
	got = send_until(&f, hour, hour + 10 * MS, 1000, 0);
	cr_expect_leq(got, 10000u + dpa_pcc_burst(&f) + 1000, "%lu", got);
}

/* No algorithm stops a flow or exceeds the bounds. */
Test(pcc_flow, answers_are_clamped_to_the_bounds)
{
	struct dpa_pcc_flow f;

	answer = (struct dpa_pcc_result){0};
	dpa_pcc_init(&f, &fake, NULL, 0);
	cr_expect_eq(f.rate, DPA_PCC_RATE_MIN);
	cr_expect_eq(f.window, DPA_PCC_WND_MIN);
	answer = (struct dpa_pcc_result){.rate = UINT64_MAX, .window = UINT32_MAX};
	dpa_pcc_init(&f, &fake, NULL, 0);
	cr_expect_eq(f.rate, DPA_PCC_NO_LIMIT);
	cr_expect_eq(f.window, DPA_PCC_WND_MAX);
}

Test(pcc_flow, only_events_that_are_wanted_arrive)
{
	struct dpa_pcc_flow f;

	for (uint32_t want = 0; want < DPA_PCC_EVENTS; want++) {
		answer = (struct dpa_pcc_result){.rate = DPA_PCC_NO_LIMIT,
						 .wake = DPA_PCC_NEVER,
						 .events = DPA_PCC_WANT(want)};
		dpa_pcc_init(&f, &fake, NULL, 0);
		for (uint32_t type = 0; type < 300; type++) {
			struct dpa_pcc_event ev = {.type = type, .psn = type};

			told_num = 0;
			cr_expect_eq(dpa_pcc_event(&f, &ev), type == want);
			cr_expect_eq(told_num, (unsigned)(type == want));
		}
	}
}

Test(pcc_flow, sent_arrives_where_wanted_without_a_limit_too)
{
	struct dpa_pcc_flow f;

	answer = (struct dpa_pcc_result){.rate = DPA_PCC_NO_LIMIT,
					 .wake = DPA_PCC_NEVER,
					 .events = DPA_PCC_WANT(DPA_PCC_SENT)};
	dpa_pcc_init(&f, &fake, NULL, 0);
	cr_expect(dpa_pcc_active(&f));
	told_num = 0;
	dpa_pcc_sent(&f, 77, 1234);
	cr_expect_eq(told_num, 1u);
	cr_expect_eq(told.type, (uint32_t)DPA_PCC_SENT);
	cr_expect_eq(told.bytes, 1234u);
	cr_expect_eq(told.now, 77u);
}

Test(pcc_flow, asking_to_send_rings_the_timer_when_it_is_due)
{
	struct dpa_pcc_flow f;

	answer = (struct dpa_pcc_result){
		.rate = DPA_PCC_NO_LIMIT, .wake = 1000, .events = DPA_PCC_WANT(DPA_PCC_TIMER)};
	dpa_pcc_init(&f, &fake, NULL, 0);
	told_num = 0;
	cr_expect_eq(dpa_pcc_may_send(&f, 999, 1), 0u);
	cr_expect_eq(told_num, 0u);
	answer.wake = DPA_PCC_NEVER;
	cr_expect_eq(dpa_pcc_may_send(&f, 1000, 1), 0u);
	cr_expect_eq(told_num, 1u);
	cr_expect_eq(told.type, (uint32_t)DPA_PCC_TIMER);
	cr_expect_eq(dpa_pcc_may_send(&f, 2000, 1), 0u);
	cr_expect_eq(told_num, 1u);
}

Test(pcc_flow, none_is_a_window_and_nothing_else)
{
	struct dpa_pcc_flow f;

	dpa_pcc_init(&f, &dpa_pcc_none, NULL, 0);
	cr_expect_not(dpa_pcc_active(&f));
	cr_expect_eq(f.window, 1u << 20);
	for (uint32_t type = 0; type < DPA_PCC_EVENTS; type++) {
		struct dpa_pcc_event ev = {.type = type, .now = type * MS, .bytes = 1 << 20};

		cr_expect_not(dpa_pcc_event(&f, &ev));
	}
	cr_expect_eq(f.rate, DPA_PCC_NO_LIMIT);
	cr_expect_eq(f.window, 1u << 20);
}
