/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* builtin.c - functions that kernels call: printf, assert, trap, clock. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "indices.h"
#include "kernel.h"

enum { LINE = 1024 };

/* Function of the C library that assert() calls; <assert.h> declares it only without NDEBUG. */
extern void __assert_fail(const char *text, const char *file, unsigned int line,
			  const char *function) __attribute__((noreturn));

DPA_GPU_API uint64_t dpa_cuda_time(void)
{
	return gpu_now();
}

DPA_GPU_API void dpa_cuda_trap(void)
{
	if (!gpu_thread())
		abort();
	gpu_fault(cudaErrorLaunchFailure);
	block_abort();
}

/* Return the number of arguments of the format. */
static int count_arguments(const char *fmt)
{
	int num = 0;

	for (; *fmt; fmt++) {
		if (*fmt != '%')
			continue;
		fmt++;
		if (*fmt == '%')
			continue;
		for (; *fmt && !((*fmt | 32) >= 'a' && (*fmt | 32) <= 'z' && *fmt != 'h' &&
				 *fmt != 'l' && *fmt != 'z');
		     fmt++)
			num += *fmt == '*';
		num++;
		if (!*fmt)
			break;
	}
	return num;
}

/*
 * Print. The text is formatted before a lock is taken, so a bad pointer among the arguments is a
 * fault of the kernel. The text of one call is printed as a whole.
 */
static void builtin_print(FILE *to, const char *fmt, va_list ap)
{
	char line[LINE], *text = line;
	struct worker *w = gpu_worker;
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	w->op = true;
	if (n >= LINE) {
		text = malloc((size_t)n + 1);
		w->op = false;
		if (text)
			vsnprintf(text, (size_t)n + 1, fmt, again);
		w->op = true;
	}
	if (n > 0 && text)
		fwrite(text, 1, (size_t)n, to);
	if (text != line)
		free(text);
	atomic_store_explicit(&w->kernel->printed, true, memory_order_relaxed);
	w->op = false;
	va_end(again);
}

/* Do the same as printf() in device code: return the number of arguments, -1 without a format. */
DPA_GPU_API int dpa_cuda_printf(const char *fmt, ...)
{
	va_list ap;
	int ret;

	if (!fmt)
		return -1;
	va_start(ap, fmt);
	if (gpu_thread()) {
		builtin_print(stdout, fmt, ap);
		ret = count_arguments(fmt);
	} else {
		ret = vprintf(fmt, ap);
	}
	va_end(ap);
	return ret;
}

static void print_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	builtin_print(stderr, fmt, ap);
	va_end(ap);
}

DPA_GPU_API void dpa_cuda_assert_fail(const char *text, const char *file, unsigned int line,
				      const char *function)
{
	const struct thread *t = gpu_thread();
	const char *lambda;

	if (!t)
		__assert_fail(text, file, line, function);
	/* the body of a kernel is a lambda: the kernel's name ends before that */
	lambda = strstr(function, "::<lambda");
	print_error("%s:%u: %.*s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		    file, line, lambda ? (int)(lambda - function) : (int)strlen(function), function,
		    blockIdx.x, blockIdx.y, blockIdx.z, t->idx.x, t->idx.y, t->idx.z, text);
	gpu_fault(cudaErrorAssert);
	block_abort();
}
