/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* op.c - begin, look-up and failure of a call of device code: the rules are in ops.h. */
#include <stdio.h>
#include "ops.h"

_Noreturn void dpa_op_mistake(struct dpal_eu *eu, const char *text)
{
	eu->fault_text = text;
	dpal_eu_leave(DPA_EU_FAULTED);
}

struct dpal_run *dpa_op_begin(struct dpal_eu **eu)
{
	struct dpal_run *run;

	*eu = dpal_eu_op_begin();
	run = (*eu)->run;
	if (__builtin_expect(atomic_load_explicit(&run->dpa->fatal, memory_order_relaxed), 0))
		dpal_eu_leave(DPA_EU_KILLED);
	return run;
}

/* Return whether another context of the program has such an object. */
static bool is_elsewhere(struct dpal_run *run, enum dpa_handle_type type, uint64_t handle)
{
	struct dpa_handles *all = &run->dpa->handles;

	for (int i = 0; i < DPA_HANDLES; i++) {
		struct dpa_object *o = atomic_load_explicit(&all->slot[i], memory_order_acquire);

		if (o && o->handle >> 56 == DPA_H_CONTEXT &&
		    dpa_handle_get(&container_of(o, struct doca_dpa, obj)->handles, type, handle))
			return true;
	}
	return false;
}

struct dpa_object *dpa_op_object(struct dpal_eu *eu, struct dpal_run *run,
				 enum dpa_handle_type type, uint64_t handle, const char *what)
{
	struct dpa_object *o = dpa_handle_get(dpa_handles_for(run->cur, type), type, handle);

	if (__builtin_expect(!o, 0)) {
		snprintf(eu->fault_buf, sizeof(eu->fault_buf),
			 is_elsewhere(run, type, handle)
				 ? "a %s of a device that device_set() has not chosen"
				 : "a handle that is no %s's",
			 what);
		dpa_op_mistake(eu, eu->fault_buf);
	}
	return o;
}

struct doca_dpa_thread *dpa_op_thread(struct dpal_eu *eu, struct dpal_run *run, const char *call)
{
	if (__builtin_expect(!run->thread, 0)) {
		snprintf(eu->fault_buf, sizeof(eu->fault_buf), "%s() outside of a DPA thread",
			 call);
		dpa_op_mistake(eu, eu->fault_buf);
	}
	return run->thread;
}
