/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.c - device code of the RDMA tests: see cmds.h. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_buf.h>
#include <doca_dpa_dev_rdma.h>
#include <doca_dpa_dev_sync_event.h>
#include <dpa/dpa_dev_native.h>
#include "cmds.h"

static struct doca_dpa_dev_buf bufs[2]; /* 0: local, 1: remote */

static doca_dpa_dev_buf_t buf(int i, uint64_t key, uint64_t addr, uint64_t length)
{
	doca_dpa_dev_buf_t b = (uintptr_t)&bufs[i];

	doca_dpa_dev_buf_set_mmap(b, (doca_dpa_dev_mmap_t)key);
	doca_dpa_dev_buf_set_addr(b, addr);
	doca_dpa_dev_buf_set_len(b, length);
	if (doca_dpa_dev_buf_get_mmap(b) != (doca_dpa_dev_mmap_t)key ||
	    doca_dpa_dev_buf_get_addr(b) != addr || doca_dpa_dev_buf_get_len(b) != length)
		__builtin_trap();
	return b;
}

static void poll(struct board *b)
{
	doca_dpa_dev_completion_element_t e;

	b->e.found = (uint64_t)doca_dpa_dev_get_completion(b->comp, &e);
	if (!b->e.found)
		return;
	b->e.type = doca_dpa_dev_get_completion_type(e);
	b->e.user_data = doca_dpa_dev_get_completion_user_data(e);
	b->e.imm = doca_dpa_dev_get_completion_immediate(e);
	b->e.wr_index = doca_dpa_dev_rdma_completion_get_wr_index(e);
	b->e.bytes = dpa_dev_completion_byte_len(e);
	b->e.status = dpa_dev_completion_status(e);
	b->e.qpn = dpa_dev_completion_qpn(e);
}

static void by_mmap(const struct cmd *c)
{
	uint32_t conn = (uint32_t)c->conn, flags = (uint32_t)c->flags, imm = (uint32_t)c->imm;
	uint32_t lk = (uint32_t)c->local_key, rk = (uint32_t)c->remote_key;

	switch (c->op) {
	case CMD_RECV:
		doca_dpa_dev_rdma_post_receive(c->rdma, lk, c->local, c->length);
		break;
	case CMD_SEND:
		doca_dpa_dev_rdma_post_send(c->rdma, conn, lk, c->local, c->length, flags);
		break;
	case CMD_SEND_AND_CHANGE:
		doca_dpa_dev_rdma_post_send(c->rdma, conn, lk, c->local, c->length, flags);
		++*(uint64_t *)(uintptr_t)c->local;
		break;
	case CMD_SEND_IMM:
		doca_dpa_dev_rdma_post_send_imm(c->rdma, conn, lk, c->local, c->length, imm, flags);
		break;
	case CMD_WRITE:
		doca_dpa_dev_rdma_post_write(c->rdma, conn, rk, c->remote, lk, c->local, c->length,
					     flags);
		break;
	case CMD_WRITE_IMM:
		doca_dpa_dev_rdma_post_write_imm(c->rdma, conn, rk, c->remote, lk, c->local,
						 c->length, imm, flags);
		break;
	case CMD_READ:
		doca_dpa_dev_rdma_post_read(c->rdma, conn, lk, c->local, rk, c->remote, c->length,
					    flags);
		break;
	default:
		doca_dpa_dev_rdma_post_atomic_fetch_add(c->rdma, conn, rk, c->remote, c->value,
							flags);
	}
}

static void by_buf(const struct cmd *c)
{
	doca_dpa_dev_buf_t l = buf(0, c->local_key, c->local, c->length);
	doca_dpa_dev_buf_t r = buf(1, c->remote_key, c->remote, c->length);
	uint32_t conn = (uint32_t)c->conn, flags = (uint32_t)c->flags, imm = (uint32_t)c->imm;

	switch (c->op) {
	case CMD_BUF_RECV:
		doca_dpa_dev_rdma_post_buf_receive(c->rdma, l);
		break;
	case CMD_BUF_SEND:
		doca_dpa_dev_rdma_post_buf_send(c->rdma, conn, l, flags);
		break;
	case CMD_BUF_SEND_IMM:
		doca_dpa_dev_rdma_post_buf_send_imm(c->rdma, conn, l, imm, flags);
		break;
	case CMD_BUF_WRITE:
		doca_dpa_dev_rdma_post_buf_write(c->rdma, conn, r, l, flags);
		break;
	case CMD_BUF_WRITE_IMM:
		doca_dpa_dev_rdma_post_buf_write_imm(c->rdma, conn, r, l, imm, flags);
		break;
	case CMD_BUF_READ:
		doca_dpa_dev_rdma_post_buf_read(c->rdma, conn, l, r, flags);
		break;
	default:
		doca_dpa_dev_rdma_post_buf_atomic_fetch_add(c->rdma, conn, r, c->value, flags);
	}
}

static void carry_out(struct board *b)
{
	struct cmd *c = &b->cmd;

	if (c->op == CMD_POLL)
		poll(b);
	else if (c->op == CMD_ACK)
		doca_dpa_dev_completion_ack(b->comp, c->value);
	else if (c->op == CMD_RECV_ACK)
		doca_dpa_dev_rdma_receive_ack(c->rdma, (uint32_t)c->value);
	else if (c->op == CMD_SIGNAL_SET)
		doca_dpa_dev_rdma_signal_set(c->rdma, (uint32_t)c->conn, c->event, c->value);
	else if (c->op == CMD_SIGNAL_ADD)
		doca_dpa_dev_rdma_signal_add(c->rdma, (uint32_t)c->conn, c->event, c->value);
	else if (c->op >= CMD_BUF_RECV && c->op <= CMD_BUF_FETCH_ADD)
		by_buf(c);
	else
		by_mmap(c);
}

__dpa_global__ void serve(uint64_t arg)
{
	struct board *b = (struct board *)(uintptr_t)arg;
	doca_dpa_dev_completion_element_t e;

	for (uint64_t seq = 1, now = 0;; seq++) {
		/* polling for elements without success yields the processor */
		for (;; doca_dpa_dev_get_completion(b->ctl, &e)) {
			doca_dpa_dev_sync_event_get(b->seq, &now);
			if (now == seq)
				break;
		}
		if (b->cmd.op == CMD_FINISH)
			break;
		for (uint64_t i = 0; i < (b->cmd.times ? b->cmd.times : 1); i++) {
			__atomic_store_n(&b->sent, i, __ATOMIC_RELEASE);
			carry_out(b);
		}
		doca_dpa_dev_sync_event_update_set(b->done, seq);
	}
	doca_dpa_dev_sync_event_update_add(b->done, 1);
	doca_dpa_dev_thread_finish();
}

/* Spin until the command to stop, without a call. */
__dpa_global__ void count_up(uint64_t arg)
{
	struct counter *c = (struct counter *)(uintptr_t)arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED))
		__atomic_fetch_add(&c->n, 1, __ATOMIC_RELAXED);
	doca_dpa_dev_thread_finish();
}

__dpa_rpc__ uint64_t notify(uint64_t notification)
{
	doca_dpa_dev_thread_notify(notification);
	return 7;
}
