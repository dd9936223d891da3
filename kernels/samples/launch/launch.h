/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* launch.h - the log that the kernels of the launch samples leave for the host. */
#ifndef DPA_SAMPLE_LAUNCH_H
#define DPA_SAMPLE_LAUNCH_H

#include <stdint.h>

/* In the DPA's heap: the kernels that ran, in order. */
struct launch_log {
	uint64_t num;
	uint64_t who[16];
};

#endif
