/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_buf.c - bufs, lists of them and their inventories. */
#include "tests/unit/libdpa/host.h"
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_mmap.h>
#include "libdpa/common/buf/buf.h"

static char mem[100];
static struct doca_dev *dev;
static struct doca_mmap *map;
static struct doca_buf_inventory *inv;

static void setup(void)
{
	dev = open_dpa0();
	OK(doca_mmap_create(&map));
	OK(doca_mmap_set_memrange(map, mem, sizeof(mem)));
	OK(doca_mmap_add_dev(map, dev));
	OK(doca_mmap_start(map));
	OK(doca_buf_inventory_create(4, &inv));
	OK(doca_buf_inventory_start(inv));
}

static void teardown(void)
{
	uint32_t n;

	OK(doca_mmap_get_num_bufs(map, &n));
	cr_assert_eq(n, 0u);
	OK(doca_buf_inventory_destroy(inv));
	OK(doca_mmap_destroy(map));
	OK(doca_dev_close(dev));
}

TestSuite(buf, .init = setup, .fini = teardown, .timeout = 60);

/* Return the byte in front, which compilers do not let one name. */
static void *before(char *p)
{
	return (void *)((uintptr_t)p - 1);
}

static struct doca_buf *get(void)
{
	struct doca_buf *b;

	OK(doca_buf_inventory_buf_get_by_addr(inv, map, mem, 10, &b));
	return b;
}

Test(buf, inventory)
{
	struct doca_buf_inventory *i;
	union doca_data in = {.u64 = 8}, out;
	struct doca_buf *b[4], *more;
	uint32_t n;

	IS(doca_buf_inventory_create(0, &i), INVALID_VALUE);
	IS(doca_buf_inventory_create(1ull << 32, &i), INVALID_VALUE);
	IS(doca_buf_inventory_create(1, NULL), INVALID_VALUE);
	IS(doca_buf_inventory_destroy(NULL), INVALID_VALUE);
	IS(doca_buf_inventory_start(NULL), INVALID_VALUE);
	IS(doca_buf_inventory_stop(NULL), INVALID_VALUE);
	IS(doca_buf_inventory_set_user_data(NULL, in), INVALID_VALUE);
	IS(doca_buf_inventory_set_user_data(inv, in), BAD_STATE);
	OK(doca_buf_inventory_create(1, &i));
	IS(doca_buf_inventory_expand(i, 1), BAD_STATE);
	OK(doca_buf_inventory_set_user_data(i, in));
	OK(doca_buf_inventory_get_user_data(i, &out));
	cr_assert_eq(out.u64, 8u);
	IS(doca_buf_inventory_get_user_data(i, NULL), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_addr(i, map, mem, 1, &more), INVALID_VALUE);
	OK(doca_buf_inventory_destroy(i));

	for (int k = 0; k < 4; k++)
		b[k] = get();
	IS(doca_buf_inventory_destroy(inv), IN_USE);
	IS(doca_buf_inventory_buf_get_by_addr(inv, map, mem, 1, &more), NO_MEMORY);
	IS(doca_buf_inventory_buf_get_by_data(inv, map, mem, 1, &more), NO_MEMORY);
	IS(doca_buf_inventory_buf_get_by_args(inv, map, mem, 1, mem, 0, &more), NO_MEMORY);
	IS(doca_buf_inventory_buf_dup(inv, b[0], &more), NO_MEMORY);
	OK(doca_buf_inventory_get_num_free_elements(inv, &n));
	cr_assert_eq(n, 0u);
	IS(doca_buf_inventory_expand(NULL, 1), INVALID_VALUE);
	IS(doca_buf_inventory_expand(inv, 0), INVALID_VALUE);
	IS(doca_buf_inventory_expand(inv, UINT32_MAX), INVALID_VALUE);
	OK(doca_buf_inventory_expand(inv, 2));
	OK(doca_buf_inventory_get_num_elements(inv, &n));
	cr_assert_eq(n, 6u);
	OK(doca_buf_inventory_get_num_free_elements(inv, &n));
	cr_assert_eq(n, 2u);
	IS(doca_buf_inventory_get_num_elements(inv, NULL), INVALID_VALUE);
	IS(doca_buf_inventory_get_num_free_elements(NULL, &n), INVALID_VALUE);
	more = get();
	OK(doca_buf_dec_refcount(more, NULL));
	OK(doca_buf_inventory_stop(inv));
	IS(doca_buf_inventory_buf_get_by_addr(inv, map, mem, 1, &more), INVALID_VALUE);
	for (int k = 0; k < 4; k++)
		OK(doca_buf_dec_refcount(b[k], NULL));
}

