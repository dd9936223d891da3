/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* timer.c - deadlines of connections: a binary heap with the earliest one at its top. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "cma/cma.h"

#define NOT_THERE SIZE_MAX

uint64_t cma_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int cma_timer_room(void)
{
	size_t n = cma.heap_room ? 2 * cma.heap_room : 64;
	struct cma_conn **heap;

	if (cma.num_conns < cma.heap_room)
		return 0;
	heap = realloc(cma.heap, n * sizeof(struct cma_conn *));
	if (!heap)
		return ENOMEM;
	cma.heap = heap;
	cma.heap_room = n;
	return 0;
}

static void heap_put(size_t i, struct cma_conn *c)
{
	cma.heap[i] = c;
	c->timer = i;
}

static void heap_up(size_t i, struct cma_conn *c)
{
	for (; i && cma.heap[(i - 1) / 2]->deadline > c->deadline; i = (i - 1) / 2)
		heap_put(i, cma.heap[(i - 1) / 2]);
	heap_put(i, c);
}

static void heap_down(size_t i, struct cma_conn *c)
{
	size_t k;

	while ((k = 2 * i + 1) < cma.heap_len) {
		if (k + 1 < cma.heap_len && cma.heap[k + 1]->deadline < cma.heap[k]->deadline)
			k++;
		if (cma.heap[k]->deadline >= c->deadline)
			break;
		heap_put(i, cma.heap[k]);
		i = k;
	}
	heap_put(i, c);
}

static void heap_take_out(struct cma_conn *c)
{
	size_t i = c->timer;
	struct cma_conn *last;

	c->timer = NOT_THERE;
	last = cma.heap[--cma.heap_len];
	if (last == c)
		return;
	if (i && cma.heap[(i - 1) / 2]->deadline > last->deadline)
		heap_up(i, last);
	else
		heap_down(i, last);
}

void cma_timer_set(struct cma_conn *c, uint64_t deadline)
{
	const bool first = !cma.heap_len || deadline < cma.heap[0]->deadline;

	if (c->timer != NOT_THERE)
		heap_take_out(c);
	c->deadline = deadline;
	if (deadline == DPA_CM_NEVER)
		return;
	heap_up(cma.heap_len++, c);
	if (first)
		cma_engine_wake();
}

struct cma_conn *cma_timer_first(void)
{
	return cma.heap_len ? cma.heap[0] : NULL;
}
