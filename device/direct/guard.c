/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * guard.c - a check and the action that depends on it, without an interruption between the two: a
 * restartable sequence. If a thread is preempted, stopped or signalled within one, the kernel moves
 * it to the abort label. The action is a system call, whose instruction is the last one: a thread
 * in it is past the end of the sequence. Or it is stores to memory that is mapped here: a thread
 * that left the sequence stores nothing more, and a slow page fault within it ends it as well.
 * The C library registers each thread (glibc 2.35). Without that there is no direct path.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include "ctx/qp.h"
#include "direct/direct.h"

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
		       offsetof(struct dpa_guard, alive) == 32 &&
		       offsetof(struct dpa_guard, conn) == 40 &&
		       offsetof(struct dpa_guard, conn_was) == 48,
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

/*
 * The beginning of each sequence: marks it as active (rseq_cs), checks the time, the capability,
 * the generation, the connection. Uses rax and rdx. On x86 rdtsc and loads stay in this order. The
 * last instruction of BODY is the one that takes effect; after it `result` goes to rax.
 */
#define SEQUENCE(time, body, result)                                                               \
	"	.pushsection .data.rel.ro, \"aw\"\n"                                                     \
	"	.balign 32\n"                                                                            \
	"9:	.long 0, 0\n" /* version, flags */                                                 \
	"	.quad 1f, 2f - 1f, 4f\n"                                                                 \
	"	.popsection\n"                                                                           \
	"	leaq 9b(%%rip), %%rax\n"                                                                 \
	"	movq %%rax, 8(%[area])\n"                                                                \
	"1:\n" time "	movq 0(%[g]), %%rax\n"                                                       \
	"	movq 8(%[g]), %%rdx\n"                                                                   \
	"	cmpq %%rdx, (%%rax)\n"                                                                   \
	"	jne 5f\n"                                                                                \
	"	movq 16(%[g]), %%rax\n"                                                                  \
	"	movl 24(%[g]), %%edx\n"                                                                  \
	"	cmpl %%edx, (%%rax)\n"                                                                   \
	"	jne 5f\n"                                                                                \
	"	movq 40(%[g]), %%rax\n"                                                                  \
	"	movq 48(%[g]), %%rdx\n"                                                                  \
	"	cmpq %%rdx, (%%rax)\n"                                                                   \
	"	jne 5f\n" body "2:	" result "	jmp 6f\n"                                       \
	"	.byte 0x0f, 0xb9, 0x3d\n" /* RSEQ_SIG before the label */                          \
	"	.long 0x53053053\n"                                                                      \
	"4:	movq %[again], %%rax\n"                                                                \
	"	jmp 6f\n"                                                                                \
	"5:	movq %[stale], %%rax\n"                                                                \
	"6:	movq $0, 8(%[area])\n"
/* The limit for the use of a pid. Mapped memory is the peer's, whichever process has its pid. */
#define TIME                                                                                       \
	"	rdtsc\n"                                                                                 \
	"	shlq $32, %%rdx\n"                                                                       \
	"	orq %%rdx, %%rax\n"                                                                      \
	"	subq 32(%[g]), %%rax\n"                                                                  \
	"	cmpq $0x200000, %%rax\n"                                                                 \
	"	ja 5f\n"
#define ANSWERS [again] "i"(-EAGAIN), [stale] "i"(-ESTALE)

/* -EAGAIN: interrupted, nothing was done. */
static __attribute__((noinline)) long guarded_call(struct area *area, const struct dpa_guard *g,
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

	__asm__ volatile(SEQUENCE(TIME,
				  "	movq 8(%[call]), %%rdx\n"
				  "	movq 0(%[call]), %%rax\n"
				  "	syscall\n",
				  "")
			 : "=&a"(ret), "=&d"(rdx)
			 : [area] "r"(area), [g] "r"(g), [call] "r"(&call), "D"((long)pid), "S"(l),
			   "r"(r10), "r"(r8), "r"(r9), ANSWERS
			 : "rcx", "r11", "cc", "memory");
	return ret;
}

/*
 * Copies the bytes before the peer's first whole word, then words, then the rest, in that order.
 * One access copies each aligned part of 8, 4 or 2 bytes. The last access comes after all others:
 * string instructions store in any order, but one is complete before the next. So a poller of the
 * end of the message finds all of it. -EAGAIN: the copy may have begun.
 */
