/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* command.c - the programs that do the work. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "job.h"

extern char **environ;

/*
 * Print a word as nvcc does, for CMake: paths in double quotes, so that a shell accepts it again.
 */
static void show_nvcc_word(const char *w)
{
	bool quote = !*w || strpbrk(w, "/ \t\"'$`\\();<>|&*?") != NULL;

	if (quote)
		fputc('"', stderr);
	for (; *w; w++) {
		if (strchr("\"$`\\", *w))
			fputc('\\', stderr);
		fputc(*w, stderr);
	}
	if (quote)
		fputc('"', stderr);
}

static void show_nvcc_argv(const struct list *argv)
{
	fputs("#$ ", stderr);
	for (size_t i = 0; i < argv->n; i++) {
		if (i)
			fputc(' ', stderr);
		if (i)
			show_nvcc_word(argv->v[i]);
		else
			fputs(argv->v[i], stderr);
	}
	fputc('\n', stderr);
}

int run_argv(const struct job *j, const struct list *argv)
{
	int ret, status;
	pid_t pid;

	if (j->o->verbose || j->o->dry)
		show_nvcc_argv(argv);
	if (j->o->dry)
		return 0;
	ret = posix_spawnp(&pid, argv->v[0], NULL, NULL, argv->v, environ);
	if (ret) {
		error("cannot run %s: %s", argv->v[0], strerror(ret));
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int run_and_free(const struct job *j, struct list *argv)
{
	int ret = run_argv(j, argv);

	list_free(argv);
	return ret;
}

void remove_temp_folder(const char *path)
{
	struct list argv = {0};
	pid_t pid;

	list_words(&argv, "rm -rf");
	list_add(&argv, path);
	if (!posix_spawnp(&pid, "rm", NULL, NULL, argv.v, environ))
		waitpid(pid, NULL, 0);
	list_free(&argv);
}
