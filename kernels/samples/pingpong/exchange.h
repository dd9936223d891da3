/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* exchange.h - the server's side of the handshake of ibv_rc_pingpong. */
#ifndef DPA_SAMPLE_EXCHANGE_H
#define DPA_SAMPLE_EXCHANGE_H

#include <stdbool.h>
#include "sample.h"

/* Listen on a TCP port (0: any). Returns the descriptor, -1 on error; *port: the actual port. */
int exchange_listen(int *port);
/*
 * Accept a connection and receive the peer's address. Returns the connection's descriptor, -1 on
 * error.
 */
int exchange_accept(int listener, struct sample_dest *peer);
/* Send our address, once the QP can receive, and wait until the peer has it. Closes fd. */
bool exchange_answer(int fd, const struct sample_dest *mine);

#endif
