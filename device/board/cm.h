/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm.h - what the processes of an adapter instance share for QP1: which QP is the endpoint of a
 * process, which process has which service, which communication id.
 *
 * Words and their order:
 *  - proc.gsi: the generation and the real QPN of a process's endpoint. Written by its process
 *    (release), read by every process (acquire). It counts while the process lives.
 *  - a service: written under the board's lock while seq is odd, read without it (cm.c).
 *  - owner word of an id: bits 47:0 are an owner word as elsewhere, 0: free; bits 55:48 count the
 *    lives of the record and are bits 23:16 of its local id. 0 to owner, dead owner to new owner:
 *    CAS (acq_rel). Owner to 0: store by the owner (release). Read by every process (acquire).
 *  - what an id has set: two copies; seq counts the writes, its low bit names the copy that counts.
 *    The owner writes the other copy, then seq (release). A reader reads seq (acquire), the copy,
 *    and seq again. An owner that dies between leaves the last copy that was whole.
 *  - head.cm_died: counted up (release) with each endpoint whose process was reaped.
 *
 * Records of dead processes stay until a process takes them over or frees them.
 */
#ifndef DPA_BOARD_CM_H
#define DPA_BOARD_CM_H

#include "board.h"

#define DPA_BOARD_SERVICES 16384u
#define DPA_BOARD_CMIDS	   65536u /* index part of a communication id */

/* A process with QP1 open. */
struct dpa_board_gsi {
	uint32_t slot, gen, qpn; /* qpn: the real one of its endpoint */
};

/* This process's endpoint; 0: it has none any more. */
void dpa_board_gsi_set(struct dpa_board *b, uint32_t qpn);
/* The endpoint of that process. False: it ended, or has none. Lock-free. */
bool dpa_board_gsi_of(struct dpa_board *b, uint32_t slot, uint32_t gen, struct dpa_board_gsi *g);
/* The first other process with an endpoint, from process index `from` on and round. False: none. */
bool dpa_board_gsi_next(struct dpa_board *b, uint32_t from, struct dpa_board_gsi *g);
/* Looks whether the next one lives; if not the dead are reaped. Any thread; some system calls. */
void dpa_board_gsi_watch(struct dpa_board *b);
/* Changes when a process with an endpoint was reaped. */
uint32_t dpa_board_gsi_died(struct dpa_board *b);

/* ENOMEM: DPA_BOARD_SERVICES are in use; ENOSPC; or the errno of the lock. */
int dpa_board_service_add(struct dpa_board *b, const struct dpa_gsi_service *s, uint32_t *at);
void dpa_board_service_remove(struct dpa_board *b, uint32_t at);
/* The endpoint that requests for the service at this address belong to. Lock-free. */
bool dpa_board_service_find(struct dpa_board *b, uint64_t service_id, const uint8_t addr[16],
			    struct dpa_board_gsi *g);

/* The next service of a process that lives, at index *at or behind it; for tools. */
bool dpa_board_service_next(struct dpa_board *b, uint32_t *at, struct dpa_gsi_service *s,
			    uint32_t *slot, uint32_t *gen);

/* ENOMEM: all are in use; ENOSPC. */
int dpa_board_cmid_new(struct dpa_board *b, uint32_t *id);
/* Calls for one id come one at a time. Ids that are not this process's are left alone. */
void dpa_board_cmid_set(struct dpa_board *b, const struct dpa_gsi_id *id);
void dpa_board_cmid_free(struct dpa_board *b, uint32_t id);
/* The endpoint of its owner. Lock-free. */
bool dpa_board_cmid_owner(struct dpa_board *b, uint32_t id, struct dpa_board_gsi *g);
/* The endpoint of the id whose peer this is. Looks at all ids. Lock-free. */
bool dpa_board_cmid_of_peer(struct dpa_board *b, uint32_t remote_id, uint64_t remote_guid,
			    struct dpa_board_gsi *g);
/*
 * Takes over the next id of a dead process, from index *at on; *at is behind it then. Ids of dead
 * processes with nothing set are freed. False: none up to the end.
 */
bool dpa_board_cmid_orphan(struct dpa_board *b, uint32_t *at, struct dpa_gsi_id *id);
/* Is there one? Takes nothing. */
bool dpa_board_cmid_orphans(struct dpa_board *b);
/* Frees all services and ids of this process. */
void dpa_board_cm_end(struct dpa_board *b);
/* The next id that is in use, at index *at or behind it, and its process; for tools. */
bool dpa_board_cmid_next(struct dpa_board *b, uint32_t *at, struct dpa_gsi_id *id, uint32_t *slot,
			 uint32_t *gen);

#endif
