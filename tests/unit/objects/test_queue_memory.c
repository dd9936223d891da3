/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_queue_memory.c - queue memory: no descriptor and no mapping for each queue, memory only for
 * written pages, returned when a queue is destroyed, not present in a forked child.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ctx/qmem.h"
#include "util/buddy.h"
#include "harness.h"

static struct th *th;

/* Replace those of libc. */
static bool big_pages; /* a kernel with pages of 64 KiB */
static bool one_inode; /* every file has the inode number 1, on its file system */

int getpagesize(void)
{
	return big_pages ? 65536 : (int)sysconf(_SC_PAGESIZE);
}

int fstat(int fd, struct stat *st)
{
	int ret = fstatat(fd, "", st, AT_EMPTY_PATH);

	if (one_inode)
		st->st_ino = 1;
	return ret;
}

static void setup(void)
{
	static const struct th_opt opt;

	th = th_new(&opt);
}

static void teardown(void)
{
	th_free(th);
}

TestSuite(queue_memory, .init = setup, .fini = teardown);

/* --------------------------------------------------------------- bookkeeping */

#define LOG_BLOCKS 10u
#define BLOCKS	   (1u << LOG_BLOCKS)

/* No block is allocated twice; freed blocks are merged again. */
Test(buddy, random_blocks_never_overlap)
{
	static uint16_t owner[BLOCKS]; /* 0: free, else its allocation + 1 */
	static struct {
		uint32_t at, order;
		bool there;
	} piece[256];
	struct dpa_buddy b;

	cr_assert_eq(dpa_buddy_init(&b, LOG_BLOCKS), 0);
	srand(1);
	for (int k = 0; k < 20000; k++) {
		uint32_t i = (uint32_t)rand() % 256;

		if (piece[i].there) {
			cr_assert_eq(dpa_buddy_give(&b, piece[i].at), piece[i].order);
			for (uint32_t n = 0; n < 1u << piece[i].order; n++)
				owner[piece[i].at + n] = 0;
			piece[i].there = false;
			continue;
		}
		piece[i].order = (uint32_t)rand() % 8;
		piece[i].at = dpa_buddy_take(&b, piece[i].order);
		if (piece[i].at == DPA_BUDDY_NONE)
			continue;
		cr_assert_eq(piece[i].at % (1u << piece[i].order), 0);
		for (uint32_t n = 0; n < 1u << piece[i].order; n++) {
			cr_assert_eq(owner[piece[i].at + n], 0, "block %u", piece[i].at + n);
			owner[piece[i].at + n] = (uint16_t)(i + 1);
		}
		piece[i].there = true;
	}
	for (uint32_t i = 0; i < 256; i++)
		if (piece[i].there)
			dpa_buddy_give(&b, piece[i].at);
	cr_expect_eq(b.taken, 0);
	cr_expect_eq(dpa_buddy_take(&b, LOG_BLOCKS), 0, "all of it in one piece");
	cr_expect_eq(dpa_buddy_take(&b, 0), DPA_BUDDY_NONE);
	dpa_buddy_fini(&b);
}

/* Memory that is no allocation is not freed. */
Test(buddy, frees_only_allocated_blocks)
{
	struct dpa_buddy b;
	uint32_t at;

	cr_assert_eq(dpa_buddy_init(&b, 4), 0);
	at = dpa_buddy_take(&b, 2);
	cr_assert_eq(at, 0);
	cr_expect_eq(dpa_buddy_give(&b, 1), DPA_BUDDY_NONE, "inside of it");
	cr_expect_eq(dpa_buddy_give(&b, 4), DPA_BUDDY_NONE, "free");
	cr_expect_eq(dpa_buddy_give(&b, 16), DPA_BUDDY_NONE, "behind the end");
	cr_expect_eq(dpa_buddy_give(&b, 0), 2);
	cr_expect_eq(dpa_buddy_give(&b, 0), DPA_BUDDY_NONE, "twice");
	cr_expect_eq(dpa_buddy_take(&b, 5), DPA_BUDDY_NONE, "more than there is");
	dpa_buddy_fini(&b);
}

/* -------------------------------------------------------------------- queues */

struct use {
	uint32_t fds;	/* for queue memory */
	uint64_t bytes; /* memory that the kernel holds for them */
};

static struct use used(void)
{
	struct use u = {0};
	struct dirent *e;
	DIR *d = opendir("/proc/self/fd");

	cr_assert_not_null(d);
	while ((e = readdir(d))) {
		char path[300], to[64] = "";
		struct stat st;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		if (readlink(path, to, sizeof(to) - 1) < 0 || !strstr(to, "dpa-queue") ||
		    fstat(atoi(e->d_name), &st))
			continue;
		u.fds++;
		u.bytes += (uint64_t)st.st_blocks * 512;
	}
	closedir(d);
	return u;
}

