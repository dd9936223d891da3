/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_memory_fails.c - advice that the kernel refuses empties nothing, and process_madvise()
 * empties the bytes that the kernel reports as done. Linux 6.13 takes such advice for the process
 * itself.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "memory.h"

static int self = -1; /* pidfd */

static ssize_t advise(const struct iovec *iov, size_t n, int advice, unsigned flags)
{
	errno = 99;
	return process_madvise(self, iov, n, advice, flags);
}

static uint8_t *anon(int prot)
{
	void *p = mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

/* A private mapping of a file, with a changed byte: the kernel refuses MADV_FREE there. */
static uint8_t *of_a_file(void)
{
	int fd = memfd_create("of the program", MFD_CLOEXEC);
	uint8_t *p;

	cr_assert(fd >= 0 && !ftruncate(fd, PAGE));
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_assert_neq(p, MAP_FAILED);
	close(fd);
	*p = 7;
	return p;
}

static void start(bool kernel_takes_it)
{
	uint8_t *p;

	setup(DPA_CFG_SHARE_ALWAYS);
	self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	cr_assert_geq(self, 0);
	p = anon(PROT_READ | PROT_WRITE);
	if (kernel_takes_it && syscall(SYS_process_madvise, self, &(struct iovec){p, PAGE}, 1,
				       MADV_DONTNEED, 0) != (long)PAGE)
		cr_skip_test("before Linux 6.13");
	munmap(p, PAGE);
}

static void end(void)
{
	teardown();
	munmap(mem, BYTES);
	close(self);
}

Test(memory_fails, madvise_of_what_cannot_be)
{
	static const int advice[] = {MADV_DONTNEED, MADV_FREE, MADV_DONTNEED_LOCKED};

	start(false);
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
		cr_expect_eq(madvise(mem, SIZE_MAX, advice[i]), -1);
		cr_expect_eq(errno, EINVAL, "the length wraps");
		cr_expect_eq(madvise(mem, SIZE_MAX - BYTES, advice[i]), -1);
		cr_expect_eq(errno, EINVAL, "so does its end");
		cr_expect_eq(madvise(mem + 1, PAGE, advice[i]), -1);
		cr_expect_eq(errno, EINVAL);
		cr_expect_eq(madvise(mem, 0, advice[i]), 0, "nothing");
		cr_expect(th_check(mem, BYTES, 3), "advice %d emptied it", advice[i]);
	}
	end();
}

Test(memory_fails, vectors_that_cannot_be)
{
	static const int advice[] = {MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_WILLNEED};
	const struct iovec *const nowhere = (const struct iovec *)(void *)anon(PROT_NONE);
	struct iovec iov = {mem, PAGE};

	start(false);
	iov.iov_base = mem;
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
		cr_expect_eq(advise(nowhere, 1, advice[i], 0), -1);
		cr_expect_eq(errno, EFAULT, "%d", errno);
		cr_expect_eq(advise(&iov, 1, advice[i], 1), -1);
		cr_expect_eq(errno, EINVAL, "flags");
		cr_expect_eq(advise(&iov, IOV_MAX + 1, advice[i], 0), -1);
		cr_expect_eq(errno, EINVAL, "too many");
	}
	cr_expect_eq(advise(&(struct iovec){mem, SIZE_MAX}, 1, MADV_DONTNEED, 0), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect_eq(advise(&(struct iovec){mem + 1, PAGE}, 1, MADV_FREE, 0), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect(th_check(mem, BYTES, 3));
	end();
}

/* The kernel ends at the first range that it refuses. */
Test(memory_fails, what_comes_behind_a_hole)
{
	struct iovec iov[3];
	uint8_t *hole;

	start(true);
	hole = anon(PROT_READ);
	munmap(hole, PAGE);
	iov[0] = (struct iovec){mem, PAGE};
	iov[1] = (struct iovec){hole, PAGE};
	iov[2] = (struct iovec){mem + 4 * PAGE, PAGE};
	cr_expect_eq(advise(iov + 1, 2, MADV_DONTNEED, 0), -1);
	cr_expect_eq(errno, ENOMEM);
	cr_expect(th_check(mem, BYTES, 3));
	cr_expect_eq(advise(iov, 3, MADV_DONTNEED, 0), (ssize_t)PAGE);
	cr_expect_eq(errno, 99, "errno is left alone");
	cr_expect(is_zero(mem, PAGE));
	cr_expect_not(is_zero(mem + 4 * PAGE, PAGE));
	iov[0].iov_base = mem + 8 * PAGE;
	cr_expect_eq(advise(iov, 3, MADV_FREE, 0), (ssize_t)PAGE);
	cr_expect(is_zero(mem + 8 * PAGE, PAGE));
	cr_expect_not(is_zero(mem + 4 * PAGE, PAGE));
	cr_expect_neq(area_of(key), 0u);
	end();
}

/* Shared pages are emptied at once; the pages after them are not. */
Test(memory_fails, freed_later_stays_so)
{
	struct iovec iov[4];
	uint8_t *own, *file;

	start(true);
	own = anon(PROT_READ | PROT_WRITE);
	file = of_a_file();
	iov[0] = (struct iovec){own, PAGE};
	iov[1] = (struct iovec){mem, 2 * PAGE};
	iov[2] = (struct iovec){own, 0};
	iov[3] = (struct iovec){file, PAGE};
	cr_expect_eq(advise(iov, 4, MADV_FREE, 0), (ssize_t)(3 * PAGE));
	cr_expect(is_zero(mem, 2 * PAGE));
	cr_expect_eq(*file, 7, "which the kernel refuses to free");
	cr_expect_eq(advise(iov + 3, 1, MADV_FREE, 0), -1);
	cr_expect_eq(errno, EINVAL);
	iov[3] = (struct iovec){mem + 8 * PAGE, PAGE};
	cr_expect_eq(advise(iov, 4, MADV_FREE, 0), (ssize_t)(4 * PAGE));
	cr_expect_eq(errno, 99, "errno is left alone");
	cr_expect(is_zero(mem + 8 * PAGE, PAGE));
	cr_expect_not(is_zero(mem + 2 * PAGE, PAGE));
	cr_expect_neq(area_of(key), 0u);
	munmap(own, PAGE);
	munmap(file, PAGE);
	end();
}

/*
 * Advice that needs private memory, which is not possible while another operation quiesces the
 * threads.
 */
Test(memory_fails, other_advice)
{
	struct iovec iov[2];
	uint8_t *own;

	start(true);
	cr_assert(dpa_rest_begin());
	own = anon(PROT_READ | PROT_WRITE);
	iov[0] = (struct iovec){own, PAGE};
	iov[1] = (struct iovec){mem, PAGE};
	cr_expect_eq(advise(iov + 1, 1, MADV_DONTFORK, 0), -1);
	cr_expect_eq(errno, EAGAIN);
	cr_expect_eq(advise(iov, 2, MADV_DONTFORK, 0), (ssize_t)PAGE);
	cr_expect_eq(advise(iov + 1, 1, MADV_REMOVE, 0), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect(th_check(mem, BYTES, 3));
	dpa_rest_end();
	munmap(own, PAGE);
	end();
}
