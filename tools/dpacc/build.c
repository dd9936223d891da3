/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* build.c - the steps from sources to archive. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "types.h"

char *temp(const struct job *j, const char *fmt, const char *base)
{
	char *name = must(malloc(strlen(fmt) + strlen(base) + 1)), *path;
	const char *at = strstr(fmt, "%s");

	sprintf(name, "%.*s%s%s", (int)(at - fmt), fmt, base, at + 2);
	path = strf("%s/%s", j->dir, name);
	free(name);
	return path;
}

/* Options for the original's processor, without effect for another one. */
static bool is_foreign(const char *option)
{
	static const char *const foreign[] = {"-mcmodel=med", "-mabi=lp64", "-march=rv",
					      "-mcpu=nv-dpa", "-mno-relax", "-mrelax"};

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (!strncmp(option, foreign[i], strlen(foreign[i])))
			return true;
	return false;
}

static void device_flags(const struct job *j, struct list *l)
{
	list_add(l, j->opt.devcc);
	list_add(l, "-O2");
	if (!strstr(j->opt.devcc, "clang"))		    /* clang does not have this one */
		list_add(l, "-Wno-packed-bitfield-compat"); /* a note about gcc 4.3 */
	list_addf(l, "-I%s", j->inc);
	list_words(l, "-D__NV_DPA_BF3=3 -D__NV_DPA_CX7=7 -D__NV_DPA_CX8=8 -D__NV_DPA_CX9=9");
	list_addf(l, "-D__NV_DPA=%d", j->opt.target);
	list_cat(l, &j->opt.includes);
	list_cat(l, &j->opt.defines);
	for (size_t i = 0; i < j->opt.devcc_opts.n; i++)
		if (!is_foreign(j->opt.devcc_opts.v[i]))
			list_add(l, j->opt.devcc_opts.v[i]);
	/* otherwise the error would name the puts() that printf() becomes */
	list_words(l, "-fno-builtin-printf -fno-builtin-fprintf");
	/* Last, because the image depends on them: no host run time, types for the marshalling. */
	list_words(l, "-fPIC -fno-stack-protector -U_FORTIFY_SOURCE -fno-exceptions -fno-lto "
		      "-fno-sanitize=all -g -gdwarf-5");
	/*
	 * A frame larger than an EU's guard pages (64 KiB, which aarch64's gcc assumes) faults
	 * there too, not in another EU's stack.
	 */
	list_add(l, "-fstack-clash-protection");
#if defined(__aarch64__)
	/*
	 * These calls belong to the compiler's library, which queries the C library for the
	 * processor.
	 */
	list_add(l, "-mno-outline-atomics");
	/* For clang before 18, which has no such protection there. */
	list_add(l, "-Wno-unused-command-line-argument");
#endif
}

/* Scan a source. The marks stay in the text when they are macros that expand to themselves. */
static bool scan_source(struct job *j, size_t k)
{
	char *out = temp(j, "%s.i", j->bases.v[k]);
	struct list l = {0};
	bool ok;

	device_flags(j, &l);
	list_words(&l, "-w -E -D__dpa_global__=__dpa_global__ -D__dpa_rpc__=__dpa_rpc__ -o");
	list_add(&l, out);
	list_add(&l, j->opt.sources.v[k]);
	ok = run(j, &l, NULL);
	if (ok && !j->opt.dry)
		ok = scan_entries(out, &j->entries);
	list_free(&l);
	free(out);
	return ok;
}

/*
 * Collect clang's pragmas. Sources for the original's compiler, which is a clang, silence warnings
 * by pragmas. For a gcc they become options: for the whole source, not from the pragma on.
 */
static void clang_pragmas(const struct job *j, const char *source, struct list *l)
{
	FILE *f = strstr(j->opt.devcc, "clang") ? NULL : fopen(source, "r");
	char *line = NULL, name[64];
	size_t n = 0;
	bool any = false;

	while (f && getline(&line, &n, f) > 0)
		if (sscanf(line, " # pragma clang diagnostic ignored \"-W%63[a-z0-9-]\"", name) ==
		    1) {
			list_addf(l, "-Wno-%s", name);
			any = true;
		}
	if (any)
		list_add(l, "-Wno-unknown-pragmas");
	free(line);
	if (f)
		fclose(f);
}

static bool compile_source(struct job *j, size_t k, struct list *objects)
{
	char *out = temp(j, "%s.o", j->bases.v[k]);
	struct list l = {0};
	bool ok;

	device_flags(j, &l);
	clang_pragmas(j, j->opt.sources.v[k], &l);
	list_words(&l, "-D__dpa_global__= -D__dpa_rpc__= -c -o");
	list_add(&l, out);
	list_add(&l, j->opt.sources.v[k]);
	ok = run(j, &l, NULL);
	list_add(objects, out);
	list_free(&l);
	free(out);
	return ok;
}

