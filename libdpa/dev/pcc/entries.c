/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* entries.c - the entries by which libdpa calls a congestion control program: image.h. */
#include <doca_pcc_dev_algo_access.h>
#include "pcc_dev.h"

__dpa_global__ void __dpa_pcc_init(uint64_t arg)
{
	struct dpa_pcc_init *init = (struct dpa_pcc_init *)arg;

	init->disabled_events = 0;
	doca_pcc_dev_user_init(&init->disabled_events);
	pcc_dev_describe(init);
}

__dpa_global__ void __dpa_pcc_bind(uint64_t arg)
{
	pcc_dev_bind((const struct dpa_pcc_words *)arg);
	if (doca_pcc_dev_user_port_info_changed)
		doca_pcc_dev_user_port_info_changed(0);
}

static uint32_t to_be32(uint32_t v)
{
	return __builtin_bswap32(v);
}

/* Make an event from a report, in the form that the program's calls read. */
static void make_pcc_event(doca_pcc_dev_event_t *ev, const struct dpa_pcc_report *r)
{
	uint32_t *spec = (uint32_t *)&ev->ev_spec_attr;
	uint32_t subtype = r->type == DPA_PCC_EV_RTT ? 0 : r->subtype;
	uint32_t attr = to_be32((uint32_t)r->type | subtype << 8 | (uint32_t)r->flags << 24);

	__builtin_memset(ev->reserved_at_0, 0, sizeof(ev->reserved_at_0));
	__builtin_memcpy(&ev->ev_attr, &attr, sizeof(attr));
	ev->flow_tag = to_be32(r->flow);
	ev->sn = to_be32(r->sn);
	ev->timestamp = to_be32(r->time);
	/* tx counters: bytes / 32 are the low half of the word, as the bit fields lie there */
	if (r->type == DPA_PCC_EV_RTT && r->subtype == DPA_PCC_EV_RTT_DATA) {
		/* as the other side's program wrote it */
		__builtin_memcpy(spec, r->word, sizeof(r->word));
		spec[3] = 0;
		return;
	}
	spec[0] = to_be32(r->word[0]);
	spec[1] = to_be32(r->type == DPA_PCC_EV_TX ? r->word[1] >> 16 | r->word[1] << 16
						   : r->word[1]);
	spec[2] = to_be32(r->word[2]);
	spec[3] = 0;
}

__dpa_global__ void __dpa_pcc_events(uint64_t arg)
{
	struct dpa_pcc_batch *b = (struct dpa_pcc_batch *)arg;

	for (uint32_t i = 0; i < b->n; i++) {
		struct dpa_pcc_item *it = &b->item[i];
		doca_pcc_dev_attr_t attr = {.algo_slot = it->report.slot & 0xf};
		doca_pcc_dev_results_t res = {.rate = it->rate};
		doca_pcc_dev_event_t ev;

		make_pcc_event(&ev, &it->report);
		doca_pcc_dev_user_algo((doca_pcc_dev_algo_ctxt_t *)it->ctxt, &ev, &attr, &res);
		it->rate = res.rate;
		it->probe = res.probe_req & 1;
	}
}

__dpa_global__ void __dpa_pcc_param(uint64_t arg)
{
	struct dpa_pcc_set *s = (struct dpa_pcc_set *)arg;
	uint32_t *params = doca_pcc_dev_get_algo_params(0, s->slot), old;

	s->ok = 0;
	if (!params || s->id >= doca_pcc_dev_get_algo_params_num(0, s->slot))
		return;
	old = params[s->id];
	s->ok = doca_pcc_dev_user_set_algo_params(0, s->slot, s->id, 1, &s->value, params) ==
		DOCA_PCC_DEV_STATUS_OK;
	/*
	 * programs that only check the value, as the public one does, leave the storing to the
	 * library
	 */
	if (s->ok && params[s->id] == old)
		params[s->id] = s->value;
}
