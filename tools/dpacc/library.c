/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * library.c - libraries of device code with entries. -gen-libs makes lib<name>_device.a, whose
 * objects name their entries in a section, and lib<name>_host.a with the stubs. A program that
 * links the first one has these entries like its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "dpacc.h"

#define SECTION ".dpa_entries"

/* Write "G NAME WHERE" or "R NAME WHERE", one line each. */
static bool write_section(const struct job *j, size_t k, const char *object)
{
	char *text = temp(j, "%s.entries", j->bases.v[k]);
	FILE *f = fopen(text, "w");
	struct list l = {0};
	bool ok;

	if (!f)
		return error("%s: %s", text, strerror(errno));
	for (size_t i = 0; i < j->entries.n; i++)
		if (j->entries.v[i].source == k)
			fprintf(f, "%c %s %s\n", j->entries.v[i].ann == ANN_RPC ? 'R' : 'G',
				j->entries.v[i].name, j->entries.v[i].where);
	ok = !fclose(f) || error("%s: %s", text, strerror(errno));
	list_words(&l, "objcopy --add-section");
	list_addf(&l, SECTION "=%s", text);
	list_add(&l, object);
	ok = ok && run(j, &l, NULL);
	list_free(&l);
	free(text);
	return ok;
}

/* Return the name of -o DIR/libNAME, with or without .a. */
static char *library_name(const struct job *j, const char *suffix)
{
	size_t n = strlen(j->opt.output);

	if (n > 2 && !strcmp(j->opt.output + n - 2, ".a"))
		n -= 2;
	return strf("%.*s_%s.a", (int)n, j->opt.output, suffix);
}

bool library_write(struct job *j, const struct list *objects)
{
	char *device = library_name(j, "device"), *host = library_name(j, "host");
	struct list stubs = {0};
	bool ok = true;

	for (size_t k = 0; ok && k < objects->n; k++)
		ok = write_section(j, k, objects->v[k]);
	ok = ok && host_stubs(j, &stubs) && archive(j, &stubs, host) && archive(j, objects, device);
	list_free(&stubs);
	free(device);
	free(host);
	return ok;
}

/* ------------------------------------------------------------------ reading */

static Elf_Data *find_section(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(elf, strings, sh.sh_name);
		if (name && !strcmp(name, SECTION))
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static void read_entry_list(struct entries *e, const Elf_Data *d)
{
	char *text = must(strndup(d->d_buf, d->d_size)), *save = NULL;

	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
		char *name = p + 2, *where = strchr(name, ' ');

		if ((*p != 'G' && *p != 'R') || p[1] != ' ' || !where)
			continue;
		entries_add(e, name, (size_t)(where - name), *p == 'R' ? ANN_RPC : ANN_GLOBAL,
			    where + 1);
	}
	free(text);
}

/* Extract the member to a separate file, which is then linked even if no code refers to it. */
static bool take_member(struct job *j, Elf *member, struct list *objects)
{
	char *number = strf("%zu", objects->n), *path = temp(j, "library%s.o", number);
	size_t size;
	char *bytes = elf_rawfile(member, &size);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	bool ok = bytes && fd >= 0 && write(fd, bytes, size) == (ssize_t)size;

	if (!ok)
		error("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	list_add(objects, path);
	free(number);
	free(path);
	return ok;
}

static bool read_archive(struct job *j, const char *path, struct list *objects)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Mapped: elf_rawfile() leaks memory for a member that was read. */
	Elf *ar = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL), *m;
	Elf_Cmd cmd = ELF_C_READ_MMAP;
	bool ok = true;

	while (ok && ar && elf_kind(ar) == ELF_K_AR && (m = elf_begin(fd, cmd, ar))) {
		Elf_Data *d = find_section(m);

		if (d && d->d_buf) {
			read_entry_list(&j->entries, d);
			ok = take_member(j, m, objects);
		}
		cmd = elf_next(m);
		elf_end(m);
	}
	elf_end(ar);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Find libNAME.a in the first folder that has it; NULL: ld will report that it is missing. */
static char *find_library(const struct list *args, const char *name)
{
	for (size_t i = 0; i < args->n; i++) {
		char *path;

		if (strncmp(args->v[i], "-L", 2))
			continue;
		path = strf("%s/lib%s.a", args->v[i] + 2, name);
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

static bool is_archive(const char *s)
{
	size_t n = strlen(s);

	return s[0] != '-' && n > 2 && !strcmp(s + n - 2, ".a");
}

bool library_read(struct job *j, struct list *objects)
{
	struct list args = {0};
	bool ok = true;

	elf_version(EV_CURRENT);
	list_cat(&args, &j->opt.devlink_opts);
	list_cat(&args, &j->opt.device_libs);
	for (size_t i = 0; ok && i < args.n; i++) {
		char *path = NULL;

		if (!strncmp(args.v[i], "-l", 2))
			path = find_library(&args, args.v[i] + 2);
		else if (is_archive(args.v[i]))
			path = must(strdup(args.v[i]));
		if (path)
			ok = read_archive(j, path, objects);
		free(path);
	}
	list_free(&args);
	return ok;
}
