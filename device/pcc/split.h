/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * split.h - a flow whose rate is set by one algorithm and whose window is DCQCN's, which follows
 * losses. The adapters for which congestion control programs are written have no window; this one
 * needs it, because its links may drop packets.
 */
#ifndef DPA_PCC_SPLIT_H
#define DPA_PCC_SPLIT_H

#include "pcc.h"

#define DPA_PCC_RATE_PRIV 64 /* bytes of a rate algorithm's own for each flow */

/*
 * As struct dpa_pcc_algo, for the rate alone. get() sets rate, probes and, if it has to be asked
 * again without an event, wake. It hears of all events but RNR and TIMER.
 */
struct dpa_pcc_rate_algo {
	const char *name;
	void (*init)(void *priv, const void *param, uint64_t now);
	void (*on_event)(void *priv, const void *param, const struct dpa_pcc_event *ev);
	void (*get)(const void *priv, const void *param, struct dpa_pcc_result *res);
};

/* Belongs to a struct dpa_pcc_flow and is used with it only. */
struct dpa_pcc_split {
	struct dpa_pcc_flow window; /* its rate is not used */
	const struct dpa_pcc_rate_algo *rate;
	const void *param;
	uint64_t priv[DPA_PCC_RATE_PRIV / 8];
};

/* As dpa_pcc_init(). *s: the rate's priv may be filled in before; init() is called afterwards. */
void dpa_pcc_init_split(struct dpa_pcc_flow *f, struct dpa_pcc_split *s,
			const struct dpa_pcc_rate_algo *rate, const void *param, uint64_t now);

#endif
