/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pci.h - memory that another process has exported for the other side of the PCI bus.
 *
 *   exporter                                        importer (a doca_dma)
 *   port: PD, regions, a TCP listener, a thread     link: an RC queue pair
 *     listener <------------- ASK: token, QP ---------- CALLING
 *     QP to RTS  ------------ ANSWER: QP -------------> ASKED --> QP to RTS: READY
 *     QP <------------------- RDMA READ, WRITE ------- READY
 *   The end of the TCP connection is the end of the link on both sides.
 *
 * An export has a port of its own, and names the addresses of the exporter's host, the port and its
 * token of 128 random bits: a process that has the export may access what it names, and no other.
 * The region and the QPs of a port have a PD of their own, so that no other export and no doca_rdma
 * reaches them. Addresses of the RDMA connection are those of the TCP connection.
 */
#ifndef DPA_PCI_H
#define DPA_PCI_H

#include <stdbool.h>
#include <stdint.h>
#include <doca_error.h>
#include <infiniband/verbs.h>

#define DPA_PCI_GIDS	8
#define DPA_PCI_TOKEN	16
#define DPA_PCI_MAGIC	0x64706370u /* "dpcp" */
#define DPA_PCI_VERSION 1
#define DPA_PCI_CALL_MS 1000 /* for TCP to come up */
#define DPA_PCI_MSG_MS	2000 /* for a message of the peer */

struct doca_dev;
struct dpa_pci_port;

/* Where a port is, as an export has it. */
struct dpa_pci_where {
	uint8_t token[DPA_PCI_TOKEN];
	uint64_t node_guid; /* of the adapter: all its functions have the same */
	uint16_t port;	    /* TCP */
	uint8_t num_gids;   /* 1 to DPA_PCI_GIDS */
	uint8_t gids[DPA_PCI_GIDS][16];
};

enum dpa_pci_type { PCI_ASK = 1, PCI_ANSWER = 2 };

/* Numbers are in network order. */
struct dpa_pci_msg {
	uint32_t magic;	  /* DPA_PCI_MAGIC */
	uint16_t version; /* DPA_PCI_VERSION */
	uint8_t type;	  /* enum dpa_pci_type */
	uint8_t mtu;	  /* largest path MTU, enum ibv_mtu */
	uint8_t token[DPA_PCI_TOKEN];
	uint32_t qpn;
	uint32_t psn;
	uint8_t gid[16];
};
_Static_assert(sizeof(struct dpa_pci_msg) == 48, "the format of messages");

/* ------------------------------------------------------------------- port.c */

/*
 * Makes a port, whose links reach the regions of a PD. Any thread. NO_MEMORY; DRIVER: no queue of the
 * adapter, no socket, or no thread.
 */
doca_error_t dpa_pci_port_open(struct doca_dev *dev, struct ibv_pd *pd, struct dpa_pci_port **port);
/* Ends the port and its links, before their PD. */
void dpa_pci_port_close(struct dpa_pci_port *port);
/* With the addresses that the host has now. False: it has none. */
bool dpa_pci_port_where(const struct dpa_pci_port *port, struct dpa_pci_where *where);

/* ------------------------------------------------------------------- link.c */

enum dpa_pci_state { PCI_CALLING, PCI_ASKED, PCI_READY, PCI_BROKEN };

/* The common part of all links of one caller. */
struct dpa_pci_caller {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	uint64_t node_guid;
	uint32_t sends; /* of each queue pair */
	int epoll;	/* gets the sockets of the links */
};

struct dpa_pci_link {
	struct dpa_pci_link *next; /* the caller's list */
	struct dpa_pci_where where;
	enum dpa_pci_state state;
	uint32_t candidate; /* of where.gids: that is tried */
	int fd;		    /* -1: none */
	uint64_t deadline;  /* CLOCK_MONOTONIC, ns, while CALLING or ASKED */
	struct ibv_qp *qp;  /* NULL while CALLING */
	struct dpa_pci_msg own, in;
	size_t got; /* of in */
};

/* Begins a link; NULL: no memory. */
struct dpa_pci_link *dpa_pci_call(const struct dpa_pci_caller *c,
				  const struct dpa_pci_where *where);
/* Goes on with one that is CALLING or ASKED, as far as that needs no waiting. */
void dpa_pci_step(const struct dpa_pci_caller *c, struct dpa_pci_link *l);
/* Whether the peer of a READY link has ended it. */
bool dpa_pci_peer_gone(const struct dpa_pci_link *l);
/* Breaks a READY link of which nothing is in flight, if its peer has ended it. */
void dpa_pci_check(struct dpa_pci_link *l);
/* Ends and frees it: nothing of its queue pair is in flight. */
void dpa_pci_hang_up(struct dpa_pci_link *l);

/* --------------------------------------------------------------------- qp.c */

/* The address of an end of a TCP connection, as a GID. False: it has none. */
bool dpa_pci_socket_gid(int fd, bool peers, uint8_t gid[16]);
/* Whether the message names the address of the TCP peer: QPs connect to no third host. */
bool dpa_pci_gid_is_peers(int fd, const struct dpa_pci_msg *m);
/*
 * A queue pair in INIT that reports to cq, and its side of the exchange but type and token. NULL and
 * errno; ENODATA: the device has no such GID.
 */
struct ibv_qp *dpa_pci_make_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t sends,
			       int remote_access, const uint8_t gid[16], struct dpa_pci_msg *own);
/* To RTS. 0 or errno. */
int dpa_pci_join_qp(struct ibv_qp *qp, const struct dpa_pci_msg *own,
		    const struct dpa_pci_msg *peer);
/* Whether it is a message of this type. */
bool dpa_pci_msg_is(const struct dpa_pci_msg *m, enum dpa_pci_type type);
/* Random bytes. False: there are none. */
bool dpa_pci_random(void *out, size_t len);
uint64_t dpa_pci_now_ns(void);

#endif
