/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_mtus.c - path MTUs that differ (IBA 9.7.4.1.6): a message of one packet that fits both
 * succeeds, any other SEND or WRITE is an invalid request, and a READ response of another size is
 * ignored. On shared memory an entry stands for several packets: the outcome is that of the wire.
 */
#include <criterion/criterion.h>
#include "harness.h"

#define TIMEOUT 12
#define RETRY	2

struct way {
	const char *name;
	bool pull, lossy, wire;
};
static const struct way ways[] = {{"ring", false, false, false},
				  {"pull", true, false, false},
				  {"lossy ring", false, true, false},
				  {"wire", false, true, true}};
#define NWAYS (sizeof(ways) / sizeof(ways[0]))

static struct th *pair(const struct way *w, uint32_t type, uint32_t a, uint32_t b)
{
	return th_new(&(struct th_opt){.type = type,
				       .mtu = a,
				       .mtu_b = b,
				       .timeout = TIMEOUT,
				       .retry = RETRY,
				       .rnr_retry = 7,
				       .pull = w->pull,
				       .lossy = w->lossy,
				       .wire = w->wire});
}

/* Deliver all packets and run every timer, until A has a completion; UINT8_MAX: none ever. */
static uint8_t outcome(struct th *th)
{
	struct dpa_cqe e;

	for (int i = 0; i < 1000; i++) {
		th_settle(th);
		if (th_poll(&th->a.scq, &e))
			return e.status;
		if (!th_tick(th))
			break;
	}
	return UINT8_MAX;
}

static bool fits(uint32_t len, uint32_t a, uint32_t b)
{
	return a == b || (len <= 128u << a && len <= 128u << b);
}

static const uint32_t lens[] = {0,    1,    40,	  41,	256,  257,  512,   1024,
				1025, 2048, 3000, 4096, 8192, 9000, 40960, 100000};
#define NLENS (sizeof(lens) / sizeof(lens[0]))

static void one(const struct way *w, uint8_t op, uint32_t len, uint32_t a, uint32_t b)
{
	struct th *th = pair(w, DPA_QP_RC, a, b);
	const bool good = fits(len, a, b);
	struct dpa_cqe e;
	uint8_t want = good ? DPA_CQE_OK : DPA_CQE_REM_INV_REQ_ERR, got;

	if (op == DPA_OP_RDMA_READ && !good)
		want = DPA_CQE_RETRY_EXC_ERR;
	th_fill(th->a.mem, len, len);
	th_fill(th->b.mem + TH_MEM / 2, len, len + 1);
	cr_assert(th_recv(&th->b, 7, 0, TH_MEM / 2));
	th_send(&th->a, op, op == DPA_OP_RDMA_READ ? TH_MEM / 2 : 0, len,
		op == DPA_OP_RDMA_READ ? TH_MEM / 2 : 0);
	got = outcome(th);
	cr_expect_eq(got, want, "%s, op %u, %u bytes, MTU codes %u and %u: status %u, not %u",
		     w->name, op, len, a, b, got, want);
	if (op == DPA_OP_SEND && good) {
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.byte_len, len);
		cr_expect(th_check(th->b.mem, len, len));
	} else if (th_poll(&th->b.rcq, &e)) {
		cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR,
			     "%s, op %u, %u bytes: the receiver sees status %u", w->name, op, len,
			     e.status);
	}
	if (op == DPA_OP_RDMA_READ && good)
		cr_expect(th_check(th->a.mem + TH_MEM / 2, len, len + 1));
	if (op == DPA_OP_RDMA_WRITE && good)
		cr_expect(th_check(th->b.mem, len, len));
	th_free(th);
}

static void all_of(const struct way *w, uint8_t op)
{
	static const uint32_t codes[][2] = {{1, 3}, {3, 1}, {3, 5}, {5, 3}, {4, 4}};

	for (size_t m = 0; m < sizeof(codes) / sizeof(codes[0]); m++)
		for (size_t i = 0; i < NLENS; i++)
			one(w, op, lens[i], codes[m][0], codes[m][1]);
}

/* IBA 9.7.4 (mtu) */
Test(transport_mtus, send_of_another_mtu_is_invalid, .timeout = 120)
{
	for (size_t w = 0; w < NWAYS; w++)
		all_of(&ways[w], DPA_OP_SEND);
}

Test(transport_mtus, write_of_another_mtu_is_invalid, .timeout = 120)
{
	for (size_t w = 0; w < NWAYS; w++)
		all_of(&ways[w], DPA_OP_RDMA_WRITE);
}

Test(transport_mtus, read_response_of_another_mtu_is_ignored, .timeout = 120)
{
	for (size_t w = 0; w < NWAYS; w++)
		all_of(&ways[w], DPA_OP_RDMA_READ);
}

/* UC: the sender gets success, and only messages that fit both MTUs are delivered. */
Test(transport_mtus, uc_of_another_mtu_is_lost)
{
	for (size_t i = 0; i < NLENS; i++) {
		struct th *th = pair(&ways[0], DPA_QP_UC, 3, 5);
		struct dpa_cqe e;

		th_fill(th->a.mem, lens[i], i);
		cr_assert(th_recv(&th->b, 7, 0, TH_MEM / 2));
		th_send(&th->a, DPA_OP_SEND, 0, lens[i], 0);
		cr_expect_eq(outcome(th), DPA_CQE_OK);
		cr_expect_eq(th_poll(&th->b.rcq, &e), fits(lens[i], 3, 5), "%u bytes", lens[i]);
		/* the connection continues */
		th_send(&th->a, DPA_OP_SEND, 0, 9, 0);
		cr_expect_eq(outcome(th), DPA_CQE_OK);
		if (!fits(lens[i], 3, 5))
			cr_expect(th_poll(&th->b.rcq, &e) && e.byte_len == 9 && !e.status);
		th_free(th);
	}
}
