/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A congestion control program: a rate that holds the round trip at a target of its own.
 *
 *   TX    counts the bytes that leave; asks for the first probe, and again for one that got lost
 *   RTT   rate -= rate * (BETA * (rtt - target) + (rtt - the one before) / 2) / max(rtt, target),
 *         plus AI; then the next probe
 *   NACK  a quarter less, once a round trip
 *
 * The target is TARGET for a flow at 100 Mbit/s, a 16th less for each doubling of the rate. So the
 * faster of two flows is above its target while the slower one is below, until they are equal.
 * It needs no marks. `dpactl simulate --image` shows it without a network; docs/congestion.md.
 */
#include <doca_pcc_dev_algo_access.h>
#include <doca_pcc_dev_event.h>

#define MBIT(n)	  ((uint32_t)((uint64_t)(n)*DOCA_PCC_DEV_MAX_RATE / 100000)) /* of 100 Gbit/s */
#define ONE	  65536
#define HALF	  (ONE / 2)
#define RAISE_MAX (ONE / 8)
#define OCTAVES	  16u
#define PROBE_GAP 10000000u /* ns */

enum { P_TARGET, P_BETA, P_AI, P_MIN_RATE, P_NUM };
enum { C_TX, C_RTT, C_CUT, C_NACK, C_NUM };

static const char about[] = "Delay target (sample)";
static const char p_target[] = "TARGET, ns, of a flow at 100 Mbit/s";
static const char p_beta[] = "BETA, of 65536: weight of the distance from the target";
static const char p_ai[] = "AI, of 2^20 of the line rate, with each round trip";
static const char p_min[] = "MIN_RATE, of 2^20 of the line rate";
static const char c_tx[] = "TX_EVENT, bursts that left", c_rtt[] = "RTT_EVENT, round trips";
static const char c_cut[] = "CUT, rates that were lowered", c_nack[] = "NACK_EVENT, losses";

/* Of a flow: its twelve words. All 0: it is new. */
struct flow {
	uint32_t rate;
	uint32_t last;	   /* round trip of the last change, ns */
	uint32_t at;	   /* of the last change, ns */
	uint32_t asked_at; /* of the probe that is under way, ns */
	uint32_t sent;	   /* bytes / 32 since then */
	uint32_t nack_at;
	uint32_t changed, nacked; /* `at` and `nack_at` are times */
};
_Static_assert(sizeof(struct flow) <= sizeof(doca_pcc_dev_algo_ctxt_t), "fits");

void doca_pcc_dev_user_init(uint32_t *disable_event_bitmask)
{
	const struct doca_pcc_dev_algo_meta_data m = {.algo_id = 0xd1a0,
						      .algo_major_version = 1,
						      .algo_minor_version = 0,
						      .algo_desc_size = sizeof(about),
						      .algo_desc_addr = (uint64_t)about};

	doca_pcc_dev_algo_init_metadata(0, &m, P_NUM, C_NUM);
	doca_pcc_dev_algo_init_param(0, P_TARGET, 30000, 1000000000, 1000, 1, sizeof(p_target),
				     (uint64_t)p_target);
	doca_pcc_dev_algo_init_param(0, P_BETA, 13107, ONE, 1, 1, sizeof(p_beta), (uint64_t)p_beta);
	doca_pcc_dev_algo_init_param(0, P_AI, MBIT(10), DOCA_PCC_DEV_MAX_RATE, 1, 1, sizeof(p_ai),
				     (uint64_t)p_ai);
	doca_pcc_dev_algo_init_param(0, P_MIN_RATE, MBIT(10), DOCA_PCC_DEV_MAX_RATE, 1, 1,
				     sizeof(p_min), (uint64_t)p_min);
	doca_pcc_dev_algo_init_counter(0, C_TX, ~0u, 1, sizeof(c_tx), (uint64_t)c_tx);
	doca_pcc_dev_algo_init_counter(0, C_RTT, ~0u, 1, sizeof(c_rtt), (uint64_t)c_rtt);
	doca_pcc_dev_algo_init_counter(0, C_CUT, ~0u, 1, sizeof(c_cut), (uint64_t)c_cut);
	doca_pcc_dev_algo_init_counter(0, C_NACK, ~0u, 1, sizeof(c_nack), (uint64_t)c_nack);
	doca_pcc_dev_init_algo_slot(0, 0, 0, 1);
	*disable_event_bitmask =
		1u << DOCA_PCC_DEV_EVNT_ROCE_ACK | 1u << DOCA_PCC_DEV_EVNT_ROCE_CNP;
}

doca_pcc_dev_error_t doca_pcc_dev_user_set_algo_params(uint32_t port_num, uint32_t algo_slot,
						       uint32_t param_id_base, uint32_t param_num,
						       const uint32_t *new_param_values,
						       uint32_t *params)
{
	if (port_num || algo_slot || param_id_base >= P_NUM || param_num != 1)
		return DOCA_PCC_DEV_STATUS_FAIL;
	params[param_id_base] = new_param_values[0];
	return DOCA_PCC_DEV_STATUS_OK;
}

