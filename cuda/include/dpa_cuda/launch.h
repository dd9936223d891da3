/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * launch.h - translation of kernels and of <<<>>> by dpa-nvcc.
 *
 *   __global__ void k(int *a, int n) { body }    void k(int *a, int n)
 *                                                { ::dpa_cuda::launch([=]() mutable -> void { body }); }
 *   k<<<grid, block>>>(a, n);                    (::dpa_cuda::config(grid, block), k(a, n));
 *
 * The call of the kernel is an ordinary call: the compiler handles overloads, templates, default
 * arguments and conversions.
 */
#ifndef DPA_CUDA_LAUNCH_H
#define DPA_CUDA_LAUNCH_H

#include <new>
#include <type_traits>
#include <utility>

#include "abi.h"

namespace dpa_cuda
{

inline void config(dim3 grid, dim3 block, size_t shared_mem = 0, cudaStream_t stream = nullptr)
{
	dpa_cuda_config(grid, block, shared_mem, stream);
}

template <class Body> struct body_of {
	static void copy(void *to, const void *from)
	{
		new (to) Body(*static_cast<const Body *>(from));
	}
	static void destroy(void *closure)
	{
		static_cast<Body *>(closure)->~Body();
	}
	/* Each thread has its own copies of the parameters. */
	static void call(const void *closure)
	{
		Body mine(*static_cast<const Body *>(closure));

		mine();
	}
	static constexpr dpa_cuda_body ops = {sizeof(Body), copy, destroy, call};
};

template <class Body> inline void launch(const Body &body)
{
	dpa_cuda_launch(&body_of<Body>::ops, &body);
}

/* Call the kernel by pointers to its arguments, for cudaLaunchKernel(). */
template <class... P> struct entry : dpa_cuda_entry {
	explicit entry(void (*kernel)(P...))
	{
		func = reinterpret_cast<const void *>(kernel);
		call = call_kernel;
		dpa_cuda_register(this);
	}
	template <size_t... I>
	static void call_with(void (*kernel)(P...), void **args, std::index_sequence<I...>)
	{
		(void)args;
		kernel(*static_cast<std::remove_reference_t<P> *>(args[I])...);
	}
	static void call_kernel(const void *kernel, void **args)
	{
		call_with(reinterpret_cast<void (*)(P...)>(const_cast<void *>(kernel)), args,
			  std::index_sequence_for<P...>());
	}
};
template <class... P> entry(void (*)(P...)) -> entry<P...>;

/* extern __shared__ T name[]: the dynamic shared memory of the block, of any type. */
struct dynamic_shared {
	template <class T> using array = T[];
	template <class T> operator array<T> &() const
	{
		return *static_cast<array<T> *>(dpa_cuda_dynamic_shared());
	}
};

} /* namespace dpa_cuda */

/* A kernel of any type, also of a template. */
template <class... P>
inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **args,
				    size_t shared_mem = 0, cudaStream_t stream = nullptr)
{
	::cudaError_t before = cudaGetLastError(), ret;

	dpa_cuda_config(grid, block, shared_mem, stream);
	dpa_cuda::entry<P...>::call_kernel(reinterpret_cast<const void *>(kernel), args);
	ret = cudaPeekAtLastError();
	return ret != cudaSuccess ? ret : before;
}

#endif
