/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * affinity.c - EUs: their number, the EUs that a context may use, and the EU of a thread's
 * affinity.
 */
#include <errno.h>
#include <stdlib.h>
#include "exec.h"

#define EUS_PER_CORE 16u

struct doca_dpa_eu_affinity {
	struct doca_dpa *dpa; /* its memory is referenced */
	int eu;
	uint32_t refs; /* references: the user's, and one for each thread with it */
};

/* ------------------------------------------------------------------- counts */

/* Without a free EU (all are in groups) relaxed work may use the whole partition. */
static struct dpal_eu_set *relaxed_set(struct dpa_eumgmt_eus *eus)
{
	return dpal_eu_set_count(&eus->free) ? &eus->free : &eus->pool;
}

/* With a damaged file: all EUs. */
int dpa_ctx_find_eus(struct doca_dpa *dpa)
{
	return dpa_eumgmt_of(dpa->dev->ctx, &dpa->eus) == ENOMEM ? ENOMEM : 0;
}

const uint64_t *dpa_ctx_eus(struct doca_dpa *dpa)
{
	return relaxed_set(&dpa->eus)->bits;
}

uint32_t dpa_ctx_max_threads(struct doca_dpa *dpa)
{
	return dpal_eu_set_count(relaxed_set(&dpa->eus));
}

/* Get the EUs of a context in any state. */
static void eus_of(const struct doca_dpa *dpa, struct dpa_eumgmt_eus *eus)
{
	if (dpa->state == DPA_STARTED)
		*eus = dpa->eus;
	else
		dpa_eumgmt_of(dpa->dev->ctx, eus);
}

doca_error_t doca_dpa_get_core_num(struct doca_dpa *dpa, unsigned int *num_cores)
{
	DPA_RETURN_VALUE(dpa, num_cores,
			 (dpa_hwif_num_eus(dpa->dev->ctx) + EUS_PER_CORE - 1) / EUS_PER_CORE);
}

doca_error_t doca_dpa_get_num_eus_per_core(struct doca_dpa *dpa, unsigned int *eus_per_core)
{
	uint32_t n;

	if (!dpa_live(dpa) || !eus_per_core)
		return DOCA_ERROR_INVALID_VALUE;
	n = dpa_hwif_num_eus(dpa->dev->ctx);
	*eus_per_core = n < EUS_PER_CORE ? n : EUS_PER_CORE;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_get_total_num_eus_available(struct doca_dpa *dpa, unsigned int *total_num_eus)
{
	struct dpa_eumgmt_eus eus;

	if (!dpa_live(dpa) || !total_num_eus)
		return DOCA_ERROR_INVALID_VALUE;
	eus_of(dpa, &eus);
	*total_num_eus = dpal_eu_set_count(&eus.pool);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_get_max_threads_per_kernel(const struct doca_dpa *dpa, unsigned int *value)
{
	struct dpa_eumgmt_eus eus;

	if (!dpa_live(dpa) || !value)
		return DOCA_ERROR_INVALID_VALUE;
	eus_of(dpa, &eus);
	*value = dpal_eu_set_count(relaxed_set(&eus));
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_get_kernel_max_run_time(const struct doca_dpa *dpa, unsigned long long *value)
{
	struct dpa_hwif_board board;

	if (!dpa_live(dpa) || !value)
		return DOCA_ERROR_INVALID_VALUE;
	dpa_hwif_query_board(dpa->dev->ctx, &board);
	*value = board.max_run_time;
	return DOCA_SUCCESS;
}

/* ---------------------------------------------------------------- affinity */

doca_error_t doca_dpa_eu_affinity_create(struct doca_dpa *dpa,
					 struct doca_dpa_eu_affinity **affinity)
{
	struct doca_dpa_eu_affinity *a;

	if (!dpa_live(dpa) || !affinity)
		return DOCA_ERROR_INVALID_VALUE;
	a = dpa_obj_new(DPA_T_AFFINITY, sizeof(*a));
	if (!a)
		return DOCA_ERROR_NO_MEMORY;
	*a = (struct doca_dpa_eu_affinity){.dpa = dpa, .eu = DPA_EU_ANY, .refs = 1};
	dpa_ctx_hold(dpa);
	*affinity = a;
	return DOCA_SUCCESS;
}

static struct doca_dpa_eu_affinity *own_affinity(const struct doca_dpa_eu_affinity *a)
{
	return (struct doca_dpa_eu_affinity *)a;
}

void dpa_affinity_hold(const struct doca_dpa_eu_affinity *a)
{
	own_affinity(a)->refs++;
}

void dpa_affinity_release(const struct doca_dpa_eu_affinity *a)
{
	struct doca_dpa *dpa = a->dpa;

	if (--own_affinity(a)->refs)
		return;
	dpa_obj_free(own_affinity(a));
	dpa_ctx_release(dpa);
}

doca_error_t doca_dpa_eu_affinity_destroy(struct doca_dpa_eu_affinity *affinity)
{
	doca_error_t ret;

	if (!dpa_live(affinity))
		return DOCA_ERROR_INVALID_VALUE;
	ret = affinity->dpa->state == DPA_DEAD ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
	dpa_obj_remove(affinity, DPA_T_AFFINITY);
	dpa_affinity_release(affinity);
	return ret;
}

doca_error_t doca_dpa_eu_affinity_set(struct doca_dpa_eu_affinity *affinity, unsigned int eu_id)
{
	struct dpa_eumgmt_eus eus;

	if (!dpa_live(affinity) || affinity->dpa->state == DPA_DEAD)
		return DOCA_ERROR_INVALID_VALUE;
	eus_of(affinity->dpa, &eus);
	if (!dpal_eu_set_has(&eus.pool, eu_id))
		return DOCA_ERROR_INVALID_VALUE;
	affinity->eu = (int)eu_id;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_eu_affinity_clear(struct doca_dpa_eu_affinity *affinity)
{
	if (!dpa_live(affinity))
		return DOCA_ERROR_INVALID_VALUE;
	affinity->eu = DPA_EU_ANY;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_eu_affinity_get(struct doca_dpa_eu_affinity *affinity, unsigned int *eu_id)
{
	if (!dpa_live(affinity) || !eu_id || affinity->eu < 0)
		return DOCA_ERROR_INVALID_VALUE;
	*eu_id = (unsigned int)affinity->eu;
	return DOCA_SUCCESS;
}

int dpa_affinity_eu(const struct doca_dpa_eu_affinity *a)
{
	return a ? a->eu : DPA_EU_ANY;
}

doca_error_t doca_dpa_thread_set_affinity(struct doca_dpa_thread *dpa_thread,
					  const struct doca_dpa_eu_affinity *affinity)
{
	if (!dpa_live(dpa_thread) || !dpa_live(affinity) || affinity->dpa != dpa_thread->dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_thread->started || dpa_thread->dpa->state == DPA_DEAD)
		return DOCA_ERROR_BAD_STATE;
	dpa_affinity_hold(affinity);
	if (dpa_thread->affinity)
		dpa_affinity_release(dpa_thread->affinity);
	dpa_thread->affinity = affinity;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_get_affinity(struct doca_dpa_thread *dpa_thread,
					  const struct doca_dpa_eu_affinity **affinity)
{
	DPA_RETURN_VALUE(dpa_thread, affinity, dpa_thread->affinity);
}
