/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_traffic - verified traffic between two processes, for tests that kill or stop one of them.
 *
 * Both sides send, write and read back, and count with atomics at the same time; every byte that
 * arrives is compared with its value derived from the seed. Ends with 0 when both sides did their
 * share, 3 when the peer was lost and the device reported it by error completions, 4 when the peer
 * ended before there was traffic, 1 on an error.
 */
#include "vt.h"

#include <poll.h>

#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { WINDOW = 16, RECVS = 32, PEER_LOST = 3, PEER_NEVER = 4, STUCK_S = 60 };
enum kind { K_SEND, K_WRITE_READ, K_ATOMIC, K_INLINE };
#define WR_RECV (1ull << 56)

struct op {
	enum kind kind;
	uint32_t len, seq;
};

struct traffic {
	struct vt t;
	uint32_t max;	/* bytes of a message */
	uint32_t inl;	/* largest inline message */
	uint32_t count; /* operations, 0: for ever */
	uint64_t seed, rng;
	struct op ops[WINDOW];
	uint32_t posted, done;
	uint32_t sends, atomics; /* of this side, also their numbers */
	uint32_t received;
	uint32_t peer_sends; /* known once the peer has sent the number */
	bool peer_done, told, running;
};

static uint64_t rnd(struct traffic *w)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return w->rng;
}

/* Return length and pattern of the seq-th SEND of a side: both sides can compute them. */
static uint32_t send_len(const struct traffic *w, int side, uint32_t seq)
{
	uint64_t h = (w->seed + (uint64_t)seq * 2 + (uint64_t)side) * 0x9e3779b97f4a7c15ull;
	uint32_t r = (uint32_t)(h >> 32);

	return r % 8 == 0 ? r / 8 % (w->max + 1) : r / 8 % 256;
}

static uint32_t send_pattern(int side, uint32_t seq)
{
	return seq * 2 + (uint32_t)side;
}

/* The buffer: receive slots, window the peer writes to, sources, read-back, the counter. */
static size_t recv_slot(const struct traffic *w, uint32_t i)
{
	return (size_t)(i % RECVS) * w->max;
}
static size_t win_slot(const struct traffic *w, uint32_t i)
{
	return (size_t)(RECVS + i % WINDOW) * w->max;
}
static size_t src_slot(const struct traffic *w, uint32_t i)
{
	return (size_t)(RECVS + WINDOW + i % WINDOW) * w->max;
}
static size_t back_slot(const struct traffic *w, uint32_t i)
{
	return (size_t)(RECVS + 2 * WINDOW + i % WINDOW) * w->max;
}
static size_t counter_at(const struct traffic *w)
{
	return (size_t)(RECVS + 3 * WINDOW) * w->max;
}

static void post_op(struct traffic *w)
{
	struct vt *t = &w->t;
	uint32_t i = w->posted++;
	struct op *op = &w->ops[i % WINDOW];
	unsigned int flags = IBV_SEND_SIGNALED;

	op->kind = (enum kind)(rnd(w) % 4);
	if (op->kind == K_SEND || op->kind == K_INLINE) {
		op->seq = w->sends++;
		op->len = send_len(w, t->side, op->seq);
		vt_fill(t->buf + src_slot(w, i), op->len, send_pattern(t->side, op->seq));
		if (op->kind == K_INLINE && op->len <= w->inl)
			flags |= IBV_SEND_INLINE;
		CHECK_EQ(vt_send(t, IBV_WR_SEND, src_slot(w, i), 0, op->len, i, flags), 0);
	} else if (op->kind == K_WRITE_READ) {
		op->len = (uint32_t)(rnd(w) % (w->max + 1));
		vt_fill(t->buf + src_slot(w, i), op->len, i);
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, src_slot(w, i), win_slot(w, i), op->len, i,
				 0),
			 0);
		vt_poison(t->buf + back_slot(w, i), w->max);
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_READ, back_slot(w, i), win_slot(w, i), op->len, i,
				 flags),
			 0);
	} else {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, back_slot(w, i),
					      counter_at(w), 8);

		op->seq = w->atomics++;
		wr.wr_id = i;
		wr.wr.atomic.compare_add = 1;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
	}
}

