/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qmem.c - queue memory: pages of sealed memfds. Another process of the board or a GPU can map
 * them, and the kernel never takes them away while the device uses them. Not inherited by fork.
 *
 * The memory comes from a few arenas: sparse memfds, each mapped completely, each twice as large as
 * the one before. So a queue needs no descriptor and no mapping of its own (a process usually has
 * 1,024 descriptors and 65,530 mappings), and uses memory only where it was written. A freed block
 * becomes a hole: the kernel gets its pages back, and the next user finds zeros.
 *
 * No code may read an arena from end to end, because that fills its holes. So arenas are not in
 * core files, and if the process locks its memory (MCL_FUTURE) a page is locked at its first use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/sys.h"
#include "util/buddy.h"
#include "ctx/hw.h"
#include "ctx/qmem.h"

#define LOG_SMALL 15u /* the smallest block; small queues of the driver share blocks of 64 KiB */
#define LOG_FIRST 22u /* size of the first arena */
#define LOG_LAST  (sizeof(void *) == 8 ? 36u : 28u)

/*
 * An arena. Its memfd stays open, because another process of the board can map a queue only by it.
 * Under hw->qmem_lock.
 */
struct dpa_qmem {
	uint8_t *mem;
	uint32_t log_bytes;
	int fd;
	dev_t dev; /* device of fd, and ino: the application may have closed fd (closefrom) */
	ino_t ino;
	bool locked; /* locked by MCL_FUTURE, page by page at first use */
	struct dpa_buddy blocks;
	struct dpa_qmem *next;
};

/*
 * No two blocks share a page, because freeing one would clear a part of the other. Pages of arm64
 * may have 64 KiB.
 */
static uint32_t log_block(void)
{
	uint32_t log_page = (uint32_t)__builtin_ctz((unsigned)getpagesize());

	return log_page > LOG_SMALL ? log_page : LOG_SMALL;
}

static size_t arena_bytes(const struct dpa_qmem *a)
{
	return (size_t)1 << a->log_bytes;
}

