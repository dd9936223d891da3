/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* links.c - converts the network in front of a port from and to text. */
#include <arpa/inet.h>
#include <string.h>

#include "links.h"
#include "units.h"

enum key { KEY_PEER, KEY_RATE, KEY_DELAY, KEY_QUEUE, KEY_ECN, KEY_PFC, KEY_SEED, KEYS };
static const char *const names[KEYS] = {"peer", "rate", "delay", "queue", "ecn", "pfc", "seed"};

static int find_link_key(const char *s, size_t len)
{
	for (int i = 0; i < KEYS; i++)
		if (strlen(names[i]) == len && memcmp(names[i], s, len) == 0)
			return i;
	return -1;
}

static bool parse_bytes(const char **s, uint32_t *out)
{
	uint64_t v;

	if (!dpa_units_bytes(s, DPA_LINK_QUEUE_MAX, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool parse_ecn(const char **s, struct dpa_link_rule *r)
{
	return parse_bytes(s, &r->ecn_min) && *(*s)++ == ':' && parse_bytes(s, &r->ecn_max) &&
	       *(*s)++ == ':' && dpa_units_share(s, &r->ecn_ppm) && r->ecn_max &&
	       r->ecn_min <= r->ecn_max;
}

static bool parse_peer(const char **s, struct dpa_link_rule *r)
{
	char addr[INET6_ADDRSTRLEN];
	size_t n = strcspn(*s, ",+");

	if (n >= sizeof(addr))
		return false;
	memcpy(addr, *s, n);
	addr[n] = '\0';
	*s += n;
	r->has_peer = true;
	memset(r->peer, 0, 10);
	r->peer[10] = r->peer[11] = 0xff;
	return inet_pton(AF_INET, addr, r->peer + 12) == 1 ||
	       inet_pton(AF_INET6, addr, r->peer) == 1;
}

static bool parse_link_value(const char **s, int key, struct dpa_link_rule *r, uint64_t *seed)
{
	switch (key) {
	case KEY_PEER:
		return parse_peer(s, r);
	case KEY_RATE:
		return dpa_units_rate(s, DPA_LINK_RATE_MAX, &r->rate);
	case KEY_DELAY:
		return dpa_units_time(s, DPA_LINK_DELAY_MAX, &r->delay);
	case KEY_QUEUE:
		return parse_bytes(s, &r->queue) && r->queue >= DPA_LINK_QUEUE_MIN;
	case KEY_ECN:
		return parse_ecn(s, r);
	case KEY_SEED:
		return dpa_units_number(s, UINT64_MAX, seed);
	default:
		return false;
	}
}

/* Parses `name` or `name=value` at *s; seen: bits of the keys before it. */
static bool parse_item(const char **s, struct dpa_link_rule *r, uint64_t *seed, unsigned *seen)
{
	size_t len = strcspn(*s, "=,+");
	int key = find_link_key(*s, len);

	if (key < 0 || (*seen & 1u << key) || ((*s)[len] == '=') == (key == KEY_PFC))
		return false;
	*seen |= 1u << key;
	*s += len;
	if (key == KEY_PFC) {
		r->pfc = true;
		return true;
	}
	++*s;
	return parse_link_value(s, key, r, seed);
}

/* Marks and PFC need a queue; a rule without effect is an error. */
static bool rule_ok(struct dpa_link_rule *r)
{
	if (!r->rate)
		return r->delay && !r->queue && !r->ecn_max && !r->pfc;
	if (!r->queue)
		r->queue = DPA_LINK_QUEUE;
	return r->ecn_max <= r->queue;
}

static bool parse_rule(const char **s, struct dpa_link_spec *l, unsigned *seeds)
{
	struct dpa_link_rule r = {0};
	unsigned seen = *seeds;

	if (l->n == DPA_LINK_RULES)
		return false;
	for (;;) {
		if (!parse_item(s, &r, &l->seed, &seen))
			return false;
		if (**s != ',')
			break;
		++*s;
	}
	*seeds = seen & 1u << KEY_SEED;
	for (uint32_t i = 0; i < l->n; i++)
		if (l->rule[i].has_peer == r.has_peer && !memcmp(l->rule[i].peer, r.peer, 16))
			return false;
	l->rule[l->n++] = r;
	return rule_ok(&l->rule[l->n - 1]);
}

/* Puts the port's rule last, because the first rule that fits a packet applies. */
static void sort_rules(struct dpa_link_spec *l)
{
	for (uint32_t i = 0; i + 1 < l->n; i++)
		if (!l->rule[i].has_peer) {
			struct dpa_link_rule r = l->rule[i];

			l->rule[i] = l->rule[i + 1];
			l->rule[i + 1] = r;
		}
}

bool dpa_link_parse(const char *text, struct dpa_link_spec *out)
{
	struct dpa_link_spec l = {.set = true};
	unsigned seeds = 0;

	if (strlen(text) >= DPA_LINK_TEXT)
		return false;
	if (strcmp(text, "off") == 0) {
		*out = l;
		return true;
	}
	while (parse_rule(&text, &l, &seeds)) {
		if (*text == '\0') {
			sort_rules(&l);
			*out = l;
			return true;
		}
		if (*text++ != '+')
			return false;
	}
	return false;
}

/* ------------------------------------------------------------------ to text */

/* Uses the largest unit that gives a whole number. */
static void put_unit(struct dpa_units_out *o, uint64_t v, uint64_t step, const char *const units[4])
{
	int u = 0;

	while (u < 3 && units[u + 1] && v && v % step == 0) {
		v /= step;
		u++;
	}
	dpa_units_put(o, "%llu%s", (unsigned long long)v, units[u]);
}

static void put_byte_size(struct dpa_units_out *o, uint64_t v)
{
	put_unit(o, v, 1024, (const char *const[4]){"", "K", "M", NULL});
}

static void put_share(struct dpa_units_out *o, uint32_t ppm)
{
	if (ppm % 10000)
		dpa_units_put(o, "%uppm", ppm);
	else
		dpa_units_put(o, "%u%%", ppm / 10000);
}

static void put_link_rule(struct dpa_units_out *o, const struct dpa_link_rule *r)
{
	char addr[INET6_ADDRSTRLEN];
	bool v4 = !memcmp(r->peer, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	const char *sep = "";

	if (r->has_peer) {
		dpa_units_put(o, "peer=%s",
			      inet_ntop(v4 ? AF_INET : AF_INET6, r->peer + (v4 ? 12 : 0), addr,
					sizeof(addr)));
		sep = ",";
	}
	if (r->rate) {
		dpa_units_put(o, "%srate=", sep);
		put_unit(o, r->rate, 1000, (const char *const[4]){"", "K", "M", "G"});
		sep = ",";
	}
	if (r->delay) {
		dpa_units_put(o, "%sdelay=", sep);
		put_unit(o, r->delay, 1000, (const char *const[4]){"ns", "us", "ms", "s"});
	}
	if (!r->rate)
		return;
	dpa_units_put(o, ",queue=");
	put_byte_size(o, r->queue);
	if (r->ecn_max) {
		dpa_units_put(o, ",ecn=");
		put_byte_size(o, r->ecn_min);
		dpa_units_put(o, ":");
		put_byte_size(o, r->ecn_max);
		dpa_units_put(o, ":");
		put_share(o, r->ecn_ppm);
	}
	dpa_units_put(o, "%s", r->pfc ? ",pfc" : "");
}

void dpa_link_text(const struct dpa_link_spec *l, char *buf, size_t len)
{
	struct dpa_units_out o = {buf, len, 0};

	dpa_units_put(&o, "%s", l->set && !l->n ? "off" : "");
	for (uint32_t i = 0; i < l->n; i++) {
		dpa_units_put(&o, "%s", i ? "+" : "");
		put_link_rule(&o, &l->rule[i]);
	}
	if (l->n && l->seed)
		dpa_units_put(&o, ",seed=%llu", (unsigned long long)l->seed);
}
