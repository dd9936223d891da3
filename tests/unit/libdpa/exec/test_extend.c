/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_extend.c - extended contexts: a program on two devices. */
#include <string.h>
#include <unistd.h>
#include "rig.h"
#include "../open_dev.h"

TestSuite(extend, .timeout = 60);

struct two {
	struct rig r; /* of the base, with its completion context in r.comp */
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	struct doca_dpa_completion *comp;
	struct ibv_cq *cq;
	uint64_t handle; /* of comp */
};

static void new_comp(struct doca_dpa *dpa, struct doca_dpa_completion **c, uint64_t *handle,
		     struct ibv_cq **cq)
{
	OK(doca_dpa_completion_create(dpa, 8, c));
	OK(doca_dpa_completion_start(*c));
	OK(doca_dpa_completion_get_dpa_handle(*c, handle));
	OK(dpa_completion_get_ibv_cq(*c, cq));
}

/* @log: NULL, or a path */
static void two_start(struct two *t, const char *log)
{
	uint64_t h;

	memset(t, 0, sizeof(*t));
	rig_create(&t->r, test_app);
	if (log)
		OK(doca_dpa_log_file_set_path(t->r.dpa, log));
	rig_go(&t->r, sizeof(struct exec_shared));
	t->dev = open_dev("dpa0_sf1");
	OK(doca_dpa_device_extend(t->r.dpa, t->dev, &t->dpa));
	new_comp(t->r.dpa, &t->r.comp, &h, &t->r.cq);
	PUT(&t->r, comp, h);
	new_comp(t->dpa, &t->comp, &t->handle, &t->cq);
	cr_assert_neq(h, t->handle, "handles of a process differ");
	OK(doca_dpa_get_dpa_handle(t->r.dpa, &h));
	PUT(&t->r, base, h);
	OK(doca_dpa_get_dpa_handle(t->dpa, &h));
	PUT(&t->r, other, h);
}

static void two_end(struct two *t)
{
	OK(doca_dpa_completion_destroy(t->comp));
	OK(doca_dpa_destroy(t->dpa));
	OK(doca_dev_close(t->dev));
	rig_destroy(&t->r);
}

Test(extend, states)
{
	struct doca_dev *none = open_dev("other0");
	struct doca_dpa *e, *e2;
	doca_dpa_dev_log_level_t level;
	struct doca_dpa_app *app;
	struct doca_dev *sf;
	uint64_t h, h2;
	struct rig r;
	char path[8];
	uint32_t len = sizeof(path);

	rig_create(&r, test_app);
	sf = open_dev("dpa0_sf1");
	IS(doca_dpa_device_extend(r.dpa, sf, &e), BAD_STATE);
	IS(doca_dpa_get_dpa_handle(r.dpa, &h), BAD_STATE);
	rig_go(&r, sizeof(struct exec_shared));
	IS(doca_dpa_device_extend(NULL, sf, &e), INVALID_VALUE);
	IS(doca_dpa_device_extend(r.dpa, NULL, &e), INVALID_VALUE);
	IS(doca_dpa_device_extend(r.dpa, sf, NULL), INVALID_VALUE);
	IS(doca_dpa_device_extend(r.dpa, none, &e), DRIVER);
	OK(doca_dpa_device_extend(r.dpa, sf, &e));
	IS(doca_dpa_device_extend(e, sf, &e2), BAD_STATE);
	IS(doca_dev_close(sf), IN_USE);
	IS(doca_dpa_start(e), BAD_STATE);
	IS(doca_dpa_set_app(e, test_app), BAD_STATE);
	OK(doca_dpa_get_app(e, &app));
	cr_assert_eq(app, test_app);
	IS(doca_dpa_set_log_level(e, DOCA_DPA_DEV_LOG_LEVEL_INFO), NOT_PERMITTED);
	OK(doca_dpa_get_log_level(e, &level));
	cr_assert_eq(level, DOCA_DPA_DEV_LOG_LEVEL_INFO);
	IS(doca_dpa_log_file_set_path(e, "/tmp/x"), BAD_STATE);
	IS(doca_dpa_trace_file_set_path(e, "/tmp/x"), BAD_STATE);
	OK(doca_dpa_log_file_get_path(e, path, &len));
	cr_assert_str_eq(path, "");
	IS(doca_dpa_get_dpa_handle(NULL, &h), INVALID_VALUE);
	IS(doca_dpa_get_dpa_handle(e, NULL), INVALID_VALUE);
	OK(doca_dpa_get_dpa_handle(r.dpa, &h));
	OK(doca_dpa_get_dpa_handle(e, &h2));
	cr_assert(h && h2 && h != h2);
	IS(doca_dpa_stop(r.dpa), IN_USE);
	IS(doca_dpa_destroy(r.dpa), IN_USE);
	OK(doca_dpa_stop(e));
	IS(doca_dpa_get_dpa_handle(e, &h2), BAD_STATE);
	OK(doca_dpa_start(e));
	OK(doca_dpa_destroy(e));
	OK(doca_dpa_device_extend(r.dpa, sf, &e));
	OK(doca_dpa_stop(e));
	OK(doca_dpa_stop(r.dpa));
	IS(doca_dpa_start(e), BAD_STATE);
	OK(doca_dpa_destroy(e));
	OK(doca_dev_close(sf));
	OK(doca_dev_close(none));
	rig_destroy(&r);
}

