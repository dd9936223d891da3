/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_object.c - the table of objects itself. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libdpa/common/object/object.h"

enum { MANY = 5000 };

Test(libdpa_object, is_what_it_was_made_as)
{
	void *p = dpa_obj_new(DPA_T_PE, 100);
	int foreign = 0;

	cr_assert(dpa_obj_is(p, DPA_T_PE));
	cr_assert(dpa_obj_is(p, DPA_T_PE | DPA_T_MMAP));
	cr_assert_not(dpa_obj_is(p, DPA_T_MMAP));
	cr_assert_not(dpa_obj_is((char *)p + 1, DPA_T_PE));
	cr_assert_not(dpa_obj_is(NULL, DPA_T_PE));
	cr_assert_not(dpa_obj_is(&foreign, ~0u));
	cr_assert_not(dpa_obj_is((void *)8, ~0u)); /* an address without memory */
	for (int i = 0; i < 100; i++)
		cr_assert_eq(((char *)p)[i], 0);
	dpa_obj_free(p);
	cr_assert_not(dpa_obj_is(p, ~0u));
	dpa_obj_free(NULL);
}

Test(libdpa_object, an_address_may_be_two)
{
	char *p = dpa_obj_new(DPA_T_RDMA, 16);

	cr_assert(dpa_obj_add(p, DPA_T_CTX));
	cr_assert(dpa_obj_is(p, DPA_T_RDMA));
	cr_assert(dpa_obj_is(p, DPA_T_CTX));
	dpa_obj_remove(p, DPA_T_CTX);
	cr_assert(dpa_obj_is(p, DPA_T_RDMA));
	cr_assert_not(dpa_obj_is(p, DPA_T_CTX));
	dpa_obj_free(p);
}

Test(libdpa_object, aligned_ones_are_zeroed)
{
	char *p = dpa_obj_new_aligned(DPA_T_BUF_PAGE, 4096, 8192);

	cr_assert_eq((uintptr_t)p % 4096, 0);
	for (int i = 0; i < 8192; i++)
		cr_assert_eq(p[i], 0);
	dpa_obj_free(p);
}

/* The table grows while it contains entries. */
Test(libdpa_object, many_at_once)
{
	static void *p[MANY];

	for (int i = 0; i < MANY; i++) {
		p[i] = dpa_obj_new(i % 2 ? DPA_T_PE : DPA_T_MMAP, 24);
		cr_assert(p[i]);
	}
	for (int i = 0; i < MANY; i++) {
		cr_assert(dpa_obj_is(p[i], i % 2 ? DPA_T_PE : DPA_T_MMAP));
		cr_assert_not(dpa_obj_is(p[i], i % 2 ? DPA_T_MMAP : DPA_T_PE));
	}
	for (int i = 0; i < MANY; i++)
		dpa_obj_free(p[i]);
	for (int i = 0; i < MANY; i++)
		cr_assert_not(dpa_obj_is(p[i], ~0u));
}

/* As many as in the header, independent of malloc(). */
Test(libdpa_object, memory_is_not_given_again_at_once)
{
	void *dead = dpa_obj_new(DPA_T_PE, 64);

	dpa_obj_free(dead);
	for (int i = 0; i < DPA_OBJ_KEPT - 1; i++) {
		void *p = dpa_obj_new(DPA_T_PE, 64);

		cr_assert_neq(p, dead);
		dpa_obj_free(p);
	}
	cr_assert_not(dpa_obj_is(dead, ~0u));
}

/* An object that is larger than the limit of kept memory. */
Test(libdpa_object, large_ones_go)
{
	for (int i = 0; i < 4; i++) {
		void *p = dpa_obj_new(DPA_T_PE, DPA_OBJ_KEPT_BYTES + 1);

		cr_assert(p);
		dpa_obj_free(p);
		cr_assert_not(dpa_obj_is(p, ~0u));
	}
}

static _Atomic bool over;
static void *living;

static void *look(void *arg)
{
	uint64_t *looks = arg;

	while (!atomic_load(&over)) {
		cr_assert(dpa_obj_is(living, DPA_T_SYNC_EVENT));
		++*looks;
	}
	return NULL;
}

/*
 * Look-ups take no lock: other threads add and remove objects, and the table is replaced,
 * meanwhile.
 */
Test(libdpa_object, looked_at_by_other_threads)
{
	static void *p[MANY];
	uint64_t looks[2] = {0};
	pthread_t t[2];

	living = dpa_obj_new(DPA_T_SYNC_EVENT, 8);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, look, &looks[i]), 0);
	for (int i = 0; i < MANY; i++)
		p[i] = dpa_obj_new(DPA_T_PE, 16);
	for (int i = 0; i < MANY; i++)
		dpa_obj_free(p[i]);
	atomic_store(&over, true);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	dpa_obj_free(living);
}

static void *come_and_go(void *arg)
{
	(void)arg;
	while (!atomic_load(&over))
		dpa_obj_free(dpa_obj_new(DPA_T_PE, 16));
	return NULL;
}

/* A fork while another thread uses the table. */
Test(libdpa_object, a_child_can_make_objects)
{
	pthread_t t;
	int status;

	atomic_store(&over, false);
	dpa_obj_free(dpa_obj_new(DPA_T_PE, 16));
	cr_assert_eq(pthread_create(&t, NULL, come_and_go, NULL), 0);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		cr_assert_geq(pid, 0);
		if (!pid)
			_exit(dpa_obj_new(DPA_T_PE, 16) ? 0 : 1);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	atomic_store(&over, true);
	pthread_join(t, NULL);
}
