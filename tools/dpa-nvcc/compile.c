/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* compile.c - a source: preprocess, translate, compile. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edit.h"
#include "job.h"
#include "translate.h"

void add_compiler(const struct options *o, struct list *argv)
{
	const char *cc = o->ccbin;
	struct stat st;

	if (!cc)
		list_add(argv, "g++");
	else if (!stat(cc, &st) && S_ISDIR(st.st_mode))
		list_addf(argv, "%s/g++", cc);
	else if (ends_with(cc, "gcc")) /* nvcc replaces the C compiler by its C++ sibling */
		list_addf(argv, "%.*sg++", (int)strlen(cc) - 3, cc);
	else if (ends_with(cc, "clang"))
		list_addf(argv, "%s++", cc);
	else if (ends_with(cc, "/cc") || !strcmp(cc, "cc"))
		list_addf(argv, "%.*sc++", (int)strlen(cc) - 2, cc);
	else
		list_add(argv, cc);
}

/* Recognise lib.so, lib.so.1, lib.so.1.2 by the name alone, not by their folders. */
static bool is_shared_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;

	while ((at = strstr(at, ".so"))) {
		at += 3;
		if (!*at || (*at == '.' && at[1] && !at[1 + strspn(at + 1, "0123456789.")]))
			return true;
	}
	return false;
}

int source_kind(const struct options *o, const char *path)
{
	static const char *const cxx[] = {".cc", ".cpp", ".cxx", ".C", ".c++"};

	if (ends_with(path, ".o") || ends_with(path, ".a") || ends_with(path, ".lo") ||
	    is_shared_library(path))
		return 0;
	if (o->language)
		return !strcmp(o->language, "cu") ? 1 : !strcmp(o->language, "c") ? 3 : 2;
	if (ends_with(path, ".cu"))
		return 1;
	for (size_t i = 0; i < sizeof(cxx) / sizeof(*cxx); i++)
		if (ends_with(path, cxx[i]))
			return 2;
	if (ends_with(path, ".c"))
		return 3;
	return ends_with(path, ".s") || ends_with(path, ".S") ? 4 : 0;
}

static bool has_std(const struct options *o)
{
	for (size_t i = 0; i < o->compiler.n; i++)
		if (!strncmp(o->compiler.v[i], "-std=", 5))
			return true;
	return false;
}

static void add_definitions(const struct job *j, struct list *argv)
{
	list_words(argv,
		   "-D__CUDACC__=1 -D__NVCC__=1 -D__DPA_NVCC__=1 "
		   "-D__CUDACC_VER_MAJOR__=12 -D__CUDACC_VER_MINOR__=8 -D__CUDACC_VER_BUILD__=0 "
		   "-D__CUDA_API_VER_MAJOR__=12 -D__CUDA_API_VER_MINOR__=8 "
		   "-D__assert_fail=dpa_cuda_assert_fail");
	list_addf(argv, "-D__CUDA_ARCH_LIST__=%s0", j->o->architecture ? j->o->architecture : "70");
	if (j->o->separate)
		list_add(argv, "-D__CUDACC_RDC__=1");
}

static void add_includes(const struct job *j, struct list *argv)
{
	list_add(argv, "-isystem");
	list_addf(argv, "%s/include", j->root);
}

char *source_stem(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
		   *dot = strrchr(name, '.');

	return strf("%.*s", (int)(dot && dot != name ? (size_t)(dot - name) : strlen(name)), name);
}

char *temporary_path(struct job *j, const char *source, const char *end)
{
	char *base = source_stem(source), *path = strf("%s/%u_%s%s", j->tmp, j->num++, base, end);

	free(base);
	return path;
}

/*
 * Add the options of -MD: target and file must be those of the object, not of the intermediate
 * text.
 */
static void add_dependences(const struct job *j, const char *object, struct list *argv)
{
	const struct list *d = &j->o->dependences;
	bool make = false, file = false, target = false;

	for (size_t i = 0; i < d->n; i++) {
		make |= !strcmp(d->v[i], "-MD") || !strcmp(d->v[i], "-MMD");
		file |= !strcmp(d->v[i], "-MF");
		target |= !strcmp(d->v[i], "-MT") || !strcmp(d->v[i], "-MQ");
	}
	list_cat(argv, d);
	if (make && !target) {
		list_add(argv, "-MT");
		list_add(argv, object);
	}
	if (make && !file) {
		list_add(argv, "-MF");
		list_addf(argv, "%.*s.d", (int)strlen(object) - (ends_with(object, ".o") ? 2 : 0),
			  object);
	}
}

