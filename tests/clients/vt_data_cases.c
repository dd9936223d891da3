/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_data_cases.c - messages arrive as they were sent: opcodes, sizes, gather lists, inline data,
 * order.
 */
#include "vt.h"

#include <arpa/inet.h>

enum { MAX_INLINE_ASKED = 512, SGES = 32 };

static const uint32_t sizes[] = {0,	  1,	   7,	    8,	    63,	   64,	  65,
				 255,	  256,	   1023,    1024,   1025,  2048,  4095,
				 4096,	  4097,	   8192,    65535,  65536, 65537, 262144,
				 1048576, 1048577, 4194304, 8388608};
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Return the largest inline size that the device grants, up to the requested one. */
static uint32_t inline_cap(struct vt *t)
{
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr ia;

	CHECK_EQ(ibv_query_qp(t->qp, &a, IBV_QP_CAP, &ia), 0);
	return ia.cap.max_inline_data;
}

/* Every inline size up to the cap, SEND and WRITE; the source is overwritten at once. */
static void inline_sizes(struct vt *t)
{
	struct vt_opt o = {.inl = MAX_INLINE_ASKED};
	const unsigned int flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	uint32_t cap;

	vt_setup(t, &o);
	cap = inline_cap(t);
	CHECK(cap >= MAX_INLINE_ASKED, "cap is %u", cap);
	for (uint32_t n = 0; n <= cap; n++) {
		if (t->side == 1) {
			memset(t->buf, 0, 16384);
			CHECK_EQ(vt_recv(t, 0, 8192, n), 0);
			vt_sync(t);
			struct ibv_wc wc = vt_wc_is(t, n, IBV_WC_SUCCESS);

			CHECK_EQ(wc.byte_len, n);
			CHECK_EQ(vt_differs(t->buf, n, n), n);
			CHECK_EQ(vt_differs(t->buf + 8192, n, n + 1), n);
			CHECK_EQ(t->buf[8192 + n], 0);
			vt_sync(t);
			continue;
		}
		vt_sync(t);
		vt_fill(t->buf, n, n + 1);
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 8192, n, 2 * n, flags), 0);
		vt_fill(t->buf, n, n);
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, n, 2 * n + 1, flags), 0);
		memset(t->buf, 0xee, n);
		vt_wc_is(t, 2 * n, IBV_WC_SUCCESS);
		vt_wc_is(t, 2 * n + 1, IBV_WC_SUCCESS);
		vt_sync(t);
	}
	if (t->side == 0)
		CHECK(vt_send(t, IBV_WR_SEND, 0, 0, cap + 1, 0, flags) != 0,
		      "one byte more than the cap was taken");
	vt_close(t);
}

/* Inline data gathered from several SGEs, whose lkeys are ignored. */
static void inline_gather(struct vt *t)
{
	struct vt_opt o = {.inl = 256, .sge = 8};

	vt_setup(t, &o);
	if (t->side == 0) {
		uint8_t local[128];
		struct ibv_sge sge[4] = {{(uintptr_t)local, 3, 0},
					 {(uintptr_t)local + 3, 64, 0x12345},
					 {(uintptr_t)local + 67, 0, 0},
					 {(uintptr_t)local + 67, 61, 0}};
		struct ibv_send_wr wr = {.wr_id = 1,
					 .sg_list = sge,
					 .num_sge = 4,
					 .opcode = IBV_WR_SEND_WITH_IMM,
					 .imm_data = htonl(0xabcdef01),
					 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};

		vt_fill(local, sizeof(local), 5);
		vt_sync(t);
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 1, IBV_WC_SUCCESS);
	} else {
		CHECK_EQ(vt_recv(t, 0, 4096, 9), 0);
		vt_sync(t);
		struct ibv_wc wc = vt_wc_is(t, 9, IBV_WC_SUCCESS);

		CHECK_EQ(wc.byte_len, 128);
		CHECK(wc.wc_flags & IBV_WC_WITH_IMM, "flags %#x", wc.wc_flags);
		CHECK_EQ(ntohl(wc.imm_data), 0xabcdef01u);
		CHECK_EQ(vt_differs(t->buf, 128, 5), 128);
	}
	vt_close(t);
}

