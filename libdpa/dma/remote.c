/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* remote.c - copies with memory of other processes: posts and completions. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "../common/buf/buf.h"
#include "../eu/clock.h"
#include "dma.h"

#define SENDS	128
/* bytes of a work request: as much as the direct path copies in one call */
#define SEGMENT (4u << 20)
#define BOUNCE	(256u << 10) /* bytes */
#define LOOK_NS 1000000	     /* between two checks of the peer's end */

/* --------------------------------------------------------------- life cycle */

void dpa_dma_remote_close(struct doca_dma *dma)
{
	struct dpa_dma_remote *r = &dma->remote;
	struct dpa_pci_link *l, *next;

	if (!r->open)
		return;
	for (l = r->links; l; l = next) {
		next = l->next;
		dpa_pci_hang_up(l);
	}
	if (r->bounce_mr)
		ibv_dereg_mr(r->bounce_mr);
	free(r->bounce);
	if (r->caller.cq)
		ibv_destroy_cq(r->caller.cq);
	if (r->channel)
		ibv_destroy_comp_channel(r->channel);
	if (r->timer >= 0)
		close(r->timer);
	if (r->caller.epoll >= 0)
		close(r->caller.epoll);
	dma->ctx.fd = -1;
	*r = (struct dpa_dma_remote){0};
}

static bool remote_watch(struct dpa_dma_remote *r, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};

	return !epoll_ctl(r->caller.epoll, EPOLL_CTL_ADD, fd, &ev);
}

static bool remote_open(struct doca_dma *dma)
{
	struct dpa_dma_remote *r = &dma->remote;
	struct doca_dev *dev = dma->ctx.dev;
	struct ibv_device_attr attr;

	if (r->open)
		return true;
	r->open = true;
	r->caller.sends = SENDS;
	r->caller.node_guid = ibv_query_device(dev->ctx, &attr) ? 0 : attr.sys_image_guid;
	r->caller.epoll = epoll_create1(EPOLL_CLOEXEC);
	r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->caller.pd = dpa_dev_pd(dev);
	r->channel = ibv_create_comp_channel(dev->ctx);
	r->caller.cq = r->channel ? ibv_create_cq(dev->ctx, SENDS, NULL, r->channel, 0) : NULL;
	if (r->caller.epoll >= 0 && r->timer >= 0 && r->caller.pd && r->caller.cq &&
	    !fcntl(r->channel->fd, F_SETFL, O_NONBLOCK) && remote_watch(r, r->timer) &&
	    remote_watch(r, r->channel->fd)) {
		dma->ctx.fd = r->caller.epoll;
		return true;
	}
	dpa_dma_remote_close(dma);
	return false;
}

static bool remote_need_bounce(struct dpa_dma_remote *r)
{
	if (r->bounce_mr)
		return true;
	if (!r->bounce)
		r->bounce = malloc(BOUNCE);
	if (r->bounce)
		r->bounce_mr = ibv_reg_mr(r->caller.pd, r->bounce, BOUNCE, IBV_ACCESS_LOCAL_WRITE);
	return r->bounce_mr != NULL;
}

/* ------------------------------------------------------------------ posting */

static bool where_is_same(const struct dpa_pci_where *a, const struct dpa_pci_where *b)
{
	return a->port == b->port && !memcmp(a->token, b->token, sizeof(a->token));
}

/* Get the link. NULL: not yet, or never (t->failed is set then). */
static struct dpa_pci_link *remote_link(struct doca_dma *dma, struct doca_dma_task_memcpy *t,
					const struct dpa_pci_where *where)
{
	struct dpa_dma_remote *r = &dma->remote;
	struct dpa_pci_link *l = r->links;

	while (l && !where_is_same(&l->where, where))
		l = l->next;
	if (!l) {
		l = dpa_pci_call(&r->caller, where);
		if (!l) {
			t->failed = DOCA_ERROR_NO_MEMORY;
			return NULL;
		}
		l->next = r->links;
		r->links = l;
	}
	if (l->state == PCI_CALLING || l->state == PCI_ASKED)
		dpa_pci_step(&r->caller, l);
	if (l->state == PCI_BROKEN)
		t->failed = DOCA_ERROR_IO_FAILED;
	return l->state == PCI_READY ? l : NULL;
}

