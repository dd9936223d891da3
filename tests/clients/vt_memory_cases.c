/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_memory_cases.c - kinds of memory: on demand, null, of the device, of a descriptor. Parent
 * domains and imports.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"

#define PAGE 4096u
#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static uint8_t *map_pages(size_t n)
{
	void *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

static void swap_addr(struct vt *t, void *addr, uint32_t rkey, struct vt_addr *theirs)
{
	struct vt_addr mine = {.addr = (uintptr_t)addr, .rkey = rkey};

	vt_put(t, &mine, sizeof(mine));
	vt_get(t, theirs, sizeof(*theirs));
}

/* One request over any SGE. */
static int post_sge(struct vt *t, enum ibv_wr_opcode op, uint64_t addr, uint32_t len, uint32_t lkey,
		    uint64_t raddr, uint32_t rkey)
{
	struct ibv_sge sge = {.addr = addr, .length = len, .lkey = lkey};
	struct ibv_send_wr wr = {.wr_id = 9,
				 .opcode = op,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IBV_SEND_SIGNALED};

	wr.wr.rdma.remote_addr = raddr;
	wr.wr.rdma.rkey = rkey;
	return vt_post(t->qp, &wr);
}

/* ------------------------------------------------------------------ on demand */

/*
 * Memory that is mapped and unmapped below a region: mapped pages are accessible; an unmapped page
 * is an error of this request only, on the side of the memory.
 */
static void odp_holes(struct vt *t)
{
	static const uint32_t lens[] = {8, 3000, 20 * PAGE};
	struct vt_opt o = {.len = 32 * PAGE};
	uint8_t *p = map_pages(64);
	struct vt_addr peer;
	struct ibv_mr *mr;

	vt_setup(t, &o);
	munmap(p, 64 * PAGE);
	mr = ibv_reg_mr(t->pd, p, 64 * PAGE, ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(mr, "a region on demand over nothing: %s", strerror(errno));
	swap_addr(t, p, mr->rkey, &peer);
	for (int i = 0; i < 3; i++) {
		uint32_t len = lens[i];

		/* ours is not mapped: local protection; a READ's answer has no destination */
		for (int op = 0; op < 3; op++) {
			static const enum ibv_wr_opcode ops[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND,
								 IBV_WR_RDMA_READ};

			if (t->side == 0) {
				CHECK_EQ(post_sge(t, ops[op], (uintptr_t)p, len, mr->lkey,
						  t->peer.addr, t->peer.rkey),
					 0);
				vt_wc_is(t, 9, IBV_WC_LOC_PROT_ERR);
			}
			vt_reconnect(t, &o);
		}
		/* theirs is not mapped */
		for (int op = 0; op < 2; op++) {
			if (t->side == 0) {
				CHECK_EQ(post_sge(t, op ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
						  (uintptr_t)t->buf, len, t->mr->lkey, peer.addr,
						  peer.rkey),
					 0);
				vt_wc_is(t, 9, IBV_WC_REM_ACCESS_ERR);
			}
			vt_reconnect(t, &o);
		}
	}
	/* now it is */
	CHECK(mmap(p, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == p,
	      "mmap");
	vt_fill(p, 64 * PAGE, (uint32_t)t->side);
	vt_sync(t);
	for (int i = 0; i < 3 && t->side == 0; i++) {
		CHECK_EQ(post_sge(t, IBV_WR_RDMA_WRITE, (uintptr_t)p, lens[i], mr->lkey,
				  peer.addr + 32 * PAGE, peer.rkey),
			 0);
		vt_wc_is(t, 9, IBV_WC_SUCCESS);
		CHECK_EQ(post_sge(t, IBV_WR_RDMA_READ, (uintptr_t)p + 32 * PAGE, lens[i], mr->lkey,
				  peer.addr + 32 * PAGE, peer.rkey),
			 0);
		vt_wc_is(t, 9, IBV_WC_SUCCESS);
		CHECK(!memcmp(p, p + 32 * PAGE, lens[i]), "%u bytes came back wrong", lens[i]);
	}
	vt_sync(t);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(p, 64 * PAGE);
	vt_close(t);
}

static void odp_advice(struct vt *t)
{
	struct vt_opt o = {0};
	unsigned char there[4];
	struct ibv_sge sge;
	struct ibv_mr *mr, *ro;
	struct ibv_pd *other;
	uint8_t *p;

	vt_setup(t, &o);
	p = map_pages(8);
	mr = ibv_reg_mr(t->pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	CHECK(mr, "implicit region: %s", strerror(errno));
	ro = ibv_reg_mr(t->pd, p, 4 * PAGE, IBV_ACCESS_ON_DEMAND);
	other = ibv_alloc_pd(t->ctx);
	CHECK(ro && other, "%s", strerror(errno));
	sge = (struct ibv_sge){.addr = (uintptr_t)p, .length = 4 * PAGE, .lkey = mr->lkey};
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			       &sge, 1),
		 0);
	CHECK_EQ(mincore(p, 4 * PAGE, there), 0);
	for (int i = 0; i < 4; i++)
		CHECK(there[i] & 1, "page %d was not fetched", i);
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0);
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &sge, 1), 0);
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 2, &sge, 1), EINVAL);
	CHECK_EQ(ibv_advise_mr(other, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EPERM);
	sge.lkey = ro->lkey;
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1), EPERM);
	sge.length += 1;
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EFAULT);
	sge.lkey = t->mr->lkey;
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EINVAL);
	sge.lkey ^= 1;
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	munmap(p, 8 * PAGE);
	sge = (struct ibv_sge){.addr = (uintptr_t)p, .length = PAGE, .lkey = mr->lkey};
	CHECK_EQ(ibv_advise_mr(t->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge,
			       1),
		 EFAULT);
	CHECK_EQ(ibv_dereg_mr(ro), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(other), 0);
	vt_close(t);
}

