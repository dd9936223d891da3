/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_idle - idle QPs of all transports while strangers send to them.
 *
 *   dpa_idle --side 0|1 --socket FD [-g GID-INDEX] [-d DEVICE]
 *
 * Two processes connect their QPs, exchange data over a socket pair of which each inherited an end,
 * and exchange one message of each kind. Then each prints its QPs (JSON, one line) and waits for a
 * line on standard input. Until then nothing may have changed: no completion, no event, no byte
 * written, no QP in another state. Then they exchange the same messages once more. Prints
 * "untouched" and "works"; exit status 1: it was not so.
 */
#include "vt_domain.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

enum { RC, UC, UD, TYPES };
enum { SEND_LEN = 64, RECV_LEN = 256, WRITE_LEN = 3000, QKEY = 0x11111111, LIMIT_S = 600 };
/* The buffer: sources, and targets of SENDs, WRITEs and READs; the counter is at DOM_COUNTER. */
enum {
	AT_SRC = 0,
	AT_RECV = 4096,
	AT_WRITE = 8192,
	AT_UC_WRITE = 9216,
	AT_ATOMIC_WRITE = 12280,
	AT_READ = 12288,
	AT_ODD = 16384,
};
/* Ids of receives: those of the other QPs are their types. */
enum { UC_WRITE_ID = 6, XRC_ID = 7, RECEIVES = TYPES + 2 };

static const enum ibv_qp_type types[TYPES] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
static const char *const names[TYPES] = {"RC", "UC", "UD"};

struct idle {
	struct dom m; /* device, buffer, CQ, and objects of XRC */
	struct dom_card theirs;
	struct ibv_qp *qp[TYPES];
	struct vt_addr me[TYPES], peer[TYPES];
	struct ibv_ah *ah;
};

static uint32_t seed_of(int side)
{
	return 1000 + (uint32_t)side;
}

/* ------------------------------------------------------------------- connecting */

static void connect_xrc(struct idle *d)
{
	struct vt *t = &d->m.t;
	union ibv_gid own = t->me.gid;
	uint32_t mine[2], theirs[2];

	dom_target(&d->m);
	dom_initiator(&d->m);
	mine[0] = d->m.tgt->qp_num;
	mine[1] = d->m.ini->qp_num;
	vt_put(t, &d->m.me, sizeof(d->m.me));
	vt_get(t, &d->theirs, sizeof(d->theirs));
	vt_put(t, mine, sizeof(mine));
	vt_get(t, theirs, sizeof(theirs));
	t->me.gid = d->peer[RC].gid; /* where it connects to: in its own tests that is this host */
	dom_connect(&d->m, d->m.ini, theirs[0]);
	dom_connect(&d->m, d->m.tgt, theirs[1]);
	t->me.gid = own;
	vt_sync(t);
}

static void set_up(struct idle *d, int gid_index)
{
	struct vt *t = &d->m.t;

	dom_join(&d->m, O_CREAT);
	if (gid_index >= 0) {
		t->gid_index = gid_index;
		CHECK_EQ(ibv_query_gid(t->ctx, 1, gid_index, &t->me.gid), 0);
	}
	t->me.rkey = t->mr->rkey;
	t->me.addr = (uintptr_t)t->buf;
	for (int i = 0; i < TYPES; i++) {
		struct vt_opt o = {.type = types[i]};

		d->qp[i] = vt_qp_create(t, &o, t->cq);
		vt_connect(t, d->qp[i], &o, &d->peer[i]);
		d->me[i] = t->me;
	}
	d->ah = vt_ah(t, &d->peer[UD]);
	connect_xrc(d);
	CHECK_EQ(fcntl(t->ctx->async_fd, F_SETFL, O_NONBLOCK), 0);
}

static void tear_down(struct idle *d)
{
	vt_sync(&d->m.t);
	CHECK_EQ(ibv_destroy_ah(d->ah), 0);
	for (int i = 0; i < TYPES; i++)
		CHECK_EQ(ibv_destroy_qp(d->qp[i]), 0);
	dom_leave(&d->m);
}

/* ---------------------------------------------------------- a message of each kind */

