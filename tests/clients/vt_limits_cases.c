/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_limits_cases.c - limits, registration, states, forks, many QPs, one very large message. */
#include "vt.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void no_qp(struct vt *t, struct ibv_qp_init_attr a, const char *what)
{
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(t->pd, &a);
	CHECK(!qp && errno > 0, "%s was taken (errno %d)", what, errno);
}

/* The limits of query_device can be created; one more is an errno. */
static void create_limits(struct vt *t)
{
	struct ibv_device_attr d;
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC}, b;
	struct ibv_srq_init_attr sa = {0};
	struct ibv_qp *qp;

	vt_open(t);
	CHECK_EQ(ibv_query_device(t->ctx, &d), 0);
	t->cq = ibv_create_cq(t->ctx, 16, NULL, NULL, 0);
	CHECK(t->cq, "create_cq");
	CHECK(!ibv_create_cq(t->ctx, d.max_cqe + 1, NULL, NULL, 0), "max_cqe + 1");
	CHECK(errno == EINVAL || errno == ENOMEM, "errno %d", errno);
	CHECK(!ibv_create_cq(t->ctx, 16, NULL, NULL, t->ctx->num_comp_vectors), "comp_vector");
	a.send_cq = a.recv_cq = t->cq;
	a.cap = (struct ibv_qp_cap){(uint32_t)d.max_qp_wr, (uint32_t)d.max_qp_wr,
				    (uint32_t)d.max_sge, (uint32_t)d.max_sge, 0};
	b = a;
	qp = ibv_create_qp(t->pd, &b);
	CHECK(qp, "what query_device reports: %s", strerror(errno));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	b = a;
	b.cap.max_send_wr++;
	no_qp(t, b, "max_qp_wr + 1 sends");
	b = a;
	b.cap.max_recv_wr++;
	no_qp(t, b, "max_qp_wr + 1 receives");
	b = a;
	b.cap.max_send_sge++;
	no_qp(t, b, "max_sge + 1 to send");
	b = a;
	b.cap.max_recv_sge++;
	no_qp(t, b, "max_sge + 1 to receive");
	b = a;
	b.cap.max_inline_data = 1 << 20;
	no_qp(t, b, "1 MiB inline");
	b = a;
	b.qp_type = (enum ibv_qp_type)77;
	no_qp(t, b, "QP type 77");
	sa.attr = (struct ibv_srq_attr){(uint32_t)d.max_srq_wr + 1, 1, 0};
	CHECK(!ibv_create_srq(t->pd, &sa), "max_srq_wr + 1");
	sa.attr = (struct ibv_srq_attr){16, (uint32_t)d.max_srq_sge + 1, 0};
	CHECK(!ibv_create_srq(t->pd, &sa), "max_srq_sge + 1");
	vt_close(t);
}

/* Regions: bad flags, bad addresses. */
static void reg_mr_refused(struct vt *t)
{
	uint8_t *p =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	vt_open(t);
	CHECK(p != MAP_FAILED, "mmap");
	CHECK(!ibv_reg_mr(t->pd, p, 4096, IBV_ACCESS_REMOTE_WRITE), "remote write alone");
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_reg_mr(t->pd, p, 4096, IBV_ACCESS_REMOTE_ATOMIC), "remote atomic alone");
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_reg_mr(t->pd, p, 4096, 1 << 15), "unknown flag");
	CHECK(!ibv_reg_mr(t->pd, p, (size_t)0 - 4096, IBV_ACCESS_LOCAL_WRITE), "wraps around");
	CHECK_EQ(mprotect(p, 4096, PROT_READ), 0);
	munmap(p + 4096, 4096);
	CHECK(!ibv_reg_mr(t->pd, p, 3 * 4096, 0), "a hole in the middle");
	CHECK_EQ(errno, EFAULT);
	CHECK(!ibv_reg_mr(t->pd, p, 4096, IBV_ACCESS_LOCAL_WRITE), "read-only memory");
	CHECK_EQ(errno, EFAULT);
	vt_close(t);
}

