/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * loss.c - loss recovery of an RC requester whose link loses packets (other hosts, faults):
 * RACK-TLP (RFC 8985) on the ACKs, NAKs and timers that IBA gives. Functions and fields that carry
 * out a step of the RFC have its name: rack_*, tlp_*, xmit_ts, end_psn (Segment.end_seq), pto.
 *
 *   quiet   --sent-->      ARMED
 *   ARMED   --heard-->     ARMED: timers start again; quiet if nothing is outstanding
 *   ARMED   --pto_at-->    PROBING: one packet from acked_psn that asks for an ACK; the PTO doubles
 *   PROBING --heard-->     ARMED: sending continues as the ACK requires
 *   ARMED, PROBING --ack_at--> a retry is used, everything from acked_psn again; none left: ERR
 *
 * The answer to a NAK for a PSN sequence error is the missing packet alone, which is a probe, too,
 * while the peer seems to have an out-of-order queue (kept.c). Else it is everything from that PSN
 * (go-back-N).
 *
 * ack_at is the local ACK timeout of IBA 9.7.6.1.3. It doubles twice at most: with retry_cnt r and
 * timeout T, RETRY_EXC_ERR comes T, 3 T, 7 T and then 4 T more for each retry after the last
 * progress. It has the place of the RFC's RTO (6.3, 8). The probe is what adapters call adaptive
 * retransmission: without it a lost tail waits for T, which applications set to 67 ms and more.
 *
 * Differences from RFC 8985:
 *
 * - There is no SACK. An ACK is cumulative, and a NAK names the first missing PSN only. The NAK
 *   detects the loss, not RACK_detect_loss() (6.2, step 5). The peer sends it at the first hole;
 *   the reordering window is that of RACK.reo_wnd = 0, and its adaptation (6.2, step 4) is not here.
 * - The rule of step 5, xmit_ts + RACK.rtt + reo_wnd <= now, with SRTT for RACK.rtt, decides which
 *   packets behind a hole are no longer in flight (rack_detect_delivered()). In the RFC such a
 *   segment is lost unless a SACK came for it; here it counts as delivered.
 * - xmit_ts is kept for DPA_XMIT_MARKS groups of packets, not for each packet. The groups are in
 *   the order of time and of PSN alike and contain no retransmissions: RACK_sent_after() and
 *   RACK.min_RTT are not needed.
 * - The PTO (7.2) is 4 SRTT and not 2, 0.2 ms at least, and 10 ms before the first sample, not 1 s.
 *   No delay of the peer's ACKs is added. It doubles with each probe until the local ACK timer
 *   expires; the RFC sends one probe a flight.
 * - The probe (7.3) is the oldest packet that is not acknowledged, not new data or the last one.
 *   TLP.is_retrans is always true; TLP.end_seq is probe_end. There is no DSACK to compare (7.4.2):
 *   tlp_process_ack() compares how far the ACK reaches.
 * - The answer to a NAK, one retransmitted packet, is tracked with the fields of the probe;
 *   probe_nak distinguishes the two.
 * - recovery_psn is the RecoveryPoint of RFC 6675. The window is that of congestion control
 *   (device/pcc).
 */
#include "cc/cc.h"
#include "ctx/schedule.h"
#include "ctx/thread.h"
#include "order/order.h"
#include "send/send.h"
#include "wire/aeth.h"

#define PTO_FIRST   10000000u /* before the first round trip was measured */
#define PTO_MIN	    200000u
/*
 * A PTO that has doubled stays as it is, up to this value, until a round trip was measured (Karn).
 * So a peer that has become slow, because it polls no more, does not get a probe for each message.
 * Not if a NAK shows that packets are lost.
 */
#define PTO_KEEP    16000000u
#define PTO_MAX	    1000000000u
#define WIDE_WINDOW (512u << 10)
#define MAX_BACKOFF                                                                                \
	2u /* doublings: IBA 9.7.6.1.3 lets a timeout take up to four times its value              \
	    */
#define NEVER_NS 1000000000ull /* timeout 0: no limit, but still trying */

