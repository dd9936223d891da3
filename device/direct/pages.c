/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pages.c - moves pages into a memfd and back. Nothing here allocates memory or keeps state,
 * because the pages may be part of the heap. Between the copy of a page and its exchange this
 * thread may store only on its stack. Pages that were never touched stay untouched: only present
 * pages are copied; the rest are holes of the memfd, which read as zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "ctx/range.h"
#include "pages.h"

#define CHUNK 512u /* pages copied in one step: 2 MiB */

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* ----------------------------------------------------------------- mappings */

struct maps {
	int fd;
	size_t n, at;
	char buf[8192];
};

/* Returns the next line without its newline; NULL: no more. Long lines are cut. */
static char *next_line(struct maps *m)
{
	for (;;) {
		char *line = m->buf + m->at, *end = memchr(line, '\n', m->n - m->at);
		ssize_t got;

		if (end) {
			*end = 0;
			m->at = (size_t)(end - m->buf) + 1;
			return line;
		}
		memmove(m->buf, line, m->n - m->at);
		m->n -= m->at;
		m->at = 0;
		if (m->n == sizeof(m->buf))
			return NULL;
		got = read(m->fd, m->buf + m->n, sizeof(m->buf) - m->n);
		if (got <= 0)
			return NULL;
		m->n += (size_t)got;
	}
}

static bool next_vma(struct maps *m, struct dpa_vma *v)
{
	char *line = next_line(m), *p = line;

	if (!line)
		return false;
	memset(v, 0, sizeof(*v));
	v->start = strtoull(p, &p, 16);
	v->end = strtoull(p + 1, &p, 16);
	v->prot = (p[1] == 'r' ? PROT_READ : 0) | (p[2] == 'w' ? PROT_WRITE : 0) |
		  (p[3] == 'x' ? PROT_EXEC : 0);
	v->shared = p[4] == 's';
	v->offset = strtoull(p + 5, &p, 16);
	v->dev_major = (uint32_t)strtoul(p, &p, 16);
	v->dev_minor = (uint32_t)strtoul(p + 1, &p, 16);
	v->inode = strtoull(p, &p, 10);
	p += strspn(p, " ");
	snprintf(v->name, sizeof(v->name), "%s", p);
	return true;
}

static bool open_maps(struct maps *m)
{
	m->fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	m->n = m->at = 0;
	return m->fd >= 0;
}

static bool is_ours(const struct dpa_pages *p, const struct dpa_vma *v)
{
	return v->inode == p->inode && v->dev_major == p->dev_major && v->dev_minor == p->dev_minor;
}

/*
 * True if a device or the kernel may hold pages of the mapping without a count in VmPin or VmLck.
 */
static bool may_hold(const char *name)
{
	static const char *const of[] = {"/[aio]",	     "anon_inode:[io_uring]",
					 "socket:",	     "/dev/nvidia",
					 "/dev/kfd",	     "/dev/dri/",
					 "/dev/video",	     "/dev/vfio/",
					 "/dev/infiniband/", "/dev/mem",
					 "/dev/uio"};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (!strncmp(name, of[i], strlen(of[i])))
			return true;
	return false;
}

/*
 * Files of drivers that pin pages of a process that has them open, mapped or not. VmPin is 0 then.
 */
static bool may_pin(const char *name)
{
	static const char *const of[] = {"/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/vfio/",
					 "/dev/accel/"};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (!strncmp(name, of[i], strlen(of[i])))
			return true;
	return false;
}

static enum dpa_share_why judge_vma(const struct dpa_pages *p, const struct dpa_vma *v)
{
	if (!strcmp(v->name, "[stack]"))
		return DPA_SHARE_STACK;
	if (v->shared || v->prot != (PROT_READ | PROT_WRITE))
		return DPA_SHARE_NOT_ANON;
	/* what DPA_BACK_PLACED left is usable as well */
	if (v->inode && !is_ours(p, v))
		return DPA_SHARE_NOT_ANON;
	if (v->name[0] == '[' && strcmp(v->name, "[heap]") && strncmp(v->name, "[anon:", 6))
		return DPA_SHARE_NOT_ANON;
	return DPA_SHARE_YES;
}

/*
 * True if a part of [start, top), which reaches to the end of its last mapping, is the stack of
 * this thread. The C library keeps a thread's own data at the upper end of its stack, whichever
 * code allocated the stack. This data contains the list of robust mutexes, whose address the kernel
 * has. So a stack begins with its mapping and ends just behind that list. No other property of a
 * running thread is available.
 */
static bool is_stack_of(uint32_t tid, uint64_t start, uint64_t top)
{
	void *list = NULL;
	uint64_t at;
	size_t len;

	if (syscall(SYS_get_robust_list, (int)tid, &list, &len))
		return false;
	at = (uint64_t)(uintptr_t)list;
	/* including other thread data that may follow it */
	return at + DPA_PAGE > start && at < top;
}

