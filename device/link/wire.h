/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wire.h - the link to other hosts, between its files.
 *
 * A remote is a path: our address, the peer's, traffic class, hop limit, flow label. It is a peer
 * (struct dpa_peer, always UP: what is not there is silent) whose lanes are memory of ours alone.
 * The transport writes slots there as it does for shared memory; dpa_wire_flush() makes packets of
 * them and sends them before the lane's producer lock is let go, so that no slot outlives the lock
 * of the QP whose memory it may point at.
 */
#ifndef DPA_WIRE_H
#define DPA_WIRE_H

#include <netinet/in.h>
#include <sys/socket.h>
#include "ctx/ops.h"
#include "ctx/qp.h"
#include "link/kick.h"
#include "frame.h"

/* Bytes of one send call at most, headers included: a UDP datagram before it is cut (GSO). */
#define DPA_GSO_BYTES 63000u
#define DPA_GSO_SEGS  64u

/*
 * Bytes that leave by one system call: about two datagrams of that kind, so that it is in the cache
 * when the kernel copies it, and on its way while the ICRCs of the next two are computed.
 */
#define DPA_WIRE_ROUND (2 * DPA_GSO_BYTES - DPA_ROCE_MAX_MTU - 64)
/* The same of a message that its sender waits for: the receiver takes one part while the next is
 * sent. Smaller parts overlap more, and cost more system calls than that saves: 64 KiB take 21 us
 * so, 23 in parts of 32 KB, 25 in parts of 24 KB, where a system call takes 1 to 2 us. */
#define DPA_WIRE_PIECE 57344u

#define DPA_WIRE_PKTS 256u /* packets of one flush round */
#define DPA_WIRE_MSGS 64u

/* Control data of a message: source address, traffic class, hop limit, segment size. */
#define DPA_WIRE_CTL                                                                               \
	(CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)) +                    \
	 CMSG_SPACE(sizeof(uint16_t)))

/* Where packets are put together. */
struct dpa_wire_scratch {
	/* one behind the other; what begins below the limit of a round fits, and one without
	 * payload */
	uint8_t bytes[DPA_WIRE_ROUND + 2 * DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + 16];
	struct mmsghdr msg[DPA_WIRE_MSGS];
	struct iovec iov[DPA_WIRE_MSGS]; /* of each */
	struct {
		uint32_t slot; /* lane index of the first packet's slot, and the packet's number in
				  it */
		uint32_t nth;
	} first[DPA_WIRE_MSGS];
	uint8_t ctl[DPA_WIRE_MSGS][DPA_WIRE_CTL] __attribute__((aligned(8)));
};

struct dpa_remote {
	struct dpa_peer peer;	 /* first: a peer with `wire` set is one of these */
	struct dpa_roce_net net; /* ours to theirs */
	struct sockaddr_storage to;
	socklen_t tolen;
	bool v4;
	uint32_t oif;		    /* a multicast group: the interface; 0: by route */
	struct dpa_wire_from *from; /* sockets of its own address; NULL: the common ones */
	_Atomic bool no_gso;	    /* the device does not cut datagrams */
	_Atomic int last_err;	    /* of sending: for the log */
	/*
	 * Datagrams go to whoever sent one, and anybody may send from many addresses: a remote that
	 * only datagrams were sent to becomes another path when there are too many. A thread that
	 * sends one has a hold on it (users, any thread); DPA_REMOTE_TURNS is added under the
	 * wire's lock while it changes, by who found no user. key is compared without a hold, net
	 * only with one.
	 */
	_Atomic uint32_t users;
	_Atomic uint64_t key; /* of net; relaxed: read before users, looked at again by net */
	_Atomic bool recent;  /* used again since reuse_remote() last came by; a hint */
	bool stays;	      /* a connected QP may refer to it; under the wire's lock */
	_Atomic(struct dpa_remote *) next;
};
#define DPA_REMOTE_TURNS 0x80000000u

