/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* wr.h - shared by the two parts of ibv_wr_*: requests (wr.c), their setters (wr_set.c). */
#ifndef DPA_WR_H
#define DPA_WR_H

#include "post/sq.h"

static inline struct dpav_qp *ex_qp(struct ibv_qp_ex *ex)
{
	return (struct dpav_qp *)ex;
}

/* The batch fails: complete returns the first error. Context: the SQ's lock. */
static __attribute__((cold, noinline, unused)) void batch_fail(struct dpa_batch *b, int err)
{
	if (b->err <= 0)
		b->err = err;
	b->at = NULL;
	b->needs = 0;
}

/* Set the setters of a QP. */
void dpa_wr_set_init(struct ibv_qp_ex *ex);

#endif
