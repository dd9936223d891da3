/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fatal_rig.h - common part of the tests of this folder: ../host.h with device code that faults. */
#ifndef TEST_FATAL_RIG_H
#define TEST_FATAL_RIG_H

#include "../host.h"
#include "fatal_kernels.h"
#include "libdpa/host/libdpa.h"

extern struct doca_dpa_app *fatal_app;
extern doca_dpa_func_t bad_write, divide_by_zero, trap, jump_nowhere, call_outside, overflow,
	overflow_in_calls, overflow_by_one_frame, bad_handle, spoil_stack, loop, loop_of_calls,
	wait_for_ever, work;

/* A folder for the files of this test, and their names. */
extern char crash_dir[64];
void crash_setup(void);
void crash_teardown(void);
/* Criterion calls no teardown of a test that is skipped. */
#define crash_skip(why_)                                                                           \
	do {                                                                                       \
		crash_teardown();                                                                  \
		cr_skip_test(why_);                                                                \
	} while (0)
void crash_path(char *buf, size_t len, const char *kind);

/* Return the text of the .crash file; fail if there is none. */
const char *crash_text(void);
void has(const char *text, const char *what);
bool crash_has_program(const char *name);
/* Run gdb on core and image. commands: -ex '...' ...; out: at least len bytes. */
void crash_gdb(char *out, size_t len, const char *commands);

void fatal_rig_start(struct rig *r);
/* Run a thread of func, armed. */
void fatal_rig_run(struct rig *r, doca_dpa_func_t *func, uint64_t address);
#define FATAL_READ(r, field) rig_read((r), offsetof(struct fatal_shared, field))

#endif
