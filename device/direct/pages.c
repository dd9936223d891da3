/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pages.c - moves pages into a memfd and back. Nothing here allocates memory or keeps state,
 * because the pages may be part of the heap. Between the copy of a page and its exchange this
 * thread may store only on its stack. Pages that were never touched stay untouched: only present
 * pages are copied; the rest are holes of the memfd, which read as zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "util/sys.h"
#include "pages.h"
#include "direct/raw.h"

#define CHUNK 512u /* pages copied in one step: 2 MiB */

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

bool dpa_vma_is_of(const struct dpa_pages *p, const struct dpa_vma *v)
{
	return v->inode == p->inode && v->dev_major == p->dev_major && v->dev_minor == p->dev_minor;
}

/* ------------------------------------------------------------------ sharing */

/*
 * back_placed() needs this advice. An emulator (qemu-user) accepts it and does nothing: checks that
 * it works.
 */
static bool can_populate(void)
{
	void *page =
		mmap(NULL, DPA_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char there = 0;
	bool can = page != MAP_FAILED && !madvise(page, DPA_PAGE, MADV_POPULATE_WRITE) &&
		   !mincore(page, DPA_PAGE, &there) && there & 1;

	if (page != MAP_FAILED)
		munmap(page, DPA_PAGE);
	return can;
}

/* A write past the limit fails, and raises a signal. The program may lower it at any time. */
bool dpa_pages_in_limit(uint64_t size)
{
	uint64_t limit[2];

	return !syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) && limit[0] >= size;
}

