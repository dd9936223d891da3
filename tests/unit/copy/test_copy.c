/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_copy.c - the kernel copies memory that packets address, by process_vm_readv and _writev or,
 * where a filter forbids these, through a pipe. Unmapped memory is EFAULT on every path, never a
 * signal.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ctx/thread.h"
#include "ctx/copy.h"
#include "link/peer.h"

#define PAGE  65536u /* of any machine */
#define BYTES (4u * PAGE)

uint32_t dpa_spin_pauses = 200;
_Thread_local struct dpa_thread dpa_me;

static struct dpa_hw *hw;
static uint8_t *mem, *own; /* mem: its third page is a hole */

static void setup(void)
{
	hw = aligned_alloc(DPA_CACHE_LINE, (sizeof(*hw) + 63) & ~63ul);
	cr_assert_not_null(hw);
	memset(hw, 0, sizeof(*hw));
	hw->pid = getpid();
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	own = malloc(BYTES);
	cr_assert(mem != MAP_FAILED && own);
	cr_assert_eq(munmap(mem + 2 * PAGE, PAGE), 0);
	for (uint32_t i = 0; i < BYTES; i++)
		own[i] = (uint8_t)(i * 31 >> 3);
}

static void teardown(void)
{
	munmap(mem, BYTES);
	free(own);
	free(hw);
}

TestSuite(copy, .init = setup, .fini = teardown);

/* Replaces the library's call that asks Yama, which few test machines have. */
static uint32_t offers;

int prctl(int option, ...)
{
	unsigned long who;
	va_list ap;

	if (option != PR_SET_PTRACER)
		return 0;
	va_start(ap, option);
	who = va_arg(ap, unsigned long);
	va_end(ap);
	offers += who == PR_SET_PTRACER_ANY;
	errno = EINVAL;
	return -1;
}

/* A process opens itself to others of its user only if the setting requests it. */
Test(copy, offered_only_when_asked_for)
{
	dpa_copy_offer(hw);
	cr_expect_eq(offers, 0);
	hw->cfg.ptracer = DPA_CFG_PTRACER_ANY;
	dpa_copy_offer(hw);
	cr_expect_eq(offers, 1);
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static uint64_t at(uint32_t off)
{
	return (uintptr_t)mem + off;
}

/* Run it by both paths; a sandbox may forbid the first one. */
static void each_way(void (*fn)(void))
{
	uint64_t probe = 0x1122334455667788;

	if (dpa_copy_probe(getpid(), (uintptr_t)&probe, probe)) {
		hw->pvm_self = true;
		fn();
	}
	hw->pvm_self = false;
	memset(mem, 0, 2 * PAGE);
	fn();
}

static void out_and_in(void)
{
	static const uint32_t lens[] = {
		0, 1, 7, PIPE_BUF - 1, PIPE_BUF, PIPE_BUF + 1, 3 * PIPE_BUF + 5, 2 * PAGE - 8};
	uint8_t *back = malloc(BYTES);
	int fds = open_fds();

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint32_t n = lens[i];

		memset(mem, 0xee, 2 * PAGE);
		memset(back, 0, BYTES);
		cr_expect_eq(dpa_copy_out(hw, at(3), own, n), 0, "%u", n);
		cr_expect_eq(memcmp(mem + 3, own, n), 0, "%u", n);
		cr_expect_eq(mem[2], 0xee);
		cr_expect_eq(mem[3 + n], 0xee, "%u: not a byte more", n);
		cr_expect_eq(dpa_copy_in(hw, back, at(3), n), 0, "%u", n);
		cr_expect_eq(memcmp(back, own, n), 0, "%u", n);
		cr_expect_eq(back[n], 0, "%u: not a byte more", n);
	}
	cr_expect_eq(open_fds(), fds);
	free(back);
}

Test(copy, what_is_there)
{
	each_way(out_and_in);
}

static void pieces(void)
{
	const struct iovec v[] = {
		{own, 5}, {own + 100, 0}, {own + 200, PIPE_BUF + 3}, {own + 9, 1}};
	const uint32_t n = 5 + PIPE_BUF + 3 + 1;

	memset(mem, 0xee, 2 * PAGE);
	cr_expect_eq(dpa_copy_out_v(hw, at(0), v, 4, n), 0);
	cr_expect_eq(memcmp(mem, own, 5), 0);
	cr_expect_eq(memcmp(mem + 5, own + 200, PIPE_BUF + 3), 0);
	cr_expect_eq(mem[n - 1], own[9]);
	cr_expect_eq(mem[n], 0xee);
	cr_expect_eq(dpa_copy_out_v(hw, at(2 * PAGE - 6), v, 4, n), EFAULT);
}

Test(copy, several_segments)
{
	each_way(pieces);
}

/*
 * Messages filled with one number, ever larger, from sources at every offset: a reader that sees
 * the last word of one sees its other words as well. (The kernel's string instructions store in any
 * order.)
 */
static struct {
	int way; /* at once, in segments */
	_Atomic bool over;
} writer;

enum { WORDS = 16, MESSAGES = 20000 };

static void *writes(void *arg)
{
	struct iovec v[3];

	(void)arg;
	for (uint64_t n = 1; n <= MESSAGES; n++) {
		uint8_t *src = own + n * 4 % 64;

		for (uint32_t i = 0; i < WORDS; i++)
			memcpy(src + 8 * i, &n, 8);
		v[0] = (struct iovec){src, 24};
		v[1] = (struct iovec){src + 24, 64};
		v[2] = (struct iovec){src + 88, WORDS * 8 - 88};
		cr_assert_eq(writer.way ? dpa_copy_out_v(hw, at(0), v, 3, WORDS * 8)
					: dpa_copy_out(hw, at(0), src, WORDS * 8),
			     0);
	}
	writer.over = true;
	return NULL;
}

