/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp_state.c - the QP state machine: the transitions, and the attributes that each of them requires
 * and allows (IBA 11.2.5.2, table 91; man ibv_modify_qp). IBV_QP_STATE itself is always allowed.
 */
#include "dpa.h"

/* XS, XR: initiator and target of XRC (annex A14). RP: raw packets, which have only a port. */
enum { TYPE_RC, TYPE_UC, TYPE_UD, TYPE_XS, TYPE_XR, TYPE_RP, NUM_TYPES };

struct masks {
	bool exists;
	int required;
	int optional;
};

#define YES(...)                                                                                   \
	{                                                                                          \
		.exists = true, __VA_ARGS__                                                        \
	}

/* Attributes that are used together. */
#define INIT_CONN (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define INIT_UD	  (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RTR_UC	  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC	  (RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_RC                                                                                     \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |                    \
	 IBV_QP_MAX_QP_RD_ATOMIC)
#define APM	 (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define LIVE_UC	 (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | APM)
#define LIVE_RC	 (LIVE_UC | IBV_QP_MIN_RNR_TIMER)
#define LIVE_UD	 (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define RTR_OPT	 (IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX)
#define DRAIN_UC (IBV_QP_AV | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | APM)
#define DRAIN_RC                                                                                   \
	(DRAIN_UC | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |           \
	 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

#define RTS_XR (IBV_QP_SQ_PSN | IBV_QP_TIMEOUT)
#define DRAIN_XS                                                                                   \
	(DRAIN_UC | IBV_QP_CUR_STATE | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |           \
	 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define DRAIN_XR                                                                                   \
	(DRAIN_UC | IBV_QP_CUR_STATE | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC |  \
	 IBV_QP_MIN_RNR_TIMER)

#define FROM(s) [IBV_QPS_##s]
#define TO(s)	[IBV_QPS_##s]

/* clang-format off */
static const struct masks table[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1][NUM_TYPES] = {
	FROM(RESET) = {
		TO(INIT) = {
			[TYPE_RC] = YES(.required = INIT_CONN),
			[TYPE_UC] = YES(.required = INIT_CONN),
			[TYPE_UD] = YES(.required = INIT_UD),
			[TYPE_XS] = YES(.required = INIT_CONN),
			[TYPE_XR] = YES(.required = INIT_CONN),
			[TYPE_RP] = YES(.required = IBV_QP_PORT),
		},
	},
	FROM(INIT) = {
		TO(INIT) = {
			[TYPE_RC] = YES(.optional = INIT_CONN),
			[TYPE_UC] = YES(.optional = INIT_CONN),
			[TYPE_UD] = YES(.optional = INIT_UD),
			[TYPE_XS] = YES(.optional = INIT_CONN),
			[TYPE_XR] = YES(.optional = INIT_CONN),
			[TYPE_RP] = YES(.optional = IBV_QP_PORT),
		},
		TO(RTR) = {
			[TYPE_RC] = YES(.required = RTR_RC, .optional = RTR_OPT),
			[TYPE_UC] = YES(.required = RTR_UC, .optional = RTR_OPT),
			[TYPE_UD] = YES(.optional = IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
			[TYPE_XS] = YES(.required = RTR_UC, .optional = RTR_OPT),
			[TYPE_XR] = YES(.required = RTR_RC, .optional = RTR_OPT),
			[TYPE_RP] = YES(.optional = 0),
		},
	},
	FROM(RTR) = {
		TO(RTS) = {
			[TYPE_RC] = YES(.required = RTS_RC, .optional = LIVE_RC),
			[TYPE_UC] = YES(.required = IBV_QP_SQ_PSN, .optional = LIVE_UC),
			[TYPE_UD] = YES(.required = IBV_QP_SQ_PSN, .optional = LIVE_UD),
			[TYPE_XS] = YES(.required = RTS_RC, .optional = LIVE_UC),
			[TYPE_XR] = YES(.required = RTS_XR, .optional = LIVE_RC),
			[TYPE_RP] = YES(.optional = IBV_QP_CUR_STATE),
		},
	},
	FROM(RTS) = {
		TO(RTS) = {
			[TYPE_RC] = YES(.optional = LIVE_RC),
			[TYPE_UC] = YES(.optional = LIVE_UC),
			[TYPE_UD] = YES(.optional = LIVE_UD),
			[TYPE_XS] = YES(.optional = LIVE_UC),
			[TYPE_XR] = YES(.optional = LIVE_RC),
			[TYPE_RP] = YES(.optional = IBV_QP_CUR_STATE),
		},
		TO(SQD) = {
			[TYPE_RC] = YES(.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY),
			[TYPE_UC] = YES(.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY),
			[TYPE_UD] = YES(.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY),
			[TYPE_XS] = YES(.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY),
			[TYPE_XR] = YES(.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY),
			[TYPE_RP] = YES(.optional = IBV_QP_EN_SQD_ASYNC_NOTIFY),
		},
	},
	FROM(SQD) = {
		TO(RTS) = {
			[TYPE_RC] = YES(.optional = LIVE_RC),
			[TYPE_UC] = YES(.optional = LIVE_UC),
			[TYPE_UD] = YES(.optional = LIVE_UD),
			[TYPE_XS] = YES(.optional = LIVE_UC),
			[TYPE_XR] = YES(.optional = LIVE_RC),
			[TYPE_RP] = YES(.optional = IBV_QP_CUR_STATE),
		},
		TO(SQD) = {
			[TYPE_RC] = YES(.optional = DRAIN_RC),
			[TYPE_UC] = YES(.optional = DRAIN_UC),
			[TYPE_UD] = YES(.optional = IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
			[TYPE_XS] = YES(.optional = DRAIN_XS),
			[TYPE_XR] = YES(.optional = DRAIN_XR),
			[TYPE_RP] = YES(.optional = IBV_QP_PORT),
		},
	},
	/* An RC QP does not have this state: its send errors lead to ERR. */
	FROM(SQE) = {
		TO(RTS) = {
			[TYPE_UC] = YES(.optional = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS),
			[TYPE_UD] = YES(.optional = LIVE_UD),
			[TYPE_RP] = YES(.optional = IBV_QP_CUR_STATE),
		},
	},
};
/* clang-format on */

static const struct masks to_reset_or_err = {.exists = true};

static const struct masks *find_masks(enum ibv_qp_type type, enum ibv_qp_state from,
				      enum ibv_qp_state to)
{
	int t;

	/* "any state": IBA figure 128 */
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return &to_reset_or_err;
	if ((unsigned int)from > IBV_QPS_ERR || (unsigned int)to > IBV_QPS_ERR)
		return NULL;
	switch (type) {
	case IBV_QPT_RC:
		t = TYPE_RC;
		break;
	case IBV_QPT_UC:
		t = TYPE_UC;
		break;
	case IBV_QPT_UD:
		t = TYPE_UD;
		break;
	case IBV_QPT_XRC_SEND:
		t = TYPE_XS;
		break;
	case IBV_QPT_XRC_RECV:
		t = TYPE_XR;
		break;
	case IBV_QPT_RAW_PACKET:
		t = TYPE_RP;
		break;
	default:
		return NULL;
	}
	return table[from][to][t].exists ? &table[from][to][t] : NULL;
}

int dpav_qp_transition(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
		       int mask)
{
	const struct masks *m = find_masks(type, from, to);

	if (!m || (mask & m->required) != m->required ||
	    (mask & ~(m->required | m->optional | IBV_QP_STATE)))
		return EINVAL;
	/* Automatic path migration is not supported: IBV_DEVICE_AUTO_PATH_MIG is off. */
	if (mask & APM)
		return EOPNOTSUPP;
	return 0;
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_QPS_RESET, IBV_QPS_RESET);
SAME(DPA_QPS_INIT, IBV_QPS_INIT);
SAME(DPA_QPS_RTR, IBV_QPS_RTR);
SAME(DPA_QPS_RTS, IBV_QPS_RTS);
SAME(DPA_QPS_SQD, IBV_QPS_SQD);
SAME(DPA_QPS_SQE, IBV_QPS_SQE);
SAME(DPA_QPS_ERR, IBV_QPS_ERR);
