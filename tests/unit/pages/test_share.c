/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_share.c - the regions that peers may map, and for how long: the policy, areas under several
 * regions.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "ctx/export.h"
#include "ctx/hw.h"
#include "direct/share.h"
#include "direct/direct.h"
#include "stand_in.h"
#include "tests/unit/transport/harness.h"

#define PAGE  DPA_PAGE
#define PAGES 16u

static struct th *th;

static void setup(enum dpa_cfg_share policy)
{
	th = th_new(&(struct th_opt){.direct = true, .pull = true});
	th->hw->cfg.share_mr = policy;
	cr_assert_eq(dpa_share_init(th->hw), 0);
	if (policy != DPA_CFG_SHARE_NEVER && th->hw->share->pages.fd < 0)
		cr_skip_test("no MADV_POPULATE_WRITE, other pages, or a limit on files");
	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
}

static void teardown(void)
{
	struct dpa_hw *hw = th->hw;

	cr_expect_eq(hw->share->nlive, 0u, "areas are left");
	/* its own regions were registered before; it needs hw->share to deregister them */
	th_free(th);
}

static uint8_t *anon(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

static uint32_t reg(const void *p, size_t n, uint32_t access)
{
	struct dpa_mr_attr a = {.pdn = th->pdn,
				.access = access,
				.addr = (uintptr_t)p,
				.iova = (uintptr_t)p,
				.length = n};
	uint32_t key = 0;

	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &a, &key), 0);
	return key;
}

static void dereg(uint32_t key)
{
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
}

static enum dpa_share_why why(uint32_t key)
{
	return (enum dpa_share_why)th->hw->export->mr[key >> DPA_KEY_TAG_BITS].why;
}

/* Return the area that peers see. */
static uint32_t area_of(uint32_t key)
{
	return atomic_load(&th->hw->export->mr_area[key >> DPA_KEY_TAG_BITS]);
}

static enum dpa_share_why why_of(const void *p, size_t n, uint32_t access)
{
	uint32_t key = reg(p, n, access);
	enum dpa_share_why w = why(key);

	cr_expect_eq(area_of(key) != 0, w == DPA_SHARE_YES);
	dereg(key);
	return w;
}

static void *stays(void *arg)
{
	sem_wait(arg);
	return NULL;
}

/*
 * Return whether memory is private: it loses its content at MADV_DONTNEED, shared memory does not.
 */
static bool is_private(uint8_t *p)
{
	uint8_t was = *p;
	bool forgot;

	*p = 1;
	cr_assert_eq(syscall(SYS_madvise, p, PAGE, MADV_DONTNEED), 0); /* past the preload */
	forgot = *p == 0;
	*p = was;
	return forgot;
}

Test(share, conditions_of_the_region)
{
	const uint32_t local = DPA_ACCESS_LOCAL_WRITE;
	uint8_t *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_YES);
	cr_expect_eq(why_of(p, PAGES * PAGE, local), DPA_SHARE_ACCESS);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL | DPA_ACCESS_ON_DEMAND), DPA_SHARE_ON_DEMAND);
	cr_expect_eq(why_of(p + 1, 2 * PAGE - 2, TH_ALL), DPA_SHARE_PARTIAL);
	cr_expect_eq(why_of(p + 1, 2 * PAGE - 1, TH_ALL), DPA_SHARE_YES, "one whole page");
	cr_assert_eq(mprotect(p + 2 * PAGE, PAGE, PROT_READ), 0);
	cr_expect_eq(why_of(p, PAGES * PAGE, DPA_ACCESS_REMOTE_READ), DPA_SHARE_NOT_ANON);
	cr_assert_eq(mprotect(p + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	th->hw->cfg.direct = DPA_CFG_DIRECT_NEVER;
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_DIRECT);
	th->hw->cfg.direct = DPA_CFG_DIRECT_AUTO;
	munmap(p, PAGES * PAGE);
	teardown();
}

/*
 * The case of a process without another thread is in vt_share: here the test's runner has threads.
 */
