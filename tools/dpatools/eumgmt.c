/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpaeumgmt - EU groups and partitions of an adapter instance. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "eumgmt.h"

const char *tool_name = "dpaeumgmt";

static const struct command {
	const char *object, *verb;
	eumgmt_fn *fn;
	const char *needs, *takes; /* short options besides d */
	bool writes;
} commands[] = {
	{"eu_group", "info", group_info, "", "", false},
	{"eu_group", "create", group_create, "nr", "nr", true},
	{"eu_group", "destroy", group_destroy, "", "ng", true},
	{"eu_group", "query", group_query, "", "ng", false},
	{"eu_group", "apply", group_apply, "f", "f", true},
	{"partition", "info", partition_info, "", "", false},
	{"partition", "create", partition_create, "vrm", "vrm", true},
	{"partition", "destroy", partition_destroy, "p", "p", true},
	{"partition", "query", partition_query, "", "p", false},
};

static void print_eumgmt_usage(void)
{
	puts("Usage: dpaeumgmt eu_group|partition COMMAND -d DEVICE [OPTION...]\n"
	     "       dpaeumgmt -h|help|version");
}

static void print_help(void)
{
	print_eumgmt_usage();
	puts("\nManage the execution units (EUs) of a DPA: partitions of EUs for functions, and\n"
	     "groups within a partition.\n\n"
	     "eu_group info     limits of groups\n"
	     "eu_group create   -n NAME -r RANGE\n"
	     "eu_group destroy  -n NAME or -g ID\n"
	     "eu_group query    all, or -n NAME or -g ID\n"
	     "eu_group apply    --file_groups FILE: these groups in place of all that there are\n"
	     "partition info    limits of partitions\n"
	     "partition create  -v VHCAS -r RANGE -m MAX\n"
	     "partition destroy -p ID\n"
	     "partition query   all, or -p ID\n\n"
	     "  -d, --dpa_device DEVICE      as in dpa0; groups are those of its partition\n"
	     "  -n, --name_group NAME        at most 15 characters\n"
	     "  -r, --range_eus RANGE        as in 6-8,16\n"
	     "  -g, --id_group ID\n"
	     "  -p, --id_partition ID\n"
	     "  -v, --vhca_list VHCAS        function dpaN is VHCA N\n"
	     "  -m, --max_num_eu_group MAX   groups that the partition may have\n"
	     "  -f, --file_groups FILE       JSON: {\"eu_groups\": [{\"name\": \"a\", \"range\": "
	     "\"0-3\"}]}");
}

static const struct command *find_eumgmt_command(const char *object, const char *verb)
{
	bool known = false;

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(object, commands[i].object))
			continue;
		known = true;
		if (verb && !strcmp(verb, commands[i].verb))
			return &commands[i];
	}
	if (!known)
		tool_die(EXIT_USE, "unknown object '%s': use eu_group or partition", object);
	if (!verb)
		tool_die(EXIT_USE, "%s needs a command: see dpaeumgmt help", object);
	tool_die(EXIT_USE, "unknown command '%s' of %s: see dpaeumgmt help", verb, object);
}

static const char **option_slot(struct args *a, int c)
{
	switch (c) {
	case 'd':
		return &a->device;
	case 'n':
		return &a->name;
	case 'r':
		return &a->range;
	case 'g':
		return &a->group;
	case 'p':
		return &a->partition;
	case 'v':
		return &a->vhcas;
	case 'm':
		return &a->max_groups;
	case 'f':
		return &a->file;
	default:
		return NULL;
	}
}

