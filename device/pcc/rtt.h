/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rtt.h - the built-in algorithm that follows round trip times, as a rate (split.h). */
#ifndef DPA_PCC_RTT_H
#define DPA_PCC_RTT_H

#include "split.h"

struct dpa_pcc_rtt_param {
	uint64_t min_rate, max_rate; /* bytes/s; from max_rate on a flow is not paced */
	uint64_t ai;		     /* bytes/s that each change adds */
	uint32_t target, max;	     /* ns: target of a flow at 100 Mbit/s; less of faster ones */
	uint32_t beta; /* of 65536: weight of the distance from the target in a change */
};

extern const struct dpa_pcc_rtt_param dpa_pcc_rtt_default;
extern const struct dpa_pcc_rate_algo dpa_pcc_rtt;

#endif
