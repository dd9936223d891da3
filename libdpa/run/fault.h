/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fault.h - faults of device code stay in the device.
 *
 * Handlers are installed at the first start of a context, never before, by the bare system call
 * (the sanitizers wrap sigaction()). They act only on an EU that is in device code and in no call
 * of the library; everything else goes to the handler that was there.
 */
#ifndef DPA_RUN_FAULT_H
#define DPA_RUN_FAULT_H

#include <signal.h>
#include <stdint.h>

struct dpal_eu;

#define DPA_ALTSTACK (64 * 1024)
#define DPA_EU_GUARD (64 * 1024) /* below the stack of an EU */

/* Idempotent. Looks whether the handlers are still ours and takes them back if not. */
void dpa_fault_install(void);
/* The same for one signal, in turns: cheap enough for each time that an EU wakes up. */
void dpa_fault_check(void);
/* The mask of an EU: everything but faults and the kill signal. */
void dpa_fault_mask(sigset_t *mask);
int dpa_fault_kill_signal(void);
/* On the EU's thread, first and last. */
void dpa_fault_thread_begin(struct dpal_eu *eu);
void dpa_fault_thread_end(struct dpal_eu *eu);

static inline void dpal_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
