/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* recorder.h - what the flows of running programs do, over time. */
#ifndef DPACTL_RECORDER_H
#define DPACTL_RECORDER_H

#include "dpactl.h"

#define REC_FLOWS 64u	/* more are not recorded */
#define REC_MAX	  2000u /* samples that are kept: then two become one */

/* Of a flow, from one sample to the next. */
struct rec_stat {
	uint64_t bytes, rtt_sum;
	uint64_t rate; /* bytes/s, at its end; DPA_PCC_NO_LIMIT: any */
	uint32_t rtt_num, rtt_max, window;
	uint32_t acks, cnps, losses;
	uint32_t marked; /* by the receiver, if that is a process of this adapter instance */
};

struct rec_flow {
	uint32_t qpn, slot, gen, begun; /* which one */
	uint32_t pid, dest;
	char comm[16];
	struct rec_stat now, sum; /* values of its record; what it did since it was found */
	uint32_t seen_marked;
	bool missed; /* it is counted in recorder.missed: its beginning is not there */
};

/* Of a QPN: the flow that was last counted as one that there was no room for. */
struct rec_missed {
	uint32_t slot, gen, begun;
};

struct rec_sample {
	uint64_t at, ns; /* it ends at this time of the recording, and spans so much */
	uint64_t queue_sum, queue_num, queue_max;
	struct rec_stat flow[REC_FLOWS];
};

struct recorder {
	struct ctl *c;
	uint64_t begin, last; /* CLOCK_MONOTONIC, ns */
	uint64_t interval;    /* ns between two samples */
	uint32_t flows, n;    /* entries of flow, of sample */
	uint32_t missed;      /* flows that are not in them, or not whole: there was no room */
	bool full;	      /* at this sample: all entries are of flows that go on */
	uint64_t queue_sum[DPA_BOARD_PROCS], queue_num[DPA_BOARD_PROCS];
	struct rec_flow flow[REC_FLOWS];
	struct rec_sample sample[REC_MAX];
	struct rec_missed lost[DPA_BOARD_QPNS];
};

/* Asks all flows to record. Ends the process where the state cannot be written to, or no memory. */
struct recorder *rec_begin(struct ctl *c);
/*
 * Waits until the next sample is due, takes it into *out and asks for more. False: a signal came
 * before that (Ctrl-C), and *out is what was recorded until then.
 */
bool rec_sample(struct recorder *r, struct rec_sample *out);
/* Keeps a sample; joins two and doubles the interval where there is no room. */
void rec_keep(struct recorder *r, const struct rec_sample *s);
/* Adds a sample to the last one that was kept; keeps it where there is none. */
void rec_join(struct recorder *r, const struct rec_sample *s);
/* Flows stop recording three seconds after this. */
void rec_end(struct recorder *r);
/* pcc record; what pcc watch shows of flows, once a second (record.c). */
void pcc_record(struct ctl *c);
bool pcc_watch_flows(struct recorder *r);
/* A name of a flow for text output. */
void rec_name(const struct rec_flow *f, char *to, size_t len);

#endif
