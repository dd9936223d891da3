/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_ops.c - operations of kernels, on the real device: each device function, in both modes. */
#include <stdlib.h>
#include <string.h>
#include <dpa/dpa_gpu.h>
#include "rig.h"

TestSuite(gpu_ops, .timeout = 60);

static void fill(uint8_t *p, size_t n, uint8_t seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(seed + i * 7);
}

static void wait_for(struct side *s, uint32_t commits)
{
	uint32_t n = 99;

	OK(k_wait(s->k, &n));
	cr_assert_eq(n, commits);
}

Test(gpu_ops, writes_of_all_sizes)
{
	static const size_t sizes[] = {0, 1, 2, 3, 63, 64, 65, 128, 1000, 4096, 4097, 8192};
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct k_op o = op_of(&r.a, i % 2, 1, 2, sizes[i]);

		fill(elem(&r.a, 1), RIG_ELEM, (uint8_t)i);
		memset(elem(&r.b, 2), 0xee, RIG_ELEM);
		OK(k_write(r.a.k, &o));
		OK(k_commit_strong(r.a.k, o.conn));
		wait_for(&r.a, 1);
		cr_assert_arr_eq(elem(&r.b, 2), elem(&r.a, 1), sizes[i]);
		if (sizes[i] < RIG_ELEM)
			cr_assert_eq(elem(&r.b, 2)[sizes[i]], 0xee);
	}
	rig_down(&r);
}

Test(gpu_ops, weak_round_and_round)
{
	uint32_t at, mask, next = 0;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	for (int round = 0; round < 100; round++) {
		OK(k_info(r.a.k, 0, &at, &mask));
		cr_assert_eq(at, next & mask);
		for (uint32_t i = 0; i < 7; i++) {
			struct k_op o = op_of(&r.a, 0, (int)i, (int)i + 10, 100);

			o.weak = true;
			o.position = (at + i) & (round % 2 ? mask : 0xffff);
			fill(elem(&r.a, (int)i), 100, (uint8_t)(round + (int)i));
			OK(k_write(r.a.k, &o));
		}
		OK(k_commit_weak(r.a.k, 0, 7));
		wait_for(&r.a, 1);
		next += 7;
		for (int i = 0; i < 7; i++)
			cr_assert_arr_eq(elem(&r.b, i + 10), elem(&r.a, i), 100);
	}
	rig_down(&r);
}

/* As in the public sample: strong, weak at the following position, strong. */
Test(gpu_ops, modes_alternate)
{
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	for (uint32_t i = 0; i < 80; i++) {
		uint8_t byte = (uint8_t)(i + 1);
		struct k_op o = op_of(&r.a, 1, 0, 3, 1);

		o.remote_offset = i;
		o.data = &byte;
		o.weak = i % 2;
		o.position = i;
		OK(k_write_inline(r.a.k, &o));
		byte = 0; /* it was copied */
		OK(o.weak ? k_commit_weak(r.a.k, 1, 1) : k_commit_strong(r.a.k, 1));
		if (i % 8 == 7)
			wait_for(&r.a, 8);
	}
	for (uint32_t i = 0; i < 80; i++)
		cr_assert_eq(elem(&r.b, 3)[i], i + 1);
	rig_down(&r);
}

Test(gpu_ops, reads)
{
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	fill(elem(&r.b, 5), RIG_ELEM, 9);
	for (int weak = 0; weak < 2; weak++) {
		struct k_op o = op_of(&r.a, 0, 4, 5, 5000);

		memset(elem(&r.a, 4), 0, RIG_ELEM);
		o.remote_offset = 10;
		o.local_offset = 20;
		o.weak = weak;
		o.position = 1;
		OK(k_read(r.a.k, &o));
		OK(weak ? k_commit_weak(r.a.k, 0, 1) : k_commit_strong(r.a.k, 0));
		OK(k_flush(r.a.k));
		cr_assert_arr_eq(elem(&r.a, 4) + 20, elem(&r.b, 5) + 10, 5000);
	}
	rig_down(&r);
}

