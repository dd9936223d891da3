/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_format.h - memory formats between driver and device: UAR pages, WQEs, doorbell records,
 * CQEs, event records, and their limits. Do not include it directly; include dpa_hw.h.
 */
#ifndef DPA_HW_FORMAT_H
#define DPA_HW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dpa_hw_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ limits */

enum {
	DPA_MAX_SGE = 32,
	DPA_MAX_WR = 16384,    /* of one SQ, RQ or SRQ */
	DPA_MAX_INLINE = 1024, /* bytes */
	DPA_MAX_CQE = 1 << 22,
	DPA_MAX_RD_ATOMIC = 16,	      /* outstanding READs and atomics of a QP, as responder */
	DPA_MAX_INIT_RD_ATOMIC = 128, /* as initiator: peers of other vendors take more */
	DPA_MAX_GIDS = 256,
	DPA_MAX_FUNCTIONS = 8, /* 0 is the PF, the others are SFs */
	DPA_MAX_MR = 1 << 18,
	DPA_MAX_QP = 32768,  /* of one board */
	DPA_MAX_CQ = 65536,  /* of one process */
	DPA_MAX_SRQ = 16384, /* of one process; XRC: of one board */
	DPA_MAX_PD = 65536,
	DPA_MAX_AH = 1 << 20,
	DPA_MAX_TAGS = 1024,	/* tagged buffers of each SRQ */
	DPA_MAX_TAG_OPS = 1024, /* operations on them; each is complete on return */
	DPA_MAX_TAG_SGE = 8,
	DPA_MAX_RNDV = 64,     /* bytes of a rendezvous request */
	DPA_MAX_WQ = 4096,     /* of one process */
	DPA_MAX_IND = 1024,    /* indirection tables of one process */
	DPA_MAX_LOG_IND = 7,   /* entries of each: 128 */
	DPA_MAX_FLOWS = 512,   /* flow rules of one board */
	DPA_MAX_FRAME = 9216,  /* bytes of a raw packet, without FCS */
	DPA_MAX_MCAST = 4096,  /* attachments of QPs to multicast groups, of one board */
	DPA_MAX_DM = 16 << 20, /* bytes of device memory of one process */
			       /* DPA_MAX_MSG does not fit an enum. */
};

#define DPA_MAX_MSG 0x80000000u /* bytes of an RC or UC message */

/* --------------------------------------------------------- BAR: UAR pages */

/*
 * The BAR is an array of UAR pages. A page has DPA_UAR_SLOTS slots. A slot belongs to one QP, and
 * only posters to that QP write to it, so that no lock is needed, whatever the number of QPs.
 *
 * A slot is 256 bytes, four 64-byte blocks. The first 8 bytes of block 0 are the doorbell word. A
 * doorbell is one 8-byte store of struct dpa_db with opcode DPA_OP_DOORBELL. A BlueFlame write
 * stores a whole WQE of 1..DPA_BF_BLOCKS blocks over the slot; its first 8 bytes are the WQE's own
 * first word, whose opcode is not DPA_OP_DOORBELL. In both cases the EU watches one word of one
 * cache line.
 *
 * The 8-byte stores of a BlueFlame write may become visible in any order. The WQE's `check` field
 * holds dpa_wqe_check() of the WQE. If an EU finds another value, or an unexpected index, it takes
 * the WQEs from the SQ, which always has them: the poster writes the WQE, then the doorbell record
 * (release), then the slot.
 */
#define DPA_UAR_PAGE_SIZE 4096
#define DPA_UAR_SLOT_SIZE 256
#define DPA_UAR_SLOTS	  (DPA_UAR_PAGE_SIZE / DPA_UAR_SLOT_SIZE)
#define DPA_BF_BLOCKS	  3 /* block 3 holds the slot's statistics */

struct dpa_db {
	uint8_t opcode; /* DPA_OP_DOORBELL */
	uint8_t flags;	/* 0 */
	uint8_t nbb;	/* 0 */
	uint8_t nsge;	/* 0 */
	uint32_t pi;	/* SQ producer index after this doorbell, in blocks */
};

