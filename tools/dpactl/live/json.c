/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* json.c - a reading as JSON: top --json and the page of web. */
#include <stdlib.h>
#include "live.h"

static void add_real(struct json_object *o, const char *key, double d)
{
	/* whole numbers: a fraction of a message per second tells a reader nothing */
	json_object_object_add(o, key, json_object_new_uint64((uint64_t)(d + 0.5)));
}

/* Rates, or null: not measured yet. */
static void add_rates(struct json_object *o, const struct live_rate *r, bool measured)
{
	struct json_object *to = NULL;

	if (measured) {
		to = json_object_new_object();
		add_real(to, "tx_msgs", r->tx_msgs);
		add_real(to, "rx_msgs", r->rx_msgs);
		add_real(to, "tx_bytes", r->tx_bytes);
		add_real(to, "rx_bytes", r->rx_bytes);
		add_real(to, "again", r->again);
		add_real(to, "rnr", r->rnr);
	}
	json_object_object_add(o, "rate", to);
}

static struct json_object *live_proc_json(const struct live_proc *p)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "pid", p->p.pid);
	json_add(o, "command", p->p.comm);
	json_add(o, "placement", placement_name(p->p.placement));
	json_add_num(o, "qps", p->qps);
	json_add_num(o, "waiting", p->waiting);
	json_add_num(o, "errors", p->errors);
	json_add(o, "thread", live_sleep_text(p));
	json_add_num(o, "busy_permille", p->stale ? 0 : p->own.busy);
	add_rates(o, &p->rate, p->measured);
	return o;
}

static void add_figures(struct json_object *o, const struct live_qp *q)
{
	char error[64];

	json_add_num(o, "tx_msgs", q->m.tx_msgs);
	json_add_num(o, "rx_msgs", q->m.rx_msgs);
	json_add_num(o, "tx_bytes", q->m.tx_bytes);
	json_add_num(o, "rx_bytes", q->m.rx_bytes);
	json_add_num(o, "again", q->m.again);
	json_add_num(o, "rnr", q->m.rnr);
	json_add_num(o, "send_psn", q->m.send_psn);
	json_add_num(o, "una_psn", q->m.una_psn);
	json_add_num(o, "epsn", q->m.epsn);
	json_add_num(o, "queued", q->m.queued);
	json_object_object_add(o, "window",
			       q->m.window == UINT64_MAX ? NULL
							 : json_object_new_uint64(q->m.window));
	json_object_object_add(
		o, "last_error",
		q->m.status ? json_object_new_string(live_error_text(q, error, sizeof(error)))
			    : NULL);
}

static struct json_object *live_qp_json(const struct live *l, const struct live_qp *q)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "qpn", q->q.i.qpn);
	json_add_num(o, "pid", l->proc[q->proc].p.pid);
	json_add(o, "type", qp_type_name(q->q.i.type));
	json_add(o, "state", qp_state_name(q->q.i.state));
	json_add(o, "placement", placement_name(q->q.i.placement));
	json_add(o, "link", link_name(q->q.i.link));
	json_add_num(o, "dest_qpn", q->q.i.dest_qpn);
	json_add(o, "dest_gid", q->q.gid);
	json_add_num(o, "uar_page", q->q.i.uar / DPA_UAR_SLOTS);
	json_add_num(o, "uar_slot", q->q.i.uar % DPA_UAR_SLOTS);
	json_add_num(o, "doorbells", q->doorbells);
	json_add_num(o, "blueflames", q->blueflames);
	json_add(o, "wait", live_wait_text(q));
	add_rates(o, &q->rate, q->measured);
	if (q->known)
		add_figures(o, q);
	return o;
}

static struct json_object *live_eu_json(const struct live *l, const struct live_eu *e)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "eu", e->t.number);
	json_add_num(o, "pid", l->proc[e->proc].p.pid);
	json_add_bool(o, "dpa", e->dpa);
	json_add_num(o, "busy_permille", e->t.busy);
	json_add_bool(o, "asleep", e->t.asleep);
	json_add_num(o, "qps", e->t.qps);
	if (e->dpa) {
		json_add(o, "runs", e->what);
		add_real(o, "activations", e->runs);
	}
	return o;
}

/* ------------------------------------------------------------------------ order */

static double load_of(const struct live_qp *q)
{
	return q->rate.tx_msgs + q->rate.rx_msgs;
}

static int by_load(const void *a, const void *b)
{
	const struct live_qp *p = *(const struct live_qp *const *)a;
	const struct live_qp *q = *(const struct live_qp *const *)b;
	const double d = load_of(q) - load_of(p);

	return d > 0 ? 1 : d < 0 ? -1 : (p->q.i.qpn > q->q.i.qpn) - (p->q.i.qpn < q->q.i.qpn);
}

/* For the map: three numbers, the slot's in the BAR (-1: it has none), the process's, the QPN. */
static void add_brief(struct json_object *list, const struct live *l, const struct live_qp *q)
{
	const int64_t slot = q->q.i.type == DPA_QP_XRC_RECV ? -1 : (int64_t)q->q.i.uar;

	json_object_array_add(list, json_object_new_int64(slot));
	json_object_array_add(list, json_object_new_int64(l->proc[q->proc].p.pid));
	json_object_array_add(list, json_object_new_int64(q->q.i.qpn));
}

static void add_qps(struct json_object *o, const struct live *l, uint32_t most)
{
	const struct live_qp **order = need_memory(malloc((l->qps + 1) * sizeof(*order)));
	struct json_object *list = json_object_new_array(), *rest = json_object_new_array();

	for (uint32_t i = 0; i < l->qps; i++)
		order[i] = &l->qp[i];
	if (l->qps > most) /* else as they come: the QPNs' order */
		qsort(order, l->qps, sizeof(*order), by_load);
	for (uint32_t i = 0; i < l->qps; i++)
		if (i < most)
			json_object_array_add(list, live_qp_json(l, order[i]));
		else
			add_brief(rest, l, order[i]);
	free(order);
	json_object_object_add(o, "qps", list);
	json_object_object_add(o, "rest", rest);
}

struct json_object *live_json(const struct live *l, uint32_t most)
{
	struct json_object *o = json_object_new_object();
	struct json_object *procs = json_object_new_array(), *eus = json_object_new_array();

	json_add_num(o, "time_ns", l->now);
	json_object_object_add(o, "why", l->why[0] ? json_object_new_string(l->why) : NULL);
	json_add_num(o, "board", l->c->b ? l->c->b->board_num : 0);
	json_add_num(o, "uar_pages", l->c->b ? l->c->b->uar_pages : 0);
	json_add_num(o, "slots_per_page", DPA_UAR_SLOTS);
	json_add_num(o, "num_qps", l->qps);
	add_rates(o, &l->rate, true);
	for (uint32_t i = 0; i < l->procs; i++)
		json_object_array_add(procs, live_proc_json(&l->proc[i]));
	for (uint32_t i = 0; i < l->eus; i++)
		json_object_array_add(eus, live_eu_json(l, &l->eu[i]));
	json_object_object_add(o, "processes", procs);
	add_qps(o, l, most);
	json_object_object_add(o, "eus", eus);
	return o;
}
