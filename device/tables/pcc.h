/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc.h - congestion control of the port on the board: slots, counters, the image and its flows.
 * dpa_hw_pcc.h explains the meaning, board_layout.h the words. Nothing here takes a lock, and each
 * call may be killed at any instruction.
 */
#ifndef DPA_TABLES_PCC_H
#define DPA_TABLES_PCC_H

#include "board/board.h"

/* Parts of the word. */
static inline uint32_t dpa_pcc_word_enabled(uint64_t w)
{
	return (uint32_t)w & 0xffff;
}

/* Including the built-in slots. */
static inline uint32_t dpa_pcc_word_populated(uint64_t w)
{
	return ((uint32_t)(w >> 16) & 0xff) | 1u << DPA_PCC_SLOT_RTT | 1u << DPA_PCC_SLOT_DCQCN;
}

/* Returns the slot that controls the flows; -1: none. */
static inline int dpa_pcc_word_acting(uint64_t w)
{
	uint32_t on = dpa_pcc_word_enabled(w) & dpa_pcc_word_populated(w);

	return on ? __builtin_ctz(on) : -1;
}

/* Returns the slot whose counters count; -1: none. */
static inline int dpa_pcc_word_counting(uint64_t w)
{
	return (int)(w >> 24 & 31) - 1;
}

/* Flows are to record what happens to them. */
static inline bool dpa_pcc_word_recorded(uint64_t w)
{
	return w >> DPA_BOARD_PCC_RECORD & 1;
}

static inline uint32_t dpa_pcc_word_image(uint64_t w)
{
	return (uint32_t)(w >> 48);
}

/* Return the word that flows follow. Valid while the board is open. */
_Atomic uint64_t *dpa_board_pcc_word(struct dpa_board *b);

/* ------------------------------------------------------------- for tools and telemetry */

/*
 * The calls of struct dpa_pcc_ops with these names. port: a struct dpa_board; enable, count, clear
 * and set_param need write access (dpa_board_pcc_writable()).
 */
void dpa_board_pcc_query(void *port, struct dpa_pcc_port *out);
void dpa_board_pcc_port_bytes(void *port, uint64_t *tx, uint64_t *rx);
int dpa_board_pcc_read_slot(void *port, uint32_t slot, struct dpa_pcc_slot *out);
int dpa_board_pcc_enable(void *port, uint32_t slot, bool on);
int dpa_board_pcc_count(void *port, uint32_t slot, bool on);
int dpa_board_pcc_read_counters(void *port, uint32_t slot, bool clear, uint32_t *num,
				uint32_t values[DPA_PCC_COUNTERS]);
int dpa_board_pcc_set_param(void *port, uint32_t slot, uint32_t id, uint32_t value);
/* Replace the mapping of a board opened by dpa_board_peek() by a writable one. 0 or errno. */
int dpa_board_pcc_writable(struct dpa_board *peek);
/* Remove the image of a process that died. One system call if there is an image. */
void dpa_board_pcc_check(struct dpa_board *b);

/* -------------------------------------------------- flows that are recorded: pcc_record.c */

/*
 * Flows of all processes record from now on, for `ns` more; again before that is over. A recorder
 * that dies leaves nothing behind: the first flow that finds its time past stops it.
 */
void dpa_board_pcc_record(struct dpa_board *b, uint64_t now, uint64_t ns);
/* Stops it if the time is past. By flows. */
void dpa_board_pcc_record_check(struct dpa_board *b, uint64_t now);
/* The record of this process's QP, from the start; NULL: no memory. Reserves it. */
struct dpa_board_pcc_flow *dpa_board_pcc_flow_begin(struct dpa_board *b, uint32_t qpn);
/* The queues in front of this process; NULL: no memory. Reserves it. */
struct dpa_board_pcc_queue *dpa_board_pcc_queue_mine(struct dpa_board *b);
/* For readers. NULL: never recorded, or not by the process that has the QPN or index now. */
struct dpa_board_pcc_flow *dpa_board_pcc_flow_of(struct dpa_board *b, uint32_t qpn);
struct dpa_board_pcc_queue *dpa_board_pcc_queue_of(struct dpa_board *b, uint32_t proc);
/* The next QPN index from `index` on whose record's memory is there; DPA_BOARD_QPNS: none. */
uint32_t dpa_board_pcc_flow_next(struct dpa_board *b, uint32_t index);

/* ------------------------------------------------------------------- for flows */

/* Read the values of all parameters of a built-in slot. */
void dpa_board_pcc_params(struct dpa_board *b, uint32_t slot, uint32_t value[DPA_PCC_PARAMS]);
/* True if these are the defaults of the built-in slot. */
bool dpa_board_pcc_is_default(uint32_t slot, const uint32_t value[DPA_PCC_PARAMS]);
/* Return this process's counts of a built-in slot, and reserve them. NULL: no memory. */
_Atomic uint32_t *dpa_board_pcc_counts(struct dpa_board *b, uint32_t slot);
/* Prepare this process's ring, before its first report. 0 or ENOMEM. */
int dpa_board_pcc_ring_open(struct dpa_board *b);
/* Report an event of a flow of this process. False: the ring is full. Any thread; never blocks. */
bool dpa_board_pcc_report(struct dpa_board *b, const struct dpa_pcc_report *r);
/* Return the bits of the event types that the image does not want. */
uint32_t dpa_board_pcc_disabled(struct dpa_board *b);
/* Return the result word of a QPN of this board, and reserve it. NULL: no memory. */
_Atomic uint64_t *dpa_board_pcc_result(struct dpa_board *b, uint32_t qpn);

