/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Timers and windows of an RC requester whose link loses packets (other hosts, faults).
 *
 *   quiet   --sent-->      ARMED
 *   ARMED   --heard-->     ARMED: timers start again; quiet if nothing is outstanding
 *   ARMED   --probe_at-->  PROBING: one packet from acked_psn that asks for an ACK; the wait doubles
 *   PROBING --heard-->     ARMED: sending goes on from what the ACK says
 *   ARMED, PROBING --ack_at--> a retry is spent, everything from acked_psn again; none left: ERR
 *
 * A NAK for a PSN sequence error is answered by the missing packet alone, a probe too, as long as
 * the peer seems to keep what came out of order (kept.c); else by everything from there
 * (go-back-N).
 *
 * ack_at is the local ACK timeout of IBA 9.7.6.1.3, which doubles twice at most: with retry_cnt r
 * and timeout T, RETRY_EXC_ERR comes T, 3 T, 7 T and then 4 T more for each retry after the last
 * progress. The probe is what adapters call adaptive retransmission: a lost tail would otherwise
 * wait for T, which applications set to 67 ms and more.
 */
#include "ctx/schedule.h"
#include "transport.h"

#define PROBE_FIRST 10000000u /* before the first round trip was measured */
#define PROBE_MIN   200000u
/* A wait that has doubled stays, up to this, until a round trip was measured (Karn): a peer that
 * has become slow, as one that polls no more, is not asked again for each message. Not where a NAK
 * says that packets are lost. */
#define PROBE_KEEP  16000000u
#define PROBE_MAX   1000000000u
#define WIDE_WINDOW (512u << 10)
#define MAX_BACKOFF                                                                                \
	2u /* doublings: IBA 9.7.6.1.3 lets a timeout take up to four times its value              \
	    */
#define NEVER_NS 1000000000ull /* timeout 0: no limit, but still trying */

/*
 * How sure a requester is that its peer keeps what comes out of order. One answer that shows it is
 * enough; as many as lie between the two in a row that do not, and it is not known any more: its
 * room may be full.
 */
#define KEEPS_SURE  10
#define KEEPS_KNOWN 3

static bool outstanding(const struct dpa_hw_qp *qp)
{
	return dpa_psn_diff(qp->req.max_psn, qp->req.una_psn) > 0;
}

/* The first PSN that the peer is not known to have, or whose answer is missing. */
/* IBA 9.7.6/resume */
static uint32_t resume_psn(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;

	if (outstanding(qp) && dpa_op_answers(dpa_wqe_ctrl(qp, r->una_idx)->opcode))
		return dpa_psn_add(r->una_psn, r->read_off / qp->mtu);
	return dpa_psn_diff(r->acked_psn, r->una_psn) > 0 ? r->acked_psn : r->una_psn;
}

static uint64_t ack_timeout(const struct dpa_hw_qp *qp)
{
	uint64_t ns = dpa_timeout_ns(qp->attr.timeout);

	return ns == UINT64_MAX ? NEVER_NS : ns;
}

static uint32_t probe_wait(const struct dpa_req *r)
{
	uint64_t ns = r->srtt ? (uint64_t)r->srtt * 4 : PROBE_FIRST;

	return ns < PROBE_MIN ? PROBE_MIN : ns > PROBE_MAX ? PROBE_MAX : (uint32_t)ns;
}

static void restart(struct dpa_hw_qp *qp, uint64_t now)
{
	struct dpa_req *r = &qp->req;

	r->backoff = 0;
	r->ack_at = now + ack_timeout(qp);
	if (!r->probe_wait || r->probe_wait > PROBE_KEEP)
		r->probe_wait = probe_wait(r);
	r->probe_at = now + r->probe_wait;
}

static uint32_t packet_bytes(const struct dpa_hw_qp *qp, uint32_t length)
{
	return (length < qp->mtu ? length : qp->mtu) + 64;
}

/* Packets of messages of this length that may be out. */
static uint32_t window_of(const struct dpa_hw_qp *qp, uint32_t length)
{
	uint32_t n = qp->pcc.window / packet_bytes(qp, length);

	return n < 2 ? 2 : n > DPA_LOSS_PACKETS ? DPA_LOSS_PACKETS : n;
}

/* An ACK will come, unless it is lost, for something that is under way. */
static bool ack_comes(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;

	return dpa_psn_diff(r->asked_psn, resume_psn(qp)) >= 0 &&
	       dpa_psn_diff(r->asked_psn, r->send_psn) < 0;
}

/*
 * Time tells what has arrived, and is kept. Not what has been asked for, which comes all at once
 * then.
 */
static bool by_time(const struct dpa_req *r)
{
	return r->gap && r->keeps >= KEEPS_KNOWN && r->srtt && !r->rd_out;
}

