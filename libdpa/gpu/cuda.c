/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cuda.c - look-up of the CUDA driver. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "../common/log/log.h"
#include "cuda.h"

#define DRIVER "libcuda.so.1"

static struct {
	pthread_mutex_t lock;
	bool tried, usable; /* tried: the look-up is done; usable: a driver was found */
	struct dpa_cuda api;
} found = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct cuda_symbol {
	const char *name;
	size_t offset;
	bool optional;
};

#define SYMBOL(name, member)                                                                       \
	{                                                                                          \
		name, offsetof(struct dpa_cuda, member), false                                     \
	}
#define OPTION(name, member)                                                                       \
	{                                                                                          \
		name, offsetof(struct dpa_cuda, member), true                                      \
	}
static const struct cuda_symbol symbols[] = {
	SYMBOL("cuInit", init),
	SYMBOL("cuGetErrorName", get_error_name),
	SYMBOL("cuDeviceGet", device_get),
	SYMBOL("cuDeviceGetByPCIBusId", device_by_pci),
	SYMBOL("cuDevicePrimaryCtxRetain", retain),
	SYMBOL("cuDevicePrimaryCtxRelease_v2", release),
	SYMBOL("cuCtxPushCurrent_v2", push),
	SYMBOL("cuCtxPopCurrent_v2", pop),
	SYMBOL("cuMemAlloc_v2", mem_alloc),
	SYMBOL("cuMemFree_v2", mem_free),
	SYMBOL("cuMemHostRegister_v2", host_register),
	SYMBOL("cuMemHostUnregister", host_unregister),
	SYMBOL("cuMemHostGetDevicePointer_v2", host_pointer),
	SYMBOL("cuPointerGetAttribute", attribute),
	SYMBOL("cuMemGetAddressRange_v2", range),
	SYMBOL("cuMemcpyHtoDAsync_v2", to_device),
	SYMBOL("cuMemcpyDtoHAsync_v2", to_host),
	SYMBOL("cuStreamCreate", stream_create),
	SYMBOL("cuStreamDestroy_v2", stream_destroy),
	SYMBOL("cuStreamSynchronize", stream_wait),
	OPTION("cuMemGetHandleForAddressRange", range_handle),
	OPTION("cuMemcpyBatchAsync_v2", batch),
	OPTION("cuMemcpyBatchAsync", batch12),
};

/* Find a symbol; a driver or a stand-in may lack the suffix of its name. */
static void *find_symbol(void *from, const char *name)
{
	void *p = dlsym(from, name);
	char plain[64];
	const char *end = strstr(name, "_v2");

	if (p || !end)
		return p;
	memcpy(plain, name, (size_t)(end - name));
	plain[end - name] = '\0';
	return strcmp(plain, "cuDevicePrimaryCtxRelease") ? NULL : dlsym(from, plain);
}

/* Find all symbols. NULL: found; else the name of a missing one. */
static const char *find_symbols(void *from, struct dpa_cuda *api)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *p = find_symbol(from, symbols[i].name);

		if (!p && !symbols[i].optional)
			return symbols[i].name;
		memcpy((char *)api + symbols[i].offset, &p, sizeof(p));
	}
	return NULL;
}

/*
 * Find the driver: first functions of the process itself. @load: also load a driver. False: none.
 * RTLD_DEFAULT is NULL with glibc, hence the second result.
 */
static bool open_driver(bool load, void **from)
{
	*from = RTLD_DEFAULT;
	if (dlsym(RTLD_DEFAULT, "cuInit"))
		return true;
	*from = dlopen(DRIVER, RTLD_NOW | (load ? 0 : RTLD_NOLOAD));
	return *from != NULL;
}

const char *dpa_cuda_error(CUresult error)
{
	const char *name = NULL;

	if (!found.api.get_error_name || found.api.get_error_name(error, &name) || !name)
		return "unknown CUDA error";
	return name;
}

/* Context: found.lock. */
static bool use_driver(void *from)
{
	const char *missing = find_symbols(from, &found.api);
	CUresult ret;

	if (missing) {
		DPA_LOG(DOCA_LOG_LEVEL_ERROR,
			"the CUDA driver has no %s: CUDA 11.7 is the oldest "
			"that is of use",
			missing);
		return false;
	}
	ret = found.api.init(0);
	if (ret)
		DPA_LOG(DOCA_LOG_LEVEL_ERROR, "the CUDA driver cannot be used: cuInit: %s",
			dpa_cuda_error(ret));
	return !ret;
}

static const struct dpa_cuda *find_cuda_driver(bool load)
{
	bool usable;
	void *from;

	pthread_mutex_lock(&found.lock);
	if (!found.tried) {
		found.tried = open_driver(load, &from);
		if (found.tried)
			found.usable = use_driver(from);
		else if (load)
			DPA_LOG(DOCA_LOG_LEVEL_WARNING, "no CUDA driver: %s", dlerror());
	}
	usable = found.usable;
	pthread_mutex_unlock(&found.lock);
	return usable ? &found.api : NULL;
}

const struct dpa_cuda *dpa_cuda(void)
{
	return find_cuda_driver(true);
}

const struct dpa_cuda *dpa_cuda_if_used(void)
{
	return find_cuda_driver(false);
}
