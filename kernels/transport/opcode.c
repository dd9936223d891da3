/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "opcode.h"

#define V    DPA_OPP_VALID
#define S    DPA_OPP_START
#define E    DPA_OPP_END
#define SND  (V | DPA_OPP_SEND)
#define WR   (V | DPA_OPP_WRITE)
#define RSP  (V | DPA_OPP_RESP)
#define IMM  DPA_OPP_IMM
#define RQ   DPA_OPP_RQ
#define RETH DPA_OPP_RETH
#define AETH DPA_OPP_AETH

const uint16_t dpa_op_table[32] = {
	[DPA_BTH_SEND_FIRST] = SND | S,
	[DPA_BTH_SEND_MIDDLE] = SND,
	[DPA_BTH_SEND_LAST] = SND | E | RQ,
	[DPA_BTH_SEND_LAST_IMM] = SND | E | RQ | IMM,
	[DPA_BTH_SEND_ONLY] = SND | S | E | RQ,
	[DPA_BTH_SEND_ONLY_IMM] = SND | S | E | RQ | IMM,
	[DPA_BTH_WRITE_FIRST] = WR | S | RETH,
	[DPA_BTH_WRITE_MIDDLE] = WR,
	[DPA_BTH_WRITE_LAST] = WR | E,
	[DPA_BTH_WRITE_LAST_IMM] = WR | E | RQ | IMM,
	[DPA_BTH_WRITE_ONLY] = WR | S | E | RETH,
	[DPA_BTH_WRITE_ONLY_IMM] = WR | S | E | RETH | RQ | IMM,
	[DPA_BTH_READ_REQUEST] = V | DPA_OPP_READ | S | E | RETH,
	[DPA_BTH_READ_RESP_FIRST] = RSP | DPA_OPP_READ | S | AETH,
	[DPA_BTH_READ_RESP_MIDDLE] = RSP | DPA_OPP_READ,
	[DPA_BTH_READ_RESP_LAST] = RSP | DPA_OPP_READ | E | AETH,
	[DPA_BTH_READ_RESP_ONLY] = RSP | DPA_OPP_READ | S | E | AETH,
	[DPA_BTH_ACK] = RSP | S | E | AETH,
	[DPA_BTH_ATOMIC_ACK] = RSP | DPA_OPP_ATOMIC | S | E | AETH,
	[DPA_BTH_COMPARE_SWAP] = V | DPA_OPP_ATOMIC | S | E,
	[DPA_BTH_FETCH_ADD] = V | DPA_OPP_ATOMIC | S | E,
	[DPA_BTH_SEND_LAST_INV] = SND | E | RQ | DPA_OPP_INV,
	[DPA_BTH_SEND_ONLY_INV] = SND | S | E | RQ | DPA_OPP_INV,
	[DPA_BTH_FLUSH] = V | DPA_OPP_FLUSH | S | E | RETH,
	[DPA_BTH_ATOMIC_WRITE] = V | DPA_OPP_AWRITE | S | E | RETH,
};

/* IBA 9.7.5/rnr-timer */
uint64_t dpa_rnr_ns(uint8_t code)
{
	/* IBA table 46, in units of 10 microseconds */
	static const uint32_t t[32] = {65536, 1,    2,	  3,	 4,	6,     8,     12,
				       16,    24,   32,	  48,	 64,	96,    128,   192,
				       256,   384,  512,  768,	 1024,	1536,  2048,  3072,
				       4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

	return (uint64_t)t[code & 31] * 10000;
}

/* IBA C9-140 */
uint64_t dpa_timeout_ns(uint8_t code)
{
	return code ? 4096ull << (code & 31) : UINT64_MAX;
}

/* IBA 9.7.7/codes */
/* 0 1 2 3, then 2^k and 1.5 * 2^k by turns: 4 6 8 12 16 ... 32768 at code 30 */
uint32_t dpa_credits(uint8_t code)
{
	uint32_t k = code / 2u;

	if (code < 4)
		return code;
	return code & 1 ? 3u << (k - 1) : 1u << k;
}

uint8_t dpa_credit_code(uint32_t n)
{
	uint8_t code = 0;

	while (code < 30 && dpa_credits((uint8_t)(code + 1)) <= n)
		code++;
	return code;
}