static void last_word(void)
{
	const _Atomic uint64_t *w = (const _Atomic uint64_t *)(void *)mem;
	uint32_t bad = 0;
	pthread_t t;

	for (writer.way = 0; writer.way < 2; writer.way++) {
		memset(mem, 0, WORDS * 8);
		writer.over = false;
		cr_assert_eq(pthread_create(&t, NULL, writes, NULL), 0);
		while (!writer.over) {
			uint64_t last = atomic_load(&w[WORDS - 1]);

			for (uint32_t i = 0; i < WORDS; i++)
				bad += atomic_load(&w[i]) < last;
		}
		pthread_join(t, NULL);
		cr_expect_eq(bad, 0, "way %d", writer.way);
		cr_expect_eq(w[0], MESSAGES);
	}
}

Test(copy, the_last_word_is_behind_all_others)
{
	each_way(last_word);
}

/* And by way of the bounce buffer. */
Test(copy, the_last_word_off_the_stage_is_behind_all_others)
{
	dpa_stage_open(&hw->stage);
	cr_assert_not_null(hw->stage.base);
	last_word();
	dpa_stage_close(&hw->stage);
}

/* If the last segment is shorter than the number, nothing must be separated. */
Test(copy, what_is_apart)
{
	static uint8_t b[64];
	struct iovec v[2] = {{b, 40}, {b + 40, 4}}, out[3];

	cr_expect_eq(dpa_last_apart(v, 2, 128, out), 2);
	cr_expect_eq(dpa_last_apart(v, 2, 130, out), 3);
	cr_expect_eq(out[1].iov_len, 2);
	cr_expect_eq(out[2].iov_len, 2);
	cr_expect_eq(out[2].iov_base, b + 42);
	cr_expect_eq(dpa_last_apart(v, 1, 128, out), 2);
	cr_expect_eq(out[0].iov_len, 32);
	cr_expect_eq(out[1].iov_base, b + 32);
	cr_expect_eq(dpa_last_apart(v, 1, 131, out), 2);
	cr_expect_eq(out[1].iov_len, 1);
}

/* Holes at the begin, in the middle and at the end, of source and destination. */
static void holes(void)
{
	static const struct {
		uint32_t off, len;
	} bad[] = {{2 * PAGE, 1},    {2 * PAGE, 2 * PAGE}, {2 * PAGE - 1, 2},
		   {PAGE, 3 * PAGE}, {3 * PAGE - 1, 100},  {2 * PAGE + 7, PAGE}};
	int fds = open_fds();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_eq(dpa_copy_out(hw, at(bad[i].off), own, bad[i].len), EFAULT, "%zu", i);
		cr_expect_eq(dpa_copy_in(hw, own, at(bad[i].off), bad[i].len), EFAULT, "%zu", i);
	}
	cr_expect_eq(dpa_copy_out(hw, 0, own, 8), EFAULT);
	cr_expect_eq(dpa_copy_in(hw, own, UINT64_MAX - 7, 8), EFAULT);
	cr_assert_eq(mprotect(mem, PAGE, PROT_READ), 0);
	cr_expect_eq(dpa_copy_out(hw, at(0), own, 8), EFAULT, "not to be written");
	cr_expect_eq(dpa_copy_in(hw, own, at(0), 8), 0);
	cr_assert_eq(mprotect(mem, PAGE, PROT_READ | PROT_WRITE), 0);
	cr_expect_eq(open_fds(), fds);
}

Test(copy, what_is_not_there)
{
	each_way(holes);
}

/* From another process: its holes, ours, and its end. */
Test(copy, pulled_from_another_process)
{
	struct iovec src = {mem, PAGE}, dst = {own, PAGE};
	uint64_t probe = 0x8877665544332211;
	struct dpa_peer peer = {.pid = 0};
	int go[2];

	cr_assert_eq(pipe(go), 0);
	memset(mem, 0x5a, PAGE);
	peer.pid = fork();
	if (!peer.pid) {
		char c;

		close(go[1]);
		_exit(read(go[0], &c, 1) != 0);
	}
	if (!dpa_copy_probe(peer.pid, (uintptr_t)&probe, probe)) {
		close(go[1]);
		waitpid(peer.pid, NULL, 0);
		teardown();
		cr_skip_test("process_vm_readv is not allowed here");
	}
	cr_expect_not(dpa_copy_probe(peer.pid, (uintptr_t)&probe, probe + 1), "another's memory");
	cr_expect_eq(dpa_copy_pull(peer.pid, &dst, 1, &src, 1, 0), 0);
	cr_expect_eq(dpa_copy_pull(peer.pid, &dst, 1, &src, 1, PAGE), 0);
	cr_expect_eq(own[0], 0x5a);
	cr_expect_eq(own[PAGE - 1], 0x5a);
	src.iov_base = mem + 2 * PAGE - 16;
	cr_expect_eq(dpa_copy_pull(peer.pid, &dst, 1, &src, 1, PAGE), EFAULT, "its hole");
	src.iov_base = mem;
	dst.iov_base = mem + 2 * PAGE;
	cr_expect_eq(dpa_copy_pull(peer.pid, &dst, 1, &src, 1, PAGE), EFAULT, "ours");
	dst.iov_base = own;
	close(go[1]);
	cr_assert_eq(waitpid(peer.pid, NULL, 0), peer.pid);
	cr_expect_eq(dpa_copy_pull(peer.pid, &dst, 1, &src, 1, PAGE), ESRCH);
	close(go[0]);
}
