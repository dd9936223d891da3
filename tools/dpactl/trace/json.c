/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * json.c - a recording as Chrome trace events: chrome://tracing and Perfetto open them. Rows of
 * threads have what a thread did; rows "WQEs" have the stages of each WQE; arrows connect packets.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_hw.h>
#include <wire/pcap.h>
#include <dpa_mad.h>
#include "../dpactl.h"
#include "output.h"
#include "tables/meaning.h"
#include "writer.h"

#define TINY 20 /* ns: the shown length of a packet that enters a link: an arrow needs a slice */

/* ----------------------------------------------------------------- one event */

/* Within a page no text may look like a tag. '<' is in strings only. */
static void put_json_text(FILE *out, struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);

	for (const char *tag; (tag = strchr(text, '<')); text = tag + 1) {
		fwrite(text, 1, (size_t)(tag - text), out);
		fputs("\\u003c", out);
	}
	fputs(text, out);
}

void json_put_event(struct writer *w, struct json_object *o)
{
	fputs(w->any ? ",\n" : "\n", w->out);
	put_json_text(w->out, o);
	w->any = true;
	json_object_put(o);
}

/* Microseconds with three digits, as the format wants them. */
static void add_us(struct json_object *o, const char *key, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
	json_object_object_add(o, key, json_object_new_double_s((double)ns / 1000, text));
}

struct json_object *json_event(struct writer *w, const char *ph, const char *name, const char *cat,
			       uint32_t proc, uint32_t tid, uint64_t ticks)
{
	struct json_object *o = json_object_new_object();
	uint64_t ns = store_ns(w->s, ticks);

	json_add(o, "ph", ph);
	json_add(o, "name", name);
	json_add(o, "cat", cat);
	json_add_num(o, "pid", w->s->proc[proc].pid);
	json_add_num(o, "tid", tid);
	add_us(o, "ts", ns > w->base ? ns - w->base : 0);
	return o;
}

struct json_object *json_args(struct json_object *o)
{
	struct json_object *a = json_object_new_object();

	json_object_object_add(o, "args", a);
	return a;
}

void json_add_hex(struct json_object *o, const char *key, uint32_t v)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%06x", v);
	json_add(o, key, text);
}

static void name_row(struct writer *w, const char *what, uint32_t proc, uint32_t tid,
		     const char *name)
{
	struct json_object *o = json_object_new_object();

	json_add(o, "ph", "M");
	json_add(o, "name", what);
	json_add_num(o, "pid", w->s->proc[proc].pid);
	json_add_num(o, "tid", tid);
	json_add_num(o, "ts", 0);
	json_add(json_args(o), "name", name);
	json_put_event(w, o);
}

static void name_rows(struct writer *w)
{
	for (uint32_t i = 0; i < w->s->procs; i++)
		name_row(w, "process_name", i, 0, w->s->proc[i].comm);
	for (size_t i = 0; i < w->s->threads; i++) {
		const struct trace_thread *t = &w->s->thread[i];

		name_row(w, "thread_name", t->proc, t->tid, t->name[0] ? t->name : "thread");
	}
}

/* ---------------------------------------------------------- events of a thread */

static struct json_object *slice_event(struct writer *w, const char *name, const char *cat,
				       const struct trace_rec *r, uint64_t ticks)
{
	struct json_object *o = json_event(w, "X", name, cat, r->proc, r->tid, r->e.at);
	uint64_t ns = store_ns(w->s, r->e.at + ticks) - store_ns(w->s, r->e.at);

	add_us(o, "dur", ns < TINY ? TINY : ns);
	return o;
}

static struct json_object *instant_event(struct writer *w, const char *name, const char *cat,
					 const struct trace_rec *r)
{
	struct json_object *o = json_event(w, "i", name, cat, r->proc, r->tid, r->e.at);

	json_add(o, "s", "t");
	return o;
}

static void put_post(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o = slice_event(w, "post", "wqe", r, r->e.y), *a = json_args(o);

	json_add_hex(a, "qp", r->e.object);
	json_add_num(a, "index", r->e.x);
	json_add_num(a, "blocks", r->e.z >> 32);
	json_add(a, "opcode", dpa_op_name(r->e.code));
	json_add(a, "by", r->e.extra & DPA_TRACE_BLUEFLAME ? "BlueFlame" : "doorbell");
	json_put_event(w, o);
}

