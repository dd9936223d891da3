/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tables.h - further entries that processes publish on the board. An entry is valid while its owner
 * word is: the entries of a dead process need no cleanup.
 */
#ifndef DPA_TABLES_H
#define DPA_TABLES_H

#include "board/board.h"
#include "board/cm.h"

/*
 * Multicast groups of QPs of this board. gid: 16 bytes; qpn: of this process. An attachment lasts
 * until the QPN is free. EALREADY: it is attached; ENOENT: it is not; ENOMEM beyond DPA_MAX_MCAST
 * of the board.
 */
int dpa_board_mcast_attach(struct dpa_board *b, const uint8_t gid[16], uint32_t qpn);
int dpa_board_mcast_detach(struct dpa_board *b, const uint8_t gid[16], uint32_t qpn);
/* Detach it from every group. */
void dpa_board_mcast_forget(struct dpa_board *b, uint32_t qpn);
/*
 * Find the group's next QP at *at or behind it (start with 0, continue with *at + 1). Lock-free: a
 * QP that is attached or detached meanwhile may be found or not.
 */
bool dpa_board_mcast_next(struct dpa_board *b, const uint8_t gid[16], uint32_t *at, uint32_t *qpn);
/* Find the next group that a QPN of this process is attached to, at *at or behind it, as above. */
bool dpa_board_mcast_group(struct dpa_board *b, uint32_t qpn, uint32_t *at, uint8_t gid[16]);
/*
 * Flow rules of raw packet QPs of this board, as opaque bytes. A rule lasts until it is removed or
 * its QPN is free. ENOMEM beyond DPA_MAX_FLOWS of the board.
 */
int dpa_board_flow_add(struct dpa_board *b, uint32_t qpn, const void *rule, size_t len,
		       uint32_t *at);
/* ENOENT: rule `at` does not belong to that QP. */
int dpa_board_flow_remove(struct dpa_board *b, uint32_t at, uint32_t qpn);
/* Count a frame of n bytes for rule `at`, as returned by dpa_board_flow_get(). */
void dpa_board_flow_hit(struct dpa_board *b, uint32_t at, uint32_t qpn, dpa_owner_t owner,
			uint32_t n);
/* Return its matches since it was added. ENOENT: rule `at` does not belong to that QP. */
int dpa_board_flow_counts(struct dpa_board *b, uint32_t at, uint32_t qpn, uint64_t *packets,
			  uint64_t *bytes);
/* Remove all rules of the QP. */
void dpa_board_flow_forget(struct dpa_board *b, uint32_t qpn);
/*
 * Return a number that changes whenever a rule is added or removed, but not when its owner dies.
 * One load.
 */
uint32_t dpa_board_flow_gen(struct dpa_board *b);
/* One past the last rule ever used. */
uint32_t dpa_board_flow_end(struct dpa_board *b);
enum dpa_board_flow_look { DPA_FLOW_NONE, DPA_FLOW_THERE, DPA_FLOW_CHANGES };
/*
 * Copy rule `at`, DPA_BOARD_FLOW_RULE bytes, and its owner. Lock-free. CHANGES: it is being
 * written; try again later.
 */
enum dpa_board_flow_look dpa_board_flow_get(struct dpa_board *b, uint32_t at, void *rule,
					    uint32_t *qpn, dpa_owner_t *owner);
/*
 * XRC domains (man ibv_open_xrcd). The domain of a file (a->named) lasts while a live process has
 * it open. *num: its number, which is never reused for another domain; *at: for close. EAGAIN,
 * EINVAL as there; ENOMEM beyond DPA_BOARD_XRCDS.
 */
int dpa_board_xrcd_open(struct dpa_board *b, const struct dpa_xrcd_attr *a, uint32_t *num,
			uint32_t *at);
void dpa_board_xrcd_close(struct dpa_board *b, uint32_t at);
/*
 * Return an XRC SRQ's number: 24 bits; the low 14 are an index of its own. ENOMEM beyond
 * DPA_MAX_SRQ of the board.
 */
