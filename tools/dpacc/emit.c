/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The two files that dpacc writes: the image's table and the host's stubs. dpa_image.h has the
 * layouts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <dpa/dpa_image.h>
#include "dpacc.h"

static bool finish(FILE *f, const char *path)
{
	bool bad = ferror(f);

	if (fclose(f) || bad)
		return error("%s: %s", path, strerror(errno));
	return true;
}

/* Assembly: C would want the entries' prototypes. */
bool emit_table(const struct job *j, const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return error("%s: %s", path, strerror(errno));
	fprintf(f,
		"\t.section .data.rel.ro,\"aw\"\n"
		"\t.balign 8\n"
		"\t.globl __dpa_image\n"
		"\t.type __dpa_image, %%object\n"
		"__dpa_image:\n"
		"\t.quad %u, %u, %zu, .Lentries, __dpa_ops\n"
		"\t.size __dpa_image, .-__dpa_image\n"
		".Lentries:\n",
		DPA_IMAGE_MAGIC, DPA_IMAGE_VERSION, j->entries.n);
	for (size_t i = 0; i < j->entries.n; i++)
		fprintf(f, "\t.quad .Lname%zu, %s\n", i, j->entries.v[i].name);
	fprintf(f, "\t.section .rodata\n");
	for (size_t i = 0; i < j->entries.n; i++)
		fprintf(f, ".Lname%zu:\n\t.asciz \"%s\"\n", i, j->entries.v[i].name);
	fprintf(f, "\t.section .note.GNU-stack,\"\",%%progbits\n");
	return finish(f, path);
}

static const char *kind_of(const struct entry *e)
{
	if (e->ann == ANN_RPC)
		return "DPA_ENTRY_RPC";
	return e->thread ? "DPA_ENTRY_THREAD" : "DPA_ENTRY_GLOBAL";
}

/* Each stub stores another number, lest a linker that folds equal code makes two of them one. */
static void emit_functions(const struct job *j, FILE *f)
{
	fprintf(f, "static volatile int called;\n");
	for (size_t i = 0; i < j->entries.n; i++)
		fprintf(f,
			"__attribute__((visibility(\"default\"))) void %s(void)\n"
			"{\n\tcalled = %zu;\n\t__builtin_trap(); /* runs on the DPA only */\n}\n",
			j->entries.v[i].name, i);
	fprintf(f, "static const struct dpa_app_entry entries[] = {\n");
	for (size_t i = 0; i < j->entries.n; i++)
		fprintf(f, "\t{%s, \"%s\", %s},\n", j->entries.v[i].name, j->entries.v[i].name,
			kind_of(&j->entries.v[i]));
	fprintf(f, "\t{0, 0, 0},\n};\n");
}

bool emit_stub(const struct job *j, const char *path)
{
	const char *app = j->opt.app;
	struct stat st = {0};
	FILE *f;

	if (!j->opt.dry && stat(j->image, &st))
		return error("%s: %s", j->image, strerror(errno));
	f = fopen(path, "w");
	if (!f)
		return error("%s: %s", path, strerror(errno));
	fprintf(f,
		"/* Made by dpacc. */\n"
		"#include <dpa/dpa_image.h>\n"
		"__asm__(\".pushsection .rodata\\n\\t.balign 64\\n\"\n"
		"\t\".hidden __dpa_image_of_%s\\n\\t.globl __dpa_image_of_%s\\n\"\n"
		"\t\"__dpa_image_of_%s:\\n\\t.incbin \\\"%s\\\"\\n\\t.popsection\");\n"
		"extern const char __dpa_image_of_%s[] __attribute__((visibility(\"hidden\")));\n",
		app, app, app, j->image, app);
	emit_functions(j, f);
	fprintf(f,
		"static struct doca_dpa_app app = {\n"
		"\tDPA_IMAGE_MAGIC, DPA_IMAGE_VERSION, \"%s\", __dpa_image_of_%s, %llu, %zu, "
		"entries,\n"
		"};\n"
		"__attribute__((visibility(\"default\"))) struct doca_dpa_app *%s = &app;\n",
		app, app, (unsigned long long)st.st_size, j->entries.n, app);
	return finish(f, path);
}