#define DPA_WIRE_HASH 64u
#define DPA_WIRE_UD   512u /* remotes that only datagrams were sent to; about 20 KiB each */
#define DPA_WIRE_BUFS 4u
#define DPA_WIRE_ROOM 64u /* in front of a received datagram: for a GRH */
#define DPA_WIRE_BUF  (65536u + DPA_WIRE_ROOM)

/*
 * Sockets bound to a source address, with traffic class and hop limit set: nothing of it has to be
 * said with each packet. There are as many as paths differ, up to a bound; further paths
 * share sockets, and say it.
 */
#define DPA_WIRE_FROM 16u
struct dpa_wire_from {
	uint8_t src[16];
	uint32_t scope;
	uint8_t tclass, hop;
	int fd[DPA_LANES];
	uint16_t port[DPA_LANES];
};

/* Scratch memory is borrowed for a flush: remotes are many, threads that send are few. */
#define DPA_WIRE_ROOMS 8u
struct dpa_wire_room {
	dpa_spin_t lock; /* under a lane's producer lock */
	struct dpa_wire_scratch *scratch;
} __attribute__((aligned(DPA_CACHE_LINE)));

struct dpa_wire {
	struct dpa_wire_room room[DPA_WIRE_ROOMS];
	dpa_spin_t lock;		 /* remotes, sockets */
	_Atomic int tx_fd[2][DPA_LANES]; /* [v6]; -1: not open yet */
	uint16_t tx_port[2][DPA_LANES];
	struct dpa_wire_from from[DPA_WIRE_FROM]; /* written under lock, never changed */
	uint32_t nfrom;
	int probe_fd[2]; /* [v6]: of gsi/probe.c, whose caller serialises; -1: not open */
	uint16_t probe_port[2];
	_Atomic(struct dpa_remote *) remotes[DPA_WIRE_HASH];
	struct dpa_remote *ud[DPA_WIRE_UD]; /* those that do not stay; under lock, as are: */
	uint32_t nud, ud_at;		    /* how many, and who is asked next for his place */
	dpa_spin_t rx_lock;		    /* what follows */
	uint8_t *rx_buf;		    /* DPA_WIRE_BUFS of DPA_WIRE_BUF bytes */
	bool rx_idle;			    /* the last look found nothing */
	struct dpa_lane_stat rx_stat; /* relaxed; several threads may lose a count to each other */
};

static inline struct dpa_remote *dpa_remote_of(struct dpa_peer *p)
{
	return (struct dpa_remote *)p;
}

/* The socket that packets of a remote's lane leave by, and its port. */
static inline int dpa_remote_fd(const struct dpa_remote *r, uint32_t lane)
{
	struct dpa_wire *w = atomic_load_explicit(&r->peer.hw->wire, memory_order_relaxed);

	return r->from ? r->from->fd[lane]
		       : atomic_load_explicit(&w->tx_fd[!r->v4][lane], memory_order_relaxed);
}

static inline uint16_t dpa_remote_port(const struct dpa_remote *r, uint32_t lane)
{
	struct dpa_wire *w = atomic_load_explicit(&r->peer.hw->wire, memory_order_relaxed);

	return r->from ? r->from->port[lane] : w->tx_port[!r->v4][lane];
}

/*
 * Make a socket to send by: never connected, and with path MTU discovery, because then the IPv4
 * identification is 0 (0, 1, 2... over the pieces of one GSO call) and DF is set, which the ICRC
 * covers. Returns the descriptor, or -errno.
 */
int dpa_wire_socket(int family, const uint8_t *src, uint32_t scope, uint16_t *port);

/* hw->wire, made at first use. NULL: ENOMEM. */
struct dpa_wire *dpa_wire_get(struct dpa_hw *hw);
void dpa_wire_fini(struct dpa_hw *hw);
void dpa_wire_abandon(struct dpa_hw *hw); /* forked child: closes the descriptors */

/*
 * Sends what the lane holds, under its producer lock and that of the QP that wrote it. Returns how
 * many slots did not leave (no room in the socket, no route); *psn is the first PSN of the requests
 * of a connected QP among those, or DPA_WIRE_NO_PSN. The lane is empty afterwards in any case.
 */
