/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lane.h - one direction of a shared memory link: a ring of 64-byte entries, one packet each, and a
 * data area for payload that does not fit an entry. It is in a sealed memfd that the sending
 * process created and passed to the receiving process.
 *
 * Producer side: any thread of the sending process that holds tx->lock.
 * Consumer side: any thread of the receiving process that holds rx->lock.
 *
 *   slot.seq      The producer writes it last (release), the consumer reads it (acquire). The entry
 *                 of index i is full when seq == i + 1. Never reset: the laps differ by seq only.
 *
 *   tail, dtail   The consumer writes them (release), the producer reads them (acquire). Neither
 *                 passes an entry before its payload was placed or dropped: the producer writes
 *                 the next payload there (eu/drain.c: struct taken).
 *
 *   watched       Written by the consumer. 1: it polls the next entry itself. 0: the producer sets
 *                 the consumer's summary bit. The producer fences between seq and its read of this
 *                 (dpa_tx_kick), the consumer between this and a last read of the entry
 *                 (dpa_hot_add).
 *
 *   pull, lossy   The consumer writes them whenever they change (release), the producer reads them
 *                 (relaxed) for each packet: whether process_vm_readv reaches the producer, and
 *                 whether packets may be lost here. lossy never becomes 0 again, and the producer
 *                 sets it, too, when its own port goes down.
 *
 *   job           Cooperative copy: a large message that the consumer reads. The producer copies
 *                 segments of it while it polls. Contract below and in device/payload/pull.c.
 *
 *   wants_space   Set by the producer (relaxed): notify me when there is space. The consumer clears
 *                 it when it does so. After a lost notification the producer's timer checks again.
 */
#ifndef DPA_LANE_H
#define DPA_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <dpa_hw_trace.h>
#include "ctx/copy.h"
#include "ctx/hw.h"
#include "util/backoff.h"
#include "ctx/qp.h"
#include "util/lock.h"
#include "wire/opcode.h"

#define DPA_LANE_SLOTS 1024u
#define DPA_LANE_DATA  (256u * 1024) /* bytes */
#define DPA_LANE_UNITS (DPA_LANE_DATA / 64)
/* payload bytes of one entry, which may stand for several packets of a QP */
#define DPA_LANE_MTU   8192u
#define DPA_PKT_EXT    40

enum dpa_pkt_flags {
	DPA_PKT_SE = 1 << 0, /* solicited event */
	DPA_PKT_ACKREQ = 1 << 1,
	DPA_PKT_INSLOT = 1 << 2, /* the payload is in the entry, behind the extended header */
	/* the payload is a struct dpa_pull: read it from the sender's memory */
	DPA_PKT_PULL = 1 << 3,
	DPA_PKT_MTU =
		7 << 4, /* path MTU code, for entries to or from the wire; 0: not from the wire */
	/* the payload is a struct dpa_pieces: consecutive packets as received */
	DPA_PKT_IOV = 1 << 7,
	/*
	 * Flags that are valid in an entry read from a ring. The others are only used within a
	 * process.
	 */
	DPA_PKT_ON_LANE = DPA_PKT_SE | DPA_PKT_ACKREQ | DPA_PKT_INSLOT | DPA_PKT_PULL,
};

/* Opcodes of entries in addition to those of the BTH. They are never on a wire. */
enum {
	/* Of a process whose port is down: the consumer drops it. */
	DPA_LINK_LOST = 0xf8,
	/* A responder has no room for a request, or has room again (ask.c). */
	DPA_LINK_ROOM = 0xf9,
	/* A requester asks whether all its packets were processed, and the answer (ask.c). */
	DPA_LINK_LOOKED = 0xfa,
	DPA_LINK_ASK = 0xfb,
	/* An Ethernet frame (device/raw). */
	DPA_LINK_RAW = 0xfc,
	/* ACKs of several QPs in one entry (struct dpa_more_acks). */
	DPA_LINK_ACKS = 0xfd,
	/* A packet passed on with its addresses (forward.h). */
	DPA_LINK_FRAME = 0xfe,
	/* The QP does not exist. The sender treats this as a loss. */
	DPA_LINK_NO_QP = 0xff,
};