/* Return whether a request of this kind may follow those in flight. */
static bool remote_has_room(const struct dpa_dma_remote *r, const struct dpa_pci_link *l,
			    enum ibv_wr_opcode op)
{
	if (r->failed)
		return false;
	return r->posted == r->ended ||
	       (r->link == l && r->opcode == op && r->posted - r->ended < SENDS);
}

static bool remote_send(struct doca_dma *dma, struct doca_dma_task_memcpy *t,
			struct dpa_pci_link *l, enum ibv_wr_opcode op, struct ibv_sge *local,
			uint64_t addr, uint32_t rkey)
{
	struct dpa_dma_remote *r = &dma->remote;
	struct ibv_send_wr wr = {
		.wr_id = r->posted + 1,
		.sg_list = local,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = addr, .rkey = rkey},
	};
	struct ibv_send_wr *bad;

	r->link = l;
	r->opcode = op;
	if (ibv_post_send(l->qp, &wr, &bad)) {
		t->failed = DOCA_ERROR_IO_FAILED;
		return false;
	}
	t->last = ++r->posted;
	return true;
}

/* Copy from a peer to a peer, by way of the bounce buffer, when nothing else is in flight. */
static bool remote_bounce(struct doca_dma *dma, struct doca_dma_task_memcpy *t,
			  const struct dpa_dma_piece *p, const struct dpa_mmap_key *src,
			  const struct dpa_mmap_key *dst)
{
	struct dpa_dma_remote *r = &dma->remote;
	bool in = !t->bounced;
	struct dpa_pci_link *l = remote_link(dma, t, in ? src->pci : dst->pci);
	size_t len = in ? (p->len < BOUNCE ? p->len : BOUNCE) : t->bounced;
	struct ibv_sge sge;

	if (!l || r->failed || r->posted != r->ended)
		return false;
	if (!remote_need_bounce(r)) {
		t->failed = DOCA_ERROR_NO_MEMORY;
		return false;
	}
	sge = (struct ibv_sge){(uintptr_t)r->bounce, (uint32_t)len, r->bounce_mr->lkey};
	if (in ? !remote_send(dma, t, l, IBV_WR_RDMA_READ, &sge, (uintptr_t)p->from, src->key)
	       : !remote_send(dma, t, l, IBV_WR_RDMA_WRITE, &sge, (uintptr_t)p->to, dst->key))
		return false;
	t->bounced = in ? len : 0;
	if (!in)
		dpa_dma_advance(&t->walk, len);
	return true;
}

/* Post a part of a segment with one side at the peer. */
static bool remote_segment(struct doca_dma *dma, struct doca_dma_task_memcpy *t,
			   const struct dpa_dma_piece *p, const struct dpa_mmap_key *src,
			   const struct dpa_mmap_key *dst)
{
	enum ibv_wr_opcode op = src->pci ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	const struct dpa_mmap_key *far = src->pci ? src : dst, *near = src->pci ? dst : src;
	struct dpa_pci_link *l = remote_link(dma, t, far->pci);
	size_t len = p->len < SEGMENT ? p->len : SEGMENT;
	struct ibv_sge sge = {(uintptr_t)(src->pci ? p->to : p->from), (uint32_t)len, near->key};

	if (!l || !remote_has_room(&dma->remote, l, op) ||
	    !remote_send(dma, t, l, op, &sge, (uintptr_t)(src->pci ? p->from : p->to), far->key))
		return false;
	dpa_dma_advance(&t->walk, len);
	return true;
}

/* Post a segment. False: not now, or not at all. */
static bool remote_piece(struct doca_dma *dma, struct doca_dma_task_memcpy *t,
			 const struct dpa_dma_piece *p)
{
	const struct doca_dev *dev = dma->ctx.dev;
	struct dpa_buf_data src, dst;

	if (dpa_buf_data(t->walk.src, dev, &src) || dpa_buf_data(t->walk.dst, dev, &dst)) {
		t->failed = DOCA_ERROR_INVALID_VALUE; /* its map was stopped */
		return false;
	}
	if (src.key->pci && dst.key->pci)
		return remote_bounce(dma, t, p, src.key, dst.key);
	if (src.key->pci || dst.key->pci)
		return remote_segment(dma, t, p, src.key, dst.key);
	if (dma->remote.failed || !dpa_dma_remote_quiet(dma))
		return false;
	memmove(p->to, p->from, p->len);
	dpa_dma_advance(&t->walk, p->len);
	return true;
}

