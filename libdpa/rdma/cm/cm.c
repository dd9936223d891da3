/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The exchange over TCP: sockets, messages and states. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "../rdma.h"
#include "link.h"

#define LOOK_NS	    20000 /* between two looks at the sockets */
#define EVENTS	    16	  /* of one look */
#define MAX_GREETED 64	  /* peers that have not sent their request */
#define BACKLOG	    64

static uint64_t cm_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t time_limit(const struct doca_rdma *r)
{
	return cm_now_ns() + r->conf.timeout_ms * UINT64_C(1000000);
}

/* ------------------------------------------------------------ the descriptors */

int dpa_cm_start(struct dpa_cm *cm)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int ret;

	cm->owner = getpid();
	cm->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (cm->epoll < 0)
		return errno;
	cm->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (cm->timer >= 0 && !epoll_ctl(cm->epoll, EPOLL_CTL_ADD, cm->timer, &ev))
		return 0;
	ret = errno;
	if (cm->timer >= 0)
		close(cm->timer);
	close(cm->epoll);
	cm->epoll = cm->timer = -1;
	return ret;
}

static bool watch_fd(struct dpa_cm *cm, struct dpa_cm_fd *f, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = f};

	return !epoll_ctl(cm->epoll, EPOLL_CTL_MOD, f->fd, &ev) ||
	       (errno == ENOENT && !epoll_ctl(cm->epoll, EPOLL_CTL_ADD, f->fd, &ev));
}

/*
 * A child of fork() may have it open, too: then close() alone would leave it in the epoll instance,
 * with a pointer to what is freed. A child that ends what it inherited must leave it there: the
 * instance is its parent's, too.
 */
static void close_fd(struct dpa_cm *cm, struct dpa_cm_fd *f)
{
	if (cm->owner == getpid())
		epoll_ctl(cm->epoll, EPOLL_CTL_DEL, f->fd, NULL);
	close(f->fd);
	f->fd = -1;
}

/* ---------------------------------------------------------------- one's life */

/* NULL: no memory; the descriptor is closed. */
static struct dpa_cm_link *new_link(struct doca_rdma *r, int fd, enum dpa_cm_state state)
{
	struct dpa_cm_link *l = calloc(1, sizeof(*l));

	if (!l) {
		close(fd);
		return NULL;
	}
	l->f.fd = fd;
	l->f.ready = dpa_cm_link_ready;
	l->rdma = r;
	l->state = state;
	l->deadline = time_limit(r);
	l->next = r->cm.links;
	r->cm.links = l;
	return l;
}

/* Frees those that are gone. */
static void sweep_links(struct dpa_cm *cm)
{
	for (struct dpa_cm_link **p = &cm->links; *p;) {
		struct dpa_cm_link *l = *p;

		if (l->state != CM_GONE) {
			p = &l->next;
			continue;
		}
		*p = l->next;
		free(l);
	}
	while (cm->closed) {
		struct dpa_cm_listener *s = cm->closed;

		cm->closed = s->next;
		free(s);
	}
}

void dpa_cm_end(struct dpa_cm_link *l)
{
	struct doca_rdma *r = l->rdma;

	if (l->state == CM_GREETED)
		r->cm.num_greeted--;
	l->state = CM_GONE;
	close_fd(&r->cm, &l->f);
	if (l->c) {
		l->c->link = NULL;
		dpa_rdma_drop_connection(l->c);
	}
	if (l->addr)
		dpa_addr_release(l->addr);
	l->c = NULL;
	l->addr = NULL;
	if (!r->cm.working)
		sweep_links(&r->cm);
}

/* The user hears of it, unless it is his own doing. */
void dpa_cm_break(struct dpa_cm_link *l)
{
	struct doca_rdma *r = l->rdma;
	enum dpa_cm_state was = l->state;
	union doca_data own;

	if (l->c && was != CM_GREETED) {
		l->state = CM_ENDING;
		if (!r->dpa) /* what came before the end is told before it: with the QP it would go
			      */
			dpa_rdma_tasks_drain(r);
		own = l->c->user_data;
		if (was == CM_ESTABLISHED || was == CM_CLOSING)
			r->cm.disconnected(l->c, own, r->ctx.user_data);
		else
			r->cm.failed(l->c, own, r->ctx.user_data);
		if (!r->dpa) /* and messages that came meanwhile: for their sender they have arrived */
			dpa_rdma_tasks_flush(l->c);
	}
	dpa_cm_end(l);
}

/* ------------------------------------------------------------------ messages */