static void send_side(struct vt *t, uint32_t n)
{
	if (t->side == 1) {
		memset(t->buf, 0, t->len < n + 64 ? t->len : n + 64);
		CHECK_EQ(vt_recv(t, 0, n, n), 0);
		vt_sync(t);
		struct ibv_wc wc = vt_wc_is(t, n, IBV_WC_SUCCESS);

		CHECK_EQ(wc.byte_len, n);
		CHECK_EQ(wc.opcode, IBV_WC_RECV);
		CHECK_EQ(wc.qp_num, t->qp->qp_num);
		CHECK_EQ(vt_differs(t->buf, n, n), n);
		CHECK_EQ(t->buf[n], 0);
	} else {
		vt_fill(t->buf, n, n);
		vt_sync(t);
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, n, n, IBV_SEND_SIGNALED), 0);
		CHECK_EQ(vt_wc_is(t, n, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
	}
	vt_sync(t);
}

static void send_sizes(struct vt *t)
{
	struct vt_opt o = {.len = (8u << 20) + 4096};

	vt_setup(t, &o);
	for (size_t i = 0; i < NSIZES; i++)
		send_side(t, sizes[i]);
	vt_close(t);
}

static void uc_send_sizes(struct vt *t)
{
	struct vt_opt o = {.type = IBV_QPT_UC, .len = (8u << 20) + 4096};

	vt_setup(t, &o);
	for (size_t i = 0; i < NSIZES; i++)
		send_side(t, sizes[i]);
	vt_close(t);
}

/* WRITE with immediate, plain WRITE before it: data is there when the receive completes. */
static void write_loop(struct vt *t)
{
	for (size_t i = 0; i < NSIZES; i++) {
		uint32_t n = sizes[i];
		struct ibv_sge sge;
		struct ibv_send_wr wr;

		if (t->side == 1) {
			memset(t->buf, 0, n + 128);
			CHECK_EQ(vt_recv(t, 0, 0, i), 0);
			vt_sync(t);
			struct ibv_wc wc = vt_wc_is(t, i, IBV_WC_SUCCESS);

			CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
			CHECK_EQ(wc.byte_len, n);
			CHECK_EQ(wc.imm_data, htonl((uint32_t)i + 77));
			CHECK_EQ(vt_differs(t->buf + 64, n, n), n);
			CHECK_EQ(t->buf[63], 0);
			CHECK_EQ(t->buf[64 + n], 0);
			vt_sync(t);
			continue;
		}
		vt_fill(t->buf, n, n);
		vt_sync(t);
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 64, n, 1000 + i, IBV_SEND_SIGNALED), 0);
		wr = vt_wr(t, IBV_WR_RDMA_WRITE_WITH_IMM, &sge, 0, 64, n);
		wr.wr_id = i;
		wr.imm_data = htonl((uint32_t)i + 77);
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		CHECK_EQ(vt_wc_is(t, 1000 + i, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_WRITE);
		CHECK_EQ(vt_wc_is(t, i, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_WRITE);
		vt_sync(t);
	}
}

static void write_sizes(struct vt *t)
{
	struct vt_opt o = {.len = (8u << 20) + 4096};

	vt_setup(t, &o);
	write_loop(t);
	vt_close(t);
}

static void uc_write_sizes(struct vt *t)
{
	struct vt_opt o = {.type = IBV_QPT_UC, .len = (8u << 20) + 4096};

	vt_setup(t, &o);
	write_loop(t);
	vt_close(t);
}

static void read_sizes(struct vt *t)
{
	struct vt_opt o = {.len = (8u << 20) + 4096};

	vt_setup(t, &o);
	vt_fill(t->buf, t->len, t->side ? 3 : 4);
	vt_sync(t);
	for (size_t i = 0; i < NSIZES && t->side == 0; i++) {
		uint32_t n = sizes[i];

		CHECK_EQ(vt_send(t, IBV_WR_RDMA_READ, 128, 0, n, i, IBV_SEND_SIGNALED), 0);
		struct ibv_wc wc = vt_wc_is(t, i, IBV_WC_SUCCESS);

		CHECK_EQ(wc.opcode, IBV_WC_RDMA_READ);
		CHECK_EQ(vt_differs(t->buf + 128, n, 3), n);
		CHECK_EQ(vt_differs(t->buf, 128, 4), 128);
	}
	vt_close(t);
}

