/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fatal.h - the end of a context: a fault, an error or too long a run of its device code.
 *
 * doca_dpa.fatal is 1 from the first moment on; then all its other code is killed, then the hooks
 * of the context are called, then the files are written, with snapshots of that other code, and one
 * line is logged. All of this happens on the EU that ran the code.
 */
#ifndef DPA_CRASH_FATAL_H
#define DPA_CRASH_FATAL_H

#include <pthread.h>
#include <stdbool.h>

struct doca_dpa;
struct dpal_eu;
struct dpa_stat_task;

/*
 * Return whether the calling EU runs code of a context that has ended: then it captures its own
 * state on its way out, for witness.h. Async-signal-safe.
 */
bool dpa_fatal_is_of(const struct dpal_eu *eu);

/* Part of an object that must end with its context: a QP, a waiting thread. */
struct dpa_fatal_hook {
	struct dpa_fatal_hook *next; /* under the lock, like `told` */
	bool told;
	/*
	 * Called once, on any EU, or within dpa_fatal_add(). It may modify QPs and wake threads; it
	 * must not add or remove hooks.
	 */
	void (*fn)(struct dpa_fatal_hook *hook);
};

struct dpa_fatal_hooks {
	pthread_mutex_t lock;
	struct dpa_fatal_hook *first;
};

void dpa_fatal_init(struct doca_dpa *dpa);
/* Clear the fatal state of a context that is started. */
void dpa_fatal_reset(struct doca_dpa *dpa);
void dpa_fatal_fini(struct doca_dpa *dpa);
/*
 * Add a hook. Host side. If the context is in the fatal state already the hook is called at once.
 */
void dpa_fatal_add(struct doca_dpa *dpa, struct dpa_fatal_hook *hook,
		   void (*fn)(struct dpa_fatal_hook *hook));
/*
 * Remove a hook: when it returns, fn is not running and will not run. A hook that was never added
 * is ignored.
 */
void dpa_fatal_remove(struct doca_dpa *dpa, struct dpa_fatal_hook *hook);

/*
 * Enter the fatal state because the code of the calling EU, of the entry `kernel`, ended as
 * DPA_EU_FAULTED. Context: outside device code. The second and later calls of a context do nothing.
 * task: its statistics; may be NULL.
 */
void dpa_fatal_enter(struct doca_dpa *dpa, const char *kernel, struct dpal_eu *eu,
		     struct dpa_stat_task *task);

#endif
