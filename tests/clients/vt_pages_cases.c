/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Changes of an application to the pages of memory that it has registered: they have the same
 * effect as on other memory, or, where a device shares the pages with peers, the effect in
 * docs/conformance.md (the deliberate differences). Side 1 owns the memory, side 0 writes.
 */
#include "vt_maps.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AREA = 1 << 20, PAGE = 4096 };

static const struct vt_opt rc = {.len = AREA};

/* Side 0 writes n bytes of value there, alone; both sides go on when it is done. */
static void put(struct vt *t, uint64_t off, uint32_t n, uint8_t value)
{
	if (t->side == 0) {
		memset(t->buf, value, n);
		for (int i = 0; i < 3; i++) { /* the first may find a shorter way for the others */
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, off, n, 5, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, 5, IBV_WC_SUCCESS);
		}
	}
	vt_sync(t);
}

/* The same for memory that is gone: an error, but not of pages that were shared. */
static void put_nowhere(struct vt *t, uint64_t off, uint32_t n)
{
	uint32_t shared = vt_shares(t), failed = 0;

	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, off, n, 6, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 6, shared ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		failed = !shared;
		vt_put(t, &failed, sizeof(failed));
	} else {
		vt_get(t, &failed, sizeof(failed));
	}
	if (failed)
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
 * The application unmaps what it registered, and has other memory there afterwards. Bytes that
 * peers write meanwhile land in pages that no program sees.
 */
static void unmapped_behind(struct vt *t, bool known)
{
	uint8_t *p;

	vt_setup_shared(t, &rc);
	if (t->side == 1)
		vt_expect_shared(t, t->buf, "registered");
	if (known) /* to the peer, which has it mapped then */
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
		dereg(t);
		vt_expect_not_shared(t->buf, "deregistered");
		CHECK(is_all(p, PAGE, 0x77), "somebody else's memory was changed");
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
		vt_expect_shared(t, p, "moved");
		vt_expect_shared(t, p + 2 * AREA - 1, "grown");
		CHECK(is_all(p, AREA, 0x11) && is_all(p + AREA, AREA, 0), "moved");
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

/* 0 or the errno. */
static int advise(uint8_t *p, size_t n, int advice)
{
	return madvise(p, n, advice) ? errno : 0;
}

/* While it is registered and afterwards. */
static void advised(struct vt *t)
{
	const bool shared = vt_shares(t);

	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		vt_expect_shared(t, t->buf, "registered");
		CHECK_EQ(advise(t->buf, AREA / 2, MADV_DONTNEED), 0);
		CHECK(is_all(t->buf, AREA / 2, shared ? 0x11 : 0), "MADV_DONTNEED");
		CHECK(is_all(t->buf + AREA / 2, AREA / 2, 0x11), "what was not advised");
		CHECK_EQ(advise(t->buf, PAGE, MADV_FREE), shared ? EINVAL : 0);
		CHECK_EQ(advise(t->buf, PAGE, MADV_WIPEONFORK), shared ? EINVAL : 0);
		CHECK_EQ(advise(t->buf, PAGE, MADV_KEEPONFORK), 0);
		/* of what is shared it takes the pages, as of any file */
		CHECK_EQ(advise(t->buf, PAGE, MADV_REMOVE), shared ? 0 : EINVAL);
		CHECK(!shared || is_all(t->buf, PAGE, 0), "MADV_REMOVE");
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

/* Advice of madvise() before the registration applies to other pages afterwards. */
static void advised_before(struct vt *t)
{
	uint8_t *p, seen = 0;
	int status;
	pid_t pid;

	if (t->side == 0)
		return;
	vt_open(t);
	p = anon(AREA);
	CHECK_EQ(advise(p, AREA, MADV_WIPEONFORK), 0);
	memset(p, 0x11, AREA);
	t->mr = vt_reg_shared(t, p, AREA);
	vt_expect_shared(t, p, "registered");
	dereg(t);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid)
		_exit(*(volatile uint8_t *)p);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	seen = (uint8_t)WEXITSTATUS(status);
	CHECK_EQ(seen, vt_shares(t) ? 0x11 : 0);
	CHECK(is_all(p, AREA, 0x11), "deregistered");
	munmap(p, AREA);
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

/* --------------------------------------------------------- children, threads */

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* A child that no handler of fork() has heard of has what is shared together with its parent. */
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
	pthread_mutex_t held; /* by who wants it to wait */
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
 * With other threads about what was shared comes back as a private mapping of a copy: private, and
 * given back it reads as zeros, but it is not anonymous memory.
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
		CHECK_EQ(advise(t->buf, PAGE, MADV_FREE), shared ? EINVAL : 0);
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
	{"raw_child", raw_child, VT_PROCS, 0},
	{"deregistered_beside_a_thread", deregistered_beside_a_thread, VT_PROCS, 0},
};

VT_MAIN(cases)
