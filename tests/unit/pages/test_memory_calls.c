/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_memory_calls.c - calls of the program that change shared memory, under the preload: as on
 * private memory. The test's runner has threads beside a test; where the process must be alone a
 * test uses a child.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ctx/export.h"
#include "ctx/hw.h"
#include "direct/direct.h"
#include "direct/share.h"
#include "memory.h"

#define BASE 211 /* MUST() */

/* Return the page in its owner's alias: the view of peers. */
static uint8_t *as_peers_see(const uint8_t *p)
{
	uint8_t *at = dpa_share_of(th->hw, key, (uintptr_t)p, 1);

	cr_assert_not_null(at);
	return at;
}

Test(memory_calls, the_preload_is_found)
{
	setup(DPA_CFG_SHARE_ALWAYS);
	cr_expect_not_null(th->hw->share->watch);
	cr_expect_leq(atomic_load(&th->hw->share->watch->from), (uintptr_t)mem);
	cr_expect_geq(atomic_load(&th->hw->share->watch->to), (uintptr_t)mem + BYTES);
	teardown();
}

/* Freed pages read as zeros, for peers as well, and stay shared with them. */
Test(memory_calls, given_back)
{
	static const int advice[] = {MADV_DONTNEED, MADV_FREE};

	setup(DPA_CFG_SHARE_ALWAYS);
	for (size_t i = 0; i < 2; i++) {
		uint8_t *p = mem + 4 * i * PAGE;

		errno = 99;
		cr_expect_eq(madvise(p, 2 * PAGE, advice[i]), 0);
		cr_expect_eq(errno, 99, "errno is left alone");
		cr_expect(is_zero(p, 2 * PAGE));
		cr_expect(is_zero(as_peers_see(p), 1));
		*as_peers_see(p) = 0x42;
		cr_expect_eq(*p, 0x42);
		cr_expect_eq(madvise(p, 1, MADV_DONTNEED), 0, "a part of a page is all of it");
		cr_expect_eq(*p, 0);
	}
	cr_expect_neq(area_of(key), 0u);
	cr_expect_eq(madvise(mem + 1, PAGE, MADV_DONTNEED), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect_eq(madvise(mem, PAGE, MADV_REMOVE), -1);
	cr_expect_eq(errno, EINVAL, "as of private memory");
	cr_expect(!is_zero(mem + 12 * PAGE, PAGE));
	teardown();
	cr_expect(is_zero(mem, PAGE), "made private");
	munmap(mem, BYTES);
}

/* Pages of other mappings in the same range are freed normally. */
Test(memory_calls, given_back_with_others)
{
	uint8_t *other;

	setup(DPA_CFG_SHARE_ALWAYS);
	other = mmap(mem + 8 * PAGE, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	cr_assert_eq(other, mem + 8 * PAGE);
	cr_expect_eq(area_of(key), 0u, "a hole in it");
	*other = 7;
	cr_expect_eq(madvise(mem, BYTES, MADV_DONTNEED), 0);
	cr_expect(is_zero(mem, BYTES));
	teardown();
	munmap(mem, BYTES);
}

/* A mapping of the program in the place of an area that it unmapped past the preload. */
Test(memory_calls, another_file_in_its_place)
{
	int fd = memfd_create("of the program", MFD_CLOEXEC);
	uint8_t *other;

	setup(DPA_CFG_SHARE_ALWAYS);
	cr_assert(fd >= 0 && !ftruncate(fd, BYTES));
	other = (uint8_t *)syscall(SYS_mmap, mem, BYTES, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_FIXED, fd, 0);
	cr_assert_eq(other, mem);
	*other = 7;
	cr_expect_eq(madvise(mem, BYTES, MADV_DONTNEED), 0);
	cr_expect_eq(*other, 7, "its pages are no business of the device");
	cr_expect_eq(madvise(mem, PAGE, MADV_REMOVE), 0);
	cr_expect_eq(*other, 0);
	teardown();
	munmap(mem, BYTES);
	close(fd);
}

/* The program closed the descriptor, and has another file of that number. */
Test(memory_calls, the_descriptor_is_another_file)
{
	int fd = memfd_create("of the program", MFD_CLOEXEC);
	uint8_t byte = 7;

	setup(DPA_CFG_SHARE_ALWAYS);
	cr_assert_eq(pwrite(fd, &byte, 1, BYTES - 1), 1);
	cr_assert_eq(dup3(fd, th->hw->share->pages.fd, O_CLOEXEC), th->hw->share->pages.fd);
	cr_expect_eq(madvise(mem, BYTES, MADV_DONTNEED), 0);
	cr_expect(is_zero(mem, BYTES));
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	cr_expect_neq(why(reg(mem, BYTES)), DPA_SHARE_YES, "nor is anything copied there");
	byte = 0;
	cr_assert_eq(pread(fd, &byte, 1, BYTES - 1), 1);
	cr_expect_eq(byte, 7);
	cr_expect_eq(lseek(fd, 0, SEEK_END), (off_t)BYTES);
	close(fd);
}

/*
 * With other threads, operations that cannot wait are taken from peers; operations that could be
 * wrong are refused.
 */
Test(memory_calls, beside_threads)
{
	uint32_t gen;

	setup(DPA_CFG_SHARE_ALWAYS);
	cr_assert(dpa_rest_begin()); /* a runner need not have threads */
	cr_expect_eq(madvise(mem, PAGE, MADV_DONTFORK), -1);
	cr_expect_eq(errno, EAGAIN);
	cr_expect_eq(madvise(mem, PAGE, MADV_DONTDUMP), -1);
	cr_expect_eq(errno, EAGAIN);
	cr_expect_eq(mlock(mem, PAGE), -1);
	cr_expect_eq(errno, EAGAIN);
	cr_expect_eq(mremap(mem, 0, PAGE, MREMAP_MAYMOVE), MAP_FAILED);
	cr_expect_eq(errno, ENOMEM);
	cr_expect_neq(area_of(key), 0u);
	cr_expect_eq(shown(key)->way, DPA_WAY_MAPPED);
	cr_expect_eq(madvise(mem, PAGE, MADV_WILLNEED), 0, "a hint is one");
	gen = atomic_load(&th->hw->export->mr_gen[key >> DPA_KEY_TAG_BITS]);
	cr_expect_eq(mprotect(mem, PAGE, PROT_READ), 0);
	cr_expect_eq(area_of(key), 0u);
	cr_expect_neq(atomic_load(&th->hw->export->mr_gen[key >> DPA_KEY_TAG_BITS]), gen);
	cr_expect_null(dpa_share_word(th->hw, (uintptr_t)mem + PAGE));
	cr_expect_eq(shown(key)->way, DPA_WAY_PROCESS_VM, "as dpactl ps shows it");
	cr_expect_eq(shown(key)->why, DPA_SHARE_FORKED);
	cr_expect(th_check(mem, BYTES, 3));
	cr_expect_eq(mprotect(mem, PAGE, PROT_READ | PROT_WRITE), 0);
	cr_expect_eq(munmap(mem + 8 * PAGE, 8 * PAGE), 0);
	cr_expect_eq(madvise(mem, PAGE, MADV_DONTNEED), 0);
	cr_expect(is_zero(mem, PAGE), "it is shared still, with nobody");
	dpa_rest_end();
	teardown();
	munmap(mem, 8 * PAGE);
}

/* It moves unchanged, and its growth is zeros, each time. */
Test(memory_calls, moved_beside_threads)
{
	uint8_t *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	p = mremap(mem, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
	cr_assert_neq(p, MAP_FAILED);
	cr_expect_eq(area_of(key), 0u);
	cr_expect(th_check(p, BYTES, 3));
	cr_expect(is_zero(p + BYTES, BYTES));
	memset(p + BYTES, 0x55, BYTES);
	cr_expect_eq(madvise(p, PAGE, MADV_DONTNEED), 0);
	cr_expect(is_zero(p, PAGE), "where it is now");
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	cr_expect_eq(th->hw->share->nlive, 0u);
	cr_expect(is_zero(p, PAGE));
	cr_expect_eq(madvise(p, 2 * BYTES, MADV_DONTNEED), 0);
	cr_expect(is_zero(p, 2 * BYTES), "private");
	th_free(th);
	munmap(p, 2 * BYTES);
}

Test(memory_calls, grows_again_beside_threads)
{
	uint8_t *room, *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	room = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(room, MAP_FAILED);
	p = mremap(mem, BYTES, 2 * BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	cr_assert_eq(p, room);
	memset(p + BYTES, 0x55, BYTES);
	cr_assert_eq(mremap(p, 2 * BYTES, BYTES, 0), p, "it shrinks");
	cr_assert_eq(mremap(p, BYTES, 2 * BYTES, 0), p, "and grows");
	cr_expect(th_check(p, BYTES, 3));
	cr_expect(is_zero(p + BYTES, BYTES), "by what it had before");
	teardown();
	munmap(p, 2 * BYTES);
}

/* ------------------------------------------------------------------- alone */

/* Return whether MADV_DONTNEED takes its bytes without the preload: then it is private memory. */
static bool is_private(uint8_t *p)
{
	const uint8_t was = *p;
	bool forgot;

	*p = 1;
	syscall(SYS_madvise, p, PAGE, MADV_DONTNEED);
	forgot = *p == 0;
	*p = was;
	return forgot;
}

static void is_shared_at_first(void)
{
	MUST(why(key) == DPA_SHARE_YES);
	MUST(!is_private(mem));
	MUST(th_check(mem, BYTES, 3));
}

static void becomes_private(void)
{
	MUST(area_of(key) == 0);
	MUST(why(key) == DPA_SHARE_FORKED);
	MUST(is_private(mem));
	MUST(dpa_hw_dereg_mr(&th->ctx, key) == 0);
}

static void advises(void)
{
	is_shared_at_first();
	MUST(madvise(mem, PAGE, MADV_DONTFORK) == 0);
	MUST(madvise(mem, PAGE, MADV_DOFORK) == 0);
	MUST(th_check(mem, BYTES, 3));
	becomes_private();
}

Test(memory_calls, advice_makes_it_private)
{
	alone(advises);
}

static void protects(void)
{
	is_shared_at_first();
	MUST(mprotect(mem, PAGE, PROT_READ) == 0);
	MUST(mprotect(mem, PAGE, PROT_READ | PROT_WRITE) == 0);
	becomes_private();
}

Test(memory_calls, protection_makes_it_private)
{
	alone(protects);
}

static void unmaps(void)
{
	is_shared_at_first();
	MUST(munmap(mem + 8 * PAGE, PAGE) == 0);
	becomes_private();
}

Test(memory_calls, unmapping_makes_it_private)
{
	alone(unmaps);
}

static void moves(void)
{
	uint8_t *p;

	is_shared_at_first();
	p = mremap(mem, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
	MUST(p != MAP_FAILED);
	MUST(th_check(p, BYTES, 3) && is_zero(p + BYTES, BYTES));
	mem = p;
	becomes_private();
	MUST(th->hw->share->nlive == 0);
}

Test(memory_calls, moving_makes_it_private)
{
	alone(moves);
}

static void locks(void)
{
	is_shared_at_first();
	MUST(mlock(mem, PAGE) == 0 || errno == ENOMEM || errno == EPERM);
	munlock(mem, PAGE);
	becomes_private();
}

Test(memory_calls, locking_makes_it_private)
{
	alone(locks);
}

/* As within malloc() of the device itself: this thread holds its locks. */
static void calls_with_locks_held(void)
{
	is_shared_at_first();
	pthread_mutex_lock(&th->hw->ctl);
	MUST(madvise(mem, PAGE, MADV_DONTNEED) == 0 && is_zero(mem, PAGE));
	MUST(madvise(mem, PAGE, MADV_WIPEONFORK) == -1 && errno == EAGAIN);
	MUST(mprotect(mem, PAGE, PROT_READ) == 0);
	MUST(area_of(key) == 0);
	pthread_mutex_unlock(&th->hw->ctl);
	MUST(madvise(mem, PAGE, MADV_WIPEONFORK) == 0);
	MUST(dpa_hw_dereg_mr(&th->ctx, key) == 0);
}

Test(memory_calls, with_the_devices_locks_held)
{
	alone(calls_with_locks_held);
}

static void calls_with_a_qp_locked(void)
{
	is_shared_at_first();
	dpa_qplock_lock(&th->a.qp->lock);
	MUST(madvise(mem, PAGE, MADV_WIPEONFORK) == -1 && errno == EAGAIN);
	MUST(munmap(mem + PAGE, PAGE) == 0);
	MUST(area_of(key) == 0);
	dpa_qp_leave(th->a.qp);
	MUST(dpa_hw_dereg_mr(&th->ctx, key) == 0);
	MUST(is_private(mem));
}

Test(memory_calls, with_a_qp_locked)
{
	alone(calls_with_a_qp_locked);
}

static void budget(void)
{
	uint8_t *p =
		mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t k;

	is_shared_at_first();
	th->hw->cfg.share_region = 2;
	th->hw->cfg.share_total = 3;
	MUST(why(reg(p, 4 << 20)) == DPA_SHARE_BUDGET);
	p = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	k = reg(p, 2 << 20);
	MUST(why(k) == DPA_SHARE_YES);
	MUST(why(reg(p + (2 << 20), 2 << 20)) == DPA_SHARE_BUDGET);
	MUST(dpa_hw_dereg_mr(&th->ctx, k) == 0);
	MUST(th->hw->share->bytes == BYTES);
	k = reg(p, 2 << 20);
	MUST(why(k) == DPA_SHARE_YES);
}

Test(memory_calls, within_a_budget)
{
	alone(budget);
}

static void without_preload(void)
{
	th->hw->share->watch = NULL;
	MUST(why(reg(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		     BYTES)) == DPA_SHARE_PRELOAD);
}

Test(memory_calls, auto_needs_the_preload)
{
	alone(without_preload);
}

static void by_pidfd(void)
{
	struct iovec iov = {mem, 2 * PAGE};
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0), ret;

	is_shared_at_first();
	MUST(fd >= 0);
	ret = (int)process_madvise(fd, &iov, 1, MADV_DONTNEED, 0);
	MUST(ret == (int)iov.iov_len || ret == -1); /* Linux 6.13 accepts it */
	MUST(ret == -1 || is_zero(mem, 2 * PAGE));
	MUST(!is_private(mem));
	MUST(dpa_hw_dereg_mr(&th->ctx, key) == 0);
}

Test(memory_calls, by_pidfd)
{
	alone(by_pidfd);
}

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* A child without fork handlers: the memory that it frees is its own. */
static void gives_back_in_a_clone(void)
{
	int status;
	pid_t pid;

	is_shared_at_first();
	pid = raw_clone();
	MUST(pid >= 0);
	if (!pid) {
		bool ok = madvise(mem, BYTES, MADV_DONTNEED) == 0 && is_zero(mem, BYTES);

		memset(mem, 0x77, BYTES);
		syscall(SYS_exit_group, !ok);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(status == 0);
	MUST(th_check(mem, BYTES, 3));
	MUST(dpa_hw_dereg_mr(&th->ctx, key) == 0);
}

Test(memory_calls, in_a_clone)
{
	alone(gives_back_in_a_clone);
}

static void protect_in_handler(int sig)
{
	(void)sig;
	mprotect(mem, BYTES, PROT_READ | PROT_WRITE);
}

/* A page that a handler makes writable again, as in garbage collectors. */
static void calls_in_a_handler(void)
{
	struct sigaction act = {.sa_handler = protect_in_handler};

	is_shared_at_first();
	sigaction(SIGSEGV, &act, NULL);
	for (int i = 0; i < 20; i++) {
		MUST(mprotect(mem, BYTES, PROT_READ) == 0);
		mem[i] = 9;
	}
	becomes_private();
}

Test(memory_calls, in_a_handler)
{
	alone(calls_in_a_handler);
}
