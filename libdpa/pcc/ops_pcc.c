/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls of congestion control programs. The rules are in ../run/ops.h. */
#include "../run/ops.h"
#include "ops_pcc.h"
#include "pcc.h"

#define LINE 512

void dpa_op_pcc_print(const char *text, uint64_t len)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);

	dpa_devlog_put_text(run->dpa->log, text, len);
	dpal_eu_op_end(eu);
}

/* The formats are the host's copies, and have numbers only: doca_pcc_set_trace_message(). */
void dpa_op_pcc_trace(uint32_t format, const uint64_t words[5])
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	const struct doca_pcc *pcc = run->dpa->pcc;
	char line[LINE];
	int n;

	if (pcc && format < pcc->num_formats) {
		n = snprintf(line, sizeof(line), pcc->formats[format], words[0], words[1], words[2],
			     words[3], words[4]);
		if (n > 0)
			dpa_devlog_put_text(run->dpa->trace, line,
					    n < LINE ? (uint64_t)n : LINE - 1);
	} else {
		dpa_devlog_put_trace(run->dpa->trace, eu->id, words);
	}
	dpal_eu_op_end(eu);
}

void dpa_op_pcc_port_bytes(uint64_t bytes[2])
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	const struct doca_pcc *pcc = run->dpa->pcc;

	bytes[0] = bytes[1] = 0;
	if (pcc)
		pcc->ops->port_bytes(pcc->port, &bytes[0], &bytes[1]);
	dpal_eu_op_end(eu);
}