struct linux_dirent64 {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

/* The first thread's stack is [stack]; its thread data is in other memory. */
static bool has_stack(uint64_t start, uint64_t top)
{
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char buf[4096] __attribute__((aligned(8)));
	const uint32_t first = (uint32_t)getpid();
	bool found = false;
	long n = 0;

	while (fd >= 0 && !found && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n && !found;) {
			const struct linux_dirent64 *d = (const void *)(buf + at);
			uint32_t tid = (uint32_t)strtoul(d->name, NULL, 10);

			found = tid && tid != first && is_stack_of(tid, start, top);
			at += d->reclen;
		}
	if (fd >= 0)
		close(fd);
	return found;
}

/* True if "3", a name in /proc/self/fd, is such a file. */
static bool is_pinner(int dir, const char *number)
{
	char name[64];
	ssize_t n = readlinkat(dir, number, name, sizeof(name) - 1);

	if (n <= 0)
		return false;
	name[n] = 0;
	return may_pin(name);
}

bool dpa_proc_pins(void)
{
	int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char buf[4096] __attribute__((aligned(8)));
	bool found = fd < 0; /* unknown: assume so */
	long n;

	while (!found && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n && !found;) {
			const struct linux_dirent64 *d = (const void *)(buf + at);

			found = is_pinner(fd, d->name);
			at += d->reclen;
		}
	if (fd >= 0)
		close(fd);
	return found;
}

enum dpa_share_why dpa_pages_may(const struct dpa_pages *p, uint64_t start, uint64_t end,
				 const uint64_t *self, int nself)
{
	enum dpa_share_why why = DPA_SHARE_YES;
	uint64_t top = end;
	struct dpa_vma v;
	struct maps m;
	uint64_t at = start;

	for (int i = 0; i < nself; i++)
		if (self[i] >= start && self[i] < end)
			return DPA_SHARE_STACK;
	if (!open_maps(&m))
		return DPA_SHARE_KERNEL;
	while (why == DPA_SHARE_YES && next_vma(&m, &v)) {
		if (may_hold(v.name))
			why = DPA_SHARE_DEVICE;
		else if (v.end <= at || at >= end)
			continue;
		else if (v.start > at)
			why = DPA_SHARE_NOT_ANON;
		else
			why = judge_vma(p, &v);
		at = top = v.end;
	}
	close(m.fd);
	if (why == DPA_SHARE_YES && at < end)
		return DPA_SHARE_NOT_ANON;
	return why == DPA_SHARE_YES && has_stack(start, top) ? DPA_SHARE_STACK : why;
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

int dpa_pages_open(struct dpa_pages *p, uint64_t size)
{
	struct rlimit limit;
	struct stat st;
	int err;

	p->fd = -1;
	/* A write past the limit fails, and raises a signal. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < size ||
	    sysconf(_SC_PAGESIZE) != (long)DPA_PAGE || !can_populate())
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
static bool is_there(uint64_t entry)
{
	return entry >> 62;
}

/* Copies the present pages of [start, start + n pages) to the memfd. */
static int copy_present(int fd, int pagemap, uint64_t start, uint64_t n, uint64_t off)
{
	uint64_t entry[CHUNK], i = 0, from;
	ssize_t bytes = (ssize_t)(n * sizeof(entry[0]));
	int err = 0;

	if (pread(pagemap, entry, (size_t)bytes, (off_t)(start / DPA_PAGE * sizeof(entry[0]))) !=
	    bytes)
		return EIO;
	while (i < n && !err) {
		if (!is_there(entry[i])) {
			i++;
			continue;
		}
		for (from = i; i < n && is_there(entry[i]); i++)
			;
		err = move_all(fd, start + from * DPA_PAGE, (i - from) * DPA_PAGE,
			       off + from * DPA_PAGE, true);
	}
	return err;
}

static int put_back(uint64_t at, uint64_t n, int prot, int fd, uint64_t off)
{
	return mmap((void *)(uintptr_t)at, n, prot, MAP_SHARED | MAP_FIXED, fd, (off_t)off) ==
			       MAP_FAILED
		       ? errno
		       : 0;
}

static void punch_hole(int fd, uint64_t off, uint64_t n)
{
	/* if it fails the memory stays in use until the device is closed */
	(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)n);
}

int dpa_pages_share(const struct dpa_pages *p, uint64_t start, uint64_t end, uint64_t off)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), err = 0;
	uint64_t at = start;

