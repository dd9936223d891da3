/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * links.h - the network in front of a port, as a user writes it and as the device reads it.
 *
 *   rate=10G,delay=5us,queue=256K,ecn=40K:200K:1%,pfc,seed=7+peer=192.0.2.7,rate=1G,delay=1ms
 *
 * Rules have `+` between them: one for the port, without `peer`, and some for packets from one
 * address each. Each rule is a queue of its own.
 */
#ifndef DPA_LINKS_H
#define DPA_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_LINK_RULES	   4u
#define DPA_LINK_TEXT	   248u			   /* with the final 0 */
#define DPA_LINK_RATE_MAX  UINT64_C(1000000000000) /* bits/s */
#define DPA_LINK_DELAY_MAX UINT64_C(1000000000)	   /* ns */
#define DPA_LINK_QUEUE_MIN (8u << 10)		   /* bytes: a packet of the largest path MTU */
#define DPA_LINK_QUEUE_MAX (64u << 20)
#define DPA_LINK_QUEUE	   (256u << 10) /* of a rule with a rate that names none */

#define DPA_LINK_USE                                                                               \
	"off, or some of rate=BITS, delay=TIME, queue=BYTES, ecn=MIN:MAX:SHARE, pfc, seed=N, "     \
	"with commas between, and behind a + the same for peer=ADDRESS (BITS: 10G or 500M a "      \
	"second; TIME: 5us or 1ms; BYTES: 256K; SHARE: 1%)"

struct dpa_link_rule {
	uint64_t rate;	  /* bits/s; 0: no queue, the delay alone */
	uint64_t delay;	  /* ns, one way, behind the queue */
	uint32_t queue;	  /* bytes that it holds; 0: no rate */
	uint32_t ecn_min; /* bytes in the queue up to which nothing is marked, */
	uint32_t ecn_max; /* and above which everything is; 0: nothing is marked */
	uint32_t ecn_ppm; /* share that is marked just below ecn_max */
	bool pfc;	  /* what does not fit waits in front of the queue; else it is dropped */
	bool has_peer;	  /* packets from this address only */
	uint8_t peer[16]; /* GID */
};

struct dpa_link_spec {
	bool set; /* somebody said what shall be: "off" too */
	uint32_t n;
	uint64_t seed;
	struct dpa_link_rule rule[DPA_LINK_RULES]; /* the port's, if there is one, is the last */
};

/* False, and *l as it was: a key that is not known, comes twice or has a bad value. */
bool dpa_link_parse(const char *text, struct dpa_link_spec *l);
/* The text that dpa_link_parse() takes; "off" if there are no rules, "" if nothing is set. */
void dpa_link_text(const struct dpa_link_spec *l, char *buf, size_t len);

#endif
