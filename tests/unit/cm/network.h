/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * network.h - two machines, their owners, and a network that loses, duplicates and reorders, in
 * virtual time. Each MAD goes through the codec and dpav_cm_classify().
 */
#ifndef TEST_CM_NETWORK_H
#define TEST_CM_NETWORK_H

#include "util.h"

struct net_owner {
	bool polite;	 /* answers at once and stays; otherwise at random, and leaves at random */
	uint64_t leaves; /* ms: disconnects (polite) or destroys at the latest */
	unsigned spread; /* of 100: earlier by this share at most (polite) */
	unsigned slow;	 /* of 100: answers within 20 s, so that the peer repeats (polite) */
	unsigned dies;	 /* of 100: its process dies instead; another one takes over within 1 s */
};

struct net_id {
	bool used, freed, died;
	struct dpav_cm cm;
	struct dpav_cm_entry entry;
	uint64_t act, leave; /* of the owner; DPA_CM_NEVER */
	enum dpav_cm_input_kind answer;
	unsigned events[DPA_CM_EVENTS];
	uint64_t freed_at;
};

struct net_machine {
	struct net_id *id;
	bool listens;
	struct dpav_cm_index index;
	struct net_owner owner;
};

struct net_event; /* at `due`: a MAD arrives, or the owner or the timer of an id may be due */

struct net {
	uint64_t now, seed, random, delay; /* delay: ms at most */
	unsigned loss, dup, late;	   /* of 100; late: delayed, others take 1 ms */
	uint64_t cut;			   /* ms: everything is lost from then on */
	unsigned ids;			   /* of each machine */
	struct net_machine m[2];
	struct net_event *event; /* a heap */
	size_t events, room;
	uint64_t mads; /* sent */
};

/* Machine 1 listens. All MADs are delayed. `ids`: room for that number, on each machine. */
struct net *net_new(uint64_t seed, unsigned ids, unsigned loss, unsigned dup, uint64_t delay);
/* Check that each id has ended and that the indexes are empty. */
void net_free(struct net *n);
struct net_id *net_connect(struct net *n, int self, bool sidr);
/* Change the time at which the owner leaves. */
void net_leave(struct net *n, int self, struct net_id *id, uint64_t when);
/* Run until no event is left. Returns the time. Checks that it ends before `limit`. */
uint64_t net_run(struct net *n, uint64_t limit);
/* Run until `end`, or until no event is left. */
void net_until(struct net *n, uint64_t end);

#endif
