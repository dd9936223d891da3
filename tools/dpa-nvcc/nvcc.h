/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* nvcc.h - the command line of dpa-nvcc, and shared declarations. */
#ifndef DPA_NVCC_NVCC_H
#define DPA_NVCC_NVCC_H

#include <stdbool.h>
#include <stddef.h>
#include "text.h"

enum phase {
	PHASE_LINK,	   /* a program, or a shared library: -shared */
	PHASE_COMPILE,	   /* -c, -dc */
	PHASE_PREPROCESS,  /* -E */
	PHASE_DEPENDENCES, /* -M, -MM */
	PHASE_DEVICE_LINK, /* -dlink: an object without content */
	PHASE_ARCHIVE,	   /* -lib */
};

struct options {
	enum phase phase;
	struct list inputs;	  /* sources, objects, libraries; in order */
	struct list preprocessor; /* -D, -I and similar, for the first step */
	struct list compiler;	  /* -O, -g, -Xcompiler: for both steps */
	struct list linker;	  /* -L, -l, -Xlinker: in order */
	struct list dependences;  /* -MD, -MF, ... */
	struct list archiver;	  /* -Xarchive */
	char *output, *ccbin, *language, *cudart, *keep_dir, *architecture;
	bool separate, verbose, dry, keep, run, shared;
	bool forward; /* pass unknown options to the compiler; for those after this option */
	bool help, version;
};

/* Parse. False: a message was printed. */
bool options_parse(struct options *o, int argc, char **argv);
void options_free(struct options *o);
void options_help(void);
void options_version(void);

/*
 * Return the folder with include and lib64 of the stand-in: beside the program, installed or in the
 * build tree.
 */
char *toolkit_root(void);
/* Carry out the steps that the options request. Result: the exit status. */
int build(const struct options *o);

#endif
