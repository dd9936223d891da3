/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * steer.h - steers packets of port 4791 to the process that owns their QP; private to device/link.
 */
#ifndef DPA_STEER_H
#define DPA_STEER_H

#include <stdbool.h>
#include <stdint.h>

#define DPA_UDP_PORT 4791

struct dpa_hw;
struct sock_filter;

/* Call after this process's socket was bound; was closed. */
void dpa_steer_join(struct dpa_hw *hw);
void dpa_steer_leave(struct dpa_hw *hw);
/* Called twice a second by the progress thread. */
void dpa_steer_tick(struct dpa_hw *hw);

struct dpa_steer_in {
	const uint16_t *map; /* by QPN block: index of its owner's socket plus 1; 0: none */
	uint32_t num;	     /* board number */
	uint32_t other;	     /* socket index for packets that the map does not cover */
	uint32_t nonce[2];   /* nonce in probes */
};

/*
 * Write the program. Returns the number of instructions; -1: no room. Not reentrant: call it under
 * the steering lock.
 */
int dpa_steer_program(const struct dpa_steer_in *in, struct sock_filter *f, uint32_t room);

#endif
