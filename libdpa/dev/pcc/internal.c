/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * internal.c - doca_pcc_dev_default_internal_algo(): DCQCN (Zhu et al., SIGCOMM 2015) in the twelve
 * words of a flow. A CNP cuts the rate by alpha / 2 and makes the old rate the target. A timer
 * raises the rate again: five times by half of the distance to the target; after that the target
 * rises as well.
 */
#include <doca_pcc_dev_event.h>

#define STEP_NS	  55000u
#define CUT_NS	  50000u
#define FAST	  5u
#define MBIT(n)	  ((uint32_t)((uint64_t)(n)*DOCA_PCC_DEV_MAX_RATE / 100000)) /* of 100 Gbit/s */
#define ALPHA_ONE (1u << 20)
#define G_SHIFT	  8
#define STEPS_MAX 1024u

struct internal {
	uint32_t begun, rate, target, alpha;
	uint32_t step_at, cut_at; /* ns */
	uint32_t steps, marked;
};
_Static_assert(sizeof(struct internal) <= sizeof(doca_pcc_dev_algo_ctxt_t), "fits");

static void step_rate(struct internal *c)
{
	c->alpha -= c->alpha >> G_SHIFT;
	if (c->marked)
		c->alpha += ALPHA_ONE >> G_SHIFT;
	c->marked = 0;
	if (++c->steps > FAST)
		c->target += MBIT(40);
	if (c->target > DOCA_PCC_DEV_MAX_RATE)
		c->target = DOCA_PCC_DEV_MAX_RATE;
	c->rate += (c->target - c->rate + 1) / 2;
	c->step_at += STEP_NS;
}

static void cut_rate(struct internal *c, uint32_t now)
{
	c->marked = 1;
	if (c->rate < DOCA_PCC_DEV_MAX_RATE && now - c->cut_at < CUT_NS)
		return;
	c->target = c->rate;
	c->rate -= (uint32_t)((uint64_t)c->rate * c->alpha / ALPHA_ONE / 2);
	if (c->rate < MBIT(10))
		c->rate = MBIT(10);
	c->cut_at = c->step_at = now;
	c->steps = 0;
}

void doca_pcc_dev_default_internal_algo(doca_pcc_dev_algo_ctxt_t *algo_ctxt,
					doca_pcc_dev_event_t *event,
					const doca_pcc_dev_attr_t *attr,
					doca_pcc_dev_results_t *results)
{
	struct internal *c = (struct internal *)algo_ctxt->data;
	uint32_t now = doca_pcc_dev_get_timestamp(event);

	(void)attr;
	if (!c->begun) {
		c->begun = 1;
		c->rate = c->target = DOCA_PCC_DEV_MAX_RATE;
		c->alpha = ALPHA_ONE;
		c->step_at = now;
	}
	for (uint32_t n = 0; n < STEPS_MAX && (int32_t)(now - c->step_at) >= (int32_t)STEP_NS; n++)
		step_rate(c);
	if ((int32_t)(now - c->step_at) >= (int32_t)STEP_NS)
		c->step_at = now;
	if (doca_pcc_dev_get_ev_attr(event).ev_type == DOCA_PCC_DEV_EVNT_ROCE_CNP)
		cut_rate(c, now);
	results->rate = c->rate;
	results->rtt_req = 0;
}
