/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* libflexio.a, for build files that look for a static library of that name: it has no calls. */
extern const char dpa_flexio_is_libdpa[];
const char dpa_flexio_is_libdpa[] = "libdpa has the calls of DOCA DPA; there are none of FlexIO";
