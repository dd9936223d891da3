/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inject.h - injected failures of libdpa (docs/inject.md). Off, a point costs two loads and a
 * predicted branch.
 */
#ifndef DPA_RUN_INJECT_H
#define DPA_RUN_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw_inject.h>

struct dpal_run;

/*
 * Written (release) by dpa_inject_begin(), always the same value; read (acquire) at each point. NULL:
 * nothing is injected.
 */
extern _Atomic(const struct dpa_inject_ops *) dpa_injects;
/* The process has opened a device: its points ask from now on. Any thread, any number of calls. */
void dpa_inject_begin(void);

/* Count a match of a line (DPA_HW_INJECT_*). True: it shall fail. Any thread, no lock of the device. */
static inline bool dpa_injected(uint32_t line, uint64_t *ns)
{
	const struct dpa_inject_ops *o = atomic_load_explicit(&dpa_injects, memory_order_acquire);

	return o &&
	       __builtin_expect(atomic_load_explicit(o->gate, memory_order_relaxed) >> line & 1,
				0) &&
	       o->point(line, ns);
}

/*
 * Code is about to run on the calling EU, which may be stolen: then this takes a time. Returns the
 * code that runs: another one if it shall crash; NULL: none, its owner has halted it meanwhile. Context:
 * outside of device code.
 */
typedef void dpa_run_code(void *arg);
dpa_run_code *dpa_run_injected(const struct dpal_run *run, dpa_run_code *code);

#endif
