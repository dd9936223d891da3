/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* live.c - readings of the adapter instance: see live.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tables/meaning.h>
#include <tables/pcc.h>
#include <tables/tables.h>
#include "live.h"

#define STALE_NS UINT64_C(1500000000)

struct live_past {
	uint32_t slot, gen; /* of its process */
	uint64_t at;	    /* of m */
	struct dpa_meter m;
	bool measured;
	struct live_rate rate;
};

void live_begin(struct live *l, struct ctl *c)
{
	*l = (struct live){.c = c};
	l->past = need_memory(calloc(DPA_BOARD_QPNS, sizeof(*l->past)));
	l->proc = need_memory(calloc(DPA_BOARD_PROCS, sizeof(*l->proc)));
}

void live_end(struct live *l)
{
	live_end_eus(l);
	free(l->past);
	free(l->proc);
	free(l->qp);
	free(l->eu);
}

/* ---------------------------------------------------------------------- board */

/* True if the board is still the file at its path. */
static bool is_current(const struct ctl *c)
{
	struct stat st;

	return c->b && !stat(c->path, &st) && st.st_dev == c->b->dev && st.st_ino == c->b->ino;
}

static void forget_board(struct live *l)
{
	if (l->c->b)
		dpa_board_unpeek(l->c->b);
	l->c->b = NULL;
	l->since = l->asked = 0;
	memset(l->past, 0, DPA_BOARD_QPNS * sizeof(*l->past));
}

static bool open_live_board(struct live *l)
{
	struct dpa_board_cfg cfg = {.path = l->c->path, .lib_version = DPA_VERSION};
	int rc;

	if (is_current(l->c) && l->since)
		return true;
	if (!is_current(l->c)) {
		forget_board(l);
		rc = dpa_board_peek(&cfg, &l->c->b, l->why, sizeof(l->why));
		if (rc == ENOENT)
			snprintf(l->why, sizeof(l->why), "no process of this user uses dpa0");
		if (rc)
			return false;
	}
	rc = dpa_board_pcc_writable(l->c->b); /* for the lease */
	if (rc) {
		snprintf(l->why, sizeof(l->why), "cannot write to %.180s: %s", l->c->path,
			 strerror(rc));
		forget_board(l);
		return false;
	}
	l->why[0] = '\0';
	l->since = l->now;
	return true;
}

/* ------------------------------------------------------------------ processes */

/* Index + 1 in proc[] of the process of a slot; 0: none. */
static uint32_t by_slot[DPA_BOARD_PROCS];

static void read_proc(struct live *l, uint32_t slot)
{
	struct live_proc *p = &l->proc[l->procs];
	struct dpa_board_proc *from = dpa_board_proc(l->c->b, slot);

	if (!proc_read(l->c, slot, &p->p) || !p->p.alive || !pid_is_named(l->c, p->p.pid))
		return;
	*p = (struct live_proc){.p = p->p};
	p->at = atomic_load_explicit(&from->meter_at, memory_order_acquire);
	if (p->at < l->since)
		p->at = 0; /* of an earlier lease */
	p->own = dpa_meter_unpack(atomic_load_explicit(&from->meter_own, memory_order_relaxed));
	p->stale = !p->at || l->now > p->at + STALE_NS;
	by_slot[slot] = ++l->procs;
}

static void read_live_procs(struct live *l)
{
	struct dpa_board *b = l->c->b;

	memset(by_slot, 0, sizeof(by_slot));
	l->procs = 0;
	for (uint32_t i = dpa_board_proc_next(b, 0); i < DPA_BOARD_PROCS;
	     i = dpa_board_proc_next(b, i + 1))
		read_proc(l, i);
}

/* ------------------------------------------------------------------------ QPs */

/* The slot of a QP; NULL: it has none, as a target of XRC. */
static const struct dpa_uar_slot *uar_slot_of(struct live *l, const struct qp *q)
{
	const uint32_t page = q->i.uar / DPA_UAR_SLOTS, slot = q->i.uar % DPA_UAR_SLOTS;
	struct dpa_board_uar *u;

	if (page >= l->c->b->uar_pages || q->i.type == DPA_QP_XRC_RECV)
		return NULL;
	u = dpa_board_uar_page(l->c->b, page);
	if (!u || atomic_load_explicit(&u->slot_qpn[slot], memory_order_relaxed) != q->i.qpn)
		return NULL;
	return dpa_board_uar_addr(l->c->b, page, slot);
}

static void add_rate(struct live_rate *sum, const struct live_rate *r)
{
	sum->tx_msgs += r->tx_msgs;
	sum->rx_msgs += r->rx_msgs;
	sum->tx_bytes += r->tx_bytes;
	sum->rx_bytes += r->rx_bytes;
	sum->again += r->again;
	sum->rnr += r->rnr;
}

/* Counts of 32 and 16 bits may have wrapped, those of bytes have not. */
static struct live_rate rate_of(const struct dpa_meter *was, const struct dpa_meter *is,
				uint64_t ns)
{
	const double s = (double)ns / 1e9;

	return (struct live_rate){
		.tx_msgs = (uint32_t)(is->tx_msgs - was->tx_msgs) / s,
		.rx_msgs = (uint32_t)(is->rx_msgs - was->rx_msgs) / s,
		.tx_bytes = (double)(is->tx_bytes - was->tx_bytes) / s,
		.rx_bytes = (double)(is->rx_bytes - was->rx_bytes) / s,
		.again = (uint32_t)(is->again - was->again) / s,
		.rnr = (uint16_t)(is->rnr - was->rnr) / s,
	};
}

