/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qmem.h - memory for queues that the device gives to the driver. */
#ifndef DPA_CTX_QMEM_H
#define DPA_CTX_QMEM_H

struct dpa_hw;

/* In a forked child: close the descriptors. The memory is not mapped there. */
void dpa_qmem_abandon(struct dpa_hw *hw);

#endif
