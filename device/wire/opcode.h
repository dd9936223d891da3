/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * opcode.h - the BTH opcodes (IBA 9.2.1, table 38): the single table of their properties, and the
 * opcodes of the packets of a message.
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

	/*
	 * Manufacturer opcodes (IBA 9.2): a round trip probe and its answer, with the fields of an
	 * AtomicETH. va: time when the probe left, by its sender's clock; swap_add, compare: times
	 * when it arrived and when the answer left, by the receiver's clock. All ns. PSN: its
	 * number.
	 * The R_Key has DPA_PROBE_*. Payload of a probe of IFA: its header and the data of switches
	 * (wire/probe.h); of CCMAD: the custom header; of an answer with PROGRAM: 12 bytes.
	 */
	DPA_BTH_PROBE = 0xd3,
	DPA_BTH_PROBED = 0xd4,
};

/* In the R_Key of a probe: enum dpa_pcc_format, GNS; of both: a program answers. */
#define DPA_PROBE_FORMAT   3u
#define DPA_PROBE_PROGRAM  (1u << 2)
#define DPA_PROBE_GNS_FROM 8 /* 4 bits */

/*
 * True for a packet of no transport: a CNP, a probe, its answer. It is not part of the QP's PSNs.
 */
static inline bool dpa_op_is_notice(uint8_t opcode)
{
	return opcode == DPA_BTH_CNP || opcode == DPA_BTH_PROBE || opcode == DPA_BTH_PROBED;
}

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
	DPA_OPP_RQ = 1 << 12, /* its end takes a receive WQE */
	DPA_OPP_AWRITE = 1 << 13,
	DPA_OPP_FLUSH = 1 << 14, /* FETH */
};

/* Rows of the table below as constants for fast paths. */
enum {
	DPA_OPS_SEND_ONLY = DPA_OPP_VALID | DPA_OPP_SEND | DPA_OPP_START | DPA_OPP_END | DPA_OPP_RQ,
	DPA_OPS_WRITE_ONLY =
		DPA_OPP_VALID | DPA_OPP_WRITE | DPA_OPP_START | DPA_OPP_END | DPA_OPP_RETH,
};

/*
 * Both are indexed by the low five bits. Segments: MIDDLE, LAST, FIRST, ONLY of the same message.
 */
extern const uint16_t dpa_op_table[32];
extern const uint8_t dpa_op_segments[32][4];

/* enum dpa_op_props bits of an opcode; 0: no transport has it. */
/* IBA 9.2 (opcodes) */
static inline uint16_t dpa_op_props(uint8_t opcode)
{
	return dpa_op_table[opcode & 0x1f];
}

/*
 * The opcode of one packet of a message. `only`: the opcode of the message as one packet. first,
 * last: the packet's place in the message. An opcode without segments stays as it is.
 */
/* IBA 9.4 (cut), 9.4 (only), 9.3 (immediate) */
static inline uint8_t dpa_op_segment(uint8_t only, bool first, bool last)
{
	return (only & DPA_BTH_TRANSPORT) | dpa_op_segments[only & 0x1f][first << 1 | last];
}

/* The same for several packets: `run` is what dpa_op_join() returned for them. */
static inline uint8_t dpa_op_split(uint8_t run, bool first, bool last)
{
	uint16_t p = dpa_op_props(run);

	return dpa_op_segment(run, first && p & DPA_OPP_START, last && p & DPA_OPP_END);
}

/*
 * Returns the opcode of consecutive packets of one message, from the opcodes of the first and the
 * last.
 */
static inline uint8_t dpa_op_join(uint8_t first, uint8_t last)
{
	bool start = dpa_op_props(first) & DPA_OPP_START, end = dpa_op_props(last) & DPA_OPP_END;

	return dpa_op_segment(end ? last : first, start, end);
}

#endif
