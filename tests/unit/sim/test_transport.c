/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_transport.c - the device's own requester, responder and completer with congestion control in
 * simulated time: pairs of QPs (tests/unit/transport/harness.h), all of whose WRITEs, or READ
 * responses, pass one queue. All bytes arrive correctly, shares are fair, and the queue is that of
 * device/sim, whose flows are a model of the transport.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "inspect/linkq.h"
#include "link/udp/wire.h"
#include "sim/sim.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "harness.h"

#define FLOWS	4u
#define MSG	65536u
#define OUT	16u /* WRITEs that are posted and not completed */
#define MTU	4096u
#define NETWORK "link = rate=10G,delay=10us,queue=2M,ecn=40K:200K:10%,seed=5\nhost = 10G\n"

/* A packet on its way, in the order of due. */
struct way {
	struct way *next;
	uint64_t due;
	uint32_t flow;
	bool marked;
	struct th_pkt p;
};

struct ring {
	struct way *head, *tail;
};

struct host {
	struct th *th;
	struct ring port; /* due: time at which it has left the host's port */
	uint64_t port_at;
	uint64_t sent, done; /* WRITEs or READs */
	uint64_t bytes;	     /* completed after the start-up */
};

static struct host hosts[FLOWS];
static struct ring on_link, back;
static struct dpa_linkq q;
static struct dpa_sim_scenario s;
static uint64_t start, queue_sum, queue_num, marks, settled;
static bool reads;	 /* the receivers READ; else the senders WRITE */
static uint64_t packets; /* hash of all packets at the queue: packet, time, and mark */

static void push(struct ring *r, struct way *w)
{
	w->next = NULL;
	if (r->tail)
		r->tail->next = w;
	else
		r->head = w;
	r->tail = w;
}

static struct way *pop(struct ring *r)
{
	struct way *w = r->head;

	r->head = w->next;
	if (!r->head)
		r->tail = NULL;
	return w;
}

static struct way *take(struct th_side *side, uint32_t flow)
{
	static struct th_pkt p;
	struct way *w;

	if (!th_take(side, &p))
		return NULL;
	w = malloc(offsetof(struct way, p) + offsetof(struct th_pkt, data) + p.bytes);
	cr_assert_not_null(w);
	w->flow = flow;
	w->marked = false;
	memcpy(&w->p, &p, offsetof(struct th_pkt, data) + p.bytes);
	return w;
}

/* Collect the new packets that both sides of a pair have put into their rings. */
static void collect(uint32_t i)
{
	struct host *h = &hosts[i];
	struct way *w;

	while ((w = take(&h->th->a, i))) {
		uint64_t ns = (w->p.bytes + DPA_SIM_HEADERS) * UINT64_C(8000000000) / s.host;

		h->port_at = (h->port_at > th_now ? h->port_at : th_now) + ns;
		w->due = h->port_at;
		push(&h->port, w);
	}
	while ((w = take(&h->th->b, i))) {
		w->due = th_now + s.link.delay;
		push(&back, w);
	}
}

static void post_more(struct host *h)
{
	struct th_side *poster = reads ? &h->th->b : &h->th->a;
	struct dpa_cqe e;

	while (th_poll(&poster->scq, &e)) {
		cr_assert_eq(e.status, DPA_CQE_OK);
		h->done++;
		h->bytes += th_now >= settled ? MSG : 0;
	}
	while (h->sent - h->done < OUT) {
		th_send(poster, reads ? DPA_OP_RDMA_READ : DPA_OP_RDMA_WRITE,
			(uint32_t)(h->sent % OUT) * MSG, MSG, (uint32_t)(h->sent % OUT) * MSG);
		h->sent++;
	}
}

/* Add to the hash (FNV-1a), without QPNs and addresses, which differ in each run. */
static void note(const struct way *w, bool marked)
{
	const uint64_t of[] = {w->flow,	   w->p.s.opcode,  w->p.s.psn,
			       w->p.bytes, th_now - start, marked};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		packets = (packets ^ of[i]) * 0x100000001b3ull;
}

static void enqueue(struct way *w)
{
	struct dpa_linkq_act a;

	dpa_linkq_arrive(&q, &s.link, s.seed, th_now, w->p.bytes + DPA_SIM_HEADERS, DPA_LINKQ_ECT,
			 &a);
	note(w, a.marked);
	if (th_now >= settled) {
		queue_sum += a.queued;
		queue_num++;
	}
	if (a.dropped) {
		free(w);
		return;
	}
	marks += a.marked;
	w->marked = a.marked;
	w->due = a.due;
	push(&on_link, w);
}

/* Deliver a packet to the receiver, or back to the sender; its answer is then on its way. */
static void arrive(struct way *w, struct th_side *side)
{
	if (w->marked) {
		dpa_qplock_lock(&side->qp->lock);
		dpa_wire_marked(side->qp, DPA_ECN_CE);
		dpa_qp_leave(side->qp);
	}
	th_give(side, &w->p);
	th_flush(side);
	collect(w->flow);
	post_more(&hosts[w->flow]);
	collect(w->flow);
	free(w);
}

static uint64_t timer_at(const struct host *h)
{
	uint64_t left = dpa_timer_left(h->th->hw);

	return left == UINT64_MAX ? UINT64_MAX : th_now + left;
}

