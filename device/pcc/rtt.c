/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rtt.c - a rate that follows round trip times. Its rules, with their sources:
 *
 *   sample   the answer to a probe, which the other side sends at once: an ACK waits for a quarter
 *            of the window or the end of a message, and for the packets before it in the sender's
 *            queue. ACKs count as long as no answer comes: the peer need not know probes. One
 *            change a round trip, and four in a target's time at most: a change must not come
 *            before the one before it is seen
 *   target   of a flow at 100 Mbit/s the parameter, a 16th less for each doubling of the rate: the
 *            faster of two flows on one queue is above its target while the slower one is below
 *            (flow scaling of Swift, SIGCOMM 2020, but by the logarithm of the rate in place of
 *            1/sqrt(cwnd), so that flows of any speed come together equally fast)
 *   change   beta * (rtt - target) + 1/2 * (rtt - the one before), as a part of the greater of rtt
 *            and target: the distance of Swift (section 3.1) and the gradient of TIMELY (SIGCOMM
 *            2015, section 4.3) in one, as the patched TIMELY of Zhu et al. ("ECN or Delay",
 *            CoNEXT 2016) has them. A half down at most, an eighth up; nothing up above the target,
 *            and no relief for a queue that drains from `max` on (T_high of TIMELY)
 *   raise    `ai` with each change
 *   loss     a quarter down, once for all that was under way. The window, which is not of this
 *            algorithm, follows losses as well
 */
#include "num.h"
#include "rtt.h"

#define MBIT	   UINT64_C(125000)
#define SLOW	   (100 * MBIT)	      /* a flow that has all of the target */
#define OCTAVES	   16u		      /* doublings that would take all of it */
#define UPDATES	   4u		      /* in a target's time, at most */
#define ONE	   65536	      /* of shares */
#define GRADIENT   (ONE / 2)	      /* weight of the difference of two round trips */
#define CUT_MAX	   (ONE / 2)	      /* of one change */
#define RAISE_MAX  (ONE / 8)	      /* of one change */
#define SAMPLE_MAX (1u << 30)	      /* ns */
#define PROBE_GAP  UINT64_C(10000000) /* ns: a probe without an answer for so long is sent again */

const struct dpa_pcc_rtt_param dpa_pcc_rtt_default = {
	.min_rate = 10 * MBIT,
	.max_rate = 100000 * MBIT,
	.ai = 10 * MBIT,
	.target = 200000,
	.max = 2000000,
	.beta = 13107,
};

/* The state of a flow: of struct dpa_pcc_split's rate. */
struct rtt {
	uint64_t rate;
	uint64_t at;	   /* of the last change; 0: none */
	uint64_t asked_at; /* when the probe that is under way was asked for */
	uint32_t last;	   /* the sample of the last change, ns */
	uint32_t sent;	   /* bytes since asked_at */
	uint32_t recover;  /* PSN: what was lost before it is paid for, */
	bool lost;	   /* if anything was */
	bool asked;	   /* for a probe, with the first event */
	bool answers;	   /* the other side answers probes: ACKs are no samples */
	uint8_t probes;	   /* of struct dpa_pcc_result */
};
_Static_assert(sizeof(struct rtt) <= DPA_PCC_RATE_PRIV, "fits");

static void request_probe(struct rtt *r, uint64_t now)
{
	r->probes++;
	r->asked = true;
	r->asked_at = now;
	r->sent = 0;
}

static void rtt_init(void *priv, const void *param, uint64_t now)
{
	const struct dpa_pcc_rtt_param *p = param ? param : &dpa_pcc_rtt_default;
	struct rtt *r = priv;

	*r = (struct rtt){.rate = p->max_rate}; /* nothing of the algorithm before */
}

/* 256 times the binary logarithm, straight between two powers; v is not 0. */
static uint32_t log2_of(uint64_t v)
{
	uint32_t top = 63u - (uint32_t)__builtin_clzll(v);

	return top << 8 | (uint32_t)(v << (63 - top) >> 55 & 0xff);
}

