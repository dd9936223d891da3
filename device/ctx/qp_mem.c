/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp_mem.c - QP structures: memory, allocation, release, initialisation. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "ctx/ops.h"
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "wire/opcode.h"
#include "ctx/hw.h"

#define SLAB_FIRST 64 /* number of QPs with memory of their own */
#define SLAB_BYTES ((size_t)2 << 20)

/*
 * Allocates memory for a new one. A process with thousands of QPs uses large pages, because with
 * small ones each QP has its own page. A process with a few QPs has no use for 2 MiB.
 */
static struct dpa_hw_qp *qp_alloc(struct dpa_hw *hw, uint32_t n)
{
	struct dpa_hw_qp *qp;
	uint8_t *p;

	if (n < SLAB_FIRST) {
		if (posix_memalign((void **)&qp, 2 * DPA_CACHE_LINE, sizeof(*qp)))
			return NULL;
		memset(qp, 0, sizeof(*qp));
		return qp;
	}
	if (!hw->qps.slab_left) {
		p = mmap(NULL, 2 * SLAB_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		size_t skip = -(uintptr_t)p % SLAB_BYTES;

		if (skip)
			munmap(p, skip);
		if (skip != SLAB_BYTES)
			munmap(p + skip + SLAB_BYTES, SLAB_BYTES - skip);
		p += skip;
		madvise(p, SLAB_BYTES, MADV_HUGEPAGE);
		hw->qps.slab_next = (struct dpa_hw_qp *)p;
		hw->qps.slab_left = SLAB_BYTES / sizeof(*qp);
	}
	hw->qps.slab_left--;
	return hw->qps.slab_next++;
}

/* Frees all of them. Nothing refers to a QP any more. */
void dpa_hw_free_qps(struct dpa_hw *hw)
{
	const uint32_t each = SLAB_BYTES / sizeof(struct dpa_hw_qp);

	for (uint32_t i = 0; i < hw->qps.nslab; i++)
		if (i < SLAB_FIRST)
			free(hw->qps.slab[i]);
		else if ((i - SLAB_FIRST) % each == 0)
			munmap(hw->qps.slab[i], SLAB_BYTES);
}

struct dpa_hw_qp *dpa_qp_take(struct dpa_hw *hw)
{
	struct dpa_hw_qp *qp = hw->qps.free;
	uint32_t n = atomic_load_explicit(&hw->qps.nslab, memory_order_relaxed);

	if (qp) {
		hw->qps.free = qp->free_next;
		return qp;
	}
	if (n >= DPA_MAX_QP)
		return NULL;
	qp = qp_alloc(hw, n);
	if (!qp)
		return NULL;
	qp->index = (uint16_t)n;
	hw->qps.slab[n] = qp;
	atomic_store_explicit(&hw->qps.nslab, n + 1, memory_order_release);
	return qp;
}

void dpa_qp_give(struct dpa_hw_qp *qp)
{
	qp->qpn = 0;
	qp->peer = NULL;
	qp->tx = NULL;
	qp->free_next = qp->hw->qps.free;
	qp->hw->qps.free = qp;
}

static uint8_t transport_of(uint32_t type)
{
	switch (type) {
	case DPA_QP_RC:
		return DPA_BTH_RC;
	case DPA_QP_UC:
		return DPA_BTH_UC;
	case DPA_QP_UD:
		return DPA_BTH_UD;
	case DPA_QP_RAW:
		return DPA_BTH_RAW;
	default:
		return DPA_BTH_XRC;
	}
}

const _Atomic uint64_t dpa_cc_unled;

void dpa_qp_init(struct dpa_hw_qp *qp, struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a)
{
	size_t from = offsetof(struct dpa_hw_qp, type);
	uint16_t index = qp->index;

	/* All but the QPN and the lock, which other threads may be holding right now. */
	memset((uint8_t *)qp + from, 0, sizeof(*qp) - from);
	qp->index = index;
	qp->second = qp->fourth = index; /* no hints yet */
	qp->hw = ctx->hw;
	qp->ctx = ctx;
	qp->ops = a->type == DPA_QP_RAW ? ctx->hw->ops->raw : ctx->hw->ops->rdma;
	qp->type = (uint8_t)a->type;
	if (a->type == DPA_QP_XRC_SEND || a->type == DPA_QP_XRC_RECV)
		qp->type = DPA_QP_RC; /* the packets differ in what they carry */
	qp->transport = transport_of(a->type);
	qp->cc.source = &dpa_cc_unled;
	qp->cc.record = NULL;
	qp->xrcd = a->xrcd;
	qp->slow.not_rts = true;
	qp->sq_sig_all = a->sq_sig_all;
	qp->mtu = 4096;
	qp->sq = a->sq;
	qp->rq = a->max_recv_sge && !a->srq ? a->rq : NULL;
	qp->dbrec = a->dbrec;
	qp->sq_mask = (1u << a->log_sq) - 1;
	qp->rq_mask = (1u << a->log_rq) - 1;
	qp->max_recv_sge = a->max_recv_sge;
	qp->rq_stride = dpa_rwqe_stride(a->max_recv_sge);
	qp->send_cq = a->send_cq;
	qp->recv_cq = a->recv_cq;
	qp->srq = a->srq;
	qp->pdn = a->pdn;
	qp->user_index = a->user_index;
	qp->user_handle = a->user_handle;
	qp->poster = a->poster;
	qp->ud.block_self = a->block_self_mcast;
	qp->lane = qp->transport == DPA_BTH_XRC ? DPA_XRC_LANE
						: (uint8_t)(ctx->hw->next.lane++ % DPA_LANES);
	qp->ops->reset(qp);
}
