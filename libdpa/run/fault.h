/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fault.h - faults of device code stay in the device.
 *
 * Handlers are installed at the first start of a context, never before, by the bare system call
 * (the sanitizers wrap sigaction()). They act only on an EU that is in device code and in no call
 * of the library; every other signal goes to the previous handler.
 */
#ifndef DPA_RUN_FAULT_H
#define DPA_RUN_FAULT_H

#include <signal.h>
#include <stdint.h>

struct dpal_eu;

#define DPA_ALTSTACK (64 * 1024)
#define DPA_EU_GUARD (64 * 1024) /* bytes below the stack of an EU */

/*
 * Install the handlers. Idempotent: checks whether they are still ours and installs them again if
 * not.
 */
void dpa_fault_install(void);
/*
 * Do the same for one signal, a different one at each call: cheap enough for each wake-up of an EU.
 */
void dpa_fault_check(void);
/* Get the signal mask of an EU: everything but faults and the kill signal. */
void dpa_fault_mask(sigset_t *mask);
int dpa_fault_kill_signal(void);
/* First and last call on the EU's thread. */
void dpa_fault_thread_begin(struct dpal_eu *eu);
void dpa_fault_thread_end(void);

static inline void dpal_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
