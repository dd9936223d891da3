/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_mmap.c - memory maps: states, keys, exports. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/libdpa/host.h"
#include <doca_log.h>
#include "libdpa/common/mmap.h"

TestSuite(mmap, .timeout = 60);

static char mem[100];

static struct doca_mmap *map_of(struct doca_dev *dev, uint32_t access)
{
	struct doca_mmap *m;

	OK(doca_mmap_create(&m));
	OK(doca_mmap_set_permissions(m, access));
	OK(doca_mmap_set_memrange(m, mem + 3, 77));
	OK(doca_mmap_add_dev(m, dev));
	return m;
}

static struct doca_dev *open_other0(void)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	OK(doca_dev_open(list[0], &dev));
	OK(doca_devinfo_destroy_list(list));
	return dev;
}

static void nothing_left(void)
{
	cr_assert_eq(fake_mrs(), 0);
	cr_assert_eq(fake_pds(), 0);
	cr_assert_eq(fake_opens(), 0);
}

Test(mmap, states)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *m;
	void *addr;
	size_t len;

	IS(doca_mmap_create(NULL), INVALID_VALUE);
	IS(doca_mmap_start(NULL), INVALID_VALUE);
	IS(doca_mmap_stop(NULL), INVALID_VALUE);
	IS(doca_mmap_destroy(NULL), INVALID_VALUE);
	OK(doca_mmap_create(&m));
	IS(doca_mmap_start(m), INVALID_VALUE);
	IS(doca_mmap_stop(m), NOT_PERMITTED);
	IS(doca_mmap_get_memrange(m, &addr, &len), BAD_STATE);
	OK(doca_mmap_set_memrange(m, mem, sizeof(mem)));
	IS(doca_mmap_start(m), INVALID_VALUE);
	OK(doca_mmap_add_dev(m, dev));
	OK(doca_mmap_start(m));
	cr_assert_eq(fake_last_access(), IBV_ACCESS_LOCAL_WRITE, "unless set");
	IS(doca_mmap_start(m), NOT_PERMITTED);
	OK(doca_mmap_get_memrange(m, &addr, &len));
	cr_assert(addr == mem && len == sizeof(mem));
	cr_assert_eq(fake_mrs(), 1);
	IS(doca_dev_close(dev), IN_USE);
	OK(doca_mmap_stop(m));
	cr_assert_eq(fake_mrs(), 0);
	OK(doca_mmap_start(m));
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
	nothing_left();
}

Test(mmap, range)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *m;
	void *addr;
	size_t len;

	OK(doca_mmap_create(&m));
	IS(doca_mmap_set_memrange(NULL, mem, 1), INVALID_VALUE);
	IS(doca_mmap_set_memrange(m, NULL, 1), INVALID_VALUE);
	IS(doca_mmap_set_memrange(m, mem, 0), INVALID_VALUE);
	IS(doca_mmap_set_memrange(m, mem, SIZE_MAX), INVALID_VALUE);
	OK(doca_mmap_set_memrange(m, mem, 8));
	OK(doca_mmap_set_memrange(m, mem, 8)); /* the same again */
	IS(doca_mmap_set_memrange(m, mem, 9), NOT_PERMITTED);
	IS(doca_mmap_get_memrange(m, NULL, &len), INVALID_VALUE);
	IS(doca_mmap_get_memrange(m, &addr, NULL), INVALID_VALUE);
	OK(doca_mmap_add_dev(m, dev));
	OK(doca_mmap_start(m));
	IS(doca_mmap_set_memrange(m, mem, 8), BAD_STATE);
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
}

