/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eu.h - execution units. */
#ifndef DPA_EU_EU_H
#define DPA_EU_EU_H

#include <stdatomic.h>
#include <stdint.h>

struct dpa_hw;
struct dpa_hw_qp;

/*
 * Write the words of the EUs (meter/meter.h), n at most; 0 behind the last one. ns: since the call
 * before. Context: the service thread; takes hw->ctl.
 */
void dpa_eu_meters(struct dpa_hw *hw, uint64_t ns, _Atomic uint32_t *word, uint32_t n);
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
