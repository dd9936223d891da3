/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port.h - the port's congestion control in the hands of a test: events that flows would report, and
 * the answers that they would read. One port of one process.
 */
#ifndef TEST_PCC_PORT_H
#define TEST_PCC_PORT_H

#include <dpa_hw_pcc.h>
#include "../host.h"

/* Nothing is loaded. Before the device is opened. */
void port_reset(void);
/* Another process has its image on the port, or it has ended. */
void port_occupy(bool occupied);
/* The next load fails with this errno; 0: it does not. */
void port_fail_load(int err);
/* An event of a flow of process `ring`. */
void port_report(uint32_t ring, const struct dpa_pcc_report *r);
/* Waits until `n` answers were given in all. */
void port_await(uint32_t n);
/* The last answer for a flow; false: none. */
bool port_answer(uint32_t flow, uint32_t *rate, bool *probe);
uint32_t port_answers(void);
/* The slots that were published; NULL: nothing, or it was given up. */
const struct dpa_pcc_slot *port_slots(uint32_t *populated, uint32_t *enabled, uint32_t *disabled);
uint32_t *port_counters(uint32_t slot);
uint32_t *port_params(uint32_t slot);
/* As a tool does; the errno that the image answers with. */
int port_set_param(uint32_t slot, uint32_t id, uint32_t value);

/* A probe for the notification point, in a ring of 4; it counts for port_await() when it is answered. */
void port_probe(uint32_t ring, const struct dpa_pcc_probe *probe);
/* The answer to it, which is there; false: none was to be sent. */
bool port_np_answer(uint32_t ring, uint8_t answer[DPA_PCC_ANSWER]);
uint8_t port_np_dscp(uint32_t ring); /* of that answer */
/* The next header or DSCP of a flow fails with this errno; 0: it does not. */
void port_fail_custom(int err);
/* The last setting for the probes of a flow; returns the words. */
uint32_t port_custom(uint32_t *flow, uint32_t words[DPA_PCC_HEADER], uint8_t *dscp);
/* Those of the image; false: nothing is published. */
bool port_probes(struct dpa_pcc_probes *probes);

#endif
