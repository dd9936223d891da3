/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* main.c - dpactl replay: its options, its file, and Ctrl-C. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "view.h"

#define MOST_BYTES (UINT32_C(1) << 30) /* of a file */

enum {
	O_ROLE = 0x100,
	O_QP,
	O_RECEIVES,
	O_REGION,
	O_TIMEOUT,
	O_RETRY,
	O_RNR,
	O_TIMER,
	O_RD,
	O_MTU,
	O_CC,
	O_CHECK,
	O_TEST,
	O_PAYLOAD,
	O_DIFFERENCES
};

static volatile int stop;
static int stop_pipe[2]; /* has a byte from the signal's handler on */

static const struct argp_option option_list[] = {
	{"json", 'j', NULL, 0, "Print JSON, for programs", 0},
	{"role", O_ROLE, "ROLE", 0, "responder (if not given), requester or both", 0},
	{"qp", O_QP, "QPN", 0, "Only connections with this QP at either end", 0},
	{"differences", O_DIFFERENCES, NULL, 0, "Print only flows, notes and differences", 0},
	{"check", O_CHECK, NULL, 0,
	 "Exit with 1 if there is a difference to the capture, or if nothing or not all was "
	 "compared",
	 0},
	{"receives", O_RECEIVES, "N", 0,
	 "Post N receives and no more; or `always`. If not given, receives are missing where the "
	 "capture has an RNR NAK",
	 0},
	{"region", O_REGION, "RKEY:ADDR:LEN:ACCESS", 0,
	 "A region of the responder; ACCESS of the letters r, w, a (atomic), f (FLUSH). Other keys "
	 "have regions as wide as the requests show",
	 0},
	{"mtu", O_MTU, "BYTES", 0, "Path MTU; if not given, as the packets show", 0},
	{"timeout", O_TIMEOUT, "N", 0, "Local ACK timeout, a code from 0 to 31; 14", 0},
	{"retry", O_RETRY, "N", 0, "retry_cnt, 0 to 7; 7", 0},
	{"rnr-retry", O_RNR, "N", 0, "rnr_retry, 0 to 7; 7", 0},
	{"rnr-timer", O_TIMER, "N", 0,
	 "min_rnr_timer, a code from 1 to 31; if not given, that of the capture's first RNR NAK",
	 0},
	{"rd", O_RD, "N", 0, "max_rd_atomic, 1 to 128; 128", 0},
	{"congestion", O_CC, "NAME", 0, "dcqcn or none; none", 0},
	{"test", O_TEST, "FOLDER", 0,
	 "Write a test: the capture reduced to these packets, the options, the output", 0},
	{"payload", O_PAYLOAD, NULL, 0, "With --test: keep payloads; else they are zeros", 0},
	{0},
};

/* One line, and exit status 2, for any mistake. */
static uint64_t number_in(const char *arg, const char *name, uint64_t least, uint64_t most)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(arg, &end, 0);
	if (arg[0] < '0' || arg[0] > '9' || *end || errno || n < least || n > most)
		die(EXIT_USAGE, "--%s '%s': use %llu to %llu", name, arg, (unsigned long long)least,
		    (unsigned long long)most);
	return n;
}

static enum dpa_replay_role role_of(const char *arg)
{
	if (strcmp(arg, "responder") == 0)
		return DPA_REPLAY_RESPONDER;
	if (strcmp(arg, "requester") == 0)
		return DPA_REPLAY_REQUESTER;
	if (strcmp(arg, "both") == 0)
		return DPA_REPLAY_BOTH;
	die(EXIT_USAGE, "--role '%s': use responder, requester or both", arg);
}

static uint32_t access_of_letters(const char *s, const char *arg)
{
	uint32_t access = 0;

	for (; *s; s++) {
		const uint32_t bit = *s == 'r'	 ? DPA_ACCESS_REMOTE_READ
				     : *s == 'w' ? DPA_ACCESS_REMOTE_WRITE
				     : *s == 'a' ? DPA_ACCESS_REMOTE_ATOMIC
				     : *s == 'f' ? DPA_ACCESS_FLUSH_GLOBAL
						 : 0;

		if (!bit)
			die(EXIT_USAGE, "--region '%s': ACCESS is of the letters r, w, a, f", arg);
		access |= bit;
	}
	return access;
}

