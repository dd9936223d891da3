/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * context.c - DPA contexts.
 *
 *            set_*                      children, memory
 *   CREATED -------> CREATED --start--> STARTED --stop--> CREATED
 *      |                                   |
 *      +------------- destroy -------------+--> DEAD while children are left, then freed
 *
 * `fatal` is separate from the state: device code sets it, and only destroy is useful then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../crash/watchdog.h"
#include "../exec/exec.h"
#include "../run/inject.h"
#include "../run/points.h"

/* Open the device for the EUs: any context's device may be closed while they run. */
static int pool_open(void *arg, void **dev, uint32_t *num_eus)
{
	struct ibv_context *ctx = ibv_open_device(arg);
	struct dpa_hwif_board board;
	int ret;

	if (!ctx)
		return errno ? errno : EIO;
	dpa_hwif_query_board(ctx, &board);
	ret = dpa_watchdog_start(board.max_run_time);
	if (ret) {
		ibv_close_device(ctx);
		return ret;
	}
	*num_eus = dpa_hwif_num_eus(ctx);
	atomic_store_explicit(&dpa_points, dpa_hwif_trace(), memory_order_release);
	dpa_inject_begin();
	dpa_stat_open(board.path, ibv_get_device_name(ctx->device), *num_eus, board.max_run_time);
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
	dpa_stat_close();
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

	if (!dpa_live(dev) || !dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dev->info.is_dpa || dev->info.function) /* an SF extends a context of the PF */
		return DOCA_ERROR_NOT_SUPPORTED;
	d = dpa_obj_new(DPA_T_DPA, sizeof(*d));
	if (!d)
		return DOCA_ERROR_NO_MEMORY;
	d->dev = dev;
	pthread_mutex_init(&d->mem_lock, NULL);
	dpa_fatal_init(d);
	d->log_level = DOCA_DPA_DEV_LOG_LEVEL_INFO;
	dpa_dev_use(dev, 1);
	*dpa = d;
	return DOCA_SUCCESS;
}

static doca_error_t context_error(int err)
{
	return err == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
}

/* Start the writers of the log and the trace. 0 or errno. */
static int start_logs(struct doca_dpa *dpa)
{
	int ret;

	dpa->log = dpa_devlog_create(dpa->log_sink.file, false);
	if (!dpa->log)
		return errno;
	dpa->trace = dpa_devlog_create(dpa->trace_sink.file, true);
	if (dpa->trace)
		return 0;
	ret = errno;
	dpa_devlog_destroy(dpa->log);
	dpa->log = NULL;
	return ret;
}

static void end_logs(struct doca_dpa *dpa)
{
	dpa_devlog_destroy(dpa->log);
	dpa_devlog_destroy(dpa->trace);
	dpa->log = dpa->trace = NULL;
}

static doca_error_t start_base(struct doca_dpa *dpa)
{
	int ret = dpa_image_load(dpa->app, &dpa->img);

	if (ret)
		return context_error(ret);
	ret = start_logs(dpa);
	if (ret)
		goto err_image;
	ret = dpa_pool_get(&pool_ops, dpa->dev->ctx->device);
	if (ret)
		goto err_logs;
	dpa->generation = dpa_pool_generation();
	dpa->stat_id = dpa_stat_context();
	ret = dpa_ctx_find_eus(dpa);
	if (!ret)
		ret = dpa_launches_begin(dpa);
	if (ret)
		goto err_pool;
	dpa_handle_new(&dpa->handles, DPA_H_CONTEXT, &dpa->obj); /* the first one */
	dpa_fatal_reset(dpa);
	dpa->state = DPA_STARTED;
	return DOCA_SUCCESS;

err_pool:
	dpa_pool_put();
err_logs:
	end_logs(dpa);
err_image:
	dpa_image_unload(&dpa->img);
	return context_error(ret);
}

