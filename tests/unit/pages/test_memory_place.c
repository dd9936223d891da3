/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_memory_place.c - other memory at the addresses of an area: the program's calls bypassed the
 * preload.
 */
#include <sys/syscall.h>
#include "memory.h"

/*
 * Replace pages past the preload: as when free() lets the C library unmap them, and the next
 * malloc() maps others.
 */
static void replace(uint8_t *p, size_t n)
{
	cr_assert_eq(syscall(SYS_munmap, p, n), 0);
	cr_assert_eq((uint8_t *)syscall(SYS_mmap, p, n, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		     p);
	memset(p, 2, n);
}

/* A region over other memory at the addresses of an area does not use the area's pages. */
Test(memory_calls, private_memory_in_its_place)
{
	uint32_t serial, again;

	setup(DPA_CFG_SHARE_ALWAYS);
	serial = area_of(key);
	replace(mem, BYTES);
	again = reg(mem, BYTES);
	cr_expect_eq(area_of(again), 0u);
	cr_expect_neq(why(again), DPA_SHARE_YES);
	cr_expect_eq(area_of(key), 0u, "nor does the one that was there before");
	cr_expect_eq(atomic_load(&th->hw->export->area[serial - 1].serial), 0u);
	cr_expect_null(dpa_share_word(th->hw, (uintptr_t)mem + 8 * PAGE));
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, again), 0);
	teardown();
	cr_expect(mem[0] == 2 && mem[BYTES - 1] == 2);
	munmap(mem, BYTES);
}

/* Pages outside the region may be any memory. */
Test(memory_calls, private_memory_in_a_part_of_its_place)
{
	uint32_t below, beside;

	setup(DPA_CFG_SHARE_ALWAYS);
	replace(mem + 8 * PAGE, PAGE);
	below = reg(mem, 8 * PAGE);
	cr_expect_eq(area_of(below), area_of(key));
	cr_expect_eq(why(below), DPA_SHARE_YES);
	beside = reg(mem + 4 * PAGE, 4 * PAGE + 1);
	cr_expect_eq(area_of(beside), 0u, "a byte of what is not in place");
	cr_expect_eq(area_of(below), 0u);
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, beside), 0);
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, below), 0);
	teardown();
	cr_expect(mem[8 * PAGE] == 2 && mem[9 * PAGE - 1] == 2);
	munmap(mem, BYTES);
}

/* Pages of the area, but in another order. */
Test(memory_calls, its_pages_in_another_order)
{
	uint32_t again;
	uint8_t *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = (uint8_t *)syscall(SYS_mremap, mem + 8 * PAGE, PAGE, PAGE,
			       MREMAP_MAYMOVE | MREMAP_FIXED, mem);
	cr_assert_eq(p, mem);
	again = reg(mem, PAGE);
	cr_expect_eq(area_of(again), 0u);
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, again), 0);
	teardown();
	munmap(mem, BYTES);
}
