/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* file.h - the mapping behind stat.h; internal to libdpa/stat. */
#ifndef DPA_STAT_FILE_H
#define DPA_STAT_FILE_H

#include <stdbool.h>
#include "layout.h"

/* Return the mapping; NULL: there is none. It changes only while no device code runs. */
struct dpa_stat_file *dpa_stat_file(void);
/* Return whether it is an entry of the present file: one of an earlier pool is not. */
bool dpa_stat_holds(const struct dpa_stat_task *t);
/* Lock the entries: for taking and freeing one. */
void dpa_stat_lock(void);
void dpa_stat_unlock(void);

#endif
