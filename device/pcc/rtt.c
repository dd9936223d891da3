/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rtt.c - a rate that follows round trip times. Below the target each round trip adds `ai`, and
 * five times as much after five in a row (hyper increase of TIMELY, SIGCOMM 2015, section 4.3).
 * Above it one cut a round trip, by beta * (1 - target / rtt) (section 4.3 there, and the
 * multiplicative decrease of Swift, SIGCOMM 2020, section 3.1).
 */
#include "num.h"
#include "rtt.h"

#define MBIT   UINT64_C(125000)
#define STREAK 5u

const struct dpa_pcc_rtt_param dpa_pcc_rtt_default = {
	.min_rate = 10 * MBIT,
	.max_rate = 100000 * MBIT,
	.ai = 40 * MBIT,
	.target = 200000,
	.max = 2000000,
	.beta = 52429,
};

/* The state of a flow: of struct dpa_pcc_split's rate. */
struct rtt {
	uint64_t rate;
	uint64_t cut_at;
	uint64_t streak;
};
_Static_assert(sizeof(struct rtt) <= DPA_PCC_RATE_PRIV, "fits");

static void rtt_init(void *priv, const void *param, uint64_t now)
{
	const struct dpa_pcc_rtt_param *p = param ? param : &dpa_pcc_rtt_default;
	struct rtt *r = priv;

	(void)now;
	*r = (struct rtt){.rate = p->max_rate}; /* nothing of the algorithm before */
}

/* From what the window lets through, at most, where it was not paced. */
static void cut(struct rtt *r, const struct dpa_pcc_rtt_param *p, const struct dpa_pcc_event *ev)
{
	uint64_t through = ev->inflight * UINT64_C(1000000000) / ev->rtt_ns;
	uint64_t rtt = dpa_pcc_clamp(ev->rtt_ns, p->target, p->max);
	uint64_t part = (rtt - p->target) * 65536 / rtt * p->beta / 65536;

	if (r->rate > through && through > p->min_rate)
		r->rate = through;
	r->rate -= r->rate / 65536 * part;
	if (r->rate < p->min_rate)
		r->rate = p->min_rate;
	r->cut_at = ev->now;
	r->streak = 0;
}

static void rtt_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	const struct dpa_pcc_rtt_param *p = param ? param : &dpa_pcc_rtt_default;
	struct rtt *r = priv;

	if (ev->type != DPA_PCC_ACK || !ev->rtt_ns)
		return;
	if (ev->rtt_ns > p->target) {
		if (!r->cut_at || dpa_pcc_since(ev->now, r->cut_at) >= ev->rtt_ns)
			cut(r, p, ev);
		return;
	}
	if (r->rate >= p->max_rate)
		return;
	r->streak++;
	r->rate += r->streak > STREAK ? p->ai * STREAK : p->ai;
	if (r->rate > p->max_rate)
		r->rate = p->max_rate;
}

static void rtt_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	const struct dpa_pcc_rtt_param *p = param ? param : &dpa_pcc_rtt_default;
	const struct rtt *r = priv;

	res->rate = r->rate >= p->max_rate ? DPA_PCC_NO_LIMIT : r->rate;
}

const struct dpa_pcc_rate_algo dpa_pcc_rtt = {
	.name = "rtt", .init = rtt_init, .on_event = rtt_event, .get = rtt_get};
