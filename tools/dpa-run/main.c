/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa-run - start a program so that it sees the device dpa0. The program takes the place of this
 * process: its exit status, signals and process id are its own, and nothing remains.
 */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpa-run.h"
#include "knobs.h"

/* libc looks for it by name; the build hides symbols. */
__attribute__((visibility("default"))) const char *argp_program_version =
	"dpa-run (dpa) " DPA_VERSION;

struct options {
	bool no_preload;
	bool print_env;
	bool copy_sysfs; /* work of dpa-run itself: program[0] is the destination */
	const char *capture, *fault, *inject, *link;
	char **program; /* with its arguments; NULL: none given */
};

void die(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("dpa-run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

enum { KEY_COPY_SYSFS = 256 };

static error_t parse_run_opt(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'n':
		o->no_preload = true;
		return 0;
	case 'e':
		o->print_env = true;
		return 0;
	case 'c':
		o->capture = arg;
		return 0;
	case 'f':
		o->fault = arg;
		return 0;
	case 'i':
		o->inject = arg;
		return 0;
	case 'l':
		o->link = arg;
		return 0;
	case KEY_COPY_SYSFS:
		o->copy_sysfs = true;
		return 0;
	case ARGP_KEY_ARG: /* the program: the remaining words are not options of dpa-run */
		o->program = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_ERROR:
		die(EXIT_USAGE, "unknown option '%s': see dpa-run --help",
		    state->argv[state->next > 1 ? state->next - 1 : 1]);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{"no-preload", 'n', NULL, 0, "Use no preloaded library: for programs that drop LD_PRELOAD",
	 0},
	{"capture", 'c', "FILE", 0, "Record every packet of dpa0 in a pcapng file", 0},
	{"fault", 'f', "SPEC", 0,
	 "What the links do to packets, as in drop=1%,dup=1%,reorder=1%,delay=5%:200us,seed=7", 0},
	{"inject", 'i', "SPEC", 0,
	 "Failures of calls, completions and events, as in "
	 "reg_mr=ENOMEM,n=3+wc=RETRY_EXC_ERR,n=100+seed=7; @FILE: a scenario",
	 0},
	{"link", 'l', "SPEC", 0,
	 "The network that packets to it pass, as in "
	 "rate=1G,delay=50us,queue=256K,ecn=40K:200K:1%,seed=7",
	 0},
	{"print-env", 'e', NULL, 0,
	 "Print the environment that does the same without dpa-run, and exit", 0},
	{"copy-sysfs", KEY_COPY_SYSFS, NULL, OPTION_HIDDEN, NULL, 0},
	{0},
};

static const struct argp argp = {
	.options = option_list,
	.parser = parse_run_opt,
	.args_doc = "PROGRAM [ARG...]",
	.doc = "Run PROGRAM so that it sees the RDMA device dpa0 beside those of the host."
	       "\vDPA_* variables and " DPA_CONFIG_DEFAULT
	       " set up the device; DPA_DISABLE=1 makes it vanish. Exit status: that of PROGRAM; "
	       "2: "
	       "wrong use or setting; 125: dpa-run failed; 126: PROGRAM cannot be run; 127: it was "
	       "not found.",
};

/* Parse options: they end at the first argument. parse_run_opt() reports errors, in one line. */
static void parse_run_args(struct options *o, int argc, char **argv)
{
	bool help = false;

	for (int i = 1; i < argc && argv[i][0] == '-'; i++)
		help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0 ||
			strcmp(argv[i], "--usage") == 0;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | (help ? 0 : ARGP_NO_ERRS), NULL, o))
		die(EXIT_USAGE, "wrong options: see dpa-run --help");
	if (!o->program && !o->print_env)
		die(EXIT_USAGE, "no PROGRAM given: see dpa-run --help");
	if (o->print_env &&
	    (o->program || o->no_preload || o->capture || o->fault || o->inject || o->link))
		die(EXIT_USAGE, "--print-env takes no PROGRAM and no other option");
}

/* Prints the path of `file`, which holds in every folder, behind `prefix`. */
static void path_full(char *buf, const char *option, const char *prefix, const char *file)
{
	char cwd[PATH_MAX];

	if (file[0] == '/') {
		path_print(buf, "%s%s", prefix, file);
		return;
	}
	if (!getcwd(cwd, sizeof(cwd)))
		die(EXIT_FAILED, "%s: no current folder: %s", option, strerror(errno));
	path_print(buf, "%s%s/%s", prefix, cwd, file);
}

static void set_inject(const char *spec)
{
	char path[PATH_MAX];

	if (spec[0] == '@') {
		path_full(path, "--inject", "@", spec + 1);
		spec = path;
	}
	if (setenv("DPA_INJECT", spec, 1))
		die(EXIT_FAILED, "DPA_INJECT: %s", strerror(errno));
}

/* The settings override the variables of the same name: they are set last. */
static void set_links(const struct options *o)
{
	char path[PATH_MAX];

	if (o->fault && setenv("DPA_FAULT", o->fault, 1))
		die(EXIT_FAILED, "DPA_FAULT: %s", strerror(errno));
	if (o->inject)
		set_inject(o->inject);
	if (o->link && setenv("DPA_LINK", o->link, 1))
		die(EXIT_FAILED, "DPA_LINK: %s", strerror(errno));
	if (!o->capture)
		return;
	path_full(path, "--capture", "", o->capture);
	capture_begin(path);
	if (setenv("DPA_CAPTURE", path, 1))
		die(EXIT_FAILED, "DPA_CAPTURE: %s", strerror(errno));
}

static void load_run_config(struct dpa_config *cfg)
{
	char err[512];

	if (dpa_config_load(cfg, err, sizeof(err)))
		die(EXIT_USAGE, "%s", err);
}

int main(int argc, char **argv)
{
	struct options o = {0};
	struct dpa_config cfg;
	struct place pl;

	parse_run_args(&o, argc, argv);
	if (o.copy_sysfs) {
		copy_folder("/sys/devices/pcid9a0:00", o.program[0], 0);
		return 0;
	}
	set_links(&o);
	load_run_config(&cfg);
	if (!cfg.disable) {
		place_find(&pl);
		if (o.no_preload)
			isolate(&pl, cfg.functions.num_sfs);
		else
			env_preload(&pl);
		env_driver(&pl);
		if (o.program)
			provider_check(&pl, o.program[0]);
	}
	if (o.print_env) {
		env_print();
		return 0;
	}
	execvp(o.program[0], o.program);
	die(errno == ENOENT ? EXIT_MISSING : EXIT_CANNOT, "%s: %s", o.program[0], strerror(errno));
}
