/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow.c - a model of an RC requester and its responder, after device/send/loss.c and
 * device/order/kept.c: the packets that leave, and their times.
 *
 * As in loss.c, with timeout 14 (67 ms): the window, requests for ACKs, the tail loss probe and the
 * local ACK timer, and the rule by which packets behind a missing one count as delivered. After a
 * NAK the missing packet alone is sent; the peer keeps the others. Not modelled: RNR, READ and
 * atomics, a peer that keeps nothing. Pacing is for each packet, while the device paces bursts of a
 * large message.
 */
#include <string.h>
#include "pcc/num.h"
#include "pcc/rtt.h"
#include "sim_priv.h"

#define PTO_FIRST   UINT64_C(10000000)
#define PTO_MIN	    UINT64_C(200000)
#define ACK_TIMEOUT UINT64_C(67108864)
#define WIDE_WINDOW (512u << 10)

static const void *algo_param_of(const struct dpa_sim *sim, uint32_t algo)
{
	return dpa_pcc_algos[algo] == &dpa_pcc_dcqcn ? &sim->dcqcn : NULL;
}

void sim_flow_init(struct dpa_sim *sim, struct sim_flow *f, uint16_t index)
{
	f->work = sim->s.flow[index];
	f->index = index;
	f->per_message = (f->work.message + sim->s.mtu - 1) / sim->s.mtu;
	f->at = f->post_at = f->work.start;
	f->pto_at = f->ack_at = SIM_NEVER;
	if (f->work.algo < dpa_pcc_algos_num)
		dpa_pcc_init(&f->pcc, dpa_pcc_algos[f->work.algo], algo_param_of(sim, f->work.algo),
			     f->work.start);
	else if (dpa_sim_is_program(f->work.algo))
		sim_program_begin(sim, f);
	else
		dpa_pcc_init_split(&f->pcc, &f->split, &dpa_pcc_rtt, NULL, f->work.start);
}

/* -------------------------------------------------------------------- sender */

static uint32_t flow_packet_bytes(const struct dpa_sim *sim)
{
	return sim->s.mtu + 64;
}

static uint32_t flow_window_of(const struct dpa_sim *sim, const struct sim_flow *f)
{
	uint32_t n = f->pcc.window / flow_packet_bytes(sim);

	return n < 2 ? 2 : n > SIM_FLIGHT / 2 ? SIM_FLIGHT / 2 : n;
}

/* Behind a missing packet, packets that were sent a round trip ago count as delivered. */
static uint64_t flow_in_flight(const struct dpa_sim *sim, const struct sim_flow *f)
{
	uint64_t from = f->una;

	if (f->recovery && f->srtt)
		while (from < f->pos && f->sent_at[from % SIM_FLIGHT] + f->srtt <= sim->now)
			from++;
	return f->pos - from;
}

static bool has_flow_room(const struct dpa_sim *sim, struct sim_flow *f)
{
	uint32_t n = flow_window_of(sim, f);
	uint64_t out = flow_in_flight(sim, f), room = out < n ? n - out : 0;

	if (f->pos - f->una >= SIM_FLIGHT / 2)
		room = 0;
	f->window_full = !room || (f->window_full && room < n / 4 && f->asked > f->una);
	return !f->window_full;
}

static void restart_flow_timers(const struct dpa_sim *sim, struct sim_flow *f)
{
	uint64_t pto = f->srtt ? 4 * f->srtt : PTO_FIRST;

	f->pto = pto < PTO_MIN ? PTO_MIN : pto;
	f->pto_at = f->next > f->una ? sim->now + f->pto : SIM_NEVER;
	f->ack_at = f->next > f->una ? sim->now + ACK_TIMEOUT : SIM_NEVER;
}

static void send_event(const struct dpa_sim *sim, struct sim_flow *f, uint32_t type)
{
	struct dpa_pcc_event ev = {.now = sim->now,
				   .type = type,
				   .psn = (uint32_t)f->una & 0xffffff,
				   .end_psn = (uint32_t)f->next & 0xffffff};

	(void)dpa_pcc_event(&f->pcc, &ev);
}

static void run_flow_timers(const struct dpa_sim *sim, struct sim_flow *f)
{
	if (f->una == f->next)
		return;
	if (sim->now >= f->ack_at) {
		send_event(sim, f, DPA_PCC_TIMEOUT);
		f->stat.timeouts++;
		f->ack_at = sim->now + ACK_TIMEOUT;
		f->pos = f->una;
		f->rtt_at = 0;
	} else if (sim->now >= f->pto_at) {
		f->again = f->pos > f->una;
		f->probe = f->una + 1;
		f->rtt_at = 0;
		f->pto *= 2;
		f->pto_at = sim->now + f->pto;
	}
}

static void post_one(struct sim_flow *f, uint64_t at)
{
	f->posted_at[f->posted / f->per_message % SIM_FLIGHT] = at;
	f->posted += f->per_message;
}

