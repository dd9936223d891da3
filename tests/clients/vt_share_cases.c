/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_share_cases.c - registered memory behaves like the application's own, with any handling of its
 * pages by the device: fork(), the allocator, regions that overlap; and stores of peers arrive in
 * order, and their atomics are atomic among each other. Side 1 owns the memory, side 0 writes.
 * (munmap(), mremap(), madvise(): vt_pages_cases.c.) If it must be shared each case checks that it
 * was.
 */
#include "vt_maps.h"
#include "vt_peer.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* LEAST of the counted operations, MOST if the machine has time: a round ends after ROUND_NS. */
enum { AREA = 1 << 20, PAGE = 4096, LEAST = 50, MOST = 20000, MESSAGES = 20000 };
#define ROUND_NS 500000000ull

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

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

static bool is_all(const uint8_t *p, size_t n, uint8_t value)
{
	for (size_t i = 0; i < n; i++)
		if (((const volatile uint8_t *)p)[i] != value)
			return false;
	return true;
}

/* A child's change affects only the child. */
static void expect_private(uint8_t *p, const char *when)
{
	const int was = *p, other = was ^ 0xff;
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		*(volatile uint8_t *)p = (uint8_t)other;
		_exit(*(volatile uint8_t *)p == other ? 0 : 1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(*(volatile uint8_t *)p == was, "a child wrote to its parent's memory %s", when);
}

static void dereg(struct vt *t)
{
	CHECK_EQ(ibv_dereg_mr(t->mr), 0);
	t->mr = NULL;
}

/* --------------------------------------------------------------------- fork */

/*
 * The child has the contents at fork(), and no later changes; nor has the parent those of the
 * child.
 */
static void forked(struct vt *t)
{
	int go[2], status;
	pid_t pid = 0;
	char c;

	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		CHECK(is_all(t->buf, AREA, 0x11), "written");
		vt_expect_shared(t, t->buf, "before fork()");
		CHECK_EQ(pipe(go), 0);
		fflush(stdout);
		pid = fork();
		CHECK(pid >= 0, "fork");
		if (!pid) {
			close(go[1]);
			if (!is_all(t->buf, AREA, 0x11))
				_exit(1);
			memset(t->buf + PAGE, 0x33, PAGE);
			if (read(go[0], &c, 1) != 0)
				_exit(2);
			_exit(is_all(t->buf, PAGE, 0x11) && is_all(t->buf + PAGE, PAGE, 0x33) &&
					      is_all(t->buf + 2 * PAGE, AREA - 2 * PAGE, 0x11)
				      ? 0
				      : 3);
		}
	}
	vt_sync(t);
	put(t, 0, AREA, 0x22);
	if (t->side == 1) {
		vt_expect_not_shared(t->buf, "after fork()");
		CHECK(is_all(t->buf, AREA, 0x22), "the child wrote to its parent's memory");
		close(go[0]);
		close(go[1]);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		expect_private(t->buf, "registered");
		dereg(t);
		CHECK(is_all(t->buf, AREA, 0x22), "deregistered");
		expect_private(t->buf, "deregistered");
	}
	vt_close(t);
}

struct storer {
	uint64_t *at;
	_Atomic bool over;
	uint64_t lost;
};

/* For one word of each page: its last store is present. */
static void *storer(void *arg)
{
	struct storer *s = arg;

	for (uint64_t n = 0; !atomic_load(&s->over); n++)
		for (uint64_t i = 0; i < AREA / PAGE; i++) {
			uint64_t *w = &s->at[i * (PAGE / 8)];

			s->lost += __atomic_load_n(w, __ATOMIC_RELAXED) != n;
			__atomic_store_n(w, n + 1, __ATOMIC_RELAXED);
		}
	return NULL;
}

