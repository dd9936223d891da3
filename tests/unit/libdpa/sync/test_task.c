/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_task.c - sync events as contexts: tasks by a progress engine. */
#include "../host.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include <doca_ctx.h>
#include <doca_pe.h>
#include <doca_sync_event.h>

TestSuite(sync_task, .timeout = 60);

struct setup {
	struct doca_dev *dev;
	struct doca_pe *pe;
	struct doca_sync_event *se;
	struct doca_ctx *ctx;
	uint64_t word;
	int done[5], failed[5]; /* callbacks, by kind */
	uint64_t last_task_data, last_ctx_data;
};

static struct setup *s; /* of the present test */

static void note(int *count, union doca_data task, union doca_data ctx)
{
	++*count;
	s->last_task_data = task.u64;
	s->last_ctx_data = ctx.u64;
}

#define CALLBACKS(name, kind)                                                                      \
	static void name##_done(struct doca_sync_event_task_##name *t, union doca_data td,         \
				union doca_data cd)                                                \
	{                                                                                          \
		cr_assert_eq(doca_task_get_status(doca_sync_event_task_##name##_as_doca_task(t)),  \
			     DOCA_SUCCESS);                                                        \
		note(&s->done[kind], td, cd);                                                      \
	}                                                                                          \
	static void name##_failed(struct doca_sync_event_task_##name *t, union doca_data td,       \
				  union doca_data cd)                                              \
	{                                                                                          \
		cr_assert_eq(doca_task_get_status(doca_sync_event_task_##name##_as_doca_task(t)),  \
			     DOCA_ERROR_SHUTDOWN);                                                 \
		note(&s->failed[kind], td, cd);                                                    \
	}
enum { GET, SET, ADD, EQ, NEQ };
CALLBACKS(get, GET)
CALLBACKS(notify_set, SET)
CALLBACKS(notify_add, ADD)
CALLBACKS(wait_eq, EQ)
CALLBACKS(wait_neq, NEQ)

static void configure(uint32_t n)
{
	OK(doca_sync_event_task_get_set_conf(s->se, get_done, get_failed, n));
	OK(doca_sync_event_task_notify_set_set_conf(s->se, notify_set_done, notify_set_failed, n));
	OK(doca_sync_event_task_notify_add_set_conf(s->se, notify_add_done, notify_add_failed, n));
	OK(doca_sync_event_task_wait_eq_set_conf(s->se, wait_eq_done, wait_eq_failed, n));
	OK(doca_sync_event_task_wait_neq_set_conf(s->se, wait_neq_done, wait_neq_failed, n));
}

/* own: the event has its own word, which only calls change. */
static void set_up(struct setup *setup, bool own)
{
	s = setup;
	memset(s, 0, sizeof(*s));
	s->dev = open_dpa0();
	OK(doca_pe_create(&s->pe));
	OK(doca_sync_event_create(&s->se));
	OK(doca_sync_event_add_publisher_location_cpu(s->se, s->dev));
	OK(doca_sync_event_add_subscriber_location_cpu(s->se, s->dev));
	if (!own)
		OK(doca_sync_event_set_addr(s->se, &s->word));
	s->ctx = doca_sync_event_as_ctx(s->se);
	cr_assert(s->ctx);
	cr_assert_eq(doca_sync_event_as_ctx(s->se), s->ctx);
	OK(doca_ctx_set_user_data(s->ctx, (union doca_data){.u64 = 0xc0}));
	OK(doca_pe_connect_ctx(s->pe, s->ctx));
}

static void tear_down(void)
{
	OK(doca_sync_event_destroy(s->se));
	OK(doca_pe_destroy(s->pe));
	OK(doca_dev_close(s->dev));
}

static const union doca_data mine = {.u64 = 0x77};

Test(sync_task, data)
{
	struct doca_sync_event_task_notify_set *set;
	struct doca_sync_event_task_notify_add *add;
	struct doca_sync_event_task_get *get;
	uint64_t got = 0, before = 0, v;
	struct setup setup;

	set_up(&setup, true);
	configure(1);
	OK(doca_ctx_start(s->ctx));
	OK(doca_sync_event_task_notify_set_alloc_init(s->se, 5, mine, &set));
	OK(doca_task_submit(doca_sync_event_task_notify_set_as_doca_task(set)));
	cr_assert_eq(s->done[SET], 0, "not before progress");
	cr_assert_eq(doca_pe_progress(s->pe), 1);
	cr_assert_eq(s->done[SET], 1);
	cr_assert_eq(s->last_task_data, 0x77u);
	cr_assert_eq(s->last_ctx_data, 0xc0u);
	cr_assert_eq(doca_pe_progress(s->pe), 0);
	OK(doca_sync_event_task_notify_add_alloc_init(s->se, 3, &before, mine, &add));
	OK(doca_task_submit(doca_sync_event_task_notify_add_as_doca_task(add)));
	cr_assert_eq(doca_pe_progress(s->pe), 1);
	cr_assert_eq(before, 5u);
	doca_sync_event_task_notify_add_set_fetched_val_ptr(add, NULL);
	OK(doca_task_submit(doca_sync_event_task_notify_add_as_doca_task(add)));
	cr_assert_eq(doca_pe_progress(s->pe), 1);
	OK(doca_sync_event_task_get_alloc_init(s->se, &got, mine, &get));
	OK(doca_task_submit(doca_sync_event_task_get_as_doca_task(get)));
	cr_assert_eq(doca_pe_progress(s->pe), 1);
	cr_assert_eq(got, 11u);
	OK(doca_sync_event_get(s->se, &v));
	cr_assert_eq(v, 11u, "the calls work as well");
	doca_sync_event_task_get_set_ret_val_ptr(get, NULL);
	IS(doca_task_submit(doca_sync_event_task_get_as_doca_task(get)), INVALID_VALUE);
	doca_task_free(doca_sync_event_task_get_as_doca_task(get));
	doca_task_free(doca_sync_event_task_notify_add_as_doca_task(add));
	doca_task_free(doca_sync_event_task_notify_set_as_doca_task(set));
	OK(doca_ctx_stop(s->ctx));
	tear_down();
}

Test(sync_task, fields)
{
	struct doca_sync_event_task_notify_set *set;
	struct doca_sync_event_task_notify_add *add;
	struct doca_sync_event_task_wait_neq *neq;
	struct doca_sync_event_task_wait_eq *eq;
	struct doca_sync_event_task_get *get;
	struct setup setup;
	uint64_t v;

	set_up(&setup, true);
	configure(1);
	OK(doca_ctx_start(s->ctx));
	OK(doca_sync_event_task_get_alloc_init(s->se, &v, mine, &get));
	cr_assert_eq(doca_sync_event_task_get_get_ret_val_ptr(get), &v);
	doca_sync_event_task_get_set_ret_val_ptr(get, &s->word);
	cr_assert_eq(doca_sync_event_task_get_get_ret_val_ptr(get), &s->word);
	OK(doca_sync_event_task_notify_set_alloc_init(s->se, 1, mine, &set));
	cr_assert_eq(doca_sync_event_task_notify_set_get_set_val(set), 1u);
	doca_sync_event_task_notify_set_set_set_val(set, 2);
	cr_assert_eq(doca_sync_event_task_notify_set_get_set_val(set), 2u);
	OK(doca_sync_event_task_notify_add_alloc_init(s->se, 3, &v, mine, &add));
	cr_assert_eq(doca_sync_event_task_notify_add_get_inc_val(add), 3u);
	cr_assert_eq(doca_sync_event_task_notify_add_get_fetched_val_ptr(add), &v);
	doca_sync_event_task_notify_add_set_inc_val(add, 4);
	doca_sync_event_task_notify_add_set_fetched_val_ptr(add, &s->word);
	cr_assert_eq(doca_sync_event_task_notify_add_get_inc_val(add), 4u);
	cr_assert_eq(doca_sync_event_task_notify_add_get_fetched_val_ptr(add), &s->word);
	OK(doca_sync_event_task_wait_eq_alloc_init(s->se, 5, 0xff, mine, &eq));
	cr_assert_eq(doca_sync_event_task_wait_eq_get_wait_val(eq), 5u);
	cr_assert_eq(doca_sync_event_task_wait_eq_get_mask(eq), 0xffu);
	doca_sync_event_task_wait_eq_set_wait_val(eq, 6);
	doca_sync_event_task_wait_eq_set_mask(eq, ~0ull);
	cr_assert_eq(doca_sync_event_task_wait_eq_get_wait_val(eq), 6u);
	cr_assert_eq(doca_sync_event_task_wait_eq_get_mask(eq), ~0ull);
	OK(doca_sync_event_task_wait_neq_alloc_init(s->se, 7, 0xff, mine, &neq));
	cr_assert_eq(doca_sync_event_task_wait_neq_get_wait_val(neq), 7u);
	cr_assert_eq(doca_sync_event_task_wait_neq_get_mask(neq), 0xffu);
	doca_sync_event_task_wait_neq_set_wait_val(neq, 8);
	doca_sync_event_task_wait_neq_set_mask(neq, 0);
	cr_assert_eq(doca_sync_event_task_wait_neq_get_wait_val(neq), 8u);
	cr_assert_eq(doca_sync_event_task_wait_neq_get_mask(neq), 0u);
	doca_task_free(doca_sync_event_task_get_as_doca_task(get));
	doca_task_free(doca_sync_event_task_notify_set_as_doca_task(set));
	doca_task_free(doca_sync_event_task_notify_add_as_doca_task(add));
	doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(eq));
	doca_task_free(doca_sync_event_task_wait_neq_as_doca_task(neq));
	cr_assert_null(doca_sync_event_task_get_as_doca_task(NULL));
	cr_assert_null(doca_sync_event_task_get_get_ret_val_ptr(NULL));
	cr_assert_eq(doca_sync_event_task_wait_eq_get_mask(NULL), 0u);
	doca_sync_event_task_get_set_ret_val_ptr(NULL, &v);
	doca_sync_event_task_notify_set_set_set_val(NULL, 1);
	OK(doca_ctx_stop(s->ctx));
	tear_down();
}

