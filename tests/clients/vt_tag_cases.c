/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_tag_cases.c - tag matching: side 0 sends, side 1 has the SRQ with tagged buffers. */
#include <endian.h>
#include <infiniband/tm_types.h>
#include "vt.h"

enum { ROOM = 1 << 18, TMH = sizeof(struct ibv_tmh), BUFS = 16, TAGS = 4 };
enum { SMALL = 200, LARGE = 200000 };
enum { MATCH = IBV_WC_TM_MATCH, DATA = IBV_WC_TM_DATA_VALID };

static const struct vt_opt opt = {.len = (size_t)ROOM * BUFS};

struct ends {
	struct ibv_cq_ex *cq; /* side 1 */
	struct ibv_cq *plain; /* side 0 */
	struct ibv_srq *srq;
	struct ibv_qp *qp;
};

static struct ibv_srq *try_srq(struct vt *t, struct ibv_cq *cq, uint32_t tags)
{
	struct ibv_srq_init_attr_ex a = {
		.attr = {.max_wr = 16, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = t->pd,
		.cq = cq,
		.tm_cap = {.max_num_tags = tags, .max_ops = 8},
	};

	return ibv_create_srq_ex(t->ctx, &a);
}

static void open_receiver(struct vt *t, struct ends *m)
{
	struct ibv_cq_init_attr_ex ca = {
		.cqe = 128, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO};
	struct ibv_qp_init_attr qa = {.qp_type = IBV_QPT_RC};

	m->cq = ibv_create_cq_ex(t->ctx, &ca);
	CHECK(m->cq, "create_cq_ex: %s", strerror(errno));
	m->srq = try_srq(t, ibv_cq_ex_to_cq(m->cq), TAGS);
	CHECK(m->srq, "create_srq_ex: %s", strerror(errno));
	qa.send_cq = qa.recv_cq = t->cq; /* receives are reported to the SRQ's */
	qa.srq = m->srq;
	qa.cap.max_send_wr = 1;
	CHECK(!ibv_create_qp(t->pd, &qa) && errno == EINVAL, "its sends are the device's");
	qa.cap.max_send_wr = 0;
	m->qp = ibv_create_qp(t->pd, &qa);
	CHECK(m->qp, "create_qp: %s", strerror(errno));
	CHECK_EQ(ibv_destroy_srq(m->srq), EBUSY);
}

static struct ends begin(struct vt *t)
{
	struct ibv_qp_init_attr qa = {.qp_type = IBV_QPT_RC,
				      .cap = {.max_send_wr = 16,
					      .max_recv_wr = 16,
					      .max_send_sge = 1,
					      .max_recv_sge = 1}};
	struct ends m = {.cq = NULL};
	struct vt_addr peer;

	vt_setup(t, &opt);
	if (t->side == 1) {
		open_receiver(t, &m);
	} else {
		m.plain = ibv_create_cq(t->ctx, 64, NULL, NULL, 0);
		CHECK(m.plain, "create_cq: %s", strerror(errno));
		qa.send_cq = qa.recv_cq = m.plain;
		m.qp = ibv_create_qp(t->pd, &qa);
		CHECK(m.qp, "create_qp: %s", strerror(errno));
	}
	vt_connect(t, m.qp, &opt, &peer);
	return m;
}

static void end(struct vt *t, struct ends *m)
{
	vt_sync(t);
	CHECK_EQ(ibv_destroy_qp(m->qp), 0);
	if (m->srq)
		CHECK_EQ(ibv_destroy_srq(m->srq), 0);
	CHECK_EQ(ibv_destroy_cq(m->cq ? ibv_cq_ex_to_cq(m->cq) : m->plain), 0);
	vt_close(t);
}

/*
 * Send a message of n bytes, header included, with the bytes of vt_fill() for its tag behind the
 * header.
 */
static void send_msg(struct vt *t, struct ends *m, uint8_t op, uint64_t tag, uint32_t n)
{
	struct ibv_sge sge = {(uintptr_t)t->buf, n, t->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = tag,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_tmh h = {.opcode = op, .app_ctx = htobe32(0xabcd), .tag = htobe64(tag)};
	struct ibv_wc wc;

	memcpy(t->buf, &h, sizeof(h));
	if (op != IBV_TMH_RNDV)
		vt_fill(t->buf + TMH, n - TMH, (uint32_t)tag);
	CHECK_EQ(vt_post(m->qp, &wr), 0);
	wc = vt_wc(t, m->plain);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, tag);
}

static void untagged(struct vt *t, struct ends *m, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)t->buf + id * ROOM, ROOM, t->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK_EQ(ibv_post_srq_recv(m->srq, &wr, &bad), 0);
}

