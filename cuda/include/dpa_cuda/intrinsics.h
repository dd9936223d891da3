/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * intrinsics.h - loads and stores with cache hints, integer and floating-point intrinsics (CUDA C++
 * Programming Guide; CUDA Math API). Hints have no meaning here. Fast variants of mathematical functions are
 * the exact ones.
 */
#ifndef DPA_CUDA_INTRINSICS_H
#define DPA_CUDA_INTRINSICS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warp.h"

/* clang-format off */
#define DPA_CUDA_LOAD(name) \
	template <class T> inline T name(const T *address) { return *address; }
#define DPA_CUDA_STORE(name) \
	template <class T> inline void name(T *address, T value) { *address = value; }
DPA_CUDA_LOAD(__ldg)
DPA_CUDA_LOAD(__ldca)
DPA_CUDA_LOAD(__ldcs)
DPA_CUDA_LOAD(__ldlu)
template <class T> inline T __ldcg(const T *address) { return *(const volatile T *)address; }
template <class T> inline T __ldcv(const T *address) { return *(const volatile T *)address; }
DPA_CUDA_STORE(__stwb)
DPA_CUDA_STORE(__stcg)
DPA_CUDA_STORE(__stcs)
template <class T> inline void __stwt(T *address, T value) { *(volatile T *)address = value; }
/* clang-format on */

static inline int __popc(unsigned int x)
{
	return __builtin_popcount(x);
}

static inline int __popcll(unsigned long long int x)
{
	return __builtin_popcountll(x);
}

static inline int __clz(int x)
{
	return x ? __builtin_clz((unsigned int)x) : 32;
}

static inline int __clzll(long long int x)
{
	return x ? __builtin_clzll((unsigned long long int)x) : 64;
}

static inline int __ffs(int x)
{
	return __builtin_ffs(x);
}

static inline int __ffsll(long long int x)
{
	return __builtin_ffsll(x);
}

static inline unsigned int __brev(unsigned int x)
{
	unsigned int r = 0;

	for (int i = 0; i < 32; i++)
		r |= (x >> i & 1) << (31 - i);
	return r;
}

static inline unsigned long long int __brevll(unsigned long long int x)
{
	return (unsigned long long int)__brev((unsigned int)x) << 32 |
	       __brev((unsigned int)(x >> 32));
}

/* Four of the eight bytes of y:x, each chosen by three bits of a digit of `selector`. */
static inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector)
{
	uint64_t bytes = (uint64_t)y << 32 | x;
	unsigned int r = 0;

	for (int i = 0; i < 4; i++)
		r |= (unsigned int)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
	return r;
}

static inline int __mulhi(int x, int y)
{
	return (int)((int64_t)x * y >> 32);
}

static inline unsigned int __umulhi(unsigned int x, unsigned int y)
{
	return (unsigned int)((uint64_t)x * y >> 32);
}

static inline unsigned long long int __umul64hi(unsigned long long int x, unsigned long long int y)
{
	return (unsigned long long int)((unsigned __int128)x * y >> 64);
}

static inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift)
{
	return (unsigned int)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}

static inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift)
{
	return (unsigned int)(((uint64_t)high << 32 | low) >> (shift & 31));
}

static inline int __float_as_int(float x)
{
	return (int)dpa_cuda::to_bits(x);
}

static inline unsigned int __float_as_uint(float x)
{
	return (unsigned int)dpa_cuda::to_bits(x);
}

static inline float __int_as_float(int x)
{
	return dpa_cuda::from_bits<float>((unsigned int)x);
}

static inline float __uint_as_float(unsigned int x)
{
	return dpa_cuda::from_bits<float>(x);
}

static inline long long int __double_as_longlong(double x)
{
	return (long long int)dpa_cuda::to_bits(x);
}

static inline double __longlong_as_double(long long int x)
{
	return dpa_cuda::from_bits<double>((uint64_t)x);
}

static inline float rsqrtf(float x)
{
	return 1.0f / sqrtf(x);
}

static inline double rsqrt(double x)
{
	return 1.0 / sqrt(x);
}

static inline float __fdividef(float x, float y)
{
	return x / y;
}

static inline float __saturatef(float x)
{
	return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;
}

/* clang-format off */
#define DPA_CUDA_MINMAX_OF(T) \
	static inline T min(T a, T b) { return b < a ? b : a; } \
	static inline T max(T a, T b) { return a < b ? b : a; }
DPA_CUDA_MINMAX_OF(int)
DPA_CUDA_MINMAX_OF(unsigned int)
DPA_CUDA_MINMAX_OF(long)
DPA_CUDA_MINMAX_OF(unsigned long)
DPA_CUDA_MINMAX_OF(long long)
DPA_CUDA_MINMAX_OF(unsigned long long)
/* clang-format on */

static inline unsigned int min(int a, unsigned int b)
{
	return min((unsigned int)a, b);
}

static inline unsigned int min(unsigned int a, int b)
{
	return min(a, (unsigned int)b);
}

static inline unsigned int max(int a, unsigned int b)
{
	return max((unsigned int)a, b);
}

static inline unsigned int max(unsigned int a, int b)
{
	return max(a, (unsigned int)b);
}

static inline float min(float a, float b)
{
	return fminf(a, b);
}

static inline float max(float a, float b)
{
	return fmaxf(a, b);
}

static inline double min(double a, double b)
{
	return fmin(a, b);
}

static inline double max(double a, double b)
{
	return fmax(a, b);
}

#endif