Test(buf, range)
{
	struct doca_mmap *idle;
	struct doca_buf *b;
	uint32_t n;

	IS(doca_buf_inventory_buf_get_by_data(inv, map, mem, 101, &b), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(NULL, map, mem, 1, mem, 1, &b), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(inv, NULL, mem, 1, mem, 1, &b), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(inv, map, NULL, 1, mem, 1, &b), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(inv, map, mem, 1, NULL, 1, &b), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(inv, map, mem, 1, mem, 1, NULL), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(inv, map, mem, 101, mem, 1, &b), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(inv, map, before(mem), 1, mem, 1, &b), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(inv, map, mem + 5, 5, mem + 4, 1, &b), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(inv, map, mem + 5, 5, mem + 9, 2, &b), INVALID_VALUE);
	OK(doca_mmap_create(&idle));
	IS(doca_buf_inventory_buf_get_by_addr(inv, idle, mem, 1, &b), INVALID_VALUE);
	OK(doca_mmap_set_memrange(idle, mem, 5));
	IS(doca_buf_inventory_buf_get_by_addr(inv, idle, mem, 1, &b), INVALID_VALUE);
	OK(doca_mmap_destroy(idle));
	OK(doca_buf_inventory_get_num_free_elements(inv, &n));
	cr_assert_eq(n, 4u, "a refused one is not lost");
}

Test(buf, data)
{
	struct dpa_buf_data d;
	struct doca_buf *b;
	size_t len;
	void *p;

	OK(doca_buf_inventory_buf_get_by_args(inv, map, mem + 10, 20, mem + 12, 4, &b));
	OK(doca_buf_get_head(b, &p));
	OK(doca_buf_get_len(b, &len));
	cr_assert(p == mem + 10 && len == 20);
	OK(doca_buf_get_data(b, &p));
	OK(doca_buf_get_data_len(b, &len));
	cr_assert(p == mem + 12 && len == 4);
	OK(dpa_buf_data(b, dev, &d));
	cr_assert(d.addr == mem + 12 && d.len == 4 && d.key->addr == (uintptr_t)mem);
	IS(doca_buf_set_data_len(b, 19), INVALID_VALUE);
	OK(doca_buf_set_data_len(b, 18));
	OK(doca_buf_set_data(b, mem + 30, 0));
	IS(doca_buf_set_data(b, mem + 30, 1), INVALID_VALUE);
	IS(doca_buf_set_data(b, mem + 31, 0), INVALID_VALUE);
	IS(doca_buf_set_data(b, mem + 9, 1), INVALID_VALUE);
	IS(doca_buf_set_data(b, mem + 10, SIZE_MAX), INVALID_VALUE);
	OK(doca_buf_set_data(b, mem + 10, 20));
	OK(doca_buf_reset_data_len(b));
	OK(doca_buf_get_data_len(b, &len));
	cr_assert_eq(len, 0u);
	IS(doca_buf_get_head(NULL, &p), INVALID_VALUE);
	IS(doca_buf_get_head(b, NULL), INVALID_VALUE);
	IS(doca_buf_get_len(NULL, &len), INVALID_VALUE);
	IS(doca_buf_get_data(b, NULL), INVALID_VALUE);
	IS(doca_buf_get_data_len(NULL, &len), INVALID_VALUE);
	IS(doca_buf_set_data(NULL, mem, 1), INVALID_VALUE);
	IS(doca_buf_set_data_len(NULL, 1), INVALID_VALUE);
	IS(doca_buf_reset_data_len(NULL), INVALID_VALUE);
	OK(doca_buf_dec_refcount(b, NULL));
	OK(doca_buf_inventory_buf_get_by_data(inv, map, mem + 1, 7, &b));
	OK(doca_buf_get_data_len(b, &len));
	cr_assert_eq(len, 7u);
	OK(doca_buf_dec_refcount(b, NULL));
	IS(dpa_buf_data(b, dev, &d), INVALID_VALUE);
}

Test(buf, references)
{
	struct doca_buf *b = get(), *second = get();
	uint16_t n;

	IS(doca_buf_get_refcount(NULL, &n), INVALID_VALUE);
	IS(doca_buf_get_refcount(b, NULL), INVALID_VALUE);
	IS(doca_buf_inc_refcount(NULL, &n), INVALID_VALUE);
	IS(doca_buf_dec_refcount(NULL, &n), INVALID_VALUE);
	OK(doca_buf_get_refcount(b, &n));
	cr_assert_eq(n, 1);
	OK(doca_buf_inc_refcount(b, &n));
	cr_assert_eq(n, 2);
	for (int i = 2; i < UINT16_MAX; i++)
		OK(doca_buf_inc_refcount(b, NULL));
	IS(doca_buf_inc_refcount(b, NULL), TOO_BIG);
	for (int i = UINT16_MAX; i > 1; i--)
		OK(doca_buf_dec_refcount(b, NULL));
	OK(doca_buf_chain_list(b, second));
	IS(doca_buf_inc_refcount(second, NULL), NOT_PERMITTED);
	IS(doca_buf_dec_refcount(second, NULL), NOT_PERMITTED);
	IS(doca_mmap_stop(map), NOT_PERMITTED);
	IS(doca_mmap_destroy(map), NOT_PERMITTED);
	OK(doca_buf_dec_refcount(b, &n));
	cr_assert_eq(n, 0, "the whole list");
	IS(doca_buf_dec_refcount(b, &n), BAD_STATE);
	IS(doca_buf_dec_refcount(second, &n), BAD_STATE);
}

