/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pin.c - pages of host memory that are registered with the GPUs. CUDA registers a page only once,
 * but the queues of several connections share pages. So this file keeps a list of registered ranges
 * that do not overlap: a pin registers the parts that no range covers yet, and counts in all ranges
 * that it touches.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "../common/log/log.h"
#include "gpu.h"

struct pinned {
	uintptr_t start, end;
	uint32_t refs;
	bool users; /* registered by the program itself: never unregistered here */
	struct pinned *next;
};

static struct {
	pthread_mutex_t lock;
	struct pinned *list;
} pins = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uintptr_t page_of(uintptr_t addr)
{
	return addr & ~((uintptr_t)getpagesize() - 1);
}

static bool touches_range(const struct pinned *p, uintptr_t start, uintptr_t end)
{
	return p->start < end && start < p->end;
}

/*
 * Return the end of the unregistered range that begins at `start`; if start is in a range, set *in
 * to it.
 */
static uintptr_t free_up_to(uintptr_t start, uintptr_t end, struct pinned **in)
{
	*in = NULL;
	for (struct pinned *p = pins.list; p; p = p->next) {
		if (p->start <= start && start < p->end)
			*in = p;
		else if (p->start > start && p->start < end)
			end = p->start;
	}
	return end;
}

static int pin_range(const struct dpa_cuda *cuda, uintptr_t start, uintptr_t end)
{
	struct pinned *p = calloc(1, sizeof(*p));
	CUresult ret;

	if (!p)
		return ENOMEM;
	ret = cuda->host_register((void *)start, end - start,
				  CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	if (ret && ret != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
		DPA_LOG(DOCA_LOG_LEVEL_ERROR, "CUDA cannot register %zu bytes of memory at %p: %s",
			(size_t)(end - start), (void *)start, dpa_cuda_error(ret));
		free(p);
		return ret == CUDA_ERROR_OUT_OF_MEMORY ? ENOMEM : EIO;
	}
	*p = (struct pinned){.start = start, .end = end, .users = ret != 0, .next = pins.list};
	pins.list = p;
	return 0;
}

/* Add n to the count of each range that [start, end) touches; free ranges without users. */
static void count_pins(const struct dpa_cuda *cuda, uintptr_t start, uintptr_t end, int n)
{
	struct pinned **at = &pins.list, *p;

	while ((p = *at)) {
		if (touches_range(p, start, end))
			p->refs += (uint32_t)n;
		if (p->refs) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		if (!p->users)
			cuda->host_unregister((void *)p->start);
		free(p);
	}
}

int dpa_gpu_pin(const struct dpa_cuda *cuda, const void *addr, size_t length)
{
	const uintptr_t start = page_of((uintptr_t)addr);
	const uintptr_t end = page_of((uintptr_t)addr + length + (uintptr_t)getpagesize() - 1);
	uintptr_t at = start;
	int ret = 0;

	pthread_mutex_lock(&pins.lock);
	while (at < end && !ret) {
		struct pinned *in;
		uintptr_t to = free_up_to(at, end, &in);

		if (in)
			to = in->end;
		else
			ret = pin_range(cuda, at, to);
		at = to;
	}
	count_pins(cuda, start, end, ret ? 0 : 1);
	pthread_mutex_unlock(&pins.lock);
	return ret;
}

void dpa_gpu_unpin(const struct dpa_cuda *cuda, const void *addr, size_t length)
{
	pthread_mutex_lock(&pins.lock);
	count_pins(cuda, page_of((uintptr_t)addr),
		   page_of((uintptr_t)addr + length + (uintptr_t)getpagesize() - 1), -1);
	pthread_mutex_unlock(&pins.lock);
}
