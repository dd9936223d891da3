/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wire.h - the link to other hosts, between its files.
 *
 * A remote is a path: local address, peer address, traffic class, hop limit, flow label. It is a
 * peer (struct dpa_peer; always UP, because a missing peer is silent) whose rings are private
 * memory of this process. The transport writes entries there as for shared memory. dpa_wire_flush()
 * makes packets of them and sends them before the ring's producer lock is released, so that no
 * entry outlives the lock of the QP whose memory it may refer to.
 */
#ifndef DPA_WIRE_H
#define DPA_WIRE_H

#include <netinet/in.h>
#include <sys/socket.h>
#include "ctx/ops.h"
#include "ctx/qp.h"
#include "link/kick.h"
#include "link/frame.h"

/* Maximum bytes of one send call, headers included: a UDP datagram before it is cut (GSO). */
#define DPA_GSO_BYTES 63000u
#define DPA_GSO_SEGS  64u

/*
 * Bytes that leave by one system call: about two such datagrams. So the data is in the cache when
 * the kernel copies it, and on its way while the ICRCs of the next two are computed.
 */
#define DPA_WIRE_ROUND (2 * DPA_GSO_BYTES - DPA_ROCE_MAX_MTU - 64)
/*
 * The same for a message whose sender waits: the receiver takes one part while the next is sent.
 * Smaller parts overlap more, but cost more system calls than that saves. 64 KiB take 21 us this
 * way, 23 us in parts of 32 KB, 25 us in parts of 24 KB; a system call takes 1 to 2 us.
 */
#define DPA_WIRE_PIECE 57344u

#define DPA_WIRE_PKTS 256u /* packets of one flush round */
#define DPA_WIRE_MSGS 64u

/* Control data of a message: source address, traffic class, hop limit, segment size. */
#define DPA_WIRE_CTL                                                                               \
	(CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)) +                    \
	 CMSG_SPACE(sizeof(uint16_t)))

/* Buffers in which packets are built. */
struct dpa_wire_scratch {
	/*
	 * Packets one behind the other. A packet that begins below the limit of a round fits; so
	 * does one without payload.
	 */
	uint8_t bytes[DPA_WIRE_ROUND + 2 * DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + 16];
	struct mmsghdr msg[DPA_WIRE_MSGS];
	struct iovec iov[DPA_WIRE_MSGS]; /* of each datagram */
	struct {
		/* ring index of the first packet's entry, and the number of the packet in it */
		uint32_t slot;
		uint32_t nth;
	} first[DPA_WIRE_MSGS];
	uint8_t ctl[DPA_WIRE_MSGS][DPA_WIRE_CTL] __attribute__((aligned(8)));
};

struct dpa_remote {
	struct dpa_peer peer;	 /* first member: a peer with `wire` set is one of these */
	struct dpa_roce_net net; /* addresses: from this host to the peer */
	struct sockaddr_storage to;
	socklen_t tolen;
	bool v4;
	uint32_t oif;		    /* for a multicast group: the interface; 0: by route */
	struct dpa_wire_from *from; /* sockets bound to its own address; NULL: the shared ones */
	_Atomic bool no_gso;	    /* the device does not cut datagrams */
	_Atomic int last_err;	    /* of the last send: for the log */
	/*
	 * Datagrams go to every sender of one, and a sender may use many addresses. So when there
	 * are too many remotes, one that only sent datagrams gets another path. A thread that sends
	 * a datagram has a hold on it (users; any thread), and so has each frame that a fault holds
	 * back. DPA_REMOTE_TURNS is added under the
	 * wire's lock while the path changes, by the thread that found no user. key may be compared
	 * without a hold, net only with one.
	 */
	_Atomic uint32_t users;
	_Atomic uint64_t key; /* key of net; relaxed: read before users, then net is compared */
	_Atomic bool recent;  /* used again since reuse_remote() last passed it; a hint */
	/* a connected QP may refer to it: never reused; under the wire's lock */
	bool stays;
	_Atomic(struct dpa_remote *) next;
};
#define DPA_REMOTE_TURNS 0x80000000u

