/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * channel.c - event channels.
 *
 * The descriptor is readable exactly while an event is queued: it is set and cleared together with
 * the queue (descriptor.c). A thread that waits for an event does not read the descriptor, because
 * another thread may close it at any time and its number may be reused. It waits at a semaphore.
 * Like the kernel's wait, this is a cancellation point and continues after a signal whose handler
 * has SA_RESTART. Only in a forked child whose parent lives the thread waits at the descriptor, by
 * poll: a read would also clear the parent's readiness.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "dpa.h"
#include "cma/cma.h"
#include "cma/kernel.h"
#include "redirect/fds.h"

#define WAITER_MS 20
#define TAKE_MS	  100 /* a thread that poll() woke can take this long beside many runnable threads */
#define SHARED_NS 20000000 /* interval of a child's checks while the parent's event is not taken */

int cma_channel_open(int flags, int *fd, struct cma_channel **out)
{
	struct cma_channel *ch = calloc(1, sizeof(*ch));
	int err;

	if (!ch)
		return ENOMEM;
	ch->kernel = cma_kernel_open();
	ch->with_kernel = ch->kernel;
	err = cma_fd_open(flags, ch->kernel ? ch->kernel->fd : -1, ch);
	if (err) {
		cma_kernel_close(ch->kernel);
		free(ch);
		return err;
	}
	ch->tail = &ch->head;
	ch->refs = 1;
	sem_init(&ch->wake, 0, 0);
	cma_lock();
	ch->next = cma.channels;
	cma.channels = ch;
	cma_unlock();
	*fd = ch->fd;
	*out = ch;
	return 0;
}

/* Locked: true if another living thread than the caller waits for events of the channel. */
static bool has_other_waiter(const struct cma_channel *ch)
{
	return ch->waiter && ch->waiter != gettid() &&
	       !syscall(SYS_tgkill, getpid(), ch->waiter, 0);
}

/*
 * True if a thread that usually waits for events of this channel does not wait now: it has just
 * acknowledged an event and will come back at once.
 */
static bool waiter_is_away(struct cma_channel *ch)
{
	bool away;

	cma_lock();
	away = !ch->users && has_other_waiter(ch);
	cma_unlock();
	return away;
}

static bool may_block(const struct cma_channel *ch)
{
	return !(fcntl(ch->fd, F_GETFL) & O_NONBLOCK);
}

static void wait_a_moment(void)
{
	ppoll(NULL, 0, &(const struct timespec){.tv_nsec = 1000000}, NULL);
}

/*
 * rping and similar programs destroy the channel after their event thread has acknowledged the last
 * event. They end with an error if that thread finds the channel closed before it waits again. A
 * kernel's destruction of QPs and ids takes longer than that thread needs; ours does not, so it
 * gives the thread a moment.
 */
void cma_channel_let_in(struct cma_channel *ch)
{
	for (int i = 0; i < WAITER_MS && may_block(ch) && waiter_is_away(ch); i++)
		wait_a_moment();
}

static bool is_about(const struct cma_event *ev, const struct cma_id *id, const struct cma_mc *mc)
{
	return mc ? ev->mc == mc : ev->id == id || ev->request == id;
}

/* True if an event that counts for the id was queued just now, and another thread takes the channel's events. */
static bool is_being_taken(struct cma_channel *ch, uint32_t num)
{
	const struct cma_event *ev = NULL;
	struct cma_id *id;
	bool taken;

	cma_lock();
	if (!ch->closed && !cma_find(ch, num, &id))
		for (ev = ch->head; ev && ev->id != id;)
			ev = ev->next;
	taken = ev && cma_now() - ev->queued < TAKE_MS && has_other_waiter(ch);
	cma_unlock();
	return taken;
}

/*
 * rping since rdma-core 50, and programs like it, wait at the descriptor by poll() and then call
 * rdma_get_cm_event(). If another thread destroys the id in between, the event is dropped, that call
 * waits for ever, and the program waits for its thread. The same can happen with a kernel, but there
 * the program destroys a QP first, which takes longer than the thread needs. So destruction waits a
 * moment for an event that was queued just now.
 */
void cma_events_let_take(struct cma_channel *ch, uint32_t num)
{
	for (int i = 0; i < TAKE_MS && is_being_taken(ch, num) && may_block(ch); i++)
		wait_a_moment();
}

/* The kernel destroys its part when its descriptor is closed: without the lock, all at once. */
static void destroy_ids(const struct cma_channel *ch)
{
	for (uint32_t i = 0; i < cma.num_ids; i++) {
		if (!cma.ids[i] || cma.ids[i]->channel != ch)
			continue;
		cma.ids[i]->side = CMA_SIDE_DPA;
		cma_id_destroy(cma.ids[i]);
	}
}

