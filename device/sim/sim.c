/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sim.c - simulated time: carries out events in order. */
#include <stdlib.h>
#include <string.h>
#include "pcc/num.h"
#include "sim_priv.h"

#define LINK_RING (DPA_SIM_FLOWS * SIM_FLIGHT)
#define BACK_RING (2 * DPA_SIM_FLOWS * SIM_FLIGHT)

/* DCQCN's line rate, from which the first cut starts, is that of the host's port, where it has one. */
static void set_line_rate(struct dpa_pcc_dcqcn_param *p, uint64_t bits)
{
	*p = dpa_pcc_dcqcn_default;
	if (bits)
		p->rpg_max_rate = dpa_pcc_clamp(bits / 8, p->rpg_hai_rate, p->rpg_max_rate);
}

struct dpa_sim *dpa_sim_new(const struct dpa_sim_scenario *s)
{
	struct dpa_sim *sim = calloc(1, sizeof(*sim) + s->n * sizeof(sim->flow[0]));
	uint64_t *posted = calloc(s->n, SIM_FLIGHT * sizeof(*posted));

	if (!sim || !posted)
		goto none;
	sim->s = *s;
	sim->nflow = s->n;
	set_line_rate(&sim->dcqcn, s->host);
	sim->link = malloc(LINK_RING * sizeof(*sim->link));
	sim->back = malloc(BACK_RING * sizeof(*sim->back));
	if (!sim->link || !sim->back)
		goto none;
	for (uint32_t i = 0; i < s->n; i++) {
		sim->flow[i].posted_at = posted + i * SIM_FLIGHT;
		sim_flow_init(sim, &sim->flow[i], (uint16_t)i);
	}
	return sim;
none:
	if (sim) {
		free(sim->link);
		free(sim->back);
	}
	free(posted);
	free(sim);
	return NULL;
}

void dpa_sim_free(struct dpa_sim *sim)
{
	if (!sim)
		return;
	free(sim->link);
	free(sim->back);
	free(sim->flow[0].posted_at);
	free(sim);
}

/*
 * With PFC a packet that does not fit occupies its host's port until there is room: the queue then
 * holds its maximum.
 */
uint64_t sim_enqueue(struct dpa_sim *sim, struct sim_flow *f, struct sim_pkt *p)
{
	uint32_t n = sim->s.mtu + DPA_SIM_HEADERS;
	struct dpa_linkq_act a;
	uint64_t full;

	dpa_linkq_arrive(&sim->q, &sim->s.link, sim->s.seed, sim->now, n, DPA_LINKQ_ECT, &a);
	sim->queue_sum += a.queued;
	sim->queue_num++;
	if (a.queued > sim->queue_max)
		sim->queue_max = a.queued;
	if (a.dropped) {
		f->stat.lost++;
		return sim->now;
	}
	sim->bytes += n;
	p->due = a.due;
	p->marked = a.marked;
	sim->link[sim->link_ring.head++ % LINK_RING] = *p;
	full = dpa_linkq_time(&sim->s.link, sim->s.link.queue);
	if (!a.waited || sim->q.busy < sim->now + full)
		return sim->now;
	f->stat.paused += sim->q.busy - full - sim->now;
	return sim->q.busy - full;
}

void sim_answer(struct dpa_sim *sim, const struct sim_pkt *p, enum sim_answer what, uint64_t psn)
{
	sim->back[sim->back_ring.head++ % BACK_RING] =
		(struct sim_back){.due = sim->now + sim->s.link.delay,
				  .sent = p->sent,
				  .psn = (uint32_t)psn,
				  .flow = p->flow,
				  .what = (uint8_t)what};
}

static struct sim_flow *next_flow(struct dpa_sim *sim)
{
	struct sim_flow *next = &sim->flow[0];

	for (uint32_t i = 1; i < sim->nflow; i++)
		if (sim->flow[i].at < next->at)
			next = &sim->flow[i];
	return next;
}

/*
 * Carries out the next event if it is before `until`. Of events at the same time answers come
 * first.
 */
static bool run_next_event(struct dpa_sim *sim, uint64_t until)
{
	struct sim_ring *l = &sim->link_ring, *b = &sim->back_ring;
	uint64_t arrives = l->head == l->tail ? SIM_NEVER : sim->link[l->tail % LINK_RING].due;
	uint64_t answered = b->head == b->tail ? SIM_NEVER : sim->back[b->tail % BACK_RING].due;
	struct sim_flow *f = next_flow(sim);

	if (answered < until && answered <= arrives && answered <= f->at) {
		const struct sim_back *k = &sim->back[b->tail++ % BACK_RING];

		sim->now = answered;
		sim_flow_answered(sim, &sim->flow[k->flow], k);
		return true;
	}
	if (arrives < until && arrives <= f->at) {
		const struct sim_pkt *p = &sim->link[l->tail++ % LINK_RING];

		sim->now = arrives;
		sim_flow_arrives(sim, &sim->flow[p->flow], p);
		return true;
	}
	if (f->at >= until)
		return false;
	sim->now = f->at;
	sim_flow_look(sim, f);
	return true;
}

static void take_sim_sample(struct dpa_sim *sim, struct dpa_sim_sample *out)
{
	memset(out, 0, sizeof(*out));
	out->at = sim->now;
	out->ns = sim->now - sim->sampled;
	out->queue_avg = sim->queue_num ? sim->queue_sum / sim->queue_num : 0;
	out->queue_max = sim->queue_max;
	out->bytes = sim->bytes;
	sim->queue_sum = sim->queue_num = sim->queue_max = sim->bytes = 0;
	sim->sampled = sim->now;
	for (uint32_t i = 0; i < sim->nflow; i++) {
		struct sim_flow *f = &sim->flow[i];

		f->stat.rate = f->pcc.rate;
		f->stat.window = f->pcc.window;
		out->flow[i] = f->stat;
		memset(&f->stat, 0, sizeof(f->stat));
	}
}

bool dpa_sim_run(struct dpa_sim *sim, struct dpa_sim_sample *out)
{
	uint64_t until = sim->sampled + sim->s.sample;

	if (sim->sampled >= sim->s.time)
		return false;
	if (until > sim->s.time)
		until = sim->s.time;
	while (run_next_event(sim, until))
		;
	sim->now = until;
	take_sim_sample(sim, out);
	return true;
}

void dpa_sim_latency(const struct dpa_sim *sim, uint32_t flow, struct dpa_sim_latency *l)
{
	const struct sim_hist *h = flow < sim->nflow ? &sim->flow[flow].hist : &sim->all;

	*l = (struct dpa_sim_latency){.num = h->num,
				      .p50 = sim_hist_at(h, 500000),
				      .p99 = sim_hist_at(h, 990000),
				      .p999 = sim_hist_at(h, 999000),
				      .max = h->max};
}
