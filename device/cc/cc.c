/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cc.c - selects the algorithm that controls a flow; the flow's side of an image: see
 * cc.h.
 */
#include <stdlib.h>
#include <string.h>
#include "cc/cc.h"
#include "board/board_layout.h"
#include "ctx/schedule.h"
#include "ctx/thread.h"
#include "pcc/dcqcn.h"
#include "pcc/report.h"
#include "pcc/rtt.h"
#include "tables/pcc.h"
#include "util/clock.h"

#define MBIT	  UINT64_C(125000)
#define CHECK_GAP UINT64_C(50000000) /* ns between two checks that the image's process lives */

/* ------------------------------------------------------------------- parameters */

static void make_rtt(struct dpa_pcc_rtt_param *p, const uint32_t *v)
{
	*p = dpa_pcc_rtt_default;
	p->target = v[DPA_PCC_P_RTT_TARGET];
	p->max = v[DPA_PCC_P_RTT_MAX] > v[DPA_PCC_P_RTT_TARGET] ? v[DPA_PCC_P_RTT_MAX]
								: v[DPA_PCC_P_RTT_TARGET];
	p->beta = v[DPA_PCC_P_RTT_BETA];
	p->ai = v[DPA_PCC_P_RTT_AI] * MBIT;
	p->min_rate = v[DPA_PCC_P_RTT_MIN_RATE] * MBIT;
}

static void make_dcqcn(struct dpa_pcc_dcqcn_param *p, const uint32_t *v)
{
	*p = dpa_pcc_dcqcn_default;
	p->rpg_min_rate = v[DPA_PCC_P_DCQCN_MIN_RATE] * MBIT;
	p->rpg_ai_rate = v[DPA_PCC_P_DCQCN_AI_RATE] * MBIT;
	p->rpg_hai_rate = v[DPA_PCC_P_DCQCN_HAI_RATE] * MBIT;
	p->rpg_time_reset = v[DPA_PCC_P_DCQCN_TIME_RESET];
	p->rpg_byte_reset = v[DPA_PCC_P_DCQCN_BYTE_RESET];
	p->rpg_threshold = v[DPA_PCC_P_DCQCN_THRESHOLD];
	p->rpg_gd = v[DPA_PCC_P_DCQCN_GD];
	p->rpg_min_dec_fac = v[DPA_PCC_P_DCQCN_MIN_DEC_FAC];
	p->rate_reduce_monitor_period = v[DPA_PCC_P_DCQCN_MONITOR_PERIOD];
	if (p->rate_reduce_monitor_period > p->rpg_time_reset)
		p->rate_reduce_monitor_period = p->rpg_time_reset;
	p->dce_tcp_g = v[DPA_PCC_P_DCQCN_G];
	p->dce_tcp_rtt = v[DPA_PCC_P_DCQCN_RTT];
}

/* Reads the slot's current parameters into the QP. NULL: the defaults, which all flows share. */
static const void *read_slot_params(struct dpa_hw_qp *qp, uint32_t slot)
{
	uint32_t value[DPA_PCC_PARAMS] = {0};

	dpa_board_pcc_params(qp->hw->board, slot, value);
	if (dpa_board_pcc_is_default(slot, value))
		return NULL;
	if (slot == DPA_PCC_SLOT_RTT)
		make_rtt(&qp->cc.param.rtt, value);
	else
		make_dcqcn(&qp->cc.param.dcqcn, value);
	return &qp->cc.param;
}

void dpa_cc_init(struct dpa_hw *hw)
{
	if (hw->cfg.congestion == DPA_CFG_CONGESTION_DCQCN)
		hw->cc.word = dpa_board_pcc_word(hw->board);
}

void dpa_cc_fini(struct dpa_hw *hw)
{
	dpa_board_pcc_leave(hw->board);
}

/* --------------------------------------------------------- an image as an algorithm */

/* Private rate state of a flow that an image controls. */
struct image_flow {
	struct dpa_hw_qp *qp;
	_Atomic uint64_t *result;
	struct dpa_pcc_reporter reporter;
	uint16_t image;
	uint8_t epoch;
};
_Static_assert(sizeof(struct image_flow) <= DPA_PCC_RATE_PRIV, "fits");