/*
 * While a packet is missing no ACK says what else has arrived. But what was sent a round trip ago
 * would be acknowledged by now: so much more may leave, as it would for ACKs, until the missing one
 * has arrived or is asked after (probe()). *psn becomes one past what has aged, if there is any;
 * returned is when there will be more, 0: nothing was sent since.
 */
static uint64_t have_aged(const struct dpa_req *r, uint64_t now, uint32_t *psn)
{
	uint32_t n = r->nsent < DPA_SENT_MARKS ? r->nsent : DPA_SENT_MARKS;
	uint64_t next = 0;

	for (uint32_t i = 1; i <= n; i++) {
		const struct dpa_sent *s = &r->sent[(r->nsent - i) % DPA_SENT_MARKS];

		if (s->at + r->srtt <= now) {
			*psn = s->psn;
			return next;
		}
		next = s->at + r->srtt;
	}
	return next;
}

/*
 * A mark for each sixth of a round trip: two more are kept than one spans, so that the newest takes
 * the place of none that has just aged. Another thread may know a later time.
 */
static void mark_sent(struct dpa_req *r, uint64_t now)
{
	const struct dpa_sent *last = &r->sent[(r->nsent - 1) % DPA_SENT_MARKS];

	if (!r->nsent || now >= last->at + r->srtt / (DPA_SENT_MARKS - 2))
		r->sent[r->nsent++ % DPA_SENT_MARKS].at = now;
	r->sent[(r->nsent - 1) % DPA_SENT_MARKS].psn = r->send_psn;
}

/*
 * Packets that are under way. A packet that was sent when the answer came to one that was sent
 * again is not: the peer keeps it, although something in front of it is missing. (A window that is
 * full was sent at once behind the one before, and has arrived with it.) Nor is what has aged,
 * behind a loss. So that does not stop what follows.
 */
static uint32_t under_way(const struct dpa_hw_qp *qp, uint32_t resume)
{
	const struct dpa_req *r = &qp->req;
	const bool known = r->left && r->keeps > 0 && dpa_psn_diff(r->left_psn, resume) > 0 &&
			   dpa_psn_diff(r->left_psn, r->send_psn) <= 0;
	uint32_t from = known ? r->left_psn : resume, aged = from;
	int32_t n;

	if (by_time(r))
		have_aged(r, dpa_now_about(), &aged);
	n = dpa_psn_diff(r->send_psn, dpa_psn_diff(aged, from) > 0 ? aged : from);
	return n < 0 ? 0 : (uint32_t)n;
}

/* Packets that the peer has no room for beyond what is missing would have to come again. */
uint32_t dpa_loss_room(const struct dpa_hw_qp *qp, uint32_t length)
{
	uint32_t resume = resume_psn(qp), n = window_of(qp, length);
	uint32_t out = under_way(qp, resume), room = out < n ? n - out : 0;
	int32_t all = dpa_psn_diff(qp->req.send_psn, resume);

	n = all < 0			       ? DPA_LOSS_PACKETS
	    : (uint32_t)all < DPA_LOSS_PACKETS ? DPA_LOSS_PACKETS - (uint32_t)all
					       : 0;
	return room < n ? room : n;
}

/*
 * A sender that has filled the window goes on when a quarter of it is free, if an ACK is on its way
 * (as RFC 9293, 3.8.6.2.1): else each ACK would let out a few packets, of which the last asks for
 * the next ACK.
 */
static inline __attribute__((always_inline)) bool is_full(const struct dpa_hw_qp *qp,
							  uint32_t length)
{
	uint32_t room = dpa_loss_room(qp, length);

	return !room || (qp->req.window_full && room < window_of(qp, length) / 4 && ack_comes(qp));
}

static bool has_room(struct dpa_hw_qp *qp, uint32_t length)
{
	qp->req.window_full = is_full(qp, length);
	return !qp->req.window_full;
}

bool dpa_loss_full(const struct dpa_hw_qp *qp, uint32_t length)
{
	return is_full(qp, length);
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
	/* looked up first: what ages meanwhile is room */
	wait = by_time(&qp->req) ? have_aged(&qp->req, dpa_now_about(), &psn) : 0;
	if (!has_room(qp, length)) {
		psn = dpa_psn_add(resume_psn(qp), DPA_LOSS_PACKETS);
		if (wait && dpa_psn_diff(qp->req.send_psn, psn) < 0)
			dpa_schedule(qp, wait);
		return false;
	}
	if (!dpa_pcc_active(&qp->pcc))
		return true;
	now = dpa_now_ns();
	wait = dpa_pcc_may_send(&qp->pcc, now, packet_bytes(qp, length));
	if (wait)
		dpa_schedule(qp, now + wait);
	return !wait;
}