Test(mmap, dmabuf)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *m, *set = map_of(dev, 0);
	struct dpa_mmap_key k, l;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	OK(doca_mmap_create(&m));
	IS(doca_mmap_set_dmabuf_memrange(NULL, fd, mem, 0, 1), INVALID_VALUE);
	IS(doca_mmap_set_dmabuf_memrange(m, -1, mem, 0, 1), INVALID_VALUE);
	IS(doca_mmap_set_dmabuf_memrange(m, fd, mem, 0, 0), INVALID_VALUE);
	IS(doca_mmap_set_dmabuf_memrange(m, fd, mem, 0, SIZE_MAX), INVALID_VALUE);
	IS(doca_mmap_set_dmabuf_memrange(m, fd, mem, SIZE_MAX, 2), INVALID_VALUE);
	OK(doca_mmap_set_dmabuf_memrange(m, fd, mem, 4096, 10));
	cr_assert_eq(close(fd), 0);
	IS(doca_mmap_set_memrange(m, mem, 1), NOT_PERMITTED);
	OK(doca_mmap_add_dev(m, dev));
	OK(doca_mmap_start(m));
	cr_assert_eq(fake_last_dmabuf_offset(), 4096u);
	OK(dpa_mmap_mkey(m, dev, &k));
	cr_assert(k.addr == (uintptr_t)mem && k.len == 10);
	cr_assert(!dpa_mmap_lookup(dev, k.key, &l), "no pointer");
	OK(doca_mmap_stop(m));
	fake_fail_reg(EOPNOTSUPP);
	IS(doca_mmap_start(m), INVALID_VALUE);
	IS(doca_mmap_set_dmabuf_memrange(set, 0, mem, 0, 1), NOT_PERMITTED);
	OK(doca_mmap_start(set));
	IS(doca_mmap_set_dmabuf_memrange(set, 0, mem, 0, 1), BAD_STATE);
	OK(doca_mmap_destroy(m));
	OK(doca_mmap_destroy(set));
	OK(doca_dev_close(dev));
	nothing_left();
}

Test(mmap, devices)
{
	struct doca_dev *dev = open_dpa0(), *other = open_other0();
	struct doca_mmap *m = map_of(dev, 0);
	struct dpa_mmap_key a, b;
	uint32_t n;

	IS(doca_mmap_add_dev(NULL, dev), INVALID_VALUE);
	IS(doca_mmap_add_dev(m, NULL), INVALID_VALUE);
	IS(doca_mmap_add_dev(m, dev), ALREADY_EXIST);
	IS(doca_mmap_rm_dev(m, other), NOT_FOUND);
	IS(doca_mmap_rm_dev(m, NULL), INVALID_VALUE);
	IS(doca_mmap_set_max_num_devices(m, 0), INVALID_VALUE);
	OK(doca_mmap_set_max_num_devices(m, 1));
	IS(doca_mmap_add_dev(m, other), NO_MEMORY);
	OK(doca_mmap_rm_dev(m, dev));
	OK(doca_mmap_add_dev(m, dev));
	OK(doca_mmap_set_max_num_devices(m, 2));
	OK(doca_mmap_get_max_num_devices(m, &n));
	cr_assert_eq(n, 2u);
	IS(doca_mmap_get_max_num_devices(m, NULL), INVALID_VALUE);
	OK(doca_mmap_add_dev(m, other));
	IS(doca_mmap_set_max_num_devices(m, 1), INVALID_VALUE);
	OK(doca_mmap_start(m));
	IS(doca_mmap_rm_dev(m, dev), NOT_PERMITTED);
	IS(doca_mmap_add_dev(m, dev), NOT_PERMITTED);
	IS(doca_mmap_set_max_num_devices(m, 9), NOT_PERMITTED);
	cr_assert_eq(fake_mrs(), 2);
	OK(dpa_mmap_mkey(m, dev, &a));
	OK(dpa_mmap_mkey(m, other, &b));
	cr_assert_neq(a.key, b.key);
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
	OK(doca_dev_close(other));
	nothing_left();
}

