/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake_ibverbs.c - a small libibverbs with private ABI number FAKE_PABI. A provider for a number
 * that is not the installed one is linked against it, and tests load it. It has the library calls
 * that the provider makes and records their arguments, in the layout of that number, which is
 * defined here and not taken from the provider's driver.h. FAKE_LATE: rdma-core 62 or 63 under
 * number 59.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include "fake_ibverbs.h"

/* Public structures contain a mutex: 40 bytes on x86-64, 48 on aarch64. */
#define MORE (sizeof(pthread_mutex_t) - 40)
#if FAKE_PABI < 59
#define CONTEXT_SIZE (648 + MORE)
#elif FAKE_PABI == 59
#define CONTEXT_SIZE ((FAKE_LATE ? 680 : 672) + MORE)
#else
#define CONTEXT_SIZE (696 + MORE)
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

__attribute__((visibility("default"))) struct fake_ibverbs fake_ibverbs = {
	.pabi = FAKE_PABI,
	.late = FAKE_LATE,
	.context_size = CONTEXT_SIZE,
};

/*
 * All of it except the library's front is at its place in the public header, counted from the end.
 */
static struct verbs_context *public_part(char *lib_ctx)
{
	return (struct verbs_context *)(lib_ctx + CONTEXT_SIZE - sizeof(struct verbs_context));
}

void PASTE(verbs_register_driver_, FAKE_PABI)(const void *ops);
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd, size_t size,
				    uintptr_t offset, uint32_t driver_id);
void verbs_set_ops(char *lib_ctx, const void *ops);
void verbs_uninit_context(char *lib_ctx);
void verbs_init_cq(struct ibv_cq *cq, struct ibv_context *context, struct ibv_comp_channel *channel,
		   void *cq_context);
void __verbs_log(void *ctx, uint32_t level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void PASTE(verbs_register_driver_, FAKE_PABI)(const void *ops)
{
	fake_ibverbs.driver = ops;
	fake_ibverbs.registered++;
}

void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd, size_t size,
				    uintptr_t offset, uint32_t driver_id)
{
	char *obj = offset + CONTEXT_SIZE <= size ? calloc(1, size) : NULL;
	struct verbs_context *vctx;

	if (!obj) {
		close(cmd_fd);
		errno = ENOMEM;
		return NULL;
	}
	fake_ibverbs.lib_context = obj + offset;
	memset(obj + offset, FAKE_FRONT, FAKE_FRONT_SIZE(CONTEXT_SIZE));
	vctx = public_part(obj + offset);
	vctx->sz = CONTEXT_SIZE;
	vctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	vctx->context.device = device;
	vctx->context.cmd_fd = cmd_fd;
	vctx->context.async_fd = -1;
	pthread_mutex_init(&vctx->context.mutex, NULL);
	return obj;
}

void verbs_set_ops(char *lib_ctx, const void *ops)
{
	fake_ibverbs.set_ops_context = lib_ctx;
	memcpy(fake_ibverbs.ops, ops,
	       fake_num_ops(FAKE_PABI, FAKE_LATE) * sizeof(fake_ibverbs.ops[0]));
}

void verbs_uninit_context(char *lib_ctx)
{
	struct ibv_context *c = &public_part(lib_ctx)->context;

	fake_ibverbs.uninit_context = lib_ctx;
	if (c->async_fd != -1)
		close(c->async_fd);
	close(c->cmd_fd);
}

void verbs_init_cq(struct ibv_cq *cq, struct ibv_context *context, struct ibv_comp_channel *channel,
		   void *cq_context)
{
	cq->context = context;
	cq->channel = channel;
	cq->cq_context = cq_context;
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
}

void __verbs_log(void *ctx, uint32_t level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
}

#if FAKE_PABI > 59 || FAKE_LATE
/* The symbol by which rdma-core 62 differs from 61. */
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	return -1;
}
#endif
