/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dma [COUNT] - a copy of a doca_dma compared with memcpy() and with the hand-over of a cache
 * line between two processors, in turns: within a process, and from and to memory that another
 * process exported for the other side of the PCI bus. Prints one row each: ns of a copy, and the
 * ratio. If that memory is not shared (share_mr) its copies are as fast as process_vm_readv(),
 * never faster.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dma.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include "doca_open.h"
#include "sort.h"
#include "timing.h"

enum { BYTES = 1 << 20, SMALL = 64, ROUNDS = 9 };

struct lines { /* for the hand-over: each written by one process, read by the other */
	_Alignas(128) _Atomic uint32_t ping;
	_Alignas(128) _Atomic uint32_t pong;
};

struct rig {
	struct vt t;
	struct lines *lines;
	struct doca_dev *dev;
	uint8_t *mem; /* two halves of BYTES */
	struct doca_mmap *map, *far;
	struct doca_buf_inventory *inventory;
	struct doca_pe *pe;
	struct doca_dma *dma;
	/* mem, its second half, memory of the other process */
	struct doca_buf *here, *there, *other;
	bool ended;
};

static void on_end(struct doca_dma_task_memcpy *task, union doca_data own, union doca_data ctx)
{
	CHECK_EQ(doca_task_get_status(doca_dma_task_memcpy_as_task(task)), DOCA_SUCCESS);
	((struct rig *)ctx.ptr)->ended = true;
}

static void open_device(struct rig *r)
{
	struct doca_devinfo **list;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !r->dev; i++)
		if (!doca_dma_cap_task_memcpy_is_supported(list[i]))
			OK(doca_dev_open(list[i], &r->dev));
	OK(doca_devinfo_destroy_list(list));
	CHECK(r->dev, "no device");
}

static void make_map(struct rig *r)
{
	r->mem = aligned_alloc(4096, 2 * BYTES);
	CHECK(r->mem, "no memory");
	memset(r->mem, 1, 2 * BYTES);
	OK(doca_mmap_create(&r->map));
	OK(doca_mmap_set_permissions(r->map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						     DOCA_ACCESS_FLAG_PCI_READ_WRITE));
	OK(doca_mmap_set_memrange(r->map, r->mem, 2 * BYTES));
	OK(doca_mmap_add_dev(r->map, r->dev));
	OK(doca_mmap_start(r->map));
}

/* Exchange the export with the other process, which is side 1. */
static void meet(struct rig *r)
{
	const void *desc;
	char copy[1024];
	size_t size;

	if (r->t.side) {
		OK(doca_mmap_export_pci(r->map, r->dev, &desc, &size));
		vt_put(&r->t, &size, sizeof(size));
		vt_put(&r->t, desc, size);
		return;
	}
	vt_get(&r->t, &size, sizeof(size));
	CHECK(size <= sizeof(copy), "an export of %zu bytes", size);
	vt_get(&r->t, copy, size);
	OK(doca_mmap_create_from_export(NULL, copy, size, r->dev, &r->far));
}

static void make_dma(struct rig *r)
{
	struct doca_ctx *ctx;
	uint8_t *far;
	size_t len;

	OK(doca_buf_inventory_create(3, &r->inventory));
	OK(doca_buf_inventory_start(r->inventory));
	OK(doca_pe_create(&r->pe));
	OK(doca_dma_create(r->dev, &r->dma));
	ctx = doca_dma_as_ctx(r->dma);
	OK(doca_ctx_set_user_data(ctx, (union doca_data){.ptr = r}));
	OK(doca_dma_task_memcpy_set_conf(r->dma, on_end, on_end, 1));
	OK(doca_pe_connect_ctx(r->pe, ctx));
	OK(doca_ctx_start(ctx));
	OK(doca_mmap_get_memrange(r->far, (void **)&far, &len));
	OK(doca_buf_inventory_buf_get_by_addr(r->inventory, r->map, r->mem, BYTES, &r->here));
	OK(doca_buf_inventory_buf_get_by_addr(r->inventory, r->map, r->mem + BYTES, BYTES,
					      &r->there));
	OK(doca_buf_inventory_buf_get_by_addr(r->inventory, r->far, far, BYTES, &r->other));
}

