/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Extended CQs: time stamps, raw and of the wall clock. ECE: what a device without options says. */
#include "vt.h"

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

/* The entry that comes next, which stays the current one. */
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
 * Each completion lies between two readings of the device's clock round it, and of the wall clock;
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
		/* the wall clock is slewed: a millisecond is what it may have been moved meanwhile
		 */
		CHECK(wall_at + 1000000 >= wall && wall_at <= ns_of(CLOCK_REALTIME) + 1000000,
		      "wall clock %llu, before %llu", (unsigned long long)wall_at,
		      (unsigned long long)wall);
		last = at;
		ibv_end_poll(cq);
	}
	vt_close(t);
}

/* A clock that is not there, and what a device cannot tell. */
static void refused(struct vt *t)
{
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK << 1};
	struct ibv_cq_init_attr_ex a = {.cqe = 1, .wc_flags = 1ull << 40};

	vt_open(t);
	CHECK_EQ(ibv_query_rt_values_ex(t->ctx, &v), EINVAL);
	CHECK(!ibv_create_cq_ex(t->ctx, &a) && errno == EOPNOTSUPP, "wc_flags: %d", errno);
	vt_close(t);
}

/* ECE without options: the vendor is told, what is asked for is answered by nothing, another
 * vendor's is refused; nor is data promised to come in its order. */
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

static const struct vt_case cases[] = {
	{"stamps", stamps, VT_BOTH, 0},
	{"refused", refused, VT_BOTH, 0},
	{"ece", ece, VT_BOTH, 0},
};

VT_MAIN(cases)
