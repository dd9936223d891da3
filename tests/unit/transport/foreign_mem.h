/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * foreign_mem.h - simulated GPU memory: the registered address is a PROT_NONE range, so any access
 * of the CPU ends the test. copy() accesses the bytes by another mapping. The test can make copies
 * wait and fail.
 */
#ifndef DPA_TEST_FOREIGN_MEM_H
#define DPA_TEST_FOREIGN_MEM_H

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <dpa_hw.h>

struct fm {
	uint8_t *view;	/* the registered address, which no thread can read */
	uint8_t *bytes; /* the bytes behind it */
	size_t size;
	uint32_t key;
	_Atomic uint32_t calls, copies, underway;
	_Atomic bool closed;	   /* copy() waits */
	_Atomic uint64_t bad_at;   /* a copy at this offset fails; UINT64_MAX: none */
	_Atomic uint32_t bad_list; /* 1: a wrong list was seen */
};

static inline bool fm_apart(const struct dpa_foreign_copy *list, uint32_t from, uint32_t i)
{
	for (uint32_t k = from; k < i; k++)
		if ((list[k].flags & DPA_FOREIGN_TO) == (list[i].flags & DPA_FOREIGN_TO) &&
		    list[k].flags & DPA_FOREIGN_TO &&
		    list[k].foreign < list[i].foreign + list[i].length &&
		    list[i].foreign < list[k].foreign + list[k].length)
			return false;
	return true;
}

static inline int fm_copy(void *arg, const struct dpa_foreign_copy *list, uint32_t n)
{
	struct fm *m = arg;
	uint32_t from = 0;
	int ret = 0;

	atomic_fetch_add(&m->calls, 1);
	atomic_fetch_add(&m->copies, n);
	atomic_store(&m->underway, 1);
	while (atomic_load(&m->closed))
		sched_yield();
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t off = list[i].foreign - (uintptr_t)m->view;

		if (list[i].flags & DPA_FOREIGN_BEHIND)
			from = i;
		if (n > 256 || !list[i].length || off > m->size || list[i].length > m->size - off ||
		    !fm_apart(list, from, i))
			atomic_store(&m->bad_list, 1);
		else if (off <= atomic_load(&m->bad_at) &&
			 atomic_load(&m->bad_at) < off + list[i].length)
			ret = EIO;
		else if (list[i].flags & DPA_FOREIGN_TO)
			memcpy(m->bytes + off, list[i].host, list[i].length);
		else
			memcpy(list[i].host, m->bytes + off, list[i].length);
	}
	atomic_store(&m->underway, 0);
	return ret;
}

static const struct dpa_foreign_ops fm_ops = {.copy = fm_copy};

static inline void fm_new(struct fm *m, size_t size)
{
	int fd = memfd_create("foreign", MFD_CLOEXEC);

	memset(m, 0, sizeof(*m));
	atomic_store(&m->bad_at, UINT64_MAX);
	cr_assert(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	m->size = size;
	m->view = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);
	m->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(m->view != MAP_FAILED && m->bytes != MAP_FAILED);
	close(fd);
}

static inline int fm_reg(struct fm *m, struct dpa_hw_ctx *ctx, uint32_t pdn, uint32_t access)
{
	struct dpa_mr_attr a = {.type = DPA_MR_FOREIGN,
				.pdn = pdn,
				.access = access,
				.addr = (uintptr_t)m->view,
				.iova = (uintptr_t)m->view,
				.length = m->size,
				.foreign = &fm_ops,
				.foreign_arg = m};

	return dpa_hw_reg_mr(ctx, &a, &m->key);
}

static inline void fm_free(struct fm *m)
{
	cr_expect_eq(atomic_load(&m->bad_list), 0u, "a list of copies that must not be");
	munmap(m->view, m->size);
	munmap(m->bytes, m->size);
}

#endif
