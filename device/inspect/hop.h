/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hop.h - the modelled network's switch adds its data to probes that ask for it. */
#ifndef DPA_INSPECT_HOP_H
#define DPA_INSPECT_HOP_H

#include "inspect/frame.h"
#include "wire/probe.h"

/*
 * f->p lies in memory that may be written, with room for DPA_IFA_HOP bytes behind its n. Any other
 * packet, one whose ICRC is wrong and one that takes no more data stays as it is.
 */
void dpa_hop_add(struct dpa_frame *f, const struct dpa_ifa_hop *hop);

#endif
