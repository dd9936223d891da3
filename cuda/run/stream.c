/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stream.c - streams and events. All fields of streams, operations and events are under gpu.lock.
 */
#include <signal.h>
#include <stdlib.h>

#include "gpu.h"
#include "stream.h"

/* References: the stream while it is not done; the stream's `last`; events; operations that wait for it. */
struct op {
	struct op *next;
	unsigned int refs;
	bool done;
	uint64_t time; /* when it was done */
	struct work work;
	unsigned int num_after;
	struct op *after[]; /* operations of other streams that must be done first */
};

struct CUstream_st {
	struct CUstream_st *next; /* list of all streams */
	unsigned int flags;
	bool started;	  /* started: its thread runs */
	bool dying;	  /* dying: ends after its last operation */
	struct op *first; /* first operation that is not done */
	struct op *last;  /* last operation that was submitted, done or not */
	pthread_cond_t wake;
};

struct CUevent_st {
	struct CUevent_st *next;
	unsigned int flags;
	struct op *op; /* NULL: never recorded */
};

static struct CUstream_st legacy = {.wake = PTHREAD_COND_INITIALIZER};
static struct CUstream_st *streams = &legacy;
static struct CUevent_st *events;
static __thread struct CUstream_st *per_thread;
static __thread bool in_host_function;

static void op_put(struct op *op)
{
	if (op && !--op->refs)
		free(op);
}

/*
 * Drop the operations that this one waited for: they are done. Kept until its end, they would form
 * an endless chain.
 */
static void after_put(struct op *op)
{
	for (unsigned int i = 0; i < op->num_after; i++)
		op_put(op->after[i]);
	op->num_after = 0;
}

static void after_add(struct op *op, struct op *first)
{
	if (!first || first->done)
		return;
	first->refs++;
	op->after[op->num_after++] = first;
}

static struct CUstream_st *stream_find(cudaStream_t handle)
{
	if (!handle || handle == cudaStreamLegacy)
		return &legacy;
	if (handle == cudaStreamPerThread) {
		if (!per_thread && (per_thread = calloc(1, sizeof(*per_thread)))) {
			pthread_cond_init(&per_thread->wake, NULL);
			per_thread->next = streams;
			streams = per_thread;
		}
		return per_thread;
	}
	for (struct CUstream_st *s = streams; s; s = s->next)
		if (s == handle && !s->dying && s != &legacy)
			return s;
	return NULL;
}

static struct CUevent_st *event_find(cudaEvent_t handle)
{
	for (struct CUevent_st *e = events; e; e = e->next)
		if (e == handle)
			return e;
	return NULL;
}

