/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_task_data.c - the effect of each kind of task, byte for byte. */
#include <arpa/inet.h>
#include "rig.h"

TestSuite(task_data, .timeout = 100);

#define ALL                                                                                        \
	(DOCA_ACCESS_FLAG_RDMA_READ | DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC)

static struct task_rig rig;

static void fill(uint8_t *p, size_t n, uint8_t seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(seed + i * 7);
}

static void free_tasks(struct doca_task *a, struct doca_task *b)
{
	doca_task_free(a);
	doca_task_free(b);
}

Test(task_data, send_and_receive)
{
	struct doca_rdma_task_receive *in;
	struct doca_rdma_task_send *out;
	struct doca_buf *src, *dst;

	task_rig_start(&rig, ALL);
	fill(rig.a.mem, 3000, 1);
	in = receive(&rig, 64, 4000);
	dst = doca_rdma_task_receive_get_dst_buf(in);
	src = local_buf(&rig, &rig.a, 0, 4096, 3000);
	OK(doca_rdma_task_send_allocate_init(rig.a.rdma, rig.a.conn, src, number(9), &out));
	OK(run(&rig, &rig.a, doca_rdma_task_send_as_task(out)));
	cr_assert_eq(rig.a.user_data, 9);
	await(&rig, &rig.b, 1);
	OK(rig.b.status);
	cr_assert_eq(rig.b.user_data, 64);
	cr_assert_eq(memcmp(rig.b.mem + 64, rig.a.mem, 3000), 0);
	cr_assert_eq(rig.b.mem[3064], 0);
	cr_assert_eq(data_len(dst), 3000);
	cr_assert_eq(data_len(src), 3000);
	cr_assert_eq(doca_rdma_task_receive_get_result_len(in), 3000);
	cr_assert_eq(doca_rdma_task_receive_get_result_opcode(in), DOCA_RDMA_OPCODE_RECV_SEND);
	cr_assert_eq(doca_rdma_task_receive_get_result_rdma_connection(in), rig.b.conn);
	/* a second one is appended */
	OK(doca_task_submit(doca_rdma_task_receive_as_task(in)));
	OK(doca_buf_set_data_len(src, 1000));
	OK(run(&rig, &rig.a, doca_rdma_task_send_as_task(out)));
	await(&rig, &rig.b, 2);
	cr_assert_eq(memcmp(rig.b.mem + 3064, rig.a.mem, 1000), 0);
	cr_assert_eq(data_len(dst), 4000);
	free_tasks(doca_rdma_task_receive_as_task(in), doca_rdma_task_send_as_task(out));
	put_buf(src);
	put_buf(dst);
	task_rig_stop(&rig);
}

Test(task_data, immediates)
{
	struct doca_rdma_task_receive *in;
	struct doca_rdma_task_send_imm *out;
	struct doca_rdma_task_write_imm *write;
	struct doca_buf *src, *dst, *at;

	task_rig_start(&rig, ALL);
	fill(rig.a.mem, 64, 5);
	in = receive(&rig, 0, 100);
	src = local_buf(&rig, &rig.a, 0, 64, 64);
	OK(doca_rdma_task_send_imm_allocate_init(rig.a.rdma, rig.a.conn, src, htonl(77), number(1),
						 &out));
	OK(run(&rig, &rig.a, doca_rdma_task_send_imm_as_task(out)));
	await(&rig, &rig.b, 1);
	cr_assert_eq(doca_rdma_task_receive_get_result_opcode(in),
		     DOCA_RDMA_OPCODE_RECV_SEND_WITH_IMM);
	cr_assert_eq(doca_rdma_task_receive_get_result_immediate_data(in), htonl(77));
	cr_assert_eq(doca_rdma_task_receive_get_result_len(in), 64);
	cr_assert_eq(memcmp(rig.b.mem, rig.a.mem, 64), 0);
	/* a write takes a receive, and does not change its buf */
	OK(doca_task_submit(doca_rdma_task_receive_as_task(in)));
	at = remote_buf(&rig, &rig.a, 8000, 100, 0);
	OK(doca_rdma_task_write_imm_allocate_init(rig.a.rdma, rig.a.conn, src, at, htonl(78),
						  number(2), &write));
	OK(run(&rig, &rig.a, doca_rdma_task_write_imm_as_task(write)));
	await(&rig, &rig.b, 2);
	cr_assert_eq(doca_rdma_task_receive_get_result_opcode(in),
		     DOCA_RDMA_OPCODE_RECV_WRITE_WITH_IMM);
	cr_assert_eq(doca_rdma_task_receive_get_result_immediate_data(in), htonl(78));
	cr_assert_eq(doca_rdma_task_receive_get_result_len(in), 64);
	cr_assert_eq(memcmp(rig.b.mem + 8000, rig.a.mem, 64), 0);
	dst = doca_rdma_task_receive_get_dst_buf(in);
	cr_assert_eq(data_len(dst), 64);
	doca_task_free(doca_rdma_task_write_imm_as_task(write));
	free_tasks(doca_rdma_task_receive_as_task(in), doca_rdma_task_send_imm_as_task(out));
	put_buf(at);
	put_buf(src);
	put_buf(dst);
	task_rig_stop(&rig);
}

