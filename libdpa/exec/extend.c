/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * extend.c - extended contexts: the program of a base context uses another device too. An extended
 * context is started when it is created, and ends before its base. Its memory stays until that of
 * the base is freed: device code that has selected it by device_set() may still look up handles in
 * its (empty) table.
 */
#include "exec.h"

doca_error_t dpa_extended_start(struct doca_dpa *dpa)
{
	struct doca_dpa *base = dpa->base;

	if (!dpa_ctx_usable(base))
		return DOCA_ERROR_BAD_STATE;
	if (!dpa_handle_new(&base->handles, DPA_H_CONTEXT, &dpa->obj))
		return DOCA_ERROR_DRIVER;
	dpa->generation = base->generation;
	dpa->eus = base->eus;
	dpa->state = DPA_STARTED;
	base->extended++;
	return DOCA_SUCCESS;
}

void dpa_extended_stop(struct doca_dpa *dpa)
{
	struct doca_dpa *base = dpa->base;

	dpa_handle_drop(&base->handles, &dpa->obj);
	if (!dpa_ctx_foreign(dpa)) {
		dpa_launches_halt(base->launches, dpa);
		dpa_pool_quiesce();
	}
	dpa->state = DPA_CREATED;
	base->extended--;
}

doca_error_t doca_dpa_device_extend(struct doca_dpa *dpa, struct doca_dev *other_dev,
				    struct doca_dpa **extended_dpa)
{
	struct doca_dpa *e;
	doca_error_t ret;

	if (!dpa_live(dpa) || !dpa_live(other_dev) || !extended_dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->base || !dpa_ctx_usable(dpa))
		return DOCA_ERROR_BAD_STATE;
	if (!other_dev->info.is_dpa)
		return DOCA_ERROR_DRIVER;
	e = dpa_obj_new(DPA_T_DPA, sizeof(*e));
	if (!e)
		return DOCA_ERROR_NO_MEMORY;
	e->base = dpa;
	e->dev = other_dev;
	e->app = dpa->app;
	ret = dpa_extended_start(e);
	if (ret) {
		dpa_obj_free(e);
		return ret;
	}
	dpa_dev_use(other_dev, 1);
	dpa_ctx_hold(dpa);
	*extended_dpa = e;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_get_dpa_handle(struct doca_dpa *dpa, doca_dpa_dev_t *handle)
{
	if (!dpa_live(dpa) || !handle)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_STARTED)
		return DOCA_ERROR_BAD_STATE;
	*handle = dpa->obj.handle;
	return DOCA_SUCCESS;
}
