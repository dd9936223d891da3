/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cm.c - connections by address: events of librdmacm, states and time limits. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "../../eu/clock.h"
#include "../rdma.h"
#include "link.h"

#define LOOK_NS 20000 /* between two checks of the channel */
#define EVENTS	16    /* handled in one check */

/* Start the time limit of the next step. */
static void start_link_timeout(struct dpa_cm_link *l)
{
	l->deadline = dpal_now_ns() + l->rdma->conf.timeout_ms * UINT64_C(1000000);
}

/* ------------------------------------------------------------ the descriptors */

int dpa_cm_start(struct dpa_cm *cm)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int ret;

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

/*
 * Open the channel when it is first needed, not at the start of the context: few contexts connect
 * by address.
 */
static bool open_channel(struct dpa_cm *cm)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct rdma_event_channel *ch = cm->channel;

	if (ch)
		return true;
	ch = rdma_create_event_channel();
	if (!ch)
		return false;
	if (fcntl(ch->fd, F_SETFL, O_NONBLOCK) ||
	    epoll_ctl(cm->epoll, EPOLL_CTL_ADD, ch->fd, &ev)) {
		rdma_destroy_event_channel(ch);
		return false;
	}
	cm->channel = ch;
	return true;
}

/* ---------------------------------------------------------------- one's life */

/* Allocate a link. NULL: no memory. */
static struct dpa_cm_link *new_link(struct doca_rdma *r, enum dpa_cm_state state)
{
	struct dpa_cm_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->rdma = r;
	l->state = state;
	l->next = r->cm.links;
	r->cm.links = l;
	return l;
}

/* Free the ended links. */
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
}

/*
 * End a link. The peer must see the end after the posted work is done: destroy the id, whose end it
 * sees, last.
 */
void dpa_cm_end(struct dpa_cm_link *l)
{
	struct doca_rdma *r = l->rdma;

	l->state = CM_GONE;
	if (l->c) {
		l->c->link = NULL;
		dpa_rdma_drop_connection(l->c);
	}
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->addr)
		dpa_addr_release(l->addr);
	l->c = NULL;
	l->id = NULL;
	l->addr = NULL;
	if (!r->cm.working)
		sweep_links(&r->cm);
}

/* Report the end to the user. Without callbacks all ids belong to the user. */
static void tell_end(struct dpa_cm_link *l, enum dpa_cm_state was)
{
	struct doca_rdma *r = l->rdma;
	union doca_data own = l->c->user_data;

	if (!r->cm.disconnected)
		return;
	if (was == CM_ESTABLISHED || was == CM_CLOSING)
		r->cm.disconnected(l->c, own, r->ctx.user_data);
	else
		r->cm.failed(l->c, own, r->ctx.user_data);
}

/* Break a link, and report it unless the user caused it. */
void dpa_cm_break(struct dpa_cm_link *l)
{
	struct doca_rdma *r = l->rdma;
	enum dpa_cm_state was = l->state;

	l->state = CM_ENDING;
	if (dpa_rdma_on_cpu(
		    /*
		     * report completions that came before the end first: they would go with the QP
		     */
		    r))
		dpa_rdma_tasks_drain(r);
	tell_end(l, was);
	if (dpa_rdma_on_cpu(
		    r)) /* and messages that came meanwhile: for their sender they have arrived */
		dpa_rdma_tasks_flush(l->c);
	dpa_cm_end(l);
}

/* -------------------------------------------------------------------- client */

struct dpa_cm_link *dpa_cm_call(struct doca_rdma *r, struct doca_rdma_addr *addr)
{
	struct dpa_cm_link *l;

	if (!open_channel(&r->cm))
		return NULL;
	l = new_link(r, CM_RESOLVING);
	if (!l)
		return NULL;
	start_link_timeout(l);
	if (rdma_create_id(r->cm.channel, &l->id, l, RDMA_PS_TCP) ||
	    dpa_rdma_new_connection(r, &l->c) ||
	    rdma_resolve_addr(l->id, NULL, (struct sockaddr *)&addr->where, r->conf.timeout_ms)) {
		dpa_cm_end(l);
		return NULL;
	}
	l->c->link = l;
	l->addr = addr;
	dpa_addr_hold(addr);
	return l;
}

static bool on_address(struct dpa_cm_link *l)
{
	return dpa_cm_is_ours(l->id) && !rdma_resolve_route(l->id, l->rdma->conf.timeout_ms);
}

static bool on_route(struct dpa_cm_link *l)
{
	struct rdma_conn_param p;

	dpa_cm_describe(l, &p);
	l->state = CM_ASKED;
	return !rdma_connect(l->id, &p);
}

static bool on_response(struct dpa_cm_link *l)
{
	struct rdma_conn_param p;

	if (!dpa_cm_join(l, &p) || rdma_establish(l->id))
		return false;
	dpa_cm_establish(l);
	return true;
}

/* -------------------------------------------------------------------- server */

static bool bind_any_addr(struct rdma_cm_id *id, sa_family_t family, uint16_t port)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	return !rdma_bind_addr(id, family == AF_INET6 ? (struct sockaddr *)&in6
						      : (struct sockaddr *)&in);
}

/* Listen on all addresses of both families, if IPv6 is available. */
static bool listener_open(struct dpa_cm *cm, struct dpa_cm_listener *s)
{
	int both = 0;

	if (rdma_create_id(cm->channel, &s->id, NULL, RDMA_PS_TCP))
		return false;
	rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &both, sizeof(both));
	if ((bind_any_addr(s->id, AF_INET6, s->port) || bind_any_addr(s->id, AF_INET, s->port)) &&
	    !rdma_listen(s->id, 0))
		return true;
	rdma_destroy_id(s->id);
	return false;
}

