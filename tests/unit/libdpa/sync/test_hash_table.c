/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_hash_table.c - hash tables: the host's side and device code. */
#include "rig.h"
#include <stdlib.h>
#include "libdpa/sync/hash/hash_table.h"

extern doca_dpa_func_t run_table, table_stress, find_to_nowhere;

TestSuite(sync_hash, .fini = sync_remove_files, .timeout = 60);

Test(sync_hash, errors)
{
	struct doca_dpa_hash_table *t;
	struct doca_dpa *idle;
	struct rig r;
	uint64_t h;

	sync_rig_start(&r);
	IS(doca_dpa_hash_table_create(NULL, 4, &t), INVALID_VALUE);
	IS(doca_dpa_hash_table_create(r.dpa, 0, &t), INVALID_VALUE);
	IS(doca_dpa_hash_table_create(r.dpa, (1u << 28) + 1, &t), INVALID_VALUE);
	IS(doca_dpa_hash_table_create(r.dpa, 4, NULL), INVALID_VALUE);
	OK(doca_dpa_create(r.dev, &idle));
	IS(doca_dpa_hash_table_create(idle, 4, &t), BAD_STATE);
	OK(doca_dpa_destroy(idle));
	OK(doca_dpa_hash_table_create(r.dpa, 4, &t));
	IS(doca_dpa_hash_table_get_dpa_handle(NULL, &h), INVALID_VALUE);
	IS(doca_dpa_hash_table_get_dpa_handle(t, NULL), INVALID_VALUE);
	OK(doca_dpa_hash_table_get_dpa_handle(t, &h));
	cr_assert_neq(h, 0u);
	IS(doca_dpa_hash_table_destroy(NULL), INVALID_VALUE);
	OK(doca_dpa_hash_table_destroy(t));
	OK(doca_dpa_hash_table_create(r.dpa, 4, &t));
	OK(doca_dpa_stop(r.dpa));
	IS(doca_dpa_hash_table_destroy(t), BAD_STATE);
	OK(doca_dpa_start(r.dpa));
	OK(doca_dpa_hash_table_create(r.dpa, 4, &t));
	rig_destroy(&r);
	IS(doca_dpa_hash_table_destroy(t), BAD_STATE);
}

Test(sync_hash, handles_run_out)
{
	enum { MANY = 5000 };
	static struct doca_dpa_hash_table *t[MANY];
	struct rig r;
	int n = 0;

	sync_rig_start(&r);
	while (n < MANY && !doca_dpa_hash_table_create(r.dpa, 1, &t[n]))
		n++;
	cr_assert_lt(n, MANY);
	IS(doca_dpa_hash_table_create(r.dpa, 1, &t[n]), DRIVER);
	while (n)
		OK(doca_dpa_hash_table_destroy(t[--n]));
	rig_destroy(&r);
}

/* Compared with a plain array; more keys than chains, all entries used at times. */
Test(sync_hash, is_a_map)
{
	enum { KEYS = 300, ENTRIES = 128 };
	uint64_t model[KEYS] = {0}, v;
	struct doca_dpa_hash_table *t;
	unsigned int seed = 1, used = 0, full = 0;
	struct rig r;

	sync_rig_start(&r);
	OK(doca_dpa_hash_table_create(r.dpa, 100, &t));
	for (int i = 0; i < 200000; i++) {
		uint32_t k = (uint32_t)rand_r(&seed) % KEYS, key = k * 0x01000193u;
		int what = rand_r(&seed) % 8;

		if (what < 3 + (i / 1000) % 3) {
			bool added = dpa_hash_add(t, key, (uint64_t)i + 1);

			cr_assert_eq(added, model[k] || used < ENTRIES);
			full += !added;
			if (added) {
				used += !model[k];
				model[k] = (uint64_t)i + 1;
			}
		} else if (what < 6) {
			dpa_hash_remove(t, key);
			used -= model[k] != 0;
			model[k] = 0;
		}
		v = 0;
		cr_assert_eq(dpa_hash_find(t, key, &v), model[k] != 0);
		cr_assert_eq(v, model[k]);
	}
	cr_assert_gt(full, 0u);
	OK(doca_dpa_hash_table_destroy(t));
	rig_destroy(&r);
}

static struct doca_dpa_hash_table *new_table(struct rig *r, unsigned int entries)
{
	struct doca_dpa_hash_table *t;
	uint64_t h;

