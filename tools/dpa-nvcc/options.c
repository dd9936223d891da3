/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * options.c - nvcc's command line (NVIDIA CUDA Compiler Driver, command option types and notation):
 * options have a long and a short name, a value follows = or is the next word, lists are separated
 * by commas.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edit.h"
#include "nvcc.h"

enum kind {
	FLAG,
	VALUE,
	LIST,
	GLUED_LIST, /* a LIST whose value may directly follow the short name: -Ifolder */
	GLUED_VALUE,
};

enum opt {
	O_IGNORE, /* for the device's code generation: accepted, without effect */
	O_REFUSE, /* requests a feature that does not exist */
	O_PHASE_COMPILE,
	O_PHASE_DC,
	O_PHASE_E,
	O_PHASE_M,
	O_PHASE_DLINK,
	O_PHASE_LIB,
	O_PHASE_LINK,
	O_OUTPUT,
	O_PREPROCESSOR, /* passed on: the short name, then the value */
	O_INCLUDE_FILE,
	O_SYSTEM_FOLDER,
	O_COMPILER_VALUE, /* -std, -O, -m */
	O_COMPILER_FLAG,
	O_XCOMPILER,
	O_LINKER,
	O_XLINKER,
	O_XARCHIVE,
	O_DEPEND_FLAG,
	O_DEPEND_VALUE,
	O_SHARED,
	O_CCBIN,
	O_LANGUAGE,
	O_CUDART,
	O_RDC,
	O_ARCH,
	O_GENCODE,
	O_DEFAULT_STREAM,
	O_WERROR,
	O_FAST_MATH,
	O_OPTIONS_FILE,
	O_VERBOSE,
	O_DRYRUN,
	O_KEEP,
	O_KEEP_DIR,
	O_RUN,
	O_FORWARD,
	O_HELP,
	O_VERSION,
};

