/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_misuse.c - every call of the host, on the real device, with each of its objects replaced: by
 * NULL, by memory that is no object, by an address without memory, by an object of each other type.
 * No call crashes, none succeeds, each error is a documented one, and the objects are unharmed.
 * misuse.py generates the calls from the headers, so that no new one is missed.
 */
#define DPA_DOCA_API 210 /* version with which misuse.py reads the headers */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <criterion/criterion.h>
#include "misuse_headers.h"
#include "misuse_rig.h"

#define BIT(error) (UINT64_C(1) << (error))

enum kind { ERROR, POINTER, OTHER };

struct row {
	const char *function;
	int parameter;
	const char *type; /* the object's */
	enum kind kind;	  /* of the result */
	bool null;	  /* NULL is allowed */
	bool field;	  /* of a task, checked when it is submitted */
	uint64_t errors;
	intptr_t (*call)(void *bad);
};

static char scratch[65536];

static void nothing(void)
{
}

static void *live(const char *type)
{
	return misuse_object(type);
}

#include "misuse.inc"

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* ------------------------------------------------------------------- the judge */

static const char *volatile now, *volatile what;

/* Print the name of the call that crashed, before Criterion reports a crash. */
static void on_crash(int signal_number)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s with %s crashes\n", now, what);

	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(3);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static int wrong, asked;

static void complain(const struct row *r, const char *why, intptr_t result)
{
	fprintf(stderr, "%s, parameter %d with %s: %s (%ld %s)\n", r->function, r->parameter, what,
		why, (long)result,
		r->kind == ERROR ? doca_error_get_name((doca_error_t)result) : "");
	wrong++;
}

static void judge(const struct row *r, intptr_t result)
{
	asked++;
	if (r->kind == POINTER && result)
		complain(r, "gives something", result);
	if (r->kind == ERROR && result == DOCA_SUCCESS)
		complain(r, "succeeds", result);
	else if (r->kind == ERROR && result != DOCA_ERROR_INVALID_VALUE &&
		 !(result > 0 && result < 64 && r->errors & BIT(result)))
		complain(r, "returns what is not documented", result);
}

static void ask(const struct row *r, void *bad, const char *name)
{
	now = r->function;
	what = name;
	memset(scratch, 0, sizeof(scratch));
	judge(r, r->call(bad));
}

static void ask_all(void *bad, const char *name)
{
	for (int i = 0; i < ROWS; i++)
		if (!rows[i].field && !(rows[i].null && !bad))
			ask(&rows[i], bad, name);
}

/* Return whether an object of a type is also one of another type. */
static bool is_also(const char *type, const char *wanted)
{
	static const char *const contexts[] = {"doca_dma", "doca_rdma", "doca_sync_event",
					       "doca_mmap_advise"};

	if (!strcmp(wanted, "doca_devinfo") && !strcmp(type, "doca_dev"))
		return true;
	if (!strcmp(wanted, "doca_devinfo_rep") && !strcmp(type, "doca_dev_rep"))
		return true;
	if (!strcmp(wanted, "doca_task"))
		return strstr(type, "_task_") != NULL;
	for (size_t i = 0; i < 4 && !strcmp(wanted, "doca_ctx"); i++)
		if (!strcmp(type, contexts[i]))
			return true;
	return false;
}

static void ask_other_types(void)
{
	for (const struct misuse_object *o = misuse_objects(); o->type; o++)
		for (int i = 0; i < ROWS; i++) {
			const struct row *r = &rows[i];

			if (!r->field && strcmp(r->type, o->type) != 0 &&
			    !is_also(o->type, r->type) && o->object != live(r->type))
				ask(r, o->object, o->type);
		}
}

/* Run in the test itself: Criterion ignores failures in fixtures. */
static void with_objects(void (*run)(void))
{
	signal(SIGSEGV, on_crash);
	signal(SIGBUS, on_crash);
	misuse_make();
	run();
	cr_assert_eq(wrong, 0, "%d calls", wrong);
	cr_assert_geq(asked, 600, "only %d calls", asked);
	misuse_unmake(); /* each can still be destroyed */
}

TestSuite(misuse, .timeout = 120);

static void with_null(void)
{
	ask_all(NULL, "NULL");
}

Test(misuse, of_null)
{
	with_objects(with_null);
}

static void with_memory(void)
{
	static char memory[4096];

	ask_all(memory, "memory");
	ask_all(memory + 1, "memory");
	memset(memory, 0xff, sizeof(memory));
	ask_all(memory, "memory of ones");
}

Test(misuse, of_memory)
{
	with_objects(with_memory);
}

static void with_no_memory(void)
{
	ask_all((void *)16, "16");
	ask_all((void *)-64, "-64");
}

Test(misuse, of_no_memory)
{
	with_objects(with_no_memory);
}

Test(misuse, of_another_type)
{
	with_objects(ask_other_types);
}