/* Both atomics: returned value, remaining value, and byte order of the host. */
static void atomics(struct vt *t)
{
	struct vt_opt o = {0};
	volatile uint64_t *mem;

	vt_setup(t, &o);
	mem = (volatile uint64_t *)t->buf;
	mem[0] = t->side ? 100 : 0;
	vt_sync(t);
	for (uint64_t i = 0; i < 200 && t->side == 0; i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 64, 0, 8);

		wr.wr_id = i;
		wr.wr.atomic.compare_add = 3;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		CHECK_EQ(vt_wc_is(t, i, IBV_WC_SUCCESS).opcode, IBV_WC_FETCH_ADD);
		CHECK_EQ(mem[8], 100 + 3 * i);
		wr = vt_wr(t, IBV_WR_ATOMIC_CMP_AND_SWP, &sge, 64, 0, 8);
		wr.wr_id = i;
		wr.wr.atomic.compare_add = i % 2 ? 100 + 3 * (i + 1) : 0xdead;
		wr.wr.atomic.swap = 100 + 3 * (i + 1);
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		CHECK_EQ(vt_wc_is(t, i, IBV_WC_SUCCESS).opcode, IBV_WC_COMP_SWAP);
		CHECK_EQ(mem[8], 100 + 3 * (i + 1));
	}
	vt_sync(t);
	if (t->side == 1)
		CHECK_EQ(mem[0], 100 + 3 * 200);
	vt_close(t);
}

/* Make n SGEs of uneven sizes over t->buf, leaving out every second byte run. */
static uint32_t make_sges(struct vt *t, struct ibv_sge *sge, size_t base, int n)
{
	uint32_t total = 0;

	for (int i = 0; i < n; i++) {
		uint32_t len = (uint32_t)((i * 37) % 301) + 1;

		sge[i] = (struct ibv_sge){(uintptr_t)t->buf + base + (size_t)i * 512, len,
					  t->mr->lkey};
		total += len;
	}
	return total;
}

static size_t gathered_differs(const struct ibv_sge *sge, int n, uint32_t seed)
{
	uint8_t flat[SGES * 512];
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		memcpy(flat + at, (void *)(uintptr_t)sge[i].addr, sge[i].length);
		at += sge[i].length;
	}
	return vt_differs(flat, at, seed);
}

static void scatter_pattern(const struct ibv_sge *sge, int n, uint32_t seed)
{
	uint8_t flat[SGES * 512];
	size_t at = 0;

	vt_fill(flat, sizeof(flat), seed);
	for (int i = 0; i < n; i++) {
		memcpy((void *)(uintptr_t)sge[i].addr, flat + at, sge[i].length);
		at += sge[i].length;
	}
}

/* Gather and scatter over 32 SGEs: SEND to a scattered receive, WRITE, READ. */
static void sges_32(struct vt *t)
{
	struct vt_opt o = {.sge = SGES};
	struct ibv_sge sge[SGES];
	uint32_t total;

	vt_setup(t, &o);
	total = make_sges(t, sge, 0, SGES);
	if (t->side == 1) {
		struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = sge, .num_sge = SGES}, *bad;

		CHECK_EQ(ibv_post_recv(t->qp, &wr, &bad), 0);
		vt_sync(t);
		CHECK_EQ(vt_wc_is(t, 5, IBV_WC_SUCCESS).byte_len, total);
		CHECK_EQ(gathered_differs(sge, SGES, 11), total);
		vt_sync(t);
		CHECK_EQ(vt_differs(t->buf + 32768, total, 12), total);
		vt_sync(t);
	} else {
		struct ibv_send_wr wr = {.wr_id = 6,
					 .sg_list = sge,
					 .num_sge = SGES,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED};

		scatter_pattern(sge, SGES, 11);
		vt_sync(t);
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 6, IBV_WC_SUCCESS);
		scatter_pattern(sge, SGES, 12);
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = t->peer.addr + 32768;
		wr.wr.rdma.rkey = t->peer.rkey;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 6, IBV_WC_SUCCESS);
		vt_sync(t);
		memset(t->buf, 0, SGES * 512);
		wr.opcode = IBV_WR_RDMA_READ;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 6, IBV_WC_SUCCESS);
		CHECK_EQ(gathered_differs(sge, SGES, 12), total);
		vt_sync(t);
	}
	vt_close(t);
}

