/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* place.c - find the libraries and the tree from the location of this executable. */
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dpa-run.h"

void path_print(char *buf, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, PATH_MAX, fmt, ap);
	va_end(ap);
	if (n >= PATH_MAX)
		die(EXIT_FAILED, "path too long: %.60s...", buf);
}

/* Get PREFIX of PREFIX/bin/dpa-run. */
static void find_prefix(char *prefix)
{
	ssize_t n = readlink("/proc/self/exe", prefix, PATH_MAX - 1);

	if (n < 0)
		die(EXIT_FAILED, "/proc/self/exe: %s: is /proc mounted?", strerror(errno));
	prefix[n] = '\0';
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(prefix, '/');

		if (slash)
			*slash = '\0';
	}
}

static bool find_lib(struct place *pl, const char *prefix)
{
	static const char *const dirs[] = {"lib", DPA_LIBDIR, "lib64"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (dirs[i][0] == '/')
			path_print(pl->lib, "%s", dirs[i]);
		else
			path_print(pl->lib, "%s/%s", prefix, dirs[i]);
		path_print(pl->preload, "%s/libdpa-preload.so", pl->lib);
		if (access(pl->preload, R_OK) == 0)
			return true;
	}
	return false;
}

/* Find the tree: lib/../share in a build, lib/<machine>/../../share after an installation. */
static bool find_share_tree(struct place *pl)
{
	static const char *const up[] = {"..", "../.."};
	char probe[PATH_MAX];

	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++) {
		path_print(pl->tree, "%s/%s/share/dpa", pl->lib, up[i]);
		path_print(probe, "%s/sysfs/class/infiniband_verbs/" UVERBS "/dev", pl->tree);
		if (access(probe, R_OK) == 0)
			return true;
	}
	return false;
}

/*
 * Find the driver: after an installation in libibverbs' folder of providers, in a build beside the
 * library.
 */
static bool find_verbs_driver(struct place *pl)
{
	static const char *const folders[] = {"/libibverbs", ""};
	char provider[PATH_MAX];
	glob_t found;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		path_print(pl->driver, "%s%s/libdpa", pl->lib, folders[i]);
		path_print(provider, "%s-rdmav*.so", pl->driver);
		if (glob(provider, GLOB_NOSORT, NULL, &found) == 0) {
			globfree(&found);
			return true;
		}
	}
	return false;
}

void place_find(struct place *pl)
{
	char prefix[PATH_MAX];

	find_prefix(prefix);
	if (!find_lib(pl, prefix))
		die(EXIT_FAILED, "no libdpa-preload.so below %s: build or install dpa", prefix);
	if (!find_share_tree(pl))
		die(EXIT_FAILED, "no share/dpa beside %s: build or install dpa", pl->lib);
	if (!find_verbs_driver(pl))
		die(EXIT_FAILED, "no libdpa-rdmav*.so in %s: build or install dpa", pl->lib);
	/* the separators of LD_PRELOAD and IBV_DRIVERS cannot be quoted */
	if (strpbrk(pl->lib, " :;"))
		die(EXIT_FAILED, "'%s' has a blank, ':' or ';' in it: put dpa elsewhere", pl->lib);
}
