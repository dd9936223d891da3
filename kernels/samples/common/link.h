/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* link.h - a DOCA RDMA context on the DPA's data path, connected to that of the peer. */
#ifndef DPA_SAMPLE_LINK_H
#define DPA_SAMPLE_LINK_H

#include <doca_ctx.h>
#include <doca_rdma.h>
#include "res.h"

enum { LINK_MAX_CONNECTIONS = 2 };

struct link {
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	bool started;
	doca_dpa_dev_rdma_t handle;
	struct doca_rdma_connection *connection[LINK_MAX_CONNECTIONS];
	uint32_t id[LINK_MAX_CONNECTIONS]; /* ids of the connections, for device code */
};

/* Create and start a context with room for `receives`, whose queues report to comp. */
bool link_open(struct link *l, struct res *r, const struct args *a,
	       struct doca_dpa_completion *comp, uint32_t receives, unsigned int connections);
/* Connect them one by one to those of the peer, which does the same. fd: from peer_open(). */
bool link_connect(struct link *l, int fd, unsigned int connections);
bool link_close(struct link *l);

#endif
