/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The port's congestion control in plain memory: its word, what flows report, the answer. */
#include "standins_pcc.h"

struct th_pcc th_pcc;

_Atomic uint64_t *dpa_board_pcc_word(struct dpa_board *b)
{
	return &th_pcc.word;
}

void dpa_board_pcc_params(struct dpa_board *b, uint32_t slot, uint32_t value[DPA_PCC_PARAMS])
{
	const struct dpa_pcc_builtin_desc *d = dpa_board_pcc_builtin(slot);

	for (uint32_t i = 0; i < d->nparams; i++)
		value[i] = th_pcc.params[i] ? th_pcc.params[i] : d->params[i].def;
}

_Atomic uint32_t *dpa_board_pcc_counts(struct dpa_board *b, uint32_t slot)
{
	return th_pcc.counts;
}

int dpa_board_pcc_ring_open(struct dpa_board *b)
{
	return 0;
}

bool dpa_board_pcc_report(struct dpa_board *b, const struct dpa_pcc_report *r)
{
	if (th_pcc.nreports == TH_PCC_REPORTS)
		return false;
	th_pcc.reports[th_pcc.nreports++] = *r;
	return true;
}

uint32_t dpa_board_pcc_disabled(struct dpa_board *b)
{
	return th_pcc.disabled;
}

_Atomic uint64_t *dpa_board_pcc_result(struct dpa_board *b, uint32_t qpn)
{
	return th_pcc.no_memory ? NULL : &th_pcc.result;
}

void dpa_board_pcc_check(struct dpa_board *b)
{
	th_pcc.checks++;
}

void dpa_board_pcc_leave(struct dpa_board *b)
{
}

struct dpa_board_pcc_flow *dpa_board_pcc_flow_begin(struct dpa_board *b, uint32_t qpn)
{
	return &th_pcc.flow;
}

struct dpa_board_pcc_queue *dpa_board_pcc_queue_mine(struct dpa_board *b)
{
	return NULL;
}

void dpa_board_pcc_record_check(struct dpa_board *b, uint64_t now)
{
}
