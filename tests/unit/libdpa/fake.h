/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake.h - a device that the test drives: what libdpa calls of libibverbs and of the provider is
 * answered here. A CQE is pushed by hand, and the callback comes under the CQ's lock as from the
 * real one.
 */
#ifndef TEST_LIBDPA_FAKE_H
#define TEST_LIBDPA_FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <dpa_hw.h>

/* Takes a CQE as the device would: fills in the owner. */
void fake_push(struct ibv_cq *cq, const struct dpa_cqe *cqe);
/* A receive of `wr_id`. */
void fake_push_recv(struct ibv_cq *cq, uint64_t wr_id);
/* CQs of the fake that exist; opens of the device. */
int fake_cqs(void);
int fake_opens(void);
/* What the next destroy_cq says, for a QP that uses the CQ. */
void fake_set_cq_busy(bool busy);
void fake_set_num_eus(uint32_t n);
/* Number of doorbells rung on the fake QP. */
int fake_rings(void);
/* A QP with queues of 16 blocks and 8 receives of 2 SGEs, on an open context. */
struct ibv_qp *fake_qp(struct ibv_context *ctx);
struct dpa_dbrec *fake_dbrec(void);
uint8_t *fake_sq(void);
uint8_t *fake_rq(void);
struct dpa_uar_slot *fake_slot(void);

#endif
