/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* flowout.h - flows in CSV and JSON: the part that a recording and a simulation have in common. */
#ifndef DPACTL_FLOWOUT_H
#define DPACTL_FLOWOUT_H

#include <stdio.h>
#include "dpactl.h"

/* A flow in a sample of `ns`. */
struct flow_out {
	uint64_t ns, bytes;
	uint64_t rate;			    /* bytes/s; DPA_PCC_NO_LIMIT: not paced */
	uint64_t rtt_sum, rtt_num, rtt_max; /* ns */
	uint32_t window;		    /* bytes */
};

/*
 * Write five columns, without a comma at either end: Mbit/s, Mbit/s allowed (empty: not paced), window,
 * mean and largest round trip in us (empty: none was measured).
 */
void flow_csv(FILE *out, const struct flow_out *f);
/* Add bytes, rate_bps, window, rtt_ns and rtt_max_ns; no rate and no round trip as above. */
void flow_json(struct json_object *o, const struct flow_out *f);
/* Write an object on one line and release it. */
void flow_put_json(FILE *out, struct json_object *o);
/* True if a file name has this end. */
bool flow_ends_with(const char *name, const char *end);

#endif
