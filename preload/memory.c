/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * memory.c - calls that change memory. The device may have exchanged pages of registered memory for
 * pages that its peers map; dpa_memory.h. The program must not see a difference, so the device is
 * asked before each call. Without such pages a call costs two loads.
 *
 * These are called within malloc() and before this library is set up: nothing here allocates, and
 * until the constructor has run they are system calls.
 */
#if defined(__x86_64__) && defined(__LP64__) /* where pages are exchanged */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <dpa_memory.h>
#include "placed.h"
#include "preload.h"

PL_EXPORT struct dpa_memory_watch dpa_memory_watch = {
	.version = DPA_MEMORY_VERSION, .from = UINT64_MAX, .to = 0};

ssize_t process_madvise(int pidfd, const struct iovec *iov, size_t n, int advice, unsigned flags);

/*
 * Calls of programs and libraries name a version of the C library's function and find it here.
 * dlsym() without a version does not, because it is not a default version, and finds the C library's.
 * UCX, Open MPI and libfabric write their hook into the function that dlsym() returns. They must see
 * the calls that the C library makes itself, as in free(): registered memory that is unmapped
 * unnoticed stays in their caches of registrations.
 */
#define HIDE_FROM_DLSYM(name)                                                                      \
	__typeof__(name) pl_##name;                                                                \
	__asm__(".symver pl_" #name ", " #name "@GLIBC_2.2.5")
HIDE_FROM_DLSYM(madvise);
HIDE_FROM_DLSYM(mmap);
HIDE_FROM_DLSYM(mmap64);
HIDE_FROM_DLSYM(mremap);
HIDE_FROM_DLSYM(munmap);

static struct {
	__typeof__(&madvise) madvise;
	__typeof__(&mlock) mlock;
	__typeof__(&mlock2) mlock2;
	__typeof__(&mlockall) mlockall;
	__typeof__(&mmap) mmap;
	__typeof__(&mprotect) mprotect;
	__typeof__(&mremap) mremap;
	__typeof__(&munmap) munmap;
	__typeof__(&pkey_mprotect) pkey_mprotect;
	__typeof__(&process_madvise) process_madvise;
} next;

/* The library behind this one: a program's own hooks lie in the C library's functions (UCX). */
static __attribute__((constructor(101))) void find_next(void)
{
#define FIND(name) next.name = (__typeof__(next.name))dlsym(RTLD_NEXT, #name)
	FIND(madvise);
	FIND(mlock);
	FIND(mlock2);
	FIND(mlockall);
	FIND(mmap);
	FIND(mprotect);
	FIND(mremap);
	FIND(munmap);
	FIND(pkey_mprotect);
	FIND(process_madvise);
#undef FIND
}

static PL_OUT_OF_LINE int ask_device(enum dpa_memory_call call, uint64_t addr, uint64_t length,
				     uint64_t more)
{
	__typeof__(int (*)(uint32_t, uint64_t, uint64_t, uint64_t)) device =
		atomic_load_explicit(&dpa_memory_watch.ask, memory_order_acquire);

	return device ? device(call, addr, length, more) : DPA_MEMORY_PASS;
}

static inline int ask_more(enum dpa_memory_call call, const void *addr, size_t length, size_t more)
{
	uint64_t from = atomic_load_explicit(&dpa_memory_watch.from, memory_order_relaxed);
	uint64_t to = atomic_load_explicit(&dpa_memory_watch.to, memory_order_relaxed);
	uint64_t at = (uintptr_t)addr;

	if (__builtin_expect(from >= to, 1) || at >= to || (at < from && length <= from - at))
		return DPA_MEMORY_PASS;
	return ask_device(call, at, length, more);
}

static inline int ask_about_range(enum dpa_memory_call call, const void *addr, size_t length)
{
	return ask_more(call, addr, length, 0);
}

/* The same, for calls whose answer is no errno: they happen in any case. */
static inline void tell_about_range(const void *addr, size_t length)
{
	(void)ask_about_range(DPA_MEMORY_CHANGE, addr, length);
}

static int fail_with(int err)
{
	errno = err;
	return -1;
}

/* ------------------------------------------------------------------ advice */

#ifndef MADV_DONTNEED_LOCKED /* Linux 5.18 */
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_COLD /* Linux 5.4 */
#define MADV_COLD    20
#define MADV_PAGEOUT 21
#endif
#ifndef SYS_process_madvise /* Linux 5.10 */
#define SYS_process_madvise 440
#endif

/*
 * Does the kernel empty that? It refuses the rest with EINVAL, or does nothing. (That of memory which
 * is locked comes with Linux 5.18.)
 */
static bool takes_emptying(const void *addr, size_t length, int advice)
{
	uint64_t at = (uintptr_t)addr, n = ((uint64_t)length + 4095) & ~4095ull;

	return at % 4096 == 0 && n && at + n >= at &&
	       (advice != MADV_DONTNEED_LOCKED || !syscall(SYS_madvise, addr, 0, advice));
}

/* PASS: a hint, or an error, which is the same for all memory. *advice: what to say instead. */
static int ask_advice(const void *addr, size_t length, int *advice)
{
	int ret;

	switch (*advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_FREE:
		if (!takes_emptying(addr, length, *advice))
			return DPA_MEMORY_PASS;
		ret = ask_about_range(DPA_MEMORY_EMPTY, addr, length);
		if (ret != DPA_MEMORY_EMPTIED)
			return ret;
		if (*advice == MADV_FREE)
			*advice = MADV_DONTNEED;
		return DPA_MEMORY_PASS;
	case MADV_REMOVE:
		return ask_about_range(DPA_MEMORY_REMOVE, addr, length);
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
	case MADV_WILLNEED:
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
	case MADV_COLD:
	case MADV_PAGEOUT:
	case 22: /* MADV_POPULATE_READ */
	case 23: /* MADV_POPULATE_WRITE */
	case 25: /* MADV_COLLAPSE */
		return DPA_MEMORY_PASS;
	default:
		atomic_store_explicit(&dpa_memory_watch.special, 1, memory_order_relaxed);
		return ask_about_range(DPA_MEMORY_PRIVATE, addr, length);
	}
}

static int kernel_advise(void *addr, size_t length, int advice)
{
	return next.madvise ? next.madvise(addr, length, advice)
			    : (int)syscall(SYS_madvise, addr, length, advice);
}

/* On memory that was shared once the kernel refuses MADV_FREE: empty it at once. */
static PL_OUT_OF_LINE int free_again(void *addr, size_t length, int err)
{
	if (!pl_is_placed(addr, length))
		return fail_with(EINVAL);
	errno = err;
	return kernel_advise(addr, length, MADV_DONTNEED);
}

PL_EXPORT int pl_madvise(void *addr, size_t length, int advice)
{
	int before = errno, err = ask_advice(addr, length, &advice), ret;

	if (__builtin_expect(err, 0))
		return fail_with(err);
	ret = kernel_advise(addr, length, advice);
	if (__builtin_expect(ret && advice == MADV_FREE && errno == EINVAL, 0))
		return free_again(addr, length, before);
	return ret;
}

/* Linux 6.13 takes what empties memory of the process itself. */
static PL_OUT_OF_LINE bool is_self_pidfd(int pidfd)
{
	char path[64], text[512], *pid;
	long fd, n;

	if (pidfd == -10000 || pidfd == -10001) /* PIDFD_SELF, of a thread and of the process */
		return true;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = syscall(SYS_read, (int)fd, text, sizeof(text) - 1);
	syscall(SYS_close, (int)fd);
	text[n > 0 ? n : 0] = 0;
	pid = strstr(text, "\nPid:\t");
	return pid && atol(pid + 6) == syscall(SYS_getpid);
}

static ssize_t kernel_advises(int pidfd, const struct iovec *iov, size_t n, int advice,
			      unsigned flags)
{
	return next.process_madvise ? next.process_madvise(pidfd, iov, n, advice, flags)
				    : syscall(SYS_process_madvise, pidfd, iov, n, advice, flags);
}

/*
 * Empties what the kernel has emptied, the first `done` bytes. On a shared mapping its call only
 * dropped entries of the tables. Again behind it: memory that became private between the two has
 * its bytes. Returns how many are done, or -1.
 */
static ssize_t empty_done(const struct iovec *iov, size_t done, int advice)
{
	size_t left = done, n;
	int ret;

	for (; left; left -= n, iov++) {
		n = iov->iov_len < left ? iov->iov_len : left;
		ret = n ? ask_about_range(DPA_MEMORY_EMPTY, iov->iov_base, n) : DPA_MEMORY_PASS;
		if (ret != DPA_MEMORY_PASS && ret != DPA_MEMORY_EMPTIED)
			return left < done ? (ssize_t)(done - left) : fail_with(ret);
		if (n)
			(void)syscall(SYS_madvise, iov->iov_base, n, advice);
	}
	return (ssize_t)done;
}

/* The kernel reads the ranges first; where it cannot, this does not. */
static ssize_t empty_ranges(int pidfd, const struct iovec *iov, size_t n, int advice)
{
	ssize_t done = kernel_advises(pidfd, iov, n, advice, 0);

	return done > 0 ? empty_done(iov, (size_t)done, advice) : done;
}

/* Memory that is shared, or was: the kernel refuses MADV_FREE there. */
static bool is_range_shared(const struct iovec *iov)
{
	return ask_about_range(DPA_MEMORY_REMOVE, iov->iov_base, iov->iov_len) == EINVAL ||
	       pl_is_placed(iov->iov_base, iov->iov_len);
}

/*
 * The kernel refuses MADV_FREE on a shared mapping (EINVAL), and has done those before it. That one
 * is emptied at once, and it goes on behind it. Only what the kernel would refuse is looked at.
 */
static ssize_t empty_later(int pidfd, const struct iovec *iov, size_t n)
{
	ssize_t all = 0, done;
	size_t left;

	for (;;) {
		done = kernel_advises(pidfd, iov, n, MADV_FREE, 0);
		if (done < 0 && errno != EINVAL)
			return all ? all : done;
		left = done > 0 ? (size_t)done : 0;
		all += (ssize_t)left;
		for (; n && iov->iov_len <= left; n--, iov++)
			left -= iov->iov_len;
		if (!n || left || !is_range_shared(iov))
			return all || done >= 0 ? all : done;
		done = empty_ranges(pidfd, iov, 1, MADV_DONTNEED);
		if (done < 0)
			return all ? all : done;
		all += done;
		if ((size_t)done < iov->iov_len || !--n)
			return all;
		iov++;
	}
}

/* Other advice, as far as the device agrees. */
static ssize_t advise_each(int pidfd, const struct iovec *iov, size_t n, int advice)
{
	size_t i = 0;
	int err = 0;

	/* no such advice: can the kernel read them? */
	if (kernel_advises(pidfd, iov, n, -1, 0) < 0 && errno != EINVAL)
		return -1;
	while (i < n && !err) {
		err = ask_advice(iov[i].iov_base, iov[i].iov_len, &advice);
		i += !err;
	}
	return err && !i ? fail_with(err) : kernel_advises(pidfd, iov, i, advice, 0);
}

PL_EXPORT ssize_t process_madvise(int pidfd, const struct iovec *iov, size_t n, int advice,
				  unsigned flags)
{
	bool any = atomic_load_explicit(&dpa_memory_watch.from, memory_order_relaxed) <
		   atomic_load_explicit(&dpa_memory_watch.to, memory_order_relaxed);
	bool usual = n && n <= IOV_MAX && !flags;
	int err = errno;
	ssize_t done;

	if (!any || !usual || !is_self_pidfd(pidfd)) {
		errno = err;
		done = kernel_advises(pidfd, iov, n, advice, flags);
		if (any || !usual || done >= 0 || errno != EINVAL || advice != MADV_FREE)
			return done;
		if (!is_self_pidfd(pidfd))
			return fail_with(EINVAL);
	}
	if (advice == MADV_FREE)
		done = empty_later(pidfd, iov, n);
	else if (advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED)
		done = empty_ranges(pidfd, iov, n, advice);
	else
		done = advise_each(pidfd, iov, n, advice);
	if (done >= 0)
		errno = err;
	return done;
}

/* ---------------------------------------------------------------- mappings */

PL_EXPORT void *pl_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t off)
{
	if (flags & MAP_FIXED)
		tell_about_range(addr, length);
	return next.mmap ? next.mmap(addr, length, prot, flags, fd, off)
			 : (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, off);
}

