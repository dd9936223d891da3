/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_gsi.h - QP1, the general services interface (IBA 13.5), as a service for the communication
 * manager of the driver. Part of dpa_hw.h, which is included instead.
 *
 * A process opens it once. MADs between processes of an adapter instance use shared memory. MADs to
 * other hosts are RoCEv2 packets from QP1 to QP1; those to other adapter instances of the host use
 * a local socket. The content of a MAD selects the receiving process: the service id of a request,
 * the remote communication id of any other message. A MAD that matches no process of the host
 * returns to the sender if the sender is on this host. Otherwise a process that has QP1 open gets
 * it. The driver of that process refuses it.
 *
 * A MAD can be lost, duplicated and reordered, as on a wire.
 */
#ifndef DPA_HW_GSI_H
#define DPA_HW_GSI_H

#include <stdbool.h>
#include <stdint.h>
#include "dpa_mad.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dpa_hw_ctx;
struct dpa_hw_gsi;

/*
 * Both ends of a MAD: sgid is the address of this side, dgid that of the other side, in both
 * directions. The ECN bits of traffic_class (1:0) belong to the link: they are 0 in what
 * dpa_hw_gsi_recv() returns.
 */
struct dpa_gsi_addr {
	uint8_t sgid[16], dgid[16];
	uint32_t flow_label;
	uint8_t hop_limit, traffic_class;
	uint8_t rsvd[2];
};

/* Called by any device thread; must not block nor call back into the device. */
typedef void dpa_gsi_fn(void *arg);

/*
 * Opens QP1 for this process. The device calls `ready` when a MAD has arrived, and when a process
 * died that had QP1 open. The driver then calls died, and recv and orphan until both return false.
 * EBUSY: it is open already. EIO: in a forked child. ENOMEM, EMFILE, or the errno of dpa_hw_open().
 */
int dpa_hw_gsi_open(struct dpa_hw_ctx *ctx, dpa_gsi_fn *ready, void *arg, struct dpa_hw_gsi **gsi);
/*
 * Ends its services and ids, and frees it. The device does not call `ready` after the return. In a
 * forked child of the process that opened it: frees the child's memory only.
 */
void dpa_hw_gsi_close(struct dpa_hw_gsi *gsi);
/*
 * For a process that has the device open, but not QP1. A device thread calls `need` when no process
 * of the adapter instance has QP1 open and a MAD arrived, or a dead process left ids. One function
 * for the whole process; NULL removes it.
 */
void dpa_hw_gsi_on_need(dpa_gsi_fn *need, void *arg);

/*
 * Sends 256 bytes. EINVAL: sgid is no address of this namespace, sgid and dgid are of different
 * families, or the bytes are no MAD of the CM. ENOBUFS: the send queue is full, as while receiving
 * processes do not run. EAGAIN: the receiver is of another adapter instance, which has no room now;
 * MADs for others may be sent. After both the driver may try again, or treat the MAD as lost on the
 * wire. ENETUNREACH, EHOSTUNREACH: no route. EIO: in a forked child, where each call of this file
 * fails.
 */
int dpa_hw_gsi_send(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *to,
		    const uint8_t mad[DPA_MAD_BYTES]);
/* Returns the next MAD that arrived. False: there is none. Never blocks. One caller at a time. */
bool dpa_hw_gsi_recv(struct dpa_hw_gsi *gsi, struct dpa_gsi_addr *from, uint8_t mad[DPA_MAD_BYTES]);
/*
 * Looks up the receiver again for a MAD that matched no process when it arrived. True: it matches
 * another process now, and was forwarded. A process of another adapter instance is found while it
 * holds a listening port: the listener calls dpa_cm_port_listen() before dpa_hw_gsi_listen().
 */
bool dpa_hw_gsi_pass_on(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *from,
			const uint8_t mad[DPA_MAD_BYTES]);

/*
 * False: the adapter instance of this host to which a communication id belongs has no process any
 * more, or none for the moment: if one of several dies, another one shows it within 2 s. For ids of
 * peers at this host's addresses. Any thread; some system calls.
 */
bool dpa_hw_gsi_there(struct dpa_hw_gsi *gsi, uint32_t id);

/*
 * Asks another host whether a process has UDP port 4791 there: sends a packet that every receiver
 * ignores (a DREP for no id, with this transaction id). If no process has the port the kernel of
 * that host answers with ICMP "port unreachable", which dpa_hw_gsi_refused() returns; otherwise no
 * answer comes. The answer must quote the transaction id. The id must be random: then only a host
 * that can read the packet can forge the answer. Errors as dpa_hw_gsi_send(), and those of
 * socket(). The caller serialises the calls of both functions.
 */
int dpa_hw_gsi_probe(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *to, uint64_t tid);
/* Returns the next answer: the address and transaction id of its packet. False: there is none. */
bool dpa_hw_gsi_refused(struct dpa_hw_gsi *gsi, uint8_t dgid[16], uint64_t *tid);

/*
 * Listen: this process gets the requests for (service_id & mask) at `addr` (all 0: at any address).
 * If several services match, one with an address has precedence. The address of a request is that
 * of its IP CM header; without that header, the destination GID. ENOMEM: the adapter instance has
 * no more. EIO, or the errno of the lock of the adapter instance.
 */
