/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* env.c - the environment that makes a program see dpa0. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpa-run.h"

static bool has_entry(const char *list, const char *entry, const char *separators)
{
	size_t len = strlen(entry);

	while (*list) {
		size_t n = strcspn(list, separators);

		if (n == len && memcmp(list, entry, len) == 0)
			return true;
		list += n;
		list += strspn(list, separators);
	}
	return false;
}

void env_append(const char *var, const char *entry, const char *separators)
{
	const char *old = getenv(var);
	char *list;

	if (!old || !*old) {
		if (setenv(var, entry, 1))
			die(EXIT_FAILED, "%s: %s", var, strerror(errno));
		return;
	}
	if (has_entry(old, entry, separators))
		return;
	if (asprintf(&list, "%s:%s", old, entry) < 0 || setenv(var, list, 1))
		die(EXIT_FAILED, "%s: %s", var, strerror(ENOMEM));
	free(list);
}

/* libibverbs reads IBV_DRIVERS only if RDMAV_DRIVERS is not set. */
static const char *driver_var(void)
{
	return getenv("RDMAV_DRIVERS") ? "RDMAV_DRIVERS" : "IBV_DRIVERS";
}

void env_driver(const struct place *pl)
{
	env_append(driver_var(), pl->driver, ":;");
}

void env_preload(const struct place *pl)
{
	env_append("LD_PRELOAD", pl->preload, " :");
}

void env_print(void)
{
	const char *vars[] = {"LD_PRELOAD", driver_var()};

	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++)
		if (getenv(vars[i]))
			printf("%s=%s\n", vars[i], getenv(vars[i]));
}
