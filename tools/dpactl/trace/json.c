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
#include "../dpactl.h"
#include "output.h"

#define TINY 20 /* ns: the shown length of a packet that enters a link: an arrow needs a slice */

struct writer {
	FILE *out;
	const struct store *s;
	uint64_t base; /* ns: time 0 of the file */
	bool any;
};

/* ----------------------------------------------------------------- one event */

/* Within a page no text may look like a tag. '<' is in strings only. */
static void put_text(FILE *out, struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);

	for (const char *tag; (tag = strchr(text, '<')); text = tag + 1) {
		fwrite(text, 1, (size_t)(tag - text), out);
		fputs("\\u003c", out);
	}
	fputs(text, out);
}

static void put(struct writer *w, struct json_object *o)
{
	fputs(w->any ? ",\n" : "\n", w->out);
	put_text(w->out, o);
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

static struct json_object *event(struct writer *w, const char *ph, const char *name,
				 const char *cat, uint32_t proc, uint32_t tid, uint64_t ticks)
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

static struct json_object *args_of(struct json_object *o)
{
	struct json_object *a = json_object_new_object();

	json_object_object_add(o, "args", a);
	return a;
}

static void add_hex(struct json_object *o, const char *key, uint32_t v)
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
	json_add(args_of(o), "name", name);
	put(w, o);
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

static struct json_object *slice(struct writer *w, const char *name, const char *cat,
				 const struct trace_rec *r, uint64_t ticks)
{
	struct json_object *o = event(w, "X", name, cat, r->proc, r->tid, r->e.at);
	uint64_t ns = store_ns(w->s, r->e.at + ticks) - store_ns(w->s, r->e.at);

	add_us(o, "dur", ns < TINY ? TINY : ns);
	return o;
}

static struct json_object *instant(struct writer *w, const char *name, const char *cat,
				   const struct trace_rec *r)
{
	struct json_object *o = event(w, "i", name, cat, r->proc, r->tid, r->e.at);

	json_add(o, "s", "t");
	return o;
}

static void put_post(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o = slice(w, "post", "wqe", r, r->e.y), *a = args_of(o);

	add_hex(a, "qp", r->e.object);
	json_add_num(a, "index", r->e.x);
	json_add_num(a, "blocks", r->e.z >> 32);
	json_add(a, "opcode", wqe_opcode_name(r->e.code));
	json_add(a, "by", r->e.extra & DPA_TRACE_BLUEFLAME ? "BlueFlame" : "doorbell");
	put(w, o);
}

static void put_packet(struct writer *w, const struct trace_rec *r)
{
	const bool rx = r->e.kind == DPA_TRACE_RX;
	char name[64];
	struct json_object *o, *a;

	snprintf(name, sizeof(name), "%s %s", rx ? "receive" : "send",
		 dpa_roce_opcode_name(r->e.code));
	o = slice(w, name, "packet", r, rx ? r->e.z >> 32 : 0);
	a = args_of(o);
	add_hex(a, rx ? "qp" : "to", r->e.object);
	json_add_num(a, "psn", r->e.x);
	json_add_num(a, "bytes", r->e.y);
	if (rx && (uint32_t)r->e.z > 1)
		json_add_num(a, "packets", (uint32_t)r->e.z);
	put(w, o);
}

static void put_pickup(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o = instant(w, "pick up", "wqe", r), *a = args_of(o);

	add_hex(a, "qp", r->e.object);
	json_add_num(a, "index", r->e.x);
	json_add_num(a, "end", r->e.y);
	put(w, o);
}

static void put_cqe(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o = instant(w, r->e.code & 128 ? "receive CQE" : "send CQE", "cqe", r);
	struct json_object *a = args_of(o);

	json_add_num(a, "cq", r->e.object);
	json_add_num(a, "entry", r->e.x);
	add_hex(a, "qp", r->e.y);
	if (r->e.extra) {
		json_add_num(a, "status", r->e.extra);
		json_add_num(a, "vendor_err", r->e.z >> 32);
	}
	put(w, o);
}

static void put_poll(struct writer *w, const struct trace_rec *r)
{
	struct json_object *o = instant(w, "poll", "cqe", r), *a = args_of(o);

	json_add_num(a, "cq", r->e.object);
	json_add_num(a, "end", r->e.x);
	put(w, o);
}

static void put_sleep(struct writer *w, const struct trace_rec *r)
{
	static const char *const who[] = {[DPA_TRACE_EU] = "EU sleeps",
					  [DPA_TRACE_PROGRESS] = "progress thread sleeps",
					  [DPA_TRACE_WAITER] = "program waits"};

	put(w, event(w, r->e.kind == DPA_TRACE_SLEEP ? "B" : "E",
		     r->e.code < 3 ? who[r->e.code] : "sleep", "sleep", r->proc, r->tid, r->e.at));
}

static void put_dpa(struct writer *w, const struct trace_rec *r)
{
	static const char *const kinds[] = {"activation", "kernel", "RPC"};
	char name[9] = "";
	struct json_object *o, *a;

	memcpy(name, &r->e.z, 8);
	printable(name, sizeof(name));
	o = slice(w, r->e.code < 3 ? kinds[r->e.code] : "DPA", "dpa", r, r->e.y);
	a = args_of(o);
	json_add_num(a, "eu", r->e.object);
	json_add_num(a, "rank", r->e.x);
	json_add(a, "name", name);
	put(w, o);
}

static void put_other(struct writer *w, const struct trace_rec *r)
{
	static const char *const faults[] = {"drop",  "duplicate", "reorder",
					     "delay", "corrupt",   "truncate"};
	struct json_object *o, *a;

	switch (r->e.kind) {
	case DPA_TRACE_INJECT:
		o = instant(w, r->e.code < 6 ? faults[r->e.code] : "injected failure", "inject", r);
		a = args_of(o);
		json_add_num(a, "kind", r->e.code);
		json_add_num(a, "detail", r->e.x);
		break;
	case DPA_TRACE_STATE:
		o = instant(w, qp_state_name(r->e.code), "qp", r);
		a = args_of(o);
		add_hex(a, "qp", r->e.object);
		break;
	case DPA_TRACE_REWIND:
		o = instant(w, "send again", "packet", r);
		a = args_of(o);
		add_hex(a, "qp", r->e.object);
		json_add_num(a, "psn", r->e.x);
		json_add_num(a, "was", r->e.y);
		break;
	case DPA_TRACE_CM:
		o = instant(w, "rdma_cm", "cm", r);
		a = args_of(o);
		json_add_num(a, "id", r->e.object);
		json_add_num(a, "state", r->e.code);
		json_add_num(a, "peer", r->e.x);
		break;
	default:
		return;
	}
	put(w, o);
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
		put_packet(w, r);
		break;
	case DPA_TRACE_CQE:
		put_cqe(w, r);
		break;
	case DPA_TRACE_POLL:
		put_poll(w, r);
		break;
	case DPA_TRACE_SLEEP:
	case DPA_TRACE_WAKE:
		put_sleep(w, r);
		break;
	case DPA_TRACE_DPA:
		put_dpa(w, r);
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
	struct json_object *o = event(w, ph, name, "wqe", q->proc, q->qpn & 0xffff, ticks);
	char id[48];

	snprintf(id, sizeof(id), "%u.%06x.%u", w->s->proc[q->proc].pid, q->qpn, q->idx);
	json_add(o, "id", id);
	if (args)
		json_object_object_add(o, "args", args);
	put(w, o);
}

static struct json_object *wqe_args(const struct wqe *q)
{
	struct json_object *a = json_object_new_object();

	add_hex(a, "qp", q->qpn);
	json_add_num(a, "index", q->idx);
	json_add_num(a, "bytes", q->len);
	json_add(a, "by", q->blueflame ? "BlueFlame" : "doorbell");
	json_add(a, "path", q->direct ? "direct" : "packets");
	if (q->npsn) {
		add_hex(a, "to", q->dest);
		json_add_num(a, "psn", q->psn);
		json_add_num(a, "packets", q->npsn);
	}
	if (q->status) {
		json_add_num(a, "status", q->status);
		json_add_num(a, "vendor_err", q->vendor);
	}
	return a;
}

/* One slice for the WQE, and in it one for each stage that is known. */
static void put_wqe(struct writer *w, const struct wqe *q)
{
	const char *name = wqe_opcode_name(q->opcode);
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

	o = event(w, "s", "packet", "packet", tx->proc, tx->tid, tx->e.at);
	json_add_num(o, "id", id);
	put(w, o);
	o = event(w, "f", "packet", "packet", rx->proc, rx->tid, rx->e.at);
	json_add_num(o, "id", id);
	json_add(o, "bp", "e");
	put(w, o);
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
		json_object_object_add(all, wqe_opcode_name(sum[i].opcode), o);
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
	for (size_t i = 0; i < q->n; i++)
		put_wqe(&w, &q->w[i]);
	for (size_t i = 0; i < q->np; i++)
		if (q->p[i].rx != WQE_NONE)
			put_arrow(&w, &q->p[i], i + 1);
	about = about_json(&w, q);
	fputs("\n],\"otherData\":", out);
	put_text(out, about);
	fputs("}\n", out);
	json_object_put(about);
}