bool dpa_cm_listen(struct doca_rdma *r, uint16_t port)
{
	struct dpa_cm_listener *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->port = port;
	if (!open_channel(&r->cm) || !listener_open(&r->cm, s)) {
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
	rdma_destroy_id(s->id);
	free(s);
	return true;
}

static doca_error_t take_id(struct dpa_cm_link *l, struct rdma_cm_id *id)
{
	doca_error_t ret = dpa_rdma_new_connection(l->rdma, &l->c);

	if (ret)
		return ret;
	l->addr = dpa_addr_of_peer(rdma_get_peer_addr(id));
	if (!l->addr)
		return DOCA_ERROR_CONNECTION_ABORTED;
	dpa_addr_hold(l->addr);
	l->c->link = l;
	l->id = id;
	return DOCA_SUCCESS;
}

doca_error_t dpa_cm_take(struct doca_rdma *r, struct rdma_cm_id *id, struct dpa_cm_link **out)
{
	struct dpa_cm_link *l;
	doca_error_t ret;

	if (!dpa_cm_is_ours(id))
		return DOCA_ERROR_INVALID_VALUE;
	l = new_link(r, CM_REQUESTED);
	if (!l)
		return DOCA_ERROR_CONNECTION_ABORTED;
	ret = take_id(l, id);
	if (ret)
		dpa_cm_end(l);
	*out = l;
	return ret;
}

static void on_connect_request(struct doca_rdma *r, struct rdma_cm_id *id)
{
	struct dpa_cm_link *l;

	if (dpa_cm_take(r, id, &l)) {
		rdma_reject(id, NULL, 0); /* no room: a reject is the best possible answer */
		rdma_destroy_id(id);
		return;
	}
	id->context = l;
	r->cm.requested(l->c, r->ctx.user_data);
}

bool dpa_cm_accept(struct dpa_cm_link *l, const void *data, uint8_t len)
{
	struct rdma_conn_param p;

	dpa_cm_describe(l, &p);
	if (!dpa_cm_join(l, &p))
		return false;
	p.private_data = data;
	p.private_data_len = len;
	if (rdma_accept(l->id, &p))
		return false;
	l->state = CM_ACCEPTED;
	if (!l->bridged)
		start_link_timeout(l);
	return true;
}

/* -------------------------------------------------------------------- events */

void dpa_cm_establish(struct dpa_cm_link *l)
{
	struct doca_rdma *r = l->rdma;

	l->state = CM_ESTABLISHED;
	l->deadline = 0;
	if (r->cm.established)
		r->cm.established(l->c, l->c->user_data, r->ctx.user_data);
}

/* Handle an event of a link. False: the link is over. */
static bool link_event(struct dpa_cm_link *l, enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return on_address(l);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return on_route(l);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return on_response(l);
	case RDMA_CM_EVENT_ESTABLISHED:
		dpa_cm_establish(l);
		return true;
	case RDMA_CM_EVENT_ADDR_CHANGE: /* the path does not change */
		return true;
	default:
		return false;
	}
}

/* Take one event. An id cannot be destroyed while one of its events is not acknowledged. */
static bool take_cm_event(struct doca_rdma *r)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *ev;
	struct dpa_cm_link *l;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(r->cm.channel, &ev))
		return false;
	type = ev->event;
	id = ev->id;
	rdma_ack_cm_event(ev);
	l = id->context;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		on_connect_request(r, id);
	else if (l && !link_event(l, type))
		dpa_cm_break(l);
	return true;
}

static bool look_at_channel(struct doca_rdma *r)
{
	struct pollfd p = {.fd = r->cm.channel ? r->cm.channel->fd : -1, .events = POLLIN};
	int n = 0;

	if (poll(&p, 1, 0) <= 0)
		return false;
	while (n < EVENTS && take_cm_event(r))
		n++;
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
	now = dpal_now_ns();
	if (now - cm->looked_ns < LOOK_NS)
		return false;
	cm->looked_ns = now;
	cm->working = true;
	any = look_at_channel(r);
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
	/* 0 disarms */
	timerfd_settime(r->cm.timer, TFD_TIMER_ABSTIME,
			&(struct itimerspec){.it_value = {.tv_sec = (time_t)(first / 1000000000),
							  .tv_nsec = (long)(first % 1000000000)}},
			NULL);
	r->cm.looked_ns = 0; /* make the woken thread check at once */
}

/* ----------------------------------------------------------------------- end */

/*
 * Disconnect. No event for the user's ids arrives here: the next progress ends such a link, or this
 * call if there is no engine.
 */
bool dpa_cm_hang_up(struct dpa_cm_link *l)
{
	int ret = rdma_disconnect(l->id);

	l->state = CM_CLOSING;
	if (l->addr)
		l->addr = dpa_addr_leave(l->addr);
	start_link_timeout(l);
	if (l->bridged && l->rdma->ctx.pe)
		l->deadline = 1;
	else if (l->bridged)
		dpa_cm_break(l);
	return !ret;
}

void dpa_cm_stop(struct doca_rdma *r)
{
	struct dpa_cm *cm = &r->cm;

	cm->working = true;
	for (struct dpa_cm_link *l = cm->links; l; l = l->next)
		if (l->state != CM_GONE)
			dpa_cm_end(l);
	cm->working = false;
	sweep_links(cm);
	while (cm->listeners)
		dpa_cm_unlisten(r, cm->listeners->port);
	if (cm->channel)
		rdma_destroy_event_channel(cm->channel);
	cm->channel = NULL;
	if (cm->epoll < 0)
		return;
	close(cm->timer);
	close(cm->epoll);
	cm->epoll = cm->timer = -1;
}
