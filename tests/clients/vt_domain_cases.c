/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_domain_cases.c - XRC domains of several processes: ibv_open_xrcd(3), ibv_open_qp(3). Side 0 is
 * the initiator and forks the others, of which each has an SRQ in the domain of a file; side 1
 * returns at once.
 *
 * A target of one process with SRQs of another: an initiator of the same adapter instance reaches
 * them all.
 */
#include <fcntl.h>
#include <unistd.h>
#include "vt_domain.h"

/* If all traffic uses RoCEv2, only the target's process is reachable: by_wire(). */
static void needs_shared_memory(void)
{
	const char *shm = getenv("DPA_SHM");

	if (shm && !strcmp(shm, "never"))
		vt_skip("other processes' SRQs are not reached by RoCEv2");
}

/* ------------------------------------------------------------------- reachable objects */

static const uint32_t lens[] = {0, 1, 4, 30, 1024, 5000, 40000};
enum { ROUNDS = sizeof(lens) / sizeof(lens[0]) };

/* Take the SENDs of side 0, then let it read, write and count in this process' memory. */
static void served(struct dom *m)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_wc wc;

		dom_receive(m, 0, 50000, (uint64_t)i);
		wc = vt_wc(&m->t, m->t.cq);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, i);
		CHECK_EQ(wc.byte_len, lens[i]);
		CHECK(vt_differs(m->t.buf, lens[i], m->me.srqn + (uint32_t)i) == lens[i], "SEND");
		vt_sync(&m->t);
	}
	vt_fill(m->t.buf, 30000, m->me.srqn);
	vt_sync(&m->t);
	vt_sync(&m->t);
	CHECK(vt_differs(m->t.buf + 30000, 20000, m->me.srqn) == 20000, "WRITE");
	CHECK_EQ(*(uint64_t *)(void *)(m->t.buf + DOM_COUNTER), 3);
}

static void home(struct dom *m)
{
	dom_join(m, O_CREAT);
	dom_target(m);
	dom_introduce(m);
	served(m);
	vt_sync(&m->t);
	dom_leave(m);
}

static void guest(struct dom *m)
{
	dom_join(m, 0);
	dom_introduce(m);
	served(m);
	vt_sync(&m->t);
	dom_leave(m);
}

/* Return the place for the result of the atomic. */
static size_t found(int k, uint64_t i)
{
	return 50000 + 8 * (i + 4 * (uint64_t)k);
}

static void serve(struct dom *m, struct dom_other *o, int n)
{
	for (int i = 0; i < ROUNDS; i++)
		for (int k = 0; k < n; k++) {
			vt_fill(m->t.buf, lens[i], o[k].c.srqn + (uint32_t)i);
			dom_post(m, IBV_WR_SEND, &o[k].c, 0, lens[i], 5);
			vt_wc_is(&m->t, 5, IBV_WC_SUCCESS);
			vt_sync(&o[k].t);
		}
	for (int k = 0; k < n; k++)
		vt_sync(&o[k].t);
	for (int k = 0; k < n; k++) {
		dom_post(m, IBV_WR_RDMA_READ, &o[k].c, 0, 30000, 6);
		vt_wc_is(&m->t, 6, IBV_WC_SUCCESS);
		CHECK(vt_differs(m->t.buf, 30000, o[k].c.srqn) == 30000, "READ");
	}
	for (int k = 0; k < n; k++) {
		vt_fill(m->t.buf + 30000, 20000, o[k].c.srqn);
		dom_post(m, IBV_WR_RDMA_WRITE, &o[k].c, 30000, 20000, 7);
		vt_wc_is(&m->t, 7, IBV_WC_SUCCESS);
	}
	/* posted together: they arrive in order, alternating between both */
	for (uint64_t i = 0; i < 3; i++)
		for (int k = 0; k < n; k++)
			dom_post(m, IBV_WR_ATOMIC_FETCH_AND_ADD, &o[k].c, found(k, i), 8,
				 10 * i + (uint64_t)k);
	for (uint64_t i = 0; i < 3; i++)
		for (int k = 0; k < n; k++) {
			vt_wc_is(&m->t, 10 * i + (uint64_t)k, IBV_WC_SUCCESS);
			CHECK_EQ(*(uint64_t *)(void *)(m->t.buf + found(k, i)), i);
		}
	for (int k = 0; k < n; k++) {
		vt_sync(&o[k].t);
		vt_sync(&o[k].t);
	}
}

