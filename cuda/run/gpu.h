/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gpu.h - the stand-in's device: its state, errors, limits.
 *
 * Results of internal functions are numbers of cudaError_t. The driver API translates those few
 * that it does not have.
 */
#ifndef DPA_CUDA_RUN_GPU_H
#define DPA_CUDA_RUN_GPU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../include/driver_types.h"

#define DPA_GPU_API __attribute__((visibility("default")))

enum {
	DPA_GPU_WARP = 32,
	DPA_GPU_BLOCK_THREADS = 1024, /* threads of a block */
	DPA_GPU_SMS = 8,
	DPA_GPU_SM_THREADS = 1024, /* resident threads of a multiprocessor */
	DPA_GPU_SM_BLOCKS = 16,	   /* resident blocks of a multiprocessor */
	DPA_GPU_THREADS = DPA_GPU_SMS * DPA_GPU_SM_THREADS,
	DPA_GPU_BLOCKS = DPA_GPU_SMS * DPA_GPU_SM_BLOCKS,
	DPA_GPU_SHARED = 48 * 1024,	   /* shared memory of a block */
	DPA_GPU_SHARED_OPTIN = 160 * 1024, /* after cudaFuncSetAttribute() */
	DPA_GPU_MAJOR = 7,
	DPA_GPU_MINOR = 0,
	DPA_GPU_VERSION = 12080, /* of CUDA, for cudaDriverGetVersion() and others */
};

struct gpu {
	pthread_mutex_t lock; /* streams, operations, events; residency of blocks */
	pthread_cond_t cond;  /* an operation has ended, a stream has work, a block has ended */
	/*
	 * 0, or the error that a kernel left. Writer: the thread of a block, or cudaDeviceReset().
	 * Any thread reads it.
	 */
	_Atomic int sticky;
	bool forked; /* in a child: the device is not available */
};

extern struct gpu gpu;

/* Set up the device at the first call. Result: 0, the sticky error, or that of a forked child. */
int gpu_enter(void);
/* Do the same without the sticky error, for calls that work in spite of it. */
int gpu_start(void);
/* Do the same for the driver API, which makes no context current. */
int gpu_enter_driver(void);
/* Return whether the runtime API was used: by any thread, by this thread. */
bool gpu_used(void);
bool gpu_used_by_thread(void);
/* Record a kernel's fault; the first one stays. Any thread, signal handlers too. */
void gpu_fault(int error);
/* Store `error` as the calling thread's last error if it is one. Returns it. */
cudaError_t gpu_last(int error);
int gpu_take_last(bool clear);

/* Return CLOCK_MONOTONIC in nanoseconds. */
uint64_t gpu_now(void);
/* PCI address of the device: the setting DPACUDA_PCI. */
struct gpu_pci {
	unsigned int domain, bus, device;
};
struct gpu_pci gpu_pci(void);
/* Get the device's attribute by the driver's number; false if there is none of that number. */
bool gpu_attribute(int number, int *value);
/* Return whether "dddd:bb:dd.f" or "bb:dd.f" is the device. */
bool gpu_pci_is(const char *text);

#endif
