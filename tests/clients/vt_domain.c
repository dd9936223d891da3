/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <signal.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "vt_domain.h"

int dom_file = -1;

const int dom_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		       IBV_ACCESS_REMOTE_ATOMIC;

struct ibv_xrcd *dom_open(struct vt *t, int oflags)
{
	struct ibv_xrcd_init_attr a = {.comp_mask =
					       IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				       .fd = dom_file,
				       .oflags = oflags};

	return ibv_open_xrcd(t->ctx, &a);
}

void dom_join(struct dom *m, int oflags)
{
	static const struct vt_opt o = {.recv_wr = 1024};
	struct ibv_srq_init_attr_ex a = {
		.attr = {.max_wr = 1024, .max_sge = 2},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_XRCD,
		.srq_type = IBV_SRQT_XRC,
	};

	vt_open(&m->t);
	m->t.len = 65536;
	m->t.buf = aligned_alloc(4096, m->t.len);
	CHECK(m->t.buf, "memory");
	memset(m->t.buf, 0, m->t.len);
	m->t.mr = ibv_reg_mr(m->t.pd, m->t.buf, m->t.len, dom_access);
	m->t.cq = ibv_create_cq(m->t.ctx, (int)o.recv_wr, NULL, NULL, 0);
	m->xrcd = dom_open(&m->t, oflags);
	CHECK(m->t.mr && m->t.cq && m->xrcd, "%s", strerror(errno));
	a.pd = m->t.pd;
	a.cq = m->t.cq;
	a.xrcd = m->xrcd;
	m->srq = ibv_create_srq_ex(m->t.ctx, &a);
	CHECK(m->srq, "create_srq_ex: %s", strerror(errno));
	CHECK_EQ(ibv_get_srq_num(m->srq, &m->me.srqn), 0);
	m->me.rkey = m->t.mr->rkey;
	m->me.addr = (uintptr_t)m->t.buf;
}

void dom_target(struct dom *m)
{
	struct ibv_qp_init_attr_ex a = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = m->xrcd};

	m->tgt = ibv_create_qp_ex(m->t.ctx, &a);
	CHECK(m->tgt, "target: %s", strerror(errno));
	m->me.tgt = m->tgt->qp_num;
}

void dom_initiator(struct dom *m)
{
	struct ibv_qp_init_attr_ex a = {.qp_type = IBV_QPT_XRC_SEND,
					.comp_mask = IBV_QP_INIT_ATTR_PD,
					.pd = m->t.pd,
					.send_cq = m->t.cq,
					.cap = {.max_send_wr = 64, .max_send_sge = 1}};

	m->ini = ibv_create_qp_ex(m->t.ctx, &a);
	CHECK(m->ini, "initiator: %s", strerror(errno));
}

void dom_connect(struct dom *m, struct ibv_qp *qp, uint32_t dest)
{
	bool ini = qp == m->ini;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = ini ? 0 : (unsigned int)dom_access};

	CHECK_EQ(
		ibv_modify_qp(qp, &a,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.rq_psn = 77,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = m->t.me.gid, .sgid_index = (uint8_t)m->t.gid_index}},
	};
	CHECK_EQ(
		ibv_modify_qp(qp, &a,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN |
				      (ini ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)),
		0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .sq_psn = 77,
				 .timeout = 12,
				 .retry_cnt = 5,
				 .rnr_retry = 7,
				 .max_rd_atomic = 4};
	CHECK_EQ(ibv_modify_qp(qp, &a,
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				       (ini ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
							IBV_QP_MAX_QP_RD_ATOMIC
					    : 0)),
		 0);
}

void dom_leave(struct dom *m)
{
	if (m->ini)
		CHECK_EQ(ibv_destroy_qp(m->ini), 0);
	if (m->tgt)
		CHECK_EQ(ibv_destroy_qp(m->tgt), 0);
	CHECK_EQ(ibv_close_xrcd(m->xrcd), EBUSY);
	CHECK_EQ(ibv_destroy_srq(m->srq), 0);
	CHECK_EQ(ibv_destroy_cq(m->t.cq), 0);
	CHECK_EQ(ibv_dereg_mr(m->t.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(m->t.pd), 0);
	CHECK_EQ(ibv_close_xrcd(m->xrcd), 0);
	CHECK_EQ(ibv_close_device(m->t.ctx), 0);
	free(m->t.buf);
}

void dom_receive(struct dom *m, size_t off, uint32_t len, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)m->t.buf + off, len, m->t.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK_EQ(ibv_post_srq_recv(m->srq, &wr, &bad), 0);
}

void dom_post(struct dom *m, enum ibv_wr_opcode op, const struct dom_card *c, size_t off,
	      uint32_t len, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)m->t.buf + off, len, m->t.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED};

	wr.qp_type.xrc.remote_srqn = c->srqn;
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = c->addr + DOM_COUNTER;
		wr.wr.atomic.rkey = c->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = c->addr + off;
		wr.wr.rdma.rkey = c->rkey;
	}
	CHECK_EQ(vt_post(m->ini, &wr), 0);
}

/* ------------------------------------------------------------------- other processes */

void dom_start(struct dom_other *o, void (*fn)(struct dom *m))
{
	int sv[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	fflush(stdout);
	*o = (struct dom_other){.pid = fork()};
	CHECK(o->pid >= 0, "fork: %s", strerror(errno));
	if (o->pid == 0) {
		struct dom m = {.t = {.side = 1, .sock = sv[1]}};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(DOM_LIMIT_S);
		close(sv[0]);
		fn(&m);
		fflush(stdout);
		_exit(0);
	}
	close(sv[1]);
	o->t.sock = sv[0];
}

void dom_ended(struct dom_other *o)
{
	int status;

	CHECK_EQ(waitpid(o->pid, &status, 0), o->pid);
	CHECK(status == 0, "a process ended with %#x", (unsigned int)status);
	close(o->t.sock);
}

void dom_killed(struct dom_other *o)
{
	int status;

	CHECK_EQ(kill(o->pid, SIGKILL), 0);
	CHECK_EQ(waitpid(o->pid, &status, 0), o->pid);
	close(o->t.sock);
}

void dom_new_file(void)
{
	char name[] = "/tmp/vt_domain.XXXXXX";

	dom_file = mkstemp(name);
	CHECK(dom_file >= 0, "%s", strerror(errno));
	unlink(name);
}

void dom_introduce(struct dom *m)
{
	uint32_t ini;

	vt_put(&m->t, &m->me, sizeof(m->me));
	if (!m->tgt)
		return;
	vt_get(&m->t, &ini, sizeof(ini));
	dom_connect(m, m->tgt, ini);
	vt_sync(&m->t);
}

void dom_meet(struct dom *m, struct dom_other *o, void (*fn)(struct dom *m))
{
	dom_new_file();
	dom_start(o, fn);
	vt_get(&o->t, &o->c, sizeof(o->c));
	dom_join(m, 0);
	dom_initiator(m);
	vt_put(&o->t, &m->ini->qp_num, sizeof(m->ini->qp_num));
	vt_sync(&o->t);
	dom_connect(m, m->ini, o->c.tgt);
}