/* rereg_mr: access, then translation, then PD, each seen by the peer. */
static void rereg(struct vt *t)
{
	struct vt_opt o = {0};
	struct ibv_pd *pd2;
	struct ibv_mr *mr;
	uint32_t key;

	vt_setup(t, &o);
	mr = ibv_reg_mr(t->pd, t->buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	pd2 = ibv_alloc_pd(t->ctx);
	CHECK(mr && pd2, "%s", strerror(errno));
	for (int step = 0; step < 4; step++) {
		static const enum ibv_wc_status want[] = {IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS,
							  IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR};

		vt_fill(t->buf, 16384, 50);
		if (step == 1)
			CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
						      IBV_ACCESS_REMOTE_WRITE),
				 0);
		if (step == 2)
			CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
					      t->buf + 8192, 8192, 0),
				 0);
		if (step == 3)
			CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd2, NULL, 0, 0), 0);
		vt_put(t, &mr->rkey, sizeof(key));
		vt_get(t, &key, sizeof(key));
		if (t->side == 0) {
			struct ibv_sge sge;
			struct ibv_send_wr wr =
				vt_wr(t, IBV_WR_RDMA_READ, &sge, 30000, step >= 2 ? 8192 : 0, 4096);

			wr.wr.rdma.rkey = key;
			wr.wr_id = 1;
			CHECK_EQ(vt_post(t->qp, &wr), 0);
			vt_wc_is(t, 1, want[step]);
			if (want[step] == IBV_WC_SUCCESS)
				CHECK_EQ(vt_differs(t->buf + 30000, 4096,
						    50 + (step >= 2 ? 8192 : 0)),
					 4096);
		}
		vt_reconnect(t, &o);
	}
	CHECK(ibv_rereg_mr(mr, 0x80, NULL, NULL, 0, 0) != 0, "unknown flag");
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd2), 0);
	vt_close(t);
}

/* A key is not reused soon, and does not reveal the next one. */
static void keys(struct vt *t)
{
	enum { N = 512 };
	uint32_t seen[N];
	unsigned int steps = 0;

	vt_open(t);
	t->buf = NULL;
	for (int i = 0; i < N; i++) {
		struct ibv_mr *mr = ibv_reg_mr(t->pd, seen, sizeof(seen), 0);

		CHECK(mr, "reg_mr: %s", strerror(errno));
		for (int k = 0; k < i; k++)
			CHECK(seen[k] != mr->rkey, "key %#x came back after %d", mr->rkey, i - k);
		steps += i > 1 && mr->rkey - seen[i - 1] == seen[i - 1] - seen[i - 2];
		seen[i] = mr->rkey;
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	CHECK(steps < N / 4, "%u of %d keys follow by one step", steps, N);
	vt_close(t);
}

/* The remote side uses the iova, not the address. */
static void iova(struct vt *t)
{
	struct vt_opt o = {0};
	const uint64_t base = 0x123450000000;
	struct ibv_mr *mr;
	uint32_t key;

	vt_setup(t, &o);
	mr = ibv_reg_mr_iova(t->pd, t->buf, 8192, base,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr, "reg_mr_iova: %s", strerror(errno));
	vt_put(t, &mr->rkey, sizeof(key));
	vt_get(t, &key, sizeof(key));
	vt_fill(t->buf + 16384, 100, 6);
	memset(t->buf, 0, 8192);
	vt_sync(t);
	if (t->side == 0) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 16384, 0, 100);

		wr.wr.rdma.remote_addr = base + 4090;
		wr.wr.rdma.rkey = key;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 0, IBV_WC_SUCCESS);
	}
	vt_sync(t);
	if (t->side == 1)
		CHECK_EQ(vt_differs(t->buf + 4090, 100, 6), 100);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	vt_close(t);
}

static void refuse(struct ibv_qp *qp, struct ibv_qp_attr a, int mask, const char *what)
{
	enum ibv_qp_state before = vt_state(qp);
	int rc = ibv_modify_qp(qp, &a, mask);

	CHECK(rc > 0, "%s was taken (%d)", what, rc);
	CHECK(vt_state(qp) == before, "%s changed the state", what);
}

