/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_area.c - a peer's areas, mapped here: the test writes the peer's table. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include "knobs.h"
#include "link/peer.h"
#include "direct/share.h"
#include "direct/direct.h"
#include "tests/unit/transport/harness.h"

#define ENTRY 5u /* of the region */
#define I     2u /* of the area */
#define START 0x7f0000100000ull
#define PAGES 4u
#define BYTES (PAGES * DPA_PAGE)
#define OFF   (7 * DPA_PAGE)

static struct th *th;
static struct dpa_peer *p;
static struct dpa_export *theirs;
static uint8_t *file; /* the test's mapping of the peer's memory */

static void area(uint32_t serial, uint64_t start, uint64_t length, uint64_t off)
{
	struct dpa_area *a = &theirs->area[I];

	a->start = start;
	a->length = length;
	a->off = off;
	atomic_store(&a->serial, serial);
	atomic_store(&theirs->mr_area[ENTRY], I + 1);
}

static void setup(void)
{
	int fd = memfd_create("area", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct stat st;

	th = th_new(&(struct th_opt){.direct = true, .pull = true});
	cr_assert(fd >= 0 && !ftruncate(fd, DPA_SHARE_BYTES));
	file = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, OFF);
	theirs = mmap(NULL, sizeof(*theirs), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert(file != MAP_FAILED && theirs != MAP_FAILED);
	cr_assert_eq(posix_memalign((void **)&p, DPA_CACHE_LINE, sizeof(*p)), 0);
	memset(p, 0, sizeof(*p));
	p->hw = th->hw;
	p->slot = 3;
	p->gen = 9;
	p->export = theirs;
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	cr_assert_eq(fstat(fd, &st), 0);
	theirs->share_fd = fd;
	theirs->share_inode = st.st_ino;
	theirs->share_dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	p->pid = getpid();
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	cr_assert_geq(p->pidfd, 0);
	area(1, START, BYTES, OFF);
}

static void teardown(void)
{
	dpa_areas_unmap(p);
	if (theirs->share_fd >= 0)
		close(theirs->share_fd);
	close(p->pidfd);
	free(atomic_load(&p->maps));
	free(p);
	munmap(theirs, sizeof(*theirs));
	munmap(file, BYTES);
	th_free(th);
}

/* Return the area that must be mapped before it can be used; 0: none. */
static uint32_t missing(void)
{
	uint32_t unmapped;

	cr_expect_null(dpa_area_at(p, ENTRY, START, 1, &unmapped));
	return unmapped;
}

static uint8_t *at(uint64_t addr, uint64_t n)
{
	uint32_t unmapped;
	uint8_t *a = dpa_area_at(p, ENTRY, addr, n, &unmapped);

	cr_expect_eq(unmapped, 0u);
	return a;
}

Test(area, mapped_when_it_is_used)
{
	setup();
	cr_expect_eq(missing(), I + 1);
	cr_assert(dpa_area_map(p, I + 1));
	cr_assert_not_null(at(START, BYTES));
	file[BYTES - 1] = 0x5a;
	cr_expect_eq(at(START, BYTES)[BYTES - 1], 0x5a);
	*at(START + 9, 1) = 0x77;
	cr_expect_eq(file[9], 0x77);
	cr_expect_not_null(at(START + BYTES - 1, 1));
	cr_expect_null(at(START + BYTES, 1));
	cr_expect_null(at(START + BYTES - 1, 2));
	cr_expect_null(at(START - 1, 1));
	cr_expect_null(at(START, UINT64_MAX));
	cr_expect_null(at(0, 1));
	cr_expect(dpa_area_map(p, I + 1), "it is there already");
	teardown();
}

Test(area, none)
{
	setup();
	atomic_store(&theirs->mr_area[ENTRY], 0);
	cr_expect_eq(missing(), 0u, "the region is not shared");
	atomic_store(&theirs->mr_area[ENTRY], DPA_AREAS + 1);
	cr_expect_eq(missing(), 0u, "no such area");
	atomic_store(&theirs->mr_area[ENTRY], UINT32_MAX);
	cr_expect_eq(missing(), 0u, "no such area");
	atomic_store(&theirs->mr_area[ENTRY], I + 1);
	atomic_store(&theirs->area[I].serial, 0);
	cr_expect_eq(missing(), 0u, "it ended");
	cr_expect_not(dpa_area_map(p, I + 1));
	area(2, START, BYTES, OFF);
	close(theirs->share_fd);
	theirs->share_fd = -1;
	cr_expect_not(dpa_area_map(p, I + 1), "the peer has no file");
	cr_expect_eq(missing(), 0u, "and is not asked again for this area");
	area(3, START, BYTES, OFF);
	cr_expect_eq(missing(), I + 1, "but for the next");
	teardown();
}

/* A lack of descriptors in this process is no refusal. */
Test(area, asked_again_when_descriptors_ran_out)
{
	struct rlimit was, none;

	setup();
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_expect_not(dpa_area_map(p, I + 1));
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
	cr_expect_eq(missing(), I + 1);
	cr_expect(dpa_area_map(p, I + 1));
	cr_expect_not_null(at(START, BYTES));
	teardown();
}

/* The peer's program may have closed the descriptor, and another file has its number. */
Test(area, another_file)
{
	int fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	setup();
	cr_assert(fd >= 0 && !ftruncate(fd, DPA_SHARE_BYTES));
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	cr_assert_eq(dup3(fd, theirs->share_fd, O_CLOEXEC), theirs->share_fd);
	cr_expect_not(dpa_area_map(p, I + 1));
	close(fd);
	teardown();
}

/* A file that can shrink would fault its reader. */
Test(area, not_sealed)
{
	int fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct stat st;

	setup();
	cr_assert(fd >= 0 && !ftruncate(fd, DPA_SHARE_BYTES) && !fstat(fd, &st));
	cr_assert_eq(dup3(fd, theirs->share_fd, O_CLOEXEC), theirs->share_fd);
	theirs->share_inode = st.st_ino;
	cr_expect_not(dpa_area_map(p, I + 1));
	close(fd);
	teardown();
}

/* Drop capabilities: those of root would open every process. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	cr_assert_eq(syscall(SYS_capset, &head, none), 0);
}

/* A peer that is not dumpable, until it is killed; it has the descriptors of this process. */
static pid_t start_closed_peer(void)
{
	int pipe_fd[2];
	pid_t pid;
	char c = 0;

	cr_assert_eq(pipe(pipe_fd), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		prctl(PR_SET_DUMPABLE, 0);
		(void)!write(pipe_fd[1], &c, 1);
		for (;;)
			pause();
	}
	cr_assert_eq(read(pipe_fd[0], &c, 1), 1);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return pid;
}

/* A process that the kernel keeps from the peer's memory maps none of it. */
Test(area, as_the_kernel_lets)
{
	pid_t pid;

	setup();
	drop_capabilities();
	cr_expect(dpa_area_map(p, I + 1), "one's own process");
	area(2, START, BYTES, OFF);
	pid = start_closed_peer();
	close(p->pidfd);
	p->pid = pid;
	p->can_pull = true; /* for any value: by /proc it is refused as well */
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	cr_expect_not(dpa_area_map(p, I + 1));
	cr_expect_eq(missing(), 0u);
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	teardown();
}

/* Another area in its place is another mapping; an ended area is not used. */
Test(area, another_one)
{
	setup();
	cr_assert(dpa_area_map(p, I + 1));
	atomic_store(&theirs->area[I].serial, 0);
	cr_expect_eq(missing(), 0u);
	area(2, START + 64 * DPA_PAGE, DPA_PAGE, OFF + DPA_PAGE);
	cr_expect_eq(missing(), I + 1);
	cr_assert(dpa_area_map(p, I + 1));
	cr_expect_null(at(START, 1));
	file[DPA_PAGE] = 0x31;
	cr_assert_not_null(at(START + 64 * DPA_PAGE, DPA_PAGE));
	cr_expect_eq(*at(START + 64 * DPA_PAGE, 1), 0x31);
	teardown();
}

/* A mapping is removed when no thread can use it. */
Test(area, not_under_a_hazard)
{
	struct dpa_peer other = {.slot = 4, .gen = 9};
	struct dpa_hazard *h, *o;

	setup();
	other.hw = th->hw;
	cr_assert(dpa_area_map(p, I + 1));
	area(2, START, DPA_PAGE, OFF);
	o = dpa_hazard_enter(th->hw, &other);
	h = dpa_hazard_enter(th->hw, p);
	cr_assert(o && h && o != h);
	cr_expect_not(dpa_area_map(p, I + 1));
	cr_expect_eq(missing(), I + 1, "nor is it used as it was");
	dpa_hazard_leave(h);
	cr_expect(dpa_area_map(p, I + 1), "that of another peer does not count");
	dpa_hazard_leave(o);
	cr_assert_not_null(at(START, DPA_PAGE));
	cr_expect_null(at(START, DPA_PAGE + 1));
	teardown();
}

/* Everything is checked: no mapping from invalid data. */
Test(area, nonsense)
{
	static const struct {
		uint64_t start, length, off;
	} bad[] = {
		{START, 0, OFF},
		{START + 1, BYTES, OFF},
		{START, BYTES + 8, OFF},
		{START, BYTES, OFF + 512},
		{START, DPA_SHARE_BYTES + DPA_PAGE, 0},
		{START, BYTES, DPA_SHARE_BYTES},
		{START, BYTES, UINT64_MAX - DPA_PAGE + 1},
		{UINT64_MAX - DPA_PAGE + 1, BYTES, OFF},
		{START, UINT64_MAX - DPA_PAGE + 1, OFF},
	};

	setup();
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		area(10 + i, bad[i].start, bad[i].length, bad[i].off);
		cr_expect_not(dpa_area_map(p, I + 1), "%u", i);
		cr_expect_eq(missing(), I + 1, "%u", i);
	}
	area(9, START, BYTES, OFF);
	cr_expect(dpa_area_map(p, I + 1));
	teardown();
}