int dpa_pages_open(struct dpa_pages *p, uint64_t size)
{
	struct stat st;
	int err;

	p->fd = -1;
	if (!dpa_pages_in_limit(size) || sysconf(_SC_PAGESIZE) != (long)DPA_PAGE || !can_populate())
		return EOPNOTSUPP;
	p->fd = memfd_create("dpa-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->fd < 0)
		return errno;
	if (ftruncate(p->fd, (off_t)size) ||
	    fcntl(p->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
	    fstat(p->fd, &st)) {
		err = errno;
		close(p->fd);
		p->fd = -1;
		return err;
	}
	p->inode = st.st_ino;
	p->dev_major = major(st.st_dev);
	p->dev_minor = minor(st.st_dev);
	return 0;
}

bool dpa_pages_have_fd(const struct dpa_pages *p)
{
	struct stat st;

	return p->fd >= 0 && !fstat(p->fd, &st) && st.st_ino == p->inode &&
	       major(st.st_dev) == p->dev_major && minor(st.st_dev) == p->dev_minor;
}

/* Moves n bytes between memory and a file; out: from memory to the file. 0 or errno. */
static int move_all(int fd, uint64_t mem, uint64_t n, uint64_t off, bool out)
{
	while (n) {
		void *p = (void *)(uintptr_t)mem;
		ssize_t got = out ? pwrite(fd, p, n, (off_t)off) : pread(fd, p, n, (off_t)off);

		if (got <= 0 && errno != EINTR)
			return got ? errno : EIO;
		if (got > 0) {
			mem += (uint64_t)got;
			off += (uint64_t)got;
			n -= (uint64_t)got;
		}
	}
	return 0;
}

/* True if present or swapped out: <linux/Documentation/admin-guide/mm/pagemap.rst>. */
static bool is_page_there(uint64_t entry)
{
	return entry >> 62;
}

/* Those of a chunk, from and to: the next ones that are there. */
static bool next_present(const uint64_t *entry, uint64_t n, uint64_t *from, uint64_t *to)
{
	uint64_t i = *to;

	while (i < n && !is_page_there(entry[i]))
		i++;
	*from = i;
	while (i < n && is_page_there(entry[i]))
		i++;
	*to = i;
	return *from < n;
}

/* A chunk of memory and its place in the memfd. */
struct chunk {
	uint64_t mem, off, n; /* n: pages */
	uint64_t entry[CHUNK];
};

static int read_entries(int pagemap, struct chunk *c)
{
	ssize_t bytes = (ssize_t)(c->n * sizeof(c->entry[0]));

	return pread(pagemap, c->entry, (size_t)bytes,
		     (off_t)(c->mem / DPA_PAGE * sizeof(c->entry[0]))) == bytes
		       ? 0
		       : EIO;
}

/* Copies the present pages of the chunk to the memfd. */
static int copy_present(int fd, const struct chunk *c)
{
	uint64_t from, to = 0;
	int err = 0;

	while (!err && next_present(c->entry, c->n, &from, &to))
		err = move_all(fd, c->mem + from * DPA_PAGE, (to - from) * DPA_PAGE,
			       c->off + from * DPA_PAGE, true);
	return err;
}

/* In this process's tables as well, by as few faults as can be: a hint. */
static void map_present(const struct chunk *c)
{
	uint64_t from, to = 0;

	while (next_present(c->entry, c->n, &from, &to))
		dpa_sys_madvise((void *)(uintptr_t)(c->mem + from * DPA_PAGE),
				(to - from) * DPA_PAGE, MADV_POPULATE_READ);
}

static int put_back(uint64_t at, uint64_t n, int prot, int fd, uint64_t off)
{
	return dpa_raw_mmap((void *)(uintptr_t)at, n, prot, MAP_SHARED | MAP_FIXED, fd,
			    (off_t)off) == MAP_FAILED
		       ? errno
		       : 0;
}

static void punch_hole(int fd, uint64_t off, uint64_t n)
{
	/* if it fails the memory stays in use until the device is closed */
	(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)n);
}

static bool has_pending(int sig)
{
	sigset_t set;

	return sigpending(&set) || sigismember(&set, sig);
}

/* The limit was lowered since dpa_pages_in_limit(): the caller blocks the signal of the write. */
static void take_pending(int sig)
{
	const uint64_t set = 1ull << (sig - 1); /* as the kernel's */

	(void)!syscall(SYS_rt_sigtimedwait, &set, NULL, &(struct timespec){0}, sizeof(set));
}

int dpa_pages_share(const struct dpa_pages *p, uint64_t start, uint64_t end, uint64_t off)
{
	int pagemap = dpa_raw_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), err = 0;
	uint64_t done = 0, length = end - start;
	bool had = has_pending(SIGXFSZ);
	struct chunk c;

	if (pagemap < 0)
		return errno;
	if (!dpa_pages_have_fd(p))
		err = EBADF;
	while (done < length && !err) {
		c.mem = start + done;
		c.off = off + done;
		c.n = (length - done) / DPA_PAGE < CHUNK ? (length - done) / DPA_PAGE : CHUNK;
		err = read_entries(pagemap, &c);
		if (!err)
			err = copy_present(p->fd, &c);
		/* MAP_FIXED replaces the old mapping in one step. */
		if (!err)
			err = put_back(c.mem, c.n * DPA_PAGE, PROT_READ | PROT_WRITE, p->fd, c.off);
		if (!err) {
			map_present(&c);
			done += c.n * DPA_PAGE;
		}
	}
	dpa_sys_close(pagemap);
	if (!err)
		return 0;
	if (err == EFBIG && !had)
		take_pending(SIGXFSZ);
	if (done)
		dpa_pages_unshare(p, start, off, done, done, DPA_BACK_COPIED);
	punch_hole(p->fd, off, length);
	return err;
}

/* ------------------------------------------------------------------ and back */

/* Finds the next part of [*off, end) that has pages, CHUNK at most. */
static bool next_data(int fd, uint64_t *off, uint64_t end, uint64_t *n)
{
	off_t from = lseek(fd, (off_t)*off, SEEK_DATA), to;

	if (from < 0 || (uint64_t)from >= end)
		return false;
	to = lseek(fd, from, SEEK_HOLE);
	if (to < 0 || (uint64_t)to > end)
		to = (off_t)end;
	*off = (uint64_t)from;
	*n = (uint64_t)(to - from) < CHUNK * DPA_PAGE ? (uint64_t)(to - from) : CHUNK * DPA_PAGE;
	return true;
}

