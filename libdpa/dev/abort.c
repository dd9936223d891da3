/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * abort.c - abort() and assert() of device code: a trap, which ends the context and leaves its
 * files.
 */
#include <stdlib.h>
#include <doca_dpa_dev.h>

_Noreturn void abort(void)
{
	__builtin_trap();
}

/* Return the function that the assert() of <assert.h> calls; its parameters are glibc's. */
_Noreturn void __assert_fail(const char *assertion, const char *file, unsigned int line,
			     const char *function);

_Noreturn void __assert_fail(const char *assertion, const char *file, unsigned int line,
			     const char *function)
{
	DOCA_DPA_DEV_LOG_CRIT("%s:%u: %s: assertion '%s' failed\n", file, line, function,
			      assertion);
	abort();
}
