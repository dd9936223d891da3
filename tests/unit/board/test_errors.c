/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_errors.c - records of errors: bounded rings that survive their writers, whole or absent for a
 * reader, and their words.
 */
#include "util.h"
#include "errors/errors.h"
#include "tables/meaning.h"
#include <pthread.h>

TestSuite(board_errors, .init = bt_setup, .fini = bt_teardown, .timeout = 60);

/* A record whose words are all of the same number: a mixture of two is recognised. */
static struct dpa_error numbered(uint32_t n)
{
	struct dpa_error e = {.time = n, .wr_id = n, .qpn = n, .psn = n, .vendor_err = n};

	e.peer.qpn = n;
	e.check.addr = e.check.len = e.check.limit = n;
	e.check.region_addr = e.check.region_len = n;
	return e;
}

static bool is_whole(const struct dpa_error *e)
{
	const struct dpa_error want = numbered((uint32_t)e->time);

	return memcmp(e, &want, sizeof(want)) == 0;
}

/* The number of records, and those with this number. All are whole. */
static uint32_t count(struct dpa_board *b, uint32_t n, uint32_t *with)
{
	struct dpa_error_read r;
	uint32_t all = 0;

	*with = 0;
	for (uint32_t i = 0; i < DPA_ERROR_PLACES; i++) {
		if (!dpa_board_error_get(b, i, &r))
			continue;
		cr_assert(is_whole(&r.e), "place %u", i);
		all++;
		*with += r.e.time == n;
	}
	return all;
}

static uint32_t put(struct dpa_board *b, bool flush, uint32_t n)
{
	const struct dpa_error e = numbered(n);

	return dpa_board_error_put(b, flush, 0, &e);
}

Test(board_errors, the_last_ones_of_each_ring)
{
	struct dpa_board *b = bt_open();
	uint32_t with;

	cr_assert_eq(count(b, 1, &with), 0);
	for (uint32_t i = 1; i <= 2 * DPA_BOARD_ERRORS; i++)
		cr_assert(put(b, false, i));
	cr_expect_eq(count(b, DPA_BOARD_ERRORS, &with), DPA_BOARD_ERRORS);
	cr_expect_eq(with, 0, "the oldest half is overwritten");
	count(b, 2 * DPA_BOARD_ERRORS, &with);
	cr_expect_eq(with, 1);
	/* flushes overwrite flushes only */
	for (uint32_t i = 1; i <= 3 * DPA_BOARD_ERRORS; i++)
		cr_assert(put(b, true, 100000 + i) & DPA_ERROR_OF_FLUSHES);
	cr_expect_eq(count(b, DPA_BOARD_ERRORS + 1, &with), DPA_ERROR_PLACES);
	cr_expect_eq(with, 1);
	dpa_board_close(b);
}

/* A QP replaces its own record while that is there, and takes another one when it is not. */
Test(board_errors, a_record_is_replaced)
{
	struct dpa_board *b = bt_open();
	struct dpa_error e = numbered(7);
	uint32_t with, number = put(b, false, 5);

	cr_assert(number);
	cr_expect_eq(dpa_board_error_put(b, false, number, &e), number);
	cr_expect_eq(count(b, 7, &with), 1);
	cr_expect_eq(with, 1);
	for (uint32_t i = 0; i < DPA_BOARD_ERRORS; i++)
		put(b, false, 9);
	e = numbered(11);
	cr_expect_neq(dpa_board_error_put(b, false, number, &e), number);
	count(b, 9, &with);
	cr_expect_eq(with, DPA_BOARD_ERRORS - 1, "one of another QP was overwritten, not two");
	dpa_board_close(b);
}

static struct dpa_error_read find(struct dpa_board *b, uint32_t number)
{
	struct dpa_error_read r = {0};

	for (uint32_t i = 0; i < DPA_ERROR_PLACES; i++)
		if (dpa_board_error_get(b, i, &r) && r.number == number)
			return r;
	cr_assert_fail("no record %u", number);
	return r;
}

/* Flushes are counted in the record of their QP only, never in its successor's. */
Test(board_errors, flushes_are_counted)
{
	struct dpa_board *b = bt_open();
	uint32_t number = put(b, false, 1), other;
	struct dpa_error_read r;

	for (int i = 0; i < 5; i++)
		cr_assert(dpa_board_error_flushed(b, number, i % 2));
	r = find(b, number);
	cr_expect_eq(r.flushed[0], 3);
	cr_expect_eq(r.flushed[1], 2);
	cr_expect_not(dpa_board_error_flushed(b, 0, false));
	for (uint32_t i = 0; i < DPA_BOARD_ERRORS - 1; i++)
		put(b, false, 2);
	other = put(b, false, 3);
	cr_assert_eq(other % DPA_BOARD_ERRORS, number % DPA_BOARD_ERRORS);
	cr_expect_not(dpa_board_error_flushed(b, number, false));
	r = find(b, other);
	cr_expect_eq(r.flushed[0], 0);
	dpa_board_close(b);
}

static void writes(void *arg)
{
	struct dpa_board *b = bt_open();

	for (uint32_t i = 0; i < 3; i++)
		put(b, *(bool *)arg, 50 + i);
	/* left open: as a process that is killed */
	kill(getpid(), SIGKILL);
}

