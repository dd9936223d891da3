/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * eumgmt.h - the EUs that a function may use: EU partitions and EU groups of an adapter instance.
 *
 * A partition is an exclusive set of EUs for some functions (VHCAs: function dpaN is VHCA N). The
 * default partition, 0, has all other EUs, and serves all other functions. A group is a named part
 * of a partition; only threads with an affinity to one of its EUs use it. Threads without an
 * affinity run on EUs that are in no group.
 *
 * dpaeumgmt(1) writes them to a file beside the adapter state file; it stays when the adapter state
 * is removed. libdpa reads it. Readers take no lock: a new state replaces the file by rename.
 */
#ifndef DPA_EU_EUMGMT_H
#define DPA_EU_EUMGMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_EUMGMT_EUS	      256u /* EU numbers: 0..255 */
#define DPA_EUMGMT_GROUPS     15u  /* groups and partitions together */
#define DPA_EUMGMT_PARTITIONS 15u
#define DPA_EUMGMT_VHCAS      32u  /* of one partition */
#define DPA_EUMGMT_GROUP_EUS  190u /* of one group */
#define DPA_EUMGMT_NAME	      15u  /* characters of a group's name */
#define DPA_EUMGMT_VHCA_MAX   65535u

struct dpal_eu_set {
	uint64_t bits[DPA_EUMGMT_EUS / 64];
};

static inline bool dpal_eu_set_has(const struct dpal_eu_set *s, uint32_t eu)
{
	return eu < DPA_EUMGMT_EUS && (s->bits[eu / 64] >> (eu % 64) & 1);
}

static inline void dpal_eu_set_add(struct dpal_eu_set *s, uint32_t eu)
{
	s->bits[eu / 64] |= 1ull << (eu % 64);
}

static inline uint32_t dpal_eu_set_count(const struct dpal_eu_set *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < DPA_EUMGMT_EUS / 64; i++)
		n += (uint32_t)__builtin_popcountll(s->bits[i]);
	return n;
}

/* The EUs that a function may use. */
struct dpa_eumgmt_eus {
	uint32_t partition;	 /* 0: the default one */
	struct dpal_eu_set pool; /* EUs of the partition: an affinity may name any of these */
	struct dpal_eu_set free; /* EUs in no group: for threads without an affinity */
};

/*
 * Look up the EUs of the function `vhca` of the adapter instance at `board` with EUs 0..num_eus-1.
 * Without a state file, or with a file of another user, everything is in the default partition.
 * Returns 0; EINVAL: the file is damaged; else the errno of reading it. *out is all EUs then.
 * Thread-safe.
 */
int dpa_eumgmt_lookup(const char *board, uint32_t vhca, uint32_t num_eus,
		      struct dpa_eumgmt_eus *out);

struct ibv_context;
/* Look up the same for the function of an open device. */
int dpa_eumgmt_of(struct ibv_context *ctx, struct dpa_eumgmt_eus *out);
/* Return the VHCA id of a device: the number at the end of its name. */
uint32_t dpa_eumgmt_vhca(const char *device);

/* ------------------------------------------------- the whole state, for tools */

struct dpa_eumgmt_partition {
	uint32_t id; /* 1.. */
	uint32_t max_groups;
	uint32_t num_vhcas;
	uint32_t vhcas[DPA_EUMGMT_VHCAS];
	struct dpal_eu_set eus;
};

struct dpa_eumgmt_group {
	uint32_t id; /* 1.. */
	uint32_t partition;
	char name[DPA_EUMGMT_NAME + 1];
	struct dpal_eu_set eus;
};

struct dpa_eumgmt {
	uint32_t num_partitions, num_groups;
	struct dpa_eumgmt_partition partitions[DPA_EUMGMT_PARTITIONS];
	struct dpa_eumgmt_group groups[DPA_EUMGMT_GROUPS];
};

/* Convert "6-8,16" to a set, and back. False: no valid range, or an EU past num_eus. */
bool dpal_eu_set_parse(const char *text, uint32_t num_eus, struct dpal_eu_set *set);
/* dense: with ranges; else one number each. */
void dpal_eu_set_text(const struct dpal_eu_set *set, bool dense, char *buf, size_t len);

/* Read the state; without a file it is empty. 0 or errno; EINVAL: damaged. */
int dpa_eumgmt_load(const char *board, struct dpa_eumgmt *state);
/* To change it: lock (blocks), load, save, unlock. lock: a descriptor, or -errno. */
int dpa_eumgmt_lock(const char *board);
int dpa_eumgmt_save(const char *board, const struct dpa_eumgmt *state);
void dpa_eumgmt_unlock(int lock);

/* Find the partition of a function. NULL: the default partition. */
const struct dpa_eumgmt_partition *dpa_eumgmt_partition_of(const struct dpa_eumgmt *s,
							   uint32_t vhca);
/* Select the EUs of a function, as dpa_eumgmt_lookup(). */
void dpa_eumgmt_select(const struct dpa_eumgmt *state, uint32_t vhca, uint32_t num_eus,
		       struct dpa_eumgmt_eus *out);

#endif
