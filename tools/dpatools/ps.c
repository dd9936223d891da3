/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa-ps - list the processes that run code on the DPA of a device. */
#include <getopt.h>
#include <stdio.h>
#include "common.h"
#include "view.h"

const char *tool_name = "dpa-ps";

static void ps_help(void)
{
	puts("Usage: dpa-ps -d DEVICE\n"
	     "List the processes that run code on the DPA of a device.\n\n"
	     "  -d, --device DEVICE  as in dpa0\n"
	     "  -h, --help           this help\n"
	     "  -v, --version        the version");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"device", required_argument, NULL, 'd'},
						{"help", no_argument, NULL, 'h'},
						{"version", no_argument, NULL, 'v'},
						{0}};
	static struct view views[VIEW_MAX];
	const char *device = NULL;
	char board[256];
	int c, n;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "d:hv", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			device = optarg;
			break;
		case 'h':
			ps_help();
			return 0;
		case 'v':
			puts("dpa-ps (dpa) " DPA_VERSION);
			return 0;
		default:
			tool_die(EXIT_USE, "wrong option '%s': see dpa-ps --help",
				 argv[optind - 1]);
		}
	}
	if (optind < argc)
		tool_die(EXIT_USE, "'%s' is too much", argv[optind]);
	tool_device(device, board, sizeof(board));
	n = view_open(board, device, views);
	printf("ProcessID  Process Name\n");
	for (int i = 0; i < n; i++)
		printf("%-9x  %.16s\n", views[i].file->head.pid, views[i].file->head.comm);
	view_close(views, n);
	tool_end();
	return 0;
}
