/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* standins_pcc.h - the port's congestion control of the harness. All zero: no QP follows it. */
#ifndef TH_STANDINS_PCC_H
#define TH_STANDINS_PCC_H

#include "board/board_layout.h"
#include "tables/pcc.h"

#define TH_PCC_REPORTS 64u

extern struct th_pcc {
	_Atomic uint64_t word, result;
	uint32_t params[DPA_PCC_PARAMS]; /* 0: the default */
	_Atomic uint32_t counts[DPA_PCC_BUILTIN_COUNTERS];
	struct dpa_pcc_report reports[TH_PCC_REPORTS];
	struct dpa_board_pcc_flow flow;
	uint32_t nreports, disabled, checks;
	bool no_memory;
	/* of the flows' image, if there is one; of the port's program */
	struct dpa_pcc_probes probes, np_takes;
	bool has_probes, has_np, np_full;
	struct dpa_pcc_probe np_probe; /* the last probe that it received */
	uint32_t np_posts, np_drops, np_checks;
	enum dpa_np_state np_state;
	struct dpa_pcc_reply np_answer;
	/* of dpa_board_pcc_header(); it is being changed */
	uint32_t header[DPA_PCC_HEADER], header_flow;
	bool header_torn;
} th_pcc;

#endif