/* Sends the remainder of the message that is being sent. */
static bool flush_link(struct dpa_cm_link *l)
{
	ssize_t n;

	if (l->sent == l->to_send)
		return true;
	n = send(l->f.fd, (char *)&l->out + l->sent, l->to_send - l->sent, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	if (n > 0)
		l->sent += (size_t)n;
	return watch_fd(&l->rdma->cm, &l->f,
			EPOLLIN | (l->sent < l->to_send ? (uint32_t)EPOLLOUT : 0));
}

bool dpa_cm_send(struct dpa_cm_link *l, enum dpa_cm_type type, const void *private_data,
		 uint8_t private_len)
{
	if (l->sent < l->to_send)
		return false; /* a peer that answers what it was not sent */
	l->out = (struct dpa_cm_msg){
		.magic = htobe32(DPA_CM_MAGIC),
		.version = htobe16(DPA_CM_VERSION),
		.type = (uint8_t)type,
		.private_len = private_len,
	};
	if (type == CM_REQ || type == CM_REP)
		l->out.details = l->c->details;
	if (private_len)
		memcpy(l->out.private_data, private_data, private_len);
	l->sent = 0;
	l->to_send = sizeof(l->out);
	return flush_link(l);
}

/* True: it is whole. False and *over: the peer has ended, or breaks the rules. */
static bool receive_link(struct dpa_cm_link *l, bool *over)
{
	ssize_t n = recv(l->f.fd, (char *)&l->in + l->got, sizeof(l->in) - l->got, MSG_DONTWAIT);

	*over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n > 0)
		l->got += (size_t)n;
	if (l->got < sizeof(l->in))
		return false;
	l->got = 0;
	*over = be32toh(l->in.magic) != DPA_CM_MAGIC || be16toh(l->in.version) != DPA_CM_VERSION;
	return !*over;
}

/* -------------------------------------------------------------------- states */

static void on_request(struct dpa_cm_link *l)
{
	struct doca_rdma *r = l->rdma;

	l->addr = dpa_addr_of_peer(l->f.fd);
	if (l->addr)
		dpa_addr_hold(l->addr);
	if (!l->addr || dpa_rdma_new_connection(r, &l->c)) {
		dpa_cm_send(l, CM_REJ, NULL, 0); /* there is no room: as good as it goes */
		dpa_cm_end(l);
		return;
	}
	r->cm.num_greeted--;
	l->c->link = l;
	l->state = CM_REQUESTED;
	l->deadline = 0; /* the peer has its own */
	r->cm.requested(l->c, r->ctx.user_data);
}

static void on_established(struct dpa_cm_link *l)
{
	l->state = CM_ESTABLISHED;
	l->deadline = 0;
	l->rdma->cm.established(l->c, l->c->user_data, l->rdma->ctx.user_data);
}

static void on_reply(struct dpa_cm_link *l)
{
	if (dpa_rdma_join(l->c, &l->in.details, sizeof(l->in.details)) ||
	    !dpa_cm_send(l, CM_RTU, NULL, 0))
		dpa_cm_break(l);
	else
		on_established(l);
}

static void on_message(struct dpa_cm_link *l)
{
	if (l->state == CM_GREETED && l->in.type == CM_REQ)
		on_request(l);
	else if (l->state == CM_ASKED && l->in.type == CM_REP)
		on_reply(l);
	else if (l->state == CM_ACCEPTED && l->in.type == CM_RTU)
		on_established(l);
	else if (l->state != CM_CLOSING)
		dpa_cm_break(l); /* a refusal, or out of order */
}

static void on_connected(struct dpa_cm_link *l)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(l->f.fd, SOL_SOCKET, SO_ERROR, &err, &len) || err ||
	    !dpa_cm_send(l, CM_REQ, NULL, 0))
		dpa_cm_break(l);
	else
		l->state = CM_ASKED;
}

void dpa_cm_link_ready(struct doca_rdma *r, struct dpa_cm_fd *f, uint32_t events)
{
	struct dpa_cm_link *l = container_of(f, struct dpa_cm_link, f);
	bool over = false;

	(void)r;
	if (l->state == CM_GONE)
		return;
	if (l->state == CM_CONNECTING) {
		on_connected(l);
		return;
	}
	if (events & EPOLLOUT && !flush_link(l)) {
		dpa_cm_break(l);
		return;
	}
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	if (receive_link(l, &over))
		on_message(l);
	else if (over)
		dpa_cm_break(l);
}

/*
 * Closes the link that has been silent longest, to make room: a peer of this library sends its
 * request at once.
 */
static void drop_silent(struct dpa_cm *cm)
{
	struct dpa_cm_link *oldest = NULL;

	for (struct dpa_cm_link *l = cm->links; l; l = l->next) /* the newest is first */
		if (l->state == CM_GREETED)
			oldest = l;
	if (oldest)
		dpa_cm_end(oldest);
}

/* False: no other thread calls. */
static bool greet_peer(struct doca_rdma *r, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct dpa_cm_link *l;

	if (fd < 0)
		return false;
	if (r->cm.num_greeted == MAX_GREETED)
		drop_silent(&r->cm);
	l = new_link(r, fd, CM_GREETED);
	if (!l)
		return true;
	r->cm.num_greeted++;
	if (!watch_fd(&r->cm, &l->f, EPOLLIN))
		dpa_cm_end(l);
	return true;
}

static void on_caller(struct doca_rdma *r, struct dpa_cm_fd *f, uint32_t events)
{
	(void)events; /* that it was closed since is seen by its descriptor */
	for (int i = 0; i < EVENTS && f->fd >= 0 && greet_peer(r, f->fd); i++)
		;
}

/* ------------------------------------------------------------------ progress */

