/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* meter.h - the figures that the service thread writes for tools: meter/meter.h. */
#ifndef DPA_EU_METER_H
#define DPA_EU_METER_H

#include <stdint.h>

struct dpa_hw;

/* Follow the lease; write the figures if they are due. Context: the service thread, no lock. */
void dpa_meter_tick(struct dpa_hw *hw, uint64_t now);
/* Return the ns that the service thread may sleep: `ns`, or until the next figures are due. */
uint64_t dpa_meter_wait(struct dpa_hw *hw, uint64_t ns);
/* The process closes the device: stop counting. The service thread has ended. */
void dpa_meter_stop(struct dpa_hw *hw);

#endif