/* ----------------------------------------------------------------------- null */

static bool all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* Read as zeros, drops written data; never by an R_Key. */
static void null_mr(struct vt *t)
{
	static const uint32_t lens[] = {1, 200, 5000, 60000};
	struct vt_opt o = {0};
	struct ibv_mr *mr;
	uint32_t keys[2];

	vt_setup(t, &o);
	mr = ibv_alloc_null_mr(t->pd);
	CHECK(mr, "alloc_null_mr: %s", strerror(errno));
	keys[0] = mr->lkey;
	vt_put(t, keys, sizeof(keys));
	vt_get(t, keys, sizeof(keys));
	for (int i = 0; i < 4; i++) {
		vt_fill(t->buf, t->len, 3);
		vt_sync(t);
		if (t->side == 0) {
			CHECK_EQ(post_sge(t, IBV_WR_RDMA_WRITE, 0x123456789a000ull, lens[i],
					  mr->lkey, t->peer.addr, t->peer.rkey),
				 0);
			vt_wc_is(t, 9, IBV_WC_SUCCESS);
			CHECK_EQ(post_sge(t, IBV_WR_RDMA_READ, 0x77, lens[i], mr->lkey,
					  t->peer.addr, t->peer.rkey),
				 0);
			vt_wc_is(t, 9, IBV_WC_SUCCESS);
		}
		vt_sync(t);
		if (t->side == 1) {
			struct ibv_sge sge = {.addr = 5, .length = lens[i], .lkey = mr->lkey};
			struct ibv_recv_wr wr = {.wr_id = 4, .sg_list = &sge, .num_sge = 1}, *bad;

			CHECK(all_zero(t->buf, lens[i]), "%u bytes: not all 0", lens[i]);
			CHECK(vt_differs(t->buf, t->len, 3) == 0, "nothing was written");
			CHECK_EQ(ibv_post_recv(t->qp, &wr, &bad), 0);
		}
		vt_sync(t);
		if (t->side == 0) {
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, lens[i], 8, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, 8, IBV_WC_SUCCESS);
		} else {
			struct ibv_wc wc = vt_wc_is(t, 4, IBV_WC_SUCCESS);

			CHECK_EQ(wc.byte_len, lens[i]);
		}
	}
	if (t->side == 0) {
		CHECK_EQ(post_sge(t, IBV_WR_RDMA_WRITE, (uintptr_t)t->buf, 8, t->mr->lkey, 0,
				  keys[0]),
			 0);
		vt_wc_is(t, 9, IBV_WC_REM_ACCESS_ERR);
	}
	vt_sync(t);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	vt_close(t);
}

/* -------------------------------------------------------------- device memory */

