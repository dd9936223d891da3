/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * opcode.c - every BTH opcode of RC, UC, UD and XRC (IBA 9.2.1, table 38; annexes A14 and A19), and
 * RoCEv2's CNP. All tables here are made of the one list DPA_RELIABLE_OPS.
 */
#include "opcode.h"
#include "ops.h"

#define V      DPA_OPP_VALID
#define START  DPA_OPP_START
#define END    DPA_OPP_END
#define SND    (V | DPA_OPP_SEND)
#define WR     (V | DPA_OPP_WRITE)
#define RSP    (V | DPA_OPP_RESP)
#define RD_RSP (RSP | DPA_OPP_READ)
#define IMM    DPA_OPP_IMM
#define INV    DPA_OPP_INV
#define RQ     DPA_OPP_RQ
#define RETH   DPA_OPP_RETH
#define AETH   DPA_OPP_AETH

/*
 * X(name, properties, family, text): the family has the opcodes of all segments of the message to
 * which the opcode belongs.
 */
#define DPA_DATAGRAM_OPS(X)                                                                        \
	X(SEND_ONLY, DPA_OPS_SEND_ONLY, SEND, "SEND Only")                                         \
	X(SEND_ONLY_IMM, SND | START | END | RQ | IMM, SEND_IMM, "SEND Only with Immediate")

#define DPA_CONNECTED_OPS(X)                                                                       \
	DPA_DATAGRAM_OPS(X)                                                                        \
	X(SEND_FIRST, SND | START, SEND, "SEND First")                                             \
	X(SEND_MIDDLE, SND, SEND, "SEND Middle")                                                   \
	X(SEND_LAST, SND | END | RQ, SEND, "SEND Last")                                            \
	X(SEND_LAST_IMM, SND | END | RQ | IMM, SEND_IMM, "SEND Last with Immediate")               \
	X(WRITE_FIRST, WR | START | RETH, WRITE, "RDMA WRITE First")                               \
	X(WRITE_MIDDLE, WR, WRITE, "RDMA WRITE Middle")                                            \
	X(WRITE_LAST, WR | END, WRITE, "RDMA WRITE Last")                                          \
	X(WRITE_LAST_IMM, WR | END | RQ | IMM, WRITE_IMM, "RDMA WRITE Last with Immediate")        \
	X(WRITE_ONLY, DPA_OPS_WRITE_ONLY, WRITE, "RDMA WRITE Only")                                \
	X(WRITE_ONLY_IMM, WR | START | END | RETH | RQ | IMM, WRITE_IMM,                           \
	  "RDMA WRITE Only with Immediate")

#define DPA_RELIABLE_OPS(X)                                                                        \
	DPA_CONNECTED_OPS(X)                                                                       \
	X(READ_REQUEST, V | DPA_OPP_READ | START | END | RETH, READ_REQUEST, "RDMA READ Request")  \
	X(READ_RESP_FIRST, RD_RSP | START | AETH, READ_RESP, "RDMA READ response First")           \
	X(READ_RESP_MIDDLE, RD_RSP, READ_RESP, "RDMA READ response Middle")                        \
	X(READ_RESP_LAST, RD_RSP | END | AETH, READ_RESP, "RDMA READ response Last")               \
	X(READ_RESP_ONLY, RD_RSP | START | END | AETH, READ_RESP, "RDMA READ response Only")       \
	X(ACK, RSP | START | END | AETH, ACK, "Acknowledge")                                       \
	X(ATOMIC_ACK, RSP | DPA_OPP_ATOMIC | START | END | AETH, ATOMIC_ACK, "ATOMIC Acknowledge") \
	X(COMPARE_SWAP, V | DPA_OPP_ATOMIC | START | END, COMPARE_SWAP, "CmpSwap")                 \
	X(FETCH_ADD, V | DPA_OPP_ATOMIC | START | END, FETCH_ADD, "FetchAdd")                      \
	X(SEND_LAST_INV, SND | END | RQ | INV, SEND_INV, "SEND Last with Invalidate")              \
	X(SEND_ONLY_INV, SND | START | END | RQ | INV, SEND_INV, "SEND Only with Invalidate")      \
	X(FLUSH, V | DPA_OPP_FLUSH | START | END | RETH, FLUSH, "FLUSH")                           \
	X(ATOMIC_WRITE, V | DPA_OPP_AWRITE | START | END | RETH, ATOMIC_WRITE, "ATOMIC WRITE")