Test(mmap, keys)
{
	struct doca_dev *dev = open_dpa0(), *other = open_other0();
	struct doca_mmap *m = map_of(dev, DOCA_ACCESS_FLAG_RDMA_READ);
	struct dpa_mmap_key k, l;
	doca_dpa_dev_mmap_t h;

	IS(doca_mmap_dev_get_dpa_handle(m, dev, &h), NOT_PERMITTED);
	OK(doca_mmap_start(m));
	IS(doca_mmap_dev_get_dpa_handle(NULL, dev, &h), INVALID_VALUE);
	IS(doca_mmap_dev_get_dpa_handle(m, NULL, &h), INVALID_VALUE);
	IS(doca_mmap_dev_get_dpa_handle(m, dev, NULL), INVALID_VALUE);
	IS(doca_mmap_dev_get_dpa_handle(m, other, &h), NOT_FOUND);
	OK(doca_mmap_dev_get_dpa_handle(m, dev, &h));
	OK(dpa_mmap_mkey(m, dev, &k));
	cr_assert(k.key == h && !k.remote && k.addr == (uintptr_t)mem + 3 && k.len == 77);
	cr_assert(dpa_mmap_lookup(dev, h, &l));
	cr_assert_eq(memcmp(&k, &l, sizeof(k)), 0);
	cr_assert(dpa_mmap_holds(&k, k.addr, 77) && dpa_mmap_holds(&k, k.addr + 77, 0));
	cr_assert(!dpa_mmap_holds(&k, k.addr, 78) && !dpa_mmap_holds(&k, k.addr - 1, 1));
	cr_assert(!dpa_mmap_holds(&k, k.addr + 1, UINT64_MAX));
	cr_assert(!dpa_mmap_lookup(other, h, &l));
	cr_assert(!dpa_mmap_lookup(dev, h + 1, &l));
	OK(doca_mmap_stop(m));
	cr_assert(!dpa_mmap_lookup(dev, h, &l));
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
	OK(doca_dev_close(other));
}

/* The memory outlives its doca_dpa_mem_free(), and the context, as long as a device may write to
 * it. */
Test(mmap, dpa_memory)
{
	struct doca_mmap *m, *late;
	doca_dpa_dev_mmap_t h;
	uint64_t p;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_mem_alloc(r.dpa, 64, &p));
	OK(doca_mmap_create(&m));
	IS(doca_mmap_set_dpa_memrange(NULL, r.dpa, p, 64), INVALID_VALUE);
	IS(doca_mmap_set_dpa_memrange(m, NULL, p, 64), INVALID_VALUE);
	IS(doca_mmap_set_dpa_memrange(m, r.dpa, p, 0), INVALID_VALUE);
	IS(doca_mmap_set_dpa_memrange(m, r.dpa, p, 65), INVALID_VALUE);
	IS(doca_mmap_set_dpa_memrange(m, r.dpa, (uintptr_t)mem, 1), INVALID_VALUE);
	OK(doca_mmap_set_dpa_memrange(m, r.dpa, p + 1, 63));
	IS(doca_mmap_set_dpa_memrange(m, r.dpa, p, 64), NOT_PERMITTED);
	IS(doca_mmap_set_memrange(m, mem, 1), NOT_PERMITTED);
	IS(doca_mmap_add_dev(m, r.dev), NOT_PERMITTED);
	IS(doca_mmap_rm_dev(m, r.dev), NOT_PERMITTED);
	OK(doca_mmap_start(m));
	IS(doca_mmap_set_dpa_memrange(m, r.dpa, p, 64), BAD_STATE);
	OK(doca_mmap_dev_get_dpa_handle(m, r.dev, &h));
	OK(doca_mmap_create(&late));
	OK(doca_mmap_add_dev(late, r.dev));
	IS(doca_mmap_set_dpa_memrange(late, r.dpa, p, 64), NOT_PERMITTED);
	OK(doca_mmap_destroy(late));
	OK(doca_dpa_mem_free(r.dpa, p));
	*(volatile char *)(uintptr_t)(p + 63) = 1;
	OK(doca_dpa_destroy(r.dpa));
	*(volatile char *)(uintptr_t)(p + 63) = 2;
	OK(doca_mmap_stop(m));
	OK(doca_mmap_start(m));
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(r.dev));
	nothing_left();
}

Test(mmap, permissions)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *m = map_of(dev, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);

	IS(doca_mmap_set_permissions(NULL, 0), INVALID_VALUE);
	IS(doca_mmap_set_permissions(m, 1 << 7), INVALID_VALUE);
	IS(doca_mmap_set_permissions(m, DOCA_ACCESS_FLAG_PCI_READ_ONLY |
						DOCA_ACCESS_FLAG_PCI_READ_WRITE),
	   INVALID_VALUE);
	OK(doca_mmap_set_permissions(m, DOCA_ACCESS_FLAG_PCI_READ_ONLY));
	OK(doca_mmap_start(m));
	IS(doca_mmap_set_permissions(m, 0), BAD_STATE);
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
}

