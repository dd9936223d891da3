/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_fuzz.c - inputs that no correct owner or peer gives, in every state: fields of any bits,
 * times of any size. Each effect must be one that the state allows.
 */
#include <criterion/criterion.h>
#include <string.h>
#include "util.h"

static uint64_t state, seed;

static uint64_t any(void)
{
	uint64_t bits = test_random(&state);

	return bits >> (test_random(&state) % 64);
}

static bool once_in(unsigned n)
{
	return test_random(&state) % n == 0;
}

static void scribble(void *p, size_t n)
{
	uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		b[i] = (uint8_t)test_random(&state);
}

/*
 * Make random bytes after a header, or a valid message with some changes: as the codec accepts it.
 */
static void draw_mad(struct dpa_mad *m)
{
	uint8_t bytes[DPA_MAD_BYTES];
	enum dpa_cm_attr attr = DPA_CM_REQ + (int)(test_random(&state) % 9);

	do {
		*m = test_mad(attr);
		if (attr == DPA_CM_REJ && once_in(3))
			m->rej.reason = (uint16_t)any();
		if (attr == DPA_CM_MRA)
			m->mra.message = (uint8_t)(test_random(&state) % 4);
		cr_assert(dpa_mad_encode(m, bytes));
		if (once_in(8))
			scribble(bytes + DPA_MAD_HDR, sizeof(bytes) - DPA_MAD_HDR);
		else if (once_in(4))
			bytes[DPA_MAD_HDR + any() % 232] ^= (uint8_t)test_random(&state);
	} while (dpa_mad_decode(bytes, sizeof(bytes), m) != DPA_MAD_OK);
}

static void draw_call(struct dpav_cm_input *in, struct dpav_cm_path *path,
		      struct dpav_cm_conn *conn)
{
	static const uint8_t bytes[512];

	*path = test_path;
	*conn = test_conn;
	conn->qp = (enum dpav_cm_qp)(test_random(&state) % 6);
	if (once_in(6))
		scribble(path, sizeof(*path));
	if (once_in(6)) {
		scribble(conn, sizeof(*conn));
		conn->qp = (enum dpav_cm_qp)(test_random(&state) % 6);
	}
	in->path = once_in(16) ? NULL : path;
	in->conn = once_in(16) ? NULL : conn;
	in->data = once_in(4) ? NULL : bytes;
	in->len = any() % 300;
	in->info = once_in(4) ? NULL : bytes;
	in->info_len = once_in(2) ? 0 : any() % 300;
	in->reason = (uint16_t)any();
	in->status = (uint8_t)any();
	in->qkey = (uint32_t)any();
}

static void step(struct dpav_cm *cm, uint64_t *now)
{
	struct dpav_cm before = *cm;
	struct dpav_cm_input in = test_input((enum dpav_cm_input_kind)(any() % DPA_CM_INPUTS));
	struct dpav_cm_effects out;
	struct dpav_cm_path path;
	struct dpav_cm_conn conn;
	struct dpa_mad m;
	int ret;

	if (in.kind == DPA_CM_DESTROY && !once_in(8))
		in.kind = DPA_CM_MAD;
	draw_call(&in, &path, &conn);
	draw_mad(&m);
	in.mad = &m;
	in.arrival = once_in(16) ? NULL : &test_path;
	*now += any() % 100000;
	if (in.kind == DPA_CM_TIMER && once_in(2) && cm->deadline != DPA_CM_NEVER &&
	    cm->deadline > *now)
		*now = cm->deadline;
	in.now = *now;
	ret = dpav_cm_step(cm, &in, &out);
	test_allowed(&before, &in, ret, cm, &out, seed);
}

/* A connection can be queried in any state. */
static void ask(const struct dpav_cm *cm)
{
	struct ibv_qp_attr a = {.qp_state = (enum ibv_qp_state)(test_random(&state) % 7)};
	int mask;

	if (dpav_cm_qp_attr(cm, &a, &mask))
		cr_assert_eq(mask, 0);
	else
		cr_assert(mask & IBV_QP_STATE);
}

Test(cm_fuzz, every_place)
{
	state = seed = test_seed(0x5eed);
	for (int course = 0; course < 3000; course++) {
		struct dpav_cm cm;
		uint64_t now = NOW;

		test_reach(&cm, (enum place)(course % PLACES));
		for (int i = 0; i < 60; i++) {
			step(&cm, &now);
			ask(&cm);
		}
	}
}

static bool live_everywhere(const struct dpav_cm_index *ix, size_t entries)
{
	size_t n = 0;

	for (int k = 0; k < DPA_CM_KEYS; k++)
		n += ix->by[k].entries;
	return n == entries;
}

/* For any MAD and any entries: a verdict that its attribute can have, an entry of the index. */
Test(cm_fuzz, classify)
{
	struct dpav_cm_entry e[4] = {0}, *which;
	struct dpav_cm_index ix;

	state = seed = test_seed(0x5eed) + 1;
	cr_assert_eq(dpav_cm_index_init(&ix), 0);
	for (int i = 0; i < 200000; i++) {
		struct dpa_mad m, a;
		enum dpav_cm_verdict v;
		size_t live = 0;

		for (int j = 0; j < 4; j++) {
			const struct dpav_cm_record r = {.live = (uint32_t)(any() % 16),
							 .local_id = ID + (uint32_t)(any() % 2),
							 .remote_id =
								 PEER_ID - (uint32_t)(any() % 2),
							 .qpn = PEER_QPN + (uint32_t)(any() % 2),
							 .ca_guid = PEER_GUID};

			dpav_cm_index_put(&ix, &e[j], &r);
			live += (size_t)__builtin_popcount(r.live);
		}
		cr_assert(live_everywhere(&ix, live), "seed %#lx", seed);
		draw_mad(&m);
		v = dpav_cm_classify(&ix, &m, test_path.dgid, &which);
		if (v == DPA_CM_NEW || v == DPA_CM_UNKNOWN)
			cr_assert_eq(which, NULL, "seed %#lx", seed);
		else
			cr_assert(which >= e && which < e + 4 && which->record.live, "seed %#lx",
				  seed);
		cr_assert_eq(v == DPA_CM_NEW || v == DPA_CM_DUPLICATE,
			     (m.attr == DPA_CM_REQ || m.attr == DPA_CM_SIDR_REQ) &&
				     v != DPA_CM_STALE,
			     "seed %#lx", seed);
		if (dpav_cm_refuse(&m, 8, &a))
			cr_assert(a.attr >= DPA_CM_REQ && a.attr <= DPA_CM_SIDR_REP);
	}
	dpav_cm_index_fini(&ix);
}