/* IBA 9.4 (xrc-srq) */
/* By one target, SRQs of three processes: the target's, and others of its domain. */
static void reached(struct vt *t)
{
	struct dom m = {.t = *t};
	struct dom_other o[3];

	if (t->side == 1)
		return;
	needs_shared_memory();
	dom_new_file();
	dom_start(&o[0], home);
	vt_get(&o[0].t, &o[0].c, sizeof(o[0].c)); /* it has created the domain */
	dom_start(&o[1], guest);
	dom_start(&o[2], guest);
	for (int k = 1; k < 3; k++)
		vt_get(&o[k].t, &o[k].c, sizeof(o[k].c));
	dom_join(&m, 0);
	dom_initiator(&m);
	vt_put(&o[0].t, &m.ini->qp_num, sizeof(m.ini->qp_num));
	vt_sync(&o[0].t);
	dom_connect(&m, m.ini, o[0].c.tgt);
	serve(&m, o, 3);
	for (int k = 0; k < 3; k++)
		dom_ended(&o[k]);
	dom_leave(&m);
}

/* ---------------------------------------------------------------------------- permissions */

/* Remove and add rights of initiators, as often as requested. */
static void landlord(struct dom *m)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};

	dom_join(m, O_CREAT);
	dom_target(m);
	dom_introduce(m);
	for (int i = 0; i < 2; i++) {
		vt_sync(&m->t);
		a.qp_access_flags = i ? 0 : (unsigned int)dom_access;
		CHECK_EQ(ibv_modify_qp(m->tgt, &a, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), 0);
		vt_sync(&m->t);
	}
	vt_sync(&m->t);
	dom_leave(m);
}

static void write_one(struct dom *m, const struct dom_card *c, uint64_t id, enum ibv_wc_status is)
{
	dom_post(m, IBV_WR_RDMA_WRITE, c, 0, 64, id);
	vt_wc_is(&m->t, id, is);
}

/* IBA 9.7.4 (permission) */
/*
 * The target of another process, through which an initiator reaches this one's own SRQ and memory:
 * a changed permission applies to operations that are sent after ibv_modify_qp(3) returned.
 */
static void permitted(struct vt *t)
{
	struct dom m = {.t = *t};
	struct dom_card own;
	struct dom_other o;

	if (t->side == 1)
		return;
	needs_shared_memory();
	dom_meet(&m, &o, landlord);
	own = m.me;
	for (uint64_t i = 0; i < 3; i++) {
		if (i)
			vt_sync(&o.t); /* it has added or removed it */
		write_one(&m, &own, i, i < 2 ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR);
		vt_sync(&o.t);
	}
	dom_ended(&o);
	dom_leave(&m);
}

/* -------------------------------------------------------------- one initiator, then another */

/* Its target serves one initiator, and then the other. */
static void lent(struct dom *m)
{
	struct ibv_qp_attr r = {.qp_state = IBV_QPS_RESET};
	uint32_t ini;

	dom_join(m, O_CREAT);
	dom_target(m);
	dom_introduce(m);
	vt_get(&m->t, &ini, sizeof(ini));
	CHECK_EQ(ibv_modify_qp(m->tgt, &r, IBV_QP_STATE), 0);
	dom_connect(m, m->tgt, ini);
	vt_sync(&m->t);
	vt_sync(&m->t);
	dom_leave(m);
}