/* A posted list of 16 WRITEs and a SEND, only the last signalled; three times around the ring. */
static void posted_lists(struct vt *t)
{
	enum { LIST = 16, ROUNDS = 40 };
	struct vt_opt o = {.send_wr = LIST};

	vt_setup(t, &o);
	for (uint32_t r = 0; r < ROUNDS; r++) {
		struct ibv_sge sge[LIST];
		struct ibv_send_wr wr[LIST];

		if (t->side == 1) {
			CHECK_EQ(vt_recv(t, 60000, 64, r), 0);
			vt_sync(t);
			vt_wc_is(t, r, IBV_WC_SUCCESS);
			for (uint32_t i = 0; i < LIST - 1; i++)
				CHECK_EQ(vt_differs(t->buf + i * 1024, 700, r * 31 + i), 700);
			vt_sync(t);
			continue;
		}
		for (uint32_t i = 0; i < LIST; i++) {
			vt_fill(t->buf + i * 1024, 700, r * 31 + i);
			wr[i] = vt_wr(t, i < LIST - 1 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, &sge[i],
				      i * 1024, i * 1024, i < LIST - 1 ? 700 : 8);
			wr[i].wr_id = i;
			wr[i].send_flags = i < LIST - 1 ? 0 : IBV_SEND_SIGNALED;
			wr[i].next = i < LIST - 1 ? &wr[i + 1] : NULL;
		}
		vt_sync(t);
		CHECK_EQ(vt_post(t->qp, wr), 0);
		vt_wc_is(t, LIST - 1, IBV_WC_SUCCESS);
		vt_wc_none(t, t->cq);
		vt_sync(t);
	}
	vt_close(t);
}

/* A list with a bad entry: earlier ones are posted, bad_wr is that entry. */
static void posted_list_bad(struct vt *t)
{
	struct vt_opt o = {.sge = 2};

	vt_setup(t, &o);
	if (t->side == 0) {
		struct ibv_sge sge[3], many[64];
		struct ibv_send_wr wr[3], *bad = NULL;

		memset(many, 0, sizeof(many));
		for (int i = 0; i < 3; i++) {
			wr[i] = vt_wr(t, IBV_WR_RDMA_WRITE, &sge[i], 0, 0, 8);
			wr[i].wr_id = (uint64_t)i;
			wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		}
		wr[1].sg_list = many;
		wr[1].num_sge = 64;
		CHECK(ibv_post_send(t->qp, wr, &bad) > 0, "64 SGEs of 2 were taken");
		CHECK(bad == &wr[1], "bad_wr");
		vt_wc_is(t, 0, IBV_WC_SUCCESS);
		vt_wc_none(t, t->cq);
	}
	vt_close(t);
}

/* A READ, then a fenced WRITE of its result: the write carries the data of the READ. */
static void fence(struct vt *t)
{
	enum { ROUNDS = 200, N = 20000 };
	struct vt_opt o = {0};

	vt_setup(t, &o);
	for (uint32_t r = 0; r < ROUNDS; r++) {
		if (t->side == 1)
			vt_fill(t->buf, N, r);
		vt_sync(t);
		if (t->side == 0) {
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_READ, 0, 0, N, 1, 0), 0);
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 30000, N, 2,
					 IBV_SEND_FENCE | IBV_SEND_SIGNALED),
				 0);
			vt_wc_is(t, 2, IBV_WC_SUCCESS);
		}
		vt_sync(t);
		if (t->side == 1)
			CHECK_EQ(vt_differs(t->buf + 30000, N, r), N);
	}
	vt_close(t);
}

/* sq_sig_all; and without it, one signalled in 100 over a queue of 128, many times around. */
static void selective_signal(struct vt *t)
{
	struct vt_opt o = {.send_wr = 128};

	vt_setup(t, &o);
	if (t->side == 0)
		for (uint64_t i = 1; i <= 10000; i++) {
			unsigned int f = i % 100 ? 0 : IBV_SEND_SIGNALED;

			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, i, f), 0);
			if (f)
				vt_wc_is(t, i, IBV_WC_SUCCESS);
		}
	vt_close(t);
}

static void sig_all(struct vt *t)
{
	struct vt_opt o = {.sig_all = true};

	vt_setup(t, &o);
	if (t->side == 0)
		for (uint64_t i = 0; i < 300; i++) {
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, i, 0), 0);
			vt_wc_is(t, i, IBV_WC_SUCCESS);
		}
	vt_close(t);
}

/* A READ outstanding window deeper than max_rd_atomic, completions in order. */
static void many_reads(struct vt *t)
{
	struct vt_opt o = {.rd_atomic = 2, .send_wr = 64};

	vt_setup(t, &o);
	vt_fill(t->buf, t->len, t->side);
	vt_sync(t);
	for (int r = 0; r < 20 && t->side == 0; r++) {
		memset(t->buf, 0, t->len);
		for (uint64_t i = 0; i < 64; i++)
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_READ, i * 1000, i * 1000, 1000, i,
					 IBV_SEND_SIGNALED),
				 0);
		for (uint64_t i = 0; i < 64; i++)
			vt_wc_is(t, i, IBV_WC_SUCCESS);
		CHECK_EQ(vt_differs(t->buf, 64000, 1), 64000);
	}
	vt_close(t);
}

