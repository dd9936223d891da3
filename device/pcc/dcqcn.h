/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dcqcn.h - parameters of the default algorithm, with the names that operators use. */
#ifndef DPA_PCC_DCQCN_H
#define DPA_PCC_DCQCN_H

#include "pcc.h"

struct dpa_pcc_dcqcn_param {
	/* Rate, driven by CNPs: bytes/s, ns, bytes; shares of 1024. */
	uint64_t rpg_max_rate; /* above it a flow is not paced */
	uint64_t rpg_min_rate; /* lower limit of CNP cuts */
	/* added to the target in each step of additive increase */
	uint64_t rpg_ai_rate;
	uint64_t rpg_hai_rate; /* the same for hyper increase, times the step */
	/* first cut starts from this rate; 0: from the rate that the window allows */
	uint64_t rate_to_set_on_first_cnp;
	uint32_t rpg_time_reset;	     /* ns between two steps of the timer */
	uint32_t rpg_byte_reset;	     /* bytes between two steps of the byte counter */
	uint32_t rpg_threshold;		     /* steps of fast recovery */
	uint32_t rpg_gd;		     /* log2(Gd): a cut is by alpha / Gd */
	uint32_t rpg_min_dec_fac;	     /* per cent of the rate that a cut leaves at least */
	uint32_t rate_reduce_monitor_period; /* minimum ns between two cuts */
	uint32_t dce_tcp_g;		     /* of 1024: weight of the newest period in alpha */
	uint32_t dce_tcp_rtt;		     /* ns between two updates of alpha */
	uint32_t initial_alpha_value;	     /* of 1024 */
	/* Window, driven by losses: bytes. */
	uint32_t wnd_initial, wnd_min, wnd_max;
	uint32_t wnd_ai;  /* added in each round trip without loss */
	uint32_t wnd_cut; /* of 1024: what a loss leaves of a window up to a quarter of wnd_wide */
	/* the same for a window of wnd_wide; interpolated in between */
	uint32_t wnd_wide, wnd_cut_wide;
};

extern const struct dpa_pcc_dcqcn_param dpa_pcc_dcqcn_default;
/* True if flows may use these values: no value that stops the machine or a flow. */
bool dpa_pcc_dcqcn_param_ok(const struct dpa_pcc_dcqcn_param *p);

#endif
