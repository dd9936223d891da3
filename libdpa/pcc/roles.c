/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* roles.c - what a reaction point and a notification point do with the port: see pcc.h. */
#include <stdlib.h>
#include <string.h>
#include "pcc.h"

/* ------------------------------------------------------------------ reaction point */

/* The program's algorithms and slots, then its events. False: it has faulted. */
static bool activate_rp(struct doca_pcc *pcc)
{
	struct dpa_pcc_init *init = calloc(1, sizeof(*init));
	bool ok = init && pcc_call(pcc, PCC_INIT, init) &&
		  !pcc->ops->publish(pcc->image, init->slots, init->populated, init->enabled,
				     init->disabled_events, &pcc->probes, &pcc->words) &&
		  pcc_call(pcc, PCC_BIND, &pcc->words);

	free(init);
	return ok;
}

/* The events of one process, as many as fit; false: there are none, or the program has ended. */
static bool serve_events(struct pcc_worker *w, uint32_t ring)
{
	struct doca_pcc *pcc = w->pcc;
	struct dpa_pcc_batch *b = &w->batch;
	struct dpa_pcc_report reports[DPA_PCC_BATCH];

	b->n = pcc->ops->take(pcc->image, ring, reports, DPA_PCC_BATCH);
	if (!b->n)
		return false;
	for (uint32_t i = 0; i < b->n; i++) {
		struct pcc_flow *f = &pcc->flows[reports[i].flow % PCC_FLOWS];

		if (f->tag != reports[i].flow) {
			memset(f, 0, sizeof(*f));
			f->tag = reports[i].flow;
			f->rate = DPA_PCC_RATE_ONE;
		}
		b->item[i].report = reports[i];
		b->item[i].ctxt = f->ctxt;
		b->item[i].rate = f->rate;
		b->item[i].probe = 0;
	}
	if (!pcc_run(w, PCC_EVENTS, b))
		return false;
	for (uint32_t i = 0; i < b->n; i++) {
		struct pcc_flow *f = &pcc->flows[reports[i].flow % PCC_FLOWS];

		f->rate = b->item[i].rate;
		pcc->ops->answer(pcc->image, reports[i].flow, f->rate, b->item[i].probe);
	}
	pcc_count(w, b->n);
	return true;
}

const struct pcc_role pcc_rp = {
	.role = DPA_PCC_RP,
	.entries = {[PCC_INIT] = DPA_PCC_ENTRY_INIT,
		    [PCC_BIND] = DPA_PCC_ENTRY_BIND,
		    [PCC_EVENTS] = DPA_PCC_ENTRY_EVENTS,
		    [PCC_PARAM] = DPA_PCC_ENTRY_PARAM,
		    [PCC_MAIL] = DPA_PCC_ENTRY_MAILBOX},
	.activate = activate_rp,
	.serve = serve_events,
};

/* -------------------------------------------------------------- notification point */

static bool activate_np(struct doca_pcc *pcc)
{
	return pcc_call(pcc, PCC_NP_BEGIN, NULL) && !pcc->ops->publish_np(pcc->image, &pcc->probes);
}

/* A fault leaves the probe without an answer; its QP gives it up. */
static bool serve_probe(struct pcc_worker *w, uint32_t ring)
{
	const struct dpa_pcc_ops *ops = w->pcc->ops;
	struct dpa_pcc_np_call *c = &w->np;

	if (!ops->take_probe(w->pcc->image, ring, &c->probe))
		return false;
	c->reply = (struct dpa_pcc_reply){.dscp = DPA_PCC_DSCP_NONE};
	c->good = 0;
	if (!pcc_run(w, PCC_NP_PACKET, c))
		return false;
	/* device code may have written to the whole of it */
	c->probe.ring = ring;
	ops->answer_probe(w->pcc->image, &c->probe, c->good ? &c->reply : NULL);
	pcc_count(w, 1);
	return true;
}

const struct pcc_role pcc_np = {
	.role = DPA_PCC_NP,
	.entries = {[PCC_NP_BEGIN] = DPA_PCC_ENTRY_NP_BEGIN,
		    [PCC_NP_PACKET] = DPA_PCC_ENTRY_NP_PACKET,
		    [PCC_MAIL] = DPA_PCC_ENTRY_MAILBOX},
	.activate = activate_np,
	.serve = serve_probe,
};
