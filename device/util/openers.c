/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* openers.c - the processes that have a file open. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/openers.h"

static bool has_it(const char *pid, dpa_opener_fn *is, void *arg)
{
	char path[64];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d)))
		found = e->d_name[0] != '.' && is(arg, dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return found;
}

static void name_it(const char *pid, char *text, size_t len)
{
	char path[64], comm[32] = "?";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(comm, sizeof(comm), f))
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
	snprintf(text, len, "%s (pid %.20s)", comm, pid);
}

uint32_t dpa_openers(dpa_opener_fn *is, void *arg, uint32_t except, uint32_t most, char *text,
		     size_t len)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	uint32_t n = 0;

	text[0] = '\0';
	while (d && n < most && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    strtoul(e->d_name, NULL, 10) == except || !has_it(e->d_name, is, arg))
			continue;
		if (!n++)
			name_it(e->d_name, text, len);
	}
	if (d)
		closedir(d);
	return n;
}
