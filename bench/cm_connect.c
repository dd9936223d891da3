/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm_connect - how long a connect of rdma_cm takes: from rdma_connect() until the event of the
 * acceptor's answer, one connection at a time, each side in a process of its own that blocks in
 * rdma_get_cm_event().
 *
 *   cm_connect [-a ADDRESS] [-n CONNECTIONS] [-c CPU,CPU] [-g GAP]
 *
 * -c: processors of acceptor and connector; default 0,1. -g: us of sleep before each connect, so that
 * both processors are idle; default 1000. Prints p10, p50, p90, p99 in us, and the CPU time that the
 * connector used for one connection.
 */
#include "hist.h"
#include "timing.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <rdma/rdma_cma.h>

#define PORT "7471"
#define WARM 20

static const char *address = "127.0.0.1";
static long connections = 1000, gap = 1000;
static int cpu[2] = {0, 1};

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct rdma_conn_param params(uint32_t qpn)
{
	return (struct rdma_conn_param){.retry_count = 7, .rnr_retry_count = 7, .qp_num = qpn};
}

static struct sockaddr *resolve(void)
{
	struct addrinfo *ai;

	if (getaddrinfo(address, PORT, NULL, &ai)) {
		fprintf(stderr, "no address: %s\n", address);
		exit(2);
	}
	return ai->ai_addr;
}

static _Noreturn void serve(int ready)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *ev;
	uint32_t qpn = 0x400000;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_pin(0, cpu[0]);
	if (!ch || rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, resolve()) || rdma_listen(listener, 16) ||
	    write(ready, "", 1) != 1)
		die("listening");
	for (;;) {
		struct rdma_conn_param p = params(qpn);
		enum rdma_cm_event_type type;

		if (rdma_get_cm_event(ch, &ev))
			die("an event of the acceptor");
		type = ev->event;
		id = ev->id;
		rdma_ack_cm_event(ev);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			qpn = 0x400000 | (qpn + 1) % 0x400000;
			if (rdma_accept(id, &p))
				die("accepting");
		} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
			rdma_disconnect(id);
			rdma_destroy_id(id);
		}
	}
}

static void expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	enum rdma_cm_event_type is;

	do {
		if (rdma_get_cm_event(ch, &ev))
			die("an event");
		is = ev->event;
		rdma_ack_cm_event(ev);
	} while (is == RDMA_CM_EVENT_TIMEWAIT_EXIT && type != is);
	if (is != type) {
		fprintf(stderr, "%s, not %s\n", rdma_event_str(is), rdma_event_str(type));
		exit(1);
	}
}

/* ns until the answer */
static uint64_t connect_once(struct rdma_event_channel *ch, struct sockaddr *to, uint32_t qpn)
{
	struct rdma_conn_param p = params(qpn);
	struct rdma_cm_id *id;
	uint64_t took;

	if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) || rdma_resolve_addr(id, NULL, to, 2000))
		die("an id");
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, 2000))
		die("a route");
	expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (gap)
		usleep((useconds_t)gap);
	took = bench_now_ns();
	if (rdma_connect(id, &p))
		die("connecting");
	expect(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	took = bench_now_ns() - took;
	if (rdma_establish(id) || rdma_disconnect(id))
		die("a connection");
	expect(ch, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_id(id);
	return took;
}

static void call(struct hist *h)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct sockaddr *to = resolve();
	clock_t used = 0;

	if (!ch)
		die("an event channel");
	bench_pin(0, cpu[1]);
	for (long i = -WARM; i < connections; i++) {
		uint64_t took = connect_once(ch, to, 0x800000 + (uint32_t)(i + WARM));

		if (i == -1)
			used = clock();
		if (i >= 0)
			hist_add(h, took);
	}
	used = clock() - used;
	printf("connect: p10 %.1f p50 %.1f p90 %.1f p99 %.1f us; connector's CPU time %.1f us\n",
	       (double)hist_percentile(h, 10) / 1e3, (double)hist_percentile(h, 50) / 1e3,
	       (double)hist_percentile(h, 90) / 1e3, (double)hist_percentile(h, 99) / 1e3,
	       (double)used * 1e6 / CLOCKS_PER_SEC / (double)connections);
}

int main(int argc, char **argv)
{
	static struct hist h;
	int c, ready[2];
	char byte;
	pid_t pid;

	while ((c = getopt(argc, argv, "a:n:c:g:")) != -1) {
		if (c == 'a')
			address = optarg;
		else if (c == 'n')
			connections = atol(optarg);
		else if (c == 'g')
			gap = atol(optarg);
		else if (c != 'c' || sscanf(optarg, "%d,%d", &cpu[0], &cpu[1]) != 2) {
			fprintf(stderr, "usage: cm_connect [-a ADDRESS] [-n CONNECTIONS] "
					"[-c CPU,CPU] [-g GAP]\n");
			return 2;
		}
	}
	if (pipe(ready))
		die("a pipe");
	pid = fork(); /* before either side opens the device */
	if (pid < 0)
		die("fork");
	if (!pid)
		serve(ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	hist_init(&h);
	call(&h);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