static void op_done(struct traffic *w, uint64_t wr_id)
{
	struct op *op = &w->ops[wr_id % WINDOW];
	uint8_t *back = w->t.buf + back_slot(w, (uint32_t)wr_id);

	CHECK_EQ(wr_id, w->done);
	w->done++;
	if (op->kind == K_WRITE_READ) {
		CHECK_EQ(vt_differs(back, op->len, (uint32_t)wr_id), op->len);
		CHECK(vt_is_poison(back + op->len, w->max - op->len),
		      "READ %u wrote behind its %u bytes", (uint32_t)wr_id, op->len);
	} else if (op->kind == K_ATOMIC)
		CHECK_EQ(*(uint64_t *)(void *)back, op->seq);
}

static void post_recv(struct traffic *w, uint32_t i)
{
	vt_poison(w->t.buf + recv_slot(w, i), w->max);
	CHECK_EQ(vt_recv(&w->t, recv_slot(w, i), w->max, WR_RECV), 0);
}

static void received(struct traffic *w, const struct ibv_wc *wc)
{
	struct vt *t = &w->t;
	uint32_t seq = w->received++;
	uint32_t len = send_len(w, !t->side, seq);
	size_t slot = recv_slot(w, seq);

	CHECK_EQ(wc->byte_len, len);
	CHECK_EQ(vt_differs(t->buf + slot, len, send_pattern(!t->side, seq)), len);
	CHECK(vt_is_poison(t->buf + slot + len, w->max - len), "SEND %u wrote behind its %u bytes",
	      seq, len);
	post_recv(w, seq);
}

/* The peer is lost: all outstanding work must complete, then this process ends. */
static _Noreturn void peer_lost(struct traffic *w, const struct ibv_wc *first)
{
	uint32_t back = 1, i = 1;
	time_t limit = time(NULL) + STUCK_S;

	if (first->status != IBV_WC_RETRY_EXC_ERR && first->status != IBV_WC_WR_FLUSH_ERR)
		vt_fail(__FILE__, __LINE__, "unexpected status %s (vendor_err %#x)",
			ibv_wc_status_str(first->status), first->vendor_err);
	for (uint32_t want = RECVS; back < want; i++) {
		struct ibv_wc wc;
		int n = ibv_poll_cq(w->t.cq, 1, &wc);

		CHECK(n >= 0, "poll");
		if (n && wc.status == IBV_WC_SUCCESS && wc.wr_id == WR_RECV)
			want--; /* arrived before the end */
		else if (n && wc.wr_id == WR_RECV)
			back++;
		if (i % 256 == 0 && time(NULL) > limit)
			vt_fail(__FILE__, __LINE__, "%u of %u receives were flushed", back, want);
	}
	CHECK_EQ(vt_state(w->t.qp), IBV_QPS_ERR);
	printf("peer lost: %s after %u operations\n", ibv_wc_status_str(first->status), w->done);
	fflush(stdout);
	CHECK_EQ(ibv_destroy_qp(w->t.qp), 0);
	CHECK_EQ(ibv_destroy_cq(w->t.cq), 0);
	CHECK_EQ(ibv_dereg_mr(w->t.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(w->t.pd), 0);
	CHECK_EQ(ibv_close_device(w->t.ctx), 0);
	exit(PEER_LOST);
}

/* Send the number of SENDs to the peer once, and check whether the peer has sent its own. */
static void tell(struct traffic *w)
{
	ssize_t n;

	if (!w->told && w->count && w->done == w->count) {
		send(w->t.sock, &w->sends, sizeof(w->sends), MSG_NOSIGNAL);
		w->told = true;
	}
	if (w->peer_done)
		return;
	n = recv(w->t.sock, &w->peer_sends, sizeof(w->peer_sends), MSG_DONTWAIT);
	if (n == sizeof(w->peer_sends))
		w->peer_done = true;
	if (n == 0 && w->told)
		exit(PEER_LOST); /* no outstanding work could fail */
}

static bool finished(const struct traffic *w)
{
	return w->told && w->peer_done && w->received == w->peer_sends;
}

static void run(struct traffic *w)
{
	time_t seen = time(NULL);

	for (uint32_t idle = 0; !finished(w);) {
		struct ibv_wc wc;
		int n;

		if (w->posted - w->done < WINDOW && (!w->count || w->posted < w->count))
			post_op(w);
		n = ibv_poll_cq(w->t.cq, 1, &wc);
		CHECK(n >= 0, "poll");
		if (n) {
			idle = 0;
			seen = time(NULL);
			if (wc.status != IBV_WC_SUCCESS)
				peer_lost(w, &wc);
			if (wc.wr_id == WR_RECV)
				received(w, &wc);
			else
				op_done(w, wc.wr_id);
			if (!w->running && w->done >= 20) {
				w->running = true;
				printf("running %d\n", getpid());
				fflush(stdout);
			}
		}
		if (!n && ++idle % 64 == 0)
			sched_yield();
		if ((idle % 4096 == 0 && idle) || w->done % 64 == 0)
			tell(w);
		if (idle && idle % 65536 == 0)
			CHECK(time(NULL) < seen + STUCK_S, "nothing happens for %d s", STUCK_S);
	}
}

static int rendezvous(const char *name, bool server)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), c;

	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s", name);
	if (server) {
		CHECK(bind(fd, (struct sockaddr *)&a, len) == 0, "bind: %s", strerror(errno));
		CHECK(listen(fd, 1) == 0, "listen");
		printf("listening\n");
		fflush(stdout);
		/* a client that ended before it connected would be waited for without limit */
		if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 20000) != 1)
			exit(PEER_NEVER);
		c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		close(fd);
		return c;
	}
	CHECK(connect(fd, (struct sockaddr *)&a, len) == 0, "connect: %s", strerror(errno));
	return fd;
}

