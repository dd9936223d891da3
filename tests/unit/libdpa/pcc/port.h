/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port.h - the port's congestion control under control of a test: events that flows would report,
 * and the answers that they would read. One port of one process.
 */
#ifndef TEST_PCC_PORT_H
#define TEST_PCC_PORT_H

#include <dpa_hw_pcc.h>
#include "../host.h"

/* Reset: nothing is loaded. Call it before the device is opened. */
void port_reset(void);
/* Simulate another process with its image on the port, or its end. */
void port_occupy(bool occupied);
/* Make the next load fail with this errno; 0: it does not fail. */
void port_fail_load(int err);
/* Report an event of a flow of process `ring`. */
void port_report(uint32_t ring, const struct dpa_pcc_report *r);
/* Wait until `n` answers were given in all. */
void port_await(uint32_t n);
/* Get the last answer for a flow; false: none. */
bool port_answer(uint32_t flow, uint32_t *rate, bool *probe);
uint32_t port_answers(void);
/* Return the published slots; NULL: none, or withdrawn. */
const struct dpa_pcc_slot *port_slots(uint32_t *populated, uint32_t *enabled, uint32_t *disabled);
uint32_t *port_counters(uint32_t slot);
uint32_t *port_params(uint32_t slot);
/* Set a parameter as a tool does; return the errno of the image's answer. */
int port_set_param(uint32_t slot, uint32_t id, uint32_t value);

/*
 * Send a probe to the notification point, in a ring of 4; it counts for port_await() when it is
 * answered.
 */
void port_probe(uint32_t ring, const struct dpa_pcc_probe *probe);
/* Get the answer to it; false: none was sent. */
bool port_np_answer(uint32_t ring, uint8_t answer[DPA_PCC_ANSWER]);
uint8_t port_np_dscp(uint32_t ring); /* of that answer */
/* Let the next header or DSCP of a flow fail with this errno; 0: do not. */
void port_fail_custom(int err);
/* Get the last setting for the probes of a flow; return the number of words. */
uint32_t port_custom(uint32_t *flow, uint32_t words[DPA_PCC_HEADER], uint8_t *dscp);
/* Get those of the image; false: nothing is published. */
bool port_probes(struct dpa_pcc_probes *probes);

#endif
