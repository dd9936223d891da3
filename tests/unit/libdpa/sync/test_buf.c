/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_buf.c - bufs as the word of a sync event, and in copies between host and device memory. */
#include "rig.h"

#include <string.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>

TestSuite(sync_buf, .timeout = 60);

enum {
	RW = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE,
	ALL = RW | DOCA_ACCESS_FLAG_RDMA_READ | DOCA_ACCESS_FLAG_RDMA_WRITE |
	      DOCA_ACCESS_FLAG_RDMA_ATOMIC,
};

struct bufs {
	struct rig r;
	struct doca_buf_inventory *inventory;
	struct doca_mmap *map;
	_Alignas(64) uint64_t words[16];
};

static void set_up(struct bufs *b, uint32_t access)
{
	uint32_t key;

	sync_rig_start(&b->r);
	for (uint64_t i = 0; i < 16; i++)
		b->words[i] = i + 100;
	b->map = sync_map(&b->r, b->words, sizeof(b->words), access, &key);
	OK(doca_buf_inventory_create(4, &b->inventory));
	OK(doca_buf_inventory_start(b->inventory));
}

static struct doca_buf *new_buf(struct bufs *b, void *data, size_t len)
{
	struct doca_buf *buf;

	OK(doca_buf_inventory_buf_get_by_args(b->inventory, b->map, data, len, data, len, &buf));
	return buf;
}

static void tear_down(struct bufs *b)
{
	OK(doca_buf_inventory_destroy(b->inventory));
	OK(doca_mmap_destroy(b->map));
	rig_destroy(&b->r);
}

Test(sync_buf, an_event_in_a_buf)
{
	struct doca_sync_event *se;
	struct doca_buf *buf;
	struct bufs b;
	uint16_t refs;
	uint64_t v;

	set_up(&b, ALL);
	buf = new_buf(&b, &b.words[3], 8);
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, b.r.dev));
	OK(doca_sync_event_add_subscriber_location_cpu(se, b.r.dev));
	IS(doca_sync_event_set_doca_buf(NULL, buf), INVALID_VALUE);
	IS(doca_sync_event_set_doca_buf(se, NULL), INVALID_VALUE);
	OK(doca_sync_event_set_doca_buf(se, buf));
	OK(doca_buf_get_refcount(buf, &refs));
	cr_assert_eq(refs, 2);
	OK(doca_sync_event_start(se));
	IS(doca_sync_event_set_doca_buf(se, buf), BAD_STATE);
	OK(doca_sync_event_get(se, &v));
	cr_assert_eq(v, 103u);
	OK(doca_sync_event_update_add(se, 1, &v));
	cr_assert_eq(b.words[3], 104u);
	OK(doca_sync_event_stop(se));
	OK(doca_sync_event_set_addr(se, &b.words[5]));
	OK(doca_buf_get_refcount(buf, &refs));
	cr_assert_eq(refs, 1);
	OK(doca_sync_event_set_doca_buf(se, buf));
	OK(doca_buf_dec_refcount(buf, NULL));
	OK(doca_sync_event_destroy(se)); /* and the buf is in its inventory again */
	tear_down(&b);
}

Test(sync_buf, what_cannot_be_an_event)
{
	static const uint32_t access[] = {ALL & ~(uint32_t)RW,
					  ALL & ~(uint32_t)DOCA_ACCESS_FLAG_RDMA_READ,
					  ALL & ~(uint32_t)DOCA_ACCESS_FLAG_RDMA_WRITE,
					  ALL & ~(uint32_t)DOCA_ACCESS_FLAG_RDMA_ATOMIC};
	struct doca_sync_event *se;
	struct doca_buf *buf;
	struct bufs b;

	OK(doca_sync_event_create(&se));
	for (size_t i = 0; i < sizeof(access) / sizeof(access[0]); i++) {
		set_up(&b, access[i]);
		buf = new_buf(&b, b.words, 8);
		IS(doca_sync_event_set_doca_buf(se, buf), NOT_PERMITTED);
		OK(doca_buf_dec_refcount(buf, NULL));
		tear_down(&b);
	}
	set_up(&b, ALL);
	buf = new_buf(&b, b.words, 16);
	IS(doca_sync_event_set_doca_buf(se, buf), NOT_PERMITTED);
	OK(doca_buf_set_data(buf, (char *)b.words + 4, 8));
	IS(doca_sync_event_set_doca_buf(se, buf), NOT_PERMITTED);
	OK(doca_buf_set_data(buf, b.words, 7));
	IS(doca_sync_event_set_doca_buf(se, buf), NOT_PERMITTED);
	OK(doca_buf_dec_refcount(buf, NULL));
	OK(doca_sync_event_destroy(se));
	tear_down(&b);
}

