/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * error_record.h - the record of an error completion, or of a peer's request that was refused. Part of
 * the layout of the adapter state; written by device/failure/, read by dpactl errors.
 */
#ifndef DPA_BOARD_ERROR_RECORD_H
#define DPA_BOARD_ERROR_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

enum dpa_error_kind {
	DPA_ERROR_SENT = 1, /* a send WQE ended with an error */
	DPA_ERROR_RECEIVED, /* a receive WQE did */
	DPA_ERROR_REFUSED,  /* a request of the peer was refused: the completion is the peer's */
};

enum dpa_error_flags {
	DPA_ERROR_INJECTED = 1 << 0, /* by dpactl inject and its like, not by a check */
	DPA_ERROR_FAULTS = 1 << 1,   /* faults, or a modelled network, applied to the links */
};

/* State of the peer. It is looked up when the error happens, never later. */
enum dpa_error_peer_state {
	DPA_ERROR_PEER_NONE,  /* not known: no connection, or several sources */
	DPA_ERROR_PEER_LIVES, /* a process of this adapter instance, and its QP exists */
	DPA_ERROR_PEER_NO_QP, /* the process lives, and does not have that QP */
	DPA_ERROR_PEER_ENDED, /* the process has ended; pid and program 0 if its entry is reused */
	DPA_ERROR_PEER_ELSEWHERE, /* another host or adapter instance */
};

/* The comparison that failed: the meaning of the values in a struct dpa_error_check. */
enum dpa_error_check_kind {
	DPA_CHECK_NONE,
	DPA_CHECK_SGE,	   /* SGE `sge` of `nsge`: addr, len, key; with `why` */
	DPA_CHECK_REQUEST, /* the remote address of a request: addr, len, key; `why` at the responder */
	DPA_CHECK_LENGTH,  /* len and its limit */
	DPA_CHECK_RETRIES, /* limit: their number; len: ns of the local ACK timeout, 0: none */
	DPA_CHECK_BIND,	   /* memory window: addr, len, key of the region; with `why` */
	DPA_CHECK_KEY,	   /* key alone */
	DPA_CHECK_WQE,	   /* the WQE's own fields: len, nsge; limit: its blocks */
	/* of the responder, without a vendor error */
	DPA_CHECK_PACKET, /* its kind or length may not follow the packet before: len */
	DPA_CHECK_DEPTH,  /* more READs and atomics at a time than limit: max_dest_rd_atomic */
	DPA_CHECK_SRQ,	  /* the SRQ that an XRC request names is not of the domain */
};

/* The reason for which a key was refused. */
enum dpa_error_why {
	DPA_WHY_NONE, /* not looked up, or not any more the same when it was */
	DPA_WHY_NO_KEY,
	DPA_WHY_OTHER_PD,
	DPA_WHY_OTHER_QP,  /* a window of type 2 that another QP bound */
	DPA_WHY_NOT_LOCAL, /* a key of a window, or a null region, where that is not allowed */
	DPA_WHY_RANGE,
	DPA_WHY_ACCESS,
};

/* 5 * 8 + 3 * 4 + 4 = 56 bytes */
struct dpa_error_check {
	uint64_t addr, len, limit;
	/* of a region, from DPA_WHY_OTHER_PD on; of a window, from DPA_WHY_RANGE on; else 0 */
	uint64_t region_addr, region_len;
	uint32_t key;
	uint32_t need, has; /* enum dpa_access: DPA_WHY_ACCESS */
	uint8_t kind;	    /* enum dpa_error_check_kind */
	uint8_t why;	    /* enum dpa_error_why */
	uint8_t sge, nsge;
};

/* 16 + 16 + 4 + 4 + 4 + 4 = 48 bytes */
struct dpa_error_peer {
	uint8_t gid[16]; /* all 0: not known */
	char comm[16];
	uint32_t pid, uid, qpn;
	uint8_t state; /* enum dpa_error_peer_state */
	uint8_t rsvd[3];
};

/*
 * 2 * 8 + 3 * 4 + 4 + 2 * 4 + 16 + 3 * 4 + 4 + 48 + 56 = 176 bytes. Names of programs have no control
 * characters.
 */
struct dpa_error {
	uint64_t time;	    /* CLOCK_REALTIME, ns */
	uint64_t wr_id;	    /* REFUSED: 0 */
	uint32_t qpn;	    /* of a WQ: its number */
	uint32_t wqe_index; /* SENT: block of the send queue; else 0 */
	uint32_t nth;	    /* the number of this error of the QP, from 1 on; REFUSED count, too */
	uint8_t kind;	    /* enum dpa_error_kind */
	uint8_t opcode;	    /* SENT, REFUSED: enum dpa_op; RECEIVED: enum dpa_cqe_opcode */
	uint8_t status;	    /* enum dpa_cqe_status; REFUSED: 0 */
	uint8_t qp_type;    /* enum dpa_qp_type */
	uint32_t pid, uid;
	char comm[16];
	uint32_t psn, npsn;  /* SENT: of the message; REFUSED: of the packet, 1 */
	uint32_t vendor_err; /* enum dpa_syndrome */
	uint8_t flags;	     /* enum dpa_error_flags */
	uint8_t nak;	     /* REFUSED: code of the NAK + 1; 0: none was sent */
	uint8_t rsvd[2];
	struct dpa_error_peer peer;
	struct dpa_error_check check;
};
_Static_assert(sizeof(struct dpa_error_check) == 56, "error check");
_Static_assert(sizeof(struct dpa_error_peer) == 48, "error peer");
_Static_assert(sizeof(struct dpa_error) == 176, "error");

/*
 * An entry of the ring: 8 + 2 * 8 + 176 + 56 = 256 bytes.
 *
 *   seq      Bits 32..63 number of the record, 0: none yet; 1..31 a count of its changes; 0 set while it
 *            is written. Changed by CAS (acquire) by the writer, and by its store (release) after the
 *            words. A writer that finds bit 0 set takes another entry: so an entry whose writer was
 *            killed in the middle is never read or used again.
 *   flushed  Completions that were flushed after this error, sent and received: bits 32..63 number of
 *            the record, 0..31 count. Changed by CAS (relaxed) by the owner of the QP, so that it never
 *            counts in the record of another QP.
 *   words    struct dpa_error. Stored (release) while bit 0 of seq is set, read (acquire).
 */
#define DPA_ERROR_WORDS 22u
struct dpa_board_error {
	_Atomic uint64_t seq;
	_Atomic uint64_t flushed[2];
	_Atomic uint64_t words[DPA_ERROR_WORDS];
	uint64_t rsvd[7];
};
_Static_assert(sizeof(struct dpa_board_error) == 256, "error");

/*
 * Records: of errors and refused requests; of QPs that were flushed without an error before, as each
 * program does that ends its connections. They have rings of their own, so that the second kind never
 * overwrites the first.
 */
#define DPA_BOARD_ERRORS  512u
#define DPA_BOARD_FLUSHES 256u

#endif