Test(area, all_at_once)
{
	setup();
	cr_assert(dpa_area_map(p, I + 1));
	dpa_areas_unmap(p);
	cr_expect_eq(missing(), I + 1);
	cr_expect(dpa_area_map(p, I + 1), "and again");
	cr_expect_not_null(at(START, BYTES));
	teardown();
}

/* Begin a test: register a region of this process whose pages are exchanged; return its key. */
static uint8_t *shared_region(uint32_t *key)
{
	struct dpa_mr_attr a = {.access = TH_ALL, .length = BYTES};
	uint8_t *mem;

	setup();
	th->hw->cfg.share_mr = DPA_CFG_SHARE_ALWAYS;
	cr_assert_eq(dpa_share_init(th->hw), 0);
	if (th->hw->share->pages.fd < 0 || !dpa_guard_works())
		cr_skip_test("no shared regions here");
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(mem, MAP_FAILED);
	a.pdn = th->pdn;
	a.addr = a.iova = (uintptr_t)mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &a, key), 0);
	return mem;
}

/* No memfd, and no look at /proc for each region: nothing is ever shared here. */
Test(area, none_without_the_preload)
{
	struct dpa_mr_attr a = {.access = TH_ALL, .length = BYTES};
	uint32_t key;

	if (dpa_share_find_watch())
		cr_skip_test("under the preload");
	if (!dpa_guard_works())
		cr_skip_test("no shared regions here");
	setup();
	th->hw->cfg.share_mr = DPA_CFG_SHARE_AUTO;
	cr_assert_eq(dpa_share_init(th->hw), 0);
	cr_expect_eq(th->hw->share->pages.fd, -1);
	a.pdn = th->pdn;
	a.addr = a.iova = (uintptr_t)file;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &a, &key), 0);
	cr_expect_eq(th->hw->export->mr[key >> DPA_KEY_TAG_BITS].why, DPA_SHARE_PRELOAD);
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	teardown();
}