Test(sync_task, waits)
{
	struct doca_sync_event_task_wait_neq *neq;
	struct doca_sync_event_task_wait_eq *eq;

	for (int own = 0; own < 2; own++) {
		struct setup setup;

		set_up(&setup, own);
		configure(2);
		OK(doca_ctx_start(s->ctx));
		OK(doca_sync_event_task_wait_eq_alloc_init(s->se, 0x200, 0xff00, mine, &eq));
		OK(doca_sync_event_task_wait_neq_alloc_init(s->se, 0, 0xff, mine, &neq));
		OK(doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(eq)));
		OK(doca_task_submit(doca_sync_event_task_wait_neq_as_doca_task(neq)));
		IS(doca_task_submit(doca_sync_event_task_wait_neq_as_doca_task(neq)), BAD_STATE);
		IS(doca_task_get_status(doca_sync_event_task_wait_eq_as_doca_task(eq)),
		   IN_PROGRESS);
		cr_assert_eq(doca_pe_progress(s->pe), 0);
		if (own)
			OK(doca_sync_event_update_set(s->se, 0x100));
		else
			__atomic_store_n(&s->word, 0x100, __ATOMIC_RELEASE);
		cr_assert_eq(doca_pe_progress(s->pe), 0);
		OK(doca_sync_event_update_set(s->se, 0x101));
		cr_assert_eq(doca_pe_progress(s->pe), 1);
		cr_assert_eq(s->done[NEQ], 1);
		cr_assert_eq(s->done[EQ], 0);
		OK(doca_sync_event_update_set(s->se, 0x201));
		cr_assert_eq(doca_pe_progress(s->pe), 1);
		cr_assert_eq(s->done[EQ], 1);
		doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(eq));
		doca_task_free(doca_sync_event_task_wait_neq_as_doca_task(neq));
		OK(doca_ctx_stop(s->ctx));
		tear_down();
	}
}