static void parse_eumgmt_args(const struct command *cmd, int argc, char **argv, struct args *a)
{
	static const struct option options[] = {{"dpa_device", required_argument, NULL, 'd'},
						{"name_group", required_argument, NULL, 'n'},
						{"range_eus", required_argument, NULL, 'r'},
						{"id_group", required_argument, NULL, 'g'},
						{"id_partition", required_argument, NULL, 'p'},
						{"vhca_list", required_argument, NULL, 'v'},
						{"max_num_eu_group", required_argument, NULL, 'm'},
						{"file_groups", required_argument, NULL, 'f'},
						{0}};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "d:n:r:g:p:v:m:f:", options, NULL)) != -1) {
		const char **to = option_slot(a, c);

		if (!to)
			tool_die(EXIT_USE, "wrong option '%s': see dpaeumgmt help",
				 argv[optind - 1]);
		if (c != 'd' && !strchr(cmd->takes, c))
			tool_die(EXIT_USE, "%s %s takes no -%c", cmd->object, cmd->verb, c);
		if (*to)
			tool_die(EXIT_USE, "-%c is given twice", c);
		*to = optarg;
	}
	if (optind < argc)
		tool_die(EXIT_USE, "'%s' is too much", argv[optind]);
	if (!a->device)
		tool_die(EXIT_USE, "no device given: use -d dpa0");
	for (const char *n = cmd->needs; *n; n++)
		if (!*option_slot(a, *n))
			tool_die(EXIT_USE, "%s %s needs -%c", cmd->object, cmd->verb, *n);
}

static void run_eumgmt_command(const struct command *cmd, struct args *a)
{
	static struct dpa_eumgmt s;
	int lock = 0, ret;

	if (cmd->writes) {
		lock = dpa_eumgmt_lock(a->board);
		if (lock < 0)
			tool_die(EXIT_FAIL, "cannot lock the state beside %s: %s", a->board,
				 strerror(-lock));
	}
	ret = dpa_eumgmt_load(a->board, &s);
	if (ret)
		tool_die(EXIT_FAIL, "%s.eus is damaged or cannot be read (%s)", a->board,
			 strerror(ret));
	cmd->fn(a, &s);
	if (!cmd->writes)
		return;
	ret = dpa_eumgmt_save(a->board, &s);
	if (ret)
		tool_die(EXIT_FAIL, "cannot write %s.eus: %s", a->board, strerror(ret));
	dpa_eumgmt_unlock(lock);
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	struct args a = {0};

	setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* see tool_die() */
	if (argc < 2)
		tool_die(EXIT_USE, "no command given: see dpaeumgmt help");
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
		print_eumgmt_usage();
		return 0;
	}
	if (!strcmp(argv[1], "help")) {
		print_help();
		return 0;
	}
	if (!strcmp(argv[1], "version") || !strcmp(argv[1], "--version")) {
		puts("dpaeumgmt (dpa) " DPA_VERSION);
		return 0;
	}
	cmd = find_eumgmt_command(argv[1], argv[2]);
	parse_eumgmt_args(cmd, argc - 2, argv + 2, &a);
	a.vhca = tool_device(a.device, a.board, sizeof(a.board));
	run_eumgmt_command(cmd, &a);
	tool_end();
	return 0;
}

/* ----------------------------------------------------- shared by the commands */

uint32_t groups_left(const struct dpa_eumgmt *s)
{
	uint32_t used = s->num_groups + s->num_partitions;

	return used < DPA_EUMGMT_GROUPS ? DPA_EUMGMT_GROUPS - used : 0;
}

void parse_range(const char *text, struct dpal_eu_set *set)
{
	if (!dpal_eu_set_parse(text, NUM_EUS, set))
		tool_die(EXIT_USE, "'%s' is not a range of EUs: as in 6-8,16, each below %u", text,
			 NUM_EUS);
}

bool set_overlaps(const struct dpal_eu_set *a, const struct dpal_eu_set *b)
{
	for (size_t i = 0; i < NUM_EUS / 64; i++)
		if (a->bits[i] & b->bits[i])
			return true;
	return false;
}

bool set_within(const struct dpal_eu_set *a, const struct dpal_eu_set *b)
{
	for (size_t i = 0; i < NUM_EUS / 64; i++)
		if (a->bits[i] & ~b->bits[i])
			return false;
	return true;
}

void print_eus(const char *before, const struct dpal_eu_set *set)
{
	char text[1280];

	dpal_eu_set_text(set, false, text, sizeof(text));
	printf("%s%s\n", before, text);
}
