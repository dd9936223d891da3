/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_network.c - complete courses between two machines: each ends in time, and both sides agree
 * on the result.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "network.h"

/* The last owner leaves; its DREQ is repeated 15 times; timewait; a late packet. */
#define AFTER_OWNERS (16 * 6144 + 2048 + 10000)

/* Owners that do anything at any time, and a network that is anything from perfect to cut. */
Test(cm_network, chaos)
{
	uint64_t seed = test_seed(0x5eed);

	for (uint64_t i = 0; i < 2000; i++) {
		struct net *n = net_new(seed + i, 64, (unsigned)(i * 7 % 101), (unsigned)(i % 50),
					1 + i % 9000);

		n->m[0].owner.leaves = n->m[1].owner.leaves = 150000;
		if (i % 5 == 0)
			n->cut = NOW + i % 7 * 2000;
		for (unsigned k = 0; k < 1 + i % 4; k++)
			net_connect(n, 0, i % 11 == 10);
		/* machine 1 can get its last REQ when machine 0's owner leaves, and late */
		net_run(n, 150000 + 9000 + 150000 + AFTER_OWNERS);
		net_free(n);
	}
}

static const struct net_id *only(const struct net *n, int self)
{
	cr_assert(n->m[self].id[0].used && !n->m[self].id[1].used, "seed %#lx", n->seed);
	return &n->m[self].id[0];
}

static unsigned disconnected(const struct net_id *id)
{
	return id->events[DPA_CM_EV_DREQ] + id->events[DPA_CM_EV_DREP] +
	       id->events[DPA_CM_EV_DREQ_TIMEOUT];
}

/* A fifth is lost, a fifth is duplicated, all may overtake: both connect, both disconnect. */
static void polite(uint64_t seed, uint64_t leaves0, uint64_t leaves1)
{
	struct net *n = net_new(seed, 8, 20, 20, 3000);
	const struct net_id *a, *b;

	n->m[0].owner = (struct net_owner){.polite = true, .leaves = leaves0};
	n->m[1].owner = (struct net_owner){.polite = true, .leaves = leaves1};
	net_connect(n, 0, false);
	net_run(n, 1000000);
	a = only(n, 0);
	b = only(n, 1);
	cr_assert(a->events[DPA_CM_EV_REP] == 1 && b->events[DPA_CM_EV_REQ] == 1, "seed %#lx",
		  seed);
	cr_assert_eq(b->events[DPA_CM_EV_ESTABLISHED], 1, "seed %#lx", seed);
	cr_assert(disconnected(a) && disconnected(b), "seed %#lx", seed);
	cr_assert_eq(a->events[DPA_CM_EV_TIMEWAIT_EXIT], 1, "seed %#lx", seed);
	cr_assert_eq(b->events[DPA_CM_EV_TIMEWAIT_EXIT], 1, "seed %#lx", seed);
	cr_assert(!a->events[DPA_CM_EV_REJ] && !b->events[DPA_CM_EV_REJ], "seed %#lx", seed);
	cr_assert(!a->events[DPA_CM_EV_UNREACHABLE] && !b->events[DPA_CM_EV_UNREACHABLE]);
	net_free(n);
}

Test(cm_network, both_agree)
{
	uint64_t seed = test_seed(0x5eed);

	for (uint64_t i = 0; i < 1000; i++) {
		polite(seed + i, 200000, 300000); /* the active side disconnects */
		polite(seed + i, 300000, 200000); /* the passive side */
		polite(seed + i, 200000, 200000); /* both: they cross */
	}
}

Test(cm_network, sidr)
{
	uint64_t seed = test_seed(0x5eed);

	for (uint64_t i = 0; i < 1000; i++) {
		struct net *n = net_new(seed + i, 64, 20, 20, 3000);
		const struct net_id *a;

		n->m[0].owner = n->m[1].owner =
			(struct net_owner){.polite = true, .leaves = 100000};
		a = net_connect(n, 0, true);
		net_leave(n, 0, &n->m[0].id[0], NOW + 200000);
		net_run(n, 1000000);
		cr_assert_eq(a->events[DPA_CM_EV_SIDR_REP], 1, "seed %#lx", seed + i);
		cr_assert_eq(a->events[DPA_CM_EV_UNREACHABLE], 0);
		net_free(n);
	}
}

/* The owner of one side leaves without a message: the other learns it although half is lost. */
Test(cm_network, destroyed_while_connected)
{
	uint64_t seed = test_seed(0x5eed);

	for (uint64_t i = 0; i < 1000; i++) {
		struct net *n = net_new(seed + i, 8, 0, 0, 10);
		int self = (int)(i % 2);
		struct net_id *left = &n->m[!self].id[0];

		n->m[0].owner = (struct net_owner){.polite = true, .leaves = 400000};
		n->m[1].owner = n->m[0].owner;
		net_connect(n, 0, false);
		net_until(n, NOW + 1000);
		cr_assert_eq(n->m[0].id[0].cm.state, DPA_CM_ST_ESTABLISHED);
		cr_assert_eq(n->m[1].id[0].cm.state, DPA_CM_ST_ESTABLISHED);
		n->loss = 50;
		n->m[self].owner.polite = false; /* so that it destroys */
		net_leave(n, self, &n->m[self].id[0], n->now);
		net_run(n, 1000000);
		cr_assert_eq(left->events[DPA_CM_EV_DREQ], 1, "seed %#lx", seed + i);
		net_free(n);
	}
}

/*
 * The passive side's owner leaves before the RTU arrives: the peer, which is connected, learns it.
 */
Test(cm_network, destroyed_before_the_rtu)
{
	uint64_t seed = test_seed(0x5eed);

	for (uint64_t i = 0; i < 1000; i++) {
		struct net *n = net_new(seed + i, 8, 0, 0, 10);
		const struct net_id *a = &n->m[0].id[0];
		struct net_id *b = &n->m[1].id[0];

		n->m[0].owner = (struct net_owner){.polite = true, .leaves = 400000};
		n->m[1].owner = n->m[0].owner;
		net_connect(n, 0, false);
		for (uint64_t t = NOW; a->cm.state != DPA_CM_ST_ESTABLISHED; t++)
			net_until(n, t);
		cr_assert_eq(b->cm.state, DPA_CM_ST_REP_SENT, "seed %#lx", seed + i);
		n->loss = 50;
		n->m[1].owner.polite = false; /* so that it destroys */
		n->m[1].owner.dies = i % 2 ? 100 : 0;
		net_leave(n, 1, b, n->now);
		net_run(n, 1000000);
		cr_assert_eq(a->events[DPA_CM_EV_REJ] + a->events[DPA_CM_EV_DREQ], 1, "seed %#lx",
			     seed + i);
		net_free(n);
	}
}

/* No process listens; the host does not exist. */
Test(cm_network, refused_and_unreachable)
{
	for (int cut = 0; cut < 2; cut++) {
		struct net *n = net_new(1, 8, 0, 0, 10);
		struct net_id *a;

		n->m[0].owner = (struct net_owner){.polite = true, .leaves = 500000};
		n->m[1].listens = false;
		n->cut = cut ? NOW : DPA_CM_NEVER;
		a = net_connect(n, 0, false);
		net_run(n, 1000000);
		cr_assert_eq(a->events[DPA_CM_EV_REJ], cut ? 0u : 1u);
		cr_assert_eq(a->events[DPA_CM_EV_UNREACHABLE], cut ? 1u : 0u);
		net_free(n);
	}
}
