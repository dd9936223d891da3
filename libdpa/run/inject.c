/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inject.c - an EU that is stolen, code that crashes: see inject.h. */
#include <time.h>
#include "../eu/clock.h"
#include "../host/libdpa.h"
#include "../hw/hw.h"
#include "inject.h"
#include "run.h"

_Atomic(const struct dpa_inject_ops *) dpa_injects;

void dpa_inject_begin(void)
{
	atomic_store_explicit(&dpa_injects, dpa_hwif_inject(), memory_order_release);
}

#define NAP_NS 1000000

/* A store through a bad pointer, as device code does it: the handlers of EUs see the same fault. */
static void injected_crash(void *arg)
{
	volatile uint64_t *nowhere = (uint64_t *)8;

	__asm__("" : "+r"(nowhere)); /* the compiler does not see that it is invalid */
	*nowhere = (uintptr_t)arg;
}

/* Its owner waits for its end. */
static bool is_halted(const struct dpal_run *run)
{
	return run->halt && atomic_load_explicit(run->halt, memory_order_relaxed) & run->halt_bits;
}

/* The context has ended, the code is not to begin any more, or the rule is gone. */
static bool is_wait_over(const struct dpal_run *run)
{
	const struct dpa_inject_ops *o = atomic_load_explicit(&dpa_injects, memory_order_acquire);

	return atomic_load_explicit(&run->dpa->fatal, memory_order_relaxed) || is_halted(run) ||
	       !(atomic_load_explicit(o->gate, memory_order_relaxed) >> DPA_HW_INJECT_EU & 1);
}

/* The thread keeps its EU. */
static void wait_without_eu(const struct dpal_run *run, uint64_t ns)
{
	for (uint64_t now = dpal_now_ns(), end = now + ns; now < end && !is_wait_over(run);
	     now = dpal_now_ns()) {
		const uint64_t nap = end - now < NAP_NS ? end - now : NAP_NS;

		nanosleep(&(struct timespec){.tv_nsec = (long)nap}, NULL);
	}
}

dpa_run_code *dpa_run_injected(const struct dpal_run *run, dpa_run_code *code)
{
	uint64_t ns = 0;

	if (dpa_injected(DPA_HW_INJECT_EU, &ns)) {
		wait_without_eu(run, ns);
		if (is_halted(run))
			return NULL;
	}
	return dpa_injected(DPA_HW_INJECT_DPA, &ns) ? injected_crash : code;
}