void cma_channel_close(struct cma_channel *ch)
{
	struct cma_channel **p = &cma.channels;
	struct cma_kernel *kernel;

	cma_lock();
	kernel = ch->kernel;
	destroy_ids(ch);
	while (*p && *p != ch)
		p = &(*p)->next;
	if (*p)
		*p = ch->next;
	cma_ports_put(ch->ports);
	ch->closed = true;
	cma_unlock();
	cma_kernel_close(kernel);
	cma_channel_put(ch);
}

void cma_channel_hold(struct cma_channel *ch)
{
	atomic_fetch_add_explicit(&ch->refs, 1, memory_order_relaxed);
}

void cma_channel_put(struct cma_channel *ch)
{
	if (atomic_fetch_sub_explicit(&ch->refs, 1, memory_order_acq_rel) > 1)
		return;
	cma_fd_leave(ch);
	sem_destroy(&ch->wake);
	free(ch);
}

struct cma_event *cma_event_new(struct cma_id *id, enum cma_event_type type, int status)
{
	struct cma_event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return NULL;
	ev->id = id;
	ev->resp.uid = id->uid;
	ev->resp.id = id->id;
	ev->resp.event = type;
	ev->resp.status = (uint32_t)status;
	return ev;
}

/* An event of a request that the program has not accepted is dropped: its accept will fail. */
void cma_event_queue(struct cma_event *ev)
{
	struct cma_channel *ch = ev->id->channel;

	if (!ev->id->uid && !ev->request && !ev->mc) {
		free(ev);
		return;
	}
	if (dpa_trace_is_on())
		cma_trace_event(ev);
	ev->queued = cma_now();
	*ch->tail = ev;
	ch->tail = &ev->next;
	if (cma.taker != ch || ch->head != ev) /* otherwise it is delivered at once */
		cma_fd_show(ch, true);
	if (ch->sleepers)
		sem_post(&ch->wake);
	if (cma.leader == ch) /* its thread is not at the semaphore */
		cma_engine_wake();
}

void cma_event(struct cma_id *id, enum cma_event_type type, int status)
{
	struct cma_event *ev = cma_event_new(id, type, status);

	if (ev)
		cma_event_queue(ev);
}

int cma_write_event(struct cma_channel *ch, uint32_t num, uint32_t type, int status, uint64_t arg)
{
	struct cma_event *ev;
	struct cma_id *id;
	int err;

	if (type != CMA_USER && type != CMA_INTERNAL)
		return EINVAL;
	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err) {
		ev = cma_event_new(id, type, status);
		if (ev) {
			memcpy(&ev->resp.param, &arg, sizeof(arg));
			cma_event_queue(ev);
		} else {
			err = ENOMEM;
		}
	}
	cma_unlock();
	return err;
}

/* Removes the first event about them from the queue. NULL: none. */
static struct cma_event *unlink_event(struct cma_channel *ch, const struct cma_id *id,
				      const struct cma_mc *mc)
{
	struct cma_event **p = &ch->head, *ev;

	while (*p && !is_about(*p, id, mc))
		p = &(*p)->next;
	ev = *p;
	if (!ev)
		return NULL;
	*p = ev->next;
	if (!*p)
		ch->tail = p;
	ev->next = NULL;
	return ev;
}

void cma_events_drop(struct cma_id *id, struct cma_mc *mc)
{
	struct cma_channel *ch = id->channel;
	struct cma_event *ev;

	while ((ev = unlink_event(ch, id, mc))) {
		struct cma_id *request = ev->request;

		if (request)
			ev->id->backlog++;
		free(ev);
		if (request && request != id)
			cma_id_destroy(request); /* no program will accept it */
	}
	if (!ch->head && !ch->shared)
		cma_fd_show(ch, false);
}

bool cma_deliver(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	struct cma_event *ev = ch->head;

	if (!ev)
		return false;
	ch->head = ev->next;
	if (!ch->head)
		ch->tail = &ch->head;
	cma_fd_show(ch, ch->head);
	ev->id->events_reported++;
	if (ev->mc)
		ev->mc->events_reported++;
	if (ev->request) {
		ev->id->backlog++;
		ev->request->channel = ch;
	}
	*resp = ev->resp;
	free(ev);
	return true;
}

static void leave_channel(struct cma_channel *ch)
{
	cma_lock();
	ch->users--;
	cma_unlock();
}

static void channel_cancelled(void *arg)
{
	leave_channel(arg);
}

