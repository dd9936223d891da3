/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* record.c - pcc record: flows of running programs as a page, CSV or JSON. pcc watch: in a terminal. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <pcc/pcc.h>
#include <sim/sim.h>
#include "flowout.h"
#include "plot.h"
#include "progress.h"
#include "recorder.h"
#include "tables/tables.h"

/* ------------------------------------------------------------------------- CSV */

static struct flow_out record_flow_out(const struct rec_stat *f, uint64_t ns)
{
	return (struct flow_out){.ns = ns,
				 .bytes = f->bytes,
				 .rate = f->rate,
				 .rtt_sum = f->rtt_sum,
				 .rtt_num = f->rtt_num,
				 .rtt_max = f->rtt_max,
				 .window = f->window};
}

static void record_csv_flow(FILE *out, const struct recorder *r, const struct rec_sample *s,
			    uint32_t i)
{
	const struct rec_stat *f = &s->flow[i];
	const struct flow_out part = record_flow_out(f, s->ns);

	plot_fixed(out, s->at, 6);
	fprintf(out, ",%u,%u,%u,", i, r->flow[i].pid, r->flow[i].qpn);
	flow_csv(out, &part);
	fprintf(out, ",%u,%u,%u,%u,%llu,%llu\n", f->acks, f->marked, f->cnps, f->losses,
		(unsigned long long)(s->queue_num ? s->queue_sum / s->queue_num : 0),
		(unsigned long long)s->queue_max);
}

static void write_record_csv(FILE *out, const struct recorder *r)
{
	fputs("time_ms,flow,pid,qpn,sent_mbps,rate_mbps,window_bytes,rtt_us,rtt_max_us,acks,marked,"
	      "cnps,losses,queue_bytes,queue_max_bytes\n",
	      out);
	for (uint32_t k = 0; k < r->n; k++)
		for (uint32_t i = 0; i < r->flows; i++)
			record_csv_flow(out, r, &r->sample[k], i);
}

/* ------------------------------------------------------------------------ JSON */

static struct json_object *stat_json(const struct rec_stat *f)
{
	struct json_object *o = json_object_new_object();
	const struct flow_out part = record_flow_out(f, 0);

	flow_json(o, &part);
	json_add_num(o, "acks", f->acks);
	json_add_num(o, "marked", f->marked);
	json_add_num(o, "cnps", f->cnps);
	json_add_num(o, "losses", f->losses);
	return o;
}

static struct json_object *sample_json(const struct recorder *r, const struct rec_sample *s)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	json_add_num(o, "time_ns", s->at);
	json_add_num(o, "ns", s->ns);
	json_add_num(o, "queue", s->queue_num ? s->queue_sum / s->queue_num : 0);
	json_add_num(o, "queue_max", s->queue_max);
	for (uint32_t i = 0; i < r->flows; i++)
		json_object_array_add(list, stat_json(&s->flow[i]));
	json_object_object_add(o, "flows", list);
	return o;
}

