/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * explain.c - what an error completion means: its status and vendor_err, the cause and the fix. The
 * table of docs/vendor-errors.md is the output of `dpactl explain` without numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_hw.h>
#include "dpactl.h"
#include "tables/meaning.h"

#define MOST_VENDOR 0x60u

static void put_table(void)
{
	struct dpa_meaning m;

	printf("# Errors of completions\n\n"
	       "`dpactl explain STATUS VENDOR_ERR` prints the rows of one completion, `dpactl "
	       "errors` the last error completions.\nThis page is the output of `dpactl "
	       "explain`.\n\n"
	       "| status | name | cause | fix |\n|---|---|---|---|\n");
	for (uint32_t i = 0; dpa_status_meaning(i, &m); i++)
		printf("| %u | `%s` | %s | %s |\n", i, m.name, m.cause, m.fix);
	printf("\n| vendor_err | name | cause | fix |\n|---|---|---|---|\n");
	for (uint32_t i = 0; i < MOST_VENDOR; i++)
		if (dpa_vendor_meaning(i, &m))
			printf("| 0x%02x | `DPA_SYN_%s` | %s | %s |\n", i, m.name, m.cause, m.fix);
}

static uint32_t code_number(const char *text, const char *what)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (!*text || *end || *text == '-' || n > UINT32_MAX)
		die(EXIT_USAGE, "'%s' is not a %s", text, what);
	return (uint32_t)n;
}

/* A number, or the name of enum ibv_wc_status, with or without IBV_WC_. */
static uint32_t status_of(const char *text)
{
	struct dpa_meaning m;

	for (uint32_t i = 0; dpa_status_meaning(i, &m); i++)
		if (strcmp(text, m.name) == 0 || strcmp(text, m.name + strlen("IBV_WC_")) == 0)
			return i;
	return code_number(text, "completion status");
}

void json_add_meaning(struct json_object *o, const char *key, uint32_t value,
		      const struct dpa_meaning *m)
{
	struct json_object *part = json_object_new_object();

	json_add_num(part, "value", value);
	json_add(part, "name", m->name);
	json_add(part, "cause", m->cause);
	json_add(part, "fix", m->fix);
	json_object_object_add(o, key, part);
}

void cmd_explain(struct ctl *c)
{
	struct dpa_meaning s, m = {0};
	uint32_t status, vendor = 0;
	struct json_object *o;
	bool known;

	if (!c->nargs) {
		put_table();
		return;
	}
	if (c->nargs > 2)
		die(EXIT_USAGE, "use explain STATUS VENDOR_ERR");
	status = status_of(c->args[0]);
	if (!dpa_status_meaning(status, &s))
		die(EXIT_USAGE, "there is no completion status %u", status);
	if (c->nargs == 2)
		vendor = code_number(c->args[1], "vendor error");
	known = c->nargs == 2 && dpa_vendor_meaning(vendor, &m);
	if (c->nargs == 2 && !known)
		die(EXIT_USAGE, "dpa0 has no vendor error 0x%02x", vendor);
	if (c->json) {
		o = json_object_new_object();
		json_add_meaning(o, "status", status, &s);
		if (known)
			json_add_meaning(o, "vendor_err", vendor, &m);
		print_json(o);
		return;
	}
	printf("status %u, %s: %s\n  fix: %s\n", status, s.name, s.cause, s.fix);
	if (known)
		printf("vendor error 0x%02x, DPA_SYN_%s: %s\n  fix: %s\n", vendor, m.name, m.cause,
		       m.fix);
}
