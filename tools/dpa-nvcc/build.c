/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* build.c - what is made of the sources: objects, a program, an archive. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

/* Record the libraries' folder in the program: it finds the stand-in without LD_LIBRARY_PATH. */
static void add_runtime(const struct job *j, struct list *argv)
{
	char *path = strf("%s/../../libdpacuda.so.1", j->root);

	list_addf(argv, "-L%s/lib64", j->root);
	if (!j->o->cudart || strcmp(j->o->cudart, "none")) {
		list_add(argv, "-lcudadevrt");
		list_add(argv, j->o->cudart && !strcmp(j->o->cudart, "shared") ? "-lcudart"
									       : "-lcudart_static");
	}
	list_words(argv, "-lrt -lpthread -ldl");
	if (!access(path, F_OK) && strncmp(j->root, "/usr/lib/", 9)) {
		char *real = must(realpath(path, NULL));

		*strrchr(real, '/') = 0;
		list_addf(argv, "-Wl,-rpath,%s", real);
		free(real);
	}
	free(path);
}

/* Compile the sources; their objects replace them in the list. */
static int compile_objects(struct job *j, struct list *out)
{
	int ret = 0;

	for (size_t i = 0; i < j->o->linker.n && !ret; i++) {
		const char *word = j->o->linker.v[i];
		bool value = i && !strcmp(j->o->linker.v[i - 1], "-Xlinker");
		char *object;

		if (word[0] == '-' || value || !source_kind(j->o, word)) {
			list_add(out, word);
			continue;
		}
		object = temporary_path(j, word, ".o");
		ret = compile_any_source(j, word, object);
		list_add(out, object);
		free(object);
	}
	return ret;
}

static int run_linked_program(struct job *j, const char *program)
{
	char *path = strchr(program, '/') ? must(strdup(program)) : strf("./%s", program);
	struct list argv = {0};

	list_add(&argv, path);
	free(path);
	return run_and_free(j, &argv);
}

/* Return whether -run has one input that is a program already: then nothing is linked. */
static bool is_program(const struct options *o)
{
	return o->run && o->inputs.n == 1 && !source_kind(o, o->inputs.v[0]) &&
	       !ends_with(o->inputs.v[0], ".o") && !access(o->inputs.v[0], X_OK);
}

static int link_program(struct job *j)
{
	const char *output = j->o->output ? j->o->output : "a.out";
	struct list argv = {0}, parts = {0};
	int ret;

	if (is_program(j->o))
		return run_linked_program(j, j->o->inputs.v[0]);
	ret = compile_objects(j, &parts);

	if (!ret) {
		add_compiler(j->o, &argv);
		list_cat(&argv, &j->o->compiler);
		if (j->o->shared)
			list_add(&argv, "-shared");
		list_add(&argv, "-Wl,--start-group");
		list_cat(&argv, &parts);
		add_runtime(j, &argv);
		list_add(&argv, "-Wl,--end-group");
		list_add(&argv, "-o");
		list_add(&argv, output);
		ret = run_argv(j, &argv);
	}
	list_free(&argv);
	list_free(&parts);
	return !ret && j->o->run ? run_linked_program(j, output) : ret;
}

static int make_archive(struct job *j)
{
	struct list argv = {0}, parts = {0};
	int ret = compile_objects(j, &parts);

	list_words(&argv, "ar qcs");
	list_cat(&argv, &j->o->archiver);
	list_add(&argv, j->o->output ? j->o->output : "a.a");
	for (size_t i = 0; i < parts.n; i++)
		if (parts.v[i][0] != '-')
			list_add(&argv, parts.v[i]);
	if (!ret && !j->o->dry)
		unlink(j->o->output ? j->o->output : "a.a");
	if (!ret)
		ret = run_argv(j, &argv);
	list_free(&argv);
	list_free(&parts);
	return ret;
}

/* Link device code: it is linked with the program, so the object is empty. */
static int device_link(struct job *j)
{
	char *empty = temporary_path(j, "dlink", ".cpp");
	struct list argv = {0};
	int ret = 1;

	if (j->o->dry || write_file(empty, "", 0)) {
		add_compiler(j->o, &argv);
		list_add(&argv, "-c");
		list_cat(&argv, &j->o->compiler);
		list_add(&argv, empty);
		list_add(&argv, "-o");
		list_add(&argv, j->o->output ? j->o->output : "a_dlink.o");
		ret = run_and_free(j, &argv);
	}
	unlink(empty);
	free(empty);
	return ret;
}

static int for_each_source(struct job *j)
{
	size_t sources = 0;

	for (size_t i = 0; i < j->o->inputs.n; i++)
		sources += source_kind(j->o, j->o->inputs.v[i]) != 0;
	if (!sources)
		return !error("no source file");
	if (j->o->output && sources > 1 && j->o->phase == PHASE_COMPILE)
		return !error("-o with -c takes one source file");
	for (size_t i = 0; i < j->o->inputs.n; i++) {
		const char *source = j->o->inputs.v[i];
		char *base = source_stem(source),
		     *object = j->o->output ? must(strdup(j->o->output)) : strf("%s.o", base);
		int ret = 0;

		if (source_kind(j->o, source))
			ret = j->o->phase == PHASE_COMPILE
				      ? compile_any_source(j, source, object)
				      : preprocess_source(j, source, j->o->output, NULL);
		free(object);
		free(base);
		if (ret)
			return ret;
	}
	return 0;
}

/* Print the lines that CMake reads from a compiler at its first use. */
static void show_settings(const struct job *j)
{
	fprintf(stderr,
		"#$ _NVVM_BRANCH_=nvvm\n#$ _SPACE_= \n#$ _CUDART_=cudart\n#$ _HERE_=%s/bin\n#$ "
		"_THERE_=%s/bin\n"
		"#$ TOP=%s\n#$ NVVMIR_LIBRARY_DIR=%s/nvvm/libdevice\n#$ INCLUDES=\"-I%s/include\"  "
		"\n"
		"#$ LIBRARIES=  \"-L%s/lib64\"\n",
		j->root, j->root, j->root, j->root, j->root, j->root);
}

static int run_phase(struct job *j)
{
	switch (j->o->phase) {
	case PHASE_LINK:
		return link_program(j);
	case PHASE_ARCHIVE:
		return make_archive(j);
	case PHASE_DEVICE_LINK:
		return device_link(j);
	default:
		return for_each_source(j);
	}
}

int build(const struct options *o)
{
	const char *dir = getenv("TMPDIR");
	struct job j = {.o = o, .root = toolkit_root()};
	int ret = 1;

	if (!j.root)
		return 1;
	if (o->verbose || o->dry)
		show_settings(&j);
	if (!o->inputs.n) {
		error("no input file");
		free(j.root);
		return 1;
	}
	j.tmp = o->keep ? must(strdup(o->keep_dir ? o->keep_dir : "."))
			: strf("%s/dpa-nvcc.XXXXXX", dir && *dir ? dir : "/tmp");
	if (!o->keep && !mkdtemp(j.tmp))
		error("%s: %s", j.tmp, strerror(errno));
	else
		ret = run_phase(&j);
	if (!o->keep)
		remove_temp_folder(j.tmp);
	free(j.tmp);
	free(j.root);
	return ret;
}
