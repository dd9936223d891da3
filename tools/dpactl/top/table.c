/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* table.c - see table.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "table.h"

#define COLUMNS 80
#define NAME	8 /* columns of a program's name in 80 */

const char *table_number(double d, char buf[16])
{
	static const char unit[] = " kMGTPE";
	int i = 0;

	if (d < 0)
		d = 0;
	for (; d >= 999.5 && unit[i + 1]; i++)
		d /= 1000;
	if (i == 0)
		snprintf(buf, 16, "%.0f", d);
	else
		snprintf(buf, 16, "%.*f%c", d < 9.995 ? 2 : d < 99.95 ? 1 : 0, d, unit[i]);
	return buf;
}

static const char *const keys[KEYS] = {"messages", "bytes", "again", "rnr", "waiting", "id"};

const char *table_key_name(enum table_key key)
{
	return key < KEYS ? keys[key] : NULL;
}

enum table_key table_key_of(const char *name)
{
	int i = 0;

	while (i < KEYS && strcmp(keys[i], name) != 0)
		i++;
	return (enum table_key)i;
}

const char *table_name(enum table_kind kind)
{
	static const char *const names[TABLE_KINDS] = {"processes", "QPs", "EUs"};

	return names[kind];
}

/* ------------------------------------------------------------------------ lines */

/* Rates as six columns; "-" where they are not measured. */
static void rate_columns(const struct live_rate *r, bool measured, char *to, size_t len)
{
	const double d[6] = {r->tx_msgs, r->rx_msgs, r->tx_bytes, r->rx_bytes, r->again, r->rnr};
	char buf[16];
	size_t at = 0;

	for (int i = 0; i < 6 && at < len; i++)
		at += (size_t)snprintf(to + at, len - at, " %5s",
				       measured ? table_number(d[i], buf) : "-");
}
#define RATES "OUT/s  IN/s OUT B  IN B AGAIN   RNR"

static int name_width(const struct table_how *how)
{
	const int more = (how->width ? how->width : COLUMNS) - COLUMNS;

	return more <= 0 ? NAME : more > 7 ? 15 : NAME + more;
}

static void proc_row(const struct live *l, uint32_t i, int name, char *to)
{
	const struct live_proc *p = &l->proc[i];
	char rates[64];

	rate_columns(&p->rate, p->measured, rates, sizeof(rates));
	snprintf(to, TABLE_LINE, "%7u %-*.*s %5u%s  %5u %3u.%u %s", p->p.pid, name, name, p->p.comm,
		 p->qps, rates, p->waiting, p->own.busy / 10, p->own.busy % 10, live_sleep_text(p));
}

static void qp_row(const struct live *l, uint32_t i, int name, char *to)
{
	const struct live_qp *q = &l->qp[i];
	const struct live_proc *p = &l->proc[q->proc];
	char rates[64];

	rate_columns(&q->rate, q->measured, rates, sizeof(rates));
	snprintf(to, TABLE_LINE, "%06x %7u %-*.*s %-5s%s %-5s%c%s", q->q.i.qpn, p->p.pid, name,
		 name, p->p.comm, qp_state_name(q->q.i.state), rates, live_wait_text(q),
		 q->m.status ? '!' : ' ', link_name(q->q.i.link));
}

static void eu_row(const struct live *l, uint32_t i, int name, char *to)
{
	const struct live_eu *e = &l->eu[i];
	const struct live_proc *p = &l->proc[e->proc];
	char runs[16], qps[16];

	snprintf(qps, sizeof(qps), "%u", e->t.qps);
	snprintf(to, TABLE_LINE, "%4u %7u %-*.*s %-4s %3u.%u %-6s %5s %5s %.39s", e->t.number,
		 p->p.pid, name, name, p->p.comm, e->dpa ? "DPA" : "QPs", e->t.busy / 10,
		 e->t.busy % 10, e->t.asleep ? "SLEEPS" : "RUNS", e->dpa ? "-" : qps,
		 e->dpa ? table_number(e->runs, runs) : "-", e->what);
}