Test(extend, one_program_on_both_devices)
{
	struct two t;
	uint64_t ret;

	two_start(&t, NULL);
	fake_push_recv(t.cq, 1);
	fake_push_recv(t.cq, 2);
	fake_push_recv(t.r.cq, 3);
	OK(doca_dpa_rpc(t.r.dpa, &rpc_two_devices, &ret, t.r.shared, t.handle));
	cr_assert_eq(ret, 111u);
	/*
	 * called on the extended context it begins with that device, and does not use another one
	 */
	fake_push_recv(t.cq, 4);
	OK(doca_dpa_rpc(t.dpa, &rpc_take, &ret, t.handle));
	cr_assert_eq(ret, 1u);
	two_end(&t);
}

/* Its threads begin with its device; its memory belongs to the program. */
Test(extend, threads_of_an_extended_context)
{
	struct doca_dpa_completion *c;
	struct doca_dpa_thread *thread;
	struct doca_dpa *e;
	struct doca_dev *sf;
	struct ibv_cq *cq;
	uint64_t h, p, v = 5;
	struct rig r;

	exec_rig_start(&r);
	sf = open_dev("dpa0_sf1");
	OK(doca_dpa_device_extend(r.dpa, sf, &e));
	OK(doca_dpa_thread_create(e, &thread));
	OK(doca_dpa_thread_set_func_arg(thread, &thread_take, r.shared));
	OK(doca_dpa_thread_start(thread));
	OK(doca_dpa_completion_create(e, 8, &c));
	OK(doca_dpa_completion_set_thread(c, thread));
	OK(doca_dpa_completion_start(c));
	OK(doca_dpa_completion_get_dpa_handle(c, &h));
	OK(dpa_completion_get_ibv_cq(c, &cq));
	OK(doca_dpa_h2d_memcpy(e, r.shared, &h, 8));
	OK(doca_dpa_thread_run(thread));
	for (uint64_t i = 1; i <= 10; i++) {
		fake_push_recv(cq, i);
		AWAIT_SHARED(&r, ran, i);
	}
	OK(doca_dpa_mem_alloc(e, 8, &p));
	OK(doca_dpa_h2d_memcpy(r.dpa, p, &v, 8));
	OK(doca_dpa_mem_free(r.dpa, p));
	IS(doca_dpa_stop(e), IN_USE);
	OK(doca_dpa_completion_destroy(c));
	OK(doca_dpa_thread_destroy(thread));
	OK(doca_dpa_destroy(e));
	OK(doca_dev_close(sf));
	rig_destroy(&r);
}

Test(extend, children_of_a_dead_one)
{
	struct doca_dpa_thread *thread;
	struct two t;

	two_start(&t, NULL);
	OK(doca_dpa_thread_create(t.dpa, &thread));
	OK(doca_dpa_kernel_launch_update_set(t.dpa, NULL, 0, NULL, 0, 1, &kernel_polite,
					     t.r.shared));
	AWAIT_SHARED(&t.r, ran, 1);
	OK(doca_dpa_destroy(t.dpa)); /* its kernel is killed, and no other */
	OK(doca_dpa_peek_at_last_error(t.r.dpa));
	OK(doca_dpa_destroy(t.r.dpa));
	IS(doca_dpa_completion_destroy(t.comp), BAD_STATE);
	IS(doca_dpa_thread_destroy(thread), BAD_STATE);
	IS(doca_dpa_completion_destroy(t.r.comp), BAD_STATE);
	OK(doca_dev_close(t.dev));
	OK(doca_dev_close(t.r.dev));
}

/* Make an event that device code of `of` changes, and its handle. */
static struct doca_sync_event *event_of(struct rig *r, struct doca_dpa *of, uint64_t *handle)
{
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_dpa(se, of));
	OK(doca_sync_event_add_subscriber_location_cpu(se, r->dev));
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_get_dpa_handle(se, of, handle));
	return se;
}

