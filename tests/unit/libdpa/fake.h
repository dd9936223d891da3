/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake.h - a device that the test drives: it implements the calls of libdpa to libibverbs and to
 * the provider. The test pushes each CQE, and the callback runs under the CQ's lock, as in the real
 * one.
 */
#ifndef TEST_LIBDPA_FAKE_H
#define TEST_LIBDPA_FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <dpa_hw.h>

#define FAKE_COMP_VECTORS 3

/* Make the next ibv_open_device() fail. */
void fake_fail_open(void);
/* Return no list of devices. */
void fake_no_devices(bool none);
/* Do not list dpa0_sf1. */
void fake_no_sf(bool none);

/* Push a CQE as the device would: fills in the owner. */
void fake_push(struct ibv_cq *cq, const struct dpa_cqe *cqe);
/* Push a receive of `wr_id`. */
void fake_push_recv(struct ibv_cq *cq, uint64_t wr_id);
/* CQs of the fake that exist; open references of the device. */
int fake_cqs(void);
int fake_opens(void);
/* Set the result of the next destroy_cq, for a QP that uses the CQ. */
void fake_set_cq_busy(bool busy);
/* Set another error for all of them; 0: none. */
void fake_fail_destroy_cq(int err);
/* PDs and MRs that exist; fake_fail_reg: the next registration fails with err (0: it does not). */
int fake_pds(void);
int fake_mrs(void);
void fake_fail_reg(int err);
/* The same after n that succeed. */
void fake_fail_reg_after(int n, int err);
/* enum ibv_access_flags of the last registration */
int fake_last_access(void);
uint64_t fake_last_dmabuf_offset(void);
void fake_set_num_eus(uint32_t n);
/* Make reads of the adapter's clock fail. */
void fake_fail_clock(bool fails);
/* Set the limit of an activation: none at first. */
void fake_set_max_run_time(uint32_t seconds);
/* Set the path of the board's file: none at first. */
void fake_set_board_path(const char *path);
struct dpa_pcc_ops;
/* The port's congestion control; NULL, NULL: as in a forked child. */
void fake_set_pcc(const struct dpa_pcc_ops *ops, void *port);
struct dpa_trace_ops;
/* The points of the timeline, from the next device that is opened on: none at first. */
void fake_set_trace(const struct dpa_trace_ops *ops);
/* Return the number of doorbells rung on the fake QP. */
int fake_rings(void);
/* Make a QP with queues of 16 blocks and 8 receives of 2 SGEs, on an open context. */
struct ibv_qp *fake_qp(struct ibv_context *ctx);
/* Return whether it was moved to the error state. */
bool fake_qp_failed(void);
struct dpa_dbrec *fake_dbrec(void);
uint8_t *fake_sq(void);
uint8_t *fake_rq(void);
struct dpa_uar_slot *fake_slot(void);

#endif
