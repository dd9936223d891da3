/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* injects.c - converts the failures that are injected from and to text. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject_words.h"
#include "injects.h"
#include "units.h"

enum key { KEY_N, KEY_TIMES, KEY_P, KEY_AFTER, KEY_PROG, KEY_ABOVE, KEY_TO, KEY_QPN, KEY_OP, KEYS };
static const char *const key_names[KEYS] = {"n",     "times", "p",   "after", "prog",
					    "above", "to",    "qpn", "op"};
#define HAS(seen, key) ((seen) >> (key)&1u)

/* create_cq is create_cq_ex, too: which of them a program calls depends on its headers. */
int dpa_inject_call_index(const char *name)
{
	size_t len = strlen(name);

	if (len > 3 && strcmp(name + len - 3, "_ex") == 0)
		len -= 3;
	for (int i = 0; dpa_inject_calls[i]; i++)
		if (strlen(dpa_inject_calls[i]) == len &&
		    memcmp(dpa_inject_calls[i], name, len) == 0)
			return i;
	return -1;
}

/* ------------------------------------------------------------------ from text */

/* Takes the word at *s, which ends before one of `ends`. NULL: the table does not have it. */
static const struct dpa_inject_word *take_word(const char **s, const char *ends,
					       const struct dpa_inject_word *table)
{
	size_t len = strcspn(*s, ends);

	for (; table->name; table++)
		if (strlen(table->name) == len && memcmp(table->name, *s, len) == 0) {
			*s += len;
			return table;
		}
	return NULL;
}

static bool take_value_of(const char **s, const struct dpa_inject_word *table, int *value)
{
	const struct dpa_inject_word *w = take_word(s, ",+", table);

	if (w)
		*value = w->value;
	return w;
}

static bool take_point(const char **s, struct dpa_inject_rule *r)
{
	size_t len = strcspn(*s, "=,+");
	char name[40];

	if (len >= sizeof(name) || (*s)[len] != '=')
		return false;
	memcpy(name, *s, len);
	name[len] = '\0';
	*s += len + 1;
	for (int l = DPA_INJECT_WC; l < DPA_INJECT_LINES; l++)
		if (strcmp(name, dpa_inject_lines[l].point) == 0) {
			r->line = (enum dpa_inject_line)l;
			return true;
		}
	r->line = DPA_INJECT_CALL;
	r->call = dpa_inject_call_index(name);
	return r->call >= 0;
}

static bool take_effect(const char **s, struct dpa_inject_rule *r)
{
	const struct dpa_inject_word *w = take_word(s, ",+:", dpa_inject_lines[r->line].effects);

	if (!w)
		return false;
	r->effect = w->value;
	if (**s != ':')
		return w->time != DPA_INJECT_TIMED;
	++*s;
	return w->time != DPA_INJECT_NO_TIME && dpa_units_time(s, DPA_INJECT_TIME_MAX, &r->time) &&
	       (r->time || r->line == DPA_INJECT_COMP);
}

static bool take_rule_qpn(const char **s, uint32_t *qpn)
{
	uint64_t v = 0;
	int digits = 0;

	if (strncmp(*s, "0x", 2) != 0)
		return dpa_units_number(s, 0xffffff, &v) && (*qpn = (uint32_t)v) > 1;
	for (*s += 2; digits < 6; (*s)++, digits++) {
		static const char hex[] = "0123456789abcdef";
		const char *at = **s ? strchr(hex, **s) : NULL;

		if (!at)
			break;
		v = v << 4 | (uint64_t)(at - hex);
	}
	*qpn = (uint32_t)v;
	return v > 1;
}

static bool take_prog(const char **s, char prog[DPA_INJECT_PROG])
{
	size_t len = strcspn(*s, ",+ \t");

	if (!len || len >= DPA_INJECT_PROG)
		return false;
	memset(prog, 0, DPA_INJECT_PROG);
	memcpy(prog, *s, len);
	*s += len;
	return true;
}

static bool take_rule_value(const char **s, enum key key, struct dpa_inject_rule *r)
{
	switch (key) {
	case KEY_N:
		return dpa_units_number(s, UINT32_MAX, &r->n) && r->n;
	case KEY_TIMES:
		if (strncmp(*s, "all", 3) == 0) {
			*s += 3;
			r->times = DPA_INJECT_FOREVER;
			return true;
		}
		return dpa_units_number(s, UINT32_MAX, &r->times) && r->times;
	case KEY_P:
		return dpa_units_share(s, &r->ppm) && r->ppm;
	case KEY_AFTER:
		return dpa_units_time(s, DPA_INJECT_TIME_MAX, &r->after);
	case KEY_PROG:
		return take_prog(s, r->prog);
	case KEY_ABOVE:
		return dpa_units_bytes(s, UINT64_MAX, &r->above) && r->above;
	case KEY_TO:
		return take_value_of(s, dpa_inject_states, &r->to);
	case KEY_QPN:
		return take_rule_qpn(s, &r->qpn);
	case KEY_OP:
		return take_value_of(s, dpa_inject_opcodes, &r->op);
	case KEYS:
		break;
	}
	return false;
}

