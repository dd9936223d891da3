/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * event.h - a queue of events with a descriptor.
 *
 * The events themselves lie in ordinary memory, so that those of a destroyed object can be taken
 * out; the descriptor is an eventfd that is readable while there are any. It is what poll(2) and
 * fcntl(O_NONBLOCK) of the application see. The read() of libibverbs comes to us (hooks.h).
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

/* Both under the lock of the queue: when its first event comes, when its last one is gone. */
static inline void dpa_eventfd_raise(int fd)
{
	eventfd_write(fd, 1);
}

/* Never blocks: it is called only after dpa_eventfd_raise(), once. */
static inline void dpa_eventfd_clear(int fd)
{
	eventfd_t v;

	eventfd_read(fd, &v);
}

typedef bool dpa_event_pop_fn(void *queue, void *record);

/* read() on such a descriptor: returns record_size, or -1 with errno. */
static inline ssize_t dpa_event_wait(struct dpa_hw_ctx *hw, int fd, dpa_event_pop_fn *pop,
				     void *queue, void *record, size_t record_size)
{
	int ret;

	while (!pop(queue, record)) {
		if (fcntl(fd, F_GETFL) & O_NONBLOCK) {
			/* An application that only ever tries must get there too. */
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
