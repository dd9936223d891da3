/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_index.c - the index of a receive: it differs from that of each other outstanding one. */
#include <string.h>
#include "rig.h"

TestSuite(index, .timeout = 60);

enum { LONG = 256 << 10, SLOT = 64, SLOW = 100 };

static void post(struct rig *r, uint64_t offset, uint64_t length, uint64_t times)
{
	struct cmd c = send_cmd(r, CMD_RECV, offset, length, 0);

	c.times = times;
	rig_do(r, c);
}

/* From now on peer i needs a quarter of a minute for the long message (0: no limit of the rate). */
static void slow_down(struct rig *r, int i, uint32_t kbps)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS, .rate_limit = kbps};

	cr_assert_eq(ibv_modify_qp(r->peer[i].qp, &a, IBV_QP_STATE | IBV_QP_RATE_LIMIT), 0);
}

static uint32_t received(struct rig *r, uint64_t conn)
{
	struct element e = rig_element(r);

	cr_assert_eq(e.status, IBV_WC_SUCCESS);
	cr_assert_eq(e.user_data, conn);
	return (uint32_t)e.wr_index;
}

static void one_of_the_other(struct rig *r)
{
	peer_send(r, 1, IBV_WR_SEND, 0, 8, 0);
	cr_assert_eq(peer_wc(r, 1).status, IBV_WC_SUCCESS);
}

/* The queue is full: each index belongs to one receive. */
static void each_once(struct rig *r)
{
	bool out[RIG_QUEUE] = {false};

	for (uint32_t i = 0; i < RIG_QUEUE; i++) {
		uint32_t index;

		one_of_the_other(r);
		index = received(r, 1);
		cr_assert_lt(index, RIG_QUEUE);
		cr_assert_not(out[index], "%u twice", index);
		out[index] = true;
	}
}

/*
 * A long message of one connection is in flight while many messages of the other arrive and are
 * read: the queue, kept full, wraps around, and the index of the long one is not reused.
 */
Test(index, one_in_flight_keeps_its_index)
{
	bool seen[RIG_QUEUE] = {false};
	struct rig r;

	rig_up(&r);
	slow_down(&r, 0, SLOW);
	post(&r, RIG_MEM / 2, LONG, 1);
	post(&r, 0, SLOT, RIG_QUEUE - 1);
	peer_send(&r, 0, IBV_WR_SEND, RIG_MEM / 2, LONG, 0);
	cr_assert(rig_no_element(&r));
	for (uint32_t i = 0; i < 3 * RIG_QUEUE; i++) {
		uint32_t index;

		one_of_the_other(&r);
		index = received(&r, 1);
		cr_assert_lt(index, RIG_QUEUE);
		cr_assert_neq(index, 0, "%u: the one that is in flight", i);
		seen[index] = true;
		post(&r, 0, SLOT, 1);
	}
	for (uint32_t i = 1; i < RIG_QUEUE; i++)
		cr_assert(seen[i], "%u is never used", i);
	slow_down(&r, 0, 0);
	cr_assert_eq(received(&r, 0), 0);
	cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	rig_down(&r);
}

/* A full queue: a receive posted for a read element gets the same index. */
Test(index, posted_again_it_is_the_same)
{
	uint32_t order[RIG_QUEUE];
	struct rig r;

	rig_up(&r);
	slow_down(&r, 0, SLOW);
	post(&r, RIG_MEM / 2, LONG, 1);
	post(&r, 0, SLOT, RIG_QUEUE - 1);
	peer_send(&r, 0, IBV_WR_SEND, RIG_MEM / 2, LONG, 0);
	cr_assert(rig_no_element(&r));
	for (uint32_t i = 1; i < RIG_QUEUE; i++) {
		one_of_the_other(&r);
		order[i] = received(&r, 1);
		cr_assert_eq(order[i], i);
		post(&r, 0, SLOT, 1);
	}
	for (uint32_t i = 1; i < RIG_QUEUE; i++) {
		one_of_the_other(&r);
		cr_assert_eq(received(&r, 1), order[i]);
	}
	rig_down(&r);
}

/*
 * A queue that is not full: the next post takes the index that was read longest ago; that is not
 * the place in the order of posts after messages have ended in another order.
 */
