/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lane.h - one direction of a shared memory link: a ring of 64-byte slots, one packet a slot, and a
 * data area for what does not fit a slot. It lives in a sealed memfd that the sending process made
 * and handed to the receiving one.
 *
 * Producer side: any thread of the sending process that holds tx->lock.
 * Consumer side: any thread of the receiving process that holds rx->lock.
 *
 *   slot.seq      The producer writes it last (release), the consumer reads it (acquire). The slot
 *                 of index i is full when seq == i + 1. Never reset: only laps tell slots apart.
 *
 *   tail, dtail   The consumer writes them (release), the producer reads them (acquire). Neither
 *                 passes an entry before its payload was placed or dropped: the producer writes
 *                 the next payload there (eu/drain.c: struct taken).
 *
 *   watched       The consumer writes it: it looks at the next slot itself; 0: set my summary bit.
 *                 The producer fences between seq and its look at this (dpa_tx_kick), the consumer
 *                 between this and a last look at the slot (dpa_hot_add).
 *
 *   pull, lossy   The consumer writes them whenever they change (release), the producer reads them
 *                 (relaxed) for each packet: whether process_vm_readv reaches the producer, and
 *                 whether packets may be lost here.
 *
 *   job           A large message that the consumer fetches, and of which the producer brings
 *                 pieces if it polls: its own words, below, and device/payload/pull.c.
 *
 *   wants_space   The producer sets it (relaxed): wake me when space was made. The consumer clears
 *                 it when it does. One that is missed costs a look by the producer's timer.
 */
#ifndef DPA_LANE_H
#define DPA_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "ctx/copy.h"
#include "ctx/hw.h"
#include "util/backoff.h"
#include "ctx/qp.h"
#include "util/lock.h"
#include "wire/opcode.h"

#define DPA_LANE_SLOTS 1024u
#define DPA_LANE_DATA  (256u * 1024) /* bytes */
#define DPA_LANE_UNITS (DPA_LANE_DATA / 64)
#define DPA_LANE_MTU   8192u /* payload of one slot: it may stand for a run of the QP's packets */
#define DPA_PKT_EXT    40

enum dpa_pkt_flags {
	DPA_PKT_SE = 1 << 0, /* solicited event */
	DPA_PKT_ACKREQ = 1 << 1,
	DPA_PKT_INSLOT = 1 << 2, /* payload lies in the slot behind the extended header */
	DPA_PKT_PULL = 1 << 3,	 /* payload is struct dpa_pull: fetch it from the sender's memory */
	DPA_PKT_MTU =
		7 << 4, /* path MTU code of a slot for the wire or off it; 0: not of the wire */
	DPA_PKT_IOV = 1 << 7, /* payload is struct dpa_pieces: a run of packets as they came */
	/* what a slot off a lane may say: the rest is only ever said within a process */
	DPA_PKT_ON_LANE = DPA_PKT_SE | DPA_PKT_ACKREQ | DPA_PKT_INSLOT | DPA_PKT_PULL,
};

/* Opcodes of slots beside those of the BTH. No wire has these. */
enum {
	/* a requester asks whether all was looked at, and the answer (ask.c) */
	DPA_LINK_LOOKED = 0xfa,
	DPA_LINK_ASK = 0xfb,
	/* an Ethernet frame (device/raw) */
	DPA_LINK_RAW = 0xfc,
	/* ACKs of several QPs in one slot (struct dpa_acks) */
	DPA_LINK_ACKS = 0xfd,
	/* a packet passed on with its addresses (forward.h) */
	DPA_LINK_FRAME = 0xfe,
	/* the QP does not exist: the sender takes it for a loss */
	DPA_LINK_NO_QP = 0xff,
};