static void *change_later(void *arg)
{
	usleep(20000);
	if (arg)
		__atomic_store_n((uint64_t *)arg, 9, __ATOMIC_RELEASE);
	else
		OK(doca_sync_event_update_set(s->se, 9));
	return NULL;
}

/* The user sleeps in poll(2); a call, or a store without a notification, wakes it. */
Test(sync_task, notification)
{
	for (int own = 0; own < 2; own++) {
		struct doca_sync_event_task_wait_eq *eq;
		doca_notification_handle_t fd;
		struct setup setup;
		pthread_t t;

		set_up(&setup, own);
		configure(1);
		OK(doca_ctx_start(s->ctx));
		OK(doca_pe_get_notification_handle(s->pe, &fd));
		OK(doca_sync_event_task_wait_eq_alloc_init(s->se, 9, ~0ull, mine, &eq));
		OK(doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(eq)));
		pthread_create(&t, NULL, change_later, own ? NULL : &s->word);
		while (!s->done[EQ]) {
			struct pollfd p = {.fd = fd, .events = POLLIN};

			OK(doca_pe_request_notification(s->pe));
			cr_assert_eq(poll(&p, 1, -1), 1);
			OK(doca_pe_clear_notification(s->pe, fd));
			while (doca_pe_progress(s->pe))
				;
		}
		pthread_join(t, NULL);
		doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(eq));
		OK(doca_ctx_stop(s->ctx));
		tear_down();
	}
}