/* A buffer of two halves. */
static int tagged(struct vt *t, struct ends *m, uint64_t id, uint64_t tag, uint64_t mask,
		  uint32_t n, uint32_t *handle)
{
	struct ibv_sge sge[2] = {{(uintptr_t)t->buf + id * ROOM, n / 2, t->mr->lkey},
				 {(uintptr_t)t->buf + id * ROOM + n / 2, n - n / 2, t->mr->lkey}};
	struct ibv_ops_wr wr = {.opcode = IBV_WR_TAG_ADD,
				.wr_id = 100 + id,
				.flags = IBV_OPS_SIGNALED,
				.tm = {.add = {.recv_wr_id = id,
					       .sg_list = sge,
					       .num_sge = 2,
					       .tag = tag,
					       .mask = mask}}},
			  *bad = NULL;
	int ret = ibv_post_srq_ops(m->srq, &wr, &bad);

	CHECK_EQ(bad == &wr, ret != 0);
	if (handle)
		*handle = wr.tm.handle;
	return ret;
}

static void op(struct ends *m, enum ibv_ops_wr_opcode what, uint32_t handle, uint32_t unexpected)
{
	struct ibv_ops_wr wr = {.opcode = what,
				.wr_id = 99,
				.flags = IBV_OPS_SIGNALED |
					 (what == IBV_WR_TAG_SYNC ? IBV_OPS_TM_SYNC : 0),
				.tm = {.handle = handle, .unexpected_cnt = unexpected}},
			  *bad;

	CHECK_EQ(ibv_post_srq_ops(m->srq, &wr, &bad), 0);
}

/* Check the next completion; for a match with its tag. */
static uint32_t next(struct ends *m, enum ibv_wc_opcode opcode, uint64_t id, unsigned int flags,
		     uint64_t tag, enum ibv_wc_status status)
{
	struct ibv_poll_cq_attr none = {.comp_mask = 0};
	struct ibv_wc_tm_info info;
	uint32_t len;

	while (ibv_start_poll(m->cq, &none) == ENOENT)
		;
	CHECK_EQ(m->cq->status, status);
	CHECK_EQ(m->cq->wr_id, id);
	CHECK_EQ(ibv_wc_read_opcode(m->cq), opcode);
	CHECK_EQ(ibv_wc_read_wc_flags(m->cq), flags);
	ibv_wc_read_tm_info(m->cq, &info);
	CHECK_EQ(info.tag, tag);
	CHECK_EQ(info.priv, tag ? 0xabcd : 0);
	len = ibv_wc_read_byte_len(m->cq);
	ibv_end_poll(m->cq);
	return len;
}

static void added(struct ends *m, uint64_t id, unsigned int flags)
{
	next(m, IBV_WC_TM_ADD, 100 + id, flags, 0, IBV_WC_SUCCESS);
}

static void holds(struct vt *t, uint64_t id, uint32_t n, uint64_t tag)
{
	CHECK_EQ(vt_differs(t->buf + id * ROOM, n, (uint32_t)tag), n);
}

/* Match and data, at once or after one another: the link decides the number of segments. */
static void in_pieces(struct ends *m, uint64_t id)
{
	struct ibv_poll_cq_attr none = {.comp_mask = 0};
	unsigned int flags = 0;

	while (!(flags & DATA)) {
		while (ibv_start_poll(m->cq, &none) == ENOENT)
			;
		CHECK_EQ(m->cq->status, IBV_WC_SUCCESS);
		CHECK_EQ(m->cq->wr_id, id);
		CHECK(!(flags & ibv_wc_read_wc_flags(m->cq)), "a flag twice");
		flags |= ibv_wc_read_wc_flags(m->cq);
		ibv_end_poll(m->cq);
	}
	CHECK_EQ(flags, MATCH | DATA);
}