/*
 * Makes private anonymous memory at the same place, with the same bytes. keep: the memfd keeps them.
 */
static int back_copied(const struct dpa_pages *p, const struct dpa_vma *v, bool keep)
{
	uint64_t len = v->end - v->start, off = v->offset, end = v->offset + len, n;
	int err = 0;

	if (dpa_raw_mmap((void *)(uintptr_t)v->start, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		err = errno; /* older kernels have unmapped it by then */
		put_back(v->start, len, v->prot, p->fd, v->offset);
		return err;
	}
	for (; !err && next_data(p->fd, &off, end, &n); off += n) {
		/* Allocates all its pages at once; otherwise the copy faults for each: a hint. */
		dpa_sys_madvise((void *)(uintptr_t)(v->start + (off - v->offset)), n,
				MADV_POPULATE_WRITE);
		err = move_all(p->fd, v->start + (off - v->offset), n, off, false);
		if (err)
			break;
		if (!keep)
			punch_hole(p->fd, off, n);
	}
	if (err) { /* this part and the rest are unchanged */
		put_back(v->start + (off - v->offset), end - off, v->prot, p->fd, off);
		return err;
	}
	if (v->prot != (PROT_READ | PROT_WRITE) &&
	    dpa_raw_mprotect((void *)(uintptr_t)v->start, len, v->prot))
		return errno;
	return 0;
}

/*
 * Puts a private mapping of the memfd in its place. Stores of other threads meanwhile go to the
 * page that is copied, or to the copy. Then each page gets its copy. The memfd's own pages are
 * removed, so that memory that the application gives back (MADV_DONTNEED) reads as zeros again.
 */
static int back_placed(const struct dpa_pages *p, const struct dpa_vma *v)
{
	uint64_t len = v->end - v->start, off = v->offset, end = v->offset + len, n;
	void *at = (void *)(uintptr_t)v->start, *private;

	/* Mapped elsewhere first: so every step that can fail fails there. */
	private = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, p->fd, (off_t)off);
	if (private == MAP_FAILED)
		return errno;
	if (dpa_raw_mremap(private, len, at) != at) {
		int err = errno;

		munmap(private, len);
		return err;
	}
	for (; next_data(p->fd, &off, end, &n); off += n) {
		if (dpa_sys_madvise((void *)(uintptr_t)(v->start + (off - v->offset)), n,
				    MADV_POPULATE_WRITE)) {
			int err = errno;

			put_back(v->start + (off - v->offset), end - off, v->prot, p->fd, off);
			return err;
		}
		punch_hole(p->fd, off, n);
	}
	if (v->prot != (PROT_READ | PROT_WRITE) && dpa_raw_mprotect(at, len, v->prot))
		return errno;
	return 0;
}

static int back_vma(const struct dpa_pages *p, const struct dpa_vma *v, enum dpa_back how)
{
	if (how == DPA_BACK_PLACED)
		return back_placed(p, v);
	return back_copied(p, v, how == DPA_BACK_CHILD);
}

/* True if all of it is where it was put, in one mapping: the usual case, found by one call. */
static bool vma_in_place(const struct dpa_pages *p, uint64_t at, uint64_t off, uint64_t length,
			 struct dpa_vma *v)
{
	struct dpa_maps m;
	bool found = dpa_maps_open(&m);

	if (!found)
		return false;
	found = !dpa_maps_query(&m, at, v);
	dpa_maps_close(&m);
	return found && v->shared && dpa_vma_is_of(p, v) && v->start == at && v->offset == off &&
	       v->end - v->start == length;
}