	OK(doca_dpa_hash_table_create(r->dpa, entries, &t));
	OK(doca_dpa_hash_table_get_dpa_handle(t, &h));
	PUT(r, se, h);
	return t;
}

Test(sync_hash, in_device_code)
{
	const struct command program[] = {
		{.op = WAIT_GT, .dst = 5},
		{.op = COPY, .dst = 5, .src = 50},
		{.op = COPY, .dst = 0, .src = 7},
		{.op = WAIT_GT, .dst = 5},
		{.op = COPY, .dst = 5, .src = 51},
		{.op = WAIT_GT, .dst = 5},
		{.op = TAKE, .dst = 9},
		{.op = TAKE, .dst = 5},
		{.op = WAIT_GT, .dst = 5},
		{.op = WAIT_GT, .dst = 0},
		{.op = COPY, .dst = 8, .src = ~0u},
		{.op = WAIT_GT, .dst = 8},
	};
	const struct element expected[] = {{0, 0}, {1, 50}, {1, 51}, {0, 0}, {1, 7}, {1, ~0u}};
	struct doca_dpa_hash_table *t;
	uint32_t n = 0;
	struct rig r;

	sync_rig_start(&r);
	t = new_table(&r, 2);
	for (size_t i = 0; i < sizeof(program) / sizeof(program[0]); i++)
		sync_command(&r, &n, program[i]);
	rig_run(&r, &run_table);
	fake_push_recv(r.cq, 1);
	sync_await_end(&r, 1);
	cr_assert_eq(SHARED(&r, num_log), 6u);
	for (int i = 0; i < 6; i++) {
		struct element e = ((struct sync_shared *)(uintptr_t)r.shared)->log[i];

		cr_assert_eq(e.type, expected[i].type, "%d", i);
		cr_assert_eq(e.user_data, expected[i].user_data, "%d", i);
	}
	OK(doca_dpa_hash_table_destroy(t));
	rig_destroy(&r);
}

/* A full table, an invalid handle, an invalid address. */
Test(sync_hash, mistakes_end_the_context)
{
	for (int i = 0; i < 3; i++) {
		struct doca_dpa_hash_table *t;
		uint32_t n = 0;
		struct rig r;

		sync_rig_start(&r);
		t = new_table(&r, 1);
		sync_command(&r, &n, (struct command){.op = COPY, .dst = 1});
		if (i == 1)
			PUT(&r, se, 5);
		else
			sync_command(&r, &n, (struct command){.op = COPY, .dst = 2});
		rig_run(&r, i == 2 ? &find_to_nowhere : &run_table);
		fake_push_recv(r.cq, 1);
		rig_await_fatal(&r);
		cr_assert_eq(READ(&r, activations), 0u);
		OK(doca_dpa_hash_table_destroy(t));
		rig_destroy(&r);
	}
}

Test(sync_hash, threads_beside_each_other)
{
	enum { THREADS = 4 };
	struct doca_dpa_thread *th[THREADS];
	struct doca_dpa_notification_completion *nc[THREADS];
	struct doca_dpa_hash_table *t;
	struct rig r;

	sync_rig_start(&r);
	t = new_table(&r, 64);
	PUT(&r, value, 16);
	for (uint64_t i = 0; i < THREADS; i++) {
		OK(doca_dpa_thread_create(r.dpa, &th[i]));
		OK(doca_dpa_thread_set_func_arg(th[i], &table_stress, r.shared));
		OK(doca_dpa_thread_set_local_storage(th[i], i));
		OK(doca_dpa_thread_start(th[i]));
		OK(doca_dpa_notification_completion_create(r.dpa, th[i], &nc[i]));
		OK(doca_dpa_notification_completion_start(nc[i]));
		OK(doca_dpa_thread_run(th[i]));
		sync_notify(th[i]);
	}
	AWAIT_SHARED(&r, seen, THREADS);
	for (int i = 0; i < THREADS; i++)
		OK(doca_dpa_thread_stop(th[i]));
	cr_assert_eq(READ(&r, ret), 0u);
	cr_assert_eq(t->free != UINT32_MAX, 1);
	for (int i = 0; i < THREADS; i++) {
		OK(doca_dpa_notification_completion_destroy(nc[i]));
		OK(doca_dpa_thread_destroy(th[i]));
	}
	OK(doca_dpa_hash_table_destroy(t));
	rig_destroy(&r);
}
