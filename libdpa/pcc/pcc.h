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

struct pcc_worker;
struct doca_pcc;

/* Entries of a program: RP; NP; both. */
enum {
	PCC_INIT,
	PCC_BIND,
	PCC_EVENTS,
	PCC_PARAM,
	PCC_NP_BEGIN,
	PCC_NP_PACKET,
	PCC_MAIL,
	PCC_ENTRIES
};

enum pcc_stage { PCC_STANDBY, PCC_ACTIVE, PCC_DEACTIVATED, PCC_ERROR };

/* A flow between events: an entry by the low bits of its QPN. */
struct pcc_flow {
	uint32_t ctxt[12];
	uint32_t tag; /* of the flow whose it is; 0: none yet */
	uint32_t rate;
};
#define PCC_FLOWS 65536u

/* The differences between a reaction point and a notification point. */
struct pcc_role {
	enum dpa_pcc_role role;
	const char *entries[PCC_ENTRIES]; /* that an app must have; NULL: none */
	/* The service thread, when it has the port. False: the program has faulted. */
	bool (*activate)(struct doca_pcc *pcc);
	/* Handles some entries of a ring; false: the ring is empty, or the program has ended. */
	bool (*serve)(struct pcc_worker *w, uint32_t ring);
};
extern const struct pcc_role pcc_rp, pcc_np;

struct pcc_worker {
	struct dpa_work work;
	struct doca_pcc *pcc;
	uint32_t rank;
	bool active; /* dispatched, and not idle again; under the lock */
	_Atomic uint64_t events, batches;
	union {
		struct dpa_pcc_batch batch; /* RP */
		struct dpa_pcc_np_call np;  /* NP */
	};
};

struct doca_pcc {
	const struct pcc_role *role;
	struct doca_dev *dev;
	struct doca_dpa *dpa; /* the program's context */
	/* settings */
	uint32_t num_eus, *eus; /* 0: relaxed */
	char **formats;
	uint32_t num_formats;
	char *core_file;
	struct dpa_pcc_probes probes;
	bool custom_dscp; /* RP: the program may set the DSCP of probes */
	uint32_t max_request, max_response;
	bool has_mailbox;
	void *request, *response; /* of the started mailbox */
	/* while it is started */
	bool started, debug;
	const struct dpa_pcc_ops *ops;
	void *port;
	struct dpa_pcc_image *image; /* NULL: given up; changed under the lock */
	struct dpa_pcc_words words;
	const struct dpa_image_entry *entry[PCC_ENTRIES];
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
bool pcc_call(struct doca_pcc *pcc, int entry, void *arg);
/* The same on the worker's own EU. */
bool pcc_run(struct pcc_worker *w, int entry, void *arg);
/* A worker has done n things in one run. */
void pcc_count(struct pcc_worker *w, uint32_t n);
/* Of a stage that a role's activate() has come to: wakes those that wait for it. */
void pcc_set_stage(struct doca_pcc *pcc, enum pcc_stage stage);

#endif
