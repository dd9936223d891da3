/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * channel.c - completion channels. A channel holds the list of its CQs with unread events. The
 * device calls dpa_channel_comp() from any thread; the application reads.
 */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"
#include "cq/event.h"
#include "redirect/fds.h"

struct dpa_channel {
	struct dpa_context *ctx;   /* NULL: it was closed before the channel */
	struct dpa_channel *next;  /* of the context, under its channels_lock */
	struct dpa_channel **from; /* that points to this one; not valid in a forked child */
	int fd;
	pthread_mutex_t lock;
	struct dpa_cq *first, *last; /* CQs with pending events */
};

static void channel_push(struct dpa_channel *ch, struct dpa_cq *cq)
{
	cq->next_pending = NULL;
	if (ch->last)
		ch->last->next_pending = cq;
	else
		ch->first = cq;
	ch->last = cq;
}

static void channel_unlink(struct dpa_channel *ch, struct dpa_cq *cq)
{
	struct dpa_cq **p = &ch->first, *prev = NULL;

	while (*p != cq) {
		prev = *p;
		p = &(*p)->next_pending;
	}
	*p = cq->next_pending;
	if (ch->last == cq)
		ch->last = prev;
	if (!ch->first && !dpa_is_fatal(ch->ctx)) /* else it stays readable */
		dpa_eventfd_clear(ch->fd);
}

void dpa_channel_comp(void *arg)
{
	struct dpa_cq *cq = arg;
	struct dpa_channel *ch = cq->channel;
	bool was_empty;

	pthread_mutex_lock(&ch->lock);
	was_empty = !ch->first;
	if (!cq->pending++)
		channel_push(ch, cq);
	if (was_empty)
		dpa_eventfd_raise(ch->fd);
	pthread_mutex_unlock(&ch->lock);
}

static bool channel_pop(void *queue, void *record)
{
	struct dpa_channel *ch = queue;
	struct dpa_cq *cq;
	uint64_t handle;

	pthread_mutex_lock(&ch->lock);
	cq = ch->first;
	if (cq) {
		handle = (uintptr_t)cq;
		memcpy(record, &handle, sizeof(handle));
		cq->comp_reported++;
		if (!--cq->pending)
			channel_unlink(ch, cq);
	}
	pthread_mutex_unlock(&ch->lock);
	return cq != NULL;
}

static ssize_t channel_read(void *owner, int fd, void *buf, size_t n)
{
	struct dpa_channel *ch = owner;

	if (n < sizeof(uint64_t) || !ch->ctx || !dpa_word_alive(ch->ctx->alive)) {
		errno = n < sizeof(uint64_t) ? EINVAL : EIO;
		return -1;
	}
	return dpa_event_wait(ch->ctx, fd, channel_pop, ch, buf, sizeof(uint64_t));
}

static void link_channel(struct dpa_context *ctx, struct dpa_channel *ch)
{
	ch->next = ctx->channels;
	ch->from = &ctx->channels;
	if (ch->next)
		ch->next->from = &ch->next;
	ctx->channels = ch;
}

/* A program may close ten thousands of channels, the oldest first: no search. */
static void unlink_channel(struct dpa_channel *ch)
{
	*ch->from = ch->next;
	if (ch->next)
		ch->next->from = ch->from;
}

static void search_and_unlink(struct dpa_context *ctx, const struct dpa_channel *ch)
{
	for (struct dpa_channel **p = &ctx->channels; *p; p = &(*p)->next)
		if (*p == ch) {
			*p = ch->next;
			break;
		}
}

/*
 * In a forked child a thread that does not exist there may hold the lock. The list by `next` is whole
 * at every step of such a thread, `from` is not. No device thread reads the list there.
 */
static void leave_list(struct dpa_channel *ch)
{
	struct dpa_context *ctx = ch->ctx;

	if (!ctx)
		return;
	if (!dpa_word_alive(ctx->alive)) {
		search_and_unlink(ctx, ch);
		return;
	}
	pthread_mutex_lock(&ctx->channels_lock);
	unlink_channel(ch);
	pthread_mutex_unlock(&ctx->channels_lock);
}

/* The library has checked that no CQ uses the channel any more. */
static void channel_closed(void *owner)
{
	leave_list(owner);
	free(owner);
}

void dpa_channels_fail(struct dpa_context *ctx)
{
	pthread_mutex_lock(&ctx->channels_lock);
	for (struct dpa_channel *ch = ctx->channels; ch; ch = ch->next) {
		pthread_mutex_lock(&ch->lock);
		dpa_eventfd_raise(ch->fd);
		pthread_mutex_unlock(&ch->lock);
	}
	pthread_mutex_unlock(&ctx->channels_lock);
}

void dpa_channels_leave(struct dpa_context *ctx)
{
	for (struct dpa_channel *ch = ctx->channels; ch; ch = ch->next)
		ch->ctx = NULL;
	ctx->channels = NULL;
}

static const struct dpa_fd_ops channel_fd = {
	.kind = DPA_FD_CHANNEL,
	.read = channel_read,
	.closed = channel_closed,
};

int dpa_channel_create(struct dpa_context *ctx)
{
	struct dpa_channel *ch;

	if (!dpa_word_alive(ctx->alive) || dpa_is_fatal(ctx)) {
		errno = EIO;
		return -1;
	}
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return -1;
	ch->ctx = ctx;
	pthread_mutex_init(&ch->lock, NULL);
	ch->fd = eventfd(0, EFD_CLOEXEC);
	if (ch->fd < 0)
		goto err_fd;
	errno = dpa_fd_add(ch->fd, &channel_fd, ch);
	if (errno)
		goto err_add;
	pthread_mutex_lock(&ctx->channels_lock);
	link_channel(ctx, ch);
	pthread_mutex_unlock(&ctx->channels_lock);
	return ch->fd;

err_add:
	close(ch->fd);
err_fd:
	free(ch);
	return -1;
}

uint32_t dpa_channel_forget(struct dpa_cq *cq)
{
	struct dpa_channel *ch = cq->channel;
	uint32_t read;

	if (!ch)
		return 0;
	pthread_mutex_lock(&ch->lock);
	if (cq->pending) {
		cq->pending = 0;
		channel_unlink(ch, cq);
	}
	read = cq->comp_reported;
	pthread_mutex_unlock(&ch->lock);
	return read;
}
