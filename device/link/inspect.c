/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inspect.c - the place where faults and capture look at the frames of every link.
 *
 * Requests come from this process's own settings, or from a tool, to all processes of the board. A
 * setting of the process's own holds against the board's. Locks: in->lock is a leaf that is never
 * held while a frame goes on; in->follow orders those who change what is done.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctx/schedule.h"
#include "link/peer.h"
#include "ctx/ops.h"
#include "link/inspect.h"
#include "inspect/capture.h"
#include "wire/psn.h"
#include "tables/tables.h"

#define CHECK_NS 100000000ull

struct dpa_inspect {
	dpa_spin_t lock; /* fault */
	struct dpa_fault fault;
	dpa_spin_t words;	/* those of the lanes */
	pthread_mutex_t follow; /* what follows */
	bool own;		/* faults by a setting of this process */
	_Atomic uint32_t seen[DPA_ASKS];
	struct dpa_capture *capture;
	uint64_t checked; /* when the tool was last looked after */
	_Atomic uint32_t ip_id;
};

static bool faults_on(const struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->inspect, memory_order_relaxed) & DPA_INSPECT_FAULT;
}

static bool is_captured(const struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->inspect, memory_order_relaxed) & DPA_INSPECT_CAPTURE;
}

/* ------------------------------------------------------------------ frames */

static void go_on(struct dpa_hw *hw, const struct dpa_shown *s)
{
	if (is_captured(hw))
		dpa_capture_frame(hw->insp->capture, s->at, &s->f);
	s->emit(s->arg, &s->f);
}

/* Under in->lock: when somebody must look again. True: earlier than before. */
static bool new_due(struct dpa_hw *hw, struct dpa_fault *q)
{
	uint64_t was = atomic_load_explicit(&hw->inspect_due, memory_order_relaxed);
	uint64_t due = dpa_fault_next(q);
	bool none = !atomic_load_explicit(&hw->inspect_held, memory_order_relaxed);

	atomic_store_explicit(&hw->inspect_due, due, memory_order_relaxed);
	atomic_store_explicit(&hw->inspect_held, q->held, memory_order_release);
	return q->held && (none || due < was);
}

static void send_held(struct dpa_hw *hw, struct dpa_held *list)
{
	struct dpa_inspect *in = hw->insp;

	for (struct dpa_held *h = list; h; h = h->next)
		go_on(hw, &h->s);
	dpa_spin_lock(&in->lock);
	dpa_fault_done(&in->fault, list);
	new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
}

/* Counters are the process's own: a lost count between two threads is not worth a lock. */
static void count_fault(struct dpa_hw *hw, const struct dpa_fault_act *a)
{
	static const enum dpa_counter of[DPA_FAULT_KINDS] = {
		[DPA_FAULT_DROP] = DPA_CNT_fault_dropped,
		[DPA_FAULT_DUP] = DPA_CNT_fault_duplicated,
		[DPA_FAULT_REORDER] = DPA_CNT_fault_reordered,
		[DPA_FAULT_DELAY] = DPA_CNT_fault_delayed,
		[DPA_FAULT_CORRUPT] = DPA_CNT_fault_corrupted,
		[DPA_FAULT_TRUNCATE] = DPA_CNT_fault_truncated,
	};

	for (uint32_t k = 0; k < DPA_FAULT_KINDS; k++)
		if (a->kinds & 1u << k)
			dpa_count(hw, of[k], 1);
}

/* Under in->lock; once or twice into the store. */
static bool hold_packet(struct dpa_hw *hw, const struct dpa_fault_act *a, const struct dpa_shown *s)
{
	struct dpa_fault *q = &hw->insp->fault;
	uint32_t copies = a->kinds & 1u << DPA_FAULT_DUP ? 2 : 1;
	uint64_t now = dpa_now_ns();

	for (uint32_t i = 0; i < copies; i++)
		if (!dpa_fault_hold(q, now, a, s))
			dpa_count(hw, DPA_CNT_fault_overflow, 1);
	return new_due(hw, q);
}

