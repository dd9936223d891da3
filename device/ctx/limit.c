/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is said when the board has no more of something. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "ctx/hw.h"

int dpa_limit(struct dpa_hw *hw, int err, const char *fmt, ...)
{
	char what[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (err == ENOMEM)
		dpa_log(hw, DPA_LOG_ERR, "%s", what);
	else if (err == ENOSPC)
		dpa_log(hw, DPA_LOG_ERR, "%s: cannot grow: is its file system full?",
			hw->board->path);
	else
		dpa_log(hw, DPA_LOG_ERR, "%s: %s", hw->board->path, strerror(err));
	return err == ENOSPC ? ENOMEM : err;
}