/* Calls that have a size, as regions have, and those that have a QP. */
static bool call_has(const struct dpa_inject_rule *r, enum key key)
{
	static const char *const sized[] = {"reg_mr",	"reg_dmabuf_mr", "reg_dm_mr",
					    "alloc_dm", "rereg_mr",	 NULL};
	static const char *const queued[] = {"modify_qp", "query_qp",  "destroy_qp",
					     "post_send", "post_recv", NULL};
	const char *const *names = key == KEY_ABOVE ? sized : queued;

	if (r->line == DPA_INJECT_MR)
		return key == KEY_ABOVE;
	if (r->line != DPA_INJECT_CALL)
		return false;
	if (key == KEY_TO)
		return strcmp(dpa_inject_calls[r->call], "modify_qp") == 0;
	for (; *names; names++)
		if (strcmp(*names, dpa_inject_calls[r->call]) == 0)
			return true;
	return false;
}

bool dpa_inject_status_fits(int status, bool receive)
{
	return !receive || status == 1 || status == 2 || status == 4;
}

/* True if a peer can ask for it: the other opcodes are of receives, or of no message. */
static bool is_request_opcode(int op)
{
	return op < 128 && op != DPA_INJECT_BIND_MW && op != DPA_INJECT_LOCAL_INV;
}

/* A key that can have no effect is refused. */
static bool keys_fit(const struct dpa_inject_rule *r, unsigned seen)
{
	bool completions =
		r->line == DPA_INJECT_WC || r->line == DPA_INJECT_CQ || r->line == DPA_INJECT_EVENT;
	bool queued = completions || r->line == DPA_INJECT_PEER;

	if (HAS(seen, KEY_N) && HAS(seen, KEY_P))
		return false;
	if (HAS(seen, KEY_ABOVE) && !call_has(r, KEY_ABOVE))
		return false;
	if (HAS(seen, KEY_TO) && !call_has(r, KEY_TO))
		return false;
	if (HAS(seen, KEY_OP) && !queued)
		return false;
	if (HAS(seen, KEY_OP) && r->line == DPA_INJECT_PEER && !is_request_opcode(r->op))
		return false;
	if (HAS(seen, KEY_OP) && r->line == DPA_INJECT_WC &&
	    !dpa_inject_status_fits(r->effect, r->op & 128))
		return false;
	return !HAS(seen, KEY_QPN) || queued || call_has(r, KEY_QPN);
}

/* Of a port, its addresses and the device: these need no completion and no request. */
static bool is_rule_by_time(const struct dpa_inject_rule *r)
{
	if (!r->after)
		return false;
	if (r->line == DPA_INJECT_PEER)
		return r->effect == DPA_INJECT_STOPPED;
	return r->line == DPA_INJECT_EVENT &&
	       (r->effect == DPA_INJECT_DEVICE_FATAL || r->effect == DPA_INJECT_PORT_ERR ||
		r->effect == DPA_INJECT_GID_CHANGE);
}

static bool take_rule(const char **s, struct dpa_inject_rule *out)
{
	struct dpa_inject_rule r = {.to = DPA_INJECT_ANY, .op = DPA_INJECT_ANY};
	unsigned seen = 0;

	if (!take_point(s, &r) || !take_effect(s, &r))
		return false;
	while (**s == ',') {
		size_t len = strcspn(++*s, "=,+");
		int key = 0;

		while (key < KEYS &&
		       (strlen(key_names[key]) != len || memcmp(key_names[key], *s, len) != 0))
			key++;
		if (key == KEYS || (*s)[len] != '=' || HAS(seen, key))
			return false;
		seen |= 1u << key;
		*s += len + 1;
		if (!take_rule_value(s, (enum key)key, &r))
			return false;
	}
	if (!keys_fit(&r, seen))
		return false;
	if (!r.n && !r.ppm && !is_rule_by_time(&r))
		r.n = 1;
	if (!r.times)
		r.times = r.ppm ? DPA_INJECT_FOREVER : 1;
	*out = r;
	return true;
}

/* A rule or "seed=N". */
static bool take_part(const char **s, struct dpa_inject_spec *f, bool *seeded)
{
	if (strncmp(*s, "seed=", 5) == 0) {
		*s += 5;
		if (*seeded || !dpa_units_number(s, UINT64_MAX, &f->seed))
			return false;
		*seeded = true;
		return true;
	}
	return f->num < DPA_INJECT_RULES && take_rule(s, &f->rule[f->num++]);
}

static bool parse_rules(const char *text, struct dpa_inject_spec *out)
{
	struct dpa_inject_spec f = {.set = true};
	bool seeded = false;

	do {
		if (!take_part(&text, &f, &seeded))
			return false;
	} while (*text++ == '+');
	if (text[-1] || !f.num)
		return false;
	*out = f;
	return true;
}