static const struct option {
	const char *brief, *name;
	enum kind kind;
	enum opt opt;
} table[] = {
	{"-c", "--compile", FLAG, O_PHASE_COMPILE},
	{"-dc", "--device-c", FLAG, O_PHASE_DC},
	{"-dw", "--device-w", FLAG, O_PHASE_COMPILE},
	{"-E", "--preprocess", FLAG, O_PHASE_E},
	{"-M", "--generate-dependencies", FLAG, O_PHASE_M},
	{"-MM", "--generate-nonsystem-dependencies", FLAG, O_PHASE_M},
	{"-dlink", "--device-link", FLAG, O_PHASE_DLINK},
	{"-lib", "--lib", FLAG, O_PHASE_LIB},
	{"-link", "--link", FLAG, O_PHASE_LINK},
	{"-o", "--output-file", GLUED_VALUE, O_OUTPUT},
	{"-I", "--include-path", GLUED_LIST, O_PREPROCESSOR},
	{"-isystem", "--system-include", LIST, O_SYSTEM_FOLDER},
	{"-include", "--pre-include", LIST, O_INCLUDE_FILE},
	{"-D", "--define-macro", GLUED_LIST, O_PREPROCESSOR},
	{"-U", "--undefine-macro", GLUED_LIST, O_PREPROCESSOR},
	{"-L", "--library-path", GLUED_LIST, O_LINKER},
	{"-l", "--library", GLUED_LIST, O_LINKER},
	{"-std", "--std", VALUE, O_COMPILER_VALUE},
	{"-O", "--optimize", GLUED_VALUE, O_COMPILER_VALUE},
	{"-m", "--machine", GLUED_VALUE, O_COMPILER_VALUE},
	{"-g", "--debug", FLAG, O_COMPILER_FLAG},
	{"-pg", "--profile", FLAG, O_COMPILER_FLAG},
	{"-w", "--disable-warnings", FLAG, O_COMPILER_FLAG},
	{"-Xcompiler", "--compiler-options", LIST, O_XCOMPILER},
	{"-Xlinker", "--linker-options", LIST, O_XLINKER},
	{"-Xarchive", "--archive-options", LIST, O_XARCHIVE},
	{"-MD", "--generate-dependencies-with-compile", FLAG, O_DEPEND_FLAG},
	{"-MMD", "--generate-nonsystem-dependencies-with-compile", FLAG, O_DEPEND_FLAG},
	{"-MP", "--generate-dependency-targets", FLAG, O_DEPEND_FLAG},
	{"-MF", "--dependency-output", VALUE, O_DEPEND_VALUE},
	{"-MT", "--dependency-target-name", VALUE, O_DEPEND_VALUE},
	{"-MQ", "--dependency-target-quoted", VALUE, O_DEPEND_VALUE},
	{"-shared", "--shared", FLAG, O_SHARED},
	{"-ccbin", "--compiler-bindir", VALUE, O_CCBIN},
	{"-x", "--x", GLUED_VALUE, O_LANGUAGE},
	{"-cudart", "--cudart", VALUE, O_CUDART},
	{"-rdc", "--relocatable-device-code", VALUE, O_RDC},
	{"-arch", "--gpu-architecture", VALUE, O_ARCH},
	{"-gencode", "--generate-code", VALUE, O_GENCODE},
	{"-code", "--gpu-code", LIST, O_IGNORE},
	{"-default-stream", "--default-stream", VALUE, O_DEFAULT_STREAM},
	{"-Werror", "--Werror", LIST, O_WERROR},
	{"-use_fast_math", "--use_fast_math", FLAG, O_FAST_MATH},
	{"-optf", "--options-file", LIST, O_OPTIONS_FILE},
	{"-v", "--verbose", FLAG, O_VERBOSE},
	{"-dryrun", "--dryrun", FLAG, O_DRYRUN},
	{"-keep", "--keep", FLAG, O_KEEP},
	{"-save-temps", "--save-temps", FLAG, O_KEEP},
	{"-keep-dir", "--keep-dir", VALUE, O_KEEP_DIR},
	{"-run", "--run", FLAG, O_RUN},
	{"-h", "--help", FLAG, O_HELP},
	{"-V", "--version", FLAG, O_VERSION},
	{"-ptx", "--ptx", FLAG, O_REFUSE},
	{"-cubin", "--cubin", FLAG, O_REFUSE},
	{"-fatbin", "--fatbin", FLAG, O_REFUSE},
	{"-optix-ir", "--optix-ir", FLAG, O_REFUSE},
	{"-G", "--device-debug", FLAG, O_IGNORE},
	{"-lineinfo", "--generate-line-info", FLAG, O_IGNORE},
	{"-maxrregcount", "--maxrregcount", VALUE, O_IGNORE},
	{"-ftz", "--ftz", VALUE, O_IGNORE},
	{"-prec-div", "--prec-div", VALUE, O_IGNORE},
	{"-prec-sqrt", "--prec-sqrt", VALUE, O_IGNORE},
	{"-fmad", "--fmad", VALUE, O_IGNORE},
	{"-Xptxas", "--ptxas-options", LIST, O_IGNORE},
	{"-Xnvlink", "--nvlink-options", LIST, O_IGNORE},
	{"-Xcudafe", "--Xcudafe", LIST, O_IGNORE},
	{"-Xfatbin", "--fatbin-options", LIST, O_IGNORE},
	{"-dlto", "--dlink-time-opt", FLAG, O_IGNORE},
	{"-lto", "--lto", FLAG, O_IGNORE},
	{"-expt-relaxed-constexpr", "--expt-relaxed-constexpr", FLAG, O_IGNORE},
	{"-expt-extended-lambda", "--expt-extended-lambda", FLAG, O_IGNORE},
	{"-extended-lambda", "--extended-lambda", FLAG, O_IGNORE},
	{"-restrict", "--restrict", FLAG, O_IGNORE},
	{"-res-usage", "--resource-usage", FLAG, O_IGNORE},
	{"-t", "--threads", VALUE, O_IGNORE},
	{"-dopt", "--dopt", VALUE, O_IGNORE},
	{"-extra-device-vectorization", "--extra-device-vectorization", FLAG, O_IGNORE},
	{"-allow-unsupported-compiler", "--allow-unsupported-compiler", FLAG, O_IGNORE},
	{"-Wno-deprecated-gpu-targets", "--Wno-deprecated-gpu-targets", FLAG, O_IGNORE},
	{"-Wno-deprecated-declarations", "--Wno-deprecated-declarations", FLAG, O_COMPILER_FLAG},
	{"-Wreorder", "--Wreorder", FLAG, O_IGNORE},
	{"-Wdefault-stream-launch", "--Wdefault-stream-launch", FLAG, O_IGNORE},
	{"-diag-suppress", "--diag-suppress", LIST, O_IGNORE},
	{"-diag-error", "--diag-error", LIST, O_IGNORE},
	{"-diag-warn", "--diag-warn", LIST, O_IGNORE},
	{"-cudadevrt", "--cudadevrt", VALUE, O_IGNORE},
	{"-clean", "--clean-targets", FLAG, O_IGNORE},
	{"-nodlink", "--no-device-link", FLAG, O_IGNORE},
	{"-noprof", "--no-profile", FLAG, O_IGNORE},
	{"-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler", FLAG,
	 O_FORWARD},
	{"-forward-unknown-opts", "--forward-unknown-opts", FLAG, O_FORWARD},
	{"-src-in-ptx", "--source-in-ptx", FLAG, O_IGNORE},
};

