/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* util.c - commands, files. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "dpacc.h"

extern char **environ;

volatile sig_atomic_t interrupted;

/* Print a word so that a shell accepts it again. */
static void show_shell_word(const char *w)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "-_=+,./:@%^";

	if (*w && !w[strspn(w, safe)]) {
		fputs(w, stderr);
		return;
	}
	fputc('\'', stderr);
	for (; *w; w++)
		if (*w == '\'')
			fputs("'\\''", stderr);
		else
			fputc(*w, stderr);
	fputc('\'', stderr);
}

static void show_argv(const struct list *argv)
{
	for (size_t i = 0; i < argv->n; i++) {
		if (i)
			fputc(' ', stderr);
		show_shell_word(argv->v[i]);
	}
	fputc('\n', stderr);
}

static volatile sig_atomic_t child;

void on_signal(int sig)
{
	interrupted = sig;
	if (child)
		kill(child, sig);
}

/* Start a command. Signals are blocked until the child's number is recorded. */
static int spawn_argv(const struct list *argv, const char *stderr_to)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t hold, old;
	pid_t pid = 0;
	int ret;

	sigemptyset(&hold);
	sigaddset(&hold, SIGINT);
	sigaddset(&hold, SIGTERM);
	sigaddset(&hold, SIGHUP);
	sigprocmask(SIG_BLOCK, &hold, &old);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &old);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&fa);
	if (stderr_to)
		posix_spawn_file_actions_addopen(&fa, 2, stderr_to, O_WRONLY | O_CREAT | O_TRUNC,
						 0600);
	ret = interrupted ? EINTR : posix_spawnp(&pid, argv->v[0], &fa, &attr, argv->v, environ);
	child = ret ? 0 : pid;
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}

bool run(const struct job *j, const struct list *argv, const char *stderr_to)
{
	int ret, status;

	if (j->opt.verbose || j->opt.dry)
		show_argv(argv);
	if (j->opt.dry)
		return true;
	ret = spawn_argv(argv, stderr_to);
	if (ret && !interrupted)
		return error("cannot run %s: %s", argv->v[0], strerror(ret));
	while (!ret && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error("waiting for %s: %s", argv->v[0], strerror(errno));
	child = 0;
	if (interrupted)
		return error("interrupted");
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool copy_file_to(const char *from, int out)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	char buf[65536];

	while (in >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			break;
	if (in >= 0)
		close(in);
	return n == 0;
}

bool replace_file(const struct job *j, const char *from, const char *to)
{
	char *tmp = strf("%s.XXXXXX", to);
	mode_t mask = umask(0);
	bool ok;
	int fd;

	umask(mask);
	if (j->opt.dry) {
		free(tmp);
		return true;
	}
	fd = mkstemp(tmp);
	ok = fd >= 0 && copy_file_to(from, fd) && !fchmod(fd, 0666 & ~mask);
	if (fd >= 0)
		ok &= !close(fd);
	ok = ok && !interrupted && !rename(tmp, to);
	if (!ok) {
		error("%s: %s", to, interrupted ? "interrupted" : strerror(errno));
		if (fd >= 0)
			unlink(tmp);
	}
	free(tmp);
	return ok;
}