/* 256 times the binary logarithm, straight between two powers; v is not 0. */
static uint32_t log_of(uint32_t v)
{
	uint32_t top = 31u - (uint32_t)__builtin_clz(v);

	return top << 8 | ((v << (31 - top)) >> 23 & 0xff);
}

static uint32_t target_of(const struct flow *f, uint32_t target)
{
	uint32_t log = log_of(f->rate), slow = log_of(MBIT(100));

	if (log <= slow)
		return target;
	return target - (uint32_t)((uint64_t)target * (log - slow) / (OCTAVES << 8));
}

static uint32_t bounded(uint64_t rate, uint32_t min)
{
	return rate < min		      ? min
	       : rate > DOCA_PCC_DEV_MAX_RATE ? DOCA_PCC_DEV_MAX_RATE
					      : (uint32_t)rate;
}

/* The rate of the bytes that left since the probe: the window or the program may limit, too. */
static uint64_t measured(const struct flow *f, uint32_t now)
{
	uint32_t ns = now - f->asked_at;

	return (uint64_t)f->sent * 32 * 8 * MBIT(1000) / (ns ? ns : 1);
}

/* The part of the rate, of ONE, that a round trip takes off. */
static int32_t part_of(const struct flow *f, uint32_t rtt, uint32_t target, uint32_t beta)
{
	int64_t slope = f->changed ? (int64_t)rtt - f->last : 0;
	int64_t part = ((int64_t)beta * ((int64_t)rtt - target) + HALF * slope) /
		       (rtt > target ? rtt : target);

	if (part > HALF)
		return HALF;
	if (part < 0 && rtt > target)
		return 0;
	return part < -RAISE_MAX ? -RAISE_MAX : (int32_t)part;
}

static void change(struct flow *f, const uint32_t *params, uint32_t *counters, uint32_t now,
		   uint32_t rtt)
{
	uint32_t target = target_of(f, params[P_TARGET]);
	uint32_t gap = rtt > target / 4 ? rtt : target / 4;
	uint32_t ai = params[P_AI] < f->rate / 8 ? params[P_AI] : f->rate / 8;
	uint64_t through = measured(f, now);
	int32_t part;

	if (f->changed && now - f->at < gap)
		return;
	part = part_of(f, rtt, target, params[P_BETA]);
	if (part > 0) {
		counters[C_CUT]++;
		if (f->rate > through && through > params[P_MIN_RATE])
			f->rate = (uint32_t)through;
	}
	f->rate =
		bounded((uint64_t)((int64_t)f->rate * (ONE - part) / ONE) + ai, params[P_MIN_RATE]);
	f->last = rtt;
	f->at = now;
	f->changed = 1;
}

static uint32_t ask(struct flow *f, uint32_t now)
{
	f->asked_at = now;
	f->sent = 0;
	return 1;
}

static void take_loss(struct flow *f, uint32_t now, uint32_t min)
{
	if (f->nacked && now - f->nack_at < f->last)
		return;
	f->rate = bounded(f->rate - f->rate / 4, min);
	f->nack_at = now;
	f->nacked = 1;
}

void doca_pcc_dev_user_algo(doca_pcc_dev_algo_ctxt_t *algo_ctxt, doca_pcc_dev_event_t *event,
			    const doca_pcc_dev_attr_t *attr, doca_pcc_dev_results_t *results)
{
	struct flow *f = (struct flow *)algo_ctxt->data;
	uint32_t now = doca_pcc_dev_get_timestamp(event), fresh = !f->rate;
	uint32_t *params = doca_pcc_dev_get_algo_params(0, attr->algo_slot);
	uint32_t *counters = doca_pcc_dev_get_counters(0, attr->algo_slot);

	if (attr->algo_slot) {
		doca_pcc_dev_default_internal_algo(algo_ctxt, event, attr, results);
		return;
	}
	results->rtt_req = 0;
	if (fresh) {
		f->rate = DOCA_PCC_DEV_MAX_RATE;
		results->rtt_req = ask(f, now);
	}
	switch (doca_pcc_dev_get_ev_attr(event).ev_type) {
	case DOCA_PCC_DEV_EVNT_ROCE_TX:
		counters[C_TX]++;
		f->sent += doca_pcc_dev_get_roce_tx_cntrs(event).sent_32bytes;
		if (now - f->asked_at >= PROBE_GAP)
			results->rtt_req = ask(f, now);
		break;
	case DOCA_PCC_DEV_EVNT_RTT:
		counters[C_RTT]++;
		change(f, params, counters, now,
		       now - doca_pcc_dev_get_rtt_req_send_timestamp(event));
		results->rtt_req = ask(f, now);
		break;
	case DOCA_PCC_DEV_EVNT_ROCE_NACK:
		counters[C_NACK]++;
		take_loss(f, now, params[P_MIN_RATE]);
		break;
	default:
		break;
	}
	results->rate = f->rate;
}
