/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_native.h - calls beside the doca_* API: verbs objects on the DPA.
 *
 * A completion context is a CQ of the provider, so that an application can create its QPs by plain
 * ibv_create_qp() with that CQ, connect them as it likes, and hand their queues to device code:
 *
 *   doca_dpa_completion_start(comp);
 *   dpa_dev_get_ibv_context(dev, &ctx);           // PD, MR, QP: on this context
 *   dpa_completion_get_ibv_cq(comp, &cq);         // init.send_cq = init.recv_cq = cq
 *   qp = ibv_create_qp(pd, &init); ...
 *   dpa_qp_export(dpa, qp, &dqp);
 *   dpa_qp_get_dpa_handle(dqp, &handle);          // for dpa_dev_native.h
 *
 * The rules of doca_dpa.h hold: no object is thread-safe.
 */
#ifndef DPA_NATIVE_H_
#define DPA_NATIVE_H_

#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_dpa;
struct doca_dpa_completion;
struct doca_dpa_thread;
struct dpa_qp;
struct ibv_context;
struct ibv_cq;
struct ibv_qp;

typedef uint64_t dpa_dev_qp_t;

/*
 * Get the libibverbs context of an open device. It belongs to the device: the caller must not close
 * it, and it is valid until doca_dev_close(). Thread-safe. INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t dpa_dev_get_ibv_context(struct doca_dev *dev, struct ibv_context **ctx);

/*
 * Get the CQ of a started completion context. It belongs to the completion context: the caller
 * creates QPs with it and destroys them before doca_dpa_completion_stop(). The caller must not
 * poll, arm, resize or destroy it. The user data of its elements is the QP number.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_STABLE doca_error_t dpa_completion_get_ibv_cq(struct doca_dpa_completion *dpa_comp,
						   struct ibv_cq **cq);

/*
 * Pass the queues of a QP of the same device to device code. From here on only device code posts to
 * it; receives that the host posted before stay. State changes remain the host's.
 * @qp:  RC, UC or UD. Its CQs come from dpa_completion_get_ibv_cq() if device code is to see
 *       completions
 * @dqp: receives the object; the caller returns it by dpa_qp_unexport() before ibv_destroy_qp()
 * INVALID_VALUE: NULL, or the QP is another device's or has an SRQ; BAD_STATE: context not started;
 * NO_MEMORY; DRIVER.
 */
DOCA_STABLE doca_error_t dpa_qp_export(struct doca_dpa *dpa, struct ibv_qp *qp,
				       struct dpa_qp **dqp);

/*
 * Take the queues back: device code that uses the handle afterwards enters the fatal state. The
 * context cannot be stopped or destroyed before this call. INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t dpa_qp_unexport(struct dpa_qp *dqp);

/* Get the handle of device code for the QP. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t dpa_qp_get_dpa_handle(struct dpa_qp *dqp, dpa_dev_qp_t *handle);

/*
 * Sleep until a started thread will never run again: it has finished, its function has returned, or
 * its context is in the fatal state (see doca_dpa_peek_at_last_error()). All its log lines are
 * written by then.
 * @timeout_ms: milliseconds; negative: no limit
 * INVALID_VALUE: NULL; BAD_STATE: not started; TIME_OUT.
 */
DOCA_STABLE doca_error_t dpa_thread_wait(struct doca_dpa_thread *dpa_thread, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* DPA_NATIVE_H_ */
