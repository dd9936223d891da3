/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pabi.h - private ABI numbers of a libibverbs, and of the providers beside it. */
#ifndef DPA_PABI_H
#define DPA_PABI_H

#include <stddef.h>

/*
 * Return N of the version node IBVERBS_PRIVATE_N of the library at `path`; 0: it has none, or
 * cannot be read.
 */
int pabi_of_library(const char *path);

/*
 * Add the numbers of the files libdpa-rdmavN.so in `dir`, ascending, to the comma separated text in
 * buf (len bytes, a string already). Returns the number of those added; numbers that do not fit are
 * left out.
 */
size_t pabi_providers_in(const char *dir, char *buf, size_t len);

/*
 * Find the file that the dynamic loader uses for `soname` when it loads `file`, an ELF program or
 * shared object: the loader `interp` lists it (--list) and runs no code of `file`. buf gets the
 * path. Returns 0, or -1: `file` does not need `soname`, or it is not found.
 */
int pabi_loaded(const char *interp, const char *file, const char *soname, char *buf, size_t len);

/*
 * Get the loader (PT_INTERP) of the ELF program at `file`. Returns 0, or -1: a script, a static
 * program, not ELF.
 */
int pabi_interp(const char *file, char *buf, size_t len);

#endif