/*
 * Confidence of a requester that its peer keeps packets that arrive out of order. One answer that
 * shows it sets KEEPS_SURE. After KEEPS_SURE - KEEPS_KNOWN answers in a row without it, it is no
 * longer assumed: the peer's out-of-order queue may be full.
 */
#define KEEPS_SURE  10
#define KEEPS_KNOWN 3

static bool has_outstanding(const struct dpa_hw_qp *qp)
{
	return dpa_psn_diff(qp->req.max_psn, qp->req.una_psn) > 0;
}

/* The first PSN that the peer may not have, or whose response is missing. */
/* IBA 9.7.6 (resume) */
static uint32_t resume_psn(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;

	if (has_outstanding(qp) && dpa_op_answers(dpa_wqe_ctrl(qp, r->una_idx)->opcode))
		return dpa_psn_add(r->una_psn, r->read_off / qp->mtu);
	return dpa_psn_diff(r->acked_psn, r->una_psn) > 0 ? r->acked_psn : r->una_psn;
}

static uint64_t ack_timeout(const struct dpa_hw_qp *qp)
{
	uint64_t ns = dpa_timeout_ns(qp->attr.timeout);

	return ns == UINT64_MAX ? NEVER_NS : ns;
}

/* TLP_calc_PTO(): RFC 8985, 7.2. */
static uint32_t tlp_calc_pto(const struct dpa_req *r)
{
	uint64_t ns = r->srtt ? (uint64_t)r->srtt * 4 : PTO_FIRST;

	return ns < PTO_MIN ? PTO_MIN : ns > PTO_MAX ? PTO_MAX : (uint32_t)ns;
}

static void restart_loss_timers(struct dpa_hw_qp *qp, uint64_t now)
{
	struct dpa_req *r = &qp->req;

	r->backoff = 0;
	r->ack_at = now + ack_timeout(qp);
	if (!r->pto || r->pto > PTO_KEEP)
		r->pto = tlp_calc_pto(r);
	r->pto_at = now + r->pto;
}

static uint32_t qp_packet_bytes(const struct dpa_hw_qp *qp, uint32_t length)
{
	return (length < qp->mtu ? length : qp->mtu) + 64;
}

/* Number of packets of messages of this length that may be in flight. */
static uint32_t window_packets(const struct dpa_hw_qp *qp, uint32_t length)
{
	uint32_t n = qp->pcc.window / qp_packet_bytes(qp, length);

	return n < 2 ? 2 : n > DPA_LOSS_PACKETS ? DPA_LOSS_PACKETS : n;
}

/* True if an ACK is expected for a packet in flight, unless it is lost. */
static bool ack_comes(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;

	return dpa_psn_diff(r->asked_psn, resume_psn(qp)) >= 0 &&
	       dpa_psn_diff(r->asked_psn, r->send_psn) < 0;
}

/*
 * True if the time since transmission shows which packets have arrived and are kept. False while
 * READ responses are pending: these come all at the same time.
 */
static bool rack_active(const struct dpa_req *r)
{
	return r->recovery && r->keeps >= KEEPS_KNOWN && r->srtt && !r->rd_out;
}

/*
 * The loop of RACK_detect_loss() (RFC 8985, 6.2, step 5) with reo_wnd 0. While a packet is missing
 * no ACK shows what else has arrived. But a packet that was sent a round trip ago would be
 * acknowledged by now: it counts as delivered. Until the missing packet has arrived or is requested
 * (tlp_send_probe()), as many new packets may leave as ACKs would allow.
 * *psn becomes one past the last packet that counts as delivered, if there is any. Returns the time
 * (ns) when there will be more; 0: nothing was sent since.
 */
static uint64_t rack_detect_delivered(const struct dpa_req *r, uint64_t now, uint32_t *psn)
{
	uint32_t n = r->nxmit < DPA_XMIT_MARKS ? r->nxmit : DPA_XMIT_MARKS;
	uint64_t next = 0;

	for (uint32_t i = 1; i <= n; i++) {
		const struct dpa_xmit *s = &r->xmit[(r->nxmit - i) % DPA_XMIT_MARKS];

		if (s->xmit_ts + r->srtt <= now) {
			*psn = s->end_psn;
			return next;
		}
		next = s->xmit_ts + r->srtt;
	}
	return next;
}

