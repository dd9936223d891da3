/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ps.c - processes of the adapter instance, their QPs, CQs and regions. */
#include <stdio.h>
#include <string.h>
#include <board/mr_way.h>
#include "dpactl.h"

bool qp_read(struct ctl *c, uint32_t index, struct qp *q)
{
	uint32_t qpn = c->b->board_num << 16 | index;
	struct dpa_board_qpinfo *from;

	if (!dpa_board_qpn_owner(c->b, qpn, &q->slot, &q->gen))
		return false;
	from = dpa_board_qpinfo(c->b, qpn);
	if (!from)
		return false;
	q->i = *from;
	gid_text(q->i.dgid, q->gid, sizeof(q->gid));
	return q->i.qpn == qpn;
}

typedef void qp_fn(void *arg, const struct qp *q);

static void each_proc_qp(struct ctl *c, const struct proc *p, qp_fn *fn, void *arg)
{
	struct qp q;

	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++)
		if (qp_read(c, i, &q) && q.slot == p->slot && q.gen == p->gen)
			fn(arg, &q);
}

typedef void cq_fn(void *arg, const struct dpa_board_cqinfo *cq);

static void each_proc_cq(struct ctl *c, const struct proc *p, cq_fn *fn, void *arg)
{
	struct dpa_board_cqinfo *from = dpa_board_cqinfo(c->b, p->slot);

	for (int i = 0; from && i < DPA_BOARD_CQINFO; i++) {
		struct dpa_board_cqinfo cq = from[i];

		if (cq.cqn)
			fn(arg, &cq);
	}
}

/* A region, copied once. */
struct mr {
	struct dpa_board_mrinfo i;
	char why[160];
};

typedef void mr_fn(void *arg, const struct mr *mr);

/* The peers' results take precedence over the process's own. */
static void judge_way(const struct proc *p, struct mr *mr)
{
	const char *why = dpa_share_why_text[mr->i.why];

	if (mr->i.way == DPA_WAY_PROCESS_VM && p->refused && !p->copied) {
		mr->i.way = DPA_WAY_RING;
		snprintf(mr->why, sizeof(mr->why),
			 "%s%sthe kernel does not let its peers copy (process_vm_readv)", why,
			 *why ? "; " : "");
	} else {
		snprintf(mr->why, sizeof(mr->why), "%s", why);
	}
}

/* One that is not whole is not shown: its key is written last, and first taken away. How many. */
static uint32_t each_proc_mr(struct ctl *c, const struct proc *p, mr_fn *fn, void *arg)
{
	struct dpa_board_mrinfo *from = dpa_board_mrinfo(c->b, p->slot);
	uint32_t n = 0;

	for (int i = 0; from && i < DPA_BOARD_MRINFO; i++) {
		struct mr mr = {.i.word = __atomic_load_n(&from[i].word, __ATOMIC_ACQUIRE)};
		const uint32_t key = mr.i.key;

		mr.i.addr = __atomic_load_n(&from[i].addr, __ATOMIC_RELAXED);
		mr.i.length = __atomic_load_n(&from[i].length, __ATOMIC_ACQUIRE);
		if (!key || __atomic_load_n(&from[i].key, __ATOMIC_RELAXED) != key ||
		    mr.i.way >= DPA_WAYS || mr.i.why >= DPA_SHARE_NUM)
			continue;
		judge_way(p, &mr);
		fn(arg, &mr);
		n++;
	}
	return n;
}

/* Sets for each process whether its peers can copy its memory, as they found out. */
static void ask_peers(struct ctl *c, struct proc *p, uint32_t n)
{
	uint32_t slot, gen;
	struct qp q;

	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++) {
		if (!qp_read(c, i, &q) || !q.i.dest_qpn ||
		    strcmp(link_name(q.i.link), "shm") != 0 ||
		    !dpa_board_qpn_owner(c->b, q.i.dest_qpn, &slot, &gen))
			continue;
		for (uint32_t k = 0; k < n; k++) {
			if (p[k].slot != slot || p[k].gen != gen)
				continue;
			p[k].refused |= (q.i.link & DPA_BOARD_NO_COPY) != 0;
			p[k].copied |= !(q.i.link & DPA_BOARD_NO_COPY);
		}
	}
}