/*
 * Turn "FILE:LINE: undefined reference to `NAME'" into a sentence; false: no such line was found.
 */
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

/* Make the table without the user's options: these are for the user's sources. */
static bool build_table(struct job *j, const char *obj)
{
	char *src = temp(j, "%s.c", "table");
	struct list l = {0};
	bool ok = emit_table(j, src);

	list_add(&l, j->opt.devcc);
	list_words(&l, "-std=gnu17 -O2 -g " QUIET " -fPIC -fno-stack-protector -c -o");
	list_add(&l, obj);
	list_addf(&l, "-I%s", j->inc);
	list_add(&l, src);
	ok = ok && run(j, &l, NULL);
	list_free(&l);
	free(src);
	return ok;
}

static bool link_image(struct job *j, const struct list *objects)
{
	char *table = temp(j, "%s.o", "table"), *map = temp(j, "%s.map", "image");
	char *errors = temp(j, "%s.err", "link");
	struct list l = {0};
	bool ok = build_table(j, table) && emit_text(map, "{ global: __dpa_image; local: *; };\n");

	list_add(&l, j->opt.devcc);
	list_words(&l, "-shared -nostdlib -Wl,-z,defs -Wl,-z,now -Wl,-z,noexecstack "
		       "-Wl,-Bsymbolic -Wl,--build-id");
	list_addf(&l, "-Wl,--version-script=%s", map);
	list_add(&l, "-o");
	list_add(&l, j->image);
	list_cat(&l, objects);
	list_add(&l, table);
	/*
	 * Both lists may name libraries and folders; scripts do not care which of them has a
	 * library.
	 */
	list_cat(&l, &j->opt.device_libs);
	list_cat(&l, &j->opt.devlink_opts);
	list_cat(&l, &j->opt.device_libs);
	list_addf(&l, "-L%s", j->libdir);
	list_words(&l, "-ldoca_dpa_dev -lgcc");
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

/* Set the names of the intermediate files of the sources; sources of one name get a number too. */
static void name_bases(struct job *j)
{
	for (size_t k = 0; k < j->opt.sources.n; k++) {
		const char *path = j->opt.sources.v[k], *slash = strrchr(path, '/');
		const char *name = slash ? slash + 1 : path;
		char *base = strf("%.*s", (int)strlen(name) - 2, name);
		bool taken = false;

		for (size_t i = 0; i < j->bases.n; i++)
			taken |= !strcmp(j->bases.v[i], base);
		if (taken)
			list_addf(&j->bases, "%s-%zu", base, k);
		else
			list_add(&j->bases, base);
		free(base);
	}
}

static bool copy_image_header(const struct job *j)
{
	char *from = strf("%s/dpa/dpa_image.h", j->inc), *to = temp(j, "%s.h", "dpa_image");
	bool ok = replace_file(j, from, to);

	free(from);
	free(to);
	return ok;
}

/* Drop entries that the sources only declare: the definition is in another program. */
static bool keep_found(struct job *j)
{
	struct entries *e = &j->entries;
	bool ok = true;
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++)
		if (e->v[i].found)
			e->v[n++] = e->v[i];
		else
			entry_free(&e->v[i]);
	e->n = n;
	if (j->opt.gen_libs)
		return true;
	for (size_t i = 0; i < n; i++) /* the host has a stub and a variable of these names */
		if (!strcmp(e->v[i].name, j->opt.app))
			ok = error("%s: '%s' is the name of a function and of --app-name: choose "
				   "another one for either",
				   e->v[i].where, e->v[i].name);
	return ok && (n || error("no function is marked __dpa_global__ or __dpa_rpc__"));
}

bool build(struct job *j)
{
	struct list objects = {0};
	bool ok = copy_image_header(j);

	types_begin(&j->types);
	name_bases(j);
	for (size_t i = 0; ok && i < j->opt.sources.n; i++)
		ok = compile_source(j, i, &objects) && scan_source(j, i);
	if (ok && !j->opt.gen_libs)
		ok = library_read(j, &objects);
	for (size_t i = 0; ok && !j->opt.dry && i < objects.n; i++)
		ok = dwarf_read(objects.v[i], i < j->bases.n ? i : LIBRARY, &j->entries, &j->types);
	if (ok && !j->opt.dry)
		ok = keep_found(j);
	if (ok && j->opt.gen_libs)
		ok = library_write(j, &objects);
	else
		ok = ok && link_image(j, &objects) && host_archive(j);
	list_free(&objects);
	types_end(&j->types);
	return ok;
}
