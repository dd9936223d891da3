/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inject.c - see inject.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <dpa_hw_format.h>
#include "util/draw.h"
#include "inject/inject.h"
#include "inject/query.h"
#include "util/clock.h"
#include "util/lock.h"

#define EARLY	8u  /* failures before the device is open; older ones are forgotten */
#define EVENTS	16u /* events that wait for the progress thread; others are lost */
#define LINE	96u /* about a failure */
#define LASTING 3u  /* types of events that last: none is lost, each waits once */

_Atomic uint32_t dpa_hw_injects;

static struct {
	dpa_spin_t lock; /* protects the rest */
	bool begun;
	struct dpa_inject_spec spec;
	uint64_t since; /* ns: when the rules were set */
	struct {
		uint64_t seen, fired;
		uint64_t begun; /* failures of the rule; each may last and fail several matches */
		uint64_t until; /* ns: it lasts that long; 0: it never began */
	} count[DPA_INJECT_RULES];
	struct dpa_inject_count *shown;
	dpa_inject_report_fn *report;
	void *arg;
	dpa_log_fn *log; /* while there is no report */
	struct {
		int type;
		uint64_t ns;
	} raised[EVENTS + LASTING];
	uint32_t nraised;
	uint32_t nearly;
	struct {
		struct dpa_inject_query q;
		struct dpa_inject_rule rule;
		char line[LINE];
	} early[EARLY]; /* the oldest one first */
} table;
static struct {
	/* Written once, with the path (release, under table.lock), read before it (acquire). */
	_Atomic bool on;
	char path[256];
	_Atomic uint32_t seen[DPA_INJECT_CALLS_MAX];
} record;
static _Atomic uint32_t any_raised; /* a hint */
static _Atomic uint64_t gone_until; /* ns; 0: it never was */

static bool rule_matches(const struct dpa_inject_rule *r, const struct dpa_inject_query *q)
{
	return r->line == q->line && r->call == q->call &&
	       (q->effect == DPA_INJECT_ANY || r->effect == q->effect) &&
	       (r->to == DPA_INJECT_ANY || r->to == q->to) &&
	       (r->op == DPA_INJECT_ANY || r->op == q->op) && (!r->qpn || r->qpn == q->qpn) &&
	       (!r->above || q->size > r->above) &&
	       (r->line != DPA_INJECT_WC || dpa_inject_status_fits(r->effect, q->op & 128));
}

static bool is_timed(const struct dpa_inject_rule *r)
{
	return !r->n && !r->ppm;
}

/* True if the match is one of those that shall fail. */
static bool rule_selects(uint32_t i, uint64_t seen)
{
	const struct dpa_inject_rule *r = &table.spec.rule[i];

	if (table.count[i].begun >= r->times)
		return false;
	if (r->ppm)
		return dpa_draw_below(dpa_draw(table.spec.seed, seen, i), DPA_INJECT_MILLION) <
		       r->ppm;
	return seen >= r->n;
}

/* True if a failure of the rule lasts, and each match meanwhile fails. */
static bool rule_lasts(const struct dpa_inject_rule *r)
{
	return r->time && r->line == DPA_INJECT_PEER && r->effect == DPA_INJECT_RNR;
}

/* Counts a match. True: it shall fail. Context: the lock. */
static bool count_match(uint32_t i, uint64_t now)
{
	uint64_t seen = ++table.count[i].seen;

	if (now < table.count[i].until)
		return true;
	return rule_selects(i, seen);
}

/* Context: the lock. */
static void begin_failure(uint32_t i, uint64_t now)
{
	const struct dpa_inject_rule *r = &table.spec.rule[i];

	table.count[i].fired++;
	if (now < table.count[i].until)
		return;
	table.count[i].begun++;
	if (rule_lasts(r))
		table.count[i].until = now + r->time;
}

static void show_counts(uint32_t i)
{
	if (!table.shown)
		return;
	atomic_store_explicit(&table.shown[i].seen, table.count[i].seen, memory_order_relaxed);
	atomic_store_explicit(&table.shown[i].fired, table.count[i].fired, memory_order_relaxed);
}

static void keep_early(const char *line, const struct dpa_inject_query *q, uint64_t now)
{
	if (table.nearly == EARLY)
		memmove(table.early, table.early + 1, --table.nearly * sizeof(table.early[0]));
	table.early[table.nearly].q = *q;
	table.early[table.nearly].q.early = now;
	table.early[table.nearly].rule = *q->rule;
	snprintf(table.early[table.nearly++].line, LINE, "%s", line);
}

