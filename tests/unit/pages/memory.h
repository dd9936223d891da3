/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* memory.h - one region over shared memory, for tests of calls that change it; alone or beside threads. */
#ifndef DPA_TESTS_PAGES_MEMORY_H
#define DPA_TESTS_PAGES_MEMORY_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ctx/export.h"
#include "ctx/hw.h"
#include "direct/direct.h"
#include "direct/share.h"
#include "util/rest.h"
#include "tests/unit/transport/harness.h"

#define PAGE  DPA_PAGE
#define PAGES 16u
#define BYTES (PAGES * PAGE)

static struct th *th;
static uint8_t *mem;
static uint32_t key;

static inline uint32_t reg(void *p, size_t n)
{
	struct dpa_mr_attr a = {.pdn = th->pdn,
				.access = TH_ALL,
				.addr = (uintptr_t)p,
				.iova = (uintptr_t)p,
				.length = n};
	uint32_t k = 0;

	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &a, &k), 0);
	return k;
}

static inline uint32_t area_of(uint32_t k)
{
	return atomic_load(&th->hw->export->mr_area[k >> DPA_KEY_TAG_BITS]);
}

static inline enum dpa_share_why why(uint32_t k)
{
	return (enum dpa_share_why)th->hw->export->mr[k >> DPA_KEY_TAG_BITS].why;
}

/* The region's record for dpactl ps. */
static inline const struct dpa_board_mrinfo *shown(uint32_t k)
{
	uint32_t i = 0;

	while (i < DPA_BOARD_MRINFO && th_mrinfo[i].key != k)
		i++;
	cr_assert_lt(i, DPA_BOARD_MRINFO, "it is not shown");
	return &th_mrinfo[i];
}

/* False: not possible here. */
static inline bool open_under(enum dpa_cfg_share policy)
{
	th = th_new(&(struct th_opt){.direct = true, .pull = true});
	th->hw->cfg.share_mr = policy;
	cr_assert_eq(dpa_share_init(th->hw), 0);
	if (th->hw->share->pages.fd < 0 || !dpa_guard_works())
		return false;
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(mem, MAP_FAILED);
	return true;
}

static inline void setup(enum dpa_cfg_share policy)
{
	if (!getenv("LD_PRELOAD"))
		cr_skip_test("run under the preload (ctest does)");
	if (!open_under(policy))
		cr_skip_test("no shared regions here");
	th_fill(mem, BYTES, 3);
	key = reg(mem, BYTES);
	cr_assert_eq(why(key), DPA_SHARE_YES);
}

static inline void teardown(void)
{
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	cr_expect_eq(th->hw->share->nlive, 0u);
	th_free(th);
}

static inline bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const volatile uint8_t *)p)[i])
			return false;
	return true;
}

/* In a child without another thread; errors are printed to stderr. */
static inline void alone(void (*fn)(void))
{
	int status;
	pid_t pid;

	if (!getenv("LD_PRELOAD"))
		cr_skip_test("run under the preload (ctest does)");
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		if (!open_under(DPA_CFG_SHARE_AUTO))
			_exit(1);
		th_fill(mem, BYTES, 3);
		key = reg(mem, BYTES);
#if defined(__SANITIZE_THREAD__) /* it has a thread of its own */
		if (why(key) == DPA_SHARE_THREADS)
			_exit(1);
#endif
		fn();
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		cr_skip_test("no shared regions here");
	cr_expect_eq(status, 0, "the line that is wrong: %d, or a signal: %x", WEXITSTATUS(status),
		     status);
}

/* Lines of a file fit into an exit status if they are counted from its BASE. */
#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #x, errno);  \
			_exit(__LINE__ - BASE);                                                    \
		}                                                                                  \
	} while (0)

#endif