/* Split at commas that are neither after a backslash nor in double quotes. */
static void split_list(struct list *l, const char *s)
{
	struct text word = {0};
	bool quoted = false;

	for (;; s++) {
		if (!*s || (*s == ',' && !quoted)) {
			char *w = text_take(&word);

			if (*w)
				list_add(l, w);
			free(w);
			word = (struct text){0};
			if (!*s)
				return;
		} else if (*s == '"') {
			quoted = !quoted;
			text_add(&word, s, 1);
		} else {
			if (*s == '\\' && s[1] == ',')
				s++;
			text_add(&word, s, 1);
		}
	}
}

/*
 * Remove double quotes. They protect commas from split_list(); the compiler gets the word without
 * them, a macro with them.
 */
static char *without_quotes(const char *s)
{
	struct text out = {0};

	for (; *s; s++)
		if (*s != '"')
			text_add(&out, s, 1);
	return text_take(&out);
}

static void add_each(struct list *to, const char *before, const char *value, bool glue)
{
	struct list words = {0};

	split_list(&words, value);
	for (size_t i = 0; i < words.n; i++) {
		char *word = before && !strcmp(before, "-D") ? must(strdup(words.v[i]))
							     : without_quotes(words.v[i]);

		if (glue) {
			list_addf(to, "%s%s", before, word);
		} else {
			if (before)
				list_add(to, before);
			list_add(to, word);
		}
		free(word);
	}
	list_free(&words);
}

static bool is_true(const char *value)
{
	return !strcmp(value, "true") || !strcmp(value, "1") || !strcmp(value, "yes");
}

/* Take the number of sm_90, compute_90a, arch=compute_90,code=... */
static void set_architecture(struct options *o, const char *value)
{
	const char *p = strpbrk(value, "0123456789");
	size_t n = p ? strspn(p, "0123456789") : 0;

	if (!n || o->architecture)
		return;
	o->architecture = strf("%.*s", (int)n, p);
}

static bool parse_nvcc_words(struct options *o, int argc, char **argv);

