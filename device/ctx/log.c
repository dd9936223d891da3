/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* log.c - log messages, and the messages for entries that the board has run out of. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "ctx/hw.h"

void dpa_log(struct dpa_hw *hw, int level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!hw || !hw->log || level > (int)hw->cfg.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	hw->log(level, text);
}

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
