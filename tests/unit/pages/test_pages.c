/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_pages.c - private anonymous memory into a memfd in place, and back: no byte is lost, and it
 * is private.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "direct/pages.h"

#define ROOM  (1ull << 36)
#define BYTES (1ull << 62)
#define OFF   (3 * ROOM)
#define N     (600u * 4096) /* more than is copied at a time */

static struct dpa_pages pages;

static void setup(void)
{
	int err = dpa_pages_open(&pages, BYTES);

	if (err == EOPNOTSUPP)
		cr_skip_test("no MADV_POPULATE_WRITE, other pages, or a limit on files");
	cr_assert_eq(err, 0);
}

static uint8_t *anon(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

static enum dpa_share_why may(const void *p, size_t n)
{
	return dpa_pages_may(&pages, (uintptr_t)p, (uintptr_t)p + n, NULL, 0);
}

static int into(const void *p, size_t n)
{
	return dpa_pages_share(&pages, (uintptr_t)p, (uintptr_t)p + n, OFF);
}

static int out(const void *p, size_t n, enum dpa_back how)
{
	return dpa_pages_unshare(&pages, (uintptr_t)p, OFF, n, ROOM, how);
}

static uint8_t byte_of(size_t i)
{
	return (uint8_t)(i * 7 + i / 4096);
}

static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = byte_of(i);
}

static bool is_filled(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != byte_of(i))
			return false;
	return true;
}

static uint64_t blocks(void)
{
	struct stat st;

	cr_assert_eq(fstat(pages.fd, &st), 0);
	return (uint64_t)st.st_blocks;
}

/* Get the line of /proc/self/maps with the address. */
static void line_of(const void *p, char *line, int len)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to;

	cr_assert(f);
	while (fgets(line, len, f))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)p >= from &&
		    (uintptr_t)p < to)
			break;
	fclose(f);
}

static void expect_anonymous(const void *p)
{
	char line[512];

	line_of(p, line, sizeof(line));
	cr_expect(strstr(line, " rw-p 00000000 00:00 0"), "%s", line);
}

/* Check that the parent does not see a child's change. */
static void expect_private(volatile uint8_t *p)
{
	uint8_t was = *p;
	int status;
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (!pid) {
		*p = (uint8_t)~was;
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(*p, was);
}

Test(pages, there_and_back)
{
	for (int how = DPA_BACK_COPIED; how <= DPA_BACK_PLACED; how++) {
		uint8_t *p, *m;

		setup();
		p = anon(N);
		fill(p, N);
		cr_expect_eq(may(p, N), DPA_SHARE_YES);
		cr_assert_eq(into(p, N), 0);
		m = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_SHARED, pages.fd, (off_t)OFF);
		cr_assert_neq(m, MAP_FAILED);
		cr_expect(is_filled(p, N) && is_filled(m, N));
		m[5] ^= 0xff;
		p[N - 1] ^= 0xff;
		cr_expect_eq(p[5], m[5]);
		cr_expect_eq(p[N - 1], m[N - 1]);
		munmap(m, N); /* as share.c does: the device's own mapping is removed first */
		cr_assert_eq(out(p, N, (enum dpa_back)how), 0);
		m = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_SHARED, pages.fd, (off_t)OFF);
		cr_expect_eq(blocks(), 0u, "the memfd keeps nothing");
		p[5] ^= 0xff;
		p[N - 1] ^= 0xff;
		cr_expect(is_filled(p, N));
		m[77] = (uint8_t)~p[77]; /* late: no effect */
		cr_expect(is_filled(p, N));
		if (how == DPA_BACK_COPIED)
			expect_anonymous(p);
		expect_private(p + 4096);
		/* and it may be converted again */
		munmap(m, N);
		cr_expect_eq(may(p, N), DPA_SHARE_YES);
		cr_assert_eq(dpa_pages_share(&pages, (uintptr_t)p, (uintptr_t)p + N, 2 * OFF), 0);
		cr_expect(is_filled(p, N));
		cr_assert_eq(
			dpa_pages_unshare(&pages, (uintptr_t)p, 2 * OFF, N, ROOM, DPA_BACK_COPIED),
			0);
		expect_anonymous(p);
		cr_expect(is_filled(p, N));
		munmap(p, N);
		close(pages.fd);
	}
}

