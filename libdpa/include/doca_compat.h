/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_compat.h - marks of public functions.
 *
 * DOCA_STABLE is exported; DOCA_EXPERIMENTAL is exported and warns at each use unless the program
 * defines DOCA_ALLOW_EXPERIMENTAL_API, as with the original SDK. Device code (DOCA_DPA_DEVICE) is
 * never warned: a device image exports nothing.
 */
#ifndef DOCA_COMPAT_H_
#define DOCA_COMPAT_H_

#include <doca_build_config.h>

#if !defined(DOCA_DPA_DEVICE)
#include <assert.h> /* host programs rely on these four */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#endif

#define DOCA_STABLE __attribute__((visibility("default")))

#if defined(DOCA_ALLOW_EXPERIMENTAL_API) || defined(DOCA_DPA_DEVICE)
#define DOCA_EXPERIMENTAL __attribute__((visibility("default")))
#else
#define DOCA_EXPERIMENTAL                                                                          \
	__attribute__((deprecated("Symbol is defined as experimental"), visibility("default")))
#endif

#ifdef DOCA_ALLOW_DEPRECATED_API
#define DOCA_DEPRECATED __attribute__((visibility("default")))
#else
#define DOCA_DEPRECATED                                                                            \
	__attribute__((deprecated("Symbol is defined as deprecated"), visibility("default")))
#endif

#define doca_likely(x)	 __builtin_expect(!!(x), 1)
#define doca_unlikely(x) __builtin_expect(!!(x), 0)

/* Marks entries of a device program; nothing on the host. */
#if !defined(DOCA_DPA_DEVICE)
#ifndef __dpa_global__
#define __dpa_global__
#endif
#ifndef __dpa_rpc__
#define __dpa_rpc__
#endif
#endif

#endif /* DOCA_COMPAT_H_ */
