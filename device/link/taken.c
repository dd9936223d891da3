/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* taken.c - how much a peer has taken from the link to it; the rare cases of publishing. */
#include "link/kick.h"

uint64_t dpa_peer_taken(const struct dpa_peer *p)
{
	uint32_t n = 0, tail;
	bool all = true;

	if (atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PEER_UP)
		return 1;
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		if (!p->tx[i].shm)
			continue;
		tail = atomic_load_explicit(&p->tx[i].shm->tail, memory_order_relaxed);
		all &= tail == __atomic_load_n(&p->tx[i].head, __ATOMIC_RELAXED);
		n += tail;
	}
	return all ? 0 : (uint64_t)n << 2 | 2;
}

bool dpa_peer_is_spent(const struct dpa_peer *p)
{
	uint64_t then = atomic_load_explicit(&p->left_at, memory_order_relaxed);

	return dpa_unlikely(then) && !p->wire && then == dpa_peer_taken(p);
}

void dpa_lane_trace(const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	const bool aeth = dpa_op_props(s->opcode) & DPA_OPP_AETH;

	dpa_trace_event(DPA_TRACE_TX, s->src, s->opcode, s->dqpn, s->psn, s->len,
			aeth ? (uint8_t)x->syndrome : 0);
}

void dpa_lane_lose(struct dpa_tx *tx, struct dpa_slot *s)
{
	/* the other opcodes beyond those of the BTH are messages between adapters */
	if (s->opcode < DPA_LINK_LOST || s->opcode == DPA_LINK_RAW || s->opcode == DPA_LINK_ACKS)
		dpa_count(tx->peer->hw, DPA_CNT_tx_dropped, 1);
	s->opcode = DPA_LINK_LOST;
}
