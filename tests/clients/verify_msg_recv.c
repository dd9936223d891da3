/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_msg_recv.c - posts receives in its manner and checks the completed ones, byte by byte. */
#include "verify_msg.h"

enum { TURN = 48, CHAIN = 8 }; /* messages of a manner before the next; receives of one post */

/* -------------------------------------------------------------------- posting */

static void post_plain(struct msgs *m, struct msg_pool *p, const uint32_t *slots, uint32_t n)
{
	struct ibv_sge sge[CHAIN];
	struct ibv_recv_wr wr[CHAIN], *bad;

	for (uint32_t i = 0; i < n; i++) {
		msg_poison(m, msg_at_recv(m, slots[i]));
		sge[i] = (struct ibv_sge){(uintptr_t)m->t->buf + msg_at_recv(m, slots[i]),
					  msg_room(m), m->t->mr->lkey};
		wr[i] = (struct ibv_recv_wr){.wr_id = slots[i],
					     .next = i + 1 < n ? &wr[i + 1] : NULL,
					     .sg_list = &sge[i],
					     .num_sge = 1};
	}
	if (p->srq)
		CHECK_EQ(ibv_post_srq_recv(p->srq, wr, &bad), 0);
	else
		CHECK_EQ(ibv_post_recv(p->qp, wr, &bad), 0);
}

/* Post a buffer for any tag, in two segments, with the number of unexpected messages seen. */
static void post_tagged(struct msgs *m, uint32_t slot)
{
	const uint64_t at = (uintptr_t)m->t->buf + msg_at_recv(m, slot);
	const uint32_t half = msg_room(m) / 2;
	struct ibv_sge sge[2] = {{at, half, m->t->mr->lkey},
				 {at + half, msg_room(m) - half, m->t->mr->lkey}};
	struct ibv_ops_wr *bad,
		wr = {.opcode = IBV_WR_TAG_ADD,
		      .flags = IBV_OPS_TM_SYNC,
		      .tm = {.unexpected_cnt = m->unexpected,
			     .add = {.recv_wr_id = slot, .sg_list = sge, .num_sge = 2}}};

	msg_poison(m, msg_at_recv(m, slot));
	CHECK_EQ(ibv_post_srq_ops(m->srq, &wr, &bad), 0);
}

static void say_unexpected(struct msgs *m)
{
	struct ibv_ops_wr *bad, wr = {.opcode = IBV_WR_TAG_SYNC,
				      .flags = IBV_OPS_TM_SYNC,
				      .tm = {.unexpected_cnt = m->unexpected}};

	CHECK_EQ(ibv_post_srq_ops(m->srq, &wr, &bad), 0);
}

static void post(struct msgs *m, struct msg_pool *p, uint32_t n)
{
	while (n) {
		uint32_t k = n < CHAIN ? n : CHAIN;

		if (m->o.kind == MSG_TAG && msg_draw(m, 3)) {
			k = 1;
			m->tagged[p->free[p->nfree - 1]] = true;
			post_tagged(m, p->free[p->nfree - 1]);
		} else {
			for (uint32_t i = 0; m->o.kind == MSG_TAG && i < k; i++)
				m->tagged[p->free[p->nfree - 1 - i]] = false;
			post_plain(m, p, &p->free[p->nfree - k], k);
		}
		p->nfree -= k;
		p->posted += k;
		n -= k;
	}
}

static enum msg_manner manner_of(const struct msgs *m)
{
	if (m->o.manner == MSG_TURNS)
		return (enum msg_manner)(m->arrived / TURN % MSG_TURNS);
	return m->o.manner;
}

void msg_feed(struct msgs *m, struct msg_pool *p, bool all)
{
	enum msg_manner manner = all ? MSG_KEEPS : manner_of(m);

	if (p->waits && !all) {
		p->waits--;
		return;
	}
	switch (manner) {
	case MSG_STARVES:
		if (p->posted)
			return;
		post(m, p, 1);
		p->waits = (uint32_t)msg_draw(m, 4); /* before the next one */
		return;
	case MSG_CATCHES:
		if (p->posted)
			return;
		post(m, p, p->nfree);
		p->waits = 1 + (uint32_t)msg_draw(m, 16);
		return;
	case MSG_STOPS:
		if (msg_draw(m, 200) == 0)
			msg_stop(m);
		break;
	default:
		break;
	}
	post(m, p, p->nfree);
}

/* ------------------------------------------------------------------- received */

