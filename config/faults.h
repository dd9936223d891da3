/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * faults.h - the faults that a link applies to packets, in the user's form and in the device's.
 *
 *   drop=1%,dup=1%,reorder=1%,delay=5%:200us,corrupt=0.1%,truncate=100ppm,only=requests,seed=7
 */
#ifndef DPA_FAULTS_H
#define DPA_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dpa_fault_kind {
	DPA_FAULT_DROP,
	DPA_FAULT_DUP,
	DPA_FAULT_REORDER,
	DPA_FAULT_DELAY,
	DPA_FAULT_CORRUPT,
	DPA_FAULT_TRUNCATE,
	DPA_FAULT_KINDS
};

enum dpa_fault_only { DPA_FAULT_ALL, DPA_FAULT_REQUESTS, DPA_FAULT_RESPONSES };

#define DPA_FAULT_MILLION   1000000u
#define DPA_FAULT_DELAY_MAX 10000000u /* microseconds */
#define DPA_FAULT_TEXT	    192	      /* room for any text of dpa_fault_text() */

#define DPA_FAULT_USE                                                                              \
	"off, or some of drop=, dup=, reorder=, corrupt=, truncate=RATE, delay=RATE:TIME, "        \
	"seed=N, qpn=N, only=requests or responses, with commas between (RATE: 1.5% or 200ppm; "   \
	"TIME: 50us or 2ms)"

struct dpa_fault_spec {
	bool set; /* the setting was given, also as "off" */
	enum dpa_fault_only only;
	uint32_t ppm[DPA_FAULT_KINDS];
	uint32_t delay_us;
	uint32_t qpn; /* only packets to this QP; 0: to all QPs */
	uint64_t seed;
};

/* True if any fault is set. */
bool dpa_fault_any(const struct dpa_fault_spec *f);
/* False, and *f unchanged: an unknown key, a repeated key or a bad value. */
bool dpa_fault_parse(const char *text, struct dpa_fault_spec *f);
/* Write the text that dpa_fault_parse() accepts; "off" without faults, "" if it is not set. */
void dpa_fault_text(const struct dpa_fault_spec *f, char *buf, size_t len);

#endif
