/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * trace.c - records the timelines of processes: of a program that it starts, of given processes,
 * or of all processes of the adapter instance. docs/timeline.md describes the result.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <view.h>
#include "../dpactl.h"
#include "../feed.h"
#include "../progress.h"
#include "output.h"
#include "record.h"
#include "tables/tables.h"

#define LOOK_NS	    2000000ull /* between two looks at the rings */
#define FAREWELL_NS 2000000000ull
#define PROGRAM_NS  2000000000ull /* for the program to end after SIGTERM */
#define MOST_EVENTS 1000000u
#define ENV	    "DPA_TIMELINE"

struct recording {
	struct ctl *c;
	struct store *s;
	int listener;
	char name[FEED_NAME];
	pid_t child; /* 0: none, or it has ended */
	int child_status;
	int signals;	/* that had come when it was asked to end; 0: it was not */
	uint64_t asked; /* ns: when it was */
	uint32_t gen;	/* of the request; 0: none was made */
	bool told;
	struct progress progress;
};

/* ---------------------------------------------------------------- processes */

static void accept_processes(struct recording *k)
{
	struct store *s = k->s;
	uint32_t pid;
	int fd;

	while ((fd = feed_accept(k->listener, &pid)) >= 0) {
		const bool wanted = pid_is_named(k->c, pid);

		if (!wanted || s->procs == TRACE_PROCS) {
			s->missed += wanted;
			close(fd); /* its timeline is off again */
			continue;
		}
		memset(&s->proc[s->procs], 0, sizeof(s->proc[0]));
		s->proc[s->procs].fd = fd;
		s->proc[s->procs++].pid = pid;
	}
}

static uint64_t skipped_of(struct trace_proc *p)
{
	uint32_t used = atomic_load_explicit(&p->shm->used, memory_order_acquire);
	uint64_t n = 0;

	for (uint32_t i = 0; i < used && i < DPA_TRACE_RINGS; i++)
		n += atomic_load_explicit(&p->shm->ring[i].skipped, memory_order_relaxed);
	return n;
}

/*
 * Rings begin where the process says: earlier events are of an earlier recording. With `past` they
 * begin at the oldest event that is still there.
 */
static void begin_rings(struct trace_proc *p, bool past)
{
	p->skipped0 = skipped_of(p);
	for (uint32_t i = 0; i < DPA_TRACE_RINGS; i++) {
		struct dpa_trace_ring *r = &p->shm->ring[i];

		p->tail[i] = past ? trace_ring_oldest(r)
				  : atomic_load_explicit(&r->tail, memory_order_relaxed);
	}
}

/* The hello; or it has hung up. */
static void hear_process(struct recording *k, struct trace_proc *p)
{
	struct dpa_trace_hello h;
	int memfd, n = feed_hello(p->fd, &h, sizeof(h), &memfd);

	if (!n)
		return;
	if (n > 0 && !p->shm && h.magic == DPA_TRACE_MAGIC &&
	    h.bytes == sizeof(struct dpa_trace_shm) && memfd >= 0)
		p->shm = feed_map(memfd, sizeof(*p->shm));
	else
		n = -1;
	if (memfd >= 0)
		close(memfd);
	if (n < 0 || !p->shm) {
		close(p->fd);
		p->fd = -1;
		return;
	}
	p->board = h.board;
	if (!k->s->has_clock)
		k->s->clock = h.clock;
	k->s->has_clock = true;
	memcpy(p->comm, h.comm, sizeof(p->comm));
	printable(p->comm, sizeof(p->comm));
	begin_rings(p, k->c->past);
}