static void add_region_arg(struct dpa_replay_opt *o, const char *arg)
{
	char copy[128], *part[4], *at = copy;
	struct dpa_replay_region *r;

	if (o->nregions == DPA_REPLAY_REGIONS)
		die(EXIT_USAGE, "--region: more than %u", DPA_REPLAY_REGIONS);
	snprintf(copy, sizeof(copy), "%s", arg);
	for (int i = 0; i < 4; i++) {
		part[i] = strsep(&at, ":");
		if (!part[i] || (i == 3 && at))
			die(EXIT_USAGE, "--region '%s': use RKEY:ADDR:LEN:ACCESS", arg);
	}
	r = &o->region[o->nregions++];
	r->rkey = (uint32_t)number_in(part[0], "region RKEY", 0, UINT32_MAX);
	r->addr = number_in(part[1], "region ADDR", 0, UINT64_MAX);
	r->len = number_in(part[2], "region LEN", 1, UINT64_C(1) << 36);
	r->access = access_of_letters(part[3], arg);
	if (r->addr + r->len < r->addr)
		die(EXIT_USAGE, "--region '%s': its end is behind the last address", arg);
}

static uint32_t receives_of(const char *arg)
{
	if (strcmp(arg, "always") == 0)
		return DPA_REPLAY_ALWAYS;
	return (uint32_t)number_in(arg, "receives", 0, 1000);
}

static uint32_t mtu_of_arg(const char *arg)
{
	const uint64_t n = number_in(arg, "mtu", 256, 4096);

	if (n & (n - 1))
		die(EXIT_USAGE, "--mtu '%s': use 256, 512, 1024, 2048 or 4096", arg);
	return (uint32_t)n;
}

static bool is_dcqcn(const char *arg)
{
	if (strcmp(arg, "dcqcn") != 0 && strcmp(arg, "none") != 0)
		die(EXIT_USAGE, "--congestion '%s': use dcqcn or none", arg);
	return strcmp(arg, "dcqcn") == 0;
}

static error_t take_replay_value(struct replay_args *a, int key, const char *arg)
{
	struct dpa_replay_opt *o = &a->o;

	switch (key) {
	case O_ROLE:
		o->role = role_of(arg);
		return 0;
	case O_QP:
		o->qpn = (uint32_t)number_in(arg, "qp", 2, 0xffffff);
		return 0;
	case O_RECEIVES:
		o->receives = receives_of(arg);
		return 0;
	case O_REGION:
		add_region_arg(o, arg);
		return 0;
	case O_MTU:
		o->mtu = mtu_of_arg(arg);
		return 0;
	case O_TIMEOUT:
		o->timeout = (uint8_t)number_in(arg, "timeout", 0, 31);
		return 0;
	case O_RETRY:
		o->retry = (uint8_t)number_in(arg, "retry", 0, 7);
		return 0;
	case O_RNR:
		o->rnr_retry = (uint8_t)number_in(arg, "rnr-retry", 0, 7);
		return 0;
	case O_TIMER:
		o->min_rnr = (uint8_t)number_in(arg, "rnr-timer", 1, 31);
		return 0;
	case O_RD:
		o->rd = (uint8_t)number_in(arg, "rd", 1, 128);
		return 0;
	case O_CC:
		o->dcqcn = is_dcqcn(arg);
		return 0;
	case O_TEST:
		a->test = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_replay_opt(int key, char *arg, struct argp_state *state)
{
	struct replay_args *a = state->input;

	switch (key) {
	case 'j':
		a->json = true;
		return 0;
	case O_DIFFERENCES:
		a->differences = true;
		return 0;
	case O_CHECK:
		a->check = true;
		return 0;
	case O_PAYLOAD:
		a->payload = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			die(EXIT_USAGE, "replay takes one file, but got also '%s'", arg);
		a->file = arg;
		return 0;
	case ARGP_KEY_ERROR:
		die(EXIT_USAGE, "wrong option '%s': see dpactl replay --help",
		    state->argv[state->next > 1 ? state->next - 1 : 1]);
	default:
		return take_replay_value(a, key, arg);
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_replay_opt,
	.args_doc = "FILE",
	.doc = "Give the packets of a capture to a responder or a requester of the device, in "
	       "virtual time, and show the states that it goes through, beside what was captured."
	       "\vFILE: pcap or pcapng with RoCEv2 packets; - is the input. "
	       "docs/replay.md explains the output.\n"
	       "Exit status: 0; 1 with --check: there are differences, or nothing or not all was "
	       "compared; 2: wrong use, or no such file.",
};

/*
 * False: a signal came. It is not lost if it comes just before poll(), and what poll() has reported
 * read() gets without a wait.
 */
static bool wait_for_input(int fd)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = stop_pipe[0], .events = POLLIN}};

	while (!stop && poll(p, 2, -1) < 0 && errno == EINTR)
		;
	return !stop && !p[1].revents;
}