/* fork() and deregistration while another thread stores there all the time. */
static void stores_are_kept(struct vt *t)
{
	struct storer s = {0};
	unsigned int others;
	pthread_t thread;

	if (t->side == 0)
		return;
	vt_open(t);
	for (int round = 0; round < 60; round++) {
		t->buf = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		CHECK(t->buf != MAP_FAILED, "mmap");
		memset(t->buf, 0, AREA);
		t->mr = vt_reg_shared(t, t->buf, AREA);
		vt_expect_shared(t, t->buf, "registered");
		others = vt_threads();
		s = (struct storer){.at = (uint64_t *)(void *)t->buf};
		CHECK_EQ(pthread_create(&thread, NULL, storer, &s), 0);
		while (!__atomic_load_n(&s.at[0], __ATOMIC_RELAXED))
			;
		if (round % 2)
			expect_private(t->buf + 8, "with a thread");
		dereg(t);
		/* which loses no store: a mapping of the shared pages' copy */
		if (vt_shares(t))
			CHECK_EQ(vt_pages(t->buf), VT_COPIED);
		usleep(200);
		atomic_store(&s.over, true);
		pthread_join(thread, NULL);
		while (vt_threads() > others)
			sched_yield();
		CHECK(!s.lost, "round %d: %llu stores were lost", round,
		      (unsigned long long)s.lost);
		expect_private(t->buf + 8, "deregistered with a thread");
		munmap(t->buf, AREA);
	}
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

/* Bytes of a completed WRITE are present, with any handling of the pages by fork() meanwhile. */
static void written_while_forking(struct vt *t)
{
	const uint64_t over = vt_now_ns() + 20 * ROUND_NS;
	struct vt_addr all, at = {0};
	bool more = true;
	uint64_t until;
	int status;

	vt_setup_shared(t, &rc);
	all = t->peer;
	for (int round = 0; more; round++) {
		uint8_t *p = NULL;
		struct ibv_mr *mr = NULL;

		if (t->side == 1) {
			p = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
			CHECK(p != MAP_FAILED, "mmap");
			memset(p, 0, AREA);
			mr = vt_reg_shared(t, p, AREA);
			vt_expect_shared(t, p, "registered");
			at.addr = (uintptr_t)p;
			at.rkey = mr->rkey;
			more = round < 39 && (round < 3 || vt_now_ns() < over);
			at.qkey = more;
			vt_put(t, &at, sizeof(at));
			fflush(stdout);
			for (int i = 0; i < 2; i++) {
				pid_t pid;

				usleep((useconds_t)(round * 100));
				pid = fork();
				CHECK(pid >= 0, "fork");
				if (!pid)
					_exit(0);
				CHECK_EQ(waitpid(pid, &status, 0), pid);
			}
		} else {
			vt_get(t, &t->peer, sizeof(t->peer));
			more = t->peer.qkey;
		}
		until = vt_now_ns() + ROUND_NS;
		for (uint64_t n = 1;
		     t->side == 0 && n <= 2000 && (n <= LEAST || vt_now_ns() < until); n++) {
			volatile uint64_t *w = (volatile uint64_t *)(void *)t->buf;
			uint64_t off = n * 4104 % (AREA - 8) & ~7ull;

			w[0] = n;
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, off, 8, n, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, n, IBV_WC_SUCCESS);
			w[1] = 0;
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_READ, 8, off, 8, n, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, n, IBV_WC_SUCCESS);
			CHECK(w[1] == n, "round %d: %llu was written, %llu is there", round,
			      (unsigned long long)n, (unsigned long long)w[1]);
		}
		vt_sync(t);
		if (t->side == 1) {
			CHECK_EQ(ibv_dereg_mr(mr), 0);
			munmap(p, AREA);
		}
	}
	t->peer = all;
	vt_close(t);
}

/* ---------------------------------------------------------- the allocator */

/*
 * Memory of malloc(): large and small blocks, freed and allocated again, with others around them.
 */
static void allocated(struct vt *t)
{
	static const size_t lens[] = {3 * PAGE, 100000, 300000};
	struct vt_addr peer;
	uint8_t *p, *before, *behind;

	vt_setup_shared(t, &rc);
	peer = t->peer;
	for (int i = 0; i < 30; i++) {
		size_t n = lens[i % 3];
		struct ibv_mr *mr = NULL;

		before = malloc(500);
		p = malloc(n);
		behind = malloc(500);
		CHECK(before && p && behind, "malloc");
		memset(before, 1, 500);
		memset(behind, 2, 500);
		if (t->side == 1) {
			struct vt_addr at = {.addr = (uintptr_t)p};

			memset(p, i, n);
			mr = vt_reg_shared(t, p, n);
			at.rkey = mr->rkey;
			CHECK(is_all(p, n, (uint8_t)i), "registered");
			vt_expect_shared(t, p + PAGE, "of malloc()");
			vt_put(t, &at, sizeof(at));
		} else {
			vt_get(t, &t->peer, sizeof(t->peer));
		}
		put(t, 0, (uint32_t)n, (uint8_t)(0x80 + i));
		if (t->side == 1) {
			CHECK(is_all(p, n, (uint8_t)(0x80 + i)), "written");
			CHECK_EQ(ibv_dereg_mr(mr), 0);
			vt_expect_not_shared(p + PAGE, "of malloc(), deregistered");
			CHECK(is_all(p, n, (uint8_t)(0x80 + i)), "deregistered");
		}
		CHECK(is_all(before, 500, 1) && is_all(behind, 500, 2), "a neighbour was changed");
		free(before);
		free(p);
		free(behind);
	}
	t->peer = peer;
	vt_close(t);
}

