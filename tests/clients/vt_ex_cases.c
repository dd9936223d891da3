/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_ex_cases.c - extended CQs: time stamps, raw and of the wall clock. CQ moderation. ECE of a
 * device without options.
 */
#include "vt.h"

#include <poll.h>
#include <time.h>

enum {
	ROUNDS = 50,
	ALL = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
	      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK
};

static struct ibv_cq_ex *ex_cq(struct vt *t)
{
	struct ibv_cq_init_attr_ex a = {.cqe = 256, .wc_flags = ALL};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(t->ctx, &a);

	CHECK(cq, "create_cq_ex: %s", strerror(errno));
	return cq;
}

static uint64_t ns_of(clockid_t clock)
{
	struct timespec ts;

	CHECK_EQ(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The device's own clock, in its ticks. */
static uint64_t device_clock(struct vt *t)
{
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	CHECK_EQ(ibv_query_rt_values_ex(t->ctx, &v), 0);
	CHECK_EQ(v.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	return (uint64_t)v.raw_clock.tv_sec * 1000000000u + (uint64_t)v.raw_clock.tv_nsec;
}

/* Start at the next entry, which stays the current one. */
static void start(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr none = {0};
	time_t limit = time(NULL) + 30;
	int ret;

	while ((ret = ibv_start_poll(cq, &none)) == ENOENT)
		CHECK(time(NULL) < limit, "no completion");
	CHECK_EQ(ret, 0);
	CHECK(cq->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(cq->status));
}

/*
 * Each completion lies between two readings of the device's clock around it, and of the wall clock;
 * later ones have later stamps. hca_core_clock is the clock's rate: a nanosecond's here.
 */
static void stamps(struct vt *t)
{
	struct ibv_cq_ex *cq;
	struct ibv_device_attr_ex a;
	struct vt_opt o = {0};
	uint64_t last = 0;

	vt_open(t);
	CHECK_EQ(ibv_query_device_ex(t->ctx, NULL, &a), 0);
	CHECK_EQ(a.completion_timestamp_mask, UINT64_MAX);
	CHECK_EQ(a.hca_core_clock, 1000000); /* kHz */
	cq = ex_cq(t);
	o.cq = ibv_cq_ex_to_cq(cq);
	vt_setup(t, &o);
	for (uint64_t i = 0; i < ROUNDS && t->side == 0; i++) {
		uint64_t wall = ns_of(CLOCK_REALTIME), raw = device_clock(t), at, wall_at;

		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, i % 2 ? 8 : 40000, i,
				 IBV_SEND_SIGNALED),
			 0);
		start(cq);
		at = ibv_wc_read_completion_ts(cq);
		wall_at = ibv_wc_read_completion_wallclock_ns(cq);
		CHECK(at >= raw && at <= device_clock(t) && at >= last, "stamp %llu, before %llu",
		      (unsigned long long)at, (unsigned long long)raw);
		/* the wall clock is slewed: it may have moved by a millisecond meanwhile */
		CHECK(wall_at + 1000000 >= wall && wall_at <= ns_of(CLOCK_REALTIME) + 1000000,
		      "wall clock %llu, before %llu", (unsigned long long)wall_at,
		      (unsigned long long)wall);
		last = at;
		ibv_end_poll(cq);
	}
	vt_close(t);
}

/* A clock that does not exist, and unsupported requests. */
static void refused(struct vt *t)
{
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK << 1};
	struct ibv_cq_init_attr_ex a = {.cqe = 1, .wc_flags = 1ull << 40};

	vt_open(t);
	CHECK_EQ(ibv_query_rt_values_ex(t->ctx, &v), EINVAL);
	CHECK(!ibv_create_cq_ex(t->ctx, &a) && errno == EOPNOTSUPP, "wc_flags: %d", errno);
	vt_close(t);
}

/*
 * ECE without options: the vendor is reported, requests are answered without options, those of
 * another vendor are refused; and in-order data is not promised.
 */
