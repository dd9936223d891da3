/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rig.h - an RDMA context whose DPA thread executes commands of the test, on the real device, and
 * verbs peers of it in the same process.
 */
#ifndef TEST_RDMA_RIG_H
#define TEST_RDMA_RIG_H

#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <doca_mmap.h>
#include <doca_rdma.h>
#include <doca_sync_event.h>
#include <dpa/dpa_native.h>
#include <dpa/dpa_rdma.h>
#include <infiniband/verbs.h>
#include "cmds.h"

#define OK(call)       cr_assert_eq((call), DOCA_SUCCESS)
#define IS(call, code) cr_assert_eq((call), DOCA_ERROR_##code)

#define FLUSH	 1u
#define OPTIMIZE 2u

enum { RIG_CONNS = 2, RIG_MEM = 1 << 20, RIG_QUEUE = 16 };

/* A verbs program's side of a connection. */
struct peer {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

struct rig {
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	struct doca_dpa_completion *comp, *ctl;
	struct board *board;
	struct doca_sync_event *seq, *done;
	uint64_t commands; /* so far */
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	struct doca_rdma_connection *conn[RIG_CONNS];
	uint64_t handle;
	uint8_t *mem; /* local memory of the DPA side, with its map and key */
	struct doca_mmap *map;
	uint32_t key;
	/* the verbs side */
	struct ibv_context *ctx2;
	struct ibv_pd *pd2;
	uint8_t *mem2;
	struct ibv_mr *mr2;
	struct peer peer[RIG_CONNS];
	bool foul; /* the DPA context is in the fatal state: the thread executes no more commands */
};

struct doca_dev *open_dpa0(void);
/* Open the device and start the DPA context, nothing else. */
void rig_open(struct rig *r);
/*
 * Also start the serving thread, and make a doca_rdma with all its settings that is not started
 * yet.
 */
void rig_make(struct rig *r);
/* Also start the context, with its connections to peers. */
void rig_start(struct rig *r);
/* Call rig_make() and rig_start(). */
void rig_up(struct rig *r);
void rig_down(struct rig *r);

/* Connect with a peer made here. */
void rig_connect(struct rig *r, int i);
void peer_make(struct rig *r, struct peer *p, struct dpa_rdma_details *d);
void peer_join(struct peer *p, const struct dpa_rdma_details *remote);
void peer_destroy(struct peer *p);

/* Give a command and wait until it was carried out. */
void rig_do(struct rig *r, struct cmd c);
/* Do the same without waiting; rig_wait() waits. */
void rig_begin(struct rig *r, struct cmd c);
void rig_wait(struct rig *r);
/* True: it is done; false: the DPA context entered the fatal state instead. */
bool rig_wait_or_fault(struct rig *r);
/* Poll until there is an element. */
struct element rig_element(struct rig *r);
/* Return whether polling for a while found no element. */
bool rig_no_element(struct rig *r);

void peer_recv(struct rig *r, int i, uint64_t wr_id, uint64_t offset, uint32_t length);
/* Return the next completion of a peer. */
struct ibv_wc peer_wc(struct rig *r, int i);
bool peer_no_wc(struct rig *r, int i);
void peer_send(struct rig *r, int i, enum ibv_wr_opcode op, uint64_t offset, uint32_t length,
	       uint32_t imm);

/* Make a send of the DPA side from `offset` of its memory. */
static inline struct cmd send_cmd(struct rig *r, uint64_t op, uint64_t offset, uint64_t length,
				  uint32_t flags)
{
	return (struct cmd){.op = op,
			    .rdma = r->handle,
			    .flags = flags,
			    .local_key = r->key,
			    .local = (uintptr_t)r->mem + offset,
			    .length = length};
}

/* Make it an operation on `remote` of the peer's memory. */
static inline struct cmd rdma_cmd(struct rig *r, uint64_t op, uint64_t offset, uint64_t remote,
				  uint64_t length, uint32_t flags)
{
	struct cmd c = send_cmd(r, op, offset, length, flags);

	c.remote_key = r->mr2->rkey;
	c.remote = (uintptr_t)r->mem2 + remote;
	return c;
}

#endif
