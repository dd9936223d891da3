/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * emit.c - the files that dpacc writes: the image's table with its callers, the host's table with
 * its packers, the host's stubs. dpa_image.h has the layouts. A copy of it lies beside these files,
 * because build files compile the host's part again without the SDK's include path. Both tables get
 * the same types from types.c, so a caller reads exactly the layout that its packer writes.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "types.h"

static FILE *begin_file(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		error("%s: %s", path, strerror(errno));
	else
		fprintf(f, "/* Made by dpacc. */\n");
	return f;
}

static FILE *begin_table(const char *path, struct types *t)
{
	FILE *f = begin_file(path);

	if (f)
		fprintf(f, "#include \"dpa_image.h\"\n%s", types_text(t));
	return f;
}

static bool finish_file(FILE *f, const char *path)
{
	bool bad = ferror(f);

	if (fclose(f) || bad)
		return error("%s: %s", path, strerror(errno));
	return true;
}

bool emit_text(const char *path, const char *fmt, ...)
{
	FILE *f = fopen(path, "w");
	va_list ap;

	if (!f)
		return error("%s: %s", path, strerror(errno));
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	return finish_file(f, path);
}

/* Emit the structure of the arguments. */
static void emit_args(FILE *f, const struct entry *e, size_t k)
{
	if (!e->nparams)
		return;
	fprintf(f, "struct __dpacc_args%zu {", k);
	for (size_t i = 0; i < e->nparams; i++)
		fprintf(f, " %s p%zu;", e->params[i].type, i);
	fprintf(f, " };\n");
}

static void emit_caller(FILE *f, const struct entry *e, size_t k)
{
	fprintf(f, "extern %s %s(", e->ann == ANN_RPC ? "uint64_t" : "void", e->name);
	for (size_t i = 0; i < e->nparams; i++)
		fprintf(f, "%s%s", i ? ", " : "", e->params[i].type);
	fprintf(f, "%s);\nstatic uint64_t __dpacc_call%zu(const void *args)\n{\n",
		e->nparams ? "" : "void", k);
	if (e->nparams)
		fprintf(f, "\tconst struct __dpacc_args%zu *a = args;\n", k);
	fprintf(f, "\t%s%s(", e->ann == ANN_RPC ? "return " : "", e->name);
	for (size_t i = 0; i < e->nparams; i++)
		fprintf(f, "%sa->p%zu", i ? ", " : "", i);
	fprintf(f, ");\n%s}\n", e->ann == ANN_RPC ? "" : "\treturn 0;\n");
}

bool emit_table(struct job *j, const char *path)
{
	const struct entry *v = j->entries.v;
	FILE *f = begin_table(path, &j->types);

	if (!f)
		return false;
	for (size_t i = 0; i < j->entries.n; i++) {
		emit_args(f, &v[i], i);
		emit_caller(f, &v[i], i);
	}
	fprintf(f, "extern const struct dpa_dev_ops *__dpa_ops;\n"
		   "static const struct dpa_image_entry __dpa_table[] = {\n");
	for (size_t i = 0; i < j->entries.n; i++)
		fprintf(f, "\t{\"%s\", (void (*)(void))%s, __dpacc_call%zu},\n", v[i].name,
			v[i].name, i);
	fprintf(f,
		"\t{0, 0, 0},\n};\n"
		"__attribute__((visibility(\"default\"))) const struct dpa_image __dpa_image = {\n"
		"\tDPA_IMAGE_MAGIC, DPA_IMAGE_VERSION, %zu, __dpa_table, &__dpa_ops,\n};\n",
		j->entries.n);
	return finish_file(f, path);
}

static const char *entry_kind(const struct entry *e)
{
	if (e->ann == ANN_RPC)
		return "DPA_ENTRY_RPC";
	return e->thread ? "DPA_ENTRY_THREAD" : "DPA_ENTRY_GLOBAL";
}

static void emit_packer(FILE *f, const struct entry *e, size_t k)
{
	fprintf(f, "static uint64_t __dpacc_pack%zu(void *buf, va_list *ap)\n{\n", k);
	if (!e->nparams) {
		fprintf(f, "\treturn 0;\n}\n");
		return;
	}
	fprintf(f,
		"\tstruct __dpacc_args%zu *a = buf;\n\n"
		"\t__builtin_memset(a, 0, sizeof(*a));\n",
		k);
	for (size_t i = 0; i < e->nparams; i++)
		fprintf(f, "\ta->p%zu = va_arg(*ap, %s);\n", i,
			e->params[i].promoted ? e->params[i].promoted : e->params[i].type);
	fprintf(f, "\treturn sizeof(*a);\n}\n");
}

/*
 * Emit the stubs. Each stores another number, so that a linker that folds equal code does not merge
 * two of them.
 */
bool emit_stubs(const struct job *j, size_t source, const char *path)
{
	FILE *f = begin_file(path);

	if (!f)
		return false;
	fprintf(f, "#ifdef __DPA_OBJ_STUB_FILE__\n#include __DPA_OBJ_STUB_FILE__\n#endif\n"
		   "static volatile int called;\n");
	for (size_t i = 0; i < j->entries.n; i++)
		if (j->entries.v[i].source == source)
			fprintf(f,
				"__attribute__((visibility(\"default\"))) void %s(void)\n"
				"{\n\tcalled = %zu;\n\t__builtin_trap(); /* runs on the DPA only "
				"*/\n}\n",
				j->entries.v[i].name, i);
	return finish_file(f, path);
}

/*
 * Emit the entries. A library's stubs are weak here: a program that does not use them need not link
 * them.
 */
static void emit_entries(const struct job *j, FILE *f)
{
	const struct entry *v = j->entries.v;

	for (size_t i = 0; i < j->entries.n; i++) {
		fprintf(f, "extern void %s(void)%s;\n", v[i].name,
			v[i].source == LIBRARY ? " __attribute__((weak))" : "");
		emit_args(f, &v[i], i);
		emit_packer(f, &v[i], i);
	}
	fprintf(f, "static const struct dpa_app_entry __dpa_entries[] = {\n");
	for (size_t i = 0; i < j->entries.n; i++) {
		fprintf(f, "\t{%s, \"%s\", %s, ", v[i].name, v[i].name, entry_kind(&v[i]));
		if (v[i].nparams)
			fprintf(f, "sizeof(struct __dpacc_args%zu)", i);
		else
			fprintf(f, "0");
		fprintf(f, ", __dpacc_pack%zu},\n", i);
	}
	fprintf(f, "\t{0, 0, 0, 0, 0},\n};\n");
}

bool emit_meta(struct job *j, const char *path)
{
	const char *app = j->opt.app;
	struct stat st = {0};
	FILE *f;

	if (!j->opt.dry && stat(j->image, &st))
		return error("%s: %s", j->image, strerror(errno));
	f = begin_table(path, &j->types);
	if (!f)
		return false;
	fprintf(f, "#include __DPA_EXEC_STUB_FILE__\n");
	emit_entries(j, f);
	fprintf(f,
		"static struct doca_dpa_app __dpa_this_app = {\n"
		"\tDPA_IMAGE_MAGIC, DPA_IMAGE_VERSION, \"%s\", __dpa_image_of_%s, %llu, %zu, "
		"__dpa_entries,\n"
		"};\n"
		"__attribute__((visibility(\"default\"))) struct doca_dpa_app *%s = "
		"&__dpa_this_app;\n",
		app, app, (unsigned long long)st.st_size, j->entries.n, app);
	return finish_file(f, path);
}
