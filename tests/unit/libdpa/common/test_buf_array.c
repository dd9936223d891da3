/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_buf_array.c - arrays of bufs, from both sides. */
#include <stdio.h>
#include <unistd.h>
#include "tests/unit/libdpa/host.h"
#include <doca_buf_array.h>
#include <doca_mmap.h>

extern doca_dpa_func_t walk, recut, look;

static void remove_files(void)
{
	static const char *const kinds[] = {"core", "crash", "so"};
	char path[64];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/tmp/doca_dpa_fatal.%d.%s", (int)getpid(), kinds[i]);
		unlink(path);
	}
}

TestSuite(buf_array, .fini = remove_files, .timeout = 60);

static char mem[100];

static struct doca_mmap *map_of(struct doca_dev *dev)
{
	struct doca_mmap *m;

	OK(doca_mmap_create(&m));
	OK(doca_mmap_set_memrange(m, mem, sizeof(mem)));
	OK(doca_mmap_set_permissions(m, DOCA_ACCESS_FLAG_RDMA_READ));
	OK(doca_mmap_add_dev(m, dev));
	return m;
}

Test(buf_array, states)
{
	doca_dpa_dev_buf_arr_t h;
	struct doca_buf_arr *a;
	struct doca_mmap *m;
	struct rig r;
	uint32_t n;

	rig_start(&r);
	m = map_of(r.dev);
	IS(doca_buf_arr_create(0, &a), INVALID_VALUE);
	IS(doca_buf_arr_create(1, NULL), INVALID_VALUE);
	OK(doca_buf_arr_create(4, &a));
	IS(doca_buf_arr_start(NULL), INVALID_VALUE);
	IS(doca_buf_arr_stop(NULL), INVALID_VALUE);
	IS(doca_buf_arr_destroy(NULL), INVALID_VALUE);
	IS(doca_buf_arr_start(a), BAD_STATE);
	IS(doca_buf_arr_set_target_dpa(NULL, r.dpa), INVALID_VALUE);
	IS(doca_buf_arr_set_target_dpa(a, NULL), INVALID_VALUE);
	OK(doca_buf_arr_set_target_dpa(a, r.dpa));
	OK(doca_buf_arr_set_target_dpa(a, r.dpa));
	IS(doca_buf_arr_start(a), BAD_STATE);
	IS(doca_buf_arr_set_params(NULL, m, 1, 0), INVALID_VALUE);
	IS(doca_buf_arr_set_params(a, NULL, 1, 0), INVALID_VALUE);
	IS(doca_buf_arr_set_params(a, m, 0, 0), INVALID_VALUE);
	OK(doca_buf_arr_set_params(a, m, 25, 0));
	OK(doca_buf_arr_set_params(a, m, 25, 1));
	OK(doca_mmap_get_num_bufs(m, &n));
	cr_assert_eq(n, 1u);
	IS(doca_mmap_destroy(m), NOT_PERMITTED);
	IS(doca_buf_arr_start(a), BAD_STATE);
	OK(doca_mmap_start(m));
	IS(doca_buf_arr_start(a), NO_MEMORY);
	OK(doca_buf_arr_set_params(a, m, 25, UINT64_MAX));
	IS(doca_buf_arr_start(a), NO_MEMORY);
	OK(doca_buf_arr_set_params(a, m, SIZE_MAX / 2, 0));
	IS(doca_buf_arr_start(a), NO_MEMORY);
	OK(doca_buf_arr_set_params(a, m, 25, 0));
	IS(doca_buf_arr_get_dpa_handle(a, &h), BAD_STATE);
	OK(doca_buf_arr_stop(a));
	OK(doca_buf_arr_start(a));
	IS(doca_buf_arr_start(a), BAD_STATE);
	IS(doca_buf_arr_set_target_dpa(a, r.dpa), BAD_STATE);
	IS(doca_buf_arr_set_params(a, m, 25, 0), BAD_STATE);
	IS(doca_buf_arr_get_dpa_handle(NULL, &h), INVALID_VALUE);
	IS(doca_buf_arr_get_dpa_handle(a, NULL), INVALID_VALUE);
	OK(doca_buf_arr_get_dpa_handle(a, &h));
	cr_assert_eq(h % 64, 0u);
	IS(doca_mmap_stop(m), NOT_PERMITTED);
	OK(doca_buf_arr_stop(a));
	IS(doca_buf_arr_get_dpa_handle(a, &h), BAD_STATE);
	IS(doca_buf_arr_start(a), BAD_STATE);
	OK(doca_mmap_destroy(m));
	OK(doca_buf_arr_destroy(a));
	rig_destroy(&r);
}

Test(buf_array, map_of_another_device)
{
	struct doca_devinfo **list;
	struct doca_buf_arr *a;
	struct doca_dev *other;
	struct doca_mmap *m;
	struct rig r;
	uint32_t n;

	rig_start(&r);
	OK(doca_devinfo_create_list(&list, &n));
	OK(doca_dev_open(list[0], &other));
	OK(doca_devinfo_destroy_list(list));
	m = map_of(other);
	OK(doca_mmap_start(m));
	OK(doca_buf_arr_create(1, &a));
	OK(doca_buf_arr_set_target_dpa(a, r.dpa));
	OK(doca_buf_arr_set_params(a, m, 1, 0));
	IS(doca_buf_arr_start(a), INVALID_VALUE);
	OK(doca_buf_arr_destroy(a));
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(other));
	rig_destroy(&r);
}