Test(share, conditions_of_the_process)
{
	pthread_t t;
	sem_t over;
	uint8_t *p;

	setup(DPA_CFG_SHARE_AUTO);
	p = anon(PAGES);
	sem_init(&over, 0, 0);
	cr_assert_eq(pthread_create(&t, NULL, stays, &over), 0);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_THREADS);
	th->hw->cfg.share_mr = DPA_CFG_SHARE_ALWAYS;
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_YES, "but then");
	sem_post(&over);
	pthread_join(t, NULL);
	munmap(p, PAGES * PAGE);
	teardown();
}

/* Pages that are pinned for a device, or may be, must not move. */
Test(share, what_is_locked)
{
	uint8_t *p, *other;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	other = anon(1);
	if (syscall(SYS_mlock, other, PAGE)) /* sanitizers turn mlock() into a no-op */
		cr_skip_test("no memory may be locked");
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_PINNED);
	syscall(SYS_munlock, other, PAGE);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_YES, "but then");
	munmap(other, PAGE);
	munmap(p, PAGES * PAGE);
	teardown();
}

static int uring(void)
{
	struct io_uring_params params = {0};

	return (int)syscall(SYS_io_uring_setup, 4, &params);
}

Test(share, what_has_asynchronous_io)
{
	aio_context_t aio = 0;
	uint8_t *p, *ring;
	int fd;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	if (syscall(SYS_io_setup, 1, &aio))
		cr_skip_test("no asynchronous I/O");
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_DEVICE);
	syscall(SYS_io_destroy, aio);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_YES, "but then");
	fd = uring();
	if (fd < 0)
		cr_skip_test("no io_uring");
	ring = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	cr_assert_neq(ring, MAP_FAILED);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_DEVICE, "io_uring");
	munmap(ring, PAGE);
	close(fd);
	munmap(p, PAGES * PAGE);
	teardown();
}

/*
 * CUDA's pins do not appear in VmPin, and can be made at any time: no exchange while its driver's
 * file is open.
 */
Test(share, what_a_driver_may_have_pinned)
{
	uint8_t *p, *other;
	uint32_t key;
	int fd;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	other = anon(PAGES);
	th_fill(p, PAGES * PAGE, 5);
	key = reg(p, PAGES * PAGE, TH_ALL);
	cr_assert_eq(why(key), DPA_SHARE_YES);
	fd = open_stand_in("/dev/nvidia-uvm");
	if (fd < 0) {
		dereg(key);
		cr_skip_test("no folder /dev of its own");
	}
	cr_expect_eq(why_of(other, PAGES * PAGE, TH_ALL), DPA_SHARE_DEVICE);
	dereg(key);
	cr_expect_not(is_private(p), "it may be pinned since");
	cr_expect(th_check(p, PAGES * PAGE, 5));
	cr_expect(strstr(th_logged, "registered memory stays shared: the process has a device"),
		  "%s", th_logged);
	close(fd);
	cr_expect_eq(why_of(other, PAGES * PAGE, TH_ALL), DPA_SHARE_YES, "but then");
	cr_expect(th_check(p, PAGES * PAGE, 5));
	cr_expect(is_private(p));
	munmap(p, PAGES * PAGE);
	munmap(other, PAGES * PAGE);
	teardown();
}

/*
 * They stay shared with the application; it is logged once, and tried again at the next occasion.
 */
Test(share, pinned_pages_stay_shared_until_they_may_go)
{
	uint8_t *p, *other;
	struct iovec iov;
	uint32_t key;
	int fd;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	other = anon(PAGES);
	th_fill(p, PAGES * PAGE, 5);
	key = reg(p, PAGES * PAGE, TH_ALL);
	cr_assert_eq(why(key), DPA_SHARE_YES);
	iov = (struct iovec){p, PAGE};
	fd = uring();
	if (fd < 0 || syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS, &iov, 1)) {
		dereg(key);
		cr_skip_test("no io_uring that pins memory");
	}
	dereg(key);
	cr_expect_not(is_private(p), "it went from under who has hold of it");
	cr_expect(th_check(p, PAGES * PAGE, 5));
	cr_expect(strstr(th_logged, "registered memory stays shared: memory of the process is "
				    "pinned"),
		  "%s", th_logged);
	th_logged[0] = 0;
	cr_expect_eq(why_of(other, PAGES * PAGE, TH_ALL), DPA_SHARE_PINNED);
	cr_expect_not(is_private(p), "pinned still");
	cr_expect_eq(th_logged[0], 0, "twice: %s", th_logged);
	cr_expect_eq(syscall(SYS_io_uring_register, fd, IORING_UNREGISTER_BUFFERS, NULL, 0), 0);
	close(fd);
	key = reg(other, PAGES * PAGE, TH_ALL);
	cr_expect_eq(why(key), DPA_SHARE_YES);
	cr_expect(th_check(p, PAGES * PAGE, 5));
	cr_expect(is_private(p), "tried again with the next registration");
	dereg(key);
	munmap(other, PAGES * PAGE);
	munmap(p, PAGES * PAGE);
	teardown();
}