static void post_receives(struct idle *d)
{
	struct vt *t = &d->m.t;

	t->qp = d->qp[UC];
	CHECK_EQ(vt_recv(t, 0, 0, UC_WRITE_ID), 0);
	for (int i = 0; i < TYPES; i++) {
		t->qp = d->qp[i];
		CHECK_EQ(vt_recv(t, AT_RECV + (size_t)i * RECV_LEN, RECV_LEN, (uint64_t)i), 0);
	}
	t->qp = NULL;
	dom_receive(&d->m, AT_RECV + XRC_ID * RECV_LEN, RECV_LEN, XRC_ID);
}

static void send_one(struct idle *d, int i, enum ibv_wr_opcode op, size_t off, size_t roff,
		     uint32_t len)
{
	struct vt *t = &d->m.t;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	t->peer = d->peer[i];
	wr = vt_wr(t, op, &sge, off, roff, len);
	wr.wr_id = 100;
	if (i == UD) {
		wr.wr.ud.ah = d->ah;
		wr.wr.ud.remote_qpn = d->peer[UD].qpn;
		wr.wr.ud.remote_qkey = QKEY;
	}
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr.wr.atomic.compare_add = 1;
	CHECK_EQ(vt_post(d->qp[i], &wr), 0);
	vt_wc_is(t, 100, IBV_WC_SUCCESS);
}

static void send_xrc(struct idle *d, enum ibv_wr_opcode op, size_t off, uint32_t len)
{
	dom_post(&d->m, op, &d->theirs, off, len, 101);
	vt_wc_is(&d->m.t, 101, IBV_WC_SUCCESS);
}

/*
 * RC first: when that is complete, all earlier packets to this host are, too, so that no later
 * unreliable message finds a socket without room.
 */
static void initiate(struct idle *d)
{
	struct vt *t = &d->m.t;

	vt_fill(t->buf + AT_SRC, WRITE_LEN, seed_of(t->side));
	send_one(d, RC, IBV_WR_RDMA_WRITE, AT_SRC, AT_WRITE, 1024);
	send_one(d, RC, IBV_WR_RDMA_READ, AT_READ, AT_ODD, 1024);
	CHECK_EQ(vt_differs(t->buf + AT_READ, 1024, seed_of(!t->side)), 1024);
	send_one(d, RC, IBV_WR_ATOMIC_FETCH_AND_ADD, AT_READ, DOM_COUNTER, 8);
	send_one(d, RC, IBV_WR_ATOMIC_WRITE, AT_SRC, AT_ATOMIC_WRITE, 8);
	send_xrc(d, IBV_WR_RDMA_READ, AT_ODD, 1024); /* over our own data: the same offset */
	CHECK_EQ(vt_differs(t->buf + AT_ODD, 1024, seed_of(!t->side)), 1024);
	send_xrc(d, IBV_WR_ATOMIC_FETCH_AND_ADD, AT_READ, 8);
	send_one(d, UC, IBV_WR_RDMA_WRITE_WITH_IMM, AT_SRC, AT_UC_WRITE, WRITE_LEN);
	for (int i = 0; i < TYPES; i++)
		send_one(d, i, IBV_WR_SEND, AT_SRC, 0, SEND_LEN);
	send_xrc(d, IBV_WR_SEND, AT_SRC, SEND_LEN);
}

static void receive(struct idle *d)
{
	struct vt *t = &d->m.t;

	for (int i = 0; i < RECEIVES; i++) {
		struct ibv_wc wc = vt_wc(t, t->cq);
		uint32_t grh = wc.wr_id == UD ? 40 : 0;
		size_t at = AT_RECV + (size_t)wc.wr_id * RECV_LEN + grh;

		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == UC_WRITE_ID) {
			CHECK_EQ(wc.byte_len, WRITE_LEN);
			continue;
		}
		CHECK_EQ(wc.byte_len, SEND_LEN + grh);
		CHECK_EQ(vt_differs(t->buf + at, SEND_LEN, seed_of(!t->side)), SEND_LEN);
	}
}