/*
 * A process that died has left its image on the port: the first process that finds this removes it.
 * A check costs a system call, so all flows of this process make one in CHECK_GAP.
 */
static void check_image(struct dpa_hw *hw, uint64_t now)
{
	uint64_t due = atomic_load_explicit(&hw->cc.check, memory_order_relaxed);

	if (now < due ||
	    !atomic_compare_exchange_strong_explicit(&hw->cc.check, &due, now + CHECK_GAP,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	dpa_board_pcc_check(hw->board);
}

/* Reads the answer of this image for this flow. 0: there is none yet. */
static uint64_t read_result(const struct image_flow *f)
{
	uint64_t r = atomic_load_explicit(f->result, memory_order_acquire);

	return r >> 48 == f->image && (r >> 32 & 0xff) == f->epoch ? r : 0;
}

/* Its number in reports and answers. */
static uint32_t flow_of(const struct image_flow *f)
{
	return (uint32_t)f->epoch << 24 | f->qp->qpn;
}

static void image_init(void *priv, const void *param, uint64_t now)
{
}

static void image_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	struct image_flow *f = priv;
	struct dpa_hw_qp *qp = f->qp;
	struct dpa_pcc_sender s = {
		.flow = flow_of(f),
		.qpn = qp->qpn,
		.mtu = qp->mtu,
		.psn = qp->req.send_psn,
		.slot = (uint8_t)dpa_pcc_word_acting(qp->cc.word),
		.sent = qp->probe.asked,
	};
	struct dpa_pcc_report r;

	if (!dpa_pcc_report_make(&f->reporter, &s, ev, &r))
		return;
	check_image(qp->hw, ev->now);
	if (dpa_board_pcc_disabled(qp->hw->board) >> r.type & 1)
		return;
	(void)dpa_board_pcc_report(qp->hw->board, &r); /* full: the event is lost */
}

/* Called before each packet, because the answer may have come. Not paced until the first one. */
static void image_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	uint64_t r = read_result(priv);

	res->wake = 0;
	res->probes = (uint8_t)(r >> 24);
	if (r)
		res->rate = dpa_pcc_report_rate((uint32_t)r & (2 * DPA_PCC_RATE_ONE - 1));
}

static const struct dpa_pcc_rate_algo image_algo = {
	.name = "image", .init = image_init, .on_event = image_event, .get = image_get};

/* Opens the process's ring, once. */
static bool open_ring(struct dpa_hw *hw)
{
	bool ok;

	if (atomic_load_explicit(&hw->cc.ring, memory_order_acquire))
		return true;
	dpa_spin_lock(&hw->cc.lock);
	ok = atomic_load_explicit(&hw->cc.ring, memory_order_relaxed) ||
	     !dpa_board_pcc_ring_open(hw->board);
	if (ok)
		atomic_store_explicit(&hw->cc.ring, true, memory_order_release);
	dpa_spin_unlock(&hw->cc.lock);
	return ok;
}

/* False: the board has no memory, so the image cannot control the flow. */
static bool begin_image(struct dpa_hw_qp *qp, uint64_t now)
{
	struct image_flow *f = (struct image_flow *)qp->cc.split.priv;
	_Atomic uint64_t *result = dpa_board_pcc_result(qp->hw->board, qp->qpn);

	if (!result || !open_ring(qp->hw))
		return false;
	memset(qp->cc.split.priv, 0, sizeof(qp->cc.split.priv));
	f->qp = qp;
	f->result = result;
	f->image = (uint16_t)dpa_pcc_word_image(qp->cc.word);
	/* Not the number of an earlier flow with this QPN. */
	f->epoch = (uint8_t)((atomic_load_explicit(result, memory_order_relaxed) >> 32) + 1);
	dpa_pcc_init_split(&qp->pcc, &qp->cc.split, &image_algo, NULL, now);
	return true;
}

/* ------------------------------------------------------------------- selection */

static void begin_dcqcn(struct dpa_hw_qp *qp, uint64_t now)
{
	dpa_pcc_init(&qp->pcc, &dpa_pcc_dcqcn, read_slot_params(qp, DPA_PCC_SLOT_DCQCN), now);
}

