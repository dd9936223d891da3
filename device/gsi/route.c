/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* route.c - the route between two addresses, for the driver. */
#include <errno.h>
#include "ctx/hw.h"

static uint32_t interface_of(struct dpa_port *port, const uint8_t gid[16])
{
	int at = dpa_port_find(port, gid);
	struct dpa_hw_gid g;

	return at >= 0 && !dpa_port_gid(port, (uint32_t)at, &g) ? g.ifindex : 0;
}

/* All of 127.0.0.0/8 is this host's, and one address of it is in the GID table. */
static bool is_loopback_net(const uint8_t gid[16])
{
	static const uint8_t net[13] = {[10] = 0xff, [11] = 0xff, [12] = 127};

	return !memcmp(gid, net, sizeof(net));
}

int dpa_hw_route(struct dpa_hw_ctx *ctx, const uint8_t sgid[16], const uint8_t dgid[16],
		 struct dpa_hw_route *r)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_gid gid;
	uint32_t mtu = 0;
	int at, rc = 0;

	memset(r, 0, sizeof(*r));
	if (!dpa_lives(hw))
		return EIO;
	if (!dpa_port_is_own(&hw->port, sgid))
		return is_loopback_net(sgid) ? ENODEV : EADDRNOTAVAIL;
	at = dpa_port_find(ctx->port, sgid);
	if (at < 0 || dpa_port_gid(ctx->port, (uint32_t)at, &gid))
		return ENODEV;
	r->sgid_index = (uint32_t)at;
	r->local = dpa_port_is_own(&hw->port, dgid);
	if (r->local) {
		r->ifindex = interface_of(&hw->port, dgid);
		mtu = dpa_port_gid_mtu(ctx->port, r->sgid_index);
	} else {
		rc = dpa_route_lookup(&hw->port, sgid, dgid, &r->ifindex, &mtu);
	}
	r->mtu = (uint8_t)mtu;
	return rc;
}

int dpa_hw_neighbour(struct dpa_hw_ctx *ctx, const uint8_t sgid[16], const uint8_t dgid[16])
{
	struct dpa_hw *hw = ctx->hw;

	if (!dpa_lives(hw))
		return EIO;
	return dpa_neighbour_lookup(&hw->port, sgid, dgid);
}
