/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_cm_load - many rdma_cm connections, between processes that a test starts.
 *
 *   dpa_cm_load serve ADDRESS PORT BACKLOG    accepts all until SIGTERM; prints "listening" first
 *   dpa_cm_load daemon ADDRESS PORT BACKLOG   the same; daemon(3) behind rdma_listen(), then "daemon PID"
 *   dpa_cm_load call ADDRESS PORT TOTAL AT_ONCE
 *                                             connects and disconnects TOTAL times
 *   dpa_cm_load hold ADDRESS PORT             one connection; prints how it ends
 *
 * The ids have no QPs (rdma_establish(3)). Each side counts its events. A caller counts its
 * descriptors, too, after the first connection and at the end. Exit status 1: a count is wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define RESOLVING 2000

static volatile sig_atomic_t stopped;

static int fail(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	return 1;
}

static int say(const char *what)
{
	printf("%s\n", what);
	return fflush(stdout);
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -3; /* this folder's own, and . and .. */

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/*
 * A QPN of no QP. Two established connections must not have the same one, nor may those of an
 * earlier process, which the next one on the server's host may be about to end. So the first is
 * random.
 */
static uint32_t some_qpn(void)
{
	static uint32_t n;

	if (!n && getrandom(&n, sizeof(n), 0) != sizeof(n))
		exit(1);
	return 0x100 + n++ % 0x7ff000;
}

static struct rdma_conn_param params(void)
{
	return (struct rdma_conn_param){
		.retry_count = 7, .rnr_retry_count = 7, .qp_num = some_qpn()};
}

/* ------------------------------------------------------------------- server */

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

struct server {
	long requests, established, ended;
};

static void serve_one(struct server *s, struct rdma_cm_event *ev)
{
	struct rdma_conn_param p = params();
	struct rdma_cm_id *id = ev->id;
	enum rdma_cm_event_type type = ev->event;

	rdma_ack_cm_event(ev);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		s->requests++;
		if (rdma_accept(id, &p))
			rdma_destroy_id(id); /* its peer gave up */
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		s->established++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		s->ended++;
		rdma_disconnect(id);
		rdma_destroy_id(id);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default: /* refused, or its peer did not answer any more */
		rdma_destroy_id(id);
	}
}

static int serve_all(struct rdma_event_channel *ch, struct server *s)
{
	struct pollfd p = {.fd = ch->fd, .events = POLLIN};
	struct rdma_cm_event *ev;
	sigset_t none;

	sigemptyset(&none);
	while (!stopped) {
		if (ppoll(&p, 1, NULL, &none) != 1)
			continue;
		if (rdma_get_cm_event(ch, &ev))
			return fail("an event");
		serve_one(s, ev);
	}
	return 0;
}

static int serve(struct sockaddr *addr, int backlog, bool leave)
{
	struct sigaction sa = {.sa_handler = stop};
	struct rdma_event_channel *ch;
	struct server s = {0};
	struct rdma_cm_id *id;
	sigset_t term;
	int ret;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	sigaction(SIGTERM, &sa, NULL);
	ch = rdma_create_event_channel();
	if (!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) || rdma_bind_addr(id, addr) ||
	    rdma_listen(id, backlog))
		return fail("listening");
	say("listening");
	if (leave) {
		if (daemon(1, 1))
			return fail("daemon");
		printf("daemon %d\n", (int)getpid());
		fflush(stdout);
	}
	ret = serve_all(ch, &s);
	printf("%ld requests, %ld established, %ld ended\n", s.requests, s.established, s.ended);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
	return ret;
}

/* ------------------------------------------------------------------- client */

struct client {
	struct rdma_event_channel *ch;
	struct sockaddr *addr;
	long total, begun, ended, connected, disconnected;
	int fds; /* number when the first connection had ended */
};

static int begin(struct client *c)
{
	struct rdma_cm_id *id;

	c->begun++;
	if (rdma_create_id(c->ch, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, c->addr, RESOLVING))
		return fail("an id");
	return 0;
}