/* 0 or errno. Writing past the file size limit would raise SIGXFSZ. */
static int make_queue_file(struct dpa_qmem *a)
{
	struct rlimit lim;
	struct stat st;

	if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur < arena_bytes(a))
		return EFBIG;
	a->fd = memfd_create("dpa-queue", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (a->fd < 0)
		return errno;
	if (fstat(a->fd, &st) || ftruncate(a->fd, (off_t)arena_bytes(a)) ||
	    fcntl(a->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return errno;
	a->dev = st.st_dev;
	a->ino = st.st_ino;
	return 0;
}

static void close_qmem_file(struct dpa_qmem *a)
{
	struct stat st;

	if (a->fd >= 0 && fstat(a->fd, &st) == 0 && st.st_ino == a->ino && st.st_dev == a->dev)
		close(a->fd);
}

/*
 * 0 or errno. Not accessible at first: otherwise the kernel would fill the holes with MCL_FUTURE.
 * The kernel refuses MADV_DONTNEED for locked memory.
 */
static int map_queue_file(struct dpa_qmem *a)
{
	const size_t n = arena_bytes(a);
	int err;

	a->mem = mmap(NULL, n, PROT_NONE, MAP_SHARED, a->fd, 0);
	if (a->mem == MAP_FAILED)
		return errno;
	a->locked = dpa_sys_madvise(a->mem, n, MADV_DONTNEED) && errno == EINVAL;
	if ((a->locked && mlock2(a->mem, n, MLOCK_ONFAULT)) ||
	    mprotect(a->mem, n, PROT_READ | PROT_WRITE)) {
		err = errno;
		munmap(a->mem, n);
		return err;
	}
	dpa_sys_madvise(a->mem, n, MADV_DONTFORK);
	dpa_sys_madvise(a->mem, n, MADV_DONTDUMP);
	return 0;
}

static int arena_new(uint32_t log_bytes, struct dpa_qmem **arena)
{
	struct dpa_qmem *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return ENOMEM;
	a->log_bytes = log_bytes;
	a->fd = -1;
	err = dpa_buddy_init(&a->blocks, log_bytes - log_block());
	if (err)
		goto err_blocks;
	err = make_queue_file(a);
	if (!err)
		err = map_queue_file(a);
	if (err)
		goto err_file;
	*arena = a;
	return 0;

err_file:
	if (a->fd >= 0)
		close(a->fd);
	dpa_buddy_fini(&a->blocks);
err_blocks:
	free(a);
	return err;
}

static void arena_free(struct dpa_qmem *a)
{
	munmap(a->mem, arena_bytes(a));
	close_qmem_file(a);
	dpa_buddy_fini(&a->blocks);
	free(a);
}

/* Makes an arena with room for such a block; a smaller one if a limit of the process is near. */
static int grow_area(struct dpa_hw *hw, uint32_t log_piece)
{
	uint32_t log = LOG_FIRST;
	struct dpa_qmem *a;
	int err;

	for (a = hw->qmem; a; a = a->next)
		if (a->log_bytes >= log)
			log = a->log_bytes + 1;
	if (log > LOG_LAST)
		log = LOG_LAST;
	if (log < log_piece)
		log = log_piece;
	do
		err = arena_new(log, &a);
	while ((err == EFBIG || err == ENOMEM || err == EAGAIN) && log-- > log_piece);
	if (err) {
		dpa_log(hw, DPA_LOG_ERR, "no queue memory of %llu bytes: %s", 1ull << log_piece,
			err == EFBIG ? "more than a file may have (ulimit -f)" : strerror(err));
		return err == EFBIG ? ENOMEM : err;
	}
	a->next = hw->qmem;
	hw->qmem = a;
	return 0;
}

static void *take_qmem_block(struct dpa_hw *hw, uint32_t order)
{
	for (struct dpa_qmem *a = hw->qmem; a; a = a->next) {
		uint32_t block = dpa_buddy_take(&a->blocks, order);

		if (block != DPA_BUDDY_NONE)
			return a->mem + ((size_t)block << log_block());
	}
	return NULL;
}

int dpa_hw_alloc_queue(struct dpa_hw_ctx *ctx, size_t bytes, void **mem)
{
	struct dpa_hw *hw = ctx->hw;
	uint32_t order = 0, log = log_block();
	int err = 0;

	while (((size_t)1 << (log + order)) < bytes)
		if (log + ++order > LOG_LAST)
			return ENOMEM;
	/* A forked child would keep a descriptor that is not in the list. */
	pthread_mutex_lock(&hw->qmem_lock);
	*mem = take_qmem_block(hw, order);
	if (!*mem)
		err = grow_area(hw, log + order);
	if (!*mem && !err)
		*mem = take_qmem_block(hw, order);
	pthread_mutex_unlock(&hw->qmem_lock);
	return err;
}

/* By address, because the application may have closed the descriptor and reused its number. */
static void give_pages_back(const struct dpa_qmem *a, void *mem, size_t bytes)
{
	if (dpa_sys_madvise(mem, bytes, MADV_REMOVE) == 0)
		return;
	if (a->locked && munlock(mem, bytes) == 0 &&
	    dpa_sys_madvise(mem, bytes, MADV_REMOVE) == 0) {
		mlock2(mem, bytes, MLOCK_ONFAULT);
		return;
	}
	memset(mem, 0, bytes); /* locked by the application: the pages stay, the contents do not */
}

void dpa_hw_free_queue(struct dpa_hw_ctx *ctx, void *mem, size_t bytes)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_qmem **p, *a;
	uint32_t order, log = log_block();

	if (!dpa_lives(hw))
		/*
		 * a child of a raw clone(): the arena is its parent's, and the address may hold
		 * other memory
		 */
		return;
	pthread_mutex_lock(&hw->qmem_lock);
	for (p = &hw->qmem; (a = *p); p = &a->next)
		if ((uint8_t *)mem >= a->mem && (uint8_t *)mem < a->mem + arena_bytes(a))
			break;
	if (!a)
		goto out; /* a forked child: the arena is its parent's */
	order = dpa_buddy_give(&a->blocks, (uint32_t)(((uint8_t *)mem - a->mem) >> log));
	if (!a->blocks.taken) {
		*p = a->next;
		arena_free(a);
	} else if (order != DPA_BUDDY_NONE) {
		give_pages_back(a, mem, (size_t)1 << (log + order));
	}
out:
	pthread_mutex_unlock(&hw->qmem_lock);
}

/* In a forked child. fork() ran while the list was consistent. */
void dpa_qmem_abandon(struct dpa_hw *hw)
{
	for (struct dpa_qmem *a = hw->qmem; a; a = a->next)
		close_qmem_file(a);
	hw->qmem = NULL;
}