static struct msg_pool *pool_of(struct msgs *m, uint32_t slot)
{
	for (uint32_t i = 0; i < m->pools; i++)
		if (slot - m->pool[i].first < m->pool[i].n)
			return &m->pool[i];
	vt_fail(__FILE__, __LINE__, "a completion of receive %u, which there is not", slot);
}

/* Return the number of the message of a completion. */
static uint32_t name_of(struct msgs *m, const struct msg_wc *wc, const uint8_t *payload,
			uint32_t *flow)
{
	uint32_t head[2];

	if (m->o.kind == MSG_TAG) {
		*flow = (uint32_t)(wc->tag >> 24);
		return (uint32_t)wc->tag & 0xffffff;
	}
	if (wc->flags & IBV_WC_WITH_IMM) {
		*flow = ntohl(wc->imm) >> 24;
		return ntohl(wc->imm) & 0xffffff;
	}
	CHECK(wc->byte_len >= msg_grh(m) + MSG_HEAD, "a message of %u bytes without a number",
	      wc->byte_len);
	memcpy(head, payload, sizeof(head));
	*flow = head[0] >> 24 & 0x7f;
	return head[1];
}

/* Check that each number arrives once, in order if the transport keeps order. */
static void in_its_turn(struct msgs *m, uint32_t flow, uint32_t seq)
{
	struct msg_in *in = &m->in[flow];
	bool again;

	CHECK(seq < 1u << 24, "flow %u: message %u", flow, seq);
	again = in->bits[seq / 8] >> seq % 8 & 1;
	in->bits[seq / 8] |= (uint8_t)(1 << seq % 8);
	CHECK(!again || (m->o.twice && !msg_reliable(m)), "flow %u: message %u came twice", flow,
	      seq);
	if (msg_reliable(m))
		CHECK(seq == in->next, "flow %u: message %u came, not %u", flow, seq, in->next);
	else if (!msg_datagrams(m) && !m->o.twice)
		CHECK(seq >= in->next, "flow %u: message %u came behind %u", flow, seq,
		      in->next - 1);
	if (seq >= in->next)
		in->next = seq + 1;
}

static void bytes_are(struct msgs *m, uint32_t flow, uint32_t seq, const struct msg *p,
		      const uint8_t *got, const char *where)
{
	const int side = msg_is_own(m, flow) ? m->t->side : !m->t->side;
	uint32_t at = 0;

	msg_payload(m, side, flow, seq, p, m->wanted);
	if (!memcmp(got, m->wanted, p->len))
		return;
	while (got[at] == m->wanted[at])
		at++;
	vt_fail(__FILE__, __LINE__,
		"flow %u, message %u of %u bytes in its %s: byte %u is %#x, not %#x", flow, seq,
		p->len, where, at, got[at], m->wanted[at]);
}

/*
 * Check that nothing else was written. On UC a message that was begun and lost may have left bytes
 * in the receive of the next one, or at the target of a WRITE: there only the guard counts.
 */
static void rest_is(struct msgs *m, uint32_t flow, uint32_t seq, const uint8_t *slot, uint32_t n,
		    const char *where)
{
	const size_t from = m->o.kind == MSG_UC ? msg_room(m) : n;

	CHECK(msg_is_poison(slot + from, msg_stride(m) - from),
	      "flow %u, message %u: bytes behind its %u in its %s were written", flow, seq, n,
	      where);
}

static void check_written(struct msgs *m, uint32_t flow, uint32_t seq, const struct msg *p)
{
	const size_t at = msg_at_written(m, flow, seq);

	msg_get(m, at, m->scratch, msg_stride(m));
	bytes_are(m, flow, seq, p, m->scratch, "place");
	rest_is(m, flow, seq, m->scratch, p->len, "place");
	msg_poison(m, at);
}

/* The 40 bytes in front of a datagram: IPv4 has 20 of them, which are the last. */
static void check_grh(const uint8_t *g, uint32_t len)
{
	uint32_t ip = (uint32_t)g[22] << 8 | g[23], v6 = (uint32_t)g[4] << 8 | g[5];

	if (g[0] >> 4 == 6)
		CHECK(v6 >= 8 + 12 + 8 + len + 4, "IPv6 length %u of a message of %u", v6, len);
	else
		CHECK(g[20] == 0x45 && ip >= 20 + 8 + 12 + 8 + len + 4,
		      "IPv4 header %#x, length %u of a message of %u", g[20], ip, len);
}

