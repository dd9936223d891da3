/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_telemetry_pcc.h - read the congestion control algorithms of the port and their counters,
 * from any process of the adapter instance.
 *
 * Slots 0 to 7 are those of the image that a process has loaded (doca_pcc.h); 14 holds the built-in
 * algorithm that follows round trip times, 15 DCQCN. The lowest slot that is enabled acts. Counters
 * of one slot at a time count. `dpactl pcc` enables and disables; each call reports the state at
 * that moment.
 *
 *            start                 stop
 *   Idle ------------> Running ------------> Idle --destroy-->
 *
 * Getters work in both states. One thread at a time may use an object. The interface is that of
 * DOCA 2.10.
 */
#ifndef DOCA_TELEMETRY_PCC_H_
#define DOCA_TELEMETRY_PCC_H_

#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_devinfo;
struct doca_telemetry_pcc;

/*
 * Report whether the device has telemetry, and get its limits: slots (the last one is one less),
 * bytes of a description of an algorithm or counter with its 0, counters of a slot. INVALID_VALUE:
 * NULL; NOT_SUPPORTED: not a device of this adapter.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_telemetry_pcc_cap_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_cap_get_max_algo_slots(
	const struct doca_devinfo *devinfo, uint32_t *max_algo_slots);
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_cap_get_max_algo_info_len(
	const struct doca_devinfo *devinfo, uint32_t *max_algo_info_len);
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_cap_get_max_num_counters(
	const struct doca_devinfo *devinfo, uint32_t *max_num_counters);
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_cap_get_max_counter_info_len(
	const struct doca_devinfo *devinfo, uint32_t *max_counter_info_len);

/*
 * Create an object for the port of an open device, which cannot be closed before destroy.
 * INVALID_VALUE: NULL or no device; NO_MEMORY; DRIVER: not a device of this adapter.
 */
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_create(struct doca_dev *doca_dev,
							 struct doca_telemetry_pcc **pcc);
/* Destroy an object. INVALID_VALUE: NULL or no object; BAD_STATE: it is started. */
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_destroy(struct doca_telemetry_pcc *pcc);
/*
 * Start or stop an object. INVALID_VALUE: NULL or no object; BAD_STATE: started already, or nothing
 * to stop.
 */
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_start(struct doca_telemetry_pcc *pcc);
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_stop(struct doca_telemetry_pcc *pcc);

/*
 * Get identity and version of the algorithm in a slot. INVALID_VALUE: NULL, or no such slot;
 * BAD_STATE: the slot is empty.
 */
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_get_algo_id(struct doca_telemetry_pcc *pcc,
							      uint8_t algo_slot, uint32_t *algo_id);
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_get_algo_major_version(
	struct doca_telemetry_pcc *pcc, uint8_t algo_slot, uint32_t *algo_major_version);
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_get_algo_minor_version(
	struct doca_telemetry_pcc *pcc, uint8_t algo_slot, uint32_t *algo_minor_version);
/*
 * Get its description: a string, max_algo_info_len bytes at most. INVALID_VALUE: NULL; DRIVER: no
 * such slot, or it is empty.
 */
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_get_algo_info(struct doca_telemetry_pcc *pcc,
								uint8_t algo_slot, char *algo_info);
/* Get 1 if the algorithm, or its counters, are on, else 0. Errors: as above. */
DOCA_EXPERIMENTAL doca_error_t
doca_telemetry_pcc_get_algo_enable_status(struct doca_telemetry_pcc *pcc, uint8_t algo_slot,
					  uint8_t *algo_status, uint8_t *counters_status);

/*
 * Get the number of counters of the algorithm, and the description of each. INVALID_VALUE: NULL;
 * DRIVER: no such slot or counter, or the slot is empty.
 */
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_get_num_counters(struct doca_telemetry_pcc *pcc,
								   uint8_t algo_slot,
								   uint32_t *num_counters);
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_get_counter_info(struct doca_telemetry_pcc *pcc,
								   uint8_t algo_slot,
								   uint8_t counter_id,
								   char *counter_info);
/*
 * Get all counters of a slot, in order; counter_values has room for max_num_counters. The second
 * function resets them to 0 as well; with counter_values NULL it only resets them, and
 * counters_populated gets 0. INVALID_VALUE: NULL; BAD_STATE: the algorithm or its counters are off;
 * DRIVER: no such slot, or it is empty.
 */
DOCA_EXPERIMENTAL doca_error_t doca_telemetry_pcc_get_counters(struct doca_telemetry_pcc *pcc,
							       uint8_t algo_slot,
							       uint32_t *counters_populated,
							       uint32_t *counter_values);
DOCA_EXPERIMENTAL doca_error_t
doca_telemetry_pcc_get_and_clear_counters(struct doca_telemetry_pcc *pcc, uint8_t algo_slot,
					  uint32_t *counters_populated, uint32_t *counter_values);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_TELEMETRY_PCC_H_ */