/* False: a signal ended it early. */
static bool load_replay_file(const char *path, uint8_t **p, size_t *n)
{
	int fd = strcmp(path, "-") == 0 ? 0 : open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 0;
	ssize_t got = 1;

	if (fd < 0)
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	while (got && wait_for_input(fd)) {
		if (*n == MOST_BYTES)
			die(EXIT_USAGE,
			    "%s: more than 1 GiB: cut it, or name a flow to the capture", path);
		if (*n == room) {
			room = room ? room * 2 : 1 << 16;
			*p = realloc(*p, room);
			if (!*p)
				die(EXIT_USAGE, "%s: no memory for it", path);
		}
		got = read(fd, *p + *n, room - *n);
		if (got < 0 && errno != EINTR)
			die(EXIT_USAGE, "%s: %s", path, strerror(errno));
		*n += got > 0 ? (size_t)got : 0;
	}
	if (fd)
		close(fd);
	return !got;
}

static void on_replay_signal(int sig)
{
	const int err = errno;
	const ssize_t n = write(stop_pipe[1], "", 1);

	(void)n; /* the pipe is full: it is readable */
	stop = 1;
	errno = err;
}

static void catch_replay_signals(void)
{
	struct sigaction sa = {.sa_handler = on_replay_signal};

	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK))
		die(EXIT_USAGE, "cannot make a pipe: %s", strerror(errno));
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static void run_replay(struct replay_args *a, const uint8_t *file, size_t n,
		       struct dpa_replay_sum *sum)
{
	struct replay_text t = {stdout, a->differences};
	char err[256] = "";
	bool some = false;
	bool ok = dpa_replay_run(file, n, &a->o, a->json ? replay_event_json : replay_event_text,
				 a->json ? (void *)&some : (void *)&t, sum, err, sizeof(err));

	if (!ok && !sum->packets)
		die(EXIT_USAGE, "%s: %s", a->file, err);
	if (a->json)
		replay_end_json(&some, sum);
	else
		replay_sum_text(&t, sum);
	fflush(stdout);
	if (!ok)
		die(EXIT_USAGE, "%s: %s", a->file, err);
}

/* The exit status of --check: a replay that compared nothing, or not all, shows nothing. */
static int check_exit_status(const struct replay_args *a, const struct dpa_replay_sum *s,
			     bool whole)
{
	const char *why = NULL;

	if (!whole || s->stopped)
		why = "it was ended by a signal";
	else if (s->early)
		why = "not all of it was replayed";
	else if (!s->flows || (s->out && !s->same && !s->covered && !s->differences))
		why = "nothing was compared";
	if (why)
		fprintf(stderr, "dpactl: %s: --check: %s\n", a->file, why);
	return why || s->differences ? EXIT_WRONG : 0;
}

void cmd_replay(struct ctl *c)
{
	struct replay_args a = {.o = {.role = DPA_REPLAY_RESPONDER,
				      .receives = DPA_REPLAY_CAPTURED,
				      .timeout = 14,
				      .retry = 7,
				      .rnr_retry = 7,
				      .rd = 128,
				      .stop = &stop}};
	struct dpa_replay_sum sum = {0};
	uint8_t *file = NULL;
	bool help = false, whole;
	size_t n = 0;

	for (int i = 1; i < c->argc; i++)
		help |= strcmp(c->argv[i], "--help") == 0 || strcmp(c->argv[i], "-?") == 0 ||
			strcmp(c->argv[i], "--usage") == 0 || strcmp(c->argv[i], "--version") == 0;
	if (argp_parse(&argp, c->argc, c->argv, help ? 0 : ARGP_NO_ERRS, NULL, &a))
		die(EXIT_USAGE, "wrong options: see dpactl replay --help");
	if (!a.file)
		die(EXIT_USAGE, "replay needs a file");
	if (a.payload && !a.test)
		die(EXIT_USAGE, "--payload is for --test");
	if (a.check && a.test)
		die(EXIT_USAGE, "--check and --test: use one of them");
	catch_replay_signals();
	whole = load_replay_file(a.file, &file, &n);
	if (!whole)
		stop = 0; /* what came before Ctrl-C is replayed */
	if (a.test)
		replay_write_test(&a, file, n);
	else
		run_replay(&a, file, n, &sum);
	free(file);
	c->status = a.check ? check_exit_status(&a, &sum, whole) : 0;
}