/* Each failure has a copy of its rule: the table may have other rules now. */
static void report_early(void)
{
	for (uint32_t i = 0; i < table.nearly; i++) {
		table.early[i].q.rule = &table.early[i].rule;
		table.report(table.arg, table.early[i].line, &table.early[i].q);
	}
	table.nearly = 0;
}

/* Context: the lock. */
static void record_failure(uint32_t i, struct dpa_inject_query *q, uint64_t now)
{
	char line[LINE], rule[160], qp[24] = "";

	q->rule = &table.spec.rule[i];
	q->number = table.count[i].seen;
	dpa_inject_rule_text(q->rule, rule, sizeof(rule));
	if (q->qpn)
		snprintf(qp, sizeof(qp), " at QP 0x%06x", q->qpn);
	snprintf(line, sizeof(line), "injected: %.*s, number %llu%s", (int)strcspn(rule, ","), rule,
		 (unsigned long long)q->number, qp);
	if (table.report) {
		table.report(table.arg, line, q);
		return;
	}
	keep_early(line, q, now);
	if (table.log)
		table.log(DPA_LOG_WARN, line);
}

/* Every rule that matches counts; the first one that selects the match fails it. Context: the lock. */
static void ask_rules(struct dpa_inject_query *q, uint64_t now)
{
	for (uint32_t i = 0; i < table.spec.num; i++) {
		const struct dpa_inject_rule *r = &table.spec.rule[i];

		if (!rule_matches(r, q) || is_timed(r) ||
		    (r->after && now - table.since < r->after))
			continue;
		if (count_match(i, now) && !q->rule) {
			begin_failure(i, now);
			record_failure(i, q, now);
		}
		show_counts(i);
	}
}

/* True: the port or the device is gone for a time; see raise_event(), eu/inject.c. */
static bool is_lasting(int type)
{
	return type == DPA_INJECT_STOPPED || type == DPA_EVENT_PORT_ERR ||
	       type == DPA_EVENT_DEVICE_FATAL;
}

/* A port or a device without a time stays away until the rules change; another device comes at once. */
static uint64_t longer_absence(int type, uint64_t a, uint64_t b)
{
	if (type != DPA_EVENT_DEVICE_FATAL && (!a || !b))
		return 0;
	return a > b ? a : b;
}

/* Context: the lock. */
static void leave_event(int type, uint64_t ns)
{
	const bool lasting = is_lasting(type);
	uint32_t i = 0;

	while (lasting && i < table.nraised && table.raised[i].type != type)
		i++;
	if (lasting && i < table.nraised) {
		table.raised[i].ns = longer_absence(type, table.raised[i].ns, ns);
		return;
	}
	if (!lasting && table.nraised >= EVENTS)
		return;
	table.raised[table.nraised].type = type;
	table.raised[table.nraised++].ns = ns;
	atomic_store_explicit(&any_raised, 1, memory_order_relaxed);
}

int dpa_inject_select(struct dpa_inject_query *q, int none, uint64_t *ns)
{
	int effect = none;

	dpa_spin_lock(&table.lock);
	ask_rules(q, dpa_now_ns());
	if (q->rule) {
		effect = q->rule->effect;
		if (ns)
			*ns = q->rule->time;
	}
	dpa_spin_unlock(&table.lock);
	return effect;
}

bool dpa_inject_stops(const struct dpa_inject_cqe *request, _Atomic bool *stopped)
{
	struct dpa_inject_query q = {.line = DPA_INJECT_PEER,
				     .effect = DPA_INJECT_STOPPED,
				     .to = DPA_INJECT_ANY,
				     .op = request->opcode,
				     .qpn = request->qpn};

	if (!dpa_hw_injecting(DPA_INJECT_PEER))
		return false;
	dpa_spin_lock(&table.lock);
	ask_rules(&q, dpa_now_ns());
	if (q.rule) {
		leave_event(DPA_INJECT_STOPPED, q.rule->time);
		atomic_store_explicit(stopped, true, memory_order_relaxed);
	}
	dpa_spin_unlock(&table.lock);
	return q.rule;
}

/* ------------------------------------------------------------------- the rules */

static bool records_calls(void)
{
	return atomic_load_explicit(&record.on, memory_order_acquire);
}