/* Read words as a shell does, without its variables. */
static bool read_options_file(struct options *o, const char *path)
{
	struct list words = {0};
	struct text word = {0};
	FILE *f = fopen(path, "r");
	int c, quote = 0;
	bool any = false, ok;

	if (!f)
		return error("%s: %s", path, strerror(errno));
	do {
		c = fgetc(f);
		if (c == EOF || (!quote && isspace(c))) {
			if (any)
				list_add(&words, word.s ? word.s : "");
			free(word.s);
			word = (struct text){0};
			any = false;
		} else if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? 0 : c;
			any = true;
		} else {
			char byte = (char)c;

			text_add(&word, &byte, 1);
			any = true;
		}
	} while (c != EOF);
	fclose(f);
	ok = parse_nvcc_words(o, (int)words.n, words.v);
	list_free(&words);
	return ok;
}

static bool read_options_files(struct options *o, const char *value)
{
	struct list paths = {0};
	bool ok = true;

	split_list(&paths, value);
	for (size_t i = 0; i < paths.n && ok; i++)
		ok = read_options_file(o, paths.v[i]);
	list_free(&paths);
	return ok;
}

static bool set_phase(struct options *o, enum opt opt)
{
	static const enum phase phases[] = {
		[O_PHASE_COMPILE] = PHASE_COMPILE,   [O_PHASE_DC] = PHASE_COMPILE,
		[O_PHASE_E] = PHASE_PREPROCESS,	     [O_PHASE_M] = PHASE_DEPENDENCES,
		[O_PHASE_DLINK] = PHASE_DEVICE_LINK, [O_PHASE_LIB] = PHASE_ARCHIVE,
		[O_PHASE_LINK] = PHASE_LINK,
	};

	o->phase = phases[opt];
	o->separate |= opt == O_PHASE_DC;
	return true;
}

static void add_compiler_value(struct options *o, const struct option *t, const char *value)
{
	/* nvcc writes -std=c++17, -O2 and -m64 as one word; so does the compiler */
	list_addf(&o->compiler, "%s%s%s", t->brief, strcmp(t->brief, "-std") ? "" : "=", value);
}

/* Set an option without a value that is only recorded; false: it is another one. */
static bool set_flag(struct options *o, int opt)
{
	switch (opt) {
	case O_SHARED:
		o->shared = true;
		return true;
	case O_VERBOSE:
		o->verbose = true;
		return true;
	case O_DRYRUN:
		o->dry = true;
		return true;
	case O_KEEP:
		o->keep = true;
		return true;
	case O_RUN:
		o->run = true;
		return true;
	case O_FORWARD:
		o->forward = true;
		return true;
	case O_HELP:
		o->help = true;
		return true;
	case O_VERSION:
		o->version = true;
		return true;
	default:
		return false;
	}
}

