/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* meaning.h - what the status and the vendor error of a completion mean, for users. */
#ifndef DPA_TABLES_MEANING_H
#define DPA_TABLES_MEANING_H

#include <stdbool.h>
#include <stdint.h>

/* The name of a number, the cause, and what a program or its user can do. */
struct dpa_meaning {
	const char *name, *cause, *fix;
};

/* Of enum ibv_wc_status. False: there is no such status. */
bool dpa_status_meaning(uint32_t status, struct dpa_meaning *m);
/* Of vendor_err, enum dpa_syndrome; the name is without DPA_SYN_. False: it is none. */
bool dpa_vendor_meaning(uint32_t vendor_err, struct dpa_meaning *m);
/* Of enum dpa_op and of enum dpa_cqe_opcode: "WRITE", "RECV". Never NULL. */
const char *dpa_op_name(uint8_t op);
const char *dpa_cqe_opcode_name(uint8_t opcode);

#endif