/* IBA 9.6 (sender) */
/*
 * An initiator that was connected to the target before continues, in several epochs: it gets the
 * error that the target does not serve it, and the present initiator is not disturbed.
 */
static void former_initiator(struct vt *t)
{
	struct dom m = {.t = *t}, later;
	struct dom_card own;
	struct dom_other o;

	if (t->side == 1)
		return;
	needs_shared_memory();
	dom_meet(&m, &o, lent);
	own = m.me;
	later = m;
	dom_initiator(&later);
	write_one(&m, &own, 1, IBV_WC_SUCCESS);
	write_one(&m, &o.c, 2, IBV_WC_SUCCESS);
	vt_put(&o.t, &later.ini->qp_num, sizeof(later.ini->qp_num));
	vt_sync(&o.t);
	dom_connect(&later, later.ini, o.c.tgt);
	for (uint64_t i = 0; i < 4; i++) /* past the PSNs of the former one */
		write_one(&later, i % 2 ? &o.c : &own, i, IBV_WC_SUCCESS);
	write_one(&m, &o.c, 5, IBV_WC_RETRY_EXC_ERR); /* repeatedly, one epoch each */
	write_one(&later, &o.c, 6, IBV_WC_SUCCESS);
	write_one(&later, &own, 7, IBV_WC_SUCCESS);
	vt_sync(&o.t);
	dom_ended(&o);
	CHECK_EQ(ibv_destroy_qp(later.ini), 0);
	dom_leave(&m);
}

/* ---------------------------------------------------------------------------- at random */

enum { MESSAGES = 3000, DEEP = 24 };

/* Post receives as needed, until the given number of messages has arrived. */
static void counting(struct dom *m)
{
	uint32_t want, got = 0;

	for (uint64_t i = 0; i < 512; i++)
		dom_receive(m, 0, 64, i);
	vt_sync(&m->t);
	vt_get(&m->t, &want, sizeof(want));
	while (got < want) {
		struct ibv_wc wc = vt_wc(&m->t, m->t.cq);

		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, got % 512);
		dom_receive(m, 0, 64, got++ % 512);
	}
	vt_get(&m->t, &want, sizeof(want));
	CHECK_EQ(*(uint64_t *)(void *)(m->t.buf + DOM_COUNTER), want);
	vt_wc_none(&m->t, m->t.cq);
	vt_sync(&m->t);
	dom_leave(m);
}

static void counting_home(struct dom *m)
{
	dom_join(m, O_CREAT);
	dom_target(m);
	dom_introduce(m);
	counting(m);
}

static void counting_guest(struct dom *m)
{
	dom_join(m, 0);
	dom_introduce(m);
	counting(m);
}

/* Many in flight, alternating at random: each is executed once, none is lost. */
static void mixed(struct vt *t)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct dom m = {.t = *t};
	uint32_t sends[2] = {0}, adds[2] = {0};
	uint64_t x = vt_seed() | 1;
	struct dom_other o[2];

	if (t->side == 1)
		return;
	needs_shared_memory();
	dom_new_file();
	dom_start(&o[0], counting_home);
	vt_get(&o[0].t, &o[0].c, sizeof(o[0].c));
	dom_start(&o[1], counting_guest);
	vt_get(&o[1].t, &o[1].c, sizeof(o[1].c));
	dom_join(&m, 0);
	dom_initiator(&m);
	vt_put(&o[0].t, &m.ini->qp_num, sizeof(m.ini->qp_num));
	vt_sync(&o[0].t);
	dom_connect(&m, m.ini, o[0].c.tgt);
	vt_sync(&o[0].t);
	vt_sync(&o[1].t);
	for (uint64_t i = 0; i < MESSAGES + DEEP; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		if (i >= DEEP)
			vt_wc_is(&m.t, i - DEEP, IBV_WC_SUCCESS);
		if (i < MESSAGES) {
			/* runs of about four to the same */
			int k = (int)(x >> 20 & 3) ? (int)(i >> 2 & 1) : (int)(x >> 24 & 1);
			enum ibv_wr_opcode op = ops[x & 3];

			sends[k] += op == IBV_WR_SEND;
			adds[k] += op == IBV_WR_ATOMIC_FETCH_AND_ADD;
			dom_post(&m, op, &o[k].c, 1024, op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 48,
				 i);
		}
	}
	for (int k = 0; k < 2; k++) {
		vt_put(&o[k].t, &sends[k], sizeof(sends[k]));
		vt_put(&o[k].t, &adds[k], sizeof(adds[k]));
		vt_sync(&o[k].t);
		dom_ended(&o[k]);
	}
	dom_leave(&m);
}