static bool apply_nvcc_option(struct options *o, const struct option *t, const char *value)
{
	if (set_flag(o, (int)t->opt))
		return true;
	switch (t->opt) {
	case O_IGNORE:
		return true;
	case O_REFUSE:
		return error("%s: there is no code for a GPU: kernels are compiled for the CPU",
			     t->brief);
	case O_PHASE_M:
		list_add(&o->dependences, t->brief);
		return set_phase(o, t->opt);
	case O_PHASE_COMPILE:
	case O_PHASE_DC:
	case O_PHASE_E:
	case O_PHASE_DLINK:
	case O_PHASE_LIB:
	case O_PHASE_LINK:
		return set_phase(o, t->opt);
	case O_OUTPUT:
		set_text(&o->output, value);
		return true;
	case O_PREPROCESSOR:
		add_each(&o->preprocessor, t->brief, value, true);
		return true;
	case O_INCLUDE_FILE:
	case O_SYSTEM_FOLDER:
		add_each(&o->preprocessor, t->brief, value, false);
		return true;
	case O_COMPILER_VALUE:
		add_compiler_value(o, t, value);
		return true;
	case O_COMPILER_FLAG:
		list_add(&o->compiler, t->brief);
		return true;
	case O_XCOMPILER:
		add_each(&o->compiler, NULL, value, false);
		return true;
	case O_LINKER:
		add_each(&o->linker, t->brief, value, true);
		return true;
	case O_XLINKER:
		add_each(&o->linker, "-Xlinker", value, false);
		return true;
	case O_XARCHIVE:
		add_each(&o->archiver, NULL, value, false);
		return true;
	case O_DEPEND_FLAG:
		list_add(&o->dependences, t->brief);
		return true;
	case O_DEPEND_VALUE:
		list_add(&o->dependences, t->brief);
		list_add(&o->dependences, value);
		return true;
	case O_CCBIN:
		set_text(&o->ccbin, value);
		return true;
	case O_LANGUAGE:
		set_text(&o->language, value);
		return true;
	case O_CUDART:
		set_text(&o->cudart, value);
		return true;
	case O_RDC:
		o->separate = is_true(value);
		return true;
	case O_ARCH:
	case O_GENCODE:
		set_architecture(o, value);
		return true;
	case O_DEFAULT_STREAM:
		if (!strcmp(value, "per-thread"))
			return error("-default-stream per-thread is not supported");
		return true;
	case O_WERROR:
		if (strstr(value, "all-warnings"))
			list_add(&o->compiler, "-Werror");
		return true;
	case O_FAST_MATH:
		list_add(&o->preprocessor, "-D__USE_FAST_MATH__");
		return true;
	case O_OPTIONS_FILE:
		return read_options_files(o, value);
	case O_KEEP_DIR:
		o->keep = true;
		set_text(&o->keep_dir, value);
		return true;
	default:
		return false;
	}
}

/*
 * Return the option whose name begins the word; *value: text after = or after a short name, else
 * NULL.
 */
static const struct option *find_option(const char *word, const char **value)
{
	size_t n = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct option *t = &table[i];
		/* one dash or two before a long name */
		bool is = (strlen(t->brief) == n && !memcmp(t->brief, word, n)) ||
			  (strlen(t->name) == n && !memcmp(t->name, word, n)) ||
			  (strlen(t->name) == n + 1 && !memcmp(t->name + 1, word, n));

		if (is && (t->kind != FLAG || !word[n])) {
			*value = word[n] ? word + n + 1 : NULL;
			return t;
		}
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct option *t = &table[i];

		if ((t->kind == GLUED_LIST || t->kind == GLUED_VALUE) &&
		    !strncmp(word, t->brief, 2) && word[2]) {
			*value = word + 2;
			return t;
		}
	}
	return NULL;
}

/*
 * Add an input in its place among the libraries: sources become objects. nvcc passes words to a
 * shell, so quotes disappear.
 */
static void add_input(struct options *o, const char *word)
{
	char *path = without_quotes(word);

	list_add(&o->inputs, path);
	list_add(&o->linker, path);
	free(path);
}

static bool parse_nvcc_words(struct options *o, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *value = NULL;
		const struct option *t;

		if (argv[i][0] != '-' || !argv[i][1]) {
			add_input(o, argv[i]);
			continue;
		}
		t = find_option(argv[i], &value);
		if (!t && o->forward) {
			list_add(&o->compiler, argv[i]);
			continue;
		}
		if (!t)
			return error("unknown option '%s'", argv[i]);
		if (t->kind != FLAG && !value) {
			if (++i == argc)
				return error("%s: the value is missing", argv[i - 1]);
			value = argv[i];
		}
		if (!apply_nvcc_option(o, t, value))
			return false;
	}
	return true;
}

bool options_parse(struct options *o, int argc, char **argv)
{
	return parse_nvcc_words(o, argc - 1, argv + 1);
}

void options_free(struct options *o)
{
	list_free(&o->inputs);
	list_free(&o->preprocessor);
	list_free(&o->compiler);
	list_free(&o->linker);
	list_free(&o->dependences);
	list_free(&o->archiver);
	free(o->output);
	free(o->ccbin);
	free(o->language);
	free(o->cudart);
	free(o->keep_dir);
	free(o->architecture);
}
