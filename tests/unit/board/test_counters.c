/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_counters.c - counters as files: the sums of all processes, in the kernel's units. */
#include "util.h"
#include <dpa_hw_cmd.h>
#include <dpa_hw_counters.h>

TestSuite(board_counters, .init = bt_setup, .fini = bt_teardown);

static uint64_t value(const char *name)
{
	char text[64], *end;
	uint64_t n;
	int len = dpa_hw_counter_file(bt_path, name, text, sizeof(text));

	cr_assert_gt(len, 0, "%s: %s", name, strerror(errno));
	cr_assert_eq((size_t)len, strlen(text));
	n = strtoull(text, &end, 10);
	cr_expect_str_eq(end, "\n", "%s", name);
	return n;
}

static struct dpa_board *join(void)
{
	struct dpa_board *b;

	cr_assert_eq(bt_try(&b, "0.1.0"), 0, "%s", bt_err);
	return b;
}

static void count(struct dpa_board *b, enum dpa_counter which, uint64_t n)
{
	atomic_fetch_add(&b->counters[which], n);
}

Test(board_counters, all_processes_ever)
{
	struct dpa_board *a = join(), *b = join();

	count(a, DPA_CNT_tx_bytes, 4000);
	count(b, DPA_CNT_rx_bytes, 4000);
	count(b, DPA_CNT_tx_packets, 7);
	count(a, DPA_CNT_out_of_sequence, 3);
	count(b, DPA_CNT_out_of_sequence, 2);
	cr_expect_eq(value("counters/port_xmit_data"), 1000u, "in 4 bytes");
	cr_expect_eq(value("counters/port_rcv_data"), 1000u);
	cr_expect_eq(value("counters/port_xmit_packets"), 7u);
	cr_expect_eq(value("hw_counters/out_of_sequence"), 5u);
	dpa_board_close(b);
	cr_expect_eq(value("counters/port_rcv_data"), 1000u, "of one that ended, too");
	cr_expect_eq(value("hw_counters/out_of_sequence"), 5u);
	dpa_board_close(a);
	cr_expect_eq(value("hw_counters/out_of_sequence"), 0u, "the last one takes the board away");
}

/* Operations without packets count as traffic, too, in both directions. */
Test(board_counters, direct_operations)
{
	struct dpa_board *b = join();

	count(b, DPA_CNT_tx_bytes, 40);
	count(b, DPA_CNT_direct_bytes, 400);
	count(b, DPA_CNT_direct_ops, 2);
	cr_expect_eq(value("counters/port_xmit_data"), 110u);
	cr_expect_eq(value("counters/port_rcv_data"), 100u);
	cr_expect_eq(value("counters/port_xmit_packets"), 2u);
	cr_expect_eq(value("counters/port_rcv_packets"), 2u);
	dpa_board_close(b);
}

/* Each counter with a name of a RoCE driver is that counter. */
Test(board_counters, names)
{
	struct dpa_board *b = join();
	uint64_t n = 100;

#define X(name)                                                                                    \
	count(b, DPA_CNT_##name, ++n);                                                             \
	cr_expect_eq(value("hw_counters/" #name), n, #name);
	DPA_HW_COUNTERS(X)
#undef X
#define X(name) (void)value("counters/" #name);
	DPA_PORT_COUNTERS(X)
#undef X
	dpa_board_close(b);
}

Test(board_counters, what_is_not_there)
{
	static const char *const names[] = {"",
					    "counters",
					    "counters/",
					    "counters/tx_bytes",
					    "hw_counters/doorbells",
					    "out_of_sequence"};
	struct dpa_board *b;
	char text[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_expect_eq(dpa_hw_counter_file(bt_path, names[i], text, sizeof(text)), -1, "%s",
			     names[i]);
		cr_expect_eq(errno, ENOENT);
	}
	cr_expect_eq(value("counters/port_xmit_data"), 0u, "no process");
	b = bt_open(); /* of another version */
	cr_expect_eq(dpa_hw_counter_file(bt_path, "counters/port_xmit_data", text, sizeof(text)),
		     -1);
	cr_expect_eq(errno, EPROTO);
	dpa_board_close(b);
}
