/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inject.h - failures that are injected into this process, while the device is open. */
#ifndef DPA_EU_INJECT_H
#define DPA_EU_INJECT_H

#include "ctx/hw.h"
#include "inject/inject.h"

/* Use the setting, and show the rules in force to tools. Ended by dpa_inject_unbind(). */
void dpa_inject_open(struct dpa_hw *hw);
/*
 * A region is registered. Returns DPA_ACCESS_INJECTED if a rule selects it, else 0. Context: hw->ctl.
 */
struct dpa_mr;
uint32_t dpa_region_injected(struct dpa_hw *hw, const struct dpa_mr *mr);
/* The rules have changed: the same for all regions, in the order of their entries. */
void dpa_regions_follow(struct dpa_hw *hw);
/*
 * A thread of the device begins to work: it may lose its processor (progress=stolen). Context: no
 * lock held. service: it is the progress thread, which follows requests of tools meanwhile.
 */
void dpa_inject_steal(struct dpa_hw *hw, bool service);
/*
 * Carry out a request of a tool, and the asynchronous events that are due. Cheap. Context: the
 * service thread, no lock held.
 */
void dpa_inject_tick(struct dpa_hw *hw, uint64_t now);
/* Return the ns, at most `ns`, until dpa_inject_tick() has an event to raise. */
uint64_t dpa_inject_wait(struct dpa_hw *hw, uint64_t ns);
/* True while rules are in force, the port is down by one, or a request is not followed. Same context. */
bool dpa_inject_wants_ticks(struct dpa_hw *hw);

#endif
