/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_ctx.h - common part of objects with a data path: start and stop, states, place of the data
 * path.
 *
 * The *_as_ctx() call of an object returns its context. Contexts are not thread-safe: calls on one
 * must not overlap.
 */
#ifndef DOCA_CTX_H_
#define DOCA_CTX_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_devinfo;
struct doca_dpa;
struct doca_gpu;

enum doca_ctx_states {
	DOCA_CTX_STATE_IDLE = 0,     /* can be configured */
	DOCA_CTX_STATE_STARTING = 1, /* becomes RUNNING later */
	DOCA_CTX_STATE_RUNNING = 2,
	DOCA_CTX_STATE_STOPPING = 3, /* becomes IDLE later */
};

/* Called after each change of state; it may not destroy the context. */
typedef void (*doca_ctx_state_changed_callback_t)(const union doca_data user_data,
						  struct doca_ctx *ctx,
						  enum doca_ctx_states prev_state,
						  enum doca_ctx_states next_state);

/*
 * Start a context with the configuration that it has.
 * INVALID_VALUE: NULL, not idle, or a setting of the object is missing; NOT_CONNECTED: neither a
 * progress engine nor a DPA data path; NOT_SUPPORTED: the object cannot work on the data path or
 * the device; INITIALIZATION: the DPA context is not started, or resources are short; IN_PROGRESS:
 * it is STARTING; UNEXPECTED.
 */
DOCA_STABLE doca_error_t doca_ctx_start(struct doca_ctx *ctx);

/*
 * Stop a context; it can be configured and started again. One that is idle stays idle, without an
 * error and without its callback: the public samples stop a context that has stopped.
 * IN_PROGRESS: it is STOPPING, and doca_pe_progress() continues it while tasks are in flight;
 * INVALID_VALUE: NULL; UNEXPECTED.
 */
DOCA_STABLE doca_error_t doca_ctx_stop(struct doca_ctx *ctx);

/* Get the number of tasks that were submitted and are not completed. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_ctx_get_num_inflight_tasks(const struct doca_ctx *ctx,
							 size_t *num_inflight_tasks);

/* Set a word for the caller's use, at any time. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_ctx_set_user_data(struct doca_ctx *ctx, union doca_data user_data);

/* Read it back; 0 unless set. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_ctx_get_user_data(const struct doca_ctx *ctx,
						union doca_data *user_data);

/*
 * Set the callback for changes of the state. Context: it runs in the thread whose call caused the
 * change.
 * @cb: gets the user data of doca_ctx_set_user_data()
 * INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_ctx_set_state_changed_cb(struct doca_ctx *ctx,
						       doca_ctx_state_changed_callback_t cb);

/* Get the state now. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_ctx_get_state(const struct doca_ctx *ctx,
					    enum doca_ctx_states *state);

/* Send off tasks that were submitted without DOCA_TASK_SUBMIT_FLAG_FLUSH. NULL: nothing. */
DOCA_EXPERIMENTAL void doca_ctx_flush_tasks(struct doca_ctx *ctx);

/*
 * Run the data path in device code of a DPA context; no progress engine is needed. The DPA context
 * can be neither stopped nor destroyed (IN_USE) until the object is destroyed. INVALID_VALUE: NULL;
 * BAD_STATE: not idle.
 */
DOCA_EXPERIMENTAL doca_error_t doca_ctx_set_datapath_on_dpa(struct doca_ctx *ctx,
							    struct doca_dpa *dpa_dev);

/*
 * Run the data path of an RDMA context in kernels of a GPU (doca_gpunetio.h); no progress engine is
 * needed. The GPU cannot be destroyed until the object is. INVALID_VALUE: NULL; BAD_STATE: not
 * idle.
 */
DOCA_EXPERIMENTAL doca_error_t doca_ctx_set_datapath_on_gpu(struct doca_ctx *ctx,
							    struct doca_gpu *gpu_dev);

/*
 * Set the completion vector of the device that the context uses; 0 unless set. INVALID_VALUE: NULL,
 * or a number that the device does not have; BAD_STATE: not idle; NOT_SUPPORTED: it uses none.
 */
DOCA_EXPERIMENTAL doca_error_t doca_ctx_set_completion_vector(struct doca_ctx *ctx,
							      uint32_t comp_vector);

/*
 * Get the number of completion vectors of a device.
 * INVALID_VALUE: NULL, or the device is gone.
 */
DOCA_EXPERIMENTAL doca_error_t doca_ctx_cap_get_num_completion_vectors(
	const struct doca_devinfo *devinfo, uint32_t *num_comp_vectors);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_CTX_H_ */