/* Each from a copy: who takes a frame may write over what is in front of its payload. */
static void pass_packet(struct dpa_hw *hw, const struct dpa_fault_act *a, const struct dpa_shown *s)
{
	uint32_t copies = a->kinds & 1u << DPA_FAULT_DUP ? 2 : 1;
	uint8_t room[DPA_FRAME_ROOM + DPA_FRAME_BYTES];

	for (uint32_t i = 0; i < copies; i++) {
		struct dpa_shown c = *s;

		if (a->kinds && c.f.n <= DPA_FRAME_BYTES) {
			memcpy(room + DPA_FRAME_ROOM, s->f.p, c.f.n);
			c.f.p = room + DPA_FRAME_ROOM;
			c.f.n = dpa_fault_damage(a, room + DPA_FRAME_ROOM, c.f.n);
		}
		go_on(hw, &c);
	}
}

static void with_faults(struct dpa_hw *hw, const struct dpa_shown *s)
{
	struct dpa_inspect *in = hw->insp;
	struct dpa_fault_act a = {0};
	struct dpa_held *late = NULL;
	bool held, wake = false;

	dpa_spin_lock(&in->lock);
	if (dpa_fault_meant(&in->fault.spec, s->f.p, s->f.n))
		dpa_fault_decide(&in->fault.spec, in->fault.index++, s->f.n, &a);
	count_fault(hw, &a);
	held = a.kinds & (1u << DPA_FAULT_REORDER | 1u << DPA_FAULT_DELAY);
	if (held)
		wake = hold_packet(hw, &a, s);
	else if (!(a.kinds & 1u << DPA_FAULT_DROP))
		late = dpa_fault_overtaken(&in->fault, dpa_fault_key(&s->f));
	dpa_spin_unlock(&in->lock);
	/* a sleep that we do not see yet is a short one, as for dpa_schedule() */
	if (wake && atomic_load_explicit(&hw->service_asleep, memory_order_relaxed))
		dpa_wake_self(hw);
	if (held || (a.kinds & 1u << DPA_FAULT_DROP))
		return;
	pass_packet(hw, &a, s);
	if (late)
		send_held(hw, late);
}

void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg)
{
	struct dpa_shown s = {.at = at, .f = *f, .emit = emit, .arg = arg};

	if (at == DPA_AT_RX || !faults_on(hw))
		go_on(hw, &s);
	else
		with_faults(hw, &s);
}

bool dpa_inspect_only_drops(struct dpa_hw *hw)
{
	const struct dpa_fault *q = &hw->insp->fault;
	bool only = faults_on(hw) && !is_captured(hw);

	dpa_spin_lock(&hw->insp->lock);
	for (uint32_t k = 0; k < DPA_FAULT_KINDS; k++)
		only &= k == DPA_FAULT_DROP || !q->spec.ppm[k];
	only &= !q->held;
	dpa_spin_unlock(&hw->insp->lock);
	return only;
}

bool dpa_inspect_drops(struct dpa_hw *hw, const uint8_t *p, uint32_t n)
{
	struct dpa_inspect *in = hw->insp;
	struct dpa_fault_act a = {0};

	dpa_spin_lock(&in->lock);
	if (dpa_fault_meant(&in->fault.spec, p, n))
		dpa_fault_decide(&in->fault.spec, in->fault.index++, n, &a);
	count_fault(hw, &a);
	dpa_spin_unlock(&in->lock);
	return a.kinds & 1u << DPA_FAULT_DROP;
}

int dpa_inspect_poll(struct dpa_hw *hw)
{
	struct dpa_inspect *in = hw->insp;
	struct dpa_held *list;
	int n = 0;

	if (dpa_inspect_due(hw) > dpa_now_ns())
		return 0;
	dpa_spin_lock(&in->lock);
	list = dpa_fault_due(&in->fault, dpa_now_ns());
	new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
	for (struct dpa_held *h = list; h; h = h->next)
		n++;
	if (list)
		send_held(hw, list);
	return n;
}

