/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * judge.c - may pages be exchanged: as far as the mappings, the stacks and the open files of the
 * process tell, and its status. Nothing here allocates memory or keeps state.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ctx/range.h"
#include "util/sys.h"
#include "pages.h"
#include "direct/raw.h"

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
 * Files of drivers that pin pages of a process that has them open, mapped or not. VmPin is 0 then. A
 * userfaultfd may watch the pages; it would not watch the mapping that takes their place.
 */
static bool may_pin(const char *name)
{
	static const char *const of[] = {"/dev/nvidia", "/dev/kfd",    "/dev/dri/",
					 "/dev/vfio/",	"/dev/accel/", "anon_inode:[userfaultfd]"};

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
	if (v->inode && !dpa_vma_is_of(p, v))
		return DPA_SHARE_NOT_ANON;
	if (v->name[0] == '[' && strcmp(v->name, "[heap]") && strncmp(v->name, "[anon:", 6))
		return DPA_SHARE_NOT_ANON;
	return DPA_SHARE_YES;
}

/*
 * True if a part of [start, top), which reaches to the end of its last mapping, is the stack of
 * this thread. The C library keeps a thread's own data at the upper end of its stack, whichever
 * code allocated the stack, and the kernel has the address of its list of robust mutexes, which is
 * in that data. So a stack begins with its mapping and ends just behind that list. No other
 * property of a running thread is available.
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
	int fd = dpa_raw_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
		dpa_sys_close(fd);
	return found;
}

/*
 * False if the descriptor is a regular file, a socket, a pipe or a folder. By a raw system call:
 * another thread may close the descriptor meanwhile, which is harmless here (EBADF), and a checker
 * of descriptors would report it for fstat().
 */
static bool may_be_device(int fd)
{
	struct statx st;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st))
		return true;
	return !S_ISREG(st.stx_mode) && !S_ISSOCK(st.stx_mode) && !S_ISFIFO(st.stx_mode) &&
	       !S_ISDIR(st.stx_mode);
}

/*
 * True if "3", a name in /proc/self/fd, is such a file: a device or an anonymous inode. The kind of
 * file tells the others apart: for a name the kernel takes some microseconds.
 */
static bool is_pinner(int dir, const char *number)
{
	char name[64];
	ssize_t n;

	if (*number < '0' || *number > '9' || !may_be_device(atoi(number)))
		return false;
	/* not the preload's readlinkat(), which takes a look at each path */
	n = syscall(SYS_readlinkat, dir, number, name, sizeof(name) - 1);
	if (n <= 0)
		return false;
	name[n] = 0;
	return may_pin(name);
}

bool dpa_proc_pins(void)
{
	int fd = dpa_raw_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char buf[4096] __attribute__((aligned(8)));
	bool found = fd < 0; /* not known */
	long n;

	while (!found && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n && !found;) {
			const struct linux_dirent64 *d = (const void *)(buf + at);

			found = is_pinner(fd, d->name);
			at += d->reclen;
		}
	if (fd >= 0)
		dpa_sys_close(fd);
	return found;
}

/* In the text of the mappings: before Linux 6.11. */
static enum dpa_share_why judge_text(const struct dpa_pages *p, struct dpa_maps *m, uint64_t at,
				     uint64_t end, uint64_t *top)
{
	struct dpa_vma v;

	while (dpa_maps_next(m, &v)) {
		enum dpa_share_why why;

		if (may_hold(v.name))
			return DPA_SHARE_DEVICE;
		if (v.end <= at || at >= end)
			continue;
		why = v.start > at ? DPA_SHARE_NOT_ANON : judge_vma(p, &v);
		if (why != DPA_SHARE_YES)
			return why;
		at = *top = v.end;
	}
	return at < end ? DPA_SHARE_NOT_ANON : DPA_SHARE_YES;
}

/*
 * The same by queries: what a device or the kernel may hold is a shared mapping of a file of theirs.
 * *asked: the kernel can tell.
 */
static enum dpa_share_why judge_queries(const struct dpa_pages *p, const struct dpa_maps *m,
					uint64_t at, uint64_t end, uint64_t *top, bool *asked)
{
	enum dpa_share_why why = DPA_SHARE_YES;
	struct dpa_vma v;
	uint64_t from = 0;
	int err;

	while (!(err = dpa_maps_query_named(m, from, DPA_VMA_SHARED | DPA_VMA_FILE, &v))) {
		if (may_hold(v.name))
			return DPA_SHARE_DEVICE;
		from = v.end;
	}
	for (; err == ENOENT && why == DPA_SHARE_YES && at < end; at = *top = v.end) {
		err = dpa_maps_query_named(m, at, 0, &v) ? ENOTTY : ENOENT;
		if (err == ENOENT)
			why = v.start > at ? DPA_SHARE_NOT_ANON : judge_vma(p, &v);
	}
	*asked = err == ENOENT;
	return why;
}

enum dpa_share_why dpa_pages_may(const struct dpa_pages *p, uint64_t start, uint64_t end,
				 const uint64_t *self, int nself)
{
	enum dpa_share_why why;
	uint64_t top = end;
	struct dpa_maps m;
	bool asked = false;

	for (int i = 0; i < nself; i++)
		if (self[i] >= start && self[i] < end)
			return DPA_SHARE_STACK;
	if (!dpa_maps_open(&m))
		return DPA_SHARE_KERNEL;
	why = judge_queries(p, &m, start, end, &top, &asked);
	if (!asked && why != DPA_SHARE_DEVICE)
		why = judge_text(p, &m, start, end, &top);
	dpa_maps_close(&m);
	return why == DPA_SHARE_YES && has_stack(start, top) ? DPA_SHARE_STACK : why;
}

static uint64_t status_field(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

bool dpa_proc_status(struct dpa_proc_status *s)
{
	int fd = dpa_raw_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	dpa_sys_close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	s->threads = (uint32_t)status_field(text, "\nThreads:\t");
	s->pinned = status_field(text, "\nVmPin:\t");
	s->locked = status_field(text, "\nVmLck:\t");
	return s->threads && strstr(text, "\nVmPin:");
}

/* Two letters each, <linux/fs/proc/task_mmu.c>: not copied by fork, wiped by it, not dumped,
 * userfaultfd, guarded. */
static bool is_special(const char *flags)
{
	static const char *const of[] = {" dc", " wf", " dd", " um", " uw", " ui", " gu"};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (strstr(flags, of[i]))
			return true;
	return false;
}

/* The text of smaps: "start-end ..." and, some lines below, "VmFlags: rd wr ...". */
bool dpa_proc_advised(uint64_t start, uint64_t end)
{
	struct dpa_maps m = {.fd = dpa_raw_open("/proc/self/smaps", O_RDONLY | O_CLOEXEC)};
	bool in = false, found = m.fd < 0;
	char *line;

	while (!found && (line = dpa_maps_line(&m))) {
		char *rest;
		uint64_t from = strtoull(line, &rest, 16);

		if (rest > line && *rest == '-')
			in = from < end && strtoull(rest + 1, NULL, 16) > start;
		else if (in && !strncmp(line, "VmFlags:", 8))
			found = is_special(line);
	}
	if (m.fd >= 0)
		dpa_maps_close(&m);
	return found;
}

/* 0: no Yama, or no restriction. */
static int yama_scope(void)
{
	int fd = dpa_raw_open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	char c = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : 3;
	if (read(fd, &c, 1) != 1)
		c = '3';
	dpa_sys_close(fd);
	return c - '0';
}

bool dpa_proc_open_to_user(bool any)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 && dpa_yama_opens(yama_scope(), any);
}
