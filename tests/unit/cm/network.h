/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * network.h - two machines, their owners, and a network that loses, duplicates and reorders, in
 * virtual time. Machine 0 connects, machine 1 listens. Each MAD goes through the codec.
 */
#ifndef TEST_CM_NETWORK_H
#define TEST_CM_NETWORK_H

#include "util.h"

#define NET_IDS	    64
#define NET_PACKETS 512

struct net_owner {
	bool polite;	 /* answers at once and stays; else at random, and goes at random */
	uint64_t leaves; /* ms: disconnects (polite) or destroys at the latest */
};

struct net_id {
	bool used, freed;
	struct dpa_cm cm;
	struct dpa_cm_entry entry;
	uint64_t act, leave; /* of the owner; DPA_CM_NEVER */
	enum dpa_cm_input_kind answer;
	unsigned events[DPA_CM_EVENTS];
	uint64_t freed_at;
};

struct net_machine {
	struct net_id id[NET_IDS];
	bool listens;
	struct dpa_cm_index index;
	struct net_owner owner;
};

struct net {
	uint64_t now, seed, random, delay; /* delay: ms at most */
	unsigned loss, dup;		   /* of 100 */
	uint64_t cut;			   /* ms: everything is lost from then on */
	struct net_machine m[2];
	struct {
		uint64_t due;
		int to;
		uint8_t bytes[DPA_MAD_BYTES];
	} packet[NET_PACKETS];
	unsigned packets;
};

struct net *net_new(uint64_t seed, unsigned loss, unsigned dup, uint64_t delay);
/* Asserts that the indexes are empty. */
void net_free(struct net *n);
struct net_id *net_connect(struct net *n, bool sidr);
/* Until nothing is left to happen. Returns the time. Asserts that it ends before `limit`. */
uint64_t net_run(struct net *n, uint64_t limit);
/* Until `end`, or nothing is left to happen. */
void net_until(struct net *n, uint64_t end);

#endif