/* The receive is in m->scratch. */
static void check_receive(struct msgs *m, const struct msg_wc *wc, uint32_t flow, uint32_t seq,
			  const struct msg *p)
{
	const uint32_t grh = msg_grh(m);
	bool write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	uint32_t len = write || p->op == M_WRITE ? 0 : p->len;

	if (!write)
		CHECK(wc->opcode == IBV_WC_RECV, "opcode %d", wc->opcode);
	/* a WRITE for which there was no place has become a SEND */
	CHECK(write == (p->op == M_WRITE_IMM) || (!write && !msg_reliable(m)),
	      "flow %u, message %u is no WRITE", flow, seq);
	CHECK(!(wc->flags & IBV_WC_WITH_IMM) == (p->op == M_SEND), "flow %u, message %u: flags %#x",
	      flow, seq, wc->flags);
	CHECK_EQ(wc->byte_len, grh + (write ? p->len : len));
	if (grh) {
		CHECK(wc->flags & IBV_WC_GRH, "no GRH");
		CHECK_EQ(wc->src_qp, m->in[flow].src_qpn);
		check_grh(m->scratch, p->len);
	}
	if (len)
		bytes_are(m, flow, seq, p, m->scratch + grh, "receive");
	rest_is(m, flow, seq, m->scratch, grh + len, "receive");
	if (write || p->op == M_WRITE)
		check_written(m, flow, seq, p);
}

static void is_done(struct msgs *m, uint32_t flow, const struct msg *p, uint32_t slot)
{
	struct msg_pool *pool = pool_of(m, slot);

	m->in[flow].got++;
	m->arrived++;
	m->bytes += p->len;
	pool->free[pool->nfree++] = slot;
	pool->posted--;
}

/* -------------------------------------------------------------- tag matching */

/* Check the header, and for a rendezvous request the data after it, against the sender's. */
static void check_tmh(struct msgs *m, const struct msg *p, uint32_t seq, bool rndv)
{
	struct ibv_tmh h;
	struct ibv_rvh v;

	memcpy(&h, m->scratch, sizeof(h));
	memcpy(&v, m->scratch + sizeof(h), sizeof(v));
	CHECK_EQ(h.opcode, rndv ? IBV_TMH_RNDV : IBV_TMH_EAGER);
	CHECK_EQ(be32toh(h.app_ctx), seq);
	if (rndv)
		CHECK_EQ(be32toh(v.len), p->len);
}

/*
 * It found no buffer: header and data are in a receive of the SRQ; this side must end a rendezvous.
 */
static void unexpected(struct msgs *m, const struct msg_wc *wc, uint32_t slot)
{
	struct ibv_tmh h;
	struct msg_wc named = *wc;
	uint32_t flow, seq, n;
	struct msg p;
	bool rndv;

	CHECK(!m->tagged[slot], "receive %u is a tagged buffer", slot);
	msg_get(m, msg_at_recv(m, slot), m->scratch, msg_stride(m));
	memcpy(&h, m->scratch, sizeof(h));
	named.tag = be64toh(h.tag);
	seq = name_of(m, &named, NULL, &flow);
	CHECK(flow < m->flows && m->in[flow].qpn == wc->qp_num, "flow %u", flow);
	in_its_turn(m, flow, seq);
	p = msg_program(m, !m->t->side, flow, seq);
	rndv = p.rndv && p.len;
	check_tmh(m, &p, seq, rndv);
	n = rndv ? MSG_RNDV : MSG_TMH + p.len;
	CHECK_EQ(wc->byte_len, n);
	if (!rndv)
		bytes_are(m, flow, seq, &p, m->scratch + MSG_TMH, "receive");
	rest_is(m, flow, seq, m->scratch, n, "receive");
	is_done(m, flow, &p, slot);
	m->unexpected++;
	say_unexpected(m);
}

static void tag_arrived(struct msgs *m, const struct msg_wc *wc)
{
	const uint32_t slot = (uint32_t)wc->wr_id;
	struct msg_wc named = *wc;
	uint32_t flow, seq;
	struct msg p;

	CHECK_EQ(wc->opcode, IBV_WC_TM_RECV);
	if (!(wc->flags & (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID))) {
		unexpected(m, wc, slot);
		return;
	}
	CHECK(m->tagged[slot], "receive %u is no tagged buffer", slot);
	if (wc->flags & IBV_WC_TM_MATCH)
		m->slot_tag[slot] = wc->tag;
	named.tag = m->slot_tag[slot];
	seq = name_of(m, &named, NULL, &flow);
	CHECK(flow < m->flows && m->in[flow].qpn == wc->qp_num, "flow %u", flow);
	if (wc->flags & IBV_WC_TM_MATCH)
		in_its_turn(m, flow, seq);
	if (!(wc->flags & IBV_WC_TM_DATA_VALID))
		return;
	p = msg_program(m, !m->t->side, flow, seq);
	CHECK_EQ(wc->byte_len, p.len);
	msg_get(m, msg_at_recv(m, slot), m->scratch, msg_stride(m));
	bytes_are(m, flow, seq, &p, m->scratch, "tagged buffer");
	rest_is(m, flow, seq, m->scratch, p.len, "tagged buffer");
	is_done(m, flow, &p, slot);
}

