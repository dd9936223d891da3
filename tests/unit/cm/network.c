/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "network.h"

static uint64_t below(struct net *n, uint64_t limit)
{
	return test_random(&n->random) % limit;
}

struct net *net_new(uint64_t seed, unsigned loss, unsigned dup, uint64_t delay)
{
	struct net *n = calloc(1, sizeof(*n));

	n->seed = n->random = seed;
	n->loss = loss;
	n->dup = dup;
	n->delay = delay;
	n->cut = DPA_CM_NEVER;
	n->now = NOW;
	n->m[1].listens = true;
	for (int self = 0; self < 2; self++)
		cr_assert_eq(dpa_cm_index_init(&n->m[self].index), 0);
	return n;
}

void net_free(struct net *n)
{
	for (int self = 0; self < 2; self++) {
		for (int k = 0; k < DPA_CM_KEYS; k++)
			cr_assert_eq(n->m[self].index.by[k].entries, 0, "seed %#lx", n->seed);
		dpa_cm_index_fini(&n->m[self].index);
	}
	free(n);
}

static struct dpa_cm_path path_from(int self)
{
	struct dpa_cm_path p = test_path;

	p.sgid[15] = (uint8_t)(1 + self);
	p.dgid[15] = (uint8_t)(2 - self);
	return p;
}

static void put(struct net *n, int to, const uint8_t *bytes)
{
	cr_assert_lt(n->packets, NET_PACKETS, "seed %#lx", n->seed);
	n->packet[n->packets].due = n->now + 1 + below(n, n->delay);
	n->packet[n->packets].to = to;
	memcpy(n->packet[n->packets++].bytes, bytes, DPA_MAD_BYTES);
}

static void transmit(struct net *n, int to, const struct dpa_mad *m)
{
	uint8_t bytes[DPA_MAD_BYTES];

	cr_assert(dpa_mad_encode(m, bytes), "seed %#lx", n->seed);
	if (n->now >= n->cut || below(n, 100) < n->loss)
		return;
	put(n, to, bytes);
	if (below(n, 100) < n->dup)
		put(n, to, bytes);
}

static struct net_id *new_id(struct net *n, int self)
{
	for (int i = 0; i < NET_IDS; i++) {
		struct net_id *id = &n->m[self].id[i];
		struct dpa_cm_config c = test_config;

		if (id->used)
			continue;
		c.local_id = (uint32_t)(0x1000 * (self + 1) + i);
		c.ca_guid = GUID + (uint64_t)self;
		memset(id, 0, sizeof(*id));
		id->used = true;
		id->act = DPA_CM_NEVER;
		id->leave = n->now + (n->m[self].owner.polite ? n->m[self].owner.leaves
							      : below(n, n->m[self].owner.leaves));
		dpa_cm_init(&id->cm, &c);
		return id;
	}
	cr_assert_fail("seed %#lx: too many ids", n->seed);
	return NULL;
}

/* The owner's answer to an event, and when it gives it. */
static void think(struct net *n, int self, struct net_id *id, enum dpa_cm_event_type e)
{
	static const enum dpa_cm_input_kind right[DPA_CM_EVENTS] = {
		[DPA_CM_EV_REQ] = DPA_CM_ACCEPT,
		[DPA_CM_EV_REP] = DPA_CM_CONFIRM,
		[DPA_CM_EV_DREQ] = DPA_CM_DISCONNECT,
		[DPA_CM_EV_SIDR_REQ] = DPA_CM_SIDR_ANSWER};

	if (e != DPA_CM_EV_REQ && e != DPA_CM_EV_REP && e != DPA_CM_EV_DREQ &&
	    e != DPA_CM_EV_SIDR_REQ)
		return;
	id->answer = right[e];
	id->act = n->now + below(n, 100);
	if (n->m[self].owner.polite)
		return;
	id->act = n->now + below(n, 60000);
	if (below(n, 3) == 0)
		id->answer = (enum dpa_cm_input_kind)below(n, DPA_CM_MAD);
}

static void step(struct net *n, int self, struct net_id *id, struct dpa_cm_input *in)
{
	struct dpa_cm before = id->cm;
	struct dpa_cm_effects out;
	int ret;

	in->now = n->now;
	ret = dpa_cm_step(&id->cm, in, &out);
	test_allowed(&before, in, ret, &id->cm, &out, n->seed);
	if (out.record_changed)
		dpa_cm_index_put(&n->m[self].index, &id->entry, &out.record);
	if (out.send)
		transmit(n, !self, &out.mad);
	id->events[out.event.type]++;
	think(n, self, id, out.event.type);
	if (out.done) {
		id->freed = true;
		id->freed_at = n->now;
	}
}

static struct net_id *id_of(struct dpa_cm_entry *e)
{
	return (struct net_id *)((char *)e - offsetof(struct net_id, entry));
}