#define DPA_WIRE_HASH 64u
#define DPA_WIRE_UD   512u /* remotes for datagrams only; about 20 KiB each */
#define DPA_WIRE_BUFS 4u
#define DPA_WIRE_ROOM 64u /* in front of a received datagram: room for a GRH */
#define DPA_WIRE_BUF  (65536u + DPA_WIRE_ROOM)

/*
 * Sockets bound to a source address, with traffic class and hop limit set, so that packets need not
 * carry them as ancillary data. There is one for each different path, up to a bound. Further paths
 * share sockets and pass these values with each packet.
 */
#define DPA_WIRE_FROM 16u
struct dpa_wire_from {
	uint8_t src[16];
	uint32_t scope;
	uint8_t tclass, hop;
	int fd[DPA_LANES];
	uint16_t port[DPA_LANES];
};

/* Scratch memory is borrowed for a flush: there are many remotes, but few threads that send. */
#define DPA_WIRE_ROOMS 8u
struct dpa_wire_room {
	dpa_spin_t lock; /* taken inside of a ring's producer lock */
	struct dpa_wire_scratch *scratch;
} __attribute__((aligned(DPA_CACHE_LINE)));

struct dpa_wire {
	struct dpa_wire_room room[DPA_WIRE_ROOMS];
	dpa_spin_t lock;		 /* remotes, sockets */
	_Atomic int tx_fd[2][DPA_LANES]; /* [v6]; -1: not open yet */
	uint16_t tx_port[2][DPA_LANES];
	struct dpa_wire_from from[DPA_WIRE_FROM]; /* written once under lock */
	uint32_t nfrom;
	int probe_fd[2]; /* [v6]: of gsi/probe.c, whose caller serialises its use; -1: not open */
	uint16_t probe_port[2];
	_Atomic(struct dpa_remote *) remotes[DPA_WIRE_HASH];
	struct dpa_remote *ud[DPA_WIRE_UD]; /* remotes for datagrams only; under lock, as are: */
	uint32_t nud, ud_at;		    /* their number, and the next candidate for reuse */
	dpa_spin_t rx_lock;		    /* protects the following */
	uint8_t *rx_buf;		    /* DPA_WIRE_BUFS of DPA_WIRE_BUF bytes */
	bool rx_idle;			    /* the last read found nothing */
	struct dpa_lane_stat rx_stat;	    /* relaxed; concurrent threads may lose a count */
};

static inline struct dpa_remote *dpa_remote_of(struct dpa_peer *p)
{
	return (struct dpa_remote *)p;
}

/* Returns the socket that packets of a remote's ring are sent by, and its port. */
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
 * Make a send socket. It is never connected and does path MTU discovery, because then the IPv4
 * identification is 0 (0, 1, 2... for the packets of one GSO call) and DF is set; the ICRC covers
 * both. Returns the descriptor, or -errno.
 */
int dpa_wire_socket(int family, const uint8_t *src, uint32_t scope, uint16_t *port);

/* Return hw->wire; create it at first use. NULL: ENOMEM. */
struct dpa_wire *dpa_wire_get(struct dpa_hw *hw);
void dpa_wire_fini(struct dpa_hw *hw);
void dpa_wire_abandon(struct dpa_hw *hw); /* forked child: closes the descriptors */

/*
 * Send what the ring holds. Returns the number of entries that were not sent (no room in the
 * socket, no route). *psn: first PSN of the requests of a connected QP among them, or
 * DPA_WIRE_NO_PSN. The ring is empty afterwards in any case. Context: the ring's producer lock and
 * the lock of the QP that wrote it.
 */
#define DPA_WIRE_NO_PSN UINT32_MAX
uint32_t dpa_wire_flush(struct dpa_tx *tx, uint32_t src, uint32_t *psn);
/*
 * Let the packets of the ring wait, to be sent together with others, until an EU is otherwise idle.
 * Only copies may wait: no entry that refers to an application's memory (DPA_PKT_PULL). Context:
 * tx->lock.
 */
