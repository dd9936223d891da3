/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * standins.c - the answers for QP1, beside those of tests/unit/transport/standins.c: services and
 * ids of this process, of another one, of another board, or of none.
 */
#include <errno.h>
#include <dpa_cm_port.h>
#include "link/peer.h"
#include "device/gsi/gsi.h"
#include "device/link/udp/forward.h"

static bool endpoint(uint32_t which, struct dpa_board_gsi *g)
{
	*g = (struct dpa_board_gsi){.slot = which & 1, .gen = 1, .qpn = 0x10005};
	return which & 2;
}

bool dpa_board_service_find(struct dpa_board *b, uint64_t service_id, const uint8_t addr[16],
			    struct dpa_board_gsi *g)
{
	return endpoint((uint32_t)service_id ^ addr[15], g);
}

bool dpa_board_cmid_owner(struct dpa_board *b, uint32_t id, struct dpa_board_gsi *g)
{
	return endpoint(id, g);
}

bool dpa_board_cmid_of_peer(struct dpa_board *b, uint32_t remote_id, uint64_t remote_guid,
			    struct dpa_board_gsi *g)
{
	return endpoint(remote_id ^ (uint32_t)remote_guid, g);
}

bool dpa_board_gsi_next(struct dpa_board *b, uint32_t from, struct dpa_board_gsi *g)
{
	return endpoint(from, g);
}

bool dpa_cm_port_listens(uint16_t ps, uint16_t port)
{
	return port & 1;
}

int dpa_forward_board(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t num)
{
	return num & 1 ? 0 : num & 2 ? EAGAIN : EHOSTUNREACH;
}

int dpa_forward_boards(struct dpa_hw *hw, const struct dpa_frame *f)
{
	return f->n & 4 ? 0 : EHOSTUNREACH;
}

void dpa_gsi_need(void)
{
}
