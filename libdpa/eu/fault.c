/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Signal handlers for EUs. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "fault.h"
#include "pool.h"

enum { NUM_FAULTS = 4 };
static const int faults[NUM_FAULTS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/* The kernel's idea of a signal action. */
struct ksigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
#ifdef __x86_64__
	void (*restorer)(void);
#endif
	uint64_t mask;
};

/* What was there before; written before ours is in, constant afterwards unless taken back. */
static struct ksigaction before[NUM_FAULTS + 1];

#ifdef __x86_64__
#define SA_RESTORER_ 0x04000000ul
/* rt_sigreturn: what a handler returns to. */
void dpa_fault_restorer(void);
__asm__(".pushsection .text\n"
	".hidden dpa_fault_restorer\n"
	".globl dpa_fault_restorer\n"
	".type dpa_fault_restorer,@function\n"
	"nop\n" /* unwinders look one byte before the return address */
	"dpa_fault_restorer:\n"
	"mov $15, %eax\n"
	"syscall\n"
	".size dpa_fault_restorer,.-dpa_fault_restorer\n"
	".popsection");
#endif

int dpa_fault_kill_signal(void)
{
	return SIGRTMAX - 2;
}

static int signal_of(int i)
{
	return i < NUM_FAULTS ? faults[i] : dpa_fault_kill_signal();
}

void dpa_fault_mask(sigset_t *mask)
{
	sigfillset(mask);
	for (int i = 0; i <= NUM_FAULTS; i++)
		sigdelset(mask, signal_of(i));
}

const char *dpa_fault_name(int sig)
{
	switch (sig) {
	case SIGSEGV:
		return "SIGSEGV";
	case SIGBUS:
		return "SIGBUS";
	case SIGFPE:
		return "SIGFPE";
	case SIGILL:
		return "SIGILL";
	default:
		return "signal";
	}
}

static uintptr_t pc_of(const void *uc_)
{
	const ucontext_t *uc = uc_;

#if defined(__x86_64__)
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)uc->uc_mcontext.pc;
#else
	return 0;
#endif
}

static long raw_sigaction(int sig, const struct ksigaction *act, struct ksigaction *old)
{
	return syscall(SYS_rt_sigaction, sig, act, old, sizeof(uint64_t));
}

/* As if ours were not there. */
static void chain(int sig, siginfo_t *si, void *uc)
{
	struct ksigaction *old = &before[NUM_FAULTS];

	for (int i = 0; i < NUM_FAULTS; i++)
		if (faults[i] == sig)
			old = &before[i];
	if (old->handler == (void *)SIG_IGN && si->si_code <= 0)
		return;
	if (old->handler == (void *)SIG_DFL || old->handler == (void *)SIG_IGN) {
		/* The instruction faults again, or the signal is sent again, with no handler. */
		struct ksigaction dfl = {.handler = (void *)SIG_DFL};

		raw_sigaction(sig, &dfl, NULL);
		if (si->si_code <= 0)
			raise(sig);
		return;
	}
	if (old->flags & SA_SIGINFO)
		old->handler(sig, si, uc);
	else
		((void (*)(int))(void *)old->handler)(sig);
}

/*
 * Device code is interrupted between two of its own instructions: no lock is held and nothing of
 * the library is half done, so that it may simply be left.
 */
static void on_signal(int sig, siginfo_t *si, void *uc)
{
	int keep = errno;
	struct dpa_eu *eu = dpa_eu_self;
	bool user = eu && eu->in_user && !atomic_load_explicit(&eu->in_op, memory_order_relaxed);

	if (sig == dpa_fault_kill_signal() && eu) {
		if (user && dpa_eu_killed(eu))
			dpa_eu_leave(DPA_EU_KILLED);
		errno = keep;
		return;
	}
	if (user && sig != dpa_fault_kill_signal() && si->si_code > 0) {
		eu->fault_sig = sig;
		eu->fault_addr = (uintptr_t)si->si_addr;
		eu->fault_pc = pc_of(uc);
		dpa_eu_leave(DPA_EU_FAULTED);
	}
	chain(sig, si, uc);
	errno = keep;
}

void dpa_fault_install(void)
{
	struct ksigaction act = {.handler = on_signal,
				 /* NODEFER: the handler is left by a jump, which keeps the mask */
				 .flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};

#ifdef __x86_64__
	act.flags |= SA_RESTORER_;
	act.restorer = dpa_fault_restorer;
#endif
	for (int i = 0; i <= NUM_FAULTS; i++) {
		struct ksigaction now;

		raw_sigaction(signal_of(i), NULL, &now);
		if (now.handler == on_signal)
			continue;
		before[i] = now;
		raw_sigaction(signal_of(i), &act, NULL);
	}
}

void dpa_fault_thread_begin(struct dpa_eu *eu)
{
	stack_t ss = {.ss_sp = eu->altstack, .ss_size = DPA_ALTSTACK};

	sigaltstack(&ss, NULL);
}

void dpa_fault_thread_end(struct dpa_eu *eu)
{
	stack_t ss = {.ss_flags = SS_DISABLE};

	sigaltstack(&ss, NULL);
}