/* No bytes: neither side has memory. */
Test(task_data, empty_messages)
{
	struct doca_rdma_task_receive *in;
	struct doca_rdma_task_send *out;

	task_rig_start(&rig, ALL);
	in = receive(&rig, 0, 0);
	OK(doca_rdma_task_send_allocate_init(rig.a.rdma, rig.a.conn, NULL, number(1), &out));
	OK(run(&rig, &rig.a, doca_rdma_task_send_as_task(out)));
	await(&rig, &rig.b, 1);
	cr_assert_eq(doca_rdma_task_receive_get_result_len(in), 0);
	free_tasks(doca_rdma_task_receive_as_task(in), doca_rdma_task_send_as_task(out));
	task_rig_stop(&rig);
}

Test(task_data, write_and_read)
{
	struct doca_rdma_task_write *write;
	struct doca_rdma_task_read *read;
	struct doca_buf *src, *at, *from, *dst;

	task_rig_start(&rig, ALL);
	fill(rig.a.mem, 20000, 3);
	src = local_buf(&rig, &rig.a, 0, 20000, 20000);
	at = remote_buf(&rig, &rig.a, 100, 20010, 10); /* behind its data */
	OK(doca_rdma_task_write_allocate_init(rig.a.rdma, rig.a.conn, src, at, number(1), &write));
	OK(run(&rig, &rig.a, doca_rdma_task_write_as_task(write)));
	cr_assert_eq(memcmp(rig.b.mem + 110, rig.a.mem, 20000), 0);
	cr_assert_eq(rig.b.mem[109] | rig.b.mem[20110], 0);
	from = remote_buf(&rig, &rig.a, 110, 20000, 15000);
	dst = local_buf(&rig, &rig.a, 30000, 16000, 0);
	OK(doca_rdma_task_read_allocate_init(rig.a.rdma, rig.a.conn, from, dst, number(2), &read));
	OK(run(&rig, &rig.a, doca_rdma_task_read_as_task(read)));
	cr_assert_eq(doca_rdma_task_read_get_result_len(read), 15000);
	cr_assert_eq(data_len(dst), 15000);
	cr_assert_eq(memcmp(rig.a.mem + 30000, rig.a.mem, 15000), 0);
	cr_assert_eq(rig.a.mem[45000], 0);
	cr_assert_eq(rig.b.done + rig.b.failed, 0);
	free_tasks(doca_rdma_task_write_as_task(write), doca_rdma_task_read_as_task(read));
	put_buf(src);
	put_buf(at);
	put_buf(from);
	put_buf(dst);
	task_rig_stop(&rig);
}

/* Gathered of three, scattered into two. */
Test(task_data, lists)
{
	struct doca_buf *src = NULL, *dst, *more;
	struct doca_rdma_task_receive *in;
	struct doca_rdma_task_send *out;

	task_rig_start(&rig, ALL);
	fill(rig.a.mem, 300, 9);
	src = local_buf(&rig, &rig.a, 0, 100, 100);
	OK(doca_buf_chain_list(src, local_buf(&rig, &rig.a, 100, 100, 50)));
	OK(doca_buf_chain_list(src, local_buf(&rig, &rig.a, 150, 150, 150)));
	dst = local_buf(&rig, &rig.b, 0, 120, 0);
	more = local_buf(&rig, &rig.b, 1000, 400, 0);
	OK(doca_buf_chain_list(dst, more));
	OK(doca_rdma_task_receive_allocate_init(rig.b.rdma, dst, number(1), &in));
	OK(doca_task_submit(doca_rdma_task_receive_as_task(in)));
	OK(doca_rdma_task_send_allocate_init(rig.a.rdma, rig.a.conn, src, number(2), &out));
	OK(run(&rig, &rig.a, doca_rdma_task_send_as_task(out)));
	await(&rig, &rig.b, 1);
	cr_assert_eq(memcmp(rig.b.mem, rig.a.mem, 120), 0);
	cr_assert_eq(memcmp(rig.b.mem + 1000, rig.a.mem + 120, 180), 0);
	cr_assert_eq(data_len(dst), 120);
	cr_assert_eq(data_len(more), 180);
	/* with more bufs than configured */
	OK(doca_buf_chain_list(src, local_buf(&rig, &rig.a, 300, 8, 8)));
	IS(doca_task_submit(doca_rdma_task_send_as_task(out)), INVALID_VALUE);
	free_tasks(doca_rdma_task_receive_as_task(in), doca_rdma_task_send_as_task(out));
	put_buf(src);
	put_buf(dst);
	task_rig_stop(&rig);
}

