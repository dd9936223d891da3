/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa.c - the provider for libibverbs: the driver and its contexts. The verbs are in control/ops.c.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <knobs.h>
#include "dpa.h"
#include "cma/cma.h"
#include <rdma/ib_user_ioctl_verbs.h> /* after the library's own headers, which change it */
#include "control/control.h"
#include "discovery/match.h"
#include "redirect/redirect.h"
#include "redirect/fds.h"

/* The settings are invalid, but the destination of the message may still be known. */
static void log_bad_config(const char *err)
{
	const char *file = secure_getenv("DPA_LOG_FILE");

	if (file && file[0] == '/')
		dpa_log_setup(file, DPA_LOG_ERR);
	dpa_log_line(DPA_LOG_ERR, err);
}

static int load_context_config(struct dpa_context *ctx)
{
	struct dpa_config cfg;
	char err[512] = "";
	int ret = dpa_config_load(&cfg, err, sizeof(err));

	if (ret) {
		log_bad_config(err);
		return ret;
	}
	dpa_log_setup(cfg.log_file, (int)cfg.log);
	dpa_hw_inject_record(cfg.inject_calls);
	dpa_hw_inject_begin(&cfg.inject, dpa_log_line);
	ctx->blueflame = cfg.blueflame;
	return cfg.disable ? ENODEV : 0;
}

static int open_context_hw(struct dpa_context *ctx, const struct dpa_context *of)
{
	struct dpa_hw_open_attr attr = {
		.hw_version = DPA_HW_VERSION,
		.function = (uint32_t)dpa_function_of(ctx->vctx.context.device->name),
		.event = dpa_async_event,
		.event_arg = ctx->async,
		.log = dpa_log_line,
	};
	int ret = of ? dpa_hw_open_again(of->hw, &attr, &ctx->hw) : dpa_hw_open(&attr, &ctx->hw);

	if (ret)
		return ret;
	ctx->alive = dpa_hw_alive(ctx->hw);
	ret = dpa_hw_query_device(ctx->hw, &ctx->dev);
	if (ret)
		dpa_hw_close(ctx->hw);
	return ret;
}

/* Owns cmd_fd: verbs_init_and_alloc_context() closes it when it fails, verbs_uninit_context()
 * later. */
struct verbs_context *dpa_open_context(struct ibv_device *device, int cmd_fd,
				       const struct dpa_context *of)
{
	struct dpa_context *ctx;
	int ret;

	dpa_redirect_install();
	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx, RDMA_DRIVER_UNKNOWN);
	if (!ctx)
		return NULL;
	ret = load_context_config(ctx);
	if (!ret && dpa_hw_injecting(DPA_INJECT_CALL))
		ret = dpav_injected("open_device", 0, 0, DPA_INJECT_ANY);
	if (!ret && dpa_hw_inject_gone())
		ret = ENODEV;
	if (ret)
		goto err_config;
	pthread_mutex_init(&ctx->channels_lock, NULL);
	ctx->async = dpa_async_create(ctx);
	if (!ctx->async) {
		ret = errno;
		goto err_config;
	}
	ctx->vctx.context.async_fd = dpa_async_fd(ctx->async);
	ret = open_context_hw(ctx, of);
	if (ret)
		goto err_hw;
	ret = dpa_fd_add(cmd_fd, &dpa_fd_cmd, ctx);
	if (ret)
		goto err_fd;
	dpa_arena_init(&ctx->arena, ctx->hw);
	dpav_handles_init(&ctx->handles);
	/* atomically: several threads may open the device at the same time */
	__atomic_fetch_or(&verbs_get_device(device)->core_support,
			  IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS, __ATOMIC_RELAXED);
	ctx->vctx.context.num_comp_vectors = DPA_COMP_VECTORS;
	cma_watch();
	verbs_set_ops(&ctx->vctx, &dpa_ctx_ops);
	return verbs_lib_context(&ctx->vctx);

err_fd:
	dpa_hw_close(ctx->hw);
err_hw:
	dpa_async_destroy(ctx->async);
err_config:
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	errno = ret;
	return NULL;
}

static struct verbs_context *dpa_alloc_context(struct ibv_device *device, int cmd_fd, void *arg)
{
	return dpa_open_context(device, cmd_fd, NULL);
}

void dpa_free_context(struct ibv_context *context)
{
	struct dpa_context *ctx = to_dpa_ctx(context);

	if (dpa_alive(context)) {
		dpa_hw_destroy_qps(ctx->hw); /* the device reads their queues */
		dpa_arena_fini(&ctx->arena);
		dpa_hw_close(ctx->hw);
	}
	dpav_handles_fini(&ctx->handles);
	dpa_channels_leave(ctx);
	dpa_async_destroy(ctx->async);
	dpa_fd_remove(context->cmd_fd);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

/*
 * The node GUID is computed for the namespace: the file of the static tree is the same everywhere.
 */
static struct verbs_device *dpa_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	int function = dpa_function_of(sysfs_dev->ibdev_name);

	sysfs_dev->node_guid = be64toh(dpa_hw_node_guid((uint32_t)function));
	sysfs_dev->flags |= VSYSFS_READ_NODE_GUID;
	return calloc(1, sizeof(struct verbs_device));
}

static void dpa_uninit_device(struct verbs_device *device)
{
	free(device);
}

/*
 * Empty but present: for a device that the kernel names by netlink, libibverbs reads every driver's
 * table without checking that it has one.
 */
static const struct verbs_match_ent dpa_match_table[] = {{.kind = VERBS_MATCH_SENTINEL}};

const struct verbs_device_ops dpa_dev_ops = {
	.name = "dpa",
	.match_table = dpa_match_table,
	.match_min_abi_version = 0,
	.match_max_abi_version = INT32_MAX,
	.match_device = dpa_match_device,
	.alloc_context = dpa_alloc_context,
	.import_context = dpa_import_context,
	.alloc_device = dpa_alloc_device,
	.uninit_device = dpa_uninit_device,
};

PROVIDER_DRIVER(dpa, dpa_dev_ops);
