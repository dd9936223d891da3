/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_meter.c - what a QP counts for tools while one of them reads: messages, bytes, repetitions. */
#include <criterion/criterion.h>
#include <dpa_hw_trace.h>
#include "ctx/qp.h"
#include "harness.h"
#include "trace/trace.h"

#define AT 8192u

static void expect(struct th_side *s, uint32_t tx, uint64_t tx_bytes, uint32_t rx,
		   uint64_t rx_bytes, int line)
{
	struct dpa_qp_meter *m = &s->qp->meter;

	cr_expect_eq(m->tx_msgs, tx, "line %d: %u messages sent", line, m->tx_msgs);
	cr_expect_eq(m->tx_bytes, tx_bytes, "line %d: %lu bytes sent", line, m->tx_bytes);
	cr_expect_eq(m->rx_msgs, rx, "line %d: %u messages arrived", line, m->rx_msgs);
	cr_expect_eq(m->rx_bytes, rx_bytes, "line %d: %lu bytes arrived", line, m->rx_bytes);
}
#define EXPECT(s, ...) expect(s, __VA_ARGS__, __LINE__)

static struct th *begin(const struct th_opt *opt)
{
	dpa_meters_set(true);
	return th_new(opt);
}

static void end(struct th *th)
{
	th_free(th);
	dpa_meters_set(false);
}

static void send_one(struct th *th, uint32_t len)
{
	cr_assert(th_recv(&th->b, 1, AT, 65536));
	th_send(&th->a, DPA_OP_SEND, 0, len, 0);
	th_ring(&th->a);
	th_settle(th);
}

Test(meter, off)
{
	struct th *th = th_new(&(struct th_opt){0});

	cr_expect_not(dpa_meters_are_on());
	send_one(th, 8);
	send_one(th, 5000);
	EXPECT(&th->a, 0, 0, 0, 0);
	EXPECT(&th->b, 0, 0, 0, 0);
	th_free(th);
}

Test(meter, timeline_and_meters_are_independent)
{
	dpa_meters_set(true);
	cr_expect(dpa_meters_are_on());
	cr_expect_not(dpa_trace_is_on());
	cr_assert_eq(dpa_trace_prepare(), 0);
	dpa_trace_set(DPA_TRACE_ALL, false);
	cr_expect(dpa_meters_are_on());
	cr_expect(dpa_trace_is_on());
	dpa_meters_set(false);
	cr_expect(dpa_trace_is_on());
	dpa_meters_set(true);
	dpa_trace_set(DPA_TRACE_OFF, false);
	cr_expect(dpa_meters_are_on());
	cr_expect_not(dpa_trace_is_on());
	dpa_meters_set(false);
	cr_expect_not(dpa_trace_or_meters());
}

/* By the fast path, by the general one, and in many packets. */
Test(meter, sends)
{
	struct th *th = begin(&(struct th_opt){0});

	send_one(th, 8);
	EXPECT(&th->a, 1, 8, 0, 0);
	EXPECT(&th->b, 0, 0, 1, 8);
	send_one(th, 100);
	send_one(th, 20000);
	EXPECT(&th->a, 3, 20108, 0, 0);
	EXPECT(&th->b, 0, 0, 3, 20108);
	end(th);
}

Test(meter, one_sided)
{
	struct th *th = begin(&(struct th_opt){0});

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 3000, AT);
	for (uint32_t i = 0; i < 4; i++) /* a list: carried out together */
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 16, AT);
	th_ring(&th->a);
	th_settle(th);
	EXPECT(&th->a, 5, 3064, 0, 0);
	EXPECT(&th->b, 0, 0, 5, 3064);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, 7000, AT);
	th_ring(&th->a);
	th_settle(th);
	/* the requester moved its bytes; the responder executed a request, and placed none */
	EXPECT(&th->a, 6, 10064, 0, 0);
	EXPECT(&th->b, 0, 0, 6, 3064);
	end(th);
}

Test(meter, direct)
{
	struct th *th = begin(&(struct th_opt){.pull = true, .direct = true});

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 65536, AT);
	th_ring(&th->a);
	cr_assert_eq(th_drop_all(&th->a), 0, "it goes directly");
	EXPECT(&th->a, 1, 65536, 0, 0);
	end(th);
}

