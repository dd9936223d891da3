/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_stage.c - many short payloads to their destinations by one call: all of them, or up to one
 * with an unmapped destination. They are written whatever happens to the descriptor in between.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "ctx/thread.h"
#include "ctx/copy.h"

#define PAGE  65536u /* of any machine */
#define BYTES (4u * PAGE)

uint32_t dpa_spin_pauses = 200;
_Thread_local struct dpa_thread dpa_me;

static struct dpa_hw *hw;
static uint8_t *mem; /* its third page is a hole */

static void setup(void)
{
	hw = aligned_alloc(DPA_CACHE_LINE, (sizeof(*hw) + 63) & ~63ul);
	cr_assert_not_null(hw);
	memset(hw, 0, sizeof(*hw));
	hw->pid = getpid();
	dpa_stage_open(&hw->stage);
	cr_assert_not_null(hw->stage.base);
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(mem != MAP_FAILED);
	cr_assert_eq(munmap(mem + 2 * PAGE, PAGE), 0);
}

static void teardown(void)
{
	dpa_stage_close(&hw->stage);
	munmap(mem, BYTES);
	free(hw);
}

TestSuite(stage, .init = setup, .fini = teardown);

static uint64_t at(uint32_t off)
{
	return (uintptr_t)mem + off;
}

/* calls so far, with the first segment: the second word of its header */
static uint64_t calls(void)
{
	return ((const uint64_t *)(void *)hw->stage.base)[1];
}

Test(stage, as_many_as_go_and_no_more)
{
	uint8_t src[DPA_PUTS + 1];
	struct dpa_puts p;

	cr_assert(dpa_puts_begin(&hw->stage, &p));
	for (uint32_t i = 0; i <= DPA_PUTS; i++) {
		memset(src, (int)i + 1, sizeof(src));
		cr_assert_eq(dpa_puts_add(&p, at(i * 131), src, i + 1), i < DPA_PUTS);
	}
	cr_expect_eq(mem[0], 0, "nothing before the end");
	cr_assert_eq(dpa_puts_end(&p), DPA_PUTS);
	cr_expect_eq(calls(), 1);
	for (uint32_t i = 0; i < DPA_PUTS; i++) {
		memset(src, (int)i + 1, sizeof(src));
		cr_expect_eq(memcmp(mem + i * 131, src, i + 1), 0, "%u", i);
		cr_expect_eq(mem[i * 131 + i + 1], 0, "%u: not a byte more", i);
	}
}

Test(stage, in_the_order_in_which_they_came)
{
	struct dpa_puts p;

	cr_assert(dpa_puts_begin(&hw->stage, &p));
	for (uint32_t i = 1; i <= 40; i++)
		cr_assert(dpa_puts_add(&p, at(64), &i, sizeof(i)));
	cr_assert_eq(dpa_puts_end(&p), 40);
	cr_expect_eq(*(uint32_t *)(void *)(mem + 64), 40);
}

Test(stage, a_segment_has_its_size)
{
	const uint32_t most = DPA_STAGE_BYTES - 16;
	uint8_t *src = malloc(DPA_STAGE_BYTES);
	struct dpa_puts p;

	memset(src, 7, DPA_STAGE_BYTES);
	cr_assert(dpa_puts_begin(&hw->stage, &p));
	cr_expect_not(dpa_puts_add(&p, at(1), src, DPA_STAGE_BYTES));
	cr_expect_not(dpa_puts_add(&p, at(1), src, most + 1));
	cr_expect(dpa_puts_add(&p, at(1), src, most));
	cr_expect_not(dpa_puts_add(&p, at(1), src, 1));
	cr_assert_eq(dpa_puts_end(&p), 1);
	cr_expect(!memcmp(mem + 1, src, most) && !mem[0] && !mem[most + 1]);
	free(src);
}

/* Up to the unmapped one, of which the first bytes may be written. */
Test(stage, up_to_a_hole)
{
	uint8_t src[64];

	memset(src, 9, sizeof(src));
	for (uint32_t hole = 0; hole < 12; hole++)
		for (uint32_t in = 0; in < 64; in += 21) {
			struct dpa_puts p;

			memset(mem, 0, 2 * PAGE);
			cr_assert(dpa_puts_begin(&hw->stage, &p));
			for (uint32_t i = 0; i < 12; i++)
				cr_assert(dpa_puts_add(
					&p, i == hole ? at(2 * PAGE - in) : at(i * 64), src, 64));
			cr_expect_eq(dpa_puts_end(&p), hole, "%u, %u before it", hole, in);
			for (uint32_t i = 0; i < 12; i++)
				cr_expect_eq(mem[i * 64] == 9, i < hole, "%u of %u", i, hole);
			cr_expect_eq(dpa_copy_out(hw, at(2 * PAGE - in), src, 64), EFAULT);
		}
	cr_expect_not(hw->stage.broken);
}

