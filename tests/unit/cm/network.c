/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "network.h"

struct net_event {
	uint64_t due;
	int self;	   /* the machine */
	struct net_id *id; /* NULL: a MAD */
	uint8_t *bytes;
};

static uint64_t below(struct net *n, uint64_t limit)
{
	return test_random(&n->random) % limit;
}

struct net *net_new(uint64_t seed, unsigned ids, unsigned loss, unsigned dup, uint64_t delay)
{
	struct net *n = calloc(1, sizeof(*n));

	n->seed = n->random = seed;
	n->ids = ids;
	n->loss = loss;
	n->dup = dup;
	n->delay = delay;
	n->late = 100;
	n->cut = DPA_CM_NEVER;
	n->now = NOW;
	n->m[1].listens = true;
	for (int self = 0; self < 2; self++) {
		n->m[self].id = calloc(ids, sizeof(*n->m[self].id));
		cr_assert_eq(dpav_cm_index_init(&n->m[self].index), 0);
	}
	return n;
}

static void all_ended(const struct net *n, int self)
{
	for (unsigned i = 0; i < n->ids; i++) {
		const struct net_id *id = &n->m[self].id[i];

		cr_assert(!id->used || id->freed, "seed %#lx: machine %d id %u state %d", n->seed,
			  self, i, id->cm.state);
	}
	for (int k = 0; k < DPA_CM_KEYS; k++)
		cr_assert_eq(n->m[self].index.by[k].entries, 0, "seed %#lx", n->seed);
}

void net_free(struct net *n)
{
	for (int self = 0; self < 2; self++) {
		all_ended(n, self);
		dpav_cm_index_fini(&n->m[self].index);
		free(n->m[self].id);
	}
	free(n->event);
	free(n);
}

static void swap(struct net *n, size_t a, size_t b)
{
	struct net_event e = n->event[a];

	n->event[a] = n->event[b];
	n->event[b] = e;
}

static void push(struct net *n, const struct net_event *e)
{
	size_t i = n->events++;

	if (n->events > n->room) {
		n->room = 2 * n->room + 64;
		n->event = realloc(n->event, n->room * sizeof(*n->event));
	}
	n->event[i] = *e;
	for (; i && n->event[i].due < n->event[(i - 1) / 2].due; i = (i - 1) / 2)
		swap(n, i, (i - 1) / 2);
}

static struct net_event pop(struct net *n)
{
	struct net_event first = n->event[0];
	size_t i = 0, least;

	n->event[0] = n->event[--n->events];
	for (;; i = least) {
		least = i;
		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < n->events; k++)
			if (n->event[k].due < n->event[least].due)
				least = k;
		if (least == i)
			return first;
		swap(n, i, least);
	}
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Return the time of the id's next action. An id of a dead process has no timer until another takes
 * it over.
 */
static uint64_t id_due_at(const struct net_id *id)
{
	uint64_t deadline = id->died && !id->cm.orphan ? DPA_CM_NEVER : id->cm.deadline;

	return id->freed ? DPA_CM_NEVER : sooner(sooner(deadline, id->act), id->leave);
}

static void schedule(struct net *n, int self, struct net_id *id)
{
	const struct net_event e = {.due = id_due_at(id), .self = self, .id = id};

	if (e.due != DPA_CM_NEVER)
		push(n, &e);
}

static struct dpav_cm_path path_from(int self)
{
	struct dpav_cm_path p = test_path;

	p.sgid[15] = (uint8_t)(1 + self);
	p.dgid[15] = (uint8_t)(2 - self);
	return p;
}

static void put(struct net *n, int to, const uint8_t *bytes)
{
	uint64_t delay = below(n, 100) < n->late ? below(n, n->delay) : 0;
	const struct net_event e = {
		.due = n->now + 1 + delay, .self = to, .bytes = malloc(DPA_MAD_BYTES)};

	memcpy(e.bytes, bytes, DPA_MAD_BYTES);
	push(n, &e);
}

static void transmit(struct net *n, int to, const struct dpa_mad *m)
{
	uint8_t bytes[DPA_MAD_BYTES];

	n->mads++;
	cr_assert(dpa_mad_encode(m, bytes), "seed %#lx", n->seed);
	if (n->now >= n->cut || below(n, 100) < n->loss)
		return;
	put(n, to, bytes);
	if (below(n, 100) < n->dup)
		put(n, to, bytes);
}

