/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fiber.c - stacks and switches of CUDA threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fiber.h"
#include "sanitize.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

enum { GUARD = 64 * 1024 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK = 512 * 1024 };
#else
enum { STACK = 128 * 1024 };
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stack *unused; /* under lock */
static size_t size = STACK;  /* under lock */

/* Callee-saved registers and the control words of floating point, then the return address. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".hidden dpa_cuda_switch\n"
	".globl dpa_cuda_switch\n"
	".type dpa_cuda_switch,@function\n"
	"dpa_cuda_switch:\n"
	"push %rbp\n"
	"push %rbx\n"
	"push %r12\n"
	"push %r13\n"
	"push %r14\n"
	"push %r15\n"
	"sub $8, %rsp\n"
	"stmxcsr (%rsp)\n"
	"fnstcw 4(%rsp)\n"
	"mov %rsp, (%rdi)\n"
	"mov %rsi, %rsp\n"
	"ldmxcsr (%rsp)\n"
	"fldcw 4(%rsp)\n"
	"add $8, %rsp\n"
	"pop %r15\n"
	"pop %r14\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %rbx\n"
	"pop %rbp\n"
	"ret\n"
	".size dpa_cuda_switch,.-dpa_cuda_switch\n"
	".hidden dpa_cuda_begin\n"
	".globl dpa_cuda_begin\n"
	".type dpa_cuda_begin,@function\n"
	"dpa_cuda_begin:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"mov %r12, %rdi\n"
	"call *%rbx\n"
	"ud2\n"
	".cfi_endproc\n"
	".size dpa_cuda_begin,.-dpa_cuda_begin\n"
	".popsection");
enum {
	WORDS = 9
}; /* control words, r15, r14, r13, r12, rbx, rbp, return address, end of the chain */
enum { AT_ENTRY = 5, AT_ARG = 4, AT_RETURN = 7 };
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
	".hidden dpa_cuda_switch\n"
	".globl dpa_cuda_switch\n"
	".type dpa_cuda_switch,@function\n"
	"dpa_cuda_switch:\n"
	"sub sp, sp, #160\n"
	"stp x19, x20, [sp]\n"
	"stp x21, x22, [sp, #16]\n"
	"stp x23, x24, [sp, #32]\n"
	"stp x25, x26, [sp, #48]\n"
	"stp x27, x28, [sp, #64]\n"
	"stp x29, x30, [sp, #80]\n"
	"stp d8, d9, [sp, #96]\n"
	"stp d10, d11, [sp, #112]\n"
	"stp d12, d13, [sp, #128]\n"
	"stp d14, d15, [sp, #144]\n"
	"mov x9, sp\n"
	"str x9, [x0]\n"
	"mov sp, x1\n"
	"ldp x19, x20, [sp]\n"
	"ldp x21, x22, [sp, #16]\n"
	"ldp x23, x24, [sp, #32]\n"
	"ldp x25, x26, [sp, #48]\n"
	"ldp x27, x28, [sp, #64]\n"
	"ldp x29, x30, [sp, #80]\n"
	"ldp d8, d9, [sp, #96]\n"
	"ldp d10, d11, [sp, #112]\n"
	"ldp d12, d13, [sp, #128]\n"
	"ldp d14, d15, [sp, #144]\n"
	"add sp, sp, #160\n"
	"ret\n"
	".size dpa_cuda_switch,.-dpa_cuda_switch\n"
	".hidden dpa_cuda_begin\n"
	".globl dpa_cuda_begin\n"
	".type dpa_cuda_begin,@function\n"
	"dpa_cuda_begin:\n"
	".cfi_startproc\n"
	".cfi_undefined x30\n"
	"mov x0, x20\n"
	"blr x19\n"
	"brk #1\n"
	".cfi_endproc\n"
	".size dpa_cuda_begin,.-dpa_cuda_begin\n"
	".popsection");
enum { WORDS = 20 };
enum { AT_ENTRY = 0, AT_ARG = 1, AT_RETURN = 11 };
#else
#error "the stand-in for CUDA runs on x86-64 and aarch64"
#endif

void dpa_cuda_begin(void);

void *fiber_prepare(struct stack *stack, void (*entry)(void *), void *arg)
{
	/* the entry expects the stack alignment of a called function */
	uintptr_t top = ((uintptr_t)stack->low + stack->size) & ~(uintptr_t)63;
	uint64_t *frame = (uint64_t *)top - WORDS - WORDS % 2;

	memset(frame, 0, sizeof(*frame) * WORDS);
#if defined(__x86_64__)
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1"
			 : "=m"(*(uint32_t *)frame), "=m"(*((uint32_t *)frame + 1)));
#endif
	frame[AT_ENTRY] = (uint64_t)(uintptr_t)entry;
	frame[AT_ARG] = (uint64_t)(uintptr_t)arg;
	frame[AT_RETURN] = (uint64_t)(uintptr_t)dpa_cuda_begin;
	return frame;
}

static struct stack *stack_new(size_t bytes)
{
	struct stack *stack = calloc(1, sizeof(*stack));
	char *map = mmap(NULL, GUARD + bytes, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (!stack || map == MAP_FAILED || mprotect(map + GUARD, bytes, PROT_READ | PROT_WRITE)) {
		if (map != MAP_FAILED)
			munmap(map, GUARD + bytes);
		free(stack);
		return NULL;
	}
	stack->low = map + GUARD;
	stack->size = bytes;
#ifdef __SANITIZE_THREAD__
	stack->tsan = __tsan_create_fiber(0);
#endif
	return stack;
}

static void stack_free(struct stack *stack)
{
#ifdef __SANITIZE_THREAD__
	__tsan_destroy_fiber(stack->tsan);
#endif
	munmap(stack->low - GUARD, GUARD + stack->size);
	free(stack);
}

struct stack *stack_get(void)
{
	struct stack *stack;
	size_t bytes;

	pthread_mutex_lock(&lock);
	stack = unused;
	bytes = size;
	if (stack)
		unused = stack->next;
	pthread_mutex_unlock(&lock);
	return stack ? stack : stack_new(bytes);
}

void stack_put(struct stack *stack)
{
	bool fits;

	pthread_mutex_lock(&lock);
	fits = stack->size == size;
	if (fits) {
		stack->next = unused;
		unused = stack;
	}
	pthread_mutex_unlock(&lock);
	if (!fits)
		stack_free(stack);
}

bool stack_guard_hit(const struct stack *stack, const void *addr)
{
	uintptr_t low = (uintptr_t)stack->low, at = (uintptr_t)addr;

	return at < low && at >= low - GUARD;
}

void stack_set_size(size_t bytes)
{
	struct stack *old;

	bytes = (bytes + 0xfff) & ~(size_t)0xfff;
	pthread_mutex_lock(&lock);
	old = bytes > STACK && bytes != size ? unused : NULL;
	if (bytes > STACK)
		size = bytes;
	if (old)
		unused = NULL;
	pthread_mutex_unlock(&lock);
	while (old) {
		struct stack *next = old->next;

		stack_free(old);
		old = next;
	}
}

size_t stack_size(void)
{
	size_t bytes;

	pthread_mutex_lock(&lock);
	bytes = size;
	pthread_mutex_unlock(&lock);
	return bytes;
}