/*
 * RACK_transmit_new_data() (RFC 8985, 6.1). One mark for each sixth of a round trip. Two more marks
 * are kept than a round trip spans, so that a new mark never replaces one that has just reached
 * that age. Another thread may have read a later time.
 */
static void rack_transmit(struct dpa_req *r, uint64_t now)
{
	const struct dpa_xmit *last = &r->xmit[(r->nxmit - 1) % DPA_XMIT_MARKS];

	if (!r->nxmit || now >= last->xmit_ts + r->srtt / (DPA_XMIT_MARKS - 2))
		r->xmit[r->nxmit++ % DPA_XMIT_MARKS].xmit_ts = now;
	r->xmit[(r->nxmit - 1) % DPA_XMIT_MARKS].end_psn = r->send_psn;
}

/*
 * Returns the number of packets in flight. Two kinds of packets are not counted, so that they do
 * not block new packets:
 * - a packet that was sent before the answer to a retransmission came: the peer keeps it although
 *   an earlier packet is missing (a full window is sent directly behind the one before, and arrived
 *   with it);
 * - a packet behind a hole that counts as delivered by its time.
 */
static uint32_t packets_in_flight(const struct dpa_hw_qp *qp, uint32_t resume)
{
	const struct dpa_req *r = &qp->req;
	const bool known = r->sacked && r->keeps > 0 && dpa_psn_diff(r->sacked_psn, resume) > 0 &&
			   dpa_psn_diff(r->sacked_psn, r->send_psn) <= 0;
	uint32_t from = known ? r->sacked_psn : resume, delivered = from;
	int32_t n;

	if (rack_active(r))
		rack_detect_delivered(r, dpa_now_about(), &delivered);
	n = dpa_psn_diff(r->send_psn, dpa_psn_diff(delivered, from) > 0 ? delivered : from);
	return n < 0 ? 0 : (uint32_t)n;
}

/* Packets for which the peer has no room beyond the hole would have to be sent again. */
uint32_t dpa_loss_room(const struct dpa_hw_qp *qp, uint32_t length)
{
	uint32_t resume = resume_psn(qp), n = window_packets(qp, length);
	uint32_t out = packets_in_flight(qp, resume), room = out < n ? n - out : 0;
	int32_t all = dpa_psn_diff(qp->req.send_psn, resume);

	n = all < 0			       ? DPA_LOSS_PACKETS
	    : (uint32_t)all < DPA_LOSS_PACKETS ? DPA_LOSS_PACKETS - (uint32_t)all
					       : 0;
	return room < n ? room : n;
}

/*
 * A sender that filled the window continues when a quarter of it is free, if an ACK is expected (as
 * RFC 9293, 3.8.6.2.1). Otherwise each ACK would let out a few packets, and the last of these asks
 * for the next ACK.
 */
static inline __attribute__((always_inline)) bool is_window_full(const struct dpa_hw_qp *qp,
								 uint32_t length)
{
	uint32_t room = dpa_loss_room(qp, length);

	return !room ||
	       (qp->req.window_full && room < window_packets(qp, length) / 4 && ack_comes(qp));
}

static bool has_window_room(struct dpa_hw_qp *qp, uint32_t length)
{
	qp->req.window_full = is_window_full(qp, length);
	return !qp->req.window_full;
}

bool dpa_loss_full(const struct dpa_hw_qp *qp, uint32_t length)
{
	return is_window_full(qp, length);
}

void dpa_loss_asked(struct dpa_hw_qp *qp)
{
	qp->req.unacked = 0;
	qp->req.asked_psn = dpa_psn_add(qp->req.send_psn, DPA_PSN_MASK);
}