/*
 * Figures of a slot's QP, for tools. Written by the device, some four times a second while a tool
 * reads them; else old or 0. 2 + 2 + 4 + 2 * 4 + 2 * 8 + 3 * 4 + 2 * 2 = 48 bytes. Counts are modulo
 * their width, and begin at the first reading.
 */
struct dpa_slot_meter {
	uint16_t seq;	/* odd while it is written */
	uint16_t rnr;	/* RNR NAKs, received and sent */
	uint32_t again; /* PSNs that were sent again */
	uint32_t tx_msgs, rx_msgs;
	uint64_t tx_bytes, rx_bytes;
	/* bits 0..23 a PSN. send: the next one; 24..31 what the send queue waits for */
	uint32_t send;
	uint32_t una;	 /* the oldest without acknowledgement; 24..31 status of the last error */
	uint32_t epsn;	 /* the expected one; 24..31 vendor error of it */
	uint16_t queued; /* blocks of the SQ in use */
	uint16_t window; /* KiB that congestion control allows in flight; 0xffff: any */
};

/* 256 = 3 * 64 + 2 * 8 + 48 */
struct dpa_uar_slot {
	union {
		uint64_t word; /* written by the poster, read by the EU */
		uint8_t bf[DPA_BF_BLOCKS * 64];
	};
	/* statistics, written by the poster under its own SQ lock, relaxed */
	uint64_t doorbells;
	uint64_t blueflames;
	struct dpa_slot_meter meter;
};

/* -------------------------------------------------------------------- WQEs */

/* Send opcodes. The first group has the values of enum ibv_wr_opcode. */
enum dpa_op {
	DPA_OP_RDMA_WRITE = 0,
	DPA_OP_RDMA_WRITE_IMM = 1,
	DPA_OP_SEND = 2,
	DPA_OP_SEND_IMM = 3,
	DPA_OP_RDMA_READ = 4,
	DPA_OP_ATOMIC_CS = 5,
	DPA_OP_ATOMIC_FA = 6,
	DPA_OP_LOCAL_INV = 7,
	DPA_OP_BIND_MW = 8,
	DPA_OP_SEND_INV = 9,
	DPA_OP_FLUSH = 14,
	DPA_OP_ATOMIC_WRITE = 15,
	DPA_OP_NOP = 0x40,
	DPA_OP_DOORBELL = 0x7f, /* only as the opcode of struct dpa_db */
};

/* True for the atomics that return the old value. ATOMIC_WRITE is none. */
static inline bool dpa_op_is_atomic(uint8_t op)
{
	return op == DPA_OP_ATOMIC_CS || op == DPA_OP_ATOMIC_FA;
}

enum dpa_wqe_flags {
	DPA_WQE_SIGNALED = 1 << 0, /* CQE also on success */
	DPA_WQE_SOLICITED = 1 << 1,
	DPA_WQE_FENCE = 1 << 2,	 /* wait for earlier READs and atomics */
	DPA_WQE_INLINE = 1 << 3, /* `length` bytes of payload instead of SGEs */
};

#define DPA_WQEBB 64 /* a send WQE is 1..255 blocks of 64 bytes */

/*
 * Control segment, first in every send WQE: 32 bytes.
 * Then, at byte 32:
 *   SEND*:            SGEs or inline data
 *   RDMA_*:           struct dpa_wqe_raddr, then SGEs or inline data (READ: SGEs only)
 *   ATOMIC_CS, _FA:   struct dpa_wqe_raddr, struct dpa_wqe_atomic, then one SGE
 *   ATOMIC_WRITE:     struct dpa_wqe_raddr, then SGEs or inline data of 8 bytes
 *   FLUSH:            struct dpa_wqe_raddr with `flush`; ctrl.length is the range, no data follows
 *   UD SEND*:         struct dpa_wqe_av, then SGEs or inline data
 *   LOCAL_INV:        nothing (imm holds the R_Key)
 *   of an XRC_SEND QP: struct dpa_wqe_xrc before all of these
 *   BIND_MW:          struct dpa_wqe_raddr (address; R_Key of the window), struct dpa_wqe_bind
 */
