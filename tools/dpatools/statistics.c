/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa-statistics - resource usage of each DPA thread. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "common.h"
#include "view.h"

#define DEFAULT_MS 1000
#define MAX_MS	   3600000

const char *tool_name = "dpa-statistics";

struct options {
	const char *device;
	bool one; /* process */
	uint32_t pid, ms;
	bool reset;
};

static void statistics_help(void)
{
	puts("Usage: dpa-statistics collect -d DEVICE [-p PID] [-t MS] [-r]\n"
	     "Count what each DPA thread uses, for a time, and print it.\n\n"
	     "  -d, --device DEVICE  as in dpa0\n"
	     "  -p, --pid PID        this process only, as dpa-ps shows it: hexadecimal\n"
	     "  -t, --timeout MS     collect for so many milliseconds (1000)\n"
	     "  -r, --reset          count from 0 on\n"
	     "  -h, --help           this help\n"
	     "  -v, --version        the version\n\n"
	     "Time is in nanoseconds. Cycles and instructions are those of runs that began and\n"
	     "ended while they were collected, where the machine counts them: else n/a.");
}

static void parse_statistics_options(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {{"device", required_argument, NULL, 'd'},
						{"pid", required_argument, NULL, 'p'},
						{"timeout", required_argument, NULL, 't'},
						{"reset", no_argument, NULL, 'r'},
						{0}};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "d:p:t:r", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->device = optarg;
			break;
		case 'p':
			o->one = true;
			o->pid = tool_number(optarg, 16, INT32_MAX, "process id (hexadecimal)");
			break;
		case 't':
			o->ms = tool_number(optarg, 10, MAX_MS, "number of milliseconds");
			break;
		case 'r':
			o->reset = true;
			break;
		default:
			tool_die(EXIT_USE, "wrong option '%s': see dpa-statistics --help",
				 argv[optind - 1]);
		}
	}
	if (optind < argc)
		tool_die(EXIT_USE, "'%s' is too much", argv[optind]);
}

static int keep_one(struct view *views, int n, uint32_t pid)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		if (views[i].file->head.pid == pid)
			views[kept++] = views[i];
		else
			view_close(&views[i], 1);
	}
	return kept;
}

static void collect_views(struct view *views, int n, const struct options *o)
{
	uint64_t end = view_now() + (uint64_t)o->ms * 1000000;
	struct timespec until = {.tv_sec = (time_t)(end / 1000000000),
				 .tv_nsec = (long)(end % 1000000000)};

	for (int i = 0; i < n; i++) {
		if (o->reset)
			view_reset(&views[i]);
		atomic_store_explicit(&views[i].file->head.collect_until, end,
				      memory_order_relaxed);
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static void print_task(const struct view_task *t)
{
	char cycles[24] = "n/a", instructions[24] = "n/a";

	if (t->counted) {
		snprintf(cycles, sizeof(cycles), "%" PRIu64, t->cycles);
		snprintf(instructions, sizeof(instructions), "%" PRIu64, t->instructions);
	}
	printf("%-8x  %14s  %14s  %14" PRIu64 "  %12" PRIu64 "  %s\n", t->id, cycles, instructions,
	       t->ns, t->runs, t->name);
}

static void print_process(const struct view *v)
{
	struct view_task t;

	printf("ProcessID  Process Name\n%-9x  %.16s\n\n", v->file->head.pid, v->file->head.comm);
	printf("%-8s  %14s  %14s  %14s  %12s  %s\n", "ThreadID", "Cycles", "Instruction", "Time",
	       "Executions", "Thread Name");
	for (uint32_t i = 0; i < DPA_STAT_TASKS; i++)
		if (view_task(v, i, &t))
			print_task(&t);
	putchar('\n');
}

int main(int argc, char **argv)
{
	static struct view views[VIEW_MAX];
	struct options o = {.ms = DEFAULT_MS};
	char board[256];
	int n;

	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		statistics_help();
		return 0;
	}
	if (argc > 1 && (!strcmp(argv[1], "-v") || !strcmp(argv[1], "--version"))) {
		puts("dpa-statistics (dpa) " DPA_VERSION);
		return 0;
	}
	if (argc < 2 || strcmp(argv[1], "collect"))
		tool_die(EXIT_USE, "the command is collect: see dpa-statistics --help");
	parse_statistics_options(argc - 1, argv + 1, &o);
	tool_device(o.device, board, sizeof(board));
	n = view_open(board, o.device, views);
	if (o.one) {
		n = keep_one(views, n, o.pid);
		if (!n)
			tool_die(EXIT_FAIL, "no DPA process %x on %s", o.pid, o.device);
	}
	collect_views(views, n, &o);
	for (int i = 0; i < n; i++)
		print_process(&views[i]);
	view_close(views, n);
	tool_end();
	return 0;
}
