/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_foreign_cases.c - memory that the process cannot address (dpadv_reg_foreign_mr()), on both
 * sides: its address is a PROT_NONE range, and copies use another mapping. It is larger than the
 * room of the device.
 */
#include "vt_peer.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <dpadv.h>

enum { SIZE = 16 << 20, PIECE = 4096, DEPTH = 512 };

static const struct vt_opt rc = {.len = PIECE, .send_wr = DEPTH, .recv_wr = DEPTH, .timeout = 17};

struct far {
	uint8_t *view, *bytes;
	struct ibv_mr *mr;
	uint64_t addr; /* the peer's */
	uint32_t rkey;
};

static int copy(void *arg, const struct dpa_foreign_copy *list, uint32_t n)
{
	struct far *f = arg;

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *at = f->bytes + (list[i].foreign - (uintptr_t)f->view);

		if (list[i].flags & DPA_FOREIGN_TO)
			memcpy(at, list[i].host, list[i].length);
		else
			memcpy(list[i].host, at, list[i].length);
	}
	return 0;
}

static const struct dpa_foreign_ops ops = {.copy = copy};

static void begin(struct vt *t, struct far *f)
{
	struct dpadv_foreign_mr a = {.length = SIZE,
				     .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
				     .ops = &ops,
				     .arg = f};
	int fd;

	vt_setup(t, &rc);
	if (!dpadv_is_supported(t->ctx->device))
		vt_skip("not a device with such memory");
	fd = memfd_create("far", MFD_CLOEXEC);
	CHECK(fd >= 0 && ftruncate(fd, SIZE) == 0, "no memory");
	f->view = mmap(NULL, SIZE, PROT_NONE, MAP_SHARED, fd, 0);
	f->bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(f->view != MAP_FAILED && f->bytes != MAP_FAILED, "no memory");
	close(fd);
	a.addr = a.iova = (uintptr_t)f->view;
	CHECK(!ibv_reg_mr(t->pd, f->view, SIZE, a.access) && errno == EFAULT,
	      "it cannot be registered as memory of the process");
	f->mr = dpadv_reg_foreign_mr(t->pd, &a);
	CHECK(f->mr, "dpadv_reg_foreign_mr: %s", strerror(errno));
	vt_put(t, &a.addr, sizeof(a.addr));
	vt_put(t, &f->mr->rkey, sizeof(f->mr->rkey));
	vt_get(t, &f->addr, sizeof(f->addr));
	vt_get(t, &f->rkey, sizeof(f->rkey));
}

static void end(struct vt *t, struct far *f)
{
	vt_sync(t);
	CHECK_EQ(ibv_dereg_mr(f->mr), 0);
	munmap(f->view, SIZE);
	munmap(f->bytes, SIZE);
	vt_close(t);
}

/* Move all of the memory, in segments, with as many in flight as the queue holds. */
static void move_all(struct vt *t, struct far *f, enum ibv_wr_opcode op)
{
	const uint32_t all = SIZE / PIECE;
	uint32_t posted = 0, done = 0;

	while (done < all) {
		while (posted < all && posted - done < DEPTH) {
			struct ibv_sge g = {(uintptr_t)f->view + (uint64_t)posted * PIECE, PIECE,
					    f->mr->lkey};
			struct ibv_send_wr wr = {.wr_id = posted,
						 .sg_list = &g,
						 .num_sge = 1,
						 .opcode = op,
						 .send_flags = IBV_SEND_SIGNALED};

			wr.wr.rdma.remote_addr = f->addr + (uint64_t)posted * PIECE;
			wr.wr.rdma.rkey = f->rkey;
			CHECK_EQ(vt_post(t->qp, &wr), 0);
			posted++;
		}
		vt_wc_is(t, done++, IBV_WC_SUCCESS);
	}
}

static void writes_and_reads(struct vt *t)
{
	struct far f;

	begin(t, &f);
	if (t->side == 0) {
		vt_fill(f.bytes, SIZE, 1);
		move_all(t, &f, IBV_WR_RDMA_WRITE);
	}
	vt_sync(t);
	if (t->side == 1) {
		CHECK_EQ(vt_differs(f.bytes, SIZE, 1), SIZE);
		vt_fill(f.bytes, SIZE, 2);
	}
	vt_sync(t);
	if (t->side == 0) {
		move_all(t, &f, IBV_WR_RDMA_READ);
		CHECK_EQ(vt_differs(f.bytes, SIZE, 2), SIZE);
	}
	end(t, &f);
}

static void sends(struct vt *t)
{
	const uint32_t all = SIZE / PIECE;
	struct far f;

	begin(t, &f);
	if (t->side == 1)
		for (uint32_t i = 0; i < DEPTH; i++) {
			struct ibv_sge g = {(uintptr_t)f.view + (uint64_t)i * PIECE, PIECE,
					    f.mr->lkey};
			struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &g, .num_sge = 1}, *bad;

			CHECK_EQ(ibv_post_recv(t->qp, &wr, &bad), 0);
		}
	else
		vt_fill(f.bytes, SIZE, 3);
	vt_sync(t);
	if (t->side == 0)
		move_all(t, &f, IBV_WR_SEND);
	for (uint32_t i = 0; t->side == 1 && i < all; i++) {
		const uint64_t next = i + DEPTH;
		struct ibv_sge g = {(uintptr_t)f.view + next * PIECE, PIECE, f.mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = next, .sg_list = &g, .num_sge = 1}, *bad;

		vt_wc_is(t, i, IBV_WC_SUCCESS);
		if (next < all)
			CHECK_EQ(ibv_post_recv(t->qp, &wr, &bad), 0);
	}
	if (t->side == 1)
		CHECK_EQ(vt_differs(f.bytes, SIZE, 3), SIZE);
	end(t, &f);
}

static void victim(struct vt *t)
{
	struct far f;

	begin(t, &f);
	vt_first_message(t);
	vt_sync(t);
	for (;;)
		pause();
}

/* Its writes are in flight when the owner of the memory is killed. */
static void an_owner_is_killed(struct vt *t)
{
	struct far f;
	struct ibv_wc wc;
	pid_t pid;

	if (t->side == 1)
		return;
	*t = (struct vt){0};
	pid = vt_fork_peer(t, victim);
	begin(t, &f);
	vt_first_message(t);
	vt_sync(t);
	for (uint32_t i = 0; i < DEPTH / 2; i++) {
		struct ibv_sge g = {(uintptr_t)f.view, 65536, f.mr->lkey};
		struct ibv_send_wr wr = {.wr_id = i,
					 .sg_list = &g,
					 .num_sge = 1,
					 .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED};

		wr.wr.rdma.remote_addr = f.addr;
		wr.wr.rdma.rkey = f.rkey;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		if (i == 10)
			vt_kill_peer(pid);
	}
	do
		wc = vt_wc(t, t->cq);
	while (wc.status == IBV_WC_SUCCESS && wc.wr_id + 1 < DEPTH / 2);
	CHECK(wc.status == IBV_WC_RETRY_EXC_ERR, "%s", ibv_wc_status_str(wc.status));
	CHECK_EQ(ibv_dereg_mr(f.mr), 0);
	vt_close_alone(t);
}

static const struct vt_case cases[] = {
	{"writes_and_reads", writes_and_reads, VT_BOTH, 120},
	{"sends", sends, VT_BOTH, 120},
	{"an_owner_is_killed", an_owner_is_killed, VT_PROCS, 120},
};

VT_MAIN(cases)
