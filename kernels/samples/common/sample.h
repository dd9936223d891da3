/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sample.h - what every sample does before its own work: a device by name, a context with its
 * program, a thread with its completion context.
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
	struct ibv_context *ctx; /* the device's */
	struct ibv_pd *pd;
	struct ibv_cq *cq;	      /* the completion context's */
	doca_dpa_dev_uintptr_t state; /* device memory of the program */
	doca_dpa_dev_completion_t comp_handle;
};

/* Each prints what failed on stderr and returns false. */
bool sample_ok(doca_error_t ret, const char *what);
/*
 * Opens `ibdev`, starts a context of `app` with state_size zeroed bytes of device memory and a
 * thread of `func` that gets their address, activated by a completion context of `depth` elements.
 */
bool sample_open(struct sample *s, const char *ibdev, struct doca_dpa_app *app,
		 doca_dpa_func_t *func, size_t state_size, unsigned int depth);
/* An RC QP in state INIT whose queues report to send_cq and recv_cq. */
struct ibv_qp *sample_qp(struct sample *s, struct ibv_cq *cq, uint32_t sends, uint32_t recvs);
/* The attributes of one QP that the other needs. */
struct sample_dest {
	uint32_t qpn, psn;
	union ibv_gid gid;
};
bool sample_connect(struct ibv_qp *qp, const struct sample_dest *to, uint32_t my_psn, int gid_index,
		    enum ibv_mtu mtu);
/* Ends everything that sample_open() made; QPs are gone before. */
void sample_close(struct sample *s);

#endif
