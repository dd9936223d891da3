/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * slots.c - the algorithms that a congestion control program describes, and its slots. Only the
 * init entry writes them; then all EUs read them. The storage of parameters and counters changes
 * once, from words of the image to words of the adapter state (__dpa_pcc_bind()), before any event
 * comes.
 */
#include <doca_pcc_dev_algo_access.h>
#include "pcc_dev.h"

#define ALGOS	 DOCA_PCC_DEV_MAX_NUM_ALGOS
#define SLOTS	 DOCA_PCC_DEV_MAX_NUM_USER_SLOTS
#define PARAMS	 DOCA_PCC_DEV_MAX_NUM_PARAMS_PER_ALGO
#define COUNTERS DOCA_PCC_DEV_MAX_NUM_COUNTERS_PER_ALGO
#define PORTS	 8u /* of any target */

static struct {
	struct dpa_pcc_slot about;
	uint32_t described;
} algos[ALGOS];

static struct {
	uint32_t there, enabled, algo;
	uint32_t *params, *counters;
	uint32_t own_params[PARAMS], own_counters[COUNTERS];
} slots[PORTS][SLOTS];

static void copy_desc(char *to, uint32_t room, uint32_t size, uint64_t from)
{
	const volatile char *text = (const volatile char *)(uintptr_t)from;
	uint32_t n = 0;

	while (text && n < size && n < room - 1 && text[n]) {
		to[n] = text[n];
		n++;
	}
	to[n] = 0;
}

doca_pcc_dev_error_t
doca_pcc_dev_algo_init_metadata(uint32_t algo_idx,
				const struct doca_pcc_dev_algo_meta_data *user_def,
				uint32_t param_num, uint32_t counter_num)
{
	struct dpa_pcc_slot *a;

	if (algo_idx >= ALGOS || param_num > PARAMS || counter_num > COUNTERS)
		return DOCA_PCC_DEV_STATUS_FAIL;
	a = &algos[algo_idx].about;
	__builtin_memset(a, 0, sizeof(*a));
	a->id = user_def->algo_id;
	a->major = user_def->algo_major_version;
	a->minor = user_def->algo_minor_version;
	a->nparams = param_num;
	a->ncounters = counter_num;
	copy_desc(a->text, sizeof(a->text), user_def->algo_desc_size, user_def->algo_desc_addr);
	algos[algo_idx].described = 1;
	return DOCA_PCC_DEV_STATUS_OK;
}

doca_pcc_dev_error_t doca_pcc_dev_algo_init_param(uint32_t algo_idx, uint32_t param_id,
						  uint32_t default_value, uint32_t max_value,
						  uint32_t min_value, uint32_t permissions,
						  uint32_t param_desc_size,
						  uint64_t param_desc_addr)
{
	struct dpa_pcc_param_desc *p;

	if (algo_idx >= ALGOS || !algos[algo_idx].described ||
	    param_id >= algos[algo_idx].about.nparams)
		return DOCA_PCC_DEV_STATUS_FAIL;
	p = &algos[algo_idx].about.params[param_id];
	p->value = p->def = default_value;
	p->min = min_value;
	p->max = max_value;
	p->may_set = permissions & 1;
	copy_desc(p->text, sizeof(p->text), param_desc_size, param_desc_addr);
	return DOCA_PCC_DEV_STATUS_OK;
}

doca_pcc_dev_error_t doca_pcc_dev_algo_init_counter(uint32_t algo_idx, uint32_t counter_id,
						    uint32_t max_value, uint32_t permissions,
						    uint32_t counter_desc_size,
						    uint64_t counter_desc_addr)
{
	(void)max_value;
	(void)permissions;
	if (algo_idx >= ALGOS || !algos[algo_idx].described ||
	    counter_id >= algos[algo_idx].about.ncounters)
		return DOCA_PCC_DEV_STATUS_FAIL;
	copy_desc(algos[algo_idx].about.counters[counter_id], DPA_PCC_TEXT, counter_desc_size,
		  counter_desc_addr);
	return DOCA_PCC_DEV_STATUS_OK;
}

doca_pcc_dev_error_t doca_pcc_dev_init_algo_slot(uint32_t portid, uint32_t algo_slot,
						 uint32_t algo_idx, uint32_t algo_en)
{
	const struct dpa_pcc_slot *a;

	if (portid >= DOCA_PCC_DEV_MAX_NUM_PORTS || algo_slot >= SLOTS || algo_idx >= ALGOS ||
	    !algos[algo_idx].described)
		return DOCA_PCC_DEV_STATUS_FAIL;
	a = &algos[algo_idx].about;
	slots[portid][algo_slot].there = 1;
	slots[portid][algo_slot].enabled = algo_en != 0;
	slots[portid][algo_slot].algo = algo_idx;
	slots[portid][algo_slot].params = slots[portid][algo_slot].own_params;
	slots[portid][algo_slot].counters = slots[portid][algo_slot].own_counters;
	for (uint32_t i = 0; i < a->nparams; i++)
		slots[portid][algo_slot].own_params[i] = a->params[i].def;
	return DOCA_PCC_DEV_STATUS_OK;
}

static int has_slot(uint32_t port_num, uint32_t algo_slot)
{
	return port_num < PORTS && algo_slot < SLOTS && slots[port_num][algo_slot].there;
}

uint32_t doca_pcc_dev_get_counters_num(uint32_t port_num, uint32_t algo_slot)
{
	return has_slot(port_num, algo_slot)
		       ? algos[slots[port_num][algo_slot].algo].about.ncounters
		       : 0;
}

uint32_t *doca_pcc_dev_get_counters(uint32_t port_num, uint32_t algo_slot)
{
	return has_slot(port_num, algo_slot) ? slots[port_num][algo_slot].counters : 0;
}

uint32_t doca_pcc_dev_get_algo_params_num(uint32_t port_num, uint32_t algo_slot)
{
	return has_slot(port_num, algo_slot) ? algos[slots[port_num][algo_slot].algo].about.nparams
					     : 0;
}

uint32_t *doca_pcc_dev_get_algo_params(uint32_t port_num, uint32_t algo_slot)
{
	return has_slot(port_num, algo_slot) ? slots[port_num][algo_slot].params : 0;
}

uint32_t doca_pcc_dev_get_algo_index(uint32_t port_num, uint32_t algo_slot)
{
	return has_slot(port_num, algo_slot) ? slots[port_num][algo_slot].algo
					     : DOCA_PCC_DEV_ALGO_INDEX_INTERNAL;
}

void pcc_dev_describe(struct dpa_pcc_init *out)
{
	out->populated = out->enabled = 0;
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (!slots[0][i].there)
			continue;
		out->slots[i] = algos[slots[0][i].algo].about;
		for (uint32_t k = 0; k < out->slots[i].nparams; k++)
			out->slots[i].params[k].value = slots[0][i].params[k];
		out->populated |= 1u << i;
		out->enabled |= slots[0][i].enabled << i;
	}
}

void pcc_dev_bind(const struct dpa_pcc_words *words)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		if (slots[0][i].there) {
			slots[0][i].params = words->params[i];
			slots[0][i].counters = words->counters[i];
		}
}