/* Takes the next event if there is one; EAGAIN. EBADF: the channel was closed meanwhile. */
static int take_channel_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	int err = 0;

	cma_lock();
	if (ch->closed)
		err = EBADF;
	else if (!(ch->kernel ? cma_kernel_next(ch, resp) : cma_deliver(ch, resp)))
		err = EAGAIN;
	if (err == EAGAIN)
		cma_inherit();
	if (err == EAGAIN && cma.may_expire && !ch->shared)
		(void)cma_fd_expired(ch);
	cma_unlock();
	return err;
}

static void end_sleep(void *arg)
{
	struct cma_channel *ch = arg;

	cma_lock();
	ch->sleepers--;
	cma_unlock();
}

/* False: there is an event, or the channel was closed. */
static bool begin_sleep(struct cma_channel *ch)
{
	bool sleeps;

	cma_lock();
	sleeps = !ch->head && !ch->closed;
	ch->sleepers += sleeps;
	cma_unlock();
	return sleeps;
}

/* A post may be left over from an event that was taken meanwhile: then there is no event. */
static int sleep_at(struct cma_channel *ch)
{
	int err;

	if (!begin_sleep(ch))
		return 0;
	pthread_cleanup_push(end_sleep, ch);
	err = sem_wait(&ch->wake) ? errno : 0;
	pthread_cleanup_pop(1);
	return err;
}

/* In a child whose parent lives: events of the parent are visible here until it takes them. */
static int wait_shared(struct cma_channel *ch)
{
	const struct timespec ts = {.tv_nsec = SHARED_NS};
	struct pollfd p = {.fd = ch->fd, .events = POLLIN};

	if (ppoll(&p, 1, NULL, NULL) < 0 || ppoll(NULL, 0, &ts, NULL) < 0)
		return errno == EINTR && cma_restarts() ? 0 : errno;
	return 0;
}

/*
 * A cancellation point; no lock is held. A channel that another thread closes has no events any
 * more: as with the kernel's, a thread that waits for one does so until a signal comes. Programs
 * exit that way.
 */
static int wait_at(struct cma_channel *ch, bool again)
{
	int flags;

	if (ch->with_kernel)
		return cma_kernel_wait(ch, again);
	flags = fcntl(ch->fd, F_GETFL);
	if (flags < 0)
		return 0; /* closed: see take_channel_event() */
	if (flags & O_NONBLOCK)
		return EAGAIN;
	return ch->shared ? wait_shared(ch) : sleep_at(ch);
}

static int wait_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	int err, waited;
	bool again = false;

	while ((err = take_channel_event(ch, resp)) == EAGAIN) {
		if (cma_lead(ch, resp, &err)) {
			if (err != EAGAIN)
				return err;
			continue;
		}
		waited = wait_at(ch, again);
		if (waited)
			return waited;
		again = true;
	}
	if (err == EBADF) { /* its descriptor may belong to another file by now */
		pause();
		return EINTR;
	}
	return err;
}

int cma_get_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	int err;

	cma_lock();
	ch->users++;
	ch->waiter = gettid();
	cma_unlock();
	pthread_cleanup_push(channel_cancelled, ch);
	err = wait_event(ch, resp);
	pthread_cleanup_pop(0);
	leave_channel(ch);
	return err;
}

int cma_migrate(struct cma_channel *to, int from_fd, uint32_t num, uint32_t *reported)
{
	struct cma_channel *from = dpa_fd_find_cm(from_fd);
	struct cma_event *ev, *moved = NULL, **tail = &moved;
	struct cma_id *id;
	int err;

	if (!from)
		return fcntl(from_fd, F_GETFD) < 0 ? ENOENT : EINVAL;
	cma_lock();
	err = to->closed ? EBADF : cma_find(from, num, &id);
	if (!err && id->side != CMA_SIDE_DPA)
		err = cma_kernel_migrate(id, to);
	if (!err && from != to) {
		while ((ev = unlink_event(from, id, NULL))) {
			*tail = ev;
			tail = &ev->next;
		}
		cma_fd_show(from, from->head);
		id->channel = to;
		if (moved && to == cma.leader)
			cma_engine_wake();
		for (; moved; moved = ev) {
			ev = moved->next;
			moved->next = NULL;
			if (moved->request)
				moved->request->channel = to;
			*to->tail = moved;
			to->tail = &moved->next;
			cma_fd_show(to, true);
			if (to->sleepers)
				sem_post(&to->wake);
		}
	}
	if (!err)
		*reported = id->events_reported;
	cma_unlock();
	cma_channel_put(from);
	return err;
}
