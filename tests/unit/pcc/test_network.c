/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_network.c - flows share a bottleneck of 10 Gbit/s: fairly, without filling its queue, and
 * without leaving it idle. All numbers follow from the seed of network.c; none of them is measured.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

#include "network.h"

#define KiB 1024u

/* Delivered in `ms` milliseconds, in per mille of the bottleneck's capacity. */
static unsigned used(const struct net *n, uint64_t ms)
{
	return (unsigned)(net_delivered(n) * 1000 / (n->rate / 1000 * ms));
}

static uint64_t losses(const struct net *n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < NET_FLOWS; i++)
		sum += n->flow[i].losses;
	return sum;
}

/* The first flow is alone; the others start one by one, 5 ms apart. */
static void join_in_turn(struct net *n, unsigned flows)
{
	for (unsigned i = 1; i < flows; i++)
		n->flow[i].on = false;
	net_run(n, 50 * NET_MS);
	for (unsigned i = 1; i < flows; i++) {
		n->flow[i].on = true;
		net_run(n, n->now + 5 * NET_MS);
	}
}

/* The bound of a queue that marks from 40 to 200 KiB. */
static uint32_t queue_bound(unsigned flows)
{
	return 256 * KiB + flows * 32 * KiB;
}

ParameterizedTestParameters(pcc_network, marks_are_enough)
{
	static unsigned flows[] = {2, 4, 8, 16, 32};

	return cr_make_param_array(unsigned, flows, sizeof(flows) / sizeof(flows[0]));
}

ParameterizedTest(unsigned *flows, pcc_network, marks_are_enough)
{
	struct net *n = net_new(*flows, &dpa_pcc_dcqcn);

	join_in_turn(n, *flows);
	net_run(n, n->now + 200 * NET_MS);
	net_run(n, n->now + 300 * NET_MS);
	cr_expect_geq(net_fairness(n), 950u, "%u: %u", *flows, net_fairness(n));
	cr_expect_geq(used(n, 300), 850u, "%u: %u", *flows, used(n, 300));
	cr_expect_leq(n->queue_peak, queue_bound(*flows), "%u: %u", *flows, n->queue_peak);
	cr_expect_eq(losses(n), 0u);
	free(n);
}

/* The same network without rate control: it does not meet the bounds above. */
Test(pcc_network, a_window_alone_fills_the_queue)
{
	struct net *n = net_new(8, &dpa_pcc_none);

	net_run(n, 50 * NET_MS);
	cr_expect_gt(n->queue_peak, queue_bound(8));
	cr_expect_gt(losses(n), 0u);
	free(n);
}

/* CNPs stop when others leave: the remaining flow takes their share, then needs no pacing. */
Test(pcc_network, a_remaining_flow_takes_the_free_rate)
{
	struct net *n = net_new(8, &dpa_pcc_dcqcn);

	net_run(n, 300 * NET_MS);
	cr_expect_lt(n->flow[0].pcc.rate, n->rate / 2);
	for (unsigned i = 1; i < 8; i++)
		n->flow[i].on = false;
	net_run(n, n->now + 20 * NET_MS);
	net_run(n, n->now + 100 * NET_MS);
	cr_expect_geq(used(n, 100), 850u, "%u", used(n, 100));
	n->kmax = 0;
	net_run(n, n->now + 500 * NET_MS);
	cr_expect_eq(n->flow[0].cnps, 0u);
	cr_expect_eq(n->flow[0].pcc.rate, DPA_PCC_NO_LIMIT, "%lu", n->flow[0].pcc.rate);
	free(n);
}

ParameterizedTestParameters(pcc_network, losses_are_enough)
{
	static unsigned flows[] = {1, 2, 4, 8, 16};

	return cr_make_param_array(unsigned, flows, sizeof(flows) / sizeof(flows[0]));
}

/* A network without marks: only the window shares it, at the price of losses. */
ParameterizedTest(unsigned *flows, pcc_network, losses_are_enough)
{
	struct net *n = net_new(*flows, &dpa_pcc_dcqcn);
	uint64_t packets;

	n->kmax = 0;
	n->queue_max = 512 * KiB; /* less than one window: every flow has losses */
	join_in_turn(n, *flows);
	net_run(n, n->now + 200 * NET_MS);
	net_run(n, n->now + 300 * NET_MS);
	packets = net_delivered(n) / NET_MTU;
	cr_expect_geq(net_fairness(n), 950u, "%u: %u", *flows, net_fairness(n));
	cr_expect_geq(used(n, 300), 950u, "%u: %u", *flows, used(n, 300));
	/* smaller windows lose more, because each grows by the same amount each round trip */
	cr_expect_leq(losses(n), packets * *flows / 100, "%u: %lu of %lu", *flows, losses(n),
		      packets);
	free(n);
}

/* One packet in a hundred is lost at any load: the link does not become idle. */
ParameterizedTestParameters(pcc_network, random_loss_is_borne)
{
	static unsigned flows[] = {1, 2, 8};

	return cr_make_param_array(unsigned, flows, sizeof(flows) / sizeof(flows[0]));
}

ParameterizedTest(unsigned *flows, pcc_network, random_loss_is_borne)
{
	struct net *n = net_new(*flows, &dpa_pcc_dcqcn);

	n->kmax = 0;
	n->loss = 10;
	net_run(n, 100 * NET_MS);
	net_run(n, 300 * NET_MS);
	cr_expect_gt(losses(n), 100u);
	cr_expect_geq(used(n, 200), 900u, "%u: %u", *flows, used(n, 200));
	free(n);
}

/*
 * A bottleneck that shrinks to a tenth, as when a path changes: the steps of the rate are too large
 * for it, so the window holds the amount that the marks allow.
 */
Test(pcc_network, follows_a_bottleneck_that_shrinks)
{
	struct net *n = net_new(4, &dpa_pcc_dcqcn);

	net_run(n, 200 * NET_MS);
	n->rate /= 10;
	net_run(n, n->now + 100 * NET_MS);
	net_run(n, n->now + 300 * NET_MS);
	cr_expect_geq(used(n, 300), 950u, "%u", used(n, 300));
	cr_expect_geq(net_fairness(n), 950u, "%u", net_fairness(n));
	cr_expect_leq(losses(n), net_delivered(n) / NET_MTU / 50, "%lu", losses(n));
	free(n);
}
