/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flexio_ver.h - versions of the FlexIO API. A program includes this first and defines the version
 * that it is written for: #define FLEXIO_VER_USED FLEXIO_VER(25, 4, 0). The calls of flexio.h are the
 * same in each.
 */
#ifndef LIBFLEXIO_FLEXIO_VER_H_
#define LIBFLEXIO_FLEXIO_VER_H_

#define FLEXIO_VER_MAJOR_OFFS 24
#define FLEXIO_VER_MINOR_OFFS 16

#define FLEXIO_VER(major, minor, sub_minor)                                                        \
	(((0u + (major)) << FLEXIO_VER_MAJOR_OFFS) | ((0u + (minor)) << FLEXIO_VER_MINOR_OFFS) |   \
	 (0u + (sub_minor)))
#define FLEXIO_VER_LATEST FLEXIO_VER(0xFF, 0xFF, 0xFFFF)

#endif
