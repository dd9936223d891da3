/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pe.c - the progress engine. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "graph/graph.h"
#include "pe_priv.h"

static void release_pe(struct doca_pe *pe)
{
	if (pe->event >= 0)
		close(pe->event);
	if (pe->fd >= 0)
		close(pe->fd);
	dpa_obj_free(pe);
}

doca_error_t doca_pe_create(struct doca_pe **pe)
{
	struct doca_pe *p;

	if (!pe)
		return DOCA_ERROR_INVALID_VALUE;
	p = dpa_obj_new(DPA_T_PE, sizeof(*p));
	if (!p)
		return DOCA_ERROR_NO_MEMORY;
	p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->event < 0 || p->fd < 0 ||
	    epoll_ctl(p->fd, EPOLL_CTL_ADD, p->event, &(struct epoll_event){.events = EPOLLIN})) {
		release_pe(p);
		return DOCA_ERROR_NO_MEMORY;
	}
	*pe = p;
	return DOCA_SUCCESS;
}

doca_error_t doca_pe_destroy(struct doca_pe *pe)
{
	if (!dpa_live(pe))
		return DOCA_ERROR_INVALID_VALUE;
	if (pe->ctxs || pe->num_graphs)
		return DOCA_ERROR_IN_USE;
	release_pe(pe);
	return DOCA_SUCCESS;
}

/* A callback may connect or destroy other contexts, but not the one that runs. */
uint8_t doca_pe_progress(struct doca_pe *pe)
{
	struct doca_ctx *next;
	bool did = false;

	if (!dpa_live(pe))
		return 0;
	for (struct doca_ctx *c = pe->ctxs; c; c = next) {
		if (!dpa_core_idle(c) && c->ops->progress)
			did |= c->ops->progress(c);
		next = c->next;
	}
	if (!did || dpa_live(pe)) /* a callback may have destroyed it */
		did |= dpa_graph_progress(pe);
	return did;
}

doca_error_t doca_pe_connect_ctx(struct doca_pe *pe, struct doca_ctx *ctx)
{
	if (!dpa_live(pe) || !dpa_live(ctx))
		return DOCA_ERROR_INVALID_VALUE;
	if (ctx->pe)
		return DOCA_ERROR_NOT_PERMITTED;
	if (!dpa_core_idle(ctx))
		return DOCA_ERROR_BAD_STATE;
	ctx->pe = pe;
	ctx->next = pe->ctxs;
	pe->ctxs = ctx;
	return DOCA_SUCCESS;
}

void dpa_pe_disconnect(struct doca_ctx *ctx)
{
	struct doca_ctx **p = &ctx->pe->ctxs;

	while (*p != ctx)
		p = &(*p)->next;
	*p = ctx->next;
	ctx->pe = NULL;
}

/* ------------------------------------------------------------ notifications */

doca_error_t doca_pe_get_notification_handle(const struct doca_pe *pe,
					     doca_notification_handle_t *handle)
{
	DPA_RETURN_VALUE(pe, handle, pe->fd);
}

doca_error_t doca_pe_set_notification_handle(struct doca_pe *pe, doca_notification_handle_t handle,
					     union doca_data completion_key)
{
	return dpa_live(pe) ? DOCA_ERROR_NOT_SUPPORTED : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_pe_clear_notification(struct doca_pe *pe, doca_notification_handle_t handle)
{
	struct epoll_event ev[16];
	uint64_t n;

	if (!dpa_live(pe))
		return DOCA_ERROR_INVALID_VALUE;
	if (handle != pe->fd || (read(pe->event, &n, sizeof(n)) < 0 && errno != EAGAIN))
		return DOCA_ERROR_OPERATING_SYSTEM;
	while (epoll_wait(pe->fd, ev, 16, 0) == 16)
		; /* each context's descriptor reports once */
	return DOCA_SUCCESS;
}

doca_error_t dpa_pe_wake(struct doca_pe *pe)
{
	const uint64_t one = 1;

	if (!atomic_exchange(&pe->armed, 0))
		return DOCA_SUCCESS;
	/* EAGAIN: readable already */
	return write(pe->event, &one, sizeof(one)) < 0 && errno != EAGAIN
		       ? DOCA_ERROR_OPERATING_SYSTEM
		       : DOCA_SUCCESS;
}

void dpa_pe_raise(struct doca_ctx *ctx)
{
	if (ctx->pe)
		dpa_pe_wake(ctx->pe);
}

/* Let the context's descriptor make the engine's readable, once. True: failed. */
static bool listen_to(struct doca_pe *pe, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT};

	return epoll_ctl(pe->fd, EPOLL_CTL_MOD, fd, &ev) &&
	       (errno != ENOENT || epoll_ctl(pe->fd, EPOLL_CTL_ADD, fd, &ev));
}

doca_error_t doca_pe_request_notification(struct doca_pe *pe)
{
	bool there;

	if (!dpa_live(pe))
		return DOCA_ERROR_INVALID_VALUE;
	atomic_store(&pe->armed, 1);
	there = pe->graphs != NULL;
	for (struct doca_ctx *c = pe->ctxs; c; c = c->next)
		if (!dpa_core_idle(c) && c->ops->progress)
			there |= c->ops->arm(c) || (c->fd >= 0 && listen_to(pe, c->fd));
	return there ? dpa_pe_wake(pe) : DOCA_SUCCESS;
}

doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe *pe, size_t *num_inflight_tasks)
{
	size_t n = 0;

	if (!dpa_live(pe) || !num_inflight_tasks)
		return DOCA_ERROR_INVALID_VALUE;
	for (const struct doca_ctx *c = pe->ctxs; c; c = c->next)
		n += c->inflight;
	*num_inflight_tasks = n;
	return DOCA_SUCCESS;
}

doca_error_t doca_pe_set_event_mode(struct doca_pe *pe, enum doca_pe_event_mode event_mode)
{
	if (!dpa_live(pe) || (event_mode != DOCA_PE_EVENT_MODE_PROGRESS_SELECTIVE &&
			      event_mode != DOCA_PE_EVENT_MODE_PROGRESS_ALL))
		return DOCA_ERROR_INVALID_VALUE;
	return DOCA_SUCCESS;
}
