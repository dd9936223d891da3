/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A peer's areas, mapped here: what it wrote in its table is what the test writes there. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "knobs.h"
#include "link/peer.h"
#include "direct/share.h"
#include "direct/direct.h"
#include "tests/unit/transport/harness.h"

#define ENTRY 5u /* of the region */
#define I     2u /* of the area */
#define START 0x7f0000100000ull
#define PAGES 4u
#define BYTES (PAGES * DPA_PAGE)
#define OFF   (7 * DPA_PAGE)

static struct th *th;
static struct dpa_peer *p;
static struct dpa_export *theirs;
static uint8_t *file; /* the peer's memory as the test has it */

static void area(uint32_t serial, uint64_t start, uint64_t length, uint64_t off)
{
	struct dpa_area *a = &theirs->area[I];

	a->start = start;
	a->length = length;
	a->off = off;
	atomic_store(&a->serial, serial);
	atomic_store(&theirs->mr_area[ENTRY], I + 1);
}

static void setup(void)
{
	int fd = memfd_create("area", MFD_CLOEXEC);

	th = th_new(&(struct th_opt){.direct = true, .pull = true});
	cr_assert(fd >= 0 && !ftruncate(fd, OFF + BYTES));
	file = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, OFF);
	theirs = mmap(NULL, sizeof(*theirs), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert(file != MAP_FAILED && theirs != MAP_FAILED);
	cr_assert_eq(posix_memalign((void **)&p, DPA_CACHE_LINE, sizeof(*p)), 0);
	memset(p, 0, sizeof(*p));
	p->hw = th->hw;
	p->slot = 3;
	p->gen = 9;
	p->export = theirs;
	p->share_fd = fd;
	area(1, START, BYTES, OFF);
}

static void teardown(void)
{
	dpa_areas_unmap(p);
	close(p->share_fd);
	free(atomic_load(&p->maps));
	free(p);
	munmap(theirs, sizeof(*theirs));
	munmap(file, BYTES);
	th_free(th);
}

/* The area that has to be mapped before it can be used; 0: none. */
static uint32_t missing(void)
{
	uint32_t unmapped;

	cr_expect_null(dpa_area_at(p, ENTRY, START, 1, &unmapped));
	return unmapped;
}

static uint8_t *at(uint64_t addr, uint64_t n)
{
	uint32_t unmapped;
	uint8_t *a = dpa_area_at(p, ENTRY, addr, n, &unmapped);

	cr_expect_eq(unmapped, 0u);
	return a;
}

Test(area, mapped_when_it_is_used)
{
	setup();
	cr_expect_eq(missing(), I + 1);
	cr_assert(dpa_area_map(p, I + 1));
	cr_assert_not_null(at(START, BYTES));
	file[BYTES - 1] = 0x5a;
	cr_expect_eq(at(START, BYTES)[BYTES - 1], 0x5a);
	*at(START + 9, 1) = 0x77;
	cr_expect_eq(file[9], 0x77);
	cr_expect_not_null(at(START + BYTES - 1, 1));
	cr_expect_null(at(START + BYTES, 1));
	cr_expect_null(at(START + BYTES - 1, 2));
	cr_expect_null(at(START - 1, 1));
	cr_expect_null(at(START, UINT64_MAX));
	cr_expect_null(at(0, 1));
	cr_expect(dpa_area_map(p, I + 1), "it is there already");
	teardown();
}

Test(area, none)
{
	setup();
	atomic_store(&theirs->mr_area[ENTRY], 0);
	cr_expect_eq(missing(), 0u, "the region is not shared");
	atomic_store(&theirs->mr_area[ENTRY], DPA_AREAS + 1);
	cr_expect_eq(missing(), 0u, "no such area");
	atomic_store(&theirs->mr_area[ENTRY], UINT32_MAX);
	cr_expect_eq(missing(), 0u, "no such area");
	atomic_store(&theirs->mr_area[ENTRY], I + 1);
	atomic_store(&theirs->area[I].serial, 0);
	cr_expect_eq(missing(), 0u, "it ended");
	cr_expect_not(dpa_area_map(p, I + 1));
	area(2, START, BYTES, OFF);
	close(p->share_fd);
	p->share_fd = -1;
	cr_expect_not(dpa_area_map(p, I + 1), "the peer gave no file");
	teardown();
}

