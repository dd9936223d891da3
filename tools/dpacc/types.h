/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* types.h - the C types of parameters, written again from debug information. */
#ifndef DPACC_TYPES_H
#define DPACC_TYPES_H

#include <elfutils/libdw.h>
#include <stdint.h>
#include "dpacc.h"

struct ctype {
	char *name;	      /* name in C, freed by the caller */
	const char *promoted; /* type as a variable argument; NULL: itself */
	uint64_t size, align; /* bytes */
	bool int64;	      /* an integer of 8 bytes */
	bool word;	      /* an integer of 4 or 8 bytes, or a pointer */
	const char *why;      /* reason why it cannot be passed: what it is or contains */
	bool inside;
};

void types_begin(struct types *all);
/* Get the type of a parameter or function. False: void (why is NULL), or it cannot be passed. */
bool types_of(struct types *all, Dwarf_Die *die, struct ctype *t);
/* Return the definitions of all types so far, until the next types_of(). */
const char *types_text(struct types *all);
void types_end(struct types *all);

#endif
