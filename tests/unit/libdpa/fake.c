/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fake.h"
#include "fake_qp.h"
#include "libdpa/hw/hw.h"

struct fake_cq {
	struct ibv_cq cq;
	pthread_mutex_t lock;
	struct dpa_cqe *buf;
	uint32_t ci, pi, log_size;
	bool armed;
	dpa_comp_fn *comp;
	void *arg;
};

static struct ibv_device devices[3] = {{.name = "other0"}, {.name = "dpa0"}, {.name = "dpa0_sf1"}};
static bool fail_open, no_devices, no_sf;
static int opens, cqs, rings, pds, mrs, reg_err, reg_good, last_access;
static bool cq_busy;
static int destroy_cq_err;
static atomic_bool fake_failed;
static uint32_t num_eus = 8, max_run_time;
static char board_path[256];
static const struct dpa_pcc_ops *pcc_ops;
static void *pcc_port;

static struct {
	struct ibv_qp qp;
	_Alignas(64) uint8_t sq[16 * 64];
	_Alignas(64) uint8_t rq[8 * 64];
	struct dpa_dbrec dbrec;
	struct dpa_uar_slot slot;
	uint32_t placement;
} qp;

int fake_cqs(void)
{
	return cqs;
}

int fake_opens(void)
{
	return opens;
}

void fake_set_cq_busy(bool busy)
{
	cq_busy = busy;
}

void fake_fail_destroy_cq(int err)
{
	destroy_cq_err = err;
}

void fake_set_num_eus(uint32_t n)
{
	num_eus = n;
}

void fake_set_max_run_time(uint32_t seconds)
{
	max_run_time = seconds;
}

void fake_set_pcc(const struct dpa_pcc_ops *ops, void *port)
{
	pcc_ops = ops;
	pcc_port = port;
}

void fake_set_board_path(const char *path)
{
	snprintf(board_path, sizeof(board_path), "%s", path);
}

bool fake_qp_failed(void)
{
	return atomic_load(&fake_failed);
}

int fake_rings(void)
{
	return rings;
}

struct ibv_qp *fake_qp(struct ibv_context *ctx)
{
	memset(&qp, 0, sizeof(qp));
	qp.qp.context = ctx;
	qp.qp.qp_type = IBV_QPT_RC;
	return &qp.qp;
}

struct dpa_dbrec *fake_dbrec(void)
{
	return &qp.dbrec;
}

uint8_t *fake_sq(void)
{
	return qp.sq;
}

uint8_t *fake_rq(void)
{
	return qp.rq;
}

struct dpa_uar_slot *fake_slot(void)
{
	return &qp.slot;
}

void fake_push(struct ibv_cq *ibcq, const struct dpa_cqe *cqe)
{
	struct fake_cq *cq = (struct fake_cq *)ibcq;
	struct dpa_cqe *e;

	pthread_mutex_lock(&cq->lock);
	e = &cq->buf[cq->pi & ((1u << cq->log_size) - 1)];
	memcpy(e, cqe, offsetof(struct dpa_cqe, opcode));
	dpa_cqe_publish(e, cqe, dpa_cqe_owner(cq->pi, cq->log_size));
	cq->pi++;
	if (cq->armed && cq->comp) {
		cq->armed = false;
		cq->comp(cq->arg);
	}
	pthread_mutex_unlock(&cq->lock);
}

void fake_push_recv(struct ibv_cq *cq, uint64_t wr_id)
{
	struct dpa_cqe e = {.wr_id = wr_id, .qpn = 7, .user_index = 9, .opcode = DPA_CQE_RECV};

	fake_push(cq, &e);
}

/* ------------------------------------------------------------- libibverbs */

struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list;

	if (no_devices)
		return NULL;
	list = calloc(4, sizeof(*list));
	if (!list)
		return NULL;
	*num = no_sf ? 2 : 3;
	for (int i = 0; i < *num; i++)
		list[i] = &devices[i];
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	static const uint8_t guid[8] = {0x02, 0xd9, 0xa0, 1, 2, 3, 4, 0};
	__be64 out;

	memcpy(&out, guid, sizeof(out));
	return out + ((__be64)(device == &devices[2]) << 56);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *ctx;
	bool fail = fail_open;

	fail_open = false;
	if (fail) {
		errno = EIO;
		return NULL;
	}
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return NULL;
	ctx->device = device;
	ctx->num_comp_vectors = FAKE_COMP_VECTORS;
	opens++;
	return ctx;
}

int ibv_close_device(struct ibv_context *ctx)
{
	opens--;
	free(ctx);
	return 0;
}

void fake_fail_open(void)
{
	fail_open = true;
}

void fake_no_sf(bool none)
{
	no_sf = none;
}

void fake_no_devices(bool none)
{
	no_devices = none;
}

int fake_pds(void)
{
	return pds;
}

int fake_mrs(void)
{
	return mrs;
}

void fake_fail_reg(int err)
{
	fake_fail_reg_after(0, err);
}

void fake_fail_reg_after(int n, int err)
{
	reg_good = n;
	reg_err = err;
}

int fake_last_access(void)
{
	return last_access;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->context = ctx;
	pds++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	pds--;
	free(pd);
	return 0;
}

/* Both keys are equal, as with the provider. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	static uint32_t key = 0x100;
	struct ibv_mr *mr;

	if (reg_err && !reg_good--) {
		errno = reg_err;
		reg_err = 0;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	mr->pd = pd;
	mr->context = pd->context;
	mr->addr = addr;
	mr->length = length;
	last_access = (int)access;
	mr->lkey = mr->rkey = key++;
	fake_qp_add_mr(mr, access);
	mrs++;
	return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

static uint64_t last_dmabuf_offset;

uint64_t fake_last_dmabuf_offset(void)
{
	return last_dmabuf_offset;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	last_dmabuf_offset = offset;
	return ibv_reg_mr(pd, (void *)(uintptr_t)iova, length, access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	mrs--;
	fake_qp_drop_mr(mr);
	free(mr);
	errno = EBADF; /* a call that succeeds may set it */
	return 0;
}

/* ----------------------------------------------------------- the provider */

bool dpa_hwif_is_dpa(struct ibv_device *dev)
{
	return !strncmp(dev->name, "dpa0", 4);
}

uint32_t dpa_hwif_function(struct ibv_device *dev, char pci_addr[16])
{
	uint32_t n = dev == &devices[2];

	snprintf(pci_addr, 16, "d9a0:00:00.%u", n & 7);
	return n;
}

/* dpa0 has three addresses of eth7, the SF has one without an interface. */
int dpa_hwif_port_file(uint32_t function, const char *name, char *text, size_t len)
{
	static const char *const gids[] = {"fd00:0000:0000:0000:0000:0000:0000:00ab\n",
					   "0000:0000:0000:0000:0000:ffff:0a01:0203\n",
					   "0000:0000:0000:0000:0000:ffff:0a01:0204\n",
					   "0000:0000:0000:0000:0000:0000:0000:0000\n"};
	static const char sf[] = "fe80:0000:0000:0000:00d9:a001:0203:0401\n";
	int index;

	if (!strcmp(name, "rate"))
		return snprintf(text, len, "25 Gb/sec (1X EDR)\n");
	if (!strcmp(name, "lid")) /* an InfiniBand port of the SF */
		return snprintf(text, len, function ? "0x2\n" : "0x0\n");
	index = atoi(strrchr(name, '/') + 1);
	if (!strncmp(name, "gids/", 5))
		return snprintf(text, len, "%s",
				!function    ? gids[index < 3 ? index : 3]
				: index == 0 ? sf
					     : gids[3]);
	return !strcmp(name, "gid_attrs/ndevs/0") && !function ? snprintf(text, len, "eth7\n") : -1;
}

static bool clock_fails;

