/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Functions that the transport would call for a peer on another host: there is none here. Weak:
 * where the harness has its own they count.
 */
#include <errno.h>
#include <stdlib.h>
#include <dpa_cm_port.h>
#include "link/peer.h"
#include "transport/api.h"
#include "device/gsi/gsi.h"
#include "device/link/forward.h"
#include "device/link/wire.h"

#define STANDIN __attribute__((weak))

/* ---- QP1: services and ids that are this process's, another one's, another board's, nobody's */

static bool endpoint(uint32_t which, struct dpa_board_gsi *g)
{
	*g = (struct dpa_board_gsi){.slot = which & 1, .gen = 1, .qpn = 0x10005};
	return which & 2;
}

STANDIN bool dpa_board_service_find(struct dpa_board *b, uint64_t service_id,
				    const uint8_t addr[16], struct dpa_board_gsi *g)
{
	return endpoint((uint32_t)service_id ^ addr[15], g);
}

STANDIN bool dpa_board_cmid_owner(struct dpa_board *b, uint32_t id, struct dpa_board_gsi *g)
{
	return endpoint(id, g);
}

STANDIN bool dpa_board_cmid_of_peer(struct dpa_board *b, uint32_t remote_id, uint64_t remote_guid,
				    struct dpa_board_gsi *g)
{
	return endpoint(remote_id ^ (uint32_t)remote_guid, g);
}

STANDIN bool dpa_board_gsi_next(struct dpa_board *b, uint32_t from, struct dpa_board_gsi *g)
{
	return endpoint(from, g);
}

STANDIN bool dpa_cm_port_listens(uint16_t ps, uint16_t port)
{
	return port & 1;
}

STANDIN bool dpa_forward_board(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t num)
{
	return num & 1;
}

STANDIN bool dpa_forward_boards(struct dpa_hw *hw, const struct dpa_frame *f)
{
	return f->n & 4;
}

STANDIN void dpa_gsi_need(void)
{
}

STANDIN void dpa_corks_send(struct dpa_hw *hw)
{
}

STANDIN struct dpa_peer *dpa_remote_hold(struct dpa_hw *hw, struct dpa_port *port,
					 const struct dpa_wqe_av *av)
{
	errno = ENETUNREACH;
	return NULL;
}

STANDIN void dpa_remote_drop(struct dpa_peer *remote)
{
}

STANDIN struct dpa_peer *dpa_remote_get(struct dpa_hw *hw, struct dpa_port *port,
					const struct dpa_wqe_av *av)
{
	errno = ENETUNREACH;
	return NULL;
}

STANDIN struct dpa_wire *dpa_wire_get(struct dpa_hw *hw)
{
	errno = ENETUNREACH;
	return NULL;
}

STANDIN int dpa_udp_open(struct dpa_hw *hw)
{
	return ENETUNREACH;
}

STANDIN int dpa_route_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
			     uint32_t *oif, uint32_t *mtu)
{
	return ENETUNREACH;
}

STANDIN void dpa_udp_show_hops(struct dpa_hw *hw)
{
}

STANDIN void dpa_steer_qp(struct dpa_hw *hw, uint32_t qpn)
{
}

STANDIN int dpa_udp_rx(struct dpa_hw *hw)
{
	return 0;
}

STANDIN bool dpa_frame_forward(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t dqpn)
{
	return false;
}
