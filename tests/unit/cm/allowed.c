/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* allowed.c - the steps that each state allows, from the diagram, not from the code. */
#include <criterion/criterion.h>
#include <string.h>
#include "util.h"

#define S(x) (1u << DPA_CM_ST_##x)
#define M(x) (1u << (DPA_CM_##x - DPA_CM_REQ))
#define E(x) (1u << DPA_CM_EV_##x)

/* clang-format off */
static const struct allowed {
	uint32_t mads, events, next; /* next: besides the state itself */
} allowed[DPA_CM_STATES] = {
	[DPA_CM_ST_IDLE]          = {M(REQ) | M(SIDR_REQ), E(REQ) | E(SIDR_REQ),
				     S(REQ_SENT) | S(REQ_RCVD) | S(SIDR_REQ_SENT) | S(SIDR_REQ_RCVD) | S(CLOSED)},
	[DPA_CM_ST_REQ_SENT]      = {M(REQ) | M(REJ), E(REP) | E(REJ) | E(UNREACHABLE),
				     S(MRA_REQ_RCVD) | S(REP_RCVD) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_MRA_REQ_RCVD]  = {M(REQ) | M(REJ), E(REP) | E(REJ) | E(UNREACHABLE),
				     S(REP_RCVD) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_REP_RCVD]      = {M(RTU) | M(MRA) | M(REJ), E(REJ),
				     S(MRA_REP_SENT) | S(ESTABLISHED) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_MRA_REP_SENT]  = {M(RTU) | M(MRA) | M(REJ), E(REJ),
				     S(ESTABLISHED) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_REQ_RCVD]      = {M(REP) | M(MRA) | M(REJ), E(REJ),
				     S(MRA_REQ_SENT) | S(REP_SENT) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_MRA_REQ_SENT]  = {M(REP) | M(MRA) | M(REJ), E(REJ),
				     S(REP_SENT) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_REP_SENT]      = {M(REP) | M(REJ) | M(DREP), E(ESTABLISHED) | E(REJ) | E(UNREACHABLE) | E(DREQ),
				     S(MRA_REP_RCVD) | S(ESTABLISHED) | S(DREQ_RCVD) | S(DREQ_SENT) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_MRA_REP_RCVD]  = {M(REP) | M(REJ) | M(DREP), E(ESTABLISHED) | E(REJ) | E(UNREACHABLE) | E(DREQ),
				     S(ESTABLISHED) | S(DREQ_RCVD) | S(DREQ_SENT) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_ESTABLISHED]   = {M(RTU) | M(DREQ) | M(DREP), E(REJ) | E(DREQ) | E(DREQ_TIMEOUT),
				     S(DREQ_SENT) | S(DREQ_RCVD) | S(TIMEWAIT) | S(CLOSED)},
	[DPA_CM_ST_DREQ_SENT]     = {M(DREQ) | M(DREP) | M(REJ), E(DREQ) | E(DREP) | E(DREQ_TIMEOUT) | E(REJ),
				     S(DREQ_RCVD) | S(TIMEWAIT)},
	[DPA_CM_ST_DREQ_RCVD]     = {M(DREP), E(DREP), S(TIMEWAIT)},
	[DPA_CM_ST_TIMEWAIT]      = {M(DREP) | M(REJ), E(TIMEWAIT_EXIT), S(CLOSED)},
	[DPA_CM_ST_SIDR_REQ_SENT] = {M(SIDR_REQ), E(SIDR_REP) | E(UNREACHABLE), S(CLOSED)},
	[DPA_CM_ST_SIDR_REQ_RCVD] = {M(SIDR_REP), 0, S(CLOSED)},
	[DPA_CM_ST_CLOSED]        = {0, 0, 0},
};
/* clang-format on */

/* States in which a deadline ends the wait, independent of the owner and the peer. */
static const uint32_t timed = S(REQ_SENT) | S(MRA_REQ_RCVD) | S(REP_SENT) | S(MRA_REP_RCVD) |
			      S(DREQ_SENT) | S(TIMEWAIT) | S(SIDR_REQ_SENT);

static void check_effects(const struct dpav_cm *before, const struct dpav_cm *after,
			  const struct dpav_cm_effects *out, uint64_t seed)
{
	const struct allowed *a = &allowed[before->state];

	if (out->send)
		cr_assert(a->mads & 1u << (out->mad.attr - DPA_CM_REQ),
			  "seed %#lx: %#x sent in state %d", seed, out->mad.attr, before->state);
	if (out->event.type)
		cr_assert(a->events & 1u << out->event.type, "seed %#lx: event %d in state %d",
			  seed, out->event.type, before->state);
	if (after->state != before->state)
		cr_assert(a->next & 1u << after->state, "seed %#lx: from state %d to %d", seed,
			  before->state, after->state);
}

static void check_state(const struct dpav_cm *cm, const struct dpav_cm_effects *out, uint64_t now,
			uint64_t seed)
{
	bool runs = timed & 1u << cm->state;

	cr_assert_eq(out->deadline, cm->deadline);
	cr_assert_eq(runs, out->deadline != DPA_CM_NEVER, "seed %#lx: deadline %#lx in state %d",
		     seed, out->deadline, cm->state);
	/*
	 * none is longer than two life times and the CM's time, or the times of an MRA and an ACK
	 * timeout
	 */
	if (runs)
		cr_assert_leq(out->deadline, now + 3 * (UINT64_C(1) << 23), "seed %#lx", seed);
	cr_assert_eq(out->done, cm->orphan && cm->state == DPA_CM_ST_CLOSED);
	if (cm->orphan) {
		cr_assert((S(DREQ_SENT) | S(TIMEWAIT) | S(CLOSED)) & 1u << cm->state,
			  "seed %#lx: no owner in state %d", seed, cm->state);
		cr_assert_eq(out->event.type, DPA_CM_EV_NONE);
	}
	if (cm->state == DPA_CM_ST_CLOSED || cm->state == DPA_CM_ST_IDLE)
		cr_assert_eq(out->record.live, 0);
}

void test_allowed(const struct dpav_cm *before, const struct dpav_cm_input *in, int ret,
		  const struct dpav_cm *after, const struct dpav_cm_effects *out, uint64_t seed)
{
	uint8_t bytes[DPA_MAD_BYTES];

	check_effects(before, after, out, seed);
	check_state(after, out, in->now, seed);
	if (out->send)
		cr_assert(dpa_mad_encode(&out->mad, bytes), "seed %#lx: attribute %#x", seed,
			  out->mad.attr);
	if (in->kind == DPA_CM_MAD || in->kind == DPA_CM_TIMER || in->kind == DPA_CM_GONE ||
	    in->kind == DPA_CM_DESTROY)
		cr_assert_eq(ret, 0);
	if (ret) {
		cr_assert_eq(memcmp(before, after, sizeof(*after)), 0);
		cr_assert(!out->send && !out->event.type && !out->record_changed);
	}
}
