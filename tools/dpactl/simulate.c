/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * simulate.c - a scenario of congestion in simulated time, as CSV, JSON or a plot. The output
 * depends on the scenario alone: the same one gives the same bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcc/pcc.h>
#include "plot.h"
#include "simulate.h"

#define TEXT_MAX    (1u << 20)
#define SAMPLES_MAX 1000000u

static char *read_text(const char *path)
{
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	char *text = malloc(TEXT_MAX + 1);
	size_t n;

	if (!in)
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	if (!text)
		die(EXIT_NONE, "no memory");
	n = fread(text, 1, TEXT_MAX + 1, in);
	if (ferror(in))
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	if (n > TEXT_MAX)
		die(EXIT_USAGE, "%s: a scenario has %u bytes at most", path, TEXT_MAX);
	text[n] = '\0';
	if (in != stdin)
		fclose(in);
	return text;
}

/* ------------------------------------------------------------------------ CSV */

static void csv_head(FILE *out)
{
	fputs("time_ms,flow,goodput_mbps,rate_mbps,window_bytes,rtt_us,rtt_max_us,sent,marked,"
	      "cnps,lost,naks,timeouts,paused_us,queue_bytes,queue_max_bytes\n",
	      out);
}

/* An empty rate: not paced. An empty round trip: nothing arrived. */
static void csv_flow(FILE *out, const struct dpa_sim_sample *x, uint32_t i)
{
	const struct dpa_sim_flow_stat *f = &x->flow[i];

	plot_fixed(out, x->at, 6);
	fprintf(out, ",%u,", i);
	plot_fixed(out, plot_mbits(f->bytes, x->ns), 3);
	fputc(',', out);
	if (f->rate < DPA_PCC_NO_LIMIT)
		plot_fixed(out, f->rate * 8 / 1000, 3);
	fprintf(out, ",%u,", f->window);
	if (f->rtt_num)
		plot_fixed(out, f->rtt_sum / f->rtt_num, 3);
	fputc(',', out);
	if (f->rtt_num)
		plot_fixed(out, f->rtt_max, 3);
	fprintf(out, ",%llu,%llu,%llu,%llu,%llu,%llu,", (unsigned long long)f->sent,
		(unsigned long long)f->marked, (unsigned long long)f->cnps,
		(unsigned long long)f->lost, (unsigned long long)f->naks,
		(unsigned long long)f->timeouts);
	plot_fixed(out, f->paused, 3);
	fprintf(out, ",%llu,%llu\n", (unsigned long long)x->queue_avg,
		(unsigned long long)x->queue_max);
}

/* ----------------------------------------------------------------------- JSON */

static void json_num(FILE *out, const char *key, uint64_t v)
{
	fprintf(out, ",\"%s\":%llu", key, (unsigned long long)v);
}

static void json_flow(FILE *out, const struct dpa_sim_sample *x, uint32_t i)
{
	const struct dpa_sim_flow_stat *f = &x->flow[i];

	fprintf(out, "%s{\"flow\":%u", i ? "," : "", i);
	json_num(out, "bytes", f->bytes);
	if (f->rate < DPA_PCC_NO_LIMIT)
		json_num(out, "rate_bps", f->rate * 8);
	json_num(out, "window", f->window);
	if (f->rtt_num) {
		json_num(out, "rtt_ns", f->rtt_sum / f->rtt_num);
		json_num(out, "rtt_max_ns", f->rtt_max);
	}
	json_num(out, "sent", f->sent);
	json_num(out, "marked", f->marked);
	json_num(out, "cnps", f->cnps);
	json_num(out, "lost", f->lost);
	json_num(out, "naks", f->naks);
	json_num(out, "timeouts", f->timeouts);
	json_num(out, "paused_ns", f->paused);
	fputc('}', out);
}

static void json_sample(FILE *out, const struct sim_run *r, const struct dpa_sim_sample *x,
			bool first)
{
	fprintf(out, "%s{\"time_ns\":%llu", first ? "" : ",\n", (unsigned long long)x->at);
	json_num(out, "ns", x->ns);
	json_num(out, "queue", x->queue_avg);
	json_num(out, "queue_max", x->queue_max);
	json_num(out, "queued_bytes", x->bytes);
	fputs(",\"flows\":[", out);
	for (uint32_t i = 0; i < r->s.n; i++)
		json_flow(out, x, i);
	fputs("]}", out);
}

