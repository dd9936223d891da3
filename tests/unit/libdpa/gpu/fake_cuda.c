/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "fake_cuda.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CU(name) __attribute__((visibility("default"))) int name

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, TWICE = 712, MAX = 256 };

struct span {
	uintptr_t start;
	size_t size;
};

static struct {
	pthread_mutex_t lock;
	struct span mem[MAX], reg[MAX];
	int held, fail;
	atomic_bool no_copies;
	atomic_int flying, behind, waited_for; /* copies in flight; failures */
	atomic_bool behind_now;
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER, .fail = -1};
static __thread int pushed;

static int count(const struct span *s)
{
	int n = 0;

	for (int i = 0; i < MAX; i++)
		n += s[i].size != 0;
	return n;
}

int fake_cuda_allocs(void)
{
	return count(gpu.mem);
}

int fake_cuda_registrations(void)
{
	return count(gpu.reg);
}

int fake_cuda_contexts(void)
{
	return gpu.held;
}

int fake_cuda_pushed(void)
{
	return pushed;
}

void fake_cuda_fail_after(int n)
{
	gpu.fail = n;
}

void fake_cuda_fail_copies(bool fail)
{
	atomic_store(&gpu.no_copies, fail);
}

int fake_cuda_failed_behind(void)
{
	return atomic_load(&gpu.behind);
}

int fake_cuda_waited_for(void)
{
	return atomic_load(&gpu.waited_for);
}

static bool is_shared(const struct span *s)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	bool shared = false;
	char line[512], mode[8];

	while (f && !shared && fgets(line, sizeof(line), f))
		shared = sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 && mode[3] == 's' &&
			 start <= s->start && s->start + s->size <= end;
	if (f)
		fclose(f);
	return shared;
}

bool fake_cuda_stays(void)
{
	for (int i = 0; i < MAX; i++)
		if (gpu.reg[i].size && !is_shared(&gpu.reg[i]))
			return false;
	return true;
}

static bool fails(void)
{
	return gpu.fail >= 0 && gpu.fail-- == 0;
}

static struct span *find(struct span *s, uintptr_t at, size_t size)
{
	for (int i = 0; i < MAX; i++)
		if (s[i].size && at < s[i].start + s[i].size && s[i].start < at + size)
			return &s[i];
	return NULL;
}

static int add(struct span *s, uintptr_t at, size_t size)
{
	for (int i = 0; i < MAX; i++)
		if (!s[i].size) {
			s[i] = (struct span){at, size};
			return OK;
		}
	return NO_MEMORY;
}

bool fake_cuda_knows(const void *addr, size_t length)
{
	uintptr_t at = (uintptr_t)addr, end = at + length;

	pthread_mutex_lock(&gpu.lock);
	while (at < end) {
		const struct span *s = find(gpu.reg, at, 1);

		if (!s)
			break;
		at = s->start + s->size;
	}
	pthread_mutex_unlock(&gpu.lock);
	return at >= end;
}

int cuInit(unsigned int flags);
CU(cuInit)(unsigned int flags)
{
	return flags ? INVALID : OK;
}

int cuGetErrorName(int error, const char **name);
CU(cuGetErrorName)(int error, const char **name)
{
	*name = "CUDA_ERROR_FAKE";
	return OK;
}

int cuDeviceGet(int *device, int ordinal);
CU(cuDeviceGet)(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal ? INVALID : OK;
}

int cuDeviceGetByPCIBusId(int *device, const char *pci);
CU(cuDeviceGetByPCIBusId)(int *device, const char *pci)
{
	*device = 0;
	return strcmp(pci, "17:00.0") ? INVALID : OK;
}

int cuDevicePrimaryCtxRetain(void **ctx, int device);
CU(cuDevicePrimaryCtxRetain)(void **ctx, int device)
{
	gpu.held++;
	*ctx = &gpu;
	return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device);
CU(cuDevicePrimaryCtxRelease_v2)(int device)
{
	gpu.held--;
	return OK;
}

int cuCtxPushCurrent_v2(void *ctx);
CU(cuCtxPushCurrent_v2)(void *ctx)
{
	pushed++;
	return ctx == &gpu ? OK : INVALID;
}

int cuCtxPopCurrent_v2(void **ctx);
CU(cuCtxPopCurrent_v2)(void **ctx)
{
	pushed--;
	*ctx = &gpu;
	return OK;
}