/* Context: the lock. */
static void use_rules(const struct dpa_inject_spec *spec)
{
	uint32_t bits = 0;

	table.spec = *spec;
	dpa_inject_keep(&table.spec, program_invocation_short_name);
	table.since = dpa_now_ns();
	memset(table.count, 0, sizeof(table.count));
	table.nraised = 0; /* of rules that are gone */
	for (uint32_t i = 0; i < DPA_INJECT_RULES; i++)
		show_counts(i);
	for (uint32_t i = 0; i < table.spec.num; i++)
		bits |= 1u << table.spec.rule[i].line;
	if (records_calls())
		bits |= 1u << DPA_INJECT_CALL;
	atomic_store_explicit(&dpa_hw_injects, bits, memory_order_relaxed);
}

void dpa_inject_set(const struct dpa_inject_spec *spec)
{
	dpa_spin_lock(&table.lock);
	use_rules(spec);
	dpa_spin_unlock(&table.lock);
}

void dpa_hw_inject_begin(const struct dpa_inject_spec *spec, dpa_log_fn *log)
{
	if (!spec->set && !records_calls())
		return;
	dpa_spin_lock(&table.lock);
	if (log)
		table.log = log;
	if (!table.begun)
		use_rules(spec);
	table.begun = true;
	dpa_spin_unlock(&table.lock);
}

void dpa_inject_get(struct dpa_inject_spec *spec)
{
	dpa_spin_lock(&table.lock);
	*spec = table.spec;
	dpa_spin_unlock(&table.lock);
}

void dpa_inject_bind(dpa_inject_report_fn *report, void *arg)
{
	dpa_spin_lock(&table.lock);
	table.report = report;
	table.arg = arg;
	report_early();
	dpa_spin_unlock(&table.lock);
}

void dpa_inject_show(struct dpa_inject_count *counts)
{
	dpa_spin_lock(&table.lock);
	table.shown = counts;
	for (uint32_t i = 0; i < DPA_INJECT_RULES; i++)
		show_counts(i);
	dpa_spin_unlock(&table.lock);
}

void dpa_inject_unbind(void)
{
	dpa_spin_lock(&table.lock);
	table.report = NULL;
	table.shown = NULL;
	dpa_spin_unlock(&table.lock);
}

void dpa_inject_forked(void)
{
	memset(&table, 0, sizeof(table));
	memset((void *)record.seen, 0, sizeof(record.seen));
	atomic_store_explicit(&dpa_hw_injects, 0, memory_order_relaxed);
	dpa_inject_leave(0);
}

/* ------------------------------------------------------------------ the points */

void dpa_hw_inject_record(const char *path)
{
	dpa_spin_lock(&table.lock);
	if (path[0] && !records_calls()) {
		snprintf(record.path, sizeof(record.path), "%s", path);
		atomic_store_explicit(&record.on, true, memory_order_release);
	}
	dpa_spin_unlock(&table.lock);
}

/* Opened each time: a program may close descriptors that it does not know. */
static void record_line(const char *what, int call, uint32_t number)
{
	char line[128];
	int err = errno, fd, n;

	n = snprintf(line, sizeof(line), "%s %s %u %d %.40s\n", what, dpa_inject_calls[call],
		     number, (int)getpid(), program_invocation_short_name);
	fd = open(record.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd >= 0) {
		if (write(fd, line, (size_t)n) < 0)
			n = 0; /* the reader sees that the line is missing */
		close(fd);
	}
	errno = err;
}

/* effect: the errno that the call fails with; 0: it does not. */
static void record_call(int call, int effect)
{
	uint32_t n;

	if (!records_calls())
		return;
	n = atomic_fetch_add_explicit(&record.seen[call], 1, memory_order_relaxed) + 1;
	if (n <= DPA_HW_INJECT_RECORDED)
		record_line("call", call, n);
	if (effect)
		record_line("failed", call, n);
}

int dpa_hw_inject_call(const struct dpa_hw_call *call)
{
	int effect;

	struct dpa_inject_query q = {.line = DPA_INJECT_CALL,
				     .call = dpa_inject_call_index(call->name),
				     .effect = DPA_INJECT_ANY,
				     .to = call->to,
				     .op = DPA_INJECT_ANY,
				     .size = call->size,
				     .qpn = call->qpn};

	if (q.call < 0)
		return 0;
	effect = dpa_inject_select(&q, 0, NULL);
	record_call(q.call, effect);
	return effect;
}