/* The stack of the registering thread, of others: `always` does not apply. */
static void *registers_its_stack(void *arg)
{
	enum dpa_share_why *w = arg;
	uint8_t outer[8 * PAGE];

	memset(outer, 1, sizeof(outer));
	*w = why_of(outer, sizeof(outer), TH_ALL);
	return NULL;
}

struct stays {
	sem_t there, over;
	uint8_t *on;
};

static void *stays_with_a_buffer(void *arg)
{
	uint8_t outer[8 * PAGE];
	struct stays *s = arg;

	memset(outer, 1, sizeof(outer));
	s->on = outer;
	sem_post(&s->there);
	while (sem_wait(&s->over))
		;
	return outer[0] ? NULL : s;
}

Test(share, a_threads_stack_never)
{
	enum dpa_share_why w = DPA_SHARE_NUM;
	struct stays s = {.on = NULL};
	pthread_t t;

	setup(DPA_CFG_SHARE_ALWAYS);
	cr_assert_eq(pthread_create(&t, NULL, registers_its_stack, &w), 0);
	pthread_join(t, NULL);
	cr_expect_eq(w, DPA_SHARE_STACK, "its own: %d", w);
	sem_init(&s.there, 0, 0);
	sem_init(&s.over, 0, 0);
	cr_assert_eq(pthread_create(&t, NULL, stays_with_a_buffer, &s), 0);
	while (sem_wait(&s.there))
		;
	w = why_of(s.on, 8 * PAGE, TH_ALL);
	cr_expect_eq(w, DPA_SHARE_STACK, "another one's: %d", w);
	sem_post(&s.over);
	pthread_join(t, NULL);
	teardown();
}

enum { STORED = 256 }; /* pages */
static uint8_t *stored_at;
static volatile uint32_t stores, stored[STORED];

static void store(int sig)
{
	const uint32_t n = stores + 1, i = n % STORED;

	stores = n;
	stored[i] = n;
	*(volatile uint32_t *)(void *)(stored_at + i * PAGE + 64) = n;
}

/* Start a timer of this thread, whose handler stores to the memory all the time. */
static timer_t starts_storing(void)
{
	struct sigaction act = {.sa_handler = store, .sa_flags = SA_RESTART};
	struct itimerspec often = {.it_interval = {.tv_nsec = 100000}, .it_value = {.tv_nsec = 1}};
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
	timer_t timer;

	ev._sigev_un._tid = gettid();
	sigaction(SIGALRM, &act, NULL);
	cr_assert_eq(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	cr_assert_eq(timer_settime(timer, 0, &often, NULL), 0);
	return timer;
}

/* Signals wait while pages are exchanged, in both directions. */
Test(share, a_signal_handler_loses_no_store, .timeout = 120)
{
	uint32_t lost = 0, rounds = 48;
	timer_t timer;

#ifdef DPA_TSAN
	cr_skip_test("ThreadSanitizer calls a handler later than its signal came");
#endif
	setup(DPA_CFG_SHARE_ALWAYS);
	stored_at = anon(STORED);
	memset(stored_at, 0, STORED * PAGE);
	timer = starts_storing();
	for (uint32_t round = 0; round < rounds || stores < STORED; round++)
		cr_expect_eq(why_of(stored_at, STORED * PAGE, TH_ALL), DPA_SHARE_YES);
	timer_delete(timer);
	for (uint32_t i = 0; i < STORED; i++)
		lost += *(volatile uint32_t *)(void *)(stored_at + i * PAGE + 64) != stored[i];
	cr_expect_eq(lost, 0u, "%u pages lost a store of %u", lost, stores);
	munmap(stored_at, STORED * PAGE);
	teardown();
}

Test(share, never)
{
	uint8_t *p = anon(PAGES);

	setup(DPA_CFG_SHARE_NEVER);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_POLICY);
	cr_expect(is_private(p));
	munmap(p, PAGES * PAGE);
	teardown();
}

