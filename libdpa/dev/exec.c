/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* exec.c - the device library's calls for placement of code, and for its trace. */
#include <doca_dpa_dev.h>
#include <dpa/dpa_image.h>

extern const struct dpa_dev_ops *__dpa_ops;

void doca_dpa_dev_device_set(doca_dpa_dev_t dpa_handle)
{
	__dpa_ops->device_set(dpa_handle);
}

unsigned int doca_dpa_dev_thread_rank(void)
{
	return __dpa_ops->thread_rank();
}

unsigned int doca_dpa_dev_num_threads(void)
{
	return __dpa_ops->num_threads();
}

void doca_dpa_dev_yield(void)
{
	__dpa_ops->yield();
}

void doca_dpa_dev_trace(uint64_t arg1, uint64_t arg2, uint64_t arg3, uint64_t arg4, uint64_t arg5)
{
	uint64_t words[5] = {arg1, arg2, arg3, arg4, arg5};

	__dpa_ops->trace(words);
}

void doca_dpa_dev_trace_flush(void)
{
	__dpa_ops->trace_flush();
}
