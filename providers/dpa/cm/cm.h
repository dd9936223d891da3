/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm.h - the communication manager (IBA chapter 12) as pure step functions. The diagram is in
 * README.md of this folder.
 *
 * One struct dpav_cm is one communication id: one connection, or one SIDR exchange. A step takes one
 * input (a call of the owner, a MAD, a timer) and returns the effects that the caller carries out.
 * No function does I/O, takes a lock or reads a clock; only the index allocates. The caller
 * serialises the steps of one struct dpav_cm; two of them are independent. Times are in ms of a
 * monotonic clock of the caller.
 *
 * A communication id is used once. After CLOSED the caller takes a new one, with a new local id.
 */
#ifndef DPA_CM_CM_H
#define DPA_CM_CM_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dpa_mad.h>

#define DPA_CM_NEVER UINT64_MAX /* a deadline: no timer runs */

enum dpav_cm_state { /* as in Linux (enum ib_cm_state) */
		     DPA_CM_ST_IDLE,
		     DPA_CM_ST_REQ_SENT,
		     DPA_CM_ST_MRA_REQ_RCVD, /* REQ sent, the peer asked for time */
		     DPA_CM_ST_REP_RCVD,
		     DPA_CM_ST_MRA_REP_SENT, /* REP received, this side asked for time */
		     DPA_CM_ST_REQ_RCVD,
		     DPA_CM_ST_MRA_REQ_SENT, /* REQ received, this side asked for time */
		     DPA_CM_ST_REP_SENT,
		     DPA_CM_ST_MRA_REP_RCVD, /* REP sent, the peer asked for time */
		     DPA_CM_ST_ESTABLISHED,
		     DPA_CM_ST_DREQ_SENT,
		     DPA_CM_ST_DREQ_RCVD,
		     DPA_CM_ST_TIMEWAIT,
		     DPA_CM_ST_SIDR_REQ_SENT,
		     DPA_CM_ST_SIDR_REQ_RCVD,
		     DPA_CM_ST_CLOSED, /* the end: no MAD, no timer, no record */
		     DPA_CM_STATES
};

/* Reasons of REJ (IBA 12.6.7.2) that this CM sends. */
enum dpav_cm_reason {
	DPA_CM_REJ_TIMEOUT = 4,
	DPA_CM_REJ_SERVICE_ID = 8,
	DPA_CM_REJ_TRANSPORT = 9,
	DPA_CM_REJ_STALE = 10,
	DPA_CM_REJ_CONSUMER = 28,
};

enum dpav_cm_sidr_status { DPA_CM_SIDR_VALID, DPA_CM_SIDR_UNSUPPORTED, DPA_CM_SIDR_REJECTED };

enum dpav_cm_qp {
	DPA_CM_QP_RC,
	DPA_CM_QP_UC,
	DPA_CM_QP_XRC_INI,
	DPA_CM_QP_XRC_TGT,
	DPA_CM_QP_UD,
	DPA_CM_QP_NONE, /* a REQ for RD or a reserved type: only REJECT works, with reason 9 */
};

/*
 * Equal for all communication ids of an adapter, except local_id and psn. A number that is too
 * large for its field of the message is replaced by the largest value, a PSN by its low 24 bits.
 */
struct dpav_cm_config {
	/*
	 * Not 0. Unique for ca_guid, whichever process allocated it. Not reused for 10 s, because
	 * the peer may still be in TIMEWAIT.
	 */
	uint32_t local_id;
	uint32_t tid_high;   /* high half of the transaction ids */
	uint32_t psn;	     /* first PSN that this side expects, 24 bits */
	uint64_t ca_guid;    /* node GUID */
	uint8_t ack_delay;   /* local CA ACK delay, 4.096 us * 2^n */
	uint8_t cm_timeout;  /* of both sides, put into REQ: DPA_CM_TIMEOUT */
	uint8_t max_retries; /* put into REQ: DPA_CM_RETRIES */
	uint8_t mra_timeout; /* service timeout of an MRA: DPA_CM_MRA_TIMEOUT */
};
#define DPA_CM_TIMEOUT	   20
#define DPA_CM_RETRIES	   15
#define DPA_CM_MRA_TIMEOUT 24

