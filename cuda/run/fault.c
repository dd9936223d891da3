/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fault.c - a fault of a kernel ends the kernel, not the process.
 *
 * The handlers act only on a worker whose fiber runs code of the kernel; all other signals go to
 * the previous handlers. A fault leaves a fiber wherever it is, and locks that it holds stay
 * locked. So parts of this library that take a lock are marked (worker.op), and a fault never
 * leaves them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "indices.h"
#include "kernel.h"

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
enum { NUM_FAULTS = sizeof(faults) / sizeof(*faults) };

static struct sigaction before[NUM_FAULTS];

static void chain_signal(int sig, siginfo_t *si, void *uc)
{
	const struct sigaction *old = NULL;

	for (int i = 0; i < NUM_FAULTS; i++)
		if (faults[i] == sig)
			old = &before[i];
	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(sig, si, uc);
	} else if (old->sa_handler == SIG_DFL || (old->sa_handler == SIG_IGN && si->si_code > 0)) {
		/* the instruction faults again, or the signal comes again, without a handler */
		struct sigaction dfl = {.sa_handler = SIG_DFL};

		sigaction(sig, &dfl, NULL);
		if (si->si_code <= 0)
			raise(sig);
	} else if (old->sa_handler != SIG_IGN) {
		old->sa_handler(sig);
	}
}

static int fault_cuda_error(int sig, const struct thread *t, const void *addr)
{
	switch (sig) {
	case SIGSEGV:
	case SIGBUS:
		return stack_guard_hit(t->stack, addr) ? cudaErrorHardwareStackError
						       : cudaErrorIllegalAddress;
	case SIGILL:
		return cudaErrorIllegalInstruction;
	default:
		return cudaErrorLaunchFailure;
	}
}

/* DPACUDA_VERBOSE: report in one line on the standard error, which a GPU would not do. */
static void report_fault(int sig, const struct worker *w, const void *addr)
{
	const char *v = getenv("DPACUDA_VERBOSE");
	char text[256];
	int n;

	if (!v || !*v || !strcmp(v, "0"))
		return;
	n = snprintf(text, sizeof(text),
		     "dpa-cuda: signal %d at address %p in block (%u,%u,%u), thread (%u,%u,%u)\n",
		     sig, addr, blockIdx.x, blockIdx.y, blockIdx.z, w->cur->idx.x, w->cur->idx.y,
		     w->cur->idx.z);
	if (write(2, text, (size_t)n) < 0)
		return;
}

static void on_kernel_fault(int sig, siginfo_t *si, void *uc)
{
	struct worker *w = gpu_worker;

	if (!w || !w->cur || w->op || si->si_code <= 0) {
		chain_signal(sig, si, uc);
		return;
	}
	w->op = true; /* a fault from here on is one of the library */
	report_fault(sig, w, si->si_addr);
	gpu_fault(fault_cuda_error(sig, w->cur, si->si_addr));
	w->op = false;
	block_abort();
}

static void install_handlers(void)
{
	/* NODEFER: a switch leaves the handler and keeps the mask */
	struct sigaction act = {.sa_sigaction = on_kernel_fault,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	for (int i = 0; i < NUM_FAULTS; i++)
		sigaction(faults[i], &act, &before[i]);
}

void fault_install(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install_handlers);
}
