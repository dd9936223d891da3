/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <dpa_hw_pcc.h>
#include "dpadv.h"
#include "fake_hw.h"

struct dpa_hw_ctx {
	struct dpa_hw_open_attr attr;
	uint32_t *alive; /* a separate page that a fork wipes */
};

struct fake_counts fake;
struct dpa_mr_attr fake_last_mr;
uint32_t fake_last_rereg_flags;
fake_fn *_Atomic fake_on_progress;
int fake_fail_alloc_queue, fake_fail_create_qp, fake_fail_reg_mr, fake_fail_alloc_pd;
static struct dpa_hw_ctx *last_ctx;
static uint32_t next_number = 17;

static int fail_once(int *lever)
{
	int ret = *lever;

	*lever = 0;
	return ret;
}

/* ----------------------------------------------------------------- contexts */

void dpa_hw_watch_fork(void)
{
}

int dpa_hw_open(const struct dpa_hw_open_attr *attr, struct dpa_hw_ctx **ctx)
{
	struct dpa_hw_ctx *c = calloc(1, sizeof(*c));

	assert(attr->hw_version == DPA_HW_VERSION);
	c->attr = *attr;
	c->alive = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(c->alive, 4096, MADV_WIPEONFORK);
	*c->alive = 1;
	fake.contexts++;
	last_ctx = *ctx = c;
	return 0;
}

void dpa_hw_destroy_qps(struct dpa_hw_ctx *ctx)
{
	(void)ctx;
	fake.at_end = fake.queue_bytes;
}

void dpa_hw_close(struct dpa_hw_ctx *ctx)
{
	fake.contexts--;
	munmap(ctx->alive, 4096);
	free(ctx);
}

const uint32_t *dpa_hw_alive(struct dpa_hw_ctx *ctx)
{
	return ctx->alive;
}

uint64_t dpa_hw_node_guid(uint32_t function)
{
	return 0x1122334455667788 + ((uint64_t)function << 56);
}

const struct dpa_pcc_ops *dpa_hw_query_pcc(struct dpa_hw_ctx *ctx, void **port)
{
	*port = NULL;
	return NULL;
}

void dpa_hw_query_board(struct dpa_hw_ctx *ctx, struct dpa_hw_board_attr *attr)
{
	*attr = (struct dpa_hw_board_attr){.path = "/fake"};
}

int dpa_hw_query_device(struct dpa_hw_ctx *ctx, struct dpa_hw_dev_attr *a)
{
	*a = (struct dpa_hw_dev_attr){.fw_ver = "fake",
				      .node_guid = dpa_hw_node_guid(ctx->attr.function),
				      .sys_image_guid = dpa_hw_node_guid(0),
				      .hca_core_clock_khz = 1000000,
				      .max_qp = DPA_MAX_QP,
				      .max_cq = DPA_MAX_CQ,
				      .max_srq = DPA_MAX_SRQ,
				      .max_pd = DPA_MAX_PD,
				      .max_mr = DPA_MAX_MR,
				      .max_ah = 3};
	return 0;
}

uint16_t fake_lid;

int dpa_hw_query_port(struct dpa_hw_ctx *ctx, struct dpa_hw_port_attr *a)
{
	*a = (struct dpa_hw_port_attr){.state = DPA_PORT_ACTIVE,
				       .active_mtu = 3,
				       .max_mtu = 5,
				       .active_speed = 32,
				       .active_width = 2,
				       .lid = fake_lid,
				       .gid_tbl_len = DPA_MAX_GIDS};
	errno = fake.stray_errno ? fake.stray_errno : errno;
	return 0;
}

/* Indices 0 and 2 are filled. */
int dpa_hw_query_gid(struct dpa_hw_ctx *ctx, uint32_t index, struct dpa_hw_gid *gid)
{
	if (index >= DPA_MAX_GIDS)
		return EINVAL;
	if (index != 0 && index != 2)
		return ENODATA;
	*gid = (struct dpa_hw_gid){.index = index, .ifindex = 5, .type = DPA_GID_ROCE_V2};
	gid->gid[10] = gid->gid[11] = 0xff;
	gid->gid[12] = 127;
	gid->gid[15] = (uint8_t)(index + 1);
	gid->valid = 1;
	return 0;
}