static void write_record_json(FILE *out, const struct recorder *r)
{
	struct json_object *o = json_object_new_object(), *flows = json_object_new_array(),
			   *samples = json_object_new_array();

	for (uint32_t i = 0; i < r->flows; i++) {
		struct json_object *f = stat_json(&r->flow[i].sum);

		json_add_num(f, "pid", r->flow[i].pid);
		json_add_num(f, "qpn", r->flow[i].qpn);
		json_add_num(f, "dest_qpn", r->flow[i].dest);
		json_add(f, "program", r->flow[i].comm);
		json_object_array_add(flows, f);
	}
	for (uint32_t k = 0; k < r->n; k++)
		json_object_array_add(samples, sample_json(r, &r->sample[k]));
	json_object_object_add(o, "flows", flows);
	json_add_num(o, "missed", r->missed);
	json_object_object_add(o, "samples", samples);
	fprintf(out, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
}

/* ------------------------------------------------------------------------ page */

static void record_flow_name(const struct plot *t, uint32_t flow, char *to, size_t len)
{
	const struct recorder *r = t->arg;

	rec_name(&r->flow[flow], to, len);
}

static void counters_table(const struct plot *t)
{
	const struct recorder *r = t->arg;
	char name[96];

	fputs("<table><tr><th>flow</th><th>bytes</th><th>ACKs</th><th>round trips</th><th>mean, "
	      "us</th><th>largest</th><th>marked</th><th>CNPs</th><th>losses</th></tr>\n",
	      t->out);
	for (uint32_t i = 0; i < r->flows; i++) {
		const struct rec_stat *s = &r->flow[i].sum;

		rec_name(&r->flow[i], name, sizeof(name));
		fputs("<tr><td>", t->out);
		plot_text(t->out, name);
		fprintf(t->out, "</td><td>%llu</td><td>%u</td><td>%u</td>",
			(unsigned long long)s->bytes, s->acks, s->rtt_num);
		plot_cell(t->out, s->rtt_num ? s->rtt_sum / s->rtt_num : 0);
		plot_cell(t->out, s->rtt_max);
		fprintf(t->out, "<td>%u</td><td>%u</td><td>%u</td></tr>\n", s->marked, s->cnps,
			s->losses);
	}
	fputs("</table>\n", t->out);
}

static void gather_record_points(struct plot *t, const struct recorder *r)
{
	uint32_t each = (r->n + PLOT_POINTS - 1) / PLOT_POINTS;

	plot_points(t, each ? (r->n + each - 1) / each : 0);
	for (uint32_t k = 0; k < r->n; k++) {
		const struct rec_sample *s = &r->sample[k];
		struct plot_point *p = &t->p[k / each];

		p->ns += s->ns;
		p->queue_sum += s->queue_sum;
		p->queue_num += s->queue_num;
		p->queue_max = s->queue_max > p->queue_max ? s->queue_max : p->queue_max;
		for (uint32_t i = 0; i < r->flows; i++) {
			const struct rec_stat *f = &s->flow[i];

			p->marked += f->marked;
			p->cnps += f->cnps;
			p->lost += f->losses;
			p->flow[i].bytes += f->bytes;
			p->flow[i].rate = f->rate < DPA_PCC_NO_LIMIT ? f->rate : PLOT_ANY;
			p->flow[i].rtt_sum += f->rtt_sum;
			p->flow[i].rtt_num += f->rtt_num;
		}
	}
}

/* The network that was asked of all processes: its thresholds. */
static void describe_network(struct ctl *c, struct plot *t, char *text, size_t len)
{
	char spec[DPA_BOARD_ASK_TEXT] = "";
	struct dpa_link_spec l;
	uint32_t gen;

	if (!dpa_board_ask_get(c->b, DPA_ASK_LINK, spec, &gen) || !spec[0] ||
	    !dpa_link_parse(spec, &l) || l.n != 1) {
		snprintf(text, len, "no network of dpactl link");
		return;
	}
	snprintf(text, len, "network %s", spec);
	t->ecn_min = l.rule[0].ecn_max ? l.rule[0].ecn_min : 0;
	t->ecn_max = l.rule[0].ecn_max;
	t->queue = l.rule[0].queue;
}

#define MISSED "%u more flows are not shown, or not whole: there is room for %u"

static void write_page(FILE *out, struct recorder *r)
{
	char net[DPA_BOARD_ASK_TEXT + 32], lost[96] = "", about[sizeof(net) + sizeof(lost) + 128];
	struct plot t = {.out = out,
			 .title = "Flows of the adapter instance",
			 .about = about,
			 .goodput = "sent, Mbit/s, with repetitions",
			 .lost = "losses",
			 .flows = r->flows,
			 .arg = r,
			 .name = record_flow_name,
			 .tables = counters_table};

	describe_network(r->c, &t, net, sizeof(net));
	if (r->missed)
		snprintf(lost, sizeof(lost), "; " MISSED, r->missed, REC_FLOWS);
	snprintf(about, sizeof(about), "%u flows, %llu ms; %s%s", r->flows,
		 (unsigned long long)((r->last - r->begin) / 1000000), net, lost);
	gather_record_points(&t, r);
	plot_write(&t);
	plot_free(&t);
}

/* ---------------------------------------------------------------------- record */

static void show_record_progress(struct progress *p, const struct recorder *r,
				 const struct rec_sample *s)
{
	uint64_t bytes = 0;

	if (!progress_due(p))
		return;
	for (uint32_t i = 0; i < r->flows; i++)
		bytes += s->flow[i].bytes;
	progress_show(
		p, "%u samples of %u flows, %llu Mbit/s, queue %llu KiB; Ctrl-C ends it", r->n,
		r->flows, (unsigned long long)(plot_mbits(bytes, s->ns) / 1000),
		(unsigned long long)((s->queue_num ? s->queue_sum / s->queue_num : 0) / 1024));
}

void pcc_record(struct ctl *c)
{
	const char *to = c->to ? c->to : "-";
	struct recorder *r = rec_begin(c);
	/* not before it begins: where it cannot, what the file has remains */
	FILE *out = strcmp(to, "-") == 0 ? stdout : fopen(to, "we");
	static struct rec_sample s;
	struct progress p;
	bool more;

	if (!out)
		die(EXIT_USAGE, "%s: %s", to, strerror(errno));
	progress_begin(&p);
	do {
		more = rec_sample(r, &s);
		rec_keep(r, &s);
		show_record_progress(&p, r, &s);
	} while (more && (!c->seconds || s.at < c->seconds * UINT64_C(1000000000)));
	progress_clear(&p);
	if (!r->flows)
		fprintf(stderr,
			"no flow was paced: they are those to other hosts, and all of them in "
			"a network of dpactl link\n");
	if (r->missed)
		fprintf(stderr, MISSED "\n", r->missed, REC_FLOWS);
	if (flow_ends_with(to, ".html"))
		write_page(out, r);
	else if (c->json || flow_ends_with(to, ".json"))
		write_record_json(out, r);
	else
		write_record_csv(out, r);
	if (out != stdout && fclose(out))
		die(EXIT_NONE, "%s: %s", to, strerror(errno));
	rec_end(r);
}

/* ----------------------------------------------------------------------- watch */

#define SECOND UINT64_C(1000000000)

/*
 * Waits a second, and prints a line for each flow: its figures of that second. False: a signal came.
 * Takes ten samples: a new flow has a line in the second in which it began.
 */
bool pcc_watch_flows(struct recorder *r)
{
	const struct rec_sample *sum = &r->sample[0];
	static struct rec_sample s;
	char name[96];
	bool more;

	r->interval = SECOND / 10;
	r->n = 0;
	do {
		more = rec_sample(r, &s);
		rec_join(r, &s);
	} while (more && sum->ns < SECOND);
	for (uint32_t i = 0; i < r->flows; i++) {
		const struct rec_stat *f = &sum->flow[i];

		if (!f->bytes)
			continue;
		rec_name(&r->flow[i], name, sizeof(name));
		printf("  %-44s sent ", name);
		plot_fixed(stdout, plot_mbits(f->bytes, sum->ns) / 100, 1);
		fputs(" Mbit/s, allowed ", stdout);
		if (f->rate < DPA_PCC_NO_LIMIT)
			plot_fixed(stdout, f->rate * 8 / 100000, 1);
		else
			fputs("any", stdout);
		fputs(", round trip ", stdout);
		plot_fixed(stdout, f->rtt_num ? f->rtt_sum / f->rtt_num / 100 : 0, 1);
		printf(" us, %u marked, %u CNPs, %u losses\n", f->marked, f->cnps, f->losses);
	}
	if (sum->queue_num)
		printf("  queue: mean %llu, largest %llu bytes\n",
		       (unsigned long long)(sum->queue_sum / sum->queue_num),
		       (unsigned long long)sum->queue_max);
	return more;
}