static void put_packet_event(struct writer *w, const struct trace_rec *r)
{
	const bool rx = r->e.kind == DPA_TRACE_RX;
	char name[64];
	struct json_object *o, *a;

	snprintf(name, sizeof(name), "%s %s", rx ? "receive" : "send",
		 dpa_roce_opcode_name(r->e.code));
	o = slice_event(w, name, "packet", r, rx ? r->e.z >> 32 : 0);
	a = json_args(o);
	json_add_hex(a, rx ? "qp" : "to", r->e.object);
	json_add_num(a, "psn", r->e.x);
	json_add_num(a, "bytes", r->e.y);
	if (rx && (uint32_t)r->e.z > 1)
		json_add_num(a, "packets", (uint32_t)r->e.z);
	json_put_event(w, o);
}

static void put_pickup(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o = instant_event(w, "pick up", "wqe", r), *a = json_args(o);

	json_add_hex(a, "qp", r->e.object);
	json_add_num(a, "index", r->e.x);
	json_add_num(a, "end", r->e.y);
	json_put_event(w, o);
}

static void put_cqe_event(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o =
		instant_event(w, r->e.code & 128 ? "receive CQE" : "send CQE", "cqe", r);
	struct json_object *a = json_args(o);

	json_add_num(a, "cq", r->e.object);
	json_add_num(a, "entry", r->e.x);
	json_add_hex(a, "qp", r->e.y);
	if (r->e.extra) {
		json_add_num(a, "status", dpa_cqe_wc_status((uint8_t)r->e.extra));
		json_add_num(a, "vendor_err", r->e.z >> 32);
	}
	json_put_event(w, o);
}

static void put_poll(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o = instant_event(w, "poll", "cqe", r), *a = json_args(o);

	json_add_num(a, "cq", r->e.object);
	json_add_num(a, "end", r->e.x);
	json_put_event(w, o);
}

static void put_sleep(struct writer *w, const struct trace_rec *r)
{
	static const char *const who[] = {[DPA_TRACE_EU] = "EU sleeps",
					  [DPA_TRACE_PROGRESS] = "progress thread sleeps",
					  [DPA_TRACE_WAITER] = "program waits"};

	json_put_event(w, json_event(w, r->e.kind == DPA_TRACE_SLEEP ? "B" : "E",
				     r->e.code < 3 ? who[r->e.code] : "sleep", "sleep", r->proc,
				     r->tid, r->e.at));
}

/* Code that runs on an EU is in the rows of EUs: spans.c. */
static void put_launch(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o, *a;
	char name[9];

	if (r->e.code != DPA_TRACE_LAUNCH)
		return;
	o = instant_event(w, "launch", "dpa", r);
	a = json_args(o);
	json_add(a, "name", dpa_run_name(r, name));
	json_add_num(a, "threads", r->e.x);
	json_put_event(w, o);
}

/* States are in the rows of ids and connections: spans.c. */
static void put_cm_event(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o, *a;
	char name[40];

	if (r->e.extra != DPA_TRACE_CM_EVENT)
		return;
	snprintf(name, sizeof(name), "event %s", cm_event_name(r->e.code));
	o = instant_event(w, name, "cm", r);
	a = json_args(o);
	json_add_num(a, "id", r->e.object);
	json_object_object_add(a, "status", json_object_new_int((int32_t)r->e.x));
	if (r->e.y)
		json_add_hex(a, "connection", r->e.y);
	json_put_event(w, o);
}

static void put_mad(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o, *a;
	char name[40];

	snprintf(name, sizeof(name), "%s %s", r->e.extra == DPA_TRACE_SENT ? "send" : "receive",
		 dpa_mad_attr_name(r->e.code));
	o = instant_event(w, name, "cm", r);
	a = json_args(o);
	if (r->e.object)
		json_add_hex(a, "connection", r->e.object);
	if (r->e.x)
		json_add_hex(a, "peer", r->e.x);
	json_add_num(a, "transaction", r->e.z);
	json_put_event(w, o);
}

static uint32_t count_inject_calls(void)
{
	uint32_t n = 0;

	while (dpa_inject_calls[n])
		n++;
	return n;
}

