/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* view.h - between the files of dpactl replay. */
#ifndef DPACTL_REPLAY_VIEW_H
#define DPACTL_REPLAY_VIEW_H

#include <stdio.h>
#include "dpactl.h"
#include "replay.h"

/* The arguments of dpactl replay. */
struct replay_args {
	bool json, check, payload, differences;
	const char *file, *test;
	struct dpa_replay_opt o;
};

/* words.c: names that text and JSON share */
const char *replay_role_name(enum dpa_replay_role role);
const char *replay_mark_name(enum dpa_replay_mark mark);
const char *replay_answer_name(uint8_t syndrome);
const char *replay_wc_name(uint8_t status); /* of enum dpa_cqe_status: of enum ibv_wc_status */
const char *replay_vendor_name(uint32_t vendor_err); /* "" if it is 0 */
const char *replay_op_name(const struct dpa_replay_event *e);
const char *replay_access_text(uint32_t access, char *buf, size_t len);
/* The options that change the events, as they are given to dpactl. */
void replay_options_text(const struct dpa_replay_opt *o, char *buf, size_t len);

/* text.c: differences: only flows, notes and differences */
struct replay_text {
	FILE *to;
	bool differences;
};
void replay_event_text(void *arg, const struct dpa_replay_event *e); /* arg: struct replay_text */
void replay_sum_text(const struct replay_text *t, const struct dpa_replay_sum *s);

/*
 * json.c: to stdout, event by event: they may need far more memory than the capture. arg: a bool,
 * false before the first one.
 */
void replay_event_json(void *arg, const struct dpa_replay_event *e);
void replay_end_json(const bool *some, const struct dpa_replay_sum *s);

/* test.c: write the folder of a test. */
void replay_write_test(const struct replay_args *a, const uint8_t *file, size_t n);

#endif