/*
 * An ACK behind each quarter of the window; of a wide one, behind each half: it costs the peer a
 * system call, in which it could take some 30 packets. (If one is lost then, the probe asks again;
 * where packets are lost windows are not wide.)
 */
static uint32_t ack_after(const struct dpa_hw_qp *qp)
{
	uint32_t most = DPA_LOSS_PACKETS * packet_bytes(qp, qp->mtu);
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

/* One packet at a time is watched; what is sent again is not (Karn). */
void dpa_loss_sent(struct dpa_hw_qp *qp, uint32_t psn)
{
	struct dpa_req *r = &qp->req;
	/* it is paced by the exact time */
	uint64_t now = dpa_pcc_active(&qp->pcc) ? dpa_now_ns() : dpa_now_about();

	if (r->probing != 1)
		mark_sent(r, now);
	dpa_pcc_sent(&qp->pcc, now, ((r->send_psn - psn) & DPA_PSN_MASK) * qp->mtu);
	if (!r->rtt_at && dpa_psn_diff(psn, r->max_psn) >= 0) {
		r->rtt_at = now;
		r->rtt_psn = psn;
	}
}

static uint64_t take_sample(struct dpa_hw_qp *qp, uint64_t now)
{
	struct dpa_req *r = &qp->req;
	uint64_t rtt;

	if (!r->rtt_at || dpa_psn_diff(resume_psn(qp), r->rtt_psn) <= 0)
		return 0;
	rtt = now > r->rtt_at ? now - r->rtt_at : 1; /* another thread may know a later time */
	r->rtt_at = 0;
	if (rtt > PROBE_MAX)
		rtt = PROBE_MAX;
	r->srtt = r->srtt ? (uint32_t)((r->srtt * 7ull + rtt) / 8) : (uint32_t)rtt;
	if (!r->srtt)
		r->srtt = 1;
	r->probe_wait = 0;
	return rtt;
}

static void tell(struct dpa_hw_qp *qp, enum dpa_pcc_event_type type)
{
	struct dpa_pcc_event ev = {.now = dpa_now_ns(),
				   .type = type,
				   .psn = resume_psn(qp),
				   .end_psn = qp->req.max_psn};

	dpa_pcc_event(&qp->pcc, &ev);
}

static void tell_acked(struct dpa_hw_qp *qp, uint64_t now, uint64_t rtt)
{
	struct dpa_req *r = &qp->req;
	uint32_t to = resume_psn(qp);
	int32_t n = dpa_psn_diff(to, r->told_psn), out = dpa_psn_diff(r->send_psn, r->told_psn);
	struct dpa_pcc_event ev = {.now = now, .type = DPA_PCC_ACK, .psn = to, .rtt_ns = rtt};

	r->told_psn = to;
	if (n <= 0)
		return;
	ev.bytes = (uint32_t)n * qp->mtu;
	ev.inflight = (uint32_t)(out > n ? out : n) * qp->mtu;
	dpa_pcc_event(&qp->pcc, &ev);
}

/*
 * Packets that were sent by now are not under way any more. Answers to READs that are ahead are not
 * kept.
 */
static void has_left(struct dpa_req *r)
{
	if (r->probe_rd)
		return;
	r->left_psn = r->send_psn;
	r->left = true;
}

/*
 * The meaning of the answer to a probe. More than the probe itself: the peer has kept what lay
 * behind it, or nothing was lost. No more than that, with more sent before it: the rest is lost, or
 * was not kept; after a NAK a peer that keeps names what else is missing by itself. True: sending
 * goes on from there.
 */
static bool probe_arrived(struct dpa_hw_qp *qp, uint32_t resume)
{
	struct dpa_req *r = &qp->req;
	bool alone = resume == r->probe_end && dpa_psn_diff(r->probe_back, resume) > 0;

	r->probing = 0;
	if (r->probe_nak && !alone) {
		r->keeps = KEEPS_SURE;
		has_left(r);
	}
	if (!alone)
		return false;
	if (r->probe_nak && r->keeps >= 0 && r->keeps-- >= KEEPS_KNOWN)
		return false;
	dpa_loss_unknown(r);
	dpa_seek(qp, resume);
	return true;
}

/* A READ's or atomic's own answer comes in parts, and before the news of what lies behind it. */
static bool more_to_come(const struct dpa_req *r, uint32_t resume)
{
	return r->probe_rd &&
	       (dpa_psn_diff(resume, r->probe_end) < 0 || (r->probe_nak && resume == r->probe_end));
}

/* The peer has spoken for this QP. */
/* IBA o9-85 */
void dpa_loss_heard(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	uint32_t resume = resume_psn(qp);
	uint64_t now;

	if (r->probing == 2 && dpa_psn_diff(resume, r->probe_psn) > 0 && !more_to_come(r, resume))
		probe_arrived(qp, resume);
	if (r->left && dpa_psn_diff(resume, r->left_psn) >= 0)
		r->left = false; /* before PSNs come round */
	if (r->gap && dpa_psn_diff(resume, r->gap_psn) >= 0)
		r->gap = false;
	if (dpa_psn_diff(resume, r->send_psn) > 0)
		dpa_seek(qp, resume); /* what was to be sent again had arrived */
	if (!r->heard)
		return;
	r->heard = r->implied = false;
	now = dpa_now_about();
	tell_acked(qp, now, take_sample(qp, now));
	if (outstanding(qp))
		restart(qp, now);
	else
		r->ack_at = 0;
}

static void forget(struct dpa_hw_qp *qp)
{
	dpa_loss_unknown(&qp->req);
	qp->req.rtt_at = 0;
	qp->req.probing = 0;
	qp->req.unacked = 0;
}

/* A NAK or a missed response: all of it is sent again, and asks for no sample. */
void dpa_loss_again(struct dpa_hw_qp *qp)
{
	if (!dpa_lossy(qp))
		return;
	tell(qp, DPA_PCC_LOSS);
	forget(qp);
}

/* IBA 9.7.6/retries */
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
	tell(qp, DPA_PCC_TIMEOUT);
	forget(qp);
	dpa_seek(qp, resume_psn(qp));
	if (r->backoff < MAX_BACKOFF)
		r->backoff++;
	r->ack_at = now + (ack_timeout(qp) << r->backoff);
	r->implied = false;
	return true;
}

