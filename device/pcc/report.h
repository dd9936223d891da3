/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * report.h - what happens to a flow, as congestion control programs of the DPA are told: the events
 * of dpa_hw_pcc.h. A pure function, as everything in this folder.
 */
#ifndef DPA_PCC_REPORT_H
#define DPA_PCC_REPORT_H

#include <dpa_hw_pcc.h>
#include "pcc.h"

/* Of a flow, between its events: 32 bytes. Zero at its begin. */
struct dpa_pcc_reporter {
	uint64_t tx_at, first_at; /* ns: of the last TX event; of the first packet since then */
	uint32_t bytes, packets;  /* since the last TX event */
	uint8_t begun;		  /* a TX event was made */
	uint8_t probe;		  /* probes that had left at the last TX event */
};

/* The flow as it is at an event. */
struct dpa_pcc_sender {
	uint32_t flow; /* of struct dpa_pcc_report */
	uint32_t qpn, mtu;
	uint32_t psn; /* the next to be sent */
	uint8_t slot; /* that acts on it */
	uint8_t sent; /* probes that have left, modulo 256 */
};

/*
 * The report of an event. False: there is none, because programs do not hear of it, or because a TX
 * event is too close to the one before: 8 us or 64 KiB lie between two, unless a probe has left.
 */
bool dpa_pcc_report_make(struct dpa_pcc_reporter *r, const struct dpa_pcc_sender *s,
			 const struct dpa_pcc_event *ev, struct dpa_pcc_report *out);

/* The rate of an answer, in parts of 2^20 of the line rate, as bytes/s; DPA_PCC_NO_LIMIT: all. */
uint64_t dpa_pcc_report_rate(uint32_t rate);

#endif
