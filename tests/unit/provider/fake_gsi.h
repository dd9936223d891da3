/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fake_gsi.h - QP1 that leads back to the process; see fake_gsi.c. */
#ifndef DPA_FAKE_GSI_H
#define DPA_FAKE_GSI_H

#include <stdint.h>

struct fake_gsi {
	/* How often a MAD arrives; NULL: once. Called by any thread. */
	int (*copies)(const uint8_t *mad);
	int services, ids; /* that are held */
};
extern struct fake_gsi fake_gsi;

#endif
