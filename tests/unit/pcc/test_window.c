/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_window.c - the window of the default algorithm: the effect of losses and ACKs. */
#include <criterion/criterion.h>

#include "pcc/dcqcn.h"

#define US  UINT64_C(1000)
#define KiB 1024u
#define RTT (50 * US)

static struct dpa_pcc_flow f;
static uint64_t now;

static void setup(void)
{
	now = 1000 * US;
	dpa_pcc_init(&f, &dpa_pcc_dcqcn, NULL, now);
}

TestSuite(pcc_window, .init = setup);

static void tell(uint32_t type)
{
	struct dpa_pcc_event ev = {.type = type, .now = now};

	cr_assert(dpa_pcc_event(&f, &ev));
}

static void ack(uint32_t bytes, uint32_t inflight)
{
	struct dpa_pcc_event ev = {.type = DPA_PCC_ACK,
				   .now = now,
				   .rtt_ns = RTT,
				   .bytes = bytes,
				   .inflight = inflight};

	cr_assert(dpa_pcc_event(&f, &ev));
}

/* One round trip of a flow with a full window in flight. */
static void round_trip(void)
{
	uint32_t wnd = f.window;

	for (uint32_t done = 0; done < wnd; done += 4096) {
		now += RTT * 4096 / wnd;
		ack(4096, wnd);
	}
}

Test(pcc_window, starts_at_its_initial_size)
{
	cr_expect_eq(f.window, 128 * KiB);
}

Test(pcc_window, doubles_a_round_trip_until_the_first_loss)
{
	round_trip();
	cr_expect_eq(f.window, 256 * KiB);
	for (int i = 0; i < 10; i++)
		round_trip();
	cr_expect_eq(f.window, 1024 * KiB);
}

Test(pcc_window, loss_cuts_once_a_round_trip)
{
	uint32_t once;

	ack(1, 0); /* a sample of the round trip */
	tell(DPA_PCC_LOSS);
	once = f.window;
	cr_expect_eq(once, 128 * KiB * 870 / 1024);
	for (uint64_t end = now + RTT; now < end; now += US) {
		tell(DPA_PCC_LOSS);
		tell(DPA_PCC_TIMEOUT);
	}
	cr_expect_eq(f.window, once);
	tell(DPA_PCC_LOSS);
	cr_expect_lt(f.window, once);
}

static uint32_t after_loss(uint32_t psn, uint32_t end)
{
	struct dpa_pcc_event ev = {
		.type = DPA_PCC_LOSS, .now = now, .psn = psn & 0xffffff, .end_psn = end & 0xffffff};

	cr_assert(dpa_pcc_event(&f, &ev));
	return f.window;
}

/* A peer reports missing packets one by one: packets sent before a cut cause no second cut. */
Test(pcc_window, loss_cuts_once_a_flight)
{
	static const uint32_t firsts[] = {100, 0xfffff5};

	for (int i = 0; i < 2; i++) {
		const uint32_t first = firsts[i];
		uint32_t once;

		dpa_pcc_init(&f, &dpa_pcc_dcqcn, NULL, now);
		ack(1, 0);
		once = after_loss(first, first + 30);
		cr_expect_lt(once, 128 * KiB);
		for (uint32_t k = 1; k < 30; k += 4) { /* 8 round trips */
			now += RTT;
			cr_expect_eq(after_loss(first + k, first + 200), once, "%u", k);
		}
		now += RTT;
		cr_expect_lt(after_loss(first + 30, first + 200), once, "sent behind the cut");
		/* PSNs wrap around: an old one is not in flight */
		once = f.window;
		now += 60 * 1000 * US;
		cr_expect_lt(after_loss(first + 150, first + 400), once);
	}
}

/* A window of few packets is cut more than one of many, but never below that of a narrower one. */
Test(pcc_window, a_wide_window_is_cut_less)
{
	struct dpa_pcc_dcqcn_param p = dpa_pcc_dcqcn_default;
	uint32_t last = 0;

	for (uint32_t w = 16 * KiB; w <= 512 * KiB; w += 4 * KiB) {
		p.wnd_initial = w;
		cr_assert(dpa_pcc_dcqcn_param_ok(&p));
		dpa_pcc_init(&f, &dpa_pcc_dcqcn, &p, now);
		tell(DPA_PCC_LOSS);
		if (w >= 24 * KiB && w <= 32 * KiB)
			cr_expect_eq(f.window, w * 717 / 1024);
		if (w >= 128 * KiB)
			cr_expect_eq(f.window, w * 870 / 1024);
		cr_expect_geq(f.window, last, "%u KiB", w / KiB);
		last = f.window;
	}
}

/* Also at clock value 0. */
Test(pcc_window, the_first_loss_counts_at_time_zero)
{
	dpa_pcc_init(&f, &dpa_pcc_dcqcn, NULL, 0);
	now = 0;
	tell(DPA_PCC_LOSS);
	cr_expect_lt(f.window, 128 * KiB);
}

Test(pcc_window, grows_by_a_fixed_amount_after_a_loss)
{
	uint32_t was;

	tell(DPA_PCC_LOSS);
	for (int i = 0; i < 20; i++) {
		was = f.window;
		round_trip();
		cr_expect(f.window > was + 7 * KiB && f.window < was + 9 * KiB, "%u to %u", was,
			  f.window);
	}
}

Test(pcc_window, timeout_feels_its_way_from_the_least)
{
	tell(DPA_PCC_TIMEOUT);
	cr_expect_eq(f.window, 16 * KiB);
	round_trip();
	cr_expect_eq(f.window, 32 * KiB);
	round_trip();
	cr_expect_eq(f.window, 64 * KiB);
	round_trip(); /* and no doubling beyond the window after the loss */
	cr_expect(f.window >= 128 * KiB * 870 / 1024 && f.window < 120 * KiB, "%u", f.window);
}

Test(pcc_window, never_beyond_its_bounds)
{
	for (int i = 0; i < 100; i++) {
		now += 10000 * US;
		tell(i % 2 ? DPA_PCC_LOSS : DPA_PCC_TIMEOUT);
		cr_expect_geq(f.window, 16 * KiB);
	}
	for (int i = 0; i < 200; i++)
		round_trip();
	cr_expect_eq(f.window, 1024 * KiB);
	ack(UINT32_MAX, UINT32_MAX);
	cr_expect_eq(f.window, 1024 * KiB);
}

Test(pcc_window, unused_window_does_not_grow)
{
	for (int i = 0; i < 1000; i++) {
		now += RTT;
		ack(4096, 4096);
	}
	cr_expect_eq(f.window, 128 * KiB);
}

/* The receiver was not ready: not caused by the network. */
Test(pcc_window, rnr_is_no_congestion)
{
	struct dpa_pcc_event ev = {.type = DPA_PCC_RNR, .now = now};

	dpa_pcc_event(&f, &ev);
	cr_expect_eq(f.window, 128 * KiB);
	cr_expect_not(dpa_pcc_active(&f));
}

Test(pcc_window, loss_leaves_the_rate_and_cnp_the_window)
{
	uint64_t rate;

	tell(DPA_PCC_LOSS);
	cr_expect_not(dpa_pcc_active(&f));
	now += RTT;
	uint32_t wnd = f.window;
	tell(DPA_PCC_CNP);
	cr_expect_eq(f.window, wnd);
	rate = f.rate;
	tell(DPA_PCC_LOSS);
	cr_expect_eq(f.rate, rate);
}