/* ------------------------------------------------------------------ regions */

/* A deregistration does not affect overlapping regions. */
static void overlapping(struct vt *t)
{
	enum { HALF = AREA / 2 - 200 };
	struct ibv_mr *more[3] = {0};
	struct vt_addr all = {0}, at[3];

	vt_setup_shared(t, &rc);
	all = t->peer;
	if (t->side == 1) {
		for (int i = 0; i < 3; i++) {
			at[i].addr = (uintptr_t)t->buf + (uint64_t)i * (AREA / 4) + 100;
			more[i] = ibv_reg_mr(t->pd, t->buf + i * (AREA / 4) + 100, HALF, ALL);
			CHECK(more[i], "reg_mr: %s", strerror(errno));
			at[i].rkey = more[i]->rkey;
		}
		vt_put(t, at, sizeof(at));
	} else {
		vt_get(t, at, sizeof(at));
	}
	put(t, 0, AREA, 0x11);
	if (t->side == 1)
		dereg(t);
	vt_sync(t);
	for (int i = 0; i < 3; i++) {
		t->peer.addr = at[i].addr;
		t->peer.rkey = at[i].rkey;
		put(t, 0, HALF, (uint8_t)(0x20 + i));
		if (t->side == 1) {
			CHECK(is_all(t->buf + i * (AREA / 4) + 100, HALF, (uint8_t)(0x20 + i)),
			      "written to %d", i);
			vt_expect_shared(t, t->buf + AREA / 2, "while a region is left");
			CHECK_EQ(ibv_dereg_mr(more[i]), 0);
		}
		vt_sync(t);
	}
	t->peer = all;
	if (t->side == 1) {
		vt_expect_not_shared(t->buf + AREA / 2, "all deregistered");
		expect_private(t->buf + AREA / 2, "all deregistered");
	}
	vt_close(t);
}

/* With another try if it is not shared (vt_reg_shared()). */
static void put_elsewhere(struct vt *t, uint8_t *other)
{
	const int what = IBV_REREG_MR_CHANGE_TRANSLATION;

	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(ibv_rereg_mr(t->mr, what, NULL, other, AREA, 0), 0);
		if (!vt_shares(t) || vt_pages(other) == VT_SHARED)
			return;
		CHECK_EQ(ibv_rereg_mr(t->mr, what, NULL, t->buf, AREA, 0), 0);
		sched_yield();
	}
}

/* A region that moves releases its previous memory. */
static void reregistered(struct vt *t)
{
	uint8_t *other = NULL;

	vt_setup_shared(t, &rc);
	put(t, 0, AREA, 0x11);
	if (t->side == 1) {
		vt_expect_shared(t, t->buf, "registered");
		other = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		CHECK(other != MAP_FAILED, "mmap");
		put_elsewhere(t, other);
		vt_expect_not_shared(t->buf, "no longer registered");
		vt_expect_shared(t, other, "registered again");
		expect_private(t->buf, "no longer registered");
		t->me.addr = (uintptr_t)other;
		t->me.rkey = t->mr->rkey;
		vt_put(t, &t->me, sizeof(t->me));
	} else {
		vt_get(t, &t->peer, sizeof(t->peer));
	}
	put(t, 0, AREA, 0x22);
	if (t->side == 1) {
		CHECK(is_all(t->buf, AREA, 0x11) && is_all(other, AREA, 0x22), "written");
		dereg(t);
		expect_private(other, "deregistered");
		munmap(other, AREA);
	}
	vt_close(t);
}

/* ----------------------------------------------------------- order, atomics */

