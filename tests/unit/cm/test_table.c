/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_table.c - each input in each state. The rows are the diagram and the tables of
 * providers/dpa/cm/README.md; an input without a row must change nothing.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "util.h"

enum what {
	I_CONNECT,
	I_RESOLVE,
	I_ACCEPT,
	I_CONFIRM,
	I_REJECT,
	I_NOTIFY,
	I_DISCONNECT,
	I_SIDR_ANSWER,
	I_DESTROY,
	I_REQ, /* as late as a repetition */
	I_REP,
	I_REQ_COPY, /* at once */
	I_REP_COPY,
	I_REP_OTHER, /* of another remote id */
	I_RTU,
	I_MRA_REQ,
	I_MRA_REP,
	I_REJ,
	I_REJ_STALE,
	I_DREQ,
	I_DREQ_OTHER, /* for another QPN */
	I_DREP,
	I_SIDR_REQ,
	I_SIDR_REP,
	I_EARLY, /* the timer, before the deadline */
	I_TIME,	 /* the deadline, retries are left */
	I_LAST,	 /* the deadline, none is left */
	I_GONE,	 /* that the peer's host is gone */
	WHATS
};

enum { NEVER = -1, SAME = -2 };

static const struct row {
	enum place from;
	enum what what;
	enum dpav_cm_state to;
	int send; /* attribute; 0: nothing */
	enum dpav_cm_event_type event;
	int wait; /* ms until the deadline, NEVER or SAME */
} rows[] = {
#define R(from, what, to, send, event, wait)                                                       \
	{P_##from, I_##what, DPA_CM_ST_##to, send, DPA_CM_EV_##event, wait},
	/* clang-format off */
	R(IDLE, CONNECT, REQ_SENT, DPA_CM_REQ, NONE, 6144)
	R(IDLE, RESOLVE, SIDR_REQ_SENT, DPA_CM_SIDR_REQ, NONE, 4096)
	R(IDLE, REQ, REQ_RCVD, 0, REQ, NEVER)
	R(IDLE, REQ_COPY, REQ_RCVD, 0, REQ, NEVER)
	R(IDLE, SIDR_REQ, SIDR_REQ_RCVD, 0, SIDR_REQ, NEVER)
	R(IDLE, DESTROY, CLOSED, 0, NONE, NEVER)

	R(REQ_SENT, REP, REP_RCVD, 0, REP, NEVER)
	R(REQ_SENT, REP_COPY, REP_RCVD, 0, REP, NEVER)
	R(REQ_SENT, REP_OTHER, REP_RCVD, 0, REP, NEVER)
	R(REQ_SENT, MRA_REQ, MRA_REQ_RCVD, 0, NONE, 65536 + 2048)
	R(REQ_SENT, REJ, CLOSED, 0, REJ, NEVER)
	R(REQ_SENT, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(REQ_SENT, REJECT, CLOSED, DPA_CM_REJ, NONE, NEVER)
	R(REQ_SENT, DESTROY, CLOSED, DPA_CM_REJ, NONE, NEVER)
	R(REQ_SENT, TIME, REQ_SENT, DPA_CM_REQ, NONE, 6144)
	R(REQ_SENT, LAST, CLOSED, 0, UNREACHABLE, NEVER)
	R(REQ_SENT, GONE, CLOSED, 0, UNREACHABLE, NEVER)

	R(MRA_REQ_RCVD, REP, REP_RCVD, 0, REP, NEVER)
	R(MRA_REQ_RCVD, REP_COPY, REP_RCVD, 0, REP, NEVER)
	R(MRA_REQ_RCVD, REP_OTHER, REP_RCVD, 0, REP, NEVER)
	R(MRA_REQ_RCVD, REJ, CLOSED, 0, REJ, NEVER)
	R(MRA_REQ_RCVD, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(MRA_REQ_RCVD, REJECT, CLOSED, DPA_CM_REJ, NONE, NEVER)
	R(MRA_REQ_RCVD, DESTROY, CLOSED, DPA_CM_REJ, NONE, NEVER)
	R(MRA_REQ_RCVD, TIME, MRA_REQ_RCVD, DPA_CM_REQ, NONE, 65536 + 2048)
	R(MRA_REQ_RCVD, LAST, CLOSED, 0, UNREACHABLE, NEVER)
	R(MRA_REQ_RCVD, GONE, CLOSED, 0, UNREACHABLE, NEVER)

	R(REP_RCVD, CONFIRM, ESTABLISHED, DPA_CM_RTU, NONE, NEVER)
	R(REP_RCVD, REP, MRA_REP_SENT, DPA_CM_MRA, NONE, NEVER)
	R(REP_RCVD, REJ, TIMEWAIT, 0, REJ, 2048)
	R(REP_RCVD, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(REP_RCVD, REJECT, CLOSED, DPA_CM_REJ, NONE, NEVER)
	R(REP_RCVD, DESTROY, CLOSED, DPA_CM_REJ, NONE, NEVER)

	R(MRA_REP_SENT, CONFIRM, ESTABLISHED, DPA_CM_RTU, NONE, NEVER)
	R(MRA_REP_SENT, REP, MRA_REP_SENT, DPA_CM_MRA, NONE, NEVER)
	R(MRA_REP_SENT, REJ, TIMEWAIT, 0, REJ, 2048)
	R(MRA_REP_SENT, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(MRA_REP_SENT, REJECT, CLOSED, DPA_CM_REJ, NONE, NEVER)
	R(MRA_REP_SENT, DESTROY, CLOSED, DPA_CM_REJ, NONE, NEVER)

	R(REQ_RCVD, ACCEPT, REP_SENT, DPA_CM_REP, NONE, 4096)
	R(REQ_RCVD, REQ, MRA_REQ_SENT, DPA_CM_MRA, NONE, NEVER)
	R(REQ_RCVD, REJ, CLOSED, 0, REJ, NEVER)
	R(REQ_RCVD, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(REQ_RCVD, REJECT, CLOSED, DPA_CM_REJ, NONE, NEVER)
	R(REQ_RCVD, DESTROY, CLOSED, DPA_CM_REJ, NONE, NEVER)

	R(MRA_REQ_SENT, ACCEPT, REP_SENT, DPA_CM_REP, NONE, 4096)
	R(MRA_REQ_SENT, REQ, MRA_REQ_SENT, DPA_CM_MRA, NONE, NEVER)
	R(MRA_REQ_SENT, REJ, CLOSED, 0, REJ, NEVER)
	R(MRA_REQ_SENT, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(MRA_REQ_SENT, REJECT, CLOSED, DPA_CM_REJ, NONE, NEVER)
	R(MRA_REQ_SENT, DESTROY, CLOSED, DPA_CM_REJ, NONE, NEVER)

	R(REP_SENT, RTU, ESTABLISHED, 0, ESTABLISHED, NEVER)
	R(REP_SENT, NOTIFY, ESTABLISHED, 0, ESTABLISHED, NEVER)
	R(REP_SENT, MRA_REP, MRA_REP_RCVD, 0, NONE, 65536 + 2048)
	R(REP_SENT, DREQ, DREQ_RCVD, DPA_CM_DREP, DREQ, NEVER)
	R(REP_SENT, REJ, CLOSED, 0, REJ, NEVER)
	R(REP_SENT, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(REP_SENT, REJECT, TIMEWAIT, DPA_CM_REJ, NONE, 2048)
	R(REP_SENT, DESTROY, DREQ_SENT, DPA_CM_REJ, NONE, 4096)
	R(REP_SENT, TIME, REP_SENT, DPA_CM_REP, NONE, 4096)
	R(REP_SENT, LAST, CLOSED, 0, UNREACHABLE, NEVER)
	R(REP_SENT, GONE, CLOSED, 0, UNREACHABLE, NEVER)

	R(MRA_REP_RCVD, RTU, ESTABLISHED, 0, ESTABLISHED, NEVER)
	R(MRA_REP_RCVD, NOTIFY, ESTABLISHED, 0, ESTABLISHED, NEVER)
	R(MRA_REP_RCVD, DREQ, DREQ_RCVD, DPA_CM_DREP, DREQ, NEVER)
	R(MRA_REP_RCVD, REJ, CLOSED, 0, REJ, NEVER)
	R(MRA_REP_RCVD, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(MRA_REP_RCVD, REJECT, TIMEWAIT, DPA_CM_REJ, NONE, 2048)
	R(MRA_REP_RCVD, DESTROY, DREQ_SENT, DPA_CM_REJ, NONE, 4096)
	R(MRA_REP_RCVD, TIME, MRA_REP_RCVD, DPA_CM_REP, NONE, 65536 + 2048)
	R(MRA_REP_RCVD, LAST, CLOSED, 0, UNREACHABLE, NEVER)
	R(MRA_REP_RCVD, GONE, CLOSED, 0, UNREACHABLE, NEVER)

	R(ACTIVE, REP, ESTABLISHED, DPA_CM_RTU, NONE, NEVER)
	R(ACTIVE, REP_COPY, ESTABLISHED, DPA_CM_RTU, NONE, NEVER)
	R(ACTIVE, DISCONNECT, DREQ_SENT, DPA_CM_DREQ, NONE, 6144)
	R(ACTIVE, DESTROY, DREQ_SENT, DPA_CM_DREQ, NONE, 6144)
	R(ACTIVE, DREQ, DREQ_RCVD, DPA_CM_DREP, DREQ, NEVER)
	R(ACTIVE, REJ, TIMEWAIT, 0, REJ, 2048)
	R(ACTIVE, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(ACTIVE, GONE, TIMEWAIT, DPA_CM_DREQ, DREQ_TIMEOUT, 2048)
	R(PASSIVE, DISCONNECT, DREQ_SENT, DPA_CM_DREQ, NONE, 4096)
	R(PASSIVE, DESTROY, DREQ_SENT, DPA_CM_DREQ, NONE, 4096)
	R(PASSIVE, DREQ, DREQ_RCVD, DPA_CM_DREP, DREQ, NEVER)
	R(PASSIVE, REJ, TIMEWAIT, 0, REJ, 2048)
	R(PASSIVE, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(PASSIVE, GONE, TIMEWAIT, DPA_CM_DREQ, DREQ_TIMEOUT, 2048)

	R(DREQ_SENT, DREP, TIMEWAIT, 0, DREP, 2048)
	R(DREQ_SENT, DREQ, DREQ_RCVD, DPA_CM_DREP, DREQ, NEVER)
	R(DREQ_SENT, REJ, TIMEWAIT, 0, REJ, 2048)
	R(DREQ_SENT, REJ_STALE, TIMEWAIT, 0, REJ, 2048)
	R(DREQ_SENT, DESTROY, DREQ_SENT, 0, NONE, SAME)
	R(DREQ_SENT, TIME, DREQ_SENT, DPA_CM_DREQ, NONE, 6144)
	R(DREQ_SENT, LAST, TIMEWAIT, 0, DREQ_TIMEOUT, 2048)
	R(DREQ_SENT, GONE, TIMEWAIT, 0, DREQ_TIMEOUT, 2048)

	R(DREQ_RCVD, DREQ, DREQ_RCVD, DPA_CM_DREP, NONE, SAME)
	R(DREQ_RCVD, DISCONNECT, TIMEWAIT, 0, NONE, 2048)
	R(DREQ_RCVD, DESTROY, TIMEWAIT, 0, NONE, 2048)
	R(DREQ_RCVD, DREP, TIMEWAIT, 0, DREP, 2048)

	R(TIMEWAIT, DREQ, TIMEWAIT, DPA_CM_DREP, NONE, SAME)
	R(TIMEWAIT, REQ, TIMEWAIT, DPA_CM_REJ, NONE, SAME)
	R(TIMEWAIT, REQ_COPY, TIMEWAIT, DPA_CM_REJ, NONE, SAME)
	R(TIMEWAIT, DESTROY, TIMEWAIT, 0, NONE, SAME)
	R(TIMEWAIT, TIME, CLOSED, 0, TIMEWAIT_EXIT, NEVER)
	R(TIMEWAIT, LAST, CLOSED, 0, TIMEWAIT_EXIT, NEVER)

	R(SIDR_REQ_SENT, SIDR_REP, CLOSED, 0, SIDR_REP, NEVER)
	R(SIDR_REQ_SENT, DESTROY, CLOSED, 0, NONE, NEVER)
	R(SIDR_REQ_SENT, TIME, SIDR_REQ_SENT, DPA_CM_SIDR_REQ, NONE, 4096)
	R(SIDR_REQ_SENT, LAST, CLOSED, 0, UNREACHABLE, NEVER)
	R(SIDR_REQ_SENT, GONE, CLOSED, 0, UNREACHABLE, NEVER)
	R(SIDR_REQ_RCVD, SIDR_ANSWER, CLOSED, DPA_CM_SIDR_REP, NONE, NEVER)
	R(SIDR_REQ_RCVD, DESTROY, CLOSED, DPA_CM_SIDR_REP, NONE, NEVER)
	R(CLOSED, DESTROY, CLOSED, 0, NONE, NEVER)
	/* clang-format on */
};

static const struct row *row_of(enum place p, enum what w)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].from == p && rows[i].what == w)
			return &rows[i];
	return NULL;
}

static struct dpa_mad mad_of(enum what w)
{
	static const enum dpa_cm_attr attr[WHATS] = {
		[I_REQ] = DPA_CM_REQ,		[I_REP] = DPA_CM_REP,
		[I_REQ_COPY] = DPA_CM_REQ,	[I_REP_COPY] = DPA_CM_REP,
		[I_REP_OTHER] = DPA_CM_REP,	[I_RTU] = DPA_CM_RTU,
		[I_MRA_REQ] = DPA_CM_MRA,	[I_MRA_REP] = DPA_CM_MRA,
		[I_REJ] = DPA_CM_REJ,		[I_REJ_STALE] = DPA_CM_REJ,
		[I_DREQ] = DPA_CM_DREQ,		[I_DREQ_OTHER] = DPA_CM_DREQ,
		[I_DREP] = DPA_CM_DREP,		[I_SIDR_REQ] = DPA_CM_SIDR_REQ,
		[I_SIDR_REP] = DPA_CM_SIDR_REP,
	};
	struct dpa_mad m = test_mad(attr[w]);

	if (w == I_REP_OTHER)
		m.rep.local_id++;
	if (w == I_MRA_REP)
		m.mra.message = 1;
	if (w == I_REJ_STALE)
		m.rej.reason = DPA_CM_REJ_STALE;
	if (w == I_DREQ_OTHER)
		m.dreq.remote_qpn++;
	return m;
}

static struct dpav_cm_input input_of(struct dpav_cm *cm, enum what w, struct dpa_mad *m)
{
	static const enum dpav_cm_input_kind kind[] = {
		[I_CONNECT] = DPA_CM_CONNECT,	    [I_RESOLVE] = DPA_CM_RESOLVE,
		[I_ACCEPT] = DPA_CM_ACCEPT,	    [I_CONFIRM] = DPA_CM_CONFIRM,
		[I_REJECT] = DPA_CM_REJECT,	    [I_NOTIFY] = DPA_CM_NOTIFY,
		[I_DISCONNECT] = DPA_CM_DISCONNECT, [I_SIDR_ANSWER] = DPA_CM_SIDR_ANSWER,
		[I_DESTROY] = DPA_CM_DESTROY,
	};
	struct dpav_cm_input in;

	if (w <= I_DESTROY)
		return test_input(kind[w]);
	if (w < I_EARLY) {
		*m = mad_of(w);
		in = test_receive(m);
		in.now += w == I_REQ || w == I_REP ? AGAIN : 0;
		return in;
	}
	if (w == I_GONE)
		return test_input(DPA_CM_GONE);
	in = test_input(DPA_CM_TIMER);
	if (w == I_LAST)
		cm->retries_left = 0;
	if (cm->deadline != DPA_CM_NEVER)
		in.now = cm->deadline - (w == I_EARLY);
	return in;
}

/* The result of a step without an effect. */
static int refusal(enum place p, enum what w)
{
	if (w > I_DESTROY || w == I_DESTROY || w == I_DISCONNECT)
		return 0;
	return w == I_NOTIFY && (p == P_ACTIVE || p == P_PASSIVE) ? EISCONN : EINVAL;
}

static void check_wait(const struct row *r, uint64_t before, uint64_t now, uint64_t deadline,
		       const char *where)
{
	if (r->wait == NEVER)
		cr_assert_eq(deadline, DPA_CM_NEVER, "%s %d", where, r->what);
	else
		cr_assert_eq(deadline, r->wait == SAME ? before : now + (uint64_t)r->wait,
			     "%s %d: %lu", where, r->what, deadline - now);
}

static void check(enum place p, enum what w)
{
	const struct row *r = row_of(p, w);
	const char *where = test_place_names[p];
	struct dpav_cm cm, before;
	struct dpav_cm_effects out;
	struct dpav_cm_input in;
	struct dpa_mad m;
	int ret;

	memset(&cm, 0, sizeof(cm));
	test_reach(&cm, p);
	in = input_of(&cm, w, &m);
	before = cm;
	ret = dpav_cm_step(&cm, &in, &out);
	test_allowed(&before, &in, ret, &cm, &out, 0);
	if (!r) {
		cr_assert_eq(ret, refusal(p, w), "%s %d: %d", where, w, ret);
		cr_assert_eq(memcmp(&cm, &before, sizeof(cm)), 0, "%s %d", where, w);
		cr_assert(!out.send && !out.event.type, "%s %d", where, w);
		return;
	}
	cr_assert_eq(ret, 0, "%s %d", where, w);
	cr_assert_eq(cm.state, r->to, "%s %d: %d", where, w, cm.state);
	cr_assert_eq(out.send, r->send != 0, "%s %d", where, w);
	if (r->send)
		cr_assert_eq(out.mad.attr, r->send, "%s %d: %#x", where, w, out.mad.attr);
	cr_assert_eq(out.event.type, r->event, "%s %d: event %d", where, w, out.event.type);
	check_wait(r, before.deadline, in.now, out.deadline, where);
}

Test(cm_table, every_input_in_every_place)
{
	for (int p = 0; p < PLACES; p++)
		for (int w = 0; w < WHATS; w++)
			check((enum place)p, (enum what)w);
}

/* Check that the places are in the states of their names. */
Test(cm_table, places)
{
	static const enum dpav_cm_state state[PLACES] = {
		[P_REQ_SENT] = DPA_CM_ST_REQ_SENT,
		[P_MRA_REQ_RCVD] = DPA_CM_ST_MRA_REQ_RCVD,
		[P_REP_RCVD] = DPA_CM_ST_REP_RCVD,
		[P_MRA_REP_SENT] = DPA_CM_ST_MRA_REP_SENT,
		[P_REQ_RCVD] = DPA_CM_ST_REQ_RCVD,
		[P_MRA_REQ_SENT] = DPA_CM_ST_MRA_REQ_SENT,
		[P_REP_SENT] = DPA_CM_ST_REP_SENT,
		[P_MRA_REP_RCVD] = DPA_CM_ST_MRA_REP_RCVD,
		[P_ACTIVE] = DPA_CM_ST_ESTABLISHED,
		[P_PASSIVE] = DPA_CM_ST_ESTABLISHED,
		[P_DREQ_SENT] = DPA_CM_ST_DREQ_SENT,
		[P_DREQ_RCVD] = DPA_CM_ST_DREQ_RCVD,
		[P_TIMEWAIT] = DPA_CM_ST_TIMEWAIT,
		[P_SIDR_REQ_SENT] = DPA_CM_ST_SIDR_REQ_SENT,
		[P_SIDR_REQ_RCVD] = DPA_CM_ST_SIDR_REQ_RCVD,
		[P_CLOSED] = DPA_CM_ST_CLOSED,
	};
	struct dpav_cm cm;

	for (int p = 0; p < PLACES; p++) {
		test_reach(&cm, (enum place)p);
		cr_assert_eq(cm.state, state[p], "%s", test_place_names[p]);
	}
}
