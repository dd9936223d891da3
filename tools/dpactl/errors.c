/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * errors.c - the last error completions and refused requests of all processes, also of those that ended.
 * The records are from the time of the error: nothing is looked up now.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <errors/errors.h>
#include "dpactl.h"
#include "feed.h"
#include "tables/meaning.h"

#define PSN_MASK  0xffffffu
#define FOLLOW_NS 200000000u /* between two looks of --follow */

struct errors {
	struct dpa_error_read r[DPA_ERROR_PLACES]; /* sorted by time */
	uint32_t n;
};

static int by_error_time(const void *a, const void *b)
{
	const struct dpa_error_read *x = a, *y = b;

	return x->e.time < y->e.time ? -1 : x->e.time > y->e.time;
}

static void read_errors(struct ctl *c, struct errors *to)
{
	to->n = 0;
	for (uint32_t i = 0; i < DPA_ERROR_PLACES; i++) {
		struct dpa_error *e = &to->r[to->n].e;

		if (!dpa_board_error_get(c->b, i, &to->r[to->n]))
			continue;
		printable(e->comm, sizeof(e->comm));
		printable(e->peer.comm, sizeof(e->peer.comm));
		to->n++;
	}
	qsort(to->r, to->n, sizeof(to->r[0]), by_error_time);
}

/* ------------------------------------------------------------------ which ones */

struct wanted {
	uint32_t pid[MAX_ARGS], qpn[MAX_ARGS]; /* 0: the other one */
	int n;
};

static struct wanted parse_wanted(struct ctl *c)
{
	struct wanted w = {.n = c->nargs};

	for (int i = 0; i < c->nargs; i++) {
		const bool hex = c->args[i][0] == '0' && c->args[i][1] == 'x';
		char *end;
		unsigned long n = strtoul(c->args[i], &end, hex ? 16 : 10);

		if (*end || c->args[i][0] < '0' || c->args[i][0] > '9' || !n ||
		    n > (hex ? PSN_MASK : INT32_MAX))
			die(EXIT_USAGE, "'%s' is not a process id, nor a QP number as 0x010203",
			    c->args[i]);
		*(hex ? &w.qpn[i] : &w.pid[i]) = (uint32_t)n;
	}
	return w;
}

static bool is_flush(const struct dpa_error_read *r)
{
	return r->number & DPA_ERROR_OF_FLUSHES;
}

static bool is_wanted_error(const struct wanted *w, const struct dpa_error *e)
{
	for (int i = 0; i < w->n; i++)
		if (w->pid[i] ? w->pid[i] == e->pid : w->qpn[i] == e->qpn)
			return true;
	return !w->n;
}

/*
 * The peer's record of a request that it refused: of the QP at the other end, with a PSN of the request.
 * The nearest in time: QP numbers and PSNs come again. NULL: there is none.
 */
static const struct dpa_error *find_refusal(const struct errors *all, const struct dpa_error *e)
{
	const struct dpa_error *best = NULL;
	uint64_t far = UINT64_MAX;

	if (e->kind != DPA_ERROR_SENT || e->flags & DPA_ERROR_INJECTED ||
	    e->vendor_err < DPA_SYN_NAK_INV_REQ || e->vendor_err > DPA_SYN_NAK_OP)
		return NULL;
	for (uint32_t i = 0; i < all->n; i++) {
		const struct dpa_error *p = &all->r[i].e;
		const uint64_t d = p->time < e->time ? e->time - p->time : p->time - e->time;

		if (p->kind == DPA_ERROR_SENT || !p->npsn || p->qpn != e->peer.qpn ||
		    p->peer.qpn != e->qpn || ((p->psn - e->psn) & PSN_MASK) >= e->npsn || d >= far)
			continue;
		far = d;
		best = p;
	}
	return best;
}

/* ------------------------------------------------------------------------ JSON */

static void add_reason(struct json_object *o, const struct dpa_error *e)
{
	const uint32_t status = dpa_cqe_wc_status(e->status);
	struct dpa_meaning m;

	if (e->kind != DPA_ERROR_REFUSED && dpa_status_meaning(status, &m))
		json_add_meaning(o, "status", status, &m);
	if (dpa_vendor_meaning(e->vendor_err, &m))
		json_add_meaning(o, "vendor_err", e->vendor_err, &m);
}

