/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpadv_table.h - the interface between a provider's library and libdpadv.so.1: the provider
 * exports its direct verbs as the dynamic symbol `dpadv_table`. There is one provider for each
 * private ABI number of libibverbs, and one libdpadv.so.1 for all of them.
 */
#ifndef DPADV_TABLE_H
#define DPADV_TABLE_H

#include <stddef.h>
#include "dpadv.h"

/* The members are the calls of dpadv.h with the same names. New ones are added at the end. */
struct dpa_inject_ops;
struct dpa_trace_ops;
struct dpadv_table {
	uint32_t size; /* size of this provider's table */
	/* DPA_HW_VERSION of the structures behind the pointers that it returns */
	uint32_t hw_version;
	bool (*is_supported)(struct ibv_device *device);
	int (*query_function)(struct ibv_device *device, struct dpadv_function *fn);
	int (*init_obj)(struct dpadv_obj *obj, uint64_t obj_type);
	struct ibv_cq *(*create_cq)(struct ibv_context *context, struct dpadv_cq_init_attr *attr);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				    const struct dpadv_qp_init_attr *dv);
	int (*set_placement)(struct ibv_qp *qp, enum dpa_placement placement, int eu);
	int (*progress)(struct ibv_context *context);
	void (*idle)(struct ibv_context *context);
	int (*wait_fd)(struct ibv_context *context, int fd, int timeout_ms);
	uint32_t (*num_eus)(struct ibv_context *context);
	int (*query_board)(struct ibv_context *context, struct dpadv_board *board);
	void (*ring_sq)(struct dpa_hw_qp *qp);
	void (*kick_sq)(struct dpa_hw_qp *qp);
	void (*ring_rq)(struct dpa_hw_qp *qp);
	void (*arm_cq)(struct dpa_hw_cq *cq, bool solicited_only);
	bool (*may_read)(struct dpa_hw_qp *qp, uint32_t lkey, uint64_t addr, uint64_t length);
	int (*port_file)(unsigned function, const char *name, char *text, size_t len);
	int (*watch_sq)(struct ibv_qp *qp, const uint64_t *word);
	struct ibv_mr *(*reg_foreign_mr)(struct ibv_pd *pd, const struct dpadv_foreign_mr *mr);
	const struct dpa_pcc_ops *(*query_pcc)(struct ibv_context *context, void **port);
	/* not calls: dpadv_trace_points() and dpadv_inject_points() return them */
	const struct dpa_trace_ops *trace_points;
	const struct dpa_inject_ops *inject_points;
};

#endif