/* Carry out its next step. False: an error. */
static bool go_on(struct client *c, struct rdma_cm_event *ev)
{
	struct rdma_conn_param p = params();
	struct rdma_cm_id *id = ev->id;
	enum rdma_cm_event_type type = ev->event;
	int status = ev->status;

	rdma_ack_cm_event(ev);
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return !rdma_resolve_route(id, RESOLVING);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return !rdma_connect(id, &p);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		c->connected++;
		return !rdma_establish(id) && !rdma_disconnect(id);
	case RDMA_CM_EVENT_DISCONNECTED:
		c->disconnected++;
		if (!c->ended++)
			c->fds = count_fds();
		rdma_destroy_id(id);
		return c->begun == c->total || !begin(c);
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return true;
	default:
		printf("%s, status %d\n", rdma_event_str(type), status);
		return false;
	}
}

static int call(struct sockaddr *addr, long total, long at_once)
{
	struct client c = {.ch = rdma_create_event_channel(), .addr = addr, .total = total};
	struct rdma_cm_event *ev;
	int fds;

	if (!c.ch)
		return fail("an event channel");
	while (c.begun < at_once && c.begun < total)
		if (begin(&c))
			return 1;
	say("calling");
	while (c.ended < total)
		if (rdma_get_cm_event(c.ch, &ev) || !go_on(&c, ev))
			return fail("a connection");
	fds = count_fds();
	rdma_destroy_event_channel(c.ch);
	printf("%ld connected, %ld disconnected\n", c.connected, c.disconnected);
	if (fds > c.fds)
		printf("%d descriptors after the first connection, %d at the end\n", c.fds, fds);
	return fds > c.fds || c.connected != total || c.disconnected != total;
}

static bool has_ended(enum rdma_cm_event_type type)
{
	return type != RDMA_CM_EVENT_ADDR_RESOLVED && type != RDMA_CM_EVENT_ROUTE_RESOLVED &&
	       type != RDMA_CM_EVENT_CONNECT_RESPONSE;
}

static int hold(struct sockaddr *addr)
{
	struct client c = {.ch = rdma_create_event_channel(), .addr = addr, .total = 1};
	struct rdma_cm_event *ev;

	if (!c.ch || begin(&c))
		return fail("an event channel");
	for (;;) {
		struct rdma_conn_param p = params();

		if (rdma_get_cm_event(c.ch, &ev))
			return fail("an event");
		printf("%s %d\n", rdma_event_str(ev->event), ev->status);
		fflush(stdout);
		if (has_ended(ev->event))
			break;
		if ((ev->event == RDMA_CM_EVENT_ADDR_RESOLVED &&
		     rdma_resolve_route(ev->id, RESOLVING)) ||
		    (ev->event == RDMA_CM_EVENT_ROUTE_RESOLVED && rdma_connect(ev->id, &p)) ||
		    (ev->event == RDMA_CM_EVENT_CONNECT_RESPONSE && rdma_establish(ev->id)))
			return fail("connecting");
		rdma_ack_cm_event(ev);
	}
	rdma_ack_cm_event(ev);
	return 0;
}

int main(int argc, char **argv)
{
	struct addrinfo *ai;

	if (argc < 4 || getaddrinfo(argv[2], argv[3], NULL, &ai))
		goto usage;
	if (argc == 5 && (!strcmp(argv[1], "serve") || !strcmp(argv[1], "daemon")))
		return serve(ai->ai_addr, atoi(argv[4]), argv[1][0] == 'd');
	if (argc == 6 && !strcmp(argv[1], "call"))
		return call(ai->ai_addr, atol(argv[4]), atol(argv[5]));
	if (argc == 4 && !strcmp(argv[1], "hold"))
		return hold(ai->ai_addr);
usage:
	fprintf(stderr, "usage: dpa_cm_load serve|daemon ADDRESS PORT BACKLOG\n"
			"       dpa_cm_load call ADDRESS PORT TOTAL AT_ONCE\n"
			"       dpa_cm_load hold ADDRESS PORT\n");
	return 2;
}