void dpa_wire_cork(struct dpa_tx *tx);
/*
 * True if a packet is sent in one datagram with a longer one before it. False while packets are
 * inspected one by one.
 */
bool dpa_wire_joins(const struct dpa_tx *tx);
/* Send what waits to be sent together. Context: no lock held. */
void dpa_corks_send(struct dpa_hw *hw);

/* Write the 40 bytes in front of a UD receive: the IP header that came; for IPv4 in the last 20. */
void dpa_grh_make(uint8_t *grh, const struct dpa_roce_net *net, uint32_t udp_payload);

/* Decode a frame, check ICRC and P_Key, and count refused frames. Sets f's IP identification. */
bool dpa_frame_check(struct dpa_hw *hw, struct dpa_frame *f, struct dpa_roce_pkt *pkt);

/*
 * Check the IPv4 identification of a connected QP's packet. A sender whose packets counted from 0
 * many times in a row (dpa_id_learn()) is expected to do so in the next one, too. If the ICRC fits
 * another identification only, the packet is most likely damaged. Returns false for it: it is
 * dropped and counted, once. If it comes again the sender has changed. Only packets that the QP
 * took in order and from one UDP port count, so that another sender cannot change the expectation.
 * Context: the QP's lock.
 */
bool dpa_id_fits(struct dpa_hw_qp *qp, const struct dpa_frame *f);
/*
 * Update the expectation after a frame was given to the QP. before: dpa_id_progress() before that.
 */
void dpa_id_learn(struct dpa_hw_qp *qp, const struct dpa_frame *f, uint64_t before);
/* A number that changes when a packet was taken in order, as a request or as a response. */
static inline uint64_t dpa_id_progress(const struct dpa_hw_qp *qp)
{
	return (uint64_t)qp->resp.epsn + qp->req.una_psn + qp->req.acked_psn + qp->req.read_off;
}

/* True if a QP of this process has the number. */
static inline bool dpa_qpn_is_ours(struct dpa_hw *hw, uint32_t qpn)
{
	return qpn >> 16 == hw->board->board_num &&
	       atomic_load_explicit(&hw->qps.tab[qpn & DPA_QPN_INDEX], memory_order_acquire);
}

/*
 * Give a packet whose ICRC and P_Key are valid to its QP. Takes that QP's lock, and releases cur's
 * if it is another QP. Returns the QP that is locked now; NULL: none.
 */
struct dpa_hw_qp *dpa_pkt_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur, struct dpa_peer *peer,
				  const struct dpa_frame *f, const struct dpa_roce_pkt *pkt);
/*
 * Return the remote of a connected QP if the frame came from there and was sent to this end; else
 * NULL. Context: the QP's lock.
 */
struct dpa_peer *dpa_sender_of(struct dpa_hw_qp *qp, const struct dpa_frame *f);
void dpa_wire_count_rx(struct dpa_hw *hw, const struct dpa_slot *s, uint32_t packets);
/* A packet of this QP carried ECN's CE; a CNP came for it. Context: the QP's lock. */
void dpa_wire_marked(struct dpa_hw_qp *qp, uint8_t tclass);
void dpa_wire_cnp(struct dpa_hw_qp *qp);
/*
 * The QP is locked now. For an XRC target the completions of a batch are collected if the caller
 * has a dpa_me.run: one ACK precedes all of them.
 */
static inline void dpa_pkt_collect(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(qp->xrcd) && dpa_me.run)
		dpa_me.run->qp = qp;
}
/* End what dpa_pkt_deliver() began: unlock. soon: false lets a plain ACK wait. */
static inline void dpa_pkt_end(struct dpa_hw_qp *qp, bool soon)
{
	if (qp)
		qp->ops->done(qp, soon);
}

#endif