/* ------------------------------------------------------------------- memory */

int dpa_hw_alloc_pd(struct dpa_hw_ctx *ctx, uint32_t *pdn)
{
	int ret = fake_fail_alloc_pd;

	fake_fail_alloc_pd = 0;
	if (ret)
		return ret;
	*pdn = next_number++;
	fake.pds++;
	return 0;
}

int dpa_hw_dealloc_pd(struct dpa_hw_ctx *ctx, uint32_t pdn)
{
	fake.pds--;
	return 0;
}

int dpa_hw_reg_mr(struct dpa_hw_ctx *ctx, const struct dpa_mr_attr *attr, uint32_t *key)
{
	int ret = fail_once(&fake_fail_reg_mr);

	if (ret)
		return ret;
	fake_last_mr = *attr;
	*key = next_number++;
	fake.mrs++;
	errno = fake.stray_errno ? fake.stray_errno : errno;
	return 0;
}

int dpa_hw_rereg_mr(struct dpa_hw_ctx *ctx, uint32_t *key, uint32_t flags,
		    const struct dpa_mr_attr *attr)
{
	fake_last_mr = *attr;
	fake_last_rereg_flags = flags;
	*key = next_number++;
	return 0;
}

int dpa_hw_dereg_mr(struct dpa_hw_ctx *ctx, uint32_t key)
{
	fake.mrs--;
	errno = fake.stray_errno ? fake.stray_errno : errno;
	return 0;
}

bool dpa_hw_may_read(struct dpa_hw_qp *qp, uint32_t lkey, uint64_t addr, uint64_t length)
{
	return lkey == 0x11 && addr == 0x1000 && length == 8;
}

/* As the real one: not mapped in a child, so that an access ends the child. */
int dpa_hw_alloc_queue(struct dpa_hw_ctx *ctx, size_t bytes, void **mem)
{
	int ret = fail_once(&fake_fail_alloc_queue);

	if (ret)
		return ret;
	bytes = (bytes + 4095) & ~(size_t)4095;
	*mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*mem == MAP_FAILED)
		return ENOMEM;
	madvise(*mem, bytes, MADV_DONTFORK);
	fake.queue_bytes += bytes;
	return 0;
}

void dpa_hw_free_queue(struct dpa_hw_ctx *ctx, void *mem, size_t bytes)
{
	bytes = (bytes + 4095) & ~(size_t)4095;
	fake.queue_bytes -= bytes;
	munmap(mem, bytes);
}

/* ----------------------------------------------------------------------- CQ */

void dpa_hw_cq_lock(struct dpa_hw_cq *cq)
{
	while (atomic_exchange(&cq->lock, 1))
		;
}

void dpa_hw_cq_unlock(struct dpa_hw_cq *cq)
{
	atomic_store(&cq->lock, 0);
}

int dpa_hw_create_cq(struct dpa_hw_ctx *ctx, const struct dpa_cq_attr *attr, struct dpa_hw_cq **cq,
		     uint32_t *cqn)
{
	*cq = calloc(1, sizeof(**cq));
	(*cq)->attr = *attr;
	*cqn = next_number++;
	fake.cqs++;
	return 0;
}

int dpa_hw_resize_cq(struct dpa_hw_cq *cq, void *buf, uint32_t log_size)
{
	uint32_t ci = *cq->attr.ci;
	struct dpa_cqe *to = buf, *from = cq->attr.buf;

	if (cq->pi - ci > 1u << log_size)
		return EINVAL;
	for (uint32_t i = ci; i != cq->pi; i++) {
		to[i & ((1u << log_size) - 1)] = from[i & ((1u << cq->attr.log_size) - 1)];
		to[i & ((1u << log_size) - 1)].owner = dpa_cqe_owner(i, log_size);
	}
	cq->attr.buf = buf;
	cq->attr.log_size = log_size;
	return 0;
}