struct dpa_wqe_ctrl {
	uint8_t opcode; /* enum dpa_op */
	uint8_t flags;	/* enum dpa_wqe_flags */
	uint8_t nbb;	/* length of the WQE in blocks */
	uint8_t nsge;	/* SGEs that follow, 0 with DPA_WQE_INLINE */
	uint32_t index; /* SQ producer index of this WQE's first block */
	uint64_t wr_id;
	uint32_t imm;	 /* immediate (opaque, as posted by the user) or R_Key to invalidate */
	uint32_t length; /* bytes of the message: inline bytes or sum of the SGEs */
	uint32_t check;	 /* BlueFlame write: dpa_wqe_check(); in the SQ: any value */
	uint32_t count;	 /* for the driver: number of WQEs posted before this one */
};

/*
 * The request of a FLUSH, as in its FETH (annex A19): bits 3:0 the required placement, 5:4 the
 * selectivity.
 */
enum dpa_flush {
	DPA_FLUSH_GLOBAL = 1 << 0,     /* visible to all users of the memory */
	DPA_FLUSH_PERSISTENT = 1 << 1, /* survives a power loss */
	DPA_FLUSH_TYPE = 0xf,
	DPA_FLUSH_MR = 1 << 4, /* the whole region, else the range */
	DPA_FLUSH_LEVEL = 3 << 4,
};

struct dpa_wqe_raddr {
	uint64_t addr;
	uint32_t rkey;
	uint32_t flush; /* FLUSH: enum dpa_flush; else 0 */
};

struct dpa_wqe_atomic {
	uint64_t swap_add; /* CS: swap; FA: add */
	uint64_t compare;  /* CS only */
};

/* Names an SRQ of the target's domain. Present but unused in local operations. */
struct dpa_wqe_xrc {
	uint32_t srqn;
	uint32_t rsvd[3];
};

/* Binds a memory window; its new R_Key is in ctrl.imm and differs from the old one in the low
 * 8 bits only. length 0 unbinds (type 1). */
struct dpa_wqe_bind {
	uint64_t length;
	uint32_t lkey;	 /* L_Key of the region */
	uint32_t access; /* enum dpa_access: remote bits and ZERO_BASED */
};

struct dpa_sge {
	uint64_t addr;
	uint32_t length; /* 0 means no bytes, not 2^31 */
	uint32_t lkey;
};

/* Address vector, 48 bytes. Also the body of an address handle and of a QP's path. */
struct dpa_wqe_av {
	uint8_t dgid[16]; /* network order */
	uint32_t dqpn;
	uint32_t qkey;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
	uint16_t dlid;
	uint8_t static_rate;
	uint8_t is_global;
	uint8_t rsvd[12];
};

/*
 * Receive WQE of an RQ or SRQ: 16 bytes, then max_sge SGEs; the stride is
 * dpa_rwqe_stride(max_sge). The device copies a receive WQE when a message takes it, and
 * publishes rq_ci at once.
 */
struct dpa_rwqe {
	uint64_t wr_id;
	uint32_t nsge;
	uint32_t rsvd;
};

static inline uint32_t dpa_rwqe_stride(uint32_t max_sge)
{
	uint32_t need =
		(uint32_t)sizeof(struct dpa_rwqe) + max_sge * (uint32_t)sizeof(struct dpa_sge);
	uint32_t s = 32;

	while (s < need)
		s <<= 1;
	return s;
}

/*
 * Doorbell record of a QP (both halves) or an SRQ (rq half): 128 bytes, 64-byte aligned.
 * First line: written by the poster (release, under its SQ or RQ lock), read by the device
 * (acquire). Second line: written by the device (release), read by the poster (acquire).
 */
