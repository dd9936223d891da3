/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_task_ends.c - other ends of tasks: errors, stops, combined reports, notifications. */
#include <poll.h>
#include "rig.h"

TestSuite(task_ends, .timeout = 100);

static struct task_rig rig;

static struct doca_task *write_task(size_t offset, size_t len)
{
	struct doca_buf *src = local_buf(&rig, &rig.a, 0, len, len);
	struct doca_buf *at = remote_buf(&rig, &rig.a, offset, len, 0);
	struct doca_rdma_task_write *t;

	OK(doca_rdma_task_write_allocate_init(rig.a.rdma, rig.a.conn, src, at, number(offset), &t));
	return doca_rdma_task_write_as_task(t);
}

/* Free it with its bufs. */
static void drop_write(struct doca_task *task)
{
	struct doca_rdma_task_write *t = (void *)task;

	put_buf((struct doca_buf *)(uintptr_t)doca_rdma_task_write_get_src_buf(t));
	put_buf(doca_rdma_task_write_get_dst_buf(t));
	doca_task_free(task);
}

Test(task_ends, not_permitted_by_the_context)
{
	struct doca_task *first, *second;

	task_rig_start(&rig, 0);
	first = write_task(0, 8);
	second = write_task(8, 8);
	cr_assert_eq(run(&rig, &rig.a, first), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(doca_task_get_status(first), DOCA_ERROR_INVALID_VALUE);
	cr_assert_eq(run(&rig, &rig.a, second),
		     DOCA_ERROR_SHUTDOWN); /* the queue pair is in error */
	drop_write(first);
	drop_write(second);
	task_rig_stop(&rig);
}

/* An export whose key was changed. */
Test(task_ends, not_permitted_by_the_map)
{
	struct doca_mmap *good, *forged;
	uint8_t copy[40];
	const void *blob;
	struct doca_task *t;
	size_t size;

	task_rig_start(&rig, DOCA_ACCESS_FLAG_RDMA_WRITE);
	OK(doca_mmap_export_rdma(rig.b.map, rig.dev, &blob, &size));
	cr_assert_eq(size, sizeof(copy));
	memcpy(copy, blob, size);
	copy[32] ^= 0x55;
	OK(doca_mmap_create_from_export(NULL, copy, size, rig.dev, &forged));
	good = rig.a.peers;
	rig.a.peers = forged;
	t = write_task(0, 8);
	rig.a.peers = good;
	cr_assert_eq(run(&rig, &rig.a, t), DOCA_ERROR_NOT_PERMITTED);
	drop_write(t);
	OK(doca_mmap_destroy(forged));
	task_rig_stop(&rig);
}

Test(task_ends, a_message_that_is_too_long)
{
	struct doca_rdma_task_receive *in;
	struct doca_rdma_task_send *out;
	struct doca_buf *src, *dst;

	task_rig_start(&rig, 0);
	in = receive(&rig, 0, 10);
	dst = doca_rdma_task_receive_get_dst_buf(in);
	src = local_buf(&rig, &rig.a, 0, 11, 11);
	OK(doca_rdma_task_send_allocate_init(rig.a.rdma, rig.a.conn, src, number(1), &out));
	cr_assert_eq(run(&rig, &rig.a, doca_rdma_task_send_as_task(out)), DOCA_ERROR_INVALID_VALUE);
	await(&rig, &rig.b, 1);
	cr_assert_eq(rig.b.status, DOCA_ERROR_TOO_BIG);
	cr_assert_eq(data_len(dst), 0);
	doca_task_free(doca_rdma_task_send_as_task(out));
	doca_task_free(doca_rdma_task_receive_as_task(in));
	put_buf(src);
	put_buf(dst);
	task_rig_stop(&rig);
}

static struct {
	const struct doca_buf *src;
	struct doca_rdma_task_send *next;
} freed;

static void free_and_ask(struct doca_rdma_task_send *task, union doca_data own, union doca_data ctx)
{
	struct side *s = ctx.ptr;

	doca_task_free(doca_rdma_task_send_as_task(task));
	freed.src = doca_rdma_task_send_get_src_buf(task);
	OK(doca_rdma_task_send_allocate_init(s->rdma, s->conn, freed.src, own, &freed.next));
	s->done++;
}

/* As in the public samples: the bufs of a task are read after it was freed. */
Test(task_ends, freed_in_the_callback)
{
	struct doca_rdma_task_receive *in;
	struct doca_rdma_task_send *out;
	struct doca_buf *src, *dst;

	task_rig_make(&rig, 0);
	OK(doca_rdma_task_send_set_conf(rig.a.rdma, free_and_ask, free_and_ask, 1));
	OK(doca_ctx_start(rig.a.ctx));
	OK(doca_ctx_start(rig.b.ctx));
	task_rig_connect(&rig);
	in = receive(&rig, 0, 8);
	dst = doca_rdma_task_receive_get_dst_buf(in);
	src = local_buf(&rig, &rig.a, 0, 8, 8);
	OK(doca_rdma_task_send_allocate_init(rig.a.rdma, rig.a.conn, src, number(1), &out));
	OK(doca_task_submit(doca_rdma_task_send_as_task(out)));
	await(&rig, &rig.a, 1);
	await(&rig, &rig.b, 1);
	cr_assert_eq(freed.src, src);
	cr_assert_null(doca_rdma_task_send_get_src_buf(out), "behind the callback it is gone");
	doca_task_free(doca_rdma_task_send_as_task(freed.next));
	doca_task_free(doca_rdma_task_receive_as_task(in));
	put_buf(src);
	put_buf(dst);
	task_rig_stop(&rig);
}

/* Three with one report: their callbacks run in order when it arrives. */
Test(task_ends, reports_together)
{
	struct doca_task *t[3];
	uint64_t order = 0;

	task_rig_start(&rig, DOCA_ACCESS_FLAG_RDMA_WRITE);
	for (int i = 0; i < 3; i++)
		t[i] = write_task((size_t)i * 8 + 8, 8);
	OK(doca_task_submit_ex(t[0], DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS));
	OK(doca_task_submit_ex(t[1], DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS));
	for (int i = 0; i < 1000; i++)
		order += doca_pe_progress(rig.a.pe);
	cr_assert_eq(order, 0);
	cr_assert_eq(doca_task_get_status(t[0]), DOCA_ERROR_IN_PROGRESS);
	IS(doca_task_submit(t[0]), BAD_STATE);
	OK(doca_task_submit(t[2]));
	await(&rig, &rig.a, 3);
	cr_assert_eq(rig.a.done, 3);
	cr_assert_eq(rig.a.task, t[2]);
	for (int i = 0; i < 3; i++)
		drop_write(t[i]);
	task_rig_stop(&rig);
}

/* A task without a requested report was carried out by the time when the context stops. */
Test(task_ends, stopped_without_a_report)
{
	enum doca_ctx_states state;
	struct doca_task *t;

	task_rig_start(&rig, DOCA_ACCESS_FLAG_RDMA_WRITE);
	rig.a.mem[0] = 0x5a;
	t = write_task(0, 1);
	OK(doca_task_submit_ex(t, DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS));
	while (__atomic_load_n(rig.b.mem, __ATOMIC_ACQUIRE) != 0x5a)
		doca_pe_progress(rig.b.pe);
	/*
	 * the data arrives before its ACK returns, which another thread may be handling: no public
	 * call shows when, so both get many turns
	 */
	for (int i = 0; i < 10000; i++) {
		doca_pe_progress(rig.b.pe);
		sched_yield();
	}
	IS(doca_ctx_stop(rig.a.ctx), IN_PROGRESS);
	IS(doca_ctx_stop(rig.a.ctx), IN_PROGRESS);
	OK(doca_ctx_get_state(rig.a.ctx, &state));
	cr_assert_eq(state, DOCA_CTX_STATE_STOPPING);
	await(&rig, &rig.a, 1);
	OK(rig.a.status);
	drop_write(t);
	task_rig_stop(&rig);
}

/* Receives without a message. */
Test(task_ends, stopped_with_receives)
{
	struct doca_rdma_task_receive *in[3];
	enum doca_ctx_states state;
	struct doca_buf *dst[3];
	size_t n;

	task_rig_start(&rig, 0);
	for (int i = 0; i < 3; i++) {
		in[i] = receive(&rig, (size_t)i * 64, 64);
		dst[i] = doca_rdma_task_receive_get_dst_buf(in[i]);
	}
	OK(doca_pe_get_num_inflight_tasks(rig.b.pe, &n));
	cr_assert_eq(n, 3);
	IS(doca_ctx_stop(rig.b.ctx), IN_PROGRESS);
	await(&rig, &rig.b, 3);
	cr_assert_eq(rig.b.failed, 3);
	cr_assert_eq(rig.b.status, DOCA_ERROR_SHUTDOWN);
	OK(doca_ctx_get_state(rig.b.ctx, &state));
	cr_assert_eq(state, DOCA_CTX_STATE_IDLE);
	IS(doca_task_submit(doca_rdma_task_receive_as_task(in[0])), BAD_STATE);
	for (int i = 0; i < 3; i++) {
		doca_task_free(doca_rdma_task_receive_as_task(in[i]));
		put_buf(dst[i]);
	}
	task_rig_stop(&rig);
}

/* Tasks may outlive their object. */
Test(task_ends, freed_after_the_object)
{
	struct doca_task *t;

	task_rig_start(&rig, DOCA_ACCESS_FLAG_RDMA_WRITE);
	t = write_task(0, 8);
	OK(run(&rig, &rig.a, t));
	OK(doca_ctx_stop(rig.a.ctx));
	OK(doca_rdma_destroy(rig.a.rdma));
	IS(doca_rdma_destroy(rig.a.rdma), INVALID_VALUE);
	IS(doca_task_submit(t), BAD_STATE);
	drop_write(t);
	/* the rest of the side, for task_rig_stop() */
	OK(doca_rdma_create(rig.dev, &rig.a.rdma));
	rig.a.ctx = doca_rdma_as_ctx(rig.a.rdma);
	task_rig_stop(&rig);
}

/* More than the queue holds: progress makes room. */
Test(task_ends, a_full_queue)
{
	struct doca_task *t[TASKS];
	doca_error_t ret = DOCA_SUCCESS;
	int sent = 0;

	task_rig_make(&rig, DOCA_ACCESS_FLAG_RDMA_WRITE);
	OK(doca_rdma_set_send_queue_size(rig.a.rdma, 1));
	OK(doca_ctx_start(rig.a.ctx));
	OK(doca_ctx_start(rig.b.ctx));
	task_rig_connect(&rig);
	for (int i = 0; i < TASKS; i++) {
		t[i] = write_task((size_t)i * 4096, 4096);
		while ((ret = doca_task_submit(t[i])) == DOCA_ERROR_AGAIN)
			if (!(doca_pe_progress(rig.a.pe) | doca_pe_progress(rig.b.pe)))
				sched_yield();
		OK(ret);
		sent++;
	}
	await(&rig, &rig.a, sent);
	cr_assert_eq(rig.a.done, TASKS);
	for (int i = 0; i < TASKS; i++)
		drop_write(t[i]);
	task_rig_stop(&rig);
}

static void sleep_until(struct side *s, int n)
{
	struct pollfd p = {.events = POLLIN};

	OK(doca_pe_get_notification_handle(s->pe, &p.fd));
	while (s->done + s->failed < n) {
		OK(doca_pe_request_notification(s->pe));
		cr_assert_eq(poll(&p, 1, 60000), 1);
		OK(doca_pe_clear_notification(s->pe, p.fd));
		while (doca_pe_progress(s->pe))
			;
	}
}

Test(task_ends, asleep)
{
	struct doca_rdma_task_receive *in;
	struct doca_rdma_task_send *out;
	struct doca_buf *src, *dst;

	task_rig_start(&rig, 0);
	src = local_buf(&rig, &rig.a, 0, 100, 100);
	in = receive(&rig, 0, 100);
	dst = doca_rdma_task_receive_get_dst_buf(in);
	OK(doca_rdma_task_send_allocate_init(rig.a.rdma, rig.a.conn, src, number(1), &out));
	for (int i = 1; i <= 20; i++) {
		if (i > 1) {
			OK(doca_buf_reset_data_len(dst));
			OK(doca_task_submit(doca_rdma_task_receive_as_task(in)));
		}
		OK(doca_task_submit(doca_rdma_task_send_as_task(out)));
		sleep_until(&rig.b, i);
		sleep_until(&rig.a, i);
	}
	cr_assert_eq(rig.a.done + rig.b.done, 40);
	doca_task_free(doca_rdma_task_send_as_task(out));
	doca_task_free(doca_rdma_task_receive_as_task(in));
	put_buf(src);
	put_buf(dst);
	task_rig_stop(&rig);
}

Test(task_ends, refused)
{
	struct doca_task *t, *wide;
	struct doca_rdma_task_write *w;
	struct doca_rdma_task_read *rd;
	struct doca_buf *src, *small, *local;
	uint32_t len;

	task_rig_make(&rig, DOCA_ACCESS_FLAG_RDMA_WRITE);
	IS(doca_rdma_task_write_allocate_init(rig.a.rdma, rig.a.conn, NULL, NULL, number(1), &w),
	   INVALID_VALUE); /* not started */
	OK(doca_ctx_start(rig.a.ctx));
	OK(doca_ctx_start(rig.b.ctx));
	OK(doca_rdma_export(rig.a.rdma, (const void **)&src, &(size_t){0}, &rig.a.conn));
	t = write_task(0, 8);
	IS(doca_task_submit(t), NOT_CONNECTED);
	drop_write(t);
	OK(doca_ctx_stop(rig.a.ctx));
	OK(doca_ctx_start(rig.a.ctx));
	task_rig_connect(&rig);
	src = local_buf(&rig, &rig.a, 0, 100, 100);
	small = remote_buf(&rig, &rig.a, 0, 99, 0);
	OK(doca_rdma_task_write_allocate_init(rig.a.rdma, rig.a.conn, src, small, number(1), &w));
	wide = doca_rdma_task_write_as_task(w);
	IS(doca_task_submit(wide), INVALID_VALUE); /* too many bufs */
	doca_rdma_task_write_set_src_buf(w, small);
	IS(doca_task_submit(wide), INVALID_VALUE); /* a buf of the peer is no source */
	doca_rdma_task_write_set_src_buf(w, src);
	doca_rdma_task_write_set_dst_buf(w, NULL);
	IS(doca_task_submit(wide), INVALID_VALUE);
	IS(doca_task_submit_ex(wide, 8), INVALID_VALUE);
	/* a read with too little room */
	local = local_buf(&rig, &rig.a, 200, 10, 0);
	OK(doca_buf_set_data_len(small, 11));
	OK(doca_rdma_task_read_allocate_init(rig.a.rdma, rig.a.conn, small, local, number(1), &rd));
	IS(doca_task_submit(doca_rdma_task_read_as_task(rd)), INVALID_VALUE);
	doca_task_free(doca_rdma_task_read_as_task(rd));
	doca_task_free(wide);
	put_buf(src);
	put_buf(small);
	put_buf(local);
	OK(doca_rdma_cap_task_receive_get_max_dst_buf_list_len(doca_dev_as_devinfo(rig.dev),
							       DOCA_RDMA_TRANSPORT_TYPE_RC, &len));
	cr_assert_geq(len, 2);
	IS(doca_rdma_cap_task_receive_get_max_dst_buf_list_len(doca_dev_as_devinfo(rig.dev),
							       DOCA_RDMA_TRANSPORT_TYPE_DC, &len),
	   INVALID_VALUE);
	task_rig_stop(&rig);
}

/*
 * A task of a connection that is gone is refused although there is a new one: the memory of a
 * destroyed object does not become that of another one at once (libdpa/common/object/object.h).
 */
Test(task_ends, of_a_connection_that_is_gone)
{
	task_rig_start(&rig, DOCA_ACCESS_FLAG_RDMA_WRITE);
	for (int i = 0; i < 20; i++) {
		struct doca_task *t = write_task(0, 8);

		OK(doca_ctx_stop(rig.a.ctx));
		OK(doca_ctx_stop(rig.b.ctx));
		OK(doca_ctx_start(rig.a.ctx));
		OK(doca_ctx_start(rig.b.ctx));
		task_rig_connect(&rig);
		IS(doca_task_submit(t), NOT_CONNECTED);
		drop_write(t);
	}
	task_rig_stop(&rig);
}
