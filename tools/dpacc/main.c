/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpacc: the places that it works in. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "dpacc.h"

/* The folder that has `file`, from those beside the program's own; NULL: none. */
static char *beside(const char *const *dirs, const char *file)
{
	char exe[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n < 0)
		return NULL;
	exe[n] = 0;
	slash = strrchr(exe, '/');
	if (slash)
		*slash = 0;
	for (; *dirs; dirs++) {
		char *dir = strf("%s/%s", exe, *dirs), *path = strf("%s/%s", dir, file);
		bool there = !access(path, R_OK);

		free(path);
		if (there)
			return dir;
		free(dir);
	}
	return NULL;
}

/* In the build tree: bin, include, lib/static. Installed: bin or tools, include, lib/<triplet>. */
static bool find_parts(struct job *j)
{
	static const char *const incs[] = {"../include", "../include/dpa-sdk", NULL};
	static const char *const libs[] = {"../lib/static", "../" DPA_LIBDIR, "../lib", NULL};

	j->inc = beside(incs, "doca_dpa_dev.h");
	j->libdir = beside(libs, "libdoca_dpa_dev.a");
	if (!j->inc)
		return error("doca_dpa_dev.h is not in ../include of dpacc's folder");
	if (!j->libdir)
		return error("libdoca_dpa_dev.a is not in ../lib/static or ../" DPA_LIBDIR
			     " of dpacc's folder");
	return true;
}

static bool make_dir(struct job *j)
{
	const char *tmp = getenv("TMPDIR");

	if (j->opt.keep) {
		const char *d = j->opt.keep_dir ? j->opt.keep_dir : ".";

		if (mkdir(d, 0777) && errno != EEXIST)
			return error("%s: %s", d, strerror(errno));
		j->dir = must(realpath(d, NULL));
	} else {
		j->dir = strf("%s/dpacc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
		if (!mkdtemp(j->dir))
			return error("%s: %s", j->dir, strerror(errno));
		j->made_dir = true;
	}
	j->image = strf("%s/image.so", j->dir);
	return true;
}

static void remove_dir(const struct job *j)
{
	struct dirent *e;
	DIR *d = opendir(j->dir);

	while (d && (e = readdir(d))) {
		char *path = strf("%s/%s", j->dir, e->d_name);

		unlink(path); /* "." and ".." refuse */
		free(path);
	}
	if (d)
		closedir(d);
	rmdir(j->dir);
}

static void options_free(struct options *o)
{
	list_free(&o->sources);
	list_free(&o->includes);
	list_free(&o->defines);
	list_free(&o->hostcc_opts);
	list_free(&o->devcc_opts);
	list_free(&o->devlink_opts);
	list_free(&o->device_libs);
	free(o->output);
	free(o->app);
	free(o->hostcc);
	free(o->devcc);
	free(o->keep_dir);
}

static void job_free(struct job *j)
{
	for (size_t i = 0; i < j->entries.n; i++) {
		free(j->entries.v[i].name);
		free(j->entries.v[i].where);
	}
	free(j->entries.v);
	free(j->dir);
	free(j->inc);
	free(j->libdir);
	free(j->image);
	options_free(&j->opt);
}

static void on_signal(int sig)
{
	interrupted = 1;
}

int main(int argc, char **argv)
{
	struct job j = {0};
	bool ok = options_parse(&j.opt, argc, argv);

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (ok && j.opt.help) {
		options_help();
	} else if (ok && j.opt.version) {
		puts("dpacc " DPA_VERSION);
	} else if (ok) {
		ok = find_parts(&j) && make_dir(&j) && build(&j);
		if (j.made_dir)
			remove_dir(&j);
	}
	job_free(&j);
	return ok ? 0 : 1;
}
