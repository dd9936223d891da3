/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cq_ex.c - extended CQs: one entry at a time, read in place. The CQ's lock is held from a
 * successful start_poll to end_poll; the entries are released at the end.
 */
#include <time.h>
#include <dpa_hw_trace.h>
#include "dpa.h"
#include "cq/observer.h"
#include "cq/pollers.h"

#define EX_WC_FLAGS                                                                                \
	((uint64_t)IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |                   \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_FLOW_TAG |                 \
	 IBV_WC_EX_WITH_TM_INFO)
#define EX_TIMESTAMPS                                                                              \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct dpa_cq *ex_cq(struct ibv_cq_ex *cq)
{
	return (struct dpa_cq *)cq;
}

/* For dpa_cqe_last(): one comparison finds an entry that is there and has status success. */
#define EX_MASK dpa_cqe_pack(0, 0xff, 0, 0xff)

static inline uint32_t ex_want(uint8_t owner)
{
	return dpa_cqe_pack(0, DPA_CQE_OK, 0, owner);
}

/*
 * For a member that no caller has requested: ex->status is not success, so the next entry has to
 * set it.
 */
#define EX_WANT_NONE (~0u)

static inline void ex_set(struct dpa_cq *cq, const struct dpa_cqe *e)
{
	cq->cur = e;
	cq->vcq.cq_ex.wr_id = e->wr_id;
}

/* Makes e the current entry if it is valid. */
static __attribute__((noinline)) int ex_load(struct dpa_cq *cq, const struct dpa_cqe *e,
					     uint8_t owner)
{
	uint32_t last = dpa_cqe_last(e);

	if ((last & dpa_cqe_pack(0, 0, 0, 0xff)) != dpa_cqe_pack(0, 0, 0, owner))
		return ENOENT;
	ex_set(cq, e);
	cq->vcq.cq_ex.status = dpa_wc_status(e->status);
	cq->want = e->status ? EX_WANT_NONE : ex_want(owner);
	return 0;
}

static inline int ex_first(struct dpa_cq *cq)
{
	uint8_t owner = dpa_cqe_owner(cq->ci, cq->log_size);
	const struct dpa_cqe *e = &cq->buf[cq->ci & cq->mask];

	if (dpa_unlikely((dpa_cqe_last(e) & EX_MASK) != ex_want(owner)))
		return ex_load(cq, e, owner);
	cq->want = ex_want(owner);
	cq->vcq.cq_ex.status = IBV_WC_SUCCESS;
	ex_set(cq, e);
	return 0;
}

/* There was no entry. Context: the lock. */
static __attribute__((noinline)) int ex_start_again(struct dpa_cq *cq)
{
	int ret;

	if (cq->overruns && dpa_cq_catch_up(cq) && !ex_first(cq))
		return 0;
	dpa_lock_drop(&cq->lock);
	if (!dpa_cq_progress(cq))
		return ENOENT;
	dpa_lock_take(&cq->lock);
	ret = ex_first(cq);
	if (ret)
		dpa_lock_drop(&cq->lock);
	return ret;
}

static int ex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct dpa_cq *cq = ex_cq(ex);
	int err;

	if (dpa_unlikely(!dpa_word_plain(cq->alive)) &&
	    (err = dpav_asks_call(cq->alive, "poll_cq", 0)))
		return err;
	if (dpa_unlikely(attr->comp_mask))
		return EINVAL;
	dpa_lock_take(&cq->lock);
	if (dpa_likely(!ex_first(cq)))
		return 0;
	return ex_start_again(cq);
}

/*
 * At the end of the buffer: ci moves to the next lap, which the current entry does not belong to
 * yet.
 */
static __attribute__((noinline)) int ex_wrap(struct dpa_cq *cq)
{
	uint32_t ci = (cq->ci | cq->mask) + 1;
	int ret = ex_load(cq, cq->buf, dpa_cqe_owner(ci, cq->log_size));

	if (!ret)
		cq->ci = ci;
	return ret;
}

/*
 * ci is not updated for each entry, only for each lap: end_poll() computes it from the place of the
 * current entry. Most of the cost of an entry is the application's two calls; in this function
 * every branch counts.
 */
