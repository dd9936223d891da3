/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls of congestion control programs. The rules are in ../run/ops.h. */
#include <errno.h>
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

/* The program of a reaction point whose probes are CCMAD; NULL: another one. Its image stays. */
static const struct doca_pcc *ccmad_of(const struct dpal_run *run)
{
	const struct doca_pcc *pcc = run->dpa->pcc;

	return pcc && pcc->role == &pcc_rp && pcc->probes.format == DPA_PCC_CCMAD && pcc->image
		       ? pcc
		       : NULL;
}

int dpa_op_pcc_probe_header(uint32_t flow, const uint32_t *words, uint32_t n)
{
	struct dpal_eu *eu;
	const struct doca_pcc *pcc = ccmad_of(dpa_op_begin(&eu));
	int ret = EINVAL;

	if (pcc && n <= pcc->probes.header)
		ret = pcc->ops->set_header(pcc->image, flow, words, n);
	dpal_eu_op_end(eu);
	return ret;
}

int dpa_op_pcc_probe_dscp(uint32_t flow, uint32_t dscp)
{
	struct dpal_eu *eu;
	const struct doca_pcc *pcc = ccmad_of(dpa_op_begin(&eu));
	int ret = EINVAL;

	if (pcc && pcc->custom_dscp && (dscp <= DPA_PCC_DSCP_MAX || dscp == DPA_PCC_DSCP_NONE))
		ret = pcc->ops->set_dscp(pcc->image, flow, (uint8_t)dscp);
	dpal_eu_op_end(eu);
	return ret;
}
