/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc.h - a congestion control program of this process.
 *
 *   CREATED --start--> STANDBY --the port has no image--> ACTIVE --stop--> CREATED
 *                         |                                 |
 *                         +------ wait() ran out -----------+--> DEACTIVATED --stop--> CREATED
 *                                                           +--fault--> ERROR --stop--> CREATED
 *
 * The program is a DPA context of its own. The service thread moves between these states, sleeps
 * while there is nothing to do, and wakes workers. A worker is work of the pool, pinned to an EU of
 * the program's; it takes events of a process at a time out of the adapter state, has the image
 * answer them, a batch in one run, and writes the answers. It goes on until nothing has come for a
 * while.
 *
 *   ring of a process:  IDLE --taken--> BUSY --more came--> AGAIN --> BUSY --> IDLE
 *
 * `lock` is over state, flags and counts of workers; the data path of events takes it only when a
 * worker begins or ends.
 */
#ifndef DPA_PCC_PCC_H
#define DPA_PCC_PCC_H

#include "../exec/exec.h"
#include <doca_pcc.h>
#include "../dev/pcc/image.h"

enum pcc_stage { PCC_STANDBY, PCC_ACTIVE, PCC_DEACTIVATED, PCC_ERROR };

/* A flow between events: an entry by the low bits of its QPN. */
struct pcc_flow {
	uint32_t ctxt[12];
	uint32_t tag; /* of the flow whose it is; 0: none yet */
	uint32_t rate;
};
#define PCC_FLOWS 65536u

struct pcc_worker {
	struct dpa_work work;
	struct doca_pcc *pcc;
	uint32_t rank;
	bool active; /* dispatched, and not idle again; under the lock */
	_Atomic uint64_t events, batches;
	struct dpa_pcc_batch batch;
};

struct doca_pcc {
	struct doca_dev *dev;
	struct doca_dpa *dpa; /* the program's context */
	/* settings */
	uint32_t num_eus, *eus; /* 0: relaxed */
	char **formats;
	uint32_t num_formats;
	char *core_file;
	uint32_t max_request, max_response;
	bool has_mailbox;
	void *request, *response; /* of the started mailbox */
	/* while it is started */
	bool started, debug;
	const struct dpa_pcc_ops *ops;
	void *port;
	struct dpa_pcc_image *image; /* NULL: given up; changed under the lock */
	struct dpa_pcc_words words;
	const struct dpa_image_entry *init, *bind, *events, *param, *mailbox;
	pthread_t service;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum pcc_stage stage;
	int news; /* eventfd: the stage has changed; a thread in doca_pcc_wait() drains it */
	bool stop, deactivate;
	uint32_t active;	   /* workers */
	pthread_mutex_t call_lock; /* one call of an entry besides events at a time */
	uint32_t num_workers;
	struct pcc_worker *workers;
	struct pcc_flow *flows;
	_Atomic uint64_t ready[DPA_PCC_RINGS / 64]; /* rings that wait for a worker */
	_Atomic uint8_t rings[DPA_PCC_RINGS];	    /* IDLE, BUSY, AGAIN */
	_Atomic bool ending;			    /* workers go idle */
};

/* Starts the service thread and what it needs; the context is started. 0 or errno. */
int pcc_engine_start(struct doca_pcc *pcc);
/* The lock is held: the service thread looks at the flags, 100 ms later at the latest. */
void pcc_engine_wake(struct doca_pcc *pcc);
/* Ends it: no code of the program runs afterwards, and the port is given up. */
void pcc_engine_stop(struct doca_pcc *pcc);
/*
 * Runs an entry of the program on an EU and waits for it. Host threads. False: it did not return,
 * or could not begin.
 */
bool pcc_call(struct doca_pcc *pcc, const struct dpa_image_entry *entry, void *arg);

#endif
