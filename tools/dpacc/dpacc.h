/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpacc.h - the compiler driver for device programs.
 *
 *   sources --scan--> names of entries
 *      |
 *      +--device compiler--> objects --DWARF--> kinds of the entries, types of their parameters
 *                               |
 *                               +-- table.c (callers, table) --+
 *                               +-- device libraries ----------+--> image.so
 *   image.so + APP.meta.c (packers, table) + SOURCE.dpa.host.c (stubs) --host compiler, ar--> .a
 *
 * With -gen-libs the objects are archived instead, each with a section that names its entries, and
 * the stubs apart from them; a later run that links the library finds the entries there.
 */
#ifndef DPACC_H
#define DPACC_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "text.h"

/* For sources that dpacc generates: -w leaves notes about changes between versions of gcc. */
#define QUIET "-w -Wno-psabi -Wno-packed-bitfield-compat"

enum annotation { ANN_GLOBAL, ANN_RPC };

/* A parameter, in the words of C. */
struct param {
	char *type;
	const char *promoted; /* its type as a variable argument; NULL: the same */
};

struct entry {
	char *name;
	enum annotation ann;
	char *where;   /* file:line of the annotation */
	bool found;    /* defined in one of the objects */
	size_t source; /* the object's number; LIBRARY: it comes from a library */
	bool thread;   /* may be that of a thread: takes nothing, or one integer or pointer */
	struct param *params;
	size_t nparams;
};

#define LIBRARY ((size_t)-1)

void entry_free(struct entry *e);

struct entries {
	struct entry *v;
	size_t n;
};

/* Definitions of types that parameters need, see types.c. */
struct types {
	FILE *out;
	char *text;
	size_t length, count;
};

struct options {
	struct list sources, includes, defines, hostcc_opts, devcc_opts, devlink_opts, device_libs;
	char *output, *app, *hostcc, *devcc, *keep_dir;
	int target; /* 3, 7, 8 or 9: the oldest of -mcpu */
	bool verbose, dry, keep, gen_libs;
	bool help, version;
};

struct job {
	struct options opt;
	struct entries entries;
	struct types types;
	struct list bases; /* names for the intermediate files of the sources */
	char *dir;	   /* of the intermediate files */
	char *inc;	   /* of doca_dpa_dev.h */
	char *libdir;	   /* of libdoca_dpa_dev.a */
	char *image;
	bool made_dir;
};

/* All print errors by error(), and return false. */
bool options_parse(struct options *o, int argc, char **argv);
void options_help(void);
void options_free(struct options *o);

/* Find the annotated functions of one preprocessed source. */
bool scan_entries(const char *path, struct entries *out);
/* Add an entry, found at `where`; nothing if there is one of that name. */
void entries_add(struct entries *e, const char *name, size_t len, enum annotation ann,
		 const char *where);
/* Read the types of those entries that an object defines, from its debug information. */
bool dwarf_read(const char *object, size_t source, struct entries *e, struct types *t);

/* Return the name of the intermediate file <fmt % base> of this run. The caller frees it. */
char *temp(const struct job *j, const char *fmt, const char *base);
bool emit_table(struct job *j, const char *path);
bool emit_stubs(const struct job *j, size_t source, const char *path);
bool emit_meta(struct job *j, const char *path);
bool emit_text(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Set by a signal: the running command is ended, then everything is cleaned up. */
extern volatile sig_atomic_t interrupted;
void on_signal(int sig);
/* Run a command; stderr_to, if not NULL, is the file for its errors. */
bool run(const struct job *j, const struct list *argv, const char *stderr_to);
/* Copy a file; `to` is at any time the old one or the complete new one. */
bool replace_file(const struct job *j, const char *from, const char *to);

bool build(struct job *j);
/* Make the application's archive. */
bool host_archive(struct job *j);
/* Compiles the stubs of the sources; adds the objects. */
bool host_stubs(struct job *j, struct list *objects);
bool archive(const struct job *j, const struct list *objects, const char *to);
/* Take the objects with entries from the linked libraries. */
bool library_read(struct job *j, struct list *objects);
bool library_write(struct job *j, const struct list *objects);

#endif
