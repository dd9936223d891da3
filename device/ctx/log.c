/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* log.c - lines of the log. */
#include <stdarg.h>
#include <stdio.h>
#include "ctx/hw.h"

void dpa_log(struct dpa_hw *hw, int level, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!hw || !hw->log || level > (int)hw->cfg.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	hw->log(level, text);
}
