/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_main.c - the runner of a client's cases: two processes or two threads for each case, bounded
 * in time.
 */
#include "vt.h"

#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { CASE_LIMIT_S = 60 };

struct side {
	const struct vt_case *c;
	struct vt t;
};

static void *side_thread(void *arg)
{
	struct side *s = arg;

	s->c->fn(&s->t);
	return NULL;
}

static _Noreturn void child_procs(const struct vt_case *c, int side, int sock)
{
	struct vt t = {.side = side, .sock = sock};

	c->fn(&t);
	fflush(stdout);
	exit(0);
}

static _Noreturn void child_threads(const struct vt_case *c, const int sv[2])
{
	struct side s[2] = {{c, {.side = 0, .sock = sv[0], .threads = true}},
			    {c, {.side = 1, .sock = sv[1], .threads = true}}};
	pthread_t th;

	if (pthread_create(&th, NULL, side_thread, &s[1]))
		_exit(1);
	side_thread(&s[0]);
	pthread_join(th, NULL);
	fflush(stdout);
	exit(0);
}

/* Fork the sides; each has only its own socket end, so that the other sees its end. */
static int start(const struct vt_case *c, bool threads, pid_t pids[2])
{
	int sv[2], n = threads ? 1 : 2;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return 0;
	fflush(stdout);
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return i;
		if (pids[i] > 0)
			continue;
		alarm((unsigned int)(c->limit ? c->limit : CASE_LIMIT_S) + vt_seconds);
		if (threads)
			child_threads(c, sv);
		close(sv[!i]);
		child_procs(c, i, sv[i]);
	}
	close(sv[0]);
	close(sv[1]);
	return n;
}

enum outcome { PASSED, FAILED, SKIPPED };

static enum outcome run_case(const struct vt_case *c, bool threads)
{
	enum outcome out = PASSED;
	pid_t pids[2];
	int n = start(c, threads, pids), status;

	if (n == 0)
		return FAILED;
	for (int i = 0; i < n; i++) {
		if (waitpid(pids[i], &status, 0) != pids[i])
			return FAILED;
		if (WIFSIGNALED(status))
			printf("    side %d was ended by signal %d (%s)\n", i, WTERMSIG(status),
			       WTERMSIG(status) == SIGALRM ? "it hung"
							   : strsignal(WTERMSIG(status)));
		if (WIFEXITED(status) && WEXITSTATUS(status) == VT_EXIT_SKIP)
			out = SKIPPED;
		else if (status && out != SKIPPED)
			out = FAILED;
	}
	return out;
}

static bool selected(const struct vt_case *c, int argc, char **argv)
{
	if (optind >= argc)
		return vt_slow || !(c->modes & VT_SLOW);
	for (int i = optind; i < argc; i++)
		if (strcmp(argv[i], c->name) == 0)
			return true;
	return false;
}

static void usage(const char *prog, const struct vt_case *cases, size_t n)
{
	printf("usage: %s [--device NAME] [--mode procs|threads|both] [--seed N] [--seconds N] "
	       "[--slow] [CASE...]\n"
	       "cases:",
	       prog);
	for (size_t i = 0; i < n; i++)
		printf(" %s%s", cases[i].name, cases[i].modes & VT_SLOW ? "(slow)" : "");
	printf("\n");
}

int vt_main(int argc, char **argv, const struct vt_case *cases, size_t n)
{
	static const struct option opts[] = {{"device", required_argument, NULL, 'd'},
					     {"mode", required_argument, NULL, 'm'},
					     {"seed", required_argument, NULL, 's'},
					     {"slow", no_argument, NULL, 'l'},
					     {"seconds", required_argument, NULL, 't'},
					     {"help", no_argument, NULL, 'h'},
					     {0}};
	static const char *const word[] = {"ok", "FAIL", "skip"};
	unsigned int count[3] = {0};
	int modes = VT_BOTH, c;

	vt_set_seed(((uint64_t)time(NULL) * 7919 + (uint64_t)getpid()) % 1000000);
	while ((c = getopt_long(argc, argv, "d:", opts, NULL)) != -1) {
		if (c == 'd')
			vt_device = optarg;
		else if (c == 'm')
			modes = !strcmp(optarg, "procs")     ? VT_PROCS
				: !strcmp(optarg, "threads") ? VT_THREADS
							     : VT_BOTH;
		else if (c == 's')
			vt_set_seed(strtoull(optarg, NULL, 0));
		else if (c == 'l')
			vt_slow = true;
		else if (c == 't')
			vt_seconds = (unsigned int)strtoul(optarg, NULL, 10);
		else {
			usage(argv[0], cases, n);
			return c == 'h' ? 0 : 2;
		}
	}
	printf("seed %llu\n", (unsigned long long)vt_seed());
	for (size_t i = 0; i < n; i++)
		for (int m = VT_PROCS; m <= VT_THREADS; m <<= 1) {
			enum outcome o;

			if (!(cases[i].modes & modes & m) || !selected(&cases[i], argc, argv))
				continue;
			o = run_case(&cases[i], m == VT_THREADS);
			count[o]++;
			printf("%s %s (%s)\n", word[o], cases[i].name,
			       m == VT_THREADS ? "threads" : "processes");
			fflush(stdout);
		}
	printf("%u passed, %u failed, %u skipped\n", count[PASSED], count[FAILED], count[SKIPPED]);
	return count[FAILED] ? 1 : 0;
}
