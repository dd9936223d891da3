/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * provider.c - check for a provider for the libibverbs that the program loads.
 *
 * libibverbs adds its own private ABI number to the name, so that it finds its file among those of
 * all versions. Without one it just does not see dpa0.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpa-run.h"
#include "pabi.h"

#define SONAME "libibverbs.so.1"

/* Find the file that execvp() would execute. */
static bool find_program(const char *name, char *file)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/')) {
		path_print(file, "%s", name);
		return access(file, X_OK) == 0;
	}
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t n = strcspn(path, ":");

		path_print(file, "%.*s%s%s", (int)n, path, n ? "/" : "", name);
		if (access(file, X_OK) == 0)
			return true;
		if (!path[n])
			return false;
		path += n + 1;
	}
}

static bool library_of_program(const char *name, char *library)
{
	char file[PATH_MAX], interp[PATH_MAX];

	return find_program(name, file) && !pabi_interp(file, interp, sizeof(interp)) &&
	       !pabi_loaded(interp, file, SONAME, library, PATH_MAX);
}

/* Get the loader's choice if no program has its own path: it needs a provider, too. */
static bool library_by_default(const struct place *pl, char *library)
{
	char pattern[PATH_MAX], interp[PATH_MAX];
	bool found = false;
	glob_t g;

	path_print(pattern, "%s-rdmav*.so", pl->driver);
	if (glob(pattern, 0, NULL, &g))
		return false;
	if (!pabi_interp("/proc/self/exe", interp, sizeof(interp)))
		found = !pabi_loaded(interp, g.gl_pathv[0], SONAME, library, PATH_MAX);
	globfree(&g);
	return found;
}

void provider_check(const struct place *pl, const char *program)
{
	char library[PATH_MAX], file[PATH_MAX], have[128] = "";
	bool linked = library_of_program(program, library);
	int number;

	if (!linked && !library_by_default(pl, library))
		return;
	number = pabi_of_library(library);
	path_print(file, "%s-rdmav%d.so", pl->driver, number);
	if (!number || access(file, R_OK) == 0)
		return;
	path_print(file, "%s", pl->driver);
	*strrchr(file, '/') = '\0';
	pabi_providers_in(file, have, sizeof(have));
	if (linked)
		die(EXIT_FAILED,
		    "%s loads %s of private ABI %d, and this dpa has providers for %s only",
		    program, library, number, have);
	fprintf(stderr,
		"dpa-run: %s has private ABI %d, and this dpa has providers for %s only: dpa0 is "
		"not "
		"seen\n",
		library, number, have);
}
