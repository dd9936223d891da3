/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* activation.h - the device memory that both parts of the sample share. */
#ifndef DPA_SAMPLE_ACTIVATION_H
#define DPA_SAMPLE_ACTIVATION_H

#include <stdint.h>

struct activation {
	/* set by the host */
	uint64_t comp, qp; /* handles */
	uint64_t box;	   /* registered memory: a 64-bit number arrives and leaves here */
	uint64_t lkey;
	uint64_t rounds;
	/* set by the device */
	uint64_t activations, answered;
};

#endif