/* Records of a process outlive it. A writer that dies in the middle leaves no record, and blocks none. */
Test(board_errors, the_writer_dies)
{
	static const char *const steps[] = {"error begun", "error half written"};
	struct dpa_board *b = bt_open();
	bool flush = false;
	uint32_t with;

	bt_wait(bt_fork(writes, &flush));
	cr_expect_eq(count(b, 51, &with), 3);
	for (int i = 0; i < 2; i++) {
		cr_assert(bt_dies(writes, &flush, steps[i], 2), "%s", steps[i]);
		cr_expect_eq(count(b, 50, &with), 4u + (uint32_t)i, "one more each time");
	}
	for (uint32_t i = 0; i < 3 * DPA_BOARD_ERRORS; i++)
		cr_assert(put(b, false, 60));
	cr_expect_eq(count(b, 60, &with), DPA_BOARD_ERRORS - 2, "the two entries stay unused");
	cr_expect_eq(with, DPA_BOARD_ERRORS - 2);
	dpa_board_close(b);
}

struct writer {
	struct dpa_board *b;
	uint32_t first;
};

static void *write_many(void *arg)
{
	const struct writer *w = arg;
	uint32_t own = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		const struct dpa_error e = numbered(w->first + i);

		own = dpa_board_error_put(w->b, i % 3 == 0, i % 2 ? own : 0, &e);
		if (own)
			dpa_board_error_flushed(w->b, own, i % 2);
	}
	return NULL;
}

/* A reader gets a record as one thread wrote it, or none. */
Test(board_errors, whole_or_absent)
{
	struct dpa_board *b = bt_open();
	struct writer w[] = {{b, 1000000}, {b, 2000000}, {b, 3000000}};
	pthread_t t[3];
	uint32_t with;

	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, write_many, &w[i]), 0);
	for (int i = 0; i < 200; i++)
		count(b, 0, &with);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	cr_expect_eq(count(b, 0, &with), DPA_ERROR_PLACES);
	dpa_board_close(b);
}

/* ------------------------------------------------------------------------ words */

static const char *line_of(const struct dpa_error *e)
{
	static char line[DPA_ERROR_LINE];

	dpa_error_line(e, line);
	return line;
}

#define HAS(line, text) cr_expect(strstr(line, text), "no '%s' in: %s", text, line)

Test(board_errors, a_line_names_all_of_it)
{
	struct dpa_error e = {.qpn = 0x10203,
			      .kind = DPA_ERROR_SENT,
			      .opcode = DPA_OP_RDMA_WRITE,
			      .status = DPA_CQE_REM_ACCESS_ERR,
			      .vendor_err = DPA_SYN_NAK_ACCESS,
			      .wqe_index = 17,
			      .wr_id = 0xabc,
			      .flags = DPA_ERROR_INJECTED,
			      .peer = {.state = DPA_ERROR_PEER_ENDED,
				       .pid = 77,
				       .uid = 5,
				       .qpn = 0x10204,
				       .comm = "bad\033[2J\nname",
				       .gid = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 9}},
			      .check = {.kind = DPA_CHECK_REQUEST,
					.addr = 0x5000,
					.len = 64,
					.key = 0x99,
					.why = DPA_WHY_RANGE,
					.region_addr = 0x4000,
					.region_len = 4097}};
	const char *line = line_of(&e);

	HAS(line, "QP 0x010203: IBV_WC_REM_ACCESS_ERR (10), vendor_err 0x32 NAK_ACCESS: ");
	HAS(line, "WRITE, WQE 17, wr_id 0xabc");
	HAS(line, "address 0x5000, 64 bytes, rkey 0x00000099; its region is 0x4000, 4097 bytes");
	HAS(line, "the peer is QP 0x010204 at 10.0.0.9 of process 77 (bad?[2J?name), user 5, which "
		  "had ended");
	HAS(line, "; injected");
	for (const char *c = line; *c; c++)
		cr_assert(*c >= ' ' && *c <= '~');
}

/* Another QP may bind the window at that moment: its range is not in the record. */
Test(board_errors, windows_without_range)
{
	struct dpa_error e = {.kind = DPA_ERROR_REFUSED,
			      .vendor_err = DPA_SYN_BAD_RKEY,
			      .check = {.kind = DPA_CHECK_REQUEST, .addr = 0x5000, .len = 64}};

	e.check.why = DPA_WHY_OTHER_PD;
	HAS(line_of(&e), "; its window is of another PD");
	e.check.why = DPA_WHY_OTHER_QP;
	HAS(line_of(&e), "; another QP has bound its window");
}

/* Each status that a CQE can have is one of libibverbs with the same name. */
Test(board_errors, statuses)
{
	struct dpa_meaning m;

	for (uint32_t i = DPA_CQE_OK; i <= DPA_CQE_GENERAL_ERR; i++)
		cr_expect(dpa_status_meaning(dpa_cqe_wc_status((uint8_t)i), &m), "%u", i);
	cr_assert(dpa_status_meaning(dpa_cqe_wc_status(DPA_CQE_TM_RNDV_INCOMPLETE), &m));
	cr_expect_str_eq(m.name, "IBV_WC_TM_RNDV_INCOMPLETE");
	cr_assert(dpa_status_meaning(dpa_cqe_wc_status(DPA_CQE_RETRY_EXC_ERR), &m));
	cr_expect_str_eq(m.name, "IBV_WC_RETRY_EXC_ERR");
	cr_assert(dpa_status_meaning(dpa_cqe_wc_status(250), &m));
	cr_expect_str_eq(m.name, "IBV_WC_GENERAL_ERR");
}
