/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* opcode.c - every BTH opcode of RC, UC, UD and XRC (IBA 9.2.1, table 38; annexes A14 and A19), and
 * RoCEv2's CNP: which extended headers it carries. */
#include "ops.h"

#define IF(e, flag, bytes) (((e) & (flag)) ? (bytes) : 0)
#define HDR(e)                                                                                     \
	(DPA_ROCE_BTH + IF(e, DPA_ROCE_DETH, 8) + IF(e, DPA_ROCE_XRCETH, 4) +                      \
	 IF(e, DPA_ROCE_RETH, 16) + IF(e, DPA_ROCE_ATOMICETH, 28) + IF(e, DPA_ROCE_AETH, 4) +      \
	 IF(e, DPA_ROCE_ATOMICACKETH, 8) + IF(e, DPA_ROCE_IMMDT, 4) + IF(e, DPA_ROCE_IETH, 4) +    \
	 IF(e, DPA_ROCE_FETH, 4) + IF(e, DPA_ROCE_CNP, DPA_ROCE_CNP_RESERVED))
#define OP(code, e, text) [code] = {(e) | DPA_ROCE_KNOWN, HDR(e), text}

#define PAY  DPA_ROCE_PAYLOAD
#define RETH DPA_ROCE_RETH
#define IMM  DPA_ROCE_IMMDT
#define AETH DPA_ROCE_AETH

/* Opcodes 0 to 11: the same for all connected transports; r: what each request carries more. */
#define SEND_WRITE(base, t, r)                                                                     \
	OP((base) + 0x00, (r) | PAY, t " SEND First"),                                             \
		OP((base) + 0x01, (r) | PAY, t " SEND Middle"),                                    \
		OP((base) + 0x02, (r) | PAY, t " SEND Last"),                                      \
		OP((base) + 0x03, (r) | PAY | IMM, t " SEND Last with Immediate"),                 \
		OP((base) + 0x04, (r) | PAY, t " SEND Only"),                                      \
		OP((base) + 0x05, (r) | PAY | IMM, t " SEND Only with Immediate"),                 \
		OP((base) + 0x06, (r) | PAY | RETH, t " RDMA WRITE First"),                        \
		OP((base) + 0x07, (r) | PAY, t " RDMA WRITE Middle"),                              \
		OP((base) + 0x08, (r) | PAY, t " RDMA WRITE Last"),                                \
		OP((base) + 0x09, (r) | PAY | IMM, t " RDMA WRITE Last with Immediate"),           \
		OP((base) + 0x0a, (r) | PAY | RETH, t " RDMA WRITE Only"),                         \
		OP((base) + 0x0b, (r) | PAY | RETH | IMM, t " RDMA WRITE Only with Immediate")

/* The rest of the reliable ones. Responses have no XRCETH (annex A14.3). */
#define RELIABLE(base, t, r)                                                                       \
	SEND_WRITE(base, t, r), OP((base) + 0x0c, (r) | RETH, t " RDMA READ Request"),             \
		OP((base) + 0x0d, PAY | AETH, t " RDMA READ response First"),                      \
		OP((base) + 0x0e, PAY, t " RDMA READ response Middle"),                            \
		OP((base) + 0x0f, PAY | AETH, t " RDMA READ response Last"),                       \
		OP((base) + 0x10, PAY | AETH, t " RDMA READ response Only"),                       \
		OP((base) + 0x11, AETH, t " Acknowledge"),                                         \
		OP((base) + 0x12, AETH | DPA_ROCE_ATOMICACKETH, t " ATOMIC Acknowledge"),          \
		OP((base) + 0x13, (r) | DPA_ROCE_ATOMICETH, t " CmpSwap"),                         \
		OP((base) + 0x14, (r) | DPA_ROCE_ATOMICETH, t " FetchAdd"),                        \
		OP((base) + 0x16, (r) | PAY | DPA_ROCE_IETH, t " SEND Last with Invalidate"),      \
		OP((base) + 0x17, (r) | PAY | DPA_ROCE_IETH, t " SEND Only with Invalidate"),      \
		OP((base) + 0x1c, (r) | DPA_ROCE_FETH | RETH, t " FLUSH"),                         \
		OP((base) + 0x1d, (r) | PAY | RETH, t " ATOMIC WRITE")

const struct dpa_roce_op dpa_roce_ops[256] = {
	RELIABLE(0x00, "RC", 0),
	SEND_WRITE(0x20, "UC", 0),
	OP(0x64, DPA_ROCE_DETH | PAY, "UD SEND Only"),
	OP(0x65, DPA_ROCE_DETH | PAY | IMM, "UD SEND Only with Immediate"),
	OP(0x81, DPA_ROCE_CNP, "CNP"),
	RELIABLE(0xa0, "XRC", DPA_ROCE_XRCETH),
};

/* IBA 9.2/opcodes */
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
