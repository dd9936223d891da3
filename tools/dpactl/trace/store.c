/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* store.c - the events of a recording: see store.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../dpactl.h"
#include "store.h"

#define ROOM 65536u

void store_init(struct store *s, size_t max)
{
	memset(s, 0, sizeof(*s));
	s->max = max;
}

static void make_event_room(struct store *s, size_t n)
{
	struct trace_rec *rec;

	if (s->n + n <= s->room)
		return;
	s->room = 2 * s->room + n + ROOM;
	rec = realloc(s->rec, s->room * sizeof(*rec));
	if (!rec)
		die(EXIT_NONE, "no memory for %zu events", s->room);
	s->rec = rec;
}

void store_thread(struct store *s, uint32_t proc, uint32_t tid, const char name[16])
{
	struct trace_thread *t = NULL;

	for (size_t i = 0; i < s->threads && !t; i++)
		if (s->thread[i].proc == proc && s->thread[i].tid == tid)
			t = &s->thread[i];
	if (!t) {
		t = need_memory(realloc(s->thread, (s->threads + 1) * sizeof(*t)));
		s->thread = t;
		t += s->threads++;
	}
	*t = (struct trace_thread){.proc = proc, .tid = tid};
	memcpy(t->name, name, sizeof(t->name));
	printable(t->name, sizeof(t->name));
}

static void take_name(struct store *s, uint32_t proc, const struct trace_event *e)
{
	const uint32_t xy[2] = {e->x, e->y};
	char name[16];

	memcpy(name, xy, 8);
	memcpy(name + 8, &e->z, 8);
	store_thread(s, proc, e->object, name);
}

static void drain_ring(struct store *s, uint32_t proc, uint32_t i)
{
	static struct trace_event e[DPA_TRACE_EVENTS];
	struct trace_proc *p = &s->proc[proc];
	struct dpa_trace_ring *r = &p->shm->ring[i];
	uint32_t n = trace_ring_read(r, &p->tail[i], e, DPA_TRACE_EVENTS, &s->lost);

	atomic_store_explicit(&r->tail, p->tail[i], memory_order_release);
	if (n && !p->tid[i]) {
		p->tid[i] = atomic_load_explicit(&r->tid, memory_order_relaxed);
		store_thread(s, proc, p->tid[i], (const char[16]){""});
	}
	make_event_room(s, n);
	for (uint32_t k = 0; k < n; k++) {
		if (e[k].kind == DPA_TRACE_THREAD) {
			p->tid[i] = e[k].object;
			take_name(s, proc, &e[k]);
		} else if (s->n == s->max) {
			s->beyond++;
		} else if (e[k].kind && e[k].kind < DPA_TRACE_KINDS) {
			s->rec[s->n++] = (struct trace_rec){
				.e = e[k], .tid = p->tid[i], .proc = (uint16_t)proc};
		}
	}
}

void store_drain(struct store *s, uint32_t proc)
{
	struct dpa_trace_shm *shm = s->proc[proc].shm;
	uint32_t used = atomic_load_explicit(&shm->used, memory_order_acquire);

	for (uint32_t i = 0; i < used && i < DPA_TRACE_RINGS; i++)
		drain_ring(s, proc, i);
}

/* ---------------------------------------------------------------------- time */

static uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return now_ns();
#endif
}

/* The pair whose two readings were closest together, of some: between them others may run. */
void store_clock(struct store *s, bool first)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t a = ticks_now(), ns = now_ns(), b = ticks_now();

		if (b - a >= best)
			continue;
		best = b - a;
		s->last.ticks = a + (b - a) / 2;
		s->last.ns = ns;
	}
	if (first)
		s->first = s->last;
}

uint64_t store_ns(const struct store *s, uint64_t ticks)
{
	const uint64_t dt = s->last.ticks - s->first.ticks, dn = s->last.ns - s->first.ns;
	const bool after = ticks >= s->first.ticks;
	uint64_t d = after ? ticks - s->first.ticks : s->first.ticks - ticks;

	if (!s->has_clock || s->clock == DPA_TRACE_CLOCK_NS || !dt)
		return ticks;
	d = (uint64_t)((unsigned __int128)d * dn / dt);
	return after ? s->first.ns + d : s->first.ns > d ? s->first.ns - d : 0;
}

static int by_event_time(const void *a, const void *b)
{
	const struct trace_rec *x = a, *y = b;

	if (x->e.at != y->e.at)
		return x->e.at < y->e.at ? -1 : 1;
	return (x > y) - (x < y);
}

void store_sort(struct store *s)
{
	if (s->n)
		qsort(s->rec, s->n, sizeof(*s->rec), by_event_time);
}

void store_free(struct store *s)
{
	free(s->rec);
	free(s->thread);
}