static void deliver(struct net *n, int self, const struct dpa_mad *m)
{
	struct dpa_cm_path arrival = path_from(self);
	struct dpa_cm_input in = {.kind = DPA_CM_MAD, .mad = m, .arrival = &arrival};
	struct dpa_cm_input stale = {.kind = DPA_CM_DISCONNECT};
	struct dpa_mad answer;
	struct dpa_cm_entry *e;

	switch (dpa_cm_classify(&n->m[self].index, m, arrival.dgid, &e)) {
	case DPA_CM_NEW:
		if (n->m[self].listens) {
			step(n, self, new_id(n, self), &in);
			break;
		}
		dpa_cm_refuse(m, DPA_CM_REJ_SERVICE_ID, &answer);
		transmit(n, !self, &answer);
		break;
	case DPA_CM_FOUND:
	case DPA_CM_DUPLICATE:
		step(n, self, id_of(e), &in);
		break;
	case DPA_CM_STALE:
		dpa_cm_refuse(m, DPA_CM_REJ_STALE, &answer);
		transmit(n, !self, &answer);
		step(n, self, id_of(e), &stale);
		break;
	case DPA_CM_UNKNOWN:
		if (m->attr == DPA_CM_DREQ && dpa_cm_refuse(m, 0, &answer))
			transmit(n, !self, &answer);
	}
}

static void owner_call(struct net *n, int self, struct net_id *id, enum dpa_cm_input_kind kind)
{
	struct dpa_cm_conn conn = test_conn;
	struct dpa_cm_path path = path_from(self);
	struct dpa_cm_input in = {.kind = kind,
				  .service_id = SERVICE,
				  .path = &path,
				  .conn = &conn,
				  .reason = DPA_CM_REJ_CONSUMER};

	conn.qpn = 0x100 + id->cm.config.local_id;
	if (!id->freed)
		step(n, self, id, &in);
}

struct net_id *net_connect(struct net *n, bool sidr)
{
	struct net_id *id = new_id(n, 0);

	owner_call(n, 0, id, sidr ? DPA_CM_RESOLVE : DPA_CM_CONNECT);
	return id;
}

static bool packet_due(struct net *n)
{
	for (unsigned i = 0; i < n->packets; i++) {
		struct dpa_mad m;
		int to = n->packet[i].to;

		if (n->packet[i].due > n->now)
			continue;
		cr_assert_eq(dpa_mad_decode(n->packet[i].bytes, DPA_MAD_BYTES, &m), DPA_MAD_OK);
		n->packet[i] = n->packet[--n->packets];
		deliver(n, to, &m);
		return true;
	}
	return false;
}

/* A polite owner disconnects what is connected, and destroys what is at its end. */
static void leave(struct net *n, int self, struct net_id *id)
{
	bool polite = n->m[self].owner.polite && id->cm.state != DPA_CM_ST_CLOSED;

	id->leave = polite ? n->now + 200000 : DPA_CM_NEVER;
	owner_call(n, self, id, polite ? DPA_CM_DISCONNECT : DPA_CM_DESTROY);
}

static bool id_due(struct net *n, int self, struct net_id *id)
{
	struct dpa_cm_input timer = {.kind = DPA_CM_TIMER};

	if (!id->used || id->freed)
		return false;
	if (id->cm.deadline <= n->now) {
		step(n, self, id, &timer);
	} else if (id->act <= n->now) {
		id->act = DPA_CM_NEVER;
		owner_call(n, self, id, id->answer);
	} else if (id->leave <= n->now) {
		leave(n, self, id);
	} else {
		return false;
	}
	return true;
}

static bool ids_due(struct net *n)
{
	for (int self = 0; self < 2; self++)
		for (int i = 0; i < NET_IDS; i++)
			if (id_due(n, self, &n->m[self].id[i]))
				return true;
	return false;
}

static void sooner(uint64_t *t, uint64_t other)
{
	if (other < *t)
		*t = other;
}

static uint64_t next_time(const struct net *n)
{
	uint64_t t = DPA_CM_NEVER;

	for (unsigned i = 0; i < n->packets; i++)
		sooner(&t, n->packet[i].due);
	for (int self = 0; self < 2; self++)
		for (int i = 0; i < NET_IDS; i++) {
			const struct net_id *id = &n->m[self].id[i];

			if (!id->used || id->freed)
				continue;
			sooner(&t, id->cm.deadline);
			sooner(&t, id->act);
			sooner(&t, id->leave);
		}
	return t;
}

void net_until(struct net *n, uint64_t end)
{
	uint64_t t;

	while ((t = next_time(n)) <= end && t != DPA_CM_NEVER) {
		n->now = t > n->now ? t : n->now;
		while (packet_due(n) || ids_due(n))
			;
	}
}

uint64_t net_run(struct net *n, uint64_t limit)
{
	net_until(n, NOW + limit);
	cr_assert_eq(next_time(n), DPA_CM_NEVER, "seed %#lx: still busy", n->seed);
	return n->now - NOW;
}
