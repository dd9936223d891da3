/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.h - the calls of device code: the table that images get, and what each op is made of.
 *
 *   static void op_x(uint64_t handle)
 *   {
 *           struct dpal_eu *eu;
 *           struct dpal_run *run = dpa_op_begin(&eu);
 *           struct dpa_object *o = dpa_op_object(eu, run, DPA_H_X, handle, "an x");
 *           ...
 *           dpal_eu_op_end(eu);
 *   }
 *
 * Between begin and end the code is not jumped out of, and an object that was found by its handle
 * stays (the host drops the handle, then waits for dpa_pool_quiesce(), then frees it). A fault here
 * would be the library's own, so nothing follows a pointer of the user's: what the thunks of the
 * image pass lies on the EU's stack. An op does not wait: a wait is a loop of short ops in the
 * image, so that the code can be ended meanwhile.
 */
#ifndef DPA_RUN_OPS_H
#define DPA_RUN_OPS_H

#include "../host/libdpa.h"
#include "run.h"

extern const struct dpa_dev_ops dpa_ops_table;

/*
 * Returns the run on the calling thread. Does not return if the context is in the fatal state: no
 * code of it goes on.
 */
struct dpal_run *dpa_op_begin(struct dpal_eu **eu);
/*
 * The object behind a handle: of the device that the code works with (run->cur), or of the program
 * where the type has no device (dpa_handles_for()). A bad handle does not return: "used a handle
 * that is no <what>'s".
 */
struct dpa_object *dpa_op_object(struct dpal_eu *eu, struct dpal_run *run,
				 enum dpa_handle_type type, uint64_t handle, const char *what);
/* For calls of threads only: "used <call> outside of a DPA thread". */
struct doca_dpa_thread *dpa_op_thread(struct dpal_eu *eu, struct dpal_run *run, const char *call);
/* Ends the code and its context; text goes behind "<entry> used ". A constant string. */
_Noreturn void dpa_op_mistake(struct dpal_eu *eu, const char *text);

#endif
