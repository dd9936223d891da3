/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the transport would call for a peer on another host: there is none here. Weak: where the
 * harness has its own they count. */
#include <errno.h>
#include <stdlib.h>
#include "device/link/wire.h"

#define STANDIN __attribute__((weak))

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
