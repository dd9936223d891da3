/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "fake.h"
#include "libdpa/eu/hw.h"

struct fake_cq {
	struct ibv_cq cq;
	pthread_mutex_t lock;
	struct dpa_cqe *buf;
	uint32_t ci, pi, log_size;
	bool armed;
	dpa_comp_fn *comp;
	void *arg;
};

static struct ibv_device devices[2] = {{.name = "other0"}, {.name = "dpa0"}};
static int opens, cqs, rings;
static bool cq_busy;
static uint32_t num_eus = 8;

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

void fake_set_num_eus(uint32_t n)
{
	num_eus = n;
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
	memcpy(e, cqe, offsetof(struct dpa_cqe, owner));
	__atomic_store_n(&e->owner, dpa_cqe_owner(cq->pi, cq->log_size), __ATOMIC_RELEASE);
	cq->pi++;
	if (cq->armed) {
		cq->armed = false;
		cq->comp(cq->arg);
	}
	pthread_mutex_unlock(&cq->lock);
}

void fake_push_recv(struct ibv_cq *cq, uint64_t wr_id)
{
	struct dpa_cqe e = {.wr_id = wr_id, .qpn = 7, .opcode = DPA_CQE_RECV};

	fake_push(cq, &e);
}

/* ------------------------------------------------------------- libibverbs */

struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list = calloc(3, sizeof(*list));

	list[0] = &devices[0];
	list[1] = &devices[1];
	*num = 2;
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

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *ctx = calloc(1, sizeof(*ctx));

	ctx->device = device;
	opens++;
	return ctx;
}

int ibv_close_device(struct ibv_context *ctx)
{
	opens--;
	free(ctx);
	return 0;
}

/* ----------------------------------------------------------- the provider */

bool dpa_hwif_is_dpa(struct ibv_device *dev)
{
	return !strcmp(dev->name, "dpa0");
}

uint32_t dpa_hwif_num_eus(struct ibv_context *ctx)
{
	return num_eus;
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

	if (cq_busy)
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

int dpa_hwif_view_qp(struct ibv_qp *ibqp, struct dpa_qp_view *view)
{
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
	rings++;
}

void dpa_hwif_ring_rq(const struct dpa_qp_view *view)
{
}
