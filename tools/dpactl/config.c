/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* config.c - the settings: value, default, what may be written, what for. */
#include <stdio.h>
#include "dpactl.h"

static const char *or_dash(const char *s)
{
	return s[0] ? s : "-";
}

static void knob_json(struct json_object *list, const struct dpa_knob *k, const char *value)
{
	struct json_object *o = json_object_new_object();
	char env[64];

	dpa_knob_env_name(k, env, sizeof(env));
	if (!k->env_only)
		json_add(o, "name", k->name);
	json_add(o, "environment", env);
	json_add(o, "value", value);
	json_add(o, "default", k->def);
	json_add(o, "use", k->use);
	json_add(o, "help", k->help);
	json_object_array_add(list, o);
}

static void knob_text(const struct dpa_knob *k, const char *value)
{
	char env[64];

	dpa_knob_env_name(k, env, sizeof(env));
	printf("\n%s = %s\n", k->env_only ? env : k->name, or_dash(value));
	printf("    %s\n", k->help);
	printf("    use %s; default %s", k->use, or_dash(k->def));
	if (!k->env_only)
		printf("; %s in the environment", env);
	putchar('\n');
}

void cmd_config(struct ctl *c)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	char value[DPA_CONFIG_PATH_MAX + 16];

	if (!c->json)
		printf("configuration file: %s\n",
		       c->cfg.config[0] ? c->cfg.config : DPA_CONFIG_DEFAULT " (there is none)");
	for (size_t i = 0; i < dpa_knobs_num; i++) {
		dpa_knob_value(&dpa_knobs[i], &c->cfg, value, sizeof(value));
		if (c->json)
			knob_json(list, &dpa_knobs[i], value);
		else
			knob_text(&dpa_knobs[i], value);
	}
	json_add(o, "file", c->cfg.config);
	json_object_object_add(o, "settings", list);
	if (c->json)
		print_json(o);
	else
		json_object_put(o);
}