void dpa_inspect_last(struct dpa_peer *p)
{
	struct dpa_hw *hw = p->hw;
	struct dpa_held *list;

	if (!atomic_load_explicit(&hw->inspect_held, memory_order_acquire))
		return;
	dpa_spin_lock(&hw->insp->lock);
	list = dpa_fault_of(&hw->insp->fault, p);
	dpa_spin_unlock(&hw->insp->lock);
	if (list)
		send_held(hw, list);
}

uint64_t dpa_inspect_due(struct dpa_hw *hw)
{
	if (!atomic_load_explicit(&hw->inspect_held, memory_order_acquire))
		return UINT64_MAX;
	return atomic_load_explicit(&hw->inspect_due, memory_order_relaxed);
}

/* ------------------------------------------------------- slots of shared memory */

struct slot_path {
	struct dpa_hw *hw;
	struct dpa_peer *peer;
	struct dpa_roce_net net;
	uint32_t mtu;
};

static void take_shm(void *arg, const struct dpa_frame *f)
{
	struct dpa_peer *peer = arg;

	dpa_frame_in(peer->hw, peer, f, false);
}

/* RoCEv2's entropy: the upper quarter of the ports. */
static uint16_t source_port(uint32_t a, uint32_t b)
{
	uint32_t h = (a * 2654435761u) ^ (b * 2246822519u);

	return (uint16_t)(0xc000 | h >> 18);
}

/* The path of a connected QP, seen from the other side. */
static void qp_net(const struct dpa_hw_qp *qp, struct dpa_roce_net *net)
{
	const struct dpa_wqe_av *av = &qp->attr.av;
	struct dpa_hw_gid own = {0};

	if (dpa_port_gid(qp->ctx->port, av->sgid_index, &own) ||
	    dpa_gid_is_v4(own.gid) != dpa_gid_is_v4(av->dgid))
		memcpy(own.gid, av->dgid, 16);
	memcpy(net->src, av->dgid, 16);
	memcpy(net->dst, own.gid, 16);
	net->tclass = av->traffic_class;
	net->hop = av->hop_limit ? av->hop_limit : 64;
	net->flow = av->flow_label & 0xfffff;
}

/* The header in front of a datagram has its source. */
static void grh_net(const uint8_t *g, struct dpa_roce_net *net)
{
	const uint8_t *ip = g + 20;

	if (g[0] >> 4 == 6) {
		net->tclass = (uint8_t)(g[0] << 4 | g[1] >> 4);
		net->flow = (uint32_t)(g[1] & 15) << 16 | (uint32_t)g[2] << 8 | g[3];
		net->hop = g[7];
		memcpy(net->src, g + 8, 16);
		memcpy(net->dst, g + 24, 16);
		return;
	}
	net->tclass = ip[1];
	net->hop = ip[8];
	net->src[10] = net->src[11] = net->dst[10] = net->dst[11] = 0xff;
	memcpy(net->src + 12, ip + 12, 4);
	memcpy(net->dst + 12, ip + 16, 4);
}

/* A slot may stand for a run of packets of the path's MTU. */
static void show_rx_entry(struct slot_path *sp, const struct dpa_slot *s, const uint8_t *payload,
			  uint32_t len)
{
	uint8_t room[DPA_FRAME_ROOM + DPA_FRAME_BYTES];
	uint32_t of = dpa_npkts(len, sp->mtu);
	struct dpa_roce_pkt whole, pkt;

	dpa_pkt_of_slot(s, &whole);
	for (uint32_t i = 0, off = 0; i < of; i++, off += sp->mtu) {
		struct dpa_frame f = {.net = sp->net, .p = room + DPA_FRAME_ROOM, .ip_known = true};
		bool last = i == of - 1;

		pkt = whole;
		pkt.opcode = dpa_op_split(s->opcode, !i, last);
		pkt.psn = dpa_psn_add(s->psn, i);
		pkt.se = last && whole.se;
		pkt.ackreq = last && whole.ackreq;
		pkt.payload = payload + off;
		pkt.len = last ? len - off : sp->mtu;
		f.net.ip_id = (uint16_t)atomic_fetch_add_explicit(&sp->hw->insp->ip_id, 1,
								  memory_order_relaxed);
		f.n = dpa_roce_encode_all(&f.net, &pkt, room + DPA_FRAME_ROOM, DPA_FRAME_BYTES);
		if (!f.n) { /* more than any path MTU: not ours */
			dpa_count(sp->hw, DPA_CNT_rx_malformed, 1);
			return;
		}
		dpa_inspect(sp->hw, DPA_AT_SHM, &f, take_shm, sp->peer);
	}
}