static int maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	int n = 0, c;

	cr_assert_not_null(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static uint8_t *queue(size_t bytes)
{
	void *p = NULL;

	cr_assert_eq(dpa_hw_alloc_queue(&th->ctx, bytes, &p), 0, "%s", th_logged);
	cr_assert_eq((uintptr_t)p % 4096, 0);
	return p;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

#define QUEUES 20000
#define DEEP   (8u << 20)

/* Each queue of more than 16 KiB had a descriptor: a process had 501 QPs of depth 1,024. */
Test(queue_memory, queues_cost_no_descriptor)
{
	static uint8_t *q[QUEUES];
	struct use u;
	int before = maps();

	for (int i = 0; i < QUEUES; i++) {
		q[i] = queue(DEEP);
		if (i % 1000 == 0)
			q[i][0] = q[i][DEEP - 1] = 1;
	}
	u = used();
	cr_expect_leq(u.fds, 20, "%u", u.fds);
	/* sanitizers have some mappings of their own */
	cr_expect_leq(maps() - before, QUEUES / 10);
	cr_expect_leq(u.bytes, QUEUES / 1000 * 2 * 4096, "what was not written to costs nothing");
	for (int i = 0; i < QUEUES; i++)
		dpa_hw_free_queue(&th->ctx, q[i], DEEP);
	cr_expect_eq(used().fds, 0);
}

/* The pages of a destroyed queue are returned to the kernel at once, although its arena stays. */
Test(queue_memory, memory_comes_back)
{
	const size_t n = 1 << 20;
	uint8_t *stays = queue(4096), *a = queue(n), *b;

	memset(stays, 1, 4096);
	memset(a, 0xa5, n);
	cr_expect_geq(used().bytes, n);
	dpa_hw_free_queue(&th->ctx, a, n);
	cr_expect_leq(used().bytes, 65536);
	b = queue(n);
	cr_expect(is_zero(b, n), "the next one finds zeros");
	cr_expect_eq(stays[0], 1);
	cr_expect_eq(stays[4095], 1);
	dpa_hw_free_queue(&th->ctx, b, n);
	dpa_hw_free_queue(&th->ctx, stays, 4096);
}

/* If the kernel cannot take them the next queue still finds zeros. */
Test(queue_memory, locked_memory)
{
	const size_t n = 64 << 10;
	uint8_t *stays = queue(n), *a = queue(n), *b;

	memset(a, 0xa5, n);
	if (mlock(a, n)) {
		teardown();
		cr_skip_test("memory cannot be locked here");
	}
	dpa_hw_free_queue(&th->ctx, a, n);
	b = queue(n);
	cr_expect_eq(b, a);
	cr_expect(is_zero(b, n));
	dpa_hw_free_queue(&th->ctx, b, n);
	dpa_hw_free_queue(&th->ctx, stays, n);
}

/* closefrom(), and another file has the number: that file keeps its content. */
Test(queue_memory, descriptor_was_closed)
{
	uint8_t *a = queue(DEEP), *b = queue(65536);
	char text[5] = "";
	int fd, n = 0;

	for (int i = 3; i < 1024; i++) {
		char path[32], to[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		if (readlink(path, to, sizeof(to) - 1) < 0 || !strstr(to, "dpa-queue"))
			continue;
		fd = memfd_create("another", MFD_CLOEXEC);
		cr_assert_geq(fd, 0);
		cr_assert_eq(write(fd, "kept", 4), 4);
		cr_assert_eq(dup2(fd, i), i);
		n++;
	}
	cr_assert_gt(n, 0);
	a[0] = 1;
	dpa_hw_free_queue(&th->ctx, a, DEEP);
	dpa_hw_free_queue(&th->ctx, b, 65536);
	cr_expect_eq(pread(fd, text, 4, 0), 4);
	cr_expect_str_eq(text, "kept");
}

/* The same with a file of another file system that has the same inode number: it stays open. */
Test(queue_memory, another_file_system_has_the_inode_number)
{
	uint8_t *a;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), at = -1;

	cr_assert_geq(fd, 0);
	one_inode = true;
	a = queue(65536);
	for (int i = 3; i < 1024; i++) {
		char path[32], to[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
		if (readlink(path, to, sizeof(to) - 1) > 0 && strstr(to, "dpa-queue"))
			at = i;
	}
	cr_assert_geq(at, 0);
	cr_assert_eq(dup2(fd, at), at);
	dpa_hw_free_queue(&th->ctx, a, 65536);
	cr_expect_neq(fcntl(at, F_GETFD), -1, "it was closed");
	one_inode = false;
}

/* Two queues of 32 KiB shared one page there: the end of one emptied the other. */
Test(queue_memory, no_two_queues_in_one_page_of_64_KiB)
{
	uint8_t *q[16];

	big_pages = true;
	for (size_t i = 0; i < 16; i++) {
		q[i] = queue(4096);
		/* the kernel of this machine maps an arena at any of its own pages */
		cr_expect_eq(((uintptr_t)q[i] - (uintptr_t)q[0]) % 65536, 0, "%p, %p", (void *)q[0],
			     (void *)q[i]);
		memset(q[i], 1, 4096);
	}
	for (size_t i = 0; i < 16; i += 2)
		dpa_hw_free_queue(&th->ctx, q[i], 4096);
	for (size_t i = 1; i < 16; i += 2) {
		cr_expect_eq(q[i][4095], 1);
		dpa_hw_free_queue(&th->ctx, q[i], 4096);
	}
	cr_expect_eq(used().fds, 0);
	big_pages = false;
}

/* A core dump reads the memory, and so would fill each hole of the arenas. */
Test(queue_memory, not_in_a_core_file)
{
	uint8_t *q = queue(65536);
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512];
	bool ours = false;
	int n = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, "dpa-queue"))
			ours = true;
		if (!ours || strncmp(line, "VmFlags:", 8))
			continue;
		cr_expect(strstr(line, " dd"), "%s", line);
		ours = false;
		n++;
	}
	fclose(f);
	cr_expect_eq(n, 1);
	dpa_hw_free_queue(&th->ctx, q, 65536);
}