static void begin_rtt(struct dpa_hw_qp *qp, uint64_t now)
{
	dpa_pcc_init_split(&qp->pcc, &qp->cc.split, &dpa_pcc_rtt,
			   read_slot_params(qp, DPA_PCC_SLOT_RTT), now);
}

static void begin_pcc_flow(struct dpa_hw_qp *qp, int slot)
{
	uint64_t now = dpa_now_ns();

	qp->cc.slot = (int8_t)slot;
	if (slot == (int)DPA_PCC_SLOT_RTT)
		begin_rtt(qp, now);
	else if (slot < 0)
		dpa_pcc_init(&qp->pcc, &dpa_pcc_none, NULL, now);
	else if (slot == (int)DPA_PCC_SLOT_DCQCN || !begin_image(qp, now))
		begin_dcqcn(qp, now);
}

/* The state stays if the algorithm stays the same. */
static void set_flow_params(struct dpa_hw_qp *qp)
{
	if (qp->cc.slot == (int)DPA_PCC_SLOT_DCQCN)
		qp->pcc.param = read_slot_params(qp, DPA_PCC_SLOT_DCQCN);
	else if (qp->cc.slot == (int)DPA_PCC_SLOT_RTT)
		qp->cc.split.param = read_slot_params(qp, DPA_PCC_SLOT_RTT);
}

static void follow_word(struct dpa_hw_qp *qp, bool begin)
{
	uint64_t old = qp->cc.word, w = atomic_load_explicit(qp->cc.source, memory_order_acquire);
	int slot = dpa_pcc_word_acting(w);

	qp->cc.word = w;
	if (begin || slot != qp->cc.slot ||
	    (slot >= 0 && slot < (int)DPA_PCC_USER_SLOTS &&
	     dpa_pcc_word_image(w) != dpa_pcc_word_image(old)))
		begin_pcc_flow(qp, slot);
	else
		set_flow_params(qp);
	qp->cc.counts = slot >= (int)DPA_PCC_SLOT_RTT && dpa_pcc_word_counting(w) == slot
				? dpa_board_pcc_counts(qp->hw->board, (uint32_t)slot)
				: NULL;
	if (!dpa_pcc_word_recorded(w))
		qp->cc.record = NULL;
	else if (begin || !qp->cc.record)
		qp->cc.record = dpa_board_pcc_flow_begin(qp->hw->board, qp->qpn);
}

void dpa_cc_switch(struct dpa_hw_qp *qp)
{
	follow_word(qp, false);
}

void dpa_cc_begin(struct dpa_hw_qp *qp)
{
	if (qp->hw->cc.word) {
		qp->cc.source = qp->hw->cc.word;
		follow_word(qp, true);
		return;
	}
	qp->cc.source = &dpa_cc_unled;
	qp->cc.word = 0;
	qp->cc.counts = NULL;
	qp->cc.record = NULL;
	dpa_pcc_init(&qp->pcc, dpa_pcc_algos[qp->hw->cfg.congestion], NULL, dpa_now_ns());
}

bool dpa_cc_probes(struct dpa_hw_qp *qp, struct dpa_pcc_probes *out)
{
	return qp->cc.slot >= 0 && qp->cc.slot < (int)DPA_PCC_USER_SLOTS &&
	       dpa_board_pcc_probes(qp->hw->board, dpa_pcc_word_image(qp->cc.word), out);
}

bool dpa_cc_custom(struct dpa_hw_qp *qp, uint32_t header[DPA_PCC_HEADER], uint8_t *dscp)
{
	const struct image_flow *f = (const struct image_flow *)qp->cc.split.priv;

	*dscp = DPA_PCC_DSCP_NONE;
	memset(header, 0, DPA_PCC_HEADER * sizeof(header[0]));
	if (qp->cc.split.rate != &image_algo) /* no memory for the image's flow */
		return true;
	*dscp = dpa_pcc_result_dscp(read_result(f));
	return dpa_board_pcc_header(qp->hw->board, f->image, flow_of(f), header);
}

