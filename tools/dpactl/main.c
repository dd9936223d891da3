/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpactl - shows the software adapter: its state, processes, UAR pages, counters and settings, and
 * its packets. It takes no process index and delays no process; it writes to the adapter state only
 * the requests of fault, link, port and capture to the processes, and what pcc changes.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_hw_inject.h>
#include "dpactl.h"

/* libc reads it: not hidden like the rest. */
__attribute__((visibility("default"))) const char *argp_program_version =
	"dpactl (dpa) " DPA_VERSION;

static const struct command {
	const char *name;
	command_fn *fn;
	enum { NO_BOARD, ANY_BOARD, NEEDS_BOARD } board;
	enum { NOTHING, PIDS, ONE_FILE, WORDS } takes;
} commands[] = {
	/* clang-format off */
	{"caps", cmd_caps, NO_BOARD, NOTHING},
	{"capture", cmd_capture, NEEDS_BOARD, NOTHING},
	{"config", cmd_config, NO_BOARD, NOTHING},
	{"counters", cmd_counters, NEEDS_BOARD, PIDS},
	{"decode", cmd_decode, NO_BOARD, ONE_FILE},
	{"disable", cmd_disable, NO_BOARD, NOTHING},
	{"doctor", cmd_doctor, ANY_BOARD, NOTHING},
	{"dpa", cmd_dpa, NEEDS_BOARD, PIDS},
	{"enable", cmd_enable, NO_BOARD, NOTHING},
	{"errors", cmd_errors, NEEDS_BOARD, WORDS},
	{"explain", cmd_explain, NO_BOARD, WORDS},
	{"fault", cmd_fault, NEEDS_BOARD, WORDS},
	{"inject", cmd_inject, NEEDS_BOARD, WORDS},
	{"link", cmd_link, NEEDS_BOARD, WORDS},
	{"pcc", cmd_pcc, NEEDS_BOARD, WORDS},
	{"port", cmd_port, NEEDS_BOARD, WORDS},
	{"ps", cmd_ps, NEEDS_BOARD, PIDS},
	{"replay", cmd_replay, NO_BOARD, WORDS},
	{"report", cmd_report, ANY_BOARD, NOTHING},
	{"simulate", cmd_simulate, NO_BOARD, ONE_FILE},
	{"status", cmd_status, ANY_BOARD, NOTHING},
	{"sweep", cmd_sweep, NO_BOARD, NOTHING},
	{"top", cmd_top, ANY_BOARD, PIDS},
	{"trace", cmd_trace, ANY_BOARD, PIDS},
	{"uar", cmd_uar, NEEDS_BOARD, NOTHING},
	{"web", cmd_web, ANY_BOARD, NOTHING},
	/* clang-format on */
};
#define COMMANDS                                                                                   \
	"status, top, web, ps, dpa, uar, counters, config, caps, fault, inject, link, port, pcc, " \
	"capture, "                                                                                \
	"decode, replay, trace, sweep, report, errors, explain, simulate, doctor, enable or "      \
	"disable"

struct options {
	struct ctl *c;
	const char *board;
	const struct command *cmd;
	bool times; /* --iterations was given */
};
#define O_BATCH 0x100 /* an option without a letter of its own */

static const struct command *find_dpactl_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	die(EXIT_USAGE, "unknown command '%s': use " COMMANDS, name);
}

static uint32_t parse_positive_arg(const char *arg, const char *what)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (arg[0] < '1' || arg[0] > '9' || *end || n > INT32_MAX)
		die(EXIT_USAGE, "'%s' is not a %s", arg, what);
	return (uint32_t)n;
}

static void add_arg(struct options *o, const char *arg)
{
	struct ctl *c = o->c;

	switch (o->cmd->takes) {
	case NOTHING:
		die(EXIT_USAGE, "%s takes no argument, but got '%s'", o->cmd->name, arg);
	case PIDS:
		if (c->npids == MAX_PIDS)
			die(EXIT_USAGE, "more than %d process ids", MAX_PIDS);
		c->pids[c->npids++] = parse_positive_arg(arg, "process id");
		return;
	case ONE_FILE:
		if (c->file)
			die(EXIT_USAGE, "%s takes one file, but got also '%s'", o->cmd->name, arg);
		c->file = arg;
		return;
	case WORDS:
		if (c->nargs == MAX_ARGS)
			die(EXIT_USAGE, "%s: '%s' is too much", o->cmd->name, arg);
		c->args[c->nargs++] = arg;
		return;
	}
}

