/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sample.h - preparations of every sample: a device by name, a context with its program, a thread
 * with its completion context.
 */
#ifndef DPA_SAMPLE_H
#define DPA_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <dpa/dpa_native.h>
#include <infiniband/verbs.h>

struct sample {
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	struct doca_dpa_completion *comp;
	struct ibv_context *ctx; /* context of the device */
	struct ibv_pd *pd;
	struct ibv_cq *cq;	      /* CQ of the completion context */
	doca_dpa_dev_uintptr_t state; /* device memory of the program */
	doca_dpa_dev_completion_t comp_handle;
};

/* Print the failed call to stderr and return false if ret is an error. */
bool sample_ok(doca_error_t ret, const char *what);
/*
 * Open `ibdev`; start a context of `app` with state_size zeroed bytes of device memory, and a
 * thread of `func` that gets their address and is activated by a completion context of `depth`
 * elements.
 */
bool sample_open(struct sample *s, const char *ibdev, struct doca_dpa_app *app,
		 doca_dpa_func_t *func, size_t state_size, unsigned int depth);
/* Create an RC QP in state INIT whose queues report to send_cq and recv_cq. */
struct ibv_qp *sample_qp(struct sample *s, struct ibv_cq *cq, uint32_t sends, uint32_t recvs);
/* Attributes of a QP that the peer needs. */
struct sample_dest {
	uint32_t qpn, psn;
	union ibv_gid gid;
};
bool sample_connect(struct ibv_qp *qp, const struct sample_dest *to, uint32_t my_psn, int gid_index,
		    enum ibv_mtu mtu);
/* Destroy everything that sample_open() created. The QPs were destroyed before. */
void sample_close(struct sample *s);

#endif
