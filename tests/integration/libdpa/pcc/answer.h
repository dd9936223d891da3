/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* answer.h - the answer of the notification point: np.c. */
#ifndef TEST_PCC_ANSWER_H
#define TEST_PCC_ANSWER_H

#include <stdint.h>

/* The custom header of a probe, where it has one; the answer has the second word as `queued`. */
#define HEADER_MAGIC  0x68656164
#define HEADER_SECOND 77
#define ANSWER_MAGIC  0x4e50

struct answer {
	uint16_t magic;
	uint16_t hops; /* switches that the probe passed */
	uint32_t count;
	uint32_t queued; /* bytes in the last one's queue */
};

#endif
