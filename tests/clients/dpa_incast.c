/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_incast - several processes write into one at the same time, as fast as congestion control
 * lets them.
 *
 *   dpa_incast -n SENDERS [options]     the receiver: takes them on TCP ports -p, -p + 1, ...
 *   dpa_incast [options] HOST           a sender, which has one of these ports
 *
 * A sender prints the bytes that were acknowledged in the last three quarters of its time, and the
 * longest time without any: "BYTES GAP_MS". The receiver ends with the last of them.
 */
#include "vt.h"

#include <getopt.h>
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

static void receive(struct vt *t, int n, int port)
{
	for (int i = 0; i < n; i++)
		begin(&t[i], 0, NULL, port + i);
	for (int i = 0; i < n; i++)
		vt_sync(&t[i]); /* they begin */
	for (int i = 0; i < n; i++)
		vt_sync(&t[i]);
}

static void send_for(struct vt *t, uint64_t ms)
{
	uint64_t start = now_ms(), last = start, bytes = 0, gap = 0, now;
	int out = 0;

	do {
		struct ibv_wc wc;
		int n;

		for (; out < DEPTH; out++)
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, LEN, 1, IBV_SEND_SIGNALED), 0);
		n = ibv_poll_cq(t->cq, 1, &wc);
		CHECK(n >= 0, "poll_cq");
		now = now_ms();
		if (!n) {
			usleep(100);
			continue;
		}
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		out--;
		if (now - start < ms / 4) {
			last = now;
			continue;
		}
		bytes += LEN;
		gap = now - last > gap ? now - last : gap;
		last = now;
	} while (now - start < ms);
	printf("%llu %llu\n", (unsigned long long)bytes,
	       (unsigned long long)(now - last > gap ? now - last : gap));
	while (out--)
		vt_wc_is(t, 1, IBV_WC_SUCCESS);
}

int main(int argc, char **argv)
{
	static struct vt t[SENDERS];
	int c, n = 1, port = 18515, seconds = 4, gid = 0;

	while ((c = getopt(argc, argv, "n:p:t:g:d:")) != -1) {
		CHECK(c != '?', "usage: dpa_incast [-n SENDERS] [-p PORT] [-t SECONDS] [-g INDEX] "
				"[-d DEVICE] [HOST]");
		if (c == 'd')
			vt_device = optarg;
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
		receive(t, n, port);
		return 0;
	}
	begin(&t[0], 1, argv[optind], port);
	vt_sync(&t[0]);
	send_for(&t[0], (uint64_t)seconds * 1000);
	vt_sync(&t[0]);
	return 0;
}
