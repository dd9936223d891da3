/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* parse.c - reads the configuration file and the environment, and reports errors in them. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "knobs.h"
#include "units.h"

#define LINE_MAX_LEN 1024

static const struct dpa_knob *find_knob(const char *name, bool in_file)
{
	for (size_t i = 0; i < dpa_knobs_num; i++)
		if (strcmp(dpa_knobs[i].name, name) == 0 && !(in_file && dpa_knobs[i].env_only))
			return &dpa_knobs[i];
	return NULL;
}

/* Number of letters to insert, drop or change to turn a into b (Levenshtein). */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[32], la = strlen(a), lb = strlen(b);

	if (lb >= 32 || la >= 32)
		return 32;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 0; i < la; i++) {
		size_t diag = row[0]++;

		for (size_t j = 0; j < lb; j++) {
			size_t best = diag + (tolower((unsigned char)a[i]) != b[j]);

			diag = row[j + 1];
			if (best > diag + 1)
				best = diag + 1;
			if (best > row[j] + 1)
				best = row[j] + 1;
			row[j + 1] = best;
		}
	}
	return row[lb];
}

/* Returns the setting that was probably meant by an unknown name, or NULL. */
static const struct dpa_knob *nearest_knob(const char *name, bool in_file)
{
	const struct dpa_knob *found = NULL;
	size_t best = 4;

	for (size_t i = 0; i < dpa_knobs_num; i++) {
		size_t d = edit_distance(name, dpa_knobs[i].name);

		if (in_file && dpa_knobs[i].env_only)
			continue;
		if (d < best && d < strlen(dpa_knobs[i].name)) {
			best = d;
			found = &dpa_knobs[i];
		}
	}
	return found;
}

__attribute__((format(printf, 3, 4))) static int put_error(char *err, size_t len, const char *fmt,
							   ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (len)
		vsnprintf(err, len, fmt, ap);
	va_end(ap);
	return EINVAL;
}

static int unknown_key(const char *path, unsigned line, const char *key, char *err, size_t errlen)
{
	const struct dpa_knob *near = nearest_knob(key, true);

	if (near)
		return put_error(err, errlen, "%s:%u: unknown key '%s': write '%s'?", path, line,
				 key, near->name);
	return put_error(err, errlen, "%s:%u: unknown key '%s': remove the line", path, line, key);
}

static int parse_config_line(struct dpa_config *cfg, const char *path, unsigned line, char *text,
			     char *err, size_t errlen)
{
	const struct dpa_knob *k;
	char *eq, *key, *value;

	text = dpa_units_bare(text);
	if (!*text)
		return 0;
	eq = strchr(text, '=');
	if (!eq)
		return put_error(err, errlen, "%s:%u: no '=' in '%.40s': write KEY = VALUE", path,
				 line, text);
	*eq = '\0';
	key = dpa_units_bare(text);
	value = dpa_units_bare(eq + 1);
	k = find_knob(key, true);
	if (!k)
		return unknown_key(path, line, key, err, errlen);
	if (!dpa_knob_set(k, cfg, value))
		return put_error(err, errlen, "%s:%u: bad value '%.60s' of %s: use %s", path, line,
				 value, key, k->use);
	return 0;
}

int dpa_config_file(struct dpa_config *cfg, const char *path, char *err, size_t errlen)
{
	char text[LINE_MAX_LEN];
	unsigned line = 0;
	int ret = 0;
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return put_error(err, errlen,
				 "%s: cannot be read (%s): correct the path or its permissions",
				 path, strerror(errno));
	while (!ret && fgets(text, sizeof(text), f)) {
		line++;
		if (!strchr(text, '\n') && !feof(f))
			ret = put_error(err, errlen,
					"%s:%u: longer than %d characters: shorten the line", path,
					line, LINE_MAX_LEN - 2);
		else
			ret = parse_config_line(cfg, path, line, text, err, errlen);
	}
	if (!ret && ferror(f)) /* for example, a folder */
		ret = put_error(err, errlen, "%s:%u: cannot be read: is it a text file?", path,
				line + 1);
	fclose(f);
	if (!ret)
		snprintf(cfg->config, sizeof(cfg->config), "%s", path);
	return ret;
}

/* "DPA_LOG_FILE" -> "log_file"; "" for a name that no setting has (DPA_Log has small letters). */
static void knob_name(const char *var, size_t len, char *name, size_t size)
{
	name[0] = '\0';
	if (len >= size)
		return;
	for (size_t i = 0; i < len; i++)
		if (islower((unsigned char)var[i]))
			return;
	for (size_t i = 0; i < len; i++)
		name[i] = (char)tolower((unsigned char)var[i]);
	name[len] = '\0';
}

static int unknown_var(const char *var, int len, const char *name, char *err, size_t errlen)
{
	const struct dpa_knob *near = nearest_knob(name, false);
	char known[40];

	if (!near)
		return put_error(err, errlen, "environment: unknown variable %.*s: unset it", len,
				 var);
	dpa_knob_env_name(near, known, sizeof(known));
	return put_error(err, errlen, "environment: unknown variable %.*s: unset it, or is it %s?",
			 len, var, known);
}

static int parse_var(struct dpa_config *cfg, const char *var, char *err, size_t errlen)
{
	const char *eq = strchr(var, '=');
	const struct dpa_knob *k;
	char name[32];

	if (strncmp(var, "DPA_", 4) != 0 || !eq)
		return 0;
	knob_name(var + 4, (size_t)(eq - var) - 4, name, sizeof(name));
	k = find_knob(name, false);
	if (!k)
		return unknown_var(var, (int)(eq - var), name, err, errlen);
	if (!dpa_knob_set(k, cfg, eq + 1))
		return put_error(err, errlen, "environment: bad value '%.60s' of %.*s: use %s",
				 eq + 1, (int)(eq - var), var, k->use);
	return 0;
}

int dpa_config_env(struct dpa_config *cfg, char *const *env, char *err, size_t errlen)
{
	int ret = 0;

	for (; env && *env && !ret; env++)
		ret = parse_var(cfg, *env, err, errlen);
	return ret;
}

int dpa_config_load(struct dpa_config *cfg, char *err, size_t errlen)
{
	char *const *env = getauxval(AT_SECURE) ? NULL : environ;
	struct dpa_config probe;
	const char *path = DPA_CONFIG_DEFAULT;
	int ret;

	if (errlen)
		err[0] = '\0';
	/* The environment is applied last but names the file: read that variable first. */
	dpa_config_defaults(&probe);
	ret = dpa_config_env(&probe, env, err, errlen);
	if (ret)
		return ret;
	if (probe.config[0])
		path = probe.config;
	dpa_config_defaults(cfg);
	if (probe.config[0] || access(path, F_OK) == 0 || errno == EACCES) {
		ret = dpa_config_file(cfg, path, err, errlen);
		if (ret)
			return ret;
	}
	return dpa_config_env(cfg, env, err, errlen);
}