/* The first matching buffer gets it, under its mask; large ones are announced before. */
static void eager(struct vt *t)
{
	struct ends m = begin(t);

	if (t->side == 1) {
		CHECK_EQ(tagged(t, &m, 1, 0x1200, ~0xffull, LARGE, NULL), 0);
		CHECK_EQ(tagged(t, &m, 2, 0x1234, ~0ull, LARGE, NULL), 0);
		CHECK_EQ(tagged(t, &m, 3, 0x7700000000000001, ~0ull, LARGE, NULL), 0);
		for (uint64_t id = 1; id <= 3; id++)
			added(&m, id, 0);
	}
	vt_sync(t);
	if (t->side == 0) {
		send_msg(t, &m, IBV_TMH_EAGER, 0x7700000000000001, TMH + SMALL);
		send_msg(t, &m, IBV_TMH_EAGER, 0x1234, TMH + LARGE);
		send_msg(t, &m, IBV_TMH_EAGER, 0x1234, TMH);
	} else {
		CHECK_EQ(next(&m, IBV_WC_TM_RECV, 3, MATCH | DATA, 0x7700000000000001, 0), SMALL);
		holds(t, 3, SMALL, 0x7700000000000001);
		in_pieces(&m, 1);
		holds(t, 1, LARGE, 0x1234);
		CHECK_EQ(next(&m, IBV_WC_TM_RECV, 2, MATCH | DATA, 0x1234, 0), 0);
	}
	end(t, &m);
}

/* An unexpected message takes a receive; new buffers wait until it is reported. */
static void unexpected(struct vt *t)
{
	struct ends m = begin(t);

	if (t->side == 1)
		for (uint64_t id = 5; id <= 8; id++)
			untagged(t, &m, id);
	vt_sync(t);
	if (t->side == 0) {
		send_msg(t, &m, IBV_TMH_NO_TAG, 9, TMH + SMALL);
		send_msg(t, &m, IBV_TMH_EAGER, 10, TMH + SMALL);
	} else {
		CHECK_EQ(next(&m, IBV_WC_TM_NO_TAG, 5, 0, 0, 0), TMH + SMALL);
		CHECK_EQ(next(&m, IBV_WC_TM_RECV, 6, 0, 0, 0), TMH + SMALL);
		CHECK_EQ(vt_differs(t->buf + 6 * ROOM + TMH, SMALL, 10), SMALL);
		CHECK_EQ(tagged(t, &m, 1, 11, ~0ull, SMALL, NULL), 0);
		added(&m, 1, IBV_WC_TM_SYNC_REQ);
	}
	vt_sync(t);
	if (t->side == 0)
		send_msg(t, &m, IBV_TMH_EAGER, 11, TMH + SMALL);
	else
		next(&m, IBV_WC_TM_RECV, 7, 0, 0, 0); /* the buffer is not ready yet */
	vt_sync(t);
	if (t->side == 1) {
		op(&m, IBV_WR_TAG_SYNC, 0, 1);
		next(&m, IBV_WC_TM_SYNC, 99, IBV_WC_TM_SYNC_REQ, 0, 0);
		op(&m, IBV_WR_TAG_SYNC, 0, 2);
		next(&m, IBV_WC_TM_SYNC, 99, 0, 0, 0);
	}
	vt_sync(t);
	if (t->side == 0)
		send_msg(t, &m, IBV_TMH_EAGER, 11, TMH + SMALL);
	else
		CHECK_EQ(next(&m, IBV_WC_TM_RECV, 1, MATCH | DATA, 11, 0), SMALL);
	end(t, &m);
}

