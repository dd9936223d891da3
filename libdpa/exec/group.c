/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* group.c - thread groups: assign ranks to their threads. */
#include <stdlib.h>
#include "exec.h"

struct doca_dpa_tg {
	struct doca_dpa *dpa; /* its memory is referenced */
	uint32_t num;
	bool started;
	struct doca_dpa_thread *threads[];
};

doca_error_t doca_dpa_thread_group_create(struct doca_dpa *dpa, unsigned int num_threads,
					  struct doca_dpa_tg **tg)
{
	struct doca_dpa_tg *g;

	if (!dpa_live(dpa) || !tg || !num_threads || num_threads > DPA_EU_MAX)
		return DOCA_ERROR_INVALID_VALUE;
	g = dpa_obj_new(DPA_T_THREAD_GROUP, sizeof(*g) + num_threads * sizeof(g->threads[0]));
	if (!g)
		return DOCA_ERROR_NO_MEMORY;
	g->dpa = dpa;
	g->num = num_threads;
	dpa_ctx_hold(dpa);
	*tg = g;
	return DOCA_SUCCESS;
}

/* Stop a group. Running activations have read their rank already. */
static void halt_group(struct doca_dpa_tg *g)
{
	g->started = false;
	for (uint32_t i = 0; i < g->num; i++)
		if (g->threads[i])
			atomic_store_explicit(&g->threads[i]->place, 0, memory_order_release);
}

void dpa_thread_leave_group(struct doca_dpa_thread *t)
{
	struct doca_dpa_tg *g = t->group;

	if (!g)
		return;
	halt_group(g);
	for (uint32_t i = 0; i < g->num; i++)
		if (g->threads[i] == t)
			g->threads[i] = NULL;
	t->group = NULL;
}

doca_error_t doca_dpa_thread_group_destroy(struct doca_dpa_tg *tg)
{
	struct doca_dpa *dpa;
	doca_error_t ret;

	if (!dpa_live(tg))
		return DOCA_ERROR_INVALID_VALUE;
	dpa = tg->dpa;
	ret = dpa->state == DPA_DEAD ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
	halt_group(tg);
	for (uint32_t i = 0; i < tg->num; i++)
		if (tg->threads[i])
			tg->threads[i]->group = NULL;
	dpa_obj_free(tg);
	dpa_ctx_release(dpa);
	return ret;
}

doca_error_t doca_dpa_thread_group_get_num_threads(struct doca_dpa_tg *tg,
						   unsigned int *num_threads)
{
	DPA_RETURN_VALUE(tg, num_threads, tg->num);
}

doca_error_t doca_dpa_thread_group_set_thread(struct doca_dpa_tg *tg,
					      struct doca_dpa_thread *thread, unsigned int rank)
{
	struct doca_dpa_thread *old;

	if (!dpa_live(tg) || !dpa_live(thread) || rank >= tg->num || thread->dpa != tg->dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(tg->dpa) || tg->started || thread->started || thread->group)
		return DOCA_ERROR_BAD_STATE;
	old = tg->threads[rank];
	if (old)
		old->group = NULL;
	tg->threads[rank] = thread;
	thread->group = tg;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_group_start(struct doca_dpa_tg *tg)
{
	if (!dpa_live(tg))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(tg->dpa) || tg->started)
		return DOCA_ERROR_BAD_STATE;
	for (uint32_t i = 0; i < tg->num; i++)
		if (!tg->threads[i] || !tg->threads[i]->started)
			return DOCA_ERROR_BAD_STATE;
	for (uint32_t i = 0; i < tg->num; i++)
		atomic_store_explicit(&tg->threads[i]->place, (uint64_t)tg->num << 32 | i,
				      memory_order_release);
	tg->started = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_thread_group_stop(struct doca_dpa_tg *tg)
{
	if (!dpa_live(tg))
		return DOCA_ERROR_INVALID_VALUE;
	if (tg->dpa->state == DPA_DEAD || !tg->started)
		return DOCA_ERROR_BAD_STATE;
	halt_group(tg);
	return DOCA_SUCCESS;
}
