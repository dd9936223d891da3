/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * counter_file.c - counters of the adapter instance as files of sysfs: sums over all processes that
 * were ever attached. Read as tools do (dpa_board_peek()): no process is called or woken.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "board/board.h"
#include "dpa_hw_counters.h"

#ifndef DPA_LIB_VERSION
#define DPA_LIB_VERSION "0.1.0"
#endif

/* A file: the sum of up to two counters, in units of `unit`. */
struct counter_file {
	const char *name;
	enum dpa_counter first, second; /* equal: there is one only */
	uint32_t unit;
};

/*
 * IBA counts data in units of 4 bytes. A direct operation uses no packets. It counts as one in each
 * direction, because another process of this adapter receives what one sends.
 */
#define COUNTS_port_rcv_data	  DPA_CNT_rx_bytes, DPA_CNT_direct_bytes, 4
#define COUNTS_port_rcv_errors	  DPA_CNT_rx_malformed, DPA_CNT_rx_icrc_encapsulated, 1
#define COUNTS_port_rcv_packets	  DPA_CNT_rx_packets, DPA_CNT_direct_ops, 1
#define COUNTS_port_xmit_data	  DPA_CNT_tx_bytes, DPA_CNT_direct_bytes, 4
#define COUNTS_port_xmit_discards DPA_CNT_tx_dropped, DPA_CNT_tx_dropped, 1
#define COUNTS_port_xmit_packets  DPA_CNT_tx_packets, DPA_CNT_direct_ops, 1

static const struct counter_file files[] = {
#define X(file) {"counters/" #file, COUNTS_##file},
	DPA_PORT_COUNTERS(X)
#undef X
#define X(file) {"hw_counters/" #file, DPA_CNT_##file, DPA_CNT_##file, 1},
		DPA_HW_COUNTERS(X)
#undef X
};

static const struct counter_file *find_file(const char *name)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	return NULL;
}

/* Acquire: later loads come after it. */
static uint64_t load_file_counter(_Atomic uint64_t *counters, const struct counter_file *f)
{
	uint64_t n = 0;

	if (counters) {
		n = atomic_load_explicit(&counters[f->first], memory_order_acquire);
		if (f->second != f->first)
			n += atomic_load_explicit(&counters[f->second], memory_order_acquire);
	}
	return n;
}

/*
 * The counters of a process that ends are moved to those of the past. If that happens meanwhile the
 * sum is computed again; after a few tries it may miss a process, this once.
 */
static uint64_t sum_counters(struct dpa_board *b, const struct counter_file *f)
{
	_Atomic uint64_t *past = dpa_board_counters_past(b);
	uint64_t before, n;
	int tries = 8;

	do {
		n = before = load_file_counter(past, f);
		for (uint32_t i = dpa_board_proc_next(b, 0); i < DPA_BOARD_PROCS;
		     i = dpa_board_proc_next(b, i + 1))
			n += load_file_counter(dpa_board_counters(b, i), f);
	} while (--tries && load_file_counter(past, f) != before);
	return n;
}

int dpa_hw_counter_file(const char *board, const char *name, char *text, size_t len)
{
	struct dpa_board_cfg cfg = {.path = board, .lib_version = DPA_LIB_VERSION};
	const struct counter_file *f = find_file(name);
	struct dpa_board *b = NULL;
	uint64_t n = 0;
	char err[256];
	int ret;

	if (!f) {
		errno = ENOENT;
		return -1;
	}
	ret = dpa_board_peek(&cfg, &b, err, sizeof(err));
	if (ret && ret != ENOENT) { /* ENOENT: no process has the device open */
		errno = ret;
		return -1;
	}
	if (b) {
		n = sum_counters(b, f);
		dpa_board_unpeek(b);
	}
	return snprintf(text, len, "%llu\n", (unsigned long long)(n / f->unit));
}