/* ------------------------------------------------------------------------------- deaths */

static void member_dies(struct dom *m)
{
	struct ibv_wc wc;

	dom_join(m, O_CREAT);
	dom_target(m);
	dom_introduce(m);
	dom_receive(m, 0, 64, 1);
	vt_sync(&m->t);
	wc = vt_wc(&m->t, m->t.cq);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	vt_sync(&m->t);
	for (;;)
		pause();
}

/*
 * The target's process is killed: its initiator gets the error, and SRQs of others serve other
 * targets.
 */
static void target_dies(struct vt *t)
{
	struct dom m = {.t = *t};
	struct dom_card own;
	struct dom_other o;
	struct ibv_wc wc;

	if (t->side == 1)
		return;
	needs_shared_memory();
	dom_meet(&m, &o, member_dies);
	own = m.me;
	vt_sync(&o.t);
	dom_post(&m, IBV_WR_SEND, &o.c, 0, 64, 1);
	vt_wc_is(&m.t, 1, IBV_WC_SUCCESS);
	vt_sync(&o.t);
	dom_receive(&m, 0, 64, 2);
	dom_post(&m, IBV_WR_SEND, &own, 1024, 64, 1); /* to itself, through that process's target */
	for (int i = 0; i < 2; i++) {
		wc = vt_wc(&m.t, m.t.cq);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.qp_num, wc.opcode == IBV_WC_RECV ? o.c.tgt : m.ini->qp_num);
	}
	dom_killed(&o);
	do { /* until this process has detected it */
		dom_post(&m, IBV_WR_RDMA_WRITE, &own, 1024, 64, 4);
		wc = vt_wc(&m.t, m.t.cq);
		CHECK_EQ(wc.wr_id, 4);
	} while (wc.status == IBV_WC_SUCCESS);
	CHECK_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQ(vt_state(m.ini), IBV_QPS_ERR);
	CHECK_EQ(ibv_destroy_qp(m.ini), 0);
	dom_target(&m);
	dom_initiator(&m);
	dom_connect(&m, m.tgt, m.ini->qp_num);
	dom_connect(&m, m.ini, m.tgt->qp_num);
	dom_receive(&m, 0, 64, 3);
	dom_post(&m, IBV_WR_SEND, &own, 1024, 64, 5);
	for (int i = 0; i < 2; i++) {
		wc = vt_wc(&m.t, m.t.cq);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, wc.opcode == IBV_WC_RECV ? 3 : 5);
	}
	dom_leave(&m);
}

static void guest_dies(struct dom *m)
{
	vt_sync(&m->t); /* the domain exists */
	dom_join(m, 0);
	dom_introduce(m);
	dom_receive(m, 0, 64, 1);
	vt_sync(&m->t);
	for (;;)
		pause();
}

/*
 * The process of an SRQ is killed: messages to it find a process that is gone, or no such SRQ any
 * more. The target's own SRQ is reachable until then.
 */
