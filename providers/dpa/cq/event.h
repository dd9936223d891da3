/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * event.h - a queue of events with a descriptor. The events are in ordinary memory, so that those
 * of a destroyed object can be removed. The descriptor is an eventfd that is readable while there
 * are events. poll(2) and fcntl(O_NONBLOCK) of the application use it. The read() of libibverbs is
 * redirected here (hooks.h).
 */
#ifndef DPA_EVENT_H
#define DPA_EVENT_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <unistd.h>
#include <dpa_hw.h>

/* Called under the lock of the queue: when its first event comes; when its last one is gone. */
static inline void dpa_eventfd_raise(int fd)
{
	eventfd_write(fd, 1);
}

/* Never blocks, because it is called once, after dpa_eventfd_raise(). */
static inline void dpa_eventfd_clear(int fd)
{
	eventfd_t v;

	eventfd_read(fd, &v);
}

typedef bool dpa_event_pop_fn(void *queue, void *record);

/*
 * read() on such a descriptor: returns record_size, or -1 and sets errno. EIO: the device has failed,
 * and no event is left. The descriptor is readable then, too.
 */
static inline ssize_t dpa_event_wait(struct dpa_context *ctx, int fd, dpa_event_pop_fn *pop,
				     void *queue, void *record, size_t record_size)
{
	struct dpa_hw_ctx *hw = ctx->hw;
	int ret;

	while (!pop(queue, record)) {
		if (dpa_is_fatal(ctx)) {
			if (pop(queue, record)) /* it came before that */
				break;
			errno = EIO;
			return -1;
		}
		if (fcntl(fd, F_GETFL) & O_NONBLOCK) {
			/* An application that never blocks must make progress, too. */
			dpa_hw_progress(hw);
			if (pop(queue, record))
				break;
			errno = EAGAIN;
			return -1;
		}
		ret = dpa_hw_wait_fd(hw, fd, -1);
		if (ret) {
			errno = ret;
			return -1;
		}
	}
	return (ssize_t)record_size;
}

#endif
