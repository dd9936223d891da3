/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* service.h - the service thread. */
#ifndef DPA_EU_SERVICE_H
#define DPA_EU_SERVICE_H

#include <stdbool.h>

struct dpa_hw;

/* Add up this process's counters of rings and slots into the board's. */
void dpa_counters_fold(struct dpa_hw *hw);
int dpa_service_start(struct dpa_hw *hw);
void dpa_service_stop(struct dpa_hw *hw);

#endif