/*
 * Entry of a ring: 4 + 1 + 1 + 2 + 4 + 4 + 4 + 4 + 40 = 64. All in host order: both ends are on one
 * host.
 */
struct dpa_slot {
	_Atomic uint32_t seq;
	uint8_t opcode; /* BTH opcode, or DPA_LINK_* */
	uint8_t flags;
	uint16_t src; /* index part of the sending QP's QPN */
	uint32_t dqpn;
	uint32_t psn;
	uint32_t len; /* payload bytes; with DPA_PKT_PULL: of the payload it refers to */
	union {
		uint32_t data; /* data area: free running index in units of 64 bytes */
		uint32_t from; /* from the wire, never in a ring: DPA_FROM_* */
	};
	/* extended headers (struct dpa_ext), then the payload if INSLOT */
	uint8_t ext[DPA_PKT_EXT];
};

/*
 * UDP source port of a packet from the wire. (The address is the path's.) DPA_FROM_UNKNOWN: another
 * user of this host passed the packet on and may have forged the port.
 */
#define DPA_FROM_UNKNOWN 0u
#define DPA_FROM_LANE	 1u /* made from an entry of the peer's ring (inspect.c) */

/*
 * A datagram that is addressed by LID: source LID and service level, in the byte above the source
 * QPN. 0: the datagram has a GRH. The sender writes it with the entry.
 */
#define DPA_UD_LRH(slid, sl) ((uint32_t)(slid) << 28 | ((uint32_t)(sl)&15) << 24)
#define DPA_UD_QPN(sqpn)     ((sqpn)&0xffffffu)
#define DPA_UD_SLID(sqpn)    ((uint16_t)(((sqpn) >> 28) % 15))
#define DPA_UD_SL(sqpn)	     ((uint8_t)((sqpn) >> 24 & 15))
/* In place of a LID: between two endpoints of QP1. As a packet it is from QP 1 to QP 1. */
#define DPA_UD_GSI	     (15u << 28)
#define DPA_UD_IS_GSI(sqpn)  ((sqpn) >> 28 == 15)

#define DPA_JOB_PIECES 4u

/*
 * Cooperative copy of one message by both sides. A serial number belongs to one job of the ring.
 *
 *   to ... off   The consumer writes them after `turn` (release fence), the producer reads them
 *                before its CAS (acquire fence).
 *   open         The consumer writes it after all of them (release), and 0 at the end (seq_cst). The
 *                producer reads it first (acquire), and again in the restartable sequence that ends
 *                with its copy.
 *   turn         The consumer writes it at the beginning; then both change it by CAS (seq_cst).
 *   done         The producer writes it after its copy (release); the consumer reads it (acquire).
 */
struct dpa_job {
	/* line 0: consumer */
	_Atomic uint64_t open; /* serial; 0: no job, or no memory of it may be touched any more */
	_Atomic uint64_t to;   /* destination address in the consumer's memory */
	_Atomic uint32_t len, piece;	/* bytes: message; each segment but the last */
	_Atomic uint32_t src, idx, off; /* the values of the message's entry and struct dpa_pull */
	uint8_t pad0[28];
	/* line 1: both: serial number plus the next free segment */
	_Atomic uint64_t turn;
	uint8_t pad1[56];
	/* line 2: producer: serial number of the job whose segment it copied */
	_Atomic uint32_t done[DPA_JOB_PIECES];
	uint8_t pad2[64 - 4 * DPA_JOB_PIECES];
};

