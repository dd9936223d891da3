/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* table.h - tables of a reading, sorted and filtered, as lines of text: for the screen and for -b. */
#ifndef DPACTL_TOP_TABLE_H
#define DPACTL_TOP_TABLE_H

#include "../live/live.h"

#define TABLE_LINE 256

enum table_kind { TABLE_PROCS, TABLE_QPS, TABLE_EUS, TABLE_KINDS };
/* The order of the rows; the largest first, of ID the smallest. */
enum table_key { KEY_MSGS, KEY_BYTES, KEY_AGAIN, KEY_RNR, KEY_WAITING, KEY_ID, KEYS };

struct table_how {
	enum table_kind kind;
	enum table_key key;
	bool reverse;
	char filter[32]; /* rows that have this text; "": all */
	int width;	 /* columns: a wider line has more of the program's name; 0: 80 */
};

struct table {
	char head[TABLE_LINE];
	char (*row)[TABLE_LINE];
	uint32_t *of;	    /* index in live's list, by row */
	uint32_t n, hidden; /* rows; those that the filter leaves out */
};

/* Make the table; ends the program if there is no memory. */
void table_make(struct table *t, const struct live *l, const struct table_how *how);
void table_free(struct table *t);

/* "messages", "bytes", ...; NULL: no such key. */
const char *table_key_name(enum table_key key);
/* KEYS: there is none of that name. */
enum table_key table_key_of(const char *name);
const char *table_name(enum table_kind kind);

/* Two lines about all. */
void table_summary(const struct live *l, char line[2][TABLE_LINE]);
/* The page of a QP: lines in the form of a table without rows to choose from. */
void table_page(struct table *t, const struct live *l, const struct live_qp *q);

/* "12.3M" of a number; 5 columns at most. */
const char *table_number(double d, char buf[16]);

#endif
