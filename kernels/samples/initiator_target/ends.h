/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ends.h - the hosts of the two ends. */
#ifndef DPA_SAMPLE_ENDS_H
#define DPA_SAMPLE_ENDS_H

#include "it.h"
#include "link.h"
#include "peer.h"
#include "res.h"

extern doca_dpa_func_t it_post_receive, it_post_send;

struct initiator {
	struct res res;
	struct doca_dpa_completion *comp; /* nobody reads it: no report is asked for */
	struct link link;
	struct doca_mmap *map;
	doca_dpa_dev_mmap_t map_handle;
	uint64_t value; /* what is sent, in this process's memory */
};

/* Sends the value and counts it up, which changes nothing of what was posted. */
bool initiator_send(struct initiator *i, unsigned int connection);
bool initiator_open(struct initiator *i, const struct args *a, struct doca_dpa_app *app, int fd,
		    unsigned int connections);
bool initiator_close(struct initiator *i);

struct target {
	struct res res;
	struct it_target shared; /* the host's copy */
	struct doca_sync_event *event;
	struct doca_dpa_thread *thread, *thread2; /* thread2: NULL if there is none */
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_completion *comp;
	struct link link;
	doca_dpa_dev_uintptr_t heap; /* struct it_target, and the message behind it */
	struct doca_mmap *map;
};

/* thread2: NULL for none. */
bool target_open(struct target *t, const struct args *a, struct doca_dpa_app *app, int fd,
		 doca_dpa_func_t *thread, doca_dpa_func_t *thread2, unsigned int connections,
		 uint64_t expected);
/* Waits for the threads; shared is what they left. */
bool target_result(struct target *t);
bool target_close(struct target *t);

/* main() of both programs: the one that connects initiates, the one that listens serves. */
int it_main(const char *program, bool (*initiate)(const struct args *a, int fd),
	    bool (*serve)(const struct args *a, int fd), int argc, char **argv);

#endif