static void add_check(struct json_object *o, const struct dpa_error_check *c)
{
	static const char *const why[] = {
		[DPA_WHY_NO_KEY] = "no key",	   [DPA_WHY_OTHER_PD] = "other PD",
		[DPA_WHY_OTHER_QP] = "other QP",   [DPA_WHY_NOT_LOCAL] = "not a region",
		[DPA_WHY_RANGE] = "out of bounds", [DPA_WHY_ACCESS] = "access"};
	struct json_object *part = json_object_new_object();
	char text[256];

	dpa_error_check_text(c, text, sizeof(text));
	json_add(part, "text", text);
	json_add_num(part, "address", c->addr);
	json_add_num(part, "length", c->len);
	json_add_num(part, "key", c->key);
	json_add_num(part, "limit", c->limit);
	if (c->nsge)
		json_add_num(part, "sge", c->sge);
	if (c->why && c->why < sizeof(why) / sizeof(why[0]))
		json_add(part, "why", why[c->why]);
	if (c->region_addr || c->region_len) {
		json_add_num(part, "region_address", c->region_addr);
		json_add_num(part, "region_length", c->region_len);
		json_add_num(part, "region_access", c->has);
	}
	json_object_object_add(o, "check", part);
}

static void add_process_json(struct json_object *o, uint32_t pid, uint32_t uid, const char *comm)
{
	json_add_num(o, "pid", pid);
	json_add(o, "program", comm);
	json_add_num(o, "uid", uid);
}

static void add_peer(struct json_object *o, const struct dpa_error_peer *p)
{
	static const char *const states[] = {[DPA_ERROR_PEER_NONE] = "unknown",
					     [DPA_ERROR_PEER_LIVES] = "lives",
					     [DPA_ERROR_PEER_NO_QP] = "no QP",
					     [DPA_ERROR_PEER_ENDED] = "ended",
					     [DPA_ERROR_PEER_ELSEWHERE] = "elsewhere"};
	struct json_object *part = json_object_new_object();
	char gid[64];

	json_add(part, "state",
		 p->state < sizeof(states) / sizeof(states[0]) ? states[p->state] : "unknown");
	json_add_num(part, "qpn", p->qpn);
	json_add(part, "address", gid_text(p->gid, gid, sizeof(gid)));
	if (p->pid || p->comm[0])
		add_process_json(part, p->pid, p->uid, p->comm);
	json_object_object_add(o, "peer", part);
}

static const char *kind_name(const struct dpa_error *e)
{
	return e->kind == DPA_ERROR_REFUSED    ? "refused"
	       : e->kind == DPA_ERROR_RECEIVED ? "received"
					       : "sent";
}

static struct json_object *error_json(const struct errors *all, const struct dpa_error_read *r)
{
	struct json_object *o = json_object_new_object(), *part;
	const struct dpa_error *e = &r->e, *refusal = find_refusal(all, e);

	json_add_num(o, "time_ns", e->time);
	json_add(o, "kind", kind_name(e));
	add_process_json(o, e->pid, e->uid, e->comm);
	json_add_num(o, "qpn", e->qpn);
	json_add(o, "qp_type", qp_type_name(e->qp_type));
	json_add_num(o, "nth", e->nth);
	json_add_num(o, "wqe", e->wqe_index);
	json_add_num(o, "wr_id", e->wr_id);
	json_add(o, "opcode", dpa_error_op(e));
	add_reason(o, e);
	add_check(o, &e->check);
	add_peer(o, &e->peer);
	if (refusal) {
		part = json_object_new_object();
		add_reason(part, refusal);
		add_check(part, &refusal->check);
		json_object_object_add(o, "peer_check", part);
	}
	json_add_bool(o, "injected", e->flags & DPA_ERROR_INJECTED);
	json_add_bool(o, "faults", e->flags & DPA_ERROR_FAULTS);
	part = json_object_new_object();
	json_add_num(part, "sent", r->flushed[0]);
	json_add_num(part, "received", r->flushed[1]);
	json_object_object_add(o, "flushed", part);
	return o;
}

/* ------------------------------------------------------------------------ text */

/* "IBV_WC_REM_ACCESS_ERR (10), vendor_err 0x32 NAK_ACCESS: the peer answered: access error" */
static void put_reason(const struct dpa_error *e)
{
	const uint32_t status = dpa_cqe_wc_status(e->status);
	struct dpa_meaning m;

	if (e->kind == DPA_ERROR_REFUSED)
		printf(e->nak ? "a request of the peer was refused"
			      : "a request of the peer was dropped");
	else if (dpa_status_meaning(status, &m))
		printf("%s (%u)", m.name, status);
	if (e->vendor_err && dpa_vendor_meaning(e->vendor_err, &m))
		printf(", vendor_err 0x%02x %s: %s", e->vendor_err, m.name, m.cause);
	putchar('\n');
}

static void put_error_text(const char *before, const char *text)
{
	if (text[0])
		printf("  %s%s\n", before, text);
}

static void put_fix(const struct dpa_error *e)
{
	struct dpa_meaning m;

	if (e->vendor_err && dpa_vendor_meaning(e->vendor_err, &m))
		put_error_text("fix: ", m.fix);
}