Test(stage, none_at_all)
{
	struct dpa_puts p;

	cr_assert(dpa_puts_begin(&hw->stage, &p));
	cr_expect_eq(dpa_puts_end(&p), 0);
	cr_expect_eq(calls(), 0);
}

Test(stage, pieces_come_back)
{
	struct dpa_puts p[DPA_STAGE_PIECES + 1];

	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < DPA_STAGE_PIECES; i++)
			cr_assert(dpa_puts_begin(&hw->stage, &p[i]));
		cr_expect_not(dpa_puts_begin(&hw->stage, &p[DPA_STAGE_PIECES]));
		cr_expect_eq(dpa_copy_out(hw, at(0), "x", 1), 0);
		for (uint32_t i = 0; i < DPA_STAGE_PIECES; i++)
			dpa_puts_end(&p[i]);
	}
	cr_expect_eq(hw->stage.taken, 0);
}

/* closefrom(2): other code copies. */
Test(stage, its_descriptor_was_closed)
{
	struct dpa_puts p;

	close(hw->stage.fd);
	cr_assert(dpa_puts_begin(&hw->stage, &p));
	cr_assert(dpa_puts_add(&p, at(5), "abc", 3));
	cr_expect_eq(dpa_puts_end(&p), 0);
	cr_expect_not(dpa_puts_begin(&hw->stage, &p));
	cr_expect_eq(dpa_copy_out(hw, at(5), "abc", 3), 0);
	cr_expect_eq(memcmp(mem + 5, "abc", 3), 0);
}

/* The number belongs to other code: its data is read once, overwritten, and never read again. */
Test(stage, its_number_is_somebody_elses)
{
	uint8_t theirs[64] = {0}, src[64];
	int fd = memfd_create("theirs", MFD_CLOEXEC);

	memset(src, 3, sizeof(src));
	cr_assert_eq(ftruncate(fd, DPA_STAGE_BYTES), 0);
	cr_assert_eq(pwrite(fd, theirs, sizeof(theirs), 0), (ssize_t)sizeof(theirs));
	cr_assert_eq(dup2(fd, hw->stage.fd), hw->stage.fd);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(dpa_copy_out(hw, at(64), src, sizeof(src)), 0);
		cr_expect_eq(memcmp(mem + 64, src, sizeof(src)), 0);
	}
	cr_expect(hw->stage.broken);
	cr_expect_eq(calls(), 1);
	cr_expect_eq(lseek(fd, 0, SEEK_CUR), 0, "its offset is as it was");
	close(fd);
}

/* No open(2) of the application gets the number by chance, and a child has neither of both. */
Test(stage, its_number_is_a_high_one)
{
	struct rlimit lim;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &lim), 0);
	if (lim.rlim_cur > 128)
		cr_expect_geq(hw->stage.fd, (int)(lim.rlim_cur < 1024 ? lim.rlim_cur : 1024) - 64);
	cr_expect(fcntl(hw->stage.fd, F_GETFD) & FD_CLOEXEC);
}

#define THREADS (DPA_STAGE_PIECES + 4)

static void *put_often(void *arg)
{
	const uint32_t me = (uint32_t)(uintptr_t)arg;

	for (uint32_t i = 0; i < 300; i++) {
		const uint64_t v[2] = {(uint64_t)me << 32 | i, ~((uint64_t)me << 32 | i)};
		const uint32_t off = me * 4096;
		struct dpa_puts p;
		uint32_t n = 0;

		if (!dpa_puts_begin(&hw->stage, &p)) {
			cr_assert_eq(dpa_copy_out(hw, at(off), v, sizeof(v)), 0);
			continue;
		}
		for (; n < 8; n++)
			cr_assert(dpa_puts_add(&p, at(off + 100 * n), v, sizeof(v)));
		cr_assert_eq(dpa_puts_end(&p), 8);
		for (n = 0; n < 8; n++)
			cr_assert_eq(memcmp(mem + off + 100 * n, v, sizeof(v)), 0);
	}
	return NULL;
}

Test(stage, each_thread_has_its_own)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, put_often, (void *)i), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	cr_expect_eq(hw->stage.taken, 0);
	cr_expect_not(hw->stage.broken);
}
