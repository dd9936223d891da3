/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_pages_cases.c - changes of an application to the pages of memory that it has registered: they
 * have the same effect as on other memory, also if a device shares the pages with peers, except for
 * the differences that docs/conformance.md lists. Side 1 owns the memory, side 0 writes.
 */
#include "vt_maps.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AREA = 1 << 20, PAGE = 4096 };

static const struct vt_opt rc = {.len = AREA};

/* Side 0 writes n bytes of value there, alone; both sides continue when it is done. */
static void put(struct vt *t, uint64_t off, uint32_t n, uint8_t value)
{
	if (t->side == 0) {
		memset(t->buf, value, n);
		/* the first one may set up a shorter path for the others */
		for (int i = 0; i < 3; i++) {
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, off, n, 5, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, 5, IBV_WC_SUCCESS);
		}
	}
	vt_sync(t);
}

/* Do the same for memory that is unmapped: an error. */
static void put_nowhere(struct vt *t, uint64_t off, uint32_t n)
{
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, off, n, 6, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 6, IBV_WC_REM_ACCESS_ERR);
	}
	vt_sync(t);
	vt_reconnect(t, &rc);
}

static bool is_all(const uint8_t *p, size_t n, uint8_t value)
{
	for (size_t i = 0; i < n; i++)
		if (((const volatile uint8_t *)p)[i] != value)
			return false;
	return true;
}

