/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sync_task.h - tasks of sync events, for sync_task*.c. */
#ifndef DPA_SYNC_TASK_H
#define DPA_SYNC_TASK_H

#include "../common/pe.h"
#include "../host/libdpa.h"
#include "sync_event.h"
#include <doca_sync_event.h>

/* The common part of all kinds, which have their own names: doca_sync_event_task_*. */
struct dpa_se_task {
	struct doca_task task;
	struct doca_sync_event *se; /* referenced */
	enum dpa_se_task_kind kind;
	uint64_t value;		  /* SET, ADD, WAIT_* */
	uint64_t mask;		  /* WAIT_* */
	uint64_t *out;		  /* GET, ADD */
	struct dpa_se_task *next; /* next that has ended, or waits */
	bool watched;
	struct dpa_se_watch watch;
};

doca_error_t dpa_se_task_set_conf(struct doca_sync_event *se, enum dpa_se_task_kind kind,
				  dpa_se_task_fn *done, dpa_se_task_fn *failed, uint32_t num);
/* Allocate a task. NULL: none is left. */
struct dpa_se_task *dpa_se_task_new(struct doca_sync_event *se, enum dpa_se_task_kind kind,
				    union doca_data user_data);

#endif
