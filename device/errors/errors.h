/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * errors.h - the last error completions and refused requests of all processes of the adapter instance,
 * also of those that ended. Two bounded rings without a lock: board/error_record.h. They live as long as
 * the adapter state file. A record overwrites the oldest one of its ring.
 */
#ifndef DPA_ERRORS_H
#define DPA_ERRORS_H

#include "board/board_layout.h"

/* The number of a record: bit 31 set for one of the ring of flushes. Never 0. */
#define DPA_ERROR_OF_FLUSHES (UINT32_C(1) << 31)

/*
 * Records an error, for tools. number: of an earlier record of the same QP that it replaces, if that is
 * still there; 0 takes a new one of the ring (flush: of that of flushes). Returns its number; 0: there
 * is no record, because the file cannot grow, or the entries at hand are being written. Any thread;
 * lock-free; may reserve memory of the file.
 */
uint32_t dpa_board_error_put(struct dpa_board *b, bool flush, uint32_t number,
			     const struct dpa_error *e);
/*
 * Count a completion that was flushed after that error. False: the record is not there any more.
 * Context: the lock of the QP whose error it is.
 */
bool dpa_board_error_flushed(struct dpa_board *b, uint32_t number, bool received);

/* A record, as a tool reads it. */
struct dpa_error_read {
	uint32_t number;
	uint32_t flushed[2]; /* completions sent, received */
	uint32_t change;     /* differs when the record was replaced */
	struct dpa_error e;
};
#define DPA_ERROR_PLACES (DPA_BOARD_ERRORS + DPA_BOARD_FLUSHES)
/*
 * Get the record in that place, below DPA_ERROR_PLACES: first those of the ring of errors. Their order is
 * that of their times. False: there is none, or it is being written. Lock-free.
 */
bool dpa_board_error_get(struct dpa_board *b, uint32_t place, struct dpa_error_read *r);

/* text.c: names and texts, the same for the log and for tools. */
/* "WRITE", "RECV": the operation of a record. */
const char *dpa_error_op(const struct dpa_error *e);
/*
 * The comparison that failed, with its values: "address 0x10, 8 bytes, rkey 0x7; its region is 0x0, 4 bytes". "":
 * nothing.
 */
void dpa_error_check_text(const struct dpa_error_check *c, char *text, size_t len);
/* "QP 0x010203 at 10.0.0.1 of process 7 (rping), user 0". "": not known. */
void dpa_error_peer_text(const struct dpa_error_peer *p, char *text, size_t len);
/* One line of all of it. */
#define DPA_ERROR_LINE 480u
void dpa_error_line(const struct dpa_error *e, char text[DPA_ERROR_LINE]);

#endif
