/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_processes.c - every field for a process index has room for all 4,096 of them. */
#include <criterion/criterion.h>
#include <string.h>
#include "ctx/export.h"
#include "ctx/qp.h"
#include "direct/direct.h"

/* The wake-up page: one bit of `summary`, and the bit of its word in `any`. */
Test(processes, each_has_a_bit_in_the_wake_up_page)
{
	static struct dpa_door door;

	for (uint32_t s = 0; s < DPA_BOARD_PROCS; s++) {
		memset(&door, 0, sizeof(door));
		dpa_door_set(&door, s);
		for (uint32_t w = 0; w < DPA_BOARD_PROCS / 64; w++)
			cr_assert_eq(atomic_load(&door.summary[w]),
				     w == s / 64 ? 1ull << (s % 64) : 0);
		cr_assert_eq(atomic_load(&door.any), 1ull << (s / 64));
	}
	dpa_door_set(&door, 0);
	cr_expect_eq(atomic_load(&door.any), 1ull << 63 | 1, "both are there");
}

/* An access capability distinguishes each process, and its fields do not overlap. */
Test(processes, grants)
{
	const uint64_t flags =
		DPA_GRANT_WRITE | DPA_GRANT_READ | DPA_GRANT_RC | DPA_GRANT_UC | DPA_GRANT_ATOMIC;
	const uint64_t pd = (uint64_t)(DPA_MAX_PD - 1) << DPA_GRANT_PD_SHIFT;
	const uint64_t all = dpa_grant_proc(DPA_BOARD_PROCS - 1, UINT32_MAX);

	cr_expect_eq(flags & (pd | all | DPA_QPN_INDEX), 0u);
	cr_expect_eq(pd & (all | DPA_QPN_INDEX), 0u);
	cr_expect_eq(all & DPA_QPN_INDEX, 0u);
	cr_expect_eq(pd >> DPA_GRANT_PD_SHIFT, DPA_MAX_PD - 1u, "no bit of the PD is lost");
	cr_expect_eq(DPA_GRANT_WHO & (DPA_GRANT_WRITE | DPA_GRANT_READ | DPA_GRANT_ATOMIC | pd),
		     0u);
	cr_expect_eq(DPA_GRANT_WHO & all, all);
	for (uint32_t s = 1; s < DPA_BOARD_PROCS; s++)
		cr_assert_neq(dpa_grant_proc(s, 1), dpa_grant_proc(s - 1, 1));
	cr_expect_neq(dpa_grant_proc(255, 1), dpa_grant_proc(255 + 256, 1));
	cr_expect_neq(dpa_grant_proc(7, 1), dpa_grant_proc(7, 2), "the next one in its place");
}

/* So does a hazard pointer. */
Test(processes, hazards)
{
	for (uint32_t s = 0; s < DPA_BOARD_PROCS; s++) {
		cr_assert_lt(dpa_hazard_id(s, UINT32_MAX), 1ull << DPA_HAZARD_ID_BITS);
		cr_assert_eq(dpa_hazard_id(s, 5) & (DPA_BOARD_PROCS - 1), s);
	}
	cr_expect_neq(dpa_hazard_id(7, 1), dpa_hazard_id(7, 2));
}
