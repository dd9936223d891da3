/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sweep.h - runs a program once for each call that can fail: its calls, one run, the report. */
#ifndef DPACTL_SWEEP_H
#define DPACTL_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "dpactl.h"

#define SWEEP_NAME 40
#define SWEEP_PATH 300
#define SWEEP_FILE 256

/* A call that a run may fail. */
struct sweep_call {
	char name[SWEEP_NAME]; /* as in a rule */
	char prog[SWEEP_NAME]; /* the program of the process that made it */
	uint32_t n;	       /* its number in that process, from 1 on */
};

/* ---- calls.c: the file that the setting inject_calls makes */
struct sweep_calls {
	struct sweep_call *call;
	uint32_t num, room;
};
/*
 * Read the calls of a file: each name, program and number once, at most `each` of a name and program.
 * In the order of the file. Ends the process without memory.
 */
void sweep_calls_read(struct sweep_calls *s, const char *path, uint32_t each);
/* True if the file shows that a call failed on request. */
bool sweep_calls_failed(const char *path);
/* The errno that such a call fails with: the one that programs meet. */
const char *sweep_errno(const char *call);

/* ---- shm.c: files in /dev/shm */
struct sweep_shm {
	char (*name)[SWEEP_FILE];
	uint32_t num;
};
/* List the files of this user, without those of dpa0. The caller frees name. */
struct sweep_shm sweep_shm_list(void);
/*
 * Return the number of files that are not in `before` and that no process uses; write the name of one.
 * A process of another user is not looked at.
 */
uint32_t sweep_shm_new(const struct sweep_shm *before, char first[SWEEP_FILE]);

/* ---- run.c: one run */
enum sweep_end { SWEEP_ENDED, SWEEP_SIGNAL, SWEEP_HANGS, SWEEP_STOPPED };

struct sweep_run {
	enum sweep_end end;
	int status; /* exit status, or number of the signal */
	uint32_t ms;
	uint32_t left;	      /* processes of it that lived on */
	uint32_t on_board;    /* processes that still use dpa0 */
	uint32_t num_shm;     /* files that it left in /dev/shm */
	char shm[SWEEP_FILE]; /* the name of one of them */
	bool peer_hangs;      /* the other end was still there at the limit, and was ended */
	int peer_signal;      /* signal that ended the other end; 0: none */
	pid_t stuck;	      /* a process that could not be ended; 0: there is none */
	char stuck_name[20];
};

struct sweep_setup {
	char **program;		   /* and its arguments */
	char **peer;		   /* NULL: there is no other end */
	char dir[SWEEP_PATH - 40]; /* for files of the runs; 0700 */
	char dpa_run[SWEEP_PATH];
	uint32_t limit_ms;
	void (*tick)(void *arg); /* called often while a run goes on */
	void *tick_arg;
};
/*
 * Run the program, with a rule (NULL: none), on an adapter instance of its own. Waits for its end, at
 * most limit_ms, and ends every process that is left; r->stuck: but this one. The calls are in DIR/calls then, the output in
 * DIR/output. Context: SIGINT and SIGTERM end the wait (SWEEP_STOPPED).
 */
void sweep_run(const struct sweep_setup *s, const char *rule, struct sweep_run *r);
/*
 * Take over SIGINT, SIGTERM and SIGHUP, which end the sweep, and the children of programs that end. Ends
 * the process if the kernel does not list children.
 */
void sweep_begin(void);
bool sweep_stopped(void);

#endif