Test(sync_task, stopping_ends_waits)
{
	struct doca_sync_event_task_wait_eq *eq;
	enum doca_ctx_states state;
	struct setup setup;

	set_up(&setup, false);
	configure(1);
	OK(doca_ctx_start(s->ctx));
	IS(doca_sync_event_destroy(s->se), INVALID_VALUE);
	OK(doca_sync_event_task_wait_eq_alloc_init(s->se, 9, ~0ull, mine, &eq));
	OK(doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(eq)));
	OK(doca_pe_request_notification(s->pe));
	IS(doca_ctx_stop(s->ctx), IN_PROGRESS);
	cr_assert_eq(doca_pe_progress(s->pe), 1);
	cr_assert_eq(s->failed[EQ], 1);
	OK(doca_ctx_get_state(s->ctx, &state));
	cr_assert_eq(state, DOCA_CTX_STATE_IDLE);
	IS(doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(eq)), BAD_STATE);
	/* it may be freed when the event is destroyed */
	OK(doca_sync_event_destroy(s->se));
	doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(eq));
	OK(doca_pe_destroy(s->pe));
	OK(doca_dev_close(s->dev));
}

Test(sync_task, modes_exclude_each_other)
{
	struct doca_sync_event *se;
	struct setup setup;

	set_up(&setup, true);
	IS(doca_sync_event_start(s->se), INVALID_VALUE);
	configure(1);
	OK(doca_ctx_start(s->ctx));
	IS(doca_sync_event_stop(s->se), INVALID_VALUE);
	OK(doca_ctx_stop(s->ctx));
	cr_assert_null(doca_sync_event_as_ctx(NULL));
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, s->dev));
	OK(doca_sync_event_add_subscriber_location_cpu(se, s->dev));
	OK(doca_sync_event_start(se));
	cr_assert_null(doca_sync_event_as_ctx(se));
	/* DOCA: doca_sync_event_task_get_set_conf NOT_PERMITTED */
	IS(doca_sync_event_task_get_set_conf(se, get_done, get_failed, 1), NOT_PERMITTED);
	OK(doca_sync_event_destroy(se));
	tear_down();
}