int preprocess_source(struct job *j, const char *source, const char *output, const char *object)
{
	struct list argv = {0};

	add_compiler(j->o, &argv);
	list_words(&argv, "-E -x c++");
	if (!has_std(j->o))
		list_add(&argv, "-std=gnu++17");
	add_definitions(j, &argv);
	list_cat(&argv, &j->o->compiler);
	list_cat(&argv, &j->o->preprocessor);
	add_includes(j, &argv);
	list_words(&argv, "-include cuda_runtime.h");
	if (object)
		add_dependences(j, object, &argv);
	else
		list_cat(&argv, &j->o->dependences);
	list_add(&argv, source);
	if (output) {
		list_add(&argv, "-o");
		list_add(&argv, output);
	}
	return run_and_free(j, &argv);
}

static char *read_source_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	struct text t = {0};
	char buf[65536];
	size_t n;

	if (!f) {
		error("%s: %s", path, strerror(errno));
		return NULL;
	}
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		text_add(&t, buf, n);
	fclose(f);
	*len = t.len;
	return text_take(&t);
}

bool write_file(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");
	bool ok = f && fwrite(text, 1, len, f) == len;

	if (f)
		ok &= !fclose(f);
	return ok || error("%s: %s", path, strerror(errno));
}

static int translate_file(const struct job *j, const char *from, const char *to)
{
	struct translate_options options = {.separate = j->o->separate};
	size_t len, out_len;
	char *text, *out;
	bool ok;

	if (j->o->verbose || j->o->dry)
		fprintf(stderr, "#$ cudafe++ -arch compute_%s %s -o %s\n",
			j->o->architecture ? j->o->architecture : "70", from, to);
	if (j->o->dry)
		return 0;
	text = read_source_file(from, &len);
	if (!text)
		return 1;
	out = translate(text, len, &options, stderr, &out_len);
	ok = out && write_file(to, out, out_len);
	free(text);
	free(out);
	return !ok;
}

static int compile_translated(const struct job *j, const char *source, const char *object)
{
	struct list argv = {0};

	add_compiler(j->o, &argv);
	list_words(&argv, "-c -x c++-cpp-output");
	if (!has_std(j->o))
		list_add(&argv, "-std=gnu++17");
	/* A call at each edge: a point where CUDA threads may switch. */
	list_words(&argv, "-fsanitize-coverage=trace-pc -Wno-unknown-pragmas");
	list_cat(&argv, &j->o->compiler);
	list_add(&argv, source);
	list_add(&argv, "-o");
	list_add(&argv, object);
	return run_and_free(j, &argv);
}

static int compile_cuda(struct job *j, const char *source, const char *object)
{
	char *pre = temporary_path(j, source, ".cpp4.ii"),
	     *out = temporary_path(j, source, ".cudafe1.ii");
	int ret = preprocess_source(j, source, pre, object);

	if (!ret)
		ret = translate_file(j, pre, out);
	if (!ret)
		ret = compile_translated(j, out, object);
	if (!j->o->keep) {
		unlink(pre);
		unlink(out);
	}
	free(pre);
	free(out);
	return ret;
}

/* Compile a source of another language unchanged, with the headers on the include path. */
static int compile_host(struct job *j, const char *source, int kind, const char *object)
{
	static const char *const languages[] = {[2] = "c++", [3] = "c", [4] = "assembler-with-cpp"};
	struct list argv = {0};

	add_compiler(j->o, &argv);
	list_words(&argv, "-c -x");
	list_add(&argv, languages[kind]);
	if (kind == 2 && !has_std(j->o))
		list_add(&argv, "-std=gnu++17");
	list_cat(&argv, &j->o->compiler);
	list_cat(&argv, &j->o->preprocessor);
	add_includes(j, &argv);
	add_dependences(j, object, &argv);
	list_add(&argv, source);
	list_add(&argv, "-o");
	list_add(&argv, object);
	return run_and_free(j, &argv);
}

int compile_any_source(struct job *j, const char *source, const char *object)
{
	int kind = source_kind(j->o, source);

	return kind == 1 ? compile_cuda(j, source, object) : compile_host(j, source, kind, object);
}
