/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* progress.c - the line about a long command: progress.h. Without escape sequences: any terminal has \r. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "dpactl.h"
#include "progress.h"

#define EACH_NS 500000000u
#define COLUMNS 80u /* of a terminal that has no size */
#define CTRL_C	2u  /* columns of ^C, which the terminal writes behind the line */

void progress_begin(struct progress *p)
{
	*p = (struct progress){.begun = now_ns(), .tty = isatty(STDERR_FILENO)};
}

bool progress_due(const struct progress *p)
{
	return p->tty && (!p->shown || now_ns() - p->shown >= EACH_NS);
}

/* Columns of the line. The last one stays free: a terminal may wrap the line there. */
static uint32_t line_columns(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || w.ws_col < 8)
		return COLUMNS - 1;
	return w.ws_col - 1u;
}

/* Writes the line over the last one, with room for ^C; spaces remove what that had more. */
static void write_over(struct progress *p, const char *line)
{
	const uint32_t len = (uint32_t)strnlen(line, line_columns() - CTRL_C);

	fprintf(stderr, "\r%.*s", (int)len, line);
	if (p->len > len)
		fprintf(stderr, "%*s", (int)(p->len - len), "");
	fflush(stderr);
	p->len = len;
}

void progress_show(struct progress *p, const char *fmt, ...)
{
	const uint64_t now = now_ns();
	const uint64_t tenths = (now - p->begun) / 100000000u;
	char line[512];
	va_list ap;
	int n;

	if (!p->tty)
		return;
	p->shown = now;
	n = snprintf(line, sizeof(line), "%llu.%llu s, ", (unsigned long long)tenths / 10,
		     (unsigned long long)tenths % 10);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	write_over(p, line);
}

void progress_clear(struct progress *p)
{
	const uint32_t most = line_columns();

	if (!p->len)
		return;
	p->len = p->len + CTRL_C < most ? p->len + CTRL_C : most;
	write_over(p, "");
	fputc('\r', stderr);
}
