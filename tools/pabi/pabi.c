/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pabi.h"

#define MAX_NUMBERS 32

extern char **environ;

int pabi_of_library(const char *path)
{
	static const char node[] = "IBVERBS_PRIVATE_";
	FILE *f = fopen(path, "re");
	struct stat st;
	char *p, *at;
	int n = 0;

	if (!f)
		return 0;
	if (!fstat(fileno(f), &st) && st.st_size > 0) {
		size_t len = (size_t)st.st_size;

		p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fileno(f), 0);
		if (p != MAP_FAILED) {
			at = memmem(p, len, node, sizeof(node) - 1);
			if (at && at + sizeof(node) + 4 < p + len)
				n = atoi(at + sizeof(node) - 1);
			munmap(p, len);
		}
	}
	fclose(f);
	return n;
}

static int by_pabi_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

size_t pabi_providers_in(const char *dir, char *buf, size_t len)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	size_t at = strlen(buf), n = 0, fit = 0;
	int found[MAX_NUMBERS];

	while (d && n < MAX_NUMBERS && (e = readdir(d)))
		if (sscanf(e->d_name, "libdpa-rdmav%d.so", &found[n]) == 1)
			n++;
	if (d)
		closedir(d);
	qsort(found, n, sizeof(found[0]), by_pabi_number);
	for (; fit < n && at + 16 < len; fit++)
		at += (size_t)snprintf(buf + at, len - at, "%s%d", at ? ", " : "", found[fit]);
	return fit;
}

int pabi_interp(const char *file, char *buf, size_t len)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), found = -1;
	ElfW(Ehdr) eh;
	ElfW(Phdr) ph;

	if (fd < 0)
		return -1;
	if (pread(fd, &eh, sizeof(eh), 0) == sizeof(eh) && !memcmp(eh.e_ident, ELFMAG, SELFMAG) &&
	    eh.e_phentsize == sizeof(ph))
		for (unsigned i = 0; found && i < eh.e_phnum; i++) {
			off_t at = (off_t)(eh.e_phoff + (size_t)i * sizeof(ph));

			if (pread(fd, &ph, sizeof(ph), at) != sizeof(ph))
				break;
			if (ph.p_type != PT_INTERP || !ph.p_filesz || ph.p_filesz > len)
				continue;
			if (pread(fd, buf, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
				break;
			buf[ph.p_filesz - 1] = '\0';
			found = 0;
		}
	close(fd);
	return found;
}

/*
 * Parse one line of the loader's list: "\tSONAME => PATH (0xADDRESS)". True if it is the wanted
 * one; buf gets PATH.
 */
static int path_in_line(const char *line, const char *soname, char *buf, size_t len)
{
	static const char arrow[] = " => /";
	size_t n = strlen(soname);
	const char *path, *end;

	line += strspn(line, " \t");
	if (strncmp(line, soname, n) || strncmp(line + n, arrow, sizeof(arrow) - 1))
		return 0;
	path = line + n + sizeof(arrow) - 2;
	end = strstr(path, " (0x");
	if (!end || (size_t)(end - path) >= len)
		return 0;
	memcpy(buf, path, (size_t)(end - path));
	buf[end - path] = '\0';
	return 1;
}

int pabi_loaded(const char *interp, const char *file, const char *soname, char *buf, size_t len)
{
	char *argv[] = {(char *)interp, "--list", (char *)file, NULL};
	char *line = NULL;
	posix_spawn_file_actions_t act;
	size_t room = 0;
	int pipe_fd[2], found = 0, status, rc;
	pid_t pid;
	FILE *f;

	if (pipe2(pipe_fd, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&act);
	posix_spawn_file_actions_adddup2(&act, pipe_fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&act, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&act, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawn(&pid, interp, &act, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&act);
	close(pipe_fd[1]);
	f = rc ? NULL : fdopen(pipe_fd[0], "r");
	if (!f)
		close(pipe_fd[0]);
	while (f && getline(&line, &room, f) > 0)
		if (!found)
			found = path_in_line(line, soname, buf, len);
	free(line);
	if (f)
		fclose(f);
	if (!rc)
		waitpid(pid, &status, 0);
	return found ? 0 : -1;
}
