/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * range.c - checks that a range of this process is mapped, and writable if required. Asks the
 * kernel: by a query by address if it has one (Linux 6.11), else by the text of /proc/self/maps,
 * else by mincore(). Touches nothing: untouched memory of a region stays untouched.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "ctx/range.h"

/* 0, EFAULT, or ENOTTY: this kernel does not have the query. */
static int by_query(int fd, uint64_t a, uint64_t end, bool write)
{
	while (a < end) {
		struct dpa_map_query q = {.size = sizeof(q), .addr = a};

		if (ioctl(fd, DPA_MAP_QUERY, &q))
			return errno == ENOENT ? EFAULT : ENOTTY;
		if (!(q.vma_flags & DPA_VMA_READ) || (write && !(q.vma_flags & DPA_VMA_WRITE)))
			return EFAULT;
		a = q.end;
	}
	return 0;
}

/*
 * Parses one line of the maps. True if it covers *a, which then moves to the end of the line's
 * range.
 */
static bool line_covers(const char *line, uint64_t *a, bool write, int *ret)
{
	unsigned long from, to;
	char perm[5];

	if (sscanf(line, "%lx-%lx %4s", &from, &to, perm) != 3 || to <= *a)
		return false;
	if (from > *a || perm[0] != 'r' || (write && perm[1] != 'w'))
		*ret = EFAULT;
	*a = to;
	return true;
}

static int by_text(uint64_t a, uint64_t end, bool write)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int ret = 0;

	if (!f)
		return ENOTTY;
	while (a < end && !ret && fgets(line, sizeof(line), f))
		line_covers(line, &a, write, &ret);
	fclose(f);
	return ret ? ret : a < end ? EFAULT : 0;
}

static int by_mincore(uint64_t a, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned char vec[4096];

	while (a < end) {
		uint64_t n = end - a < sizeof(vec) * page ? end - a : sizeof(vec) * page;

		if (mincore((void *)(uintptr_t)a, n, vec))
			return EFAULT;
		a += n;
	}
	return 0;
}

int dpa_range_check(struct dpa_hw *hw, uint64_t addr, uint64_t length, bool write)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t a = addr & ~(page - 1), end = (addr + length + page - 1) & ~(page - 1);
	int ret = ENOTTY;

	if (!length)
		return 0;
	if (end < a || addr + length < addr)
		return EFAULT;
	if (hw->maps_fd >= 0)
		ret = by_query(hw->maps_fd, a, end, write);
	if (ret == ENOTTY)
		ret = by_text(a, end, write);
	if (ret == ENOTTY)
		ret = by_mincore(a, end);
	return ret;
}