static void record_rtt(struct dpa_board_pcc_flow *f, uint64_t rtt)
{
	uint32_t ns = rtt < UINT32_MAX ? (uint32_t)rtt : UINT32_MAX;

	dpa_count_add(&f->rtt_sum, ns);
	dpa_count_add(&f->rtt_num, 1);
	if (ns > atomic_load_explicit(&f->rtt_max, memory_order_relaxed))
		atomic_store_explicit(&f->rtt_max, ns, memory_order_relaxed);
}

/*
 * ACKs give round trips where the flow has no probes: they wait for more than the path. Context: the QP's
 * lock. Its holder is the only writer of the record.
 */
static void record_event(struct dpa_hw_qp *qp, const struct dpa_pcc_event *ev)
{
	struct dpa_board_pcc_flow *f = qp->cc.record;

	if (ev->type == DPA_PCC_SENT)
		dpa_count_add(&f->bytes, ev->bytes);
	else if (ev->type == DPA_PCC_CNP)
		dpa_count_add(&f->cnps, 1);
	else if (ev->type == DPA_PCC_LOSS || ev->type == DPA_PCC_TIMEOUT)
		dpa_count_add(&f->losses, 1);
	else if (ev->type == DPA_PCC_ACK)
		dpa_count_add(&f->acks, 1);
	if (ev->rtt_ns && (ev->type == DPA_PCC_RTT || !qp->probe.num))
		record_rtt(f, ev->rtt_ns);
	atomic_store_explicit(&f->rate, qp->pcc.rate, memory_order_relaxed);
	atomic_store_explicit(&f->window, qp->pcc.window, memory_order_relaxed);
	dpa_board_pcc_record_check(qp->hw->board, ev->now);
}

void dpa_cc_marked(struct dpa_hw_qp *qp)
{
	if (!qp->hw->cc.word ||
	    !dpa_pcc_word_recorded(atomic_load_explicit(qp->hw->cc.word, memory_order_relaxed)))
		return;
	if (!qp->cc.record)
		qp->cc.record = dpa_board_pcc_flow_begin(qp->hw->board, qp->qpn);
	if (qp->cc.record)
		dpa_count_add(&qp->cc.record->marked, 1);
}

static void count_event(struct dpa_hw_qp *qp, const struct dpa_pcc_event *ev)
{
	static const uint8_t which[DPA_PCC_EVENTS] = {
		/* number + 1 */
		[DPA_PCC_ACK] = DPA_PCC_N_ACK + 1,	[DPA_PCC_LOSS] = DPA_PCC_N_NACK + 1,
		[DPA_PCC_TIMEOUT] = DPA_PCC_N_NACK + 1, [DPA_PCC_CNP] = DPA_PCC_N_CNP + 1,
		[DPA_PCC_SENT] = DPA_PCC_N_TX + 1,	[DPA_PCC_RTT] = DPA_PCC_N_RTT + 1,
	};

	if (which[ev->type])
		atomic_fetch_add_explicit(&qp->cc.counts[which[ev->type] - 1], 1,
					  memory_order_relaxed);
	if (ev->type == DPA_PCC_ACK && ev->rtt_ns)
		atomic_fetch_add_explicit(&qp->cc.counts[DPA_PCC_N_RTT], 1, memory_order_relaxed);
}

void dpa_cc_count(struct dpa_hw_qp *qp, const struct dpa_pcc_event *ev)
{
	if (qp->cc.counts)
		count_event(qp, ev);
	if (qp->cc.record)
		record_event(qp, ev);
}

bool dpa_cc_may_respond(struct dpa_hw_qp *qp, uint32_t bytes)
{
	uint64_t now, wait;

	dpa_cc_follow(qp);
	if (dpa_likely(!dpa_pcc_active(&qp->pcc)))
		return true;
	now = dpa_now_ns();
	wait = dpa_pcc_may_send(&qp->pcc, now, bytes);
	if (wait)
		dpa_schedule(qp, now + wait);
	return !wait;
}

void dpa_cc_responded(struct dpa_hw_qp *qp, uint32_t bytes)
{
	dpa_cc_sent(qp, dpa_pcc_active(&qp->pcc) ? dpa_now_ns() : dpa_now_about(), bytes);
}