static error_t parse_dpactl_opt(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'j':
		o->c->json = true;
		return 0;
	case 'S':
		o->c->system = true;
		return 0;
	case 'a':
		o->c->all = true;
		return 0;
	case 'b':
		if (arg[0] != '/')
			die(EXIT_USAGE, "--board '%s': use an absolute path", arg);
		o->board = arg;
		return 0;
	case 'w':
		o->c->to = arg;
		return 0;
	case 'f':
		o->c->follow = true;
		return 0;
	case 'i':
		o->c->image = arg;
		return 0;
	case 'P':
		o->c->peer = arg;
		return 0;
	case 'c':
		o->c->count = parse_positive_arg(arg, "number");
		return 0;
	case 'n':
		o->c->count = parse_positive_arg(arg, "number of readings");
		o->times = true;
		return 0;
	case O_BATCH:
		o->c->batch = true;
		return 0;
	case 'p':
		o->c->port = parse_positive_arg(arg, "port");
		if (o->c->port > UINT16_MAX)
			die(EXIT_USAGE, "--port '%s': use 1 to 65535", arg);
		return 0;
	case 'd':
		o->c->delay = arg;
		return 0;
	case 'o':
		o->c->sort = arg;
		return 0;
	case 's':
		o->c->seconds = parse_positive_arg(arg, "number of seconds");
		return 0;
	case ARGP_KEY_ARG:
		if (!o->cmd)
			o->cmd = find_dpactl_command(arg);
		else
			add_arg(o, arg);
		return 0;
	case ARGP_KEY_ERROR:
		die(EXIT_USAGE, "wrong option '%s': see dpactl --help",
		    state->argv[state->next > 1 ? state->next - 1 : 1]);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{"json", 'j', NULL, 0, "Print JSON, for programs", 0},
	{"all", 'a', NULL, 0,
	 "Show also what is zero (counters), unused (uar) or only flushed (errors); trace: record "
	 "every event",
	 0},
	{"follow", 'f', NULL, 0, "errors: print each new one, until Ctrl-C", 0},
	{"board", 'b', "PATH", 0, "Use the adapter state in this file", 0},
	{"system", 'S', NULL, 0, "enable, disable: for every process of this machine", 0},
	{"write", 'w', "FILE", 0,
	 "capture: the pcapng file to write; trace: a .json or .html; simulate, pcc record: a "
	 ".csv, .json or .html; - is the output",
	 0},
	{"image", 'i', "FILE", 0,
	 "simulate: the image.so of a congestion control program that acts on flows", 0},
	{"count", 'c', "N", 0,
	 "capture: end after N packets; trace: after N events; sweep: fail the first N of each "
	 "call, "
	 "3 if not given",
	 0},
	{"seconds", 's', "N", 0,
	 "capture, trace, pcc watch, pcc record: end after N seconds; sweep: a run that lasts "
	 "longer "
	 "hangs",
	 0},
	{"peer", 'P', "PROGRAM", 0,
	 "sweep: the other end with its arguments, in quotes; it is started before each run", 0},
	{"batch", O_BATCH, NULL, 0, "top: print text, no screen; after the word top also -b", 0},
	{"iterations", 'n', "N", 0, "top -b: end after N readings", 0},
	{"delay", 'd', "SECONDS", 0, "top: time between two readings, 1 if not set", 0},
	{"sort", 'o', "KEY", 0,
	 "top: the first key to sort by: messages, bytes, again, rnr, waiting, id", 0},
	{"port", 'p', "N", 0, "web: listen on this port, not on any", 0},
	{0},
};