bool dpa_loss_may_send(struct dpa_hw_qp *qp, uint32_t length)
{
	uint64_t now, wait;
	uint32_t psn;

	if (qp->req.probing == 1)
		return true;
	/* Checked first: packets that count as delivered meanwhile make room. */
	wait = rack_active(&qp->req) ? rack_detect_delivered(&qp->req, dpa_now_about(), &psn) : 0;
	if (!has_window_room(qp, length)) {
		psn = dpa_psn_add(resume_psn(qp), DPA_LOSS_PACKETS);
		if (wait && dpa_psn_diff(qp->req.send_psn, psn) < 0)
			dpa_schedule(qp, wait);
		return false;
	}
	dpa_cc_follow(qp);
	if (!dpa_pcc_active(&qp->pcc))
		return true;
	now = dpa_now_ns();
	wait = dpa_pcc_may_send(&qp->pcc, now, qp_packet_bytes(qp, length));
	if (wait)
		dpa_schedule(qp, now + wait);
	return !wait;
}

/*
 * Asks for an ACK behind each quarter of the window, or each half of a wide one. An ACK costs the
 * peer a system call, in which it could receive some 30 packets. (If that ACK is lost the probe
 * asks again; where packets are lost windows are not wide.)
 */
static uint32_t ack_after(const struct dpa_hw_qp *qp)
{
	uint32_t most = DPA_LOSS_PACKETS * qp_packet_bytes(qp, qp->mtu);
	uint32_t window = qp->pcc.window < most ? qp->pcc.window : most;

	return window < WIDE_WINDOW ? window / 4 : window / 2;
}

bool dpa_loss_wants_ack(struct dpa_hw_qp *qp, uint32_t bytes)
{
	struct dpa_req *r = &qp->req;

	r->unacked += bytes;
	return r->probing == 1 || r->unacked >= ack_after(qp) ||
	       (!dpa_loss_room(qp, bytes) && !ack_comes(qp));
}

/*
 * One packet at a time gives a sample; a retransmission gives none (Karn; RFC 8985, 6.2, step 2).
 */
void dpa_loss_sent(struct dpa_hw_qp *qp, uint32_t psn)
{
	struct dpa_req *r = &qp->req;
	/* pacing needs the exact time */
	uint64_t now = dpa_pcc_active(&qp->pcc) ? dpa_now_ns() : dpa_now_about();

	if (r->probing != 1)
		rack_transmit(r, now);
	dpa_cc_sent(qp, now, ((r->send_psn - psn) & DPA_PSN_MASK) * qp->mtu);
	if (!r->rtt_xmit_ts && dpa_psn_diff(psn, r->max_psn) >= 0) {
		r->rtt_xmit_ts = now;
		r->rtt_psn = psn;
	}
}

/* RFC 8985, 6.2, step 2; SRTT as RFC 6298, section 2, has it. */
static uint64_t rack_update_rtt(struct dpa_hw_qp *qp, uint64_t now)
{
	struct dpa_req *r = &qp->req;
	uint64_t rtt;

	if (!r->rtt_xmit_ts || dpa_psn_diff(resume_psn(qp), r->rtt_psn) <= 0)
		return 0;
	rtt = now > r->rtt_xmit_ts ? now - r->rtt_xmit_ts
				   : 1; /* another thread may have read a later time */
	r->rtt_xmit_ts = 0;
	if (rtt > PTO_MAX)
		rtt = PTO_MAX;
	r->srtt = r->srtt ? (uint32_t)((r->srtt * 7ull + rtt) / 8) : (uint32_t)rtt;
	if (!r->srtt)
		r->srtt = 1;
	r->pto = 0;
	return rtt;
}

static void report_event(struct dpa_hw_qp *qp, enum dpa_pcc_event_type type)
{
	struct dpa_pcc_event ev = {.now = dpa_now_ns(),
				   .type = type,
				   .psn = resume_psn(qp),
				   .end_psn = qp->req.max_psn};

	dpa_cc_event(qp, &ev);
}

static void report_acked(struct dpa_hw_qp *qp, uint64_t now, uint64_t rtt)
{
	struct dpa_req *r = &qp->req;
	uint32_t to = resume_psn(qp);
	int32_t n = dpa_psn_diff(to, r->reported_psn),
		out = dpa_psn_diff(r->send_psn, r->reported_psn);
	struct dpa_pcc_event ev = {.now = now, .type = DPA_PCC_ACK, .psn = to, .rtt_ns = rtt};

	r->reported_psn = to;
	if (n <= 0)
		return;
	ev.bytes = (uint32_t)n * qp->mtu;
	ev.inflight = (uint32_t)(out > n ? out : n) * qp->mtu;
	dpa_cc_event(qp, &ev);
}

