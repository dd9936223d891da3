/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * raw.h - system calls of the exchange of pages. The library functions of their names lead to the
 * preload, which asks the device first (dpa_memory.h), or looks at each path: the device itself makes
 * these calls.
 */
#ifndef DPA_DIRECT_RAW_H
#define DPA_DIRECT_RAW_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void *dpa_raw_mmap(void *at, uint64_t n, int prot, int flags, int fd, uint64_t off)
{
#ifdef SYS_mmap
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, off);
#else
	return mmap(at, n, prot, flags, fd, (off_t)off);
#endif
}

/* The mapping at `from` replaces the pages at `to`. */
static inline void *dpa_raw_mremap(void *from, uint64_t n, void *to)
{
	return (void *)syscall(SYS_mremap, from, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

static inline int dpa_raw_mprotect(void *at, uint64_t n, int prot)
{
	return (int)syscall(SYS_mprotect, at, n, prot);
}

/* Without O_CREAT. No cancellation point. */
static inline int dpa_raw_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags);
}

#endif