/* Untouched pages cost nothing, before and afterwards. */
Test(pages, untouched_memory_stays_untouched)
{
	const size_t n = 64u << 20;
	unsigned char seen[(64u << 20) / 4096];
	uint64_t there = 0;
	uint8_t *p;

	setup();
	p = anon(n);
	p[100 * 4096] = 1;
	cr_assert_eq(into(p, n), 0);
	cr_expect_leq(blocks(), 8u);
	cr_expect_eq(p[100 * 4096], 1);
	cr_assert_eq(out(p, n, DPA_BACK_COPIED), 0);
	cr_assert_eq(mincore(p, n, seen), 0);
	for (size_t i = 0; i < sizeof(seen); i++)
		there += seen[i] & 1;
	cr_expect_leq(there, 2u);
	cr_expect_eq(p[100 * 4096], 1);
}

/* The allocator frees pages and relies on zeros. */
Test(pages, dontneed_reads_zeros_again_when_it_is_private)
{
	for (int how = DPA_BACK_COPIED; how <= DPA_BACK_PLACED; how++) {
		uint8_t *p;

		setup();
		p = anon(N);
		fill(p, N);
		cr_assert_eq(into(p, N), 0);
		cr_assert_eq(out(p, N, (enum dpa_back)how), 0);
		cr_assert_eq(madvise(p, N, MADV_DONTNEED), 0);
		for (size_t i = 0; i < N; i++)
			cr_assert_eq(p[i], 0);
		p[0] = 1;
		expect_private(p);
	}
}

Test(pages, realloc_by_mremap_grows_with_zeros)
{
	for (int how = DPA_BACK_COPIED; how <= DPA_BACK_PLACED; how++) {
		uint8_t *p;

		setup();
		p = anon(N);
		fill(p, N);
		cr_assert_eq(into(p, N), 0);
		cr_assert_eq(out(p, N, (enum dpa_back)how), 0);
		p = mremap(p, N, 3 * N, MREMAP_MAYMOVE);
		cr_assert_neq(p, MAP_FAILED);
		cr_expect(is_filled(p, N));
		for (size_t i = N; i < 3 * N; i++)
			cr_assert_eq(p[i], 0);
	}
}

