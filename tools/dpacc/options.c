/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * options.c - the command line. Long options may have one dash or two, as the original takes them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dpacc.h"

enum opt {
	O_OUTPUT,
	O_APP,
	O_HOSTCC,
	O_HOSTCC_OPTIONS,
	O_DEVICECC,
	O_DEVICECC_OPTIONS,
	O_DEVICELINK_OPTIONS,
	O_DEVICE_LIBS,
	O_MCPU,
	O_KEEP_DIR,
	O_KEEP,
	O_GEN_LIBS,
	O_OPTIONS_FILE,
	O_PROC_ATTR,
	O_FLTO,
	O_NO_ASM_CHECKS,
	O_VERBOSE,
	O_DRYRUN,
	O_HELP,
	O_VERSION,
};

static const struct {
	const char *name;
	enum opt opt;
	bool arg;
} longs[] = {
	{"output-file", O_OUTPUT, true},
	{"app-name", O_APP, true},
	{"hostcc", O_HOSTCC, true},
	{"hostcc-options", O_HOSTCC_OPTIONS, true},
	{"devicecc", O_DEVICECC, true},
	{"devicecc-options", O_DEVICECC_OPTIONS, true},
	{"devicelink-options", O_DEVICELINK_OPTIONS, true},
	{"device-libs", O_DEVICE_LIBS, true},
	{"mcpu", O_MCPU, true},
	{"keep-dir", O_KEEP_DIR, true},
	{"keep", O_KEEP, false},
	{"gen-libs", O_GEN_LIBS, false},
	{"optf", O_OPTIONS_FILE, true},
	{"options-file", O_OPTIONS_FILE, true},
	{"dpa-proc-attr", O_PROC_ATTR, true},
	{"flto", O_FLTO, false},
	{"disable-asm-checks", O_NO_ASM_CHECKS, false},
	{"verbose", O_VERBOSE, false},
	{"dryrun", O_DRYRUN, false},
	{"help", O_HELP, false},
	{"version", O_VERSION, false},
};

void options_help(void)
{
	fputs("usage: dpacc SOURCE.c... -o FILE.a [options]\n"
	      "Compiles a device program into a static library for its host program.\n"
	      "  -o, --output-file FILE    the archive to write; with -gen-libs DIR/libNAME\n"
	      "  --app-name=NAME           name of the struct doca_dpa_app * variable\n"
	      "                            (default __dpa_a_out)\n"
	      "  -hostcc=CC                host compiler (default cc)\n"
	      "  -hostcc-options=\"...\"     options for it\n"
	      "  -devicecc=CC              device compiler, a gcc or clang (default gcc)\n"
	      "  -devicecc-options=\"...\"   options for it; -I, -D and -U may stand alone too\n"
	      "  -devicelink-options=\"...\" options for linking the device image\n"
	      "  -device-libs=\"...\"        -L and -l of further static device libraries\n"
	      "  -gen-libs                 a library of device code: libNAME_device.a for the\n"
	      "                            -device-libs of programs, libNAME_host.a for their "
	      "hosts\n"
	      "  -mcpu=LIST                nv-dpa-bf3, nv-dpa-cx7, nv-dpa-cx8, nv-dpa-cx9: the "
	      "oldest\n"
	      "                            is the value of __NV_DPA; all are this machine\n"
	      "  -optf, --options-file FILE,...\n"
	      "                            more options, from files\n"
	      "  --dpa-proc-attr=FILE      the blob of dpa-app-attributes2blob\n"
	      "  -flto, -ldpa, -disable-asm-checks\n"
	      "                            accepted, without meaning here\n"
	      "  -keep, -keep-dir=DIR      keep the intermediate files (in the current folder)\n"
	      "  -v, -dryrun               show the commands; show them only\n"
	      "  -h, -V                    this text; the version\n"
	      "Long options take one dash or two, and their value behind '=' or as the next "
	      "word.\n",
	      stdout);
}

