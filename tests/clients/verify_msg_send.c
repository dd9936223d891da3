/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_msg_send.c - posts a flow's messages, and READs between them. */
#include "verify_msg.h"

static uint64_t wr_id(uint32_t flow, uint32_t seq)
{
	return (uint64_t)flow << 32 | seq;
}

/* ------------------------------------------------------------------------ READs */

/* Post a READ, one at a time for each flow; false: not now. */
static bool read_area(struct msgs *m, uint32_t flow, const struct msg *p)
{
	struct msg_out *o = &m->out[flow];
	struct ibv_sge sge = {(uintptr_t)m->t->buf + msg_at_back(m, flow), p->len, m->t->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = MSG_WR_READ | wr_id(flow, 0),
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_READ,
				 .send_flags = IBV_SEND_SIGNALED};

	if (o->reading || !p->len)
		return false;
	o->reading = true;
	o->read_off = (uint32_t)(p->key >> 32) % MSG_READ_AREA & ~7u;
	o->read_len = p->len;
	msg_poison(m, msg_at_back(m, flow));
	wr.wr.rdma.remote_addr = o->base + msg_at_read(m) + o->read_off;
	wr.wr.rdma.rkey = o->rkey;
	if (m->o.kind == MSG_XRC)
		wr.qp_type.xrc.remote_srqn = o->srqn;
	CHECK_EQ(vt_post(o->qp, &wr), 0);
	return true;
}

static void read_done(struct msgs *m, uint32_t flow)
{
	const int side = msg_is_own(m, flow) ? m->t->side : !m->t->side;
	struct msg_out *o = &m->out[flow];
	uint32_t n = o->read_len;

	msg_get(m, msg_at_back(m, flow), m->scratch, msg_stride(m));
	CHECK(differs(m->scratch, n, msg_read_key(m, side) + o->read_off) == n,
	      "flow %u: READ of %u bytes brought something else at byte %zu", flow, n,
	      differs(m->scratch, n, msg_read_key(m, side) + o->read_off));
	CHECK(msg_is_poison(m->scratch + n, msg_stride(m) - n),
	      "flow %u: READ of %u bytes wrote behind them", flow, n);
	o->reading = false;
	m->bytes += n;
}

/* --------------------------------------------------------------- tag matching's */

void msg_post_fin(struct msgs *m, uint32_t flow, uint32_t i)
{
	struct ibv_sge sge = {(uintptr_t)m->t->buf + msg_at_back(m, flow) + (size_t)i * MSG_RNDV,
			      MSG_RNDV, m->t->mr->lkey};
	struct ibv_recv_wr *bad,
		wr = {.wr_id = MSG_WR_FIN | wr_id(flow, i), .sg_list = &sge, .num_sge = 1};

	CHECK_EQ(ibv_post_recv(m->end[flow].tx, &wr, &bad), 0);
}

/* Write the bytes in front of the payload; return their number. */
static uint32_t header(struct msgs *m, uint32_t flow, uint32_t seq, const struct msg *p,
		       uint8_t *to)
{
	const bool rndv = p->rndv && p->len;
	struct ibv_tmh h = {.opcode = rndv ? IBV_TMH_RNDV : IBV_TMH_EAGER,
			    .app_ctx = htobe32(seq),
			    .tag = htobe64((uint64_t)flow << 24 | seq)};
	struct ibv_rvh v = {
		.va = htobe64((uintptr_t)m->t->buf + msg_at_source(m, flow, seq) + MSG_RNDV),
		.rkey = htobe32(m->t->mr->rkey),
		.len = htobe32(p->len)};

	if (m->o.kind != MSG_TAG)
		return 0;
	memcpy(to, &h, sizeof(h));
	if (!rndv)
		return MSG_TMH;
	memcpy(to + MSG_TMH, &v, sizeof(v));
	return MSG_RNDV;
}