/* The application unmaps, moves, grows and protects shared memory. */
Test(pages, changes_of_the_application_meanwhile_survive)
{
	for (int how = DPA_BACK_COPIED; how <= DPA_BACK_PLACED; how++) {
		uint8_t *p, *q, *other;

		setup();
		p = anon(N);
		fill(p, N);
		cr_assert_eq(into(p, N), 0);
		/* a hole with other memory in it, a part moved and grown, one read-only */
		munmap(p + 4096, 4096);
		other = mmap(p + 4096, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		other[0] = 99;
		q = mremap(p + N / 2, N / 2, N, MREMAP_MAYMOVE);
		cr_assert_neq(q, MAP_FAILED);
		q[N - 1] = 42;
		mprotect(p + 8192, 4096, PROT_READ);
		mprotect(p + 12288, 4096, PROT_NONE);
		cr_assert_eq(out(p, N, (enum dpa_back)how), 0);
		cr_expect_eq(other[0], 99);
		cr_expect(is_filled(p, 4096));
		cr_expect(!memcmp(p + 8192, (uint8_t[]){byte_of(8192)}, 1));
		for (size_t i = 0; i < N / 2; i++)
			cr_assert_eq(q[i], byte_of(N / 2 + i));
		cr_expect_eq(q[N - 1], 42);
		expect_private(q);
		expect_private(q + N - 1);
		mprotect(p + 12288, 4096, PROT_READ);
		cr_expect_eq(p[12288], byte_of(12288));
		cr_expect_eq(blocks(), 0u);
	}
}

/* All of it is unmapped. */
Test(pages, unmapped_altogether)
{
	uint8_t *p;

	setup();
	p = anon(N);
	fill(p, N);
	cr_assert_eq(into(p, N), 0);
	munmap(p, N);
	cr_assert_eq(out(p, N, DPA_BACK_COPIED), 0);
	cr_expect_eq(blocks(), 0u);
}

struct storer {
	uint64_t *at;
	_Atomic bool over;
	uint64_t n, lost;
};

/* Its last store is visible, with any memory under the page. */
static void *storer(void *arg)
{
	struct storer *s = arg;

	for (uint64_t i = 0; !atomic_load(&s->over); i++) {
		uint64_t *w = &s->at[i % 64 * 512];

		s->lost += __atomic_load_n(w, __ATOMIC_RELAXED) != s->n;
		if (i % 64 == 63)
			s->n++;
		__atomic_store_n(w, i % 64 == 63 ? s->n : s->n + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

Test(pages, threads_lose_no_store_when_it_is_placed_back)
{
	struct storer s = {0};
	uint64_t *p;
	pthread_t t;

	setup();
	for (int round = 0; round < 200; round++) {
		p = (uint64_t *)(void *)anon(64 * 4096);
		memset(p, 0, 64 * 4096);
		cr_assert_eq(dpa_pages_share(&pages, (uintptr_t)p, (uintptr_t)p + 64 * 4096,
					     (uint64_t)(round + 1) * ROOM),
			     0);
		s = (struct storer){.at = p};
		cr_assert_eq(pthread_create(&t, NULL, storer, &s), 0);
		while (!__atomic_load_n(&p[0], __ATOMIC_RELAXED))
			;
		cr_assert_eq(dpa_pages_unshare(&pages, (uintptr_t)p, (uint64_t)(round + 1) * ROOM,
					       64 * 4096, ROOM, DPA_BACK_PLACED),
			     0);
		usleep(100);
		atomic_store(&s.over, true);
		pthread_join(t, NULL);
		cr_assert_eq(s.lost, 0u, "round %d: %lu stores", round, (unsigned long)s.lost);
		munmap(p, 64 * 4096);
	}
}

/* The child's copy leaves the parent's pages in place. */
Test(pages, a_child_makes_its_own)
{
	int status, go[2];
	uint8_t *p, c;
	pid_t pid;

	setup();
	p = anon(N);
	fill(p, N);
	cr_assert_eq(into(p, N), 0);
	cr_assert_eq(pipe(go), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		if (out(p, N, DPA_BACK_CHILD))
			_exit(1);
		p[3] ^= 0xff;
		if (write(go[1], "", 1) != 1)
			_exit(2);
		usleep(20000);
		_exit(p[4] == byte_of(4) && p[4096] == byte_of(4096) ? 0 : 3);
	}
	cr_assert_eq(read(go[0], &c, 1), 1);
	cr_expect(is_filled(p, N));
	p[4] = (uint8_t)~p[4];
	p[4096] = (uint8_t)~p[4096];
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}

/* ---------------------------------------------------------------- refusals */

static char in_bss[3 * 4096] __attribute__((aligned(4096)));

Test(pages, what_may_not_be_converted)
{
	char on_stack[3 * 4096];
	char *s = (char *)(((uintptr_t)on_stack + 4095) & ~4095ul);
	uint8_t *p;
	int fd;

	setup();
	cr_expect_eq(may(s, 4096), DPA_SHARE_STACK);
	p = anon(3 * 4096);
	mprotect(p + 4096, 4096, PROT_READ);
	cr_expect_eq(may(p, 3 * 4096), DPA_SHARE_NOT_ANON);
	cr_expect_eq(may(p, 4096), DPA_SHARE_YES);
	munmap(p + 4096, 4096);
	cr_expect_eq(may(p, 3 * 4096), DPA_SHARE_NOT_ANON);
	cr_expect_eq(may(p + 4096, 4096), DPA_SHARE_NOT_ANON);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_expect_eq(may(p, 4096), DPA_SHARE_NOT_ANON);
	fd = open("/proc/self/exe", O_RDONLY);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_expect_eq(may(p, 4096), DPA_SHARE_NOT_ANON);
	p = anon(2 * 4096);
	cr_expect_eq(dpa_pages_may(&pages, (uintptr_t)p, (uintptr_t)p + 8192,
				   &(uint64_t){(uintptr_t)p + 5000}, 1),
		     DPA_SHARE_STACK);
	(void)in_bss;
}

/* A thread with data on its stack, running or asleep. */
struct sits {
	uint8_t *on; /* whole pages of outer frames */
	enum dpa_share_why own, below;
	sem_t there, go;
	bool runs;
	_Atomic bool over;
};

static void look(struct sits *s)
{
	char here;

	s->own = may(s->on, 2 * 4096);
	s->below = may((void *)(((uintptr_t)&here - 8 * 4096) & ~4095ul), 4096);
}

static void *sits(void *arg)
{
	uint8_t outer[4 * 4096];
	struct sits *s = arg;

	memset(outer, 1, sizeof(outer));
	s->on = (uint8_t *)(((uintptr_t)outer + 4095) & ~4095ul);
	look(s);
	sem_post(&s->there);
	while (s->runs && !atomic_load(&s->over))
		;
	while (!s->runs && sem_wait(&s->go))
		;
	return outer[5] == 1 ? NULL : s;
}

static void expect_no_stack_may(const pthread_attr_t *attr, bool runs, uint8_t *given, size_t n)
{
	struct sits s = {.runs = runs};
	pthread_t thread;
	void *ret;

	sem_init(&s.there, 0, 0);
	sem_init(&s.go, 0, 0);
	cr_assert_eq(pthread_create(&thread, attr, sits, &s), 0);
	while (sem_wait(&s.there))
		;
	cr_expect_eq(s.own, DPA_SHARE_STACK, "outer frames of its own");
	cr_expect_eq(s.below, DPA_SHARE_STACK, "what it has not come to yet");
	cr_expect_eq(may(s.on, 4096), DPA_SHARE_STACK, "another one's that %s",
		     runs ? "runs" : "sleeps");
	if (given) {
		cr_expect_eq(may(given, n), DPA_SHARE_STACK, "all of it");
		cr_expect_eq(may(given, 4096), DPA_SHARE_STACK, "its far end");
	}
	atomic_store(&s.over, true);
	sem_post(&s.go);
	pthread_join(thread, &ret);
	cr_expect_null(ret);
}

Test(pages, a_threads_stack_may_not)
{
	enum { STACK = 512 * 4096 }; /* sanitizers want a MiB */
	pthread_attr_t attr;
	uint8_t *p, *given;

	setup();
	for (int runs = 0; runs < 2; runs++)
		expect_no_stack_may(NULL, runs, NULL, 0);
	p = anon(2 * 4096 + STACK + 2 * 4096);
	given = p + 2 * 4096;
	cr_assert_eq(mprotect(p + 4096, 4096, PROT_NONE), 0);
	pthread_attr_init(&attr);
	cr_assert_eq(pthread_attr_setstack(&attr, given, STACK), 0);
	for (int runs = 0; runs < 2; runs++)
		expect_no_stack_may(&attr, runs, given, STACK);
	pthread_attr_destroy(&attr);
	cr_expect_eq(may(given, STACK), DPA_SHARE_YES, "nobody's any more");
	munmap(p, 2 * 4096 + STACK + 2 * 4096);
}

/* The application's own memory may be exchanged, although it is one mapping with a stack. */
static void *beside(void *arg)
{
	enum dpa_share_why *why = arg;
	pthread_attr_t attr;
	size_t size;
	void *base;

	cr_assert_eq(pthread_getattr_np(pthread_self(), &attr), 0);
	pthread_attr_getstack(&attr, &base, &size);
	pthread_attr_destroy(&attr);
	*why = may((uint8_t *)base + size + 4096, 4096);
	return NULL;
}

Test(pages, what_lies_above_a_stack_may)
{
	enum { STACK = 512 * 4096 }; /* sanitizers want a MiB */
	enum dpa_share_why why = DPA_SHARE_NUM;
	pthread_attr_t attr;
	pthread_t thread;
	uint8_t *p;

	setup();
	p = anon(STACK + 4 * 4096);
	pthread_attr_init(&attr);
	cr_assert_eq(pthread_attr_setstack(&attr, p, STACK), 0);
	cr_assert_eq(pthread_create(&thread, &attr, beside, &why), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	cr_expect_eq(why, DPA_SHARE_YES);
	munmap(p, STACK + 4 * 4096);
}

Test(pages, the_heap_may)
{
	void *top = sbrk(0);
	uint8_t *p;

	setup();
	cr_assert_neq(sbrk(16 * 4096), (void *)-1);
	p = (uint8_t *)(((uintptr_t)top + 4095) & ~4095ul);
	fill(p, 8 * 4096);
	cr_expect_eq(may(p, 8 * 4096), DPA_SHARE_YES);
	cr_assert_eq(into(p, 8 * 4096), 0);
	cr_expect(is_filled(p, 8 * 4096));
	cr_assert_neq(sbrk(4096), (void *)-1);
	cr_assert_eq(out(p, 8 * 4096, DPA_BACK_COPIED), 0);
	cr_expect(is_filled(p, 8 * 4096));
	cr_assert_neq(sbrk(64 * 4096), (void *)-1);
}

Test(pages, a_limit_on_files_is_no_signal)
{
	struct rlimit l = {1 << 20, 1 << 20};
	struct dpa_pages p;

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
	cr_expect_eq(dpa_pages_open(&p, BYTES), EOPNOTSUPP);
	cr_expect_eq(p.fd, -1);
}

static bool is_pending(int sig)
{
	sigset_t set;

	cr_assert_eq(sigpending(&set), 0);
	return sigismember(&set, sig);
}

/* The caller blocks signals: the one of the write that failed must not wait for it. */
Test(pages, a_limit_between_the_check_and_the_write_leaves_no_signal)
{
	uint8_t *p = anon(N);
	struct rlimit l;
	sigset_t xfsz;

	setup();
	fill(p, N);
	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	cr_assert_eq(sigprocmask(SIG_BLOCK, &xfsz, NULL), 0);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &l), 0);
	l.rlim_cur = OFF + N / 2; /* a part of it can be written */
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
	cr_expect_eq(into(p, N), EFBIG);
	cr_expect_not(is_pending(SIGXFSZ));
	cr_expect(is_filled(p, N));
	raise(SIGXFSZ);
	cr_expect_eq(into(p, N), EFBIG);
	cr_expect(is_pending(SIGXFSZ), "the program's own");
	sigwaitinfo(&xfsz, NULL);
}

Test(pages, sealed)
{
	setup();
	cr_expect_eq(fcntl(pages.fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
		     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	cr_expect_neq(ftruncate(pages.fd, 4096), 0);
}

Test(pages, status)
{
	struct dpa_proc_status s;

	cr_assert(dpa_proc_status(&s));
	cr_expect_geq(s.threads, 1u);
	cr_expect_eq(s.pinned, 0u);
	cr_expect_eq(s.locked, 0u);
	/* sanitizers turn mlock() into a no-op */
	cr_assert_eq(syscall(SYS_mlock, in_bss, 4096ul), 0);
	cr_assert(dpa_proc_status(&s));
	cr_expect_geq(s.locked, 4u);
}

/* Memory that the kernel would keep from the user's other processes is not exchanged. */
Test(pages, open_to_the_user)
{
	bool was = dpa_proc_open_to_user(true);

	cr_expect(dpa_yama_opens(0, false) && dpa_yama_opens(0, true));
	cr_expect(!dpa_yama_opens(1, false) && dpa_yama_opens(1, true));
	cr_expect(!dpa_yama_opens(2, true) && !dpa_yama_opens(3, true));
	cr_expect(!dpa_yama_opens('?' - '0', true), "nothing that is not known");
	cr_assert_eq(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
	cr_expect_not(dpa_proc_open_to_user(true));
	cr_assert_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	cr_expect_eq(dpa_proc_open_to_user(true), was);
}