#define DPA_WIRE_NO_PSN UINT32_MAX
uint32_t dpa_wire_flush(struct dpa_tx *tx, uint32_t src, uint32_t *psn);
/*
 * The packets of the lane may wait for company until an EU has nothing else to do; under tx->lock.
 * Only copies may wait: nothing that points into an application's memory (DPA_PKT_PULL).
 */
void dpa_wire_cork(struct dpa_tx *tx);
/* Does a packet go in one datagram with a longer one before it? Not where each is looked at. */
bool dpa_wire_joins(const struct dpa_tx *tx);
/* Sends what waits for company. No lock may be held. */
void dpa_corks_send(struct dpa_hw *hw);

/* 40 bytes as a UD receive has them in front: the IP header that came, for IPv4 in the last 20. */
void dpa_grh_make(uint8_t *grh, const struct dpa_roce_net *net, uint32_t udp_payload);

/* Decodes, checks ICRC and P_Key; counts what is refused. Sets f's IP identification. */
bool dpa_frame_check(struct dpa_hw *hw, struct dpa_frame *f, struct dpa_roce_pkt *pkt);

/*
 * The IPv4 identification, of connected QPs, under the QP's lock. A sender whose packets counted
 * from 0 many times in a row (dpa_id_learn()) does so in the next one, too: if the ICRC fits
 * another identification only, the packet is damaged, most likely. False: it is dropped and
 * counted, once: if it comes again its sender does otherwise now. Only packets count that the QP
 * took in order from one UDP port, so that nobody else can say how its peer's packets have to look.
 */
bool dpa_id_fits(struct dpa_hw_qp *qp, const struct dpa_frame *f);
/* A frame was given to the QP, of which dpa_id_progress() was `before`. */
void dpa_id_learn(struct dpa_hw_qp *qp, const struct dpa_frame *f, uint64_t before);
/* Another number when a packet was taken in order, as a request or as an answer. */
static inline uint64_t dpa_id_progress(const struct dpa_hw_qp *qp)
{
	return (uint64_t)qp->resp.epsn + qp->req.una_psn + qp->req.acked_psn + qp->req.read_off;
}

/* Does a QP of this process have the number? */
static inline bool dpa_qpn_is_ours(struct dpa_hw *hw, uint32_t qpn)
{
	return qpn >> 16 == hw->board->board_num &&
	       atomic_load_explicit(&hw->qp_tab[qpn & DPA_QPN_INDEX], memory_order_acquire);
}

/* A packet whose ICRC and P_Key are right: to its QP, whose lock is taken (cur's is let go if it is
 * another). Returns the QP now locked, NULL: none. */
struct dpa_hw_qp *dpa_pkt_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur, struct dpa_peer *peer,
				  const struct dpa_frame *f, const struct dpa_roce_pkt *pkt);
/* The remote of a connected QP if the frame is from there and to us, else NULL. Under the QP's
 * lock. */
struct dpa_peer *dpa_sender_of(struct dpa_hw_qp *qp, const struct dpa_frame *f);
void dpa_wire_count_rx(struct dpa_hw *hw, const struct dpa_slot *s, uint32_t packets);
/* A packet of this QP carried ECN's CE; a CNP came for it. Under the QP's lock. */
void dpa_wire_marked(struct dpa_hw_qp *qp, uint8_t tclass);
void dpa_wire_cnp(struct dpa_hw_qp *qp);
/*
 * The QP is locked now. Of an XRC target the completions of a batch are collected if the caller has
 * a dpa_me.run: one ACK is in front of all of them.
 */
static inline void dpa_pkt_collect(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(qp->xrcd) && dpa_me.run)
		dpa_me.run->qp = qp;
}
/* The end of what dpa_pkt_deliver() began: unlocks. A plain ACK may wait (not soon). */
static inline void dpa_pkt_end(struct dpa_hw_qp *qp, bool soon)
{
	if (qp)
		qp->ops->done(qp, soon);
}

#endif