bool dpa_hw_inject_cm(int event)
{
	struct dpa_inject_query q = {
		.line = DPA_INJECT_CM, .effect = event, .to = DPA_INJECT_ANY, .op = DPA_INJECT_ANY};

	return dpa_inject_select(&q, 0, NULL);
}

static struct dpa_inject_query of_cqe(enum dpa_inject_line line, const struct dpa_inject_cqe *c)
{
	return (struct dpa_inject_query){.line = line,
					 .effect = DPA_INJECT_ANY,
					 .to = DPA_INJECT_ANY,
					 .op = c->opcode,
					 .qpn = c->qpn};
}

int dpa_inject_wc(const struct dpa_inject_cqe *c)
{
	struct dpa_inject_query q = of_cqe(DPA_INJECT_WC, c);

	return dpa_hw_injecting(DPA_INJECT_WC) ? dpa_inject_select(&q, 0, NULL) : 0;
}

bool dpa_inject_overrun(const struct dpa_inject_cqe *c)
{
	struct dpa_inject_query q = of_cqe(DPA_INJECT_CQ, c);

	return dpa_hw_injecting(DPA_INJECT_CQ) && dpa_inject_select(&q, 0, NULL);
}

int dpa_inject_event(const struct dpa_inject_cqe *c, uint64_t *ns)
{
	struct dpa_inject_query q = of_cqe(DPA_INJECT_EVENT, c);

	return dpa_hw_injecting(DPA_INJECT_EVENT) ? dpa_inject_select(&q, -1, ns) : -1;
}

int dpa_inject_comp(uint64_t *ns)
{
	struct dpa_inject_query q = {.line = DPA_INJECT_COMP,
				     .effect = DPA_INJECT_ANY,
				     .to = DPA_INJECT_ANY,
				     .op = DPA_INJECT_ANY};

	return dpa_hw_injecting(DPA_INJECT_COMP) ? dpa_inject_select(&q, 0, ns) : 0;
}

void dpa_inject_raise(int type, uint64_t ns)
{
	dpa_spin_lock(&table.lock);
	leave_event(type, ns);
	dpa_spin_unlock(&table.lock);
}

int dpa_inject_raised(uint64_t *ns)
{
	int type = -1;

	if (dpa_likely(!atomic_load_explicit(&any_raised, memory_order_relaxed)))
		return type;
	dpa_spin_lock(&table.lock);
	if (table.nraised) {
		type = table.raised[0].type;
		*ns = table.raised[0].ns;
		table.nraised--;
		memmove(table.raised, table.raised + 1, table.nraised * sizeof(table.raised[0]));
	}
	atomic_store_explicit(&any_raised, table.nraised != 0, memory_order_relaxed);
	dpa_spin_unlock(&table.lock);
	return type;
}

void dpa_inject_leave(uint64_t until)
{
	atomic_store_explicit(&gone_until, until, memory_order_relaxed);
}

bool dpa_hw_inject_gone(void)
{
	uint64_t until = atomic_load_explicit(&gone_until, memory_order_relaxed);

	return until && dpa_now_ns() < until;
}

/* ----------------------------------------------------------------------- time */

/* There may be rules that need no match. */
static bool has_timed(void)
{
	return dpa_hw_injecting(DPA_INJECT_EVENT) || dpa_hw_injecting(DPA_INJECT_PEER);
}

int dpa_inject_timed(uint64_t now, uint64_t *ns)
{
	int type = -1;

	if (!has_timed())
		return -1;
	dpa_spin_lock(&table.lock);
	for (uint32_t i = 0; i < table.spec.num && type < 0; i++) {
		const struct dpa_inject_rule *r = &table.spec.rule[i];

		if (!is_timed(r) || table.count[i].fired || now - table.since < r->after)
			continue;
		table.count[i].seen = table.count[i].fired = table.count[i].begun = 1;
		type = r->effect;
		*ns = r->time;
		record_failure(i, &(struct dpa_inject_query){.line = r->line}, now);
		show_counts(i);
	}
	dpa_spin_unlock(&table.lock);
	return type;
}

uint64_t dpa_inject_due(void)
{
	uint64_t due = UINT64_MAX;

	if (!has_timed())
		return due;
	dpa_spin_lock(&table.lock);
	for (uint32_t i = 0; i < table.spec.num; i++) {
		const struct dpa_inject_rule *r = &table.spec.rule[i];

		if (is_timed(r) && !table.count[i].fired && table.since + r->after < due)
			due = table.since + r->after;
	}
	dpa_spin_unlock(&table.lock);
	return due;
}
