/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_ops.c - posts the operations of a connection and checks arriving data. */
#include "verify.h"

#include <netinet/in.h>

void recv_post(struct verify *v, struct conn *c, uint64_t i)
{
	struct ibv_sge sge = {(uintptr_t)v->t.buf + at(v, c->index, AT_RECEIVED, i), v->max,
			      v->t.mr->lkey};
	struct ibv_recv_wr *bad,
		wr = {.wr_id = WR_RECV | i % WINDOW, .sg_list = &sge, .num_sge = 1};

	CHECK_EQ(ibv_post_recv(c->qp, &wr, &bad), 0);
}

/* ------------------------------------------------------------------- our side */

static uint64_t read_offset(const struct op *op)
{
	return op->key % READ_AREA;
}

static void fill_wr(struct verify *v, struct conn *c, uint64_t seq, const struct op *op,
		    struct ibv_send_wr *wr)
{
	uint64_t base = v->t.peer.addr;

	wr->wr.rdma.rkey = v->t.peer.rkey;
	switch (op->kind) {
	case K_SEND:
		wr->opcode = IBV_WR_SEND;
		break;
	case K_WRITE:
	case K_WRITE_IMM:
		wr->opcode = op->kind == K_WRITE ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
		wr->imm_data = htonl((uint32_t)seq);
		wr->wr.rdma.remote_addr = base + at(v, c->index, AT_WRITTEN, seq);
		break;
	case K_READ:
		wr->opcode = IBV_WR_RDMA_READ;
		wr->wr.rdma.remote_addr = base + at_read(v) + read_offset(op);
		break;
	case K_FETCH_ADD:
	case K_COUNT:
		wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->wr.atomic.remote_addr =
			base + (op->kind == K_COUNT ? at_count(v) : at_words(v, c->index));
		wr->wr.atomic.compare_add = op->kind == K_COUNT ? 1 : op->key;
		wr->wr.atomic.rkey = v->t.peer.rkey;
		break;
	default:
		wr->opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
		wr->wr.atomic.remote_addr = base + at_words(v, c->index) + 8;
		/* one in four compares with another value, and must change nothing */
		wr->wr.atomic.compare_add = c->expect.swap + (op->key % 4 == 0);
		wr->wr.atomic.swap = op->key;
		wr->wr.atomic.rkey = v->t.peer.rkey;
	}
}

/* Set the contents of the words at the peer after this operation. */
static void words_after(struct verify *v, struct conn *c, uint64_t seq, const struct op *op)
{
	if (op->kind == K_FETCH_ADD) {
		c->old[seq % WINDOW] = c->expect.add;
		c->expect.add += op->key;
	} else if (op->kind == K_CMP_SWAP) {
		c->old[seq % WINDOW] = c->expect.swap;
		if (op->key % 4)
			c->expect.swap = op->key;
	} else if (op->kind == K_COUNT)
		v->counts++;
}

void op_post(struct verify *v, struct conn *c)
{
	uint64_t seq = c->mine.seq;
	struct op op = program_next(&c->mine, v->max);
	size_t local = at(v, c->index, AT_LOCAL, seq);
	bool out = op.kind == K_SEND || op.kind == K_WRITE || op.kind == K_WRITE_IMM;
	/* some without a completion, some in two segments, some inline */
	bool signal = !out || op.last || seq % 4 == 3 || op.key & 0x100;
	uint32_t first = op.len > 1 && op.kind <= K_READ && op.key & 0x200
				 ? 1 + (uint32_t)(op.key >> 16) % (op.len - 1)
				 : op.len;
	struct ibv_sge sge[2] = {
		{(uintptr_t)v->t.buf + local, first, v->t.mr->lkey},
		{(uintptr_t)v->t.buf + local + first, op.len - first, v->t.mr->lkey}};
	struct ibv_send_wr wr = {.wr_id = (uint64_t)c->index << 40 | seq,
				 .sg_list = sge,
				 .num_sge = first < op.len ? 2 : 1,
				 .send_flags = signal ? IBV_SEND_SIGNALED : 0};

	fill_wr(v, c, seq, &op, &wr);
	if (out)
		fill(v->t.buf + local, op.len, op.key);
	if (out && op.len <= v->inl)
		wr.send_flags |= IBV_SEND_INLINE;
	if (op.key & 0x400 && op.kind == K_SEND)
		wr.send_flags |= IBV_SEND_FENCE;
	words_after(v, c, seq, &op);
	c->ops[seq % WINDOW] = op;
	c->signalled[seq % WINDOW] = signal;
	CHECK_EQ(vt_post(c->qp, &wr), 0);
}

static void count_result(struct verify *v, uint64_t old)
{
	if (old / 8 >= v->seen_len) {
		uint64_t len = 2 * v->seen_len + old / 8 + 1024;

		CHECK(old < 1ull << 32, "the common counter gave %#llx", (unsigned long long)old);
		v->seen = realloc(v->seen, len);
		CHECK(v->seen, "no memory");
		memset(v->seen + v->seen_len, 0, len - v->seen_len);
		v->seen_len = len;
	}
	CHECK(!(v->seen[old / 8] & 1 << old % 8), "two operations counted from %llu",
	      (unsigned long long)old);
	v->seen[old / 8] |= (uint8_t)(1 << old % 8);
}

