/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sock_name.h - the name of a process's socket, at which the other processes of the adapter find it. */
#ifndef DPA_BOARD_SOCK_NAME_H
#define DPA_BOARD_SOCK_NAME_H

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "board/board.h"

/* Set it: "\0dpa/<board>/<slot>.<generation>". Returns its length. */
static inline socklen_t dpa_board_sock_name(struct sockaddr_un *sa, const struct dpa_board *b,
					    uint32_t slot, uint32_t gen)
{
	int n;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	n = snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "dpa/%s/%u.%u", b->id, slot, gen);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

#endif
