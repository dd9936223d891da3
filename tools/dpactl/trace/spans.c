/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* spans.c - slices of a recording that belong to no thread: states of rdma_cm, code on EUs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_hw_trace.h>
#include "../dpactl.h"
#include "writer.h"

/* An enumeration of Linux each: the kernel's cma.c, ib_cm.h, rdma_cma.h. */
static const char *const id_states[] = {"IDLE",		 "ADDR_BOUND",	   "ADDR_QUERY",
					"ADDR_RESOLVED", "ROUTE_RESOLVED", "CONNECT",
					"DISCONNECT",	 "LISTEN"};
static const char *const conn_states[] = {
	"IDLE",		"REQ_SENT",	 "MRA_REQ_RCVD",  "REP_RCVD",
	"MRA_REP_SENT", "REQ_RCVD",	 "MRA_REQ_SENT",  "REP_SENT",
	"MRA_REP_RCVD", "ESTABLISHED",	 "DREQ_SENT",	  "DREQ_RCVD",
	"TIMEWAIT",	"SIDR_REQ_SENT", "SIDR_REQ_RCVD", "CLOSED"};
static const char *const events[] = {
	"ADDR_RESOLVED",     "ADDR_ERROR",	 "ROUTE_RESOLVED", "ROUTE_ERROR",
	"CONNECT_REQUEST",   "CONNECT_RESPONSE", "CONNECT_ERROR",  "UNREACHABLE",
	"REJECTED",	     "ESTABLISHED",	 "DISCONNECTED",   "DEVICE_REMOVAL",
	"MULTICAST_JOIN",    "MULTICAST_ERROR",	 "ADDR_CHANGE",	   "TIMEWAIT_EXIT",
	"ADDRINFO_RESOLVED", "ADDRINFO_ERROR",	 "USER",	   "INTERNAL"};

#define NAME_OF(table, n) ((n) < sizeof(table) / sizeof((table)[0]) ? (table)[n] : "?")

const char *cm_event_name(uint8_t type)
{
	return NAME_OF(events, type);
}

const char *dpa_run_name(const struct trace_rec *r, char to[9])
{
	memcpy(to, &r->e.z, 8);
	to[8] = 0;
	printable(to, 9);
	return to[0] ? to : "?";
}

/* Two events: the begin has the arguments, which this call takes. */
static void put_slice(struct writer *w, const struct trace_rec *r, uint64_t end, const char *name,
		      const char *cat, const char *id, struct json_object *args)
{
	const uint32_t tid = r->e.object & 0xffff;
	struct json_object *o = json_event(w, "b", name, cat, r->proc, tid, r->e.at);

	json_add(o, "id", id);
	json_object_object_add(o, "args", args);
	json_put_event(w, o);
	o = json_event(w, "e", name, cat, r->proc, tid, end);
	json_add(o, "id", id);
	json_put_event(w, o);
}

/* -------------------------------------------------------------------- rdma_cm */

static bool is_state(const struct trace_rec *r)
{
	return r->e.kind == DPA_TRACE_CM && r->e.extra != DPA_TRACE_CM_EVENT;
}

static bool are_same(const struct trace_rec *a, const struct trace_rec *b)
{
	return a->proc == b->proc && a->e.extra == b->e.extra && a->e.object == b->e.object;
}

static int by_owner(const void *a, const void *b)
{
	const struct trace_rec *x = *(const struct trace_rec *const *)a;
	const struct trace_rec *y = *(const struct trace_rec *const *)b;

	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	if (x->e.extra != y->e.extra)
		return x->e.extra < y->e.extra ? -1 : 1;
	if (x->e.object != y->e.object)
		return x->e.object < y->e.object ? -1 : 1;
	return (x > y) - (x < y); /* the store is sorted by time */
}

static void put_state(struct writer *w, const struct trace_rec *r, uint64_t end)
{
	const bool conn = r->e.extra == DPA_TRACE_CM_CONN;
	struct json_object *a = json_object_new_object();
	char id[48];

	snprintf(id, sizeof(id), conn ? "%u.conn.%x" : "%u.id.%u", w->s->proc[r->proc].pid,
		 r->e.object);
	if (conn) {
		json_add_hex(a, "connection", r->e.object);
		if (r->e.x)
			json_add_hex(a, "peer", r->e.x);
		if (r->e.y)
			json_add_num(a, "id", r->e.y);
	} else {
		json_add_num(a, "id", r->e.object);
		if (r->e.y)
			json_add_hex(a, "connection", r->e.y);
	}
	put_slice(w, r, end, conn ? NAME_OF(conn_states, r->e.code) : NAME_OF(id_states, r->e.code),
		  "cm", id, a);
}