struct dpav_cm_path {
	uint8_t sgid[16], dgid[16];
	uint32_t flow_label;
	uint16_t pkey, pkey_index;
	uint8_t port, sgid_index, hop_limit, traffic_class, sl;
	uint8_t mtu;	   /* enum ibv_mtu */
	uint8_t life_time; /* packet life time, 4.096 us * 2^n */
};

/* For CONNECT and ACCEPT. Responder resources and initiator depth are this side's own. */
struct dpav_cm_conn {
	enum dpav_cm_qp qp; /* CONNECT: RC, UC or XRC_INI */
	uint32_t qpn;	    /* of this side */
	uint8_t responder_resources, initiator_depth, flow_control, srq;
	uint8_t retry_count, rnr_retry; /* more than 7 counts as 7 */
	uint32_t vendor_id, attr_mod;	/* ECE */
};

enum dpav_cm_input_kind {
	DPA_CM_CONNECT,	    /* service_id, path, conn, data: send REQ */
	DPA_CM_RESOLVE,	    /* service_id, path, data: send SIDR_REQ */
	DPA_CM_ACCEPT,	    /* conn, data: send REP */
	DPA_CM_CONFIRM,	    /* data: send RTU */
	DPA_CM_REJECT,	    /* reason, info, data: send REJ */
	DPA_CM_NOTIFY,	    /* the QP got data before the RTU: it counts as received */
	DPA_CM_DISCONNECT,  /* data: send DREQ, or end a DREQ; the caller does it for a stale one */
	DPA_CM_SIDR_ANSWER, /* status, conn (qpn, ECE), qkey, info, data: send SIDR_REP */
	DPA_CM_DESTROY,	    /* the owner leaves: it gets no more events; always succeeds */
	DPA_CM_MAD,	    /* mad; arrival where it is REQ or SIDR_REQ */
	DPA_CM_TIMER,	    /* the deadline may have come */
	DPA_CM_GONE,	    /* the peer's host has no RoCEv2 any more */
	DPA_CM_INPUTS
};

struct dpav_cm_input {
	enum dpav_cm_input_kind kind;
	uint64_t now;
	uint64_t service_id;
	const struct dpav_cm_path *path;
	const struct dpav_cm_conn *conn;
	const void *data, *info; /* private data; additional information */
	size_t len, info_len;
	uint16_t reason;
	uint8_t status; /* enum dpav_cm_sidr_status */
	uint32_t qkey;
	const struct dpa_mad *mad;
	/* path back to the peer: sgid is ours, dgid the sender's */
	const struct dpav_cm_path *arrival;
};

enum dpav_cm_event_type {
	DPA_CM_EV_NONE,
	DPA_CM_EV_REQ,	       /* answer by ACCEPT or REJECT */
	DPA_CM_EV_REP,	       /* answer by CONFIRM or REJECT */
	DPA_CM_EV_ESTABLISHED, /* RTU received, or NOTIFY */
	DPA_CM_EV_REJ,	       /* status: reason */
	/* REQ, REP or SIDR_REQ had no answer, or the peer is gone; status: -ETIMEDOUT */
	DPA_CM_EV_UNREACHABLE,
	DPA_CM_EV_DREQ, /* was answered; end by DISCONNECT */
	DPA_CM_EV_DREP, /* disconnected */
	/* disconnected: DREQ had no answer, or the peer is gone; status: -ETIMEDOUT */
	DPA_CM_EV_DREQ_TIMEOUT,
	DPA_CM_EV_TIMEWAIT_EXIT, /* the QP may be used again */
	DPA_CM_EV_SIDR_REQ,	 /* answer by SIDR_ANSWER */
	DPA_CM_EV_SIDR_REP,	 /* status: enum dpav_cm_sidr_status */
	DPA_CM_EVENTS
};

