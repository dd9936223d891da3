/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.h - posting to the queues of a QP from an EU. */
#ifndef DPA_EU_QP_H
#define DPA_EU_QP_H

#include "hw.h"

struct dpa_dev_send_wr;
struct dpa_dev_sge;

/* The indices are those of who posts: device code, one thread at a time. */
struct dpa_qp_queues {
	struct dpa_qp_view view;
	uint32_t sq_pi, rq_pi;
};

/* 0 or enum dpa_dev_post_error. */
int dpa_qp_post_send(struct dpa_qp_queues *q, const struct dpa_dev_send_wr *wr);
int dpa_qp_post_recv(struct dpa_qp_queues *q, uint64_t wr_id, const struct dpa_dev_sge *sge,
		     uint32_t n);

#endif