static int ex_next_poll(struct ibv_cq_ex *ex)
{
	struct dpa_cq *cq = ex_cq(ex);
	const struct dpa_cqe *e = cq->cur + 1;

	if (dpa_unlikely(e == cq->end))
		return ex_wrap(cq);
	if (dpa_unlikely((dpa_cqe_last(e) & EX_MASK) != cq->want))
		return ex_load(cq, e, dpa_cqe_owner(cq->ci, cq->log_size));
	ex_set(cq, e);
	return 0;
}

static void ex_end_poll(struct ibv_cq_ex *ex)
{
	struct dpa_cq *cq = ex_cq(ex);
	uint32_t ci = (cq->ci & ~cq->mask) + (uint32_t)(cq->cur - cq->buf) + 1;

	cq->ci = ci;
	__atomic_store_n(cq->ci_rec, ci, __ATOMIC_RELEASE);
	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_POLL, 0, 0, cq->vcq.cq.handle, ci, 0, 0);
	dpa_lock_drop(&cq->lock);
	dpa_cq_polled(cq);
}

static enum ibv_wc_opcode ex_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)ex_cq(ex)->cur->opcode;
}

static uint32_t ex_vendor_err(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->vendor_err;
}

static uint32_t ex_byte_len(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->byte_len;
}

static __be32 ex_imm_data(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->imm;
}

static uint32_t ex_qp_num(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->qpn;
}

static uint32_t ex_src_qp(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->src_qpn;
}

static unsigned int ex_wc_flags(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->flags & DPA_WC_FLAGS;
}

static uint32_t ex_slid(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->slid;
}

static uint8_t ex_sl(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->sl;
}

static uint8_t ex_path_bits(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->path_bits;
}

static uint32_t ex_flow_tag(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->tag;
}

static void ex_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	const struct dpa_cqe *e = ex_cq(ex)->cur;
	bool of_tag = e->flags & DPA_CQE_F_TM_MATCH;

	info->tag = of_tag ? (uint64_t)e->tag_high << 32 | e->tag : 0;
	info->priv = of_tag ? e->wqe_index : 0;
}

static uint64_t ex_completion_ts(struct ibv_cq_ex *ex)
{
	return ex_cq(ex)->cur->timestamp;
}

static int64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The device's clock is CLOCK_MONOTONIC: uses the current offset to the wall clock. */
static uint64_t ex_wallclock(struct ibv_cq_ex *ex)
{
	int64_t off = ns_of(CLOCK_REALTIME) - ns_of(CLOCK_MONOTONIC);

	return ex_cq(ex)->cur->timestamp + (uint64_t)off;
}

static void ex_fill(struct ibv_cq_ex *ex, uint64_t wc_flags)
{
	ex->start_poll = ex_start_poll;
	ex->next_poll = ex_next_poll;
	ex->end_poll = ex_end_poll;
	ex->read_opcode = ex_opcode;
	ex->read_vendor_err = ex_vendor_err;
	ex->read_wc_flags = ex_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = ex_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = ex_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = ex_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = ex_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = ex_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = ex_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = ex_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_TM_INFO)
		ex->read_tm_info = ex_tm_info;
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		ex->read_flow_tag = ex_flow_tag;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = ex_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = ex_wallclock;
}

static int ex_check(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->wc_flags & ~EX_WC_FLAGS)
		return EOPNOTSUPP;
	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return EINVAL;
	/* man ibv_create_cq_ex: a parent domain, not a plain PD */
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain || attr->parent_domain->context != context ||
	     !to_dpa_pd(attr->parent_domain)->of))
		return EINVAL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~(uint32_t)(IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
				      IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN))
		return EOPNOTSUPP;
	if (attr->comp_vector >= (uint32_t)context->num_comp_vectors)
		return EINVAL;
	return 0;
}

struct ibv_cq_ex *dpa_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct dpa_cq_init init = {
		.cqe = attr->cqe,
		.channel = attr->channel,
		.single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct dpa_cq *cq;
	int ret = ex_check(context, attr);

	if (ret)
		return dpa_null(ret);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		init.domain = to_dpa_pd(attr->parent_domain);
	if (flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
		init.flags |= DPA_CQ_IGNORE_OVERRUN;
	if (attr->wc_flags & EX_TIMESTAMPS)
		init.flags |= DPA_CQ_TIMESTAMP;
	cq = dpa_cq_new(context, &init);
	if (!cq || !dpa_cq_observed(cq))
		return NULL;
	ex_fill(&cq->vcq.cq_ex, attr->wc_flags);
	return &cq->vcq.cq_ex;
}