/* True if the parent sees the bytes that a child stored. */
static bool child_writes(uint8_t *p, pid_t (*make)(void))
{
	const uint8_t was = *(volatile uint8_t *)p, other = was ^ 0xff;
	bool seen;
	int status;
	pid_t pid = make();

	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		*(volatile uint8_t *)p = other;
		_exit(*(volatile uint8_t *)p == other ? 0 : 1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	seen = *(volatile uint8_t *)p == other;
	*(volatile uint8_t *)p = was;
	return seen;
}

static void expect_private(uint8_t *p, const char *when)
{
	CHECK(!child_writes(p, fork), "a child wrote to its parent's memory %s", when);
}

static void dereg(struct vt *t)
{
	CHECK_EQ(ibv_dereg_mr(t->mr), 0);
	t->mr = NULL;
}

static uint8_t *anon(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

/* ------------------------------------------------------------------- munmap */

/*
 * The application unmaps registered memory, and maps other memory there: a region covers the memory
 * that is mapped at its addresses.
 */
static void unmapped_behind(struct vt *t, bool known)
{
	uint8_t *p = NULL;

	vt_setup_shared(t, &rc);
	if (t->side == 1)
		vt_expect_shared(t, t->buf, "registered");
	if (known) /* for the peer, which has it mapped then */
		put(t, 0, AREA, 0x11);
	else if (t->side == 1)
		memset(t->buf, 0x11, AREA);
	if (t->side == 1)
		CHECK_EQ(munmap(t->buf + PAGE, AREA - PAGE), 0);
	vt_sync(t);
	put_nowhere(t, AREA / 2, 8);
	put_nowhere(t, AREA / 2, AREA / 4);
	vt_sync(t);
	if (t->side == 1) {
		p = mmap(t->buf + PAGE, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(p == t->buf + PAGE, "mmap");
		memset(p, 0x77, PAGE);
	}
	vt_sync(t);
	put(t, PAGE, 64, 0x78);
	if (t->side == 1) {
		CHECK(is_all(p, 64, 0x78) && is_all(p + 64, PAGE - 64, 0x77), "not what is there");
		dereg(t);
		vt_expect_not_shared(t->buf, "deregistered");
		CHECK(is_all(p + 64, PAGE - 64, 0x77), "somebody else's memory was changed");
		CHECK(is_all(t->buf, PAGE, 0x11), "what was left was changed");
		expect_private(t->buf, "of which a part was unmapped");
		munmap(t->buf, 2 * PAGE);
		t->buf = NULL;
	}
	vt_close(t);
}

static void unmapped(struct vt *t)
{
	unmapped_behind(t, true);
}

static void unmapped_before_its_first_use(struct vt *t)
{
	unmapped_behind(t, false);
}

/* ------------------------------------------------------------------- mremap */

/* It moves and grows, and all of it is private again afterwards. */
static void moved(struct vt *t)
{
	uint8_t *p;

	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		vt_expect_shared(t, t->buf, "registered");
		p = mremap(t->buf, AREA, 2 * AREA, MREMAP_MAYMOVE);
		CHECK(p != MAP_FAILED, "mremap: %s", strerror(errno));
		CHECK(is_all(p, AREA, 0x11) && is_all(p + AREA, AREA, 0), "moved");
		memset(p, 0x22, 2 * AREA);
		CHECK_EQ(munmap(p + AREA, AREA), 0);
		p = mremap(p, AREA, 2 * AREA, MREMAP_MAYMOVE);
		CHECK(p != MAP_FAILED, "mremap: %s", strerror(errno));
		CHECK(is_all(p, AREA, 0x22) && is_all(p + AREA, AREA, 0), "grown again");
		CHECK(mremap(p, 0, AREA, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL,
		      "a second mapping of private memory");
		memset(p, 0x22, 2 * AREA);
		CHECK_EQ(madvise(p + PAGE, AREA, MADV_DONTNEED), 0);
		CHECK(is_all(p + PAGE, AREA, 0), "MADV_DONTNEED");
		memset(p, 0x22, 2 * AREA);
		dereg(t);
		vt_expect_not_shared(p, "moved, deregistered");
		vt_expect_not_shared(p + 2 * AREA - 1, "grown, deregistered");
		CHECK(is_all(p, 2 * AREA, 0x22), "deregistered");
		expect_private(p, "moved");
		expect_private(p + 2 * AREA - 1, "grown");
		munmap(p, 2 * AREA);
		t->buf = NULL;
	}
	vt_close(t);
}

/* ------------------------------------------------------------------ madvise */

/* Return 0 or the errno. EAGAIN: the device's threads could not be quiesced, on a busy machine. */
static int advise(uint8_t *p, size_t n, int advice)
{
	for (int i = 0; madvise(p, n, advice); i++) {
		if (errno != EAGAIN || i == 1000)
			return errno;
		sched_yield();
	}
	return 0;
}

/* While it is registered and afterwards. */
static void advised(struct vt *t)
{
	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		vt_expect_shared(t, t->buf, "registered");
		CHECK_EQ(advise(t->buf, AREA / 2, MADV_DONTNEED), 0);
		CHECK(is_all(t->buf, AREA / 2, 0), "MADV_DONTNEED");
		CHECK(is_all(t->buf + AREA / 2, AREA / 2, 0x11), "what was not advised");
		CHECK_EQ(posix_madvise(t->buf + AREA / 2, PAGE, POSIX_MADV_DONTNEED), 0);
		CHECK(is_all(t->buf + AREA / 2, AREA / 2, 0x11), "which the C library ignores");
		CHECK_EQ(advise(t->buf + AREA / 2, PAGE, MADV_FREE), 0);
		CHECK_EQ(advise(t->buf, PAGE, MADV_REMOVE), EINVAL);
		CHECK_EQ(advise(t->buf + 1, PAGE, MADV_DONTNEED), EINVAL);
		vt_expect_shared(t, t->buf, "advised");
		CHECK_EQ(advise(t->buf, PAGE, MADV_WIPEONFORK), 0);
		CHECK_EQ(advise(t->buf, PAGE, MADV_KEEPONFORK), 0);
		CHECK_EQ(vt_pages(t->buf), VT_PRIVATE);
	}
	vt_sync(t);
	put(t, 0, AREA, 0x22);
	if (t->side == 1) {
		CHECK(is_all(t->buf, AREA, 0x22), "written");
		dereg(t);
		CHECK_EQ(vt_pages(t->buf), VT_PRIVATE);
		CHECK(is_all(t->buf, AREA, 0x22), "deregistered");
		CHECK_EQ(advise(t->buf, AREA, MADV_DONTNEED), 0);
		CHECK(is_all(t->buf, AREA, 0), "no zeros");
		CHECK_EQ(advise(t->buf, AREA, MADV_FREE), 0);
		expect_private(t->buf, "after madvise");
	}
	vt_close(t);
}

/* Memory whose properties other pages in its place would lose is not shared. */
static void advised_before(struct vt *t)
{
	uint8_t *p;
	int status;
	pid_t pid;

	if (t->side == 0)
		return;
	vt_open(t);
	p = anon(AREA);
	CHECK_EQ(advise(p, AREA, MADV_WIPEONFORK), 0);
	memset(p, 0x11, AREA);
	t->mr = ibv_reg_mr(t->pd, p, AREA, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(t->mr, "reg_mr: %s", strerror(errno));
	vt_expect_not_shared(p, "registered");
	dereg(t);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid)
		_exit(*(volatile uint8_t *)p);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 0);
	CHECK(is_all(p, AREA, 0x11), "deregistered");
	munmap(p, AREA);
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

/* Peers have the access that is allowed at the time. */
static void protected(struct vt *t)
{
	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		vt_expect_shared(t, t->buf, "registered");
		CHECK_EQ(mprotect(t->buf, AREA / 2, PROT_READ), 0);
		CHECK(is_all(t->buf, AREA, 0x11), "mprotect");
	}
	vt_sync(t);
	put_nowhere(t, 0, 8);
	put_nowhere(t, AREA / 4, AREA / 8);
	if (t->side == 1) {
		CHECK(is_all(t->buf, AREA, 0x11), "it was written to");
		CHECK_EQ(mprotect(t->buf, AREA / 2, PROT_READ | PROT_WRITE), 0);
	}
	vt_sync(t);
	put(t, 0, AREA, 0x22);
	if (t->side == 1) {
		CHECK(is_all(t->buf, AREA, 0x22), "written");
		dereg(t);
		expect_private(t->buf, "deregistered");
	}
	vt_close(t);
}

static void locked(struct vt *t)
{
	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		int ret;

		for (int i = 0; (ret = mlock(t->buf, PAGE)) && errno == EAGAIN && i < 1000; i++)
			sched_yield();
		if (!ret)
			vt_expect_not_shared(t->buf, "locked");
		else /* none may be locked here */
			CHECK(errno == ENOMEM || errno == EPERM, "mlock: %s", strerror(errno));
		CHECK(is_all(t->buf, AREA, 0x11), "locked");
		munlock(t->buf, PAGE);
	}
	vt_sync(t);
	put(t, 0, AREA, 0x22);
	if (t->side == 1)
		CHECK(is_all(t->buf, AREA, 0x22), "written");
	vt_close(t);
}

