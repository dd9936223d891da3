/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port.h - dpa0's port: its GID table is the addresses of the network namespace, live.
 *
 * Order of a new table, best address first: IPv4, global IPv6, link-local IPv6, then the loopback
 * addresses; interfaces with a carrier before those without. An address keeps its index while it
 * exists; a new one takes the first free index. A namespace without any address has one GID,
 * fe80:: with the EUI-64 of the node GUID, which serves loopback and shared memory; once given out
 * it stays.
 *
 * An SF has a table of its own: the addresses of the one interface that it was given, or all, in
 * the same order, and its derived GID. So has dpa0 if it was given an interface; its derived GID is
 * in it where there is no address. The port of the namespace (the process has one) feeds them.
 *
 * The port of a function with an interface follows it: active while the interface runs
 * (IFF_RUNNING). Without one it is always active: the loopback and shared-memory links cannot go
 * down.
 *
 * The setting gid_order (enum dpa_cfg_gid_order) leaves addresses out or gives them other indices:
 * the RoCEv2 entries of an adapter's table are the odd indices, and the even ones, RoCEv1 there,
 * are empty. Index 1: link-local IPv6, the derived GID if there is none; 3: IPv4, loopback only if
 * there is no other IPv4 address.
 *
 * Threads: dpa_port_poll() may be called by any thread, one at a time gets through; the readers
 * take no lock (sequence count) and may be called from anywhere.
 */
#ifndef DPA_PORT_H
#define DPA_PORT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <dpa_hw.h>
#include <knobs.h>

struct nl_sock;

enum { DPA_PORT_MTU_256 = 1, DPA_PORT_MTU_1024 = 3, DPA_PORT_MTU_4096 = 5 }; /* enum ibv_mtu */

/* The changes; one call of the function a kind and poll. */
enum dpa_port_change {
	DPA_PORT_CHANGE_GID = 1 << 0,
	DPA_PORT_CHANGE_MTU = 1 << 1,
	DPA_PORT_CHANGE_STATE = 1 << 2,
};
typedef void dpa_port_change_fn(void *arg, enum dpa_port_change what);

/* An address as found in the namespace. */
struct dpa_port_addr {
	uint8_t gid[16];
	uint32_t ifindex; /* 0: the derived GID */
	uint32_t mtu;	  /* enum ibv_mtu */
	uint32_t rank;	  /* place in a new table: lower is first */
	uint32_t hidden;  /* 1: no index, see struct dpa_port_slot */
};

/* 16 + 4 + 4 + 8 = 32 bytes; written under `seq` */
struct dpa_port_slot {
	_Atomic uint64_t gid[2]; /* bytes as they are in memory: network order */
	_Atomic uint32_t ifindex;
	_Atomic uint32_t mtu; /* 0: the slot is empty */
	/*
	 * 1: an address of the namespace that has no index: dpa_port_find() finds it,
	 * dpa_port_gid() does not show it. Such addresses take slots from the end of the table.
	 */
	_Atomic uint32_t hidden;
	uint32_t rsvd;
};
_Static_assert(sizeof(struct dpa_port_slot) == 32, "two slots a cache line");

struct dpa_port {
	pthread_mutex_t lock;	/* writers */
	struct nl_sock *events; /* NULL: the kernel gives no netlink; the table does not change */
	struct nl_sock *query;	/* NULL: the same, or no descriptor was left; opened when needed */
	uint64_t node_guid;	/* network order */
	uint32_t function;
	enum dpa_cfg_gid_order order;
	char ifname[16]; /* of a function: only this interface's addresses; "": all */
	/* of the namespace's: the SFs that were opened, and dpa0 if it was given an interface; set
	 * under lock, they stay until dpa_port_fini() */
	_Atomic(struct dpa_port *) sf[DPA_MAX_FUNCTIONS];
	bool derived;	      /* the derived GID was given out */
	_Atomic uint32_t seq; /* odd while a writer is at work */
	_Atomic uint32_t num; /* slots ever used */
	_Atomic uint32_t active_mtu;
	_Atomic uint32_t state; /* enum dpa_port_state */
	struct dpa_port_slot slots[DPA_MAX_GIDS];
};

/* Reads the addresses; without netlink the port has the derived GID only. 0 or ENOMEM. */
int dpa_port_init(struct dpa_port *port, enum dpa_cfg_gid_order order);
/*
 * From publish to withdraw (before fini) dpa_hw_port_file() shows this port's table; the first one
 * wins.
 */
void dpa_port_publish(struct dpa_port *port);
void dpa_port_withdraw(struct dpa_port *port);
/*
 * The port of a function of this one, which is the namespace's: itself for dpa0 without an
 * interface, else one with its own table and no sockets. NULL: no memory.
 */
struct dpa_port *dpa_port_function(struct dpa_port *port, uint32_t function, const char *ifname);
void dpa_port_fini(struct dpa_port *port);
/*
 * In a forked child: closes the descriptors, sends nothing. The table is not looked at any more:
 * dpa_hw_port_file() makes one of its own.
 */
void dpa_port_abandon(struct dpa_port *port);

