/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcc_dev.h - declarations shared by the files of the device library of congestion control. */
#ifndef DPA_DEV_PCC_DEV_H
#define DPA_DEV_PCC_DEV_H

#include <dpa/dpa_image.h>
#include "image.h"

/* libdpa's calls; defined in libdoca_dpa_dev.a. */
extern const struct dpa_dev_ops *__dpa_ops;

/* Get the description of the program, and bind its words. */
void pcc_dev_describe(struct dpa_pcc_init *out);
void pcc_dev_bind(const struct dpa_pcc_words *words);

#endif
