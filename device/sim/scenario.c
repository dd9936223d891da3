/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* scenario.c - reads a scenario from text. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "pcc/rtt.h"
#include "sim/sim.h"
#include "units.h"

#define TIME_MAX  UINT64_C(86400000000000) /* a day */
#define MESSAGE	  (64u << 10)
#define DEPTH	  32u
#define DEPTH_MAX 4096u
#define SAMPLES	  1000u

struct where {
	unsigned line;
	char *err;
	size_t errlen;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct where *w, const char *fmt,
							 ...)
{
	va_list ap;
	int n = snprintf(w->err, w->errlen, "line %u: ", w->line);

	va_start(ap, fmt);
	if (n > 0 && (size_t)n < w->errlen)
		vsnprintf(w->err + n, w->errlen - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

/* Parses one value, which must be all of s. */
static bool whole_time(const char *s, uint64_t *ns)
{
	return dpa_units_time(&s, TIME_MAX, ns) && !*s;
}

static bool whole_bytes(const char *s, uint64_t max, uint32_t *out)
{
	uint64_t v;

	if (!dpa_units_bytes(&s, max, &v) || *s || !v)
		return false;
	*out = (uint32_t)v;
	return true;
}

const char *dpa_sim_algo(uint32_t algo)
{
	if (algo < dpa_pcc_algos_num)
		return dpa_pcc_algos[algo]->name;
	return dpa_sim_is_program(algo) ? "image" : dpa_pcc_rtt.name;
}

bool dpa_sim_is_program(uint32_t algo)
{
	return algo > dpa_pcc_algos_num;
}

void dpa_sim_prefer_program(struct dpa_sim_scenario *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->flow[i].chosen)
			s->flow[i].algo = (uint32_t)dpa_pcc_algos_num + 1;
}

static bool find_algo(const char *name, uint32_t *algo)
{
	for (uint32_t i = 0; i <= dpa_pcc_algos_num + 1; i++)
		if (strcmp(dpa_sim_algo(i), name) == 0) {
			*algo = i;
			return true;
		}
	return false;
}

struct flow_line {
	struct dpa_sim_work w;
	uint64_t step;
	uint32_t count;
};

static bool whole_count(const char *s, uint64_t max, uint32_t *out)
{
	uint64_t v;

	if (!dpa_units_number(&s, max, &v) || *s || !v)
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool start_time(const char *s, uint64_t *ns)
{
	*ns = 0;
	return strcmp(s, "0") == 0 || whole_time(s, ns);
}

static bool flow_value(struct flow_line *f, const char *key, const char *value)
{
	if (strcmp(key, "count") == 0)
		return whole_count(value, DPA_SIM_FLOWS, &f->count);
	if (strcmp(key, "start") == 0)
		return start_time(value, &f->w.start);
	if (strcmp(key, "stop") == 0)
		return whole_time(value, &f->w.stop);
	if (strcmp(key, "step") == 0)
		return whole_time(value, &f->step);
	if (strcmp(key, "every") == 0)
		return whole_time(value, &f->w.every);
	if (strcmp(key, "message") == 0)
		return whole_bytes(value, 1u << 30, &f->w.message);
	if (strcmp(key, "depth") == 0)
		return whole_count(value, DEPTH_MAX, &f->w.depth);
	f->w.chosen = strcmp(key, "algorithm") == 0;
	return f->w.chosen && find_algo(value, &f->w.algo);
}

static bool parse_flow(struct dpa_sim_scenario *s, char *value, const struct where *w)
{
	struct flow_line f = {.w = {.stop = DPA_SIM_FOREVER, .message = MESSAGE}, .count = 1};
	char *save = NULL;

	for (char *item = strtok_r(value, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(item, '=');

		if (eq)
			*eq = '\0';
		if (!eq || !flow_value(&f, item, eq + 1))
			return refuse(w,
				      "flow '%.40s': use some of count=N (%u at most), start=TIME, "
				      "stop=TIME, step=TIME, message=BYTES, depth=N, every=TIME, "
				      "algorithm=NAME, with commas between",
				      item, DPA_SIM_FLOWS);
	}
	if (!f.w.depth)
		f.w.depth = f.w.every ? DEPTH_MAX : DEPTH;
	for (uint32_t i = 0; i < f.count; i++) {
		if (s->n == DPA_SIM_FLOWS)
			return refuse(w, "more than %u flows", DPA_SIM_FLOWS);
		s->flow[s->n] = f.w;
		s->flow[s->n++].start += i * f.step;
	}
	return true;
}

static bool parse_sim_network(struct dpa_sim_scenario *s, const char *value, const struct where *w)
{
	struct dpa_link_spec l;

	if (!dpa_link_parse(value, &l) || l.n != 1 || l.rule[0].has_peer || !l.rule[0].rate)
		return refuse(w,
			      "link '%.60s': use one rule with a rate, as in "
			      "rate=10G,delay=5us,queue=256K,ecn=40K:200K:1%%,pfc,seed=7",
			      value);
	s->link = l.rule[0];
	s->seed = l.seed;
	return true;
}

static bool parse_key(struct dpa_sim_scenario *s, const char *key, char *value,
		      const struct where *w)
{
	const char *at = value;

	if (strcmp(key, "link") == 0)
		return parse_sim_network(s, value, w);
	if (strcmp(key, "flow") == 0)
		return parse_flow(s, value, w);
	if (strcmp(key, "time") == 0)
		return whole_time(value, &s->time) ||
		       refuse(w, "time '%.40s': use a time up to 86400s", value);
	if (strcmp(key, "sample") == 0)
		return whole_time(value, &s->sample) ||
		       refuse(w, "sample '%.40s': use a time as 1ms", value);
	if (strcmp(key, "host") == 0)
		return (dpa_units_rate(&at, DPA_LINK_RATE_MAX, &s->host) && !*at) ||
		       refuse(w, "host '%.40s': use a rate as 40G", value);
	if (strcmp(key, "mtu") == 0)
		return (whole_bytes(value, 4096, &s->mtu) && s->mtu >= 256 &&
			!(s->mtu & (s->mtu - 1))) ||
		       refuse(w, "mtu '%.40s': use 256, 512, 1024, 2048 or 4096", value);
	return refuse(w, "unknown key '%.40s': use link, time, sample, host, mtu or flow", key);
}

static char *trim_blanks(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		n--;
	s[n] = '\0';
	return s;
}

static bool parse_scenario_line(struct dpa_sim_scenario *s, char *line, const struct where *w)
{
	char *eq;

	line[strcspn(line, "#")] = '\0';
	line = trim_blanks(line);
	if (!*line)
		return true;
	eq = strchr(line, '=');
	if (!eq)
		return refuse(w, "'%.40s': use key = value", line);
	*eq = '\0';
	return parse_key(s, trim_blanks(line), trim_blanks(eq + 1), w);
}

bool dpa_sim_parse(const char *text, struct dpa_sim_scenario *s, char *err, size_t errlen)
{
	struct where w = {1, err, errlen};
	char line[512];

	memset(s, 0, sizeof(*s));
	s->time = 100000000;
	s->mtu = 1024;
	for (; *text; w.line++) {
		size_t n = strcspn(text, "\n");

		if (n >= sizeof(line))
			return refuse(&w, "the line is longer than %zu characters",
				      sizeof(line) - 1);
		memcpy(line, text, n);
		line[n] = '\0';
		text += n + (text[n] == '\n');
		if (!parse_scenario_line(s, line, &w))
			return false;
	}
	if (!s->link.rate)
		return refuse(&w, "no link: add link = rate=10G,delay=5us");
	if (!s->n)
		return refuse(&w, "no flow: add flow = count=2");
	if (!s->sample)
		s->sample = s->time / SAMPLES ? s->time / SAMPLES : 1;
	return true;
}
