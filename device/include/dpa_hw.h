/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw.h - the device programming interface of the dpa adapter.
 *
 * The hardware/software boundary. A driver (providers/dpa, libdpa) includes this
 * file and nothing else of device/. These cross the boundary: the BAR layout, the
 * WQE and CQE formats, doorbell records and event records (dpa_hw_format.h,
 * dpa_hw_status.h), and the command set (dpa_hw_cmd.h, dpa_hw_qp.h, dpa_hw_raw.h).
 * docs/device-reference.md is the prose of these files.
 *
 * Byte order: every multi-byte field is in host byte order unless its comment says
 * "network order". Indices are free running 32-bit counters (producer index, PI;
 * consumer index, CI), masked only on access.
 */
#ifndef DPA_HW_H
#define DPA_HW_H

#define DPA_HW_VERSION 2

/* A locally administered OUI: dpa0 never uses another vendor's. */
#define DPA_VENDOR_ID	   0x02d9a0u
#define DPA_VENDOR_PART_ID 0xd0a0u

#include "dpa_hw_format.h"
#include "dpa_hw_cmd.h"
#include "dpa_hw_qp.h"
#include "dpa_hw_raw.h"
#include "dpa_hw_gsi.h"
#include "dpa_hw_inject.h"

#endif