/* A state lasts until the next one of the same id, or to the end of the recording. */
static void put_states(struct writer *w)
{
	const struct store *s = w->s;
	const struct trace_rec **r;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += is_state(&s->rec[i]);
	r = need_memory(malloc((n + 1) * sizeof(*r)));
	n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (is_state(&s->rec[i]))
			r[n++] = &s->rec[i];
	qsort(r, n, sizeof(*r), by_owner);
	for (size_t i = 0; i < n; i++) {
		const bool more = i + 1 < n && are_same(r[i], r[i + 1]);

		if (r[i]->e.code != DPA_TRACE_CM_END)
			put_state(w, r[i], more ? r[i + 1]->e.at : s->rec[s->n - 1].e.at);
	}
	free(r);
}

/* ------------------------------------------------------------------------ EUs */

static bool is_run(const struct trace_rec *r)
{
	return r->e.kind == DPA_TRACE_DPA && r->e.code < DPA_TRACE_LAUNCH;
}

/* Both events of a run have its time, thread, EU and rank. */
static bool is_end_of(const struct trace_rec *end, const struct trace_rec *r)
{
	return is_run(end) && end->e.extra != DPA_TRACE_BEGAN && end->proc == r->proc &&
	       end->tid == r->tid && end->e.object == r->e.object && end->e.x == r->e.x;
}

/* True if the end of a run is among the events of the same time. */
static bool has_run_ended(const struct store *s, const struct trace_rec *r)
{
	const struct trace_rec *at = r;

	while (at > s->rec && at[-1].e.at == r->e.at)
		at--;
	for (; at < s->rec + s->n && at->e.at == r->e.at; at++)
		if (is_end_of(at, r))
			return true;
	return false;
}

/* True if its thread has run other code since: the event of its end is lost. */
static bool has_gone_on(const struct store *s, const struct trace_rec *r)
{
	for (const struct trace_rec *at = r + 1; at < s->rec + s->n; at++)
		if (is_run(at) && at->e.at > r->e.at && at->proc == r->proc && at->tid == r->tid)
			return true;
	return false;
}

uint64_t dpa_run_end(const struct store *s, const struct trace_rec *r)
{
	const uint64_t last = s->rec[s->n - 1].e.at;

	if (r->e.extra != DPA_TRACE_BEGAN)
		return r->e.at + ((uint64_t)r->e.y << (r->e.extra & DPA_TRACE_LONG ? 16 : 0));
	if (has_run_ended(s, r) || has_gone_on(s, r))
		return 0;
	return s->last.ticks > last ? s->last.ticks : last;
}

/* RPCs share an EU, and a kernel that yields lends it: each slice has an id of its own. */
static void put_run(struct writer *w, const struct trace_rec *r)
{
	const uint64_t end = dpa_run_end(w->s, r);
	static const char *const kinds[] = {"activation", "kernel", "RPC"};
	static const char *const ends[] = {"returned", "faulted", "killed", "runs"};
	struct json_object *a;
	char id[64], name[9];

	if (!end)
		return;
	a = json_object_new_object();
	snprintf(id, sizeof(id), "%u.eu.%u.%zu", w->s->proc[r->proc].pid, r->e.object,
		 (size_t)(r - w->s->rec));
	json_add_num(a, "eu", r->e.object);
	json_add(a, "name", dpa_run_name(r, name));
	json_add_num(a, "rank", r->e.x);
	json_add(a, "end", NAME_OF(ends, r->e.extra & ~DPA_TRACE_LONG));
	put_slice(w, r, end, kinds[r->e.code], "dpa", id, a);
}

void json_put_spans(struct writer *w)
{
	const struct store *s = w->s;

	put_states(w);
	for (size_t i = 0; i < s->n; i++)
		if (is_run(&s->rec[i]))
			put_run(w, &s->rec[i]);
}