/* ----------------------------------------------------------------- completions */

static void msg_arrived(struct msgs *m, const struct msg_wc *wc)
{
	const uint32_t slot = (uint32_t)wc->wr_id;
	uint32_t flow = 0, seq;
	struct msg p;

	if (m->flushing && wc->status == IBV_WC_WR_FLUSH_ERR) {
		pool_of(m, slot)->posted--; /* its slot is not free: msg_rests_check() */
		return;
	}
	CHECK(wc->status == IBV_WC_SUCCESS, "%s (receive %u, QP %#x)",
	      ibv_wc_status_str(wc->status), slot, wc->qp_num);
	pool_of(m, slot);
	if (m->o.kind == MSG_TAG) {
		tag_arrived(m, wc);
		return;
	}
	msg_get(m, msg_at_recv(m, slot), m->scratch, msg_stride(m));
	seq = name_of(m, wc, m->scratch + msg_grh(m), &flow);
	CHECK(flow < m->flows && m->in[flow].qpn == wc->qp_num,
	      "flow %u, message %u: by QP %#x, not %#x", flow, seq, wc->qp_num,
	      flow < m->flows ? m->in[flow].qpn : 0);
	in_its_turn(m, flow, seq);
	p = msg_program(m, msg_is_own(m, flow) ? m->t->side : !m->t->side, flow, seq);
	check_receive(m, wc, flow, seq, &p);
	is_done(m, flow, &p, slot);
}

static uint32_t take_tags(struct msgs *m)
{
	struct ibv_poll_cq_attr none = {.comp_mask = 0};
	struct ibv_cq_ex *cq = m->rcq_ex;
	struct ibv_wc_tm_info info = {0};
	struct msg_wc wc;
	uint32_t n = 0;

	for (; n < BATCH && ibv_start_poll(cq, &none) == 0; n++) {
		wc = (struct msg_wc){.wr_id = cq->wr_id,
				     .status = cq->status,
				     .opcode = ibv_wc_read_opcode(cq),
				     .flags = ibv_wc_read_wc_flags(cq),
				     .byte_len = ibv_wc_read_byte_len(cq),
				     .qp_num = ibv_wc_read_qp_num(cq)};
		if (wc.flags & IBV_WC_TM_MATCH) {
			ibv_wc_read_tm_info(cq, &info);
			wc.tag = info.tag;
		}
		ibv_end_poll(cq);
		msg_arrived(m, &wc);
	}
	return n;
}

uint32_t msg_take(struct msgs *m)
{
	struct ibv_wc wc[BATCH];
	int n;

	if (m->rcq_ex)
		return take_tags(m);
	n = ibv_poll_cq(m->rcq, BATCH, wc);
	CHECK(n >= 0, "poll_cq failed");
	for (int i = 0; i < n; i++) {
		struct msg_wc w = {.wr_id = wc[i].wr_id,
				   .opcode = wc[i].opcode,
				   .status = wc[i].status,
				   .byte_len = wc[i].byte_len,
				   .imm = wc[i].imm_data,
				   .qp_num = wc[i].qp_num,
				   .src_qp = wc[i].src_qp,
				   .flags = wc[i].wc_flags};

		msg_arrived(m, &w);
	}
	return (uint32_t)n;
}

bool msg_in_ended(const struct msgs *m, uint32_t flow)
{
	const struct msg_in *in = &m->in[flow];

	if (!in->qpn)
		return true;
	if (!in->ended || in->next < in->total)
		return false;
	return !msg_reliable(m) || in->got == in->total;
}

/* Check receives without a message, and places without a WRITE. */
void msg_rests_check(struct msgs *m)
{
	for (uint32_t i = 0; i < m->pools; i++) {
		struct msg_pool *p = &m->pool[i];
		bool is_free[2 * MSG_RECVS] = {false};

		for (uint32_t k = 0; k < p->nfree; k++)
			is_free[p->free[k] - p->first] = true;
		for (uint32_t k = 0; k < p->n; k++) {
			if (is_free[k])
				continue;
			msg_get(m, msg_at_recv(m, p->first + k), m->scratch, msg_stride(m));
			rest_is(m, 0, 0, m->scratch, 0, "receive that nothing came for");
		}
	}
}
