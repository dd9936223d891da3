/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.h - the calls of device code: the table for images, and the structure of each op.
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
 * Between begin and end no kill jumps out of the code, and an object that was found by its handle
 * stays valid (the host drops the handle, then waits for dpa_pool_quiesce(), then frees it). A
 * fault here would be one of the library, so no op dereferences a pointer of the user: the thunks
 * of the image pass data on the EU's stack. An op does not wait: a wait is a loop of short ops in
 * the image, so that the code can be killed meanwhile.
 */
#ifndef DPA_RUN_OPS_H
#define DPA_RUN_OPS_H

#include "../host/libdpa.h"
#include "run.h"

extern const struct dpa_dev_ops dpa_ops_table;

/*
 * Return the run on the calling thread. Does not return if the context is in the fatal state: its
 * code ends here.
 */
struct dpal_run *dpa_op_begin(struct dpal_eu **eu);
/*
 * Return the object of a handle: of the selected device (run->cur), or of the program where the
 * type has no device (dpa_handles_for()). Does not return for a bad handle: "used a handle that is
 * no <what>'s".
 */
struct dpa_object *dpa_op_object(struct dpal_eu *eu, struct dpal_run *run,
				 enum dpa_handle_type type, uint64_t handle, const char *what);
/*
 * Return the thread, in calls for threads only. Otherwise does not return: "used <call> outside of
 * a DPA thread".
 */
struct doca_dpa_thread *dpa_op_thread(struct dpal_eu *eu, struct dpal_run *run, const char *call);
/* End the code and its context; text follows "<entry> used ". A constant string. */
_Noreturn void dpa_op_mistake(struct dpal_eu *eu, const char *text);

#endif