/* Slot: 4 + 1 + 1 + 2 + 4 + 4 + 4 + 4 + 40 = 64. Everything in host order: one host. */
struct dpa_slot {
	_Atomic uint32_t seq;
	uint8_t opcode; /* BTH opcode, or DPA_LINK_* */
	uint8_t flags;
	uint16_t src; /* index part of the sending QP's QPN */
	uint32_t dqpn;
	uint32_t psn;
	uint32_t len; /* payload bytes (that it stands for, with DPA_PKT_PULL) */
	union {
		uint32_t data; /* data area: free running index of 64-byte units */
		uint32_t from; /* off the wire, never in a lane: DPA_FROM_* */
	};
	uint8_t ext[DPA_PKT_EXT]; /* extended headers (struct dpa_ext), then payload if INSLOT */
};

/*
 * The UDP source of a packet off the wire, beside the address, which is the path's: its port.
 * DPA_FROM_UNKNOWN: another user of this host passed the packet on, and may have made the port up.
 */
#define DPA_FROM_UNKNOWN 0u
#define DPA_FROM_LANE	 1u /* made of a slot of the peer's lane (inspect.c) */

/*
 * A datagram that is addressed by LID: source LID and service level, in the byte above the source
 * QPN. 0: it has a GRH. The sender writes it with the slot.
 */
#define DPA_UD_LRH(slid, sl) ((uint32_t)(slid) << 28 | ((uint32_t)(sl)&15) << 24)
#define DPA_UD_QPN(sqpn)     ((sqpn)&0xffffffu)
#define DPA_UD_SLID(sqpn)    ((uint16_t)(((sqpn) >> 28) % 15))
#define DPA_UD_SL(sqpn)	     ((uint8_t)((sqpn) >> 24 & 15))
/* In place of a LID: from the endpoint of QP1 to another one. As a packet it is from QP 1 to QP 1.
 */
#define DPA_UD_GSI	     (15u << 28)
#define DPA_UD_IS_GSI(sqpn)  ((sqpn) >> 28 == 15)

#define DPA_JOB_PIECES 4u

/*
 * A message that both sides move; a serial number belongs to one job of the lane.
 *
 *   to ... off   The consumer writes them behind `turn` (release fence), the producer reads them
 *                before its CAS (acquire fence).
 *   open         The consumer: behind all of them (release), 0 at the end (seq_cst). The producer
 *                reads it first (acquire), and in the sequence that ends with its copy.
 *   turn         The consumer, at the beginning; then both, by CAS (seq_cst).
 *   done         The producer, behind its copy (release); the consumer reads it (acquire).
 */
struct dpa_job {
	/* line 0: consumer */
	_Atomic uint64_t open; /* serial; 0: there is none, or nothing more is to be touched */
	_Atomic uint64_t to;   /* where it goes in the consumer's memory */
	_Atomic uint32_t len, piece;	/* bytes, of all but the last piece */
	_Atomic uint32_t src, idx, off; /* as in the message's slot and struct dpa_pull */
	uint8_t pad0[28];
	/* line 1: both: the serial above the next piece that nobody has */
	_Atomic uint64_t turn;
	uint8_t pad1[56];
	/* line 2: producer: serial of the job whose piece it has brought */
	_Atomic uint32_t done[DPA_JOB_PIECES];
	uint8_t pad2[64 - 4 * DPA_JOB_PIECES];
};

/* First page of a lane's memory. */
struct dpa_lane_shm {
	/* line 0: producer */
	_Atomic uint32_t wants_space;
	uint8_t pad0[60];
	/* line 1: consumer, indices */
	_Atomic uint32_t tail;	/* slots consumed */
	_Atomic uint32_t dtail; /* data units consumed */
	uint8_t pad1[56];
	/* line 2: consumer, seldom */
	_Atomic uint32_t watched;
	_Atomic uint32_t pull;
	_Atomic uint32_t lossy; /* packets may be lost here: run timers (wire, faults) */
	uint8_t pad2[52];
	struct dpa_job job; /* lines 3 to 5 */
	uint8_t pad3[4096 - 384];
	struct dpa_slot slots[DPA_LANE_SLOTS];
	uint8_t data[DPA_LANE_DATA];
};