/* Return the ns of a copy. */
static double copies(struct rig *r, struct doca_buf *to, struct doca_buf *from, size_t n, int count)
{
	struct doca_dma_task_memcpy *task;
	uint64_t start = 0;
	void *head;

	OK(doca_buf_get_head(from, &head));
	OK(doca_buf_set_data(from, head, n));
	OK(doca_dma_task_memcpy_alloc_init(r->dma, from, to, (union doca_data){.u64 = 0}, &task));
	for (int i = -1; i < count; i++) { /* the first one may connect */
		OK(doca_buf_reset_data_len(to));
		r->ended = false;
		OK(doca_task_submit(doca_dma_task_memcpy_as_task(task)));
		while (!r->ended)
			doca_pe_progress(r->pe);
		if (i < 0)
			start = bench_now_ns();
	}
	start = bench_now_ns() - start;
	doca_task_free(doca_dma_task_memcpy_as_task(task));
	return (double)start / count;
}

static double memcpys(struct rig *r, int count)
{
	uint64_t start = bench_now_ns();

	for (int i = 0; i < count; i++) {
		memcpy(r->mem + BYTES, r->mem, BYTES);
		atomic_signal_fence(memory_order_seq_cst);
	}
	return (double)(bench_now_ns() - start) / count;
}

static void answer_hand_overs(struct lines *l)
{
	uint32_t n = 0;

	do {
		while (atomic_load_explicit(&l->ping, memory_order_acquire) == n)
			;
		n = atomic_load_explicit(&l->ping, memory_order_acquire);
		atomic_store_explicit(&l->pong, n, memory_order_release);
	} while (n != UINT32_MAX);
}

/* Return the ns of one direction. The other process answers until `end`. */
static double hand_overs(struct lines *l, int count)
{
	uint32_t n = atomic_load_explicit(&l->ping, memory_order_relaxed);
	uint64_t start = bench_now_ns();

	for (int i = 0; i < count; i++) {
		atomic_store_explicit(&l->ping, ++n, memory_order_release);
		while (atomic_load_explicit(&l->pong, memory_order_acquire) != n)
			;
	}
	return (double)(bench_now_ns() - start) / count / 2;
}

static void rows(struct rig *r, int count, double hand_over)
{
	const struct {
		const char *name;
		struct doca_buf *to, *from;
	} ways[] = {{"within the process", r->there, r->here},
		    {"from another process", r->here, r->other},
		    {"to another process", r->other, r->here}};
	double large[ROUNDS], small[ROUNDS], plain[ROUNDS], a, b;

	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < ROUNDS; i++) {
			plain[i] = memcpys(r, count);
			large[i] = copies(r, ways[k].to, ways[k].from, BYTES, count);
			small[i] = copies(r, ways[k].to, ways[k].from, SMALL, 20 * count);
		}
		a = bench_median(plain, ROUNDS);
		b = bench_median(large, ROUNDS);
		printf("%-21s 1 MiB %8.0f ns, memcpy %8.0f ns: %4.2f of its rate", ways[k].name, b,
		       a, a / b);
		b = bench_median(small, ROUNDS);
		printf("   64 B %6.0f ns: %5.1f hand-overs of %.0f ns\n", b, b / hand_over,
		       hand_over);
	}
}

static void one_side(struct rig *r, int count)
{
	double v[ROUNDS];

	bench_pin(0, r->t.side);
	if (r->t.side)
		answer_hand_overs(r->lines);
	for (int i = 0; i < ROUNDS && !r->t.side; i++)
		v[i] = hand_overs(r->lines, 20000);
	if (!r->t.side)
		atomic_store(&r->lines->ping, UINT32_MAX);
	open_device(r);
	make_map(r);
	meet(r);
	if (!r->t.side) {
		make_dma(r);
		rows(r, count, bench_median(v, ROUNDS));
	}
	vt_sync(&r->t); /* the exporter's memory must exist until now */
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 200, sv[2], status = 0;
	struct rig r = {.t = {.side = 0}};
	pid_t pid;

	r.lines = mmap(NULL, sizeof(*r.lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (argc > 2 || count <= 0 || r.lines == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv)) {
		fprintf(stderr, "usage: doca_dma [COUNT]\n");
		return 2;
	}
	pid = fork();
	r.t.side = pid == 0;
	close(sv[r.t.side]);
	r.t.sock = sv[!r.t.side];
	one_side(&r, count);
	if (r.t.side)
		_exit(0);
	waitpid(pid, &status, 0);
	return status ? 1 : 0;
}