static __attribute__((noinline)) long guarded_move(struct area *area, const struct dpa_guard *g,
						   void *dst, const void *src, size_t head,
						   size_t words, size_t rest)
{
	long ret, rdx;

	__asm__ volatile(SEQUENCE("",
				  "	jrcxz 7f\n"
				  "	testb $1, %%cl\n"
				  "	jz 3f\n"
				  "	movsb\n"
				  "3:	testb $2, %%cl\n"
				  "	jz 3f\n"
				  "	movsw\n"
				  "3:	testb $4, %%cl\n"
				  "	jz 7f\n"
				  "	movsl\n"
				  "7:	movq %[words], %%rcx\n"
				  "	jrcxz 7f\n"
				  "	decq %%rcx\n"
				  "	jz 8f\n"
				  "	rep movsq\n"
				  "8:	movsq\n"
				  "7:	movq %[rest], %%rcx\n"
				  "	jrcxz 2f\n"
				  "	testb $4, %%cl\n"
				  "	jz 8f\n"
				  "	movsl\n"
				  "8:	testb $2, %%cl\n"
				  "	jz 8f\n"
				  "	movsw\n"
				  "8:	testb $1, %%cl\n"
				  "	jz 2f\n"
				  "	movsb\n",
				  "xorl %%eax, %%eax\n")
			 : "=&a"(ret), "=&d"(rdx), "+D"(dst), "+S"(src), "+c"(head)
			 : [area] "r"(area), [g] "r"(g), [words] "r"(words), [rest] "r"(rest),
			   ANSWERS
			 : "cc", "memory");
	return ret;
}

static __attribute__((noinline)) long guarded_swap(struct area *area, const struct dpa_guard *g,
						   uint64_t *at, uint64_t compare, uint64_t swap,
						   uint64_t *old)
{
	long ret, rdx;
	uint64_t was;

	__asm__ volatile(SEQUENCE("",
				  "	movq %[compare], %%rax\n"
				  "	lock cmpxchgq %[swap], (%[at])\n",
				  "movq %%rax, %[was]\n	xorl %%eax, %%eax\n")
			 : "=&a"(ret), "=&d"(rdx), [was] "=&r"(was)
			 : [area] "r"(area), [g] "r"(g), [at] "r"(at), [compare] "r"(compare),
			   [swap] "r"(swap), ANSWERS
			 : "cc", "memory");
	*old = was;
	return ret;
}

static __attribute__((noinline)) long guarded_add(struct area *area, const struct dpa_guard *g,
						  uint64_t *at, uint64_t add, uint64_t *old)
{
	long ret, rdx;

	__asm__ volatile(SEQUENCE("", "	lock xaddq %[add], (%[at])\n", "xorl %%eax, %%eax\n")
			 : "=&a"(ret), "=&d"(rdx), [add] "+&r"(add)
			 : [area] "r"(area), [g] "r"(g), [at] "r"(at), ANSWERS
			 : "cc", "memory");
	*old = add;
	return ret;
}

int dpa_guard_move(const struct dpa_guard *g, bool write, void *mapped, void *local, size_t n)
{
	uint8_t *to = write ? mapped : local, *from = write ? local : mapped;

	while (n) {
		size_t k = n < DPA_GUARD_CHUNK ? n : DPA_GUARD_CHUNK;
		size_t head = -(uintptr_t)(write ? to : from) & 7;
		long ret = -EAGAIN;

		head = head < k ? head : k;
		for (int i = 0; i < 16 && ret == -EAGAIN; i++)
			ret = guarded_move(my_area(), g, to, from, head, (k - head) / 8,
					   (k - head) % 8);
		if (ret)
			return ESTALE;
		to += k;
		from += k;
		n -= k;
	}
	return 0;
}

int dpa_guard_atomic(const struct dpa_guard *g, uint64_t *at, const uint64_t *compare,
		     uint64_t swap_add, uint64_t *old)
{
	long ret = -EAGAIN;

	for (int i = 0; i < 16 && ret == -EAGAIN; i++)
		ret = compare ? guarded_swap(my_area(), g, at, *compare, swap_add, old)
			      : guarded_add(my_area(), g, at, swap_add, old);
	return ret ? ESTALE : 0;
}

int dpa_guard_copy(const struct dpa_guard *g, bool write, pid_t pid, const struct iovec *iov,
		   int cnt, uint64_t addr, size_t n)
{
	const struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = n};
	long number = write ? SYS_process_vm_writev : SYS_process_vm_readv, ret = -EAGAIN;

	/*
	 * A sequence is some tens of instructions: a thread that is interrupted more often does not
	 * retry.
	 */
	for (int i = 0; i < 16 && ret == -EAGAIN; i++)
		ret = guarded_call(my_area(), g, number, pid, iov, cnt, &remote);
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
	return ENOSYS;
}

int dpa_guard_move(const struct dpa_guard *g, bool write, void *mapped, void *local, size_t n)
{
	return ENOSYS;
}

int dpa_guard_atomic(const struct dpa_guard *g, uint64_t *at, const uint64_t *compare,
		     uint64_t swap_add, uint64_t *old)
{
	return ENOSYS;
}

#endif
