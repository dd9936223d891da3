/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * firewall.c - rules of nftables that concern UDP 4791, as `nft -j list ruleset` shows them. It
 * does not evaluate the rules: it shows which of them names the port, and where all packets that no
 * rule names are dropped.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include "doctor.h"

#define PORT 4791

static struct json_object *json_member(struct json_object *o, const char *key)
{
	struct json_object *m = NULL;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &m)
		       ? m
		       : NULL;
}

static const char *json_text(struct json_object *o, const char *key)
{
	struct json_object *m = json_member(o, key);

	return m && json_object_is_type(m, json_type_string) ? json_object_get_string(m) : "";
}

/* A number, {"range": [from, to]}, or {"set": [...]} of those. */
static bool has_roce_port(struct json_object *o)
{
	struct json_object *list = json_member(o, "range");

	if (json_object_is_type(o, json_type_int))
		return json_object_get_int(o) == PORT;
	if (list && json_object_array_length(list) == 2)
		return json_object_get_int(json_object_array_get_idx(list, 0)) <= PORT &&
		       json_object_get_int(json_object_array_get_idx(list, 1)) >= PORT;
	list = json_member(o, "set");
	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		if (has_roce_port(json_object_array_get_idx(list, i)))
			return true;
	return false;
}

/* "udp dport ..." or "th dport ..." with the port in it. */
static bool names_port(struct json_object *expr)
{
	struct json_object *m = json_member(expr, "match"),
			   *left = m ? json_member(m, "left") : NULL;
	struct json_object *payload = left ? json_member(left, "payload") : NULL;
	const char *protocol = payload ? json_text(payload, "protocol") : "";

	return payload && !strcmp(json_text(payload, "field"), "dport") &&
	       (!strcmp(protocol, "udp") || !strcmp(protocol, "th")) && m &&
	       !strcmp(json_text(m, "op"), "==") && has_roce_port(json_member(m, "right"));
}

struct found {
	bool drops, accepts; /* a rule names the port */
	char rule[128];	     /* where the one is that drops */
	char policy[128];    /* a chain that drops what no rule accepts; "": none */
};

static void look_at_rule(struct json_object *rule, struct found *f)
{
	struct json_object *list = json_member(rule, "expr");
	bool named = false;

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *e = json_object_array_get_idx(list, i);

		named |= names_port(e);
		if (!named)
			continue;
		if (json_object_object_get_ex(e, "drop", NULL) ||
		    json_object_object_get_ex(e, "reject", NULL)) {
			f->drops = true;
			snprintf(f->rule, sizeof(f->rule), "%s %s %s", json_text(rule, "family"),
				 json_text(rule, "table"), json_text(rule, "chain"));
		}
		f->accepts |= json_object_object_get_ex(e, "accept", NULL);
	}
}

static void look_at_chain(struct json_object *chain, struct found *f)
{
	const char *hook = json_text(chain, "hook");

	if ((!strcmp(hook, "input") || !strcmp(hook, "output")) &&
	    !strcmp(json_text(chain, "policy"), "drop"))
		snprintf(f->policy, sizeof(f->policy), "%s %s %s", json_text(chain, "family"),
			 json_text(chain, "table"), json_text(chain, "name"));
}

/* nft would load the module. */
static bool has_nf_tables(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	bool found = false;
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "nf_tables_");
	if (f)
		fclose(f);
	return found;
}

static bool read_nft_rules(struct found *f)
{
	static char buf[1 << 20];
	FILE *p = popen("PATH=$PATH:/usr/sbin:/sbin nft -j list ruleset 2>/dev/null", "re");
	size_t n = p ? fread(buf, 1, sizeof(buf) - 1, p) : 0;
	struct json_object *all, *list;
	int status = p ? pclose(p) : -1;

	if (status || !n)
		return false;
	buf[n] = '\0';
	all = json_tokener_parse(buf);
	list = all ? json_member(all, "nftables") : NULL;
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		if (json_member(o, "rule"))
			look_at_rule(json_member(o, "rule"), f);
		if (json_member(o, "chain"))
			look_at_chain(json_member(o, "chain"), f);
	}
	json_object_put(all);
	return list;
}

void look_at_firewall(struct visit *v)
{
	struct found f = {.drops = false};

	if (!has_nf_tables())
		say(v, OK, "firewall", NULL, "this kernel has no nftables");
	else if (!read_nft_rules(&f))
		say(v, OK, "firewall", NULL,
		    "not looked at: `nft list ruleset` is not there or not allowed");
	else if (f.drops)
		say(v, BAD, "firewall",
		    "accept UDP 4791 from the hosts that shall be reached; between processes of "
		    "this host nothing is missing",
		    "a rule of chain %s drops or rejects UDP 4791", f.rule);
	else if (f.policy[0] && !f.accepts)
		say(v, NOTE, "firewall",
		    "nft add rule FAMILY TABLE CHAIN udp dport 4791 accept, if other hosts shall "
		    "be reached",
		    "chain %s drops what no rule accepts, and no rule names UDP 4791", f.policy);
	else
		say(v, OK, "firewall", NULL, "no rule of nftables drops UDP 4791");
}