static void post_recvs(struct side *s, uint32_t n, bool weak)
{
	uint32_t at, mask;

	OK(k_recv_info(s->kr, &at, &mask));
	for (uint32_t i = 0; i < n; i++) {
		struct k_op o = {.local = k_buf(s->local, i), .length = RIG_ELEM, .weak = weak};

		o.position = at + i;
		OK(k_recv(s->kr, &o));
	}
	OK(weak ? k_recv_commit_weak(s->kr, n) : k_recv_commit_strong(s->kr));
}

Test(gpu_ops, sends_and_receives)
{
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	for (uint32_t round = 0; round < 40; round++) {
		uint32_t n = 0, imm[4], conn[4];
		bool weak = round % 2;

		post_recvs(&r.b, 4, weak);
		for (uint32_t i = 0; i < 4; i++) {
			struct k_op o = op_of(&r.a, i % 2, (int)i + 8, 0, 200 + i);

			o.imm = round * 4 + i;
			o.flags = 1;
			o.weak = weak;
			o.position = round * 2 + i / 2;
			fill(elem(&r.a, (int)i + 8), 300, (uint8_t)(round + i));
			OK(k_send(r.a.k, &o));
			OK(weak ? k_commit_weak(r.a.k, i % 2, 1) : k_commit_strong(r.a.k, i % 2));
			wait_for(&r.a, 1);
		}
		OK(k_recv_wait(r.b.kr, true, &n, imm, conn));
		cr_assert_eq(n, 4);
		for (uint32_t i = 0; i < 4; i++) {
			cr_assert_eq(imm[i], round * 4 + i);
			cr_assert_eq(conn[i], i % 2);
			cr_assert_arr_eq(elem(&r.b, (int)i), elem(&r.a, (int)i + 8), 200 + i);
		}
	}
	rig_down(&r);
}

Test(gpu_ops, non_blocking_wait_takes_what_is_there)
{
	uint32_t n = 7, imm, conn;
	struct k_op o;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	OK(k_recv_wait(r.b.kr, true, &n, NULL, NULL)); /* nothing was posted */
	cr_assert_eq(n, 0);
	post_recvs(&r.b, 2, false);
	OK(k_recv_wait(r.b.kr, false, &n, NULL, NULL));
	cr_assert_eq(n, 0);
	o = (struct k_op){.data = (uint8_t *)"forty-four", .length = 11, .imm = 5, .flags = 1};
	OK(k_send_inline(r.a.k, &o));
	OK(k_commit_strong(r.a.k, 0));
	wait_for(&r.a, 1);
	do
		OK(k_recv_wait(r.b.kr, false, &n, &imm, &conn));
	while (!n);
	cr_assert_eq(n, 1);
	cr_assert_eq(imm, 5);
	cr_assert_str_eq((char *)elem(&r.b, 0), "forty-four");
	rig_down(&r);
}

/* As in NCCL's plug-in: no data, an immediate, a buf made from an address and a key. */
Test(gpu_ops, empty_messages_and_made_bufs)
{
	struct k_op none = {.length = 0}, w, s;
	uint32_t n, imm[2], conn[2];
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	OK(k_recv(r.b.kr, &none));
	OK(k_recv_commit_strong(r.b.kr));
	w = op_of(&r.a, 0, 0, 0, 1024);
	w.remote = k_create(k_addr(k_buf(r.a.remote, 6)), k_mkey(k_buf(r.a.remote, 6)));
	w.remote_offset = 4;
	w.weak = true;
	fill(elem(&r.a, 0), 1024, 3);
	OK(k_write(r.a.k, &w));
	s = (struct k_op){.imm = 77, .flags = 1, .weak = true, .position = 1};
	OK(k_send(r.a.k, &s));
	OK(k_commit_weak(r.a.k, 0, 2));
	wait_for(&r.a, 1);
	OK(k_recv_wait(r.b.kr, true, &n, imm, conn));
	cr_assert_eq(n, 1);
	cr_assert_eq(imm[0], 77);
	cr_assert_arr_eq(elem(&r.b, 6) + 4, elem(&r.a, 0), 1024);
	rig_down(&r);
}

