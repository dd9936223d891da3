/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.h - structures shared by host and device of the tests. */
#ifndef TEST_LIBDPA_KERNELS_H
#define TEST_LIBDPA_KERNELS_H

#include <stdint.h>

/* In device memory; written by kernels with atomics, read by the host. */
struct shared {
	uint64_t comp, comp2, qp;
	uint64_t activations;
	uint64_t found; /* elements */
	uint64_t wr_id; /* of the last one */
	uint64_t type, user_data, qpn, immediate, status;
	uint64_t local; /* thread local storage */
	uint64_t statics;
	uint64_t ret;
	uint64_t go; /* set by the host */
};

#endif