/* Pointers point into the MAD of the input. Fields that the message does not have are 0. */
struct dpav_cm_event {
	enum dpav_cm_event_type type;
	int status;
	const uint8_t *data, *info; /* private data: always the whole field */
	size_t len, info_len;
	uint64_t service_id;
	enum dpav_cm_qp qp;	 /* of this side */
	uint32_t qpn, qkey, psn; /* of the peer */
	/* after the exchange: values that this side may use */
	uint8_t responder_resources, initiator_depth;
	uint8_t flow_control, retry_count, rnr_retry, srq;
	uint32_t vendor_id, attr_mod; /* ECE */
};

/* The keys by which MADs find a communication id. A bit of `live` is set while its fields count. */
#define DPA_CM_LIVE_LOCAL 1 /* local_id: MADs for it belong here */
#define DPA_CM_LIVE_ID	  2 /* (ca_guid, remote_id): a REQ of these is a duplicate */
#define DPA_CM_LIVE_QP	  4 /* (ca_guid, qpn): another connection of these makes this one stale */
#define DPA_CM_LIVE_SIDR  8 /* (gid, remote_id): a SIDR_REQ of these is a duplicate */
struct dpav_cm_record {
	uint32_t live;
	uint32_t local_id, remote_id, qpn;
	uint64_t ca_guid; /* of the peer */
	uint8_t gid[16];  /* of the peer, SIDR_REQ received only */
	bool xrc;	  /* initiator: the peer's QPN is where REP has an EECN */
};

struct dpav_cm_effects {
	bool send; /* mad, to the connection's peer */
	struct dpa_mad mad;
	struct dpav_cm_event event; /* for the owner */
	uint64_t deadline;	    /* time of the next TIMER; DPA_CM_NEVER */
	bool record_changed;
	struct dpav_cm_record record; /* as it is now */
	bool done;		      /* closed and without an owner: free it */
};

struct dpav_cm {
	struct dpav_cm_config config;
	enum dpav_cm_state state;
	enum dpav_cm_qp qp;
	bool orphan;   /* DESTROY was called */
	bool rejected; /* DREQ_SENT: a REJ went ahead of the DREQ */
	bool has_peer; /* remote_id, remote_qpn, remote_guid are set */
	uint32_t remote_id, local_qpn, remote_qpn;
	uint32_t sq_psn; /* announced by the peer */
	uint64_t remote_guid, service_id, tid;
	struct dpav_cm_path path;
	uint8_t responder_resources, initiator_depth, retry_count, rnr_retry;
	uint8_t ack_timeout; /* for the path and the peer, 4.096 us * 2^n */
	uint8_t max_retries, retries_left;
	/* ms until a retransmission: of the next message; of this one */
	uint32_t answer_wait, wait;
	uint64_t deadline;
	/* from this time on a repeated REQ or REP is a retransmission, before it a copy */
	uint64_t mra_from;
	struct dpa_mad msg;    /* sent again until it is answered */
	struct dpa_mad answer; /* sent again for each duplicate; attr 0: none */
};

void dpav_cm_init(struct dpav_cm *cm, const struct dpav_cm_config *config);

/*
 * Carry out one step. *out is set completely. Returns 0 or, for a call of the owner, an errno:
 * EINVAL: not in this state, or a value that no message can hold; EISCONN: NOTIFY when established.
 * After an error nothing has changed and no effect is requested. A MAD that does not fit the state
 * is ignored.
 */
int dpav_cm_step(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out);

/* The request of cm that has no answer yet (REQ, SIDR_REQ): the peer may not have it. NULL: none. */
const struct dpa_mad *dpav_cm_unanswered(const struct dpav_cm *cm);

/* True if cm waits for the peer: GONE would end it. */
bool dpav_cm_waits(const struct dpav_cm *cm);

struct dpav_cm_record dpav_cm_record(const struct dpav_cm *cm);

/*
 * Take over a communication id of a process that died, and destroy it: the peer gets DREQ, DREP,
 * REJ or SIDR_REP as with DPA_CM_DESTROY in that state. config->local_id is its id. Sets *cm and
 * *out completely, like a step. MADs and the timer continue as usual until the step that returns
 * `done`. A DREQ of the dead process is sent again. EINVAL: no such state, qpn has more than 24
 * bits, or a life time above 5.
 */