static void connect_both(struct traffic *w)
{
	struct vt_opt o = {.send_wr = 2 * WINDOW, .recv_wr = RECVS, .inl = w->inl, .cqe = 256};
	char c = 'r';

	o.len = counter_at(w) + 4096;
	vt_setup(&w->t, &o);
	for (uint32_t i = 0; i < RECVS; i++)
		post_recv(w, i);
	vt_put(&w->t, &c, 1);
	vt_get(&w->t, &c, 1);
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{"server", required_argument, NULL, 'S'}, {"client", required_argument, NULL, 'C'},
		{"device", required_argument, NULL, 'd'}, {"seed", required_argument, NULL, 's'},
		{"size", required_argument, NULL, 'z'},	  {"inline", required_argument, NULL, 'i'},
		{"count", required_argument, NULL, 'n'},  {0}};
	struct traffic w = {.max = 32768, .inl = 128, .seed = 1};
	const char *name = NULL;
	char probe;
	int c;

	while ((c = getopt_long(argc, argv, "d:", opts, NULL)) != -1) {
		if (c == 'S' || c == 'C') {
			name = optarg;
			w.t.side = c == 'C';
		} else if (c == 'd')
			vt_device = optarg;
		else if (c == 's')
			w.seed = strtoull(optarg, NULL, 0);
		else if (c == 'z')
			w.max = (uint32_t)strtoul(optarg, NULL, 0);
		else if (c == 'i')
			w.inl = (uint32_t)strtoul(optarg, NULL, 0);
		else if (c == 'n')
			w.count = (uint32_t)strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (!name || w.max < 256 || w.max % 64) {
		fprintf(stderr, "usage: dpa_traffic --server|--client NAME [--device D] [--seed N] "
				"[--size MAX] [--inline N] [--count N]\n");
		return 2;
	}
	w.rng = w.seed * 2 + (uint64_t)w.t.side + 1;
	w.t.sock = rendezvous(name, w.t.side == 0);
	vt_peer_ended = PEER_NEVER;
	/* the peer may be dead already: that is no failure of this side */
	if (send(w.t.sock, "x", 1, MSG_NOSIGNAL) != 1 || recv(w.t.sock, &probe, 1, 0) != 1)
		return PEER_NEVER;
	connect_both(&w);
	run(&w);
	vt_close(&w.t);
	return 0;
}