/* Extended headers in host order; which fields count depends on the opcode. */
struct dpa_ext {
	union {
		struct { /* RETH, AtomicETH */
			uint64_t va;
			uint32_t rkey;
			union {
				uint32_t dmalen;
				uint32_t rsvd;
			};
			union {
				uint64_t swap_add;
				uint32_t imm_after_reth;
				uint32_t feth;
			};
			uint64_t compare;
		};
		struct { /* AETH, AtomicAckETH */
			uint32_t msn;
			uint32_t syndrome;
			uint64_t orig;
		};
		struct { /* DETH */
			uint32_t qkey;
			uint32_t sqpn; /* 24 bits, and DPA_UD_LRH() above them */
			uint32_t ud_imm;
			uint32_t rsvd2;
		};
		uint32_t flow_tag; /* of a raw packet */
		uint32_t serial;   /* of DPA_LINK_ASK; of LOOKED that of its ASK, 0: a hint */
		uint32_t imm;	   /* ImmDt, IETH of SENDs */
		struct { /* SENDs, WRITEs and READ responses whose payload is not in the slot */
			uint8_t before[24];
			uint32_t path_mtu; /* bytes, of the sender; 0: see dpa_same_mtu() */
		};
		struct { /* XRCETH: behind all that a request can have */
			uint8_t others[32];
			uint32_t xrcsrq;
			uint32_t turn; /* of the message that begins one, else 0: xrc_branch.c */
#define DPA_TURN_KEEPS (1u << 31)
		};
		uint8_t raw[DPA_PKT_EXT];
	};
};

/*
 * A slot with opcode DPA_LINK_ACKS: plain ACKs for QPs of the process that reads it. The first is
 * in the slot's own src, dqpn, psn, with its MSN in data; the others are here. len is 0.
 */
#define DPA_ACKS 4u
struct dpa_more_acks {
	uint32_t n;
	struct {
		uint32_t dqpn;
		uint32_t psn : 24, msn_high : 8;
		uint16_t msn, src;
	} ack[DPA_ACKS - 1];
};

/* Payload of a DPA_PKT_PULL packet: where it lies in the sender's memory. */
#define DPA_PULL_IOV DPA_COPY_PIECES
struct dpa_pull {
	uint32_t niov;
	uint32_t epoch; /* of the sending QP (requests): exported word that must not have changed */
	uint32_t rkey;	/* of the region read (READ responses); 0 for requests */
	uint32_t idx;	/* of the sender's WQE (requests), */
	uint32_t off;	/* and where in its message this is */
	uint32_t gen;	/* mr_gen of the region before its key was looked at (READ responses) */
	struct {
		uint64_t addr, len;
	} iov[DPA_PULL_IOV];
};

/* Payload of a DPA_PKT_IOV slot (never in a lane): pieces in memory of this process. */
struct dpa_pieces {
	uint32_t n;
	struct iovec iov[DPA_PULL_IOV];
};

#define DPA_PKT_MTU_SHIFT 4
static inline uint8_t dpa_pkt_mtu_flags(uint32_t mtu)
{
	return (uint8_t)((__builtin_ctz(mtu) - 7) << DPA_PKT_MTU_SHIFT);
}

struct dpa_peer;

/*
 * Counts of what went over a lane: written under its producer or consumer lock (relaxed), so that
 * threads on different lanes share no line for it; summed up into the board's counters now and then
 * (dpa_counters_fold).
 */
struct dpa_lane_stat {
	_Atomic uint64_t packets, bytes, sends, writes, reads, atomics;
};

/* Sending end. */
struct dpa_tx {
	dpa_spin_t lock;
	uint32_t head;	      /* next slot to be written */
	uint32_t dhead;	      /* next data unit */
	uint32_t dres;	      /* the same once the reserved slot is published */
	uint32_t tail, dtail; /* last seen */
	struct dpa_lane_shm *shm;
	struct dpa_peer *peer;
	_Atomic uint32_t kick_owed; /* published without looking at the peer's sleep word */
	struct dpa_lane_stat stat;
	/* wire: slots wait here for company; corked under lock, cork_next under hw->cork_lock */
	bool corked;
	bool together; /* under lock: a lone packet and the shorter one behind it in one datagram */
	uint32_t piece; /* under lock: bytes that leave at once; 0: as many as go */
	/* under lock: XRC targets whose ACK found no room; XRC messages wait behind those ACKs */
	uint32_t acks_waiting;
	struct dpa_tx *cork_next;
} __attribute__((aligned(DPA_CACHE_LINE)));

