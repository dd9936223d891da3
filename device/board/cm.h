/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm.h - what the processes of an adapter instance share for QP1: the QP1 endpoint of each process,
 * the services, the communication ids.
 *
 * Words and their order:
 *  - proc.gsi: the generation of a process and the QPN of its endpoint; 0: it has none. Written by
 *    the process (release), read by every process (acquire). Valid while the process lives.
 *  - a service: written under the board's lock while seq is odd, read without the lock (cm.c).
 *  - owner word of an id: bits 47:0 are an owner word as elsewhere, 0: free. Bits 63:48 count the
 *    lives of the record; their low 8 bits make bits 23:16 of its local id. A process takes a free
 *    id, or the id of a dead owner, by CAS (acq_rel). The owner frees it by a store (release).
 *    Read by every process (acquire).
 *  - the content of an id: two copies; seq counts the writes, and its low bit names the valid copy.
 *    The owner writes the other copy, then seq (release). A reader reads seq (acquire), the copy,
 *    and seq again. An owner that dies in between leaves the valid copy complete.
 *  - head.cm_died: counts the endpoints whose process was reaped. Incremented by the reaper under
 *    the board's lock (release), read by every process (acquire).
 *
 * The records of a dead process stay until another process takes them over or frees them.
 */
#ifndef DPA_BOARD_CM_H
#define DPA_BOARD_CM_H

#include "board.h"

#define DPA_BOARD_SERVICES 16384u
#define DPA_BOARD_CMIDS	   65536u /* index part of a communication id */

/* A process that has QP1 open. */
struct dpa_board_gsi {
	uint32_t slot, gen, qpn; /* qpn: of its endpoint, never 1 */
};

/* Publishes the QPN of this process's endpoint. 0: it has none any more. */
void dpa_board_gsi_set(struct dpa_board *b, uint32_t qpn);
/* Returns the endpoint of a process. False: the process ended, or has none. Lock-free. */
bool dpa_board_gsi_of(struct dpa_board *b, uint32_t slot, uint32_t gen, struct dpa_board_gsi *g);
/* Finds the first other process with an endpoint, from process index `from` on, with wrap. */
bool dpa_board_gsi_next(struct dpa_board *b, uint32_t from, struct dpa_board_gsi *g);
/*
 * Checks that the next process with an endpoint lives. Reaps all dead processes if it does not. Any
 * thread; makes some system calls.
 */
void dpa_board_gsi_watch(struct dpa_board *b);
/* True if the next live process by index has an endpoint, or one that died in between had one. */
bool dpa_board_gsi_is_next(struct dpa_board *b);
/* Returns a count that changes when a process with an endpoint was reaped. */
uint32_t dpa_board_gsi_died(struct dpa_board *b);

/* ENOMEM: DPA_BOARD_SERVICES are in use; ENOSPC; or the errno of the lock. */
int dpa_board_service_add(struct dpa_board *b, const struct dpa_gsi_service *s, uint32_t *at);
void dpa_board_service_remove(struct dpa_board *b, uint32_t at);
/* Finds the endpoint that takes requests for the service at this address. Lock-free. */
bool dpa_board_service_find(struct dpa_board *b, uint64_t service_id, const uint8_t addr[16],
			    struct dpa_board_gsi *g);

/* Finds the first service of a live process from index *at on; for tools. */
bool dpa_board_service_next(struct dpa_board *b, uint32_t *at, struct dpa_gsi_service *s,
			    uint32_t *slot, uint32_t *gen);

/* ENOMEM: all are in use; ENOSPC. */
int dpa_board_cmid_new(struct dpa_board *b, uint32_t *id);
/*
 * Publish the content of an id; free an id. The caller serialises the calls for one id. An id of
 * another process stays as it is.
 */
void dpa_board_cmid_set(struct dpa_board *b, const struct dpa_gsi_id *id);
void dpa_board_cmid_free(struct dpa_board *b, uint32_t id);
/* Finds the endpoint of the owner of an id. Lock-free. */
bool dpa_board_cmid_owner(struct dpa_board *b, uint32_t id, struct dpa_board_gsi *g);
/* Finds the endpoint of the id that has this peer. Reads all ids. Lock-free. */
bool dpa_board_cmid_of_peer(struct dpa_board *b, uint32_t remote_id, uint64_t remote_guid,
			    struct dpa_board_gsi *g);
/*
 * Takes over the first id of a dead process from index *at on, and sets *at behind it. Frees ids of
 * dead processes that have no content. False: there is none up to the end.
 */
bool dpa_board_cmid_orphan(struct dpa_board *b, uint32_t *at, struct dpa_gsi_id *id);
/* True if a dead process left an id with content. Changes nothing. */
bool dpa_board_cmid_orphans(struct dpa_board *b);
/*
 * Frees all services and ids of this process, then withdraws its endpoint. If the process dies in
 * between, other processes still learn of the ids that are left.
 */
void dpa_board_cm_end(struct dpa_board *b);
/* Finds the first id with content from index *at on, and its process; for tools. */
bool dpa_board_cmid_next(struct dpa_board *b, uint32_t *at, struct dpa_gsi_id *id, uint32_t *slot,
			 uint32_t *gen);

#endif
