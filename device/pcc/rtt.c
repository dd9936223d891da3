/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rtt.c - a rate that follows round trip times. Its rules and their sources:
 *
 *   sample   the answer to a probe, which the peer sends at once. An ACK waits for a quarter of the
 *            window or the end of a message, and for earlier packets in the sender's queue. ACKs
 *            count while no answer comes: the peer need not support probes
 *   raise    below the target by `ai`, four times in a target's time at most, and by five times
 *            as much after five successive raises (hyper increase of TIMELY, SIGCOMM 2015, section
 *            4.3). A short round trip must not raise more often than its effect is seen
 *   cut      above the target by beta * (1 - target / rtt) (multiplicative decrease of Swift,
 *            SIGCOMM 2020, section 3.1), once each round trip, and to a half at most (its max_mdf,
 *            which also limits a single cut)
 *   neither  above the target while the round trip gets shorter: the queue drains already (the
 *            gradient of TIMELY, section 4.3); from `max` on there is a cut in any case, as above
 *            its T_high
 */
#include "num.h"
#include "rtt.h"

#define MBIT	  UINT64_C(125000)
#define STREAK	  5u
#define RAISES	  4u		     /* in a target's time, at most */
#define HALF	  32768u	     /* of 65536 */
#define PROBE_GAP UINT64_C(10000000) /* ns after which a probe without an answer is sent again */

const struct dpa_pcc_rtt_param dpa_pcc_rtt_default = {
	.min_rate = 10 * MBIT,
	.max_rate = 100000 * MBIT,
	.ai = 40 * MBIT,
	.target = 200000,
	.max = 2000000,
	.beta = 52429,
};

/* State of a flow, for the rate of struct dpa_pcc_split. */
struct rtt {
	uint64_t rate;
	uint64_t cut_at, raised_at;
	uint64_t last;	   /* previous sample, ns */
	uint64_t asked_at; /* time when the outstanding probe was requested */
	uint32_t streak;   /* successive raises */
	uint8_t probes;	   /* as in struct dpa_pcc_result */
	bool asked;	   /* for a probe, with the first event */
	bool answers;	   /* the peer answers probes: ACKs are no samples */
};
_Static_assert(sizeof(struct rtt) <= DPA_PCC_RATE_PRIV, "fits");

static void request_probe(struct rtt *r, uint64_t now)
{
	r->probes++;
	r->asked = true;
	r->asked_at = now;
}

static void rtt_init(void *priv, const void *param, uint64_t now)
{
	const struct dpa_pcc_rtt_param *p = param ? param : &dpa_pcc_rtt_default;
	struct rtt *r = priv;

	(void)now;
	*r = (struct rtt){.rate = p->max_rate}; /* no state of the previous algorithm */
}

/*
 * Cuts from the rate that the window allows, at most, if the flow was not paced: an ACK carries the
 * outstanding bytes.
 */
static void cut_rate(struct rtt *r, const struct dpa_pcc_rtt_param *p,
		     const struct dpa_pcc_event *ev)
{
	uint64_t through = ev->inflight * UINT64_C(1000000000) / ev->rtt_ns;
	uint64_t rtt = dpa_pcc_clamp(ev->rtt_ns, p->target, p->max);
	uint64_t part = (rtt - p->target) * 65536 / rtt * p->beta / 65536;

	if (r->rate > through && through > p->min_rate)
		r->rate = through;
	r->rate -= r->rate / 65536 * (part < HALF ? part : HALF);
	if (r->rate < p->min_rate)
		r->rate = p->min_rate;
	r->cut_at = ev->now;
	r->streak = 0;
}

static void raise_rate(struct rtt *r, const struct dpa_pcc_rtt_param *p, uint64_t now)
{
	if (r->rate >= p->max_rate || dpa_pcc_since(now, r->raised_at) < p->target / RAISES)
		return;
	r->raised_at = now;
	r->streak++;
	r->rate += r->streak > STREAK ? p->ai * STREAK : p->ai;
	if (r->rate > p->max_rate)
		r->rate = p->max_rate;
}

static void take_sample(struct rtt *r, const struct dpa_pcc_rtt_param *p,
			const struct dpa_pcc_event *ev)
{
	bool drains = ev->rtt_ns < r->last && ev->rtt_ns < p->max;

	r->last = ev->rtt_ns;
	if (ev->rtt_ns <= p->target)
		raise_rate(r, p, ev->now);
	else if (!drains && (!r->cut_at || dpa_pcc_since(ev->now, r->cut_at) >= ev->rtt_ns))
		cut_rate(r, p, ev);
}

static void rtt_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	const struct dpa_pcc_rtt_param *p = param ? param : &dpa_pcc_rtt_default;
	struct rtt *r = priv;

	if (ev->type == DPA_PCC_RTT) {
		r->answers = true;
		request_probe(r, ev->now);
	} else if (!r->asked || dpa_pcc_since(ev->now, r->asked_at) >= PROBE_GAP) {
		r->answers = false;
		request_probe(r, ev->now);
	}
	if (ev->rtt_ns && (ev->type == DPA_PCC_RTT || (ev->type == DPA_PCC_ACK && !r->answers)))
		take_sample(r, p, ev);
}

static void rtt_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	const struct dpa_pcc_rtt_param *p = param ? param : &dpa_pcc_rtt_default;
	const struct rtt *r = priv;

	res->probes = r->probes;
	res->rate = r->rate >= p->max_rate ? DPA_PCC_NO_LIMIT : r->rate;
}

const struct dpa_pcc_rate_algo dpa_pcc_rtt = {
	.name = "rtt", .init = rtt_init, .on_event = rtt_event, .get = rtt_get};