static const char *way_name(const struct mr *mr)
{
	static const char *const names[DPA_WAYS] = {
		[DPA_WAY_LOCAL] = "local",
		[DPA_WAY_RING] = "ring",
		[DPA_WAY_PROCESS_VM] = "process_vm",
		[DPA_WAY_MAPPED] = "mapped",
	};

	return names[mr->i.way];
}

/* ------------------------------------------------------------- for programs */

static void qp_json(void *arg, const struct qp *q)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "qpn", q->i.qpn);
	json_add(o, "type", qp_type_name(q->i.type));
	json_add(o, "state", qp_state_name(q->i.state));
	json_add(o, "placement", placement_name(q->i.placement));
	json_add(o, "link", link_name(q->i.link));
	json_add_num(o, "dest_qpn", q->i.dest_qpn);
	json_add(o, "dest_gid", q->gid);
	json_add_num(o, "uar_page", q->i.uar / DPA_UAR_SLOTS);
	json_add_num(o, "uar_slot", q->i.uar % DPA_UAR_SLOTS);
	json_add_num(o, "send_cqn", q->i.send_cqn);
	json_add_num(o, "recv_cqn", q->i.recv_cqn);
	json_object_array_add(arg, o);
}

static void cq_json(void *arg, const struct dpa_board_cqinfo *cq)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "cqn", cq->cqn);
	json_add_num(o, "depth", cq->depth);
	json_add_bool(o, "armed", cq->armed != 0);
	json_add_bool(o, "ignore_overrun", (cq->flags & DPA_CQ_IGNORE_OVERRUN) != 0);
	json_add_bool(o, "timestamps", (cq->flags & DPA_CQ_TIMESTAMP) != 0);
	json_add_num(o, "cqes", cq->cqes);
	json_object_array_add(arg, o);
}

static void mr_json(void *arg, const struct mr *mr)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "key", mr->i.key);
	json_add_num(o, "addr", mr->i.addr);
	json_add_num(o, "length", mr->i.length);
	json_add(o, "way", way_name(mr));
	json_add(o, "why", mr->why);
	json_object_array_add(arg, o);
}

static struct json_object *proc_json(struct ctl *c, const struct proc *p)
{
	struct json_object *o = json_object_new_object();
	struct json_object *qps = json_object_new_array(), *cqs = json_object_new_array();
	struct json_object *mrs = json_object_new_array();

	json_add_num(o, "pid", p->pid);
	json_add(o, "command", p->comm);
	json_add_bool(o, "alive", p->alive);
	json_add_num(o, "uid", p->uid);
	json_add_num(o, "slot", p->slot);
	json_add_num(o, "generation", p->gen);
	json_add(o, "version", p->version);
	json_add(o, "placement", placement_name(p->placement));
	json_add_num(o, "start_ns", p->start_ns);
	json_add_num(o, "nqp", p->nqp);
	json_add_num(o, "ncq", p->ncq);
	json_add_num(o, "nmr", p->nmr);
	each_proc_qp(c, p, qp_json, qps);
	each_proc_cq(c, p, cq_json, cqs);
	json_object_object_add(o, "qps", qps);
	json_object_object_add(o, "cqs", cqs);
	each_proc_mr(c, p, mr_json, mrs);
	json_object_object_add(o, "mrs", mrs);
	cm_json(c, p, o);
	return o;
}

/* --------------------------------------------------------------- text output */

