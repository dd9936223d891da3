/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * host.c - the host's part: stubs for each source, the application's table with the image, the
 * archive.
 */
#include <stdlib.h>
#include <unistd.h>
#include "dpacc.h"

/* include: the file that the source includes, by one of the original's two macros: "MACRO=FILE". */
static bool host_object(const struct job *j, const char *src, const char *include, const char *obj)
{
	struct list l = {0};
	bool ok;

	list_add(&l, j->opt.hostcc);
	list_cat(&l, &j->opt.hostcc_opts);
	/*
	 * Last: stubs are not the user's code; they need no warnings, instrumentation or merging.
	 */
	list_words(&l,
		   "-x c -std=gnu17 " QUIET " -fno-lto -fno-builtin -fno-sanitize=all -fPIC -c");
	list_addf(&l, "-D__DPA_%s", include);
	list_add(&l, "-o");
	list_add(&l, obj);
	list_add(&l, src);
	ok = run(j, &l, NULL);
	list_free(&l);
	return ok;
}

bool archive(const struct job *j, const struct list *objects, const char *to)
{
	char *ar = temp(j, "%s.a", "out");
	struct list l = {0};
	bool ok;

	list_words(&l, "ar rcsD");
	list_add(&l, ar);
	list_cat(&l, objects);
	unlink(ar);
	ok = run(j, &l, NULL) && replace_file(j, ar, to);
	list_free(&l);
	free(ar);
	return ok;
}

static bool stubs_of(struct job *j, size_t k, struct list *objects)
{
	const char *base = j->bases.v[k];
	char *src = temp(j, "%s.dpa.host.c", base), *obj = temp(j, "%s.dpa.o", base);
	char *inc = temp(j, "%s.stub.inc", base);
	char *def = strf("OBJ_STUB_FILE__=\"%s.stub.inc\"", base);
	bool ok =
		emit_stubs(j, k, src) &&
		emit_text(inc, "/* Made by dpacc: the device's code is in the application's image. "
			       "*/\n") &&
		host_object(j, src, def, obj);

	list_add(objects, obj);
	free(src);
	free(obj);
	free(inc);
	free(def);
	return ok;
}

bool host_stubs(struct job *j, struct list *objects)
{
	bool ok = true;

	for (size_t k = 0; ok && k < j->bases.n; k++)
		ok = stubs_of(j, k, objects);
	return ok;
}

/* Write the image behind a symbol: the assembler reads the file. */
static bool emit_image(const struct job *j, const char *path)
{
	const char *app = j->opt.app;

	return emit_text(path,
			 "__asm__(\".pushsection .rodata\\n\\t.balign 64\\n\"\n"
			 "\t\".hidden __dpa_image_of_%s\\n\\t.globl __dpa_image_of_%s\\n\"\n"
			 "\t\"__dpa_image_of_%s:\\n\\t.incbin \\\"%s\\\"\\n\\t.popsection\");\n"
			 "extern const char __dpa_image_of_%s[] "
			 "__attribute__((visibility(\"hidden\")));\n",
			 app, app, app, j->image, app);
}

static bool meta_object(struct job *j, struct list *objects)
{
	char *src = temp(j, "%s.meta.c", j->opt.app), *obj = temp(j, "%s.meta.o", j->opt.app);
	char *inc = temp(j, "%s.stub.inc", "device_exec");
	bool ok = emit_image(j, inc) && emit_meta(j, src) &&
		  host_object(j, src, "EXEC_STUB_FILE__=\"device_exec.stub.inc\"", obj);

	list_add(objects, obj);
	free(src);
	free(obj);
	free(inc);
	return ok;
}

/* Make one object, so that a program that links the application's variable gets its stubs too. */
bool host_archive(struct job *j)
{
	struct list objects = {0}, l = {0}, one = {0};
	char *obj = temp(j, "%s.o", "hostStubs");
	bool ok = meta_object(j, &objects) && host_stubs(j, &objects);

	list_add(&l, j->opt.hostcc);
	list_words(&l, "-r -nostdlib -fno-lto -o");
	list_add(&l, obj);
	list_cat(&l, &objects);
	list_add(&one, obj);
	ok = ok && run(j, &l, NULL) && archive(j, &one, j->opt.output);
	list_free(&objects);
	list_free(&l);
	list_free(&one);
	free(obj);
	return ok;
}