/* Another area in its place is another mapping; one that ended is not used. */
Test(area, another_one)
{
	setup();
	cr_assert(dpa_area_map(p, I + 1));
	atomic_store(&theirs->area[I].serial, 0);
	cr_expect_eq(missing(), 0u);
	area(2, START + 64 * DPA_PAGE, DPA_PAGE, OFF + DPA_PAGE);
	cr_expect_eq(missing(), I + 1);
	cr_assert(dpa_area_map(p, I + 1));
	cr_expect_null(at(START, 1));
	file[DPA_PAGE] = 0x31;
	cr_assert_not_null(at(START + 64 * DPA_PAGE, DPA_PAGE));
	cr_expect_eq(*at(START + 64 * DPA_PAGE, 1), 0x31);
	teardown();
}

/* A mapping goes when no thread can be at work with it. */
Test(area, not_under_a_hazard)
{
	struct dpa_peer other = {.slot = 4, .gen = 9};
	struct dpa_hazard *h, *o;

	setup();
	other.hw = th->hw;
	cr_assert(dpa_area_map(p, I + 1));
	area(2, START, DPA_PAGE, OFF);
	o = dpa_hazard_enter(th->hw, &other);
	h = dpa_hazard_enter(th->hw, p);
	cr_assert(o && h && o != h);
	cr_expect_not(dpa_area_map(p, I + 1));
	cr_expect_eq(missing(), I + 1, "nor is it used as it was");
	dpa_hazard_leave(h);
	cr_expect(dpa_area_map(p, I + 1), "that of another peer does not count");
	dpa_hazard_leave(o);
	cr_assert_not_null(at(START, DPA_PAGE));
	cr_expect_null(at(START, DPA_PAGE + 1));
	teardown();
}

/* Nothing is taken on trust: no mapping of what cannot be. */
Test(area, nonsense)
{
	static const struct {
		uint64_t start, length, off;
	} bad[] = {
		{START, 0, OFF},
		{START + 1, BYTES, OFF},
		{START, BYTES + 8, OFF},
		{START, BYTES, OFF + 512},
		{START, DPA_SHARE_BYTES + DPA_PAGE, 0},
		{START, BYTES, DPA_SHARE_BYTES},
		{START, BYTES, UINT64_MAX - DPA_PAGE + 1},
		{UINT64_MAX - DPA_PAGE + 1, BYTES, OFF},
		{START, UINT64_MAX - DPA_PAGE + 1, OFF},
	};

	setup();
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		area(10 + i, bad[i].start, bad[i].length, bad[i].off);
		cr_expect_not(dpa_area_map(p, I + 1), "%u", i);
		cr_expect_eq(missing(), I + 1);
	}
	area(9, START, BYTES, OFF);
	cr_expect(dpa_area_map(p, I + 1));
	teardown();
}

Test(area, all_at_once)
{
	setup();
	cr_assert(dpa_area_map(p, I + 1));
	dpa_areas_unmap(p);
	cr_expect_eq(missing(), I + 1);
	cr_expect(dpa_area_map(p, I + 1), "and again");
	cr_expect_not_null(at(START, BYTES));
	teardown();
}

/* One's own areas are in place already. */
Test(area, of_this_process)
{
	struct dpa_mr_attr a = {.access = TH_ALL, .length = BYTES};
	uint32_t key, unmapped;
	uint8_t *mem;

	setup();
	th->hw->cfg.share_mr = DPA_CFG_SHARE_ALWAYS;
	cr_assert_eq(dpa_share_init(th->hw), 0);
	if (th->hw->share->pages.fd < 0 || !dpa_guard_works())
		cr_skip_test("no shared regions here");
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(mem, MAP_FAILED);
	a.pdn = th->pdn;
	a.addr = a.iova = (uintptr_t)mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &a, &key), 0);
	mem[5] = 0x66;
	{
		uint8_t *x = dpa_area_at(th->peer, key >> DPA_KEY_TAG_BITS, (uintptr_t)mem + 5, 1,
					 &unmapped);

		cr_expect_eq(unmapped, 0u);
		cr_assert_not_null(x);
		cr_expect_eq(*x, 0x66);
	}
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	cr_expect_null(
		dpa_area_at(th->peer, key >> DPA_KEY_TAG_BITS, (uintptr_t)mem, 1, &unmapped));
	munmap(mem, BYTES);
	teardown();
}
