/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gsi.h - QP1 between the files of the device. The driver's side is dpa_hw_gsi.h.
 *
 * The endpoint of a process is a UD QP with a QPN of its own. It uses rings, the wire, captures and
 * faults like any other QP. Its packets carry QP 1 at both ends (dpa_pkt_of_slot()). A packet to
 * QP 1 goes to the endpoint that dpa_gsi_find() selects.
 *
 * Words of struct dpa_hw that are used here:
 *  - gsi, under gsi_lock: the endpoint, NULL: none. The service thread calls `ready` under that
 *    lock, so that no call comes after dpa_hw_gsi_close() has removed the endpoint.
 *  - gsi_qpn: the QPN of the endpoint, 0: none. Written by open and close (release), read by
 *    threads that take packets in (acquire).
 *  - gsi_look: 1: the service thread looks for ids of dead processes even if no process died since
 *    its last look. Set by any thread (release), cleared by the service thread (acq_rel).
 *  - gsi_orphans: 1: there are ids of dead processes. Set by the service thread (release), cleared
 *    by dpa_hw_gsi_orphan() before it searches (acq_rel).
 *  - gsi_died: 1: processes died that had QP1 open. Set by the service thread (release), cleared by
 *    dpa_hw_gsi_died() (acq_rel).
 *  - gsi_seen: dpa_board_gsi_died() at the last look. Only the service thread uses it.
 */
#ifndef DPA_GSI_H
#define DPA_GSI_H

#include "board/cm.h"
#include "ctx/hw.h"

struct dpa_frame;
struct dpa_roce_pkt;

/* The fields of a MAD that select the receiving process. IDs in host order. */
struct dpa_gsi_key {
	uint16_t attr; /* enum dpa_cm_attr */
	bool request;  /* REQ, SIDR_REQ: found by service; else by id */
	bool has_ip;   /* a request with the IP CM header */
	uint64_t service_id;
	uint8_t ip_dst[16]; /* address of that header, as a GID */
	uint32_t to_id;	    /* 0: only a REJ may have that */
	uint32_t from_id;   /* id of the sender, in a REJ without to_id */
	uint64_t guid;	    /* in its additional information, network order; 0: none */
};

/* False: the 256 bytes are no MAD of the CM. */
bool dpa_gsi_key(const uint8_t *mad, struct dpa_gsi_key *k);

enum dpa_gsi_whose {
	DPA_GSI_NOBODY,
	DPA_GSI_PROCESS, /* a process of this board: *g */
	/*
	 * A process of another board. *num: the board that issued the id; 0: a request for a
	 * service that a process of the namespace listens to. A listener of this board announces
	 * itself in the namespace first and on the board second: after the other boards got the
	 * request, call dpa_gsi_find() again.
	 */
	DPA_GSI_BOARD,
};

/* Finds the endpoint of a MAD to address dgid of this namespace. Lock-free. */
enum dpa_gsi_whose dpa_gsi_find(struct dpa_hw *hw, const struct dpa_gsi_key *k,
				const uint8_t dgid[16], struct dpa_board_gsi *g, uint32_t *num);

/* Room of a frame with a MAD: in front of it, BTH, DETH, MAD, ICRC. */
#define DPA_GSI_ROOM  64u
#define DPA_GSI_FRAME (DPA_GSI_ROOM + 12u + 8u + DPA_MAD_BYTES + 4u)
#define DPA_GSI_SPORT 0xc000u /* UDP source port of packets that no socket sends */
/*
 * Makes a packet from QP1 at `src`, UDP port `sport`, to QP1 at a->sgid, with the other fields of
 * a. f->p points into room.
 */
void dpa_gsi_frame(const struct dpa_gsi_addr *a, const uint8_t src[16], const uint8_t dst[16],
		   uint16_t sport, const uint8_t *mad, uint8_t room[DPA_GSI_FRAME],
		   struct dpa_frame *f);
/*
 * Sends to board `num`, or to all other boards (0). 0, or EAGAIN: there is no room now;
 * EHOSTUNREACH: there is no such board. Needs no lock.
 */
int dpa_gsi_to_boards(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t num);

/*
 * Takes a packet to QP 1 whose ICRC and P_Key are right. True: it is for the endpoint of this
 * process, whose QPN is in pkt->dqpn now. False: it was forwarded, or dropped and counted.
 * may_forward: as in dpa_frame_in(). Context: any thread, with or without locks of QPs.
 */
bool dpa_gsi_in(struct dpa_hw *hw, const struct dpa_frame *f, struct dpa_roce_pkt *pkt,
		bool may_forward);

/* For the service thread: in each round; twice a second; true if it needs the latter. */
void dpa_gsi_look(struct dpa_hw *hw);
void dpa_gsi_tick(struct dpa_hw *hw);
bool dpa_gsi_wants_ticks(struct dpa_hw *hw);
/*
 * True if these ticks must not back off: QP1 is open here, or in the process at the next index, which
 * this process watches for all. Context: the service thread; some system calls.
 */
bool dpa_gsi_is_watching(struct dpa_hw *hw);
/* Calls `need` if there is one. Any thread, any lock. */
void dpa_gsi_need(void);
/* Makes the service thread look now. In hw.c, which has the device of this process. */
void dpa_gsi_nudge(void);
/* For a forked child: resets the locks, which threads of the parent may have held. */
void dpa_gsi_child(void);

#endif
