/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vector_functions.h - make_int2() and the like. */
#ifndef DPA_CUDA_VECTOR_FUNCTIONS_H
#define DPA_CUDA_VECTOR_FUNCTIONS_H

#include "vector_types.h"

/* make_NAME1() to make_NAME4() of the vectors of an element type. */
#define DPA_CUDA_MAKE(name, type)                                                                  \
	static inline name##1 make_##name##1(type x)                                               \
	{                                                                                          \
		name##1 v = {x};                                                                   \
                                                                                                   \
		return v;                                                                          \
	}                                                                                          \
	static inline name##2 make_##name##2(type x, type y)                                       \
	{                                                                                          \
		name##2 v = {x, y};                                                                \
                                                                                                   \
		return v;                                                                          \
	}                                                                                          \
	static inline name##3 make_##name##3(type x, type y, type z)                               \
	{                                                                                          \
		name##3 v = {x, y, z};                                                             \
                                                                                                   \
		return v;                                                                          \
	}                                                                                          \
	static inline name##4 make_##name##4(type x, type y, type z, type w)                       \
	{                                                                                          \
		name##4 v = {x, y, z, w};                                                          \
                                                                                                   \
		return v;                                                                          \
	}

DPA_CUDA_MAKE(char, signed char)
DPA_CUDA_MAKE(uchar, unsigned char)
DPA_CUDA_MAKE(short, short)
DPA_CUDA_MAKE(ushort, unsigned short)
DPA_CUDA_MAKE(int, int)
DPA_CUDA_MAKE(uint, unsigned int)
DPA_CUDA_MAKE(long, long)
DPA_CUDA_MAKE(ulong, unsigned long)
DPA_CUDA_MAKE(longlong, long long)
DPA_CUDA_MAKE(ulonglong, unsigned long long)
DPA_CUDA_MAKE(float, float)
DPA_CUDA_MAKE(double, double)
#undef DPA_CUDA_MAKE

#endif