/* First page of a ring's memory. */
struct dpa_lane_shm {
	/* line 0: producer */
	_Atomic uint32_t wants_space;
	uint8_t pad0[60];
	/* line 1: consumer, indices */
	_Atomic uint32_t tail;	/* slots consumed */
	_Atomic uint32_t dtail; /* data units consumed */
	uint8_t pad1[56];
	/* line 2: consumer, rarely written */
	_Atomic uint32_t watched;
	_Atomic uint32_t pull;
	_Atomic uint32_t lossy; /* packets may be lost here (wire, faults): run timers */
	uint8_t pad2[52];
	struct dpa_job job; /* lines 3 to 5 */
	uint8_t pad3[4096 - 384];
	struct dpa_slot slots[DPA_LANE_SLOTS];
	uint8_t data[DPA_LANE_DATA];
};

/* Extended headers in host order. The opcode determines the valid fields. */
struct dpa_ext {
	union {
		struct { /* RETH, AtomicETH */
			uint64_t va;
			uint32_t rkey;
			union {
				uint32_t dmalen;
				/* of a probe or its answer: DSCP and 1; 0: that of the path */
				uint32_t dscp;
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
		uint32_t flow_tag; /* in a raw packet */
		uint32_t serial;   /* in ASK; in its LOOKED, 0: a hint; in ROOM, 0: no room */
		uint32_t imm;	   /* ImmDt; IETH of SENDs */
		struct { /* SENDs, WRITEs and READ responses whose payload is not in the entry */
			uint8_t before[24];
			/* the sender's path MTU in bytes; 0: see dpa_same_mtu() */
			uint32_t path_mtu;
		};
		struct { /* XRCETH: behind all other headers of a request */
			uint8_t others[32];
			uint32_t xrcsrq;
			/* ownership epoch, in the message that begins one; else 0: xrc_branch.c */
			uint32_t turn;
#define DPA_TURN_KEEPS (1u << 31)
		};
		uint8_t raw[DPA_PKT_EXT];
	};
};

/*
 * Entry with opcode DPA_LINK_ACKS: plain ACKs for QPs of the process that reads it. The first one
 * is in the entry's own src, dqpn, psn, with its MSN in data; the others are here. len is 0.
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

/* Payload of a DPA_PKT_PULL packet: its place in the sender's memory. */
#define DPA_PULL_IOV DPA_COPY_PIECES
struct dpa_pull {
	uint32_t niov;
	/* requests: epoch of the sending QP; the exported word must still be equal */
	uint32_t epoch;
	uint32_t rkey; /* READ responses: key of the region that is read; 0 for requests */
	uint32_t idx;  /* requests: index of the sender's WQE */
	uint32_t off;  /* requests: offset in its message */
	uint32_t gen;  /* READ responses: mr_gen of the region before its key was checked */
	struct {
		uint64_t addr, len;
	} iov[DPA_PULL_IOV];
};

/* Payload of a DPA_PKT_IOV entry (never in a ring): segments in memory of this process. */
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
 * Traffic counters of a ring. Written under its producer or consumer lock (relaxed), so that
 * threads on different rings share no cache line for them. Added to the board's counters from time
 * to time (dpa_counters_fold).
 */
struct dpa_lane_stat {
	_Atomic uint64_t packets, bytes, sends, writes, reads, atomics;
};

/* The producer's end. */
struct dpa_tx {
	dpa_spin_t lock;
	uint32_t head;	      /* index of the next entry to write */
	uint32_t dhead;	      /* index of the next data unit */
	uint32_t dres;	      /* dhead once the reserved entry is published */
	uint32_t tail, dtail; /* last values read */
	struct dpa_lane_shm *shm;
	struct dpa_peer *peer;
	/* a wake-up is pending: published without reading the peer's sleep word */
	_Atomic uint32_t kick_owed;
	struct dpa_lane_stat stat;
	/*
	 * Wire: entries wait here to be sent together. corked is under lock, cork_next under
	 * hw->cork.lock.
	 */
	bool corked;
	/* under lock: send a lone packet and a shorter one behind it in one datagram */
	bool together;
	/* the port is down: nothing that this process sends arrives (relaxed; link/inspect_ask.c) */
	_Atomic bool down;
	uint32_t piece; /* under lock: bytes that leave at once; 0: as many as possible */
	/*
	 * Under lock: number of XRC targets whose ACK found no room. XRC messages wait behind those
	 * ACKs.
	 */
	uint32_t acks_waiting;
	/*
	 * Under lock: the value of tail when a MAD found no room, and since when it has been that
	 * (ns; 0: no MAD has found none).
	 */
	uint32_t full_tail;
	uint64_t full_since;
	struct dpa_tx *cork_next;
} __attribute__((aligned(DPA_CACHE_LINE)));

/* The consumer's end. */
struct dpa_rx {
	dpa_spin_t lock;
	/* index of the next entry to read; written under lock, read without */
	_Atomic uint32_t next;
	uint32_t dnext;
	struct dpa_peer *peer;
	_Atomic(struct dpa_lane_shm *) shm; /* never unmapped while the device is open */
	/*
	 * The thread that reads this ring, and how often it was drained: hints, so that each thread
	 * keeps to its own rings.
	 */
	_Atomic uintptr_t owner;
	_Atomic uint32_t drains;
	_Atomic uint32_t hot; /* watched: needs no summary bit */
	/*
	 * Under lock: back-off that counts successive batches for another thread's QPs; that thread
	 * then gets the ring.
	 */
	struct dpa_backoff keep;
	uint16_t strays;
	bool lone;	      /* under lock: the previous batch was one packet */
	_Atomic uint8_t idle; /* times it was found empty since: a hint */
	struct dpa_lane_stat stat;
	dpa_spin_t job_lock;
	uint32_t job; /* under job_lock: serial of the last job */
	/* the sender made this process wait in a job; relaxed, by receivers */
	_Atomic bool no_jobs;
} __attribute__((aligned(DPA_CACHE_LINE)));

/* Bytes of struct dpa_ext that an opcode uses. A multiple of 8. */
static inline uint32_t dpa_ext_len(uint8_t opcode)
{
	uint16_t p = dpa_op_props(opcode);

	if ((opcode & DPA_BTH_TRANSPORT) == DPA_BTH_UD)
		return 16;
	if ((opcode & DPA_BTH_TRANSPORT) == DPA_BTH_XRC && !(p & DPA_OPP_RESP))
		return 40; /* the XRCETH is at the end */
	if (p & DPA_OPP_ATOMIC && !(p & DPA_OPP_RESP))
		return 32;
	if (p & DPA_OPP_RETH)
		return p & (DPA_OPP_IMM | DPA_OPP_FLUSH) ? 24 : 16;
	if (p & DPA_OPP_RESP)
		return p & DPA_OPP_AETH ? 16 : 0;
	return p & (DPA_OPP_IMM | DPA_OPP_INV) ? 8 : 0;
}

/*
 * True if the packets that this entry stands for have the receiver's path MTU. In a ring the sender
 * writes its own path MTU (bytes) beside a payload outside of the entry; a payload inside it is
 * shorter than every path MTU. A frame was checked against the receiver's path MTU on arrival.
 */
static inline bool dpa_same_mtu(uint32_t mtu, const struct dpa_slot *s)
{
	const uint32_t theirs = ((const struct dpa_ext *)s->ext)->path_mtu;

	return (s->flags & (DPA_PKT_INSLOT | DPA_PKT_MTU)) || !s->len || !theirs || theirs == mtu;
}

/* Bytes of each packet that it stands for, except the last one. */
static inline uint32_t dpa_slot_mtu(uint32_t mtu, const struct dpa_slot *s)
{
	return dpa_same_mtu(mtu, s) ? mtu : ((const struct dpa_ext *)s->ext)->path_mtu;
}

/*
 * True if a receiver with this path MTU may take the entry. If the path MTUs of the two ends differ
 * only a message of one packet that fits both is valid (IBA 9.7.4.1.6): the first of several
 * packets is longer than the receiver's packets, or shorter without being the last.
 */
static inline bool dpa_mtu_fits(uint32_t mtu, uint16_t props, const struct dpa_slot *s)
{
	const uint16_t only = DPA_OPP_START | DPA_OPP_END;

	/* from the wire: one packet, or several that were checked */
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
 * Reserves an entry and len bytes of the data area (0: none). Returns the entry, with its data area
 * in *data; NULL: no room. Context: producer side, under tx->lock.
 */
static inline struct dpa_slot *dpa_lane_reserve(struct dpa_tx *tx, uint32_t len, uint8_t **data)
{
	struct dpa_lane_shm *shm = tx->shm;
	uint32_t units = (len + 63) / 64, d = tx->dhead;

	if (units && d % DPA_LANE_UNITS + units > DPA_LANE_UNITS)
		/* keep it contiguous: skip the rest of the lap */
		d += DPA_LANE_UNITS - d % DPA_LANE_UNITS;
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

/* The timeline's point of a packet that leaves. */
void dpa_lane_trace(const struct dpa_slot *s) __attribute__((cold));

/*
 * Marks the entry as lost, because the port is down, and counts the packet (port_xmit_discards). Context: as
 * dpa_lane_publish().
 */
void dpa_lane_lose(struct dpa_tx *tx, struct dpa_slot *s) __attribute__((cold));

/*
 * Publishes the reserved entry. An entry that was reserved and is not published changes nothing;
 * otherwise the consumer would never release its data. Context: producer side, under tx->lock.
 */
static inline void dpa_lane_publish(struct dpa_tx *tx, struct dpa_slot *s)
{
	uint32_t head = tx->head + 1;

	if (dpa_trace_is_on())
		dpa_lane_trace(s);
	/* what is passed on for another process is not sent by this one */
	if (dpa_unlikely(atomic_load_explicit(&tx->down, memory_order_relaxed)) &&
	    s->opcode != DPA_LINK_FRAME)
		dpa_lane_lose(tx, s);
	tx->dhead = tx->dres;
	/* the watchdog reads it without the lock */
	__atomic_store_n(&tx->head, head, __ATOMIC_RELAXED);
	atomic_store_explicit(&s->seq, head, memory_order_release);
}

/*
 * True if there is a packet. Any thread. One load of a cache line that the peer writes only when it
 * sends a packet.
 */
static inline bool dpa_lane_ready(const struct dpa_rx *rx)
{
	uint32_t n = atomic_load_explicit(&rx->next, memory_order_relaxed);
	struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);

	return atomic_load_explicit(&shm->slots[n % DPA_LANE_SLOTS].seq, memory_order_acquire) ==
	       n + 1;
}

/* Releases consumed entries and data. Context: consumer side, under rx->lock. */
static inline void dpa_lane_release(struct dpa_rx *rx)
{
	struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);

	atomic_store_explicit(&shm->dtail, rx->dnext, memory_order_release);
	atomic_store_explicit(&shm->tail, atomic_load_explicit(&rx->next, memory_order_relaxed),
			      memory_order_release);
}

/* True if the peer has consumed the whole ring. Then nothing of a UC QP is outstanding. */
static inline bool dpa_lane_is_empty(struct dpa_tx *tx)
{
	return __atomic_load_n(&tx->head, __ATOMIC_RELAXED) ==
	       atomic_load_explicit(&tx->shm->tail, memory_order_acquire);
}

/*
 * The receiver of a longer message reads it from the sender's memory (rendezvous read) instead of
 * from the ring.
 */
#define DPA_PULL_MIN   32768u
/* Maximum of one read: an EU holds a QP's lock meanwhile. */
#define DPA_PULL_CHUNK (1u << 20)

/*
 * True if packets of this QP may be lost: timers run, and the number of outstanding packets is
 * bounded.
 */
static inline bool dpa_lossy(const struct dpa_hw_qp *qp)
{
	return qp->tx && atomic_load_explicit(&qp->tx->shm->lossy, memory_order_relaxed);
}

/* Payload bytes that one entry may stand for, except with PULL. */
static inline uint32_t dpa_slot_run(const struct dpa_hw_qp *qp)
{
	return qp->pkt_flags || !dpa_lossy(qp) ? DPA_LANE_MTU : qp->mtu;
}

#endif