static void device_memory(struct vt *t)
{
	struct ibv_alloc_dm_attr attr = {.length = 4096, .log_align_req = 3};
	struct ibv_device_attr_ex dev;
	struct vt_opt o = {0};
	struct vt_addr peer;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t v = 40;

	vt_setup(t, &o);
	CHECK_EQ(ibv_query_device_ex(t->ctx, NULL, &dev), 0);
	CHECK(dev.max_dm_size >= attr.length, "max_dm_size");
	dm = ibv_alloc_dm(t->ctx, &attr);
	CHECK(dm, "alloc_dm: %s", strerror(errno));
	CHECK(!ibv_reg_dm_mr(t->pd, dm, 0, 64, ALL) && errno == EINVAL, "not zero based");
	CHECK(!ibv_reg_dm_mr(t->pd, dm, 4000, 100, ALL | IBV_ACCESS_ZERO_BASED) && errno == EINVAL,
	      "past the end");
	mr = ibv_reg_dm_mr(t->pd, dm, 64, 1024, ALL | IBV_ACCESS_ZERO_BASED);
	CHECK(mr, "reg_dm_mr: %s", strerror(errno));
	CHECK_EQ(ibv_free_dm(dm), EBUSY);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 64 + 8, &v, 8), 0);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 2, &v, 8), EINVAL);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 4092, &v, 8), EINVAL);
	swap_addr(t, NULL, mr->rkey, &peer);
	if (t->side == 0) {
		struct ibv_sge sge = {.addr = 16, .length = 8, .lkey = mr->lkey};
		struct ibv_send_wr wr = {.wr_id = 1,
					 .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .send_flags = IBV_SEND_SIGNALED};

		wr.wr.atomic.remote_addr = 8;
		wr.wr.atomic.rkey = peer.rkey;
		wr.wr.atomic.compare_add = 2;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 1, IBV_WC_SUCCESS);
		CHECK_EQ(ibv_memcpy_from_dm(&v, dm, 64 + 16, 8), 0);
		CHECK_EQ(v, 40);
	}
	vt_sync(t);
	if (t->side == 1) {
		CHECK_EQ(ibv_memcpy_from_dm(&v, dm, 64 + 8, 8), 0);
		CHECK_EQ(v, 42);
	}
	vt_sync(t);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	vt_close(t);
}

/* ---------------------------------------------------------------- descriptors */

/*
 * A region of a memfd; when the file shrinks below it, that is an error of the accessing operation.
 */
static void memfd_region(struct vt *t)
{
	struct vt_opt o = {0};
	struct vt_addr peer;
	struct ibv_mr *mr;
	uint8_t back[128];
	int fd, file;

	vt_setup(t, &o);
	fd = memfd_create("vt", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && file >= 0, "%s", strerror(errno));
	CHECK_EQ(ftruncate(fd, 4 * PAGE), 0);
	CHECK(!ibv_reg_dmabuf_mr(t->pd, 0, 64, 0, file, IBV_ACCESS_LOCAL_WRITE) && errno == EINVAL,
	      "a plain file is no dma-buf");
	CHECK(!ibv_reg_dmabuf_mr(t->pd, 4 * PAGE - 8, 64, 0, fd, ALL) && errno == EINVAL,
	      "past its end");
	mr = ibv_reg_dmabuf_mr(t->pd, PAGE + 100, 2 * PAGE, 0x10000, fd, ALL);
	CHECK(mr, "reg_dmabuf_mr: %s", strerror(errno));
	swap_addr(t, NULL, mr->rkey, &peer);
	vt_fill(t->buf, 128, 7);
	if (t->side == 0) {
		CHECK_EQ(post_sge(t, IBV_WR_RDMA_WRITE, (uintptr_t)t->buf, 128, t->mr->lkey,
				  0x10000 + 50, peer.rkey),
			 0);
		vt_wc_is(t, 9, IBV_WC_SUCCESS);
	}
	vt_sync(t);
	if (t->side == 1) {
		CHECK_EQ(pread(fd, back, 128, PAGE + 150), 128);
		CHECK(!memcmp(back, t->buf, 128), "not in the file");
		CHECK_EQ(ftruncate(fd, 0), 0);
	}
	vt_sync(t);
	if (t->side == 0) {
		CHECK_EQ(post_sge(t, IBV_WR_RDMA_WRITE, (uintptr_t)t->buf, 128, t->mr->lkey,
				  0x10000 + 50, peer.rkey),
			 0);
		vt_wc_is(t, 9, IBV_WC_REM_ACCESS_ERR);
	}
	vt_sync(t);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	close(file);
	close(fd);
	vt_close(t);
}

/* ------------------------------------------------------------- parent domains */

static int given, taken;

static void *give(struct ibv_pd *pd, void *arg, size_t size, size_t align, uint64_t type)
{
	void *p = NULL;

	(void)pd;
	(void)type;
	CHECK(arg == &given, "pd_context");
	CHECK_EQ(posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size), 0);
	memset(p, 0xee, size); /* an allocator that does not zero */
	given++;
	return p;
}