static const struct argp argp = {
	.options = option_list,
	.parser = parse_dpactl_opt,
	.args_doc =
		"COMMAND [PID...]\ntop [-b] [-n N] [-d SECONDS] [PID...]\nweb [-p PORT]\nfault set "
		"SPEC|off|show\ninject PID [SPEC|off|show]\n"
		"link set SPEC|off|show\nport down|up|show\n"
		"capture -w FILE\ntrace -w FILE [PID...]\ntrace -w FILE -- PROGRAM [ARG...]\n"
		"sweep [--peer PROGRAM] -- PROGRAM [ARG...]\n"
		"report -w FILE\ndecode FILE\nreplay [OPTION...] FILE\nerrors [-f] "
		"[PID|QPN...]\nexplain [STATUS "
		"[VENDOR_ERR]]\nsimulate SCENARIO "
		"[-w FILE]\n"
		"pcc [list|params|counters|enable|disable|count|clear|set|watch]\n"
		"pcc record [-w FILE]\n"
		"enable|disable --system",
	.doc = "Show the software adapter behind dpa0 and its packets, or make its links bad."
	       "\vCommands:\n"
	       "  status          the adapter instance: its file, processes, how full it is\n"
	       "  top [PID...]    processes, QPs and EUs by what they do right now; h shows\n"
	       "                  the keys; -b -n 1 prints a reading\n"
	       "  web             the same as a page, and the map of UAR pages, until Ctrl-C:\n"
	       "                  open the address that it prints; on this host only\n"
	       "  ps [PID...]     processes, their QPs and CQs, placement, state, link\n"
	       "  dpa [PID...]    what runs on the EUs: threads, kernels and RPCs of libdpa,\n"
	       "                  activations, run time, last error\n"
	       "  uar             the map of UAR pages: owner of each slot, doorbells,\n"
	       "                  BlueFlame writes\n"
	       "  counters [PID...]\n"
	       "                  counters of all processes, or of these\n"
	       "  config          the settings, where they come from and what may be written\n"
	       "  caps            the DOCA libraries that are there, and what each device can\n"
	       "  fault set SPEC, fault off, fault [show]\n"
	       "                  what the links of all processes do to packets; SPEC as in\n"
	       "                  drop=1%,dup=1%,reorder=1%,delay=5%:200us,corrupt=0.1%,seed=7\n"
	       "  inject PID SPEC, inject PID off, inject [PID]\n"
	       "                  calls, completions and events of a process that fail; SPEC\n"
	       "                  as in reg_mr=ENOMEM,n=3+wc=RETRY_EXC_ERR,n=100+seed=7\n"
	       "  link set SPEC, link off, link [show]\n"
	       "                  the network in front of each process; SPEC as in\n"
	       "                  rate=1G,delay=50us,queue=256K,ecn=40K:200K:1%,pfc,seed=7\n"
	       "  port down, port up, port [show]\n"
	       "                  the port of dpa0, for all processes: as a pulled cable\n"
	       "  pcc [list], pcc params SLOT, pcc counters SLOT, pcc watch\n"
	       "                  congestion control of the port: algorithms in slots\n"
	       "  pcc record      rate, round trip, queue and marks of each flow of running\n"
	       "                  programs, until Ctrl-C: as CSV, JSON, or -w X.html, a plot\n"
	       "  pcc enable SLOT, pcc disable SLOT, pcc count SLOT, pcc count off,\n"
	       "  pcc clear SLOT, pcc set SLOT PARAM VALUE\n"
	       "                  which of them acts, which one counts, its parameters\n"
	       "  capture -w FILE the packets of all processes, shared memory included\n"
	       "  trace -w FILE [PID...], trace -w FILE -- PROGRAM\n"
	       "                  the way of each WQE from post to poll in both processes, as\n"
	       "                  Chrome trace events, or with -w X.html as a page\n"
	       "  sweep -- PROGRAM\n"
	       "                  runs it once for each call of the verbs and of rdma_cm, with\n"
	       "                  that call failing: hangs, crashes, leaks\n"
	       "  decode FILE     the RoCEv2 packets of a pcap or pcapng file; - is the input\n"
	       "  replay FILE     the packets of such a file to a responder or requester in\n"
	       "                  virtual time: its states, and differences; replay --help\n"
	       "  report -w FILE  settings, processes, counters, errors, the latest events\n"
	       "                  in one file (JSON), for a bug report; no payloads\n"
	       "  errors [PID|QPN...]\n"
	       "                  the last error completions and refused requests: the check\n"
	       "                  that failed, with its values; the peer at that time; the fix\n"
	       "  explain STATUS [VENDOR_ERR], explain\n"
	       "                  an error completion: cause and fix; or the table of all\n"
	       "  simulate SCENARIO\n"
	       "                  flows through such a network in simulated time: rate, round\n"
	       "                  trip, queue and marks: as CSV, JSON, or -w X.html, a plot\n"
	       "  doctor          everything between a program and dpa0: what is right, what\n"
	       "                  is wrong and how to correct it\n"
	       "  enable --system, disable --system\n"
	       "                  as root: dpa0 for every process of this machine, or not\n"
	       "\nExit status: 0; 1: no adapter instance, or it cannot be used; a malformed\n"
	       "packet or a wrong ICRC (decode), something wrong (doctor), no device (caps), a "
	       "hang,\n"
	       "crash or leak (sweep);\n"
	       "2: wrong use or setting, or no such file.",
};