struct dpa_dbrec {
	uint32_t sq_pi; /* blocks */
	uint32_t rq_pi; /* receive WQEs */
	uint8_t rsvd0[56];
	uint32_t sq_ci; /* completed blocks, which may be overwritten */
	uint32_t rq_ci; /* receive WQEs taken, which may be overwritten */
	uint8_t rsvd1[56];
};

/*
 * Writes a control segment in whole words: a reader that loads words gets them from the store
 * buffer. It would have to wait for smaller stores. `check` is 0.
 */
static inline void dpa_wqe_put_ctrl(struct dpa_wqe_ctrl *c, uint8_t opcode, uint8_t flags,
				    uint8_t nbb, uint8_t nsge, uint32_t index, uint64_t wr_id,
				    uint32_t imm, uint32_t length, uint32_t count)
{
	uint64_t *w = (uint64_t *)(void *)c;

	/* Atomic, because the compiler would otherwise combine them on the stack. */
	__atomic_store_n(&w[0],
			 opcode | (uint32_t)flags << 8 | (uint32_t)nbb << 16 |
				 (uint32_t)nsge << 24 | (uint64_t)index << 32,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&w[1], wr_id, __ATOMIC_RELAXED);
	__atomic_store_n(&w[2], imm | (uint64_t)length << 32, __ATOMIC_RELAXED);
	__atomic_store_n(&w[3], (uint64_t)count << 32, __ATOMIC_RELAXED);
}

/* The part of a WQE's check value for word i: no multiplication depends on another. */
static inline uint64_t dpa_wqe_mix(uint32_t i, uint64_t w)
{
	const uint64_t k = 0xff51afd7ed558ccdull + i * (2 * 0x9e3779b97f4a7c15ull);

	return (i == 3 ? w & 0xffffffff00000000ull : w) * k; /* except `check` itself */
}

/* Computes the check value from the sum of these parts and the number of blocks. */
static inline uint32_t dpa_wqe_mixed(uint64_t h)
{
	h ^= h >> 32;
	return (uint32_t)h | 1u; /* never 0: a cleared slot is never valid */
}

/*
 * Mixes all 8-byte words of a WQE except `check` into 32 bits. It must detect a BlueFlame write
 * with some 8-byte words of an older WQE.
 */
static inline uint32_t dpa_wqe_check(const void *wqe, uint32_t nbb)
{
	const uint64_t *w = (const uint64_t *)wqe;
	uint64_t h = nbb;

	for (uint32_t i = 0; i < nbb * 8; i++)
		h += dpa_wqe_mix(i, w[i]);
	return dpa_wqe_mixed(h);
}

/* -------------------------------------------------------------------- CQEs */

enum dpa_cqe_opcode {
	DPA_CQE_SEND = 0, /* values of enum ibv_wc_opcode */
	DPA_CQE_RDMA_WRITE = 1,
	DPA_CQE_RDMA_READ = 2,
	DPA_CQE_COMP_SWAP = 3,
	DPA_CQE_FETCH_ADD = 4,
	DPA_CQE_BIND_MW = 5,
	DPA_CQE_LOCAL_INV = 6,
	DPA_CQE_FLUSH = 8,
	DPA_CQE_ATOMIC_WRITE = 9,
	DPA_CQE_RECV = 128,
	DPA_CQE_RECV_RDMA_WITH_IMM = 129,
	DPA_CQE_TM_ADD = 130,
	DPA_CQE_TM_DEL = 131,
	DPA_CQE_TM_SYNC = 132,
	DPA_CQE_TM_RECV = 133,
	DPA_CQE_TM_NO_TAG = 134,
};

enum dpa_cqe_flags {
	DPA_CQE_F_GRH = 1 << 0,
	DPA_CQE_F_IMM = 1 << 1,
	DPA_CQE_F_INV = 1 << 3,	     /* imm holds the invalidated R_Key */
	DPA_CQE_F_TM_SYNC = 1 << 4,  /* software must report unexpected messages first */
	DPA_CQE_F_TM_MATCH = 1 << 5, /* the message matched a tag */
	DPA_CQE_F_TM_DATA = 1 << 6,  /* the message is complete */
	DPA_CQE_F_SOLICITED = 1 << 7,
};

