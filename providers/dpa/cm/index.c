/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * index.c - the index of communication ids: for each way in which a MAD names one, a hash table
 * with chains. Peers choose most of the hashed values; the random seed prevents them from forming
 * one long chain.
 */
#include <stdlib.h>
#include <sys/random.h>
#include "cm_priv.h"

#define FIRST_BUCKETS 64

static uint64_t mix_hash(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Returns the hash of the fields of bit k of record.live. */
static uint64_t hash_record(const struct dpav_cm_index *ix, int k, const struct dpav_cm_record *r)
{
	uint64_t gid[2];

	switch (1u << k) {
	case DPA_CM_LIVE_LOCAL:
		return mix_hash(ix->seed ^ r->local_id);
	case DPA_CM_LIVE_ID:
		return mix_hash(mix_hash(ix->seed ^ r->ca_guid) ^ r->remote_id);
	case DPA_CM_LIVE_QP:
		return mix_hash(mix_hash(ix->seed ^ r->ca_guid) ^ r->qpn);
	default:
		memcpy(gid, r->gid, sizeof(gid));
		return mix_hash(mix_hash(mix_hash(ix->seed ^ gid[0]) ^ gid[1]) ^ r->remote_id);
	}
}

static bool same_record(int k, const struct dpav_cm_record *a, const struct dpav_cm_record *b)
{
	switch (1u << k) {
	case DPA_CM_LIVE_LOCAL:
		return a->local_id == b->local_id;
	case DPA_CM_LIVE_ID:
		return a->ca_guid == b->ca_guid && a->remote_id == b->remote_id;
	case DPA_CM_LIVE_QP:
		return a->ca_guid == b->ca_guid && a->qpn == b->qpn;
	default:
		return a->remote_id == b->remote_id && memcmp(a->gid, b->gid, sizeof(a->gid)) == 0;
	}
}

static struct dpav_cm_entry **index_bucket(const struct dpav_cm_index *ix, int k,
					   const struct dpav_cm_record *r)
{
	const struct dpav_cm_table *t = &ix->by[k];

	return &t->bucket[hash_record(ix, k, r) & (t->buckets - 1)];
}

struct dpav_cm_entry *cm_index_find(const struct dpav_cm_index *ix, uint32_t live,
				    const struct dpav_cm_record *key)
{
	int k = __builtin_ctz(live);
	struct dpav_cm_entry *e = *index_bucket(ix, k, key);

	while (e && !same_record(k, &e->record, key))
		e = e->next[k];
	return e;
}

int dpav_cm_index_init(struct dpav_cm_index *ix)
{
	memset(ix, 0, sizeof(*ix));
	/* early in boot there may be no random number: any seed is correct */
	if (getrandom(&ix->seed, sizeof(ix->seed), GRND_NONBLOCK) < 0)
		ix->seed = (uintptr_t)ix;
	for (int k = 0; k < DPA_CM_KEYS; k++) {
		ix->by[k].bucket = calloc(FIRST_BUCKETS, sizeof(*ix->by[k].bucket));
		if (!ix->by[k].bucket) {
			dpav_cm_index_fini(ix);
			return ENOMEM;
		}
		ix->by[k].buckets = FIRST_BUCKETS;
	}
	return 0;
}

void dpav_cm_index_fini(struct dpav_cm_index *ix)
{
	for (int k = 0; k < DPA_CM_KEYS; k++)
		free(ix->by[k].bucket);
	memset(ix, 0, sizeof(*ix));
}

static void push_entry(struct dpav_cm_index *ix, int k, struct dpav_cm_entry *e)
{
	struct dpav_cm_entry **head = index_bucket(ix, k, &e->record);

	e->next[k] = *head;
	*head = e;
}

/* Doubles the buckets when there is one entry for each. */
static void grow_index(struct dpav_cm_index *ix, int k)
{
	struct dpav_cm_table *t = &ix->by[k], old = *t;
	struct dpav_cm_entry **wider;

	if (t->entries < t->buckets)
		return;
	wider = calloc(2 * t->buckets, sizeof(*wider));
	if (!wider)
		return;
	t->bucket = wider;
	t->buckets *= 2;
	for (size_t i = 0; i < old.buckets; i++) {
		struct dpav_cm_entry *e = old.bucket[i], *next;

		for (; e; e = next) {
			next = e->next[k];
			push_entry(ix, k, e);
		}
	}
	free(old.bucket);
}

static void take_out_entry(struct dpav_cm_index *ix, int k, struct dpav_cm_entry *e)
{
	struct dpav_cm_entry **link = index_bucket(ix, k, &e->record);

	while (*link != e)
		link = &(*link)->next[k];
	*link = e->next[k];
	e->next[k] = NULL;
	ix->by[k].entries--;
}

void dpav_cm_index_put(struct dpav_cm_index *ix, struct dpav_cm_entry *e,
		       const struct dpav_cm_record *r)
{
	for (int k = 0; k < DPA_CM_KEYS; k++)
		if (e->record.live & 1u << k)
			take_out_entry(ix, k, e);
	e->record = *r;
	for (int k = 0; k < DPA_CM_KEYS; k++)
		if (e->record.live & 1u << k) {
			grow_index(ix, k);
			push_entry(ix, k, e);
			ix->by[k].entries++;
		}
}
