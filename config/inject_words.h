/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inject_words.h - the words of the grammar of injected failures, for injects.c. */
#ifndef DPA_INJECT_WORDS_H
#define DPA_INJECT_WORDS_H

#include "injects.h"

/* A time after an effect, as in late:2ms. */
enum dpa_inject_time {
	DPA_INJECT_NO_TIME,
	DPA_INJECT_LASTS, /* it may have one: how long it lasts, or when it begins */
	DPA_INJECT_TIMED, /* it must have one */
};

struct dpa_inject_word {
	const char *name; /* NULL: the end of a table */
	int value;
	enum dpa_inject_time time;
};

/* The point of each line, and its effects. CALL has many points: dpa_inject_calls. */
struct dpa_inject_line_words {
	const char *point;
	const struct dpa_inject_word *effects;
};
extern const struct dpa_inject_line_words dpa_inject_lines[DPA_INJECT_LINES];

extern const struct dpa_inject_word dpa_inject_states[], dpa_inject_opcodes[];

#endif
