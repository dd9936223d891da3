/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* capture.c - capture of the state at a fault: registers and stack. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "../run/fault.h"
#include "crash.h"

/*
 * Below this stack space a call of the library is refused, as it could overflow the stack with
 * locks held. The deepest call runs the transport; sanitizers make its frames larger.
 */
#define CALL_STACK (128 * 1024)

static __thread struct dpa_crash *self __attribute__((tls_model("initial-exec")));

struct dpa_crash *dpa_crash_self(void)
{
	return self;
}

void dpa_crash_thread_begin(void)
{
	struct dpa_crash *c = calloc(1, sizeof(*c));
	pthread_attr_t attr;
	void *base = NULL;
	size_t size = 0;

	if (!c)
		return; /* a fault is contained without its files */
	if (!pthread_getattr_np(pthread_self(), &attr)) {
		pthread_attr_getstack(&attr, &base, &size);
		pthread_attr_destroy(&attr);
	}
	c->stack_lo = (uintptr_t)base;
	c->stack_hi = (uintptr_t)base + size;
	c->tid = (pid_t)syscall(SYS_gettid);
	self = c;
}

void dpa_crash_thread_end(void)
{
	struct dpa_crash *c = self;

	self = NULL;
	if (c && c->copy)
		munmap(c->copy, c->stack_hi - c->stack_lo);
	free(c);
}

uintptr_t dpa_crash_stack_floor(void)
{
	return self ? self->stack_lo + CALL_STACK : 0;
}

static uintptr_t sp_of(const mcontext_t *m)
{
#if defined(__x86_64__)
	return (uintptr_t)m->gregs[REG_RSP];
#elif defined(__aarch64__)
	return (uintptr_t)m->sp;
#else
	return 0;
#endif
}

uintptr_t dpa_crash_pc(const struct dpa_crash *c)
{
#if defined(__x86_64__)
	return (uintptr_t)c->regs.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)c->regs.pc;
#else
	return 0;
#endif
}

/* Attributes for functions that read the stack frames of other code. */
#define RAW __attribute__((noinline, no_sanitize("address", "thread")))

/* Copy the stack. If device code has corrupted the stack pointer there is no copy. */
RAW static void copy_stack(struct dpa_crash *c)
{
	size_t size = c->stack_hi - c->stack_lo;

	c->copied = 0;
	c->sp = sp_of(&c->regs);
	if (!c->copy) {
		void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			return;
		c->copy = p;
	}
#if defined(__x86_64__)
	c->sp -= 128; /* the red zone belongs to the function too */
#endif
	if (c->sp >= c->stack_hi || c->sp < c->stack_lo - DPA_EU_GUARD)
		return;
	if (c->sp < c->stack_lo)
		c->sp = c->stack_lo;
	c->sp &= ~(uintptr_t)15;
	c->copied = c->stack_hi - c->sp;
	for (size_t i = 0; i < c->copied; i += 8) /* no memcpy(): sanitizers intercept it */
		*(volatile uint64_t *)(c->copy + i) = *(volatile uint64_t *)(c->sp + i);
}

RAW void dpa_crash_capture(int sig, const siginfo_t *info, const ucontext_t *uc)
{
	struct dpa_crash *c = self;

	if (!c)
		return;
	c->sig = sig;
	memset(&c->info, 0, sizeof(c->info));
	if (info)
		c->info = *info;
	c->regs = uc->uc_mcontext;
	c->has_fp = false;
#if defined(__x86_64__)
	if (uc->uc_mcontext.fpregs) {
		memcpy(c->fp, uc->uc_mcontext.fpregs, sizeof(c->fp));
		c->has_fp = true;
	}
#endif
	copy_stack(c);
	c->held = true;
}

void dpa_crash_capture_here(void)
{
	ucontext_t uc;

	if (!self || self->held || getcontext(&uc))
		return;
	dpa_crash_capture(0, NULL, &uc);
}

bool dpa_crash_read(const struct dpa_crash *c, uintptr_t addr, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)addr, n};

	if (addr >= c->sp && addr < c->stack_hi && c->copied) {
		if (n > c->stack_hi - addr)
			return false;
		memcpy(to, c->copy + (addr - c->sp), n);
		return true;
	}
	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static const char *of_code(int sig, int code)
{
	if (sig == SIGSEGV)
		return code == SEGV_MAPERR   ? ": nothing is mapped there"
		       : code == SEGV_ACCERR ? ": not allowed there"
					     : "";
	if (sig == SIGFPE)
		return code == FPE_INTDIV ? ": integer division by zero" : "";
	return "";
}

const char *dpa_crash_signal_name(int sig)
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
	case SIGTRAP:
		return "SIGTRAP";
	default:
		return "signal";
	}
}

void dpa_crash_reason(const struct dpa_crash *c, char *buf, size_t len)
{
	const char *name = dpa_crash_signal_name(c->sig);
	unsigned long long addr = (uintptr_t)c->info.si_addr;

	if ((uintptr_t)c->info.si_addr >= c->stack_lo - DPA_EU_GUARD &&
	    (uintptr_t)c->info.si_addr < c->stack_lo)
		snprintf(buf, len, "stack overflow (%s at address 0x%llx)", name, addr);
	else if (c->info.si_code == SI_KERNEL)
		snprintf(buf, len, "%s: an address that cannot be", name);
	else
		snprintf(buf, len, "%s at address 0x%llx%s", name, addr,
			 of_code(c->sig, c->info.si_code));
}
