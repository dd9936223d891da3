/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rig.h - common part of the tests of this folder: ../host.h with another shared structure. */
#ifndef TEST_EXEC_RIG_H
#define TEST_EXEC_RIG_H

#include "../host.h"

#include "kernels.h"

extern doca_dpa_func_t rpc_nothing, rpc_mix, rpc_big, rpc_place, rpc_log, rpc_notify, rpc_await,
	rpc_wait, rpc_spin, rpc_fault, rpc_misuse, kernel_note, kernel_args, kernel_order,
	kernel_wait, kernel_spin, kernel_meet, kernel_polite, kernel_fault, kernel_misuse,
	thread_note, thread_log, thread_wait, thread_fault, rpc_two_devices, rpc_take,
	rpc_set_device, rpc_memory, rpc_notify_by, thread_take, rpc_trace;

#define RIG_SHARED struct exec_shared

/* Open the device and start a context, with memory for struct exec_shared. */
void exec_rig_start(struct rig *r);
uint64_t exec_value(struct doca_sync_event *se);

/* A running thread of fn(shared), and its notification completion; `affinity` may be NULL. */
struct exec_thread {
	struct doca_dpa_thread *thread;
	struct doca_dpa_notification_completion *notify;
	uint64_t handle;
};
void exec_thread_new(struct rig *r, struct exec_thread *t, doca_dpa_func_t *fn,
		     struct doca_dpa_eu_affinity *affinity);
void exec_thread_free(struct exec_thread *t);
/* Notify through an RPC, as hello world does. */
void exec_notify(struct rig *r, struct exec_thread *t);

/* Return the content of a file, in a buffer that is valid until the next call. */
const char *exec_file(const char *path);
/* Make a new empty file; its path is in buf of 64 bytes. */
void exec_new_file(char *buf);

#endif
