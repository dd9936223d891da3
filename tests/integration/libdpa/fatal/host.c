/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * host.c - fatal ROUNDS PREFIX: in each round a context on dpa0 with a QP, a launch that spins and
 * an RPC that faults; all code of the context must have ended, all objects must be destroyable, and
 * another context must continue to work.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <dpa/dpa_native.h>
#include <infiniband/verbs.h>
#include "kinds.h"

extern struct doca_dpa_app *fatal_app;
doca_dpa_func_t go_wrong, spin;

#define NEED(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "line %d: not so: %s\n", __LINE__, #what);                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define OK(call) NEED((call) == DOCA_SUCCESS)

static struct doca_dev *open_dpa0(void)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	struct doca_dev *dev = NULL;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !dev; i++)
		if (doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)) == DOCA_SUCCESS &&
		    !strcmp(name, "dpa0"))
			OK(doca_dev_open(list[i], &dev));
	OK(doca_devinfo_destroy_list(list));
	NEED(dev);
	return dev;
}

static struct doca_dpa *new_context(struct doca_dev *dev, const char *log)
{
	struct doca_dpa *dpa;

	OK(doca_dpa_create(dev, &dpa));
	OK(doca_dpa_set_app(dpa, fatal_app));
	if (log)
		OK(doca_dpa_log_file_set_path(dpa, log));
	OK(doca_dpa_start(dpa));
	return dpa;
}

/* A QP of device code, connected to itself. */
struct queue {
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct dpa_qp *dqp;
	struct doca_dpa_completion *comp;
};

static void make_queue(struct doca_dev *dev, struct doca_dpa *dpa, struct queue *q)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_context *ctx;
	struct ibv_cq *cq;

	OK(doca_dpa_completion_create(dpa, 16, &q->comp));
	OK(doca_dpa_completion_start(q->comp));
	OK(dpa_dev_get_ibv_context(dev, &ctx));
	OK(dpa_completion_get_ibv_cq(q->comp, &cq));
	NEED(q->pd = ibv_alloc_pd(ctx));
	init.send_cq = init.recv_cq = cq;
	NEED(q->qp = ibv_create_qp(q->pd, &init));
	NEED(!ibv_modify_qp(q->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	OK(dpa_qp_export(dpa, q->qp, &q->dqp));
}

static enum ibv_qp_state state_of(struct queue *q)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	NEED(!ibv_query_qp(q->qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

static void free_queue(struct queue *q)
{
	OK(dpa_qp_unexport(q->dqp));
	NEED(!ibv_destroy_qp(q->qp));
	NEED(!ibv_dealloc_pd(q->pd));
	OK(doca_dpa_completion_destroy(q->comp));
}

static void fail_once(struct doca_dev *dev, uint64_t kind, const char *log)
{
	struct doca_dpa *dpa = new_context(dev, log);
	doca_dpa_dev_uintptr_t mark;
	uint64_t ret = 99;
	struct queue q;

	make_queue(dev, dpa, &q);
	OK(doca_dpa_mem_alloc(dpa, 8, &mark));
	OK(doca_dpa_memset(dpa, mark, 0, 8));
	if (kind != KIND_LOOP) /* which of both is ended first? */
		OK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &spin, mark));
	while (kind != KIND_LOOP && !__atomic_load_n((uint64_t *)(uintptr_t)mark, __ATOMIC_ACQUIRE))
		sched_yield();
	OK(doca_dpa_peek_at_last_error(dpa));
	NEED(state_of(&q) == IBV_QPS_INIT);
	NEED(doca_dpa_rpc(dpa, &go_wrong, &ret, kind) != DOCA_SUCCESS);
	NEED(doca_dpa_peek_at_last_error(dpa) == DOCA_ERROR_BAD_STATE);
	NEED(state_of(&q) == IBV_QPS_ERR);
	NEED(doca_dpa_rpc(dpa, &go_wrong, &ret, (uint64_t)KINDS) != DOCA_SUCCESS);
	NEED(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &spin, mark) !=
	     DOCA_SUCCESS);
	free_queue(&q);
	OK(doca_dpa_destroy(dpa));
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 30, ret = 0;
	uint64_t only = argc > 3 ? strtoull(argv[3], NULL, 10) : KINDS;
	struct doca_dev *dev = open_dpa0();
	struct doca_dpa *good = new_context(dev, NULL);

	for (uint64_t i = 0; i < rounds; i++) {
		fail_once(dev, only < KINDS ? only : i % KINDS, argc > 2 ? argv[2] : NULL);
		OK(doca_dpa_rpc(good, &go_wrong, &ret, KINDS + i));
		NEED(ret == KINDS + i + 1);
		OK(doca_dpa_peek_at_last_error(good));
	}
	OK(doca_dpa_destroy(good));
	OK(doca_dev_close(dev));
	printf("%llu rounds, process %d\n", (unsigned long long)rounds, (int)getpid());
	return 0;
}
