/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <board/board.h>
#include <knobs.h>
#include "common.h"

void tool_die(int status, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", tool_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(status); /* after a success, the output could not be written */
}

uint32_t tool_number(const char *text, int base, uint32_t max, const char *what)
{
	const char *digits = text;
	unsigned long long n;
	char *end;

	if (base == 16 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		digits += 2;
	errno = 0;
	n = strtoull(digits, &end, base);
	if (!isxdigit((unsigned char)digits[0]) || *end || errno || n > max)
		tool_die(EXIT_USE, "'%s' is not a %s", text, what);
	return (uint32_t)n;
}

/* Return whether it is dpa0, or dpaN of a function in the setting. */
static bool parse_device_name(const char *device, const struct dpa_config *cfg, uint32_t *n)
{
	char name[32];

	if (strncmp(device, "dpa", 3) || !isdigit((unsigned char)device[3]))
		return false;
	*n = (uint32_t)strtoul(device + 3, NULL, 10);
	snprintf(name, sizeof(name), "dpa%u", *n);
	return !strcmp(name, device) && *n <= cfg->functions.num_sfs;
}

uint32_t tool_device(const char *device, char *board, size_t len)
{
	static struct dpa_config cfg;
	uint32_t n = 0;
	char err[512];

	if (dpa_config_load(&cfg, err, sizeof(err)))
		tool_die(EXIT_USE, "%s", err);
	if (!device)
		tool_die(EXIT_USE, "no device given: use -d dpa0");
	if (cfg.disable || !parse_device_name(device, &cfg, &n))
		tool_die(EXIT_FAIL, "no device %s", device);
	if (cfg.board[0]) {
		if (snprintf(board, len, "%s", cfg.board) >= (int)len)
			tool_die(EXIT_FAIL, "the path of the adapter state is too long");
	} else if (dpa_board_default_path(board, len)) {
		tool_die(EXIT_FAIL, "there is no place for the adapter state");
	}
	return n;
}

void tool_end(void)
{
	if (fflush(stdout) || ferror(stdout))
		tool_die(EXIT_FAIL, "cannot write: %s", strerror(errno));
}