/*
 * 64 bytes: 8 + 6*4 + 8 + 8 + 8 + 4 + 4 = 64.
 * The last four bytes are written last, by one store (release): a CQE at consumer index ci of a CQ
 * of 2^log entries is valid when owner == dpa_cqe_owner(ci, log). A new buffer is filled with 0,
 * which is never valid, so that entries differ by their lap only. Laps have seven bits, so that the
 * reader of a CQ that ignores overrun detects that its entries were overwritten.
 */
struct dpa_cqe {
	uint64_t wr_id;
	uint32_t qpn;
	uint32_t user_index; /* user_index of the QP, from CREATE_QP */
	uint32_t byte_len;
	uint32_t imm;	     /* immediate as sent, or the invalidated R_Key */
	uint32_t src_qpn;    /* UD */
	uint32_t vendor_err; /* enum dpa_syndrome */
	/* device clock, ns (CLOCK_MONOTONIC); 0 unless the CQ has timestamps */
	uint64_t timestamp;
	uint32_t wqe_index; /* send: SQ block index of the WQE; TM_RECV: app_ctx of the header */
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t path_bits;
	uint8_t rsvd[2];
	/* raw packet: tag of its flow rule; TM_RECV: tag of the header, low half */
	uint32_t tag;
	uint32_t tag_high; /* TM_RECV */
	uint8_t opcode;	   /* enum dpa_cqe_opcode */
	uint8_t status;	   /* enum dpa_cqe_status */
	uint8_t flags;	   /* enum dpa_cqe_flags */
	uint8_t owner;
};

#define DPA_CQE_LAPS 128u /* a power of two, so that counting continues when indices wrap */

static inline uint8_t dpa_cqe_owner(uint32_t index, uint32_t log_size)
{
	return (uint8_t)(((index >> log_size) & (DPA_CQE_LAPS - 1)) + 1u);
}

/* The last four bytes as one word. Only the device writes it; pollers read it. */
typedef uint32_t __attribute__((may_alias)) dpa_cqe_word;

static inline uint32_t dpa_cqe_pack(uint8_t opcode, uint8_t status, uint8_t flags, uint8_t owner)
{
	const uint8_t b[4] = {opcode, status, flags, owner};
	uint32_t w;

	__builtin_memcpy(&w, b, sizeof(w));
	return w;
}

static inline uint32_t dpa_cqe_last(const struct dpa_cqe *e)
{
	return __atomic_load_n((const dpa_cqe_word *)&e->opcode, __ATOMIC_ACQUIRE);
}

/*
 * Makes e a valid entry with `from`'s opcode, status and flags. Its other bytes are written
 * already.
 */
static inline void dpa_cqe_publish(struct dpa_cqe *e, const struct dpa_cqe *from, uint8_t owner)
{
	__atomic_store_n((dpa_cqe_word *)&e->opcode,
			 dpa_cqe_pack(from->opcode, from->status, from->flags, owner),
			 __ATOMIC_RELEASE);
}

static inline int dpa_cqe_valid(const struct dpa_cqe *e, uint32_t index, uint32_t log_size)
{
	return (dpa_cqe_last(e) & dpa_cqe_pack(0, 0, 0, 0xff)) ==
	       dpa_cqe_pack(0, 0, 0, dpa_cqe_owner(index, log_size));
}

/*
 * Returns by how many laps the entry of this place is ahead of index `index`, modulo 128; -1: none
 * was written.
 */
static inline int dpa_cqe_laps(const struct dpa_cqe *e, uint32_t index, uint32_t log_size)
{
	uint32_t last = dpa_cqe_last(e);
	uint8_t b[4];

	__builtin_memcpy(b, &last, sizeof(b));
	if (!b[3])
		return -1;
	return (int)((b[3] - (uint32_t)dpa_cqe_owner(index, log_size)) & (DPA_CQE_LAPS - 1));
}