static void ece(struct vt *t)
{
	struct ibv_ece e = {0};
	struct vt_opt o = {0};
	struct ibv_device_attr d;

	vt_setup(t, &o);
	CHECK_EQ(ibv_query_device(t->ctx, &d), 0);
	CHECK_EQ(ibv_query_ece(t->qp, &e), 0);
	CHECK_EQ(e.vendor_id, d.vendor_id);
	CHECK_EQ(e.options, 0);
	e.options = 0xff;
	CHECK_EQ(ibv_set_ece(t->qp, &e), 0);
	CHECK_EQ(ibv_query_ece(t->qp, &e), 0);
	CHECK_EQ(e.options, 0);
	e.vendor_id++;
	CHECK_EQ(ibv_set_ece(t->qp, &e), EINVAL);
	e = (struct ibv_ece){.vendor_id = d.vendor_id, .comp_mask = 1};
	CHECK_EQ(ibv_set_ece(t->qp, &e), EINVAL);
	for (int op = IBV_WR_RDMA_WRITE; op <= IBV_WR_RDMA_READ; op++)
		CHECK_EQ(ibv_query_qp_data_in_order(t->qp, (enum ibv_wr_opcode)op, 0), 0);
	vt_close(t);
}

static int event_within(struct vt *t, int ms)
{
	struct pollfd p = {.fd = t->channel->fd, .events = POLLIN};

	return poll(&p, 1, ms);
}

static void take_event(struct vt *t)
{
	struct ibv_cq *cq;
	void *ctx;

	CHECK_EQ(event_within(t, 30000), 1);
	CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &ctx), 0);
	ibv_ack_cq_events(cq, 1);
}

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* A WRITE whose entry stays unread; `idle` is polled to drive the device. */
static void complete_one(struct vt *t, struct ibv_cq *idle)
{
	struct ibv_wc wc;

	CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, 1, IBV_SEND_SIGNALED), 0);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(ibv_poll_cq(idle, 1, &wc), 0);
}

/*
 * Moderation (ibv_modify_cq): the event waits for a number of entries, or for a time after the
 * first; no thread calls the device meanwhile.
 */
static void moderated(struct vt *t)
{
	enum { COUNT = 8, PERIOD_US = 65000 };
	struct ibv_modify_cq_attr m = {.attr_mask = IBV_CQ_ATTR_MODERATE,
				       .moderate = {.cq_count = COUNT, .cq_period = PERIOD_US}};
	struct vt_opt o = {.event = true};
	int64_t begun;
	struct ibv_cq *idle;

	vt_setup(t, &o);
	idle = ibv_create_cq(t->ctx, 1, NULL, NULL, 0);
	CHECK(idle, "create_cq: %s", strerror(errno));
	if (t->side == 0) {
		CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
		complete_one(t, idle);
		take_event(t); /* not moderated: the first */
		vt_wc_is(t, 1, IBV_WC_SUCCESS);
		CHECK_EQ(ibv_modify_cq(t->cq, &m), 0);
		for (int round = 0; round < 20; round++) {
			CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
			begun = now_us();
			for (int i = 1; i < COUNT; i++) {
				bool event;

				complete_one(t, idle);
				event = event_within(t, 0);
				CHECK(!event || now_us() - begun >= PERIOD_US, "at the %d.", i);
			}
			complete_one(t, idle);
			take_event(t);
			for (int i = 0; i < COUNT; i++)
				vt_wc_is(t, 1, IBV_WC_SUCCESS);
			CHECK_EQ(event_within(t, 0), 0);
		}
		m.moderate.cq_period = 2000;
		CHECK_EQ(ibv_modify_cq(t->cq, &m), 0);
		for (int round = 0; round < 20; round++) { /* one of eight: by time, asleep */
			CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
			begun = now_us();
			complete_one(t, idle);
			take_event(t);
			CHECK(now_us() - begun >= 2000, "%d us", (int)(now_us() - begun));
			vt_wc_is(t, 1, IBV_WC_SUCCESS);
		}
		m.moderate.cq_count = 0;
		CHECK_EQ(ibv_modify_cq(t->cq, &m), 0);
		CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
		complete_one(t, idle);
		take_event(t);
		m.attr_mask = 2;
		CHECK_EQ(ibv_modify_cq(t->cq, &m), EINVAL);
	}
	vt_sync(t);
	CHECK_EQ(ibv_destroy_cq(idle), 0);
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"stamps", stamps, VT_BOTH, 0},
	{"refused", refused, VT_BOTH, 0},
	{"ece", ece, VT_BOTH, 0},
	{"moderated", moderated, VT_BOTH, 0},
};

VT_MAIN(cases)
