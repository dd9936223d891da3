/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * main.c - dpa_pingpong_server: answers an unmodified `ibv_rc_pingpong -g 0 -d dpa0 SERVER`. The
 * host part connects the QP and sleeps; a DPA thread answers every message.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "exchange.h"
#include "pingpong.h"

extern struct doca_dpa_app *pingpong_server_app;
extern doca_dpa_func_t pingpong_kernel;

struct options {
	const char *dev;
	int port, gid_index, timeout_ms;
	uint32_t size, rx_depth;
	uint64_t iters;
	enum ibv_mtu mtu;
};

struct server {
	struct sample s;
	struct options o;
	struct ibv_qp *qp;
	struct dpa_qp *dqp;
	struct ibv_mr *mr;
	void *buf;
};

static void print_usage(FILE *to)
{
	fputs("usage: dpa_pingpong_server [options]\n"
	      "Answers one ibv_rc_pingpong client from a DPA thread.\n"
	      "  -d DEV   device (dpa0)          -g IDX   GID index (0)\n"
	      "  -p PORT  TCP port (18515; 0: any, printed)\n"
	      "  -s SIZE  bytes of a message (4096), -n ITERS exchanges (1000): as the client's\n"
	      "  -m MTU   path MTU (1024)        -r DEPTH receives (500)\n"
	      "  -t SEC   give up after so long (no limit)\n",
	      to);
}

static long parse_number(const char *text, long min, long max)
{
	char *end;
	long v = strtol(text, &end, 0);

	if (*end || end == text || v < min || v > max) {
		fprintf(stderr, "%s: not a number from %ld to %ld\n", text, min, max);
		exit(1);
	}
	return v;
}

static enum ibv_mtu mtu_of(long bytes)
{
	for (int m = IBV_MTU_256; m <= IBV_MTU_4096; m++)
		if (bytes == 128l << m)
			return (enum ibv_mtu)m;
	fprintf(stderr, "%ld: not an MTU (256, 512, 1024, 2048, 4096)\n", bytes);
	exit(1);
}

static struct options parse_options(int argc, char **argv)
{
	struct options o = {.dev = "dpa0",
			    .port = 18515,
			    .timeout_ms = -1,
			    .size = 4096,
			    .rx_depth = 500,
			    .iters = 1000,
			    .mtu = IBV_MTU_1024};
	int c;

	while ((c = getopt(argc, argv, "d:g:p:s:n:m:r:t:h")) != -1) {
		switch (c) {
		case 'd':
			o.dev = optarg;
			break;
		case 'g':
			o.gid_index = (int)parse_number(optarg, 0, 255);
			break;
		case 'p':
			o.port = (int)parse_number(optarg, 0, 65535);
			break;
		case 's':
			o.size = (uint32_t)parse_number(optarg, 1, 1 << 30);
			break;
		case 'n':
			o.iters = (uint64_t)parse_number(optarg, 1, 1l << 40);
			break;
		case 'm':
			o.mtu = mtu_of(parse_number(optarg, 256, 4096));
			break;
		case 'r':
			o.rx_depth = (uint32_t)parse_number(optarg, 1, 4096);
			break;
		case 't':
			o.timeout_ms = (int)parse_number(optarg, 1, 86400) * 1000;
			break;
		default:
			print_usage(c == 'h' ? stdout : stderr);
			exit(c != 'h');
		}
	}
	if (optind != argc) {
		print_usage(stderr);
		exit(1);
	}
	return o;
}