Test(buf, dup)
{
	struct doca_buf *b, *d;
	size_t len;
	void *p;

	OK(doca_buf_inventory_buf_get_by_args(inv, map, mem + 10, 20, mem + 12, 4, &b));
	IS(doca_buf_inventory_buf_dup(NULL, b, &d), INVALID_VALUE);
	IS(doca_buf_inventory_buf_dup(inv, NULL, &d), INVALID_VALUE);
	IS(doca_buf_inventory_buf_dup(inv, b, NULL), INVALID_VALUE);
	OK(doca_buf_inventory_buf_dup(inv, b, &d));
	OK(doca_buf_get_data(d, &p));
	OK(doca_buf_get_len(d, &len));
	cr_assert(p == mem + 12 && len == 20);
	OK(doca_buf_dec_refcount(b, NULL));
	IS(doca_buf_inventory_buf_dup(inv, b, &b), NOT_PERMITTED);
	OK(doca_buf_inventory_stop(inv));
	IS(doca_buf_inventory_buf_dup(inv, d, &b), BAD_STATE);
	OK(doca_buf_dec_refcount(d, NULL));
}

/* Check that a list consists of these bufs in this order. */
static void is_list(struct doca_buf **b, int n)
{
	uint8_t first, last, in;
	struct doca_buf *p;
	uint32_t len;

	OK(doca_buf_get_list_len(b[0], &len));
	cr_assert_eq(len, (uint32_t)n);
	for (int i = 0; i < n; i++) {
		OK(doca_buf_get_next_in_list(b[i], &p));
		cr_assert_eq(p, i + 1 < n ? b[i + 1] : NULL);
		OK(doca_buf_get_last_in_list(b[i], &p));
		cr_assert_eq(p, b[n - 1]);
		OK(doca_buf_is_first_in_list(b[i], &first));
		OK(doca_buf_is_last_in_list(b[i], &last));
		OK(doca_buf_is_in_list(b[i], &in));
		cr_assert(first == (i == 0) && last == (i == n - 1) && in == (n > 1));
	}
}

Test(buf, lists)
{
	struct doca_buf *b[4], *p;
	uint32_t len;
	uint8_t flag;

	for (int i = 0; i < 4; i++) {
		b[i] = get();
		is_list(&b[i], 1);
	}
	IS(doca_buf_chain_list(NULL, b[0]), INVALID_VALUE);
	IS(doca_buf_chain_list(b[0], NULL), INVALID_VALUE);
	IS(doca_buf_chain_list(b[0], b[0]), NOT_PERMITTED);
	OK(doca_buf_chain_list(b[0], b[1]));
	OK(doca_buf_chain_list(b[2], b[3]));
	IS(doca_buf_chain_list(b[1], b[2]), NOT_PERMITTED);
	IS(doca_buf_chain_list(b[0], b[3]), NOT_PERMITTED);
	IS(doca_buf_chain_list_tail(NULL, b[1], b[2]), INVALID_VALUE);
	IS(doca_buf_chain_list_tail(b[0], b[0], b[2]), NOT_PERMITTED);
	OK(doca_buf_chain_list_tail(b[0], b[1], b[2]));
	is_list(b, 4);
	IS(doca_buf_get_list_len(b[1], &len), NOT_PERMITTED);
	IS(doca_buf_get_list_len(NULL, &len), INVALID_VALUE);
	IS(doca_buf_get_list_len(b[0], NULL), INVALID_VALUE);
	IS(doca_buf_get_next_in_list(NULL, &p), INVALID_VALUE);
	IS(doca_buf_get_last_in_list(NULL, &p), INVALID_VALUE);
	IS(doca_buf_is_first_in_list(NULL, &flag), INVALID_VALUE);
	IS(doca_buf_is_last_in_list(b[0], NULL), INVALID_VALUE);
	IS(doca_buf_is_in_list(NULL, &flag), INVALID_VALUE);
	IS(doca_buf_unchain_list(b[0], b[0]), INVALID_VALUE);
	IS(doca_buf_unchain_list(b[1], b[2]), INVALID_VALUE);
	IS(doca_buf_unchain_list(NULL, b[2]), INVALID_VALUE);
	OK(doca_buf_unchain_list(b[0], b[1]));
	is_list(b, 1);
	is_list(b + 1, 3);
	IS(doca_buf_unchain_list(b[0], b[1]), INVALID_VALUE);
	OK(doca_buf_unchain_list(b[1], b[3]));
	is_list(b + 1, 2);
	is_list(b + 3, 1);
	OK(doca_buf_dec_refcount(b[0], NULL));
	OK(doca_buf_dec_refcount(b[1], NULL));
	OK(doca_buf_dec_refcount(b[3], NULL));
}