static void proc_text(const struct proc *p)
{
	char when[32];

	printf("%7u  %-15s  %-9s  %5u  %5u  %5u  %s%s\n", p->pid, p->comm,
	       placement_name(p->placement), p->nqp, p->ncq, p->nmr,
	       time_text(p->start_ns, when, sizeof(when)), p->alive ? "" : "  dead");
}

/* The process whose QPs are being printed, and whether the table has its head. */
struct table {
	const struct proc *p;
	bool head;
};

static void qp_text(void *arg, const struct qp *q)
{
	struct table *t = arg;

	if (!t->head)
		printf("\n    QPN      PID  TYPE  STATE  PLACE   LINK      UAR      SCQ  RCQ  "
		       "PEER\n");
	t->head = true;
	printf(" %06x  %7u  %-4s  %-5s  %-6s  %-8s  %4u.%-2u  %3u  %3u  ", q->i.qpn, t->p->pid,
	       qp_type_name(q->i.type), qp_state_name(q->i.state), placement_name(q->i.placement),
	       link_name(q->i.link), q->i.uar / DPA_UAR_SLOTS, q->i.uar % DPA_UAR_SLOTS,
	       q->i.send_cqn, q->i.recv_cqn);
	if (q->i.dest_qpn)
		printf("%06x at %s\n", q->i.dest_qpn, q->gid);
	else
		printf("-\n");
}

static void cq_text(void *arg, const struct dpa_board_cqinfo *cq)
{
	struct table *t = arg;

	if (!t->head)
		printf("\n    CQN      PID    DEPTH  ARMED        CQEs\n");
	t->head = true;
	printf(" %6u  %7u  %7u  %-5s  %10llu\n", cq->cqn, t->p->pid, cq->depth,
	       cq->armed ? "yes" : "no", (unsigned long long)cq->cqes);
}

static void mr_text(void *arg, const struct mr *mr)
{
	struct table *t = arg;

	if (!t->head)
		printf("\n    KEY       PID           ADDRESS        LENGTH  WAY         WHY\n");
	t->head = true;
	printf(" %08x  %7u  %16llx  %12llu  %-10s  %s\n", mr->i.key, t->p->pid,
	       (unsigned long long)mr->i.addr, (unsigned long long)mr->i.length, way_name(mr),
	       *mr->why ? mr->why : "-");
}

static void print_procs(struct ctl *c, const struct proc *p, uint32_t n)
{
	struct table qps = {0}, cqs = {0}, mrs = {0};

	printf("    PID  COMMAND          PLACEMENT    QPs    CQs    MRs  SINCE\n");
	for (uint32_t i = 0; i < n; i++)
		proc_text(&p[i]);
	for (uint32_t i = 0; i < n; i++) {
		qps.p = &p[i];
		each_proc_qp(c, &p[i], qp_text, &qps);
	}
	for (uint32_t i = 0; i < n; i++) {
		cqs.p = &p[i];
		each_proc_cq(c, &p[i], cq_text, &cqs);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t shown;

		mrs.p = &p[i];
		shown = each_proc_mr(c, &p[i], mr_text, &mrs);
		if (shown == DPA_BOARD_MRINFO && p[i].nmr > shown)
			printf("           %7u  ... and %u more regions and windows\n", p[i].pid,
			       p[i].nmr - shown);
	}
	cm_text(c, p, n);
}

void cmd_ps(struct ctl *c)
{
	struct json_object *list;
	static struct proc p[DPA_BOARD_PROCS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < DPA_BOARD_PROCS; i++)
		if (proc_read(c, i, &p[n]) && pid_is_named(c, p[n].pid))
			n++;
	ask_peers(c, p, n);
	if (c->npids && n == 0)
		die(EXIT_NONE, "no such process on the adapter instance");
	if (!c->json) {
		print_procs(c, p, n);
		return;
	}
	list = json_object_new_array();
	for (uint32_t i = 0; i < n; i++)
		json_object_array_add(list, proc_json(c, &p[i]));
	print_json(list);
}
