/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_gsi.h - QP1, the general services interface (IBA 13.5), as a service for the communication
 * manager of the driver. Part of dpa_hw.h, which is included instead.
 *
 * A process opens it once. MADs between processes of a board go by shared memory, to other hosts
 * and boards as RoCEv2 packets from QP1 to QP1. Which process of the host a MAD is for is found by
 * what it says: a request by the service that it asks for, any other message by the communication
 * id that it is sent to. A MAD that nobody here is for goes to who sent it if that is a process of
 * this host, else to any process that has QP1 open: it is the driver that refuses it.
 *
 * A MAD can be lost, doubled and overtaken, as on a wire.
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

/* Both ends of a MAD: sgid is this side's, dgid the other's, whichever of them sent it. */
struct dpa_gsi_addr {
	uint8_t sgid[16], dgid[16];
	uint32_t flow_label;
	uint8_t hop_limit, traffic_class;
	uint8_t rsvd[2];
};

/* Called by any device thread; must not block nor call back into the device. */
typedef void dpa_gsi_fn(void *arg);

/*
 * Opens QP1 for this process. `ready` is called after a MAD came and after an id of a process that
 * died can be taken over: then recv and orphan are called until they have no more. EBUSY: it is
 * open. ENOMEM, EMFILE.
 */
int dpa_hw_gsi_open(struct dpa_hw_ctx *ctx, dpa_gsi_fn *ready, void *arg, struct dpa_hw_gsi **gsi);
/* Services and ids of it end. `ready` is not called any more when it returns. */
void dpa_hw_gsi_close(struct dpa_hw_gsi *gsi);
/*
 * In a process that has the device open, but not QP1: `need` is called by a device thread when a
 * MAD came or a process died, and this one could see to it. For the whole process; NULL: nobody.
 */
void dpa_hw_gsi_on_need(dpa_gsi_fn *need, void *arg);

/*
 * Sends 256 bytes. EINVAL: sgid is none of this namespace's, or they are no MAD of the CM. ENOBUFS:
 * the send queue is full (it is as good as lost on the wire). ENETUNREACH, EHOSTUNREACH: no route.
 */
int dpa_hw_gsi_send(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *to,
		    const uint8_t mad[DPA_MAD_BYTES]);
/* The next one that came. False: there is none. Never blocks. One caller at a time. */
bool dpa_hw_gsi_recv(struct dpa_hw_gsi *gsi, struct dpa_gsi_addr *from, uint8_t mad[DPA_MAD_BYTES]);
/*
 * A MAD that came here because it was nobody's: looks again. True: it is another process's by now
 * and was passed on. A process of another board counts if it listens: dpa_cm_port_listen() comes
 * before dpa_hw_gsi_listen().
 */
bool dpa_hw_gsi_pass_on(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *from,
			const uint8_t mad[DPA_MAD_BYTES]);

/*
 * Services: requests for (service_id & mask) that came to `addr` (all 0: to any address) are this
 * process's. Of several that match the one with an address goes first. Of a MAD without an IP CM
 * header the address is the GID that it came to. ENOMEM.
 */
struct dpa_gsi_service {	   /* all numbers in host order */
	uint64_t service_id, mask; /* mask 0: all bits */
	uint8_t addr[16];	   /* a GID; or all 0 */
	bool v4, v6;		   /* which families an all 0 address takes */
};
int dpa_hw_gsi_listen(struct dpa_hw_gsi *gsi, const struct dpa_gsi_service *s, uint32_t *handle);
void dpa_hw_gsi_unlisten(struct dpa_hw_gsi *gsi, uint32_t handle);

/*
 * Communication ids (request ids of SIDR, too): unique in the network namespace for as long as they
 * are held, and not given out again soon. What is set with one is for who finds it when this
 * process has died.
 */
struct dpa_gsi_id {
	uint32_t local_id, remote_id; /* remote_id 0: not known */
	uint64_t remote_guid;	      /* CA GUID of the peer, network order; 0: not known */
	uint64_t tid;
	uint64_t service_id; /* of a SIDR request that came */
	uint32_t remote_qpn;
	uint16_t attr;	  /* enum dpa_cm_attr: what the peer is to be told: DREQ, REJ, SIDR_REP; 0:
			     nothing */
	uint16_t reason;  /* of a REJ */
	uint8_t message;  /* of a REJ: which message is rejected */
	uint8_t state;	  /* for tools: enum dpa_cm_state */
	uint8_t local_ps; /* for tools: port spaces, and what id of the program it is */
	uint8_t rsvd;
	uint32_t id;
	struct dpa_gsi_addr addr;
};
/* ENOMEM: the board has no more. */
int dpa_hw_gsi_id_new(struct dpa_hw_gsi *gsi, uint32_t *local_id);
/* All of *id, named by id->local_id. Calls for one id come one at a time. */
void dpa_hw_gsi_id_set(struct dpa_hw_gsi *gsi, const struct dpa_gsi_id *id);
void dpa_hw_gsi_id_free(struct dpa_hw_gsi *gsi, uint32_t local_id);
/*
 * Takes one over from a process of the board that died: it is this one's now. Only those with which
 * something was set. False: no more. One caller at a time.
 */
bool dpa_hw_gsi_orphan(struct dpa_hw_gsi *gsi, struct dpa_gsi_id *id);

/* The way from one of our addresses to another, as the kernel would send it now. */
struct dpa_hw_route {
	uint32_t sgid_index;
	uint32_t ifindex; /* the way out; of a local one the interface that has the address */
	uint8_t mtu;	  /* enum ibv_mtu */
	bool local;	  /* dgid is this namespace's, too */
	uint8_t rsvd[2];
};
/* EADDRNOTAVAIL: sgid is none of this namespace's; ENODEV: it has no index. Else as above. */
int dpa_hw_route(struct dpa_hw_ctx *ctx, const uint8_t sgid[16], const uint8_t dgid[16],
		 struct dpa_hw_route *r);

#ifdef __cplusplus
}
#endif

#endif
