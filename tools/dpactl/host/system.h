/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* system.h - where dpa is installed and how this machine's programs find it. */
#ifndef DPACTL_SYSTEM_H
#define DPACTL_SYSTEM_H

#include <limits.h>
#include <stdbool.h>

#define DPA_NODE "/dev/infiniband/uverbs_dpa0"

struct where {
	char prefix[PATH_MAX];
	char lib[PATH_MAX];	/* of libdpa-preload.so */
	char plugins[PATH_MAX]; /* libibverbs' own folder of providers beside it */
	char preload[PATH_MAX];
	char tree[PATH_MAX]; /* share/dpa; "": not found */
};

/* From where this executable lies. False: there is no library. */
bool where_am_i(struct where *w);
/* The preload is in this very process. */
bool preloaded_here(void);
/* There is RDMA in this kernel, or a module of it: libibverbs will ask netlink. */
bool kernel_has_rdma(void);

#endif