const uint16_t dpa_op_table[32] = {
#define X(name, props, family, text) [DPA_BTH_##name] = (props),
	DPA_RELIABLE_OPS(X)
#undef X
};

#define FAMILY(middle, last, first, only)                                                          \
	{                                                                                          \
		DPA_BTH_##middle, DPA_BTH_##last, DPA_BTH_##first, DPA_BTH_##only                  \
	}
#define FAMILY_SEND	    FAMILY(SEND_MIDDLE, SEND_LAST, SEND_FIRST, SEND_ONLY)
#define FAMILY_SEND_IMM	    FAMILY(SEND_MIDDLE, SEND_LAST_IMM, SEND_FIRST, SEND_ONLY_IMM)
#define FAMILY_SEND_INV	    FAMILY(SEND_MIDDLE, SEND_LAST_INV, SEND_FIRST, SEND_ONLY_INV)
#define FAMILY_WRITE	    FAMILY(WRITE_MIDDLE, WRITE_LAST, WRITE_FIRST, WRITE_ONLY)
#define FAMILY_WRITE_IMM    FAMILY(WRITE_MIDDLE, WRITE_LAST_IMM, WRITE_FIRST, WRITE_ONLY_IMM)
#define FAMILY_READ_RESP    FAMILY(READ_RESP_MIDDLE, READ_RESP_LAST, READ_RESP_FIRST, READ_RESP_ONLY)
#define ALONE(name)	    FAMILY(name, name, name, name)
#define FAMILY_READ_REQUEST ALONE(READ_REQUEST)
#define FAMILY_ACK	    ALONE(ACK)
#define FAMILY_ATOMIC_ACK   ALONE(ATOMIC_ACK)
#define FAMILY_COMPARE_SWAP ALONE(COMPARE_SWAP)
#define FAMILY_FETCH_ADD    ALONE(FETCH_ADD)
#define FAMILY_FLUSH	    ALONE(FLUSH)
#define FAMILY_ATOMIC_WRITE ALONE(ATOMIC_WRITE)

const uint8_t dpa_op_segments[32][4] = {
#define X(name, props, family, text) [DPA_BTH_##name] = FAMILY_##family,
	DPA_RELIABLE_OPS(X)
#undef X
};

/* Extended headers by properties and transport. Responses have no XRCETH (annex A14.3). */
#define IF(cond, value) ((cond) ? (value) : 0)
#define CARRIES_DATA(p)                                                                            \
	((p) & (DPA_OPP_SEND | DPA_OPP_WRITE | DPA_OPP_AWRITE) ||                                  \
	 ((p)&DPA_OPP_READ && (p)&DPA_OPP_RESP))
#define EXT(p, tr)                                                                                 \
	(DPA_ROCE_KNOWN | IF((tr) == DPA_BTH_UD, DPA_ROCE_DETH) |                                  \
	 IF((tr) == DPA_BTH_XRC && !((p)&DPA_OPP_RESP), DPA_ROCE_XRCETH) |                         \
	 IF((p)&RETH, DPA_ROCE_RETH) | IF((p)&AETH, DPA_ROCE_AETH) | IF((p)&IMM, DPA_ROCE_IMMDT) | \
	 IF((p)&INV, DPA_ROCE_IETH) | IF((p)&DPA_OPP_FLUSH, DPA_ROCE_FETH) |                       \
	 IF(CARRIES_DATA(p), DPA_ROCE_PAYLOAD) |                                                   \
	 IF((p)&DPA_OPP_ATOMIC, (p)&DPA_OPP_RESP ? DPA_ROCE_ATOMICACKETH : DPA_ROCE_ATOMICETH))