#define ERRORS(name, ...)                                                                          \
	do {                                                                                       \
		struct doca_sync_event_task_##name *t_, *u_;                                       \
		IS(doca_sync_event_task_##name##_set_conf(NULL, name##_done, name##_failed, 1),    \
		   INVALID_VALUE);                                                                 \
		IS(doca_sync_event_task_##name##_set_conf(s->se, NULL, name##_failed, 1),          \
		   INVALID_VALUE);                                                                 \
		IS(doca_sync_event_task_##name##_set_conf(s->se, name##_done, NULL, 1),            \
		   INVALID_VALUE);                                                                 \
		IS(doca_sync_event_task_##name##_set_conf(s->se, name##_done, name##_failed, 0),   \
		   INVALID_VALUE);                                                                 \
		IS(doca_sync_event_task_##name##_alloc_init(s->se, __VA_ARGS__, mine, &t_),        \
		   NO_MEMORY);                                                                     \
		OK(doca_sync_event_task_##name##_set_conf(s->se, name##_done, name##_failed, 1));  \
		OK(doca_ctx_start(s->ctx));                                                        \
		IS(doca_sync_event_task_##name##_set_conf(s->se, name##_done, name##_failed, 1),   \
		   NOT_PERMITTED);                                                                 \
		IS(doca_sync_event_task_##name##_alloc_init(NULL, __VA_ARGS__, mine, &t_),         \
		   INVALID_VALUE);                                                                 \
		IS(doca_sync_event_task_##name##_alloc_init(s->se, __VA_ARGS__, mine, NULL),       \
		   INVALID_VALUE);                                                                 \
		OK(doca_sync_event_task_##name##_alloc_init(s->se, __VA_ARGS__, mine, &t_));       \
		IS(doca_sync_event_task_##name##_alloc_init(s->se, __VA_ARGS__, mine, &u_),        \
		   NO_MEMORY);                                                                     \
		doca_task_free(doca_sync_event_task_##name##_as_doca_task(t_));                    \
		OK(doca_sync_event_task_##name##_alloc_init(s->se, __VA_ARGS__, mine, &t_));       \
		doca_task_free(doca_sync_event_task_##name##_as_doca_task(t_));                    \
		OK(doca_ctx_stop(s->ctx));                                                         \
		IS(doca_sync_event_cap_task_##name##_is_supported(NULL), INVALID_VALUE);           \
		IS(doca_sync_event_cap_task_##name##_is_supported(other), NOT_SUPPORTED);          \
		OK(doca_sync_event_cap_task_##name##_is_supported(doca_dev_as_devinfo(s->dev)));   \
	} while (0)

/*
 * The checks of the macro for each kind:
 * DOCA: doca_sync_event_task_get_set_conf INVALID_VALUE NOT_PERMITTED
 * DOCA: doca_sync_event_task_get_alloc_init NO_MEMORY
 * DOCA: doca_sync_event_cap_task_get_is_supported INVALID_VALUE NOT_SUPPORTED
 * DOCA: doca_sync_event_task_notify_set_set_conf INVALID_VALUE NOT_PERMITTED
 * DOCA: doca_sync_event_task_notify_set_alloc_init NO_MEMORY
 * DOCA: doca_sync_event_cap_task_notify_set_is_supported INVALID_VALUE NOT_SUPPORTED
 * DOCA: doca_sync_event_task_notify_add_set_conf INVALID_VALUE NOT_PERMITTED
 * DOCA: doca_sync_event_task_notify_add_alloc_init NO_MEMORY
 * DOCA: doca_sync_event_cap_task_notify_add_is_supported INVALID_VALUE NOT_SUPPORTED
 * DOCA: doca_sync_event_task_wait_eq_set_conf INVALID_VALUE NOT_PERMITTED
 * DOCA: doca_sync_event_task_wait_eq_alloc_init NO_MEMORY
 * DOCA: doca_sync_event_cap_task_wait_eq_is_supported INVALID_VALUE NOT_SUPPORTED
 * DOCA: doca_sync_event_task_wait_neq_set_conf INVALID_VALUE NOT_PERMITTED
 * DOCA: doca_sync_event_task_wait_neq_alloc_init NO_MEMORY
 * DOCA: doca_sync_event_cap_task_wait_neq_is_supported INVALID_VALUE NOT_SUPPORTED
 */
Test(sync_task, errors)
{
	struct doca_devinfo **list, *other;
	struct setup setup;
	uint64_t v;
	uint32_t n;

	set_up(&setup, true);
	OK(doca_devinfo_create_list(&list, &n));
	other = list[0]; /* "other0", which is no dpa */
	ERRORS(get, &v);
	ERRORS(notify_set, 1);
	ERRORS(notify_add, 1, &v);
	ERRORS(wait_eq, 1, 0xff);
	ERRORS(wait_neq, 1, 0xff);
	OK(doca_devinfo_destroy_list(list));
	tear_down();
}

Test(sync_task, masks)
{
	static const uint64_t good[] = {0,	    0xff,	   0xff00,
					0xffff0000, 0xffff00,	   0xffffffff,
					~0ull,	    0xffull << 56, 0xffffffffull << 24};
	static const uint64_t bad[] = {1,     0xf0,	  0xffffff,   0xff00ff,
				       0x1ff, ~0ull >> 8, ~0ull << 8, 0xff8};
	struct doca_sync_event_task_wait_neq *neq;
	struct setup setup;

	set_up(&setup, true);
	configure(1);
	OK(doca_ctx_start(s->ctx));
	OK(doca_sync_event_task_wait_neq_alloc_init(s->se, 1, 0, mine, &neq));
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		doca_sync_event_task_wait_neq_set_mask(neq, good[i]);
		OK(doca_task_submit(doca_sync_event_task_wait_neq_as_doca_task(neq)));
		cr_assert_eq(doca_pe_progress(s->pe), 1);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		doca_sync_event_task_wait_neq_set_mask(neq, bad[i]);
		IS(doca_task_submit(doca_sync_event_task_wait_neq_as_doca_task(neq)),
		   INVALID_VALUE);
	}
	doca_task_free(doca_sync_event_task_wait_neq_as_doca_task(neq));
	OK(doca_ctx_stop(s->ctx));
	tear_down();
}
