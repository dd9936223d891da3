/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_inject.h - failures that are injected into this process (docs/inject.md), for the layers
 * that have calls of the program. The rules come from the setting `inject`, or from dpactl while the
 * process runs. A device that fails on request is a device all the same: a driver asks it.
 */
#ifndef DPA_HW_INJECT_H
#define DPA_HW_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw_cmd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dpa_inject_spec;

/*
 * Bit n: there are rules of line n (enum dpa_inject_line in injects.h). 0: nothing is injected.
 * Written under a lock of the device (relaxed), read by any thread (relaxed): a call that runs while
 * the rules change may see either value.
 */
extern _Atomic uint32_t dpa_hw_injects;

static inline bool dpa_hw_injecting(uint32_t line)
{
	return __builtin_expect(atomic_load_explicit(&dpa_hw_injects, memory_order_relaxed), 0) >>
		       line &
	       1;
}

/*
 * Use the rules of the setting from now on, counted from 0. Later calls do nothing until the device
 * was closed or the process forked. spec: copied; not set: nothing happens. log: receives a line about
 * each failure while the device is not open, under a lock of the device; NULL: as before.
 */
void dpa_hw_inject_begin(const struct dpa_inject_spec *spec, dpa_log_fn *log);

#define DPA_HW_INJECT_RECORDED 64u
/*
 * Append a line "call NAME NUMBER PID PROGRAM" to that file for each of the first
 * DPA_HW_INJECT_RECORDED calls of each name, and "failed NAME NUMBER PID PROGRAM" for a call that fails
 * on request. path: absolute, copied; "": no file. Call it before dpa_hw_inject_begin(). Each line is
 * one write, so that several processes share the file.
 */
void dpa_hw_inject_record(const char *path);

/* A call of the program: what rules select it by. */
struct dpa_hw_call {
	const char *name; /* in dpa_inject_calls[] of injects.h */
	uint64_t size;	  /* bytes; 0: it has none */
	uint32_t qpn;	  /* 0: it has no QP */
	int to;		  /* modify_qp: enum ibv_qp_state; -1: it changes no state */
};
/*
 * Count the call. Returns the errno that it shall fail with, or 0. Any thread; takes the lock of the rules.
 * Call it only if dpa_hw_injecting(0), after the checks that a real call makes before the device sees it.
 */
int dpa_hw_inject_call(const struct dpa_hw_call *call);
/*
 * An operation of rdma_cm that may end in this event of enum rdma_cm_event_type. True: it shall. Any
 * thread. Call it only if dpa_hw_injecting(5).
 */
bool dpa_hw_inject_cm(int event);
/*
 * For a library that is not linked to the device. Lines of enum dpa_inject_line that it has: code
 * begins to run on an EU; it may crash; a sync event is updated; a copy by DMA.
 */
enum { DPA_HW_INJECT_EU = 9, DPA_HW_INJECT_DPA, DPA_HW_INJECT_SYNC, DPA_HW_INJECT_DMA };
struct dpa_inject_ops {
	const _Atomic uint32_t *gate; /* dpa_hw_injects */
	/*
	 * Count a match of the line. True: it shall fail; *ns: for how long. Any thread; takes the
	 * lock of the rules. Call it only if *gate has the bit of the line.
	 */
	bool (*point)(uint32_t line, uint64_t *ns);
};
extern const struct dpa_inject_ops dpa_inject_ops __attribute__((visibility("hidden")));

/* True while the device is gone, as by DEVICE_FATAL: a driver opens no context. Any thread. */
bool dpa_hw_inject_gone(void);

#ifdef __cplusplus
}
#endif

#endif
