/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* discovery.h - functions of the provider's library for the discovery preload and libdpa. */
#ifndef DPA_DISCOVERY_H
#define DPA_DISCOVERY_H

#include <stddef.h>

/* device_cap_flags of ibv_query_device(); <infiniband/verbs.h> has the names. */
#define DPA_DEVICE_CAPS                                                                            \
	(IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID | \
	 IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_BAD_PKEY_CNTR |            \
	 IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_XRC |                       \
	 IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |                           \
	 IBV_DEVICE_MANAGED_FLOW_STEERING)

/*
 * Text of a file of a function's port as in sysfs: "gids/3", "gid_attrs/types/3", "state", "rate",
 * "counters/port_xmit_data" and so on; "netdevs" has the interfaces of its GIDs, one a line;
 * "adapter/counts" and "adapter/qps/N" are those of dpa_hw_board_file(). Returns its length, or -1
 * and errno. Opens no device.
 */
int dpadv_port_file(unsigned function, const char *name, char *text, size_t len);
typedef int dpadv_port_file_fn(unsigned function, const char *name, char *text, size_t len);

struct dpa_inject_ops;
struct dpa_trace_ops;
/*
 * Return the points at which libdpa asks for injected failures: dpa_hw_inject.h. NULL: no provider
 * of this build is loaded. Opens no device. Any thread.
 */
const struct dpa_inject_ops *dpadv_inject_points(void);
/*
 * Return the points of the process's timeline, for libdpa: dpa_hw_trace.h. NULL: no provider of this
 * build is loaded. Opens no device. Any thread.
 */
const struct dpa_trace_ops *dpadv_trace_points(void);

#endif