/* The device's own mapping and that of the application are one memory; no store is lost. */
Test(share, one_memory)
{
	uint8_t *p;
	uint64_t *w;
	uint32_t key, i;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	th_fill(p, PAGES * PAGE, 7);
	key = reg(p + 100, PAGES * PAGE - 200, TH_ALL);
	cr_assert_eq(why(key), DPA_SHARE_YES);
	cr_expect(th_check(p, PAGES * PAGE, 7));
	cr_expect_not(is_private(p + PAGE));
	cr_expect(is_private(p), "not a whole page of it");
	th_fill(p, PAGES * PAGE, 8);
	i = area_of(key) - 1;
	cr_expect_null(dpa_share_word(th->hw, (uintptr_t)p + 8), "the first page is not in it");
	cr_expect_null(dpa_share_word(th->hw, (uintptr_t)p + PAGE + 4), "not a word");
	w = dpa_share_word(th->hw, (uintptr_t)p + PAGE + 8);
	cr_assert_not_null(w);
	cr_expect_neq((void *)w, (void *)(p + PAGE + 8));
	cr_expect_eq(memcmp(w, p + PAGE + 8, 8), 0);
	*w = 0x0123456789abcdef;
	cr_expect_eq(memcmp(w, p + PAGE + 8, 8), 0);
	cr_expect_eq(th->hw->export->area[i].start, (uintptr_t)p + PAGE);
	cr_expect_eq(th->hw->export->area[i].length, (PAGES - 2) * PAGE);
	dereg(key);
	cr_expect_eq(area_of(key), 0u);
	cr_expect_eq(atomic_load(&th->hw->export->area[i].serial), 0u);
	cr_expect_null(dpa_share_word(th->hw, (uintptr_t)p + PAGE + 8));
	cr_expect_eq(*(uint64_t *)(void *)(p + PAGE + 8), 0x0123456789abcdef);
	cr_expect(is_private(p + PAGE));
	munmap(p, PAGES * PAGE);
	teardown();
}

/* An area ends with the last region that overlaps it, in any order. */
Test(share, several_regions)
{
	uint32_t whole, part, beside, local;
	uint8_t *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	whole = reg(p, 8 * PAGE, TH_ALL);
	part = reg(p + 2 * PAGE, 2 * PAGE, TH_ALL);
	beside = reg(p + 6 * PAGE, 6 * PAGE, TH_ALL);
	local = reg(p, 8 * PAGE, DPA_ACCESS_LOCAL_WRITE);
	cr_expect_eq(why(whole), DPA_SHARE_YES);
	cr_expect_eq(why(part), DPA_SHARE_YES);
	cr_expect_eq(area_of(part), area_of(whole));
	cr_expect_eq(why(beside), DPA_SHARE_OVERLAP, "some of it is shared already");
	cr_expect_eq(area_of(beside), area_of(whole), "and that may be used");
	cr_expect_eq(area_of(local), 0u, "not by others");
	cr_expect(is_private(p + 9 * PAGE));
	dereg(whole);
	dereg(beside);
	cr_expect_neq(area_of(part), 0u);
	cr_expect_not(is_private(p + 3 * PAGE));
	dereg(part);
	cr_expect_not(is_private(p + 3 * PAGE), "a local one keeps it as well");
	dereg(local);
	cr_expect(is_private(p + 3 * PAGE));

	local = reg(p, PAGE, DPA_ACCESS_LOCAL_WRITE);
	whole = reg(p, 8 * PAGE, TH_ALL);
	cr_expect_eq(why(whole), DPA_SHARE_OVERLAP, "something may be at work with the other one");
	cr_expect_eq(area_of(whole), 0u);
	dereg(whole);
	dereg(local);
	munmap(p, PAGES * PAGE);
	teardown();
}