/* The access flags for the device: remote write requires local write. */
Test(mmap, access_of_the_region)
{
	static const struct {
		uint32_t doca;
		int verbs;
	} cases[] = {
		{DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, 0},
		{DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, IBV_ACCESS_LOCAL_WRITE},
		{DOCA_ACCESS_FLAG_RDMA_READ, IBV_ACCESS_REMOTE_READ},
		{DOCA_ACCESS_FLAG_RDMA_WRITE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
		{DOCA_ACCESS_FLAG_RDMA_ATOMIC, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC},
		{DOCA_ACCESS_FLAG_PCI_READ_WRITE | DOCA_ACCESS_FLAG_PCI_RELAXED_ORDERING,
		 IBV_ACCESS_LOCAL_WRITE},
	};
	struct doca_dev *dev = open_dpa0();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct doca_mmap *m = map_of(dev, cases[i].doca);

		OK(doca_mmap_start(m));
		cr_assert_eq(fake_last_access(), cases[i].verbs);
		OK(doca_mmap_destroy(m));
	}
	OK(doca_dev_close(dev));
}

Test(mmap, exports)
{
	struct doca_dev *dev = open_dpa0(), *other = open_other0();
	struct doca_mmap *m = map_of(dev, DOCA_ACCESS_FLAG_RDMA_WRITE), *in;
	union doca_data data = {.u64 = 5}, got;
	struct dpa_mmap_key k, l;
	const void *d, *d2;
	void *addr;
	size_t n, len;
	uint8_t flag;

	IS(doca_mmap_export_rdma(m, dev, &d, &n), NOT_PERMITTED);
	OK(doca_mmap_start(m));
	IS(doca_mmap_export_rdma(NULL, dev, &d, &n), INVALID_VALUE);
	IS(doca_mmap_export_rdma(m, NULL, &d, &n), INVALID_VALUE);
	IS(doca_mmap_export_rdma(m, dev, NULL, &n), INVALID_VALUE);
	IS(doca_mmap_export_rdma(m, dev, &d, NULL), INVALID_VALUE);
	IS(doca_mmap_export_rdma(m, other, &d, &n), NOT_FOUND);
	OK(doca_mmap_get_exported(m, &flag));
	cr_assert_eq(flag, 0);
	OK(doca_mmap_export_rdma(m, dev, &d, &n));
	OK(doca_mmap_export_rdma(m, dev, &d2, &n));
	cr_assert_eq(d, d2);
	OK(doca_mmap_get_exported(m, &flag));
	cr_assert_eq(flag, 1);
	IS(doca_mmap_get_exported(m, NULL), INVALID_VALUE);
	IS(doca_mmap_start(m), NOT_PERMITTED);

	OK(doca_mmap_create_from_export(&data, d, n, other, &in));
	OK(doca_mmap_get_from_export(in, &flag));
	cr_assert_eq(flag, 1);
	OK(doca_mmap_get_from_export(m, &flag));
	cr_assert_eq(flag, 0);
	IS(doca_mmap_get_from_export(m, NULL), INVALID_VALUE);
	OK(doca_mmap_get_user_data(in, &got));
	cr_assert_eq(got.u64, 5u);
	OK(doca_mmap_get_memrange(in, &addr, &len));
	cr_assert(addr == mem + 3 && len == 77);
	OK(dpa_mmap_mkey(m, dev, &k));
	OK(dpa_mmap_mkey(in, other, &l));
	cr_assert(k.key == l.key && l.remote && l.addr == k.addr && l.len == k.len);
	IS(dpa_mmap_mkey(in, dev, &l), NOT_FOUND);
	cr_assert(!dpa_mmap_lookup(other, l.key, &l), "nobody dereferences a peer's range");
	IS(doca_mmap_start(in), NOT_PERMITTED);
	IS(doca_mmap_add_dev(in, dev), NOT_PERMITTED);
	IS(doca_mmap_rm_dev(in, other), NOT_PERMITTED);
	IS(doca_mmap_set_memrange(in, mem, 1), NOT_PERMITTED);
	IS(doca_mmap_set_max_num_devices(in, 3), NOT_PERMITTED);
	IS(doca_mmap_enable_thread_safety(in), NOT_PERMITTED);
	IS(doca_mmap_set_permissions(in, 0), BAD_STATE);
	IS(doca_mmap_set_user_data(in, data), BAD_STATE);
	IS(doca_mmap_set_free_cb(in, NULL, NULL), BAD_STATE);
	IS(doca_mmap_export_rdma(in, other, &d2, &n), NOT_PERMITTED);
	OK(doca_mmap_destroy(in));
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
	OK(doca_dev_close(other));
	nothing_left();
}

