/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The timeline's rings: each event is whole, in order, and counted if it is lost, whatever happens
 * to the writer: overwritten, forked, killed at any instruction, or with more threads than rings.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "trace/ring.h"
#include "trace/trace.h"

static struct dpa_trace_shm *map_memory(int fd)
{
	struct dpa_trace_shm *shm =
		mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	cr_assert_neq((void *)shm, MAP_FAILED);
	return shm;
}

static struct dpa_trace_shm *begin(enum dpa_trace_mode mode, bool reader)
{
	cr_assert_eq(dpa_trace_prepare(), 0);
	dpa_trace_set(mode, reader);
	cr_assert_geq(dpa_trace_fd(), 0);
	return map_memory(dpa_trace_fd());
}

/* An event that can be recognised as whole: all its fields follow from n. */
static void put_number(uint32_t n)
{
	dpa_trace_event(DPA_TRACE_TX, (uint16_t)n, (uint8_t)n, n, ~n, n * 3, (uint64_t)n << 32 | n);
}

static bool is_whole(const struct trace_event *e)
{
	uint32_t n = e->object;

	if (e->kind == DPA_TRACE_THREAD)
		return true;
	return e->kind == DPA_TRACE_TX && e->extra == (uint16_t)n && e->code == (uint8_t)n &&
	       e->x == ~n && e->y == n * 3 && e->z == ((uint64_t)n << 32 | n);
}

/* Reads what is there; each event must be whole, and later than the one before. */
static uint64_t drain(struct dpa_trace_ring *r, uint64_t *tail, uint64_t *lost, uint64_t *last)
{
	static struct trace_event e[1024];
	uint64_t all = 0;
	uint32_t n;

	while ((n = trace_ring_read(r, tail, e, 1024, lost))) {
		for (uint32_t i = 0; i < n; i++) {
			cr_assert(is_whole(&e[i]), "event %u of kind %u", e[i].object, e[i].kind);
			if (e[i].kind == DPA_TRACE_THREAD)
				continue;
			cr_assert_gt((uint64_t)e[i].object + 1, *last);
			*last = (uint64_t)e[i].object + 1;
		}
		all += n;
	}
	return all;
}

Test(trace_ring, off_records_nothing)
{
	cr_expect_not(dpa_trace_is_on());
	cr_expect_eq(dpa_trace_begin(), 0u);
	cr_expect_eq(dpa_trace_fd(), -1);
	put_number(1); /* a point that a switch-off overtook */
}

Test(trace_ring, events_have_their_fields_and_order)
{
	struct dpa_trace_shm *shm = begin(DPA_TRACE_ALL, true);
	struct trace_event e[8];
	uint64_t tail = 0, lost = 0;

	cr_expect(dpa_trace_is_on());
	put_number(7);
	put_number(8);
	cr_assert_eq(atomic_load(&shm->used), 1u);
	cr_assert_eq(trace_ring_read(&shm->ring[0], &tail, e, 8, &lost), 3u);
	cr_expect_eq(e[0].kind, DPA_TRACE_THREAD);
	cr_expect_eq(e[0].object, (uint32_t)syscall(SYS_gettid));
	cr_expect(is_whole(&e[1]) && e[1].object == 7);
	cr_expect(is_whole(&e[2]) && e[2].object == 8);
	cr_expect_leq(e[0].at, e[1].at);
	cr_expect_leq(e[1].at, e[2].at);
	dpa_trace_set(DPA_TRACE_OFF, false);
	cr_expect_not(dpa_trace_is_on());
	put_number(9);
	cr_expect_eq(trace_ring_read(&shm->ring[0], &tail, e, 8, &lost), 0u);
	cr_expect_eq(lost, 0u);
}

Test(trace_ring, the_oldest_events_are_overwritten_and_counted)
{
	const uint32_t n = DPA_TRACE_EVENTS + 100;
	struct dpa_trace_shm *shm = begin(DPA_TRACE_ALL, true);
	uint64_t tail = 0, lost = 0, last = 0, got;

	for (uint32_t i = 0; i < n; i++)
		put_number(i);
	got = drain(&shm->ring[0], &tail, &lost, &last);
	cr_expect_eq(got + lost, n + 1, "with the name of the thread");
	/* the reader leaves out the one that may be in the middle of being overwritten */
	cr_expect_eq(lost, 102u);
	cr_expect_eq(dpa_trace_sums().lost, 101u);
	cr_expect_eq(last, n);
}

