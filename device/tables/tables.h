/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tables.h - what processes publish on the board beside their resources. An entry is good while its
 * owner word is: nobody cleans up behind a dead process.
 */
#ifndef DPA_TABLES_H
#define DPA_TABLES_H

#include "board/board.h"
#include "board/cm.h"

/*
 * Multicast groups of QPs of this board; gid: 16 bytes, qpn: one of this process. They last until
 * the QPN is free. EALREADY: it is attached; ENOENT: it is not; ENOMEM past DPA_MAX_MCAST of the
 * board.
 */
int dpa_board_mcast_attach(struct dpa_board *b, const uint8_t gid[16], uint32_t qpn);
int dpa_board_mcast_detach(struct dpa_board *b, const uint8_t gid[16], uint32_t qpn);
/* Detaches it from every group. */
void dpa_board_mcast_forget(struct dpa_board *b, uint32_t qpn);
/*
 * The group's next QP at *at or behind it (start with 0, go on with *at + 1). Lock-free: who is
 * attached or detached meanwhile may be seen or not.
 */
bool dpa_board_mcast_next(struct dpa_board *b, const uint8_t gid[16], uint32_t *at, uint32_t *qpn);
/* The next group that QPN of this process is attached to, at *at or behind it, as above. */
bool dpa_board_mcast_group(struct dpa_board *b, uint32_t qpn, uint32_t *at, uint8_t gid[16]);
/*
 * Flow rules of raw packet QPs of this board: bytes that mean nothing here. A rule lasts until it
 * is removed or its QPN is free. ENOMEM past DPA_MAX_FLOWS of the board.
 */
int dpa_board_flow_add(struct dpa_board *b, uint32_t qpn, const void *rule, size_t len,
		       uint32_t *at);
/* ENOENT: rule `at` is none of that QP. */
int dpa_board_flow_remove(struct dpa_board *b, uint32_t at, uint32_t qpn);
/* Rule `at`, which dpa_board_flow_get() gave as this one's, matched a frame of n bytes. */
void dpa_board_flow_hit(struct dpa_board *b, uint32_t at, uint32_t qpn, dpa_owner_t owner,
			uint32_t n);
/* Its matches since it was added. ENOENT: rule `at` is none of that QP. */
int dpa_board_flow_counts(struct dpa_board *b, uint32_t at, uint32_t qpn, uint64_t *packets,
			  uint64_t *bytes);
/* Removes all of the QP's. */
void dpa_board_flow_forget(struct dpa_board *b, uint32_t qpn);
/* Changes whenever a rule is added or removed; not when its owner dies. A load. */
uint32_t dpa_board_flow_gen(struct dpa_board *b);
/* One past the last rule that there ever was. */
uint32_t dpa_board_flow_end(struct dpa_board *b);
enum dpa_board_flow_look { DPA_FLOW_NONE, DPA_FLOW_THERE, DPA_FLOW_CHANGES };
/*
 * Copies rule `at`, DPA_BOARD_FLOW_RULE bytes, with whose it is. Lock-free. CHANGES: it is being
 * written, look again later.
 */
enum dpa_board_flow_look dpa_board_flow_get(struct dpa_board *b, uint32_t at, void *rule,
					    uint32_t *qpn, dpa_owner_t *owner);
/*
 * XRC domains (man ibv_open_xrcd): one of a file (a->named) lasts while a process has it open and
 * lives. *num: its number, another for each that there ever was; *at: for close. EAGAIN, EINVAL as
 * there; ENOMEM past DPA_BOARD_XRCDS.
 */
int dpa_board_xrcd_open(struct dpa_board *b, const struct dpa_xrcd_attr *a, uint32_t *num,
			uint32_t *at);
void dpa_board_xrcd_close(struct dpa_board *b, uint32_t at);
/* An XRC SRQ's number: 24 bits, the low 14 an index of its own. ENOMEM past DPA_MAX_SRQ of the
 * board. */
int dpa_board_xrc_srq_add(struct dpa_board *b, uint32_t xrcd, uint32_t *srqn);
void dpa_board_xrc_srq_remove(struct dpa_board *b, uint32_t srqn);
/* Its owner, and its domain. False: nobody's. Lock-free. */
bool dpa_board_xrc_srq_owner(struct dpa_board *b, uint32_t srqn, uint32_t *xrcd, uint32_t *slot,
			     uint32_t *gen);
/*
 * Generation of what is asked: 0 never, odd while it is written. A load of a line that hardly ever
 * changes.
 */
uint32_t dpa_board_ask_gen(struct dpa_board *b, enum dpa_board_ask_what what);
/* False: it is being written, look again later. */
bool dpa_board_ask_get(struct dpa_board *b, enum dpa_board_ask_what what,
		       char text[DPA_BOARD_ASK_TEXT], uint32_t *gen);
/* For tools, on a board that they peek at: 0 or errno (ENOENT: that board is gone). */
int dpa_board_ask_put(struct dpa_board *b, enum dpa_board_ask_what what, const char *text,
		      uint32_t *gen);
/* A connection that was refused: by or to which process, and when (seconds of the epoch). */
struct dpa_board_refused {
	uint64_t time;
	struct dpa_gsi_refusal what;
	uint32_t pid;
	char comm[12]; /* cut */
};
/* Record one, for tools. Any thread; lock-free. */
void dpa_board_refused(struct dpa_board *b, const struct dpa_gsi_refusal *r);
/* Get the nth last one, from 0 on. False: there is none, or it is being written. */
bool dpa_board_refused_get(struct dpa_board *b, uint32_t nth, struct dpa_board_refused *r);

#endif
