/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* util.h - a communication id in each state, and the steps that each state allows. */
#ifndef TEST_CM_UTIL_H
#define TEST_CM_UTIL_H

#include "providers/dpa/cm/cm.h"

/* Starting points: states, and the sides where they differ. */
enum place {
	P_IDLE,
	P_REQ_SENT,
	P_MRA_REQ_RCVD,
	P_REP_RCVD,
	P_MRA_REP_SENT,
	P_REQ_RCVD,
	P_MRA_REQ_SENT,
	P_REP_SENT,
	P_MRA_REP_RCVD,
	P_ACTIVE, /* established */
	P_PASSIVE,
	P_DREQ_SENT, /* of the active side */
	P_DREQ_RCVD, /* of the passive side */
	P_TIMEWAIT,  /* of the active side, after its DREQ */
	P_SIDR_REQ_SENT,
	P_SIDR_REQ_RCVD,
	P_CLOSED,
	PLACES
};

enum { ID = 0x1001, PEER_ID = 0x2002, QPN = 0x111, PEER_QPN = 0x222, NOW = 1000000, AGAIN = 4096 };
#define GUID	  UINT64_C(0x0200000000000001)
#define PEER_GUID UINT64_C(0x0200000000000002)
#define SERVICE	  UINT64_C(0x1061c06)
#define PEER_TID  UINT64_C(0x7700002002)
#define OWN_TID	  UINT64_C(0x6600001001)

extern const struct dpav_cm_config test_config;
extern const struct dpav_cm_path test_path; /* of this side; also of an arrival */
extern const struct dpav_cm_conn test_conn;
extern const char *const test_place_names[PLACES];

/* Make a MAD of the peer that fits the connection. */
struct dpa_mad test_mad(enum dpa_cm_attr attr);
/* Make an input with all members that its kind needs. */
struct dpav_cm_input test_input(enum dpav_cm_input_kind kind);
struct dpav_cm_input test_receive(const struct dpa_mad *m);

/* Carry out a step. Checks that it succeeds. */
struct dpav_cm_effects test_step(struct dpav_cm *cm, const struct dpav_cm_input *in);
struct dpav_cm_effects test_get(struct dpav_cm *cm, enum dpa_cm_attr attr);
/* Receive the same MAD again, after the delay of the peer's timer. */
struct dpav_cm_effects test_get_again(struct dpav_cm *cm, enum dpa_cm_attr attr);
struct dpav_cm_effects test_call(struct dpav_cm *cm, enum dpav_cm_input_kind kind);

void test_reach(struct dpav_cm *cm, enum place p);

/*
 * Check that a step is allowed from its state by IBA chapter 12 and the differences in the README:
 * messages, events, states. Also checks the invariants of all states.
 */
void test_allowed(const struct dpav_cm *before, const struct dpav_cm_input *in, int ret,
		  const struct dpav_cm *after, const struct dpav_cm_effects *out, uint64_t seed);

uint64_t test_random(uint64_t *state);
uint64_t test_seed(uint64_t otherwise); /* DPA_TEST_SEED */

#endif