/* mlockall(MCL_FUTURE) filled each arena, up to 64 GiB of it, when its first queue was created. */
Test(queue_memory, all_memory_is_locked)
{
	const size_t n = 1 << 20;
	uint8_t *stays, *a;

	if (mlockall(MCL_FUTURE)) {
		teardown();
		cr_skip_test("memory cannot be locked here");
	}
	stays = queue(4096);
	a = queue(n);
	stays[0] = a[0] = a[n - 1] = 1;
	cr_expect_leq(used().bytes, 65536, "%lu", used().bytes);
	dpa_hw_free_queue(&th->ctx, a, n);
	cr_expect_leq(used().bytes, 4096, "%lu", used().bytes);
	cr_expect_eq(queue(n), a);
	cr_expect(is_zero(a, n));
	cr_expect_eq(stays[0], 1);
	dpa_hw_free_queue(&th->ctx, a, n);
	dpa_hw_free_queue(&th->ctx, stays, 4096);
}

/* A child has neither the memory nor the descriptor. */
Test(queue_memory, not_in_a_forked_child)
{
	uint8_t *q = queue(4096);
	int status = -1, zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	q[0] = 7;
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		if (read(zero, q, 1) != -1 || errno != EFAULT)
			_exit(1);
		dpa_qmem_abandon(th->ctx.hw);
		_exit(used().fds ? 2 : 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "%#x", (unsigned)status);
	cr_expect_eq(q[0], 7);
	dpa_hw_free_queue(&th->ctx, q, 4096);
	close(zero);
}

/*
 * No handler runs in a child of a raw clone: it frees nothing, and nothing of the parent is harmed.
 */
Test(queue_memory, freed_in_a_child_of_a_raw_clone)
{
	uint8_t *q = queue(65536), *r = queue(4096);
	int status = -1;
	pid_t pid;

	q[0] = 7;
	pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, NULL);
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		uint8_t *own = mmap(q, 65536, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		if (own != q)
			_exit(1);
		own[0] = 9;
		dpa_hw_free_queue(&th->ctx, q, 65536);
		dpa_hw_free_queue(&th->ctx, r, 4096);
		_exit(own[0] == 9 ? 0 : 2);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "%#x", (unsigned)status);
	cr_expect_eq(q[0], 7);
	dpa_hw_free_queue(&th->ctx, q, 65536);
	dpa_hw_free_queue(&th->ctx, r, 4096);
}

/* `ulimit -f`: a larger file would raise SIGXFSZ. Smaller arenas are used as far as possible. */
Test(queue_memory, small_file_limit)
{
	struct rlimit lim = {1 << 20, 1 << 20};
	uint8_t *q;
	void *p;

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
	q = queue(1 << 20);
	cr_expect_eq(dpa_hw_alloc_queue(&th->ctx, 2 << 20, &p), ENOMEM);
	cr_expect(strstr(th_logged, "ulimit -f"), "%s", th_logged);
	dpa_hw_free_queue(&th->ctx, q, 1 << 20);
}
