/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* doca_version.h - version of the DOCA API: that of DPA_DOCA_API (doca_build_config.h). */
#ifndef DOCA_VERSION_H_
#define DOCA_VERSION_H_

#include <stddef.h>

#include <doca_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

#if DPA_DOCA_API == 303
#define DOCA_VERSION_MAJOR  3
#define DOCA_VERSION_MINOR  3
#define DOCA_VERSION_PATCH  0
#define DOCA_VERSION_STRING "3.3.0"
#else
#define DOCA_VERSION_MAJOR  2
#define DOCA_VERSION_MINOR  10
#define DOCA_VERSION_PATCH  87
#define DOCA_VERSION_STRING "2.10.0087"
#endif

/* Return a version as a number that orders as versions do. */
#define DOCA_VERSION_CALC_EXACT(major, minor, patch)                                               \
	((size_t)(((size_t)(major) << 24) | ((size_t)(minor) << 16) | (size_t)(patch)))
/* Return the same for a patch number as releases count it, in thousands. */
#define DOCA_VERSION_CALC(major, minor, patch) DOCA_VERSION_CALC_EXACT(major, minor, (patch)*1000)

#define DOCA_VERSION_EXACT                                                                         \
	DOCA_VERSION_CALC_EXACT(DOCA_VERSION_MAJOR, DOCA_VERSION_MINOR, DOCA_VERSION_PATCH)
#define DOCA_VERSION_OFFICIAL DOCA_VERSION_CALC(DOCA_VERSION_MAJOR, DOCA_VERSION_MINOR, 0)

/* Return whether this version equals the given one; whether it equals it or is later. */
#define DOCA_VERSION_EQ_CURRENT(major, minor, patch)                                               \
	(DOCA_VERSION_CALC_EXACT(major, minor, patch) == DOCA_VERSION_EXACT)
#define DOCA_VERSION_LTE_CURRENT(major, minor, patch)                                              \
	(DOCA_VERSION_CALC_EXACT(major, minor, patch) <= DOCA_VERSION_EXACT)

/* Return the version that the program was compiled with. Static text. */
static inline const char *doca_version(void)
{
	return DOCA_VERSION_STRING;
}

/* Return the version that the library was compiled with. Static text. Thread-safe. */
DOCA_STABLE const char *doca_version_runtime(void);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_VERSION_H_ */
