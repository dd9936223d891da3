/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cuda.h - the part of the CUDA driver API that libdpa calls, found at run time.
 *
 * Names, numbers and types are those of the driver API's reference. If the process has functions of
 * these names already (a stand-in for the driver), they are used; else libcuda.so.1 is loaded.
 */
#ifndef DPA_GPU_CUDA_H
#define DPA_GPU_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef uint64_t CUdeviceptr;
typedef int CUdevice;
typedef int CUresult;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CU_POINTER_ATTRIBUTE_CONTEXT = 1,
	CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
	CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
	CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
	CU_MEMORYTYPE_DEVICE = 2,
	CU_MEMHOSTREGISTER_PORTABLE = 1,
	CU_MEMHOSTREGISTER_DEVICEMAP = 2,
	CU_STREAM_NON_BLOCKING = 1,
	CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1,
	CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
};

/*
 * CUmemcpyAttributes: how the copies of a batch read their sources. Locations are hints; none are
 * given.
 */
struct cu_batch_attr {
	int order;
	struct {
		int type, id;
	} src, dst;
	unsigned int flags;
};

struct dpa_cuda {
	CUresult (*init)(unsigned int flags);
	CUresult (*get_error_name)(CUresult error, const char **name);
	CUresult (*device_get)(CUdevice *device, int ordinal);
	CUresult (*device_by_pci)(CUdevice *device, const char *pci);
	CUresult (*retain)(CUcontext *ctx, CUdevice device);
	CUresult (*release)(CUdevice device);
	CUresult (*push)(CUcontext ctx);
	CUresult (*pop)(CUcontext *ctx);
	CUresult (*mem_alloc)(CUdeviceptr *ptr, size_t size);
	CUresult (*mem_free)(CUdeviceptr ptr);
	CUresult (*host_register)(void *ptr, size_t size, unsigned int flags);
	CUresult (*host_unregister)(void *ptr);
	CUresult (*host_pointer)(CUdeviceptr *ptr, void *host, unsigned int flags);
	CUresult (*attribute)(void *data, int attribute, CUdeviceptr ptr);
	CUresult (*range)(CUdeviceptr *base, size_t *size, CUdeviceptr ptr);
	CUresult (*to_device)(CUdeviceptr dst, const void *src, size_t n, CUstream stream);
	CUresult (*to_host)(void *dst, CUdeviceptr src, size_t n, CUstream stream);
	CUresult (*stream_create)(CUstream *stream, unsigned int flags);
	CUresult (*stream_destroy)(CUstream stream);
	CUresult (*stream_wait)(CUstream stream);
	/* may be NULL: older drivers lack them */
	CUresult (*range_handle)(void *handle, CUdeviceptr ptr, size_t size, int type,
				 unsigned long long flags);
	/* one of the two, or none: CUDA 13, 12.8 */
	CUresult (*batch)(CUdeviceptr *dst, CUdeviceptr *src, size_t *n, size_t count,
			  struct cu_batch_attr *attrs, size_t *attr_idx, size_t num_attrs,
			  CUstream stream);
	CUresult (*batch12)(CUdeviceptr *dst, CUdeviceptr *src, size_t *n, size_t count,
			    struct cu_batch_attr *attrs, size_t *attr_idx, size_t num_attrs,
			    size_t *fail_idx, CUstream stream);
};

/*
 * Return the driver, initialised; NULL: there is none, or it cannot be used (the log has the
 * reason). Any thread.
 */
const struct dpa_cuda *dpa_cuda(void);
/*
 * Return the driver if the process has it already. Loads nothing: NULL costs one look-up. Any
 * thread.
 */
const struct dpa_cuda *dpa_cuda_if_used(void);
/* Return the text of an error, which is static. */
const char *dpa_cuda_error(CUresult error);

#endif
