/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake_qp.h - QPs of the fake device that libdpa creates itself: RC, within one process. A doorbell
 * carries out the posted SENDs, into the receives of the connected QP, and empty WRITEs; on the
 * calling thread, unless they are held.
 */
#ifndef TEST_LIBDPA_FAKE_QP_H
#define TEST_LIBDPA_FAKE_QP_H

#include <stdbool.h>
#include <infiniband/verbs.h>
#include "libdpa/hw/hw.h"

/* Return the number of QPs that exist. */
int fake_qps(void);
/* Make the creation of a QP fail after n more (-1: none fails). */
void fake_fail_qp_after(int n);
/* Make the nth ibv_modify_qp() from now fail (-1: none fails). */
void fake_fail_modify_after(int n);
/* Hold: doorbells do nothing; the end of the hold carries out the announced work. */
void fake_hold_qps(bool hold);
/* Return the doorbells of created QPs so far. */
int fake_qp_rings(void);

/* For fake.c */
void fake_qp_add_mr(const struct ibv_mr *mr, unsigned int access);
void fake_qp_drop_mr(const struct ibv_mr *mr);
int fake_qp_view(struct ibv_qp *qp, struct dpa_qp_view *view);
void fake_qp_ring(void *hw);
void fake_qp_fail(struct ibv_qp *qp);
bool fake_qp_uses(const struct ibv_cq *cq);

#endif