/* ------------------------------------------------- an allocator with a cache of regions */

enum { HALF = AREA / 2, ROUNDS = 12 };

/* One thread uses the last page of the lower half, which it reads and writes all the time. */
struct toucher {
	uint8_t *at;
	_Atomic bool over;
	uint64_t wrong;
};

static void *touches(void *arg)
{
	struct toucher *w = arg;

	for (uint64_t n = 1; !atomic_load(&w->over); n++) {
		volatile uint64_t *mine = (volatile uint64_t *)(void *)(w->at + HALF - PAGE);

		*mine = n;
		for (size_t i = 0; i < HALF - PAGE; i += PAGE)
			(void)((volatile uint8_t *)w->at)[i]; /* a fault, if it was given back */
		w->wrong += *mine != n;
	}
	return NULL;
}

/*
 * The owner repeatedly gives the lower half back and reads zeros there each time, while the peer
 * writes to the upper half, where no byte is lost. Then the peer writes to the lower half, by the
 * same region.
 */
static void give_back_rounds(struct vt *t, void (*each)(struct vt *t, int round))
{
	const size_t give = HALF - PAGE;
	volatile uint64_t *w = (volatile uint64_t *)(void *)t->buf;

	for (int round = 0; round < ROUNDS; round++) {
		for (uint64_t n = 1; t->side == 0 && n <= 60; n++) {
			uint64_t off = HALF + (n * 4104 % (HALF - 8) & ~7ull);

			w[0] = (uint64_t)round << 32 | n;
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, off, 8, n, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, n, IBV_WC_SUCCESS);
			w[1] = 0;
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_READ, 8, off, 8, n, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, n, IBV_WC_SUCCESS);
			CHECK(w[1] == w[0], "round %d: %llx is there", round,
			      (unsigned long long)w[1]);
		}
		for (int i = 0; t->side == 1 && i < 4; i++) {
			memset(t->buf, 0x55, give);
			CHECK_EQ(advise(t->buf, give, i % 2 ? MADV_FREE : MADV_DONTNEED), 0);
			if (i % 2 == 0)
				CHECK(is_all(t->buf, give, 0), "round %d: old bytes", round);
		}
		if (t->side == 1)
			CHECK_EQ(advise(t->buf, give, MADV_DONTNEED), 0);
		if (each && t->side == 1)
			each(t, round);
		vt_sync(t);
		put(t, PAGE, (uint32_t)give - PAGE, (uint8_t)(round + 1));
		if (t->side == 1)
			CHECK(is_all(t->buf + PAGE, give - PAGE, (uint8_t)(round + 1)) &&
				      is_all(t->buf, PAGE, 0),
			      "round %d: what the peer wrote", round);
		vt_sync(t);
	}
}

static void given_back(struct vt *t)
{
	vt_setup_shared(t, &rc);
	vt_expect_shared(t, t->buf, "registered");
	give_back_rounds(t, NULL);
	vt_expect_shared(t, t->buf, "given back");
	vt_close(t);
}

