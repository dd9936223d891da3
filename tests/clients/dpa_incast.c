/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_incast - several processes write into one at the same time, as fast as congestion control
 * lets them.
 *
 *   dpa_incast -n SENDERS [options]     the receiver: takes them on TCP ports -p, -p + 1, ...
 *   dpa_incast [options] HOST           a sender, which has one of these ports
 *
 * A sender prints the bytes that were acknowledged in the last three quarters of its time, and the
 * longest time without any: "BYTES GAP_MS". The receiver ends with the last of them. With -r on both
 * sides the receiver READs from the senders, which do nothing, and prints such a line for each.
 */
#include "vt.h"

#include <getopt.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

enum { SENDERS = 16, DEPTH = 8, LEN = 65536 };

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void begin(struct vt *t, int side, const char *host, int port)
{
	const struct vt_opt o = {.len = 2 * LEN, .timeout = 16};
	char text[16];

	snprintf(text, sizeof(text), "%d", port);
	t->side = side;
	t->sock = vt_tcp(host, text);
	vt_setup(t, &o);
}

/* The traffic of one QP. */
struct mover {
	struct vt *t;
	enum ibv_wr_opcode op;
	uint64_t start, ms, last, bytes, gap;
	int out;
};

/* Keeps DEPTH WRs posted and takes a completion. False: there is none. */
static bool move(struct mover *m, uint64_t now)
{
	struct ibv_wc wc;
	int n;

	for (; m->out < DEPTH; m->out++)
		CHECK_EQ(vt_send(m->t, m->op, 0, 0, LEN, 1, IBV_SEND_SIGNALED), 0);
	n = ibv_poll_cq(m->t->cq, 1, &wc);
	CHECK(n >= 0, "poll_cq");
	if (!n)
		return false;
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	m->out--;
	if (now - m->start >= m->ms / 4) {
		m->bytes += LEN;
		m->gap = now - m->last > m->gap ? now - m->last : m->gap;
	}
	m->last = now;
	return true;
}

static void end(struct mover *m, uint64_t now)
{
	printf("%llu %llu\n", (unsigned long long)m->bytes,
	       (unsigned long long)(now - m->last > m->gap ? now - m->last : m->gap));
	while (m->out--)
		vt_wc_is(m->t, 1, IBV_WC_SUCCESS);
}

static void move_for(struct vt *t, int n, enum ibv_wr_opcode op, uint64_t ms)
{
	uint64_t start = now_ms(), now;
	struct mover m[SENDERS];

	for (int i = 0; i < n; i++)
		m[i] = (struct mover){&t[i], op, start, ms, start, 0, 0, 0};
	do {
		bool any = false;

		now = now_ms();
		for (int i = 0; i < n; i++)
			any |= move(&m[i], now);
		if (!any)
			usleep(100);
	} while (now - start < ms);
	for (int i = 0; i < n; i++)
		end(&m[i], now);
}

/* ms: how long it READs; 0: it does not. */
static void receive(struct vt *t, int n, int port, uint64_t ms)
{
	for (int i = 0; i < n; i++)
		begin(&t[i], 0, NULL, port + i);
	for (int i = 0; i < n; i++)
		vt_sync(&t[i]); /* they begin */
	if (ms)
		move_for(t, n, IBV_WR_RDMA_READ, ms);
	for (int i = 0; i < n; i++)
		vt_sync(&t[i]);
}

int main(int argc, char **argv)
{
	static struct vt t[SENDERS];
	int c, n = 1, port = 18515, seconds = 4, gid = 0;
	bool reads = false;

	while ((c = getopt(argc, argv, "n:p:t:g:d:r")) != -1) {
		CHECK(c != '?', "usage: dpa_incast [-n SENDERS] [-p PORT] [-t SECONDS] [-g INDEX] "
				"[-d DEVICE] [-r] [HOST]");
		if (c == 'd')
			vt_device = optarg;
		else if (c == 'r')
			reads = true;
		else
			*(c == 'n'   ? &n
			  : c == 'p' ? &port
			  : c == 't' ? &seconds
				     : &gid) = atoi(optarg);
	}
	CHECK(n > 0 && n <= SENDERS, "1 to %d senders", SENDERS);
	for (int i = 0; i < n; i++)
		t[i].gid_index = gid;
	if (optind == argc) {
		receive(t, n, port, reads ? (uint64_t)seconds * 1000 : 0);
		return 0;
	}
	begin(&t[0], 1, argv[optind], port);
	vt_sync(&t[0]);
	if (!reads)
		move_for(t, 1, IBV_WR_RDMA_WRITE, (uint64_t)seconds * 1000);
	vt_sync(&t[0]);
	return 0;
}
