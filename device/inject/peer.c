/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * peer.c - this process as its peers see it: its responder is slow, has no receives, or its device
 * has stopped (docs/inject.md).
 */
#include "inject/inject.h"
#include "inject/query.h"

static int ask_peer_rules(const struct dpa_inject_cqe *request, enum dpa_inject_peer effect,
			  uint64_t *ns)
{
	struct dpa_inject_query q = {.line = DPA_INJECT_PEER,
				     .effect = (int)effect,
				     .to = DPA_INJECT_ANY,
				     .op = request->opcode,
				     .qpn = request->qpn};

	return dpa_inject_select(&q, 0, ns);
}

uint64_t dpa_inject_slow(const struct dpa_inject_cqe *request)
{
	uint64_t ns = 0;

	return dpa_hw_injecting(DPA_INJECT_PEER) && ask_peer_rules(request, DPA_INJECT_SLOW, &ns)
		       ? ns
		       : 0;
}

bool dpa_inject_rnr(const struct dpa_inject_cqe *request)
{
	return dpa_hw_injecting(DPA_INJECT_PEER) && ask_peer_rules(request, DPA_INJECT_RNR, NULL);
}
