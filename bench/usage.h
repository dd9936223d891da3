/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* usage.h - time on a core and wake-ups of a process, from /proc. */
#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <dirent.h>
#include <stdio.h>
#include <sys/types.h>

struct usage {
	double ns;  /* time on a core */
	long wakes; /* voluntary switches */
};

/* Add those of all threads of a process. */
static inline void usage_add(struct usage *u, pid_t pid)
{
	char path[320], line[256];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		unsigned long long run;
		long v;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", pid, e->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%llu", &run) == 1)
			u->ns += (double)run;
		if (f)
			fclose(f);
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &v) == 1)
				u->wakes += v;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
}

#endif
