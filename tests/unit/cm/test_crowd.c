/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_crowd.c - thousands of connections at once between two machines that both connect and
 * listen. A tenth of the MADs is lost, a tenth is duplicated, a tenth is overtaken. All connect,
 * both ends of each have the same data, both learn of its end, nothing is left.
 */
#include <criterion/criterion.h>
#include "network.h"

enum { PAIRS = 3000, ROOM = 2 * PAIRS + 200 };

static struct net *crowd(uint64_t seed, unsigned dies)
{
	struct net *n = net_new(seed, ROOM, 10, 10, 1500);

	n->late = 10;
	for (int self = 0; self < 2; self++) {
		n->m[self].listens = true;
		n->m[self].owner = (struct net_owner){
			.polite = true, .leaves = 1000000, .spread = 50, .slow = 5, .dies = dies};
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		net_connect(n, 0, false);
		net_connect(n, 1, false);
		if (i % 100 == 99)
			net_until(n, n->now + 50);
	}
	return n;
}

static unsigned disconnected(const struct net_id *id)
{
	return id->events[DPA_CM_EV_DREQ] + id->events[DPA_CM_EV_DREP] +
	       id->events[DPA_CM_EV_DREQ_TIMEOUT];
}

static struct net_id *by_local_id(struct net *n, int self, uint32_t local_id)
{
	uint32_t i = local_id - n->m[self].id[0].cm.config.local_id;

	cr_assert_lt(i, n->ids, "seed %#lx", n->seed);
	return &n->m[self].id[i];
}

/* The state of a connection at both ends. A dead owner has only a part of it. */
static void agree(const struct net *n, const struct net_id *a, const struct net_id *b)
{
	cr_assert_eq(b->cm.remote_id, a->cm.config.local_id, "seed %#lx", n->seed);
	cr_assert(a->cm.remote_guid == b->cm.config.ca_guid);
	if (a->died || b->died)
		return;
	cr_assert(a->cm.remote_qpn == b->cm.local_qpn && b->cm.remote_qpn == a->cm.local_qpn);
	cr_assert(a->cm.sq_psn == b->cm.config.psn && b->cm.sq_psn == a->cm.config.psn);
	cr_assert(a->cm.initiator_depth == b->cm.responder_resources);
	cr_assert(b->cm.initiator_depth == a->cm.responder_resources);
}

/* Check its course, from the events of its owner. `other` is the other end. */
static void check_course(const struct net *n, const struct net_id *id, const struct net_id *other)
{
	bool active = id->events[DPA_CM_EV_REP];

	cr_assert_eq(id->events[DPA_CM_EV_REQ] + id->events[DPA_CM_EV_REP], 1, "seed %#lx",
		     n->seed);
	cr_assert_eq(id->events[DPA_CM_EV_ESTABLISHED], !active, "seed %#lx", n->seed);
	cr_assert_eq(id->events[DPA_CM_EV_REJ], 0, "seed %#lx", n->seed);
	cr_assert_eq(id->events[DPA_CM_EV_UNREACHABLE], 0, "seed %#lx", n->seed);
	if (id->died)
		return;
	cr_assert(disconnected(id), "seed %#lx: %#x (other end died: %d)", n->seed,
		  id->cm.config.local_id, other->died);
	cr_assert_eq(id->events[DPA_CM_EV_DREQ_TIMEOUT], 0, "seed %#lx", n->seed);
	cr_assert_eq(id->events[DPA_CM_EV_TIMEWAIT_EXIT], 1, "seed %#lx", n->seed);
}

static void check_all(struct net *n)
{
	unsigned used = 0, died = 0;

	for (int self = 0; self < 2; self++)
		for (unsigned i = 0; i < n->ids && n->m[self].id[i].used; i++) {
			struct net_id *id = &n->m[self].id[i];
			struct net_id *other = by_local_id(n, !self, id->cm.remote_id);

			agree(n, id, other);
			check_course(n, id, other);
			used++;
			died += id->died;
		}
	cr_assert_eq(used, 4 * PAIRS, "seed %#lx: %u", n->seed, used);
	cr_assert(!died == !n->m[0].owner.dies, "seed %#lx", n->seed);
	cr_log_info("%lu MADs, %u died", n->mads, died);
}

static void course(unsigned dies)
{
	struct net *n = crowd(test_seed(0x5eed), dies);

	net_run(n, 3000000);
	check_all(n);
	net_free(n);
}

Test(cm_crowd, all_connect_and_disconnect)
{
	course(0);
}

/* A fifth of the owners dies while connected: another process notifies the other end. */
Test(cm_crowd, owners_die)
{
	course(20);
}