/* True if an option takes a value: of this letter, or of a name that begins so. */
static bool takes_value(int letter, const char *name)
{
	const struct argp_option *o = option_list;

	while (o->name &&
	       (!o->arg || (name ? strncmp(o->name, name, strlen(name)) != 0 : o->key != letter)))
		o++;
	return o->name;
}

/* True if the next argument is the value of this option, or of the last one of these letters. */
static bool has_value_behind(const char *arg)
{
	if (arg[1] == '-')
		return arg[2] && takes_value(0, arg + 2);
	for (arg++; *arg; arg++)
		if (takes_value(*arg, NULL))
			return !arg[1];
	return false;
}

/* Index of the command in argv; argc: there is none. */
static int command_at(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-')
		i += has_value_behind(argv[i]) ? 2 : 1;
	return i < argc ? i : argc;
}

/* Behind the command top, -b is that of top(1). */
static void take_batch(int argc, char **argv)
{
	static char batch[] = "--batch";
	const int at = command_at(argc, argv);

	if (at == argc || strcmp(argv[at], "top") != 0)
		return;
	for (int i = at + 1; i < argc; i++)
		if (strcmp(argv[i], "-b") == 0 && (i + 1 == argc || argv[i + 1][0] != '/'))
			argv[i] = batch;
}

static void check_top(const struct options *o)
{
	const struct ctl *c = o->c;

	if (o->cmd->fn != cmd_top && (c->batch || c->delay || c->sort || o->times))
		die(EXIT_USAGE, "--batch, --iterations, --delay and --sort are for top");
	if (o->cmd->fn != cmd_web && c->port)
		die(EXIT_USAGE, "--port is for web");
	if (o->times && !c->batch)
		die(EXIT_USAGE, "--iterations is for top -b");
}

/* replay has options of its own: all but its name are left to it. */
static bool is_replay(struct options *o, int argc, char **argv)
{
	const int at = command_at(argc, argv);

	if (at == argc || strcmp(argv[at], "replay") != 0)
		return false;
	memmove(&argv[at], &argv[at + 1], (size_t)(argc - at) * sizeof(*argv));
	o->cmd = find_dpactl_command("replay");
	o->c->argc = argc - 1;
	o->c->argv = argv;
	return true;
}

