/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eumgmt_groups.c - dpaeumgmt eu_group: groups of the device's partition. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include "eumgmt.h"

static uint32_t own_partition(const struct args *a, struct dpa_eumgmt *s)
{
	const struct dpa_eumgmt_partition *p = dpa_eumgmt_partition_of(s, a->vhca);

	return p ? p->id : 0;
}

static uint32_t groups_in(const struct dpa_eumgmt *s, uint32_t partition)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->num_groups; i++)
		n += s->groups[i].partition == partition;
	return n;
}

static struct dpa_eumgmt_group *by_name(struct dpa_eumgmt *s, uint32_t partition, const char *name)
{
	for (uint32_t i = 0; i < s->num_groups; i++)
		if (s->groups[i].partition == partition && !strcmp(s->groups[i].name, name))
			return &s->groups[i];
	return NULL;
}

static struct dpa_eumgmt_group *by_id(struct dpa_eumgmt *s, uint32_t partition, uint32_t id)
{
	for (uint32_t i = 0; i < s->num_groups; i++)
		if (s->groups[i].partition == partition && s->groups[i].id == id)
			return &s->groups[i];
	return NULL;
}

/* Find the group of -n or -g; exits if there is none. */
static struct dpa_eumgmt_group *named_group(const struct args *a, struct dpa_eumgmt *s)
{
	uint32_t partition = own_partition(a, s);
	struct dpa_eumgmt_group *g;

	if (a->name && a->group)
		tool_die(EXIT_USE, "use -n or -g, not both");
	if (a->name) {
		g = by_name(s, partition, a->name);
		if (!g)
			tool_die(EXIT_FAIL, "no EU group '%s'", a->name);
		return g;
	}
	g = by_id(s, partition, tool_number(a->group, 10, UINT32_MAX, "group id"));
	if (!g)
		tool_die(EXIT_FAIL, "no EU group with id %s", a->group);
	return g;
}

static void print_group(const struct dpa_eumgmt_group *g)
{
	printf("EU group ID: %u\nEU group name: %s\n", g->id, g->name);
	print_eus("Member EUs are: ", &g->eus);
}

static void check_name(const char *name)
{
	size_t n = strlen(name);

	if (!n || n > DPA_EUMGMT_NAME)
		tool_die(EXIT_USE, "the name '%s' has not 1 to %u characters", name,
			 DPA_EUMGMT_NAME);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 127)
			tool_die(EXIT_USE, "a name has no control characters");
	if (name[0] == ' ' || name[n - 1] == ' ')
		tool_die(EXIT_USE, "the name '%s' begins or ends with a space", name);
}

static void check_eus(const struct dpa_eumgmt *s, const struct args *a,
		      const struct dpa_eumgmt_group *g)
{
	struct dpa_eumgmt_eus own;

	dpa_eumgmt_select(s, a->vhca, NUM_EUS, &own);
	if (dpal_eu_set_count(&g->eus) > DPA_EUMGMT_GROUP_EUS)
		tool_die(EXIT_FAIL, "group '%s' has more than %u EUs", g->name,
			 DPA_EUMGMT_GROUP_EUS);
	if (!set_within(&g->eus, &own.pool))
		tool_die(EXIT_FAIL, "group '%s' has EUs that are not in the partition of %s",
			 g->name, a->device);
	for (uint32_t i = 0; i < s->num_groups; i++)
		if (set_overlaps(&g->eus, &s->groups[i].eus))
			tool_die(EXIT_FAIL, "EUs of group '%s' are in group '%s'", g->name,
				 s->groups[i].name);
}

static uint32_t free_group_id(const struct dpa_eumgmt *s)
{
	uint32_t id = 1;

	for (uint32_t i = 0; i < s->num_groups; i++)
		if (s->groups[i].id == id) {
			id++;
			i = UINT32_MAX; /* start again from the first */
		}
	return id;
}