static void stream_end(struct CUstream_st *s)
{
	for (struct CUstream_st **at = &streams; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	op_put(s->last);
	pthread_cond_destroy(&s->wake);
	free(s);
}

static void run_op(struct op *op)
{
	if (op->work.run && !atomic_load_explicit(&gpu.sticky, memory_order_acquire))
		op->work.run(op->work.arg);
	if (op->work.free)
		op->work.free(op->work.arg);
}

static void *stream_main(void *arg)
{
	struct CUstream_st *s = arg;

	pthread_mutex_lock(&gpu.lock);
	for (;;) {
		struct op *op;

		while (!s->first && !s->dying)
			pthread_cond_wait(&s->wake, &gpu.lock);
		op = s->first;
		if (!op)
			break;
		for (unsigned int i = 0; i < op->num_after; i++)
			while (!op->after[i]->done)
				pthread_cond_wait(&gpu.cond, &gpu.lock);
		after_put(op);
		pthread_mutex_unlock(&gpu.lock);
		run_op(op);
		pthread_mutex_lock(&gpu.lock);
		op->done = true;
		op->time = gpu_now();
		s->first = op->next;
		op_put(op);
		pthread_cond_broadcast(&gpu.cond);
	}
	stream_end(s);
	pthread_mutex_unlock(&gpu.lock);
	return NULL;
}

/* Start the stream's thread, which blocks the application's signals. */
static bool stream_begin(struct CUstream_st *s)
{
	sigset_t all, old;
	pthread_t thread;

	if (s->started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	s->started = !pthread_create(&thread, NULL, stream_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (s->started)
		pthread_detach(thread);
	return s->started;
}

/* Add the operations that the default stream's rules order before this one. */
static void implicit_order(struct CUstream_st *s, struct op *op)
{
	if (s != &legacy) {
		if (!(s->flags & cudaStreamNonBlocking))
			after_add(op, legacy.last);
		return;
	}
	for (struct CUstream_st *o = streams; o; o = o->next)
		if (o != s && !(o->flags & cudaStreamNonBlocking))
			after_add(op, o->last);
}

static void append_op(struct CUstream_st *s, struct op *op)
{
	if (s->first)
		s->last->next = op;
	else
		s->first = op;
	op_put(s->last);
	s->last = op;
	op->refs = 2;
	pthread_cond_signal(&s->wake);
}

/*
 * gpu.lock is held. Submit an operation. NULL: no memory or thread, or no such stream (*ret). The
 * op has one more reference.
 */
static struct op *queue_op(cudaStream_t handle, const struct work *work, struct op *after, int *ret)
{
	struct CUstream_st *s = stream_find(handle);
	struct op *op = NULL;
	unsigned int others = 2;

	for (struct CUstream_st *o = streams; o; o = o->next)
		others++;
	*ret = s ? cudaErrorMemoryAllocation : cudaErrorInvalidResourceHandle;
	if (!s || !stream_begin(s) ||
	    !(op = calloc(1, sizeof(*op) + others * sizeof(op->after[0]))))
		return NULL;
	op->work = *work;
	implicit_order(s, op);
	after_add(op, after);
	append_op(s, op);
	op->refs++;
	*ret = cudaSuccess;
	return op;
}

static void wait_op(struct op *op)
{
	while (!op->done)
		pthread_cond_wait(&gpu.cond, &gpu.lock);
}

static int sticky_error(void)
{
	return atomic_load_explicit(&gpu.sticky, memory_order_acquire);
}

int stream_submit(cudaStream_t stream, const struct work *work, bool wait)
{
	struct op *op;
	int ret;

	pthread_mutex_lock(&gpu.lock);
	op = queue_op(stream, work, NULL, &ret);
	if (op && wait)
		wait_op(op);
	op_put(op);
	pthread_mutex_unlock(&gpu.lock);
	if (!op && work->free)
		work->free(work->arg);
	return ret ? ret : wait ? sticky_error() : cudaSuccess;
}

int stream_create(unsigned int flags, cudaStream_t *stream)
{
	struct CUstream_st *s;

	if (!stream || (flags & ~cudaStreamNonBlocking))
		return cudaErrorInvalidValue;
	s = calloc(1, sizeof(*s));
	if (!s)
		return cudaErrorMemoryAllocation;
	s->flags = flags;
	pthread_cond_init(&s->wake, NULL);
	pthread_mutex_lock(&gpu.lock);
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&gpu.lock);
	*stream = s;
	return cudaSuccess;
}

int stream_destroy(cudaStream_t handle)
{
	struct CUstream_st *s;

	pthread_mutex_lock(&gpu.lock);
	s = stream_find(handle);
	if (!s || s == &legacy || s == per_thread) {
		pthread_mutex_unlock(&gpu.lock);
		return cudaErrorInvalidResourceHandle;
	}
	s->dying = true;
	if (s->started)
		pthread_cond_signal(&s->wake);
	else
		stream_end(s);
	pthread_mutex_unlock(&gpu.lock);
	return cudaSuccess;
}

int stream_flags(cudaStream_t handle, unsigned int *flags)
{
	struct CUstream_st *s;

	if (!flags)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&gpu.lock);
	s = stream_find(handle);
	if (s)
		*flags = s->flags;
	pthread_mutex_unlock(&gpu.lock);
	return s ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/*
 * Return an unfinished operation; gpu.lock is held. The legacy stream is done when the streams that
 * it waits for are done, too.
 */
static struct op *pending_op(const struct CUstream_st *s)
{
	if (s->first)
		return s->last;
	if (s == &legacy)
		for (struct CUstream_st *o = streams; o; o = o->next)
			if (!(o->flags & cudaStreamNonBlocking) && o->first)
				return o->last;
	return NULL;
}

int stream_query(cudaStream_t handle)
{
	struct CUstream_st *s;
	int ret;

	pthread_mutex_lock(&gpu.lock);
	s = stream_find(handle);
	ret = !s ? cudaErrorInvalidResourceHandle : pending_op(s) ? cudaErrorNotReady : cudaSuccess;
	pthread_mutex_unlock(&gpu.lock);
	return ret ? ret : sticky_error();
}

static void wait_unfinished(const struct CUstream_st *s)
{
	struct op *op;

	while ((op = pending_op(s))) {
		op->refs++;
		wait_op(op);
		op_put(op);
		if (s != &legacy)
			return; /* operations submitted until now */
	}
}

int stream_synchronize(cudaStream_t handle)
{
	struct CUstream_st *s;

	pthread_mutex_lock(&gpu.lock);
	s = stream_find(handle);
	if (s)
		wait_unfinished(s);
	pthread_mutex_unlock(&gpu.lock);
	return s ? sticky_error() : cudaErrorInvalidResourceHandle;
}

int stream_synchronize_all(void)
{
	struct CUstream_st *s;

	pthread_mutex_lock(&gpu.lock);
	do {
		for (s = streams; s && !s->first; s = s->next)
			;
		if (s) {
			struct op *op = s->last;

			op->refs++;
			wait_op(op);
			op_put(op);
		}
	} while (s);
	pthread_mutex_unlock(&gpu.lock);
	return sticky_error();
}

bool stream_in_host_function(void)
{
	return in_host_function;
}

struct host_function {
	void (*fn)(void *);
	void *arg;
};

static void call_host(void *arg)
{
	struct host_function *h = arg;

	in_host_function = true;
	h->fn(h->arg);
	in_host_function = false;
}

int stream_host_function(cudaStream_t stream, void (*fn)(void *), void *arg)
{
	struct host_function *h;

	if (!fn)
		return cudaErrorInvalidValue;
	h = malloc(sizeof(*h));
	if (!h)
		return cudaErrorMemoryAllocation;
	*h = (struct host_function){fn, arg};
	return stream_submit(stream, &(struct work){.run = call_host, .free = free, .arg = h},
			     false);
}

int event_create(unsigned int flags, cudaEvent_t *event)
{
	struct CUevent_st *e;

	if (!event || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)))
		return event && (flags & cudaEventInterprocess) ? cudaErrorNotSupported
								: cudaErrorInvalidValue;
	e = calloc(1, sizeof(*e));
	if (!e)
		return cudaErrorMemoryAllocation;
	e->flags = flags;
	pthread_mutex_lock(&gpu.lock);
	e->next = events;
	events = e;
	pthread_mutex_unlock(&gpu.lock);
	*event = e;
	return cudaSuccess;
}