/*
 * How the flows of image `number` send probes. False: as a flow of a built-in algorithm does, CCMAD
 * without a program.
 */
bool dpa_board_pcc_probes(struct dpa_board *b, uint32_t number, struct dpa_pcc_probes *out);

/*
 * The custom header of a flow's probes, 0 where it has set none. flow: as in its reports. False: it is
 * being changed, the probe waits.
 */
bool dpa_board_pcc_header(struct dpa_board *b, uint32_t number, uint32_t flow,
			  uint32_t words[DPA_PCC_HEADER]);

/*
 * A result: rate in bits 0..20, number of probes requested 24..31, epoch 32..39, DSCP of probes and 1
 * 40..46 (0: that of the path), image 48..63.
 */
#define DPA_PCC_RESULT_DSCP 40
static inline uint8_t dpa_pcc_result_dscp(uint64_t result)
{
	uint32_t d = (uint32_t)(result >> DPA_PCC_RESULT_DSCP) & 127;

	return d && d <= DPA_PCC_DSCP_MAX + 1 ? (uint8_t)(d - 1) : DPA_PCC_DSCP_NONE;
}

static inline uint64_t dpa_pcc_result_make(uint32_t image, uint32_t epoch, uint32_t probes,
					   uint32_t rate)
{
	return (uint64_t)image << 48 | (uint64_t)(epoch & 0xff) << 32 |
	       (uint64_t)(probes & 0xff) << 24 | rate;
}

/* ------------------------------------------- probes for the notification point: np.c */

/* Does the program of the port take a probe of this format, GNS (IFA2) and marker (IFA1)? */
bool dpa_board_np_takes(struct dpa_board *b, const struct dpa_pcc_probes *probe);
/* A program whose process died is none any more. A system call if there is a program. */
void dpa_board_np_check(struct dpa_board *b);
/* Gives it a probe; sets ring and serial. False: no memory, or too many are on their way. */
bool dpa_board_np_post(struct dpa_board *b, struct dpa_pcc_probe *probe);
enum dpa_np_state { DPA_NP_WAITS, DPA_NP_SENDS, DPA_NP_NONE };
/* WAITS: nothing yet. SENDS: the answer is there; NONE: none is to be sent. Both end the probe. */
enum dpa_np_state dpa_board_np_poll(struct dpa_board *b, uint32_t ring, uint64_t serial,
				    struct dpa_pcc_reply *reply);
/* Ends it without an answer. */
void dpa_board_np_drop(struct dpa_board *b, uint32_t ring, uint64_t serial);
/* At the close of the board: ends all of this process. */
void dpa_board_np_leave(struct dpa_board *b);

/* ------------------------------------------------------- for the image's process */

extern const struct dpa_pcc_ops dpa_board_pcc_ops;
/* Remove the image of this process when the board is closed. */
void dpa_board_pcc_leave(struct dpa_board *b);

/* Description of a built-in slot. NULL: none. */
struct dpa_pcc_builtin_desc {
	uint32_t id, major, minor, nparams, ncounters;
	const char *text;
	const struct dpa_pcc_builtin_param {
		uint32_t def, min, max;
		const char *text;
	} * params;
	const char *const *counters;
};
const struct dpa_pcc_builtin_desc *dpa_board_pcc_builtin(uint32_t slot);

/* Counters of both, in this order. */
enum { DPA_PCC_N_TX, DPA_PCC_N_ACK, DPA_PCC_N_RTT, DPA_PCC_N_CNP, DPA_PCC_N_NACK, DPA_PCC_N_NUM };
/* Parameters of DPA_PCC_SLOT_RTT, in this order; those of DCQCN are in pcc/dcqcn.h's. */
enum {
	DPA_PCC_P_RTT_TARGET,
	DPA_PCC_P_RTT_MAX,
	DPA_PCC_P_RTT_BETA,
	DPA_PCC_P_RTT_AI,
	DPA_PCC_P_RTT_MIN_RATE,
	DPA_PCC_P_RTT_NUM
};
enum {
	DPA_PCC_P_DCQCN_MIN_RATE,
	DPA_PCC_P_DCQCN_AI_RATE,
	DPA_PCC_P_DCQCN_HAI_RATE,
	DPA_PCC_P_DCQCN_TIME_RESET,
	DPA_PCC_P_DCQCN_BYTE_RESET,
	DPA_PCC_P_DCQCN_THRESHOLD,
	DPA_PCC_P_DCQCN_GD,
	DPA_PCC_P_DCQCN_MIN_DEC_FAC,
	DPA_PCC_P_DCQCN_MONITOR_PERIOD,
	DPA_PCC_P_DCQCN_G,
	DPA_PCC_P_DCQCN_RTT,
	DPA_PCC_P_DCQCN_NUM
};

#endif
