/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* copy.c - copies and fills as operations of streams. */
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "memory.h"
#include "stream.h"

enum side { SIDE_HOST, SIDE_PINNED, SIDE_DEVICE, SIDE_BAD };

struct copy {
	size_t num;
	struct {
		void *dst;
		const void *src;
		size_t size;
	} item[];
};

struct fill {
	void *dst;
	unsigned int value, unit;
	size_t size;
};

/* Return the kind of memory of a range; SIDE_BAD: the range is in more than one region. */
static enum side side_of(const void *addr, size_t size)
{
	struct region r;

	if (!memory_find(addr, &r))
		return memory_view(addr) != addr ? SIDE_BAD
						 : SIDE_HOST; /* GPU memory that is not allocated */
	if (r.kind != REGION_DEVICE)
		return r.kind == REGION_MANAGED ? SIDE_DEVICE : SIDE_PINNED;
	return (const char *)addr + size <= r.base + r.size ? SIDE_DEVICE : SIDE_BAD;
}

/*
 * Return whether the side is allowed. Pinned memory counts as either: its device pointer is its
 * address.
 */
static bool side_allowed(enum side side, bool device)
{
	return side == SIDE_PINNED || side == (device ? SIDE_DEVICE : SIDE_HOST);
}

static int check_kind(enum side dst, enum side src, enum cudaMemcpyKind kind)
{
	bool to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
	bool from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

	if ((unsigned int)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (dst == SIDE_BAD || src == SIDE_BAD)
		return cudaErrorInvalidValue;
	if (kind != cudaMemcpyDefault && (!side_allowed(dst, to) || !side_allowed(src, from)))
		return cudaErrorInvalidValue;
	return cudaSuccess;
}

static void run_copy(void *arg)
{
	const struct copy *c = arg;

	for (size_t i = 0; i < c->num; i++)
		memmove(memory_view(c->item[i].dst), memory_view(c->item[i].src), c->item[i].size);
}

static void run_fill(void *arg)
{
	const struct fill *f = arg;
	char *at = memory_view(f->dst);

	if (f->unit == 1)
		memset(at, (int)f->value, f->size);
	else
		for (size_t i = 0; i < f->size; i += f->unit)
			memcpy(at + i, &f->value, f->unit);
}

static struct copy *copy_new(size_t num, size_t staged)
{
	struct copy *c = calloc(1, sizeof(*c) + num * sizeof(c->item[0]) + staged);

	if (c)
		c->num = num;
	return c;
}

enum { STAGED = 64 * 1024 };

int copy_submit(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind,
		cudaStream_t stream, bool wait)
{
	enum side to, from;
	struct copy *c;
	bool stage;
	int ret;

	if (!size)
		return cudaSuccess;
	if (!dst || !src)
		return cudaErrorInvalidValue;
	to = side_of(dst, size);
	from = side_of(src, size);
	ret = check_kind(to, from, kind);
	if (ret)
		return ret;
	stage = from == SIDE_HOST && to != SIDE_HOST && size <= STAGED && !wait;
	if (!stage && (from == SIDE_HOST || to == SIDE_HOST))
		wait = true;
	c = copy_new(1, stage ? size : 0);
	if (!c)
		return cudaErrorMemoryAllocation;
	if (stage)
		src = memcpy(&c->item[1], src, size);
	c->item[0].dst = dst;
	c->item[0].src = src;
	c->item[0].size = size;
	return stream_submit(stream, &(struct work){run_copy, free, c}, wait);
}

int copy_submit_batch(void *const *dst, const void *const *src, const size_t *size, size_t num,
		      cudaStream_t stream)
{
	struct copy *c;

	if (!num || !dst || !src || !size)
		return cudaErrorInvalidValue;
	for (size_t i = 0; i < num; i++)
		if (!dst[i] || !src[i] || !size[i] || side_of(dst[i], size[i]) == SIDE_BAD ||
		    side_of(src[i], size[i]) == SIDE_BAD)
			return cudaErrorInvalidValue;
	c = copy_new(num, 0);
	if (!c)
		return cudaErrorMemoryAllocation;
	for (size_t i = 0; i < num; i++) {
		c->item[i].dst = dst[i];
		c->item[i].src = src[i];
		c->item[i].size = size[i];
	}
	return stream_submit(stream, &(struct work){run_copy, free, c}, false);
}

int fill_submit(void *dst, unsigned int value, unsigned int unit, size_t size, cudaStream_t stream,
		bool wait)
{
	enum side side;
	struct fill *f;

	if (!size)
		return cudaSuccess;
	side = dst ? side_of(dst, size) : SIDE_BAD;
	if (side == SIDE_BAD || side == SIDE_HOST)
		return cudaErrorInvalidValue;
	f = malloc(sizeof(*f));
	if (!f)
		return cudaErrorMemoryAllocation;
	*f = (struct fill){dst, value, unit, size};
	return stream_submit(stream, &(struct work){run_fill, free, f}, wait);
}
