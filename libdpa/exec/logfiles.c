/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* logfiles.c - destinations of the log and the trace of device code. */
#include <stdlib.h>
#include <string.h>
#include "exec.h"

void dpa_sink_close(struct dpa_sink *sink)
{
	if (sink->file)
		fclose(sink->file);
	free(sink->path);
	*sink = (struct dpa_sink){0};
}

/*
 * Set the path. On failure the previous path stays. "e": executed programs do not inherit the file.
 */
static doca_error_t set_sink_path(struct dpa_sink *sink, const char *path)
{
	struct dpa_sink s = {.path = strdup(path)};

	if (!s.path)
		return DOCA_ERROR_NO_MEMORY;
	s.file = fopen(path, "we");
	if (!s.file) {
		free(s.path);
		return DOCA_ERROR_OPERATING_SYSTEM;
	}
	dpa_sink_close(sink);
	*sink = s;
	return DOCA_SUCCESS;
}

static doca_error_t get_path(const struct dpa_sink *sink, char *path, uint32_t *len)
{
	const char *is = sink->path ? sink->path : "";
	uint32_t have = *len, need = (uint32_t)strlen(is) + 1;

	*len = need;
	if (have < need)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(path, is, need);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_log_file_set_path(struct doca_dpa *dpa, const char *file_path)
{
	doca_error_t ret;

	if (!dpa_live(dpa) || !file_path || !*file_path)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_CREATED || dpa->base)
		return DOCA_ERROR_BAD_STATE;
	ret = set_sink_path(&dpa->log_sink, file_path);
	dpa->log_path = dpa->log_sink.path;
	return ret;
}

doca_error_t doca_dpa_log_file_get_path(struct doca_dpa *dpa, char *file_path,
					uint32_t *file_path_len)
{
	if (!dpa_live(dpa) || !file_path || !file_path_len)
		return DOCA_ERROR_INVALID_VALUE;
	return get_path(&dpa_base(dpa)->log_sink, file_path, file_path_len);
}

doca_error_t doca_dpa_trace_file_set_path(struct doca_dpa *dpa, const char *file_path)
{
	if (!dpa_live(dpa) || !file_path || !*file_path)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa->state != DPA_CREATED || dpa->base)
		return DOCA_ERROR_BAD_STATE;
	return set_sink_path(&dpa->trace_sink, file_path);
}

doca_error_t doca_dpa_trace_file_get_path(struct doca_dpa *dpa, char *file_path,
					  uint32_t *file_path_len)
{
	if (!dpa_live(dpa) || !file_path || !file_path_len)
		return DOCA_ERROR_INVALID_VALUE;
	return get_path(&dpa_base(dpa)->trace_sink, file_path, file_path_len);
}
