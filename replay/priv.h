/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* priv.h - between the files of the replay. */
#ifndef DPA_REPLAY_PRIV_H
#define DPA_REPLAY_PRIV_H

#include "alone/alone.h"
#include "replay.h"
#include "wire/opcode.h"
#include "wire/pcap.h"
#include "wire/psn.h"

#define RP_NONE	  UINT32_MAX
#define RP_ROOM	  64u /* in front of a packet */
#define RP_PACKET (DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + 8u)

/* A RoCEv2 packet of the file. */
struct rp_pkt {
	uint32_t no;   /* of the file's packets, from 1 */
	uint64_t ns;   /* since the first one; never less than that of the packet before */
	uint32_t flow; /* index of the stream; RP_NONE: none */
	uint32_t made; /* a stream whose connection this CM message made; RP_NONE */
	uint8_t *own;  /* completed with zeros: allocated; else NULL */
	const uint8_t *p;
	uint32_t n;
	bool cut, icrc;	   /* icrc: right */
	bool rnr, refused; /* the capture answers it by an RNR NAK, a NAK for access */
	enum dpa_roce_verdict verdict;
	struct dpa_roce_net net;
	struct dpa_roce_pkt k;
};

/* All packets with the same addresses and destination QPN. */
struct rp_stream {
	uint8_t src[16], dst[16];
	uint32_t dqpn;
	uint8_t transport; /* of its first packet that has one */
	bool any, has_psn; /* any: `transport` is set; has_psn: `first`, `last` are */
	bool cm;	   /* pair, PSN and path MTU are those of CM messages */
	uint32_t nreq, nresp;
	uint32_t first, last; /* PSN of its first, its latest request */
	uint32_t answer;      /* PSN of its latest answer */
	bool old;	      /* later packets are in another stream */
	uint32_t pair;	      /* the stream of its answers */
	uint32_t payload;     /* longest, and of a packet that is not the last one */
	uint32_t whole;
	uint32_t mtu;	  /* bytes, from CM; 0 */
	uint32_t own_qpn; /* from CM: QPN of the sender; 0: unknown */
};

struct rp_region {
	struct dpa_replay_region r;
	void *mem;
	uint32_t key;	/* of the device */
	uint32_t first; /* index of the first packet that needs it; users: of the option */
	bool users;	/* named by the user */
};

struct rp {
	const struct dpa_replay_opt *o;
	struct rp_pkt *pkt;
	uint32_t npkt, rpkt;
	struct rp_stream *stream;
	uint32_t nstream, rstream;
	uint32_t unsorted; /* packets of more streams than that */
	struct dpa_replay_sum sum;
	bool damaged;
	char *err;
	size_t errlen;
	/* The flow that is being replayed. */
	uint32_t s, t; /* streams: requests, answers (RP_NONE) */
	enum dpa_replay_role role;
	struct alone alone;
	struct rp_region *region;
	uint32_t nregion, rregion;
	uint8_t *buf; /* source and target of sends and receives */
	uint64_t buflen;
	uint32_t bufkey;
	struct dpa_replay_event *ev;
	size_t nev, rev;
	uint64_t total;	  /* events of all flows */
	bool full;	  /* no more events: the flow ends */
	uint32_t max_psn; /* requester: one past the highest PSN that was sent */
	bool sent_any;
	uint64_t recv_id;
};

/* The user wants an end. */
static inline bool rp_halted(const struct rp *rp)
{
	return rp->o->stop && *rp->o->stop;
}

/* replay.c: read the file and sort its packets. NULL: err has the reason. */
struct rp *rp_open(const uint8_t *file, size_t n, const struct dpa_replay_opt *o, char *err,
		   size_t errlen);
void rp_close(struct rp *rp);
/*
 * load.c: read the file. False: rp->err. With rp->damaged the packets before the damage are there,
 * and rp->err names it.
 */
bool rp_load(struct rp *rp, const uint8_t *file, size_t n);
/* streams.c: find streams and pairs. False: no memory. */
bool rp_streams(struct rp *rp);
uint32_t rp_mtu(const struct rp *rp, uint32_t s);
/* True for an answer: an ACK, a NAK, a response. */
static inline bool rp_is_answer(const struct dpa_roce_pkt *k)
{
	return !dpa_op_is_notice(k->opcode) && dpa_op_props(k->opcode) & DPA_OPP_RESP;
}
static inline bool rp_is_request(const struct dpa_roce_pkt *k)
{
	return !dpa_op_is_notice(k->opcode) && dpa_op_props(k->opcode) & DPA_OPP_VALID &&
	       !(dpa_op_props(k->opcode) & DPA_OPP_RESP);
}
/* Index of the last packet before `before` that is a request of stream s with that PSN. */
uint32_t rp_request_before(const struct rp *rp, uint32_t s, uint32_t before, uint32_t psn);
/* True if the options select the flow of stream s. */
bool rp_selected(const struct rp *rp, uint32_t s);
/* NULL: it can be replayed; else the reason. */
const char *rp_excuse(const struct rp *rp, uint32_t s);

/* regions.c: the regions of the flow. False: no memory. */
bool rp_regions_make(struct rp *rp);
void rp_regions_free(struct rp *rp);
/* The device's key for a key of the capture at an address; one of no region if there is none. */
uint32_t rp_key(const struct rp *rp, uint32_t rkey, uint64_t addr);
/* True: the packet is a request for memory that could not be made; a note has the reason. */
bool rp_lacks_memory(const struct rp *rp, const struct rp_pkt *p);
/* The memory at an address, and a byte for the caller's use beside it; NULL: no region. */
void *rp_memory(const struct rp *rp, uint32_t rkey, uint64_t addr, uint64_t len, uint8_t **known);

/* events.c */
struct dpa_replay_event *rp_event(struct rp *rp, enum dpa_replay_what what);
void rp_note(struct rp *rp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same; and the flow has not been replayed to its end. */
void rp_early(struct rp *rp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rp_state(const struct rp *rp, struct dpa_replay_state *s);
void rp_count_begin(const struct rp *rp, uint64_t was[DPA_CNT_NUM]);
void rp_count_end(const struct rp *rp, const uint64_t was[DPA_CNT_NUM], struct dpa_replay_event *e);
/* Take all completions. */
void rp_completions(struct rp *rp);
/* Advance to a packet's time (ns of the capture), with timers. */
void rp_until(struct rp *rp, uint64_t ns);
/* Let everything end: for a minute at most. */
void rp_finish(struct rp *rp);
/* dpa_frame `f` leaves the device. */
void rp_sent(void *arg, const struct dpa_frame *f);
/* Give a captured packet, with the device's key in it, to the device. */
void rp_give(struct rp *rp, const struct rp_pkt *p);
static inline bool rp_stopped(const struct rp *rp)
{
	return rp->full || rp_halted(rp);
}

/* responder.c */
void rp_responder(struct rp *rp);
/*
 * requester.c: the work requests of the flow. rp_work_make() returns NULL without memory;
 * rp_work_psn() is the first PSN, rp_work_longest() the bytes of the longest message.
 */
struct work;
struct work *rp_work_make(struct rp *rp);
uint32_t rp_work_psn(const struct work *w);
uint64_t rp_work_longest(const struct work *w);
void rp_work_free(struct work *w);
void rp_requester(struct rp *rp, struct work *w);
/* match.c: set the marks of the flow's events, and count. False: no memory. */
bool rp_match(struct rp *rp);

#endif
