/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpacc.h - the compiler driver for device programs.
 *
 *   sources --scan--> names of entries
 *      |
 *      +--device compiler--> objects --+-- table.s (entries, ops) --+
 *                                      +-- libdoca_dpa_dev.a -------+--> image.so
 *   image.so --DWARF--> kinds and types of the entries
 *   image.so + stubs --host compiler, ar--> the archive
 */
#ifndef DPACC_H
#define DPACC_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing list of strings that it owns, NULL-terminated at every time. */
struct list {
	char **v;
	size_t n;
};

void list_add(struct list *l, const char *s);
void list_addf(struct list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void list_cat(struct list *l, const struct list *from);
void list_free(struct list *l);
/* Splits at blanks (quotes and backslashes as in a shell), and at commas that precede a '-'. */
void list_split(struct list *l, const char *s);
char *strf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *must(void *p);

enum annotation { ANN_GLOBAL, ANN_RPC };

struct entry {
	char *name;
	enum annotation ann;
	char *where;  /* file:line of the annotation */
	bool found;   /* defined in the image */
	bool thread;  /* takes one 64-bit integer, returns nothing */
	size_t nargs; /* formal parameters */
};

struct entries {
	struct entry *v;
	size_t n;
};

struct options {
	struct list sources, includes, defines, hostcc_opts, devcc_opts, devlink_opts, device_libs;
	char *output, *app, *hostcc, *devcc, *keep_dir;
	bool verbose, dry, keep;
	bool help, version;
};

struct job {
	struct options opt;
	struct entries entries;
	char *dir;    /* of the intermediate files */
	char *inc;    /* of doca_dpa_dev.h */
	char *libdir; /* of libdoca_dpa_dev.a */
	char *image;
	bool made_dir;
};

/* All print what is wrong on stderr, behind "dpacc: error: ", and return false. */
bool error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool options_parse(struct options *o, int argc, char **argv);
void options_help(void);
/* Finds the annotated functions of one preprocessed source. */
bool scan_entries(const char *path, struct entries *out);
/* Looks the entries up in the image; drops those that it does not define. */
bool dwarf_check(const char *image, struct entries *e);
bool emit_table(const struct job *j, const char *path);
bool emit_stub(const struct job *j, const char *path);
/* Set by a signal: what runs is waited for, then everything is cleaned up. */
extern volatile sig_atomic_t interrupted;
/* Runs a command; stderr_to, if not NULL, is the file that gets its errors. */
bool run(const struct job *j, const struct list *argv, const char *stderr_to);
bool build(struct job *j);

#endif