struct dpav_cm_past {
	enum dpav_cm_state state;
	enum dpav_cm_qp qp;
	uint32_t remote_id, remote_qpn;	 /* remote_id: for SIDR the request id */
	uint64_t remote_guid;		 /* CA GUID of the peer; 0: not known */
	uint64_t tid, service_id;	 /* those of the peer's last request */
	const struct dpav_cm_path *path; /* mtu and pkey are not used */
};
int dpav_cm_adopt(struct dpav_cm *cm, const struct dpav_cm_config *config,
		  const struct dpav_cm_past *past, uint64_t now, struct dpav_cm_effects *out);

/*
 * Return the attributes for ibv_modify_qp() to attr->qp_state (INIT, RTR, RTS); sets *attr and
 * *mask completely. EINVAL: not in this state (cm.c of Linux: cm_init_qp_attr()).
 */
int dpav_cm_qp_attr(const struct dpav_cm *cm, struct ibv_qp_attr *attr, int *mask);

/* Convert a time t of the CM (4.096 us * 2^t) to ms, as Linux does: 2^(t - 8), at least 1. */
uint32_t dpav_cm_ms(uint8_t t);
/* Return the ms until REQ is sent again: 2 * packet life time + response time of the peer's CM. */
uint32_t dpav_cm_req_wait(uint8_t life_time, uint8_t cm_timeout);
/*
 * Return the local ACK timeout of a path, from the ACK delay of the CA that acknowledges (IBA
 * 12.7.34).
 */
uint8_t dpav_cm_ack_timeout(uint8_t ack_delay, uint8_t life_time);

/*
 * Look-up of communication ids by the ids in MADs. The caller embeds one struct dpav_cm_entry in
 * each connection and calls dpav_cm_index_put() after each step with `record_changed`. A look-up
 * takes constant time. The caller serialises all calls of one index.
 */
#define DPA_CM_KEYS 4 /* one for each bit of record.live */

struct dpav_cm_entry {
	struct dpav_cm_record record;		 /* as set by put; live 0: not in the index */
	struct dpav_cm_entry *next[DPA_CM_KEYS]; /* of the index */
};

struct dpav_cm_index {
	uint64_t seed;
	struct dpav_cm_table {
		struct dpav_cm_entry **bucket;
		size_t buckets, entries; /* buckets: a power of two */
	} by[DPA_CM_KEYS];
};

/* Initialise an empty index. ENOMEM. */
int dpav_cm_index_init(struct dpav_cm_index *ix);
/* Free the tables. Entries that are still in the index must not be put again. */
void dpav_cm_index_fini(struct dpav_cm_index *ix);
/*
 * Set the record of *e: puts it in, moves it, or takes it out (r->live 0). A new entry is all 0. *r
 * must not be e->record. The tables grow; without memory they do not, and look-ups become slower.
 */
void dpav_cm_index_put(struct dpav_cm_index *ix, struct dpav_cm_entry *e,
		       const struct dpav_cm_record *r);

enum dpav_cm_verdict {
	DPA_CM_NEW,   /* REQ, SIDR_REQ: step a new one, or refuse it with DPA_CM_REJ_SERVICE_ID */
	DPA_CM_FOUND, /* for *which: step it */
	DPA_CM_DUPLICATE, /* REQ, SIDR_REQ again; of *which: step it */
	DPA_CM_STALE,	  /* REQ, REP: refuse it with DPA_CM_REJ_STALE, disconnect *which */
	DPA_CM_UNKNOWN,	  /* no id has it: refuse a DREQ (with DREP), drop others */
};

/* Classifies a MAD from `gid` and finds its entry. *which is NULL if the verdict is NEW or UNKNOWN.
 */
enum dpav_cm_verdict dpav_cm_classify(const struct dpav_cm_index *ix, const struct dpa_mad *m,
				      const uint8_t gid[16], struct dpav_cm_entry **which);

/*
 * Build the answer to a MAD that no struct dpav_cm takes: REJ to REQ and REP, SIDR_REP
 * "unsupported" to SIDR_REQ, DREP to DREQ. False, and no answer: any other.
 */
bool dpav_cm_refuse(const struct dpa_mad *m, uint16_t reason, struct dpa_mad *answer);

#endif
