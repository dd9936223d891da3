/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_sync_event [-n ROUNDS]: the one that listens has a sync event and waits for it; the one that
 * connects adds to it by tasks of a DOCA RDMA, and reads it by them until the owner has added, too.
 * Then it sets it. No device code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <doca_sync_event.h>
#include "peer.h"
#include "tasks.h"

enum { BYTES = 64, LAST = 1000000000 };

TASKS_KIND(remote_net_sync_event_notify_add)
TASKS_KIND(remote_net_sync_event_notify_set)
TASKS_KIND(remote_net_sync_event_get)

static const union doca_data none = {.u64 = 0};

/* ------------------------------------------------------------- the one that listens */

static bool make_event(struct tasks *t, struct doca_sync_event **event)
{
	const uint8_t *blob;
	size_t len;

	TRY(doca_sync_event_create(event));
	TRY(doca_sync_event_add_publisher_location_remote_net(*event));
	TRY(doca_sync_event_add_publisher_location_cpu(*event, t->dev));
	TRY(doca_sync_event_add_subscriber_location_cpu(*event, t->dev));
	TRY(doca_sync_event_start(*event));
	TRY(doca_sync_event_export_to_remote_net(*event, &blob, &len));
	return peer_put(t->fd, blob, len);
}

static bool answer(struct doca_sync_event *event, int rounds)
{
	uint64_t value;

	for (uint64_t round = 0; round < (uint64_t)rounds; round++) {
		TRY(doca_sync_event_wait_gt(event, 2 * round, UINT64_MAX));
		TRY(doca_sync_event_get(event, &value));
		if (value != 2 * round + 1) {
			fprintf(stderr, "the event is at %llu\n", (unsigned long long)value);
			return false;
		}
		TRY(doca_sync_event_update_add(event, 1, &value));
	}
	TRY(doca_sync_event_wait_gt(event, LAST - 1, UINT64_MAX));
	TRY(doca_sync_event_get(event, &value));
	printf("%d additions came, and the event was set to %llu\n", rounds,
	       (unsigned long long)value);
	return value == LAST;
}

static bool own(struct tasks *t, int rounds)
{
	struct doca_sync_event *event = NULL;
	bool ok = make_event(t, &event) && answer(event, rounds) && peer_meet(t->fd);

	END(&ok, event, doca_sync_event_destroy(event));
	return ok;
}

/* ------------------------------------------------------------ the one that connects */

struct far_event {
	struct tasks *t;
	struct doca_sync_event_remote_net *event;
	struct doca_buf *word; /* of own memory: results, values */
};

static uint64_t value_of(const struct far_event *e)
{
	uint64_t value;

	memcpy(&value, e->t->mem, sizeof(value));
	return value;
}

static bool add_one(struct far_event *e, uint64_t before)
{
	struct doca_rdma_task_remote_net_sync_event_notify_add *task;

	TRY(doca_buf_reset_data_len(e->word));
	TRY(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(
		e->t->rdma, e->t->connection, e->event, e->word, 1, none, &task));
	return tasks_run(e->t, doca_rdma_task_remote_net_sync_event_notify_add_as_task(task)) &&
	       value_of(e) == before;
}

/* Until the owner has added one as well. */
static bool read_until(struct far_event *e, uint64_t value)
{
	struct doca_rdma_task_remote_net_sync_event_get *task;

	do {
		TRY(doca_buf_reset_data_len(e->word));
		TRY(doca_rdma_task_remote_net_sync_event_get_allocate_init(
			e->t->rdma, e->t->connection, e->event, e->word, none, &task));
		if (!tasks_run(e->t, doca_rdma_task_remote_net_sync_event_get_as_task(task)))
			return false;
	} while (value_of(e) < value);
	return value_of(e) == value;
}

static bool set_last(struct far_event *e)
{
	struct doca_rdma_task_remote_net_sync_event_notify_set *task;
	const uint64_t last = LAST;

	memcpy(e->t->mem, &last, sizeof(last));
	TRY(doca_buf_set_data(e->word, e->t->mem, sizeof(last)));
	TRY(doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(
		e->t->rdma, e->t->connection, e->event, e->word, none, &task));
	return tasks_run(e->t, doca_rdma_task_remote_net_sync_event_notify_set_as_task(task));
}

static bool play(struct far_event *e, int rounds)
{
	for (uint64_t round = 0; round < (uint64_t)rounds; round++)
		if (!add_one(e, 2 * round) || !read_until(e, 2 * round + 2)) {
			fprintf(stderr, "round %d: the event is at %llu\n", (int)round,
				(unsigned long long)value_of(e));
			return false;
		}
	if (!set_last(e))
		return false;
	printf("%d rounds of additions there and here\n", rounds);
	return true;
}

static bool use(struct tasks *t, int rounds)
{
	struct far_event e = {.t = t};
	size_t len = 0;
	void *blob = peer_get(t->fd, &len);
	bool ok = blob &&
		  !doca_sync_event_remote_net_create_from_export(t->dev, blob, len, &e.event) &&
		  tasks_buf(t, t->map, t->mem, sizeof(uint64_t), false, &e.word) &&
		  play(&e, rounds) && peer_meet(t->fd);

	free(blob);
	END(&ok, e.word, doca_buf_dec_refcount(e.word, NULL));
	END(&ok, e.event, doca_sync_event_remote_net_destroy(e.event));
	return ok;
}

int main(int argc, char **argv)
{
	struct args a = {.count = 100};
	struct tasks t = {0};
	bool ok;
	int fd;

	if (!args_parse(&a, "dpa_sync_event", ARGS_PEER | ARGS_COUNT, argc, argv))
		return 1;
	fd = peer_open(&a);
	if (fd < 0)
		return 1;
	ok = tasks_open(&t, &a, fd, BYTES) && remote_net_sync_event_notify_add_conf(&t, 1) &&
	     remote_net_sync_event_notify_set_conf(&t, 1) &&
	     remote_net_sync_event_get_conf(&t, 1) && tasks_connect(&t) &&
	     (a.connect[0] ? use(&t, a.count) : own(&t, a.count));
	ok = tasks_close(&t) && ok;
	close(fd);
	return ok ? 0 : 1;
}