static void put_refusal(const struct dpa_error *refusal)
{
	char text[256];

	fputs("  the peer: ", stdout);
	put_reason(refusal);
	dpa_error_check_text(&refusal->check, text, sizeof(text));
	put_error_text("the peer's check: ", text);
}

static void put_error_wqe(const struct dpa_error *e)
{
	printf("  %s", dpa_error_op(e));
	if (e->kind == DPA_ERROR_SENT)
		printf(", WQE %u", e->wqe_index);
	if (e->kind != DPA_ERROR_REFUSED)
		printf(", wr_id 0x%llx", (unsigned long long)e->wr_id);
	if (e->nth > 1)
		printf(", error %u of this QP", e->nth);
	putchar('\n');
}

static void put_error(const struct errors *all, const struct dpa_error_read *r)
{
	const struct dpa_error *e = &r->e, *refusal = find_refusal(all, e);
	char when[32], text[256];

	printf("%s.%06u  QP 0x%06x (%s) of process %u (%s), user %u\n",
	       time_text(e->time, when, sizeof(when)), (uint32_t)(e->time % 1000000000u / 1000u),
	       e->qpn, qp_type_name(e->qp_type), e->pid, e->comm, e->uid);
	fputs("  ", stdout);
	put_reason(e);
	put_error_wqe(e);
	dpa_error_check_text(&e->check, text, sizeof(text));
	put_error_text("check: ", text);
	dpa_error_peer_text(&e->peer, text, sizeof(text));
	put_error_text("peer: ", text);
	if (refusal)
		put_refusal(refusal);
	put_fix(refusal ? refusal : e);
	if (e->flags & DPA_ERROR_INJECTED)
		printf("  this failure was injected\n");
	else if (e->flags & DPA_ERROR_FAULTS)
		printf("  faults or a modelled network applied to the links of the process\n");
	if (r->flushed[0] || r->flushed[1])
		printf("  flushed: %u send WQEs, %u receives\n", r->flushed[0], r->flushed[1]);
}

/* -------------------------------------------------------------------- the command */

static void print_errors(struct ctl *c, const struct wanted *w, const struct errors *all)
{
	uint32_t shown = 0, flushes = 0;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct dpa_error_read *r = &all->r[i];

		if (!is_wanted_error(w, &r->e))
			continue;
		if (is_flush(r) && !c->all) {
			flushes++;
			continue;
		}
		put_error(all, r);
		shown++;
	}
	if (!shown)
		printf("no error\n");
	if (flushes)
		printf("%u more QPs were flushed without an error before: --all\n", flushes);
}

static void print_all_json(struct ctl *c, const struct wanted *w, const struct errors *all)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	for (uint32_t i = 0; i < all->n; i++)
		if (is_wanted_error(w, &all->r[i].e) && (c->all || !is_flush(&all->r[i])))
			json_object_array_add(list, error_json(all, &all->r[i]));
	json_object_object_add(o, "errors", list);
	print_json(o);
}

/* True if the record is the same as at the last look. */
static bool was_seen(const struct errors *old, const struct dpa_error_read *r)
{
	for (uint32_t i = 0; i < old->n; i++)
		if (old->r[i].number == r->number && old->r[i].change == r->change)
			return true;
	return false;
}

/* Prints what is new since the last look: text, or a JSON object in a line. */
static void print_new(struct ctl *c, const struct wanted *w, const struct errors *old,
		      const struct errors *all)
{
	for (uint32_t i = 0; i < all->n; i++) {
		const struct dpa_error_read *r = &all->r[i];
		struct json_object *o;

		if (!is_wanted_error(w, &r->e) || (is_flush(r) && !c->all) || was_seen(old, r))
			continue;
		if (!c->json) {
			put_error(all, r);
			continue;
		}
		o = error_json(all, r);
		puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							       JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(o);
	}
}

/* Until Ctrl-C, or until the output or the adapter state is gone. */
static void follow_errors(struct ctl *c, const struct wanted *w)
{
	static struct errors look[2];
	int now = 0;

	feed_catch_signals();
	while (!feed_stopped()) {
		const bool gone = board_gone(c); /* first: what was recorded until then is read */

		read_errors(c, &look[now]);
		print_new(c, w, &look[!now], &look[now]);
		if (fflush(stdout) || gone)
			return;
		now = !now;
		feed_wait(-1, FOLLOW_NS);
	}
}

void cmd_errors(struct ctl *c)
{
	const struct wanted w = parse_wanted(c);
	static struct errors all;

	if (c->follow) {
		follow_errors(c, &w);
		return;
	}
	read_errors(c, &all);
	if (c->json)
		print_all_json(c, &w, &all);
	else
		print_errors(c, &w, &all);
}