static uint64_t word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static void set_word(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

Test(task_data, atomics)
{
	struct doca_rdma_task_atomic_fetch_add *add;
	struct doca_rdma_task_atomic_cmp_swp *swap;
	struct doca_buf *at, *was;

	task_rig_start(&rig, ALL);
	set_word(rig.b.mem + 64, 40);
	at = remote_buf(&rig, &rig.a, 64, 8, 0);
	was = local_buf(&rig, &rig.a, 128, 8, 0);
	OK(doca_rdma_task_atomic_fetch_add_allocate_init(rig.a.rdma, rig.a.conn, at, was, 2,
							 number(1), &add));
	OK(run(&rig, &rig.a, doca_rdma_task_atomic_fetch_add_as_task(add)));
	cr_assert_eq(word(rig.a.mem + 128), 40);
	cr_assert_eq(word(rig.b.mem + 64), 42);
	cr_assert_eq(data_len(was), 8);
	OK(doca_rdma_task_atomic_cmp_swp_allocate_init(rig.a.rdma, rig.a.conn, at, was, 41, 7,
						       number(1), &swap));
	OK(run(&rig, &rig.a, doca_rdma_task_atomic_cmp_swp_as_task(swap)));
	cr_assert_eq(word(rig.a.mem + 128), 42);
	cr_assert_eq(word(rig.b.mem + 64), 42); /* it was not 41 */
	doca_rdma_task_atomic_cmp_swp_set_cmp_data(swap, 42);
	OK(run(&rig, &rig.a, doca_rdma_task_atomic_cmp_swp_as_task(swap)));
	cr_assert_eq(word(rig.b.mem + 64), 7);
	free_tasks(doca_rdma_task_atomic_fetch_add_as_task(add),
		   doca_rdma_task_atomic_cmp_swp_as_task(swap));
	put_buf(at);
	put_buf(was);
	task_rig_stop(&rig);
}

Test(task_data, events_of_the_peer)
{
	struct doca_rdma_task_remote_net_sync_event_notify_set *set;
	struct doca_rdma_task_remote_net_sync_event_notify_add *add;
	struct doca_rdma_task_remote_net_sync_event_get *get;
	struct doca_sync_event_remote_net *remote;
	struct doca_sync_event *se;
	struct doca_buf *src, *dst;
	const uint8_t *blob;
	uint64_t value;
	size_t size;

	task_rig_start(&rig, ALL);
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_remote_net(se));
	OK(doca_sync_event_add_subscriber_location_cpu(se, rig.dev));
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &blob, &size));
	OK(doca_sync_event_remote_net_create_from_export(rig.dev, blob, size, &remote));
	set_word(rig.a.mem, 100);
	src = local_buf(&rig, &rig.a, 0, 8, 8);
	dst = local_buf(&rig, &rig.a, 64, 8, 0);
	OK(doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(
		rig.a.rdma, rig.a.conn, remote, src, number(1), &set));
	OK(run(&rig, &rig.a, doca_rdma_task_remote_net_sync_event_notify_set_as_task(set)));
	OK(doca_sync_event_wait_eq(se, 100, ~0ull));
	OK(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(
		rig.a.rdma, rig.a.conn, remote, dst, 11, number(1), &add));
	OK(run(&rig, &rig.a, doca_rdma_task_remote_net_sync_event_notify_add_as_task(add)));
	cr_assert_eq(word(rig.a.mem + 64), 100);
	OK(doca_sync_event_get(se, &value));
	cr_assert_eq(value, 111);
	OK(doca_rdma_task_remote_net_sync_event_get_allocate_init(rig.a.rdma, rig.a.conn, remote,
								  dst, number(1), &get));
	OK(run(&rig, &rig.a, doca_rdma_task_remote_net_sync_event_get_as_task(get)));
	cr_assert_eq(word(rig.a.mem + 64), 111);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_result_len(get), 8);
	OK(doca_sync_event_remote_net_destroy(remote));
	IS(doca_task_submit(doca_rdma_task_remote_net_sync_event_get_as_task(get)), INVALID_VALUE);
	doca_task_free(doca_rdma_task_remote_net_sync_event_get_as_task(get));
	free_tasks(doca_rdma_task_remote_net_sync_event_notify_set_as_task(set),
		   doca_rdma_task_remote_net_sync_event_notify_add_as_task(add));
	OK(doca_sync_event_destroy(se));
	put_buf(src);
	put_buf(dst);
	task_rig_stop(&rig);
}
