/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* recorder.c - takes samples of the flows' records: see recorder.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "recorder.h"
#include "tables/pcc.h"

#define LEASE	 UINT64_C(3000000000) /* ns that flows go on without being asked again */
#define RENEW	 (LEASE / 3)	      /* ns after which they are asked again */
#define INTERVAL UINT64_C(5000000)

static volatile sig_atomic_t stop;

static void on_record_signal(int sig)
{
	stop = 1;
}

static uint32_t load_flow_u32(_Atomic uint32_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static uint64_t load_flow_u64(_Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

/* ----------------------------------------------------------------------- flows */

static void read_record(struct dpa_board_pcc_flow *f, struct rec_stat *s)
{
	*s = (struct rec_stat){.bytes = load_flow_u64(&f->bytes),
			       .rtt_sum = load_flow_u64(&f->rtt_sum),
			       .rate = load_flow_u64(&f->rate),
			       .rtt_num = load_flow_u32(&f->rtt_num),
			       .window = load_flow_u32(&f->window),
			       .acks = load_flow_u32(&f->acks),
			       .cnps = load_flow_u32(&f->cnps),
			       .losses = load_flow_u32(&f->losses)};
}

/* The destination's marks: 0 where it is not of this adapter instance. */
static uint32_t read_marked(struct ctl *c, uint32_t dest)
{
	struct dpa_board_pcc_flow *f = dpa_board_pcc_flow_of(c->b, dest);

	return f && dest >> 16 == c->b->board_num ? load_flow_u32(&f->marked) : 0;
}

static void begin_rec_flow(struct recorder *r, struct rec_flow *f, uint32_t qpn, uint32_t begun)
{
	struct dpa_board_qpinfo *qi = dpa_board_qpinfo(r->c->b, qpn);
	struct proc p;

	memset(f, 0, sizeof(*f));
	f->qpn = qpn;
	f->begun = begun;
	if (!dpa_board_qpn_owner(r->c->b, qpn, &f->slot, &f->gen) || !proc_read(r->c, f->slot, &p))
		return;
	f->pid = p.pid;
	memcpy(f->comm, p.comm, sizeof(f->comm));
	printable(f->comm, sizeof(f->comm));
	if (qi && qi->qpn == qpn)
		f->dest = qi->dest_qpn;
	f->seen_marked = read_marked(r->c, f->dest);
}

/* Its QP is gone or is another flow now: it will not do anything any more. */
static bool has_flow_ended(struct recorder *r, const struct rec_flow *f)
{
	struct dpa_board_pcc_flow *from = dpa_board_pcc_flow_of(r->c->b, f->qpn);
	uint32_t slot, gen;
	struct proc p;

	return !from || load_flow_u32(&from->begun) != f->begun ||
	       !dpa_board_qpn_owner(r->c->b, f->qpn, &slot, &gen) || slot != f->slot ||
	       gen != f->gen || !proc_read(r->c, slot, &p) || !p.alive;
}

/* True if the flow was counted as one that is missing, at an earlier sample. */
static bool is_missed(const struct recorder *r, uint32_t qpn, const struct rec_missed *m)
{
	return memcmp(&r->lost[qpn & (DPA_BOARD_QPNS - 1)], m, sizeof(*m)) == 0;
}

/* Counts a flow that there is no room for: once, not at each sample. */
static void miss_flow(struct recorder *r, uint32_t qpn, const struct rec_missed *m)
{
	if (is_missed(r, qpn, m))
		return;
	r->lost[qpn & (DPA_BOARD_QPNS - 1)] = *m;
	r->missed++;
}

/*
 * Room for a flow: of those that ended, the entry of that which sent least. It is removed from the
 * samples that are kept. NULL: none has ended.
 */
static struct rec_flow *take_flow_room(struct recorder *r)
{
	struct rec_flow *f = NULL;

	if (r->flows < REC_FLOWS)
		return &r->flow[r->flows++];
	for (uint32_t i = 0; i < REC_FLOWS && !r->full; i++)
		if ((!f || r->flow[i].sum.bytes < f->sum.bytes) && has_flow_ended(r, &r->flow[i]))
			f = &r->flow[i];
	r->full = !f;
	if (!f)
		return NULL;
	r->missed += !f->missed;
	for (uint32_t k = 0; k < r->n; k++)
		memset(&r->sample[k].flow[f - r->flow], 0, sizeof(r->sample[k].flow[0]));
	return f;
}

/* That of the record, a new one if it has none; NULL: no room. */
static struct rec_flow *find_flow(struct recorder *r, uint32_t qpn, struct dpa_board_pcc_flow *from)
{
	struct rec_missed m = {.begun = load_flow_u32(&from->begun)};
	struct rec_flow *f;
	struct proc p;

	if (!dpa_board_qpn_owner(r->c->b, qpn, &m.slot, &m.gen))
		return NULL;
	for (uint32_t i = r->flows; i--;)
		if (r->flow[i].qpn == qpn && r->flow[i].slot == m.slot && r->flow[i].gen == m.gen &&
		    r->flow[i].begun == m.begun)
			return &r->flow[i];
	if (r->full && is_missed(r, qpn, &m))
		return NULL;
	/* what a dead process left is there until another one cleans up after it */
	if (!proc_read(r->c, m.slot, &p) || !p.alive)
		return NULL;
	f = take_flow_room(r);
	if (!f) {
		miss_flow(r, qpn, &m);
		return NULL;
	}
	begin_rec_flow(r, f, qpn, m.begun);
	f->missed = is_missed(r, qpn, &m);
	read_record(from, &f->now);
	return f;
}

static void add_flow_stat(struct rec_stat *to, const struct rec_stat *d)
{
	to->bytes += d->bytes;
	to->rtt_sum += d->rtt_sum;
	to->rtt_num += d->rtt_num;
	to->rtt_max = d->rtt_max > to->rtt_max ? d->rtt_max : to->rtt_max;
	to->acks += d->acks;
	to->cnps += d->cnps;
	to->losses += d->losses;
	to->marked += d->marked;
	to->rate = d->rate;
	to->window = d->window;
}

static void take_flow(struct recorder *r, uint32_t qpn, struct rec_sample *out)
{
	struct dpa_board_pcc_flow *from = dpa_board_pcc_flow_of(r->c->b, qpn);
	struct rec_flow *f = from && load_flow_u64(&from->bytes) ? find_flow(r, qpn, from) : NULL;
	struct rec_stat s, *d;
	uint32_t marked;

	if (!f)
		return;
	d = &out->flow[f - r->flow];
	read_record(from, &s);
	marked = read_marked(r->c, f->dest);
	*d = (struct rec_stat){
		.bytes = s.bytes - f->now.bytes,
		.rtt_sum = s.rtt_sum - f->now.rtt_sum,
		.rate = s.rate,
		.rtt_num = s.rtt_num - f->now.rtt_num,
		.rtt_max = atomic_exchange_explicit(&from->rtt_max, 0, memory_order_relaxed),
		.window = s.window,
		.acks = s.acks - f->now.acks,
		.cnps = s.cnps - f->now.cnps,
		.losses = s.losses - f->now.losses,
		.marked = marked - f->seen_marked};
	f->now = s;
	f->seen_marked = marked;
	add_flow_stat(&f->sum, d);
}

/* The queues of all processes: the mean length that packets found in one, and the longest. */
static void take_queues(struct recorder *r, struct rec_sample *out)
{
	for (uint32_t p = dpa_board_proc_next(r->c->b, 0); p < DPA_BOARD_PROCS;
	     p = dpa_board_proc_next(r->c->b, p + 1)) {
		struct dpa_board_pcc_queue *q = dpa_board_pcc_queue_of(r->c->b, p);
		uint64_t sum, num, max;

		if (!q)
			continue;
		sum = load_flow_u64(&q->sum);
		num = load_flow_u64(&q->num);
		max = atomic_exchange_explicit(&q->max, 0, memory_order_relaxed);
		if (r->queue_num[p] && num > r->queue_num[p]) {
			out->queue_sum += sum - r->queue_sum[p];
			out->queue_num += num - r->queue_num[p];
			/* another recorder may have taken it */
			max = max > (sum - r->queue_sum[p]) / (num - r->queue_num[p])
				      ? max
				      : (sum - r->queue_sum[p]) / (num - r->queue_num[p]);
			out->queue_max = max > out->queue_max ? max : out->queue_max;
		}
		r->queue_sum[p] = sum;
		r->queue_num[p] = num;
	}
}

/* --------------------------------------------------------------------- samples */

static void ask_for_records(struct recorder *r, uint64_t now)
{
	dpa_board_pcc_record(r->c->b, now, LEASE);
}

/* Sleeps until then or until a signal, and asks again in time, however long that is. */
static void wait_for_sample(struct recorder *r, uint64_t due)
{
	for (uint64_t now = now_ns(); !stop && now < due; now = now_ns()) {
		uint64_t next = due - now < RENEW ? due : now + RENEW;
		struct timespec ts = {.tv_sec = (time_t)(next / 1000000000),
				      .tv_nsec = (long)(next % 1000000000)};

		ask_for_records(r, now);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
}

struct recorder *rec_begin(struct ctl *c)
{
	struct sigaction sa = {.sa_handler = on_record_signal};
	struct recorder *r = calloc(1, sizeof(*r));
	int rc = dpa_board_pcc_writable(c->b);

	if (rc)
		die(EXIT_NONE, "%s: %s", c->path, strerror(rc));
	if (!r)
		die(EXIT_NONE, "no memory");
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	r->c = c;
	r->interval = INTERVAL;
	r->begin = r->last = now_ns();
	ask_for_records(r, r->begin);
	return r;
}

bool rec_sample(struct recorder *r, struct rec_sample *out)
{
	uint64_t now;

	wait_for_sample(r, r->last + r->interval);
	now = now_ns();
	memset(out, 0, sizeof(*out));
	out->at = now - r->begin;
	out->ns = now - r->last;
	r->last = now;
	r->full = false;
	ask_for_records(r, now);
	for (uint32_t i = dpa_board_pcc_flow_next(r->c->b, 0); i < DPA_BOARD_QPNS;
	     i = dpa_board_pcc_flow_next(r->c->b, i + 1))
		take_flow(r, r->c->b->board_num << 16 | i, out);
	take_queues(r, out);
	return !stop;
}

static void join_samples(struct rec_sample *to, const struct rec_sample *s, uint32_t flows)
{
	to->at = s->at;
	to->ns += s->ns;
	to->queue_sum += s->queue_sum;
	to->queue_num += s->queue_num;
	to->queue_max = s->queue_max > to->queue_max ? s->queue_max : to->queue_max;
	for (uint32_t i = 0; i < flows; i++)
		add_flow_stat(&to->flow[i], &s->flow[i]);
}

void rec_keep(struct recorder *r, const struct rec_sample *s)
{
	if (r->n == REC_MAX) {
		for (uint32_t i = 0; i < REC_MAX / 2; i++) {
			if (i)
				r->sample[i] = r->sample[2 * i];
			join_samples(&r->sample[i], &r->sample[2 * i + 1], r->flows);
		}
		r->n = REC_MAX / 2;
		r->interval *= 2;
	}
	r->sample[r->n++] = *s;
}

void rec_join(struct recorder *r, const struct rec_sample *s)
{
	if (!r->n)
		r->sample[r->n++] = *s;
	else
		join_samples(&r->sample[r->n - 1], s, r->flows);
}

void rec_end(struct recorder *r)
{
	free(r);
}

void rec_name(const struct rec_flow *f, char *to, size_t len)
{
	snprintf(to, len, "%s %u, QP 0x%x to 0x%x", f->comm, f->pid, f->qpn, f->dest);
}