/* Transitions and attribute masks that the state machine does not have. */
static void modify_refused(struct vt *t)
{
	struct vt_opt o = {0};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR, .port_num = 1};
	const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct ibv_recv_wr rwr = {0}, *rbad;
	struct ibv_send_wr swr = {.opcode = IBV_WR_SEND};

	vt_open(t);
	t->cq = ibv_create_cq(t->ctx, 64, NULL, NULL, 0);
	CHECK(t->cq, "create_cq");
	t->qp = vt_qp_create(t, &o, t->cq);
	CHECK(ibv_post_recv(t->qp, &rwr, &rbad) != 0, "receive in RESET");
	CHECK(vt_post(t->qp, &swr) != 0, "send in RESET");
	refuse(t->qp, a, IBV_QP_STATE, "RESET to RTR");
	a.qp_state = IBV_QPS_RTS;
	refuse(t->qp, a, IBV_QP_STATE, "RESET to RTS");
	a.qp_state = IBV_QPS_INIT;
	refuse(t->qp, a, init & ~IBV_QP_PORT, "INIT without a port");
	refuse(t->qp, a, init | IBV_QP_SQ_PSN, "INIT with a PSN");
	a.port_num = 2;
	refuse(t->qp, a, init, "port 2");
	a.port_num = 1;
	a.pkey_index = 5000;
	refuse(t->qp, a, init, "P_Key index 5000");
	vt_qp_init(t, t->qp, &o);
	CHECK_EQ(ibv_post_recv(t->qp, &rwr, &rbad), 0);
	CHECK(vt_post(t->qp, &swr) != 0, "send in INIT");
	a.qp_state = IBV_QPS_RTS;
	refuse(t->qp, a, IBV_QP_STATE, "INIT to RTS");
	a.qp_state = IBV_QPS_RTR;
	refuse(t->qp, a, IBV_QP_STATE, "RTR without attributes");
	t->me.qpn = t->qp->qp_num;
	vt_qp_rtr(t, t->qp, &o, &t->me);
	CHECK(vt_post(t->qp, &swr) != 0, "send in RTR");
	a.qp_state = IBV_QPS_RTS;
	refuse(t->qp, a, IBV_QP_STATE, "RTS without attributes");
	a.cur_qp_state = IBV_QPS_RTS;
	vt_qp_rts(t, t->qp, &o, 0);
	a.qp_state = IBV_QPS_INIT;
	refuse(t->qp, a, init, "RTS to INIT");
	vt_close(t);
}

/* Count those of the device: no other code here has any. */
static int udp_sockets(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		int type = 0, domain = 0;
		socklen_t len = sizeof(type);

		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_DGRAM)
			continue;
		len = sizeof(domain);
		n += !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) &&
		     (domain == AF_INET || domain == AF_INET6);
	}
	return n;
}

/* Descriptors of memory that the device shares with others. */
static int shared_memory(void)
{
	char link[64], to[64];
	ssize_t len;
	int n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, to, sizeof(to) - 1);
		if (len < 0)
			continue;
		to[len] = '\0';
		n += strstr(to, "memfd:dpa") != NULL;
	}
	return n;
}

/* A forked child that ends, with and without touching verbs, does not disturb its parent. */
static void fork_child(struct vt *t)
{
	const char *shm = getenv("DPA_SHM");
	struct vt_opt o = {0};
	int status;

	vt_setup(t, &o);
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		/*
		 * with RoCEv2 there are sockets, which a child must not keep: the sender of the
		 * first round has sent nothing yet
		 */
		if (i && shm && !strcmp(shm, "never"))
			CHECK(udp_sockets() > 0, "no sockets");

		if (t->side == 0) {
			pid = fork();
			CHECK(pid >= 0, "fork");
			if (pid == 0) {
				if (udp_sockets())
					_exit(9);
				/* its resources would outlive its parent */
				if (shared_memory())
					_exit(10);
				if (i % 2) {
					struct ibv_device_attr d;

					ibv_query_device(t->ctx, &d);
					ibv_destroy_qp(t->qp);
				}
				_exit(0);
			}
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_READ, 0, 0, 20000, 1, IBV_SEND_SIGNALED),
				 0);
			vt_wc_is(t, 1, IBV_WC_SUCCESS);
			CHECK_EQ(waitpid(pid, &status, 0), pid);
			CHECK_EQ(status, 0);
		}
		CHECK_EQ(vt_recv(t, 0, 4096, 2), 0);
		vt_sync(t);
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 8192, 0, 4096, 3, 0), 0);
		vt_wc_is(t, 2, IBV_WC_SUCCESS);
		vt_sync(t);
	}
	vt_close(t);
}