Test(sync_buf, copies)
{
	uint64_t mem, got[4] = {0};
	struct doca_buf *buf;
	struct bufs b;

	set_up(&b, RW);
	OK(doca_dpa_mem_alloc(b.r.dpa, 32, &mem));
	buf = new_buf(&b, &b.words[2], 32);
	OK(doca_dpa_h2d_buf_memcpy(b.r.dpa, mem, buf, 32));
	OK(doca_dpa_d2h_memcpy(b.r.dpa, got, mem, 32));
	cr_assert_arr_eq(got, &b.words[2], 32);
	OK(doca_buf_set_data(buf, &b.words[4], 8));
	OK(doca_dpa_d2h_buf_memcpy(b.r.dpa, buf, mem, 16)); /* length of the buf, not of the data */
	cr_assert_eq(b.words[3], 103u);
	cr_assert_eq(b.words[4], 102u);
	cr_assert_eq(b.words[5], 103u);
	cr_assert_eq(b.words[6], 106u);
	OK(doca_buf_dec_refcount(buf, NULL));
	tear_down(&b);
}

Test(sync_buf, copies_that_are_wrong)
{
	struct doca_dpa *idle;
	struct doca_buf *buf;
	struct bufs b;
	uint64_t mem;

	set_up(&b, RW);
	OK(doca_dpa_mem_alloc(b.r.dpa, 32, &mem));
	OK(doca_dpa_create(b.r.dev, &idle));
	buf = new_buf(&b, &b.words[2], 32);
	IS(doca_dpa_h2d_buf_memcpy(NULL, mem, buf, 8), INVALID_VALUE);
	IS(doca_dpa_h2d_buf_memcpy(b.r.dpa, mem, NULL, 8), INVALID_VALUE);
	IS(doca_dpa_h2d_buf_memcpy(b.r.dpa, mem, buf, 0), INVALID_VALUE);
	IS(doca_dpa_h2d_buf_memcpy(b.r.dpa, mem, buf, 33), INVALID_VALUE);
	IS(doca_dpa_h2d_buf_memcpy(b.r.dpa, mem + 1, buf, 32), INVALID_VALUE);
	IS(doca_dpa_h2d_buf_memcpy(idle, mem, buf, 8), BAD_STATE);
	IS(doca_dpa_d2h_buf_memcpy(NULL, buf, mem, 8), INVALID_VALUE);
	IS(doca_dpa_d2h_buf_memcpy(b.r.dpa, NULL, mem, 8), INVALID_VALUE);
	IS(doca_dpa_d2h_buf_memcpy(b.r.dpa, buf, mem, 0), INVALID_VALUE);
	IS(doca_dpa_d2h_buf_memcpy(b.r.dpa, buf, mem, 33), INVALID_VALUE);
	IS(doca_dpa_d2h_buf_memcpy(b.r.dpa, buf, mem + 1, 32), INVALID_VALUE);
	IS(doca_dpa_d2h_buf_memcpy(idle, buf, mem, 8), BAD_STATE);
	OK(doca_buf_set_data(buf, &b.words[5], 8));
	IS(doca_dpa_h2d_buf_memcpy(b.r.dpa, mem, buf, 9), INVALID_VALUE);
	IS(doca_dpa_d2h_buf_memcpy(b.r.dpa, buf, mem, 9), INVALID_VALUE);
	OK(doca_dpa_destroy(idle));
	OK(doca_buf_dec_refcount(buf, NULL));
	tear_down(&b);
	set_up(&b, DOCA_ACCESS_FLAG_LOCAL_READ_ONLY);
	OK(doca_dpa_mem_alloc(b.r.dpa, 32, &mem));
	buf = new_buf(&b, &b.words[2], 32);
	OK(doca_dpa_h2d_buf_memcpy(b.r.dpa, mem, buf, 8));
	IS(doca_dpa_d2h_buf_memcpy(b.r.dpa, buf, mem, 8), INVALID_VALUE);
	cr_assert_eq(b.words[2], 102u);
	OK(doca_buf_dec_refcount(buf, NULL));
	tear_down(&b);
}
