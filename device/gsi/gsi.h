/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gsi.h - QP1 between the files of the device. The driver's side is dpa_hw_gsi.h.
 *
 * The endpoint of a process is a UD QP of its own with a QPN like any other: rings, the wire,
 * captures and faults serve it as they serve all QPs. What leaves it shows QP 1 at both ends
 * (dpa_pkt_of_slot()); what comes for QP 1 is given to the endpoint that dpa_gsi_find() names.
 *
 * Words of struct dpa_hw that are used here:
 *  - gsi, under gsi_lock: the endpoint, NULL: none. `ready` is called under that lock by the
 * service thread, so that it is not called any more once dpa_hw_gsi_close() has taken the endpoint
 * away.
 *  - gsi_qpn: the QPN of the endpoint, 0: none. Written by open and close (release), read by
 *    threads that take packets in (acquire).
 *  - gsi_look: 1: the service thread looks for ids of dead processes whatever it has seen. Set by
 *    any thread (release), taken by the service thread (acq_rel).
 *  - gsi_orphans: 1: there are ids of dead processes. Set by who found them (release), taken by
 *    dpa_hw_gsi_orphan() before it searches (acq_rel).
 *  - gsi_seen: dpa_board_gsi_died() at its last look; the service thread's own.
 */
#ifndef DPA_GSI_H
#define DPA_GSI_H

#include "board/cm.h"
#include "ctx/dev.h"

struct dpa_frame;
struct dpa_roce_pkt;

/* What a MAD says about the process that it is for. IDs in host order. */
struct dpa_gsi_key {
	uint16_t attr; /* enum dpa_cm_attr */
	bool request;  /* REQ, SIDR_REQ: by service; else by id */
	bool has_ip;   /* a request with the IP CM header */
	uint64_t service_id;
	uint8_t ip_dst[16]; /* of that header, as a GID */
	uint32_t to_id;	    /* 0: only a REJ may have that */
	uint32_t from_id;   /* of a REJ without to_id */
	uint64_t guid;	    /* in its additional information, network order; 0: none */
};

/* False: it is no MAD of the CM. Reads 256 bytes. */
bool dpa_gsi_key(const uint8_t *mad, struct dpa_gsi_key *k);

enum dpa_gsi_whose {
	DPA_GSI_NOBODY,
	DPA_GSI_PROCESS, /* of this board: *g */
	/*
	 * Another board's. *num has given out the id; 0: a service that somebody of the namespace
	 * listens to. A process of this board says so to the namespace before it says it to the
	 * board: once the others were asked, look again.
	 */
	DPA_GSI_BOARD,
};

/* The endpoint of a MAD that came to, or is sent to, address dgid of this namespace. Lock-free. */
enum dpa_gsi_whose dpa_gsi_find(struct dpa_hw *hw, const struct dpa_gsi_key *k,
				const uint8_t dgid[16], struct dpa_board_gsi *g, uint32_t *num);

/* Room of a frame with a MAD: in front of it, BTH, DETH, MAD, ICRC. */
#define DPA_GSI_ROOM  64u
#define DPA_GSI_FRAME (DPA_GSI_ROOM + 12u + 8u + DPA_MAD_BYTES + 4u)
/* A packet from QP1 at `src` to QP1 at a->sgid, with the other words of a. f->p is in room. */
void dpa_gsi_frame(const struct dpa_gsi_addr *a, const uint8_t src[16], const uint8_t dst[16],
		   const uint8_t *mad, uint8_t room[DPA_GSI_FRAME], struct dpa_frame *f);
/* To board `num`, or to all others (0). False: none of them is there. No lock is needed. */
bool dpa_gsi_to_boards(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t num);

/*
 * A packet to QP 1, whose ICRC and P_Key are right. True: it is for this process's endpoint, and
 * pkt->dqpn is that one's. False: it was passed on or dropped, and counted. may_forward: as
 * dpa_frame_in() has it. Any thread; locks of QPs may be held.
 */
bool dpa_gsi_in(struct dpa_hw *hw, const struct dpa_frame *f, struct dpa_roce_pkt *pkt,
		bool may_forward);

/* Service thread: all the time; twice a second; how long it may sleep (ns). */
void dpa_gsi_look(struct dpa_hw *hw);
void dpa_gsi_tick(struct dpa_hw *hw);
bool dpa_gsi_wants_ticks(struct dpa_hw *hw);
/* Calls `need` if there is one. Any thread, any lock. */
void dpa_gsi_need(void);
/* Has the service thread look now. hw.c: it alone has the function of this process. */
void dpa_gsi_nudge(void);
/* In a forked child: locks that threads of the parent held are free. */
void dpa_gsi_child(void);

#endif