/* Thousands of connected QPs in one process pair, all of them used. */
static void many_qps(struct vt *t)
{
	enum { N = 4096 };
	static struct ibv_qp *qps[2][N];
	struct ibv_qp **qp = qps[t->side];
	struct vt_opt o = {.send_wr = 4, .recv_wr = 4, .sge = 1, .cqe = 16};
	struct vt_addr peer;
	/*
	 * an EU polls the slots in turn: with fewer QPs each poll is in time on a busy machine, too
	 */
	const char *place = getenv("DPA_PLACEMENT");
	int n = place && !strncmp(place, "eu", 2) ? N / 4 : N;

	vt_setup(t, &o);
	for (int i = 0; i < n; i++) {
		qp[i] = vt_qp_create(t, &o, t->cq);
		vt_connect(t, qp[i], &o, &peer);
	}
	for (int round = 0; round < 2; round++)
		for (uint64_t i = 0; i < (uint64_t)n && t->side == 0; i++) {
			struct ibv_sge sge;
			struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 0, 0, 8);

			wr.wr_id = i;
			CHECK_EQ(vt_post(qp[i], &wr), 0);
			vt_wc_is(t, i, IBV_WC_SUCCESS);
		}
	vt_sync(t);
	for (int i = 0; i < n; i++)
		CHECK_EQ(ibv_destroy_qp(qp[i]), 0);
	vt_close(t);
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/*
 * Deep QPs, CQs and SRQs where a process has 1,024 descriptors: none of them costs one. Only 501
 * QPs of this depth were possible.
 */
static void deep_queues_cost_no_descriptor(struct vt *t)
{
	enum { N = 2048, CQS = 300, SRQS = 300 };
	static struct ibv_qp *qp[N];
	static struct ibv_cq *cq[CQS];
	static struct ibv_srq *srq[SRQS];
	struct vt_opt o = {.send_wr = 1024, .recv_wr = 1024, .sge = 1, .cqe = 16};
	struct ibv_srq_init_attr sa = {.attr = {1024, 1, 0}};
	struct rlimit lim = {1024, 1024};
	struct vt_addr peer;
	int before;

	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
	vt_setup(t, &o);
	before = descriptors();
	for (int i = 0; i < CQS; i++) {
		cq[i] = ibv_create_cq(t->ctx, 4095, NULL, NULL, 0);
		CHECK(cq[i], "CQ %d: %s", i, strerror(errno));
	}
	for (int i = 0; i < SRQS; i++) {
		srq[i] = ibv_create_srq(t->pd, &sa);
		CHECK(srq[i], "SRQ %d: %s", i, strerror(errno));
	}
	for (int i = 0; i < N; i++)
		qp[i] = vt_qp_create(t, &o, t->cq);
	CHECK(descriptors() - before <= 16, "%d descriptors more", descriptors() - before);
	for (int i = 0; i < N; i += N - 1) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_WRITE, &sge, 0, 0, 8);

		vt_connect(t, qp[i], &o, &peer);
		wr.wr_id = (uint64_t)i;
		CHECK_EQ(vt_post(qp[i], &wr), 0);
		vt_wc_is(t, (uint64_t)i, IBV_WC_SUCCESS);
	}
	vt_sync(t);
	for (int i = 0; i < N; i++)
		CHECK_EQ(ibv_destroy_qp(qp[i]), 0);
	for (int i = 0; i < CQS; i++)
		CHECK_EQ(ibv_destroy_cq(cq[i]), 0);
	for (int i = 0; i < SRQS; i++)
		CHECK_EQ(ibv_destroy_srq(srq[i]), 0);
	vt_close(t);
}