/* An array of 4 elements of 20 bytes from byte 10 on. */
struct both {
	struct rig r;
	struct doca_mmap *m;
	struct doca_buf_arr *a;
	doca_dpa_dev_buf_arr_t h;
	doca_dpa_dev_mmap_t key;
};

static void make(struct both *b)
{
	rig_start(&b->r);
	b->m = map_of(b->r.dev);
	OK(doca_mmap_start(b->m));
	OK(doca_mmap_dev_get_dpa_handle(b->m, b->r.dev, &b->key));
	OK(doca_buf_arr_create(4, &b->a));
	OK(doca_buf_arr_set_target_dpa(b->a, b->r.dpa));
	OK(doca_buf_arr_set_params(b->a, b->m, 20, 10));
	OK(doca_buf_arr_start(b->a));
	OK(doca_buf_arr_get_dpa_handle(b->a, &b->h));
}

static void unmake(struct both *b)
{
	OK(doca_buf_arr_destroy(b->a));
	OK(doca_mmap_destroy(b->m));
	rig_destroy(&b->r);
}

/* DOCA: doca_dpa_dev_buf_array_get_buf
 * DOCA: doca_dpa_dev_buf_get_len
 * DOCA: doca_dpa_dev_buf_get_mmap
 * DOCA: doca_dpa_dev_buf_get_addr
 * DOCA: doca_dpa_dev_buf_get_external_ptr */
Test(buf_array, elements_in_device_code)
{
	struct both b;
	uint64_t sum;

	make(&b);
	OK(doca_dpa_rpc(b.r.dpa, &walk, &sum, b.h, (uint64_t)4));
	cr_assert_eq(sum, 4 * (20u + (uint64_t)b.key));
	for (int i = 0; i < 4; i++)
		cr_assert_eq(mem[10 + 20 * i], i);
	unmake(&b);
}

/* DOCA: doca_dpa_dev_buf_set_addr
 * DOCA: doca_dpa_dev_buf_set_len
 * DOCA: doca_dpa_dev_buf_set_mmap
 * DOCA: doca_dpa_dev_mmap_get_external_ptr */
Test(buf_array, pointers_in_device_code)
{
	uint64_t got, at = (uintptr_t)mem;
	struct both b;

	make(&b);
	mem[99] = 77;
	OK(doca_dpa_rpc(b.r.dpa, &recut, &got, b.h, at + 99, (uint64_t)1, b.key));
	cr_assert_eq(got, 77u);
	OK(doca_dpa_rpc(b.r.dpa, &look, &got, b.key, at + 5));
	cr_assert_eq(got, at + 5);
	unmake(&b);
}

static void ends_the_context(uint64_t addr, uint64_t len, bool other_key, bool stopped)
{
	struct both b;
	uint64_t got;

	make(&b);
	if (stopped) {
		OK(doca_buf_arr_stop(b.a));
		OK(doca_mmap_stop(b.m));
		IS(doca_dpa_rpc(b.r.dpa, &look, &got, b.key, addr), DRIVER);
	} else {
		IS(doca_dpa_rpc(b.r.dpa, &recut, &got, b.h, addr, len, b.key + other_key), DRIVER);
	}
	IS(doca_dpa_peek_at_last_error(b.r.dpa), BAD_STATE);
	unmake(&b);
}

Test(buf_array, bad_pointers_end_the_context)
{
	uint64_t at = (uintptr_t)mem;

	ends_the_context(at + 99, 2, false, false);
	ends_the_context(at - 1, 1, false, false);
	ends_the_context(at, UINT64_MAX, false, false);
	ends_the_context(at, 1, true, false);
	ends_the_context(at, 1, false, true);
}

/* The address one past the end was accepted; the store to it landed outside of the map. */
Test(buf_array, no_pointer_one_past_the_end)
{
	uint64_t end = (uintptr_t)mem + 100, got;
	struct both b;

	make(&b);
	mem[99] = 77;
	OK(doca_dpa_rpc(b.r.dpa, &look, &got, b.key, end - 1));
	cr_assert_eq(got, end - 1);
	OK(doca_dpa_rpc(b.r.dpa, &recut, &got, b.h, end - 1, (uint64_t)0, b.key));
	cr_assert_eq(got, 77u);
	IS(doca_dpa_rpc(b.r.dpa, &look, &got, b.key, end), DRIVER);
	IS(doca_dpa_peek_at_last_error(b.r.dpa), BAD_STATE);
	unmake(&b);
	ends_the_context(end, 0, false, false);
}

/* Only RDMA can access a peer's memory. */
Test(buf_array, no_pointer_to_a_peer)
{
	doca_dpa_dev_mmap_t key;
	struct doca_mmap *in;
	const void *desc;
	struct both b;
	uint64_t got;
	size_t len;

	make(&b);
	OK(doca_mmap_export_rdma(b.m, b.r.dev, &desc, &len));
	OK(doca_mmap_create_from_export(NULL, desc, len, b.r.dev, &in));
	OK(doca_buf_arr_destroy(b.a));
	OK(doca_mmap_destroy(b.m));
	OK(doca_mmap_dev_get_dpa_handle(in, b.r.dev, &key));
	IS(doca_dpa_rpc(b.r.dpa, &look, &got, key, (uint64_t)(uintptr_t)mem), DRIVER);
	OK(doca_mmap_destroy(in));
	rig_destroy(&b.r);
}
