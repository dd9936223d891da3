/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* warp.h - vote, match, reduce and shuffle functions (CUDA C++ Programming Guide, sections of these names). */
#ifndef DPA_CUDA_WARP_H
#define DPA_CUDA_WARP_H

#include <cstring>
#include <type_traits>

#include "abi.h"

namespace dpa_cuda
{

template <class T> inline uint64_t to_bits(T value)
{
	uint64_t bits = 0;

	static_assert(std::is_arithmetic<T>::value && sizeof(T) <= 8,
		      "int, long, float, double and their like");
	memcpy(&bits, &value, sizeof(value));
	return bits;
}

template <class T> inline T from_bits(uint64_t bits)
{
	T value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

template <class T> inline T shuffle(int op, unsigned int mask, T value, int arg, int width)
{
	return from_bits<T>(dpa_cuda_warp(op, mask, to_bits(value), arg, width).first);
}

inline unsigned int common(int op, unsigned int mask, uint64_t value)
{
	return (unsigned int)dpa_cuda_warp(op, mask, value, 0, 32).first;
}

} /* namespace dpa_cuda */

template <class T> inline T __shfl_sync(unsigned int mask, T value, int lane, int width = 32)
{
	return dpa_cuda::shuffle(DPA_CUDA_WARP_SHFL, mask, value, lane, width);
}

template <class T>
inline T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32)
{
	return dpa_cuda::shuffle(DPA_CUDA_WARP_SHFL_UP, mask, value, (int)delta, width);
}

template <class T>
inline T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32)
{
	return dpa_cuda::shuffle(DPA_CUDA_WARP_SHFL_DOWN, mask, value, (int)delta, width);
}

template <class T>
inline T __shfl_xor_sync(unsigned int mask, T value, int lane_mask, int width = 32)
{
	return dpa_cuda::shuffle(DPA_CUDA_WARP_SHFL_XOR, mask, value, lane_mask, width);
}

static inline unsigned int __ballot_sync(unsigned int mask, int predicate)
{
	return dpa_cuda::common(DPA_CUDA_WARP_BALLOT, mask, predicate != 0);
}

static inline int __all_sync(unsigned int mask, int predicate)
{
	return (int)dpa_cuda::common(DPA_CUDA_WARP_ALL, mask, predicate != 0);
}

static inline int __any_sync(unsigned int mask, int predicate)
{
	return (int)dpa_cuda::common(DPA_CUDA_WARP_ANY, mask, predicate != 0);
}

static inline int __uni_sync(unsigned int mask, int predicate)
{
	return (int)dpa_cuda::common(DPA_CUDA_WARP_UNI, mask, predicate != 0);
}

/* Threads do not run in lock step: each is its own group until it meets others by a mask. */
static inline unsigned int __activemask(void)
{
	return 1u << dpa_cuda_lane();
}

template <class T> inline unsigned int __match_any_sync(unsigned int mask, T value)
{
	return dpa_cuda::common(DPA_CUDA_WARP_MATCH_ANY, mask, dpa_cuda::to_bits(value));
}

template <class T> inline unsigned int __match_all_sync(unsigned int mask, T value, int *predicate)
{
	dpa_cuda_pair r =
		dpa_cuda_warp(DPA_CUDA_WARP_MATCH_ALL, mask, dpa_cuda::to_bits(value), 0, 32);

	*predicate = (int)r.second;
	return (unsigned int)r.first;
}

static inline unsigned int __reduce_add_sync(unsigned int mask, unsigned int value)
{
	return dpa_cuda::common(DPA_CUDA_WARP_ADD, mask, value);
}

static inline int __reduce_add_sync(unsigned int mask, int value)
{
	return (int)dpa_cuda::common(DPA_CUDA_WARP_ADD, mask, (unsigned int)value);
}

static inline unsigned int __reduce_min_sync(unsigned int mask, unsigned int value)
{
	return dpa_cuda::common(DPA_CUDA_WARP_MIN, mask, value);
}

static inline int __reduce_min_sync(unsigned int mask, int value)
{
	return (int)dpa_cuda::common(DPA_CUDA_WARP_MIN_SIGNED, mask, (unsigned int)value);
}

static inline unsigned int __reduce_max_sync(unsigned int mask, unsigned int value)
{
	return dpa_cuda::common(DPA_CUDA_WARP_MAX, mask, value);
}

static inline int __reduce_max_sync(unsigned int mask, int value)
{
	return (int)dpa_cuda::common(DPA_CUDA_WARP_MAX_SIGNED, mask, (unsigned int)value);
}

static inline unsigned int __reduce_and_sync(unsigned int mask, unsigned int value)
{
	return dpa_cuda::common(DPA_CUDA_WARP_AND, mask, value);
}

static inline unsigned int __reduce_or_sync(unsigned int mask, unsigned int value)
{
	return dpa_cuda::common(DPA_CUDA_WARP_OR, mask, value);
}

static inline unsigned int __reduce_xor_sync(unsigned int mask, unsigned int value)
{
	return dpa_cuda::common(DPA_CUDA_WARP_XOR, mask, value);
}

#endif