/*
 * Packets sent by now are no longer in flight: the peer has them in its out-of-order queue, as a
 * SACK would show. Responses to READs that arrive early are not kept.
 */
static void mark_sacked(struct dpa_req *r)
{
	if (r->probe_rd)
		return;
	r->sacked_psn = r->send_psn;
	r->sacked = true;
}

/*
 * TLP_process_ack() (RFC 8985, 7.4): handles the answer to a probe. If it covers more than the
 * probe, the peer has kept the packets behind it, or nothing was lost. If it covers no more
 * although more was sent before the probe, the rest is lost or was not kept. After a NAK, a peer
 * that keeps packets names the next missing one by itself. True: sending continues from `resume`.
 */
static bool tlp_process_ack(struct dpa_hw_qp *qp, uint32_t resume)
{
	struct dpa_req *r = &qp->req;
	bool alone = resume == r->probe_end && dpa_psn_diff(r->probe_back, resume) > 0;

	r->probing = 0;
	if (r->probe_nak && !alone) {
		r->keeps = KEEPS_SURE;
		mark_sacked(r);
	}
	if (!alone)
		return false;
	if (r->probe_nak && r->keeps >= 0 && r->keeps-- >= KEEPS_KNOWN)
		return false;
	dpa_loss_unknown(r);
	dpa_seek(qp, resume);
	return true;
}

/*
 * True if the response to a READ or atomic is not complete: it comes in parts, and before the ACK
 * of the requests that follow.
 */
static bool more_to_come(const struct dpa_req *r, uint32_t resume)
{
	return r->probe_rd &&
	       (dpa_psn_diff(resume, r->probe_end) < 0 || (r->probe_nak && resume == r->probe_end));
}

/* A response of the peer for this QP arrived. */
/* IBA o9-85 */
void dpa_loss_heard(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	uint32_t resume = resume_psn(qp);
	uint64_t now;

	if (r->probing == 2 && dpa_psn_diff(resume, r->probe_psn) > 0 && !more_to_come(r, resume))
		tlp_process_ack(qp, resume);
	if (r->sacked && dpa_psn_diff(resume, r->sacked_psn) >= 0)
		r->sacked = false; /* before PSNs wrap */
	if (r->recovery && dpa_psn_diff(resume, r->recovery_psn) >= 0)
		r->recovery = false;
	if (dpa_psn_diff(resume, r->send_psn) > 0)
		dpa_seek(qp, resume); /* packets that were to be sent again have arrived */
	if (!r->heard)
		return;
	r->heard = r->implied = false;
	now = dpa_now_about();
	report_acked(qp, now, rack_update_rtt(qp, now));
	if (has_outstanding(qp))
		restart_loss_timers(qp, now);
	else
		r->ack_at = 0;
}

static void forget_flight(struct dpa_hw_qp *qp)
{
	dpa_loss_unknown(&qp->req);
	qp->req.rtt_xmit_ts = 0;
	qp->req.probing = 0;
	qp->req.unacked = 0;
}

/* A NAK or a missing response: everything is sent again, and gives no sample. */
void dpa_loss_again(struct dpa_hw_qp *qp)
{
	if (!dpa_lossy(qp))
		return;
	report_event(qp, DPA_PCC_LOSS);
	forget_flight(qp);
}

/* The local ACK timer has expired; RFC 8985, 6.3: everything counts as lost. */
/* IBA 9.7.6 (retries) */
static bool timed_out(struct dpa_hw_qp *qp, uint64_t now)
{
	struct dpa_req *r = &qp->req;

	dpa_count(qp->hw, DPA_CNT_local_ack_timeout_err, 1);
	if (qp->attr.timeout) {
		if (!r->retry_left) {
			dpa_req_fail(qp, DPA_CQE_RETRY_EXC_ERR, DPA_SYN_TIMEOUT);
			return false;
		}
		r->retry_left--;
	}
	report_event(qp, DPA_PCC_TIMEOUT);
	forget_flight(qp);
	dpa_seek(qp, resume_psn(qp));
	if (r->backoff < MAX_BACKOFF)
		r->backoff++;
	r->ack_at = now + (ack_timeout(qp) << r->backoff);
	r->implied = false;
	return true;
}

