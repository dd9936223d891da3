/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eus.c - the EUs of an open device: eumgmt.h for callers that have the context of the device. */
#include <infiniband/verbs.h>
#include "eumgmt.h"
#include "../hw/hw.h"

int dpa_eumgmt_of(struct ibv_context *ctx, struct dpa_eumgmt_eus *out)
{
	struct dpa_hwif_board board;

	dpa_hwif_query_board(ctx, &board);
	return dpa_eumgmt_lookup(board.path, dpa_eumgmt_vhca(ibv_get_device_name(ctx->device)),
				 dpa_hwif_num_eus(ctx), out);
}
