/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * link.c - the importer's side: calls the addresses of an export one after the other, until the
 * port with the token answers. No call here blocks. The thread of the caller owns all of it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../eu/clock.h"
#include "pci.h"

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t v6_loopback[16] = {[15] = 1};

static bool gid_is_v4(const uint8_t *gid)
{
	return !memcmp(gid, v4_prefix, sizeof(v4_prefix));
}

static bool gid_is_loopback(const uint8_t *gid)
{
	return gid_is_v4(gid) ? gid[12] == 127 : !memcmp(gid, v6_loopback, 16);
}

/*
 * Return whether an address can be called. Loopback reaches only this host; a link-local address
 * does not name an interface.
 */
static bool link_may_call(const struct dpa_pci_caller *c, const struct dpa_pci_link *l,
			  const uint8_t *gid)
{
	static const uint8_t none[16];
	bool link_local = gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;

	return !link_local && memcmp(gid, none, sizeof(none)) &&
	       (!gid_is_loopback(gid) || l->where.node_guid == c->node_guid);
}

static socklen_t link_address(const uint8_t *gid, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (gid_is_v4(gid)) {
		memcpy(&in.sin_addr, gid + 12, 4);
		memcpy(out, &in, sizeof(in));
		return sizeof(in);
	}
	memcpy(&in6.sin6_addr, gid, 16);
	memcpy(out, &in6, sizeof(in6));
	return sizeof(in6);
}

static void link_drop(struct dpa_pci_link *l)
{
	if (l->qp)
		ibv_destroy_qp(l->qp);
	if (l->fd >= 0)
		close(l->fd);
	l->qp = NULL;
	l->fd = -1;
	l->got = 0;
}

static bool watch_link_fd(const struct dpa_pci_caller *c, const struct dpa_pci_link *l,
			  uint32_t events, int op)
{
	struct epoll_event ev = {.events = events};

	return !epoll_ctl(c->epoll, op, l->fd, &ev);
}

static void set_link_deadline(struct dpa_pci_link *l, uint64_t ms)
{
	l->deadline = dpal_now_ns() + ms * 1000000;
}

/* Try an address. False: it cannot be used. */
static bool link_try(const struct dpa_pci_caller *c, struct dpa_pci_link *l)
{
	const uint8_t *gid = l->where.gids[l->candidate];
	struct sockaddr_storage a;
	socklen_t len;

	if (!link_may_call(c, l, gid))
		return false;
	len = link_address(gid, l->where.port, &a);
	l->fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0 || (connect(l->fd, (struct sockaddr *)&a, len) && errno != EINPROGRESS) ||
	    !watch_link_fd(c, l, EPOLLOUT, EPOLL_CTL_ADD)) {
		link_drop(l);
		return false;
	}
	l->state = PCI_CALLING;
	set_link_deadline(l, DPA_PCI_CALL_MS);
	return true;
}

/* Call the next address that can be called, from the candidate on. */
static void link_call_from(const struct dpa_pci_caller *c, struct dpa_pci_link *l)
{
	for (; l->candidate < l->where.num_gids; l->candidate++)
		if (link_try(c, l))
			return;
	l->state = PCI_BROKEN;
}

static void link_next(const struct dpa_pci_caller *c, struct dpa_pci_link *l)
{
	link_drop(l);
	l->candidate++;
	link_call_from(c, l);
}

struct dpa_pci_link *dpa_pci_call(const struct dpa_pci_caller *c, const struct dpa_pci_where *where)
{
	struct dpa_pci_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->where = *where;
	l->fd = -1;
	link_call_from(c, l);
	return l;
}

/* Create the queue pair and send the question, once TCP is up. */
static bool link_ask(const struct dpa_pci_caller *c, struct dpa_pci_link *l)
{
	socklen_t len = sizeof(int);
	uint8_t gid[16];
	int err = 0;

	if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &err, &len) || err ||
	    !dpa_pci_socket_gid(l->fd, false, gid))
		return false;
	l->own = (struct dpa_pci_msg){.type = PCI_ASK};
	l->qp = dpa_pci_make_qp(c->pd, c->cq, c->sends, 0, gid, &l->own);
	if (!l->qp)
		return false;
	memcpy(l->own.token, l->where.token, sizeof(l->own.token));
	if (send(l->fd, &l->own, sizeof(l->own), MSG_NOSIGNAL) != sizeof(l->own))
		return false; /* an empty socket buffer takes the whole message */
	l->state = PCI_ASKED;
	set_link_deadline(l, DPA_PCI_MSG_MS);
	return watch_link_fd(c, l, EPOLLIN, EPOLL_CTL_MOD);
}

/* Read the answer. False: no answer will come, or a wrong one came. */
static bool link_hear(struct dpa_pci_link *l)
{
	ssize_t n = recv(l->fd, (char *)&l->in + l->got, sizeof(l->in) - l->got, MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	l->got += (size_t)n;
	if (l->got < sizeof(l->in))
		return true;
	if (!dpa_pci_msg_is(&l->in, PCI_ANSWER) || !dpa_pci_gid_is_peers(l->fd, &l->in) ||
	    dpa_pci_join_qp(l->qp, &l->own, &l->in))
		return false;
	l->state = PCI_READY;
	return true;
}

void dpa_pci_step(const struct dpa_pci_caller *c, struct dpa_pci_link *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLOUT};
	bool ok = true;

	if (l->state == PCI_CALLING && poll(&p, 1, 0) > 0)
		ok = link_ask(c, l);
	if (ok && l->state == PCI_ASKED)
		ok = link_hear(l);
	if (l->state != PCI_READY && (!ok || dpal_now_ns() >= l->deadline))
		link_next(c, l);
}

bool dpa_pci_peer_gone(const struct dpa_pci_link *l)
{
	char more;
	ssize_t n = recv(l->fd, &more, 1, MSG_PEEK | MSG_DONTWAIT);

	return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

void dpa_pci_check(struct dpa_pci_link *l)
{
	if (l->state != PCI_READY || !dpa_pci_peer_gone(l))
		return;
	link_drop(l);
	l->state = PCI_BROKEN;
}

void dpa_pci_hang_up(struct dpa_pci_link *l)
{
	link_drop(l);
	free(l);
}
