/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_laps.c - the lap marks in CQEs: the position at which the reader of an overwritten CQ
 * continues.
 */
#include <string.h>
#include <criterion/criterion.h>
#include <dpa_hw.h>

TestSuite(cq_laps);

#define MAX_LOG 4u

static struct dpa_cqe buf[1u << MAX_LOG];

static void write_up_to(uint32_t from, uint32_t pi, uint32_t log_size)
{
	for (uint32_t i = from; i != pi; i++) {
		struct dpa_cqe *e = &buf[i & ((1u << log_size) - 1)];
		struct dpa_cqe what = {.opcode = DPA_CQE_RECV};

		e->wr_id = i;
		dpa_cqe_publish(e, &what, dpa_cqe_owner(i, log_size));
	}
}

/* The reader is at `at`, with the previous lap in the buffer; `n` entries are written. */
static void check(uint32_t at, uint32_t n, uint32_t log_size)
{
	uint32_t size = 1u << log_size, want = n > size ? at + n - size : at, got, ahead;

	memset(buf, 0, sizeof(buf));
	write_up_to(at - size, at + n, log_size);
	ahead = dpa_cqe_ahead(buf, at, log_size);
	cr_assert_eq(ahead, n ? (n - 1) >> log_size : DPA_CQE_NONE);
	got = dpa_cqe_oldest(buf, at, log_size);
	cr_assert_eq(got, want, "log_size %u, at %u, %u written: %u", log_size, at, n, got);
	cr_assert_eq(dpa_cqe_valid(&buf[got & (size - 1)], got, log_size), n > 0);
}

Test(cq_laps, the_oldest_entry_that_is_left)
{
	static const uint32_t starts[] = {16, 17, 31, 127 * 16, 128 * 16 + 5, UINT32_MAX - 40,
					  0,  7};

	for (uint32_t log_size = 0; log_size <= MAX_LOG; log_size++)
		for (size_t s = 0; s < sizeof(starts) / sizeof(*starts); s++)
			for (uint32_t n = 0; n < DPA_CQE_LAPS << log_size; n++)
				check(starts[s], n, log_size);
}

/* A new buffer is all zeros. */
Test(cq_laps, nothing_was_ever_written)
{
	memset(buf, 0, sizeof(buf));
	for (uint32_t i = 0; i < 64; i++) {
		cr_assert_eq(dpa_cqe_ahead(buf, i, 4), DPA_CQE_NONE);
		cr_assert_eq(dpa_cqe_oldest(buf, i, 4), i);
	}
}

/* The owner bytes are the same again: the reader finds no entry until one more is written. */
Test(cq_laps, exactly_as_many_laps_as_are_counted)
{
	memset(buf, 0, sizeof(buf));
	write_up_to(0, 21 + (DPA_CQE_LAPS << MAX_LOG), MAX_LOG);
	cr_assert_eq(dpa_cqe_ahead(buf, 21, MAX_LOG), DPA_CQE_NONE);
	write_up_to(21 + (DPA_CQE_LAPS << MAX_LOG), 22 + (DPA_CQE_LAPS << MAX_LOG), MAX_LOG);
	cr_assert_eq(dpa_cqe_ahead(buf, 21, MAX_LOG), 0);
}