static struct dpa_eumgmt_group *add_eu_group(const struct args *a, struct dpa_eumgmt *s,
					     const char *name, const char *range)
{
	const struct dpa_eumgmt_partition *p = dpa_eumgmt_partition_of(s, a->vhca);
	struct dpa_eumgmt_group g = {.id = free_group_id(s), .partition = p ? p->id : 0};

	check_name(name);
	snprintf(g.name, sizeof(g.name), "%s", name);
	parse_range(range, &g.eus);
	if (by_name(s, g.partition, name))
		tool_die(EXIT_FAIL, "there is an EU group '%s'", name);
	if (p && groups_in(s, p->id) >= p->max_groups)
		tool_die(EXIT_FAIL, "partition %u has its %u groups", p->id, p->max_groups);
	if (!groups_left(s))
		tool_die(EXIT_FAIL, "there are no more than %u groups and partitions",
			 DPA_EUMGMT_GROUPS);
	check_eus(s, a, &g);
	s->groups[s->num_groups] = g;
	return &s->groups[s->num_groups++];
}

static void take_out_group(struct dpa_eumgmt *s, struct dpa_eumgmt_group *g)
{
	size_t after = s->num_groups - (size_t)(g - s->groups) - 1;

	memmove(g, g + 1, after * sizeof(*g));
	s->num_groups--;
}

static void print_all(const struct args *a, struct dpa_eumgmt *s)
{
	uint32_t partition = own_partition(a, s), n = 0;

	for (uint32_t i = 0; i < s->num_groups; i++) {
		if (s->groups[i].partition != partition)
			continue;
		printf("%u) ", ++n);
		print_group(&s->groups[i]);
		putchar('\n');
	}
	printf("In total there are %u EU groups configured.\n", n);
}

void group_info(const struct args *a, struct dpa_eumgmt *s)
{
	struct dpa_eumgmt_eus own;

	dpa_eumgmt_select(s, a->vhca, NUM_EUS, &own);
	printf("Max number of DPA EU groups: %u\n", DPA_EUMGMT_GROUPS);
	printf("Max number of DPA EUs in one DPA EU group: %u\n", DPA_EUMGMT_GROUP_EUS);
	printf("Max DPA EU number available to use: %u\n", dpal_eu_set_count(&own.pool));
	printf("Max EU group name length is %u chars\n", DPA_EUMGMT_NAME);
}

void group_create(const struct args *a, struct dpa_eumgmt *s)
{
	const struct dpa_eumgmt_group *g = add_eu_group(a, s, a->name, a->range);

	printf("Group created successfully-\n");
	print_group(g);
}

void group_destroy(const struct args *a, struct dpa_eumgmt *s)
{
	struct dpa_eumgmt_group *g;

	if (!a->name && !a->group)
		tool_die(EXIT_USE, "eu_group destroy needs -n or -g");
	g = named_group(a, s);
	if (a->name)
		printf("Group with group name: %s, was destroyed successfully\n", g->name);
	else
		printf("Group with group id: %u, was destroyed successfully\n", g->id);
	take_out_group(s, g);
}

void group_query(const struct args *a, struct dpa_eumgmt *s)
{
	if (a->name || a->group)
		print_group(named_group(a, s));
	else
		print_all(a, s);
}

static const char *text_of(struct json_object *o, const char *key, const char *file, size_t i)
{
	struct json_object *v;

	if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, key, &v) ||
	    !json_object_is_type(v, json_type_string))
		tool_die(EXIT_FAIL, "%s: group %zu has no text \"%s\"", file, i + 1, key);
	return json_object_get_string(v);
}

/* All or nothing: an error ends the program before anything is saved. */
void group_apply(const struct args *a, struct dpa_eumgmt *s)
{
	struct json_object *root = json_object_from_file(a->file), *list;
	uint32_t partition = own_partition(a, s);

	if (!root) /* json-c's text ends with a newline */
		tool_die(EXIT_FAIL, "cannot read %s: %.*s", a->file,
			 (int)strcspn(json_util_get_last_err(), "\n"), json_util_get_last_err());
	if (!json_object_is_type(root, json_type_object) ||
	    !json_object_object_get_ex(root, "eu_groups", &list) ||
	    !json_object_is_type(list, json_type_array))
		tool_die(EXIT_FAIL, "%s: there is no list \"eu_groups\"", a->file);
	for (uint32_t i = s->num_groups; i-- > 0;)
		if (s->groups[i].partition == partition)
			take_out_group(s, &s->groups[i]);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		add_eu_group(a, s, text_of(o, "name", a->file, i), text_of(o, "range", a->file, i));
	}
	json_object_put(root);
	print_all(a, s);
}