Test(trace_ring, without_a_reader_no_event_is_lost)
{
	struct dpa_trace_shm *shm = begin(DPA_TRACE_ALL, false);
	uint64_t tail, lost = 0, last = 0;

	cr_expect_eq(trace_ring_oldest(&shm->ring[0]), 0u);
	for (uint32_t i = 0; i < 2 * DPA_TRACE_EVENTS; i++)
		put_number(i);
	cr_expect_eq(dpa_trace_sums().lost, 0u);
	/* nor for a reader that begins at the oldest event */
	tail = trace_ring_oldest(&shm->ring[0]);
	cr_expect_eq(drain(&shm->ring[0], &tail, &lost, &last), DPA_TRACE_EVENTS - 1);
	cr_expect_eq(lost, 0u);
	cr_expect_eq(last, 2 * DPA_TRACE_EVENTS);
}

Test(trace_ring, some_events_are_skipped_and_counted_when_there_are_many)
{
	const uint32_t n = 4000000;
	struct dpa_trace_shm *shm = begin(DPA_TRACE_SOME, true);
	uint64_t tail = 0, lost = 0, last = 0, got = 0, skipped;

	for (uint32_t i = 0; i < n; i++) {
		put_number(i);
		if (i % 1000 == 0)
			got += drain(&shm->ring[0], &tail, &lost, &last);
	}
	got += drain(&shm->ring[0], &tail, &lost, &last);
	skipped = dpa_trace_sums().skipped;
	cr_expect_gt(got, 1024u);
	cr_expect_gt(skipped, n / 2, "%llu", (unsigned long long)skipped);
	cr_expect_eq(lost, 0u);
	cr_expect_geq(got + skipped, n);
	cr_expect_leq(got + skipped, n + 128, "up to a leap is counted ahead");
}

/* As an injected failure among very many packets. */
Test(trace_ring, rare_events_are_not_skipped)
{
	struct dpa_trace_shm *shm = begin(DPA_TRACE_SOME, true);
	uint64_t tail = 0, lost = 0;
	struct trace_event e;
	uint32_t rare = 0;

	for (uint32_t i = 0; i < 1000000; i++) {
		put_number(i);
		if (i % 10000 == 0)
			dpa_trace_at(dpa_trace_rare(), DPA_TRACE_INJECT, 0, 0, i, 0, 0, 0);
		while (trace_ring_read(&shm->ring[0], &tail, &e, 1, &lost))
			rare += e.kind == DPA_TRACE_INJECT;
	}
	cr_expect_eq(lost, 0u);
	cr_expect_gt(dpa_trace_sums().skipped, 0u);
	cr_expect_eq(rare, 100u);
	dpa_trace_set(DPA_TRACE_OFF, false);
	cr_expect_eq(dpa_trace_rare(), 0u);
}

/* ------------------------------------------------------------------- processes */

