/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * live.h - what the processes of an adapter instance do right now, for top and web: the figures of
 * device/meter/meter.h, and their rates between two readings. One thread.
 */
#ifndef DPACTL_LIVE_H
#define DPACTL_LIVE_H

#include <meter/meter.h>
#include "../dpactl.h"

/* Per second. */
struct live_rate {
	double tx_msgs, rx_msgs, tx_bytes, rx_bytes, again, rnr;
};

struct live_proc {
	struct proc p;
	uint64_t at;   /* CLOCK_MONOTONIC ns of its last figures; 0: none yet */
	bool stale;    /* they are old: the process is stopped, or has no QPs */
	bool measured; /* there are rates */
	struct dpa_meter_thread own;
	struct live_rate rate; /* sum over its QPs */
	uint32_t qps, waiting; /* QPs; those that wait for something */
	uint64_t errors;       /* QPs that had an error completion */
};

struct live_qp {
	struct qp q;
	uint32_t proc; /* index in proc[] */
	bool known;    /* m is valid; false: no figures yet, or a target of XRC, which has none */
	bool measured; /* rate is valid */
	struct dpa_meter m;
	struct live_rate rate;
	uint64_t doorbells, blueflames;
};

struct live_eu {
	uint32_t proc;
	bool dpa; /* an EU of DPA programs, else one that carries out QPs */
	struct dpa_meter_thread t;
	char what[40]; /* dpa: what runs there */
	double runs;   /* dpa: activations per second */
};

struct live_past; /* of a QP: its last figures */
struct live_dpa;  /* of an EU of DPA programs */

struct live {
	struct ctl *c;	/* its board is opened again when a new one takes its place */
	char why[256];	/* why there is no board; "": there is one */
	uint64_t now;	/* CLOCK_MONOTONIC ns of this reading */
	uint64_t since; /* ns at which the lease began */
	uint64_t asked; /* ns at which it was extended last */
	struct live_proc *proc;
	struct live_qp *qp;
	struct live_eu *eu;
	uint32_t procs, qps, eus;
	struct live_past *past; /* by the low 16 bits of the QPN */
	struct live_dpa *dpa;
	struct live_rate rate; /* sum over the QPs */
};

/* Begin with the board that c has, or with none. Ends the program if there is no memory. */
void live_begin(struct live *l, struct ctl *c);
/* Take a reading and ask for the next. Processes that died are left out. */
void live_read(struct live *l);
/*
 * Extend the lease without a reading: at least once in LIVE_KEEP_NS until the next one. Figures have
 * a gap else, and the rates begin again.
 */
void live_keep(struct live *l);
#define LIVE_KEEP_NS UINT64_C(1000000000)
/* True if each process with QPs has been measured since the lease began. */
bool live_is_measured(const struct live *l);
void live_end(struct live *l);
/* The QP of that number; NULL. */
const struct live_qp *live_find(const struct live *l, uint32_t qpn);

/* The reason why its send queue waits: "idle", "sends", "acks", "room", "timer", "error"; "-": unknown. */
const char *live_wait_text(const struct live_qp *q);
/* "POLLS", "WAITS", "SLEEPS", "RUNS" of a process; "?": unknown or stale. */
const char *live_sleep_text(const struct live_proc *p);
/* "RNR_RETRY_EXC_ERR 0x34"; "-": none. */
const char *live_error_text(const struct live_qp *q, char *buf, size_t len);

/* eus.c: EUs of the processes and of DPA programs; called by live_read() */
void live_read_eus(struct live *l);
void live_end_eus(struct live *l);

/* json.c: the reading as an object that the caller frees; with `most` QPs, the busiest, and the slots of the rest. */
struct json_object *live_json(const struct live *l, uint32_t most);

#endif
