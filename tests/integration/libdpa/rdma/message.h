/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* message.h - messages of the two ends of a connection by address: peers.c, plain.c. */
#ifndef TEST_RDMA_MESSAGE_H
#define TEST_RDMA_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum { ROUNDS = 200, MESSAGE = 9000, RECEIVES = 4 };

/* Of message i. */
static inline size_t length(int i)
{
	return (size_t)(i * 4099) % MESSAGE + 1;
}

/* side: 1 of the server, 0 of the client. */
static inline uint8_t byte(int side, int i, size_t at)
{
	return (uint8_t)(at * 31 + (size_t)i * 7 + (size_t)side);
}

#endif