int dpa_hw_destroy_cq(struct dpa_hw_cq *cq)
{
	if (cq->refs)
		return EBUSY;
	fake.cqs--;
	free(cq);
	return 0;
}

void dpa_hw_arm_cq(struct dpa_hw_cq *cq, bool solicited_only)
{
	cq->armed = solicited_only ? 2 : 1;
}

uint32_t dpa_hw_cq_pi(struct dpa_hw_cq *cq)
{
	return cq->pi;
}

void dpa_hw_cq_set_pi(struct dpa_hw_cq *cq, uint32_t pi)
{
	cq->pi = pi;
}

void fake_cqe(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe)
{
	struct dpa_cqe *e;
	bool fire;

	dpa_hw_cq_lock(cq);
	e = (struct dpa_cqe *)cq->attr.buf + (cq->pi & ((1u << cq->attr.log_size) - 1));
	memcpy(e, cqe, offsetof(struct dpa_cqe, opcode));
	dpa_cqe_publish(e, cqe, dpa_cqe_owner(cq->pi, cq->attr.log_size));
	cq->pi++;
	fire = cq->armed == 1 || (cq->armed == 2 && (cqe->flags & DPA_CQE_F_SOLICITED));
	if (fire)
		cq->armed = 0;
	dpa_hw_cq_unlock(cq);
	if (fire && cq->attr.comp)
		cq->attr.comp(cq->attr.comp_arg);
}

/* ---------------------------------------------------------------------- SRQ */

int dpa_hw_create_srq(struct dpa_hw_ctx *ctx, const struct dpa_srq_attr *attr,
		      struct dpa_hw_srq **srq, uint32_t *srqn)
{
	*srq = calloc(1, sizeof(**srq));
	(*srq)->attr = *attr;
	*srqn = next_number++;
	fake.srqs++;
	return 0;
}

int dpa_hw_set_srq_limit(struct dpa_hw_srq *srq, uint32_t limit)
{
	srq->limit = limit;
	return 0;
}

uint32_t dpa_hw_get_srq_limit(struct dpa_hw_srq *srq)
{
	return srq->limit;
}

int dpa_hw_resize_srq(struct dpa_hw_srq *srq, void *buf, uint32_t log_size)
{
	srq->attr.buf = buf;
	srq->attr.log_size = log_size;
	return 0;
}

int dpa_hw_destroy_srq(struct dpa_hw_srq *srq)
{
	fake.srqs--;
	free(srq);
	return 0;
}

void dpa_hw_srq_lock(struct dpa_hw_srq *srq)
{
}

void dpa_hw_srq_unlock(struct dpa_hw_srq *srq)
{
}

/* ----------------------------------------------------------------------- QP */

int dpa_hw_create_qp(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *attr,
		     struct dpa_hw_qp **out, struct dpa_qp_info *info)
{
	struct dpa_hw_qp *qp;
	int ret = fail_once(&fake_fail_create_qp);

	if (ret)
		return ret;
	qp = aligned_alloc(64, (sizeof(*qp) + 63) & ~(size_t)63);
	memset(qp, 0, sizeof(*qp));
	qp->attr = *attr;
	qp->qpn = next_number++;
	if (attr->send_cq) { /* an XRC target has none */
		attr->send_cq->refs++;
		attr->recv_cq->refs++;
	}
	*info = (struct dpa_qp_info){
		.qpn = qp->qpn, .slot = &qp->slot, .placement = &qp->placement};
	*out = qp;
	fake.qps++;
	return 0;
}

int dpa_hw_destroy_qp(struct dpa_hw_qp *qp)
{
	if (qp->attr.send_cq) {
		qp->attr.send_cq->refs--;
		qp->attr.recv_cq->refs--;
	}
	fake.qps--;
	free(qp);
	return 0;
}

int dpa_hw_modify_qp(struct dpa_hw_qp *qp, const struct dpa_qp_attr *attr, uint32_t mask)
{
	uint32_t state = mask & DPA_QPM_STATE ? attr->state : qp->state.state;

	if (mask != DPA_QPM_STATE)
		qp->state = *attr;
	qp->state.state = state;
	qp->last_mask = mask;
	return 0;
}