doca_error_t doca_dpa_start(struct doca_dpa *dpa)
{
	if (!dpa_live(dpa) || !dpa->app)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_CREATED)
		return DOCA_ERROR_BAD_STATE;
	return dpa->base ? dpa_extended_start(dpa) : start_base(dpa);
}

/* Shut down. No EU runs code of the context any more. */
static void shut_down(struct doca_dpa *dpa)
{
	bool mine = !dpa_ctx_foreign(dpa);

	if (dpa->base) {
		dpa_extended_stop(dpa);
		return;
	}
	dpa_launches_end(dpa);
	dpa_handle_drop(&dpa->handles, &dpa->obj);
	if (mine) {
		dpa_pool_quiesce();
		dpa_stat_kernels_free(&dpa->stat_kernels);
		dpa_pool_put();
		end_logs(dpa);
	}
	dpa->log = dpa->trace = NULL;
	dpa_mem_free_all(dpa);
	dpa_image_unload(&dpa->img);
	dpa->state = DPA_CREATED;
}

doca_error_t doca_dpa_stop(struct doca_dpa *dpa)
{
	if (!dpa_live(dpa))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_STARTED)
		return DOCA_ERROR_BAD_STATE;
	if (dpa->threads || dpa->completions || dpa->notifications || dpa->qps || dpa->ctxs ||
	    dpa->extended)
		return DOCA_ERROR_IN_USE;
	shut_down(dpa);
	return DOCA_SUCCESS;
}

/* Stop the threads first: a completion context must not stop while a running activation uses it. */
static doca_error_t halt_children(struct doca_dpa *dpa)
{
	doca_error_t ret = DOCA_SUCCESS;

	for (struct doca_dpa_thread *t = dpa->thread_list; t; t = t->next)
		dpa_thread_halt(t);
	dpa_async_halt_all(dpa);
	for (struct doca_dpa_completion *c = dpa->comp_list; c && !ret; c = c->next)
		ret = dpa_completion_halt(c);
	return ret;
}

doca_error_t doca_dpa_destroy(struct doca_dpa *dpa)
{
	doca_error_t ret;

	if (!dpa_live(dpa))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->qps || dpa->ctxs || dpa->extended)
		return DOCA_ERROR_IN_USE;
	ret = halt_children(dpa);
	if (ret)
		return ret;
	if (dpa->state == DPA_STARTED)
		shut_down(dpa);
	dpa_sink_close(&dpa->log_sink);
	dpa_sink_close(&dpa->trace_sink);
	dpa_dev_use(dpa->dev, -1);
	dpa_obj_remove(dpa, DPA_T_DPA);
	dpa->state = DPA_DEAD;
	dpa_ctx_put(dpa);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_peek_at_last_error(const struct doca_dpa *dpa)
{
	if (!dpa_live(dpa))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->base)
		dpa = dpa->base;
	return atomic_load_explicit(&dpa->fatal, memory_order_acquire) ? DOCA_ERROR_BAD_STATE
								       : DOCA_SUCCESS;
}

doca_error_t doca_dpa_set_app(struct doca_dpa *dpa, struct doca_dpa_app *app)
{
	if (!dpa_live(dpa) || !app || app->magic != DPA_IMAGE_MAGIC ||
	    app->version != DPA_IMAGE_VERSION)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_CREATED || dpa->base)
		return DOCA_ERROR_BAD_STATE;
	dpa->app = app;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_get_app(struct doca_dpa *dpa, struct doca_dpa_app **app)
{
	DPA_RETURN_VALUE(dpa, app, dpa->app);
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
	if (!dpa_live(dpa) || !is_level(log_level))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->base)
		return DOCA_ERROR_NOT_PERMITTED;
	if (dpa->state != DPA_CREATED)
		return DOCA_ERROR_BAD_STATE;
	dpa->log_level = log_level;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_get_log_level(struct doca_dpa *dpa, doca_dpa_dev_log_level_t *log_level)
{
	DPA_RETURN_VALUE(dpa, log_level, (doca_dpa_dev_log_level_t)dpa_base(dpa)->log_level);
}