PL_EXPORT void *pl_mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t off)
	__attribute__((alias("pl_mmap")));

PL_EXPORT int pl_munmap(void *addr, size_t length)
{
	tell_about_range(addr, length);
	return next.munmap ? next.munmap(addr, length) : (int)syscall(SYS_munmap, addr, length);
}

PL_EXPORT int mprotect(void *addr, size_t length, int prot)
{
	tell_about_range(addr, length);
	return next.mprotect ? next.mprotect(addr, length, prot)
			     : (int)syscall(SYS_mprotect, addr, length, prot);
}

PL_EXPORT int pkey_mprotect(void *addr, size_t length, int prot, int pkey)
{
	tell_about_range(addr, length);
	return next.pkey_mprotect ? next.pkey_mprotect(addr, length, prot, pkey)
				  : (int)syscall(SYS_pkey_mprotect, addr, length, prot, pkey);
}

/*
 * The new place is like mmap(MAP_FIXED). With an old size of 0, which makes a second mapping of
 * shared memory, and with MREMAP_DONTUNMAP the kernel has to see private memory.
 */
static int ask_move(const void *addr, size_t old_len, size_t new_len, int flags)
{
	if (!old_len || flags & 4 /* MREMAP_DONTUNMAP */)
		return ask_about_range(DPA_MEMORY_PRIVATE, addr, old_len ? old_len : 1);
	return ask_more(DPA_MEMORY_MOVE, addr, old_len, new_len > old_len ? new_len - old_len : 0);
}

