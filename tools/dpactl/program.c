/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * program.c - a congestion control program of the DPA in a simulation: the image that dpacc made is
 * loaded into this process, and its entries are called as libdpa's engine calls them. Time is that
 * of the simulation. There are no EUs: a fault ends this process with a message.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dpa/dpa_image.h>
#include "simulate.h"
#include <dev/pcc/image.h>

static struct program {
	const char *path;
	const struct dpa_image *image;
	void (*events)(uint64_t batch);
	uint64_t now; /* ns, of the simulation */
	struct dpa_pcc_init init;
	uint32_t counters[DPA_PCC_USER_SLOTS][DPA_PCC_COUNTERS];
	uint32_t params[DPA_PCC_USER_SLOTS][DPA_PCC_PARAMS];
	struct dpa_pcc_batch batch;
} program;

/* ------------------------------------------------------------- the calls out of the image */

static void not_here(void)
{
	die(EXIT_WRONG, "%s: it calls what a congestion control program has not in a simulation",
	    program.path);
}

static uint32_t thread_rank(void)
{
	return 0;
}

static uint32_t num_threads(void)
{
	return 1;
}

/* us */
static uint64_t thread_time(void)
{
	return program.now / 1000;
}

static void print_program_text(const char *text, uint64_t len)
{
	fwrite(text, 1, len, stderr);
}

/* The formats are in the host program. */
static void drop_trace(uint32_t format, const uint64_t words[5])
{
}

static void trace_flush(void)
{
}

static void port_bytes(uint64_t bytes[2])
{
	bytes[0] = bytes[1] = 0;
}

/* Probes have no packets in a simulation: no header and no priority. */
static int no_header(uint32_t flow, const uint32_t *words, uint32_t n)
{
	return EOPNOTSUPP;
}

static int no_dscp(uint32_t flow, uint32_t dscp)
{
	return EOPNOTSUPP;
}

static const struct dpa_dev_ops *make_ops(void)
{
	static struct dpa_dev_ops ops;
	void (*none)(void) = not_here;

	for (size_t at = sizeof(ops.size); at < sizeof(ops); at += sizeof(none))
		memcpy((char *)&ops + at, &none, sizeof(none));
	ops.size = sizeof(ops);
	ops.thread_rank = thread_rank;
	ops.num_threads = num_threads;
	ops.thread_time = thread_time;
	ops.trace_flush = trace_flush;
	ops.pcc_print = print_program_text;
	ops.pcc_trace = drop_trace;
	ops.pcc_port_bytes = port_bytes;
	ops.pcc_probe_header = no_header;
	ops.pcc_probe_dscp = no_dscp;
	return &ops;
}

/* ------------------------------------------------------------------------------ faults */

static void write_stderr(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void on_program_fault(int sig)
{
	write_stderr("dpactl: ");
	write_stderr(program.path);
	write_stderr(sig == SIGFPE   ? ": the program divided by zero\n"
		     : sig == SIGILL ? ": the program trapped\n"
				     : ": the program used an address that is not there\n");
	_exit(EXIT_WRONG);
}

static void catch_faults(void)
{
	static const int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	struct sigaction sa = {.sa_handler = on_program_fault, .sa_flags = SA_ONSTACK};
	stack_t st = {.ss_size = 65536};

	st.ss_sp = malloc(st.ss_size);
	if (!st.ss_sp || sigaltstack(&st, NULL))
		die(EXIT_NONE, "no memory");
	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &sa, NULL);
}

/* ------------------------------------------------------------------------------- image */

typedef void entry_fn(uint64_t arg);

static entry_fn *find_program_entry(const char *name)
{
	for (uint64_t i = 0; i < program.image->num_entries; i++)
		if (strcmp(program.image->entries[i].name, name) == 0)
			return (entry_fn *)(uintptr_t)program.image->entries[i].fn;
	die(EXIT_USAGE, "%s: not a congestion control program: link it with -ldoca_pcc_dev",
	    program.path);
}

/* With a slash: dlopen() must not look in the library path. */
static void load_image(const char *path)
{
	char *full = realpath(path, NULL);
	void *dl;

	if (!full)
		die(EXIT_USAGE, "%s: no such file", path);
	dl = dlopen(full, RTLD_NOW | RTLD_LOCAL);
	free(full);
	program.path = path;
	program.image = dl ? dlsym(dl, "__dpa_image") : NULL;
	if (!program.image || program.image->magic != DPA_IMAGE_MAGIC ||
	    program.image->version != DPA_IMAGE_VERSION)
		die(EXIT_USAGE,
		    "%s: not an image of this version: use image.so of dpacc's -keep-dir", path);
	*program.image->ops = make_ops();
}

static uint32_t answer_report(void *arg, uint64_t now, const struct dpa_pcc_report *r,
			      uint32_t ctxt[12], uint32_t rate, bool *probe)
{
	struct dpa_pcc_item *it = &program.batch.item[0];

	program.now = now;
	program.batch.n = 1;
	it->report = *r;
	it->ctxt = ctxt;
	it->rate = rate;
	it->probe = 0;
	program.events((uintptr_t)&program.batch);
	*probe = it->probe;
	return it->rate < DPA_PCC_RATE_ONE ? it->rate : DPA_PCC_RATE_ONE;
}

/* The lowest slot that is enabled, as on the port. */
static uint32_t acting_slot(void)
{
	uint32_t on = program.init.enabled & program.init.populated;

	if (!on)
		die(EXIT_USAGE, "%s: it enables no slot", program.path);
	return (uint32_t)__builtin_ctz(on);
}

void sim_program_load(const char *path, struct dpa_sim_program *out)
{
	struct dpa_pcc_words words;

	load_image(path);
	program.events = find_program_entry(DPA_PCC_ENTRY_EVENTS);
	catch_faults();
	find_program_entry(DPA_PCC_ENTRY_INIT)((uintptr_t)&program.init);
	for (uint32_t i = 0; i < DPA_PCC_USER_SLOTS; i++) {
		words.counters[i] = program.counters[i];
		words.params[i] = program.params[i];
		for (uint32_t k = 0; k < DPA_PCC_PARAMS; k++)
			program.params[i][k] = program.init.slots[i].params[k].value;
	}
	find_program_entry(DPA_PCC_ENTRY_BIND)((uintptr_t)&words);
	*out = (struct dpa_sim_program){.answer = answer_report,
					.slot = acting_slot(),
					.disabled = program.init.disabled_events};
}
