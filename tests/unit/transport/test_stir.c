/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_stir.c - a post wakes the progress thread of a quiet process, behind what the tick is to see. */
#include <criterion/criterion.h>
#include "ctx/schedule.h"
#include "transport/api.h"
#include "harness.h"

static struct th_side *poster;
static uint32_t wakes, sent; /* by the last wake-up */

void __wrap_dpa_wake_self(struct dpa_hw *hw);
void __wrap_dpa_wake_self(struct dpa_hw *hw)
{
	wakes++;
	sent = poster->qp->req.send_idx;
}

/* The word is taken behind the packet: a tick before it would find nothing, and the ticks back off. */
Test(transport_stir, behind_the_packet)
{
	struct th *th = th_new(&(struct th_opt){.retry = 7, .timeout = 14});
	struct th_wr wr = {
		.op = DPA_OP_SEND, .nsge = 1, .sge = {{(uintptr_t)th->a.mem, 8, th->a.key}}};

	poster = &th->a;
	for (uint32_t i = 1; i <= 3; i++) {
		wakes = 0;
		atomic_store(&th->hw->quiet, 1);
		wr.op = i == 3 ? DPA_OP_RDMA_READ : DPA_OP_SEND; /* the longer way */
		wr.raddr = (uintptr_t)th->b.mem;
		wr.rkey = th->b.key;
		cr_assert(th_post(&th->a, &wr));
		th_ring(&th->a);
		cr_expect_eq(wakes, 1u);
		cr_expect_eq(sent, i, "the WQE was not sent yet");
		cr_expect_not(atomic_load(&th->hw->quiet));
	}
	th_free(th);
}
