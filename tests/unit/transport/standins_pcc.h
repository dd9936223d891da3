/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The port's congestion control of the harness. All zero: no QP follows it. */
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
} th_pcc;

#endif