Test(trace_ring, a_forked_child_records_nothing)
{
	int status;
	pid_t pid;

	begin(DPA_TRACE_ALL, true);
	put_number(1);
	pid = fork();
	if (!pid) {
		dpa_trace_child();
		put_number(2);
		if (dpa_trace_is_on() || dpa_trace_fd() >= 0 || dpa_trace_prepare())
			_exit(1);
		dpa_trace_set(DPA_TRACE_ALL, true); /* its own timeline */
		put_number(3);
		_exit(atomic_load(&map_memory(dpa_trace_fd())->used) != 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}

/* No handler runs, and the memory is not there: the point must notice. */
Test(trace_ring, a_raw_clone_records_nothing)
{
	int status;
	pid_t pid;

	begin(DPA_TRACE_ALL, true);
	put_number(1);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (!pid) {
		put_number(2);
		if (dpa_trace_sums().lost || dpa_trace_prepare())
			_exit(1);
		dpa_trace_set(DPA_TRACE_ALL, true);
		put_number(3);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}

static void send_fd(int sock, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = {0};
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   .msg_controllen = sizeof(u.buf)};

	CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(int));
	if (sendmsg(sock, &m, 0) != 1)
		_exit(1);
}

static int take_fd(int sock)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = {0};
	char b;
	struct iovec iov = {.iov_base = &b, .iov_len = 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   .msg_controllen = sizeof(u.buf)};
	int fd;

	cr_assert_eq(recvmsg(sock, &m, 0), 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

static _Noreturn void record_until_killed(int sock)
{
	begin(DPA_TRACE_ALL, true);
	put_number(0);
	send_fd(sock, dpa_trace_fd());
	for (uint32_t i = 1;; i++)
		put_number(i);
}

Test(trace_ring, a_writer_that_is_killed_leaves_whole_events)
{
	for (int round = 0; round < 20; round++) {
		uint64_t tail = 0, lost = 0, last = 0, want;
		struct dpa_trace_shm *shm;
		int s[2], fd, status;
		pid_t pid;

		cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
		pid = fork();
		if (!pid)
			record_until_killed(s[1]);
		fd = take_fd(s[0]);
		shm = map_memory(fd);
		want = atomic_load(&shm->ring[0].head) + (uint64_t)round * 5000;
		while (atomic_load(&shm->ring[0].head) < want)
			sched_yield();
		kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		want = atomic_load(&shm->ring[0].head);
		want -= drain(&shm->ring[0], &tail, &lost, &last);
		cr_expect_eq(want, lost);
		munmap(shm, sizeof(*shm));
		close(fd);
		close(s[0]);
		close(s[1]);
	}
}

/* --------------------------------------------------------------------- threads */

#define WRITERS 4u
#define EACH	200000u

static void *write_many(void *arg)
{
	_Atomic uint32_t *ended = arg;

	for (uint32_t i = 0; i < EACH; i++)
		put_number(i);
	atomic_fetch_add(ended, 1);
	return NULL;
}

Test(trace_ring, threads_write_while_a_reader_reads)
{
	struct dpa_trace_shm *shm = begin(DPA_TRACE_ALL, true);
	uint64_t tail[WRITERS] = {0}, last[WRITERS] = {0}, lost = 0, got = 0;
	_Atomic uint32_t ended = 0;
	pthread_t t[WRITERS];
	bool over;

	for (uint32_t i = 0; i < WRITERS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, write_many, &ended), 0);
	do {
		over = atomic_load(&ended) == WRITERS;
		for (uint32_t i = 0; i < atomic_load(&shm->used) && i < WRITERS; i++) {
			got += drain(&shm->ring[i], &tail[i], &lost, &last[i]);
			atomic_store_explicit(&shm->ring[i].tail, tail[i], memory_order_release);
		}
	} while (!over);
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	cr_expect_eq(got + lost, (uint64_t)WRITERS * (EACH + 1));
}

static void *write_one(void *arg)
{
	*(pid_t *)arg = (pid_t)syscall(SYS_gettid);
	put_number(1);
	return NULL;
}

Test(trace_ring, a_ring_of_a_thread_that_ended_is_used_again)
{
	struct dpa_trace_shm *shm = begin(DPA_TRACE_ALL, true);

	for (uint32_t i = 0; i < 2 * DPA_TRACE_RINGS; i++) {
		pthread_t t;
		pid_t tid;

		cr_assert_eq(pthread_create(&t, NULL, write_one, &tid), 0);
		pthread_join(t, NULL);
		while (!syscall(SYS_tgkill, getpid(), tid, 0)) /* the kernel is not done with it */
			sched_yield();
	}
	cr_expect_eq(atomic_load(&shm->used), 1u);
	cr_expect_eq(atomic_load(&shm->ring[0].head), 2 * 2 * DPA_TRACE_RINGS);
	cr_expect_eq(atomic_load(&shm->ringless), 0u);
}

static pthread_barrier_t together;

static void *write_together(void *arg)
{
	put_number(1);
	pthread_barrier_wait(&together);
	return arg;
}

Test(trace_ring, a_thread_without_a_ring_is_counted)
{
	struct dpa_trace_shm *shm = begin(DPA_TRACE_ALL, true);
	pthread_t t[DPA_TRACE_RINGS + 2];

	pthread_barrier_init(&together, NULL, DPA_TRACE_RINGS + 2);
	for (uint32_t i = 0; i < DPA_TRACE_RINGS + 2; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, write_together, NULL), 0);
	for (uint32_t i = 0; i < DPA_TRACE_RINGS + 2; i++)
		pthread_join(t[i], NULL);
	cr_expect_eq(atomic_load(&shm->used), DPA_TRACE_RINGS);
	cr_expect_eq(atomic_load(&shm->ringless), 2u);
}