int dpa_hw_query_qp(struct dpa_hw_qp *qp, struct dpa_qp_attr *attr)
{
	*attr = qp->state;
	return 0;
}

void dpa_hw_ring_sq(struct dpa_hw_qp *qp)
{
	atomic_fetch_add_explicit(&qp->rings, 1, memory_order_relaxed);
}

void dpa_hw_kick_sq(struct dpa_hw_qp *qp)
{
	atomic_fetch_add_explicit(&qp->kicks, 1, memory_order_relaxed);
}

void dpa_hw_ring_rq(struct dpa_hw_qp *qp)
{
	atomic_fetch_add_explicit(&qp->rq_rings, 1, memory_order_relaxed);
}

int dpa_hw_set_placement(struct dpa_hw_qp *qp, uint32_t placement, int eu)
{
	qp->placement = placement;
	return 0;
}

int dpa_hw_watch_sq(struct dpa_hw_qp *qp, const uint64_t *word)
{
	qp->watched = word;
	return 0;
}

/* ----------------------------------------------------------------- the rest */

void dpa_hw_idle(struct dpa_hw_ctx *ctx)
{
}

int dpa_hw_progress(struct dpa_hw_ctx *ctx)
{
	fake_fn *f = atomic_exchange(&fake_on_progress, NULL);

	atomic_fetch_add(&fake.progress, 1);
	if (f)
		f();
	return f != NULL;
}

int dpa_hw_progress_held(struct dpa_hw_ctx *ctx)
{
	atomic_fetch_add(&fake.held, 1);
	return dpa_hw_progress(ctx);
}

int dpa_hw_wait_fd(struct dpa_hw_ctx *ctx, int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n = poll(&p, 1, timeout_ms);

	return n < 0 ? errno : n ? 0 : EAGAIN;
}

_Atomic int fake_answers;

int dpa_hw_wait_fd_beside(struct dpa_hw_ctx *ctx, int fd, int timeout_ms, bool answer)
{
	fake_answers += answer;
	return dpa_hw_wait_fd(ctx, fd, timeout_ms);
}

uint32_t dpa_hw_num_eus(struct dpa_hw_ctx *ctx)
{
	return 256;
}

void fake_event(enum dpa_event_type type, void *object)
{
	struct dpa_event ev = {.type = type, .port = 1, .user_handle = (uintptr_t)object};

	last_ctx->attr.event(last_ctx->attr.event_arg, &ev);
}