static void guest_is_killed(struct vt *t)
{
	struct dom m = {.t = *t};
	struct dom_card own;
	struct dom_other o;
	struct ibv_wc wc;

	if (t->side == 1)
		return;
	needs_shared_memory();
	dom_new_file();
	dom_start(&o, guest_dies);
	dom_join(&m, O_CREAT);
	own = m.me;
	vt_sync(&o.t);
	vt_get(&o.t, &o.c, sizeof(o.c));
	dom_target(&m);
	dom_initiator(&m);
	dom_connect(&m, m.tgt, m.ini->qp_num);
	dom_connect(&m, m.ini, m.tgt->qp_num);
	vt_sync(&o.t);
	dom_post(&m, IBV_WR_SEND, &o.c, 0, 64, 1);
	vt_wc_is(&m.t, 1, IBV_WC_SUCCESS);
	dom_killed(&o);
	dom_post(&m, IBV_WR_RDMA_WRITE, &own, 0, 64, 2);
	vt_wc_is(&m.t, 2, IBV_WC_SUCCESS);
	dom_post(&m, IBV_WR_SEND, &o.c, 0, 64, 3);
	wc = vt_wc(&m.t, m.t.cq);
	CHECK(wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_REM_INV_REQ_ERR, "%s",
	      ibv_wc_status_str(wc.status));
	CHECK_EQ(vt_state(m.ini), IBV_QPS_ERR);
	dom_leave(&m);
}

/* As from another host: SRQs of the target's process are reachable, others are not. */
static void by_wire(struct vt *t)
{
	struct dom m = {.t = *t};
	struct dom_other o[2];

	if (t->side == 1)
		return;
	CHECK_EQ(setenv("DPA_SHM", "never", 1), 0);
	dom_new_file();
	dom_start(&o[0], member_dies);
	vt_get(&o[0].t, &o[0].c, sizeof(o[0].c));
	dom_start(&o[1], guest_dies);
	vt_sync(&o[1].t);
	vt_get(&o[1].t, &o[1].c, sizeof(o[1].c));
	dom_join(&m, 0);
	dom_initiator(&m);
	vt_put(&o[0].t, &m.ini->qp_num, sizeof(m.ini->qp_num));
	vt_sync(&o[0].t);
	dom_connect(&m, m.ini, o[0].c.tgt);
	vt_sync(&o[0].t);
	vt_sync(&o[1].t);
	dom_post(&m, IBV_WR_SEND, &o[0].c, 0, 64, 1);
	vt_wc_is(&m.t, 1, IBV_WC_SUCCESS);
	vt_sync(&o[0].t);
	dom_post(&m, IBV_WR_SEND, &o[1].c, 0, 64, 2);
	vt_wc_is(&m.t, 2, IBV_WC_REM_INV_REQ_ERR);
	dom_killed(&o[0]);
	dom_killed(&o[1]);
	dom_leave(&m);
}

/* ------------------------------------------------------------------------- names, handles */

static void one_more(struct dom *m)
{
	vt_sync(&m->t);
	dom_join(m, 0);
	vt_sync(&m->t);
	vt_sync(&m->t);
	for (;;)
		pause();
}

/* man ibv_open_xrcd: a file's domain exists while a living process has it open. */
static void names(struct vt *t)
{
	struct ibv_xrcd *a;
	struct dom_other o;

	if (t->side == 1)
		return;
	dom_new_file();
	dom_start(&o, one_more); /* opens it without O_CREAT */
	vt_open(t);
	CHECK(!dom_open(t, 0) && errno == EAGAIN, "nobody has made it");
	a = dom_open(t, O_CREAT | O_EXCL);
	CHECK(a, "%s", strerror(errno));
	vt_sync(&o.t);
	vt_sync(&o.t);
	CHECK_EQ(ibv_close_xrcd(a), 0);
	CHECK(!dom_open(t, O_CREAT | O_EXCL) && errno == EINVAL, "another process has it");
	a = dom_open(t, 0);
	CHECK(a, "%s", strerror(errno));
	CHECK_EQ(ibv_close_xrcd(a), 0);
	vt_sync(&o.t);
	dom_killed(&o);
	CHECK(!dom_open(t, 0) && errno == EAGAIN, "who had it was killed");
	a = dom_open(t, O_CREAT | O_EXCL);
	CHECK(a, "%s", strerror(errno));
	CHECK_EQ(ibv_close_xrcd(a), 0);
	close(dom_file);
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

static struct ibv_qp *open_target(struct dom *m, struct ibv_xrcd *xrcd, uint32_t qpn)
{
	struct ibv_qp_open_attr a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						  IBV_QP_OPEN_ATTR_TYPE,
				     .qp_num = qpn,
				     .xrcd = xrcd,
				     .qp_type = IBV_QPT_XRC_RECV};

	return ibv_open_qp(m->t.ctx, &a);
}

