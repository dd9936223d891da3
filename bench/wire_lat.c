/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wire_lat - latency between two processes that connect over TCP, both always in poll_cq:
 * perftest's ib_write_lat polls memory and never calls the device.
 *
 *   wire_lat send|write PORT BYTES COUNT          server
 *   wire_lat send|write PORT BYTES COUNT HOST     client; prints the median, ns, and the 99th
 *                                                 percentile
 *
 * send: RC SENDs in both directions, half a round trip. write: RC WRITEs one after the other, half
 * of the time from post to completion.
 */
#include "hist.h"
#include "timing.h"
#include "vt.h"

#include <netdb.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { RECVS = 16 };

static int connect_tcp(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_family = AF_INET,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = host ? 0 : AI_PASSIVE},
			*ai;
	int fd, on = 1, c;

	CHECK(!getaddrinfo(host, port, &hints, &ai), "%s: no such host", host);
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!host) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		CHECK(!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 1), "listen: %s",
		      strerror(errno));
		c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		close(fd);
		fd = c;
	} else
		CHECK(!connect(fd, ai->ai_addr, ai->ai_addrlen), "connect: %s", strerror(errno));
	freeaddrinfo(ai);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* Wait for the next completion that is a receive, or is not. */
static void wait_for(struct vt *t, bool receive, uint32_t bytes)
{
	struct ibv_wc wc;

	do {
		int n;

		while (!(n = ibv_poll_cq(t->cq, 1, &wc)))
			;
		CHECK(n == 1 && wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
		if (wc.opcode == IBV_WC_RECV)
			CHECK_EQ(vt_recv(t, t->len / 2, bytes, 0), 0);
	} while ((wc.opcode == IBV_WC_RECV) != receive);
}

static void send_one(struct vt *t, uint32_t bytes)
{
	static uint32_t n;

	/* one completion from time to time: otherwise the queue would never be free again */
	CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, bytes, 0, ++n % 16 ? 0 : IBV_SEND_SIGNALED), 0);
}

static void send_lat(struct vt *t, struct hist *h, uint32_t bytes, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t start = bench_now_ns();

		if (t->side == 1)
			send_one(t, bytes);
		wait_for(t, true, bytes);
		if (t->side == 0)
			send_one(t, bytes);
		else if (i > count / 10)
			hist_add(h, (bench_now_ns() - start) / 2);
	}
}

static void write_lat(struct vt *t, struct hist *h, uint32_t bytes, uint64_t count)
{
	for (uint64_t i = 0; t->side == 1 && i < count; i++) {
		uint64_t start = bench_now_ns();

		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, bytes, 0, IBV_SEND_SIGNALED), 0);
		wait_for(t, false, bytes);
		if (i > count / 10)
			hist_add(h, (bench_now_ns() - start) / 2);
	}
	if (t->side == 1) /* the other side polls until this arrives */
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, bytes, 0, IBV_SEND_SIGNALED), 0);
	wait_for(t, t->side == 0, bytes);
}

int main(int argc, char **argv)
{
	static struct hist h;
	struct vt_opt o = {.send_wr = 64, .recv_wr = RECVS, .sge = 1};
	uint32_t bytes = argc >= 5 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
	uint64_t count = argc >= 5 ? strtoull(argv[4], NULL, 10) : 0;
	struct vt t = {.side = argc == 6};

	if ((argc != 5 && argc != 6) || !bytes || bytes > 65536 || !count) {
		fprintf(stderr, "usage: wire_lat send|write PORT BYTES COUNT [HOST]\n");
		return 2;
	}
	hist_init(&h);
	o.len = bytes < 2048 ? 4096 : 2 * (size_t)bytes;
	t.sock = connect_tcp(argc == 6 ? argv[5] : NULL, argv[2]);
	vt_setup(&t, &o);
	for (int i = 0; i < RECVS; i++)
		CHECK_EQ(vt_recv(&t, t.len / 2, bytes, 0), 0);
	vt_sync(&t);
	if (strcmp(argv[1], "send") == 0)
		send_lat(&t, &h, bytes, count);
	else
		write_lat(&t, &h, bytes, count);
	if (t.side == 1)
		printf("%llu %llu\n", (unsigned long long)hist_percentile(&h, 50),
		       (unsigned long long)hist_percentile(&h, 99));
	fflush(stdout);
	vt_close(&t);
	return 0;
}
