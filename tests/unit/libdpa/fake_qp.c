/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "fake_qp.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "fake.h"

enum { MAX_QPS = 64, MAX_MRS = 256 };

struct made_qp {
	struct ibv_qp qp;
	uint8_t *sq, *rq;
	uint32_t log_sq, log_rq;
	struct dpa_dbrec dbrec;
	struct dpa_uar_slot slot;
	uint32_t placement, user_index;
	uint32_t dest; /* QP number */
	bool ready, failed;
	pthread_mutex_t lock; /* protects sq_ci: one thread carries out work */
};

static struct {
	pthread_mutex_t lock;
	struct made_qp *qps[MAX_QPS]; /* QP number - 100 */
	struct {
		struct ibv_mr mr;
		unsigned int access;
	} mrs[MAX_MRS];
	int num_qps, fail_create, fail_modify;
	bool held;
	int rings;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .fail_create = -1, .fail_modify = -1};

int fake_qps(void)
{
	return all.num_qps;
}

void fake_fail_qp_after(int n)
{
	all.fail_create = n;
}

void fake_fail_modify_after(int n)
{
	all.fail_modify = n;
}

int fake_qp_rings(void)
{
	return __atomic_load_n(&all.rings, __ATOMIC_ACQUIRE);
}

static bool counts_down(int *n)
{
	if (*n < 0)
		return false;
	return (*n)-- == 0;
}

void fake_qp_add_mr(const struct ibv_mr *mr, unsigned int access)
{
	pthread_mutex_lock(&all.lock);
	for (int i = 0; i < MAX_MRS; i++)
		if (!all.mrs[i].mr.lkey) {
			all.mrs[i].mr = *mr;
			all.mrs[i].access = access;
			break;
		}
	pthread_mutex_unlock(&all.lock);
}

void fake_qp_drop_mr(const struct ibv_mr *mr)
{
	pthread_mutex_lock(&all.lock);
	for (int i = 0; i < MAX_MRS; i++)
		if (all.mrs[i].mr.lkey == mr->lkey)
			all.mrs[i].mr.lkey = 0;
	pthread_mutex_unlock(&all.lock);
}

static bool may(uint32_t lkey, uint64_t addr, uint64_t len, unsigned int access)
{
	bool ok = false;

	pthread_mutex_lock(&all.lock);
	for (int i = 0; i < MAX_MRS && lkey; i++) {
		const struct ibv_mr *mr = &all.mrs[i].mr;

		if (mr->lkey == lkey && addr >= (uintptr_t)mr->addr &&
		    addr + len <= (uintptr_t)mr->addr + mr->length &&
		    (all.mrs[i].access & access) == access)
			ok = true;
	}
	pthread_mutex_unlock(&all.lock);
	return ok;
}

bool dpa_hwif_may_read(const struct dpa_qp_view *view, uint32_t lkey, uint64_t addr, uint64_t len)
{
	return may(lkey, addr, len, 0);
}

static uint32_t log_up(uint32_t n)
{
	uint32_t l = 0;

	while (1u << l < n)
		l++;
	return l;
}

struct ibv_qp *dpa_hwif_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				  uint32_t user_index)
{
	struct made_qp *q;
	int at = 0;

	while (at < MAX_QPS && all.qps[at])
		at++;
	if (counts_down(&all.fail_create) || at == MAX_QPS) {
		errno = ENOMEM;
		return NULL;
	}
	q = calloc(1, sizeof(*q));
	q->qp.context = pd->context;
	q->qp.pd = pd;
	q->qp.send_cq = attr->send_cq;
	q->qp.recv_cq = attr->recv_cq;
	q->qp.qp_num = 100 + (uint32_t)at;
	q->qp.qp_type = attr->qp_type;
	q->user_index = user_index;
	q->log_sq = log_up(attr->cap.max_send_wr * 2);
	q->log_rq = log_up(attr->cap.max_recv_wr);
	if (attr->cap.max_send_wr)
		q->sq = calloc(1u << q->log_sq, DPA_WQEBB);
	if (attr->cap.max_recv_wr)
		q->rq = calloc(1u << q->log_rq, dpa_rwqe_stride(attr->cap.max_recv_sge));
	pthread_mutex_init(&q->lock, NULL);
	pthread_mutex_lock(&all.lock);
	all.qps[at] = q;
	all.num_qps++;
	pthread_mutex_unlock(&all.lock);
	return &q->qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct made_qp *q = (struct made_qp *)qp;

	pthread_mutex_lock(&all.lock);
	all.qps[qp->qp_num - 100] = NULL;
	all.num_qps--;
	pthread_mutex_unlock(&all.lock);
	pthread_mutex_destroy(&q->lock);
	free(q->sq);
	free(q->rq);
	free(q);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct made_qp *q = (struct made_qp *)qp;

	if (counts_down(&all.fail_modify))
		return EINVAL;
	if (mask & IBV_QP_DEST_QPN)
		q->dest = attr->dest_qp_num;
	if (mask & IBV_QP_STATE)
		q->ready = attr->qp_state == IBV_QPS_RTS;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = gid->raw[11] = 0xff;
	gid->raw[12] = 127;
	gid->raw[15] = 1;
	return 0;
}