/* The rendezvous of this number is over. */
static void not_busy(struct msgs *m, uint32_t flow, uint32_t seq)
{
	struct msg_out *o = &m->out[flow];

	if (o->seq - seq > MSG_SOURCES || !o->busy[seq % MSG_SOURCES])
		return;
	o->busy[seq % MSG_SOURCES] = false;
	msg_poison(m, msg_at_source(m, flow, seq));
}

/*
 * The receiver has seen all messages before this one, including those whose rendezvous it ended
 * itself.
 */
void msg_not_busy_before(struct msgs *m, uint32_t flow, uint32_t seq)
{
	for (uint32_t i = 1; i <= MSG_SOURCES && i <= seq; i++)
		not_busy(m, flow, seq - i);
}

static void fin(struct msgs *m, const struct ibv_wc *wc)
{
	const uint32_t flow = wc->wr_id >> 32 & 0xff, i = (uint32_t)wc->wr_id;
	uint8_t head[MSG_RNDV];
	struct ibv_tmh h;
	uint32_t seq;

	CHECK_EQ(wc->byte_len, MSG_RNDV);
	msg_get(m, msg_at_back(m, flow) + (size_t)i * MSG_RNDV, head, sizeof(head));
	memcpy(&h, head, sizeof(h));
	CHECK_EQ(h.opcode, IBV_TMH_FIN);
	CHECK_EQ(be64toh(h.tag) >> 24, flow);
	seq = (uint32_t)(be64toh(h.tag) & 0xffffff);
	CHECK_EQ(be32toh(h.app_ctx), seq);
	CHECK(seq < m->out[flow].seq, "flow %u: a FIN of message %u", flow, seq);
	not_busy(m, flow, seq);
	msg_post_fin(m, flow, i);
}

/* --------------------------------------------------------------------- messages */

/* Compose the message in its source, with a copy in m->scratch; *n: its bytes. */
static void compose(struct msgs *m, uint32_t flow, uint32_t seq, const struct msg *p, uint32_t *n)
{
	uint32_t head = header(m, flow, seq, p, m->scratch);

	msg_payload(m, m->t->side, flow, seq, p, m->scratch + head);
	msg_put(m, msg_at_source(m, flow, seq), m->scratch, head + p->len);
	*n = head == MSG_RNDV ? MSG_RNDV : head + p->len;
}

static void address(struct msgs *m, const struct msg_out *o, struct ibv_send_wr *wr)
{
	if (o->ah) {
		wr->wr.ud.ah = o->ah;
		wr->wr.ud.remote_qpn = o->dqpn;
		wr->wr.ud.remote_qkey = 0x11111111;
	}
	if (m->o.kind == MSG_XRC)
		wr->qp_type.xrc.remote_srqn = o->srqn;
}

static void post_write(struct msgs *m, uint32_t flow, uint32_t seq, struct ibv_send_wr *wr,
		       bool imm)
{
	const struct msg_out *o = &m->out[flow];

	wr->opcode = imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	wr->wr.rdma.remote_addr = o->base + msg_at_written(m, flow, seq);
	wr->wr.rdma.rkey = o->rkey;
	if (imm)
		return;
	wr->wr_id |= MSG_WR_WRITE;
	wr->send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	CHECK_EQ(vt_post(o->qp, wr), 0);
}

