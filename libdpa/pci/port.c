/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port.c - the exporter's side: one port for each export, with a thread that answers the peers, so
 * the program may block anywhere meanwhile.
 *
 * The thread owns guests, num_guests and rest_until; all other members are written before it
 * starts.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../eu/clock.h"
#include "../eu/thread.h"
#include "../rdma/rdma.h"
#include "pci.h"

#define MAX_GUESTS 256
#define MAX_SILENT 32 /* of these: peers that have not asked yet */
#define BACKLOG	   64
#define REST_NS	   UINT64_C(100000000) /* wait before the next accept() after a failure */

/* A peer that has connected. */
struct guest {
	int fd;
	struct ibv_qp *qp; /* NULL until it has asked */
	uint64_t deadline; /* for its question */
	struct dpa_pci_msg in;
	size_t got;
};

struct dpa_pci_port {
	struct doca_dev *dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* stays empty: the queue pairs only respond */
	pid_t owner;	   /* a child of fork() does not have the thread */
	int listener, wake;
	pthread_t thread;
	uint8_t token[DPA_PCI_TOKEN];
	uint16_t tcp_port;
	uint64_t rest_until; /* until then the listener is not polled; 0: it is */
	uint32_t num_guests;
	struct guest guests[MAX_GUESTS];
};

/* -------------------------------------------------------------------- guests */

static void guest_leave(struct dpa_pci_port *p, struct guest *g)
{
	if (g->qp)
		ibv_destroy_qp(g->qp);
	close(g->fd);
	*g = p->guests[--p->num_guests];
}

static bool guest_may_enter(const struct dpa_pci_port *p, const struct dpa_pci_msg *m)
{
	uint8_t differs = 0;

	if (!dpa_pci_msg_is(m, PCI_ASK))
		return false;
	/* constant time: the duration reveals nothing about the token */
	for (int i = 0; i < DPA_PCI_TOKEN; i++)
		differs |= m->token[i] ^ p->token[i];
	return !differs;
}

/* Create its queue pair, and send the answer. */
static bool guest_enter(struct dpa_pci_port *p, struct guest *g)
{
	struct dpa_pci_msg own = {.type = PCI_ANSWER};
	uint8_t gid[16];

	if (!guest_may_enter(p, &g->in) || !dpa_pci_gid_is_peers(g->fd, &g->in) ||
	    !dpa_pci_socket_gid(g->fd, false, gid))
		return false;
	g->qp = dpa_pci_make_qp(p->pd, p->cq, 1, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
				gid, &own);
	return g->qp && !dpa_pci_join_qp(g->qp, &own, &g->in) &&
	       send(g->fd, &own, sizeof(own), MSG_NOSIGNAL) == sizeof(own);
}

/* Read from a guest. False: it has closed, or violates the protocol. */
static bool guest_read(struct dpa_pci_port *p, struct guest *g)
{
	ssize_t n = recv(g->fd, (char *)&g->in + g->got, sizeof(g->in) - g->got, MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	g->got += (size_t)n;
	if (g->got < sizeof(g->in))
		return true;
	return guest_enter(p, g);
}

/*
 * Return whether a guest stays. After its question a guest sends nothing more; recv() of no bytes
 * would not detect the end.
 */
static bool guest_stays(struct dpa_pci_port *p, struct guest *g)
{
	char more;
	ssize_t n;

	if (!g->qp)
		return guest_read(p, g);
	n = recv(g->fd, &more, 1, MSG_DONTWAIT);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/*
 * Make room: drop the guest that has been silent longest. False: all have asked, and there is no
 * room.
 */
static bool port_make_room(struct dpa_pci_port *p)
{
	struct guest *oldest = NULL;
	uint32_t silent = 0;

	for (uint32_t i = 0; i < p->num_guests; i++) {
		struct guest *g = &p->guests[i];

		silent += !g->qp;
		if (!g->qp && (!oldest || g->deadline < oldest->deadline))
			oldest = g;
	}
	if (silent < MAX_SILENT && p->num_guests < MAX_GUESTS)
		return true;
	if (oldest)
		guest_leave(p, oldest);
	return oldest;
}

/*
 * Accept a peer. Without a free descriptor it stays in the queue of the listener, which stays
 * readable.
 */
static void port_greet(struct dpa_pci_port *p)
{
	int fd = accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno != EAGAIN && errno != ECONNABORTED)
			p->rest_until = dpal_now_ns() + REST_NS;
		return;
	}
	if (!port_make_room(p)) {
		close(fd);
		return;
	}
	p->guests[p->num_guests++] = (struct guest){
		.fd = fd,
		.deadline = dpal_now_ns() + DPA_PCI_MSG_MS * UINT64_C(1000000),
	};
}

/* ---------------------------------------------------------------- the thread */

/*
 * Return the milliseconds until a guest has been silent too long, or rest_until has come; -1:
 * neither.
 */