bool dpa_dma_remote_post(struct doca_dma *dma, struct doca_dma_task_memcpy *t)
{
	struct dpa_dma_piece p;

	if (!remote_open(dma)) {
		t->failed = DOCA_ERROR_NO_MEMORY;
		return false;
	}
	while (dpa_dma_piece(&t->walk, &p))
		if (!remote_piece(dma, t, &p))
			return false;
	if (t->walk.left) /* a buf was freed */
		t->failed = DOCA_ERROR_INVALID_VALUE;
	t->posted = !t->walk.left;
	return t->posted;
}

/* --------------------------------------------------------------------- ends */

void dpa_dma_remote_abort(struct doca_dma *dma)
{
	struct dpa_dma_remote *r = &dma->remote;

	if (r->posted == r->ended || r->failed)
		return;
	r->failed = DOCA_ERROR_IO_FAILED;
	dpa_hwif_fail_qp(r->link->qp);
}

static int remote_take(struct dpa_dma_remote *r, struct ibv_wc *wc)
{
	int n = r->num_wc;

	if (!n)
		return ibv_poll_cq(r->caller.cq, 16, wc);
	memcpy(wc, r->wc, (size_t)n * sizeof(*wc));
	r->num_wc = 0;
	return n;
}

/* Handle the end of a request. Any error status means: the copy was not made. */
static void remote_ended(struct dpa_dma_remote *r, const struct ibv_wc *wc)
{
	r->ended = wc->wr_id;
	if (wc->status == IBV_WC_SUCCESS)
		r->good = wc->wr_id;
	else
		r->failed = DOCA_ERROR_IO_FAILED;
}

/*
 * Check whether the peer is gone, or has closed its port: this finds it earlier than the adapter's
 * retries.
 */
static void remote_look(struct doca_dma *dma)
{
	struct dpa_dma_remote *r = &dma->remote;
	uint64_t now = dpal_now_ns();

	if (now - r->looked_ns < LOOK_NS)
		return;
	r->looked_ns = now;
	if (dpa_pci_peer_gone(r->link))
		dpa_dma_remote_abort(dma);
}

static void remote_clear_events(struct dpa_dma_remote *r)
{
	struct ibv_cq *cq;
	uint64_t n;
	void *arg;

	r->armed = false;
	while (!ibv_get_cq_event(r->channel, &cq, &arg))
		ibv_ack_cq_events(cq, 1);
	while (read(r->timer, &n, sizeof(n)) > 0)
		;
	if (r->posted == r->ended) /* a closed socket would wake the program for ever */
		for (struct dpa_pci_link *l = r->links; l; l = l->next)
			dpa_pci_check(l);
}

bool dpa_dma_remote_poll(struct doca_dma *dma)
{
	struct dpa_dma_remote *r = &dma->remote;
	struct ibv_wc wc[16];
	int n;

	if (r->armed)
		remote_clear_events(r);
	if (r->posted == r->ended)
		return false;
	n = remote_take(r, wc);
	for (int i = 0; i < n; i++)
		remote_ended(r, &wc[i]);
	if (n <= 0 && !r->failed)
		remote_look(dma);
	return n > 0;
}

static void remote_set_timer(struct dpa_dma_remote *r)
{
	uint64_t first = UINT64_MAX;
	struct itimerspec t = {0};

	for (const struct dpa_pci_link *l = r->links; l; l = l->next)
		if ((l->state == PCI_CALLING || l->state == PCI_ASKED) && l->deadline < first)
			first = l->deadline;
	if (first != UINT64_MAX) {
		t.it_value.tv_sec = (time_t)(first / 1000000000);
		t.it_value.tv_nsec = (long)(first % 1000000000);
	}
	timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

bool dpa_dma_remote_arm(struct doca_dma *dma)
{
	struct dpa_dma_remote *r = &dma->remote;

	if (!r->open)
		return false;
	r->armed = true;
	remote_set_timer(r);
	if (r->posted == r->ended)
		return false;
	if (ibv_req_notify_cq(r->caller.cq, 0))
		return true;
	if (!r->num_wc)
		r->num_wc = ibv_poll_cq(r->caller.cq, 16, r->wc);
	if (r->num_wc < 0)
		r->num_wc = 0;
	return r->num_wc > 0;
}
