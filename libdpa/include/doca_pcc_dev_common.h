/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pcc_dev_common.h - common part of the reaction point and the notification point on the
 * device: the port and its counters. doca_pcc_dev.h has the rest.
 */
#ifndef DOCA_PCC_DEV_COMMON_H_
#define DOCA_PCC_DEV_COMMON_H_

#ifndef DOCA_DPA_DEVICE
#define DOCA_DPA_DEVICE
#endif

#include <stddef.h>
#include <stdint.h>
#include <doca_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Programs write this without `inline`, which gcc requires as well. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define FORCE_INLINE  static ALWAYS_INLINE

typedef enum {
	DOCA_PCC_DEV_STATUS_OK = 0,
	DOCA_PCC_DEV_STATUS_FAIL = 1,
} doca_pcc_dev_error_t;

/* Counters of a port, of all processes of the adapter instance. */
typedef enum {
	DOCA_PCC_DEV_NIC_COUNTER_TYPE_RX_BYTES = 0x1,
	DOCA_PCC_DEV_NIC_COUNTER_TYPE_TX_BYTES = 0x2,
} doca_pcc_dev_nic_port_counter_types_t;

#define DOCA_PCC_DEV_GET_PORT_COUNTER_ID(port, type, plane)                                        \
	(((port & 0xF)) | ((type & 0xF) << 4) | ((plane & 0XF) << 8) | ((1) << 24))

/* Ports that an image may describe slots for. This adapter has one: 0. */
#define DOCA_PCC_DEV_MAX_NUM_PORTS (__NV_DPA >= __NV_DPA_CX8 ? 8 : 4)

/*
 * Set the counters that doca_pcc_dev_nic_counters_sample() reads and the array for the low 32 bits
 * of each: `values` has num_counters words. An unknown counter, or one of a port that does not
 * exist, reads 0. At most 32 are read. Only the last call counts.
 */
DOCA_EXPERIMENTAL
void doca_pcc_dev_nic_counters_config(uint32_t *counter_ids, uint32_t num_counters,
				      uint32_t *values);
DOCA_EXPERIMENTAL
void doca_pcc_dev_nic_counters_sample(void);

/* Return a mask of the ports: 1. */
DOCA_EXPERIMENTAL
uint32_t doca_pcc_dev_get_logical_ports(void);
/* Return the number of planes of a port: 1; 0 if the port does not exist. */
DOCA_EXPERIMENTAL
uint32_t doca_pcc_dev_get_port_planes(uint32_t portid);
/* Return the line rate that rates are shares of, Gbit/s; 0 if the port is not there. */
DOCA_EXPERIMENTAL
uint32_t doca_pcc_dev_get_port_speed(uint32_t portid);

/*
 * The program may implement it: the port is available, or has changed. Called once for port 0,
 * after doca_pcc_dev_user_init().
 */
DOCA_EXPERIMENTAL
void doca_pcc_dev_user_port_info_changed(uint32_t portid) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_DEV_COMMON_H_ */
