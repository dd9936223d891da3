/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DPA contexts.
 *
 *            set_*                      children, memory
 *   CREATED -------> CREATED --start--> STARTED --stop--> CREATED
 *      |                                   |
 *      +------------- destroy -------------+--> DEAD while children are left, then freed
 *
 * `fatal` is beside the state: device code sets it, and nothing but destroy makes sense then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../eu/pool.h"
#include "libdpa.h"

/* The EUs have an open of their own: any context's device may be closed while they run. */
static int pool_open(void *arg, void **dev, uint32_t *num_eus)
{
	struct ibv_context *ctx = ibv_open_device(arg);

	if (!ctx)
		return errno ? errno : EIO;
	*num_eus = dpa_hwif_num_eus(ctx);
	*dev = ctx;
	return 0;
}

static int pool_progress(void *dev)
{
	return dpa_hwif_progress(dev);
}

static void pool_idle(void *dev)
{
	dpa_hwif_idle(dev);
}

static void pool_close(void *dev)
{
	ibv_close_device(dev);
}

static const struct dpa_pool_ops pool_ops = {
	.open = pool_open,
	.progress = pool_progress,
	.idle = pool_idle,
	.close = pool_close,
};

doca_error_t doca_dpa_create(struct doca_dev *dev, struct doca_dpa **dpa)
{
	struct doca_dpa *d;

	if (!dev || !dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dev->info.is_dpa)
		return DOCA_ERROR_NOT_SUPPORTED;
	d = calloc(1, sizeof(*d));
	if (!d)
		return DOCA_ERROR_NO_MEMORY;
	d->dev = dev;
	d->log_level = DOCA_DPA_DEV_LOG_LEVEL_INFO;
	dpa_dev_use(dev, 1);
	*dpa = d;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_start(struct doca_dpa *dpa)
{
	int ret;

	if (!dpa || !dpa->app)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_CREATED)
		return DOCA_ERROR_BAD_STATE;
	ret = dpa_image_load(dpa->app, &dpa->img);
	if (ret)
		return ret == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
	dpa->log = dpa_devlog_create();
	if (!dpa->log) {
		ret = errno;
		goto err_image;
	}
	ret = dpa_pool_get(&pool_ops, dpa->dev->ctx->device);
	if (ret)
		goto err_log;
	atomic_store_explicit(&dpa->fatal, 0, memory_order_relaxed);
	dpa->generation = dpa_pool_generation();
	dpa->state = DPA_STARTED;
	return DOCA_SUCCESS;

err_log:
	dpa_devlog_destroy(dpa->log);
	dpa->log = NULL;
err_image:
	dpa_image_unload(&dpa->img);
	return ret == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
}

/* No EU runs code of the context any more. */
static void shut_down(struct doca_dpa *dpa)
{
	if (!dpa_ctx_foreign(dpa)) {
		dpa_pool_quiesce();
		dpa_pool_put();
		dpa_devlog_destroy(dpa->log);
	}
	dpa->log = NULL;
	dpa_mem_free_all(dpa);
	dpa_image_unload(&dpa->img);
	dpa->state = DPA_CREATED;
}

doca_error_t doca_dpa_stop(struct doca_dpa *dpa)
{
	if (!dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_STARTED)
		return DOCA_ERROR_BAD_STATE;
	if (dpa->threads || dpa->completions || dpa->notifications || dpa->qps)
		return DOCA_ERROR_IN_USE;
	shut_down(dpa);
	return DOCA_SUCCESS;
}

/* Threads first: a completion context that stops may not be in use by a running activation. */
static doca_error_t halt_children(struct doca_dpa *dpa)
{
	doca_error_t ret = DOCA_SUCCESS;

	for (struct doca_dpa_thread *t = dpa->thread_list; t; t = t->next)
		dpa_thread_halt(t);
	for (struct doca_dpa_completion *c = dpa->comp_list; c && !ret; c = c->next)
		ret = dpa_completion_halt(c);
	return ret;
}

doca_error_t doca_dpa_destroy(struct doca_dpa *dpa)
{
	doca_error_t ret;

	if (!dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->qps)
		return DOCA_ERROR_IN_USE;
	ret = halt_children(dpa);
	if (ret)
		return ret;
	if (dpa->state == DPA_STARTED)
		shut_down(dpa);
	dpa_dev_use(dpa->dev, -1);
	dpa->state = DPA_DEAD;
	dpa_ctx_put(dpa);
	return DOCA_SUCCESS;
}

void dpa_ctx_put(struct doca_dpa *dpa)
{
	if (dpa->state == DPA_DEAD && !dpa->threads && !dpa->completions && !dpa->notifications)
		free(dpa);
}

doca_error_t doca_dpa_peek_at_last_error(const struct doca_dpa *dpa)
{
	if (!dpa)
		return DOCA_ERROR_INVALID_VALUE;
	return atomic_load_explicit(&dpa->fatal, memory_order_acquire) ? DOCA_ERROR_BAD_STATE
								       : DOCA_SUCCESS;
}

doca_error_t doca_dpa_set_app(struct doca_dpa *dpa, struct doca_dpa_app *app)
{
	if (!dpa || !app || app->magic != DPA_IMAGE_MAGIC || app->version != DPA_IMAGE_VERSION)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_CREATED)
		return DOCA_ERROR_BAD_STATE;
	dpa->app = app;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_get_app(struct doca_dpa *dpa, struct doca_dpa_app **app)
{
	if (!dpa || !app)
		return DOCA_ERROR_INVALID_VALUE;
	*app = dpa->app;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_app_get_name(struct doca_dpa_app *app, char *app_name, uint32_t *app_name_len)
{
	uint32_t have, need;

	if (!app || !app_name || !app_name_len || app->magic != DPA_IMAGE_MAGIC)
		return DOCA_ERROR_INVALID_VALUE;
	have = *app_name_len;
	need = (uint32_t)strlen(app->name) + 1;
	*app_name_len = need;
	if (have < need)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(app_name, app->name, need);
	return DOCA_SUCCESS;
}

static bool is_level(uint32_t l)
{
	return l % 10 == 0 && l >= DOCA_DPA_DEV_LOG_LEVEL_DISABLE &&
	       l <= DOCA_DPA_DEV_LOG_LEVEL_DEBUG;
}

doca_error_t doca_dpa_set_log_level(struct doca_dpa *dpa, doca_dpa_dev_log_level_t log_level)
{
	if (!dpa || !is_level(log_level))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_CREATED)
		return DOCA_ERROR_BAD_STATE;
	dpa->log_level = log_level;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_get_log_level(struct doca_dpa *dpa, doca_dpa_dev_log_level_t *log_level)
{
	if (!dpa || !log_level)
		return DOCA_ERROR_INVALID_VALUE;
	*log_level = (doca_dpa_dev_log_level_t)dpa->log_level;
	return DOCA_SUCCESS;
}
