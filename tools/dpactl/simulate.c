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
#include "flowout.h"
#include "plot.h"
#include "simulate.h"

#define TEXT_MAX    (1u << 20)
#define SAMPLES_MAX 1000000u

static char *read_scenario(const char *path)
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

static struct flow_out sim_flow_out(const struct dpa_sim_sample *x, uint32_t i)
{
	const struct dpa_sim_flow_stat *f = &x->flow[i];

	return (struct flow_out){.ns = x->ns,
				 .bytes = f->bytes,
				 .rate = f->rate,
				 .rtt_sum = f->rtt_sum,
				 .rtt_num = f->rtt_num,
				 .rtt_max = f->rtt_max,
				 .window = f->window};
}

static void sim_csv_flow(FILE *out, const struct dpa_sim_sample *x, uint32_t i)
{
	const struct dpa_sim_flow_stat *f = &x->flow[i];
	const struct flow_out part = sim_flow_out(x, i);

	plot_fixed(out, x->at, 6);
	fprintf(out, ",%u,", i);
	flow_csv(out, &part);
	fprintf(out, ",%llu,%llu,%llu,%llu,%llu,%llu,", (unsigned long long)f->sent,
		(unsigned long long)f->marked, (unsigned long long)f->cnps,
		(unsigned long long)f->lost, (unsigned long long)f->naks,
		(unsigned long long)f->timeouts);
	plot_fixed(out, f->paused, 3);
	fprintf(out, ",%llu,%llu\n", (unsigned long long)x->queue_avg,
		(unsigned long long)x->queue_max);
}

/* ----------------------------------------------------------------------- JSON */

static struct json_object *flow_object(const struct dpa_sim_sample *x, uint32_t i)
{
	const struct dpa_sim_flow_stat *f = &x->flow[i];
	const struct flow_out part = sim_flow_out(x, i);
	struct json_object *o = json_object_new_object();

	json_add_num(o, "flow", i);
	flow_json(o, &part);
	json_add_num(o, "sent", f->sent);
	json_add_num(o, "marked", f->marked);
	json_add_num(o, "cnps", f->cnps);
	json_add_num(o, "lost", f->lost);
	json_add_num(o, "naks", f->naks);
	json_add_num(o, "timeouts", f->timeouts);
	json_add_num(o, "paused_ns", f->paused);
	return o;
}

static struct json_object *sample_object(const struct sim_run *r, const struct dpa_sim_sample *x)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	json_add_num(o, "time_ns", x->at);
	json_add_num(o, "ns", x->ns);
	json_add_num(o, "queue", x->queue_avg);
	json_add_num(o, "queue_max", x->queue_max);
	json_add_num(o, "queued_bytes", x->bytes);
	for (uint32_t i = 0; i < r->s.n; i++)
		json_object_array_add(list, flow_object(x, i));
	json_object_object_add(o, "flows", list);
	return o;
}

static struct json_object *latency_object(const struct sim_run *r, uint32_t flow)
{
	struct json_object *o = json_object_new_object();
	struct dpa_sim_latency l;

	dpa_sim_latency(r->sim, flow, &l);
	json_add_num(o, "messages", l.num);
	json_add_num(o, "p50_ns", l.p50);
	json_add_num(o, "p99_ns", l.p99);
	json_add_num(o, "p999_ns", l.p999);
	json_add_num(o, "max_ns", l.max);
	return o;
}

static void json_end(FILE *out, const struct sim_run *r)
{
	fputs("\n],\n\"latency\":", out);
	flow_put_json(out, latency_object(r, DPA_SIM_FLOWS));
	fputs(",\n\"flows\":[", out);
	for (uint32_t i = 0; i < r->s.n; i++) {
		struct json_object *o = json_object_new_object();

		json_add_num(o, "flow", i);
		json_add(o, "algorithm", dpa_sim_algo(r->s.flow[i].algo));
		json_object_object_add(o, "latency", latency_object(r, i));
		fputs(i ? ",\n" : "", out);
		flow_put_json(out, o);
	}
	fputs("]}\n", out);
}

/* -------------------------------------------------------------------- the run */

static void write_sim_csv(FILE *out, struct sim_run *r)
{
	struct dpa_sim_sample x;

	csv_head(out);
	while (dpa_sim_run(r->sim, &x))
		for (uint32_t i = 0; i < r->s.n; i++)
			sim_csv_flow(out, &x, i);
}

static void write_sim_json(FILE *out, struct sim_run *r)
{
	struct dpa_sim_sample x;
	bool first = true;

	fprintf(out,
		"{\"rate_bps\":%llu,\"delay_ns\":%llu,\"mtu\":%u,\"seed\":%llu,\"samples\":[\n",
		(unsigned long long)r->s.link.rate, (unsigned long long)r->s.link.delay, r->s.mtu,
		(unsigned long long)r->s.seed);
	/* one by one: there may be a million */
	for (; dpa_sim_run(r->sim, &x); first = false) {
		fputs(first ? "" : ",\n", out);
		flow_put_json(out, sample_object(r, &x));
	}
	json_end(out, r);
}

static void write_run(struct ctl *c, FILE *out, struct sim_run *r)
{
	if (c->to && flow_ends_with(c->to, ".html"))
		sim_plot(out, r);
	else if (c->json || (c->to && flow_ends_with(c->to, ".json")))
		write_sim_json(out, r);
	else
		write_sim_csv(out, r);
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
	char err[512], *text = read_scenario(c->file);
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