static struct dpav_cm_config config_of(int self, unsigned i)
{
	struct dpav_cm_config c = test_config;

	c.local_id = 0x100000 * (unsigned)(self + 1) + i;
	c.psn = 3 * c.local_id;
	c.ca_guid = GUID + (uint64_t)self;
	return c;
}

static uint64_t leaves_in(struct net *n, const struct net_owner *o)
{
	if (!o->polite)
		return below(n, o->leaves);
	return o->leaves - (o->spread ? below(n, o->leaves * o->spread / 100) : 0);
}

static struct net_id *new_id(struct net *n, int self)
{
	for (unsigned i = 0; i < n->ids; i++) {
		struct net_id *id = &n->m[self].id[i];
		struct dpav_cm_config c = config_of(self, i);

		if (id->used)
			continue;
		id->used = true;
		id->act = DPA_CM_NEVER;
		id->leave = n->now + leaves_in(n, &n->m[self].owner);
		dpav_cm_init(&id->cm, &c);
		return id;
	}
	cr_assert_fail("seed %#lx: too many ids", n->seed);
	return NULL;
}

/* Schedule the owner's answer to an event. */
static void think(struct net *n, int self, struct net_id *id, enum dpav_cm_event_type e)
{
	static const enum dpav_cm_input_kind right[DPA_CM_EVENTS] = {
		[DPA_CM_EV_REQ] = DPA_CM_ACCEPT,
		[DPA_CM_EV_REP] = DPA_CM_CONFIRM,
		[DPA_CM_EV_DREQ] = DPA_CM_DISCONNECT,
		[DPA_CM_EV_SIDR_REQ] = DPA_CM_SIDR_ANSWER};

	if (e != DPA_CM_EV_REQ && e != DPA_CM_EV_REP && e != DPA_CM_EV_DREQ &&
	    e != DPA_CM_EV_SIDR_REQ)
		return;
	id->answer = right[e];
	id->act = n->now + below(n, below(n, 100) < n->m[self].owner.slow ? 20000 : 100);
	if (n->m[self].owner.polite)
		return;
	id->act = n->now + below(n, 60000);
	if (below(n, 3) == 0)
		id->answer = (enum dpav_cm_input_kind)below(n, DPA_CM_MAD);
}

static void take_effects(struct net *n, int self, struct net_id *id,
			 const struct dpav_cm_effects *out)
{
	if (out->record_changed)
		dpav_cm_index_put(&n->m[self].index, &id->entry, &out->record);
	if (out->send)
		transmit(n, !self, &out->mad);
	id->events[out->event.type]++;
	think(n, self, id, out->event.type);
	if (out->done) {
		id->freed = true;
		id->freed_at = n->now;
	}
	schedule(n, self, id);
}

static void step(struct net *n, int self, struct net_id *id, struct dpav_cm_input *in)
{
	struct dpav_cm before = id->cm;
	struct dpav_cm_effects out;
	int ret;

	in->now = n->now;
	ret = dpav_cm_step(&id->cm, in, &out);
	test_allowed(&before, in, ret, &id->cm, &out, n->seed);
	take_effects(n, self, id, &out);
}

/* Its state is lost, except for the part that the machine holds. */
static void die(struct net *n, int self, struct net_id *id)
{
	const struct dpav_cm_record none = {0};

	dpav_cm_index_put(&n->m[self].index, &id->entry, &none);
	id->died = true;
	id->leave = DPA_CM_NEVER;
	id->act = n->now + below(n, 1000);
	schedule(n, self, id);
}

static void take_over(struct net *n, int self, struct net_id *id)
{
	const struct dpav_cm_path path = path_from(self);
	const struct dpav_cm_past past = {.state = id->cm.state,
					  .qp = id->cm.qp,
					  .remote_id = id->cm.remote_id,
					  .remote_qpn = id->cm.remote_qpn,
					  .remote_guid = id->cm.remote_guid,
					  .tid = id->cm.tid,
					  .service_id = id->cm.service_id,
					  .path = &path};
	const struct dpav_cm_config config = id->cm.config;
	struct dpav_cm_effects out;

	cr_assert_eq(dpav_cm_adopt(&id->cm, &config, &past, n->now, &out), 0);
	take_effects(n, self, id, &out);
}

static struct net_id *id_of(struct dpav_cm_entry *e)
{
	return (struct net_id *)((char *)e - offsetof(struct net_id, entry));
}

