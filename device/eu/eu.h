/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eu.h - execution units. */
#ifndef DPA_EU_EU_H
#define DPA_EU_EU_H

struct dpa_hw;
struct dpa_hw_qp;

int dpa_eu_init(struct dpa_hw *hw);
void dpa_eu_fini(struct dpa_hw *hw);
/*
 * Assign the QP to an EU. eu: its number; -1: the first one of the policy. 0 or EAGAIN. Context: no
 * lock held, also for the next one.
 */
int dpa_eu_attach(struct dpa_hw_qp *qp, int eu);
/*
 * Take the QP from its EU. Returns that EU's number; -1: it had none. On return no EU uses the QP.
 */
int dpa_eu_detach(struct dpa_hw_qp *qp);

#endif
