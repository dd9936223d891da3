/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dcqcn.c - the default algorithm: a rate that follows CNPs (Zhu et al., "Congestion Control for
 * Large-Scale RDMA Deployments", SIGCOMM 2015). A window follows losses, for networks without
 * marking.
 *
 * Rate: not paced until the first CNP. A CNP cuts the rate by alpha / Gd and makes the old rate the
 * target. Then a timer and a byte counter step. For `threshold` steps the rate moves half the way
 * to the target (fast recovery). After that the target rises, too (additive increase). It rises
 * faster once both the timer and the counter have made `threshold` steps (hyper increase). alpha is
 * the moving average of the share of periods with a CNP. Each event catches up with the time, so
 * that late timers change nothing.
 */
#include "dcqcn.h"
#include "num.h"

#define ONE	   1024u /* unit of the parameters that are shares */
/* unit of alpha: finer, because small values would not decay otherwise */
#define ALPHA_ONE  (1u << 20)
#define US	   UINT64_C(1000)
#define RTT_MIN	   1000u /* ns; limits of samples that are used */
#define RTT_MAX	   4000000000u
#define RTT_GUESS  100000u /* until there is a sample */
#define CATCH_UP   1024	   /* timer steps at once; after more the flow starts again */
#define PSN_MASK   0xffffffu
/* ns: within this time PSNs have not wrapped, and no older packet is in flight */
#define FLIGHT_MAX UINT64_C(50000000)

const struct dpa_pcc_dcqcn_param dpa_pcc_dcqcn_default = {
	.rpg_max_rate = UINT64_C(12500000000), /* 100 Gbit/s */
	.rpg_min_rate = 1250000,	       /* 10 Mbit/s */
	.rpg_ai_rate = 5000000,		       /* 40 Mbit/s */
	.rpg_hai_rate = 50000000,	       /* 400 Mbit/s */
	.rate_to_set_on_first_cnp = 0,
	.rpg_time_reset = 55 * US,
	.rpg_byte_reset = 10000000,
	.rpg_threshold = 5,
	.rpg_gd = 1,
	.rpg_min_dec_fac = 50,
	.rate_reduce_monitor_period = 50 * US,
	.dce_tcp_g = 4,
	.dce_tcp_rtt = 55 * US,
	.initial_alpha_value = 1023,
	.wnd_initial = 128 << 10,
	.wnd_min = 16 << 10,
	.wnd_max = 1 << 20,
	.wnd_ai = 8 << 10,
	.wnd_cut = 717, /* 0.7 */
	.wnd_wide = 128 << 10,
	.wnd_cut_wide = 870, /* 0.85 */
};

/* State of a flow: DPA_PCC_PRIV bytes. */
struct dcqcn {
	uint64_t rc;	   /* current rate; DPA_PCC_NO_LIMIT: not paced */
	uint64_t rt;	   /* target rate */
	uint64_t step_at;  /* begin of the timer's period; the time of the cut while tc is 0 */
	uint64_t alpha_at; /* alpha's period began */
	uint64_t cut_at;   /* window: time of the last cut */
	uint32_t alpha;	   /* of ALPHA_ONE */
	uint32_t bytes;	   /* sent since the last step of the byte counter */
	uint32_t wnd;
	uint32_t ssthresh; /* window: below it each acknowledged byte adds a byte */
	uint32_t srtt;	   /* ns, 0: no sample yet */
	uint32_t cut_end;  /* window: one past the last PSN sent before the last cut */
	uint8_t tc, bc;	   /* steps of the timer and of the byte counter since the cut */
	uint8_t cnp;	   /* a CNP came in alpha's current period */
	uint8_t has_cut;   /* window: cut_at is valid */
};
_Static_assert(sizeof(struct dcqcn) <= DPA_PCC_PRIV, "fits");

bool dpa_pcc_dcqcn_param_ok(const struct dpa_pcc_dcqcn_param *p)
{
	return p->rpg_min_rate >= DPA_PCC_RATE_MIN && p->rpg_max_rate >= p->rpg_min_rate &&
	       p->rpg_max_rate < DPA_PCC_NO_LIMIT && p->rpg_ai_rate && p->rpg_hai_rate &&
	       p->rpg_ai_rate <= p->rpg_max_rate && p->rpg_hai_rate <= p->rpg_max_rate &&
	       p->rate_to_set_on_first_cnp <= p->rpg_max_rate && p->rpg_time_reset >= US &&
	       p->rpg_byte_reset && p->rpg_threshold && p->rpg_threshold <= 31 && p->rpg_gd <= 10 &&
	       p->rpg_min_dec_fac <= 100 && p->rate_reduce_monitor_period <= p->rpg_time_reset &&
	       p->dce_tcp_g && p->dce_tcp_g <= ONE && p->dce_tcp_rtt >= US &&
	       p->initial_alpha_value <= ONE && p->wnd_min >= DPA_PCC_WND_MIN &&
	       p->wnd_min <= p->wnd_initial && p->wnd_initial <= p->wnd_max &&
	       p->wnd_max <= DPA_PCC_WND_MAX && p->wnd_ai && p->wnd_ai <= p->wnd_max &&
	       p->wnd_cut <= p->wnd_cut_wide && p->wnd_cut_wide < ONE && p->wnd_wide >= p->wnd_min;
}

static const struct dpa_pcc_dcqcn_param *dcqcn_param_of(const void *param)
{
	return param ? param : &dpa_pcc_dcqcn_default;
}

static bool is_paced(const struct dcqcn *d)
{
	return d->rc < DPA_PCC_NO_LIMIT;
}

/* ------------------------------------------------------------------------ the rate */

static void release_rate(struct dcqcn *d, const struct dpa_pcc_dcqcn_param *p)
{
	d->rc = d->rt = DPA_PCC_NO_LIMIT;
	d->alpha = p->initial_alpha_value * (ALPHA_ONE / ONE);
	d->cnp = 0;
}

/* The timer or the byte counter has stepped: raises the rate. */
static void raise_rate(struct dcqcn *d, const struct dpa_pcc_dcqcn_param *p)
{
	uint32_t least = d->tc < d->bc ? d->tc : d->bc;
	uint32_t most = d->tc < d->bc ? d->bc : d->tc;

	if (least > p->rpg_threshold)
		d->rt += p->rpg_hai_rate * (least - p->rpg_threshold);
	else if (most >= p->rpg_threshold)
		d->rt += p->rpg_ai_rate;
	d->rt = d->rt < p->rpg_max_rate ? d->rt : p->rpg_max_rate;
	d->rc += (d->rt - d->rc + 1) / 2;
	if (d->rc >= p->rpg_max_rate)
		release_rate(d, p);
}

static void count_step(uint8_t *steps)
{
	if (*steps < UINT8_MAX)
		++*steps;
}

/* Handles the periods that have ended by now. */
static void catch_up(struct dcqcn *d, const struct dpa_pcc_dcqcn_param *p, uint64_t now)
{
	uint32_t n;

	for (n = 0; n < CATCH_UP && dpa_pcc_since(now, d->alpha_at) >= p->dce_tcp_rtt; n++) {
		d->alpha -= (uint32_t)(((uint64_t)d->alpha * p->dce_tcp_g) / ONE);
		if (d->cnp)
			d->alpha += p->dce_tcp_g * (ALPHA_ONE / ONE);
		d->cnp = 0;
		d->alpha_at += p->dce_tcp_rtt;
	}
	if (n == CATCH_UP)
		d->alpha_at = now;
	for (n = 0; n < CATCH_UP && dpa_pcc_since(now, d->step_at) >= p->rpg_time_reset; n++) {
		d->step_at += p->rpg_time_reset;
		count_step(&d->tc);
		raise_rate(d, p);
		if (!is_paced(d))
			return;
	}
	if (n == CATCH_UP)
		release_rate(d, p);
}

/* Rate from which a flow is cut that is not paced, or is paced above what its window allows. */
static uint64_t effective_rate(const struct dcqcn *d, const struct dpa_pcc_dcqcn_param *p)
{
	uint64_t rate = d->rc;

	if (!is_paced(d))
		rate = p->rate_to_set_on_first_cnp ? p->rate_to_set_on_first_cnp : p->rpg_max_rate;
	if (d->srtt && (uint64_t)d->wnd * 1000000000 / d->srtt < rate)
		rate = (uint64_t)d->wnd * 1000000000 / d->srtt;
	return rate;
}

static void on_cnp(struct dcqcn *d, const struct dpa_pcc_dcqcn_param *p, uint64_t now)
{
	uint64_t rate, cut, most;

	if (is_paced(d) && !d->tc &&
	    dpa_pcc_since(now, d->step_at) < p->rate_reduce_monitor_period) {
		/* of the congestion for which the rate was cut already: counts for alpha only */
		d->cnp = 1;
		return;
	}
	if (!is_paced(d))
		d->alpha_at = now;
	rate = effective_rate(d, p);
	cut = (rate >> p->rpg_gd) * d->alpha / ALPHA_ONE;
	most = rate - rate / 100 * p->rpg_min_dec_fac;
	d->rt = rate;
	d->rc = rate - (cut < most ? cut : most);
	if (d->rc < p->rpg_min_rate)
		d->rc = p->rpg_min_rate;
	if (d->rt < d->rc)
		d->rt = d->rc;
	d->cnp = 1;
	d->step_at = now;
	d->bytes = 0;
	d->tc = d->bc = 0;
}

static void on_sent(struct dcqcn *d, const struct dpa_pcc_dcqcn_param *p, uint32_t bytes)
{
	uint64_t sum = (uint64_t)d->bytes + bytes;

	/* One step at a time: all that leaves in one call was allowed by one rate. */
	if (sum >= p->rpg_byte_reset) {
		sum %= p->rpg_byte_reset;
		count_step(&d->bc);
		raise_rate(d, p);
	}
	d->bytes = (uint32_t)sum;
}

/* ---------------------------------------------------------------------- the window */

static void smooth_rtt(struct dcqcn *d, uint64_t rtt)
{
	uint32_t r = (uint32_t)dpa_pcc_clamp(rtt, RTT_MIN, RTT_MAX);

	if (rtt)
		d->srtt = d->srtt ? d->srtt - d->srtt / 8 + r / 8 : r;
}

/* Grows with arriving data, but not while the flow does not use its window. */
static void dcqcn_on_ack(struct dcqcn *d, const struct dpa_pcc_dcqcn_param *p,
			 const struct dpa_pcc_event *ev)
{
	uint64_t wnd = d->wnd;

	smooth_rtt(d, ev->rtt_ns);
	if (ev->inflight < d->wnd / 2)
		return;
	if (d->wnd < d->ssthresh) /* an ACK may cover more, behind a missing packet */
		wnd = dpa_pcc_clamp(wnd + (ev->bytes < d->wnd ? ev->bytes : d->wnd), 0,
				    d->ssthresh);
	else
		wnd += (uint64_t)ev->bytes * p->wnd_ai / d->wnd;
	d->wnd = (uint32_t)dpa_pcc_clamp(wnd, p->wnd_min, p->wnd_max);
}

/*
 * Returns the share of the window that a loss leaves, in units of ONE. A wide window is cut less
 * (as in RFC 3649, section 5): some of its many packets are lost even if there is little other
 * traffic. Its growth in a round trip is a small part of it.
 */
static uint32_t cut_to(uint32_t wnd, const struct dpa_pcc_dcqcn_param *p)
{
	uint32_t low = p->wnd_wide / 4, span = p->wnd_wide - low;

	if (wnd <= low)
		return p->wnd_cut;
	if (wnd >= p->wnd_wide)
		return p->wnd_cut_wide;
	return p->wnd_cut +
	       (uint32_t)((uint64_t)(p->wnd_cut_wide - p->wnd_cut) * (wnd - low) / span);
}

/*
 * True for a loss of the flight that was cut already: packets lost together were lost in one queue
 * that overflowed. A peer names missing packets one by one, one each round trip; a packet sent
 * before the last cut is no new loss (RFC 6582's "recover").
 */
static bool is_of_last_cut(const struct dcqcn *d, const struct dpa_pcc_event *ev)
{
	uint64_t since = dpa_pcc_since(ev->now, d->cut_at);
	uint32_t behind = (d->cut_end - ev->psn) & PSN_MASK;

	if (!d->has_cut)
		return false;
	return since < (d->srtt ? d->srtt : RTT_GUESS) ||
	       (ev->type == DPA_PCC_LOSS && since < FLIGHT_MAX && behind && behind <= PSN_MASK / 2);
}

static bool cut_window(struct dcqcn *d, const struct dpa_pcc_dcqcn_param *p,
		       const struct dpa_pcc_event *ev)
{
	if (is_of_last_cut(d, ev))
		return false;
	d->has_cut = 1;
	d->cut_at = ev->now;
	d->cut_end = ev->end_psn;
	d->ssthresh = (uint32_t)dpa_pcc_clamp((uint64_t)d->wnd * cut_to(d->wnd, p) / ONE,
					      p->wnd_min, p->wnd_max);
	return true;
}

/* ------------------------------------------------------------------- the algorithm */

static void dcqcn_init(void *priv, const void *param, uint64_t now)
{
	const struct dpa_pcc_dcqcn_param *p = dcqcn_param_of(param);
	struct dcqcn *d = priv;

	release_rate(d, p);
	d->wnd = p->wnd_initial;
	d->ssthresh = p->wnd_max;
}

static void dcqcn_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	const struct dpa_pcc_dcqcn_param *p = dcqcn_param_of(param);
	struct dcqcn *d = priv;

	if (is_paced(d))
		catch_up(d, p, ev->now);
	switch (ev->type) {
	case DPA_PCC_ACK:
		dcqcn_on_ack(d, p, ev);
		break;
	case DPA_PCC_LOSS:
		if (cut_window(d, p, ev))
			d->wnd = d->ssthresh;
		break;
	case DPA_PCC_TIMEOUT: /* no answer at all: start again with the smallest window */
		if (cut_window(d, p, ev))
			d->wnd = p->wnd_min;
		break;
	case DPA_PCC_CNP:
		on_cnp(d, p, ev->now);
		break;
	case DPA_PCC_SENT:
		if (is_paced(d))
			on_sent(d, p, ev->bytes);
		break;
	default:
		break;
	}
}

static void dcqcn_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	const struct dpa_pcc_dcqcn_param *p = dcqcn_param_of(param);
	const struct dcqcn *d = priv;

	*res = (struct dpa_pcc_result){
		.rate = d->rc,
		.wake = DPA_PCC_NEVER,
		.window = d->wnd,
		.events = DPA_PCC_WANT(DPA_PCC_ACK) | DPA_PCC_WANT(DPA_PCC_LOSS) |
			  DPA_PCC_WANT(DPA_PCC_TIMEOUT) | DPA_PCC_WANT(DPA_PCC_CNP)};
	if (!is_paced(d))
		return;
	res->wake = dpa_pcc_after(d->step_at, p->rpg_time_reset);
	res->events |= DPA_PCC_WANT(DPA_PCC_SENT) | DPA_PCC_WANT(DPA_PCC_TIMER);
}

const struct dpa_pcc_algo dpa_pcc_dcqcn = {
	.name = "dcqcn", .init = dcqcn_init, .on_event = dcqcn_event, .get = dcqcn_get};
