/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* util.h - a private board for the board's tests, and processes that die at a given point. */
#ifndef BOARD_TEST_UTIL_H
#define BOARD_TEST_UTIL_H

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <board/board_priv.h>

#define BT_VERSION "1.2.3"

extern char bt_dir[64];	  /* a directory of this test */
extern char bt_path[192]; /* the board's file in it */
extern char bt_err[512];  /* the last error line */

void bt_setup(void);
void bt_teardown(void);

/* Skip the test and leave nothing: Criterion's own skip omits the teardown. */
#define bt_skip(why)                                                                               \
	do {                                                                                       \
		bt_teardown();                                                                     \
		cr_skip_test(why);                                                                 \
	} while (0)

struct dpa_board_cfg bt_cfg(void);
/* Open the test's board; ends the test on failure. */
struct dpa_board *bt_open(void);
/* Try to open it. Returns its errno; the line is in bt_err. */
int bt_try(struct dpa_board **b, const char *version);

/* Fork a child that runs fn(arg) and exits with 0. It is killed when this process dies. */
pid_t bt_fork(void (*fn)(void *), void *arg);
int bt_wait(pid_t pid);	 /* returns its wait status */
void bt_kill(pid_t pid); /* SIGKILL, and waits */
/* Kill the calling process the nth time it reaches the step. */
void bt_die_at(const char *step, int nth);
/* Fork a child that dies at the nth such step in fn(arg); true if it reached it. */
bool bt_dies(void (*fn)(void *), void *arg, const char *step, int nth);

/* A message without content between two processes: a pipe. */
struct bt_signal {
	int fd[2];
};
void bt_signal_init(struct bt_signal *s);
void bt_signal_send(struct bt_signal *s);
void bt_signal_wait(struct bt_signal *s); /* ends the process if the other side is gone */

/* Return the seed of random tests: 1, or DPA_TEST_SEED; it is logged. */
unsigned int bt_seed(void);

/* Return the slots in use, counted from the owner words. */
uint32_t bt_uars(struct dpa_board *b);
uint32_t bt_qpns(struct dpa_board *b);
uint32_t bt_procs(struct dpa_board *b);
/* Return whether the list contains every page exactly once, in both directions. */
bool bt_list_whole(struct dpa_board *b);

#endif