/* Receiving end. */
struct dpa_rx {
	dpa_spin_t lock;
	_Atomic uint32_t next; /* slot to be read next; written under lock, looked at without */
	uint32_t dnext;
	struct dpa_peer *peer;
	_Atomic(struct dpa_lane_shm *) shm; /* never unmapped while the device is open */
	/* thread whose it is and how often it was drained: hints, so that threads keep to their own
	 * lanes */
	_Atomic uintptr_t owner;
	_Atomic uint32_t drains;
	_Atomic uint32_t hot; /* watched: no summary bit needed */
	/* under lock: batches in a row for another thread's QPs; so many until it gets the ring */
	struct dpa_backoff keep;
	uint16_t strays;
	bool lone;	      /* under lock: the batch before was one packet */
	_Atomic uint8_t idle; /* found empty since: a hint */
	struct dpa_lane_stat stat;
	dpa_spin_t job_lock;
	uint32_t job;	      /* under job_lock: serial of the last job */
	_Atomic bool no_jobs; /* the sender kept us waiting in one; relaxed, by receivers */
} __attribute__((aligned(DPA_CACHE_LINE)));

/* Bytes of struct dpa_ext that an opcode uses; a multiple of 8. */
static inline uint32_t dpa_ext_len(uint8_t opcode)
{
	uint16_t p = dpa_op_props(opcode);

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

/*
 * Do the packets that this slot stands for have the path MTU of its receiver? On a ring the sender
 * writes its own path MTU (bytes) beside a payload that lies outside the slot; what lies within is
 * shorter than every path MTU. A frame was held to the receiver's path MTU when it came.
 */
static inline bool dpa_same_mtu(uint32_t mtu, const struct dpa_slot *s)
{
	const uint32_t theirs = ((const struct dpa_ext *)s->ext)->path_mtu;

	return (s->flags & (DPA_PKT_INSLOT | DPA_PKT_MTU)) || !s->len || !theirs || theirs == mtu;
}

/* Bytes of the packets that it stands for, the last one aside. */
static inline uint32_t dpa_slot_mtu(uint32_t mtu, const struct dpa_slot *s)
{
	return dpa_same_mtu(mtu, s) ? mtu : ((const struct dpa_ext *)s->ext)->path_mtu;
}

/*
 * May a slot with these properties be taken by a receiver of this path MTU? Where the two ends have
 * different path MTUs only a message of one packet that fits both is right (IBA 9.7.4.1.6): the
 * first of several is longer than the receiver's packets, or shorter and not the last.
 */
static inline bool dpa_mtu_fits(uint32_t mtu, uint16_t props, const struct dpa_slot *s)
{
	const uint16_t only = DPA_OPP_START | DPA_OPP_END;

	/* off the wire: one packet, or several that were held to it */
	if ((s->flags & DPA_PKT_MTU) && !(s->flags & DPA_PKT_IOV))
		return s->len <= mtu;
	return dpa_same_mtu(mtu, s) || ((props & only) == only && s->len <= mtu &&
					s->len <= ((const struct dpa_ext *)s->ext)->path_mtu);
}

_Static_assert(sizeof(struct dpa_slot) == 64, "slot");
_Static_assert(sizeof(struct dpa_ext) == DPA_PKT_EXT, "ext");
_Static_assert(sizeof(struct dpa_more_acks) == DPA_PKT_EXT, "acks");
_Static_assert(offsetof(struct dpa_lane_shm, tail) == 64, "line 1");
_Static_assert(offsetof(struct dpa_lane_shm, watched) == 128, "line 2");
_Static_assert(sizeof(struct dpa_job) == 192 && offsetof(struct dpa_job, turn) == 64, "job");
_Static_assert(offsetof(struct dpa_lane_shm, job) == 192, "line 3");
_Static_assert(offsetof(struct dpa_lane_shm, slots) == 4096, "slots");

/*
 * Reserves a slot and len bytes of the data area (0: none). Producer side, under tx->lock. Returns
 * the slot, *data its data area; NULL if there is no room.
 */
static inline struct dpa_slot *dpa_lane_reserve(struct dpa_tx *tx, uint32_t len, uint8_t **data)
{
	struct dpa_lane_shm *shm = tx->shm;
	uint32_t units = (len + 63) / 64, d = tx->dhead;

	if (units && d % DPA_LANE_UNITS + units > DPA_LANE_UNITS)
		d += DPA_LANE_UNITS - d % DPA_LANE_UNITS; /* contiguous: skip the rest of the lap */
	if (dpa_unlikely(tx->head - tx->tail >= DPA_LANE_SLOTS ||
			 d + units - tx->dtail > DPA_LANE_UNITS)) {
		tx->tail = atomic_load_explicit(&shm->tail, memory_order_acquire);
		tx->dtail = atomic_load_explicit(&shm->dtail, memory_order_acquire);
		if (tx->head - tx->tail >= DPA_LANE_SLOTS || d + units - tx->dtail > DPA_LANE_UNITS)
			return NULL;
	}
	struct dpa_slot *s = &shm->slots[tx->head % DPA_LANE_SLOTS];

	s->data = d;
	tx->dres = tx->dhead;
	if (units) {
		*data = shm->data + (uint64_t)(d % DPA_LANE_UNITS) * 64;
		tx->dres = d + units;
	}
	return s;
}

/*
 * Makes the reserved slot visible. Producer side, under tx->lock. A slot that was reserved and is
 * not published leaves nothing behind: the consumer would never hand its data back.
 */
static inline void dpa_lane_publish(struct dpa_tx *tx, struct dpa_slot *s)
{
	uint32_t head = tx->head + 1;

	tx->dhead = tx->dres;
	__atomic_store_n(&tx->head, head, __ATOMIC_RELAXED); /* the watchdog reads it unlocked */
	atomic_store_explicit(&s->seq, head, memory_order_release);
}

/* Is there a packet? Any thread; one load of a line that the peer writes only with a packet. */
static inline bool dpa_lane_ready(const struct dpa_rx *rx)
{
	uint32_t n = atomic_load_explicit(&rx->next, memory_order_relaxed);
	struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);

	return atomic_load_explicit(&shm->slots[n % DPA_LANE_SLOTS].seq, memory_order_acquire) ==
	       n + 1;
}