static void given_back_beside_a_thread(struct vt *t)
{
	struct toucher w = {0};
	pthread_t thread;

	vt_setup_shared(t, &rc);
	vt_expect_shared(t, t->buf, "registered");
	w.at = t->buf;
	if (t->side == 1)
		CHECK_EQ(pthread_create(&thread, NULL, touches, &w), 0);
	give_back_rounds(t, NULL);
	if (t->side == 1) {
		CHECK(mremap(t->buf, AREA, AREA, 0) == t->buf, "mremap: %s", strerror(errno));
		atomic_store(&w.over, true);
		pthread_join(thread, NULL);
		CHECK_EQ(w.wrong, 0);
	}
	vt_close(t);
}

/*
 * While another thread uses the memory it becomes private as a private mapping of a file, where the
 * kernel refuses MADV_FREE. The program's memory is anonymous: it succeeds.
 */
static void given_back_after_the_region(struct vt *t)
{
	struct toucher w = {0};
	pthread_t thread;

	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x33);
	if (t->side == 1) {
		w.at = t->buf;
		CHECK_EQ(pthread_create(&thread, NULL, touches, &w), 0);
		dereg(t);
		vt_expect_not_shared(t->buf, "deregistered");
		CHECK(is_all(t->buf, HALF - PAGE, 0x33), "deregistered");
		CHECK_EQ(advise(t->buf, PAGE, MADV_FREE), 0);
		CHECK(is_all(t->buf, PAGE, 0) || is_all(t->buf, PAGE, 0x33), "MADV_FREE");
		CHECK_EQ(advise(t->buf, HALF - PAGE, MADV_DONTNEED), 0);
		CHECK(is_all(t->buf, HALF - PAGE, 0), "MADV_DONTNEED");
		atomic_store(&w.over, true);
		pthread_join(thread, NULL);
		CHECK_EQ(w.wrong, 0);
		CHECK(is_all(t->buf + HALF, HALF, 0x33), "the rest");
	}
	vt_sync(t);
	vt_close(t);
}

static void forks(struct vt *t, int round)
{
	if (round == ROUNDS / 2)
		expect_private(t->buf + PAGE, "while it is given back");
}

static void given_back_around_a_fork(struct vt *t)
{
	vt_setup_shared(t, &rc);
	give_back_rounds(t, forks);
	if (t->side == 1)
		vt_expect_not_shared(t->buf, "after fork()");
	vt_close(t);
}