PL_EXPORT void *pl_mremap(void *addr, size_t old_len, size_t new_len, int flags, ...)
{
	void *to = NULL;
	va_list ap;

	if (flags & MREMAP_FIXED) {
		va_start(ap, flags);
		to = va_arg(ap, void *);
		va_end(ap);
		tell_about_range(to, new_len);
	}
	if (__builtin_expect(ask_move(addr, old_len, new_len, flags), 0)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return next.mremap ? next.mremap(addr, old_len, new_len, flags, to)
			   : (void *)syscall(SYS_mremap, addr, old_len, new_len, flags, to);
}

/* ------------------------------------------------------------------- locks */

PL_EXPORT int mlock(const void *addr, size_t length)
{
	int err = ask_about_range(DPA_MEMORY_PRIVATE, addr, length);

	if (__builtin_expect(err, 0))
		return fail_with(err);
	return next.mlock ? next.mlock(addr, length) : (int)syscall(SYS_mlock, addr, length);
}

PL_EXPORT int mlock2(const void *addr, size_t length, unsigned flags)
{
	int err = ask_about_range(DPA_MEMORY_PRIVATE, addr, length);

	if (__builtin_expect(err, 0))
		return fail_with(err);
	return next.mlock2 ? next.mlock2(addr, length, flags)
			   : (int)syscall(SYS_mlock2, addr, length, flags);
}

PL_EXPORT int mlockall(int flags)
{
	int err = flags & MCL_CURRENT ? ask_about_range(DPA_MEMORY_PRIVATE, NULL, SIZE_MAX) : 0;

	if (__builtin_expect(err, 0))
		return fail_with(err);
	return next.mlockall ? next.mlockall(flags) : (int)syscall(SYS_mlockall, flags);
}

#endif