bool dpa_inspect_slot(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload)
{
	struct slot_path sp = {.hw = qp->hw, .peer = peer, .mtu = qp->mtu};
	uint32_t len = s->len;

	if (!dpa_roce_ext_of(s->opcode) || (s->flags & (DPA_PKT_PULL | DPA_PKT_IOV)))
		return false;
	if (qp->type == DPA_QP_UD) {
		if (len < 40 || (s->opcode & DPA_BTH_TRANSPORT) != DPA_BTH_UD ||
		    DPA_UD_SLID(((const struct dpa_ext *)s->ext)->sqpn))
			return false; /* by LID: a frame would not say so */
		grh_net(payload, &sp.net);
		payload += 40;
		len -= 40;
		sp.mtu = DPA_ROCE_MAX_MTU;
	} else {
		if ((qp->dest_qpn & DPA_QPN_INDEX) != s->src || !sp.mtu)
			return false; /* a stranger's, and frames do not say so */
		qp_net(qp, &sp.net);
		sp.mtu = dpa_slot_mtu(qp->mtu, s);
	}
	sp.net.sport = source_port(s->src, s->dqpn);
	sp.net.dport = DPA_ROCE_PORT;
	sp.net.df = true;
	qp->ops->answer(qp);
	dpa_qp_leave(qp);
	show_rx_entry(&sp, s, payload, len);
	return true;
}

void dpa_inspect_lanes(struct dpa_peer *p)
{
	struct dpa_hw *hw = p->hw;
	uint32_t bits;
	bool pull, lossy;

	if (hw->insp)
		dpa_spin_lock(&hw->insp->words);
	bits = atomic_load_explicit(&hw->inspect, memory_order_seq_cst);
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		struct dpa_lane_shm *shm =
			atomic_load_explicit(&p->rx[i].shm, memory_order_acquire);

		if (!shm)
			continue;
		/* once lossy, for good: what was lost just before the end still wants its timer */
		lossy = (bits & DPA_INSPECT_FAULT) ||
			atomic_load_explicit(&shm->lossy, memory_order_relaxed);
		pull = hw->cfg.pull == DPA_CFG_PULL_AUTO && p->can_pull && !bits && !lossy;
		atomic_store_explicit(&shm->pull, pull, memory_order_release);
		atomic_store_explicit(&shm->lossy, lossy, memory_order_release);
	}
	if (hw->insp)
		dpa_spin_unlock(&hw->insp->words);
}

/* ----------------------------------------------------------------- who asks */

/* Under in->follow. */
static void set_bit(struct dpa_hw *hw, uint32_t bit, bool on)
{
	uint32_t was = atomic_load_explicit(&hw->inspect, memory_order_relaxed);
	struct dpa_peer *p;

	if (!!(was & bit) == on)
		return;
	atomic_store_explicit(&hw->inspect, was ^ bit, memory_order_seq_cst);
	dpa_spin_lock(&hw->peer_lock);
	p = hw->all_peers;
	dpa_spin_unlock(&hw->peer_lock);
	for (; p; p = p->next)
		dpa_inspect_lanes(p);
	hw->ops->grant_all(hw);
}

static int set_faults(struct dpa_hw *hw, const struct dpa_fault_spec *spec)
{
	struct dpa_inspect *in = hw->insp;
	int ret;

	dpa_spin_lock(&in->lock);
	ret = dpa_fault_set(&in->fault, spec);
	new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
	set_bit(hw, DPA_INSPECT_FAULT, !ret && dpa_fault_any(spec));
	return ret;
}

