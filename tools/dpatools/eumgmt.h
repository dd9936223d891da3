/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eumgmt.h - what the commands of dpaeumgmt share. */
#ifndef DPATOOLS_EUMGMT_H
#define DPATOOLS_EUMGMT_H

#include <eu/eumgmt.h>
#include "common.h"

#define NUM_EUS DPA_EUMGMT_EUS /* of a board */

/* Options as they were given; NULL: not given. */
struct args {
	const char *device, *name, *range, *group, *partition, *vhcas, *max_groups, *file;
	uint32_t vhca; /* of the device */
	char board[256];
};

typedef void eumgmt_fn(const struct args *a, struct dpa_eumgmt *s);
/* Those that change the state do so in `s`; it is saved when they come back. */
eumgmt_fn group_info, group_create, group_destroy, group_query, group_apply;
eumgmt_fn partition_info, partition_create, partition_destroy, partition_query;

/* Groups and partitions share their number. */
uint32_t groups_left(const struct dpa_eumgmt *s);
/* NULL: the default partition. */
struct dpa_eumgmt_partition *partition_of(struct dpa_eumgmt *s, uint32_t vhca);
void parse_range(const char *text, struct dpal_eu_set *set);
bool set_overlaps(const struct dpal_eu_set *a, const struct dpal_eu_set *b);
bool set_within(const struct dpal_eu_set *a, const struct dpal_eu_set *b);
void print_eus(const char *before, const struct dpal_eu_set *set);

#endif