/* Descriptors of the process that are open, up to its limit. */
static int take_all_descriptors(int *fds, int room)
{
	int n = 0;

	while (n < room && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	CHECK(n < room && errno == EMFILE, "%d more descriptors: %s", n, strerror(errno));
	return n;
}

/* Threads of a program at its limit: each takes a descriptor as soon as one is free. */
enum { GREEDY = 2, GREEDY_FDS = 16 };
struct greedy {
	pthread_t thread;
	_Atomic bool stop;
	int fds[GREEDY_FDS], n;
};

static void *takes_what_comes_free(void *arg)
{
	struct greedy *g = arg;

	while (!atomic_load(&g->stop)) {
		int fd = g->n < GREEDY_FDS ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

		if (fd >= 0)
			g->fds[g->n++] = fd;
	}
	return NULL;
}

static void start_greedy(struct greedy *g)
{
	for (int i = 0; i < GREEDY; i++)
		CHECK_EQ(pthread_create(&g[i].thread, NULL, takes_what_comes_free, &g[i]), 0);
}

static void end_greedy(struct greedy *g)
{
	for (int i = 0; i < GREEDY; i++) {
		atomic_store(&g[i].stop, true);
		CHECK_EQ(pthread_join(g[i].thread, NULL), 0);
		while (g[i].n)
			close(g[i].fds[--g[i].n]);
	}
}

/*
 * A process has no descriptor left when its QP meets that of another one. The initiator gets the
 * error at the end of its retries (it was "transport retry counter exceeded", or nothing ever if
 * the other process had none), and the next two meet when some are free.
 */
static void meets_without_descriptors(struct vt *t, int poor, bool greedy)
{
	static struct greedy threads[GREEDY];
	static int fds[1024];
	struct vt_opt o = {.timeout = 12, .retry_cnt = 2};
	struct rlimit lim = {256, 256};
	struct ibv_wc wc;
	int n = 0;

	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
	vt_prepare(t, &o);
	if (t->side == poor)
		n = take_all_descriptors(fds, 1024);
	if (t->side == poor && greedy)
		start_greedy(threads);
	vt_sync(t);
	vt_connect(t, t->qp, &o, &t->peer);
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 64, 7, IBV_SEND_SIGNALED), 0);
		wc = vt_wc(t, t->cq);
		CHECK_EQ(wc.wr_id, 7);
		CHECK(wc.status == IBV_WC_GENERAL_ERR, "%s (%#x)", ibv_wc_status_str(wc.status),
		      wc.vendor_err);
		CHECK_EQ(wc.vendor_err, 0x38);
	}
	vt_sync(t);
	if (t->side == poor && greedy)
		end_greedy(threads);
	while (n)
		close(fds[--n]);
	vt_sync(t);
	vt_reconnect(t, &o);
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 64, 8, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 8, IBV_WC_SUCCESS);
	}
	vt_sync(t);
	vt_close(t);
}

static void no_descriptors_here(struct vt *t)
{
	meets_without_descriptors(t, 0, false);
}

static void no_descriptors_there(struct vt *t)
{
	meets_without_descriptors(t, 1, false);
}

/*
 * The device closes a spare descriptor for a moment, to refuse a connection with its number. When
 * another thread took the number the peer got no answer, and its QP waited for ever. Without such
 * threads that was rare: ibv_modify_qp() of the same process took it.
 */
static void no_descriptors_there_and_greedy_threads(struct vt *t)
{
	meets_without_descriptors(t, 1, true);
}

#define MAX_MSG (1ull << 31)
#define PIECE	(4ull << 20)