/* For epoll: readable when dpa_port_poll() has something to do; -1 if that can never be. */
int dpa_port_fd(struct dpa_port *port);
/* Takes what is pending, never blocks for more of it. fn runs without a lock held. */
int dpa_port_poll(struct dpa_port *port, dpa_port_change_fn *fn, void *arg);

/* An IPv4 address in its mapped form. */
static inline bool dpa_gid_is_v4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

/* fe80::/10 */
static inline bool dpa_gid_is_link_local(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* 0; ENODATA: the index is empty; EINVAL: past the table. */
int dpa_port_gid(struct dpa_port *port, uint32_t index, struct dpa_hw_gid *gid);
/* Path MTU (enum ibv_mtu) that the interface of a GID carries: 4096 on loopback; 0 if empty. */
uint32_t dpa_port_gid_mtu(struct dpa_port *port, uint32_t index);
/* The port's active MTU (enum ibv_mtu), as dpa_port_attr() reports it. */
uint32_t dpa_port_mtu(const struct dpa_port *port);
/* Index of this address, -1 if it is not one of this namespace. */
int dpa_port_find(struct dpa_port *port, const uint8_t gid[16]);
/* An address of this namespace, or the derived GID of a function of it? port: the namespace's. */
bool dpa_port_is_own(struct dpa_port *port, const uint8_t gid[16]);
/*
 * State, MTU (the smallest of the interfaces that lead out and have a carrier; 4096 on loopback
 * alone) and table length; the rest is 0.
 */
void dpa_port_attr(struct dpa_port *port, struct dpa_hw_port_attr *attr);

/*
 * The way from one of our addresses to another host, as the kernel would send it now: interface and
 * path MTU (enum ibv_mtu). port: the PF's. ENETUNREACH (also from an SF's derived GID),
 * EHOSTUNREACH, EACCES as the routing table says; EINVAL: src is none of ours, or of another family
 * than dst; ETIMEDOUT: the kernel did not answer within a second. Any thread; asks the kernel.
 */
int dpa_route_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		     uint32_t *oif, uint32_t *mtu);

/*
 * Whether the kernel can send to that host now. 0: it has the link address of the next hop, or needs
 * none; EAGAIN: it has none (yet), and looks for it when a packet is sent. Others: as
 * dpa_route_lookup(); EOPNOTSUPP: the kernel (before 5.0) does not answer. Any thread.
 */
int dpa_neighbour_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16]);

/*
 * Node GUID of a function in this network namespace, network order: vendor id, 37 bits that tell
 * boots of hosts and namespaces apart, the function. The same for all processes of the namespace.
 */
uint64_t dpa_port_node_guid(uint32_t function);

/* ---- between the files of this folder */

/* A route as the kernel has it. mtu: of the route, bytes; 0: that of the interface. */
struct dpa_route {
	uint32_t oif, mtu;
	uint8_t type;		     /* RTN_* */
	uint8_t hop_family, hop_len; /* of the next hop; hop_len 0: the destination itself */
	uint8_t hop[16];
};
/* Errors as dpa_route_lookup(). Under port->lock. */
int dpa_route_ask(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		  struct dpa_route *r);
struct nl_msg;
struct nlmsghdr;
/* A connected rtnetlink socket; to receive takes a second at most. NULL: there is none. */
struct nl_sock *dpa_netlink_open(void);
/*
 * Asks the kernel; `take` gets each message of the answer. 0 or an errno. ETIMEDOUT: no answer within
 * a second; *s is another socket then, or NULL. One question at a time.
 */
int dpa_netlink_ask(struct nl_sock **s, struct nl_msg *msg,
		    void (*take)(struct nlmsghdr *h, void *arg), void *arg);

/*
 * In a forked child: dpa_hw_port_file() shows no port any more. The parent's table may have been
 * copied in the middle of a change, which nobody ends here, and the lock while a thread had it that
 * is not here.
 */
void dpa_port_withdraw_in_child(void);
/* The namespace's addresses, best first; the array is the caller's to free. -1: none to be had. */
int dpa_port_scan(struct nl_sock *query, struct dpa_port_addr **addrs);
/* Of a rank: kind of address times 8, plus 1 without a carrier. */
#define DPA_PORT_RANK_LO 3
static inline bool dpa_port_leads_out(uint32_t rank)
{
	return rank / 8 < DPA_PORT_RANK_LO;
}
static inline bool dpa_port_has_carrier(uint32_t rank)
{
	return rank % 8 == 0;
}
/* Bytes on the wire of an interface to enum ibv_mtu of what fits beside the largest headers. */
uint32_t dpa_port_ib_mtu(uint32_t if_mtu);
void dpa_port_derive_gid(uint64_t node_guid, uint8_t gid[16]);
/* Hides the addresses that the order leaves out. Returns how many are shown. */
int dpa_port_hide(enum dpa_cfg_gid_order order, struct dpa_port_addr *addrs, int n);
/* Makes the table hold exactly these; true if that changed anything. Under port->lock. */
bool dpa_port_table_update(struct dpa_port *port, const struct dpa_port_addr *addrs, int n);

/* ff00::/8, or 224.0.0.0/4 as an IPv6 address */
static inline bool dpa_gid_is_mcast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (dpa_gid_is_v4(gid) && gid[12] >> 4 == 0xe);
}

#endif