/* Returns the number of processes that are connected. */
static uint32_t look_at_processes(struct recording *k)
{
	uint32_t n = 0;

	accept_processes(k);
	for (uint32_t i = 0; i < k->s->procs; i++) {
		struct trace_proc *p = &k->s->proc[i];

		if (p->fd >= 0)
			hear_process(k, p);
		if (p->shm)
			store_drain(k->s, i);
		n += p->fd >= 0;
		if (p->fd >= 0 || !p->shm)
			continue;
		k->s->skipped += skipped_of(p) - p->skipped0; /* it hung up before that last look */
		k->s->ringless += atomic_load_explicit(&p->shm->ringless, memory_order_relaxed);
		munmap(p->shm, sizeof(*p->shm));
		p->shm = NULL;
	}
	return n;
}

/* ------------------------------------------------------------------ a program */

static void start_traced_program(struct recording *k)
{
	char value[sizeof("all@") + FEED_NAME];
	sigset_t none;

	snprintf(value, sizeof(value), "%s@%s", k->c->all ? "all" : "on", k->name);
	k->child = fork();
	if (k->child < 0)
		die(EXIT_NONE, "cannot start %s: %s", k->c->program[0], strerror(errno));
	if (k->child)
		return;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setenv(ENV, value, 1);
	execvp(k->c->program[0], k->c->program);
	fprintf(stderr, "dpactl: cannot start %s: %s\n", k->c->program[0], strerror(errno));
	_exit(127);
}