static bool look_at_sockets(struct doca_rdma *r)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(r->cm.epoll, ev, EVENTS, 0);
	uint64_t times;

	for (int i = 0; i < n; i++) {
		struct dpa_cm_fd *f = ev[i].data.ptr;

		if (f)
			f->ready(r, f, ev[i].events);
		else if (read(r->cm.timer, &times, sizeof(times)) < 0)
			continue; /* it was set anew */
	}
	return n > 0;
}

static bool look_at_clock(struct doca_rdma *r, uint64_t now)
{
	bool any = false;

	for (struct dpa_cm_link *l = r->cm.links; l; l = l->next)
		if (l->state != CM_GONE && l->deadline && l->deadline <= now) {
			dpa_cm_break(l);
			any = true;
		}
	return any;
}

bool dpa_cm_progress(struct doca_rdma *r)
{
	struct dpa_cm *cm = &r->cm;
	uint64_t now;
	bool any;

	if (!cm->links && !cm->listeners)
		return false;
	now = cm_now_ns();
	if (now - cm->looked_ns < LOOK_NS)
		return false;
	cm->looked_ns = now;
	cm->working = true;
	any = look_at_sockets(r);
	any |= look_at_clock(r, now);
	cm->working = false;
	sweep_links(cm);
	return any;
}

void dpa_cm_arm(struct doca_rdma *r)
{
	uint64_t first = 0;

	for (const struct dpa_cm_link *l = r->cm.links; l; l = l->next)
		if (l->deadline && (!first || l->deadline < first))
			first = l->deadline;
	/* 0 is off */
	timerfd_settime(r->cm.timer, TFD_TIMER_ABSTIME,
			&(struct itimerspec){.it_value = {.tv_sec = (time_t)(first / 1000000000),
							  .tv_nsec = (long)(first % 1000000000)}},
			NULL);
	r->cm.looked_ns = 0; /* the thread that was woken is to look */
}

/* ---------------------------------------------------------- beginning and end */

static int listen_on(int family, uint16_t port)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	bool v6 = family == AF_INET6;
	const int on = 1, off = 0;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, v6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in,
		  v6 ? sizeof(in6) : sizeof(in)) &&
	    !listen(fd, BACKLOG))
		return fd;
	close(fd);
	return -1;
}

bool dpa_cm_listen(struct doca_rdma *r, uint16_t port)
{
	struct dpa_cm_listener *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->port = port;
	s->f.ready = on_caller;
	s->f.fd = listen_on(AF_INET6, port);
	if (s->f.fd < 0)
		s->f.fd = listen_on(AF_INET, port);
	if (s->f.fd < 0 || !watch_fd(&r->cm, &s->f, EPOLLIN)) {
		if (s->f.fd >= 0)
			close(s->f.fd);
		free(s);
		return false;
	}
	s->next = r->cm.listeners;
	r->cm.listeners = s;
	return true;
}

bool dpa_cm_unlisten(struct doca_rdma *r, uint16_t port)
{
	struct dpa_cm_listener **p = &r->cm.listeners, *s;

	while (*p && (*p)->port != port)
		p = &(*p)->next;
	s = *p;
	if (!s)
		return false;
	*p = s->next;
	close_fd(&r->cm, &s->f);
	s->next = r->cm.closed;
	r->cm.closed = s;
	if (!r->cm.working)
		sweep_links(&r->cm);
	return true;
}

struct dpa_cm_link *dpa_cm_call(struct doca_rdma *r, struct doca_rdma_addr *addr)
{
	int fd = socket(addr->where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct dpa_cm_link *l;

	if (fd < 0)
		return NULL;
	if (connect(fd, (struct sockaddr *)&addr->where, addr->where_len) && errno != EINPROGRESS) {
		close(fd);
		return NULL;
	}
	l = new_link(r, fd, CM_CONNECTING);
	if (!l)
		return NULL;
	if (dpa_rdma_new_connection(r, &l->c) || !watch_fd(&r->cm, &l->f, EPOLLOUT)) {
		dpa_cm_end(l);
		return NULL;
	}
	l->c->link = l;
	l->addr = addr;
	dpa_addr_hold(addr);
	return l;
}

void dpa_cm_limit(struct dpa_cm_link *l)
{
	l->deadline = time_limit(l->rdma);
}

bool dpa_cm_hang_up(struct dpa_cm_link *l)
{
	int ret = shutdown(l->f.fd, SHUT_WR);

	l->state = CM_CLOSING;
	dpa_cm_limit(l);
	return !ret;
}

void dpa_cm_stop(struct doca_rdma *r)
{
	struct dpa_cm *cm = &r->cm;

	if (cm->epoll < 0)
		return;
	cm->working = true;
	for (struct dpa_cm_link *l = cm->links; l; l = l->next)
		if (l->state != CM_GONE)
			dpa_cm_end(l);
	cm->working = false;
	sweep_links(cm);
	while (cm->listeners)
		dpa_cm_unlisten(r, cm->listeners->port);
	close(cm->timer);
	close(cm->epoll);
	cm->epoll = cm->timer = -1;
}
