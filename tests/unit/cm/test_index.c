/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_index.c - the index compared with a plain list: many connections that are added, move and
 * are removed.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "util.h"

enum { MANY = 10000 };

static uint64_t random_state;
static struct dpav_cm_index ix;
static struct dpav_cm_entry *entry;

static struct dpav_cm_record record(uint32_t i)
{
	return (struct dpav_cm_record){
		.live = DPA_CM_LIVE_LOCAL | DPA_CM_LIVE_ID | DPA_CM_LIVE_QP | DPA_CM_LIVE_SIDR,
		.local_id = i,
		.remote_id = i / 4, /* others of these are peers with equal numbers */
		.qpn = 1 + i / 4,
		.ca_guid = PEER_GUID + i % 4,
		.gid = {[15] = (uint8_t)(i % 4)}};
}

static void start(void)
{
	random_state = test_seed(0x5eed);
	entry = calloc(MANY, sizeof(*entry));
	cr_assert_eq(dpav_cm_index_init(&ix), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct dpav_cm_record r = record(i);

		dpav_cm_index_put(&ix, &entry[i], &r);
	}
}

static void end(void)
{
	dpav_cm_index_fini(&ix);
	free(entry);
}

static void ask(struct dpa_mad *m, uint32_t i, enum dpav_cm_verdict v)
{
	const uint8_t gid[16] = {[15] = (uint8_t)(i % 4)};
	struct dpav_cm_entry *which = NULL;

	cr_assert_eq(dpav_cm_classify(&ix, m, gid, &which), v, "%u: attribute %#x", i, m->attr);
	cr_assert_eq(which, v == DPA_CM_NEW || v == DPA_CM_UNKNOWN ? NULL : &entry[i], "%u", i);
}

/* Check that `i` is found by each of its keys, or is not. */
static void check(uint32_t i, uint32_t live)
{
	struct dpa_mad req = test_mad(DPA_CM_REQ), dreq = test_mad(DPA_CM_DREQ);
	struct dpa_mad sidr = test_mad(DPA_CM_SIDR_REQ);
	bool both = (live & DPA_CM_LIVE_LOCAL) && (live & DPA_CM_LIVE_ID);

	dreq.dreq.remote_id = i;
	dreq.dreq.local_id = i / 4;
	ask(&dreq, i, both ? DPA_CM_FOUND : DPA_CM_UNKNOWN);
	req.req.ca_guid = PEER_GUID + i % 4;
	req.req.local_id = i / 4;
	req.req.qpn = 0;
	ask(&req, i, live & DPA_CM_LIVE_ID ? DPA_CM_DUPLICATE : DPA_CM_NEW);
	req.req.local_id = MANY;
	req.req.qpn = 1 + i / 4;
	ask(&req, i, live & DPA_CM_LIVE_QP ? DPA_CM_STALE : DPA_CM_NEW);
	sidr.sidr_req.request_id = i / 4;
	ask(&sidr, i, live & DPA_CM_LIVE_SIDR ? DPA_CM_DUPLICATE : DPA_CM_NEW);
}

Test(cm_index, many, .init = start, .fini = end)
{
	for (uint32_t i = 0; i < MANY; i++)
		check(i, record(i).live);
	for (int k = 0; k < DPA_CM_KEYS; k++) {
		cr_assert_eq(ix.by[k].entries, MANY);
		cr_assert_geq(ix.by[k].buckets, MANY); /* so that the chains are short */
	}
}

/* Any part of a record is added and removed by itself; no other entry moves. */
Test(cm_index, parts, .init = start, .fini = end)
{
	for (int round = 0; round < 4 * MANY; round++) {
		uint32_t i = (uint32_t)(test_random(&random_state) % MANY);
		struct dpav_cm_record r = record(i);

		r.live &= (uint32_t)test_random(&random_state);
		dpav_cm_index_put(&ix, &entry[i], &r);
		check(i, r.live);
	}
	for (uint32_t i = 0; i < MANY; i++)
		check(i, entry[i].record.live);
}

/* A REP contains the peer: the entry moves to other keys, in place. */
Test(cm_index, moves, .init = start, .fini = end)
{
	struct dpa_mad m = test_mad(DPA_CM_DREQ);
	struct dpav_cm_record r = record(5);

	r.remote_id = 7 * MANY;
	dpav_cm_index_put(&ix, &entry[5], &r);
	dpav_cm_index_put(&ix, &entry[5], &r);
	m.dreq.remote_id = 5;
	m.dreq.local_id = 7 * MANY;
	ask(&m, 5, DPA_CM_FOUND);
	m.dreq.local_id = 5 / 4;
	ask(&m, 5, DPA_CM_UNKNOWN);
	check(4, record(4).live);
}

/* All are removed: nothing is left, and the tables can be used again. */
Test(cm_index, emptied, .init = start, .fini = end)
{
	const struct dpav_cm_record none = {0};

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < MANY; i++)
			dpav_cm_index_put(&ix, &entry[i], &none);
		for (int k = 0; k < DPA_CM_KEYS; k++)
			cr_assert_eq(ix.by[k].entries, 0);
		for (uint32_t i = 0; i < MANY; i++)
			check(i, 0);
		for (uint32_t i = 0; !round && i < MANY; i++) {
			const struct dpav_cm_record r = record(i);

			dpav_cm_index_put(&ix, &entry[i], &r);
			check(i, r.live);
		}
	}
}
