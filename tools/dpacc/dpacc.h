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

/*
 * Splits at blanks (quotes and backslashes as in a shell). Lists of options may also have commas
 * between options: list_split() recognizes them by what follows, list_words() leaves them alone.
 */
void list_split(struct list *l, const char *s);
void list_words(struct list *l, const char *s);
/* For sources that dpacc has made: -w leaves notes about changes between versions of gcc. */
#define QUIET "-w -Wno-psabi -Wno-packed-bitfield-compat"

enum annotation { ANN_GLOBAL, ANN_RPC };

/* A parameter, in C's words. */
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
	bool thread;   /* can be a thread's: takes nothing, or one integer or pointer */
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
	struct list bases; /* of the sources: what their intermediate files are called */
	char *dir;	   /* of the intermediate files */
	char *inc;	   /* of doca_dpa_dev.h */
	char *libdir;	   /* of libdoca_dpa_dev.a */
	char *image;
	bool made_dir;
};

/* All print what is wrong by error(), and return false. */
bool options_parse(struct options *o, int argc, char **argv);
void options_help(void);
void options_free(struct options *o);

/* Finds the annotated functions of one preprocessed source. */
bool scan_entries(const char *path, struct entries *out);
/* One more entry, found at where; none if there is one of that name. */
void entries_add(struct entries *e, const char *name, size_t len, enum annotation ann,
		 const char *where);
/* Reads the types of those entries that an object defines off its debug information. */
bool dwarf_read(const char *object, size_t source, struct entries *e, struct types *t);

/* The intermediate file <fmt % base> of this run. The caller frees it. */
char *temp(const struct job *j, const char *fmt, const char *base);
bool emit_table(struct job *j, const char *path);
bool emit_stubs(const struct job *j, size_t source, const char *path);
bool emit_meta(struct job *j, const char *path);
bool emit_text(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Set by a signal: what runs is ended, then everything is cleaned up. */
extern volatile sig_atomic_t interrupted;
void on_signal(int sig);
/* Runs a command; stderr_to, if not NULL, is the file that gets its errors. */
bool run(const struct job *j, const struct list *argv, const char *stderr_to);
/* Copies a file; `to` is the old one or the whole new one at any time. */
bool replace_file(const struct job *j, const char *from, const char *to);

bool build(struct job *j);
/* The application's archive. */
bool host_archive(struct job *j);
/* Compiles the stubs of the sources; adds the objects. */
bool host_stubs(struct job *j, struct list *objects);
bool archive(const struct job *j, const struct list *objects, const char *to);
/* Takes the objects with entries out of the libraries that are linked. */
bool library_read(struct job *j, struct list *objects);
bool library_write(struct job *j, const struct list *objects);

#endif
