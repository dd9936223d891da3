/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A look and a system call that nothing comes between: a restartable sequence. The kernel moves a
 * thread that was preempted, stopped or given a signal within one to its abort label; the system
 * call is the last instruction, and a thread in it is past the sequence's end. The C library
 * registers each thread (glibc 2.35); where it does not there is no direct path.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include "link/direct.h"

#if defined(__x86_64__) && defined(__LP64__)

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* The head of struct rseq, <linux/rseq.h>. */
struct area {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs;
};
_Static_assert(offsetof(struct area, rseq_cs) == 8, "rseq_cs, as the code below has it");
_Static_assert(offsetof(struct dpa_guard, grant_was) == 8 &&
		       offsetof(struct dpa_guard, gen) == 16 &&
		       offsetof(struct dpa_guard, gen_was) == 24 &&
		       offsetof(struct dpa_guard, alive) == 32,
	       "the guard, as the code below has it");
_Static_assert(DPA_ALIVE_TICKS == 0x200000, "as the code below has it");

static struct area *my_area(void)
{
	uintptr_t self;

	if (!&__rseq_size || !&__rseq_offset || !__rseq_size)
		return NULL;
	__asm__("movq %%fs:0, %0" : "=r"(self));
	return (struct area *)(self + (uintptr_t)__rseq_offset);
}

bool dpa_guard_works(void)
{
	const struct area *a = my_area();

	return a && (int32_t)__atomic_load_n(&a->cpu_id, __ATOMIC_RELAXED) >= 0;
}

uint64_t dpa_guard_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* -EAGAIN: interrupted, nothing was done. rdtsc and loads are in order on x86 as they stand. */
static __attribute__((noinline)) long guarded(struct area *area, const struct dpa_guard *g,
					      long number, pid_t pid, const struct iovec *l,
					      long nl, const struct iovec *r)
{
	const struct {
		long number, nl;
	} call = {number, nl};
	register long r10 __asm__("r10") = (long)r;
	register long r8 __asm__("r8") = 1;
	register long r9 __asm__("r9") = 0;
	long ret, rdx;

	__asm__ volatile("	.pushsection .data.rel.ro, \"aw\"\n"
			 "	.balign 32\n"
			 "9:	.long 0, 0\n" /* version, flags */
			 "	.quad 1f, 2f - 1f, 4f\n"
			 "	.popsection\n"
			 "	leaq 9b(%%rip), %%rax\n"
			 "	movq %%rax, 8(%[area])\n"
			 "1:	rdtsc\n"
			 "	shlq $32, %%rdx\n"
			 "	orq %%rdx, %%rax\n"
			 "	subq 32(%[g]), %%rax\n"
			 "	cmpq $0x200000, %%rax\n"
			 "	ja 5f\n"
			 "	movq 0(%[g]), %%rax\n"
			 "	movq 8(%[g]), %%rdx\n"
			 "	cmpq %%rdx, (%%rax)\n"
			 "	jne 5f\n"
			 "	movq 16(%[g]), %%rax\n"
			 "	movl 24(%[g]), %%edx\n"
			 "	cmpl %%edx, (%%rax)\n"
			 "	jne 5f\n"
			 "	movq 8(%[call]), %%rdx\n"
			 "	movq 0(%[call]), %%rax\n"
			 "	syscall\n"
			 "2:	jmp 6f\n"
			 "	.byte 0x0f, 0xb9, 0x3d\n" /* RSEQ_SIG in front of the label */
			 "	.long 0x53053053\n"
			 "4:	movq %[again], %%rax\n"
			 "	jmp 6f\n"
			 "5:	movq %[stale], %%rax\n"
			 "6:	movq $0, 8(%[area])\n"
			 : "=&a"(ret), "=&d"(rdx)
			 : [area] "r"(area), [g] "r"(g), [call] "r"(&call), "D"((long)pid), "S"(l),
			   "r"(r10), "r"(r8), "r"(r9), [again] "i"(-EAGAIN), [stale] "i"(-ESTALE)
			 : "rcx", "r11", "cc", "memory");
	return ret;
}

int dpa_guard_copy(const struct dpa_guard *g, bool write, pid_t pid, const struct iovec *iov,
		   int cnt, uint64_t addr, size_t n)
{
	const struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = n};
	long number = write ? SYS_process_vm_writev : SYS_process_vm_readv, ret = -EAGAIN;

	/* a sequence is some tens of instructions: who is interrupted more often waits for nothing
	 */
	for (int i = 0; i < 16 && ret == -EAGAIN; i++)
		ret = guarded(my_area(), g, number, pid, iov, cnt, &remote);
	if (ret >= 0)
		return (size_t)ret == n ? 0 : EFAULT;
	return ret == -EAGAIN ? ESTALE : (int)-ret;
}

#else

bool dpa_guard_works(void)
{
	return false;
}

uint64_t dpa_guard_ticks(void)
{
	return 0;
}

int dpa_guard_copy(const struct dpa_guard *g, bool write, pid_t pid, const struct iovec *iov,
		   int cnt, uint64_t addr, size_t n)
{
	(void)g;
	(void)write;
	(void)pid;
	(void)iov;
	(void)cnt;
	(void)addr;
	(void)n;
	return ENOSYS;
}

#endif