/* The last word of a message is written after all others of it, from any source. */
static void last_word(struct vt *t)
{
	enum { WORDS = 40, FROM = 4096 };

	uint64_t until;

	vt_setup_shared(t, &rc);
	vt_expect_shared(t, t->buf, "registered");
	until = vt_now_ns() + 20 * ROUND_NS;
	for (uint64_t n = 1; n <= MESSAGES; n++) {
		volatile uint64_t *w = (volatile uint64_t *)(void *)t->buf;

		if (t->side == 0) {
			if (n > LEAST && vt_now_ns() > until)
				n = MESSAGES; /* the last one */
			const size_t from = FROM + n * 8 % 64;

			for (int i = 0; i < WORDS; i++)
				memcpy(t->buf + from + 8 * i, &n, 8);
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, from, 0, WORDS * 8, n,
					 IBV_SEND_SIGNALED),
				 0);
			vt_wc_is(t, n, IBV_WC_SUCCESS);
			continue;
		}
		if (w[WORDS - 1] < n) /* it may be far ahead: then this one is not checked */
			n = n ? n - 1 : 0;
		uint64_t last = __atomic_load_n(&w[WORDS - 1], __ATOMIC_ACQUIRE);

		for (int i = 0; i < WORDS; i++)
			CHECK(w[i] >= last, "word %d is %llu, the last was %llu already", i,
			      (unsigned long long)w[i], (unsigned long long)last);
	}
	vt_close(t);
}

/* Adds 1 repeatedly; `behind` another operation, so that a packet carries it. */
struct adder {
	struct vt *t;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	size_t at; /* scratch */
	uint64_t added;
	bool behind;
};

static void *adder(void *arg)
{
	const uint64_t until = vt_now_ns() + 20 * ROUND_NS;
	struct adder *a = arg;
	struct vt *t = a->t;

	for (uint64_t n = 0; n < MOST && (n < LEAST || vt_now_ns() < until); n++) {
		struct ibv_sge sge = {(uintptr_t)t->buf + a->at, 8, t->mr->lkey};
		struct ibv_send_wr wr[2], *bad;

		memset(wr, 0, sizeof(wr));
		wr[0].opcode = IBV_WR_RDMA_WRITE; /* an empty one */
		wr[0].next = &wr[1];
		wr[1].wr_id = n;
		wr[1].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr[1].sg_list = &sge;
		wr[1].num_sge = 1;
		wr[1].send_flags = IBV_SEND_SIGNALED;
		wr[1].wr.atomic.remote_addr = t->peer.addr + 64;
		wr[1].wr.atomic.rkey = t->peer.rkey;
		wr[1].wr.atomic.compare_add = 1;
		CHECK_EQ(ibv_post_send(a->qp, a->behind ? &wr[0] : &wr[1], &bad), 0);
		CHECK_EQ(vt_wc(t, a->cq).status, IBV_WC_SUCCESS);
		a->added++;
	}
	return NULL;
}

/* By any path: none is lost. */
static void atomics_add_up(struct vt *t)
{
	struct adder a[2] = {{.t = t, .at = 1024}, {.t = t, .at = 2048, .behind = true}};
	struct vt_addr peer;
	pthread_t thread;
	uint64_t all;

	vt_setup_shared(t, &rc);
	vt_expect_shared(t, t->buf, "registered");
	a[0].qp = t->qp;
	a[0].cq = t->cq;
	a[1].cq = ibv_create_cq(t->ctx, 64, NULL, NULL, 0);
	CHECK(a[1].cq, "create_cq");
	a[1].qp = vt_qp_create(t, &rc, a[1].cq);
	vt_connect(t, a[1].qp, &rc, &peer);
	if (t->side == 0) {
		CHECK_EQ(pthread_create(&thread, NULL, adder, &a[1]), 0);
		adder(&a[0]);
		pthread_join(thread, NULL);
		all = a[0].added + a[1].added;
		vt_put(t, &all, sizeof(all));
	} else {
		vt_get(t, &all, sizeof(all));
		CHECK_EQ(*(volatile uint64_t *)(void *)(t->buf + 64), all);
	}
	CHECK_EQ(ibv_destroy_qp(a[1].qp), 0);
	CHECK_EQ(ibv_destroy_cq(a[1].cq), 0);
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"forked", forked, VT_PROCS, 0},
	{"stores_are_kept", stores_are_kept, VT_PROCS, 0},
	{"written_while_forking", written_while_forking, VT_PROCS, 0},
	{"allocated", allocated, VT_BOTH, 0},
	{"overlapping", overlapping, VT_PROCS, 0},
	{"reregistered", reregistered, VT_PROCS, 0},
	{"last_word", last_word, VT_BOTH, 0},
	{"atomics_add_up", atomics_add_up, VT_BOTH, 0},
};

VT_MAIN(cases)