/*
 * Returns by how many laps the entry in the place of index `at`, the reader's next, is ahead. 0: it
 * is that entry. DPA_CQE_NONE: it is not written yet. Else it was overwritten.
 * An entry 127 laps later has the same owner byte as the entry to be overwritten: in that case the
 * previous place does not hold the entry that was read last. After exactly 128 laps all owner bytes
 * look as if nothing was written: DPA_CQE_NONE until one more entry is written.
 */
#define DPA_CQE_NONE DPA_CQE_LAPS
static inline uint32_t dpa_cqe_ahead(const struct dpa_cqe *buf, uint32_t at, uint32_t log_size)
{
	uint32_t mask = (1u << log_size) - 1;
	int laps = dpa_cqe_laps(&buf[at & mask], at, log_size);

	if (laps == (int)DPA_CQE_LAPS - 1) {
		if (dpa_cqe_laps(&buf[(at - 1) & mask], at - 1, log_size) <= 0)
			return DPA_CQE_NONE;
		/* it may have been written since the check */
		laps = dpa_cqe_laps(&buf[at & mask], at, log_size);
	}
	return laps < 0 ? DPA_CQE_NONE : (uint32_t)laps;
}

/*
 * For the reader of a CQ that ignores overrun, whose next entry has index `at`: returns the index
 * of the oldest entry that is left; `at` unless entries were overwritten. The device may overwrite
 * that one, too, while it is read.
 */
static inline uint32_t dpa_cqe_oldest(const struct dpa_cqe *buf, uint32_t at, uint32_t log_size)
{
	uint32_t mask = (1u << log_size) - 1;
	uint32_t ahead = dpa_cqe_ahead(buf, at, log_size);
	uint32_t first, gone = 0, there = mask;

	if (!ahead || ahead == DPA_CQE_NONE)
		return at;
	/* the last entry of the lap from here on is written */
	first = at + (ahead << log_size) - mask;
	while (gone < there) {
		uint32_t mid = gone + (there - gone) / 2;

		if (dpa_cqe_valid(&buf[(first + mid) & mask], first + mid, log_size))
			there = mid;
		else
			gone = mid + 1;
	}
	return first + there;
}

/* vendor_err: the exact reason of an error. Stable numbers; docs/device-reference.md lists them. */
enum dpa_syndrome {
	DPA_SYN_NONE = 0,
	DPA_SYN_BAD_LKEY = 0x10, /* no such MR, or it is of another PD */
	DPA_SYN_LKEY_BOUNDS = 0x11,
	DPA_SYN_LKEY_ACCESS = 0x12, /* local write is not allowed */
	DPA_SYN_BAD_OPCODE = 0x13,  /* opcode not allowed on this QP */
	DPA_SYN_BAD_WQE = 0x14,	    /* malformed WQE */
	DPA_SYN_MSG_TOO_LONG = 0x15,
	DPA_SYN_LOCAL_FAULT = 0x16, /* the process cannot access its own buffer */
	DPA_SYN_RECV_TOO_SMALL = 0x20,
	DPA_SYN_NAK_SEQ = 0x30,
	DPA_SYN_NAK_INV_REQ = 0x31,
	DPA_SYN_NAK_ACCESS = 0x32,
	DPA_SYN_NAK_OP = 0x33,
	DPA_SYN_RNR = 0x34,	  /* rnr_retry exhausted */
	DPA_SYN_TIMEOUT = 0x35,	  /* retry_cnt exhausted */
	DPA_SYN_PEER_DEAD = 0x36, /* the peer's process ended */
	DPA_SYN_NO_PATH = 0x37,	  /* no link reaches this address */
	/* no file descriptor for the link to the peer, on this or the other side */
	DPA_SYN_NO_FDS = 0x38,
	DPA_SYN_BAD_RKEY = 0x40, /* responder side of 0x32: no such MR, or of another PD */
	DPA_SYN_RKEY_BOUNDS = 0x41,
	DPA_SYN_RKEY_ACCESS = 0x42,
	DPA_SYN_QP_ACCESS = 0x43, /* the QP's qp_access_flags forbid it */
	DPA_SYN_UNALIGNED = 0x44, /* atomic */
	DPA_SYN_FLUSHED = 0x50,
	DPA_SYN_CQ_OVERRUN = 0x51,
	DPA_SYN_MW_BIND = 0x54,	     /* the window cannot be bound this way */
	DPA_SYN_PULL_REFUSED = 0x53, /* never reported: the ring is used instead */
	DPA_SYN_INV_RKEY = 0x52,     /* the key cannot be invalidated */
};

