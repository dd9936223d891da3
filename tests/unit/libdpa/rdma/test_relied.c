/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_relied.c - behaviour that real programs rely on, and that no other test covers. */
#include <sched.h>
#include <string.h>
#include "rig.h"

TestSuite(relied, .timeout = 60);

extern doca_dpa_func_t count_up, notify;

struct spinner {
	struct doca_dpa_thread *thread;
	struct doca_dpa_notification_completion *wake;
	struct counter *c; /* device memory is memory of this process */
};

static void begin_to_spin(struct rig *r, struct spinner *s)
{
	uint64_t at, ret, handle;

	OK(doca_dpa_mem_alloc(r->dpa, sizeof(*s->c), &at));
	OK(doca_dpa_memset(r->dpa, at, 0, sizeof(*s->c)));
	s->c = (struct counter *)(uintptr_t)at;
	OK(doca_dpa_thread_create(r->dpa, &s->thread));
	OK(doca_dpa_thread_set_func_arg(s->thread, &count_up, at));
	OK(doca_dpa_thread_start(s->thread));
	OK(doca_dpa_notification_completion_create(r->dpa, s->thread, &s->wake));
	OK(doca_dpa_notification_completion_start(s->wake));
	OK(doca_dpa_notification_completion_get_dpa_handle(s->wake, &handle));
	OK(doca_dpa_thread_run(s->thread));
	OK(doca_dpa_rpc(r->dpa, &notify, &ret, handle));
	cr_assert_eq(ret, 7u);
}

static void moves(struct spinner *s)
{
	uint64_t was = __atomic_load_n(&s->c->n, __ATOMIC_RELAXED);

	while (__atomic_load_n(&s->c->n, __ATOMIC_RELAXED) == was)
		sched_yield();
}

/*
 * 4b.9: two threads spin without a call, a third one polls; all continue, and so do RPCs, host
 * calls and messages.
 */
Test(relied, threads_spin_side_by_side)
{
	struct spinner s[2];
	struct rig r;

	rig_up(&r);
	for (int i = 0; i < 2; i++)
		begin_to_spin(&r, &s[i]);
	for (int round = 0; round < 10; round++) {
		uint64_t at;

		moves(&s[0]);
		moves(&s[1]);
		OK(doca_dpa_mem_alloc(r.dpa, 64, &at));
		OK(doca_dpa_mem_free(r.dpa, at));
		rig_do(&r, send_cmd(&r, CMD_RECV, 0, 8, 0));
		peer_send(&r, 0, IBV_WR_SEND, 0, 8, 0);
		cr_assert_eq(rig_element(&r).user_data, 0u);
		cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	}
	for (int i = 0; i < 2; i++) {
		__atomic_store_n(&s[i].c->stop, 1, __ATOMIC_RELAXED);
		OK(doca_dpa_notification_completion_destroy(s[i].wake));
		OK(doca_dpa_thread_destroy(s[i].thread));
	}
	rig_down(&r);
}

/* 4b.11: a variable on the stack is a map, at any address. */
Test(relied, a_map_of_a_stack_variable)
{
	struct __attribute__((packed)) {
		char before;
		uint32_t value;
	} local = {0, 0};
	struct doca_mmap *map;
	struct rig r;
	struct cmd c;

	rig_up(&r);
	cr_assert_neq((uintptr_t)&local.value % 8, 0);
	OK(doca_mmap_create(&map));
	OK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						  DOCA_ACCESS_FLAG_RDMA_WRITE));
	OK(doca_mmap_set_memrange(map, &local.value, sizeof(local.value)));
	OK(doca_mmap_add_dev(map, r.dev));
	OK(doca_mmap_start(map));
	c = send_cmd(&r, CMD_RECV, 0, sizeof(local.value), 0);
	OK(doca_mmap_dev_get_dpa_handle(map, r.dev, (uint32_t *)&c.local_key));
	c.local = (uintptr_t)&local.value;
	rig_do(&r, c);
	memcpy(r.mem2, &(uint32_t){4711}, 4);
	peer_send(&r, 0, IBV_WR_SEND, 0, 4, 0);
	cr_assert_eq(rig_element(&r).status, IBV_WC_SUCCESS);
	cr_assert_eq(local.value, 4711u);
	cr_assert_eq(local.before, 0);
	OK(doca_mmap_destroy(map));
	rig_down(&r);
}

/* 4b.12: programs search their device by the names of all devices with a DPA. */
Test(relied, each_dpa_has_a_name)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	uint32_t n, dpas = 0;

	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n; i++) {
		if (doca_dpa_cap_is_supported(list[i]) != DOCA_SUCCESS)
			continue;
		dpas++;
		OK(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		cr_assert_eq(strncmp(name, "dpa", 3), 0, "%s", name);
	}
	cr_assert_geq(dpas, 1u);
	OK(doca_devinfo_destroy_list(list));
}

/*
 * 4b.3, 4b.4: a completion context that is smaller than the number of elements, and that no thread
 * reads.
 */
Test(relied, elements_that_nobody_reads)
{
	struct rig r;

	rig_up(&r);
	for (int i = 0; i < 600; i++) { /* of 256 */
		peer_recv(&r, 0, (uint64_t)i, 0, 8);
		rig_do(&r, send_cmd(&r, CMD_SEND, 0, 8, FLUSH));
		cr_assert_eq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	}
	OK(doca_dpa_peek_at_last_error(r.dpa));
	rig_down(&r);
}
