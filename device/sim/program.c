/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * program.c - flows whose rate a congestion control program of the DPA decides, in simulated time.
 * The events are those of the device (pcc/report.h). An answer is there at once: a device's flow has
 * it some hundred nanoseconds later, in front of its next packet.
 */
#include <string.h>
#include "sim_priv.h"

/* The rate's private part of a flow. */
struct by_program {
	struct dpa_sim *sim;
	struct sim_flow *flow;
	struct dpa_pcc_reporter reporter;
	uint32_t rate;
	uint8_t probes;
};
_Static_assert(sizeof(struct by_program) <= DPA_PCC_RATE_PRIV, "fits");

static void program_init(void *priv, const void *param, uint64_t now)
{
}

static void program_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	struct by_program *p = priv;
	const struct dpa_sim_program *prog = p->sim->s.program;
	struct dpa_pcc_sender s = {
		.flow = p->flow->index + 1u,
		.qpn = p->flow->index + 1u,
		.mtu = p->sim->s.mtu,
		.psn = (uint32_t)p->flow->pos & 0xffffff,
		.slot = (uint8_t)prog->slot,
		.sent = p->flow->probes,
	};
	struct dpa_pcc_report r;
	bool probe = false;

	if (!dpa_pcc_report_make(&p->reporter, &s, ev, &r) || prog->disabled >> r.type & 1)
		return;
	p->rate = prog->answer(prog->arg, ev->now, &r, p->flow->ctxt, p->rate, &probe);
	p->probes = (uint8_t)(p->probes + probe);
}

static void program_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	const struct by_program *p = priv;

	res->probes = p->probes;
	res->rate = dpa_pcc_report_rate(p->rate);
}

static const struct dpa_pcc_rate_algo program_algo = {
	.name = "image", .init = program_init, .on_event = program_event, .get = program_get};

void sim_program_begin(struct dpa_sim *sim, struct sim_flow *f)
{
	struct by_program *p = (struct by_program *)f->split.priv;

	memset(f->split.priv, 0, sizeof(f->split.priv));
	p->sim = sim;
	p->flow = f;
	p->rate = DPA_PCC_RATE_ONE;
	dpa_pcc_init_split(&f->pcc, &f->split, &program_algo, NULL, f->work.start);
}