static void deliver(struct net *n, int self, const struct dpa_mad *m)
{
	struct dpav_cm_path arrival = path_from(self);
	struct dpav_cm_input in = {.kind = DPA_CM_MAD, .mad = m, .arrival = &arrival};
	struct dpav_cm_input stale = {.kind = DPA_CM_DISCONNECT};
	struct dpa_mad answer;
	struct dpav_cm_entry *e;

	switch (dpav_cm_classify(&n->m[self].index, m, arrival.dgid, &e)) {
	case DPA_CM_NEW:
		if (n->m[self].listens) {
			step(n, self, new_id(n, self), &in);
			break;
		}
		dpav_cm_refuse(m, DPA_CM_REJ_SERVICE_ID, &answer);
		transmit(n, !self, &answer);
		break;
	case DPA_CM_FOUND:
	case DPA_CM_DUPLICATE:
		step(n, self, id_of(e), &in);
		break;
	case DPA_CM_STALE:
		dpav_cm_refuse(m, DPA_CM_REJ_STALE, &answer);
		transmit(n, !self, &answer);
		step(n, self, id_of(e), &stale);
		break;
	case DPA_CM_UNKNOWN:
		if (m->attr == DPA_CM_DREQ && dpav_cm_refuse(m, 0, &answer))
			transmit(n, !self, &answer);
	}
}

static void owner_call(struct net *n, int self, struct net_id *id, enum dpav_cm_input_kind kind)
{
	struct dpav_cm_conn conn = test_conn;
	struct dpav_cm_path path = path_from(self);
	struct dpav_cm_input in = {.kind = kind,
				   .service_id = SERVICE,
				   .path = &path,
				   .conn = &conn,
				   .reason = DPA_CM_REJ_CONSUMER};

	conn.qpn = 0x100 + id->cm.config.local_id;
	if (!id->freed)
		step(n, self, id, &in);
}

struct net_id *net_connect(struct net *n, int self, bool sidr)
{
	struct net_id *id = new_id(n, self);

	owner_call(n, self, id, sidr ? DPA_CM_RESOLVE : DPA_CM_CONNECT);
	return id;
}

void net_leave(struct net *n, int self, struct net_id *id, uint64_t when)
{
	id->leave = when;
	schedule(n, self, id);
}

/* A polite owner disconnects a connection, and destroys an id at its end. */
static void leave(struct net *n, int self, struct net_id *id)
{
	const struct net_owner *o = &n->m[self].owner;
	bool polite = o->polite && id->cm.state != DPA_CM_ST_CLOSED;

	if ((id->cm.state == DPA_CM_ST_ESTABLISHED || id->cm.state == DPA_CM_ST_REP_SENT) &&
	    below(n, 100) < o->dies) {
		die(n, self, id);
		return;
	}
	id->leave = polite ? n->now + 200000 : DPA_CM_NEVER;
	owner_call(n, self, id, polite ? DPA_CM_DISCONNECT : DPA_CM_DESTROY);
}

/* Carry out one action of the id; others follow in their own events. */
static void id_due(struct net *n, int self, struct net_id *id)
{
	struct dpav_cm_input timer = {.kind = DPA_CM_TIMER};

	if (id->freed || id_due_at(id) > n->now)
		return;
	if (id->died && !id->cm.orphan) {
		id->act = DPA_CM_NEVER;
		take_over(n, self, id);
	} else if (id->cm.deadline <= n->now) {
		step(n, self, id, &timer);
	} else if (id->act <= n->now) {
		id->act = DPA_CM_NEVER;
		owner_call(n, self, id, id->answer);
	} else {
		leave(n, self, id);
	}
}

static void packet_due(struct net *n, const struct net_event *e)
{
	struct dpa_mad m;

	cr_assert_eq(dpa_mad_decode(e->bytes, DPA_MAD_BYTES, &m), DPA_MAD_OK);
	free(e->bytes);
	deliver(n, e->self, &m);
}

void net_until(struct net *n, uint64_t end)
{
	while (n->events && n->event[0].due <= end) {
		struct net_event e = pop(n);

		n->now = e.due > n->now ? e.due : n->now;
		if (e.id)
			id_due(n, e.self, e.id);
		else
			packet_due(n, &e);
	}
}

uint64_t net_run(struct net *n, uint64_t limit)
{
	net_until(n, NOW + limit);
	cr_assert_eq(n->events, 0, "seed %#lx: still busy", n->seed);
	return n->now - NOW;
}