/* Return the time and the kind of the next event. */
enum what { PORT, LINK, BACK, TIMER };
static uint64_t next_event(enum what *what, uint32_t *flow)
{
	uint64_t at = on_link.head ? on_link.head->due : UINT64_MAX;

	*what = LINK;
	if (back.head && back.head->due < at) {
		at = back.head->due;
		*what = BACK;
	}
	for (uint32_t i = 0; i < FLOWS; i++) {
		if (hosts[i].port.head && hosts[i].port.head->due < at) {
			at = hosts[i].port.head->due;
			*what = PORT;
			*flow = i;
		}
		if (timer_at(&hosts[i]) < at) {
			at = timer_at(&hosts[i]);
			*what = TIMER;
			*flow = i;
		}
	}
	return at;
}

static void run(uint64_t until)
{
	enum what what;
	uint32_t flow = 0;
	uint64_t at;

	while ((at = next_event(&what, &flow)) < until) {
		struct way *w;

		th_now = at > th_now ? at : th_now;
		switch (what) {
		case PORT:
			enqueue(pop(&hosts[flow].port));
			break;
		case LINK:
			w = pop(&on_link);
			arrive(w, &hosts[w->flow].th->b);
			break;
		case BACK:
			w = pop(&back);
			arrive(w, &hosts[w->flow].th->a);
			break;
		case TIMER:
			dpa_progress_once(hosts[flow].th->hw);
			collect(flow);
			break;
		}
	}
}

static void open_pairs(uint64_t settle)
{
	const struct th_opt opt = {.lossy = true,
				   .mtu = DPA_PORT_MTU_4096,
				   .timeout = 14,
				   .retry = 7,
				   .rd = 16,
				   .dest_rd = 16};
	char err[256];

	cr_assert(dpa_sim_parse(NETWORK "flow = count=4\ntime = 120ms\nsample = 1ms", &s, err,
				sizeof(err)),
		  "%s", err);
	for (uint32_t i = 0; i < FLOWS; i++) {
		hosts[i].th = th_new(&opt);
		th_fill(hosts[i].th->a.mem, OUT * MSG, i);
	}
	start = th_now;
	settled = start + settle;
	for (uint32_t i = 0; i < FLOWS; i++) {
		post_more(&hosts[i]);
		collect(i);
	}
}

static void drop_all(struct ring *r)
{
	while (r->head)
		free(pop(r));
}

static void close_pairs(void)
{
	drop_all(&on_link);
	drop_all(&back);
	for (uint32_t i = 0; i < FLOWS; i++) {
		drop_all(&hosts[i].port);
		th_free(hosts[i].th);
	}
	memset(hosts, 0, sizeof(hosts));
	memset(&q, 0, sizeof(q));
	queue_sum = queue_num = marks = 0;
	reads = false;
}

/* Return the mean queue of device/sim in the same setting. */
static double queue_of_sim(uint64_t settle)
{
	struct dpa_sim *sim = dpa_sim_new(&s);
	static struct dpa_sim_sample x;
	double sum = 0;
	uint32_t n = 0;

	cr_assert_not_null(sim);
	while (dpa_sim_run(sim, &x))
		if (x.at > settle) {
			sum += (double)x.queue_avg;
			n++;
		}
	dpa_sim_free(sim);
	return sum / n;
}

/* Four flows share the link fairly and fill it; returns the mean queue. */
static double share(uint64_t settle, uint64_t end)
{
	double all = 0;

	open_pairs(settle);
	run(start + end);
	for (uint32_t i = 0; i < FLOWS; i++)
		all += (double)hosts[i].bytes;
	for (uint32_t i = 0; i < FLOWS; i++) {
		cr_expect(hosts[i].bytes * FLOWS > 0.9 * all && hosts[i].bytes * FLOWS < 1.1 * all,
			  "flow %u: %.3f", i, hosts[i].bytes * FLOWS / all);
		cr_expect(th_check(hosts[i].th->b.mem, OUT * MSG, i), "bytes of flow %u", i);
		cr_expect_eq(th_count(hosts[i].th, DPA_CNT_local_ack_timeout_err), 0u);
		cr_expect_gt(th_count(hosts[i].th, DPA_CNT_np_cnp_sent), 0u);
		cr_expect_gt(th_count(hosts[i].th, DPA_CNT_rp_cnp_handled), 0u);
	}
	cr_expect_gt(all * 8 / 80e6, 10 * 0.8, "%.2f Gbit/s", all * 8 / 80e6);
	return (double)queue_sum / (double)queue_num;
}

Test(sim_transport, four_into_one)
{
	const uint64_t settle = 40000000, end = 120000000;
	double queue = share(settle, end), expected = queue_of_sim(settle);

	cr_expect(queue > 0.6 * expected && queue < 1.4 * expected, "queue %.0f, not %.0f", queue,
		  expected);
	close_pairs();
}

/*
 * Without pacing of READ responses their window, 128 KiB and more of each flow, fills the queue,
 * however many packets are marked.
 */
Test(sim_transport, read_responses_are_paced)
{
	double queue;

	reads = true;
	queue = share(40000000, 120000000);
	cr_expect(queue > 0 && queue < 200 * 1024, "queue %.0f", queue);
	close_pairs();
}

/* Run everything from the start, with this seed. Return the hash of the packets. */
static uint64_t run_anew(uint64_t seed)
{
	open_pairs(0);
	s.seed = seed;
	packets = 0xcbf29ce484222325ull;
	run(start + 20000000);
	cr_expect_gt(marks, 100u, "nothing that could differ");
	close_pairs();
	return packets;
}

Test(sim_transport, the_same_seed_gives_the_same_packets)
{
	uint64_t first = run_anew(5), again = run_anew(5), other = run_anew(6);

	cr_expect_eq(first, again);
	cr_expect_neq(first, other);
}
