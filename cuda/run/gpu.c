/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* gpu.c - the device's state, errors and attributes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "block.h"
#include "gpu.h"
#include "stream.h"

struct gpu gpu = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static __thread int last_error;
static __thread bool used_by_thread; /* this thread used the runtime API */
static _Atomic bool used;

static void in_child(void)
{
	gpu.forked = true;
}

static void init_gpu(void)
{
	pthread_atfork(NULL, NULL, in_child);
	fault_install();
}

int gpu_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (gpu.forked)
		return cudaErrorInitializationError;
	if (gpu_thread() || stream_in_host_function())
		return cudaErrorNotPermitted;
	pthread_once(&once, init_gpu);
	return cudaSuccess;
}

int gpu_enter_driver(void)
{
	int ret = gpu_start();

	return ret ? ret : atomic_load_explicit(&gpu.sticky, memory_order_acquire);
}

int gpu_enter(void)
{
	int ret = gpu_enter_driver();

	if (!ret && !used_by_thread) {
		used_by_thread = true;
		atomic_store_explicit(&used, true, memory_order_relaxed);
	}
	return ret;
}

bool gpu_used(void)
{
	return atomic_load_explicit(&used, memory_order_relaxed);
}

bool gpu_used_by_thread(void)
{
	return used_by_thread;
}

void gpu_fault(int error)
{
	int none = 0;

	atomic_compare_exchange_strong_explicit(&gpu.sticky, &none, error, memory_order_release,
						memory_order_relaxed);
}

cudaError_t gpu_last(int error)
{
	/* not an error: an operation is not done yet */
	if (error && error != cudaErrorNotReady)
		last_error = error;
	return (cudaError_t)error;
}

int gpu_take_last(bool clear)
{
	int sticky = atomic_load_explicit(&gpu.sticky, memory_order_acquire);
	int error = sticky ? sticky : last_error;

	if (clear)
		last_error = cudaSuccess;
	return error;
}

uint64_t gpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Parse "dddd:bb:dd.f" or "bb:dd.f", hexadecimal. */
static bool pci_parse(const char *text, struct gpu_pci *pci)
{
	unsigned int function;
	int end = 0;

	if (sscanf(text, "%x:%x:%x.%x%n", &pci->domain, &pci->bus, &pci->device, &function, &end) ==
		    4 &&
	    !text[end])
		return !function && pci->domain <= 0xffff && pci->bus <= 0xff &&
		       pci->device <= 0x1f;
	end = 0;
	pci->domain = 0;
	return sscanf(text, "%x:%x.%x%n", &pci->bus, &pci->device, &function, &end) == 3 &&
	       !text[end] && !function && pci->bus <= 0xff && pci->device <= 0x1f;
}

struct gpu_pci gpu_pci(void)
{
	const char *v = getenv("DPACUDA_PCI");
	struct gpu_pci pci;

	if (v && pci_parse(v, &pci))
		return pci;
	return (struct gpu_pci){.domain = 0xda00};
}

bool gpu_pci_is(const char *text)
{
	struct gpu_pci own = gpu_pci(), pci;

	return pci_parse(text, &pci) && pci.domain == own.domain && pci.bus == own.bus &&
	       pci.device == own.device;
}

/* Numbers of CUdevice_attribute and cudaDeviceAttr: they are the same. */
static const struct {
	int number, value;
} attributes[] = {
	{1, DPA_GPU_BLOCK_THREADS}, /* threads of a block; its three sizes; the grid's three */
	{2, DPA_GPU_BLOCK_THREADS},
	{3, DPA_GPU_BLOCK_THREADS},
	{4, 64},
	{5, 0x7fffffff},
	{6, 65535},
	{7, 65535},
	{8, DPA_GPU_SHARED},
	{9, 65536},
	{10, DPA_GPU_WARP},
	{11, 0x7fffffff}, /* pitch of a copy */
	{12, 65536},	  /* registers: no such limit here */
	{13, 1000000},	  /* kHz: clock64() counts nanoseconds */
	{14, 512},	  /* alignment of a texture */
	{15, 1},	  /* copies while kernels run */
	{16, DPA_GPU_SMS},
	{17, 0},       /* no limit of a kernel's run time */
	{18, 0},       /* not integrated */
	{19, 1},       /* host memory can be mapped */
	{20, 0},       /* compute mode */
	{31, 1},       /* kernels at the same time */
	{32, 0},       /* ECC */
	{35, 0},       /* TCC */
	{36, 1000000}, /* kHz of the memory */
	{37, 64},      /* bits of its bus */
	{38, 1 << 20}, /* level 2 cache */
	{39, DPA_GPU_SM_THREADS},
	{40, 2}, /* copy engines */
	{41, 1}, /* unified addressing */
	{75, DPA_GPU_MAJOR},
	{76, DPA_GPU_MINOR},
	{78, 0}, /* priorities of streams */
	{81, DPA_GPU_SHARED_OPTIN},
	{82, 65536}, /* registers of a multiprocessor */
	{83, 1},     /* managed memory */
	{84, 0},     /* a second GPU on the board */
	{86, 1},     /* atomics of host and device on the same word */
	{88, 0},     /* memory that was not registered: works, but must not be relied on */
	{89, 1},     /* managed memory from both sides at a time */
	{91, 1},     /* host pointer of registered memory as device pointer */
	{95, 0},     /* cooperative launch */
	{97, DPA_GPU_SHARED_OPTIN},
	{99, 1},  /* host memory can be registered */
	{102, 0}, /* virtual memory management */
	{103, 0}, /* its handles as descriptors */
	{106, DPA_GPU_SM_BLOCKS},
	{110, 0}, /* RDMA on memory of virtual memory management */
	{115, 0}, /* memory pools */
	{116, 0}, /* memory of the GPU as a PCI device: no mapping exists */
	{117, 0}, /* how to flush for RDMA */
	{118, 0}, /* ordering of RDMA's writes */
	{124, 0}, /* dma-buf */
};

bool gpu_attribute(int number, int *value)
{
	struct gpu_pci pci = gpu_pci();

	switch (number) {
	case cudaDevAttrPciBusId:
		*value = (int)pci.bus;
		return true;
	case cudaDevAttrPciDeviceId:
		*value = (int)pci.device;
		return true;
	case cudaDevAttrPciDomainId:
		*value = (int)pci.domain;
		return true;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (attributes[i].number == number) {
			*value = attributes[i].value;
			return true;
		}
	return false;
}
