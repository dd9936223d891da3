/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eumgmt_partitions.c - dpaeumgmt partition: EUs that only some functions may use. */
#include <stdio.h>
#include <string.h>
#include "eumgmt.h"
#include "view.h"

static struct dpa_eumgmt_partition *named_partition(const struct args *a, struct dpa_eumgmt *s)
{
	uint32_t id = tool_number(a->partition, 10, UINT32_MAX, "partition id");

	for (uint32_t i = 0; i < s->num_partitions; i++)
		if (s->partitions[i].id == id)
			return &s->partitions[i];
	tool_die(EXIT_FAIL, "no EU partition with id %s", a->partition);
}

static void print_partition(const struct dpa_eumgmt_partition *p)
{
	printf("EU Partition ID: %u\nMaximal number of groups: %u\n", p->id, p->max_groups);
	printf("The partition has a total of %u associated VHCA IDs, namely: ", p->num_vhcas);
	for (uint32_t i = 0; i < p->num_vhcas; i++)
		printf("%s%u", i ? "," : "", p->vhcas[i]);
	print_eus("\nPartition's member EUs are: ", &p->eus);
}

static void add_vhcas(struct dpa_eumgmt_partition *p, uint32_t first, uint32_t last,
		      const char *list)
{
	for (uint32_t v = first; v <= last; v++) {
		for (uint32_t i = 0; i < p->num_vhcas; i++)
			if (p->vhcas[i] == v)
				tool_die(EXIT_USE, "VHCA %u is in '%s' twice", v, list);
		if (p->num_vhcas == DPA_EUMGMT_VHCAS)
			tool_die(EXIT_FAIL, "a partition has no more than %u VHCAs",
				 DPA_EUMGMT_VHCAS);
		p->vhcas[p->num_vhcas++] = v;
	}
}

/* Parse numbers and ranges with commas between. */
static void parse_vhca_list(const char *list, struct dpa_eumgmt_partition *p)
{
	char copy[512], *save, *dash;

	if (!list[0] || list[0] == ',' || list[strlen(list) - 1] == ',' || strstr(list, ",,") ||
	    snprintf(copy, sizeof(copy), "%s", list) >= (int)sizeof(copy))
		tool_die(EXIT_USE, "'%s' is not a list of VHCAs", list);
	for (char *t = strtok_r(copy, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		uint32_t first, last;

		dash = strchr(t, '-');
		if (dash)
			*dash++ = '\0';
		first = tool_number(t, 10, DPA_EUMGMT_VHCA_MAX, "VHCA");
		last = dash ? tool_number(dash, 10, DPA_EUMGMT_VHCA_MAX, "VHCA") : first;
		if (last < first)
			tool_die(EXIT_USE, "'%s' is not a list of VHCAs", list);
		add_vhcas(p, first, last, list);
	}
}

static void check_new(struct dpa_eumgmt *s, const struct dpa_eumgmt_partition *p)
{
	for (uint32_t i = 0; i < p->num_vhcas; i++)
		if (dpa_eumgmt_partition_of(s, p->vhcas[i]))
			tool_die(EXIT_FAIL, "VHCA %u is in partition %u", p->vhcas[i],
				 dpa_eumgmt_partition_of(s, p->vhcas[i])->id);
	for (uint32_t i = 0; i < s->num_partitions; i++)
		if (set_overlaps(&s->partitions[i].eus, &p->eus))
			tool_die(EXIT_FAIL, "EUs of the range are in partition %u",
				 s->partitions[i].id);
	for (uint32_t i = 0; i < s->num_groups; i++)
		if (set_overlaps(&s->groups[i].eus, &p->eus))
			tool_die(EXIT_FAIL, "EUs of the range are in group '%s'",
				 s->groups[i].name);
	if (!groups_left(s))
		tool_die(EXIT_FAIL, "there are no more than %u groups and partitions",
			 DPA_EUMGMT_GROUPS);
}

static uint32_t free_partition_id(const struct dpa_eumgmt *s)
{
	uint32_t id = 1;

	for (uint32_t i = 0; i < s->num_partitions; i++)
		if (s->partitions[i].id == id) {
			id++;
			i = UINT32_MAX; /* start again from the first */
		}
	return id;
}

void partition_info(const struct args *a, struct dpa_eumgmt *s)
{
	struct dpa_eumgmt_eus own;

	dpa_eumgmt_select(s, a->vhca, NUM_EUS, &own);
	printf("Max number of DPA EU partitions: %u\n", DPA_EUMGMT_PARTITIONS);
	printf("Max number of VHCAs associated with a single partition: %u\n", DPA_EUMGMT_VHCAS);
	printf("Max number of DPA EU groups: %u\n", DPA_EUMGMT_GROUPS);
	printf("Note- an allocation of a partition consumes from the number of DPA EU *groups* "
	       "available to create\n");
	printf("Max number of DPA EUs available to use: %u\n", dpal_eu_set_count(&own.pool));
}

void partition_create(const struct args *a, struct dpa_eumgmt *s)
{
	struct dpa_eumgmt_partition p = {.id = free_partition_id(s)};

	parse_vhca_list(a->vhcas, &p);
	parse_range(a->range, &p.eus);
	p.max_groups = tool_number(a->max_groups, 10, DPA_EUMGMT_GROUPS, "number of groups");
	check_new(s, &p);
	s->partitions[s->num_partitions++] = p;
	printf("Partition created successfully-\n");
	print_partition(&p);
}

/* Check that no process runs on one of its functions: such a process relies on its EUs. */
static void check_unused(const struct args *a, const struct dpa_eumgmt_partition *p)
{
	static struct view views[VIEW_MAX];
	int n = view_open(a->board, NULL, views);

	for (int i = 0; i < n; i++)
		for (uint32_t k = 0; k < p->num_vhcas; k++)
			if (dpa_eumgmt_vhca(views[i].file->head.device) == p->vhcas[k])
				tool_die(EXIT_FAIL, "process %u runs on %s of partition %u",
					 views[i].file->head.pid, views[i].file->head.device,
					 p->id);
	view_close(views, n);
}

void partition_destroy(const struct args *a, struct dpa_eumgmt *s)
{
	struct dpa_eumgmt_partition *p = named_partition(a, s);
	size_t after = s->num_partitions - (size_t)(p - s->partitions) - 1;

	for (uint32_t i = 0; i < s->num_groups; i++)
		if (s->groups[i].partition == p->id)
			tool_die(EXIT_FAIL, "partition %u has the group '%s': destroy that first",
				 p->id, s->groups[i].name);
	check_unused(a, p);
	printf("Partition with partition id: %u, was destroyed successfully\n", p->id);
	memmove(p, p + 1, after * sizeof(*p));
	s->num_partitions--;
}

void partition_query(const struct args *a, struct dpa_eumgmt *s)
{
	if (a->partition) {
		print_partition(named_partition(a, s));
		return;
	}
	for (uint32_t i = 0; i < s->num_partitions; i++) {
		printf("%u) ", i + 1);
		print_partition(&s->partitions[i]);
		putchar('\n');
	}
	printf("In total there are %u EU partitions configured.\n", s->num_partitions);
}
