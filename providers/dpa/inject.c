/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inject.c - calls that fail on request (docs/inject.md). Nothing here runs without rules. */
#include <knobs.h>
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

int dpav_injected(const char *call, uint64_t size, uint32_t qpn, int to)
{
	const struct dpa_hw_call c = {.name = call, .size = size, .qpn = qpn, .to = to};

	return dpa_hw_inject_call(&c);
}

int dpav_asks_call(const uint32_t *alive, const char *call, uint32_t qpn)
{
	if (!dpa_word_alive(alive))
		return EIO;
	return dpa_hw_injecting(DPA_INJECT_CALL) ? dpav_injected(call, 0, qpn, DPA_INJECT_ANY) : 0;
}

/* As rdma-core reads it. */
bool dpav_may_destroy_gone(void)
{
	const char *set = getenv("RDMAV_ALLOW_DISASSOC_DESTROY");

	return set && strcmp(set, "0") != 0;
}

void dpav_inject_begin(void)
{
	struct dpa_config cfg;
	char err[512];

	if (dpa_config_load(&cfg, err, sizeof(err))) /* bad settings are reported at the open */
		return;
	dpa_log_setup(cfg.log_file, (int)cfg.log);
	dpa_hw_inject_record(cfg.inject_calls);
	dpa_hw_inject_begin(&cfg.inject, dpa_log_line);
}