/* Map MAX_MSG bytes and a page; only the last segment and that page have their own memory. */
static uint8_t *map_2g(void)
{
	int fd = memfd_create("vt", MFD_CLOEXEC);
	uint8_t *big = mmap(NULL, MAX_MSG + 4096, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(fd >= 0 && ftruncate(fd, 2 * PIECE + 4096) == 0, "memfd");
	CHECK(big != MAP_FAILED, "mmap: %s", strerror(errno));
	for (uint64_t at = 0; at <= MAX_MSG; at += PIECE) {
		size_t n = at < MAX_MSG ? PIECE : 4096;
		off_t from = at < MAX_MSG - PIECE ? 0 : at < MAX_MSG ? PIECE : 2 * PIECE;

		CHECK(mmap(big + at, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, from) ==
			      big + at,
		      "mmap: %s", strerror(errno));
	}
	close(fd);
	return big;
}

/* One message of this length to the last byte, checked at its end. */
static void message_of_2g(struct vt *t, struct ibv_mr *mr, const struct vt_addr *b,
			  enum ibv_wr_opcode op, uint32_t seed)
{
	uint8_t *tail = (uint8_t *)mr->addr + MAX_MSG - PIECE;
	struct ibv_sge sge = {(uintptr_t)mr->addr, (uint32_t)MAX_MSG, mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 4,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {b->addr, b->rkey}};
	struct ibv_recv_wr rwr = {.wr_id = 5, .sg_list = &sge, .num_sge = op == IBV_WR_SEND}, *bad;
	bool read = op == IBV_WR_RDMA_READ;

	if (t->side == read)
		vt_fill(tail, PIECE, seed);
	else
		memset(tail, 0, PIECE);
	if (t->side == 1 && !read)
		CHECK_EQ(ibv_post_recv(t->qp, &rwr, &bad), 0);
	vt_sync(t);
	if (t->side == 0) {
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, 4, IBV_WC_SUCCESS);
	} else if (!read) {
		struct ibv_wc wc = vt_wc(t, t->cq);

		CHECK(wc.wr_id == 5 && wc.status == IBV_WC_SUCCESS && wc.byte_len == MAX_MSG,
		      "%s of %u bytes", ibv_wc_status_str(wc.status), wc.byte_len);
	}
	CHECK_EQ(vt_differs(tail, PIECE, seed), PIECE);
	CHECK_EQ(tail[PIECE], 0);
	vt_sync(t);
}

/* 2^31 bytes in one message; one more is refused. */
static void message_2g_of(struct vt *t, enum ibv_qp_type type)
{
	struct vt_opt o = {.type = type};
	uint8_t *big = map_2g();
	struct vt_addr a, b;
	struct ibv_mr *mr;

	vt_setup(t, &o);
	mr = ibv_reg_mr(t->pd, big, MAX_MSG + 4096,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr, "reg_mr: %s", strerror(errno));
	a = (struct vt_addr){.addr = (uintptr_t)big, .rkey = mr->rkey};
	vt_put(t, &a, sizeof(a));
	vt_get(t, &b, sizeof(b));
	message_of_2g(t, mr, &b, IBV_WR_SEND, 8);
	message_of_2g(t, mr, &b, IBV_WR_RDMA_WRITE_WITH_IMM, 9);
	if (type == IBV_QPT_RC)
		message_of_2g(t, mr, &b, IBV_WR_RDMA_READ, 10);
	if (t->side == 0) {
		struct ibv_sge two[2] = {{(uintptr_t)big, (uint32_t)MAX_MSG, mr->lkey},
					 {(uintptr_t)big, 1, mr->lkey}};
		struct ibv_send_wr wr = {.sg_list = two, .num_sge = 2, .opcode = IBV_WR_SEND};

		CHECK_EQ(vt_post(t->qp, &wr), EINVAL);
	}
	vt_sync(t);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(big, MAX_MSG + 4096);
	vt_close(t);
}

static void message_2g_rc(struct vt *t)
{
	message_2g_of(t, IBV_QPT_RC);
}

static void message_2g_uc(struct vt *t)
{
	message_2g_of(t, IBV_QPT_UC);
}

static const struct vt_case cases[] = {
	{"create_limits", create_limits, VT_PROCS, 0},
	{"reg_mr_refused", reg_mr_refused, VT_PROCS, 0},
	{"rereg", rereg, VT_BOTH, 0},
	{"keys", keys, VT_PROCS, 0},
	{"iova", iova, VT_BOTH, 0},
	{"modify_refused", modify_refused, VT_PROCS, 0},
	{"fork_child", fork_child, VT_PROCS, 0},
	{"many_qps", many_qps, VT_BOTH, 120},
	{"deep_queues_cost_no_descriptor", deep_queues_cost_no_descriptor, VT_PROCS, 120},
	{"no_descriptors_here", no_descriptors_here, VT_PROCS, 0},
	{"no_descriptors_there", no_descriptors_there, VT_PROCS, 0},
	{"no_descriptors_there_and_greedy_threads", no_descriptors_there_and_greedy_threads,
	 VT_PROCS, 0},
	{"message_2g_rc", message_2g_rc, VT_PROCS, 300},
	{"message_2g_uc", message_2g_uc, VT_PROCS, 300},
};

VT_MAIN(cases)