static bool program_ended(struct recording *k)
{
	int status;

	if (!k->c->program)
		return false;
	if (k->child && waitpid(k->child, &status, WNOHANG) == k->child) {
		k->child = 0;
		k->child_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return !k->child;
}

/* ----------------------------------------------------------------- the request */

static bool is_recorded(struct ctl *c)
{
	struct dpa_cfg_timeline cfg;
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen;

	return dpa_board_ask_get(c->b, DPA_ASK_TIMELINE, text, &gen) &&
	       dpa_cfg_timeline_parse(text, &cfg) && cfg.tool[0] && feed_is_heard(cfg.tool);
}

/* NULL, or why not. */
static const char *make_request(struct recording *k)
{
	static char why[sizeof(k->c->path) + 128];
	char text[sizeof("all@") + FEED_NAME];
	int rc;

	snprintf(text, sizeof(text), "%s@%s", k->c->all ? "all" : "on", k->name);
	rc = dpa_board_ask_put(k->c->b, DPA_ASK_TIMELINE, text, &k->gen);
	if (!rc)
		return NULL;
	snprintf(why, sizeof(why), "%s: %s", k->c->path, strerror(rc));
	return why;
}

/* ----------------------------------------------------------------- the recording */

static void tell_progress(struct recording *k, uint32_t procs)
{
	if (k->gen && !k->told && !ask_waits_for(k->c, DPA_ASK_TIMELINE, k->gen)) {
		k->told = true;
		progress_clear(&k->progress);
		fprintf(stderr, "dpactl: recording %u process%s, Ctrl-C ends it\n", procs,
			procs == 1 ? "" : "es");
	}
	if (!k->c->program && progress_due(&k->progress)) /* the terminal is the program's */
		progress_show(&k->progress, "%zu events of %u processes, %llu lost; Ctrl-C ends it",
			      k->s->n, k->s->procs, (unsigned long long)k->s->lost);
}

/*
 * True when the recording ends because of a signal. A program first gets SIGTERM, once, and some
 * time to end; a second signal ends the recording at once.
 */
static bool ends_by_signal(struct recording *k)
{
	if (!feed_stopped() || !k->child)
		return feed_stopped();
	if (!k->signals) {
		k->signals = feed_signals();
		k->asked = now_ns();
		kill(k->child, SIGTERM);
	}
	return feed_signals() != k->signals || now_ns() - k->asked >= PROGRAM_NS;
}

static void run_recording(struct recording *k, uint64_t until)
{
	for (;;) {
		/* first: what they record until then is taken */
		bool over = program_ended(k) || (k->gen && board_gone(k->c));
		uint32_t procs = look_at_processes(k);

		tell_progress(k, procs);
		if (over || ends_by_signal(k) || now_ns() >= until || k->s->n == k->s->max)
			return;
		feed_wait(k->listener, LOOK_NS);
	}
}

/* Processes switch their timelines off and hang up. One that is stopped does not. */
static void end_timeline_request(struct recording *k)
{
	uint64_t until = now_ns() + FAREWELL_NS;
	uint32_t gen;

	if (!k->gen || dpa_board_ask_put(k->c->b, DPA_ASK_TIMELINE, "", &gen))
		return;
	while (look_at_processes(k) && now_ns() < until)
		feed_wait(k->listener, LOOK_NS);
}

/* Take the rest of the rings of processes that have not hung up. */
static void end_processes(struct recording *k)
{
	for (uint32_t i = 0; i < k->s->procs; i++)
		if (k->s->proc[i].fd >= 0) {
			close(k->s->proc[i].fd);
			k->s->proc[i].fd = -1;
		}
	look_at_processes(k);
}

const char *trace_record(struct ctl *c, struct store *s, uint64_t ns)
{
	struct recording k = {.c = c, .s = s};
	const char *why = NULL;

	view_raise_limit();
	if (!c->program && is_recorded(c))
		return "another dpactl records this adapter instance: end it first";
	k.listener = feed_listen("timeline", k.name);
	feed_catch_signals();
	store_clock(s, true);
	if (c->program)
		start_traced_program(&k);
	else
		why = make_request(&k);
	if (why) {
		close(k.listener);
		return why;
	}
	progress_begin(&k.progress);
	run_recording(&k, ns ? now_ns() + ns : UINT64_MAX);
	end_timeline_request(&k);
	end_processes(&k);
	progress_clear(&k.progress);
	if (k.child) { /* it goes on without us */
		fprintf(stderr, "dpactl: %s still runs\n", c->program[0]);
		k.child_status = EXIT_NONE;
	}
	store_clock(s, false);
	store_sort(s);
	close(k.listener);
	c->status = k.child_status;
	return NULL;
}

static bool is_page(const char *name)
{
	size_t n = strlen(name);

	return n >= 5 && strcmp(name + n - 5, ".html") == 0;
}

void cmd_trace(struct ctl *c)
{
	static struct store s;
	struct progress p;
	struct wqes w;
	FILE *out = stdout;
	const char *why;

	if (!c->program && !c->b)
		die(EXIT_NONE, "no adapter instance: no process of this user uses dpa0 (%s)",
		    c->path);
	store_init(&s, c->count ? c->count : MOST_EVENTS);
	why = trace_record(c, &s, c->seconds * UINT64_C(1000000000));
	if (why)
		die(EXIT_NONE, "%s", why);
	if (strcmp(c->to, "-") != 0)
		out = fopen(c->to, "we");
	if (!out)
		die(EXIT_USAGE, "cannot write %s: %s", c->to, strerror(errno));
	progress_begin(&p);
	progress_show(&p, "writing %zu events to %s", s.n, c->to);
	wqes_find(&s, &w);
	(is_page(c->to) ? trace_page : trace_json)(out, &s, &w);
	if (out != stdout && fclose(out))
		die(EXIT_NONE, "cannot write %s: %s", c->to, strerror(errno));
	progress_clear(&p);
	fprintf(stderr,
		"dpactl: %zu events of %u processes, %zu WQEs; %llu lost, %llu skipped, %llu "
		"beyond the limit\n",
		s.n, s.procs, w.n, (unsigned long long)s.lost, (unsigned long long)s.skipped,
		(unsigned long long)s.beyond);
	if (s.missed)
		fprintf(stderr, "dpactl: %u more processes are not in it: %u is the limit\n",
			s.missed, TRACE_PROCS);
	if (!s.procs)
		fprintf(stderr, "dpactl: no process opened dpa0 meanwhile\n");
	wqes_free(&w);
	store_free(&s);
}