/* UD: GRH before the payload, source QPN, immediate; each to its own peer's AH. */
static void ud_send(struct vt *t)
{
	enum { GRH = 40 };
	struct vt_opt o = {.type = IBV_QPT_UD};
	struct ibv_ah *ah;

	vt_setup(t, &o);
	ah = vt_ah(t, &t->peer);
	for (uint32_t n = 0; n <= 1024; n += 64) {
		CHECK_EQ(vt_recv(t, 8192, GRH + 4096, n), 0);
		vt_fill(t->buf, n, n + (uint32_t)t->side);
		vt_sync(t);
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND_WITH_IMM, &sge, 0, 0, n);

		wr.wr_id = 100000 + n;
		wr.imm_data = htonl(n);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = t->peer.qpn;
		wr.wr.ud.remote_qkey = t->peer.qkey;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		for (int got = 0; got < 2; got++) {
			struct ibv_wc wc = vt_wc(t, t->cq);

			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			if (wc.wr_id != n) {
				CHECK_EQ(wc.wr_id, 100000 + n);
				continue;
			}
			CHECK_EQ(wc.byte_len, n + GRH);
			CHECK(wc.wc_flags & IBV_WC_GRH, "flags %#x", wc.wc_flags);
			CHECK(wc.wc_flags & IBV_WC_WITH_IMM, "flags %#x", wc.wc_flags);
			CHECK_EQ(ntohl(wc.imm_data), n);
			CHECK_EQ(wc.src_qp, t->peer.qpn);
			CHECK_EQ(vt_differs(t->buf + 8192 + GRH, n, n + (uint32_t)!t->side), n);
		}
		vt_sync(t);
	}
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	vt_close(t);
}

/* Both directions at once, the queues full, receives posted late enough for RNR to happen. */
static void full_duplex(struct vt *t)
{
	enum { MSGS = 3000, WINDOW = 32, N = 3000 };
	struct vt_opt o = {.send_wr = WINDOW, .recv_wr = 8, .len = 1 << 18};
	uint32_t sent = 0, done = 0, got = 0, posted = 0;

	vt_setup(t, &o);
	vt_fill(t->buf, N, 9);
	while (done < MSGS || got < MSGS) {
		struct ibv_wc wc[16];
		int n;

		while (posted < MSGS && posted - got < 8) {
			CHECK_EQ(vt_recv(t, 65536 + (posted % 8) * 4096, 4096, 1u << 20), 0);
			posted++;
		}
		while (sent < MSGS && sent - done < WINDOW) {
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, N, sent, IBV_SEND_SIGNALED), 0);
			sent++;
		}
		n = ibv_poll_cq(t->cq, 16, wc);
		CHECK(n >= 0, "poll");
		for (int i = 0; i < n; i++) {
			CHECK(wc[i].status == IBV_WC_SUCCESS, "%s",
			      ibv_wc_status_str(wc[i].status));
			if (wc[i].wr_id == 1u << 20) {
				CHECK_EQ(vt_differs(t->buf + 65536 + (got % 8) * 4096, N, 9), N);
				got++;
			} else {
				CHECK_EQ(wc[i].wr_id, done);
				done++;
			}
		}
	}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"inline_sizes", inline_sizes, VT_BOTH, 0},
	{"inline_gather", inline_gather, VT_BOTH, 0},
	{"send_sizes", send_sizes, VT_BOTH, 0},
	{"write_sizes", write_sizes, VT_BOTH, 0},
	{"read_sizes", read_sizes, VT_BOTH, 0},
	{"uc_send_sizes", uc_send_sizes, VT_BOTH, 0},
	{"uc_write_sizes", uc_write_sizes, VT_BOTH, 0},
	{"ud_send", ud_send, VT_BOTH, 0},
	{"atomics", atomics, VT_BOTH, 0},
	{"sges_32", sges_32, VT_BOTH, 0},
	{"posted_lists", posted_lists, VT_BOTH, 0},
	{"posted_list_bad", posted_list_bad, VT_BOTH, 0},
	{"fence", fence, VT_BOTH, 0},
	{"selective_signal", selective_signal, VT_BOTH, 0},
	{"sig_all", sig_all, VT_BOTH, 0},
	{"many_reads", many_reads, VT_BOTH, 0},
	{"full_duplex", full_duplex, VT_BOTH, 0},
};

VT_MAIN(cases)
