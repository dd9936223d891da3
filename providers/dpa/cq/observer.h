/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DPA_OBSERVER_H
#define DPA_OBSERVER_H

#include <stdbool.h>

struct dpa_cq;

/* A new CQ of the program: copies of its entries go to the observer, if there is one. 0 or errno:
 * one is asked for and cannot be had. */
int dpa_observe(struct dpa_cq *cq);
/* The same; if it fails the CQ is gone and errno has the reason. */
bool dpa_cq_observed(struct dpa_cq *cq);

#endif