void fake_finish_sq(struct dpa_hw_qp *qp)
{
	struct dpa_dbrec *r = qp->attr.dbrec;

	__atomic_store_n(&r->sq_ci, __atomic_load_n(&r->sq_pi, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

void fake_take_rq(struct dpa_dbrec *dbrec, uint32_t n)
{
	__atomic_store_n(&dbrec->rq_ci, dbrec->rq_ci + n, __ATOMIC_RELEASE);
}

struct dpa_hw_cq *fake_cq(struct ibv_cq *cq)
{
	struct dpadv_cq out = {0};
	struct dpadv_obj obj = {.cq = {cq, &out}};
	int ret = dpadv_init_obj(&obj, DPADV_OBJ_CQ);

	assert(!ret);
	return ret ? NULL : out.hw;
}

struct dpa_hw_qp *fake_qp(struct ibv_qp *qp)
{
	struct dpadv_qp out = {0};
	struct dpadv_obj obj = {.qp = {qp, &out}};
	int ret = dpadv_init_obj(&obj, DPADV_OBJ_QP);

	assert(!ret);
	return ret ? NULL : out.hw;
}

struct dpa_hw_srq *fake_srq(struct ibv_srq *srq)
{
	struct dpadv_srq out = {0};
	struct dpadv_obj obj = {.srq = {srq, &out}};
	int ret = dpadv_init_obj(&obj, DPADV_OBJ_SRQ);

	assert(!ret);
	return ret ? NULL : out.hw;
}

int dpa_hw_alloc_mw(struct dpa_hw_ctx *ctx, uint32_t pdn, uint32_t type, uint32_t *rkey)
{
	*rkey = next_number++ << 8 | 0xff;
	fake.mws++;
	return 0;
}

int dpa_hw_dealloc_mw(struct dpa_hw_ctx *ctx, uint32_t rkey)
{
	fake.freed_mw = rkey;
	fake.mws--;
	return 0;
}

/* --------------------------------------------- opened again, device memory, advice */

int dpa_hw_open_again(struct dpa_hw_ctx *of, const struct dpa_hw_open_attr *attr,
		      struct dpa_hw_ctx **ctx)
{
	fake.opened_again++;
	return dpa_hw_open(attr, ctx);
}

int dpa_hw_find_pd(struct dpa_hw_ctx *ctx, uint32_t pdn)
{
	return pdn < next_number ? 0 : ENOENT;
}

int dpa_hw_query_mr(struct dpa_hw_ctx *ctx, uint32_t key, struct dpa_mr_attr *attr)
{
	*attr = fake_last_mr;
	return key < next_number ? 0 : ENOENT;
}

struct dpa_prefetch fake_last_prefetch;

int dpa_hw_prefetch_mr(struct dpa_hw_ctx *ctx, const struct dpa_prefetch *p)
{
	fake_last_prefetch = *p;
	return 0;
}

static uint8_t dm_bytes[4096];

int dpa_hw_alloc_dm(struct dpa_hw_ctx *ctx, uint64_t length, uint32_t log_align, uint32_t *handle,
		    void **mem)
{
	if (length > sizeof(dm_bytes))
		return ENOMEM;
	*handle = next_number++;
	*mem = dm_bytes;
	fake.dms++;
	return 0;
}

int dpa_hw_free_dm(struct dpa_hw_ctx *ctx, uint32_t handle)
{
	fake.dms--;
	return 0;
}

int dpa_hw_find_dm(struct dpa_hw_ctx *ctx, uint32_t handle, void **mem, uint64_t *length)
{
	*mem = dm_bytes;
	*length = sizeof(dm_bytes);
	return handle < next_number ? 0 : ENOENT;
}

/* --------------------------------------------------------------------- XRC */

int dpa_hw_open_xrcd(struct dpa_hw_ctx *ctx, const struct dpa_xrcd_attr *attr, uint32_t *num)
{
	*num = next_number++;
	return 0;
}

int dpa_hw_close_xrcd(struct dpa_hw_ctx *ctx, uint32_t num)
{
	return 0;
}

int dpa_hw_open_qp(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, uint64_t user_handle,
		   struct dpa_hw_qp **qp, struct dpa_qp_info *info)
{
	return EINVAL;
}

int dpa_hw_close_qp(struct dpa_hw_qp *qp, uint64_t user_handle)
{
	return dpa_hw_destroy_qp(qp);
}

int dpa_hw_tap_cq(struct dpa_hw_cq *cq, struct dpa_hw_cq *tap)
{
	return EINVAL;
}

int dpa_hw_modify_cq(struct dpa_hw_cq *cq, uint16_t count, uint16_t period)
{
	return 0;
}

static uint32_t groups;

int dpa_hw_attach_mcast(struct dpa_hw_qp *qp, const uint8_t gid[16])
{
	groups++;
	return 0;
}

int dpa_hw_detach_mcast(struct dpa_hw_qp *qp, const uint8_t gid[16])
{
	groups--;
	return 0;
}

uint32_t dpa_hw_num_mcast(struct dpa_hw_qp *qp)
{
	return groups;
}

static struct dpa_rate rate_now;

int dpa_hw_set_rate(struct dpa_hw_qp *qp, const struct dpa_rate *rate)
{
	rate_now = *rate;
	return 0;
}

void dpa_hw_get_rate(struct dpa_hw_qp *qp, struct dpa_rate *rate)
{
	*rate = rate_now;
}

int dpa_hw_srq_tag(struct dpa_hw_srq *srq, struct dpa_tag_op *op)
{
	return 0;
}
