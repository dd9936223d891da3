/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_end.h - the two ends that doca_rdma.c compares: plain verbs (vt.h), and a doca_rdma of the
 * same process and device. Both do the same operations on memory of the same size.
 */
#ifndef DPA_BENCH_DOCA_END_H
#define DPA_BENCH_DOCA_END_H

#include "vt.h"

enum { MAX_BYTES = 65536, WINDOW = 64 };

/* The DOCA end. */
struct doca_end;

/* Create it and connect it with that of the other process. bytes: of a message. */
struct doca_end *doca_end_make(struct vt *t);
void doca_end_free(struct vt *t, struct doca_end *e);
/* Set the size of later operations. */
void doca_end_resize(struct doca_end *e, uint32_t bytes);
/* Post the i-th send or write of the window, or receive; each one is in flight once. */
void doca_end_send(struct doca_end *e, uint32_t i);
void doca_end_write(struct doca_end *e, uint32_t i);
void doca_end_receive(struct doca_end *e, uint32_t i);
/* Drive it. Adds the operations that have ended since to *sent and *received. */
void doca_end_progress(struct doca_end *e, uint32_t *sent, uint32_t *received);

#endif