/* A flow that stops completes its current message. */
static void stop_posting(struct sim_flow *f)
{
	uint64_t end = (f->next + f->per_message - 1) / f->per_message * f->per_message;

	if (f->posted > end)
		f->posted = end;
	f->post_at = SIM_NEVER;
}

/* Posts messages that are due: as many as may be outstanding, or at their times. */
static void post_due(const struct dpa_sim *sim, struct sim_flow *f)
{
	if (sim->now >= f->work.stop) {
		stop_posting(f);
		return;
	}
	while (f->post_at <= sim->now && f->posted / f->per_message - f->done < f->work.depth) {
		post_one(f, f->work.every ? f->post_at : sim->now);
		f->post_at += f->work.every;
	}
}

static bool wants_ack(struct sim_flow *f, const struct dpa_sim *sim, uint64_t psn)
{
	uint32_t quarter = f->pcc.window / (f->pcc.window < WIDE_WINDOW ? 4 : 2);
	bool full = flow_in_flight(sim, f) >= flow_window_of(sim, f) && f->asked <= f->una;

	return psn < f->pos - 1 || (psn + 1) % f->per_message == 0 || f->unacked >= quarter || full;
}

/* The port sends without a gap, exact to the fraction of a ns, if it was busy until now. */
static void occupy_port(const struct dpa_sim *sim, struct sim_flow *f)
{
	uint64_t parts = (sim->s.mtu + DPA_SIM_HEADERS) * UINT64_C(8000000000);

	if (f->port_at != sim->now)
		f->port_part = 0;
	f->port_at = sim->now;
	if (!sim->s.host)
		return;
	parts += f->port_part;
	f->port_at += parts / sim->s.host;
	f->port_part = parts % sim->s.host;
}

static void put_into_port(const struct dpa_sim *sim, struct sim_flow *f, uint64_t psn)
{
	bool fresh = psn == f->next;

	f->next += fresh;
	if (psn == f->pos) {
		f->pos++;
		f->sent_at[psn % SIM_FLIGHT] = sim->now;
	}
	if (fresh && !f->rtt_at) {
		f->rtt_at = sim->now;
		f->rtt_psn = psn;
	}
	f->unacked += sim->s.mtu;
	f->port = (struct sim_pkt){.sent = sim->now, .psn = (uint32_t)psn, .flow = f->index};
	f->port.ackreq = wants_ack(f, sim, psn);
	f->port.probe = f->pcc.probes != f->probes;
	f->probes = f->pcc.probes;
	if (f->port.ackreq) {
		f->unacked = 0;
		f->asked = psn + 1 > f->asked ? psn + 1 : f->asked;
	}
	if (f->ack_at == SIM_NEVER)
		restart_flow_timers(sim, f);
	dpa_pcc_sent(&f->pcc, sim->now, sim->s.mtu);
	f->stat.sent++;
	f->leaving = true;
	occupy_port(sim, f);
}

/* Starts the next packet, or sets *wait to the time when this is possible. */
static bool send_next(const struct dpa_sim *sim, struct sim_flow *f, uint64_t *wait)
{
	uint64_t ns;

	post_due(sim, f);
	if (!f->again && (f->pos == f->posted || !has_flow_room(sim, f))) {
		*wait = SIM_NEVER;
		if (f->recovery && f->srtt && f->pos > f->una)
			*wait = sim->now + f->srtt / 6;
		return false;
	}
	ns = dpa_pcc_may_send(&f->pcc, sim->now, flow_packet_bytes(sim));
	if (ns) {
		*wait = sim->now + ns;
		return false;
	}
	put_into_port(sim, f, f->again ? f->una : f->pos);
	f->again = false;
	return true;
}

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void sim_flow_look(struct dpa_sim *sim, struct sim_flow *f)
{
	uint64_t wait = SIM_NEVER;

	run_flow_timers(sim, f);
	while (f->port_at <= sim->now) {
		if (f->leaving) {
			f->leaving = false;
			f->port_at = sim_enqueue(sim, f, &f->port);
			continue;
		}
		if (!send_next(sim, f, &wait))
			break;
	}
	if (f->port_at > sim->now)
		wait = f->port_at;
	f->at = earlier_of(wait, earlier_of(f->pto_at, f->ack_at));
	if (f->post_at > sim->now)
		f->at = earlier_of(f->at, f->post_at);
}

/* ------------------------------------------------------------------ answers */

static void finish_messages(struct dpa_sim *sim, struct sim_flow *f)
{
	while ((f->done + 1) * f->per_message <= f->una) {
		uint64_t ns = sim->now - f->posted_at[f->done++ % SIM_FLIGHT];

		sim_hist_add(&f->hist, ns);
		sim_hist_add(&sim->all, ns);
	}
}

static uint64_t sample_rtt(const struct dpa_sim *sim, struct sim_flow *f)
{
	uint64_t rtt;

	if (!f->rtt_at || f->una <= f->rtt_psn)
		return 0;
	rtt = dpa_pcc_since(sim->now, f->rtt_at);
	f->rtt_at = 0;
	f->srtt = f->srtt ? (f->srtt * 7 + rtt) / 8 : rtt;
	f->srtt += !f->srtt;
	return rtt;
}

