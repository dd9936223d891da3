/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_channels.c - the list of the completion channels of a context. Each channel has a page of its
 * own here, so that an access to the memory of another one can be made to end the test.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <sys/mman.h>
#include "dpa.h"
#include "fake_hw.h"

enum { CHANNELS = 5, PAGE = 65536 }; /* of the largest pages that Linux has */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void __real_free(void *p);
void __wrap_free(void *p);

static char *pages;	 /* page i: all that is allocated while channel i is made */
static int current = -1; /* the page in use, -1: the heap */
static size_t used;

void *__wrap_calloc(size_t n, size_t size)
{
	size_t at = used;

	if (current < 0)
		return __real_calloc(n, size);
	used += (n * size + 63) & ~(size_t)63;
	return used > PAGE ? NULL : pages + (size_t)current * PAGE + at;
}

void __wrap_free(void *p)
{
	if (!pages || (uintptr_t)p - (uintptr_t)pages >= (size_t)CHANNELS * PAGE)
		__real_free(p);
}

static struct ibv_comp_channel *make(struct ibv_context *ctx, int i)
{
	struct ibv_comp_channel *ch;

	current = i;
	used = 0;
	ch = ibv_create_comp_channel(ctx);
	current = -1;
	cr_assert(ch);
	cr_assert_gt(used, 0, "the channel is not in its page");
	return ch;
}

static void access_page(int i, int prot)
{
	cr_assert_eq(mprotect(pages + (size_t)i * PAGE, PAGE, prot), 0);
}

/*
 * fi_cq_test of libfabric makes a CQ with a channel 32,600 times, then closes them in that order.
 * Each close walked over all channels that were made later: 500 million steps.
 */
Test(channel, closing_one_reads_only_its_neighbours)
{
	struct ibv_comp_channel *first, *ch[CHANNELS];
	struct ibv_context *ctx = fake_open();

	pages = mmap(NULL, (size_t)CHANNELS * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(pages, MAP_FAILED);
	first = ibv_create_comp_channel(ctx); /* tables of descriptors are on the heap */
	cr_assert(first);
	for (int i = 0; i < CHANNELS; i++)
		ch[i] = make(ctx, i);
	access_page(2, PROT_NONE);
	cr_assert_eq(ibv_destroy_comp_channel(ch[0]), 0, "far from the newest");
	cr_assert_eq(ibv_destroy_comp_channel(ch[4]), 0, "the newest");
	access_page(2, PROT_READ | PROT_WRITE);
	cr_assert_eq(ibv_destroy_comp_channel(ch[2]), 0, "between two");
	cr_assert_eq(ibv_destroy_comp_channel(first), 0, "the oldest");
	cr_assert_eq(ibv_destroy_comp_channel(ch[3]), 0);
	cr_assert_eq(ibv_destroy_comp_channel(ch[1]), 0);
	cr_assert_null(to_dpa_ctx(ctx)->channels);
	cr_assert_eq(ibv_close_device(ctx), 0);
	munmap(pages, (size_t)CHANNELS * PAGE);
	pages = NULL;
}
