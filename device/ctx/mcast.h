/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mcast.h - multicast groups. */
#ifndef DPA_CTX_MCAST_H
#define DPA_CTX_MCAST_H

#include <stdbool.h>
#include <stdint.h>
#include "port/port.h"

struct dpa_hw_qp;

/* ff00::/8, or 224.0.0.0/4 as an IPv6 address */
static inline bool dpa_gid_is_mcast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (dpa_gid_is_v4(gid) && gid[12] >> 4 == 0xe);
}
void dpa_mcast_forget(struct dpa_hw_qp *qp);

#endif