/* The public samples stop both sides' maps before they destroy them. */
Test(mmap, exports_are_stopped)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *m = map_of(dev, DOCA_ACCESS_FLAG_RDMA_READ), *in;
	struct dpa_mmap_key key;
	const void *d;
	uint8_t flag;
	size_t n;

	OK(doca_mmap_start(m));
	OK(doca_mmap_export_rdma(m, dev, &d, &n));
	OK(doca_mmap_create_from_export(NULL, d, n, dev, &in));
	OK(doca_mmap_stop(m));
	OK(doca_mmap_get_exported(m, &flag));
	cr_assert_eq(flag, 0);
	OK(doca_mmap_start(m));
	OK(doca_mmap_export_rdma(m, dev, &d, &n));
	OK(doca_mmap_stop(in));
	IS(doca_mmap_stop(in), NOT_PERMITTED);
	IS(doca_mmap_start(in), NOT_PERMITTED);
	IS(dpa_mmap_mkey(in, dev, &key), NOT_PERMITTED);
	OK(doca_mmap_destroy(in));
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
	nothing_left();
}

Test(mmap, exports_without_permission)
{
	struct doca_dev *dev = open_dpa0(), *other = open_other0();
	struct doca_mmap *m = map_of(dev, DOCA_ACCESS_FLAG_PCI_READ_ONLY);
	struct doca_mmap *l = map_of(dev, DOCA_ACCESS_FLAG_RDMA_READ);
	struct doca_mmap *foreign = map_of(other, DOCA_ACCESS_FLAG_PCI_READ_ONLY);
	const void *d;
	size_t n;

	OK(doca_mmap_start(m));
	OK(doca_mmap_start(l));
	OK(doca_mmap_start(foreign));
	IS(doca_mmap_export_pci(foreign, other, &d, &n), NOT_SUPPORTED);
	OK(doca_mmap_destroy(foreign));
	IS(doca_mmap_export_rdma(m, dev, &d, &n), NOT_PERMITTED);
	IS(doca_mmap_export_pci(l, dev, &d, &n), NOT_PERMITTED);
	IS(doca_mmap_export_pci(m, other, &d, &n), NOT_FOUND);
	IS(doca_mmap_export_pci(NULL, dev, &d, &n), INVALID_VALUE);
	IS(doca_mmap_export_pci(m, NULL, &d, &n), INVALID_VALUE);
	OK(doca_mmap_destroy(m));
	OK(doca_mmap_destroy(l));
	OK(doca_dev_close(dev));
	OK(doca_dev_close(other));
}

/* Each input from outside is a description or is refused. */
Test(mmap, foreign_descriptions)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *m = map_of(dev, DOCA_ACCESS_FLAG_RDMA_READ), *in;
	unsigned char copy[64];
	const void *d;
	size_t n;

	OK(doca_mmap_start(m));
	OK(doca_mmap_export_rdma(m, dev, &d, &n));
	cr_assert_leq(n, sizeof(copy) - 1);
	IS(doca_mmap_create_from_export(NULL, NULL, n, dev, &in), INVALID_VALUE);
	IS(doca_mmap_create_from_export(NULL, d, n, NULL, &in), INVALID_VALUE);
	IS(doca_mmap_create_from_export(NULL, d, n, dev, NULL), INVALID_VALUE);
	for (size_t k = 0; k < n; k++)
		IS(doca_mmap_create_from_export(NULL, d, k, dev, &in), INVALID_VALUE);
	memset(copy, 0, sizeof(copy));
	memcpy(copy, d, n);
	IS(doca_mmap_create_from_export(NULL, copy, n + 1, dev, &in), INVALID_VALUE);
	OK(doca_mmap_create_from_export(NULL, copy, n, dev, &in));
	OK(doca_mmap_destroy(in));
	copy[12] = 2; /* version */
	IS(doca_mmap_create_from_export(NULL, copy, n, dev, &in), NOT_SUPPORTED);
	memcpy(copy, d, n);
	memset(copy + 24, 0xff, 8); /* length */
	IS(doca_mmap_create_from_export(NULL, copy, n, dev, &in), INVALID_VALUE);
	memset(copy + 24, 0, 8);
	IS(doca_mmap_create_from_export(NULL, copy, n, dev, &in), INVALID_VALUE);
	memcpy(copy, d, n);
	copy[0] ^= 1;
	IS(doca_mmap_create_from_export(NULL, copy, n, dev, &in), INVALID_VALUE);
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
}

