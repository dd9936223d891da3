/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * layout.h - the file by which a process publishes its DPA threads and EUs to tools.
 *
 * BOARD.dpa-PID-XXXXXX lies beside the adapter state file and belongs to the same user. Its process
 * holds a write lock (fcntl) on the first byte as long as it lives: a file without a lock belongs
 * to a dead process, and any process may remove it.
 *
 * The process writes, tools read; only `collect_until` and the base_* fields are written by tools.
 * All accesses are relaxed: the numbers are for users, each correct by itself.
 */
#ifndef DPA_STAT_LAYOUT_H
#define DPA_STAT_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_STAT_MAGIC	 0x31544154534150ull /* "PASTAT1" */
#define DPA_STAT_VERSION 1
#define DPA_STAT_TASKS	 512
#define DPA_STAT_EUS	 256
#define DPA_STAT_NAME	 40
#define DPA_STAT_ERROR	 104
#define DPA_STAT_PATTERN ".dpa-"

/* Kinds of tasks: a DPA thread; all launches of a kernel; all calls of an RPC. */
enum dpa_stat_kind { DPA_STAT_FREE, DPA_STAT_THREAD, DPA_STAT_KERNEL, DPA_STAT_RPC };

/* 8 + 4 * 4 + 8 + 2 * 16 + 8 + 2 * 4 + 176 = 256 */
struct dpa_stat_head {
	uint64_t magic; /* written last */
	uint32_t version;
	uint32_t num_eus;
	uint32_t pid, uid;
	uint64_t start_ns; /* CLOCK_REALTIME */
	char comm[16];
	char device[16]; /* device of the first context */
	/*
	 * Written by tools: cycles and instructions are counted until this time (CLOCK_MONOTONIC
	 * ns).
	 */
	_Atomic uint64_t collect_until;
	uint32_t max_run_time;	    /* s; 0: no limit */
	_Atomic uint32_t num_tasks; /* entries that were ever used */
	uint8_t rsvd[176];
};

/* 8 * 4 + 5 * 8 + 5 * 8 + 40 + 104 = 256 */
struct dpa_stat_task {
	_Atomic uint32_t kind;	 /* enum dpa_stat_kind; written last (release) */
	uint32_t id;		 /* of the thread, never used again in this process */
	uint32_t context;	 /* number of the context in the process: 1.. */
	_Atomic int32_t eu;	 /* EU of its last run; -1: none yet */
	_Atomic uint32_t failed; /* `error` has the reason (release) */
	uint32_t rsvd[3];
	/* up to the end of the last run; the EUs' records show present runs */
	_Atomic uint64_t runs; /* begun */
	_Atomic uint64_t ns;
	_Atomic uint64_t counted; /* runs for which the next two were counted */
	_Atomic uint64_t cycles;
	_Atomic uint64_t instructions;
	/* values at the last reset; written by tools */
	_Atomic uint64_t base_runs, base_ns, base_cycles, base_instructions;
	_Atomic uint64_t base_counted;
	char name[DPA_STAT_NAME];
	char error[DPA_STAT_ERROR];
};

/* 64. A shared EU shows one of its tasks. */
struct dpa_stat_eu {
	_Atomic uint32_t task; /* index + 1 of the task that runs there; 0: none */
	uint32_t rsvd;
	_Atomic uint64_t since_ns; /* CLOCK_MONOTONIC */
	_Atomic uint64_t runs, ns;
	uint8_t rsvd2[32];
};

struct dpa_stat_file {
	struct dpa_stat_head head;
	struct dpa_stat_task tasks[DPA_STAT_TASKS];
	struct dpa_stat_eu eus[DPA_STAT_EUS];
};

static_assert(sizeof(struct dpa_stat_head) == 256, "head");
static_assert(sizeof(struct dpa_stat_task) == 256, "task");
static_assert(sizeof(struct dpa_stat_eu) == 64, "eu");

#endif