/* Areas of the process itself are in place already. */
Test(area, of_this_process)
{
	uint32_t key, unmapped;
	uint8_t *mem;

	mem = shared_region(&key);
	mem[5] = 0x66;
	{
		uint8_t *x = dpa_area_at(th->peer, key >> DPA_KEY_TAG_BITS, (uintptr_t)mem + 5, 1,
					 &unmapped);

		cr_expect_eq(unmapped, 0u);
		cr_assert_not_null(x);
		cr_expect_eq(*x, 0x66);
	}
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	cr_expect_null(
		dpa_area_at(th->peer, key >> DPA_KEY_TAG_BITS, (uintptr_t)mem, 1, &unmapped));
	munmap(mem, BYTES);
	teardown();
}

/*
 * The poster goes on posting while an EU carries out what it saw before. A WQE that is not posted
 * has the index of an earlier one, so a run past the caller's end ended the QP by "malformed WQE".
 */
Test(area, no_further_than_the_caller_saw)
{
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE, .flags = DPA_WQE_SIGNALED, .nsge = 1};
	uint32_t key, idx, left = 4096;
	struct dpa_hw_qp *qp;
	uint8_t *mem;

	mem = shared_region(&key);
	wr.sge[0] = (struct dpa_sge){(uintptr_t)th->a.mem, 8, th->a.key};
	wr.raddr = (uintptr_t)mem;
	wr.rkey = key;
	qp = th->a.qp;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_assert_eq(qp->near.rkey, key, "carried out in mapped memory");
	idx = qp->req.send_idx;
	for (int i = 0; i < 3; i++)
		cr_assert(th_post(&th->a, &wr));
	cr_expect_eq(dpa_direct_run(qp, idx + 1), 1);
	cr_expect_eq(qp->req.send_idx, idx + 1);
	cr_expect_eq(dpa_near_run(qp, idx + 3, &left), 2);
	cr_expect_eq(qp->req.send_idx, idx + 3);
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	munmap(mem, BYTES);
	teardown();
}
