/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port.h - dpa0's port. Its GID table has the current addresses of the network namespace.
 *
 * Order of a new table, best address first: IPv4, global IPv6, link-local IPv6, then the loopback
 * addresses; interfaces with a carrier before those without. An address keeps its index while it
 * exists; a new address takes the first free index. A namespace without any address has one GID,
 * fe80:: with the EUI-64 of the node GUID, for loopback and shared memory; once shown it stays.
 *
 * An SF has a table of its own: the addresses of the interface that it was given, or all addresses,
 * in the same order, and its derived GID. The same holds for dpa0 if it was given an interface; its
 * derived GID is in the table if there is no address. The port of the namespace (one for each
 * process) supplies them. The port of a function with an interface follows that interface: active
 * while the interface runs (IFF_RUNNING). Without one it is active, because the loopback and
 * shared-memory links cannot go down. Each of them is down while it was taken down on purpose
 * (dpa_port_set_down()).
 *
 * The setting gid_order (enum dpa_cfg_gid_order) leaves addresses out or gives them other indices.
 * The RoCEv2 entries of an adapter's table have the odd indices; the even ones, RoCEv1 there, are
 * empty. Index 1: link-local IPv6, or the derived GID if there is none. Index 3: IPv4, loopback
 * only if there is no other IPv4 address.
 *
 * Threads: any thread may call dpa_port_poll(), one at a time gets through. Readers take no lock
 * (sequence count) and may run in any context.
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

/* Kinds of changes. The function is called once for each kind and poll. */
enum dpa_port_change {
	DPA_PORT_CHANGE_GID = 1 << 0,
	DPA_PORT_CHANGE_MTU = 1 << 1,
	DPA_PORT_CHANGE_STATE = 1 << 2,
};
typedef void dpa_port_change_fn(void *arg, enum dpa_port_change what);

/* An address of the namespace. */
struct dpa_port_addr {
	uint8_t gid[16];
	uint32_t ifindex; /* 0: the derived GID */
	uint32_t mtu;	  /* enum ibv_mtu */
	uint32_t rank;	  /* rank in a new table: lower comes first */
	uint32_t hidden;  /* 1: it has no index, see struct dpa_port_slot */
};

/* 16 + 4 + 4 + 8 = 32 bytes; written under `seq` */
struct dpa_port_slot {
	_Atomic uint64_t gid[2]; /* bytes in memory order: network order */
	_Atomic uint32_t ifindex;
	_Atomic uint32_t mtu; /* 0: the slot is empty */
	/*
	 * 1: an address of the namespace without an index: dpa_port_find() finds it, dpa_port_gid()
	 * does not show it. Such addresses take slots from the end of the table.
	 */
	_Atomic uint32_t hidden;
	uint32_t rsvd;
};
_Static_assert(sizeof(struct dpa_port_slot) == 32, "two slots a cache line");

struct dpa_port {
	pthread_mutex_t lock;	/* taken by writers */
	struct nl_sock *events; /* NULL: the kernel has no netlink; the table does not change */
	struct nl_sock *query;	/* NULL: the same, or no descriptor was left; opened when needed */
	uint64_t node_guid;	/* network order */
	uint32_t function;
	enum dpa_cfg_gid_order order;
	char ifname[16]; /* function: use this interface's addresses only; "": all */
	/*
	 * Port of the namespace: the SFs that were opened, and dpa0 if it was given an interface.
	 * Set under lock; they stay until dpa_port_fini().
	 */
	_Atomic(struct dpa_port *) sf[DPA_MAX_FUNCTIONS];
	bool derived;	      /* the derived GID was shown */
	_Atomic uint32_t seq; /* odd while a writer changes the table */
	_Atomic uint32_t num; /* number of slots ever used */
	_Atomic uint32_t active_mtu;
	_Atomic uint32_t state; /* enum dpa_port_state, of the interface */
	/* it was taken down on purpose; of a function's port, too (relaxed) */
	_Atomic bool down;
	struct dpa_port_slot slots[DPA_MAX_GIDS];
};

/* Read the addresses. Without netlink the port has the derived GID only. 0 or ENOMEM. */
int dpa_port_init(struct dpa_port *port, enum dpa_cfg_gid_order order);
/*
 * From publish until withdraw (before fini) dpa_hw_port_file() shows this port's table; the first
 * published port counts.
 */
void dpa_port_publish(struct dpa_port *port);
void dpa_port_withdraw(struct dpa_port *port);
/*
 * Return the port of a function; `port` is the namespace's. This is `port` for dpa0 without an
 * interface, else a port with its own table and no sockets. NULL: no memory.
 */
struct dpa_port *dpa_port_function(struct dpa_port *port, uint32_t function, const char *ifname);
void dpa_port_fini(struct dpa_port *port);
/*
 * In a forked child: close the descriptors without sending anything. The table is not used any
 * more: dpa_hw_port_file() makes one of its own.
 */
void dpa_port_abandon(struct dpa_port *port);

/*
 * The ports of all functions are down from now on, whatever their interfaces do, or no longer. `port`
 * is the namespace's. Packets are lost elsewhere (link/inspect_ask.c).
 */
void dpa_port_set_down(struct dpa_port *port, bool down);
/* Return the state of the port. Any thread. */
static inline enum dpa_port_state dpa_port_state(const struct dpa_port *port)
{
	if (atomic_load_explicit(&port->down, memory_order_relaxed))
		return DPA_PORT_DOWN;
	return (enum dpa_port_state)atomic_load_explicit(&port->state, memory_order_relaxed);
}