static void retransmit_one(struct dpa_hw_qp *qp, uint32_t psn, bool nak)
{
	struct dpa_req *r = &qp->req;

	r->rtt_xmit_ts = 0;
	if (r->probing != 1)
		r->probe_back = r->send_psn;
	r->probe_psn = psn;
	r->probe_nak = nak;
	r->probing = 1;
	dpa_seek(qp, psn);
	r->probe_rd = dpa_op_answers(dpa_wqe_ctrl(qp, r->send_idx)->opcode);
}

/* TLP_send_probe(): RFC 8985, 7.3. */
static void tlp_send_probe(struct dpa_hw_qp *qp, uint64_t now)
{
	struct dpa_req *r = &qp->req;

	r->implied = false;
	if (r->probing != 2 || !r->probe_rd || resume_psn(qp) != r->probe_end ||
	    !tlp_process_ack(qp, r->probe_end))
		retransmit_one(qp, resume_psn(qp), false);
	r->recovery = false;
	if (r->pto < PTO_MAX)
		r->pto *= 2;
	r->pto_at = now + r->pto;
}

/*
 * In most cases nothing was lost and the peer was only slow: packets in flight are not sent twice.
 */
void dpa_loss_probed(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;

	r->probing = 2;
	r->probe_end = r->send_psn;
	if (dpa_psn_diff(r->probe_back, r->send_psn) > 0)
		dpa_seek(qp, r->probe_back);
}

/*
 * A peer that seems to keep no packets is tested again from time to time: two packets in a row may
 * have been lost.
 */
#define TRY_AGAIN 64

/* The answer to a retransmission shows that a packet behind it is missing, too. */
static void next_missing(struct dpa_req *r, uint32_t psn)
{
	if (dpa_psn_diff(psn, r->probe_end) > 0) {
		r->keeps = KEEPS_SURE;
		mark_sacked(r);
		/* the next packet is missing, and often: the queue is full */
	} else if (r->keeps >= KEEPS_KNOWN) {
		r->keeps = r->keeps == KEEPS_KNOWN ? 0 : r->keeps - 1;
	}
}

void dpa_loss_nak(struct dpa_hw_qp *qp, uint32_t psn)
{
	struct dpa_req *r = &qp->req;
	const bool past = dpa_psn_diff(psn, r->send_psn) >= 0;

	if (!dpa_lossy(qp)) {
		dpa_rewind(qp, psn);
		return;
	}
	report_event(qp, DPA_PCC_LOSS);
	r->pto = tlp_calc_pto(r);
	if (past) /* retransmitted already */
		return;
	if (r->probing == 2 && r->probe_nak && dpa_psn_diff(psn, r->probe_psn) > 0)
		next_missing(r, psn);
	if (r->keeps > 0 || ++r->naks % TRY_AGAIN == 0) {
		retransmit_one(qp, psn, true);
		r->recovery = true;
		r->recovery_psn = r->probe_back;
		return;
	}
	forget_flight(qp);
	dpa_rewind(qp, psn);
}

bool dpa_loss_timers(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	uint64_t now;

	if (!r->ack_at || !has_outstanding(qp))
		return true;
	now = dpa_now_about();
	if (now >= r->ack_at)
		return timed_out(qp, now);
	if (now >= r->pto_at)
		tlp_send_probe(qp, now);
	return true;
}

void dpa_loss_arm(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;

	if (!has_outstanding(qp)) {
		r->ack_at = 0;
		return;
	}
	if (!r->ack_at)
		restart_loss_timers(qp, dpa_now_about());
	dpa_schedule(qp, r->ack_at < r->pto_at ? r->ack_at : r->pto_at);
}
