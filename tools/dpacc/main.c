/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* main.c - dpacc: the folders that it uses. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "dpacc.h"
#include "knobs.h"

const char text_program[] = "dpacc";

/* Get the folder of this program. */
static bool own_folder(char *dir)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return error("/proc/self/exe: %s", strerror(errno));
	dir[n] = 0;
	slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	return true;
}

/*
 * Return the first of the folders above dpacc's own that has DIR/FILE, with DIR appended; NULL:
 * none.
 */
static char *find_above(const char *own, const char *const *dirs, const char *file)
{
	static const char *const ups[] = {"..", "../..", "../../.."};

	for (size_t u = 0; u < sizeof(ups) / sizeof(ups[0]); u++)
		for (const char *const *d = dirs; *d; d++) {
			char *dir = strf("%s/%s/%s", own, ups[u], *d);
			char *path = strf("%s/%s", dir, file);
			bool there = !access(path, R_OK);

			free(path);
			if (there)
				return dir;
			free(dir);
		}
	return NULL;
}

/*
 * Find the parts. In the build tree dpacc is in bin, beside include and lib/static. Installed, it
 * is in tools beside include and lib/<machine>, or deeper below the prefix if a distribution puts
 * it there.
 */
static bool find_parts(struct job *j)
{
	static const char *const incs[] = {"include", NULL};
	static const char *const libs[] = {"lib/static", DPA_LIBDIR, "lib", "lib64", NULL};
	char own[PATH_MAX];

	if (!own_folder(own))
		return false;
	j->inc = find_above(own, incs, "doca_dpa_dev.h");
	j->libdir = find_above(own, libs, "libdoca_dpa_dev.a");
	if (!j->inc)
		return error("no include/doca_dpa_dev.h above %s", own);
	if (!j->libdir)
		return error("no " DPA_LIBDIR "/libdoca_dpa_dev.a above %s", own);
	return true;
}

static bool make_work_dir(struct job *j)
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

static void job_free(struct job *j)
{
	for (size_t i = 0; i < j->entries.n; i++)
		entry_free(&j->entries.v[i]);
	free(j->entries.v);
	list_free(&j->bases);
	free(j->dir);
	free(j->inc);
	free(j->libdir);
	free(j->image);
	options_free(&j->opt);
}

static void catch_end_signals(void)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;

	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		sigaction(sigs[i], NULL, &old);
		if (old.sa_handler != SIG_IGN) /* nohup, background jobs */
			sigaction(sigs[i], &sa, NULL);
	}
}

/*
 * Check the environment: dpacc's output depends on none of the settings, but a mistyped one is
 * reported where it is first seen.
 */
static bool environment_good(void)
{
	struct dpa_config cfg;
	char err[512];

	dpa_config_defaults(&cfg);
	return !dpa_config_env(&cfg, environ, err, sizeof(err)) || error("%s", err);
}

int main(int argc, char **argv)
{
	struct job j = {0};
	bool ok = options_parse(&j.opt, argc, argv);

	catch_end_signals();
	if (ok && j.opt.help) {
		options_help();
	} else if (ok && j.opt.version) {
		puts("dpacc: device compiler of the software adapter\n"
		     "dpacc version " DPA_VERSION);
	} else if (ok) {
		ok = environment_good() && find_parts(&j) && make_work_dir(&j) && build(&j);
		if (j.made_dir)
			remove_dir(&j);
	}
	job_free(&j);
	if (interrupted) { /* so that the waiting process sees a signal, not a failure */
		signal(interrupted, SIG_DFL);
		raise(interrupted);
	}
	return ok ? 0 : 1;
}