static void json_latency(FILE *out, const struct sim_run *r, uint32_t flow)
{
	struct dpa_sim_latency l;

	dpa_sim_latency(r->sim, flow, &l);
	fprintf(out, "{\"messages\":%llu", (unsigned long long)l.num);
	json_num(out, "p50_ns", l.p50);
	json_num(out, "p99_ns", l.p99);
	json_num(out, "p999_ns", l.p999);
	json_num(out, "max_ns", l.max);
	fputc('}', out);
}

static void json_end(FILE *out, const struct sim_run *r)
{
	fputs("\n],\n\"latency\":", out);
	json_latency(out, r, DPA_SIM_FLOWS);
	fputs(",\n\"flows\":[", out);
	for (uint32_t i = 0; i < r->s.n; i++) {
		fprintf(out, "%s{\"flow\":%u,\"algorithm\":\"%s\",\"latency\":", i ? ",\n" : "", i,
			dpa_sim_algo(r->s.flow[i].algo));
		json_latency(out, r, i);
		fputc('}', out);
	}
	fputs("]}\n", out);
}

/* -------------------------------------------------------------------- the run */

static void write_csv(FILE *out, struct sim_run *r)
{
	struct dpa_sim_sample x;

	csv_head(out);
	while (dpa_sim_run(r->sim, &x))
		for (uint32_t i = 0; i < r->s.n; i++)
			csv_flow(out, &x, i);
}

static void write_json(FILE *out, struct sim_run *r)
{
	struct dpa_sim_sample x;
	bool first = true;

	fprintf(out, "{\"rate_bps\":%llu", (unsigned long long)r->s.link.rate);
	json_num(out, "delay_ns", r->s.link.delay);
	json_num(out, "mtu", r->s.mtu);
	json_num(out, "seed", r->s.seed);
	fputs(",\"samples\":[\n", out);
	for (; dpa_sim_run(r->sim, &x); first = false)
		json_sample(out, r, &x, first);
	json_end(out, r);
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n >= k && strcmp(name + n - k, end) == 0;
}

static void write_run(struct ctl *c, FILE *out, struct sim_run *r)
{
	if (c->to && ends_with(c->to, ".html"))
		sim_plot(out, r);
	else if (c->json || (c->to && ends_with(c->to, ".json")))
		write_json(out, r);
	else
		write_csv(out, r);
}

static void load_program(const struct ctl *c, struct sim_run *r)
{
	if (c->image) {
		sim_program_load(c->image, &r->program);
		r->s.program = &r->program;
		dpa_sim_prefer_program(&r->s);
	}
	for (uint32_t i = 0; i < r->s.n; i++)
		if (dpa_sim_is_program(r->s.flow[i].algo) && !r->s.program)
			die(EXIT_USAGE, "%s: algorithm=image needs --image FILE", c->file);
}

void cmd_simulate(struct ctl *c)
{
	static struct sim_run r;
	char err[512], *text = read_text(c->file);
	FILE *out = stdout;

	if (!dpa_sim_parse(text, &r.s, err, sizeof(err)))
		die(EXIT_USAGE, "%s: %s", c->file, err);
	free(text);
	load_program(c, &r);
	if (r.s.time / r.s.sample > SAMPLES_MAX)
		die(EXIT_USAGE, "%s: more than %u samples: make sample longer or time shorter",
		    c->file, SAMPLES_MAX);
	r.name = c->file;
	r.sim = dpa_sim_new(&r.s);
	if (!r.sim)
		die(EXIT_NONE, "no memory for %u flows", r.s.n);
	if (c->to && strcmp(c->to, "-") != 0)
		out = fopen(c->to, "we");
	if (!out)
		die(EXIT_USAGE, "%s: %s", c->to, strerror(errno));
	write_run(c, out, &r);
	if (out != stdout && fclose(out))
		die(EXIT_NONE, "%s: %s", c->to, strerror(errno));
	dpa_sim_free(r.sim);
}
