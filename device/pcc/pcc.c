/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc.c - common to all algorithms: limits, pacing, and the decision when a marked packet is
 * answered.
 */
#include <string.h>
#include "num.h"
#include "pcc.h"

#define SCALE	   INT64_C(1000000000) /* tokens are bytes * SCALE: a rate times ns, exactly */
#define BURST_MIN  16384u
#define BURST_MAX  262144u
#define BURST_TIME 13		      /* 2^-13 s: about as late as a sleeping EU may wake up */
#define DEBT_MAX   (INT64_C(1) << 30) /* bytes */
_Static_assert((DEBT_MAX + UINT32_MAX) * SCALE < INT64_MAX / 3 * 2, "no overflow");

const struct dpa_pcc_algo *const dpa_pcc_algos[] = {&dpa_pcc_dcqcn, &dpa_pcc_none};
const size_t dpa_pcc_algos_num = sizeof(dpa_pcc_algos) / sizeof(dpa_pcc_algos[0]);

uint32_t dpa_pcc_burst(const struct dpa_pcc_flow *f)
{
	return (uint32_t)dpa_pcc_clamp(f->rate >> BURST_TIME, BURST_MIN, BURST_MAX);
}

/* Gets the algorithm's answer and applies the limits, whichever algorithm it is. */
static void refresh_param(struct dpa_pcc_flow *f)
{
	struct dpa_pcc_result res = {
		.rate = DPA_PCC_NO_LIMIT, .wake = DPA_PCC_NEVER, .window = DPA_PCC_WND_MAX};
	uint32_t timed = DPA_PCC_WANT(DPA_PCC_SENT) | DPA_PCC_WANT(DPA_PCC_TIMER);

	f->algo->get(f->priv, f->param, &res);
	f->rate = dpa_pcc_clamp(res.rate, DPA_PCC_RATE_MIN, DPA_PCC_NO_LIMIT);
	f->window = (uint32_t)dpa_pcc_clamp(res.window, DPA_PCC_WND_MIN, DPA_PCC_WND_MAX);
	f->wake = res.wake;
	f->events = (uint16_t)res.events;
	f->probes = res.probes;
	f->active = f->rate < DPA_PCC_NO_LIMIT || (res.events & timed);
	if (f->tokens > dpa_pcc_burst(f) * SCALE)
		f->tokens = dpa_pcc_burst(f) * SCALE;
}

void dpa_pcc_init(struct dpa_pcc_flow *f, const struct dpa_pcc_algo *algo, const void *param,
		  uint64_t now)
{
	memset(f, 0, sizeof(*f));
	f->algo = algo;
	f->param = param;
	f->fill_at = now;
	f->tokens = BURST_MIN * SCALE;
	algo->init(f->priv, param, now);
	refresh_param(f);
}

/* Adds tokens for the time since the last call, at the rate that applied meanwhile. */
static void fill_bucket(struct dpa_pcc_flow *f, uint64_t now)
{
	int64_t full = dpa_pcc_burst(f) * SCALE;
	uint64_t room = (uint64_t)(full - f->tokens);
	uint64_t past = dpa_pcc_since(now, f->fill_at);

	if (!past)
		return;
	if (past > room / f->rate) /* otherwise the product is at most room */
		f->tokens = full;
	else
		f->tokens += (int64_t)(past * f->rate);
	f->fill_at = now;
}

void dpa_pcc_deliver(struct dpa_pcc_flow *f, const struct dpa_pcc_event *ev)
{
	if (f->active)
		fill_bucket(f, ev->now);
	else
		f->fill_at = ev->now; /* pacing may begin here */
	f->algo->on_event(f->priv, f->param, ev);
	refresh_param(f);
}

uint64_t dpa_pcc_wait(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes)
{
	int64_t need;

	if (now >= f->wake && (f->events & DPA_PCC_WANT(DPA_PCC_TIMER))) {
		struct dpa_pcc_event ev = {.now = now, .type = DPA_PCC_TIMER};

		dpa_pcc_deliver(f, &ev);
	}
	if (f->rate >= DPA_PCC_NO_LIMIT)
		return 0;
	fill_bucket(f, now);
	/*
	 * A packet that exceeds a burst leaves when the bucket is full, and is paid off afterwards.
	 */
	need = (int64_t)dpa_pcc_clamp(bytes, 0, dpa_pcc_burst(f)) * SCALE;
	if (f->tokens >= need)
		return 0;
	return ((uint64_t)(need - f->tokens) + f->rate - 1) / f->rate;
}

void dpa_pcc_spend(struct dpa_pcc_flow *f, uint64_t now, uint32_t bytes)
{
	struct dpa_pcc_event ev = {.now = now, .type = DPA_PCC_SENT, .bytes = bytes};

	fill_bucket(f, now);
	f->tokens -= bytes * SCALE;
	if (f->tokens < -DEBT_MAX * SCALE)
		f->tokens = -DEBT_MAX * SCALE;
	(void)dpa_pcc_event(f, &ev);
}

unsigned dpa_cnp_np(struct dpa_np_flow *np, uint8_t tos, uint64_t now)
{
	if ((tos & DPA_ECN_MASK) != DPA_ECN_CE)
		return 0;
	/* A clock that went back must not suppress CNPs for long. */
	if (now < np->next && np->next - now <= DPA_CNP_MIN_GAP)
		return DPA_NP_MARKED;
	np->next = dpa_pcc_after(now, DPA_CNP_MIN_GAP);
	return DPA_NP_MARKED | DPA_NP_ANSWER;
}

/* ------------------------------------------------------------------ algorithm: none */

#define NONE_WINDOW (1u << 20)

static void none_init(void *priv, const void *param, uint64_t now)
{
}

static void none_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
}

static void none_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	*res = (struct dpa_pcc_result){
		.rate = DPA_PCC_NO_LIMIT, .wake = DPA_PCC_NEVER, .window = NONE_WINDOW};
}

const struct dpa_pcc_algo dpa_pcc_none = {
	.name = "none", .init = none_init, .on_event = none_event, .get = none_get};