	if (pagemap < 0)
		return errno;
	while (at < end && !err) {
		uint64_t n = (end - at) / DPA_PAGE < CHUNK ? (end - at) / DPA_PAGE : CHUNK;

		err = copy_present(p->fd, pagemap, at, n, off + (at - start));
		/* MAP_FIXED replaces the old mapping in one step. */
		if (!err)
			err = put_back(at, n * DPA_PAGE, PROT_READ | PROT_WRITE, p->fd,
				       off + (at - start));
		if (!err)
			at += n * DPA_PAGE;
	}
	close(pagemap);
	if (!err)
		return 0;
	if (at > start)
		dpa_pages_unshare(p, start, off, at - start, at - start, DPA_BACK_COPIED);
	punch_hole(p->fd, off, end - start);
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

/* Makes private anonymous memory at the same place, with the same bytes. */
static int back_copied(const struct dpa_pages *p, const struct dpa_vma *v)
{
	uint64_t len = v->end - v->start, off = v->offset, end = v->offset + len, n;
	int err = 0;

	if (mmap((void *)(uintptr_t)v->start, len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		err = errno; /* older kernels have unmapped it by then */
		put_back(v->start, len, v->prot, p->fd, v->offset);
		return err;
	}
	for (; !err && next_data(p->fd, &off, end, &n); off += n) {
		/* Allocates all its pages at once; otherwise the copy faults for each: a hint. */
		madvise((void *)(uintptr_t)(v->start + (off - v->offset)), n, MADV_POPULATE_WRITE);
		err = move_all(p->fd, v->start + (off - v->offset), n, off, false);
		if (err)
			break;
		punch_hole(p->fd, off, n);
	}
	if (err) { /* this part and the rest are unchanged */
		put_back(v->start + (off - v->offset), end - off, v->prot, p->fd, off);
		return err;
	}
	if (v->prot != (PROT_READ | PROT_WRITE) &&
	    mprotect((void *)(uintptr_t)v->start, len, v->prot))
		return errno;
	return 0;
}

/*
 * Puts a private mapping of the memfd in its place. Stores of other threads meanwhile go to the
 * page that is copied, or to the copy. Then each page gets its copy. The memfd's own pages are
 * removed, so that memory that the application gives back (MADV_DONTNEED) reads as zeros again.
 */
static int back_placed(const struct dpa_pages *p, const struct dpa_vma *v, bool keep)
{
	uint64_t len = v->end - v->start, off = v->offset, end = v->offset + len, n;
	void *at = (void *)(uintptr_t)v->start, *private;

	/* Mapped elsewhere first: so every step that can fail fails there. */
	private = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, p->fd, (off_t)off);
	if (private == MAP_FAILED)
		return errno;
	if (mremap(private, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at) {
		int err = errno;

		munmap(private, len);
		return err;
	}
	for (; next_data(p->fd, &off, end, &n); off += n) {
		if (madvise((void *)(uintptr_t)(v->start + (off - v->offset)), n,
			    MADV_POPULATE_WRITE)) {
			int err = errno;

			put_back(v->start + (off - v->offset), end - off, v->prot, p->fd, off);
			return err;
		}
		if (!keep)
			punch_hole(p->fd, off, n);
	}
	if (v->prot != (PROT_READ | PROT_WRITE) && mprotect(at, len, v->prot))
		return errno;
	return 0;
}

static int back_vma(const struct dpa_pages *p, const struct dpa_vma *v, enum dpa_back how)
{
	if (how == DPA_BACK_COPIED)
		return back_copied(p, v);
	return back_placed(p, v, how == DPA_BACK_CHILD);
}

/* True if all of it is where it was put, in one mapping: the usual case, found by one call. */
static bool vma_in_place(const struct dpa_pages *p, uint64_t at, uint64_t off, uint64_t length,
			 struct dpa_vma *v)
{
	struct dpa_map_query q = {.size = sizeof(q), .addr = at};
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool found = fd >= 0 && !ioctl(fd, DPA_MAP_QUERY, &q);

	if (fd >= 0)
		close(fd);
	if (!found)
		return false;
	*v = (struct dpa_vma){.start = q.start,
			      .end = q.end,
			      .offset = q.offset,
			      .inode = q.inode,
			      .dev_major = q.dev_major,
			      .dev_minor = q.dev_minor,
			      .prot = (q.vma_flags & DPA_VMA_READ ? PROT_READ : 0) |
				      (q.vma_flags & DPA_VMA_WRITE ? PROT_WRITE : 0) |
				      (q.vma_flags & DPA_VMA_EXEC ? PROT_EXEC : 0),
			      .shared = q.vma_flags & DPA_VMA_SHARED};
	return v->shared && is_ours(p, v) && v->start == at && v->offset == off &&
	       v->end - v->start == length;
}

int dpa_pages_unshare(const struct dpa_pages *p, uint64_t at, uint64_t off, uint64_t length,
		      uint64_t room, enum dpa_back how)
{
	struct dpa_vma v;
	struct maps m;
	int err = 0, ret;

	if (vma_in_place(p, at, off, length, &v))
		return back_vma(p, &v, how);
	if (!open_maps(&m))
		return errno;
	while (next_vma(&m, &v)) {
		/* A mapping of two areas is not ours: areas are too far from each other. */
		if (!v.shared || !is_ours(p, &v) || v.offset < off || v.offset >= off + room)
			continue;
		ret = back_vma(p, &v, how);
		err = err ? err : ret;
	}
	close(m.fd);
	if (!err && how != DPA_BACK_CHILD) /* memory that the application unmapped */
		punch_hole(p->fd, off, room);
	return err;
}

/* ------------------------------------------------------------------- status */

static uint64_t status_field(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

bool dpa_proc_status(struct dpa_proc_status *s)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	s->threads = (uint32_t)status_field(text, "\nThreads:\t");
	s->pinned = status_field(text, "\nVmPin:\t");
	s->locked = status_field(text, "\nVmLck:\t");
	return s->threads && strstr(text, "\nVmPin:");
}