struct dpa_gsi_service {	   /* all numbers are in host order */
	uint64_t service_id, mask; /* mask 0: all bits */
	uint8_t addr[16];	   /* a GID; all 0: any address */
	bool v4, v6;		   /* which families an all 0 address takes */
};
int dpa_hw_gsi_listen(struct dpa_hw_gsi *gsi, const struct dpa_gsi_service *s, uint32_t *handle);
void dpa_hw_gsi_unlisten(struct dpa_hw_gsi *gsi, uint32_t handle);

/*
 * Communication ids, also used as request ids of SIDR. An id is unique in the network namespace
 * while it is held, and is not reused soon. The content that the driver sets is for the process
 * that takes the id over after this process died.
 */
struct dpa_gsi_id {
	uint32_t local_id, remote_id; /* remote_id 0: not known */
	uint64_t remote_guid;	      /* CA GUID of the peer, network order; 0: not known */
	uint64_t tid;
	uint64_t service_id; /* of a received SIDR request */
	uint32_t remote_qpn;
	uint32_t id;	   /* for tools: the program's number of the id; 0: none */
	uint8_t tell_peer; /* not 0: after a death the peer must be notified */
	uint8_t state;	   /* the driver's enum dpav_cm_state; tools show it */
	uint8_t qp_type;   /* the driver's enum dpav_cm_qp; the device does not read it */
	uint8_t rsvd;
	/* for tools: ports of the program's id, this side's first; 0: none */
	uint16_t sport, dport;
	struct dpa_gsi_addr addr;
};
/* ENOMEM: the adapter instance has no more. EIO. */
int dpa_hw_gsi_id_new(struct dpa_hw_gsi *gsi, uint32_t *local_id);
/* Replaces the whole content of id->local_id. The caller serialises the calls for one id. */
void dpa_hw_gsi_id_set(struct dpa_hw_gsi *gsi, const struct dpa_gsi_id *id);
void dpa_hw_gsi_id_free(struct dpa_hw_gsi *gsi, uint32_t local_id);
/*
 * Takes over an id of a dead process of the adapter instance. Ids without content are freed
 * instead. False: there are no more. One caller at a time.
 */
bool dpa_hw_gsi_orphan(struct dpa_hw_gsi *gsi, struct dpa_gsi_id *id);

/*
 * True once after processes of the adapter instance died that had QP1 open: what they had not
 * received is lost. The device calls `ready` then. One caller at a time.
 */
bool dpa_hw_gsi_died(struct dpa_hw_gsi *gsi);

/* Reasons of a refused connection, for tools: dpactl doctor. */
enum dpa_gsi_why {
	DPA_GSI_SENT_REJ = 1, /* this side refused it; reason: of the REJ, or the status of SIDR */
	DPA_GSI_GOT_REJ,      /* the peer refused it; reason as above */
	DPA_GSI_NO_ANSWER,
	DPA_GSI_NO_PORT, /* the peer's host refuses packets to UDP port 4791 */
	DPA_GSI_BACKLOG, /* the listener's backlog was full: the request was dropped */
};
struct dpa_gsi_refusal {
	uint64_t service_id;
	uint8_t peer[16]; /* GID */
	uint16_t reason;
	uint8_t why;  /* enum dpa_gsi_why */
	uint8_t sidr; /* 1: UD; reason is a status of SIDR_REP */
	uint8_t rsvd[4];
};
/* Record it in the state of the adapter instance. */
void dpa_hw_gsi_note(struct dpa_hw_gsi *gsi, const struct dpa_gsi_refusal *r);

/*
 * Carries out all packets that arrived for the process before the call. After it the completions of
 * messages that a peer sent before a MAD are in their CQs. Waits for threads that drain rings.
 */
void dpa_hw_gsi_take_in(struct dpa_hw_gsi *gsi);
/*
 * True: the program has not polled all completions of this connected QP of the calling process.
 * Without such a QP: of any RC QP of the process that is in RTS.
 */
bool dpa_hw_gsi_unread(struct dpa_hw_gsi *gsi, uint32_t qpn);

/* The route from an address of this namespace to another address, as the kernel has it now. */
struct dpa_hw_route {
	uint32_t sgid_index;
	uint32_t ifindex; /* the output interface; if `local`, the interface that has dgid */
	uint8_t mtu;	  /* enum ibv_mtu */
	bool local;	  /* dgid is an address of this namespace, too */
	uint8_t rsvd[2];
};
/*
 * EADDRNOTAVAIL: sgid is no address of this namespace. ENODEV: sgid is not in the GID table of this
 * function. ENETUNREACH, EHOSTUNREACH: no route. EINVAL: different families. EIO, ENOMEM.
 */
int dpa_hw_route(struct dpa_hw_ctx *ctx, const uint8_t sgid[16], const uint8_t dgid[16],
		 struct dpa_hw_route *r);
/*
 * Whether packets to another host can leave now. 0: yes. EAGAIN: the link address of the next hop is
 * not known (yet); the kernel looks for it when a packet is sent, as by dpa_hw_gsi_probe(). Others:
 * as dpa_hw_route(); EOPNOTSUPP: the kernel (before 5.0) does not say. Any thread; asks the kernel.
 */
int dpa_hw_neighbour(struct dpa_hw_ctx *ctx, const uint8_t sgid[16], const uint8_t dgid[16]);

#ifdef __cplusplus
}
#endif

#endif
