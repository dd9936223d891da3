/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flexio.c - libflexio.a, for build files that need a static library of that name. It has no
 * functions: those of libflexio/flexio.h come from libdpa, which such programs link by the names of
 * doca_dpa.
 */
extern const char dpa_flexio_is_libdpa[];
const char dpa_flexio_is_libdpa[] = "the calls of DOCA DPA and FlexIO are in libdpa";
