/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pcc_dev_algo_access.h - the algorithms of a program, and their slots. Other processes see
 * them: doca_telemetry_pcc.h, `dpactl pcc`.
 *
 * Within doca_pcc_dev_user_init(): metadata, then parameters and counters, then slots. Each call
 * returns FAIL for a number that is out of range or was not described before. Only port 0 exists;
 * slots of other ports are stored and have no effect.
 */
#ifndef DOCA_PCC_DEV_ALGO_ACCESS_H_
#define DOCA_PCC_DEV_ALGO_ACCESS_H_

#include <doca_pcc_dev.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_pcc_dev_algo_meta_data {
	uint32_t algo_id;
	uint32_t algo_major_version;
	uint32_t algo_minor_version;
	uint32_t algo_desc_size; /* bytes, with the 0; 127 and a 0 are kept */
	uint64_t algo_desc_addr;
};

DOCA_STABLE
doca_pcc_dev_error_t
doca_pcc_dev_algo_init_metadata(uint32_t algo_idx,
				const struct doca_pcc_dev_algo_meta_data *user_def,
				uint32_t param_num, uint32_t counter_num);
/* permissions: 1 may be set from outside. Of the description 63 bytes and a 0 are kept. */
DOCA_STABLE
doca_pcc_dev_error_t doca_pcc_dev_algo_init_param(uint32_t algo_idx, uint32_t param_id,
						  uint32_t default_value, uint32_t max_value,
						  uint32_t min_value, uint32_t permissions,
						  uint32_t param_desc_size,
						  uint64_t param_desc_addr);
DOCA_STABLE
doca_pcc_dev_error_t doca_pcc_dev_algo_init_counter(uint32_t algo_idx, uint32_t counter_id,
						    uint32_t max_value, uint32_t permissions,
						    uint32_t counter_desc_size,
						    uint64_t counter_desc_addr);
/* algo_en: 1 enabled. The lowest enabled slot of port 0 acts. */
DOCA_STABLE
doca_pcc_dev_error_t doca_pcc_dev_init_algo_slot(uint32_t portid, uint32_t algo_slot,
						 uint32_t algo_idx, uint32_t algo_en);

/*
 * Return number and address for a slot; for an empty slot 0 and NULL, and the index
 * DOCA_PCC_DEV_ALGO_INDEX_INTERNAL. Pointers are valid until doca_pcc_dev_user_init() returns;
 * those of later calls until the program ends.
 */
DOCA_STABLE
uint32_t doca_pcc_dev_get_counters_num(uint32_t port_num, uint32_t algo_slot);
DOCA_STABLE
uint32_t *doca_pcc_dev_get_counters(uint32_t port_num, uint32_t algo_slot);
DOCA_STABLE
uint32_t doca_pcc_dev_get_algo_params_num(uint32_t port_num, uint32_t algo_slot);
DOCA_STABLE
uint32_t *doca_pcc_dev_get_algo_params(uint32_t port_num, uint32_t algo_slot);
DOCA_STABLE
uint32_t doca_pcc_dev_get_algo_index(uint32_t port_num, uint32_t algo_slot);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_DEV_ALGO_ACCESS_H_ */
