/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cm_port.h - what cm_port.c (claims) and cm_port_file.c (the file) share. */
#ifndef DPA_BOARD_CM_PORT_H
#define DPA_BOARD_CM_PORT_H

#include <dpa_cm_port.h>

#define DPA_CM_PORT_LISTS 256u

struct dpa_cm_held;

struct dpa_cm_ports {
	int fd;
	char path[192];
	struct dpa_cm_held *held[DPA_CM_PORT_LISTS]; /* claims, by the low bits of the port */
	/* unused ports: the range begins at lo; num 0: not read yet; next: where to go on */
	uint32_t lo, num, next;
};

/* Frees the claims; their locks end with the descriptor. */
void dpa_cm_ports_forget(struct dpa_cm_ports *p);

#endif