/* A record read from an ended area does not match the area that replaced it. */
Test(share, each_area_has_a_number)
{
	uint32_t key, i, serial;
	uint8_t *p, *at;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	key = reg(p, PAGES * PAGE, TH_ALL);
	i = area_of(key) - 1;
	serial = atomic_load(&th->hw->export->area[i].serial);
	at = dpa_share_at(th->hw, i, serial, (uintptr_t)p, PAGES * PAGE);
	cr_assert_not_null(at);
	cr_expect_null(dpa_share_at(th->hw, i, serial, (uintptr_t)p, PAGES * PAGE + 1));
	cr_expect_null(dpa_share_at(th->hw, i, serial, (uintptr_t)p - 1, 1));
	cr_expect_null(dpa_share_at(th->hw, i, serial, (uintptr_t)p + 1, UINT64_MAX));
	dereg(key);
	cr_expect_null(dpa_share_at(th->hw, i, serial, (uintptr_t)p, 1));
	key = reg(p, PAGES * PAGE, TH_ALL);
	cr_assert_eq(area_of(key), i + 1, "the same entry");
	cr_expect_neq(atomic_load(&th->hw->export->area[i].serial), serial);
	cr_expect_null(dpa_share_at(th->hw, i, serial, (uintptr_t)p, 1));
	dereg(key);
	munmap(p, PAGES * PAGE);
	teardown();
}

/* The number of areas is limited; one that ends makes room. */
Test(share, so_many, .timeout = 120)
{
	uint32_t key[DPA_AREAS], more;
	uint8_t *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(2 * (DPA_AREAS + 1));
	for (uint32_t i = 0; i < DPA_AREAS; i++) {
		p[2 * i * PAGE] = (uint8_t)i;
		key[i] = reg(p + (size_t)2 * i * PAGE, PAGE, TH_ALL);
		cr_assert_eq(why(key[i]), DPA_SHARE_YES, "%u: %d", i, why(key[i]));
	}
	more = reg(p + (size_t)2 * DPA_AREAS * PAGE, PAGE, TH_ALL);
	cr_expect_eq(why(more), DPA_SHARE_FULL);
	dereg(more);
	dereg(key[DPA_AREAS / 2]);
	more = reg(p + (size_t)2 * DPA_AREAS * PAGE, PAGE, TH_ALL);
	cr_expect_eq(why(more), DPA_SHARE_YES);
	key[DPA_AREAS / 2] = more;
	for (uint32_t i = 0; i < DPA_AREAS; i++) {
		cr_expect_eq(p[2 * i * PAGE], (uint8_t)i);
		dereg(key[i]);
	}
	munmap(p, 2 * (DPA_AREAS + 1) * PAGE);
	teardown();
}

/* fork(): everything is made private before, and stays so; peers are notified. */
Test(share, fork_ends_it)
{
	uint32_t key, gen, i;
	uint8_t *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	th_fill(p, PAGES * PAGE, 3);
	key = reg(p, PAGES * PAGE, TH_ALL);
	i = area_of(key) - 1;
	gen = atomic_load(&th->hw->export->mr_gen[key >> DPA_KEY_TAG_BITS]);
	dpa_share_before_fork(th->hw);
	cr_expect_eq(area_of(key), 0u);
	cr_expect_eq(why(key), DPA_SHARE_FORKED);
	cr_expect_neq(atomic_load(&th->hw->export->mr_gen[key >> DPA_KEY_TAG_BITS]), gen);
	cr_expect_eq(atomic_load(&th->hw->export->area[i].serial), 0u);
	dpa_share_after_fork(th->hw);
	cr_expect(th_check(p, PAGES * PAGE, 3));
	cr_expect(is_private(p));
	dereg(key);
	munmap(p, PAGES * PAGE);
	teardown();
}

/* A program may lower its limit on files at any time: such a write would end it by SIGXFSZ. */
Test(share, a_limit_on_files_that_comes_later_is_no_signal)
{
	struct rlimit l;
	uint8_t *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = anon(PAGES);
	th_fill(p, PAGES * PAGE, 3);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &l), 0);
	l.rlim_cur = PAGE;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_KERNEL);
	l.rlim_cur = l.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
	cr_expect_eq(why_of(p, PAGES * PAGE, TH_ALL), DPA_SHARE_YES);
	cr_expect(th_check(p, PAGES * PAGE, 3));
	munmap(p, PAGES * PAGE);
	teardown();
}