static void send_one(struct dpa_hw_qp *qp, uint32_t psn, bool nak)
{
	struct dpa_req *r = &qp->req;

	r->rtt_at = 0;
	if (r->probing != 1)
		r->probe_back = r->send_psn;
	r->probe_psn = psn;
	r->probe_nak = nak;
	r->probing = 1;
	dpa_seek(qp, psn);
	r->probe_rd = dpa_op_answers(dpa_wqe_ctrl(qp, r->send_idx)->opcode);
}

static void probe(struct dpa_hw_qp *qp, uint64_t now)
{
	struct dpa_req *r = &qp->req;

	r->implied = false;
	if (r->probing != 2 || !r->probe_rd || resume_psn(qp) != r->probe_end ||
	    !probe_arrived(qp, r->probe_end))
		send_one(qp, resume_psn(qp), false);
	r->gap = false;
	if (r->probe_wait < PROBE_MAX)
		r->probe_wait *= 2;
	r->probe_at = now + r->probe_wait;
}

/* Most often nothing was lost, and the peer was only slow: what is under way is not sent twice. */
void dpa_loss_probed(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;

	r->probing = 2;
	r->probe_end = r->send_psn;
	if (dpa_psn_diff(r->probe_back, r->send_psn) > 0)
		dpa_seek(qp, r->probe_back);
}

/*
 * A peer that is known not to keep anything is asked again now and then: it may have been two in a
 * row.
 */
#define TRY_AGAIN 64

/* The answer to what was sent again: something behind it is missing, too. */
static void next_missing(struct dpa_req *r, uint32_t psn)
{
	if (dpa_psn_diff(psn, r->probe_end) > 0) {
		r->keeps = KEEPS_SURE;
		has_left(r);
	} else if (r->keeps >= KEEPS_KNOWN) { /* the next one, so often: its room is full */
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
	tell(qp, DPA_PCC_LOSS);
	r->probe_wait = probe_wait(r);
	if (past) /* sent again already */
		return;
	if (r->probing == 2 && r->probe_nak && dpa_psn_diff(psn, r->probe_psn) > 0)
		next_missing(r, psn);
	if (r->keeps > 0 || ++r->naks % TRY_AGAIN == 0) {
		send_one(qp, psn, true);
		r->gap = true;
		r->gap_psn = r->probe_back;
		return;
	}
	forget(qp);
	dpa_rewind(qp, psn);
}

bool dpa_loss_timers(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	uint64_t now;

	if (!r->ack_at || !outstanding(qp))
		return true;
	now = dpa_now_about();
	if (now >= r->ack_at)
		return timed_out(qp, now);
	if (now >= r->probe_at)
		probe(qp, now);
	return true;
}

void dpa_loss_arm(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;

	if (!outstanding(qp)) {
		r->ack_at = 0;
		return;
	}
	if (!r->ack_at)
		restart(qp, dpa_now_about());
	dpa_schedule(qp, r->ack_at < r->probe_at ? r->ack_at : r->probe_at);
}