/* Mistakes are reported by parse_dpactl_opt(), in one line. */
static void parse_dpactl_args(struct options *o, int argc, char **argv)
{
	bool help = false;

	if (is_replay(o, argc, argv))
		return;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0) { /* the rest is a program's */
			o->c->program = i + 1 < argc ? &argv[i + 1] : NULL;
			argc = i;
		}
	take_batch(argc, argv);
	for (int i = 1; i < argc; i++)
		help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0 ||
			strcmp(argv[i], "--usage") == 0 || strcmp(argv[i], "--version") == 0 ||
			strcmp(argv[i], "-V") == 0;
	if (argp_parse(&argp, argc, argv, help ? 0 : ARGP_NO_ERRS, NULL, o))
		die(EXIT_USAGE, "wrong options: see dpactl --help");
	if (!o->cmd)
		die(EXIT_USAGE, "no command given: use " COMMANDS);
	if (o->cmd->takes == ONE_FILE && !o->c->file)
		die(EXIT_USAGE, "%s needs a file", o->cmd->name);
	if ((o->cmd->fn == cmd_capture || o->cmd->fn == cmd_trace || o->cmd->fn == cmd_report) &&
	    !o->c->to)
		die(EXIT_USAGE, "%s needs -w FILE", o->cmd->name);
	if (o->c->program && o->cmd->fn != cmd_trace && o->cmd->fn != cmd_sweep)
		die(EXIT_USAGE, "-- PROGRAM is for trace and sweep");
	if (o->cmd->fn == cmd_sweep && !o->c->program)
		die(EXIT_USAGE, "sweep needs -- PROGRAM");
	if (o->cmd->fn == cmd_sweep && o->c->count > DPA_HW_INJECT_RECORDED)
		die(EXIT_USAGE, "--count %u: sweep takes at most %u", o->c->count,
		    DPA_HW_INJECT_RECORDED);
	if (o->cmd->fn == cmd_sweep && o->c->seconds > SWEEP_SECONDS)
		die(EXIT_USAGE, "--seconds %u: sweep takes at most %u", o->c->seconds,
		    SWEEP_SECONDS);
	if (o->c->follow && o->cmd->fn != cmd_errors)
		die(EXIT_USAGE, "--follow is for errors");
	if (o->c->peer && o->cmd->fn != cmd_sweep)
		die(EXIT_USAGE, "--peer is for sweep");
	if (o->c->program && o->c->npids)
		die(EXIT_USAGE, "trace takes process ids or a program, not both");
	if (o->c->system && o->cmd->fn != cmd_enable && o->cmd->fn != cmd_disable)
		die(EXIT_USAGE, "--system is for enable and disable");
	check_top(o);
	if (o->cmd->fn != cmd_capture && o->cmd->fn != cmd_trace && o->cmd->fn != cmd_sweep &&
	    o->c->count && !o->times)
		die(EXIT_USAGE, "--count is for capture, trace and sweep");
	if (o->cmd->fn != cmd_capture && o->cmd->fn != cmd_trace && o->cmd->fn != cmd_pcc &&
	    o->cmd->fn != cmd_sweep && o->c->seconds)
		die(EXIT_USAGE, "--seconds is for capture, trace, sweep and pcc");
	if (o->cmd->fn != cmd_simulate && o->c->image)
		die(EXIT_USAGE, "--image is for simulate");
	if (o->cmd->fn != cmd_capture && o->cmd->fn != cmd_trace && o->cmd->fn != cmd_report &&
	    o->cmd->fn != cmd_simulate && o->cmd->fn != cmd_pcc && o->c->to)
		die(EXIT_USAGE, "--write is for capture, trace, report, simulate and pcc record");
}

/* Where the library would look: --board, then the setting, then this user's place. */
static void find_path(struct ctl *c, const char *board)
{
	int rc;

	if (!board && c->cfg.board[0])
		board = c->cfg.board;
	if (board) {
		if (snprintf(c->path, sizeof(c->path), "%s", board) >= (int)sizeof(c->path))
			die(EXIT_USAGE, "--board: the path is too long");
		return;
	}
	rc = dpa_board_default_path(c->path, sizeof(c->path));
	if (rc)
		die(EXIT_NONE,
		    "no place for the adapter state: neither /run/dpa, $XDG_RUNTIME_DIR, "
		    "/dev/shm, /tmp nor /var/tmp is a directory for it");
}

static void open_board(struct ctl *c, bool needed)
{
	struct dpa_board_cfg cfg = {.path = c->path, .lib_version = DPA_VERSION};
	char err[512];
	int rc = dpa_board_peek(&cfg, &c->b, err, sizeof(err));

	if (rc == ENOENT && !needed)
		return;
	if (rc == ENOENT)
		die(EXIT_NONE, "no adapter instance: no process of this user uses dpa0 (%s)",
		    c->path);
	if (rc)
		die(EXIT_NONE, "%s", err);
}

int main(int argc, char **argv)
{
	struct ctl c = {0};
	struct options o = {.c = &c};
	char err[512];

	parse_dpactl_args(&o, argc, argv);
	if (dpa_config_load(&c.cfg, err, sizeof(err)))
		die(EXIT_USAGE, "%s", err);
	if (o.cmd->board != NO_BOARD) {
		find_path(&c, o.board);
		if (o.cmd->fn != cmd_doctor)
			open_board(&c, o.cmd->board == NEEDS_BOARD);
	}
	o.cmd->fn(&c);
	if (c.b)
		dpa_board_unpeek(c.b);
	if (fflush(stdout) || ferror(stdout))
		die(EXIT_NONE, "cannot write: %s", strerror(errno));
	return c.status;
}
