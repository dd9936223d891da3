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
 * Each export has its own port. It contains the addresses of the exporter's host, the port and its
 * token of 128 random bits. Only a process that has the export can access its range. The region and
 * the QPs of a port have their own PD, so that no other export and no doca_rdma can access them.
 * The RDMA connection uses the addresses of the TCP connection.
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
#define DPA_PCI_CALL_MS 1000 /* ms for the TCP connection */
#define DPA_PCI_MSG_MS	2000 /* ms for a message of the peer */

struct doca_dev;
struct dpa_pci_port;

/* Address of a port, in the form of an export. */
struct dpa_pci_where {
	uint8_t token[DPA_PCI_TOKEN];
	uint64_t node_guid; /* of the adapter: equal for all its functions */
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
 * Open a port, whose links can access the regions of a PD. Any thread. NO_MEMORY; DRIVER: no queue
 * of the adapter, no socket, or no thread.
 */
doca_error_t dpa_pci_port_open(struct doca_dev *dev, struct ibv_pd *pd, struct dpa_pci_port **port);
/* Close the port and its links. Call it before their PD is freed. */
void dpa_pci_port_close(struct dpa_pci_port *port);
/* Get its address, with the addresses that the host has now. False: it has none. */
bool dpa_pci_port_where(const struct dpa_pci_port *port, struct dpa_pci_where *where);

/* ------------------------------------------------------------------- link.c */

enum dpa_pci_state { PCI_CALLING, PCI_ASKED, PCI_READY, PCI_BROKEN };

/* The common part of all links of one caller. */
struct dpa_pci_caller {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	uint64_t node_guid;
	uint32_t sends; /* of each queue pair */
	int epoll;	/* epoll of the sockets of the links */
};

struct dpa_pci_link {
	struct dpa_pci_link *next; /* next in the caller's list */
	struct dpa_pci_where where;
	enum dpa_pci_state state;
	uint32_t candidate; /* index in where.gids that is tried */
	int fd;		    /* -1: none */
	uint64_t deadline;  /* CLOCK_MONOTONIC, ns, while CALLING or ASKED */
	struct ibv_qp *qp;  /* NULL while CALLING */
	struct dpa_pci_msg own, in;
	size_t got; /* bytes received of `in` */
};

/* Start a link; NULL: no memory. */
struct dpa_pci_link *dpa_pci_call(const struct dpa_pci_caller *c,
				  const struct dpa_pci_where *where);
/* Continue a link that is CALLING or ASKED, as far as that does not block. */
void dpa_pci_step(const struct dpa_pci_caller *c, struct dpa_pci_link *l);
/* Return whether the peer of a READY link has ended it. */
bool dpa_pci_peer_gone(const struct dpa_pci_link *l);
/* Break a READY link without requests in flight, if its peer has ended it. */
void dpa_pci_check(struct dpa_pci_link *l);
/* End a link and free it: nothing of its queue pair is in flight. */
void dpa_pci_hang_up(struct dpa_pci_link *l);

/* --------------------------------------------------------------------- qp.c */

/* Get the address of one end of a TCP connection, as a GID. False: it has none. */
bool dpa_pci_socket_gid(int fd, bool peers, uint8_t gid[16]);
/* Return whether the message contains the address of the TCP peer: QPs connect to no third host. */
bool dpa_pci_gid_is_peers(int fd, const struct dpa_pci_msg *m);
/*
 * Create a queue pair in INIT that reports to cq, and fill in its side of the exchange except type
 * and token. NULL and errno; ENODATA: the device has no such GID.
 */
struct ibv_qp *dpa_pci_make_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t sends,
			       int remote_access, const uint8_t gid[16], struct dpa_pci_msg *own);
/* Move a QP to RTS. 0 or errno. */
int dpa_pci_join_qp(struct ibv_qp *qp, const struct dpa_pci_msg *own,
		    const struct dpa_pci_msg *peer);
/* Return whether it is a message of this type. */
bool dpa_pci_msg_is(const struct dpa_pci_msg *m, enum dpa_pci_type type);
/* Get random bytes. False: none are available. */
bool dpa_pci_random(void *out, size_t len);

#endif