int dpa_pages_unshare(const struct dpa_pages *p, uint64_t at, uint64_t off, uint64_t length,
		      uint64_t room, enum dpa_back how)
{
	struct dpa_vma v;
	struct dpa_maps m;
	int err = 0, ret;

	if (!dpa_pages_have_fd(p))
		return EBADF;
	if (vma_in_place(p, at, off, length, &v))
		return back_vma(p, &v, how);
	if (!dpa_maps_open(&m))
		return errno;
	while (dpa_maps_next(&m, &v)) {
		/* A mapping of two areas is not ours: areas are too far from each other. */
		if (!v.shared || !dpa_vma_is_of(p, &v) || v.offset < off || v.offset >= off + room)
			continue;
		ret = back_vma(p, &v, how);
		err = err ? err : ret;
	}
	dpa_maps_close(&m);
	if (!err && how != DPA_BACK_CHILD) /* pages that the application unmapped */
		punch_hole(p->fd, off, room);
	return err;
}

/* ------------------------------------------------- what the program does to it */

/* The next mapping of ours in [*addr, end), cut to it; *addr moves behind it. */
static bool next_of_ours(const struct dpa_pages *p, struct dpa_maps *m, uint64_t *addr,
			 uint64_t end, struct dpa_vma *v)
{
	while (*addr < end && dpa_maps_at(m, *addr, v) && v->start < end) {
		uint64_t from = *addr > v->start ? *addr : v->start;

		*addr = v->end;
		if (!dpa_vma_is_of(p, v))
			continue;
		v->offset += from - v->start;
		v->start = from;
		v->end = v->end < end ? v->end : end;
		return true;
	}
	return false;
}

/*
 * The file's pages go, wherever they are mapped. A private mapping (back_placed()) has copies of
 * its own, which go by the caller's MADV_DONTNEED: behind this the file has nothing for it.
 */
static bool empty_vma(const struct dpa_pages *p, const struct dpa_vma *v)
{
	const uint64_t n = v->end - v->start;
	int ret = -1;

	if (dpa_pages_have_fd(p))
		do
			ret = fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					(off_t)v->offset, (off_t)n);
		while (ret && errno == EINTR);
	return !ret || !dpa_sys_madvise((void *)(uintptr_t)v->start, n, MADV_REMOVE);
}

int dpa_pages_empty(const struct dpa_pages *p, uint64_t addr, uint64_t length)
{
	uint64_t end = addr + length < addr ? UINT64_MAX : addr + length;
	bool found = false, done = true;
	struct dpa_maps m;
	struct dpa_vma v;

	if (!dpa_maps_open(&m))
		return EAGAIN;
	while (done && next_of_ours(p, &m, &addr, end, &v)) {
		found = true;
		done = empty_vma(p, &v);
	}
	dpa_maps_close(&m);
	return !done ? EAGAIN : found ? DPA_PAGES_EMPTIED : 0;
}

bool dpa_pages_empty_behind(const struct dpa_pages *p, uint64_t end, uint64_t n)
{
	struct dpa_maps m;
	struct dpa_vma v;
	bool found, done;

	if (!n)
		return true;
	if (!dpa_maps_open(&m))
		return false;
	found = dpa_maps_at(&m, end - DPA_PAGE, &v) && dpa_vma_is_of(p, &v);
	dpa_maps_close(&m);
	if (!found)
		return true; /* private already */
	done = dpa_pages_have_fd(p) && v.end == end &&
	       !fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)(v.offset + (v.end - v.start)), (off_t)n);
	return done;
}

bool dpa_pages_in_place(const struct dpa_pages *p, uint64_t start, uint64_t end, uint64_t off)
{
	bool there = true;
	struct dpa_maps m;
	struct dpa_vma v;

	if (!dpa_maps_open(&m))
		return false;
	for (uint64_t at = start; there && at < end; at = v.end)
		there = dpa_maps_at(&m, at, &v) && v.start <= at && v.shared &&
			dpa_vma_is_of(p, &v) && v.offset + (at - v.start) == off + (at - start);
	dpa_maps_close(&m);
	return there;
}

bool dpa_pages_any(const struct dpa_pages *p, uint64_t addr, uint64_t length)
{
	uint64_t end = addr + length < addr ? UINT64_MAX : addr + length;
	struct dpa_maps m;
	struct dpa_vma v;
	bool found;

	if (!dpa_maps_open(&m))
		return true;
	found = next_of_ours(p, &m, &addr, end, &v);
	dpa_maps_close(&m);
	return found;
}