/* Each side after the other: the data for READs is present before they begin. */
static void exchange(struct idle *d)
{
	struct vt *t = &d->m.t;
	uint64_t count;

	memset(t->buf, 0, t->len);
	for (int side = 0; side < 2; side++) {
		vt_fill(t->buf + AT_ODD, 1024, seed_of(t->side));
		vt_sync(t);
		if (t->side == side)
			initiate(d);
		else
			receive(d);
		vt_sync(t);
	}
	CHECK_EQ(vt_differs(t->buf + AT_WRITE, 1024, seed_of(!t->side)), 1024);
	CHECK_EQ(vt_differs(t->buf + AT_UC_WRITE, WRITE_LEN, seed_of(!t->side)), WRITE_LEN);
	CHECK_EQ(vt_differs(t->buf + AT_ATOMIC_WRITE, 8, seed_of(!t->side)), 8);
	memcpy(&count, t->buf + DOM_COUNTER, sizeof(count));
	CHECK_EQ(count, 2);
	vt_wc_none(t, t->cq);
}

/* ------------------------------------------------------------------------ idle */

/* psn: close to the expected one, after that number of messages. */
static void introduce(const struct idle *d)
{
	printf("{\"rkey\": %u, \"addr\": %llu, \"qps\": [", d->m.me.rkey,
	       (unsigned long long)d->m.me.addr);
	for (int i = 0; i < TYPES; i++)
		printf("{\"type\": \"%s\", \"qpn\": %u, \"psn\": %u}, ", names[i], d->qp[i]->qp_num,
		       d->peer[i].psn);
	printf("{\"type\": \"XRC\", \"qpn\": %u, \"psn\": 77, \"srqn\": %u}, ", d->m.tgt->qp_num,
	       d->m.me.srqn);
	printf("{\"type\": \"XRC\", \"qpn\": %u, \"psn\": 77, \"srqn\": %u}]}\n", d->m.ini->qp_num,
	       d->m.me.srqn);
	fflush(stdout);
}

static void expect_untouched(struct idle *d)
{
	struct vt *t = &d->m.t;
	struct ibv_async_event ev;

	CHECK_EQ(vt_differs(t->buf, t->len, 5), t->len);
	vt_wc_none(t, t->cq);
	CHECK(ibv_get_async_event(t->ctx, &ev) && errno == EAGAIN, "event %d", ev.event_type);
	for (int i = 0; i < TYPES; i++)
		CHECK_EQ(vt_state(d->qp[i]), IBV_QPS_RTS);
	CHECK_EQ(vt_state(d->m.tgt), IBV_QPS_RTS);
	CHECK_EQ(vt_state(d->m.ini), IBV_QPS_RTS);
	printf("untouched\n");
	fflush(stdout);
}

static void run(struct idle *d)
{
	struct vt *t = &d->m.t;
	char line[16];

	post_receives(d);
	vt_sync(t);
	exchange(d);
	vt_fill(t->buf, t->len, 5);
	post_receives(d);
	vt_sync(t);
	introduce(d);
	CHECK(fgets(line, sizeof(line), stdin), "nobody said that it is over");
	expect_untouched(d);
	vt_sync(t);
	exchange(d);
	printf("works\n");
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {{"device", required_argument, NULL, 'd'},
					     {"gid-idx", required_argument, NULL, 'g'},
					     {"side", required_argument, NULL, 's'},
					     {"socket", required_argument, NULL, 'S'},
					     {0}};
	struct idle d = {.m = {.t = {.side = -1, .sock = -1}}};
	int c, gid_index = -1;

	while ((c = getopt_long(argc, argv, "d:g:", opts, NULL)) != -1) {
		if (c == 'd')
			vt_device = optarg;
		else if (c == 'g')
			gid_index = atoi(optarg);
		else if (c == 's')
			d.m.t.side = atoi(optarg);
		else if (c == 'S')
			d.m.t.sock = atoi(optarg);
		else
			return 2;
	}
	if (d.m.t.side < 0 || d.m.t.sock < 0 || optind < argc) {
		fprintf(stderr,
			"usage: dpa_idle --side 0|1 --socket FD [-g GID-INDEX] [-d DEVICE]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	alarm(LIMIT_S);
	set_up(&d, gid_index);
	run(&d);
	tear_down(&d);
	return 0;
}