Test(index, free_longest_given_first)
{
	struct rig r;

	rig_up(&r);
	slow_down(&r, 0, SLOW);
	post(&r, RIG_MEM / 2, LONG, 1);
	post(&r, 0, SLOT, 3);
	peer_send(&r, 0, IBV_WR_SEND, RIG_MEM / 2, LONG, 0);
	cr_assert(rig_no_element(&r));
	for (uint32_t i = 1; i < 4; i++) {
		one_of_the_other(&r);
		cr_assert_eq(received(&r, 1), i);
	}
	slow_down(&r, 0, 0);
	cr_assert_eq(received(&r, 0), 0);
	cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < RIG_QUEUE; i++) {
		static const uint32_t last[] = {1, 2, 3, 0};

		post(&r, 0, SLOT, 1);
		one_of_the_other(&r);
		cr_assert_eq(received(&r, 1), i + 4 < RIG_QUEUE ? i + 4 : last[i + 4 - RIG_QUEUE]);
	}
	rig_down(&r);
}

/*
 * More is posted than is read: the index of the oldest is reused, because no other is left.
 * Elements that are read afterwards free no index that is still posted.
 */
Test(index, posted_without_reading)
{
	struct rig r;

	rig_up(&r);
	post(&r, 0, SLOT, RIG_QUEUE);
	for (uint32_t i = 0; i < 4; i++)
		one_of_the_other(&r);
	post(&r, 0, SLOT, 4); /* 0 to 3 again, because their elements are not read */
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(received(&r, 1), i);
	/* 4 are read and none is free: the queue is full with 4 to 15, then 0 to 3 */
	for (uint32_t i = 0; i < RIG_QUEUE; i++) {
		one_of_the_other(&r);
		cr_assert_eq(received(&r, 1), (4 + i) % RIG_QUEUE);
	}
	post(&r, 0, SLOT, RIG_QUEUE);
	each_once(&r);
	rig_down(&r);
}

/* Elements from before the stop free no index of the present run. */
Test(index, unread_when_it_stopped)
{
	struct rig r;

	rig_up(&r);
	post(&r, 0, SLOT, 4);
	for (uint32_t i = 0; i < 4; i++)
		one_of_the_other(&r);
	OK(doca_ctx_stop(r.ctx));
	for (int i = 0; i < RIG_CONNS; i++)
		peer_destroy(&r.peer[i]);
	rig_start(&r);
	post(&r, 0, SLOT, RIG_QUEUE);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(received(&r, 1), i);
	for (uint32_t i = 0; i < RIG_QUEUE / 2; i++) {
		one_of_the_other(&r);
		cr_assert_eq(received(&r, 1), i);
		post(&r, 0, SLOT, 1);
	}
	each_once(&r);
	rig_down(&r);
}

/* Two contexts that report to one completion context have separate indices. */
Test(index, two_contexts_at_one_completion_context)
{
	struct doca_rdma *second;
	struct doca_ctx *ctx;
	uint64_t first, handle;
	struct rig r;

	rig_up(&r);
	OK(doca_rdma_create(r.dev, &second));
	ctx = doca_rdma_as_ctx(second);
	OK(doca_ctx_set_datapath_on_dpa(ctx, r.dpa));
	OK(doca_rdma_set_recv_queue_size(second, RIG_QUEUE));
	OK(doca_rdma_dpa_completion_attach(second, r.comp));
	OK(doca_ctx_start(ctx));
	OK(doca_rdma_get_dpa_handle(second, &handle));
	first = r.handle;
	r.handle = handle;
	post(&r, 0, SLOT, RIG_QUEUE);
	r.handle = first;
	post(&r, 0, SLOT, 3);
	for (uint32_t i = 0; i < 3 * RIG_QUEUE; i++) {
		one_of_the_other(&r);
		cr_assert_eq(received(&r, 1), i % RIG_QUEUE);
		post(&r, 0, SLOT, 1);
	}
	OK(doca_ctx_stop(ctx));
	OK(doca_rdma_destroy(second));
	one_of_the_other(&r);
	cr_assert_eq(received(&r, 1), 0);
	rig_down(&r);
}