/* Point, effect and time of the rule, as in its text. The words are of another process. */
static void add_rule(struct json_object *a, const struct trace_rec *r)
{
	const uint32_t line = (r->e.extra & ~DPA_TRACE_EARLY) >> 8, call = r->e.extra & 255;
	const struct dpa_inject_rule rule = {.line = line,
					     .call = (int)call,
					     .effect = (int)r->e.y,
					     .time = r->e.z,
					     .n = 1,
					     .times = 1,
					     .to = DPA_INJECT_ANY,
					     .op = DPA_INJECT_ANY};
	char text[DPA_INJECT_TEXT] = "";

	if (line < DPA_INJECT_LINES && call < count_inject_calls())
		dpa_inject_rule_text(&rule, text, sizeof(text));
	text[strcspn(text, ",")] = '\0';
	json_add(a, "rule", text[0] ? text : "unknown");
}

static void put_failure(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o = instant_event(w, "injected failure", "inject", r);
	struct json_object *a = json_args(o);

	add_rule(a, r);
	json_add_num(a, "number", r->e.x);
	if (r->e.object)
		json_add_hex(a, "qp", r->e.object);
	if (r->e.extra & DPA_TRACE_EARLY)
		json_add(a, "when", "before the device was open");
	json_put_event(w, o);
}

static void put_fault(struct writer *w, const struct trace_rec *r)
{
	static const char *const faults[] = {"drop",  "duplicate", "reorder",
					     "delay", "corrupt",   "truncate"};
	struct json_object *o, *a;

	if (r->e.code >= DPA_TRACE_VERB) {
		put_failure(w, r);
		return;
	}
	o = instant_event(w, r->e.code < 6 ? faults[r->e.code] : "fault", "inject", r);
	a = json_args(o);
	json_add_num(a, "kind", r->e.code);
	json_add_num(a, "detail", r->e.x);
	json_put_event(w, o);
}

static void put_other(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o, *a;

	switch (r->e.kind) {
	case DPA_TRACE_INJECT:
		put_fault(w, r);
		return;
	case DPA_TRACE_STATE:
		o = instant_event(w, qp_state_name(r->e.code), "qp", r);
		a = json_args(o);
		json_add_hex(a, "qp", r->e.object);
		break;
	case DPA_TRACE_REWIND:
		o = instant_event(w, "send again", "packet", r);
		a = json_args(o);
		json_add_hex(a, "qp", r->e.object);
		json_add_num(a, "psn", r->e.x);
		json_add_num(a, "was", r->e.y);
		break;
	default:
		return;
	}
	json_put_event(w, o);
}

static void put_rec(struct writer *w, const struct trace_rec *r)
{
	switch (r->e.kind) {
	case DPA_TRACE_POST:
		put_post(w, r);
		break;
	case DPA_TRACE_PICKUP:
		put_pickup(w, r);
		break;
	case DPA_TRACE_TX:
	case DPA_TRACE_RX:
		put_packet_event(w, r);
		break;
	case DPA_TRACE_CQE:
		put_cqe_event(w, r);
		break;
	case DPA_TRACE_POLL:
		put_poll(w, r);
		break;
	case DPA_TRACE_SLEEP:
	case DPA_TRACE_WAKE:
		put_sleep(w, r);
		break;
	case DPA_TRACE_DPA:
		put_launch(w, r);
		break;
	case DPA_TRACE_CM:
		put_cm_event(w, r);
		break;
	case DPA_TRACE_MAD:
		put_mad(w, r);
		break;
	default:
		put_other(w, r);
		break;
	}
}

/* ------------------------------------------------------------- WQEs and arrows */

static void put_async(struct writer *w, const char *ph, const char *name, const struct wqe *q,
		      uint64_t ticks, struct json_object *args)
{
	struct json_object *o = json_event(w, ph, name, "wqe", q->proc, q->qpn & 0xffff, ticks);
	char id[48];

	snprintf(id, sizeof(id), "%u.%06x.%u", w->s->proc[q->proc].pid, q->qpn, q->idx);
	json_add(o, "id", id);
	if (args)
		json_object_object_add(o, "args", args);
	json_put_event(w, o);
}

static struct json_object *wqe_args(const struct wqe *q)
{
	struct json_object *a = json_object_new_object();