int event_destroy(cudaEvent_t handle)
{
	struct CUevent_st *e;

	pthread_mutex_lock(&gpu.lock);
	e = event_find(handle);
	if (e) {
		for (struct CUevent_st **at = &events; *at; at = &(*at)->next)
			if (*at == e) {
				*at = e->next;
				break;
			}
		op_put(e->op);
		free(e);
	}
	pthread_mutex_unlock(&gpu.lock);
	return e ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

int event_record(cudaEvent_t handle, cudaStream_t stream)
{
	struct CUevent_st *e;
	struct op *op;
	int ret = cudaErrorInvalidResourceHandle;

	pthread_mutex_lock(&gpu.lock);
	e = event_find(handle);
	op = e ? queue_op(stream, &(struct work){0}, NULL, &ret) : NULL;
	if (op) {
		op_put(e->op);
		e->op = op;
	}
	pthread_mutex_unlock(&gpu.lock);
	return ret;
}

int event_query(cudaEvent_t handle)
{
	struct CUevent_st *e;
	int ret;

	pthread_mutex_lock(&gpu.lock);
	e = event_find(handle);
	ret = !e		      ? cudaErrorInvalidResourceHandle
	      : e->op && !e->op->done ? cudaErrorNotReady
				      : cudaSuccess;
	pthread_mutex_unlock(&gpu.lock);
	return ret ? ret : sticky_error();
}

int event_synchronize(cudaEvent_t handle)
{
	struct CUevent_st *e;

	pthread_mutex_lock(&gpu.lock);
	e = event_find(handle);
	if (e && e->op) {
		struct op *op = e->op;

		op->refs++;
		wait_op(op);
		op_put(op);
	}
	pthread_mutex_unlock(&gpu.lock);
	return e ? sticky_error() : cudaErrorInvalidResourceHandle;
}

int event_elapsed(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	struct CUevent_st *a, *b;
	int ret = cudaSuccess;

	if (!ms)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&gpu.lock);
	a = event_find(start);
	b = event_find(end);
	if (!a || !b || !a->op || !b->op || ((a->flags | b->flags) & cudaEventDisableTiming))
		ret = cudaErrorInvalidResourceHandle;
	else if (!a->op->done || !b->op->done)
		ret = cudaErrorNotReady;
	else
		*ms = (float)((double)(int64_t)(b->op->time - a->op->time) / 1e6);
	pthread_mutex_unlock(&gpu.lock);
	return ret;
}

int event_wait_by(cudaStream_t stream, cudaEvent_t handle)
{
	struct CUevent_st *e;
	int ret = cudaErrorInvalidResourceHandle;

	pthread_mutex_lock(&gpu.lock);
	e = event_find(handle);
	if (e)
		op_put(queue_op(stream, &(struct work){0}, e->op, &ret));
	pthread_mutex_unlock(&gpu.lock);
	return ret;
}