static void make_table_head(struct table *t, const struct table_how *how)
{
	const int name = name_width(how);

	switch (how->kind) {
	case TABLE_PROCS:
		snprintf(t->head, sizeof(t->head),
			 "    PID %-*s   QPs " RATES "   WAIT BUSY%% THREAD", name, "PROGRAM");
		return;
	case TABLE_QPS:
		snprintf(t->head, sizeof(t->head), "   QPN     PID %-*s STATE " RATES " WAIT  LINK",
			 name, "PROGRAM");
		return;
	default:
		snprintf(t->head, sizeof(t->head),
			 "  EU     PID %-*s FOR  BUSY%% THREAD   QPs RUNS/s RUNS", name, "PROGRAM");
	}
}

/* ------------------------------------------------------------------------ order */

static double rate_value(const struct live_rate *r, enum table_key key)
{
	switch (key) {
	case KEY_MSGS:
		return r->tx_msgs + r->rx_msgs;
	case KEY_BYTES:
		return r->tx_bytes + r->rx_bytes;
	case KEY_AGAIN:
		return r->again;
	default:
		return r->rnr;
	}
}

static double sort_value(const struct live *l, const struct table_how *how, uint32_t i)
{
	switch (how->kind) {
	case TABLE_PROCS:
		if (how->key == KEY_ID)
			return -(double)l->proc[i].p.pid;
		return how->key == KEY_WAITING ? l->proc[i].waiting
					       : rate_value(&l->proc[i].rate, how->key);
	case TABLE_QPS:
		if (how->key == KEY_ID)
			return -(double)l->qp[i].q.i.qpn;
		return how->key == KEY_WAITING ? l->qp[i].m.queued
					       : rate_value(&l->qp[i].rate, how->key);
	default: /* by what they do, whatever it is */
		return how->key == KEY_ID ? -(double)l->eu[i].t.number : l->eu[i].t.busy;
	}
}

struct sorted {
	double value;
	uint32_t of;
};

static int compare_table_rows(const void *a, const void *b)
{
	const struct sorted *p = a, *q = b;

	if (p->value != q->value)
		return p->value < q->value ? 1 : -1;
	return (p->of > q->of) - (p->of < q->of);
}

static uint32_t count_of(const struct live *l, enum table_kind kind)
{
	return kind == TABLE_PROCS ? l->procs : kind == TABLE_QPS ? l->qps : l->eus;
}

static void fill_table_rows(struct table *t, const struct live *l, const struct table_how *how,
			    const struct sorted *s, uint32_t n)
{
	const int name = name_width(how);

	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = s[how->reverse ? n - 1 - k : k].of;
		char *to = t->row[t->n];

		if (how->kind == TABLE_PROCS)
			proc_row(l, i, name, to);
		else if (how->kind == TABLE_QPS)
			qp_row(l, i, name, to);
		else
			eu_row(l, i, name, to);
		if (how->filter[0] && !strstr(to, how->filter)) {
			t->hidden++;
			continue;
		}
		t->of[t->n++] = i;
	}
}

void table_make(struct table *t, const struct live *l, const struct table_how *how)
{
	const uint32_t n = count_of(l, how->kind);
	struct sorted *s = need_memory(malloc((n + 1) * sizeof(*s)));

	*t = (struct table){.row = need_memory(malloc((n + 1) * sizeof(*t->row))),
			    .of = need_memory(malloc((n + 1) * sizeof(*t->of)))};
	for (uint32_t i = 0; i < n; i++)
		s[i] = (struct sorted){sort_value(l, how, i), i};
	qsort(s, n, sizeof(*s), compare_table_rows);
	make_table_head(t, how);
	fill_table_rows(t, l, how, s, n);
	free(s);
}

void table_free(struct table *t)
{
	free(t->row);
	free(t->of);
	*t = (struct table){.n = 0};
}

/* ---------------------------------------------------------------- summary, page */