	json_add_hex(a, "qp", q->qpn);
	json_add_num(a, "index", q->idx);
	json_add_num(a, "bytes", q->len);
	json_add(a, "by", q->blueflame ? "BlueFlame" : "doorbell");
	json_add(a, "path", q->direct ? "direct" : "packets");
	if (q->npsn) {
		json_add_hex(a, "to", q->dest);
		json_add_num(a, "psn", q->psn);
		json_add_num(a, "packets", q->npsn);
	}
	if (q->status) {
		json_add_num(a, "status", dpa_cqe_wc_status(q->status));
		json_add_num(a, "vendor_err", q->vendor);
	}
	return a;
}

/* One slice for the WQE, and in it one for each stage that is known. */
static void put_wqe_slices(struct writer *w, const struct wqe *q)
{
	const char *name = dpa_op_name(q->opcode);
	uint64_t first = 0, last = 0;

	for (int m = 0; m < WQE_MOMENTS; m++) {
		if (!q->at[m])
			continue;
		first = first && first < q->at[m] ? first : q->at[m];
		last = last > q->at[m] ? last : q->at[m];
	}
	if (!first)
		return;
	put_async(w, "b", name, q, first, wqe_args(q));
	for (int m = WQE_DOORBELL; m < WQE_MOMENTS; m++) {
		enum wqe_moment from = q->at[m] ? wqe_before(q, (enum wqe_moment)m) : WQE_MOMENTS;

		if (from == WQE_MOMENTS)
			continue;
		put_async(w, "b", wqe_stage_names[m], q, q->at[from], NULL);
		put_async(w, "e", wqe_stage_names[m], q, q->at[m], NULL);
	}
	put_async(w, "e", name, q, last, NULL);
}

static void put_arrow(struct writer *w, const struct packet *p, size_t id)
{
	const struct trace_rec *tx = &w->s->rec[p->tx], *rx = &w->s->rec[p->rx];
	struct json_object *o;

	o = json_event(w, "s", "packet", "packet", tx->proc, tx->tid, tx->e.at);
	json_add_num(o, "id", id);
	json_put_event(w, o);
	o = json_event(w, "f", "packet", "packet", rx->proc, rx->tid, rx->e.at);
	json_add_num(o, "id", id);
	json_add(o, "bp", "e");
	json_put_event(w, o);
}

/* -------------------------------------------------------------------- the file */

static struct json_object *stages_json(const struct store *s, const struct wqes *w)
{
	struct json_object *all = json_object_new_object();
	struct stage_sum sum[16];
	uint32_t n = stage_sums(s, w, sum, 16);

	for (uint32_t i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();

		json_add_num(o, "wqes", sum[i].n);
		for (int m = WQE_DOORBELL; m < WQE_MOMENTS; m++)
			if (sum[i].count[m])
				json_add_num(o, wqe_stage_names[m], sum[i].median[m]);
		json_object_object_add(all, dpa_op_name(sum[i].opcode), o);
	}
	return all;
}

static struct json_object *about_json(const struct writer *w, const struct wqes *q)
{
	struct json_object *o = json_object_new_object();

	json_add(o, "program", "dpactl " DPA_VERSION);
	json_add_num(o, "begin_ns", w->base);
	json_add_num(o, "events", w->s->n);
	json_add_num(o, "lost", w->s->lost);
	json_add_num(o, "skipped", w->s->skipped);
	json_add_num(o, "beyond_limit", w->s->beyond);
	json_add_num(o, "processes_missed", w->s->missed);
	json_add_num(o, "threads_without_ring", w->s->ringless);
	json_add_num(o, "wqes", q->n);
	json_object_object_add(o, "stage_medians_ns", stages_json(w->s, q));
	return o;
}

void trace_json(FILE *out, const struct store *s, const struct wqes *q)
{
	struct writer w = {.out = out, .s = s};
	struct json_object *about;

	w.base = s->n ? store_ns(s, s->rec[0].e.at) : s->first.ns;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	name_rows(&w);
	for (size_t i = 0; i < s->n; i++)
		put_rec(&w, &s->rec[i]);
	json_put_spans(&w);
	for (size_t i = 0; i < q->n; i++)
		put_wqe_slices(&w, &q->w[i]);
	for (size_t i = 0; i < q->np; i++)
		if (q->p[i].rx != WQE_NONE)
			put_arrow(&w, &q->p[i], i + 1);
	about = about_json(&w, q);
	fputs("\n],\"otherData\":", out);
	put_json_text(out, about);
	fputs("}\n", out);
	json_object_put(about);
}
