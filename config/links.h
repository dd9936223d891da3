/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * links.h - the network in front of a port, in the user's form and in the device's.
 *
 *   rate=10G,delay=5us,queue=256K,ecn=40K:200K:1%,pfc,seed=7+peer=192.0.2.7,rate=1G,delay=1ms
 *
 * Rules are separated by `+`: one for the port, without `peer`, and others for packets from one
 * address each. Each rule is a queue of its own.
 */
#ifndef DPA_LINKS_H
#define DPA_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_LINK_RULES	   4u
#define DPA_LINK_TEXT	   248u			   /* including the final 0 */
#define DPA_LINK_RATE_MAX  UINT64_C(1000000000000) /* bits/s */
#define DPA_LINK_DELAY_MAX UINT64_C(1000000000)	   /* ns */
#define DPA_LINK_QUEUE_MIN (8u << 10)		   /* bytes: a packet of the largest path MTU */
#define DPA_LINK_QUEUE_MAX (64u << 20)
#define DPA_LINK_QUEUE	   (256u << 10) /* default for a rule with a rate */

#define DPA_LINK_USE                                                                               \
	"off, or some of rate=BITS, delay=TIME, queue=BYTES, ecn=MIN:MAX:SHARE, pfc, seed=N, "     \
	"with commas between, and behind a + the same for peer=ADDRESS (BITS: 10G or 500M a "      \
	"second; TIME: 5us or 1ms; BYTES: 256K; SHARE: 1%)"

struct dpa_link_rule {
	uint64_t rate;	  /* bits/s; 0: no queue, only the delay */
	uint64_t delay;	  /* ns, one way, after the queue */
	uint32_t queue;	  /* bytes of room; 0: no rate */
	uint32_t ecn_min; /* bytes in the queue up to which no packet is marked, */
	uint32_t ecn_max; /* and above which every packet is; 0: no marking */
	uint32_t ecn_ppm; /* share that is marked just below ecn_max */
	/* a packet that does not fit waits in front of the queue; otherwise it is dropped */
	bool pfc;
	bool has_peer;	  /* only packets from this address */
	uint8_t peer[16]; /* GID */
};

struct dpa_link_spec {
	bool set; /* the setting was given, also as "off" */
	uint32_t n;
	uint64_t seed;
	struct dpa_link_rule rule[DPA_LINK_RULES]; /* the port's rule, if there is one, is last */
};

/* False, and *l unchanged: an unknown key, a repeated key or a bad value. */
bool dpa_link_parse(const char *text, struct dpa_link_spec *l);
/* Write the text that dpa_link_parse() accepts; "off" without rules, "" if it is not set. */
void dpa_link_text(const struct dpa_link_spec *l, char *buf, size_t len);

#endif
