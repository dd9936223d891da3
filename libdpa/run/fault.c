/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fault.c - signal handlers for EUs. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "../crash/crash.h"
#include "../crash/fatal.h"
#include "../crash/watchdog.h"
#include "../stat/stat.h"
#include "fault.h"
#include "../eu/pool.h"

enum { NUM_FAULTS = 5 };
static const int faults[NUM_FAULTS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

/* The kernel's layout of a signal action, on x86-64 and aarch64. */
struct ksigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/*
 * Handlers that were installed before ours, newest last; entries are constant once they are
 * published (release) by `last`. A program that alternates between its handler and ours uses no
 * more entries than these.
 */
#define MAX_BEFORE 16
static struct before {
	_Atomic uint32_t last; /* index of the newest; the first is never replaced */
	uint32_t used;	       /* entries, under install_lock */
	struct ksigaction act[MAX_BEFORE];
} before[NUM_FAULTS + 1];
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef __x86_64__
#define SA_RESTORER_ 0x04000000ul
/* rt_sigreturn: the return address of a handler. */
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

static long raw_sigaction(int sig, const struct ksigaction *act, struct ksigaction *old)
{
	return syscall(SYS_rt_sigaction, sig, act, old, sizeof(uint64_t));
}

static int index_of(int sig)
{
	for (int i = 0; i < NUM_FAULTS; i++)
		if (faults[i] == sig)
			return i;
	return NUM_FAULTS;
}

static bool same_action(const struct ksigaction *a, const struct ksigaction *b)
{
	return a->handler == b->handler && a->flags == b->flags && a->mask == b->mask;
}

/*
 * A handler that was installed after ours may pass a signal back to ours that ours has passed to
 * it. The kernel leaves uc_link empty: a mark there shows that this signal was handled here before.
 * (A counter is not enough: handlers may be left by a jump.)
 */
static ucontext_t seen_mark;

/*
 * Act as if our handler were not installed; the second time, as if later handlers were not
 * installed either.
 */
static void chain_action(int sig, siginfo_t *si, void *uc_)
{
	struct before *b = &before[index_of(sig)];
	ucontext_t *uc = uc_;
	bool again = uc->uc_link == &seen_mark;
	const struct ksigaction *old =
		&b->act[again ? 0 : atomic_load_explicit(&b->last, memory_order_acquire)];

	if (old->handler == (void *)SIG_IGN && si->si_code <= 0)
		return;
	if (old->handler == (void *)SIG_DFL || old->handler == (void *)SIG_IGN ||
	    (again && !atomic_load_explicit(&b->last, memory_order_acquire))) {
		/* The instruction faults again, or the signal is sent again, without a handler. */
		struct ksigaction dfl = {.handler = (void *)SIG_DFL};

		raw_sigaction(sig, &dfl, NULL);
		if (si->si_code <= 0)
			raise(sig);
		return;
	}
	uc->uc_link = &seen_mark;
	if (old->flags & SA_SIGINFO)
		old->handler(sig, si, uc);
	else
		((void (*)(int))(void *)old->handler)(sig);
	uc->uc_link = NULL;
}

/*
 * Handle a signal. Device code is interrupted between two of its own instructions: no lock is held
 * and no operation of the library is in progress, so a jump may leave it.
 */
static void on_fault_signal(int sig, siginfo_t *si, void *uc)
{
	int keep = errno;
	struct dpal_eu *eu = dpal_eu_self;
	bool user = eu && eu->in_user && !atomic_load_explicit(&eu->in_op, memory_order_relaxed);

	if (eu && eu->held && sig == dpa_fault_kill_signal()) {
		eu->missed = eu->in_user;
		errno = keep;
		return;
	}
	if (sig == dpa_fault_kill_signal() && eu) {
		if (user && dpal_eu_killed(eu)) {
			eu->in_user = false;
			if (dpa_watchdog_hit(eu) || dpa_fatal_is_of(eu))
				dpa_crash_capture(0, NULL, uc);
			dpal_eu_leave(DPA_EU_KILLED);
		}
		errno = keep;
		return;
	}
	if (user && sig != dpa_fault_kill_signal() && si->si_code > 0) {
		eu->in_user = false; /* a fault from here on is one of the library */
		eu->fault_sig = sig;
		eu->fault_addr = (uintptr_t)si->si_addr;
		dpa_crash_capture(sig, si, uc);
		dpal_eu_leave(DPA_EU_FAULTED);
	}
	chain_action(sig, si, uc);
	errno = keep;
}

/* Remember the present handler. install_lock is held. True: chain_action() can find it. */
static bool remember_action(struct before *b, const struct ksigaction *now)
{
	for (uint32_t i = 0; i < b->used; i++)
		if (same_action(&b->act[i], now)) {
			atomic_store_explicit(&b->last, i, memory_order_release);
			return true;
		}
	if (b->used == MAX_BEFORE)
		return false;
	b->act[b->used] = *now;
	atomic_store_explicit(&b->last, b->used++, memory_order_release);
	return true;
}

static void install_handler(int i)
{
	struct ksigaction act = {.handler = on_fault_signal,
				 /* NODEFER: a jump leaves the handler and keeps the mask */
				 .flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};
	struct ksigaction now;

#ifdef __x86_64__
	act.flags |= SA_RESTORER_;
	act.restorer = dpa_fault_restorer;
#endif
	raw_sigaction(signal_of(i), NULL, &now);
	if (now.handler == on_fault_signal)
		return;
	pthread_mutex_lock(&install_lock);
	raw_sigaction(signal_of(i), NULL, &now);
	if (now.handler != on_fault_signal && remember_action(&before[i], &now))
		raw_sigaction(signal_of(i), &act, NULL);
	pthread_mutex_unlock(&install_lock);
}

void dpa_fault_install(void)
{
	for (int i = 0; i <= NUM_FAULTS; i++)
		install_handler(i);
}

void dpa_fault_check(void)
{
	static _Atomic uint32_t turn;

	install_handler((int)(atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) %
			      (NUM_FAULTS + 1)));
}

void dpa_fault_thread_begin(struct dpal_eu *eu)
{
	stack_t ss = {.ss_sp = eu->altstack, .ss_size = DPA_ALTSTACK};

	sigaltstack(&ss, NULL);
	dpa_crash_thread_begin();
	eu->stack_floor = dpa_crash_stack_floor();
}

void dpa_fault_thread_end(void)
{
	stack_t ss = {.ss_flags = SS_DISABLE};

	dpa_crash_thread_end();
	dpa_stat_counters_close();
	sigaltstack(&ss, NULL);
}
