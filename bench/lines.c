/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lines.c - the cache lines that move between threads, and the accesses that move them: a
 * replacement for perf c2c on machines without processor counters.
 *
 * It replaces the run-time library of ThreadSanitizer, whose calls report each access. A line is
 * with the threads that read it since it was last written, or only with its writer, as if each
 * thread had its own processor with an endless cache. A read by another thread is a fetch; a write
 * while it is with other threads takes it away from them. Accesses of code that was not compiled
 * for ThreadSanitizer, the kernel's and those in assembly are not seen.
 *
 * At the end of the process $LINES_OUT gets a row for each place in the program that moved a line:
 * line, its moves; offset, kind (R, W), thread, moves, accesses, file of the code, offset in it
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LOG_LINES 19u
#define SITES	  24u
#define LINE	  64u

/* gcc requires these names and types, but no prototypes. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"

struct site {
	uintptr_t pc;
	uint8_t off, write, thread;
	uint64_t accesses, moves;
};

struct line {
	uintptr_t at; /* address / LINE, 0: free */
	uint32_t with;
	uint64_t moves;
	struct site site[SITES];
};

static struct line *lines; /* all under `lock` */
static int lock, nthreads;
static bool over;
static __thread int me;

static void take_lock(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void drop_lock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static struct line *find_line(uintptr_t at)
{
	for (uint32_t i = (uint32_t)(at * 0x9e3779b97f4a7c15ull >> (64 - LOG_LINES)), n = 0; n < 64;
	     n++, i = (i + 1) % (1u << LOG_LINES)) {
		if (!lines[i].at)
			lines[i].at = at;
		if (lines[i].at == at)
			return &lines[i];
	}
	return NULL; /* not counted */
}

static void at_site(struct line *l, uintptr_t pc, uint8_t off, bool write, bool moved)
{
	for (uint32_t i = 0; i < SITES; i++) {
		struct site *s = &l->site[i];

		if (!s->pc)
			*s = (struct site){
				.pc = pc, .off = off, .write = write, .thread = (uint8_t)me};
		if (s->pc != pc || s->off != off || s->write != write || s->thread != me)
			continue;
		s->accesses++;
		s->moves += moved;
		return;
	}
}

static void one_line(uintptr_t addr, bool write, uintptr_t pc)
{
	struct line *l = find_line(addr / LINE);
	const uint32_t mine = 1u << me;
	bool moved;

	if (!l)
		return;
	/* a line that no thread had before moves from no thread */
	moved = l->with && (write ? l->with != mine : !(l->with & mine));
	l->with = write ? mine : l->with | mine;
	l->moves += moved;
	at_site(l, pc, (uint8_t)(addr % LINE), write, moved);
}

static void note_access(const void *p, size_t n, bool write, void *pc)
{
	uintptr_t addr = (uintptr_t)p;

	if (!n || over)
		return;
	take_lock();
	if (!me)
		me = nthreads < 31 ? ++nthreads : 31;
	if (!lines) {
		lines = mmap(NULL, sizeof(*lines) << LOG_LINES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		over = lines == MAP_FAILED;
	}
	for (uintptr_t end = addr + n; addr < end && !over; addr = (addr / LINE + 1) * LINE)
		one_line(addr, write, (uintptr_t)pc);
	drop_lock();
}

static void print_site(FILE *f, const struct line *l, const struct site *s)
{
	Dl_info info;

	if (!dladdr((void *)s->pc, &info))
		return;
	fprintf(f, "%lx %lu %u %c %u %lu %lu %s %lx\n", (unsigned long)(l->at * LINE),
		(unsigned long)l->moves, s->off, s->write ? 'W' : 'R', s->thread,
		(unsigned long)s->moves, (unsigned long)s->accesses, info.dli_fname,
		(unsigned long)(s->pc - 1 - (uintptr_t)info.dli_fbase));
}

static __attribute__((destructor)) void report(void)
{
	const char *out = getenv("LINES_OUT");
	FILE *f;

	take_lock();
	over = true;
	drop_lock();
	f = out && lines ? fopen(out, "w") : NULL;
	if (!f)
		return;
	for (uint32_t i = 0; i < 1u << LOG_LINES; i++)
		for (uint32_t k = 0; lines[i].moves && k < SITES && lines[i].site[k].pc; k++)
			print_site(f, &lines[i], &lines[i].site[k]);
	fclose(f);
}

/* ------------------------------------------------- called by the compiler */

#define PC __builtin_return_address(0)

void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void)
{
}

#define ACCESS(name, n, write)                                                                     \
	void __tsan_##name##n(void *p)                                                             \
	{                                                                                          \
		note_access(p, n, write, PC);                                                      \
	}
#define PLAIN(n)                                                                                   \
	ACCESS(read, n, false)                                                                     \
	ACCESS(write, n, true)                                                                     \
	ACCESS(unaligned_read, n, false)                                                           \
	ACCESS(unaligned_write, n, true)
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *p, unsigned long n)
{
	note_access(p, n, false, PC);
}

void __tsan_write_range(void *p, unsigned long n)
{
	note_access(p, n, true, PC);
}

#define RMW(bits, type, name)                                                                      \
	type __tsan_atomic##bits##_##name(volatile type *p, type v, int order)                     \
	{                                                                                          \
		(void)order;                                                                       \
		note_access((const void *)p, sizeof(*p), true, PC);                                \
		return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                    \
	}
#define CAS(bits, type, kind)                                                                      \
	int __tsan_atomic##bits##_compare_exchange_##kind(volatile type *p, type *was, type v,     \
							  int order, int fail)                     \
	{                                                                                          \
		(void)order;                                                                       \
		(void)fail;                                                                        \
		note_access((const void *)p, sizeof(*p), true, PC);                                \
		return __atomic_compare_exchange_n(p, was, v, false, __ATOMIC_SEQ_CST,             \
						   __ATOMIC_SEQ_CST);                              \
	}
#define ATOMIC(bits, type)                                                                         \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)                         \
	{                                                                                          \
		(void)order;                                                                       \
		note_access((const void *)p, sizeof(*p), false, PC);                               \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                       \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                      \
	{                                                                                          \
		(void)order;                                                                       \
		note_access((const void *)p, sizeof(*p), true, PC);                                \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                          \
	}                                                                                          \
	type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order)                   \
	{                                                                                          \
		(void)order;                                                                       \
		note_access((const void *)p, sizeof(*p), true, PC);                                \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                \
	}                                                                                          \
	CAS(bits, type, strong)                                                                    \
	CAS(bits, type, weak)                                                                      \
	RMW(bits, type, fetch_add)                                                                 \
	RMW(bits, type, fetch_sub)                                                                 \
	RMW(bits, type, fetch_and)                                                                 \
	RMW(bits, type, fetch_or)                                                                  \
	RMW(bits, type, fetch_xor)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	void *t = to;

	note_access(from, n, false, PC);
	note_access(to, n, true, PC);
	__asm__ volatile("rep movsb" : "+D"(t), "+S"(from), "+c"(n)::"memory");
	return to;
}

void *memset(void *to, int v, size_t n)
{
	void *t = to;

	note_access(to, n, true, PC);
	__asm__ volatile("rep stosb" : "+D"(t), "+c"(n) : "a"(v) : "memory");
	return to;
}