static int freed;
static void on_free(void *addr, size_t len, void *cookie)
{
	freed += addr == mem + 3 && len == 77 && cookie == &freed;
}

Test(mmap, free_callback_of_a_map_that_was_started)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *never = map_of(dev, 0), *m = map_of(dev, 0);

	IS(doca_mmap_set_free_cb(NULL, on_free, NULL), INVALID_VALUE);
	OK(doca_mmap_set_free_cb(never, on_free, &freed));
	OK(doca_mmap_set_free_cb(m, on_free, &freed));
	OK(doca_mmap_destroy(never));
	cr_assert_eq(freed, 0);
	OK(doca_mmap_start(m));
	IS(doca_mmap_set_free_cb(m, NULL, NULL), BAD_STATE);
	OK(doca_mmap_stop(m));
	cr_assert_eq(freed, 0);
	OK(doca_mmap_destroy(m));
	cr_assert_eq(freed, 1);
	OK(doca_dev_close(dev));
}

Test(mmap, user_data_and_the_rest)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *m = map_of(dev, 0);
	union doca_data in = {.u64 = 77}, out;
	uint32_t n = 9;
	uint8_t cap = 9;

	OK(doca_mmap_set_user_data(m, in));
	IS(doca_mmap_set_user_data(NULL, in), INVALID_VALUE);
	OK(doca_mmap_get_user_data(m, &out));
	cr_assert_eq(out.u64, 77u);
	IS(doca_mmap_get_user_data(m, NULL), INVALID_VALUE);
	OK(doca_mmap_get_num_bufs(m, &n));
	cr_assert_eq(n, 0u);
	IS(doca_mmap_get_num_bufs(m, NULL), INVALID_VALUE);
	IS(doca_mmap_enable_thread_safety(NULL), INVALID_VALUE);
	OK(doca_mmap_enable_thread_safety(m));
	OK(doca_mmap_start(m));
	IS(doca_mmap_set_user_data(m, in), BAD_STATE);
	IS(doca_mmap_enable_thread_safety(m), NOT_PERMITTED);
	OK(doca_mmap_cap_is_export_pci_supported(doca_dev_as_devinfo(dev), &cap));
	cr_assert_eq(cap, 1);
	IS(doca_mmap_cap_is_export_pci_supported(NULL, &cap), INVALID_VALUE);
	IS(doca_mmap_cap_is_create_from_export_pci_supported(NULL, &cap), INVALID_VALUE);
	OK(doca_mmap_cap_is_create_from_export_pci_supported(doca_dev_as_devinfo(dev), &cap));
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
}

static void on_flush(char *buf)
{
}

/*
 * All or nothing: if one device refuses, the registrations with the others are undone. The error is
 * logged.
 */
Test(mmap, registration_fails)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *m = map_of(dev, 0);
	struct doca_log_backend *sdk;
	static char text[1000];

	OK(doca_log_backend_create_with_buf_sdk(text, sizeof(text), on_flush, &sdk));
	fake_fail_reg(ENOMEM);
	IS(doca_mmap_start(m), NO_MEMORY);
	cr_assert(strstr(text, "[DOCA][ERR][mmap.c:"));
	cr_assert(strstr(text, "dpa0 cannot register 77 bytes at "));
	fake_fail_reg(EINVAL);
	IS(doca_mmap_start(m), INVALID_VALUE);
	cr_assert_eq(fake_mrs(), 0);
	/* the region of PCI exports is removed again: that leaves another errno */
	OK(doca_mmap_set_permissions(m, DOCA_ACCESS_FLAG_PCI_READ_ONLY));
	fake_fail_reg_after(1, EFAULT);
	IS(doca_mmap_start(m), INVALID_VALUE);
	cr_assert(strstr(text, strerror(EFAULT)), "%s", text);
	cr_assert_eq(fake_mrs(), 0);
	OK(doca_mmap_start(m));
	OK(doca_mmap_destroy(m));
	OK(doca_dev_close(dev));
	nothing_left();
}
