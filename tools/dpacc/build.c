/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The steps from sources to archive. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "dpacc.h"

/* What a file of this run is called, kept or not. */
static char *temp(const struct job *j, const char *fmt, size_t k)
{
	char *name = strf(fmt, k), *path = strf("%s/%s", j->dir, name);

	free(name);
	return path;
}

static void device_flags(const struct job *j, struct list *l)
{
	list_add(l, j->opt.devcc);
	list_add(l, "-O2");
	list_addf(l, "-I%s", j->inc);
	/* The original's ordering of its targets; this machine counts as the first. */
	list_split(l, "-D__NV_DPA_BF3=3 -D__NV_DPA_CX7=7 -D__NV_DPA_CX8=8 "
		      "-D__NV_DPA=__NV_DPA_BF3");
	list_cat(l, &j->opt.includes);
	list_cat(l, &j->opt.defines);
	list_cat(l, &j->opt.devcc_opts);
	/* Last, because the image needs them: no host run time, types for the marshalling. */
	list_split(l, "-fPIC -fno-stack-protector -U_FORTIFY_SOURCE -fno-exceptions -fno-lto "
		      "-fno-sanitize=all -g");
}

/* The marks stay in the text when they are macros that stand for themselves. */
static bool scan_source(struct job *j, size_t k)
{
	char *out = temp(j, "%zu.i", k);
	struct list l = {0};
	bool ok;

	device_flags(j, &l);
	list_split(&l, "-w -E -D__dpa_global__=__dpa_global__ -D__dpa_rpc__=__dpa_rpc__ -o");
	list_add(&l, out);
	list_add(&l, j->opt.sources.v[k]);
	ok = run(j, &l, NULL);
	if (ok && !j->opt.dry)
		ok = scan_entries(out, &j->entries);
	list_free(&l);
	free(out);
	return ok;
}

static bool compile_source(struct job *j, size_t k, struct list *objects)
{
	char *out = temp(j, "%zu.o", k);
	struct list l = {0};
	bool ok;

	device_flags(j, &l);
	list_split(&l, "-D__dpa_global__= -D__dpa_rpc__= -c -o");
	list_add(&l, out);
	list_add(&l, j->opt.sources.v[k]);
	ok = run(j, &l, NULL);
	list_add(objects, out);
	list_free(&l);
	free(out);
	return ok;
}

/* "FILE:LINE: undefined reference to `NAME'" becomes a sentence; false: no such line was there. */
static bool explain_undefined(const char *path)
{
	FILE *f = fopen(path, "r");
	bool any = false;
	char *line = NULL;
	size_t n = 0;

	while (f && getline(&line, &n, f) > 0) {
		char *at = strstr(line, "undefined reference to `"), *from = line, *name;

		if (!at)
			continue;
		name = at + strlen("undefined reference to `");
		name[strcspn(name, "'\n")] = 0;
		*at = 0;
		if (!strncmp(from, "/usr/bin/ld: ", 13))
			from += 13;
		fprintf(stderr,
			"%sdpacc: error: '%s' is not available on the DPA: it is neither "
			"defined in the device sources nor in a device library\n",
			from, name);
		any = true;
	}
	free(line);
	if (f)
		fclose(f);
	return any;
}

static void copy_to_stderr(const char *path)
{
	FILE *f = fopen(path, "r");
	int c;

	while (f && (c = getc(f)) != EOF)
		putc(c, stderr);
	if (f)
		fclose(f);
}

static bool write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0) {
		if (f)
			fclose(f);
		return error("%s: %s", path, strerror(errno));
	}
	return !fclose(f) || error("%s: %s", path, strerror(errno));
}

static bool link_image(struct job *j, const struct list *objects)
{
	char *table = temp(j, "table.s", 0), *map = temp(j, "image.map", 0);
	char *errors = temp(j, "link.err", 0);
	struct list l = {0};
	bool ok = emit_table(j, table) && write_text(map, "{ global: __dpa_image; local: *; };\n");

	list_add(&l, j->opt.devcc);
	list_split(&l, "-shared -nostdlib -Wl,-z,defs -Wl,-z,now -Wl,-z,noexecstack "
		       "-Wl,-Bsymbolic -Wl,--build-id");
	list_addf(&l, "-Wl,--version-script=%s", map);
	list_cat(&l, &j->opt.devlink_opts);
	list_add(&l, "-o");
	list_add(&l, j->image);
	list_cat(&l, objects);
	list_add(&l, table);
	list_addf(&l, "-L%s", j->libdir);
	list_cat(&l, &j->opt.device_libs);
	list_split(&l, "-ldoca_dpa_dev -lgcc");
	if (ok && !run(j, &l, errors)) {
		ok = explain_undefined(errors);
		if (!ok || j->opt.verbose)
			copy_to_stderr(errors);
		ok = error("the device image cannot be linked");
	}
	list_free(&l);
	free(table);
	free(map);
	free(errors);
	return ok;
}

/* Into a temporary file first: a build that fails leaves no archive that looks whole. */
static bool make_archive(struct job *j)
{
	char *src = temp(j, "stub.c", 0), *obj = temp(j, "stub.o", 0), *ar = temp(j, "out.a", 0);
	struct list l = {0}, a = {0};
	bool ok = emit_stub(j, src);

	list_add(&l, j->opt.hostcc);
	list_cat(&l, &j->opt.hostcc_opts);
	list_addf(&l, "-I%s", j->inc);
	list_split(&l, "-w -fno-lto -fno-builtin -fno-sanitize=all -fPIC -c -o");
	list_add(&l, obj);
	list_add(&l, src);
	list_split(&a, "ar rcsD");
	list_add(&a, ar);
	list_add(&a, obj);
	unlink(ar);
	ok = ok && run(j, &l, NULL) && run(j, &a, NULL);
	if (ok && !j->opt.dry) {
		struct list c = {0};

		list_split(&c, "cp -f");
		list_add(&c, ar);
		list_add(&c, j->opt.output);
		ok = run(j, &c, NULL);
		list_free(&c);
	}
	list_free(&l);
	list_free(&a);
	free(src);
	free(obj);
	free(ar);
	return ok;
}

bool build(struct job *j)
{
	struct list objects = {0};
	bool ok = true;

	for (size_t i = 0; ok && i < j->opt.sources.n; i++)
		ok = compile_source(j, i, &objects) && scan_source(j, i);
	if (ok && !j->entries.n && !j->opt.dry)
		ok = error("no function is marked __dpa_global__ or __dpa_rpc__");
	ok = ok && link_image(j, &objects);
	if (ok && !j->opt.dry)
		ok = dwarf_check(j->image, &j->entries);
	ok = ok && make_archive(j);
	list_free(&objects);
	return ok;
}
