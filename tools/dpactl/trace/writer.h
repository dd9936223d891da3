/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* writer.h - the events of a file of Chrome trace events, one by one: json.c. */
#ifndef DPACTL_TRACE_WRITER_H
#define DPACTL_TRACE_WRITER_H

#include <json-c/json.h>
#include <stdio.h>
#include "store.h"

struct writer {
	FILE *out;
	const struct store *s;
	uint64_t base; /* ns: time 0 of the file */
	bool any;
};

/* A new event. cat: its category; page.html has a colour for each. */
struct json_object *json_event(struct writer *w, const char *ph, const char *name, const char *cat,
			       uint32_t proc, uint32_t tid, uint64_t ticks);
/* Its arguments, which are empty. */
struct json_object *json_args(struct json_object *event);
void json_add_hex(struct json_object *o, const char *key, uint32_t v);
/* Write an event and free it. */
void json_put_event(struct writer *w, struct json_object *o);

/*
 * spans.c: write the states of ids and connections of rdma_cm, and the code that ran on EUs, as
 * slices of rows of their own. Ends the process without memory.
 */
void json_put_spans(struct writer *w);
/* The name of the code of a DPA_TRACE_DPA: its first 8 characters. Returns `to`. */
const char *dpa_run_name(const struct trace_rec *r, char to[9]);
/*
 * When the code of a DPA_TRACE_DPA that is no launch ended, in ticks: the end of the recording if it
 * has not. 0: r is its begin, and its end is another event, or lost. s is sorted.
 */
uint64_t dpa_run_end(const struct store *s, const struct trace_rec *r);
/* "ESTABLISHED", ... of enum rdma_cm_event_type; "?": unknown. */
const char *cm_event_name(uint8_t type);

#endif
