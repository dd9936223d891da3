/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ends.h - the host parts of the two sides. */
#ifndef DPA_SAMPLE_ENDS_H
#define DPA_SAMPLE_ENDS_H

#include "it.h"
#include "link.h"
#include "peer.h"
#include "res.h"

extern doca_dpa_func_t it_post_receive, it_post_send;

struct initiator {
	struct res res;
	struct doca_dpa_completion *comp; /* never read: no report is requested */
	struct link link;
	struct doca_mmap *map;
	doca_dpa_dev_mmap_t map_handle;
	uint64_t value; /* the value that is sent, in this process's memory */
};

/* Send the value and increment it. The increment does not change what was posted. */
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
	doca_dpa_dev_uintptr_t heap; /* struct it_target, followed by the message */
	struct doca_mmap *map;
};

/* thread2: NULL: none. */
bool target_open(struct target *t, const struct args *a, struct doca_dpa_app *app, int fd,
		 doca_dpa_func_t *thread, doca_dpa_func_t *thread2, unsigned int connections,
		 uint64_t expected);
/* Wait for the threads; `shared` gets their results. */
bool target_result(struct target *t);
bool target_close(struct target *t);

/* main() of both programs: the connecting side initiates, the listening side serves. */
int it_main(const char *program, bool (*initiate)(const struct args *a, int fd),
	    bool (*serve)(const struct args *a, int fd), int argc, char **argv);

#endif