Test(gpu_ops, write_with_immediate)
{
	struct k_op none = {.length = 0};
	uint32_t n, imm = 0, conn = 9;
	struct k_op o;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	OK(k_recv(r.b.kr, &none));
	OK(k_recv_commit_strong(r.b.kr));
	o = op_of(&r.a, 1, 0, 0, 64);
	o.imm = 0x01020304;
	o.flags = 1;
	fill(elem(&r.a, 0), 64, 1);
	OK(k_write(r.a.k, &o));
	OK(k_commit_strong(r.a.k, 1));
	OK(k_recv_wait(r.b.kr, true, &n, &imm, &conn));
	cr_assert_eq(n, 1);
	cr_assert_eq(imm, 0x01020304);
	cr_assert_eq(conn, 1);
	cr_assert_arr_eq(elem(&r.b, 0), elem(&r.a, 0), 64);
	rig_down(&r);
}

Test(gpu_ops, what_is_refused)
{
	uint8_t data[64] = {0};
	uint32_t n, mask;
	struct k_op o;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	o = op_of(&r.a, 0, 0, 0, 8);
	IS(k_write(NULL, &o), INVALID_VALUE);
	o.conn = RIG_CONNS;
	IS(k_write(r.a.k, &o), INVALID_VALUE);
	IS(k_commit_weak(r.a.k, RIG_CONNS, 1), INVALID_VALUE);
	IS(k_commit_strong(r.a.k, RIG_CONNS), INVALID_VALUE);
	IS(k_info(r.a.k, RIG_CONNS, &n, &mask), INVALID_VALUE);
	o.conn = 0;
	o.flags = 2;
	IS(k_write(r.a.k, &o), INVALID_VALUE);
	IS(k_send(r.a.k, &o), INVALID_VALUE);
	o.flags = 1;
	IS(k_read(r.a.k, &o), INVALID_VALUE);
	IS(k_recv(r.a.kr, &o), INVALID_VALUE);
	o.flags = 0;
	o.local = NULL;
	IS(k_write(r.a.k, &o), INVALID_VALUE);
	IS(k_read(r.a.k, &o), INVALID_VALUE);
	IS(k_send(r.a.k, &o), INVALID_VALUE);
	IS(k_recv(r.a.kr, &o), INVALID_VALUE);
	o = op_of(&r.a, 0, 0, 0, 8);
	o.remote = NULL;
	IS(k_write(r.a.k, &o), INVALID_VALUE);
	IS(k_read(r.a.k, &o), INVALID_VALUE);
	o = op_of(&r.a, 0, 0, 0, ((size_t)1 << 31) + 1);
	IS(k_write(r.a.k, &o), INVALID_VALUE);
	o = op_of(&r.a, 0, 0, 0, 29);
	o.data = data;
	IS(k_write_inline(r.a.k, &o), INVALID_VALUE);
	o.length = 45;
	IS(k_send_inline(r.a.k, &o), INVALID_VALUE);
	o.length = 1;
	o.data = NULL;
	IS(k_send_inline(r.a.k, &o), INVALID_VALUE);
	IS(k_wait(NULL, &n), INVALID_VALUE);
	IS(k_recv_wait(r.a.kr, true, NULL, NULL, NULL), INVALID_VALUE);
	cr_assert_null(k_create(1, 0));
	cr_assert_null(k_create((uintptr_t)1 << 48, 1));
	/* none of it was posted */
	OK(k_commit_strong(r.a.k, 0));
	OK(k_commit_weak(r.a.k, 0, 0));
	OK(k_wait(r.a.k, &n));
	cr_assert_eq(n, 0);
	rig_down(&r);
}

