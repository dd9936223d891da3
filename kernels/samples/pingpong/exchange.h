/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* exchange.h - the handshake of ibv_rc_pingpong, the server's side of it. */
#ifndef DPA_SAMPLE_EXCHANGE_H
#define DPA_SAMPLE_EXCHANGE_H

#include <stdbool.h>
#include "sample.h"

/* Listens on a TCP port (0: any); the descriptor, -1 on error. *port: the one it is. */
int exchange_listen(int *port);
/* Takes a connection and the peer's address; the descriptor of the connection, -1 on error. */
int exchange_accept(int listener, struct sample_dest *peer);
/* Sends ours, once the QP can receive, and waits until the peer has it. Closes fd. */
bool exchange_answer(int fd, const struct sample_dest *mine);

#endif
