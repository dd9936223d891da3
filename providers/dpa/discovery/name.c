/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* name.c - names of functions: dpa0, dpa0_sf1 and so on. */
#include <string.h>
#include <knobs.h>
#include "discovery/match.h"

#define PF "dpa0"
#define SF PF "_sf"

int dpa_function_of(const char *ibdev_name)
{
	const char *n = ibdev_name + strlen(SF);

	if (!strcmp(ibdev_name, PF))
		return 0;
	if (strncmp(ibdev_name, SF, strlen(SF)) || n[0] < '1' || n[0] > '0' + DPA_CONFIG_SFS ||
	    n[1])
		return -1;
	return n[0] - '0';
}
