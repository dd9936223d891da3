/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_msg.c - one side's run of messages: both directions at once, to the end. */
#include "verify_msg.h"

#include <sched.h>
#include <sys/socket.h>

const char *const msg_kind_name[MSG_KINDS] = {"rc", "uc", "ud", "xrc", "srq", "udsrq", "tag"};
const char *const msg_manner_name[MSG_MANNERS] = {"keeps", "starves", "stops", "catches", "turns"};

/* Messages about a flow that are sent beside the device. */
enum { SAY_SEEN, SAY_TOTAL, SAY_DONE };
struct note {
	uint32_t what, flow, n;
};

static double since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

/* ----------------------------------------------------------------------- notes */

/* The sockets hold thousands of notes, and each message has only a few. */
static void say(struct msgs *m, uint32_t what, uint32_t flow, uint32_t n)
{
	struct note note = {what, flow, n};

	vt_put(m->t, &note, sizeof(note));
}

static void seen(struct msgs *m, uint32_t flow, uint32_t n)
{
	struct msg_out *o = &m->out[flow];

	CHECK(n <= o->seq && n >= o->seen, "flow %u: the peer has seen %u, then %u of %u", flow,
	      o->seen, n, o->seq);
	o->seen = n;
	msg_not_busy_before(m, flow, n);
}

/* Return whether there was a note. After the peer's last note there are none. */
static bool heard(struct msgs *m)
{
	struct note note;

	if (m->peer_done || recv(m->t->sock, &note, 1, MSG_DONTWAIT | MSG_PEEK) < 0)
		return false;
	vt_get(m->t, &note, sizeof(note)); /* the rest of it is on its way */
	CHECK(note.flow < m->flows, "flow %u", note.flow);
	switch (note.what) {
	case SAY_SEEN:
		seen(m, note.flow, note.n);
		break;
	case SAY_TOTAL:
		m->in[note.flow].total = note.n;
		m->in[note.flow].ended = true;
		break;
	default:
		m->peer_done = true;
	}
	return true;
}

/* Report to the sender of a flow, the peer or this side; from time to time, or at the end. */
static void tell_seen(struct msgs *m, uint32_t flow, bool now)
{
	struct msg_in *in = &m->in[flow];

	/* with tag matching a rendezvous may end after later ones */
	if (m->done || in->seen_told == in->next || (msg_reliable(m) && in->got != in->next))
		return;
	if (!now && in->next - in->seen_told < MSG_WRITTEN / 4 && in->waits++ < 4)
		return;
	in->waits = 0;
	in->seen_told = in->next;
	if (msg_is_own(m, flow))
		seen(m, flow, in->next);
	else
		say(m, SAY_SEEN, flow, in->next);
}

static void tell_total(struct msgs *m, uint32_t flow)
{
	struct msg_out *o = &m->out[flow];

	if (o->told || o->seq < o->total)
		return;
	o->told = true;
	if (msg_is_own(m, flow)) {
		m->in[flow].total = o->total;
		m->in[flow].ended = true;
	} else {
		say(m, SAY_TOTAL, flow, o->total);
	}
}

/* ------------------------------------------------------------------------- run */

static uint32_t take_sent(struct msgs *m)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(m->scq, BATCH, wc);

	CHECK(n >= 0, "poll_cq failed");
	for (int i = 0; i < n; i++)
		msg_sent(m, &wc[i]);
	return (uint32_t)n;
}

static bool all_ended(const struct msgs *m)
{
	for (uint32_t f = 0; f < m->flows; f++)
		if (!msg_in_ended(m, f) || !msg_out_ended(m, f))
			return false;
	return true;
}

static bool peer_ends(const struct msgs *m)
{
	for (uint32_t f = 0; f < m->flows; f++)
		if (m->in[f].qpn && !m->in[f].ended)
			return false;
	return true;
}

static void stuck(const struct msgs *m)
{
	for (uint32_t f = 0; f < m->flows; f++) {
		const struct msg_out *o = &m->out[f];
		const struct msg_in *in = &m->in[f];

		if (!msg_out_ended(m, f) || !msg_in_ended(m, f))
			printf("    flow %u: posted %u of %u, complete %u, peer has seen %u%s; "
			       "came "
			       "%llu, up to %u of %u\n",
			       f, o->seq, o->total, o->done, o->seen, o->reading ? " (READ)" : "",
			       (unsigned long long)in->got, in->next, in->total);
	}
	vt_fail(__FILE__, __LINE__, "nothing happened for %ld s", m->v->stuck);
}

/* Without a limit a sender fills the buffers between it and a receiver. */
static uint32_t burst(struct msgs *m)
{
	return 1 + (uint32_t)msg_draw(m, msg_reliable(m) ? 8 : 1ull << msg_draw(m, 8));
}

