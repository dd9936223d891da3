/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* steer.h - packets of port 4791 to the process that owns their QP: internals of device/link. */
#ifndef DPA_STEER_H
#define DPA_STEER_H

#include <stdbool.h>
#include <stdint.h>

#define DPA_UDP_PORT 4791

struct dpa_hw;
struct sock_filter;

/* This process's socket is bound; is closed. */
void dpa_steer_join(struct dpa_hw *hw);
void dpa_steer_leave(struct dpa_hw *hw);
/* Parked EU, twice a second. */
void dpa_steer_tick(struct dpa_hw *hw);

struct dpa_steer_in {
	const uint16_t
		*map;	   /* of each block of QPNs: place of its owner's socket plus 1, 0: none */
	uint32_t num;	   /* board number */
	uint32_t other;	   /* place for what the map does not say */
	uint32_t nonce[2]; /* of probes */
};

/* The program; instructions, -1: no room. Not reentrant: under the board's lock. */
int dpa_steer_program(const struct dpa_steer_in *in, struct sock_filter *f, uint32_t room);

#endif
