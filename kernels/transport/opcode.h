/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* opcode.h - BTH opcodes (IBA 9.2.1, table 38) and what each carries; PSN arithmetic (IBA 9.7.1).
 */
#ifndef DPA_OPCODE_H
#define DPA_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/* Low five bits: operation. High three: transport. */
enum {
	DPA_BTH_RC = 0x00,
	DPA_BTH_UC = 0x20,
	DPA_BTH_UD = 0x60,
	DPA_BTH_XRC = 0xa0,
	DPA_BTH_TRANSPORT = 0xe0,

	DPA_BTH_SEND_FIRST = 0x00,
	DPA_BTH_SEND_MIDDLE = 0x01,
	DPA_BTH_SEND_LAST = 0x02,
	DPA_BTH_SEND_LAST_IMM = 0x03,
	DPA_BTH_SEND_ONLY = 0x04,
	DPA_BTH_SEND_ONLY_IMM = 0x05,
	DPA_BTH_WRITE_FIRST = 0x06,
	DPA_BTH_WRITE_MIDDLE = 0x07,
	DPA_BTH_WRITE_LAST = 0x08,
	DPA_BTH_WRITE_LAST_IMM = 0x09,
	DPA_BTH_WRITE_ONLY = 0x0a,
	DPA_BTH_WRITE_ONLY_IMM = 0x0b,
	DPA_BTH_READ_REQUEST = 0x0c,
	DPA_BTH_READ_RESP_FIRST = 0x0d,
	DPA_BTH_READ_RESP_MIDDLE = 0x0e,
	DPA_BTH_READ_RESP_LAST = 0x0f,
	DPA_BTH_READ_RESP_ONLY = 0x10,
	DPA_BTH_ACK = 0x11,
	DPA_BTH_ATOMIC_ACK = 0x12,
	DPA_BTH_COMPARE_SWAP = 0x13,
	DPA_BTH_FETCH_ADD = 0x14,
	DPA_BTH_SEND_LAST_INV = 0x16,
	DPA_BTH_SEND_ONLY_INV = 0x17,
	DPA_BTH_FLUSH = 0x1c,
	DPA_BTH_ATOMIC_WRITE = 0x1d,

	DPA_BTH_CNP = 0x81, /* annex A17.9.3 */

	/* no wire has these: a requester asks whether all was looked at, and the answer (ask.c) */
	DPA_LINK_LOOKED = 0xfa,
	DPA_LINK_ASK = 0xfb,
	/* not on any wire, shared memory only: ACKs of several QPs in one slot (struct dpa_acks) */
	DPA_LINK_ACKS = 0xfd,
	/* an Ethernet frame (device/raw), and the transport that its QP is of */
	DPA_LINK_RAW = 0xfc,
	DPA_BTH_RAW = 0xe0,
	/* a packet passed on with its addresses (forward.h) */
	DPA_LINK_FRAME = 0xfe,
	/* the word for silence */
	DPA_LINK_NO_QP = 0xff,
};

enum dpa_op_props {
	DPA_OPP_VALID = 1 << 0,
	DPA_OPP_START = 1 << 1, /* FIRST or ONLY */
	DPA_OPP_END = 1 << 2,	/* LAST or ONLY */
	DPA_OPP_SEND = 1 << 3,
	DPA_OPP_WRITE = 1 << 4,
	DPA_OPP_READ = 1 << 5,
	DPA_OPP_ATOMIC = 1 << 6,
	DPA_OPP_IMM = 1 << 7,
	DPA_OPP_INV = 1 << 8,
	DPA_OPP_RESP = 1 << 9, /* response or ACK: for the requester */
	DPA_OPP_RETH = 1 << 10,
	DPA_OPP_AETH = 1 << 11,
	DPA_OPP_RQ = 1 << 12, /* takes a receive WQE at its end */
	DPA_OPP_AWRITE = 1 << 13,
	DPA_OPP_FLUSH = 1 << 14, /* FETH */
};

/* Indexed by the low five bits. */
extern const uint16_t dpa_op_table[32];

/* IBA 9.2/opcodes */
static inline uint16_t dpa_op_props(uint8_t opcode)
{
	return dpa_op_table[opcode & 0x1f];
}

/* Bytes of struct dpa_ext that an opcode uses on the shared memory link; a multiple of 8. */
static inline uint32_t dpa_ext_len(uint8_t opcode)
{
	uint16_t p = dpa_op_table[opcode & 0x1f];

	if ((opcode & DPA_BTH_TRANSPORT) == DPA_BTH_UD)
		return 16;
	if ((opcode & DPA_BTH_TRANSPORT) == DPA_BTH_XRC && !(p & DPA_OPP_RESP))
		return 40; /* XRCETH lies at the end */
	if (p & DPA_OPP_ATOMIC && !(p & DPA_OPP_RESP))
		return 32;
	if (p & DPA_OPP_RETH)
		return p & (DPA_OPP_IMM | DPA_OPP_FLUSH) ? 24 : 16;
	if (p & DPA_OPP_RESP)
		return p & DPA_OPP_AETH ? 16 : 0;
	return p & (DPA_OPP_IMM | DPA_OPP_INV) ? 8 : 0;
}

/* a - b of two 24-bit PSNs, as a signed number: IBA 9.7.1, the window is half the space. */
/* IBA 9.7.1/half */
static inline int32_t dpa_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* IBA 9.2/psn-bits */
static inline uint32_t dpa_psn_add(uint32_t a, uint32_t n)
{
	return (a + n) & 0xffffff;
}

/* Packets of a message: a message of no bytes is one packet. */
/* IBA 9.7.1/message-packets */
static inline uint32_t dpa_npkts(uint32_t len, uint32_t mtu)
{
	return len <= mtu ? 1 : (uint32_t)(((uint64_t)len + mtu - 1) / mtu);
}

/* AETH syndrome (IBA 9.7.5.1.1): bits 6:5 kind, 4:0 credit count, RNR timer or NAK code. */
enum {
	DPA_AETH_ACK = 0x00,
	DPA_AETH_RNR = 0x20,
	DPA_AETH_NAK = 0x60,
	DPA_AETH_KIND = 0x60,
	DPA_AETH_NO_CREDITS = 0x1f, /* credit count: end-to-end flow control not used */
	DPA_NAK_PSN_SEQ = 0,
	DPA_NAK_INV_REQ = 1,
	DPA_NAK_REM_ACCESS = 2,
	DPA_NAK_REM_OP = 3,
};

/* Credit count of an AETH (IBA table 47): the code of the most that is not above n, and back. */
uint8_t dpa_credit_code(uint32_t n);
uint32_t dpa_credits(uint8_t code);
/* RNR timer code (IBA table 46) to nanoseconds. */
uint64_t dpa_rnr_ns(uint8_t code);
/* Local ACK timeout code: 4.096 us * 2^code; 0: none (UINT64_MAX). */
uint64_t dpa_timeout_ns(uint8_t code);

#endif
