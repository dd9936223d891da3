/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crash.h - the captured state of a fault on an EU, and the files about it.
 *
 * The signal handler (or the op that found an error) copies registers and stack before a jump
 * leaves the device code; afterwards, on the same thread and outside device code, the files are
 * written: PREFIX.PID.core (an ELF core for gdb), PREFIX.PID.crash (text) and PREFIX.PID.so (the
 * image, whose debug information both refer to). Each replaces an older one of the same name.
 */
#ifndef DPA_CRASH_CRASH_H
#define DPA_CRASH_CRASH_H

#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#define DPA_CRASH_PREFIX "/tmp/doca_dpa_fatal"
#define DPA_CRASH_FP	 512 /* bytes of an x86-64 floating-point state */

/* One for each EU; only its thread uses it. */
struct dpa_crash {
	bool held; /* a captured state is not handed over yet */
	bool has_fp;
	int sig; /* 0: no signal, `text` has the reason */
	siginfo_t info;
	mcontext_t regs;
	uint8_t fp[DPA_CRASH_FP];
	uintptr_t stack_lo, stack_hi; /* of the thread */
	uintptr_t sp;		      /* copied from here to stack_hi */
	uint8_t *copy;		      /* room for the whole stack; NULL: not captured yet */
	size_t copied;
	pid_t tid;
};

/* Find the stack of an EU's thread; call it first on that thread. Not async-signal-safe. */
void dpa_crash_thread_begin(void);
void dpa_crash_thread_end(void);
/* Return the lowest stack address at which the library may still be called. */
uintptr_t dpa_crash_stack_floor(void);
/* Capture the state; async-signal-safe. */
void dpa_crash_capture(int sig, const siginfo_t *info, const ucontext_t *uc);
/* Capture the state of the caller, unless a state is captured already. */
void dpa_crash_capture_here(void);
/* Return that of the calling EU; NULL elsewhere. */
struct dpa_crash *dpa_crash_self(void);

struct dpa_mem;
struct dpa_witness;

/* Contents of the files beside the captured state. */
struct dpa_crash_story {
	const char *prefix; /* of the files */
	const char *device, *app, *kernel, *reason;
	const struct dpa_witness *others; /* of the same context */
	struct dpa_mem *const *heap;	  /* its allocations, referenced by the caller */
	size_t heap_num;
	int eu;
	int image_fd;	  /* of the image as it was loaded */
	uintptr_t base;	  /* its load address */
	const void *code; /* the file of the image, as dpacc made it */
	size_t code_size;
	/* results */
	char core_path[PATH_MAX], text_path[PATH_MAX], image_path[PATH_MAX];
	int core_error; /* errno; 0: the core was written */
};

/*
 * Write all files. Returns 0, or the errno of the first that could not be written. The text is
 * written even without a core: s->core_error.
 */
int dpa_crash_write(const struct dpa_crash *c, struct dpa_crash_story *s);
/* Write its parts to an open file. 0 or errno. */
int dpa_crash_write_core(const struct dpa_crash *c, const struct dpa_crash_story *s, int fd);
int dpa_crash_write_text(const struct dpa_crash *c, const struct dpa_crash_story *s, int fd);

uintptr_t dpa_crash_pc(const struct dpa_crash *c);
/* Read memory as it was: the stack from the copy, other memory directly. False: not readable. */
bool dpa_crash_read(const struct dpa_crash *c, uintptr_t addr, void *to, size_t n);
/* Return "SIGSEGV" and the like, for messages. */
const char *dpa_crash_signal_name(int sig);
/* Write the cause in one line. */
void dpa_crash_reason(const struct dpa_crash *c, char *buf, size_t len);

#endif