int cuMemAlloc_v2(uint64_t *ptr, size_t size);
CU(cuMemAlloc_v2)(uint64_t *ptr, size_t size)
{
	void *p;
	int ret;

	if (!pushed)
		return INVALID;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NO_MEMORY;
	pthread_mutex_lock(&gpu.lock);
	ret = fails() ? NO_MEMORY : add(gpu.mem, (uintptr_t)p, size);
	pthread_mutex_unlock(&gpu.lock);
	*ptr = (uintptr_t)p;
	if (ret)
		munmap(p, size);
	return ret;
}

int cuMemFree_v2(uint64_t ptr);
CU(cuMemFree_v2)(uint64_t ptr)
{
	struct span *s;

	pthread_mutex_lock(&gpu.lock);
	s = find(gpu.mem, ptr, 1);
	if (s && s->start == ptr) {
		munmap((void *)(uintptr_t)ptr, s->size);
		s->size = 0;
	}
	pthread_mutex_unlock(&gpu.lock);
	return s ? OK : INVALID;
}

int cuMemHostRegister_v2(void *p, size_t size, unsigned int flags);
CU(cuMemHostRegister_v2)(void *p, size_t size, unsigned int flags)
{
	int ret;

	pthread_mutex_lock(&gpu.lock);
	if (!pushed || fails())
		ret = INVALID;
	else
		ret = find(gpu.reg, (uintptr_t)p, size) ? TWICE : add(gpu.reg, (uintptr_t)p, size);
	pthread_mutex_unlock(&gpu.lock);
	return ret;
}

int cuMemHostUnregister(void *p);
CU(cuMemHostUnregister)(void *p)
{
	struct span *s;

	pthread_mutex_lock(&gpu.lock);
	s = find(gpu.reg, (uintptr_t)p, 1);
	if (s && s->start == (uintptr_t)p)
		s->size = 0;
	pthread_mutex_unlock(&gpu.lock);
	return s ? OK : INVALID;
}

int cuMemHostGetDevicePointer_v2(uint64_t *ptr, void *host, unsigned int flags);
CU(cuMemHostGetDevicePointer_v2)(uint64_t *ptr, void *host, unsigned int flags)
{
	*ptr = (uintptr_t)host;
	return OK;
}

int cuPointerGetAttribute(void *data, int attribute, uint64_t ptr);
CU(cuPointerGetAttribute)(void *data, int attribute, uint64_t ptr)
{
	struct span *s;

	pthread_mutex_lock(&gpu.lock);
	s = find(gpu.mem, ptr, 1);
	pthread_mutex_unlock(&gpu.lock);
	if (!s)
		return INVALID;
	*(unsigned int *)data = attribute == 2 ? 2 : 0;
	return OK;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t ptr);
CU(cuMemGetAddressRange_v2)(uint64_t *base, size_t *size, uint64_t ptr)
{
	struct span *s;

	pthread_mutex_lock(&gpu.lock);
	s = find(gpu.mem, ptr, 1);
	if (s) {
		*base = s->start;
		*size = s->size;
	}
	pthread_mutex_unlock(&gpu.lock);
	return s ? OK : INVALID;
}

static int copy(void *dst, const void *src, size_t n)
{
	atomic_store(&gpu.behind_now, false); /* no caller has waited */
	if (!pushed || fails() || atomic_load(&gpu.no_copies)) {
		if (atomic_load(&gpu.flying) && !atomic_exchange(&gpu.behind_now, true))
			atomic_fetch_add(&gpu.behind, 1);
		return INVALID;
	}
	atomic_fetch_add(&gpu.flying, 1);
	memcpy(dst, src, n);
	return OK;
}

int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t n, void *stream);
CU(cuMemcpyHtoDAsync_v2)(uint64_t dst, const void *src, size_t n, void *stream)
{
	return copy((void *)(uintptr_t)dst, src, n);
}

int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t n, void *stream);
CU(cuMemcpyDtoHAsync_v2)(void *dst, uint64_t src, size_t n, void *stream)
{
	return copy(dst, (const void *)(uintptr_t)src, n);
}

int cuStreamCreate(void **stream, unsigned int flags);
CU(cuStreamCreate)(void **stream, unsigned int flags)
{
	*stream = &gpu;
	return OK;
}

int cuStreamDestroy_v2(void *stream);
CU(cuStreamDestroy_v2)(void *stream)
{
	return OK;
}

int cuStreamSynchronize(void *stream);
CU(cuStreamSynchronize)(void *stream)
{
	atomic_store(&gpu.flying, 0);
	if (atomic_exchange(&gpu.behind_now, false))
		atomic_fetch_add(&gpu.waited_for, 1);
	return OK;
}