/* The list is bounded; a deleted or used buffer cannot be deleted. */
static void list(struct vt *t)
{
	uint32_t handle[TAGS + 1];
	struct ends m = begin(t);

	if (t->side == 1) {
		for (uint64_t id = 0; id < TAGS; id++) {
			CHECK_EQ(tagged(t, &m, id, id, ~0ull, SMALL, &handle[id]), 0);
			added(&m, id, 0);
		}
		CHECK_EQ(tagged(t, &m, 9, 9, ~0ull, SMALL, NULL), ENOMEM);
		op(&m, IBV_WR_TAG_DEL, handle[2], 0);
		next(&m, IBV_WC_TM_DEL, 99, 0, 0, IBV_WC_SUCCESS);
		op(&m, IBV_WR_TAG_DEL, handle[2], 0);
		next(&m, IBV_WC_TM_DEL, 99, 0, 0, IBV_WC_TM_ERR);
		CHECK_EQ(tagged(t, &m, 9, 9, ~0ull, SMALL, &handle[TAGS]), 0);
		CHECK(handle[TAGS] != handle[2], "a handle at once again");
		added(&m, 9, 0);
		op(&m, IBV_WR_TAG_DEL, 0xffffffff, 0);
		next(&m, IBV_WC_TM_DEL, 99, 0, 0, IBV_WC_TM_ERR);
		CHECK(!try_srq(t, ibv_cq_ex_to_cq(m.cq), 1 << 20) && errno == EINVAL, "so many");
		CHECK(!try_srq(t, NULL, 4) && errno == EINVAL, "without a CQ");
	}
	vt_sync(t);
	if (t->side == 0)
		send_msg(t, &m, IBV_TMH_EAGER, 3, TMH + SMALL);
	else
		CHECK_EQ(next(&m, IBV_WC_TM_RECV, 3, MATCH | DATA, 3, 0), SMALL);
	if (t->side == 1) {
		op(&m, IBV_WR_TAG_DEL, handle[3], 0);
		next(&m, IBV_WC_TM_DEL, 99, 0, 0, IBV_WC_TM_ERR);
	}
	end(t, &m);
}

static void request(struct vt *t, struct ends *m, uint64_t tag, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)t->buf + ROOM, ROOM, t->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 500, .sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_rvh h = {.va = htobe64((uintptr_t)t->buf + 2 * ROOM),
			    .rkey = htobe32(t->mr->rkey),
			    .len = htobe32(len)};

	CHECK_EQ(ibv_post_recv(m->qp, &wr, &bad), 0);
	vt_fill(t->buf + 2 * ROOM, len, (uint32_t)tag);
	memcpy(t->buf + TMH, &h, sizeof(h));
	send_msg(t, m, IBV_TMH_RNDV, tag, TMH + sizeof(h));
}

/* The device fetches announced data and reports it; too much for the buffer: it does not. */
static void rendezvous(struct vt *t)
{
	const struct ibv_tmh *h;
	struct ends m = begin(t);
	struct ibv_wc wc;

	if (t->side == 1) {
		CHECK_EQ(tagged(t, &m, 3, 7, ~0ull, LARGE, NULL), 0);
		CHECK_EQ(tagged(t, &m, 4, 8, ~0ull, SMALL, NULL), 0);
		added(&m, 3, 0);
		added(&m, 4, 0);
	}
	vt_sync(t);
	if (t->side == 0) {
		request(t, &m, 7, LARGE);
		wc = vt_wc(t, m.plain);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.opcode, IBV_WC_RECV);
		CHECK_EQ(wc.byte_len, 2 * TMH);
		h = (const struct ibv_tmh *)(t->buf + ROOM);
		CHECK_EQ(h->opcode, IBV_TMH_FIN);
		CHECK_EQ(be64toh(h->tag), 7);
		CHECK_EQ(be32toh(h->app_ctx), 0xabcd);
		request(t, &m, 8, SMALL + 1);
	} else {
		next(&m, IBV_WC_TM_RECV, 3, MATCH, 7, IBV_WC_SUCCESS);
		next(&m, IBV_WC_TM_RECV, 3, DATA, 0, IBV_WC_SUCCESS);
		holds(t, 3, LARGE, 7);
		next(&m, IBV_WC_TM_RECV, 4, MATCH, 8, IBV_WC_TM_RNDV_INCOMPLETE);
		h = (const struct ibv_tmh *)(t->buf + 4 * ROOM);
		CHECK_EQ(h->opcode, IBV_TMH_RNDV);
		CHECK_EQ(be64toh(h->tag), 8);
	}
	end(t, &m);
}

static const struct vt_case cases[] = {
	{"eager", eager, VT_BOTH, 0},
	{"unexpected", unexpected, VT_BOTH, 0},
	{"list", list, VT_BOTH, 0},
	{"rendezvous", rendezvous, VT_BOTH, 0},
};

VT_MAIN(cases)