static void follow_faults(struct dpa_hw *hw, const char *text)
{
	struct dpa_fault_spec spec = {0};
	int ret = 0;

	if (text[0] && !dpa_fault_parse(text, &spec))
		ret = EINVAL;
	if (!ret)
		ret = set_faults(hw, &spec);
	if (ret)
		dpa_log(hw, DPA_LOG_ERR, "faults asked for on the adapter instance: %s",
			strerror(ret));
	else
		dpa_log(hw, DPA_LOG_INFO, "faults: %s", text[0] ? text : "off");
}

static void follow_ask(struct dpa_hw *hw, enum dpa_board_ask_what what)
{
	struct dpa_inspect *in = hw->insp;
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen;

	if (!dpa_board_ask_get(hw->board, what, text, &gen) ||
	    gen == atomic_load_explicit(&in->seen[what], memory_order_relaxed))
		return;
	if (what == DPA_ASK_CAPTURE) {
		if (!dpa_capture_live(in->capture, text))
			return; /* not yet: asked again at the next tick */
		set_bit(hw, DPA_INSPECT_CAPTURE, dpa_capture_on(in->capture));
	} else if (!in->own) {
		follow_faults(hw, text);
	}
	atomic_store_explicit(&in->seen[what], gen, memory_order_relaxed);
	atomic_store_explicit(&hw->board->self->asked[what],
			      what == DPA_ASK_FAULT && in->own ? DPA_BOARD_ASK_OWN : gen,
			      memory_order_release);
}

void dpa_inspect_tick(struct dpa_hw *hw)
{
	struct dpa_inspect *in = hw->insp;
	bool news = false;

	for (int i = 0; i < DPA_ASKS; i++)
		news |= dpa_board_ask_gen(hw->board, (enum dpa_board_ask_what)i) !=
			atomic_load_explicit(&in->seen[i], memory_order_relaxed);
	if (!news && !is_captured(hw))
		return;
	pthread_mutex_lock(&in->follow);
	for (int i = 0; news && i < DPA_ASKS; i++)
		follow_ask(hw, (enum dpa_board_ask_what)i);
	if (is_captured(hw) && dpa_now_ns() - in->checked >= CHECK_NS) {
		in->checked = dpa_now_ns();
		dpa_capture_check(in->capture);
		set_bit(hw, DPA_INSPECT_CAPTURE, dpa_capture_on(in->capture));
	}
	pthread_mutex_unlock(&in->follow);
}

int dpa_inspect_init(struct dpa_hw *hw, char *err, size_t errlen)
{
	struct dpa_inspect *in = calloc(1, sizeof(*in));
	int ret;

	if (!in)
		return ENOMEM;
	pthread_mutex_init(&in->follow, NULL);
	hw->insp = in;
	ret = dpa_capture_new(hw, &in->capture);
	if (!ret && hw->cfg.capture[0]) {
		ret = dpa_capture_file(in->capture, hw->cfg.capture, err, errlen);
		set_bit(hw, DPA_INSPECT_CAPTURE, !ret);
	}
	in->own = hw->cfg.fault.set;
	if (in->own)
		atomic_store_explicit(&hw->board->self->asked[DPA_ASK_FAULT], DPA_BOARD_ASK_OWN,
				      memory_order_relaxed);
	if (!ret && in->own)
		ret = set_faults(hw, &hw->cfg.fault);
	if (ret) {
		dpa_inspect_fini(hw);
		return ret;
	}
	dpa_inspect_tick(hw);
	return 0;
}

void dpa_inspect_fini(struct dpa_hw *hw)
{
	struct dpa_inspect *in = hw->insp;

	if (!in)
		return;
	atomic_store_explicit(&hw->inspect, 0, memory_order_relaxed);
	dpa_capture_free(in->capture);
	dpa_fault_free(&in->fault);
	free(in);
	hw->insp = NULL;
}

void dpa_inspect_abandon(struct dpa_hw *hw)
{
	if (hw->insp)
		dpa_capture_abandon(hw->insp->capture);
}