/* ------------------------------------------------------------------ events */

enum dpa_event_type { /* values of enum ibv_event_type */
		      DPA_EVENT_CQ_ERR = 0,
		      DPA_EVENT_QP_FATAL = 1,
		      DPA_EVENT_QP_REQ_ERR = 2,
		      DPA_EVENT_QP_ACCESS_ERR = 3,
		      DPA_EVENT_COMM_EST = 4,
		      DPA_EVENT_SQ_DRAINED = 5,
		      DPA_EVENT_PATH_MIG = 6,
		      DPA_EVENT_DEVICE_FATAL = 8,
		      DPA_EVENT_PORT_ACTIVE = 9,
		      DPA_EVENT_PORT_ERR = 10,
		      DPA_EVENT_SRQ_ERR = 14,
		      DPA_EVENT_SRQ_LIMIT_REACHED = 15,
		      DPA_EVENT_QP_LAST_WQE_REACHED = 16,
		      DPA_EVENT_GID_CHANGE = 18,
		      DPA_EVENT_WQ_FATAL = 19,
};

/* Event record: the type, and the user_handle of the QP, CQ, SRQ or WQ, or the port number. */
struct dpa_event {
	uint32_t type; /* enum dpa_event_type */
	uint32_t port;
	uint64_t user_handle;
};

/* ------------------------------------------------------------ layout checks */

#ifdef __cplusplus
#define DPA_ASSERT_(c) static_assert(c, #c)
#else
#define DPA_ASSERT_(c) _Static_assert(c, #c)
#endif
DPA_ASSERT_(sizeof(struct dpa_db) == 8);
DPA_ASSERT_(sizeof(struct dpa_uar_slot) == DPA_UAR_SLOT_SIZE);
DPA_ASSERT_(offsetof(struct dpa_uar_slot, doorbells) == 192);
DPA_ASSERT_(offsetof(struct dpa_uar_slot, meter) == 208);
DPA_ASSERT_(sizeof(struct dpa_slot_meter) == 48);
DPA_ASSERT_(sizeof(struct dpa_wqe_ctrl) == 32);
DPA_ASSERT_(offsetof(struct dpa_wqe_ctrl, index) == offsetof(struct dpa_db, pi));
DPA_ASSERT_(offsetof(struct dpa_wqe_ctrl, check) == 24);
DPA_ASSERT_(sizeof(struct dpa_wqe_raddr) == 16);
DPA_ASSERT_(sizeof(struct dpa_wqe_atomic) == 16);
DPA_ASSERT_(sizeof(struct dpa_wqe_xrc) == 16);
DPA_ASSERT_(sizeof(struct dpa_sge) == 16);
DPA_ASSERT_(sizeof(struct dpa_wqe_bind) == 16);
DPA_ASSERT_(sizeof(struct dpa_wqe_av) == 48);
DPA_ASSERT_(sizeof(struct dpa_rwqe) == 16);
DPA_ASSERT_(sizeof(struct dpa_dbrec) == 128);
DPA_ASSERT_(offsetof(struct dpa_dbrec, sq_ci) == 64);
DPA_ASSERT_(sizeof(struct dpa_cqe) == 64);
DPA_ASSERT_(offsetof(struct dpa_cqe, timestamp) == 32);
DPA_ASSERT_(offsetof(struct dpa_cqe, tag) == 52);
DPA_ASSERT_(offsetof(struct dpa_cqe, owner) == 63);
DPA_ASSERT_(sizeof(struct dpa_event) == 16);

#ifdef __cplusplus
}
#endif

#endif
