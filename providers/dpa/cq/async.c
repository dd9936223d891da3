/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* async.c - asynchronous events of a context: pushed by device threads, read by the application. */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"
#include "cq/event.h"
#include "redirect/fds.h"

/* The record that libibverbs reads from async_fd. */
struct async_record {
	uint64_t element;
	uint32_t type;
	uint32_t rsvd;
};

struct async_node {
	struct async_node *next;
	struct async_record rec;
	uint32_t *reported; /* counter of the object; NULL for events of the port or device */
};

struct dpa_async {
	struct dpa_context *ctx;
	int fd;
	pthread_mutex_t lock;
	struct async_node *first, **last;
};

int dpa_async_fd(const struct dpa_async *as)
{
	return as->fd;
}

/* The library closes the descriptor. */
void dpa_async_destroy(struct dpa_async *as)
{
	struct async_node *n = as->first;

	dpa_fd_remove(as->fd);
	while (n) {
		struct async_node *next = n->next;

		free(n);
		n = next;
	}
	free(as);
}

static uint32_t *event_counter(const struct dpa_event *ev)
{
	void *object = (void *)(uintptr_t)ev->user_handle;

	switch ((enum dpa_event_type)ev->type) {
	case DPA_EVENT_CQ_ERR:
		return &((struct dpa_cq *)object)->async_reported;
	case DPA_EVENT_QP_FATAL:
	case DPA_EVENT_QP_REQ_ERR:
	case DPA_EVENT_QP_ACCESS_ERR:
	case DPA_EVENT_COMM_EST:
	case DPA_EVENT_SQ_DRAINED:
	case DPA_EVENT_PATH_MIG:
	case DPA_EVENT_QP_LAST_WQE_REACHED:
		return &((struct dpav_qp *)object)->async_reported;
	case DPA_EVENT_SRQ_ERR:
	case DPA_EVENT_SRQ_LIMIT_REACHED:
		return &((struct dpa_srq *)object)->async_reported;
	case DPA_EVENT_WQ_FATAL:
		return &((struct dpa_wq *)object)->async_reported;
	case DPA_EVENT_DEVICE_FATAL:
	case DPA_EVENT_PORT_ACTIVE:
	case DPA_EVENT_PORT_ERR:
	case DPA_EVENT_GID_CHANGE:
		return NULL;
	}
	return NULL;
}

/* Context: the lock. */
static void queue_event(struct dpa_async *as, struct async_node *n, const struct dpa_event *ev)
{
	n->reported = event_counter(ev);
	n->rec.type = ev->type;
	n->rec.element = n->reported ? ev->user_handle : ev->port;
	*as->last = n;
	as->last = &n->next;
}

void dpa_async_event(void *arg, const struct dpa_event *ev)
{
	struct dpa_async *as = arg;
	const bool fatal = ev->type == DPA_EVENT_DEVICE_FATAL;
	struct async_node *n = calloc(1, sizeof(*n));

	if (!n && !fatal)
		return; /* as in the kernel: without memory the event is lost */
	pthread_mutex_lock(&as->lock);
	if (!as->first)
		dpa_eventfd_raise(as->fd);
	if (fatal) /* without memory, too: readers get EIO */
		atomic_store_explicit(&as->ctx->fatal, true, memory_order_release);
	if (n)
		queue_event(as, n, ev);
	pthread_mutex_unlock(&as->lock);
	if (fatal)
		dpa_channels_fail(as->ctx);
}

/* Unlinks *p. Context: the lock. */
static struct async_node *async_take(struct dpa_async *as, struct async_node **p)
{
	struct async_node *n = *p;

	*p = n->next;
	if (as->last == &n->next)
		as->last = p;
	if (!as->first && !dpa_is_fatal(as->ctx)) /* else it stays readable */
		dpa_eventfd_clear(as->fd);
	return n;
}

static bool async_pop(void *queue, void *record)
{
	struct dpa_async *as = queue;
	struct async_node *n = NULL;

	pthread_mutex_lock(&as->lock);
	if (as->first) {
		n = async_take(as, &as->first);
		memcpy(record, &n->rec, sizeof(n->rec));
		if (n->reported)
			++*n->reported;
	}
	pthread_mutex_unlock(&as->lock);
	free(n);
	return n != NULL;
}

static ssize_t async_read(void *owner, int fd, void *buf, size_t n)
{
	struct dpa_async *as = owner;

	if (n < sizeof(struct async_record) || !dpa_word_alive(as->ctx->alive)) {
		errno = n < sizeof(struct async_record) ? EINVAL : EIO;
		return -1;
	}
	return dpa_event_wait(as->ctx, fd, async_pop, as, buf, sizeof(struct async_record));
}

static const struct dpa_fd_ops async_fd = {.kind = DPA_FD_ASYNC, .read = async_read};

struct dpa_async *dpa_async_create(struct dpa_context *ctx)
{
	struct dpa_async *as = calloc(1, sizeof(*as));

	if (!as)
		return NULL;
	as->ctx = ctx;
	as->last = &as->first;
	pthread_mutex_init(&as->lock, NULL);
	as->fd = eventfd(0, EFD_CLOEXEC);
	if (as->fd < 0)
		goto err_fd;
	errno = dpa_fd_add(as->fd, &async_fd, as);
	if (errno)
		goto err_add;
	return as;

err_add:
	close(as->fd);
err_fd:
	free(as);
	return NULL;
}

uint32_t dpa_async_forget(struct dpa_async *as, const void *element, const uint32_t *reported)
{
	struct async_node **p;
	uint32_t read;

	pthread_mutex_lock(&as->lock);
	for (p = &as->first; *p;) {
		if ((*p)->rec.element == (uintptr_t)element && (*p)->reported == reported)
			free(async_take(as, p));
		else
			p = &(*p)->next;
	}
	read = *reported;
	pthread_mutex_unlock(&as->lock);
	return read;
}

void dpa_async_await(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		     uint32_t reported)
{
	pthread_mutex_lock(mutex);
	while (*completed != reported)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_EVENT_CQ_ERR, IBV_EVENT_CQ_ERR);
SAME(DPA_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL);
SAME(DPA_EVENT_QP_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
SAME(DPA_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
SAME(DPA_EVENT_COMM_EST, IBV_EVENT_COMM_EST);
SAME(DPA_EVENT_SQ_DRAINED, IBV_EVENT_SQ_DRAINED);
SAME(DPA_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG);
SAME(DPA_EVENT_DEVICE_FATAL, IBV_EVENT_DEVICE_FATAL);
SAME(DPA_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE);
SAME(DPA_EVENT_PORT_ERR, IBV_EVENT_PORT_ERR);
SAME(DPA_EVENT_SRQ_ERR, IBV_EVENT_SRQ_ERR);
SAME(DPA_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED);
SAME(DPA_EVENT_QP_LAST_WQE_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED);
SAME(DPA_EVENT_GID_CHANGE, IBV_EVENT_GID_CHANGE);
SAME(DPA_EVENT_WQ_FATAL, IBV_EVENT_WQ_FATAL);
