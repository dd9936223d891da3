/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcc_record.c - flows and queues while a recorder wants to see them. */
#include "board/board_priv.h"
#include "tables/pcc.h"
#include "tables/pcc_priv.h"

void dpa_board_pcc_record(struct dpa_board *b, uint64_t now, uint64_t ns)
{
	struct dpa_board_pcc_port *p = &b->shm->pcc;
	uint64_t until = atomic_load_explicit(&p->record_until, memory_order_relaxed), w;

	while (until < now + ns &&
	       !atomic_compare_exchange_weak_explicit(&p->record_until, &until, now + ns,
						      memory_order_relaxed, memory_order_relaxed))
		;
	w = atomic_load_explicit(&p->rp.word, memory_order_acquire);
	while (!dpa_pcc_word_recorded(w) &&
	       !dpa_pcc_word_change(b, &w, w | UINT64_C(1) << DPA_BOARD_PCC_RECORD))
		;
}

void dpa_board_pcc_record_check(struct dpa_board *b, uint64_t now)
{
	struct dpa_board_pcc_port *p = &b->shm->pcc;
	uint64_t w;

	if (now <= atomic_load_explicit(&p->record_until, memory_order_relaxed))
		return;
	w = atomic_load_explicit(&p->rp.word, memory_order_acquire);
	while (dpa_pcc_word_recorded(w) &&
	       !dpa_pcc_word_change(b, &w, w & ~(UINT64_C(1) << DPA_BOARD_PCC_RECORD)))
		;
}

static uint64_t flow_offset(uint32_t index)
{
	return DPA_BOARD_OFF_PCC_FLOW + index * sizeof(struct dpa_board_pcc_flow);
}

static uint64_t queue_offset(uint32_t proc)
{
	return DPA_BOARD_OFF_PCC_QUE + proc * sizeof(struct dpa_board_pcc_queue);
}

struct dpa_board_pcc_flow *dpa_board_pcc_flow_begin(struct dpa_board *b, uint32_t qpn)
{
	uint32_t i = qpn & (DPA_BOARD_QPNS - 1);
	struct dpa_board_pcc_flow *f = &b->shm->pcc_flows[i];

	if (qpn >> 16 != b->board_num || dpa_board_reserve(b, flow_offset(i), sizeof(*f)))
		return NULL;
	atomic_fetch_add_explicit(&f->begun, 1, memory_order_relaxed);
	atomic_store_explicit(&f->owner, dpa_board_me(b), memory_order_release);
	return f;
}

struct dpa_board_pcc_queue *dpa_board_pcc_queue_mine(struct dpa_board *b)
{
	struct dpa_board_pcc_queue *q = &b->shm->pcc_queues[b->slot];

	if (dpa_board_reserve(b, queue_offset(b->slot), sizeof(*q)))
		return NULL;
	atomic_store_explicit(&q->owner, dpa_board_me(b), memory_order_release);
	return q;
}

struct dpa_board_pcc_flow *dpa_board_pcc_flow_of(struct dpa_board *b, uint32_t qpn)
{
	uint32_t i = qpn & (DPA_BOARD_QPNS - 1), slot, gen;
	struct dpa_board_pcc_flow *f = &b->shm->pcc_flows[i];
	dpa_owner_t o;

	if (!dpa_board_present(b, flow_offset(i)))
		return NULL;
	o = atomic_load_explicit(&f->owner, memory_order_acquire);
	if (!o || !dpa_board_qpn_owner(b, qpn, &slot, &gen) || o != dpa_owner(slot, gen))
		return NULL;
	return f;
}

struct dpa_board_pcc_queue *dpa_board_pcc_queue_of(struct dpa_board *b, uint32_t proc)
{
	struct dpa_board_proc *p = dpa_board_proc(b, proc);
	struct dpa_board_pcc_queue *q = &b->shm->pcc_queues[proc % DPA_BOARD_PROCS];

	if (!p || !dpa_board_present(b, queue_offset(proc)))
		return NULL;
	return atomic_load_explicit(&q->owner, memory_order_acquire) ==
			       dpa_owner(proc, atomic_load_explicit(&p->gen, memory_order_relaxed))
		       ? q
		       : NULL;
}

uint32_t dpa_board_pcc_flow_next(struct dpa_board *b, uint32_t index)
{
	const uint32_t per = DPA_BOARD_UNIT / sizeof(struct dpa_board_pcc_flow);

	while (index < DPA_BOARD_QPNS && !dpa_board_present(b, flow_offset(index)))
		index = (index / per + 1) * per;
	return index;
}