/*
 * Payloads in memory that the adapter accesses only through the driver: copied when posted, or by
 * the driver.
 */
Test(gpu_ops, gpu_memory)
{
	static const size_t sizes[] = {1, 64, 65, 4096, 4097, RIG_ELEM};
	uint32_t n, imm, conn;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_GPU);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct k_op o = op_of(&r.a, 0, 1, 2, sizes[i]);

		fill(elem(&r.a, 1), RIG_ELEM, (uint8_t)i);
		OK(k_write(r.a.k, &o));
		OK(k_commit_strong(r.a.k, 0));
		wait_for(&r.a, 1);
		cr_assert_arr_eq(elem(&r.b, 2), elem(&r.a, 1), sizes[i]);
		fill(elem(&r.b, 2), RIG_ELEM, (uint8_t)(i + 100));
		OK(k_read(r.a.k, &o));
		OK(k_commit_strong(r.a.k, 0));
		wait_for(&r.a, 1);
		cr_assert_arr_eq(elem(&r.a, 1), elem(&r.b, 2), sizes[i]);
		post_recvs(&r.b, 1, false);
		o.imm = 3;
		o.flags = 1;
		fill(elem(&r.a, 1), RIG_ELEM, (uint8_t)(i + 200));
		OK(k_send(r.a.k, &o));
		OK(k_commit_strong(r.a.k, 0));
		OK(k_recv_wait(r.b.kr, true, &n, &imm, &conn));
		cr_assert(n == 1 && imm == 3 && conn == 0);
		cr_assert_arr_eq(elem(&r.b, 0), elem(&r.a, 1), sizes[i]);
		wait_for(&r.a, 1);
	}
	rig_down(&r);
}

/* A copy of the driver that fails ends the operation, not the process. */
Test(gpu_ops, driver_that_fails)
{
	struct rig r;
	struct k_op o;
	uint32_t n;

	rig_up(&r, DOCA_GPU_MEM_TYPE_GPU);
	o = op_of(&r.a, 0, 1, 2, 4097);
	fake_cuda_fail_copies(true);
	OK(k_write(r.a.k, &o));
	OK(k_commit_strong(r.a.k, 0));
	IS(k_wait(r.a.k, &n), IO_FAILED);
	fake_cuda_fail_copies(false);
	rig_down(&r);
}

/*
 * One of a batch fails: the bounce memory is reused only when the others have ended. The adapter
 * then requests each one alone.
 */
Test(gpu_ops, driver_that_fails_in_the_middle)
{
	struct rig r;
	uint32_t n;

	for (int good = 1; good < 6; good++) {
		rig_up(&r, DOCA_GPU_MEM_TYPE_GPU);
		fake_cuda_fail_after(good);
		for (int i = 0; i < 8; i++) {
			struct k_op o = op_of(&r.a, 0, i, 2 * i, 64);

			fill(elem(&r.a, i), 64, (uint8_t)(good + i));
			OK(k_write(r.a.k, &o));
		}
		OK(k_commit_strong(r.a.k, 0));
		OK(k_wait(r.a.k, &n));
		for (int i = 0; i < 8; i++)
			cr_assert_arr_eq(elem(&r.b, 2 * i), elem(&r.a, i), 64);
		rig_down(&r);
	}
	cr_assert_gt(fake_cuda_failed_behind(), 0);
	cr_assert_eq(fake_cuda_waited_for(), fake_cuda_failed_behind());
}

/*
 * While a thread waits other threads commit, so that the CQ wraps around: a later CQE is in the
 * place.
 */