int dpa_board_xrc_srq_add(struct dpa_board *b, uint32_t xrcd, uint32_t *srqn);
void dpa_board_xrc_srq_remove(struct dpa_board *b, uint32_t srqn);
/* Return its owner and its domain. False: it has no owner. Lock-free. */
bool dpa_board_xrc_srq_owner(struct dpa_board *b, uint32_t srqn, uint32_t *xrcd, uint32_t *slot,
			     uint32_t *gen);
/*
 * Return the generation of a request: 0 never requested, odd while it is written. One load of a
 * cache line that rarely changes.
 */
uint32_t dpa_board_ask_gen(struct dpa_board *b, enum dpa_board_ask_what what);
/* False: it is being written; try again later. */
bool dpa_board_ask_get(struct dpa_board *b, enum dpa_board_ask_what what,
		       char text[DPA_BOARD_ASK_TEXT], uint32_t *gen);
/* For tools, on a board opened by dpa_board_peek(): 0 or errno (ENOENT: that board is gone). */
int dpa_board_ask_put(struct dpa_board *b, enum dpa_board_ask_what what, const char *text,
		      uint32_t *gen); /* wakes the processes */
/* Wake the progress threads of all processes, which tick then: dpa_board_wake(). */
void dpa_board_wake_all(struct dpa_board *b);
/*
 * Wake the progress thread of that process, which ticks then: it follows requests, sees a lease, looks at
 * its neighbours. Best effort: otherwise it does so at its next tick (eu/quiet.c), or when it creates a
 * QP.
 */
void dpa_board_wake(const struct dpa_board *b, uint32_t slot, uint32_t gen);
/* A refused connection: the process, and when (seconds since the epoch). */
struct dpa_board_refused {
	uint64_t time;
	struct dpa_gsi_refusal what;
	uint32_t pid;
	char comm[12]; /* may be cut off */
};
/* Record one, for tools. Any thread; lock-free. */
void dpa_board_refused(struct dpa_board *b, const struct dpa_gsi_refusal *r);
/* Get the nth last record, from 0 on. False: there is none, or it is being written. */
bool dpa_board_refused_get(struct dpa_board *b, uint32_t nth, struct dpa_board_refused *r);

/* ---- inject.c: failures that are injected into one process. Texts have DPA_BOARD_INJECT_TEXT bytes. */
struct dpa_board_inject;
/*
 * Return the record of this process; NULL: it has none. One load if there is none. take: take one if
 * there is none; NULL: all are in use, or the file cannot be opened or locked.
 */
struct dpa_board_inject *dpa_board_inject_mine(struct dpa_board *b, bool take);
/* Generation of the request in a record: as dpa_board_ask_gen(). */
uint32_t dpa_board_inject_gen(const struct dpa_board_inject *r);
/* False: it is being written; try again later. */
bool dpa_board_inject_request(const struct dpa_board_inject *r, char *text, uint32_t *gen);
/* The process has carried out that request (0: its own setting), and follows these rules now. */
void dpa_board_inject_follow(struct dpa_board_inject *r, uint32_t gen, const char *now);
/* For tools: the record of a process; NULL: it has none. */
const struct dpa_board_inject *dpa_board_inject_of(struct dpa_board *b, uint32_t slot);
/* For tools: copy the rules in force. False: they are being written. */
bool dpa_board_inject_now(const struct dpa_board_inject *r, char *text);
/* For tools: generation that the process has carried out. */
uint32_t dpa_board_inject_seen(const struct dpa_board_inject *r);
/*
 * For tools, on a board opened by dpa_board_peek(): request rules of the process (slot, gen). 0, or
 * ENOENT: that board is gone; ESRCH: that process is; ENOSPC: all records are in use; an errno.
 */
int dpa_board_inject_put(struct dpa_board *b, uint32_t slot, uint32_t gen, const char *text,
			 uint32_t *request);

#endif