/* A QP that has the number of one that was destroyed begins again. */
static bool is_same(const struct live_past *was, const struct live_qp *q)
{
	return was->at && was->slot == q->q.slot && was->gen == q->q.gen &&
	       was->m.tx_bytes <= q->m.tx_bytes && was->m.rx_bytes <= q->m.rx_bytes;
}

static void measure_qp(struct live *l, struct live_qp *q)
{
	struct live_past *was = &l->past[q->q.i.qpn & (DPA_BOARD_QPNS - 1)];
	const struct live_proc *p = &l->proc[q->proc];

	if (p->stale || !q->known) {
		was->at = 0;
		return;
	}
	if (!is_same(was, q)) {
		*was = (struct live_past){
			.slot = q->q.slot, .gen = q->q.gen, .at = p->at, .m = q->m};
	} else if (p->at > was->at) {
		was->rate = rate_of(&was->m, &q->m, p->at - was->at);
		was->measured = true;
		was->at = p->at;
		was->m = q->m;
	}
	q->measured = was->measured;
	q->rate = was->rate;
}

static void read_qp(struct live *l, struct live_qp *q)
{
	const struct dpa_uar_slot *s = uar_slot_of(l, &q->q);

	q->known = s && l->proc[q->proc].at && dpa_meter_get(&s->meter, &q->m);
	if (!q->known)
		q->m = (struct dpa_meter){.window = UINT64_MAX};
	if (s) {
		q->doorbells = __atomic_load_n(&s->doorbells, __ATOMIC_RELAXED);
		q->blueflames = __atomic_load_n(&s->blueflames, __ATOMIC_RELAXED);
	}
	measure_qp(l, q);
}

static void sum_up_qp(struct live *l, const struct live_qp *q)
{
	struct live_proc *p = &l->proc[q->proc];

	p->qps++;
	p->waiting += q->known && strcmp(live_wait_text(q), "idle") != 0;
	p->errors += q->m.status != 0;
	p->measured |= q->measured;
	if (!q->measured)
		return;
	add_rate(&p->rate, &q->rate);
	add_rate(&l->rate, &q->rate);
}

static struct live_qp *next_live_qp(struct live *l)
{
	if (!(l->qps & (l->qps - 1))) /* full: a power of 2 */
		l->qp = need_memory(realloc(l->qp, (l->qps ? 2 * l->qps : 1) * sizeof(*l->qp)));
	return &l->qp[l->qps];
}

static void read_qps(struct live *l)
{
	struct qp q;

	l->qps = 0;
	l->rate = (struct live_rate){0};
	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++) {
		struct live_qp *to;

		if (!qp_read(l->c, i, &q) || !by_slot[q.slot] ||
		    l->proc[by_slot[q.slot] - 1].p.gen != q.gen)
			continue;
		to = next_live_qp(l);
		*to = (struct live_qp){.q = q, .proc = by_slot[q.slot] - 1};
		read_qp(l, to);
		sum_up_qp(l, to);
		l->qps++;
	}
}

/* Counts from before a lease that has ended say nothing about the time since. */
static void extend_lease(struct live *l, uint64_t now)
{
	const bool begins = now > l->asked + DPA_METER_LEASE;

	if (begins)
		l->since = now;
	l->asked = now;
	dpa_meter_want(l->c->b, now);
	if (begins) /* those that sleep for longer than half a second */
		dpa_board_wake_all(l->c->b);
}

void live_keep(struct live *l)
{
	if (l->c->b && !l->why[0])
		extend_lease(l, now_ns());
}

void live_read(struct live *l)
{
	l->now = now_ns();
	l->procs = l->qps = l->eus = 0;
	l->rate = (struct live_rate){0};
	if (!open_live_board(l))
		return;
	extend_lease(l, l->now);
	read_live_procs(l);
	read_qps(l);
	live_read_eus(l);
}

bool live_is_measured(const struct live *l)
{
	for (uint32_t i = 0; i < l->procs; i++)
		if (l->proc[i].qps && !l->proc[i].measured)
			return false;
	return true;
}

const struct live_qp *live_find(const struct live *l, uint32_t qpn)
{
	for (uint32_t i = 0; i < l->qps; i++)
		if (l->qp[i].q.i.qpn == qpn)
			return &l->qp[i];
	return NULL;
}

/* ---------------------------------------------------------------------- texts */

const char *live_wait_text(const struct live_qp *q)
{
	/* enum dpa_req_state */
	static const char *const names[] = {"idle", "sends", "acks", "room", "timer", "error"};

	return q->known && q->m.wait < sizeof(names) / sizeof(names[0]) ? names[q->m.wait] : "-";
}

const char *live_sleep_text(const struct live_proc *p)
{
	if (p->stale || !p->own.there)
		return "?";
	if (p->own.polls)
		return "POLLS";
	if (p->own.waiter)
		return "WAITS";
	return p->own.asleep ? "SLEEPS" : "RUNS";
}

const char *live_error_text(const struct live_qp *q, char *buf, size_t len)
{
	struct dpa_meaning m;

	if (!q->m.status)
		return "-";
	if (!dpa_status_meaning(dpa_cqe_wc_status(q->m.status), &m))
		m.name = "?";
	snprintf(buf, len, "%s 0x%02x", m.name, q->m.vendor_err);
	return buf;
}
