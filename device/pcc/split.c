/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* split.c - a flow with two algorithms: see split.h. */
#include <string.h>
#include "split.h"

static struct dpa_pcc_split *split_of(const void *priv)
{
	struct dpa_pcc_split *s;

	memcpy(&s, priv, sizeof(s));
	return s;
}

/* dpa_pcc_init() has cleared priv: dpa_pcc_init_split() goes on. */
static void split_init(void *priv, const void *param, uint64_t now)
{
	memcpy(priv, &param, sizeof(param));
}

static void split_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	struct dpa_pcc_split *s = split_of(priv);

	if (ev->type == DPA_PCC_ACK || ev->type == DPA_PCC_LOSS || ev->type == DPA_PCC_TIMEOUT)
		dpa_pcc_event(&s->window, ev);
	if (ev->type != DPA_PCC_TIMER)
		s->rate->on_event(s->priv, s->param, ev);
}

static void split_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	const struct dpa_pcc_split *s = split_of(priv);

	res->rate = DPA_PCC_NO_LIMIT;
	res->wake = DPA_PCC_NEVER;
	res->window = s->window.window;
	s->rate->get(s->priv, s->param, res);
	res->events = DPA_PCC_WANT(DPA_PCC_ACK) | DPA_PCC_WANT(DPA_PCC_LOSS) |
		      DPA_PCC_WANT(DPA_PCC_TIMEOUT) | DPA_PCC_WANT(DPA_PCC_RNR) |
		      DPA_PCC_WANT(DPA_PCC_CNP) | DPA_PCC_WANT(DPA_PCC_SENT) |
		      DPA_PCC_WANT(DPA_PCC_RTT);
	if (res->wake != DPA_PCC_NEVER)
		res->events |= DPA_PCC_WANT(DPA_PCC_TIMER);
}

static const struct dpa_pcc_algo split_algo = {
	.name = "split", .init = split_init, .on_event = split_event, .get = split_get};

void dpa_pcc_init_split(struct dpa_pcc_flow *f, struct dpa_pcc_split *s,
			const struct dpa_pcc_rate_algo *rate, const void *param, uint64_t now)
{
	dpa_pcc_init(&s->window, &dpa_pcc_dcqcn, NULL, now);
	s->rate = rate;
	s->param = param;
	rate->init(s->priv, param, now);
	dpa_pcc_init(f, &split_algo, s, now);
}
