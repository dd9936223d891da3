/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.c - device code of the tests of sync events, asynchronous operations and hash tables. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_buf.h>
#include <doca_dpa_dev_sync_event.h>
#include "kernels.h"

#define SET(field, v) __atomic_store_n(&(field), (uint64_t)(v), __ATOMIC_RELEASE)
#define ADD(field)    __atomic_fetch_add(&(field), 1, __ATOMIC_ACQ_REL)

static struct sync_shared *shared_of(uint64_t arg)
{
	return (struct sync_shared *)(uintptr_t)arg;
}

/* Read se, add 5 and set se2 to the value. */
__dpa_global__ void event_data(uint64_t arg)
{
	struct sync_shared *s = shared_of(arg);
	uint64_t v = 77;

	doca_dpa_dev_sync_event_get(s->se, &v);
	doca_dpa_dev_sync_event_update_add(s->se, 5);
	doca_dpa_dev_sync_event_update_set(s->se2, v);
	ADD(s->s.activations);
	doca_dpa_dev_thread_finish();
}

/* Wait for se, report by se2. */
__dpa_global__ void event_wait(uint64_t arg)
{
	struct sync_shared *s = shared_of(arg);

	ADD(s->s.activations);
	doca_dpa_dev_sync_event_wait_gt(s->se, s->value, s->mask);
	SET(s->seen, 1);
	if (s->se2)
		doca_dpa_dev_sync_event_update_add(s->se2, 1);
	doca_dpa_dev_thread_finish();
}

/* For each value: wait for se, answer by se2. */
__dpa_global__ void event_pong(uint64_t arg)
{
	struct sync_shared *s = shared_of(arg);

	for (uint64_t i = 0; i < s->value; i++) {
		doca_dpa_dev_sync_event_wait_gt(s->se, i, ~0ull);
		doca_dpa_dev_sync_event_update_add(s->se2, 1);
	}
	ADD(s->s.activations);
	doca_dpa_dev_thread_finish();
}

static uint64_t *volatile nowhere = (uint64_t *)8;

__dpa_global__ void event_get_nowhere(uint64_t arg)
{
	doca_dpa_dev_sync_event_get(shared_of(arg)->se, nowhere);
	ADD(shared_of(arg)->s.activations);
}

static void take(struct sync_shared *s, uint64_t n)
{
	doca_dpa_dev_completion_element_t e;

	while (n) {
		uint64_t at = s->num_log;

		if (!doca_dpa_dev_get_completion(s->s.comp2, &e))
			continue;
		s->log[at % 64].type = doca_dpa_dev_get_completion_type(e);
		s->log[at % 64].user_data = doca_dpa_dev_get_completion_user_data(e);
		doca_dpa_dev_completion_ack(s->s.comp2, 1);
		SET(s->num_log, at + 1);
		n--;
	}
}

__dpa_global__ void run_commands(uint64_t arg)
{
	struct sync_shared *s = shared_of(arg);

	for (const struct command *c = s->commands;; c++)
		switch (c->op) {
		case COPY:
			doca_dpa_dev_post_memcpy(s->async_ops, c->dst_key, c->dst, c->src_key,
						 c->src, c->length, c->flags);
			break;
		case COPY_BUFS:
			doca_dpa_dev_post_buf_memcpy(s->async_ops, c->dst, c->src, c->flags);
			break;
		case WAIT_GT:
			doca_dpa_dev_sync_event_post_wait_gt(s->async_ops, c->dst, c->src);
			break;
		case WAIT_NE:
			doca_dpa_dev_sync_event_post_wait_ne(s->async_ops, c->dst, c->src);
			break;
		case TAKE:
			take(s, c->length);
			break;
		case STORE:
			SET(*(uint64_t *)(uintptr_t)c->dst, c->src);
			break;
		case MARK:
			ADD(s->seen);
			break;
		default:
			ADD(s->s.activations);
			doca_dpa_dev_thread_finish();
		}
}

/* Activated by the reports themselves: take one each time, post a copy as long as value is set. */
__dpa_global__ void copy_again(uint64_t arg)
{
	struct sync_shared *s = shared_of(arg);
	const struct command *c = s->commands;
	doca_dpa_dev_completion_element_t e;

	if (doca_dpa_dev_get_completion(s->s.comp, &e)) {
		doca_dpa_dev_completion_ack(s->s.comp, 1);
		if (ADD(s->s.found) < s->value)
			doca_dpa_dev_post_memcpy(s->async_ops, c->dst_key, c->dst, c->src_key,
						 c->src, c->length, c->flags);
	}
	ADD(s->s.activations);
	doca_dpa_dev_completion_request_notification(s->s.comp);
	doca_dpa_dev_thread_reschedule();
}

/* commands: dst: key, src: value; COPY adds, TAKE removes, WAIT_GT finds into log. */
__dpa_global__ void run_table(uint64_t arg)
{
	struct sync_shared *s = shared_of(arg);

	for (const struct command *c = s->commands; c->op != END; c++) {
		uint64_t v = 0;

		if (c->op == COPY)
			doca_dpa_dev_hash_table_add(s->se, (uint32_t)c->dst, c->src);
		else if (c->op == TAKE)
			doca_dpa_dev_hash_table_remove(s->se, (uint32_t)c->dst);
		else {
			s->log[s->num_log].type =
				(uint32_t)doca_dpa_dev_hash_table_find(s->se, (uint32_t)c->dst, &v);
			s->log[s->num_log++].user_data = (uint32_t)v;
		}
	}
	ADD(s->s.activations);
	doca_dpa_dev_thread_finish();
}

/* Each thread has its own `value` keys, beside those of the others. */
__dpa_global__ void table_stress(uint64_t arg)
{
	struct sync_shared *s = shared_of(arg);
	uint32_t me = (uint32_t)doca_dpa_dev_thread_get_local_storage();
	uint64_t v;

	for (uint32_t round = 0; round < 200; round++) {
		for (uint32_t i = 0; i < s->value; i++)
			doca_dpa_dev_hash_table_add(s->se, i * 4 + me, round << 8 | i);
		for (uint32_t i = 0; i < s->value; i++) {
			if (!doca_dpa_dev_hash_table_find(s->se, i * 4 + me, &v) ||
			    v != (round << 8 | i))
				ADD(s->s.ret);
			doca_dpa_dev_hash_table_remove(s->se, i * 4 + me);
			if (doca_dpa_dev_hash_table_find(s->se, i * 4 + me, &v))
				ADD(s->s.ret);
		}
	}
	ADD(s->seen);
	doca_dpa_dev_thread_finish();
}

__dpa_global__ void find_to_nowhere(uint64_t arg)
{
	struct sync_shared *s = shared_of(arg);

	doca_dpa_dev_hash_table_add(s->se, 1, 2);
	doca_dpa_dev_hash_table_find(s->se, 1, nowhere);
	ADD(s->s.activations);
}

/* Only threads may post. */
__dpa_rpc__ uint64_t post_in_rpc(uint64_t arg, uint32_t wait)
{
	struct sync_shared *s = shared_of(arg);

	if (wait)
		doca_dpa_dev_sync_event_post_wait_gt(s->async_ops, s->se, 0);
	else
		doca_dpa_dev_post_memcpy(s->async_ops, 1, 0, 1, 0, 0, 0);
	ADD(s->seen);
	return 0;
}

/* All code may wait. */
__dpa_rpc__ uint64_t wait_in_rpc(uint64_t se, uint64_t value)
{
	uint64_t v;

	doca_dpa_dev_sync_event_wait_gt(se, value, ~0ull);
	doca_dpa_dev_sync_event_get(se, &v);
	return v;
}
