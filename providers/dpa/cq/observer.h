/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DPA_OBSERVER_H
#define DPA_OBSERVER_H

#include <stdbool.h>

struct dpa_cq;

/*
 * A new CQ of the program: copy its entries to the observer, if there is one. 0 or errno: an
 * observer is configured and cannot be started.
 */
int dpa_observe(struct dpa_cq *cq);
/* The same. If it fails the CQ is destroyed and errno has the reason. */
bool dpa_cq_observed(struct dpa_cq *cq);

#endif
