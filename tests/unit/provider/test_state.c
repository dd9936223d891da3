/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_state.c - the state machine compared with the tables of man ibv_modify_qp, as a second copy
 * in another form, and every wrong mask one bit away from a right one.
 */
#include <criterion/criterion.h>
#include "dpa.h"

enum { RC = IBV_QPT_RC, UC = IBV_QPT_UC, UD = IBV_QPT_UD };

static const struct {
	int type, from, to;
	int required;
} legal[] = {
	{RC, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
	{UC, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
	{UD, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
	{RC, IBV_QPS_INIT, IBV_QPS_INIT, 0},
	{UC, IBV_QPS_INIT, IBV_QPS_INIT, 0},
	{UD, IBV_QPS_INIT, IBV_QPS_INIT, 0},
	{RC, IBV_QPS_INIT, IBV_QPS_RTR,
	 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		 IBV_QP_MIN_RNR_TIMER},
	{UC, IBV_QPS_INIT, IBV_QPS_RTR,
	 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN},
	{UD, IBV_QPS_INIT, IBV_QPS_RTR, 0},
	{RC, IBV_QPS_RTR, IBV_QPS_RTS,
	 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_TIMEOUT},
	{UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN},
	{UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN},
	{RC, IBV_QPS_RTS, IBV_QPS_RTS, 0},
	{UC, IBV_QPS_RTS, IBV_QPS_RTS, 0},
	{UD, IBV_QPS_RTS, IBV_QPS_RTS, 0},
	{RC, IBV_QPS_RTS, IBV_QPS_SQD, 0},
	{UC, IBV_QPS_RTS, IBV_QPS_SQD, 0},
	{UD, IBV_QPS_RTS, IBV_QPS_SQD, 0},
	{RC, IBV_QPS_SQD, IBV_QPS_SQD, 0},
	{UC, IBV_QPS_SQD, IBV_QPS_SQD, 0},
	{UD, IBV_QPS_SQD, IBV_QPS_SQD, 0},
	{RC, IBV_QPS_SQD, IBV_QPS_RTS, 0},
	{UC, IBV_QPS_SQD, IBV_QPS_RTS, 0},
	{UD, IBV_QPS_SQD, IBV_QPS_RTS, 0},
	{UC, IBV_QPS_SQE, IBV_QPS_RTS, 0},
	{UD, IBV_QPS_SQE, IBV_QPS_RTS, 0},
};

#define NUM_LEGAL (sizeof(legal) / sizeof(legal[0]))

static bool is_legal(int type, int from, int to)
{
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return true;
	for (size_t i = 0; i < NUM_LEGAL; i++)
		if (legal[i].type == type && legal[i].from == from && legal[i].to == to)
			return true;
	return false;
}

static int go(int type, int from, int to, int mask)
{
	return dpav_qp_transition((enum ibv_qp_type)type, (enum ibv_qp_state)from,
				  (enum ibv_qp_state)to, mask);
}

Test(state, legal_transitions_take_just_what_they_need)
{
	for (size_t i = 0; i < NUM_LEGAL; i++)
		cr_expect_eq(go(legal[i].type, legal[i].from, legal[i].to,
				legal[i].required | IBV_QP_STATE),
			     0, "type %d, %d to %d", legal[i].type, legal[i].from, legal[i].to);
}

Test(state, each_required_attribute_is_required)
{
	for (size_t i = 0; i < NUM_LEGAL; i++)
		for (int bit = 1; bit < 1 << 26; bit <<= 1)
			if (legal[i].required & bit)
				cr_expect_eq(go(legal[i].type, legal[i].from, legal[i].to,
						(legal[i].required & ~bit) | IBV_QP_STATE),
					     EINVAL);
}

Test(state, no_other_transition_exists)
{
	static const int types[] = {RC, UC, UD};

	for (int t = 0; t < 3; t++)
		for (int from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++)
			for (int to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++)
				if (!is_legal(types[t], from, to))
					for (int bit = 1; bit < 1 << 26; bit <<= 1)
						cr_expect_eq(
							go(types[t], from, to, bit | IBV_QP_STATE),
							EINVAL);
}

Test(state, what_a_type_does_not_have_it_does_not_take)
{
	const int rc_only = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER;
	const int connected = rc_only | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			      IBV_QP_RQ_PSN | IBV_QP_ACCESS_FLAGS;
	const int never = IBV_QP_CAP | IBV_QP_RATE_LIMIT;

	for (size_t i = 0; i < NUM_LEGAL; i++)
		for (int bit = 1; bit < 1 << 26; bit <<= 1) {
			int type = legal[i].type;

			if ((bit & never) || (type == UD && (bit & connected)) ||
			    (type == UC && (bit & rc_only)) || (type != UD && (bit & IBV_QP_QKEY)))
				cr_expect_eq(go(type, legal[i].from, legal[i].to,
						legal[i].required | bit | IBV_QP_STATE),
					     EINVAL, "type %d, %d to %d, bit %x", type,
					     legal[i].from, legal[i].to, (unsigned)bit);
		}
}

Test(state, optional_attributes)
{
	cr_expect_eq(go(RC, IBV_QPS_RTR, IBV_QPS_RTS,
			IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_CUR_STATE |
				IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER),
		     0);
	cr_expect_eq(go(UD, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_QKEY | IBV_QP_CUR_STATE), 0);
	cr_expect_eq(go(RC, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	cr_expect_eq(go(RC, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_PORT), 0);
	cr_expect_eq(go(UC, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS), 0);
	cr_expect_eq(go(UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PKEY_INDEX | IBV_QP_QKEY), 0);
}

Test(state, path_migration_is_not_there)
{
	cr_expect_eq(go(RC, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_PATH_MIG_STATE), EOPNOTSUPP);
	cr_expect_eq(go(UC, IBV_QPS_SQD, IBV_QPS_RTS, IBV_QP_ALT_PATH), EOPNOTSUPP);
}

Test(state, reset_and_error_take_the_state_only)
{
	for (int from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++) {
		cr_expect_eq(go(RC, from, IBV_QPS_ERR, IBV_QP_STATE), 0);
		cr_expect_eq(go(UD, from, IBV_QPS_RESET, IBV_QP_STATE), 0);
		cr_expect_eq(go(RC, from, IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_PORT), EINVAL);
	}
}

Test(state, states_that_do_not_exist)
{
	cr_expect_eq(go(RC, IBV_QPS_RESET, IBV_QPS_UNKNOWN, IBV_QP_STATE), EINVAL);
	cr_expect_eq(go(RC, IBV_QPS_RTS, 1000, IBV_QP_STATE), EINVAL);
	cr_expect_eq(go(RC, IBV_QPS_RTS, -1, IBV_QP_STATE), EINVAL);
	cr_expect_eq(go(IBV_QPT_DRIVER, IBV_QPS_RTS, IBV_QPS_RTS, 0), EINVAL);
}
