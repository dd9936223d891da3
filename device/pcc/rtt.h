/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rtt.h - the built-in algorithm that follows round trip times, as a rate (split.h). */
#ifndef DPA_PCC_RTT_H
#define DPA_PCC_RTT_H

#include "split.h"

struct dpa_pcc_rtt_param {
	uint64_t min_rate, max_rate; /* bytes/s; at max_rate a flow is not paced */
	uint64_t ai;		     /* bytes/s of a raise: four in a target's time at most */
	uint32_t target, max;	     /* ns */
	uint32_t beta; /* of 65536: times 1 - target / rtt; a cut takes a half at most */
};

extern const struct dpa_pcc_rtt_param dpa_pcc_rtt_default;
extern const struct dpa_pcc_rate_algo dpa_pcc_rtt;

#endif