/* ns */
static uint32_t rtt_target_of(const struct rtt *r, const struct dpa_pcc_rtt_param *p)
{
	uint32_t log = log2_of(r->rate), slow = log2_of(SLOW);

	if (log <= slow)
		return p->target;
	return p->target - (uint32_t)((uint64_t)p->target * (log - slow) / (OCTAVES << 8));
}

/* bytes/s that have left, also where the window or the program limits and not the rate */
static uint64_t measured_rate(const struct rtt *r, const struct dpa_pcc_event *ev)
{
	if (ev->type == DPA_PCC_ACK)
		return ev->inflight * UINT64_C(1000000000) / ev->rtt_ns;
	return r->sent * UINT64_C(1000000000) / (dpa_pcc_since(ev->now, r->asked_at) + 1);
}

/* The part of the rate, of ONE, that the sample takes off. */
static int64_t rate_part_of(const struct rtt *r, const struct dpa_pcc_rtt_param *p, int64_t rtt,
			    int64_t target)
{
	int64_t slope = r->at ? rtt - r->last : 0, part;

	if (rtt >= p->max && slope < 0)
		slope = 0;
	part = (p->beta * (rtt - target) + GRADIENT * slope) / (rtt > target ? rtt : target);
	if (part > CUT_MAX)
		return CUT_MAX;
	if (part < 0 && rtt > target)
		return 0;
	return part < -RAISE_MAX ? -RAISE_MAX : part;
}

static void change_rate(struct rtt *r, const struct dpa_pcc_rtt_param *p,
			const struct dpa_pcc_event *ev, uint32_t rtt, uint32_t target)
{
	int64_t part = rate_part_of(r, p, rtt, target);
	uint64_t through = measured_rate(r, ev);
	uint64_t ai = p->ai < r->rate / 8 ? p->ai : r->rate / 8;

	if (part > 0 && r->rate > through && through > p->min_rate)
		r->rate = through;
	r->rate -= (uint64_t)(part * (int64_t)(r->rate / ONE));
	r->rate = dpa_pcc_clamp(r->rate + ai, p->min_rate, p->max_rate);
	r->last = rtt;
	r->at = ev->now;
}

static void rtt_take_sample(struct rtt *r, const struct dpa_pcc_rtt_param *p,
			    const struct dpa_pcc_event *ev)
{
	uint32_t rtt = (uint32_t)dpa_pcc_clamp(ev->rtt_ns, 1, SAMPLE_MAX);
	uint32_t target = rtt_target_of(r, p);
	uint32_t gap = rtt > target / UPDATES ? rtt : target / UPDATES;

	if (!r->at || dpa_pcc_since(ev->now, r->at) >= gap)
		change_rate(r, p, ev, rtt, target);
}

/* The missing packet was sent before the last one that was paid for, or not. */
static void rtt_take_loss(struct rtt *r, const struct dpa_pcc_rtt_param *p,
			  const struct dpa_pcc_event *ev)
{
	if (r->lost && (int32_t)((ev->psn - r->recover) << 8) < 0)
		return;
	r->lost = true;
	r->recover = ev->end_psn;
	r->rate = dpa_pcc_clamp(r->rate - r->rate / 4, p->min_rate, p->max_rate);
}

static void rtt_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	const struct dpa_pcc_rtt_param *p = param ? param : &dpa_pcc_rtt_default;
	struct rtt *r = priv;

	if (ev->type == DPA_PCC_SENT)
		r->sent += ev->bytes;
	if (ev->type == DPA_PCC_LOSS)
		rtt_take_loss(r, p, ev);
	if (ev->rtt_ns && (ev->type == DPA_PCC_RTT || (ev->type == DPA_PCC_ACK && !r->answers)))
		rtt_take_sample(r, p, ev);
	if (ev->type == DPA_PCC_RTT) {
		r->answers = true;
		request_probe(r, ev->now);
	} else if (!r->asked || dpa_pcc_since(ev->now, r->asked_at) >= PROBE_GAP) {
		r->answers = false;
		request_probe(r, ev->now);
	}
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
