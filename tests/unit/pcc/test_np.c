/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_np.c - the notification point, and the setting that names the algorithm. */
#include <criterion/criterion.h>

#include "config/knobs.h"
#include "pcc/pcc.h"

Test(pcc_np, only_ce_is_a_mark)
{
	for (unsigned tos = 0; tos < 256; tos++) {
		struct dpa_np_flow np = {0};

		cr_expect_eq(dpa_cnp_np(&np, (uint8_t)tos, 1),
			     (tos & 3) == 3 ? DPA_NP_MARKED | DPA_NP_ANSWER : 0u, "%u", tos);
	}
}

Test(pcc_np, one_answer_an_interval)
{
	struct dpa_np_flow np = {0};
	unsigned marked = 0, answers = 0;
	uint64_t last = 0;

	for (uint64_t now = 12345; now < 12345 + 10000000; now += 700) {
		unsigned v = dpa_cnp_np(&np, DPA_ECN_CE, now);

		marked += !!(v & DPA_NP_MARKED);
		if (!(v & DPA_NP_ANSWER))
			continue;
		if (answers++)
			cr_expect_geq(now - last, DPA_CNP_MIN_GAP);
		last = now;
	}
	cr_expect_eq(marked, 14286u);
	cr_expect(answers >= 190 && answers <= 200, "%u", answers);
}

Test(pcc_np, flows_do_not_share_the_interval)
{
	struct dpa_np_flow a = {0}, b = {0};

	cr_expect(dpa_cnp_np(&a, DPA_ECN_CE, 5) & DPA_NP_ANSWER);
	cr_expect(dpa_cnp_np(&b, DPA_ECN_CE, 5) & DPA_NP_ANSWER);
	cr_expect_not(dpa_cnp_np(&a, DPA_ECN_CE, 6) & DPA_NP_ANSWER);
}

Test(pcc_np, an_answer_that_did_not_leave_is_pending)
{
	struct dpa_np_flow np = {0};

	cr_expect(dpa_cnp_np(&np, DPA_ECN_CE, 100) & DPA_NP_ANSWER);
	dpa_cnp_unsent(&np);
	cr_expect(dpa_cnp_np(&np, DPA_ECN_CE, 101) & DPA_NP_ANSWER);
	cr_expect_not(dpa_cnp_np(&np, DPA_ECN_CE, 102) & DPA_NP_ANSWER);
}

Test(pcc_np, no_clock_silences_a_flow)
{
	struct dpa_np_flow np = {0};

	cr_expect(dpa_cnp_np(&np, DPA_ECN_CE, UINT64_MAX - 1) & DPA_NP_ANSWER);
	cr_expect(dpa_cnp_np(&np, DPA_ECN_CE, 1) & DPA_NP_ANSWER);
	cr_expect_not(dpa_cnp_np(&np, DPA_ECN_CE, 2) & DPA_NP_ANSWER);
}

/* The words of the setting and the table of algorithms have the same order. */
Test(pcc_np, setting_and_table_agree)
{
	struct dpa_config cfg;
	char text[32];

	dpa_config_defaults(&cfg);
	cr_expect_str_eq(dpa_pcc_algos[cfg.congestion]->name, "dcqcn");
	for (size_t i = 0; i < dpa_knobs_num; i++) {
		if (dpa_knobs[i].offset != offsetof(struct dpa_config, congestion))
			continue;
		for (size_t a = 0; a < dpa_pcc_algos_num; a++) {
			cr_assert(dpa_knob_set(&dpa_knobs[i], &cfg, dpa_pcc_algos[a]->name));
			cr_expect_eq((size_t)cfg.congestion, a);
			dpa_knob_value(&dpa_knobs[i], &cfg, text, sizeof(text));
			cr_expect_str_eq(text, dpa_pcc_algos[a]->name);
		}
		cr_expect_not(dpa_knob_set(&dpa_knobs[i], &cfg, "reno"));
		return;
	}
	cr_assert_fail("no such setting");
}