int fake_qp_view(struct ibv_qp *qp, struct dpa_qp_view *view)
{
	struct made_qp *q = (struct made_qp *)qp;

	*view = (struct dpa_qp_view){
		.sq = q->sq,
		.rq = q->rq,
		.dbrec = &q->dbrec,
		.slot = &q->slot,
		.placement = &q->placement,
		.hw = q,
		.log_sq = q->log_sq,
		.log_rq = q->log_rq,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.qpn = qp->qp_num,
		.type = DPA_QP_RC,
	};
	return 0;
}

bool fake_qp_uses(const struct ibv_cq *cq)
{
	bool uses = false;

	pthread_mutex_lock(&all.lock);
	for (int i = 0; i < MAX_QPS; i++)
		uses |= all.qps[i] &&
			(all.qps[i]->qp.send_cq == cq || all.qps[i]->qp.recv_cq == cq);
	pthread_mutex_unlock(&all.lock);
	return uses;
}

/* ------------------------------------------------------------ carrying out */

static uint8_t deliver(struct made_qp *q, const uint8_t *wqe, const struct dpa_wqe_ctrl *c)
{
	struct made_qp *to = all.qps[q->dest - 100];
	uint32_t at = to->dbrec.rq_ci;
	const uint8_t *r = to->rq + (size_t)(at & ((1u << to->log_rq) - 1)) * dpa_rwqe_stride(1);
	const struct dpa_rwqe *head = (const void *)r;
	struct dpa_sge dst = {0}, src = {0};
	const void *data = wqe + sizeof(*c);

	if (__atomic_load_n(&to->dbrec.rq_pi, __ATOMIC_ACQUIRE) == at)
		return DPA_CQE_RNR_RETRY_EXC_ERR;
	if (c->nsge) {
		memcpy(&src, data, sizeof(src));
		data = (const void *)(uintptr_t)src.addr;
		if (!may(src.lkey, src.addr, src.length, 0))
			return DPA_CQE_LOC_PROT_ERR;
	}
	if (head->nsge)
		memcpy(&dst, r + sizeof(*head), sizeof(dst));
	__atomic_store_n(&to->dbrec.rq_ci, at + 1, __ATOMIC_RELEASE);
	if (dst.length < c->length)
		return DPA_CQE_REM_INV_REQ_ERR;
	if (c->length && !may(dst.lkey, dst.addr, c->length, IBV_ACCESS_LOCAL_WRITE))
		return DPA_CQE_REM_OP_ERR;
	if (c->length)
		memcpy((void *)(uintptr_t)dst.addr, data, c->length);
	return DPA_CQE_OK;
}

static void carry_out(struct made_qp *q, uint32_t at)
{
	uint8_t wqe[4 * DPA_WQEBB];
	uint32_t mask = (1u << q->log_sq) - 1;
	struct dpa_wqe_ctrl c;
	struct dpa_cqe e = {.qpn = q->qp.qp_num, .user_index = q->user_index};

	memcpy(&c, q->sq + (size_t)(at & mask) * DPA_WQEBB, sizeof(c));
	for (uint32_t i = 0; i < c.nbb; i++)
		memcpy(wqe + (size_t)i * DPA_WQEBB, q->sq + (size_t)((at + i) & mask) * DPA_WQEBB,
		       DPA_WQEBB);
	e.wr_id = c.wr_id;
	if (q->failed || !q->ready) {
		e.status = DPA_CQE_WR_FLUSH_ERR;
	} else if (c.opcode == DPA_OP_SEND) {
		e.opcode = DPA_CQE_SEND;
		e.status = deliver(q, wqe, &c);
	} else {
		e.opcode = DPA_CQE_RDMA_WRITE;
		e.status = c.opcode == DPA_OP_RDMA_WRITE && !c.length ? DPA_CQE_OK
								      : DPA_CQE_LOC_QP_OP_ERR;
	}
	q->failed |= e.status != DPA_CQE_OK;
	__atomic_store_n(&q->dbrec.sq_ci, at + c.nbb, __ATOMIC_RELEASE);
	if (e.status || c.flags & DPA_WQE_SIGNALED)
		fake_push(q->qp.send_cq, &e);
}

static void run(struct made_qp *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->dbrec.sq_ci != __atomic_load_n(&q->dbrec.sq_pi, __ATOMIC_ACQUIRE))
		carry_out(q, q->dbrec.sq_ci);
	pthread_mutex_unlock(&q->lock);
}

void fake_qp_ring(void *hw)
{
	__atomic_fetch_add(&all.rings, 1, __ATOMIC_ACQ_REL);
	if (!__atomic_load_n(&all.held, __ATOMIC_ACQUIRE))
		run(hw);
}

void fake_hold_qps(bool hold)
{
	__atomic_store_n(&all.held, hold, __ATOMIC_RELEASE);
	for (int i = 0; i < MAX_QPS && !hold; i++)
		if (all.qps[i] && all.qps[i]->sq)
			run(all.qps[i]);
}

void fake_qp_fail(struct ibv_qp *qp)
{
	struct made_qp *q = (struct made_qp *)qp;

	if (qp->qp_num < 100)
		return; /* fake.c owns this one */
	pthread_mutex_lock(&q->lock);
	q->failed = true;
	pthread_mutex_unlock(&q->lock);
}

/* No kernel of a GPU here. */
int dpa_hwif_watch_sq(struct ibv_qp *qp, const uint64_t *word)
{
	return EOPNOTSUPP;
}

struct ibv_mr *dpa_hwif_reg_foreign(struct ibv_pd *pd, uint64_t addr, uint64_t length, int access,
				    const struct dpa_foreign_ops *ops, void *arg)
{
	errno = EOPNOTSUPP;
	return NULL;
}