Test(meter, uc)
{
	struct th *th = begin(&(struct th_opt){.type = DPA_QP_UC});

	send_one(th, 3000);
	EXPECT(&th->a, 1, 3000, 0, 0);
	EXPECT(&th->b, 0, 0, 1, 3000);
	end(th);
}

/* The 40 bytes in front of a receive are no payload, and a datagram without a receive is none. */
Test(meter, ud)
{
	struct th *th = begin(&(struct th_opt){.type = DPA_QP_UD});
	struct dpa_wqe_av av = {.dqpn = th->b.qp->qpn, .qkey = 0x11111111, .is_global = 1};
	struct th_wr wr = {.op = DPA_OP_SEND,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem, 700, th->a.key}},
			   .av = &av};

	memcpy(av.dgid, th_gid[0], 16);
	cr_assert(th_recv(&th->b, 1, AT, 4096));
	for (int i = 0; i < 2; i++)
		cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	th_settle(th);
	EXPECT(&th->a, 2, 1400, 0, 0);
	EXPECT(&th->b, 0, 0, 1, 700);
	end(th);
}

/* A repetition is no second message, and is counted by its PSNs. */
Test(meter, sent_again)
{
	struct th *th = begin(&(struct th_opt){.lossy = true});

	cr_assert(th_recv(&th->b, 1, AT, 65536));
	th_send(&th->a, DPA_OP_SEND, 0, 3000, 0); /* three packets */
	th_ring(&th->a);
	cr_assert_eq(th_drop_all(&th->a), 3);
	cr_expect_eq(th->a.qp->meter.again, 0);
	while (th->b.qp->meter.rx_msgs == 0 && th_tick(th))
		th_settle(th);
	th_settle(th);
	EXPECT(&th->a, 1, 3000, 0, 0);
	EXPECT(&th->b, 0, 0, 1, 3000);
	cr_expect_geq(th->a.qp->meter.again, 3);
	end(th);
}

/* One packet is missing, and the others are held: the bytes of all count, once. */
Test(meter, out_of_order)
{
	struct th *th = begin(&(struct th_opt){.lossy = true});
	struct th_pkt p[3];

	cr_assert(th_recv(&th->b, 1, AT, 65536));
	th_send(&th->a, DPA_OP_SEND, 0, 3000, 0);
	th_ring(&th->a);
	for (int i = 0; i < 3; i++)
		cr_assert(th_take(&th->a, &p[i]));
	th_give(&th->b, &p[2]);
	th_give(&th->b, &p[1]);
	EXPECT(&th->b, 0, 0, 0, 0);
	th_give(&th->b, &p[0]);
	th_give(&th->b, &p[1]); /* a duplicate, unless it was not held */
	th_give(&th->b, &p[2]);
	EXPECT(&th->b, 0, 0, 1, 3000);
	end(th);
}

Test(meter, rnr_and_errors)
{
	struct th *th = begin(&(struct th_opt){.rnr_retry = 1, .min_rnr = 1});

	th_send(&th->a, DPA_OP_SEND, 0, 8, 0); /* no receive */
	th_send(&th->a, DPA_OP_SEND, 0, 8, 0); /* flushed */
	th_ring(&th->a);
	for (int i = 0; i < 100 && th->a.qp->state != DPA_QPS_ERR; i++) {
		th_settle(th);
		th_tick(th);
	}
	cr_assert_eq(th->a.qp->state, DPA_QPS_ERR);
	EXPECT(&th->a, 0, 0, 0, 0);
	cr_expect_eq(th->a.qp->meter.rnr, 2);
	cr_expect_eq(th->b.qp->meter.rnr, 2);
	cr_expect_eq(th->a.qp->meter.error, DPA_CQE_RNR_RETRY_EXC_ERR | DPA_SYN_RNR << 8,
		     "%x: not the flush behind it", th->a.qp->meter.error);
	end(th);
}

/* Also while no tool reads: what is asked for is what happened before. */
Test(meter, an_error_is_recorded_while_off)
{
	struct th *th = th_new(&(struct th_opt){0});

	cr_assert(th_recv(&th->b, 1, AT, 4));
	th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
	th_ring(&th->a);
	th_settle(th);
	cr_expect_eq(th->a.qp->meter.error & 0xff, DPA_CQE_REM_INV_REQ_ERR);
	cr_expect_eq(th->b.qp->meter.error, DPA_CQE_LOC_LEN_ERR | DPA_SYN_RECV_TOO_SMALL << 8);
	th_free(th);
}