Test(gpu_ops, wait_that_is_lapped)
{
	struct dpa_gpu_conn *c;
	uint32_t n, pi, laps[] = {1, 2, 100, DPA_GPU_CQE_LAPS - 2};
	struct k_op o;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	c = (struct dpa_gpu_conn *)(uintptr_t)r.a.k->conns;
	o = op_of(&r.a, 0, 0, 0, 8);
	for (uint32_t i = 0; i < (uint32_t)DPA_GPU_CQE_LAPS << c->log_cq; i++) {
		OK(k_write(r.a.k, &o));
		OK(k_commit_strong(r.a.k, 0));
	}
	wait_for(&r.a, (uint32_t)DPA_GPU_CQE_LAPS << c->log_cq);
	pi = c->pi;
	for (size_t i = 0; i < sizeof(laps) / sizeof(*laps); i++) {
		/* the value that the waiting thread has read */
		c->pi = pi - (laps[i] << c->log_cq);
		OK(k_wait(r.a.k, &n));
	}
	c->pi = pi;
	OK(k_write(r.a.k, &o));
	OK(k_commit_strong(r.a.k, 0));
	wait_for(&r.a, 1);
	rig_down(&r);
}

/* The queue has 2 * RIG_QUEUE places: each operation may take one block. */
Test(gpu_ops, full_queues)
{
	uint32_t at, mask, n;
	struct k_op o;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	OK(k_info(r.a.k, 0, &at, &mask));
	o = op_of(&r.a, 0, 0, 0, 8);
	for (uint32_t i = 0; i <= mask; i++)
		OK(k_write(r.a.k, &o));
	IS(k_write(r.a.k, &o), FULL);
	IS(k_commit_strong(r.a.k, 0), FULL); /* they are dropped */
	OK(k_commit_strong(r.a.k, 0));
	OK(k_wait(r.a.k, &n));
	cr_assert_eq(n, 0);
	/* committed operations make room for more */
	for (uint32_t i = 0; i < 10 * mask; i++) {
		OK(k_write(r.a.k, &o));
		if (i % 5 == 4)
			OK(k_commit_strong(r.a.k, 0));
	}
	IS(k_commit_weak(r.a.k, 0, mask + 2), FULL);
	OK(k_wait(r.a.k, &n));
	OK(k_recv_info(r.a.kr, &at, &mask));
	o = (struct k_op){.length = 0};
	for (uint32_t i = 0; i <= mask; i++)
		OK(k_recv(r.a.kr, &o));
	IS(k_recv(r.a.kr, &o), FULL);
	IS(k_recv_commit_strong(r.a.kr), FULL);
	IS(k_recv_commit_weak(r.a.kr, mask + 2), FULL);
	rig_down(&r);
}

/* A refusal by the peer: the wait returns, and so do all later ones. */
Test(gpu_ops, failed_operations)
{
	struct k_op bad, good;
	uint32_t n;
	struct rig r;

	rig_up(&r, DOCA_GPU_MEM_TYPE_CPU_GPU);
	good = op_of(&r.a, 0, 0, 0, 8);
	bad = good;
	bad.remote = k_create(k_addr(good.remote), k_mkey(good.remote) + 0x1111);
	OK(k_write(r.a.k, &bad));
	for (int i = 0; i < 5; i++)
		OK(k_write(r.a.k, &good));
	OK(k_commit_strong(r.a.k, 0));
	IS(k_wait(r.a.k, &n), IO_FAILED);
	cr_assert_eq(n, 1);
	IS(k_wait(r.a.k, &n), IO_FAILED);
	IS(k_write(r.a.k, &good), IO_FAILED);
	IS(k_commit_strong(r.a.k, 0), IO_FAILED);
	IS(k_commit_weak(r.a.k, 0, 1), IO_FAILED);
	/* the other connection still works; the wait still reports the first */
	good.conn = 1;
	fill(elem(&r.a, 0), 8, 1);
	OK(k_write(r.a.k, &good));
	OK(k_commit_strong(r.a.k, 1));
	IS(k_wait(r.a.k, &n), IO_FAILED);
	cr_assert_arr_eq(elem(&r.b, 0), elem(&r.a, 0), 8);
	rig_down(&r);
}
