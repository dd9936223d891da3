/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eumgmt.h - declarations shared by the commands of dpaeumgmt. */
#ifndef DPATOOLS_EUMGMT_H
#define DPATOOLS_EUMGMT_H

#include <eu/eumgmt.h>
#include "common.h"

#define NUM_EUS DPA_EUMGMT_EUS /* of a board */

/* Given options; NULL: not given. */
struct args {
	const char *device, *name, *range, *group, *partition, *vhcas, *max_groups, *file;
	uint32_t vhca; /* of the device */
	char board[256];
};

typedef void eumgmt_fn(const struct args *a, struct dpa_eumgmt *s);
/* Commands. They change the state in `s`; the caller saves it when they return. */
eumgmt_fn group_info, group_create, group_destroy, group_query, group_apply;
eumgmt_fn partition_info, partition_create, partition_destroy, partition_query;

/* Return how many more may exist; groups and partitions share the limit. */
uint32_t groups_left(const struct dpa_eumgmt *s);
void parse_range(const char *text, struct dpal_eu_set *set);
bool set_overlaps(const struct dpal_eu_set *a, const struct dpal_eu_set *b);
bool set_within(const struct dpal_eu_set *a, const struct dpal_eu_set *b);
void print_eus(const char *before, const struct dpal_eu_set *set);

#endif
