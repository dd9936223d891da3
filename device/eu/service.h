/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* service.h - the service thread. */
#ifndef DPA_EU_SERVICE_H
#define DPA_EU_SERVICE_H

#include <stdbool.h>

struct dpa_hw;

/* Brings the board's counters of this process up to date with its lanes. */
void dpa_counters_fold(struct dpa_hw *hw);
int dpa_service_start(struct dpa_hw *hw);
/* slice.c: the calling thread, one of the device's, is let in soon when it wakes. */
void dpa_run_soon(void);
void dpa_service_stop(struct dpa_hw *hw);

/*
 * Has another thread of the board's, of whichever process, polled on this processor since this one
 * asked? Then who polls shall let it run.
 */
bool dpa_shares_cpu(struct dpa_hw *hw);

#endif
