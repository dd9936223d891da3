/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * standins_pcc.c - the port's congestion control in plain memory: its word, reports of flows, the
 * answer.
 */
#include <string.h>
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

bool dpa_board_pcc_probes(struct dpa_board *b, uint32_t number, struct dpa_pcc_probes *out)
{
	*out = th_pcc.probes;
	return th_pcc.has_probes;
}

bool dpa_board_pcc_header(struct dpa_board *b, uint32_t number, uint32_t flow,
			  uint32_t words[DPA_PCC_HEADER])
{
	th_pcc.header_flow = flow;
	memcpy(words, th_pcc.header, sizeof(th_pcc.header));
	return !th_pcc.header_torn;
}

bool dpa_board_np_takes(struct dpa_board *b, const struct dpa_pcc_probes *probe)
{
	return th_pcc.has_np && probe->format == th_pcc.np_takes.format &&
	       (probe->format != DPA_PCC_IFA1 || probe->marker == th_pcc.np_takes.marker) &&
	       (probe->format != DPA_PCC_IFA2 || probe->gns == th_pcc.np_takes.gns);
}

bool dpa_board_np_post(struct dpa_board *b, struct dpa_pcc_probe *probe)
{
	if (th_pcc.np_full)
		return false;
	probe->ring = 3;
	probe->serial = 4 * ++th_pcc.np_posts;
	th_pcc.np_probe = *probe;
	th_pcc.np_state = DPA_NP_WAITS;
	return true;
}

enum dpa_np_state dpa_board_np_poll(struct dpa_board *b, uint32_t ring, uint64_t serial,
				    struct dpa_pcc_reply *reply)
{
	if (ring != th_pcc.np_probe.ring || serial != th_pcc.np_probe.serial)
		return DPA_NP_NONE;
	*reply = th_pcc.np_answer;
	return th_pcc.np_state;
}

void dpa_board_np_drop(struct dpa_board *b, uint32_t ring, uint64_t serial)
{
	th_pcc.np_drops++;
}

void dpa_board_np_check(struct dpa_board *b)
{
	th_pcc.np_checks++;
}