/* The host posts the first receives: the device code runs only after the first completion. */
static bool post_receives(struct server *v)
{
	struct ibv_sge sge = {.addr = (uintptr_t)v->buf, .length = v->o.size, .lkey = v->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	int ret = 0;

	for (uint32_t i = 0; i < v->o.rx_depth && !ret; i++)
		ret = ibv_post_recv(v->qp, &wr, &bad);
	if (ret)
		fprintf(stderr, "ibv_post_recv: %s\n", strerror(ret));
	return !ret;
}

static bool make_qp(struct server *v)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	v->buf = aligned_alloc(page, (v->o.size + page - 1) / page * page);
	if (v->buf)
		v->mr = ibv_reg_mr(v->s.pd, v->buf, v->o.size, IBV_ACCESS_LOCAL_WRITE);
	if (!v->mr) {
		fprintf(stderr, "ibv_reg_mr: %s\n", strerror(errno));
		return false;
	}
	v->qp = sample_qp(&v->s, v->s.cq, 16, v->o.rx_depth);
	return v->qp && post_receives(v) &&
	       sample_ok(dpa_qp_export(v->s.dpa, v->qp, &v->dqp), "dpa_qp_export");
}

static bool tell_device(struct server *v)
{
	struct pingpong p = {
		.comp = v->s.comp_handle,
		.buf = (uintptr_t)v->buf,
		.lkey = v->mr->lkey,
		.size = v->o.size,
		.iters = v->o.iters,
		.rx_depth = v->o.rx_depth,
		.posted = v->o.rx_depth,
	};

	return sample_ok(dpa_qp_get_dpa_handle(v->dqp, &p.qp), "dpa_qp_get_dpa_handle") &&
	       sample_ok(doca_dpa_h2d_memcpy(v->s.dpa, v->s.state, &p, sizeof(p)),
			 "doca_dpa_h2d_memcpy") &&
	       sample_ok(doca_dpa_thread_run(v->s.thread), "doca_dpa_thread_run");
}

static bool connect_client(struct server *v)
{
	struct sample_dest mine = {.qpn = v->qp->qp_num, .psn = 0x123456}, peer;
	int fd, listener, ret;

	ret = ibv_query_gid(v->s.ctx, 1, v->o.gid_index, &mine.gid);
	if (ret) {
		fprintf(stderr, "GID %d: %s\n", v->o.gid_index, strerror(errno));
		return false;
	}
	listener = exchange_listen(&v->o.port);
	if (listener < 0)
		return false;
	printf("listening on port %d\n", v->o.port);
	fflush(stdout);
	fd = exchange_accept(listener, &peer);
	close(listener);
	if (fd < 0)
		return false;
	if (!sample_connect(v->qp, &peer, mine.psn, v->o.gid_index, v->o.mtu)) {
		close(fd);
		return false;
	}
	return exchange_answer(fd, &mine);
}

static long host_cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}

static bool serve_client(struct server *v)
{
	long before = host_cpu_us(), used;
	struct pingpong p;

	if (!sample_ok(dpa_thread_wait(v->s.thread, v->o.timeout_ms), "waiting for the DPA"))
		return false;
	used = host_cpu_us() - before;
	if (!sample_ok(doca_dpa_d2h_memcpy(v->s.dpa, &p, v->s.state, sizeof(p)),
		       "doca_dpa_d2h_memcpy") ||
	    !sample_ok(doca_dpa_peek_at_last_error(v->s.dpa), "device code"))
		return false;
	printf("DPA thread: %llu messages of %u bytes received, %llu sent, in %llu activations\n"
	       "host thread: asleep, %ld us of CPU time meanwhile\n",
	       (unsigned long long)p.received, p.size, (unsigned long long)p.sent,
	       (unsigned long long)p.activations, used);
	return !p.error && p.received == p.iters && p.sent == p.iters;
}

static void close_all(struct server *v)
{
	if (v->dqp)
		dpa_qp_unexport(v->dqp);
	if (v->qp)
		ibv_destroy_qp(v->qp);
	if (v->mr)
		ibv_dereg_mr(v->mr);
	free(v->buf);
	sample_close(&v->s);
}

int main(int argc, char **argv)
{
	struct server v = {.o = parse_options(argc, argv)};
	bool ok = sample_open(&v.s, v.o.dev, pingpong_server_app, &pingpong_kernel,
			      sizeof(struct pingpong), v.o.rx_depth + 16) &&
		  make_qp(&v) && tell_device(&v) && connect_client(&v) && serve_client(&v);

	close_all(&v);
	return ok ? 0 : 1;
}