void fake_fail_clock(bool fails)
{
	clock_fails = fails;
}

int dpa_hwif_raw_clock(struct ibv_context *ctx, struct timespec *now)
{
	return clock_fails ? EOPNOTSUPP : clock_gettime(CLOCK_MONOTONIC, now) ? errno : 0;
}

uint32_t dpa_hwif_num_eus(struct ibv_context *ctx)
{
	return num_eus;
}

void dpa_hwif_query_board(struct ibv_context *ctx, struct dpa_hwif_board *board)
{
	board->path = board_path;
	board->max_run_time = max_run_time;
}

const struct dpa_pcc_ops *dpa_hwif_pcc(struct ibv_context *ctx, void **port)
{
	*port = pcc_port;
	return pcc_ops;
}

static const struct dpa_trace_ops *trace_ops;

void fake_set_trace(const struct dpa_trace_ops *ops)
{
	trace_ops = ops;
}

const struct dpa_trace_ops *dpa_hwif_trace(void)
{
	return trace_ops;
}

const struct dpa_inject_ops *dpa_hwif_inject(void)
{
	return NULL; /* nothing is injected */
}

int dpa_hwif_progress(struct ibv_context *ctx)
{
	return 0;
}

void dpa_hwif_idle(struct ibv_context *ctx)
{
}

int dpa_hwif_create_cq(struct ibv_context *ctx, uint32_t entries, dpa_comp_fn *comp, void *arg,
		       struct ibv_cq **out, struct dpa_cq_view *view)
{
	struct fake_cq *cq = calloc(1, sizeof(*cq));

	while (1u << cq->log_size < entries)
		cq->log_size++;
	cq->buf = calloc(1u << cq->log_size, sizeof(*cq->buf));
	pthread_mutex_init(&cq->lock, NULL);
	cq->comp = comp;
	cq->arg = arg;
	cqs++;
	*out = &cq->cq;
	*view = (struct dpa_cq_view){
		.buf = cq->buf, .ci = &cq->ci, .log_size = cq->log_size, .hw = cq};
	return 0;
}

int dpa_hwif_destroy_cq(struct ibv_cq *ibcq)
{
	struct fake_cq *cq = (struct fake_cq *)ibcq;

	if (destroy_cq_err)
		return destroy_cq_err;
	if (cq_busy || fake_qp_uses(ibcq))
		return EBUSY;
	pthread_mutex_destroy(&cq->lock);
	free(cq->buf);
	free(cq);
	cqs--;
	return 0;
}

void dpa_hwif_arm_cq(const struct dpa_cq_view *view)
{
	struct fake_cq *cq = view->hw;

	pthread_mutex_lock(&cq->lock);
	cq->armed = true;
	pthread_mutex_unlock(&cq->lock);
}

void dpa_hwif_fail_qp(struct ibv_qp *ibqp)
{
	fake_qp_fail(ibqp);
	atomic_store(&fake_failed, true);
}

int dpa_hwif_view_qp(struct ibv_qp *ibqp, struct dpa_qp_view *view)
{
	if (ibqp != &qp.qp)
		return fake_qp_view(ibqp, view);
	*view = (struct dpa_qp_view){
		.sq = qp.sq,
		.rq = qp.rq,
		.dbrec = &qp.dbrec,
		.slot = &qp.slot,
		.placement = &qp.placement,
		.hw = &qp,
		.log_sq = 4,
		.log_rq = 3,
		.max_send_sge = 8,
		.max_recv_sge = 2,
		.qpn = 7,
		.type = DPA_QP_RC,
	};
	return 0;
}

void dpa_hwif_ring_sq(const struct dpa_qp_view *view)
{
	if (view->hw == &qp)
		rings++;
	else
		fake_qp_ring(view->hw);
}

void dpa_hwif_ring_rq(const struct dpa_qp_view *view)
{
}

int dpa_hwif_view_srq(struct ibv_srq *srq, struct dpa_srq_view *view)
{
	return EINVAL;
}