/* An operation of this side is complete: check its result. */
static void op_check(struct verify *v, struct conn *c, uint64_t seq)
{
	const struct op *op = &c->ops[seq % WINDOW];
	const uint8_t *p = v->t.buf + at(v, c->index, AT_LOCAL, seq);
	uint64_t got;

	v->tally.ops[op->kind]++;
	v->tally.bytes[op->kind] += op->len;
	memcpy(&got, p, sizeof(got));
	if (op->kind == K_READ)
		CHECK(!memcmp(p, v->ref + read_offset(op), op->len),
		      "QP %u, READ %llu of %u bytes brought something else", c->index,
		      (unsigned long long)seq, op->len);
	else if (op->kind == K_FETCH_ADD || op->kind == K_CMP_SWAP)
		CHECK(got == c->old[seq % WINDOW], "QP %u, %s %llu returned %#llx, not %#llx",
		      c->index, kind_name[op->kind], (unsigned long long)seq,
		      (unsigned long long)got, (unsigned long long)c->old[seq % WINDOW]);
	else if (op->kind == K_COUNT)
		count_result(v, got);
}

void op_completed(struct verify *v, const struct ibv_wc *wc)
{
	uint64_t seq = wc->wr_id & ((1ull << 40) - 1);
	struct conn *c = &v->c[wc->wr_id >> 40];

	/* earlier ones without a completion are complete too; no others are */
	for (; c->done < seq; c->done++) {
		CHECK(!c->signalled[c->done % WINDOW],
		      "QP %u: completion of %llu before that of %llu", c->index,
		      (unsigned long long)seq, (unsigned long long)c->done);
		op_check(v, c, c->done);
	}
	CHECK_EQ(c->done, seq);
	op_check(v, c, seq);
	c->done++;
}

/* ------------------------------------------------------------------ their side */

static void check_bytes(struct verify *v, const struct conn *c, uint64_t seq, const struct op *op,
			size_t off)
{
	size_t n = differs(v->t.buf + off, op->len, op->key);

	CHECK(n == op->len, "QP %u, %s %llu of %u bytes: byte %zu is wrong", c->index,
	      kind_name[op->kind], (unsigned long long)seq, op->len, n);
}

/* Walk the peer's program to the operation that has arrived. */
void arrived(struct verify *v, struct conn *c, const struct ibv_wc *wc)
{
	uint64_t slot = wc->wr_id & (WINDOW - 1), seq;
	struct op op;

	do {
		CHECK(c->theirs.length == UINT64_MAX, "QP %u: more than was sent", c->index);
		seq = c->theirs.seq;
		op = program_next(&c->theirs, v->max);
		if (op.kind == K_WRITE || op.kind == K_WRITE_IMM)
			check_bytes(v, c, seq, &op, at(v, c->index, AT_WRITTEN, seq));
	} while (op.kind != K_SEND && op.kind != K_WRITE_IMM);
	CHECK_EQ(wc->opcode, op.kind == K_SEND ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM);
	if (op.kind == K_WRITE_IMM)
		CHECK_EQ(ntohl(wc->imm_data), (uint32_t)seq);
	CHECK_EQ(wc->byte_len, op.len);
	if (op.kind == K_SEND)
		check_bytes(v, c, seq, &op, at(v, c->index, AT_RECEIVED, slot));
	recv_post(v, c, slot);
}

/* Tell the peer what it may write again. One at a time, so that it needs no place of its own. */
void credit_post(struct verify *v, struct conn *c)
{
	size_t out = at_credit_out(v, c->index);
	struct ibv_sge sge = {(uintptr_t)v->t.buf + out, 8, v->t.mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = WR_CREDIT | c->index,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {v->t.peer.addr + at_credit(v, c->index), v->t.peer.rkey}};

	if (c->credit_busy || c->credit == c->theirs.seq)
		return;
	c->credit_busy = true;
	c->credit = c->theirs.seq;
	memcpy(v->t.buf + out, &c->credit, sizeof(c->credit));
	CHECK_EQ(vt_post(c->qp, &wr), 0);
}

/* Return whether the next operation may be posted: its place here and there is free. */
bool may_post(struct verify *v, struct conn *c)
{
	uint64_t credit = load64(v, at_credit(v, c->index));

	CHECK(credit >= c->credit_seen && credit <= c->mine.seq,
	      "QP %u: the peer's count went from %llu to %llu, and %llu were posted", c->index,
	      (unsigned long long)c->credit_seen, (unsigned long long)credit,
	      (unsigned long long)c->mine.seq);
	c->credit_seen = credit;
	return c->mine.length == UINT64_MAX && c->mine.seq - c->done < WINDOW &&
	       c->mine.seq - credit < WINDOW;
}

bool conn_finished(const struct conn *c)
{
	return c->mine.length == c->done && c->theirs.length == c->theirs.seq &&
	       c->credit == c->theirs.seq && !c->credit_busy && c->credit_seen == c->mine.seq;
}
