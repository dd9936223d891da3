/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sim.h - flows of several hosts through one bottleneck, in simulated time.
 *
 *   host 0  port --\                                   /--> receiver of flow 0
 *   host 1  port ---> switch: one queue (linkq.h) --delay--> receiver of flow 1
 *   host N  port --/                                   \--> ...
 *        ^---------------------- delay ----------------------'  ACKs, NAKs, CNPs
 *
 * Congestion control, pacing, the notification point and the queue are the device's own code
 * (device/pcc, device/inspect/linkq.c). The sender and the receiver of a flow are a model of the
 * transport's (flow.c): what leaves and when, not bytes.
 *
 * No clock, no lock, no thread, integers only: the same scenario gives the same run, to the byte.
 */
#ifndef DPA_SIM_H
#define DPA_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dpa_hw_pcc.h>
#include "links.h"

#define DPA_SIM_FLOWS	128u
#define DPA_SIM_FOREVER UINT64_MAX
#define DPA_SIM_HEADERS 82u /* bytes around the payload of a SEND packet, on Ethernet and IPv4 */

/* The messages of a flow. */
struct dpa_sim_work {
	uint64_t start, stop; /* ns: begin of the flow; end of posting */
	uint64_t every;	      /* ns between two messages; 0: as soon as depth allows */
	uint32_t message;     /* bytes */
	uint32_t depth;	      /* messages that are posted and not acknowledged at most */
	uint32_t algo;	      /* dpa_sim_algo() has its name */
	bool chosen;	      /* by the scenario, not the default */
};

/* A congestion control program of the DPA, for flows whose algorithm it is. */
struct dpa_sim_program {
	/*
	 * An event of a flow at `now` of the simulation. ctxt: the flow's 12 words, zero at first;
	 * rate: its last answer. Returns the new rate, in parts of 2^20 of DPA_PCC_LINE_GBPS; sets
	 * *probe if the round trip is to be measured. The run's thread.
	 */
	uint32_t (*answer)(void *arg, uint64_t now, const struct dpa_pcc_report *r,
			   uint32_t ctxt[12], uint32_t rate, bool *probe);
	void *arg;
	uint32_t slot;	   /* that acts */
	uint32_t disabled; /* bits: types of events that it does not want */
};

struct dpa_sim_scenario {
	struct dpa_link_rule link;
	uint64_t seed;
	uint64_t time, sample;		       /* ns: of the run, and between two samples */
	uint64_t host;			       /* bits/s of each host's port; 0: no limit */
	uint32_t mtu;			       /* path MTU, bytes */
	const struct dpa_sim_program *program; /* lives as long as the run; by the caller */
	uint32_t n;
	struct dpa_sim_work flow[DPA_SIM_FLOWS];
};

/* For one flow, from one sample to the next. */
struct dpa_sim_flow_stat {
	uint64_t bytes;	  /* payload that arrived for the first time */
	uint64_t rtt_sum; /* ns: sum over packets that arrived: from the host's port and back */
	uint64_t rtt_num;
	uint64_t rtt_max;
	uint64_t sent, marked, lost, cnps, naks, timeouts; /* packets */
	uint64_t paused; /* ns during which PFC stopped the host's port */
	uint64_t rate;	 /* bytes/s that the algorithm allows; DPA_PCC_NO_LIMIT: any */
	uint32_t window; /* bytes, now */
};

struct dpa_sim_sample {
	uint64_t at, ns;	       /* time of its end, and its length */
	uint64_t queue_avg, queue_max; /* bytes in the queue as seen by arriving packets */
	uint64_t bytes;		       /* bytes, headers included, that entered the queue */
	struct dpa_sim_flow_stat flow[DPA_SIM_FLOWS];
};

/* For a whole run, for one flow or for all: messages from their post to the ACK of their end. */
struct dpa_sim_latency {
	uint64_t num, p50, p99, p999, max; /* ns; percentiles are exact to 1/32 */
};

struct dpa_sim;

/* NULL: ENOMEM. The scenario is copied; it must be valid, as from dpa_sim_parse(). */
struct dpa_sim *dpa_sim_new(const struct dpa_sim_scenario *s);
void dpa_sim_free(struct dpa_sim *sim);
/* Continue to the end of the next sample. False: the run is over. */
bool dpa_sim_run(struct dpa_sim *sim, struct dpa_sim_sample *out);
/* flow: its index; DPA_SIM_FLOWS: all flows. */
void dpa_sim_latency(const struct dpa_sim *sim, uint32_t flow, struct dpa_sim_latency *l);

/*
 * Read a scenario: lines `key = value`, # begins a comment. False: err names the line and its
 * error.
 *
 *   link = rate=10G,delay=5us,queue=256K,ecn=40K:200K:1%,pfc,seed=7     (config/links.h; needed)
 *   time = 200ms        sample = 1ms        host = 40G        mtu = 1024
 *   flow = count=4,start=0,stop=100ms,step=10ms,message=64K,depth=32,every=1ms,
 *          algorithm=dcqcn                                    (or none, rtt, image)
 */
bool dpa_sim_parse(const char *text, struct dpa_sim_scenario *s, char *err, size_t errlen);
/* The name of struct dpa_sim_work's algo: an index of dpa_pcc_algos[], behind them rtt and image. */
const char *dpa_sim_algo(uint32_t algo);
/* Is that the program's? Such a flow needs `program`. */
bool dpa_sim_is_program(uint32_t algo);
/* Flows whose algorithm the scenario does not choose have the program's. */
void dpa_sim_prefer_program(struct dpa_sim_scenario *s);

#endif