/* Run once; return whether there was progress. */
static bool turn(struct msgs *m, bool over)
{
	bool did = false;

	for (uint32_t i = 0; i < m->pools; i++)
		msg_feed(m, &m->pool[i], peer_ends(m));
	for (uint32_t f = 0; f < m->flows; f++) {
		struct msg_out *o = &m->out[f];

		if (over && o->qp && o->total == UINT32_MAX)
			o->total = o->seq + 1; /* the last one has a completion */
		for (uint32_t n = burst(m); n && msg_send_some(m, f); n--) {
			take_sent(m);
			did = true;
		}
		tell_total(m, f);
	}
	did |= msg_take(m) > 0;
	did |= take_sent(m) > 0;
	for (uint32_t f = 0; f < m->flows; f++)
		tell_seen(m, f, false);
	while (heard(m))
		did = true;
	return did;
}

static void end(struct msgs *m)
{
	for (uint32_t f = 0; f < m->flows; f++)
		tell_seen(m, f, true);
	m->done = true;
	say(m, SAY_DONE, 0, 0);
}

static void run(struct msgs *m)
{
	time_t seen_at = time(NULL);

	for (uint32_t idle = 0; !m->done || !m->peer_done;) {
		bool over = m->o.seconds && since(&m->start) > m->o.seconds;

		if (turn(m, over)) {
			idle = 0;
			seen_at = time(NULL);
		} else {
			idle++;
		}
		if (!m->done && all_ended(m))
			end(m);
		if (idle && idle % 32 == 0)
			sched_yield();
		if (idle && idle % 4096 == 0 && time(NULL) > seen_at + m->v->stuck)
			stuck(m);
	}
}

static uint32_t posted(const struct msgs *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->pools; i++)
		n += m->pool[i].srq ? 0 : m->pool[i].posted;
	return n;
}

/* Messages after the last one that counts may still arrive; then nothing more is written. */
static void settle(struct msgs *m)
{
	time_t begun = time(NULL);

	vt_sync(m->t);
	m->flushing = true;
	msg_to_error(m);
	while (msg_take(m) || posted(m)) {
		sched_yield();
		CHECK(time(NULL) <= begun + m->v->stuck, "%u receives were not flushed", posted(m));
	}
	msg_rests_check(m);
	vt_sync(m->t);
}

static void report(const struct msgs *m)
{
	printf("{\"side\": \"%s\", \"kind\": \"%s\", \"receiver\": \"%s\", \"seed\": %llu, "
	       "\"seconds\": %.3f, \"sent\": %llu, \"arrived\": %llu, \"unexpected\": %u, "
	       "\"bytes\": %llu}\n",
	       m->t->side ? "client" : "server", msg_kind_name[m->o.kind],
	       msg_manner_name[m->o.manner], (unsigned long long)m->v->seed, since(&m->start),
	       (unsigned long long)m->sent, (unsigned long long)m->arrived, m->unexpected,
	       (unsigned long long)m->bytes);
	fflush(stdout);
}

static void agree(struct msgs *m)
{
	const struct verify *v = m->v;
	uint64_t mine[] = {v->qps,  v->max,	v->seed,	   m->o.kind,
			   m->o.dm, m->o.count, m->o.xrcd != NULL, m->o.twice},
		 theirs[sizeof(mine) / sizeof(mine[0])];

	vt_put(m->t, mine, sizeof(mine));
	vt_get(m->t, theirs, sizeof(theirs));
	CHECK(!memcmp(mine, theirs, sizeof(mine)), "the two sides were given different options");
}

void msg_run(struct verify *v, const struct msg_opt *o)
{
	struct msgs *m = calloc(1, sizeof(*m));

	CHECK(m, "no memory");
	m->v = v;
	m->t = &v->t;
	m->o = *o;
	m->rng = mix(v->seed + (uint64_t)v->t.side);
	m->flows = o->kind == MSG_XRC ? 2 * v->qps : v->qps;
	m->pools = o->kind >= MSG_XRC ? 1 : v->qps;
	if (msg_datagrams(m) && v->max > 128u << v->mtu)
		v->max = 128u << v->mtu;
	m->nrecv = o->kind >= MSG_XRC ? 2 * MSG_RECVS : v->qps * MSG_RECVS;
	msg_stopper_begin(m);
	vt_open(m->t);
	if (v->gid_index >= 0)
		CHECK_EQ(ibv_query_gid(m->t->ctx, (uint8_t)v->ib_port, v->gid_index, &m->t->me.gid),
			 0);
	else
		v->gid_index = m->t->gid_index;
	agree(m);
	msg_memory_make(m);
	msg_connect(m);
	vt_sync(m->t);
	clock_gettime(CLOCK_MONOTONIC, &m->start);
	run(m);
	settle(m);
	report(m);
	msg_disconnect(m);
	msg_memory_free(m);
	CHECK_EQ(ibv_dealloc_pd(m->t->pd), 0);
	CHECK_EQ(ibv_close_device(m->t->ctx), 0);
	msg_stopper_end(m);
	free(m);
}
