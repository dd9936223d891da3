/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eu.h - execution units. */
#ifndef DPA_EU_EU_H
#define DPA_EU_EU_H

struct dpa_hw;
struct dpa_hw_qp;

int dpa_eu_init(struct dpa_hw *hw);
void dpa_eu_fini(struct dpa_hw *hw);
/* eu: its number; -1: the first of the policy. 0 or EAGAIN. Context: no lock, as the next one. */
int dpa_eu_attach(struct dpa_hw_qp *qp, int eu);
/* The number of the EU that had it, -1: none. No EU touches the QP when it returns. */
int dpa_eu_detach(struct dpa_hw_qp *qp);

#endif
