/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.h - the calls of device code, as the image gets them. */
#ifndef DPA_EU_OPS_H
#define DPA_EU_OPS_H

#include <dpa/dpa_image.h>

extern const struct dpa_dev_ops dpa_ops_table;

#endif