static void take(struct ibv_pd *pd, void *arg, void *p, uint64_t type)
{
	(void)pd;
	(void)arg;
	(void)type;
	taken++;
	free(p);
}

static void *refuse(struct ibv_pd *pd, void *arg, size_t size, size_t align, uint64_t type)
{
	(void)pd;
	(void)arg;
	(void)size;
	(void)align;
	(void)type;
	return NULL;
}

static struct ibv_pd *parent(struct vt *t, struct ibv_td *td, void *alloc)
{
	struct ibv_parent_domain_init_attr a = {
		.pd = t->pd,
		.td = td,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
			     (alloc ? IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS : 0),
		.alloc = alloc,
		.free = take,
		.pd_context = &given,
	};

	return ibv_alloc_parent_domain(t->ctx, &a);
}

static void parent_domain(struct vt *t)
{
	struct ibv_td_init_attr ta = {0};
	struct vt_opt o = {0};
	struct ibv_pd *pd, *plain;
	struct ibv_td *td;
	struct ibv_qp *qp;

	vt_open(t);
	td = ibv_alloc_td(t->ctx, &ta);
	CHECK(td, "alloc_td: %s", strerror(errno));
	pd = parent(t, td, give);
	CHECK(pd, "alloc_parent_domain: %s", strerror(errno));
	CHECK_EQ(ibv_dealloc_td(td), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(t->pd), EBUSY);
	plain = t->pd;
	t->pd = pd;
	t->cq = ibv_create_cq(t->ctx, 16, NULL, NULL, 0);
	qp = vt_qp_create(t, &o, t->cq);
	CHECK(given > 0, "the allocator was not asked");
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(given, taken);
	CHECK_EQ(ibv_destroy_cq(t->cq), 0);
	t->cq = NULL;
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
	t->pd = plain;
	pd = parent(t, NULL, refuse);
	CHECK(pd, "%s", strerror(errno));
	{
		struct ibv_srq_init_attr sa = {.attr = {.max_wr = 8, .max_sge = 1}};

		CHECK(!ibv_create_srq(pd, &sa) && errno == ENOMEM, "memory from nowhere");
	}
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	vt_close(t);
}

/* --------------------------------------------------------------------- import */

static void import(struct vt *t)
{
	struct ibv_context *again;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct vt_opt o = {0};
	int fd, status;
	pid_t pid;

	vt_setup(t, &o);
	fd = dup(t->ctx->cmd_fd);
	again = ibv_import_device(fd);
	CHECK(again, "import_device: %s", strerror(errno));
	pd = ibv_import_pd(again, t->pd->handle);
	CHECK(pd, "import_pd: %s", strerror(errno));
	CHECK(!ibv_import_pd(again, 0xfff0) && errno == ENOENT, "a PD from nowhere");
	mr = ibv_import_mr(pd, t->mr->handle);
	CHECK(mr && !mr->addr && mr->rkey == t->mr->rkey && mr->length == t->mr->length,
	      "import_mr: %s", strerror(errno));
	CHECK(!ibv_import_mr(pd, t->mr->handle ^ 1) && errno == ENOENT, "an MR from nowhere");
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	CHECK_EQ(ibv_close_device(again), 0);
	/* the imported objects are gone; the region still exists */
	vt_sync(t);
	CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 64, 32, 3, IBV_SEND_SIGNALED), 0);
	vt_wc_is(t, 3, IBV_WC_SUCCESS);
	vt_sync(t);
	/* of another open, although of the same device */
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	CHECK(!ibv_import_device(fd), "somebody else's descriptor was imported");
	close(fd);
	/* another process; not beside a thread that may hold the library's locks */
	if (!t->threads) {
		pid = fork();
		if (!pid) {
			again = ibv_import_device(dup(t->ctx->cmd_fd));
			_exit(again ? 1 : errno == EOPNOTSUPP ? 0 : 2);
		}
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "child");
		CHECK_EQ(WEXITSTATUS(status), 0);
	}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"odp_holes", odp_holes, VT_BOTH, 0},
	{"odp_advice", odp_advice, VT_BOTH, 0},
	{"null_mr", null_mr, VT_BOTH, 0},
	{"device_memory", device_memory, VT_BOTH, 0},
	{"memfd_region", memfd_region, VT_BOTH, 0},
	{"parent_domain", parent_domain, VT_PROCS, 0},
	{"import", import, VT_BOTH, 0},
};

VT_MAIN(cases)