/* A target of another process: its attributes are visible, but only its creator can change it. */
static void opened(struct vt *t)
{
	struct ibv_qp_attr e = {.qp_state = IBV_QPS_ERR};
	struct dom m = {.t = *t};
	struct ibv_qp *qp, *twice;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct ibv_xrcd *own;
	struct dom_other o;

	if (t->side == 1)
		return;
	dom_new_file();
	dom_start(&o, member_dies);
	vt_get(&o.t, &o.c, sizeof(o.c));
	dom_join(&m, 0);
	dom_initiator(&m);
	qp = open_target(&m, m.xrcd, o.c.tgt);
	CHECK(qp, "open_qp: %s", strerror(errno));
	CHECK_EQ(vt_state(qp), IBV_QPS_RESET);
	vt_put(&o.t, &m.ini->qp_num, sizeof(m.ini->qp_num));
	vt_sync(&o.t);
	dom_connect(&m, m.ini, o.c.tgt);
	vt_sync(&o.t);
	CHECK_EQ(ibv_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
	CHECK_EQ(a.qp_state, IBV_QPS_RTS);
	CHECK_EQ(a.dest_qp_num, m.ini->qp_num);
	CHECK_EQ(a.qp_access_flags, (unsigned int)dom_access);
	CHECK_EQ(init.qp_type, IBV_QPT_XRC_RECV);
	CHECK_EQ(ibv_modify_qp(qp, &e, IBV_QP_STATE), EOPNOTSUPP);
	dom_file = -1;
	own = dom_open(&m.t, O_CREAT);
	CHECK(own, "%s", strerror(errno));
	CHECK(!open_target(&m, own, o.c.tgt) && errno == EINVAL, "of another domain");
	CHECK(!open_target(&m, m.xrcd, m.ini->qp_num) && errno == EINVAL, "no target");
	CHECK_EQ(ibv_close_xrcd(own), 0);
	twice = open_target(&m, m.xrcd, o.c.tgt);
	CHECK(twice, "open_qp: %s", strerror(errno));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	dom_post(&m, IBV_WR_SEND, &o.c, 0, 64, 1);
	vt_wc_is(&m.t, 1, IBV_WC_SUCCESS);
	vt_sync(&o.t);
	dom_killed(&o);
	dom_post(&m, IBV_WR_SEND, &o.c, 0, 64, 2);
	vt_wc_is(&m.t, 2, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQ(vt_state(twice), IBV_QPS_ERR);
	CHECK_EQ(ibv_destroy_qp(twice), 0);
	dom_leave(&m);
}

static const struct vt_case cases[] = {
	{"reached", reached, VT_PROCS, 0},
	{"permitted", permitted, VT_PROCS, 0},
	{"former_initiator", former_initiator, VT_PROCS, 0},
	{"mixed", mixed, VT_PROCS, 0},
	{"target_dies", target_dies, VT_PROCS, 0},
	{"guest_is_killed", guest_is_killed, VT_PROCS, 0},
	{"by_wire", by_wire, VT_PROCS, 0},
	{"names", names, VT_PROCS, 0},
	{"opened", opened, VT_PROCS, 0},
};

VT_MAIN(cases)
