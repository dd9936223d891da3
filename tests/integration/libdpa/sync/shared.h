/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* shared.h - structures shared by host.c and dev.c. */
#ifndef SYNC_SHARED_H
#define SYNC_SHARED_H

#include <stdint.h>

enum op { END, COPY, WAIT_GT, WAIT_NE, TAKE, EVENT_WAIT, EVENT_ADD, SIGNAL_SET, SIGNAL_ADD };

/* One step of the device's program. */
struct step {
	uint32_t op, flags;
	uint32_t dst_key, src_key;
	uint64_t dst, src, length; /* events: handle in dst, value in src; TAKE: length elements */
};

struct element {
	uint32_t type, user_data;
};

struct state {
	uint64_t comp, async_ops, rdma;
	uint32_t connection, steps_len;
	struct step steps[64];
	uint64_t num_log;
	struct element log[64];
	uint64_t done; /* the event that says so */
};

#endif