/* Hands consumed slots and data back. Consumer side, under rx->lock. */
static inline void dpa_lane_release(struct dpa_rx *rx)
{
	struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);

	atomic_store_explicit(&shm->dtail, rx->dnext, memory_order_release);
	atomic_store_explicit(&shm->tail, atomic_load_explicit(&rx->next, memory_order_relaxed),
			      memory_order_release);
}

/* Nothing of a UC QP is outstanding when its peer has taken all that the lane held. */
static inline bool dpa_lane_is_empty(struct dpa_tx *tx)
{
	return __atomic_load_n(&tx->head, __ATOMIC_RELAXED) ==
	       atomic_load_explicit(&tx->shm->tail, memory_order_acquire);
}

/* A message of more bytes than this is fetched by its receiver instead of travelling in the ring.
 */
#define DPA_PULL_MIN   32768u
/* One fetch at most: an EU holds a QP's lock that long. */
#define DPA_PULL_CHUNK (1u << 20)

/* Packets of this QP may be lost: timers run, and what is outstanding is bounded. */
static inline bool dpa_lossy(const struct dpa_hw_qp *qp)
{
	return qp->tx && atomic_load_explicit(&qp->tx->shm->lossy, memory_order_relaxed);
}

/* Bytes that one slot may stand for, PULL aside. */
static inline uint32_t dpa_slot_run(const struct dpa_hw_qp *qp)
{
	return qp->pkt_flags || !dpa_lossy(qp) ? DPA_LANE_MTU : qp->mtu;
}

#endif
