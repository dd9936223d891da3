/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* usage.c - the output of -h. */
#include <stdio.h>
#include "argp.h"

#define COLUMN 34

static void print_flag(const struct doca_argp_param *p)
{
	char left[256];
	int n = 0;

	if (p->hidden)
		return;
	if (p->short_name)
		n = snprintf(left, sizeof(left), "-%s%s", p->short_name, p->long_name ? ", " : "");
	if (p->long_name && n < (int)sizeof(left))
		n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", p->long_name);
	if (p->arguments && n < (int)sizeof(left))
		snprintf(left + n, sizeof(left) - (size_t)n, " %s", p->arguments);
	printf("  %-*s  %s\n", COLUMN, left, p->description);
}

static void print_flags(const struct doca_argp_cmd *cmd, bool general)
{
	for (const struct doca_argp_cmd *c = cmd; c; c = c->parent)
		for (const struct doca_argp_param *p = c->params; p; p = p->next)
			if (p->general == general && (c == cmd || p->inherited))
				print_flag(p);
}

/* Print the words that lead to a command. */
static void print_path(const struct doca_argp_cmd *cmd)
{
	if (!cmd->parent)
		return;
	print_path(cmd->parent);
	printf(" %s", cmd->name);
}

void argp_print_usage(const struct argp *a, const struct doca_argp_cmd *cmd)
{
	printf("Usage: %s", a->root.name);
	print_path(cmd);
	printf("%s [DOCA Flags] [Program Flags]%s\n", a->dpdk ? " [DPDK Flags] --" : "",
	       cmd->cmds ? " [Command]" : "");
	printf("\nDOCA Flags:\n");
	print_flags(cmd, true);
	printf("\nProgram Flags:\n");
	print_flags(cmd, false);
	if (cmd->cmds)
		printf("\nCommands:\n");
	for (const struct doca_argp_cmd *c = cmd->cmds; c; c = c->next)
		if (!c->hidden)
			printf("  %-*s  %s\n", COLUMN, c->name, c->description);
	printf("\n");
	fflush(stdout);
}