/* Joins the lines of a scenario by +. */
static bool join_lines(char *file, char *text, size_t room)
{
	char *save = NULL;
	size_t at = 0;

	for (char *l = strtok_r(file, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		size_t len;

		l = dpa_units_bare(l);
		len = strlen(l);
		if (!len)
			continue;
		if (at + len + 2 > room)
			return false;
		if (at)
			text[at++] = '+';
		memcpy(text + at, l, len + 1);
		at += len;
	}
	return at > 0;
}

static bool parse_file(const char *path, struct dpa_inject_spec *out)
{
	char file[4 * DPA_INJECT_TEXT], text[2 * DPA_INJECT_TEXT];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, file, sizeof(file) - 1);
	close(fd);
	if (n <= 0 || n == (ssize_t)sizeof(file) - 1)
		return false;
	file[n] = '\0';
	return join_lines(file, text, sizeof(text)) && parse_rules(text, out);
}

bool dpa_inject_parse(const char *text, struct dpa_inject_spec *out)
{
	if (strcmp(text, "off") == 0) {
		memset(out, 0, sizeof(*out));
		out->set = true;
		return true;
	}
	return text[0] == '@' ? parse_file(text + 1, out) : parse_rules(text, out);
}

/* -------------------------------------------------------------------- to text */

static const char *word_of(const struct dpa_inject_word *table, int value)
{
	while (table->name && table->value != value)
		table++;
	return table->name ? table->name : "?";
}

static void put_time(struct dpa_units_out *o, const char *before, uint64_t ns)
{
	if (ns % 1000000000 == 0)
		dpa_units_put(o, "%s%llus", before, (unsigned long long)ns / 1000000000);
	else if (ns % 1000000 == 0)
		dpa_units_put(o, "%s%llums", before, (unsigned long long)ns / 1000000);
	else if (ns % 1000 == 0)
		dpa_units_put(o, "%s%lluus", before, (unsigned long long)ns / 1000);
	else
		dpa_units_put(o, "%s%lluns", before, (unsigned long long)ns);
}

static void put_when(struct dpa_units_out *o, const struct dpa_inject_rule *r)
{
	if (r->ppm)
		dpa_units_put(o, ",p=%uppm", r->ppm);
	else if (r->n)
		dpa_units_put(o, ",n=%llu", (unsigned long long)r->n);
	if (r->times == DPA_INJECT_FOREVER && !r->ppm)
		dpa_units_put(o, ",times=all");
	else if (r->times != DPA_INJECT_FOREVER && (r->ppm || r->times > 1))
		dpa_units_put(o, ",times=%llu", (unsigned long long)r->times);
	if (r->after)
		put_time(o, ",after=", r->after);
}

static void put_where(struct dpa_units_out *o, const struct dpa_inject_rule *r)
{
	if (r->above)
		dpa_units_put(o, ",above=%llu", (unsigned long long)r->above);
	if (r->to != DPA_INJECT_ANY)
		dpa_units_put(o, ",to=%s", word_of(dpa_inject_states, r->to));
	if (r->op != DPA_INJECT_ANY)
		dpa_units_put(o, ",op=%s", word_of(dpa_inject_opcodes, r->op));
	if (r->qpn)
		dpa_units_put(o, ",qpn=0x%06x", r->qpn);
	if (r->prog[0])
		dpa_units_put(o, ",prog=%s", r->prog);
}

static void put_inject_rule(struct dpa_units_out *o, const struct dpa_inject_rule *r)
{
	bool call = r->line == DPA_INJECT_CALL;

	dpa_units_put(o, "%s=%s",
		      call ? dpa_inject_calls[r->call] : dpa_inject_lines[r->line].point,
		      word_of(dpa_inject_lines[r->line].effects, r->effect));
	if (r->time)
		put_time(o, ":", r->time);
	put_when(o, r);
	put_where(o, r);
}

void dpa_inject_rule_text(const struct dpa_inject_rule *r, char *buf, size_t len)
{
	struct dpa_units_out o = {.buf = buf, .len = len};

	put_inject_rule(&o, r);
}

void dpa_inject_text(const struct dpa_inject_spec *f, char *buf, size_t len)
{
	struct dpa_units_out o = {.buf = buf, .len = len};

	dpa_units_put(&o, "%s", f->set && !f->num ? "off" : "");
	for (uint32_t i = 0; f->set && i < f->num; i++) {
		if (i)
			dpa_units_put(&o, "+");
		put_inject_rule(&o, &f->rule[i]);
	}
	if (f->set && f->num && f->seed)
		dpa_units_put(&o, "+seed=%llu", (unsigned long long)f->seed);
}

void dpa_inject_keep(struct dpa_inject_spec *f, const char *prog)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < f->num; i++)
		if (!f->rule[i].prog[0] || strncmp(f->rule[i].prog, prog, DPA_INJECT_PROG - 1) == 0)
			f->rule[kept++] = f->rule[i];
	f->num = kept;
}