static void acknowledge_until(struct dpa_sim *sim, struct sim_flow *f, const struct sim_back *b,
			      uint64_t una)
{
	struct dpa_pcc_event ev = {.now = sim->now, .type = DPA_PCC_ACK};

	if (una <= f->una)
		return;
	ev.bytes = (uint32_t)(una - f->una) * sim->s.mtu;
	ev.inflight = (uint32_t)(f->next - f->una) * sim->s.mtu;
	f->una = una;
	f->again = false;
	f->recovery = f->recovery && una < f->recover;
	/* the answer to a probe covers only the probe: the rest is lost */
	if (f->pos < una || (una == f->probe && b->what == SIM_ACK))
		f->pos = una;
	f->probe = 0;
	ev.rtt_ns = sample_rtt(sim, f);
	(void)dpa_pcc_event(&f->pcc, &ev);
	finish_messages(sim, f);
	restart_flow_timers(sim, f);
}

/* The peer answers at once. */
static void answer_probe(const struct dpa_sim *sim, struct sim_flow *f, const struct sim_back *b)
{
	uint32_t there = (uint32_t)(sim->now - sim->s.link.delay);
	struct dpa_pcc_event ev = {.now = sim->now,
				   .type = DPA_PCC_RTT,
				   .rtt_ns = sim->now - b->sent,
				   .req_sent = (uint32_t)b->sent,
				   .req_recv = there,
				   .resp_sent = there};

	(void)dpa_pcc_event(&f->pcc, &ev);
}

/* Extends the 32 bits of an answer to the value closest to the outstanding packets. */
static uint64_t whole_psn(const struct sim_flow *f, uint32_t psn)
{
	return f->una + (int32_t)(psn - (uint32_t)f->una);
}

void sim_flow_answered(struct dpa_sim *sim, struct sim_flow *f, const struct sim_back *b)
{
	uint64_t psn = whole_psn(f, b->psn);

	if (b->what == SIM_CNP) {
		f->stat.cnps++;
		send_event(sim, f, DPA_PCC_CNP);
	} else if (b->what == SIM_PROBED) {
		answer_probe(sim, f, b);
	} else if (psn >= f->una && psn <= f->next) {
		acknowledge_until(sim, f, b, psn);
		if (b->what == SIM_NAK) {
			f->stat.naks++;
			f->again = psn < f->pos;
			f->recovery = true;
			f->recover = f->next;
			f->rtt_at = 0;
			send_event(sim, f, DPA_PCC_LOSS);
		}
	}
	sim_flow_look(sim, f);
}

/* ----------------------------------------------------------------- receiver */

static bool take_kept(struct sim_flow *f, uint64_t psn)
{
	uint64_t *w = &f->kept[psn % SIM_FLIGHT / 64], bit = UINT64_C(1) << psn % 64;
	bool was = *w & bit;

	*w &= ~bit;
	return was;
}

static void count_arrival(const struct dpa_sim *sim, struct sim_flow *f, const struct sim_pkt *p)
{
	uint64_t rtt = sim->now - p->sent + sim->s.link.delay;

	f->stat.marked += p->marked;
	f->stat.rtt_sum += rtt;
	f->stat.rtt_num++;
	if (rtt > f->stat.rtt_max)
		f->stat.rtt_max = rtt;
}

void sim_flow_arrives(struct dpa_sim *sim, struct sim_flow *f, const struct sim_pkt *p)
{
	uint64_t psn = f->epsn + (int32_t)(p->psn - (uint32_t)f->epsn);
	uint64_t *w = &f->kept[psn % SIM_FLIGHT / 64], bit = UINT64_C(1) << psn % 64;

	count_arrival(sim, f, p);
	if (p->probe)
		sim_answer(sim, p, SIM_PROBED, 0);
	if (p->marked && (dpa_cnp_np(&f->np, DPA_ECN_CE, sim->now) & DPA_NP_ANSWER))
		sim_answer(sim, p, SIM_CNP, 0);
	if (psn > f->epsn && psn - f->epsn < SIM_FLIGHT) {
		f->stat.bytes += *w & bit ? 0 : sim->s.mtu;
		*w |= bit;
		if (!f->nak_sent)
			sim_answer(sim, p, SIM_NAK, f->epsn);
		f->nak_sent = true;
		return;
	}
	if (psn == f->epsn) {
		bool gap = f->nak_sent;

		f->stat.bytes += sim->s.mtu;
		do
			f->epsn++;
		while (take_kept(f, f->epsn));
		f->nak_sent = false;
		for (uint32_t i = 0; gap && i < SIM_FLIGHT / 64; i++)
			f->nak_sent |= f->kept[i] != 0;
		if (f->nak_sent) {
			sim_answer(sim, p, SIM_NAK, f->epsn);
			return;
		}
		if (!p->ackreq && !gap)
			return;
	}
	sim_answer(sim, p, SIM_ACK, f->epsn); /* a duplicate is acknowledged, too */
}