/* For epoll: readable when dpa_port_poll() has work; -1: never. */
int dpa_port_fd(struct dpa_port *port);
/* Handle pending events; never blocks for more. fn runs without a lock held. */
int dpa_port_poll(struct dpa_port *port, dpa_port_change_fn *fn, void *arg);

/* True for an IPv4 address in its mapped form. */
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

/* 0; ENODATA: the index is empty; EINVAL: beyond the table. */
int dpa_port_gid(struct dpa_port *port, uint32_t index, struct dpa_hw_gid *gid);
/* Return the path MTU (enum ibv_mtu) of the GID's interface: 4096 on loopback; 0: empty. */
uint32_t dpa_port_gid_mtu(struct dpa_port *port, uint32_t index);
/* Return the port's active MTU (enum ibv_mtu), as in dpa_port_attr(). */
uint32_t dpa_port_mtu(const struct dpa_port *port);
/* Return the index of this address; -1: it is not one of this namespace. */
int dpa_port_find(struct dpa_port *port, const uint8_t gid[16]);
/*
 * True for an address of this namespace or the derived GID of one of its functions. port: the
 * namespace's.
 */
bool dpa_port_is_own(struct dpa_port *port, const uint8_t gid[16]);
/*
 * Set state, MTU (the smallest of the interfaces that lead out and have a carrier; 4096 with
 * loopback alone) and table length; the rest is 0.
 */
void dpa_port_attr(struct dpa_port *port, struct dpa_hw_port_attr *attr);

/*
 * Return the kernel's current route from a local address to another host: interface and path MTU
 * (enum ibv_mtu). port: the PF's. ENETUNREACH (also for an SF's derived GID), EHOSTUNREACH, EACCES
 * from the routing table; EINVAL: src is not a local address, or of another family than dst;
 * ETIMEDOUT: the kernel did not answer within a second. Any thread; asks the kernel.
 */
int dpa_route_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		     uint32_t *oif, uint32_t *mtu);

/*
 * Return whether the kernel can send to that host now. 0: it has the link address of the next hop,
 * or needs none. EAGAIN: it has none (yet), and looks for it when a packet is sent. Others: as
 * dpa_route_lookup(); EOPNOTSUPP: the kernel (before 5.0) does not answer. Any thread.
 */
int dpa_neighbour_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16]);

/*
 * Return the node GUID of a function in this network namespace, in network order: vendor id, 37
 * bits that distinguish boots of hosts and namespaces, the function. Equal in all processes of the
 * namespace.
 */
uint64_t dpa_port_node_guid(uint32_t function);

/* ---- between the files of this folder */

/* A route as returned by the kernel. mtu: of the route, bytes; 0: that of the interface. */
struct dpa_route {
	uint32_t oif, mtu;
	uint8_t type; /* RTN_* */
	/* of the next hop; hop_len 0: the next hop is the destination */
	uint8_t hop_family, hop_len;
	uint8_t hop[16];
};
/* Errors as dpa_route_lookup(). Context: port->lock. */
int dpa_route_ask(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		  struct dpa_route *r);
struct nl_msg;
struct nlmsghdr;
/* Return a connected rtnetlink socket with a receive timeout of one second. NULL: failed. */
struct nl_sock *dpa_netlink_open(void);
/*
 * Send a request to the kernel; `take` gets each message of the answer. 0 or an errno. ETIMEDOUT:
 * no answer within a second; *s is then another socket, or NULL. One request at a time.
 */
int dpa_netlink_ask(struct nl_sock **s, struct nl_msg *msg,
		    void (*take)(struct nlmsghdr *h, void *arg), void *arg);

/*
 * In a forked child: dpa_hw_port_file() shows no port any more. The parent's table may have been
 * copied in the middle of a change, which no thread completes here; the lock may be held by a
 * thread that does not exist here.
 */
void dpa_port_withdraw_in_child(void);
/* Return the namespace's addresses, best first; the caller frees the array. -1: failed. */
int dpa_port_scan(struct nl_sock *query, struct dpa_port_addr **addrs);
/* Ranks: kind of address times 8, plus 1 without a carrier. */
#define DPA_PORT_RANK_LO 3
static inline bool dpa_port_leads_out(uint32_t rank)
{
	return rank / 8 < DPA_PORT_RANK_LO;
}
static inline bool dpa_port_has_carrier(uint32_t rank)
{
	return rank % 8 == 0;
}
/* Convert an interface MTU in bytes to the enum ibv_mtu that fits with the largest headers. */
uint32_t dpa_port_ib_mtu(uint32_t if_mtu);
void dpa_port_derive_gid(uint64_t node_guid, uint8_t gid[16]);
/* Hide the addresses that the order leaves out. Returns the number of shown addresses. */
int dpa_port_hide(enum dpa_cfg_gid_order order, struct dpa_port_addr *addrs, int n);
/* Make the table hold exactly these addresses. True if anything changed. Context: port->lock. */
bool dpa_port_table_update(struct dpa_port *port, const struct dpa_port_addr *addrs, int n);

/* ff00::/8, or 224.0.0.0/4 as an IPv6 address */
static inline bool dpa_gid_is_mcast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (dpa_gid_is_v4(gid) && gid[12] >> 4 == 0xe);
}

#endif
