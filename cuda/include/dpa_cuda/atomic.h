/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * atomic.h - atomic functions (CUDA C++ Programming Guide, atomic functions).
 *
 * Each is atomic against all threads of the system, whatever its scope: _block, none (the device)
 * and _system are the same here. On many GPUs an atomic on host memory is not atomic against the
 * CPU. The order is relaxed, as in the guide.
 */
#ifndef DPA_CUDA_ATOMIC_H
#define DPA_CUDA_ATOMIC_H

#include "warp.h"

namespace dpa_cuda
{

/* Apply op(old) until no other thread interferes; return the old value. */
template <class T, class Op> inline T update(T *address, Op op)
{
	using word = std::conditional_t<sizeof(T) == 2, uint16_t,
					std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
	word *at = reinterpret_cast<word *>(address);
	word old = __atomic_load_n(at, __ATOMIC_RELAXED), value;

	do {
		value = (word)to_bits<T>(op(from_bits<T>(old)));
	} while (!__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return from_bits<T>(old);
}

} /* namespace dpa_cuda */

/* clang-format off */
#define DPA_CUDA_SCOPES(T, name, params, body) \
	static inline T name params body \
	static inline T name##_block params body \
	static inline T name##_system params body

#define DPA_CUDA_FETCH(T, name, fetch) \
	DPA_CUDA_SCOPES(T, name, (T *address, T value), { return fetch(address, value, __ATOMIC_RELAXED); })
#define DPA_CUDA_UPDATE(T, name, expression) \
	DPA_CUDA_SCOPES(T, name, (T *address, T value), \
			{ return dpa_cuda::update(address, [=](T old) -> T { return expression; }); })
#define DPA_CUDA_CAS(T) \
	DPA_CUDA_SCOPES(T, atomicCAS, (T *address, T compare, T value), { \
		__atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
		return compare; \
	})
#define DPA_CUDA_BITS(T) \
	DPA_CUDA_FETCH(T, atomicAnd, __atomic_fetch_and) \
	DPA_CUDA_FETCH(T, atomicOr, __atomic_fetch_or) \
	DPA_CUDA_FETCH(T, atomicXor, __atomic_fetch_xor)
#define DPA_CUDA_MINMAX(T) \
	DPA_CUDA_UPDATE(T, atomicMin, value < old ? value : old) \
	DPA_CUDA_UPDATE(T, atomicMax, value > old ? value : old)

DPA_CUDA_FETCH(int, atomicAdd, __atomic_fetch_add)
DPA_CUDA_FETCH(unsigned int, atomicAdd, __atomic_fetch_add)
DPA_CUDA_FETCH(unsigned long long int, atomicAdd, __atomic_fetch_add)
DPA_CUDA_UPDATE(float, atomicAdd, old + value)
DPA_CUDA_UPDATE(double, atomicAdd, old + value)
DPA_CUDA_FETCH(int, atomicSub, __atomic_fetch_sub)
DPA_CUDA_FETCH(unsigned int, atomicSub, __atomic_fetch_sub)
DPA_CUDA_FETCH(int, atomicExch, __atomic_exchange_n)
DPA_CUDA_FETCH(unsigned int, atomicExch, __atomic_exchange_n)
DPA_CUDA_FETCH(unsigned long long int, atomicExch, __atomic_exchange_n)
DPA_CUDA_UPDATE(float, atomicExch, value)
DPA_CUDA_MINMAX(int)
DPA_CUDA_MINMAX(unsigned int)
DPA_CUDA_MINMAX(long long int)
DPA_CUDA_MINMAX(unsigned long long int)
DPA_CUDA_UPDATE(unsigned int, atomicInc, old >= value ? 0 : old + 1)
DPA_CUDA_UPDATE(unsigned int, atomicDec, !old || old > value ? value : old - 1)
DPA_CUDA_BITS(int)
DPA_CUDA_BITS(unsigned int)
DPA_CUDA_BITS(unsigned long long int)
DPA_CUDA_CAS(int)
DPA_CUDA_CAS(unsigned int)
DPA_CUDA_CAS(unsigned long long int)
DPA_CUDA_CAS(unsigned short int)
/* clang-format on */

#endif
