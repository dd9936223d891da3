/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * shm.c - files that a run left in /dev/shm. All programs of the host make files there, so a file is
 * one that the run left only if it is new, of this user, not of dpa0 itself, still there some time
 * after the end of the run, and used by no process: all processes of the run have ended by then.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sweep.h"

#define DIR_SHM "/dev/shm"

/* True for files of dpa0 and of dpactl: adapter instances, ports of rdma_cm, folders of other sweeps. */
static bool is_of_dpa(const char *name)
{
	return strncmp(name, "dpa-", 4) == 0 || strncmp(name, "dpactl-sweep.", 13) == 0;
}

static bool is_own(DIR *d, const char *name)
{
	struct stat st;

	return fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid();
}

struct sweep_shm sweep_shm_list(void)
{
	struct sweep_shm l = {0};
	DIR *d = opendir(DIR_SHM);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || is_of_dpa(e->d_name) || !is_own(d, e->d_name))
			continue;
		l.name = need_memory(reallocarray(l.name, l.num + 1, sizeof(*l.name)));
		snprintf(l.name[l.num++], sizeof(*l.name), "%s", e->d_name);
	}
	if (d)
		closedir(d);
	return l;
}

/* True if a line of the process's maps ends with this path. */
static bool is_mapped(const char *pid, const char *path)
{
	char file[64], line[512];
	bool mapped = false;
	FILE *f;

	snprintf(file, sizeof(file), "/proc/%.16s/maps", pid);
	f = fopen(file, "re");
	while (f && !mapped && fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		mapped = at && strcmp(at, path) == 0;
	}
	if (f)
		fclose(f);
	return mapped;
}

static bool is_open(const char *pid, const char *path)
{
	char name[64], to[512];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%.16s/fd", pid);
	d = opendir(name);
	while (d && !found && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		found = strcmp(to, path) == 0;
	}
	if (d)
		closedir(d);
	return found;
}

/* True if a process that this user may look at has the file open or mapped. */
static bool is_used_shm_file(const char *name)
{
	char path[sizeof(DIR_SHM) + SWEEP_FILE];
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool used = false;

	snprintf(path, sizeof(path), "%s/%s", DIR_SHM, name);
	while (d && !used && (e = readdir(d)))
		used = isdigit((unsigned char)e->d_name[0]) &&
		       (is_open(e->d_name, path) || is_mapped(e->d_name, path));
	if (d)
		closedir(d);
	return used;
}

static bool is_listed_shm(const struct sweep_shm *l, const char *name)
{
	for (uint32_t i = 0; i < l->num; i++)
		if (strcmp(l->name[i], name) == 0)
			return true;
	return false;
}

uint32_t sweep_shm_new(const struct sweep_shm *before, char first[SWEEP_FILE])
{
	struct sweep_shm now = sweep_shm_list();
	uint32_t num = 0;

	for (uint32_t i = 0; i < now.num; i++) {
		if (is_listed_shm(before, now.name[i]) || is_used_shm_file(now.name[i]))
			continue;
		if (!num++)
			memcpy(first, now.name[i], SWEEP_FILE);
	}
	free(now.name);
	return num;
}
