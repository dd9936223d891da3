/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* job.h - a run of dpa-nvcc: its commands, and its sources one by one. */
#ifndef DPA_NVCC_JOB_H
#define DPA_NVCC_JOB_H

#include "nvcc.h"

struct job {
	const struct options *o;
	char *root; /* of the toolkit */
	char *tmp;  /* folder for intermediate files */
	unsigned int num;
};

/* Run a command and return its exit status; 1 if it cannot be run. */
int run_argv(const struct job *j, const struct list *argv);
/* Do the same as run_argv(), and free the list. */
int run_and_free(const struct job *j, struct list *argv);
/* Remove a folder with its files; not a command that is shown. */
void remove_temp_folder(const char *path);

/* Add the C++ compiler: -ccbin names it, or its folder. */
void add_compiler(const struct options *o, struct list *argv);
/* Return the kind of a source: 0 no source, 1 CUDA, 2 C++, 3 C, 4 assembler. */
int source_kind(const struct options *o, const char *path);
/* Return the name of a source without folder and ending; the caller frees it. */
char *source_stem(const char *path);
/* Return a new path for an intermediate file of a source; the caller frees it. */
char *temporary_path(struct job *j, const char *source, const char *end);
bool write_file(const char *path, const char *text, size_t len);
/* output: NULL: the standard output. object: named by -MD; NULL: as the options name it. */
int preprocess_source(struct job *j, const char *source, const char *output, const char *object);
int compile_any_source(struct job *j, const char *source, const char *object);

#endif