/* free() while it is registered, calloc(), and only then the deregistration. */
static void freed_and_taken_again(struct vt *t)
{
	static const size_t lens[] = {4 << 20, 300000, 20000};
	size_t wrong = 0, all = 0;

	if (t->side == 0)
		return;
	vt_open(t);
	for (int i = 0; i < 15; i++) {
		const size_t n = lens[i % 3];
		struct ibv_mr *mr;
		uint8_t *p = malloc(n), *q;

		CHECK(p, "malloc");
		memset(p, 0x5a, n);
		mr = vt_reg_shared(t, p, n);
		free(p);
		q = calloc(1, n);
		CHECK(q, "calloc");
		for (size_t k = 0; k < n; k++)
			wrong += ((volatile uint8_t *)q)[k] != 0;
		all += n;
		memset(q, 0xa5, n);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		CHECK(is_all(q, n, 0xa5), "deregistered");
		free(q);
	}
	CHECK(!wrong, "%zu of %zu bytes of calloc() are not 0", wrong, all);
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

/*
 * free() returns the memory to the kernel past the preload; the next malloc() there returns other
 * memory.
 */
static void freed_and_registered_again(struct vt *t)
{
	struct ibv_mr *first = NULL;
	uint8_t *a = NULL, *b = NULL, *own = NULL;
	uintptr_t was;

	vt_setup(t, &rc);
	if (t->side == 1) {
		own = t->buf;
		dereg(t);
		CHECK(mallopt(M_MMAP_THRESHOLD, 128 << 10), "mallopt");
		a = malloc(AREA);
		CHECK(a, "malloc");
		memset(a, 1, AREA);
		first = vt_reg_shared(t, a, AREA);
		vt_expect_shared(t, a + PAGE, "registered");
		t->me.addr = (uintptr_t)a;
		t->me.rkey = first->rkey;
		t->buf = a;
	}
	vt_put(t, &t->me, sizeof(t->me));
	vt_get(t, &t->peer, sizeof(t->peer));
	put(t, AREA / 8, PAGE, 7); /* the peer maps it */
	if (t->side == 1) {
		was = (uintptr_t)a;
		free(a);
		b = malloc(AREA);
		CHECK((uintptr_t)b == was, "malloc() took another place");
		memset(b, 2, AREA);
		t->mr = ibv_reg_mr(t->pd, b, AREA,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		CHECK(t->mr, "reg_mr: %s", strerror(errno));
		vt_expect_not_shared(b + PAGE, "other memory");
		t->me.rkey = t->mr->rkey;
	}
	vt_put(t, &t->me, sizeof(t->me));
	vt_get(t, &t->peer, sizeof(t->peer));
	put(t, AREA / 8, PAGE, 9);
	if (t->side == 1) {
		CHECK(is_all(b + AREA / 8, PAGE, 9), "what the peer wrote is not there");
		CHECK(is_all(b, AREA / 8, 2) && is_all(b + AREA / 4, AREA / 2, 2), "the rest");
		CHECK_EQ(ibv_dereg_mr(first), 0);
		dereg(t);
		CHECK(is_all(b + AREA / 8, PAGE, 9) && is_all(b, AREA / 8, 2), "deregistered");
		free(b);
		t->buf = own;
	}
	vt_close(t);
}

/* --------------------------------------------------------- children, threads */

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* A child without fork handlers shares the memory with its parent. */
static void raw_child(struct vt *t)
{
	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		vt_expect_shared(t, t->buf, "registered");
		CHECK_EQ(child_writes(t->buf, raw_clone), vt_shares(t));
		dereg(t);
		CHECK(!child_writes(t->buf, raw_clone), "deregistered");
		CHECK(is_all(t->buf, AREA, 0x11), "deregistered");
	}
	vt_close(t);
}

struct waiter {
	pthread_mutex_t held; /* held by the thread that wants it to wait */
	pthread_t thread;
};

static void *waits(void *arg)
{
	pthread_mutex_t *held = arg;

	pthread_mutex_lock(held);
	pthread_mutex_unlock(held);
	return NULL;
}

/*
 * With other threads running, shared memory is restored as a private mapping of a copy: it is
 * private, and reads as zeros after it is given back, but it is not anonymous memory.
 */
static void deregistered_beside_a_thread(struct vt *t)
{
	const bool shared = vt_shares(t);
	struct waiter w = {.held = PTHREAD_MUTEX_INITIALIZER};

	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		vt_expect_shared(t, t->buf, "registered");
		pthread_mutex_lock(&w.held);
		CHECK_EQ(pthread_create(&w.thread, NULL, waits, &w.held), 0);
		dereg(t);
		CHECK_EQ(vt_pages(t->buf), shared ? VT_COPIED : VT_PRIVATE);
		CHECK(is_all(t->buf, AREA, 0x11), "deregistered");
		CHECK_EQ(advise(t->buf, PAGE, MADV_FREE), 0); /* the preload empties it */
		CHECK_EQ(advise(t->buf, PAGE, MADV_WIPEONFORK), shared ? EINVAL : 0);
		CHECK_EQ(advise(t->buf, PAGE, MADV_KEEPONFORK), 0);
		CHECK_EQ(advise(t->buf, PAGE, MADV_DONTNEED), 0);
		CHECK(is_all(t->buf, PAGE, 0), "no zeros");
		CHECK(is_all(t->buf + PAGE, AREA - PAGE, 0x11), "what was not advised");
		expect_private(t->buf, "deregistered beside a thread");
		pthread_mutex_unlock(&w.held);
		pthread_join(w.thread, NULL);
	}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"unmapped", unmapped, VT_PROCS, 0},
	{"unmapped_before_its_first_use", unmapped_before_its_first_use, VT_PROCS, 0},
	{"moved", moved, VT_PROCS, 0},
	{"advised", advised, VT_PROCS, 0},
	{"advised_before", advised_before, VT_PROCS, 0},
	{"protected", protected, VT_PROCS, 0},
	{"locked", locked, VT_PROCS, 0},
	{"given_back", given_back, VT_PROCS, 0},
	{"given_back_beside_a_thread", given_back_beside_a_thread, VT_PROCS, 0},
	{"given_back_after_the_region", given_back_after_the_region, VT_PROCS, 0},
	{"given_back_around_a_fork", given_back_around_a_fork, VT_PROCS, 0},
	{"freed_and_taken_again", freed_and_taken_again, VT_PROCS, 0},
	{"freed_and_registered_again", freed_and_registered_again, VT_PROCS, 0},
	{"raw_child", raw_child, VT_PROCS, 0},
	{"deregistered_beside_a_thread", deregistered_beside_a_thread, VT_PROCS, 0},
};

VT_MAIN(cases)