void options_free(struct options *o)
{
	list_free(&o->sources);
	list_free(&o->includes);
	list_free(&o->defines);
	list_free(&o->hostcc_opts);
	list_free(&o->devcc_opts);
	list_free(&o->devlink_opts);
	list_free(&o->device_libs);
	free(o->output);
	free(o->app);
	free(o->hostcc);
	free(o->devcc);
	free(o->keep_dir);
}

static bool is_identifier(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

static bool set_targets(struct options *o, const char *list)
{
	static const char *const names[] = {
		[3] = "nv-dpa-bf3", [7] = "nv-dpa-cx7", [8] = "nv-dpa-cx8", [9] = "nv-dpa-cx9"};
	char *copy = must(strdup(list)), *save = NULL;
	bool ok = *list;

	o->target = 9;
	for (char *p = strtok_r(copy, ",", &save); p && ok; p = strtok_r(NULL, ",", &save)) {
		int k = 9;

		while (k && (!names[k] || strcmp(p, names[k])))
			k--;
		ok = k;
		if (k < o->target)
			o->target = k;
	}
	free(copy);
	return ok ||
	       error("-mcpu=%s: the targets are nv-dpa-bf3, nv-dpa-cx7, nv-dpa-cx8 and nv-dpa-cx9",
		     list);
}

static bool parse_dpacc_words(struct options *o, int argc, char **argv);

/* Read words as a shell does; # begins a comment at the start of a line. */
static bool parse_options_file(struct options *o, const char *path)
{
	static int depth;
	struct list words = {0};
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t n = 0;
	bool ok;

	if (!f)
		return error("%s: %s", path, strerror(errno));
	while (getline(&line, &n, f) > 0)
		if (line[strspn(line, " \t")] != '#')
			list_words(&words, line);
	free(line);
	fclose(f);
	if (depth == 8)
		ok = error("%s: options files include each other", path);
	else {
		depth++;
		ok = parse_dpacc_words(o, (int)words.n, words.v);
		depth--;
	}
	list_free(&words);
	return ok;
}

static bool parse_options_files(struct options *o, const char *list)
{
	char *copy = must(strdup(list)), *save = NULL;
	bool ok = true;

	for (char *p = strtok_r(copy, ",", &save); p && ok; p = strtok_r(NULL, ",", &save))
		ok = parse_options_file(o, p);
	free(copy);
	return ok;
}

/* Check the attributes: they have no effect here, but a file that is no blob is an error. */
static bool check_attributes(const char *path)
{
	static const char magic[] = "dpa-app-attributes ";
	char head[sizeof(magic)] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		return error("--dpa-proc-attr: %s: %s", path, strerror(errno));
	if (!fgets(head, sizeof(head), f))
		head[0] = 0;
	fclose(f);
	return !strcmp(head, magic) ||
	       error("--dpa-proc-attr: %s: not made by dpa-app-attributes2blob", path);
}

static bool apply_option(struct options *o, enum opt opt, const char *v)
{
	switch (opt) {
	case O_OUTPUT:
		set_text(&o->output, v);
		break;
	case O_APP:
		if (!is_identifier(v))
			return error("--app-name=%s: not a C identifier", v);
		set_text(&o->app, v);
		break;
	case O_HOSTCC:
		set_text(&o->hostcc, v);
		break;
	case O_DEVICECC:
		set_text(&o->devcc, v);
		break;
	case O_HOSTCC_OPTIONS:
		list_split(&o->hostcc_opts, v);
		break;
	case O_DEVICECC_OPTIONS:
		list_split(&o->devcc_opts, v);
		break;
	case O_DEVICELINK_OPTIONS:
		list_split(&o->devlink_opts, v);
		break;
	case O_DEVICE_LIBS:
		list_split(&o->device_libs, v);
		break;
	case O_MCPU:
		return set_targets(o, v);
	case O_OPTIONS_FILE:
		return parse_options_files(o, v);
	case O_PROC_ATTR:
		return check_attributes(v);
	case O_GEN_LIBS:
		o->gen_libs = true;
		break;
	case O_KEEP_DIR:
		set_text(&o->keep_dir, v);
		o->keep = true;
		break;
	case O_KEEP:
		o->keep = true;
		break;
	case O_VERBOSE:
		o->verbose = true;
		break;
	case O_DRYRUN:
		o->dry = true;
		break;
	case O_HELP:
		o->help = true;
		break;
	case O_VERSION:
		o->version = true;
		break;
	case O_FLTO:
	case O_NO_ASM_CHECKS:
		break;
	}
	return true;
}

/* Return the value: after '=', or the next word. Moves *i past it. */
static const char *option_value(const char *eq, int argc, char **argv, int *i)
{
	if (eq)
		return eq + 1;
	return *i + 1 < argc ? argv[++*i] : NULL;
}

static bool parse_long(struct options *o, int argc, char **argv, int *i)
{
	const char *arg = argv[*i] + 1 + (argv[*i][1] == '-'), *eq = strchr(arg, '='), *v = NULL;
	size_t len = eq ? (size_t)(eq - arg) : strlen(arg);

	for (size_t k = 0; k < sizeof(longs) / sizeof(longs[0]); k++) {
		if (strlen(longs[k].name) != len || strncmp(longs[k].name, arg, len))
			continue;
		if (!longs[k].arg && eq)
			return error("%s: takes no value", argv[*i]);
		if (longs[k].arg) {
			v = option_value(eq, argc, argv, i);
			if (!v)
				return error("%s: needs a value", argv[*i]);
		}
		return apply_option(o, longs[k].opt, v);
	}
	return error("unknown option %s (dpacc -h lists them)", argv[*i]);
}

/* Parse -Ifoo or -I foo, passed on in one word. */
static bool parse_joined(struct list *to, int argc, char **argv, int *i)
{
	const char *flag = argv[*i];

	if (flag[2]) {
		list_add(to, flag);
		return true;
	}
	if (*i + 1 >= argc)
		return error("%s: needs a value", flag);
	list_addf(to, "%s%s", flag, argv[++*i]);
	return true;
}

static bool parse_one(struct options *o, int argc, char **argv, int *i)
{
	const char *a = argv[*i];

	if (a[0] != '-' || !a[1]) {
		list_add(&o->sources, a);
		return true;
	}
	if (!strcmp(a, "-ldpa"))
		return true;
	if (!strcmp(a, "-v"))
		return apply_option(o, O_VERBOSE, NULL);
	if (!strcmp(a, "-h"))
		return apply_option(o, O_HELP, NULL);
	if (!strcmp(a, "-V"))
		return apply_option(o, O_VERSION, NULL);
	if (!strcmp(a, "-o")) {
		if (*i + 1 >= argc)
			return error("-o: needs a value");
		return apply_option(o, O_OUTPUT, argv[++*i]);
	}
	switch (a[1]) {
	case 'I':
		return parse_joined(&o->includes, argc, argv, i);
	case 'D':
	case 'U':
		return parse_joined(&o->defines, argc, argv, i);
	case 'L':
	case 'l':
		return parse_joined(&o->device_libs, argc, argv, i);
	default:
		return parse_long(o, argc, argv, i);
	}
}

static bool parse_dpacc_words(struct options *o, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!parse_one(o, argc, argv, &i))
			return false;
	return true;
}

static bool is_c_source(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (!dot || strcmp(dot, ".c"))
		return error("%s: not a C source (.c)", path);
	return !strpbrk(path, "\"\\\n") ||
	       error("%s: quotes, backslashes and new lines cannot be in a source's name", path);
}

bool options_parse(struct options *o, int argc, char **argv)
{
	set_text(&o->app, "__dpa_a_out");
	set_text(&o->hostcc, "cc");
	set_text(&o->devcc, "gcc");
	o->target = 3;
	if (!parse_dpacc_words(o, argc - 1, argv + 1))
		return false;
	if (o->help || o->version)
		return true;
	if (!o->sources.n)
		return error("no source given (see dpacc -h)");
	if (!o->output)
		return error("no output given: -o FILE.a");
	for (size_t i = 0; i < o->sources.n; i++)
		if (!is_c_source(o->sources.v[i]))
			return false;
	return true;
}
