/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cmds.h - commands of the host for a DPA thread. The thread runs once and carries out commands
 * until the command to finish: the host writes one, then sets the event `seq`; the thread sets the
 * event `done`. (By calls of the library, so that ThreadSanitizer sees the order.)
 */
#ifndef TEST_RDMA_CMDS_H
#define TEST_RDMA_CMDS_H

#include <stdint.h>

enum cmd_op {
	CMD_FINISH,
	CMD_POLL, /* one element of comp */
	CMD_ACK,
	CMD_RECV,
	CMD_RECV_ACK,
	CMD_SEND,
	CMD_SEND_IMM,
	CMD_WRITE,
	CMD_WRITE_IMM,
	CMD_READ,
	CMD_FETCH_ADD,
	CMD_BUF_RECV,
	CMD_BUF_SEND,
	CMD_BUF_SEND_IMM,
	CMD_BUF_WRITE,
	CMD_BUF_WRITE_IMM,
	CMD_BUF_READ,
	CMD_BUF_FETCH_ADD,
	CMD_SIGNAL_SET,
	CMD_SIGNAL_ADD,
	CMD_SEND_AND_CHANGE, /* the payload changes directly after the call */
};

struct cmd {
	uint64_t op;
	uint64_t rdma, conn;
	uint64_t flags, imm;
	uint64_t local_key, local, remote_key, remote, length;
	uint64_t value; /* for atomics and signals */
	uint64_t event;
	uint64_t times; /* 0 means once */
};

struct element {
	uint64_t found, type, user_data, imm, wr_index, bytes, status, qpn;
};

/* In device memory; host and thread access it in turns, except `sent`. */
struct board {
	uint64_t seq, done; /* events */
	uint64_t comp, ctl;
	uint64_t sent; /* calls of the command so far, by atomics */
	struct cmd cmd;
	struct element e;
};

/* Of a spinning thread; by atomics. */
struct counter {
	uint64_t n, stop;
};

#endif