static int port_patience(const struct dpa_pci_port *p)
{
	uint64_t now = dpal_now_ns(), first = p->rest_until ? p->rest_until : UINT64_MAX;

	for (uint32_t i = 0; i < p->num_guests; i++)
		if (!p->guests[i].qp && p->guests[i].deadline < first)
			first = p->guests[i].deadline;
	if (first == UINT64_MAX)
		return -1;
	return first <= now ? 0 : (int)((first - now) / 1000000) + 1;
}

/* Go from the last guest to the first, because the last one replaces a guest that leaves. */
static void port_attend(struct dpa_pci_port *p, const struct pollfd *fds)
{
	uint64_t now = dpal_now_ns();

	for (uint32_t i = p->num_guests; i-- > 0;) {
		struct guest *g = &p->guests[i];

		if ((fds[i].revents && !guest_stays(p, g)) || (!g->qp && g->deadline <= now))
			guest_leave(p, g);
	}
}

static void *port_serve(void *arg)
{
	struct dpa_pci_port *p = arg;
	struct pollfd fds[2 + MAX_GUESTS];

	for (;;) {
		fds[0] = (struct pollfd){.fd = p->wake, .events = POLLIN};
		if (p->rest_until <= dpal_now_ns())
			p->rest_until = 0;
		fds[1] = (struct pollfd){.fd = p->rest_until ? -1 : p->listener, .events = POLLIN};
		for (uint32_t i = 0; i < p->num_guests; i++)
			fds[2 + i] = (struct pollfd){.fd = p->guests[i].fd, .events = POLLIN};
		if (poll(fds, 2 + p->num_guests, port_patience(p)) < 0)
			continue;
		if (fds[0].revents)
			break;
		port_attend(p, fds + 2);
		if (fds[1].revents)
			port_greet(p);
	}
	while (p->num_guests)
		guest_leave(p, &p->guests[0]);
	return NULL;
}

/* ---------------------------------------------------------------- life cycle */

/* Open the listener on all addresses of both families, or of IPv4 if IPv6 is not available. */
static int port_socket(void)
{
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
	struct sockaddr_in any = {.sin_family = AF_INET};
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	int fd = socket(AF_INET6, type, 0), no = 0;

	if (fd >= 0 && !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) &&
	    !bind(fd, (struct sockaddr *)&any6, sizeof(any6)))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = socket(AF_INET, type, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(any))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool port_listen(struct dpa_pci_port *p)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	p->wake = eventfd(0, EFD_CLOEXEC);
	p->listener = port_socket();
	if (p->wake < 0 || p->listener < 0 || listen(p->listener, BACKLOG) ||
	    getsockname(p->listener, (struct sockaddr *)&a, &len))
		return false;
	p->tcp_port = ntohs(((struct sockaddr_in *)&a)->sin_port); /* at the same offset in both */
	return true;
}

static void port_free(struct dpa_pci_port *p)
{
	if (p->owner == getpid() && p->cq)
		ibv_destroy_cq(p->cq);
	if (p->listener >= 0)
		close(p->listener);
	if (p->wake >= 0)
		close(p->wake);
	free(p);
}

doca_error_t dpa_pci_port_open(struct doca_dev *dev, struct ibv_pd *pd, struct dpa_pci_port **port)
{
	struct dpa_pci_port *p = calloc(1, sizeof(*p));

	if (!p)
		return DOCA_ERROR_NO_MEMORY;
	p->dev = dev;
	p->owner = getpid();
	p->listener = p->wake = -1;
	p->pd = pd;
	p->cq = ibv_create_cq(dev->ctx, 1, NULL, NULL, 0);
	if (!p->cq || !dpa_pci_random(p->token, sizeof(p->token)) || !port_listen(p) ||
	    dpa_start_thread(&p->thread, "dpa-pci", port_serve, p)) {
		port_free(p);
		return DOCA_ERROR_DRIVER;
	}
	*port = p;
	return DOCA_SUCCESS;
}

void dpa_pci_port_close(struct dpa_pci_port *p)
{
	const uint64_t one = 1;

	if (p->owner == getpid() && write(p->wake, &one, sizeof(one)) == sizeof(one))
		pthread_join(p->thread, NULL);
	port_free(p);
}

bool dpa_pci_port_where(const struct dpa_pci_port *port, struct dpa_pci_where *where)
{
	struct dpa_rdma_details d = {0};

	if (dpa_rdma_own_gids(port->dev->ctx, 0, &d))
		return false;
	memcpy(where->token, port->token, sizeof(where->token));
	where->node_guid = d.node_guid;
	where->port = port->tcp_port;
	where->num_gids = d.num_gids;
	memcpy(where->gids, d.gids, sizeof(where->gids));
	return true;
}

_Static_assert(DPA_PCI_GIDS == DPA_RDMA_DETAILS_GIDS, "as many as dpa_rdma_own_gids() gives");