void table_summary(const struct live *l, char line[2][TABLE_LINE])
{
	char n[6][16], clock[16];
	time_t now = time(NULL);
	uint32_t asleep = 0;
	struct tm tm;

	for (uint32_t i = 0; i < l->procs; i++)
		asleep += l->proc[i].own.there && !l->proc[i].stale && !l->proc[i].own.polls &&
			  (l->proc[i].own.asleep || l->proc[i].own.waiter);
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	if (l->why[0])
		snprintf(line[0], TABLE_LINE, "dpactl top - %s  no adapter instance: %.180s", clock,
			 l->why);
	else
		snprintf(line[0], TABLE_LINE,
			 "dpactl top - %s  board %u: %u processes (%u asleep), %u QPs, %u EUs",
			 clock, l->c->b->board_num, l->procs, asleep, l->qps, l->eus);
	snprintf(line[1], TABLE_LINE,
		 "msgs/s %s out, %s in; bytes/s %s out, %s in; again %s, RNR %s",
		 table_number(l->rate.tx_msgs, n[0]), table_number(l->rate.rx_msgs, n[1]),
		 table_number(l->rate.tx_bytes, n[2]), table_number(l->rate.rx_bytes, n[3]),
		 table_number(l->rate.again, n[4]), table_number(l->rate.rnr, n[5]));
}

static void add_line(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_line(struct table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->row[t->n++], TABLE_LINE, fmt, ap);
	va_end(ap);
}

static void page_figures(struct table *t, const struct live_qp *q)
{
	const struct dpa_meter *m = &q->m;
	char n[6][16], error[64];

	add_line(t, "waits for  %s; %u blocks of the send queue in use", live_wait_text(q),
		 m->queued);
	add_line(t, "PSNs       next %u, oldest not acknowledged %u (%u in flight), expected %u",
		 m->send_psn, m->una_psn, (m->send_psn - m->una_psn) & 0xffffff, m->epsn);
	if (m->window == UINT64_MAX)
		add_line(t, "window     none: the link loses nothing");
	else
		add_line(t, "window     %sB of congestion control",
			 table_number((double)m->window, n[0]));
	add_line(t, "out        %s messages/s, %sB/s; %u messages, %llu bytes counted",
		 table_number(q->rate.tx_msgs, n[0]), table_number(q->rate.tx_bytes, n[1]),
		 m->tx_msgs, (unsigned long long)m->tx_bytes);
	add_line(t, "in         %s messages/s, %sB/s; %u messages, %llu bytes counted",
		 table_number(q->rate.rx_msgs, n[2]), table_number(q->rate.rx_bytes, n[3]),
		 m->rx_msgs, (unsigned long long)m->rx_bytes);
	add_line(t, "again      %u PSNs sent again, %s/s; RNR NAKs %u, %s/s", m->again,
		 table_number(q->rate.again, n[4]), m->rnr, table_number(q->rate.rnr, n[5]));
	add_line(t, "last error %s", live_error_text(q, error, sizeof(error)));
}

/* "ib_send_bw 1234": of this adapter instance; "": of another one. */
static void peer_text(const struct live *l, const struct live_qp *q, char *to, size_t len)
{
	const struct live_qp *peer = live_find(l, q->q.i.dest_qpn);

	to[0] = '\0';
	if (peer && q->q.i.dest_qpn)
		snprintf(to, len, ", %s %u", l->proc[peer->proc].p.comm, l->proc[peer->proc].p.pid);
}

void table_page(struct table *t, const struct live *l, const struct live_qp *q)
{
	const struct live_proc *p = &l->proc[q->proc];
	const struct dpa_board_qpinfo *i = &q->q.i;
	char peer[48];

	*t = (struct table){.row = need_memory(malloc(16 * sizeof(*t->row)))};
	snprintf(t->head, sizeof(t->head), "QP %06x of %s %u", i->qpn, p->p.comm, p->p.pid);
	add_line(t, "type       %s, %s, placement %s", qp_type_name(i->type),
		 qp_state_name(i->state), placement_name(i->placement));
	peer_text(l, q, peer, sizeof(peer));
	if (i->dest_qpn)
		add_line(t, "peer       QP %06x at %s%s, by %s", i->dest_qpn, q->q.gid, peer,
			 link_name(i->link));
	else
		add_line(t, "peer       none");
	add_line(t, "UAR        page %u, slot %u: %llu doorbells, %llu BlueFlame writes",
		 i->uar / DPA_UAR_SLOTS, i->uar % DPA_UAR_SLOTS, (unsigned long long)q->doorbells,
		 (unsigned long long)q->blueflames);
	add_line(t, "CQs        send %u, receive %u", i->send_cqn, i->recv_cqn);
	if (q->known)
		page_figures(t, q);
	else
		add_line(t, "figures    none: not measured yet, or a target of XRC");
}