static void post_message(struct msgs *m, uint32_t flow, uint32_t seq, const struct msg *p,
			 bool signal)
{
	struct msg_out *o = &m->out[flow];
	const size_t at = (uintptr_t)m->t->buf + msg_at_source(m, flow, seq);
	uint32_t n, first;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {.wr_id = wr_id(flow, seq),
				 .sg_list = sge,
				 .send_flags = signal ? IBV_SEND_SIGNALED : 0,
				 .imm_data = htonl(flow << 24 | seq)};
	bool inl;

	compose(m, flow, seq, p, &n);
	inl = p->inl && n <= m->v->inl;
	first = p->first && p->first < n ? p->first : n;
	/* inline data is read by the processor: of device memory it is the copy */
	sge[0] = (struct ibv_sge){inl && m->dm ? (uintptr_t)m->scratch : at, first, m->t->mr->lkey};
	sge[1] = (struct ibv_sge){sge[0].addr + first, n - first, m->t->mr->lkey};
	wr.num_sge = n ? 1 + (first < n) : 0;
	wr.send_flags |= inl ? IBV_SEND_INLINE : 0;
	wr.opcode = p->op == M_SEND ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
	address(m, o, &wr);
	if (p->op == M_WRITE_IMM || p->op == M_WRITE)
		post_write(m, flow, seq, &wr, p->op == M_WRITE_IMM);
	if (p->op == M_WRITE) { /* announced by an empty SEND */
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.wr_id = wr_id(flow, seq);
		wr.num_sge = 0;
		wr.send_flags = signal ? IBV_SEND_SIGNALED : 0;
		address(m, o, &wr);
	}
	CHECK_EQ(vt_post(o->qp, &wr), 0);
	o->busy[seq % MSG_SOURCES] = n == MSG_RNDV && p->rndv && p->len;
	if (inl && !o->busy[seq % MSG_SOURCES])
		msg_poison(m, msg_at_source(m, flow, seq));
}

bool msg_out_ended(const struct msgs *m, uint32_t flow)
{
	const struct msg_out *o = &m->out[flow];

	return !o->qp || (o->seq >= o->total && o->done == o->seq && !o->reading &&
			  (msg_reliable(m) || o->seen >= o->total));
}

/*
 * After its last message a flow that may lose some continues, one at a time, until the receiver has
 * seen one of those.
 */
bool msg_send_some(struct msgs *m, uint32_t flow)
{
	struct msg_out *o = &m->out[flow];
	const uint32_t seq = o->seq;
	bool more = seq >= o->total, signal;
	struct msg p;

	if (!o->qp || (more && (msg_reliable(m) || o->seen >= o->total)) ||
	    seq - o->done >= (more ? 1 : MSG_SOURCES) || o->busy[seq % MSG_SOURCES])
		return false;
	CHECK(seq < 0xffffff, "flow %u: %u messages, of which %u were seen", flow, seq, o->seen);
	p = msg_program(m, m->t->side, flow, seq);
	if ((p.op == M_WRITE || p.op == M_WRITE_IMM) &&
	    (more || (int32_t)(seq - o->seen) >= MSG_WRITTEN)) {
		if (msg_reliable(m))
			return false; /* until the place is free */
		p.op = M_SEND_IMM;
	}
	if (p.read && msg_reliable(m) && m->o.kind != MSG_TAG)
		read_area(m, flow, &p);
	signal = p.signal || more || seq + 1 == o->total || seq % 4 == 3;
	o->signalled[seq % MSG_SOURCES] = signal;
	post_message(m, flow, seq, &p, signal);
	o->seq++;
	m->sent++;
	return true;
}

/* Completions of a queue are in order: earlier messages without one were complete before. */
void msg_sent(struct msgs *m, const struct ibv_wc *wc)
{
	const uint32_t flow = wc->wr_id >> 32 & 0xff, seq = (uint32_t)wc->wr_id;
	struct msg_out *o = &m->out[flow];

	CHECK(wc->status == IBV_WC_SUCCESS, "%s (vendor_err %#x, wr_id %#llx, QP %#x)",
	      ibv_wc_status_str(wc->status), wc->vendor_err, (unsigned long long)wc->wr_id,
	      wc->qp_num);
	if (wc->wr_id & MSG_WR_FIN) {
		fin(m, wc);
		return;
	}
	if (wc->wr_id & MSG_WR_READ) {
		read_done(m, flow);
		return;
	}
	CHECK(!(wc->wr_id & MSG_WR_WRITE), "a completion that was not asked for");
	for (; o->done != seq; o->done++) {
		CHECK(!o->signalled[o->done % MSG_SOURCES],
		      "flow %u: completion of %u before that of %u", flow, seq, o->done);
		if (!o->busy[o->done % MSG_SOURCES])
			msg_poison(m, msg_at_source(m, flow, o->done));
	}
	if (!o->busy[seq % MSG_SOURCES])
		msg_poison(m, msg_at_source(m, flow, seq));
	o->done++;
}