/*
 * The public samples update an event of the base context after they have selected the extended one.
 */
Test(extend, events_and_hash_tables_need_no_device_set)
{
	struct two t;

	two_start(&t, NULL);
	/* event, table and selected device: of the base or the other */
	for (int i = 0; i < 8; i++) {
		struct doca_dpa *of[2] = {t.r.dpa, t.dpa};
		uint64_t device = i & 4 ? SHARED(&t.r, other) : SHARED(&t.r, base), ret = 0, h,
			 table;
		struct doca_sync_event *se = event_of(&t.r, of[i & 1], &h);
		struct doca_dpa_hash_table *ht;

		OK(doca_dpa_hash_table_create(of[i >> 1 & 1], 4, &ht));
		OK(doca_dpa_hash_table_get_dpa_handle(ht, &table));
		OK(doca_dpa_rpc(of[i & 1], &rpc_memory, &ret, device, h, table));
		cr_expect_eq(ret, 11u, "case %d: %lu", i, (unsigned long)ret);
		cr_expect_eq(exec_value(se), 6u);
		OK(doca_sync_event_destroy(se));
		OK(doca_dpa_hash_table_destroy(ht));
	}
	OK(doca_dpa_peek_at_last_error(t.r.dpa));
	two_end(&t);
}

/* They are in the base's table: a destroyed extended context leaves none there. */
Test(extend, an_event_outlives_its_extended_context)
{
	struct doca_sync_event *se;
	uint64_t h, ret, handles[3];
	struct doca_dpa_hash_table *ht;
	struct two t;

	two_start(&t, NULL);
	se = event_of(&t.r, t.dpa, &h);
	OK(doca_dpa_hash_table_create(t.dpa, 4, &ht));
	OK(doca_dpa_hash_table_get_dpa_handle(ht, &handles[0]));
	OK(doca_dpa_completion_destroy(t.comp));
	OK(doca_dpa_destroy(t.dpa));
	OK(doca_sync_event_destroy(se));
	IS(doca_dpa_hash_table_destroy(ht), BAD_STATE);
	IS(doca_dpa_rpc(t.r.dpa, &rpc_memory, &ret, SHARED(&t.r, base), h, handles[0]), DRIVER);
	rig_drop_crash(CRASH);
	OK(doca_dev_close(t.dev));
	rig_destroy(&t.r);
}

/* A doorbell: device code rings it through the selected device. */
Test(extend, a_notification_needs_its_device)
{
	struct exec_thread th;
	struct two t;
	uint64_t ret;

	two_start(&t, NULL);
	exec_thread_new(&t.r, &th, &thread_note, NULL);
	OK(doca_dpa_rpc(t.r.dpa, &rpc_notify_by, &ret, SHARED(&t.r, base), th.handle));
	AWAIT_SHARED(&t.r, ran, 1);
	IS(doca_dpa_rpc(t.r.dpa, &rpc_notify_by, &ret, SHARED(&t.r, other), th.handle), DRIVER);
	IS(doca_dpa_peek_at_last_error(t.r.dpa), BAD_STATE);
	rig_drop_crash(CRASH);
	exec_thread_free(&th);
	two_end(&t);
}

static void expect_mistake(int what, const char *say)
{
	char path[64];
	uint64_t ret, h;
	struct two t;

	exec_new_file(path);
	two_start(&t, path);
	h = SHARED(&t.r, comp);
	if (what == 0)
		IS(doca_dpa_rpc(t.r.dpa, &rpc_take, &ret, t.handle), DRIVER);
	else if (what == 1)
		IS(doca_dpa_rpc(t.dpa, &rpc_take, &ret, h), DRIVER);
	else
		IS(doca_dpa_rpc(t.r.dpa, &rpc_set_device, &ret, h), DRIVER);
	IS(doca_dpa_peek_at_last_error(t.r.dpa), BAD_STATE);
	IS(doca_dpa_peek_at_last_error(t.dpa), BAD_STATE);
	two_end(&t);
	rig_drop_crash(path);
	cr_expect(strstr(exec_file(path), say), "%s", exec_file(path));
	unlink(path);
}

Test(extend, a_resource_without_its_device_is_a_mistake)
{
	expect_mistake(0, "a completion context of a device that device_set() has not chosen");
	expect_mistake(1, "a completion context of a device that device_set() has not chosen");
	expect_mistake(2, "a handle that is no context's of its program");
}
