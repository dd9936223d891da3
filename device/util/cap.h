/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cap.h - capabilities of the calling thread. */
#ifndef DPA_UTIL_CAP_H
#define DPA_UTIL_CAP_H

#include <stdbool.h>

/* True if the calling thread has the capability in its effective set (CAP_NET_RAW, ...). */
bool dpa_has_capability(unsigned int capability);

#endif
