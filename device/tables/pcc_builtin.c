/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcc_builtin.c - the slots of the built-in algorithms: docs/congestion.md. */
#include "board/board_priv.h"
#include "tables/pcc.h"

static const struct dpa_pcc_builtin_param rtt_params[DPA_PCC_P_RTT_NUM] = {
	[DPA_PCC_P_RTT_TARGET] = {200000, 1000, 1000000000,
				  "RTT_TARGET, ns, of a flow at 100 Mbit/s; less of faster ones"},
	[DPA_PCC_P_RTT_MAX] = {2000000, 1000, 1000000000,
			       "RTT_MAX, ns: from it on shorter round trips bring no relief"},
	[DPA_PCC_P_RTT_BETA] = {13107, 1, 65536,
				"BETA, of 65536: weight of the distance from the target"},
	[DPA_PCC_P_RTT_AI] = {10, 1, 100000, "AI, Mbit/s that each round trip adds"},
	[DPA_PCC_P_RTT_MIN_RATE] = {10, 1, 100000, "MIN_RATE, Mbit/s"},
};

static const struct dpa_pcc_builtin_param dcqcn_params[DPA_PCC_P_DCQCN_NUM] = {
	[DPA_PCC_P_DCQCN_MIN_RATE] = {10, 1, 100000, "rpg_min_rate, Mbit/s"},
	[DPA_PCC_P_DCQCN_AI_RATE] = {40, 1, 100000, "rpg_ai_rate, Mbit/s"},
	[DPA_PCC_P_DCQCN_HAI_RATE] = {400, 1, 100000, "rpg_hai_rate, Mbit/s"},
	[DPA_PCC_P_DCQCN_TIME_RESET] = {55000, 1000, 1000000000, "rpg_time_reset, ns"},
	[DPA_PCC_P_DCQCN_BYTE_RESET] = {10000000, 1, UINT32_MAX, "rpg_byte_reset, bytes"},
	[DPA_PCC_P_DCQCN_THRESHOLD] = {5, 1, 31, "rpg_threshold, steps"},
	[DPA_PCC_P_DCQCN_GD] = {1, 0, 10, "rpg_gd, log2"},
	[DPA_PCC_P_DCQCN_MIN_DEC_FAC] = {50, 0, 100, "rpg_min_dec_fac, per cent"},
	[DPA_PCC_P_DCQCN_MONITOR_PERIOD] = {50000, 0, 1000000, "rate_reduce_monitor_period, ns"},
	[DPA_PCC_P_DCQCN_G] = {4, 1, 1024, "dce_tcp_g, of 1024"},
	[DPA_PCC_P_DCQCN_RTT] = {55000, 1000, 1000000000, "dce_tcp_rtt, ns"},
};

static const char *const counters[DPA_PCC_N_NUM] = {
	[DPA_PCC_N_TX] = "TX_EVENT, bursts that left",
	[DPA_PCC_N_ACK] = "ACK_EVENT, acknowledgements that were new",
	[DPA_PCC_N_RTT] = "RTT_EVENT, round trip times measured",
	[DPA_PCC_N_CNP] = "CNP_EVENT, congestion notifications",
	[DPA_PCC_N_NACK] = "NACK_EVENT, losses and expired timers",
};
_Static_assert((int)DPA_PCC_N_NUM <= (int)DPA_PCC_BUILTIN_COUNTERS, "room");

static const struct dpa_pcc_builtin_desc builtin[] = {
	{DPA_PCC_ID_RTT, 1, 0, DPA_PCC_P_RTT_NUM, DPA_PCC_N_NUM,
	 "Round trip time, built in (after TIMELY and Swift)", rtt_params, counters},
	{DPA_PCC_ID_DCQCN, 1, 0, DPA_PCC_P_DCQCN_NUM, DPA_PCC_N_NUM, "DCQCN, built in",
	 dcqcn_params, counters},
};

const struct dpa_pcc_builtin_desc *dpa_board_pcc_builtin(uint32_t slot)
{
	return slot >= DPA_PCC_SLOT_RTT && slot < DPA_PCC_SLOTS ? &builtin[slot - DPA_PCC_SLOT_RTT]
								: NULL;
}

bool dpa_board_pcc_is_default(uint32_t slot, const uint32_t value[DPA_PCC_PARAMS])
{
	const struct dpa_pcc_builtin_desc *d = dpa_board_pcc_builtin(slot);

	for (uint32_t i = 0; i < d->nparams; i++)
		if (value[i] != d->params[i].def)
			return false;
	return true;
}