#define HDR(e)                                                                                     \
	(DPA_ROCE_BTH + IF((e)&DPA_ROCE_DETH, 8) + IF((e)&DPA_ROCE_XRCETH, 4) +                    \
	 IF((e)&DPA_ROCE_RETH, 16) + IF((e)&DPA_ROCE_ATOMICETH, 28) + IF((e)&DPA_ROCE_AETH, 4) +   \
	 IF((e)&DPA_ROCE_ATOMICACKETH, 8) + IF((e)&DPA_ROCE_IMMDT, 4) + IF((e)&DPA_ROCE_IETH, 4) + \
	 IF((e)&DPA_ROCE_FETH, 4) + IF((e)&DPA_ROCE_CNP, DPA_ROCE_CNP_RESERVED))
#define OP(code, e, text) [code] = {e, HDR(e), text},

const struct dpa_roce_op dpa_roce_ops[256] = {
#define X(name, props, family, text)                                                               \
	OP(DPA_BTH_RC | DPA_BTH_##name, EXT(props, DPA_BTH_RC), "RC " text)
	DPA_RELIABLE_OPS(X)
#undef X
#define X(name, props, family, text)                                                               \
	OP(DPA_BTH_UC | DPA_BTH_##name, EXT(props, DPA_BTH_UC), "UC " text)
		DPA_CONNECTED_OPS(X)
#undef X
#define X(name, props, family, text)                                                               \
	OP(DPA_BTH_UD | DPA_BTH_##name, EXT(props, DPA_BTH_UD), "UD " text)
			DPA_DATAGRAM_OPS(X)
#undef X
				OP(DPA_BTH_CNP, DPA_ROCE_KNOWN | DPA_ROCE_CNP,
				   "CNP") OP(DPA_BTH_PROBE,
					     DPA_ROCE_KNOWN | DPA_ROCE_ATOMICETH | DPA_ROCE_PAYLOAD,
					     "RTT probe")
					OP(DPA_BTH_PROBED,
					   DPA_ROCE_KNOWN | DPA_ROCE_ATOMICETH | DPA_ROCE_PAYLOAD,
					   "RTT answer")
#define X(name, props, family, text)                                                               \
	OP(DPA_BTH_XRC | DPA_BTH_##name, EXT(props, DPA_BTH_XRC), "XRC " text)
						DPA_RELIABLE_OPS(X)
#undef X
};

/* IBA 9.2 (opcodes) */
uint32_t dpa_roce_ext_of(uint8_t opcode)
{
	return dpa_roce_ops[opcode].ext;
}

const char *dpa_roce_opcode_name(uint8_t opcode)
{
	const char *name = dpa_roce_ops[opcode].name;

	return name ? name : "unknown";
}

uint32_t dpa_roce_hdr_len(uint8_t opcode)
{
	uint8_t hdr = dpa_roce_ops[opcode].hdr;

	return hdr ? hdr : DPA_ROCE_BTH;
}

const char *dpa_roce_verdict_name(enum dpa_roce_verdict v)
{
	static const char *const names[DPA_ROCE_VERDICTS] = {
		[DPA_ROCE_OK] = "ok",
		[DPA_ROCE_SHORT] = "too short",
		[DPA_ROCE_VERSION] = "unknown transport version",
		[DPA_ROCE_OPCODE] = "unknown opcode",
		[DPA_ROCE_PAD] = "wrong pad or length",
		[DPA_ROCE_LONG] = "payload too long",
		[DPA_ROCE_NO_PAYLOAD] = "payload where there is none",
		[DPA_ROCE_DQPN] = "wrong destination QP",
	};

	return (unsigned int)v < DPA_ROCE_VERDICTS ? names[v] : "?";
}
