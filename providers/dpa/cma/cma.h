/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cma.h - the functions of the kernel's ucma.c and cma.c for librdmacm, in the process: event
 * channels, ids, their states and events. redirect/ucma.c turns librdmacm's commands into the calls
 * of this file; cm/ has the protocol; the device's QP1 service carries its messages.
 *
 * Every call takes cma.lock itself unless its comment has "locked". Every int call returns 0 or a
 * positive errno, which librdmacm passes on unchanged; for a wrong state this is EINVAL, as in the
 * kernel.
 *
 * Threads: all state is under cma.lock. One thread at a time takes messages from QP1 and runs the
 * timers: a thread of the program in cma_get_event() (the leader), or else the engine's (engine.c).
 *
 * Lock order: cma.lock, then the device's locks; the device's callback takes none.
 */
#ifndef DPA_CMA_H
#define DPA_CMA_H

#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <dpa_cm_port.h>
#include <dpa_hw.h>
#include <dpa_hw_trace.h>
#include <knobs.h>
#include "cm/cm.h"

/* Values of enum rdma_cm_event_type (rdma_cma.h of librdmacm, which may not be installed). */
enum cma_event_type {
	CMA_ADDR_RESOLVED,
	CMA_ADDR_ERROR,
	CMA_ROUTE_RESOLVED,
	CMA_ROUTE_ERROR,
	CMA_CONNECT_REQUEST,
	CMA_CONNECT_RESPONSE,
	CMA_CONNECT_ERROR,
	CMA_UNREACHABLE,
	CMA_REJECTED,
	CMA_ESTABLISHED,
	CMA_DISCONNECTED,
	CMA_DEVICE_REMOVAL,
	CMA_MULTICAST_JOIN,
	CMA_MULTICAST_ERROR,
	CMA_ADDR_CHANGE,
	CMA_TIMEWAIT_EXIT,
	CMA_ADDRINFO_RESOLVED,
	CMA_ADDRINFO_ERROR,
	CMA_USER,
	CMA_INTERNAL,
};

/* As in the kernel's cma.c; its QUERY states are not lasting states here. */
enum cma_state {
	CMA_IDLE,
	CMA_BOUND,
	CMA_ADDR_QUERY, /* handled by neighbour.c */
	CMA_ADDR_DONE,
	CMA_ROUTE_DONE,
	CMA_CONNECT,
	CMA_DISCONNECT,
	CMA_LISTEN,
};

#define CMA_UD_QKEY 0x01234567u /* RDMA_UDP_QKEY */
#define CMA_BACKLOG 1024u

struct sockaddr_cma_ib { /* struct sockaddr_ib of librdmacm */
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t addr[16];
	uint64_t sid, sid_mask; /* network order */
	uint64_t scope_id;
};
_Static_assert(sizeof(struct sockaddr_cma_ib) == 48, "sockaddr_ib");
#define CMA_AF_IB 27

union cma_addr {
	sa_family_t family; /* 0: not set */
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_cma_ib ib;
	struct sockaddr_storage ss;
};

/* The sides on which an id exists: see kernel.h. */
enum cma_side { CMA_SIDE_DPA, CMA_SIDE_BOTH, CMA_SIDE_KERNEL };

struct cma_kernel;
struct cma_shown;

struct cma_channel {
	struct cma_channel *next;
	int fd;			 /* readable while an event is queued: descriptor.c */
	struct cma_shown *shown; /* descriptors that it shares with other channels */
	bool with_kernel;	 /* fd shows the kernel's events, too: see kernel.h */
	/*
	 * NULL: no kernel rdma_cm beside ours. Written before other threads see the channel, and
	 * NULL in a forked child (locked). A waiter compares it without the lock (kernel.c). It
	 * dangles when the channel is closed: `closed` is read first, locked.
	 */
	struct cma_kernel *kernel;
	struct cma_event *head, **tail; /* events queued and not delivered */
	struct cma_ports *ports;	/* NULL: no id of it ever had a port */
	/*
	 * References: the table of descriptors, and calls that found it there. The last one frees
	 * it.
	 */
	_Atomic uint32_t refs;
	uint32_t users; /* threads in cma_get_event() */
	/* number of them that sleep at `wake`, or are about to, or have just woken */
	uint32_t sleepers;
	sem_t wake; /* posted for each event that is queued while there are sleepers */
	bool closed;
	/* In a forked child whose parent lives: fd shows the parent's events, too. */
	bool shared;
	pid_t waiter; /* last thread that waited for an event */
};

/* Ports of the ids of a channel. An id that migrates keeps its port's file. */
struct cma_ports {
	uint32_t refs;
	struct dpa_cm_ports *ports;
};

struct cma_conn;
struct cma_query;

struct cma_id {
	uint32_t id;
	enum cma_state state;
	struct cma_channel *channel;
	uint64_t uid; /* user id of librdmacm; 0: not accepted yet */
	uint32_t ps;
	uint8_t qp_type; /* enum ibv_qp_type */
	enum cma_side side;
	uint32_t kernel_num;
	uint64_t kernel_uid; /* uid of the id in the kernel's events */
	bool kernel_bound;   /* side BOTH: bound to a wildcard, with the port of src */
	bool removed;	     /* its device has failed, and it has the event */
	bool has_device, reuse, afonly, afonly_set, tos_set, timeout_set;
	uint8_t tos, ack_timeout;
	union cma_addr src, dst;
	struct cma_ports *ports; /* file of `claim`; NULL: no port of its own */
	struct dpa_cm_claim claim;
	uint64_t service_id;
	uint32_t sgid_index;
	struct dpav_cm_path path; /* from ROUTE_DONE on, or from the request */
	struct cma_conn *conn;	  /* NULL: none yet */
	uint32_t events_reported;
	/* For a listener. */
	bool served; /* `service` is registered */
	uint32_t service;
	uint32_t backlog; /* number of requests that may still be queued */
	struct cma_id *next_listener;
	/* A request, while it is being accepted. */
	struct cma_id *listener;
	bool told; /* the event of the request is queued */
	struct cma_mc *mcs;
	struct cma_query *query; /* state CMA_ADDR_QUERY */
};

struct cma_mc {
	struct cma_mc *next;
	struct cma_id *id;
	uint32_t num;
	uint64_t uid;
	uint32_t events_reported;
	bool kernel; /* the kernel has the group, as kernel_num */
	uint32_t kernel_num;
	uint64_t kernel_uid;
};

struct cma_event {
	struct cma_event *next;
	struct cma_id *id;	/* the id that it counts for; for a request the listener */
	struct cma_id *request; /* the new id, else NULL */
	struct cma_mc *mc;
	uint64_t queued; /* ms: when */
	struct rdma_ucm_event_resp resp;
};

/* One communication id of the protocol. It outlives its id: timewait, a DREQ that is repeated. */
struct cma_conn {
	struct dpav_cm_entry entry;
	struct dpav_cm cm;
	struct dpa_gsi_addr addr;
	struct cma_id *id; /* NULL: the id was destroyed */
	size_t timer;	   /* index in the heap; SIZE_MAX: not in it */
	uint64_t deadline;
	uint64_t asked; /* ms: when its request was first sent; 0: it has none */
	/* the peer's host has no RoCEv2 any more, which is more than a missing answer */
	bool gone;
	struct cma_peer *peer; /* reach.c; NULL: it does not wait for another host */
	struct cma_conn *reach_next, **reach_prev;
};

/*
 * Another host, or another adapter instance of this host, and the connections that wait for it
 * (reach.c). Times in ms.
 */
#define CMA_PEER_BUCKETS 64u
struct cma_peer {
	struct cma_peer *next;
	struct dpa_gsi_addr addr;
	uint32_t board_id; /* adapter instance: its part of the ids; 0: another host */
	struct cma_conn *conns;
	uint64_t nonce, sent; /* of the last probe; nonce 0: answered */
	uint64_t due;	      /* next probe */
	/* ms times of the refused probes: first and last; 0: none refused */
	uint64_t refused_first, refused_last;
	uint32_t probes;
};

#define CMA_EARLY_MS 250 /* a request waits for a listener, or for room in its backlog */

/*
 * A request that no listener accepts yet, or has room for; or a DREQ that waits for the program:
 * see early.c.
 */
struct cma_early {
	struct cma_early *next;
	uint64_t until, look;
	bool dreq;
	uint32_t full; /* the listener without room; 0: another reason */
	struct dpa_gsi_addr from;
	uint8_t mad[DPA_MAD_BYTES];
};

enum cma_engine_state { CMA_ENGINE_OFF, CMA_ENGINE_ON };

struct cma {
	pthread_mutex_t lock;
	int cancel; /* cancellation state, before the lock, of the thread that holds it */
	struct cma_channel *channels;
	struct cma_id *listeners;
	struct cma_id **ids; /* by number - 1 */
	struct cma_mc **mcs;
	uint32_t num_ids, num_mcs; /* sizes of the arrays */
	uint32_t first_free;	   /* no index below it is free in ids */
	/* engine.c */
	enum cma_engine_state engine;
	bool forked;	   /* an event channel's descriptor is open in another process, too */
	bool may_expire;   /* this process or its parent forked: timers of idle channels run */
	uint64_t hold_due; /* then: time when the timers of idle channels are extended */
	/* In a forked child: the process with the listeners and ports until it ends; else 0. */
	pid_t owner;
	struct dpa_hw_ctx *ctx;
	struct dpa_hw_gsi *gsi;
	uint64_t node_guid; /* network order */
	/* the device has failed: set by a device thread before it wakes the engine, which clears it */
	_Atomic bool removed;
	uint32_t tid_high;
	int wake;		    /* eventfd: wakes the thread that runs the rounds */
	int stand;		    /* timerfd of the engine's thread while another leads */
	bool stand_set;		    /* its expiration was not consumed yet */
	struct cma_channel *leader; /* channel of the thread that runs the rounds */
	uint64_t led_until;	    /* time until which it may come back */
	uint64_t asked;		    /* ms: a request was just sent; 0: the leader has seen it */
	/* channel whose first event is delivered before the lock is released */
	struct cma_channel *taker;
	struct dpav_cm_index index;
	struct cma_early *early, **early_tail;
	uint32_t num_early;
	struct cma_unsent *unsent, **unsent_tail; /* unsent.c: the first is the oldest */
	uint32_t full;	   /* the last listener without room in its backlog */
	uint32_t take_ins; /* further DREQs of this round for which data may be taken in */
	bool taken_in;	   /* done for all DREQs of this check */
	/* timer.c: a heap sorted by deadline. */
	struct cma_conn **heap;
	size_t heap_len, heap_room, num_conns;
	struct cma_query *queries; /* neighbour.c */
	/* reach.c */
	struct cma_peer *peers[CMA_PEER_BUCKETS];
	uint32_t num_peers;
};
extern struct cma cma;

/* True if the operation shall end in this event: an injected failure. */
static inline bool cma_asked(enum cma_event_type type)
{
	return dpa_hw_injecting(DPA_INJECT_CM) && dpa_hw_inject_cm(type);
}

/* ---- trace.c: points of the timeline; only while it is recorded. Locked. */
void cma_trace_id(const struct cma_id *id, uint8_t state);
void cma_trace_conn(const struct cma_conn *c, uint8_t state);
void cma_trace_event(const struct cma_event *ev);
void cma_trace_sent(const struct dpa_mad *m);
void cma_trace_received(const uint8_t mad[DPA_MAD_BYTES]); /* nothing if it is malformed */

/* Set the state of an id. Locked. */
static inline void cma_id_enter(struct cma_id *id, enum cma_state state)
{
	id->state = state;
	if (dpa_trace_is_on())
		cma_trace_id(id, (uint8_t)state);
}

void cma_lock(void);
void cma_unlock(void);

/* ---- descriptor.c */
/*
 * Create the descriptor of a channel: set ch->fd and ch->shown. kernel: the kernel's descriptor, or
 * -1. 0 or an errno. Not locked.
 */
int cma_fd_open(int flags, int kernel, struct cma_channel *ch);
/* Give up ch->shown; NULL is allowed. Call it before ch is freed. Not locked. */
void cma_fd_leave(struct cma_channel *ch);
/* Show or hide that an event is queued. Each call with `on` is an edge. Locked. */
void cma_fd_show(const struct cma_channel *ch, bool on);
/* In a forked child: new channels share nothing with those of the parent. Locked. */
void cma_fd_forget(void);
/* Set the timers of idle channels. Locked. */
void cma_fd_hold_all(const struct itimerspec *its);
/* Return the descriptor of the channel's timer. */
int cma_fd_hold(const struct cma_channel *ch);
/* Consume an expiration of that timer. True: it had expired. */
bool cma_fd_expired(const struct cma_channel *ch);

/* ---- channel.c */
/* Create an event channel. Sets *fd to its descriptor. The caller ends it by cma_channel_close(). */
int cma_channel_open(int flags, int *fd, struct cma_channel **ch);
/*
 * If a thread is about to wait for the channel's next event, give it the time to begin. Call this
 * before the close, while commands still find the channel. Blocks for 20 ms at most.
 */
void cma_channel_let_in(struct cma_channel *ch);
/*
 * Give a thread that poll() woke for an event of the id the time to take it, if another thread than the
 * caller takes the channel's events. Call it before the id is destroyed. Blocks for 100 ms at most,
 * counted from when the event was queued.
 */
void cma_events_let_take(struct cma_channel *ch, uint32_t id);
/* Keep the channel in memory until it is put as often. Any thread. */
void cma_channel_hold(struct cma_channel *ch);
void cma_channel_put(struct cma_channel *ch);
/* Destroy the ids of the channel and put it once. The caller closes the descriptor afterwards. */
void cma_channel_close(struct cma_channel *ch);
/*
 * Get the next event; wait for one unless the descriptor is O_NONBLOCK. 0: *resp is the event.
 * EAGAIN: there is none. EINTR. A cancellation point.
 */
int cma_get_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp);
/* Return true if all signal handlers of the program restart calls (SA_RESTART). */
bool cma_restarts(void);
/* Locked: dequeue the first event into *resp. False: there is none. */
bool cma_deliver(struct cma_channel *ch, struct rdma_ucm_event_resp *resp);
/* Locked: create an event of this id. NULL: no memory; the event is lost, as in the kernel. */
struct cma_event *cma_event_new(struct cma_id *id, enum cma_event_type type, int status);
/* Locked: queue an event. It is dropped if the id is a request that was not accepted yet. */
void cma_event_queue(struct cma_event *ev);
/* Locked: create and queue an event. */
void cma_event(struct cma_id *id, enum cma_event_type type, int status);
/* Locked: drop the queued events of the id; only those of mc if it is not NULL. */
void cma_events_drop(struct cma_id *id, struct cma_mc *mc);
/* Queue an event of one thread of the program for another: USER or INTERNAL, else EINVAL. */
int cma_write_event(struct cma_channel *ch, uint32_t id, uint32_t type, int status, uint64_t arg);
int cma_migrate(struct cma_channel *to, int from_fd, uint32_t id, uint32_t *reported);

/* ---- id.c */
int cma_create_id(struct cma_channel *ch, uint64_t uid, uint16_t ps, uint8_t qp_type, uint32_t *id);
int cma_destroy_id(struct cma_channel *ch, uint32_t id, uint32_t *reported);
/* Locked: find an id. ENOENT: there is none; EINVAL: it belongs to another channel. */
int cma_find(struct cma_channel *ch, uint32_t id, struct cma_id **out);
/* Locked: as cma_find(). EINVAL, too, if the id has no device yet, or its device has failed. */
int cma_find_bound(struct cma_channel *ch, uint32_t id, struct cma_id **out);
/* Locked: create an id. NULL: no memory, or the process has 65,535 ids. */
struct cma_id *cma_id_new(struct cma_channel *ch);
void cma_id_destroy(struct cma_id *id);

/* ---- option.c */
int cma_set_option(struct cma_channel *ch, uint32_t id, uint32_t level, uint32_t name,
		   const void *val, uint32_t len);

/* ---- addr.c */
size_t cma_addr_len(const union cma_addr *a);
uint16_t cma_addr_port(const union cma_addr *a); /* host order */
void cma_addr_set_port(union cma_addr *a, uint16_t port);
bool cma_addr_is_any(const union cma_addr *a);
bool cma_addr_is_loopback(const union cma_addr *a);
bool cma_addr_is_multicast(const union cma_addr *a);
/* Set gid to the GID of an IP address. */
void cma_addr_gid(const union cma_addr *a, uint8_t gid[16]);
void cma_addr_of_gid(union cma_addr *a, const uint8_t gid[16], uint16_t port);
/* Set the address in *src to the source address of the kernel's route to dst; not the port. */
int cma_addr_source(const union cma_addr *dst, union cma_addr *src);
/* True if this GID is an address of this host. Locked. */
bool cma_is_own(const uint8_t gid[16]);

/* ---- bind.c */
int cma_bind(struct cma_channel *ch, uint32_t id, const union cma_addr *a);
int cma_listen(struct cma_channel *ch, uint32_t id, uint32_t backlog);
/* Locked: as cma_bind(), for an id. */
int cma_bind_to(struct cma_id *id, const union cma_addr *a);
/* Locked: bind an IDLE id to the wildcard address of the family and a free port. */
int cma_bind_any(struct cma_id *id, sa_family_t family);
/* Locked: listen, on our side only. */
int cma_listen_on(struct cma_id *id, uint32_t backlog);
/* Locked: set the device and the GID index of an id by its source address. */
int cma_take_device(struct cma_id *id);
/*
 * Locked: claim the port at the source address in place of the wildcard, as the kernel does. Call it
 * when an id that was bound to a wildcard gets its source address.
 */
void cma_claim_source(struct cma_id *id);
/* Locked: drop one reference. The last one closes the file of the ports. */
void cma_ports_put(struct cma_ports *ports);
/* Locked: release the port and the service of an id. */
void cma_unbind(struct cma_id *id);
/* Locked: find the listener for a request. NULL: there is none. */
struct cma_id *cma_listener_of(uint64_t service_id, const struct dpa_cm_ip *ip);
/* Locked: register the services of all listeners at QP1. */
void cma_listeners_serve(void);

/* ---- resolve.c */
int cma_resolve_addr(struct cma_channel *ch, uint32_t id, const union cma_addr *src,
		     const union cma_addr *dst, uint32_t timeout_ms);
int cma_resolve_route(struct cma_channel *ch, uint32_t id);
/* Returns EOPNOTSUPP: a RoCE port has no subnet administration. */
int cma_resolve_ib_service(struct cma_channel *ch, uint32_t id);
int cma_set_path(struct cma_channel *ch, uint32_t id, const struct ib_path_rec_data *rec,
		 uint32_t num);

/* ---- connect.c */
int cma_connect(struct cma_channel *ch, uint32_t id, const struct rdma_ucm_conn_param *p,
		const struct rdma_ucm_ece *ece);
int cma_accept(struct cma_channel *ch, uint32_t id, uint64_t uid,
	       const struct rdma_ucm_conn_param *p, const struct rdma_ucm_ece *ece);
int cma_reject(struct cma_channel *ch, uint32_t id, const void *data, uint8_t len, uint8_t reason);
int cma_disconnect(struct cma_channel *ch, uint32_t id);
int cma_notify(struct cma_channel *ch, uint32_t id, uint32_t event);
int cma_init_qp_attr(struct cma_channel *ch, uint32_t id, uint32_t state, struct ibv_qp_attr *attr,
		     int *mask);

/* ---- event.c, locked: events of the protocol */
void cma_on_event(struct cma_conn *c, const struct dpav_cm_event *ev);
/* Fill *ah, which is all 0, from path. Any thread. */
void cma_put_ah(const struct dpav_cm_path *path, struct ib_uverbs_ah_attr *ah);

/* ---- conn.c, locked */
uint32_t cma_random(void);
struct cma_conn *cma_conn_new(struct cma_id *id);
/* Run one step of c. It may free c. */
int cma_step(struct cma_conn *c, struct dpav_cm_input *in);
/* Send each request again that a process of this host may have left unread when it died. */
void cma_requests_again(void);
/* Record that the connection was refused, for tools. */
void cma_note(const struct cma_conn *c, enum dpa_gsi_why why, int reason);
/* Separate the id from its connection, which ends by itself (timewait, repeated DREQ). */
void cma_conn_leave(struct cma_conn *c);
void cma_conn_free(struct cma_conn *c);
/* Take over the id of a dead process and notify its peer, as a destroy of the id would. */
void cma_adopt(const struct dpa_gsi_id *past);

/* ---- timer.c, locked */
int cma_timer_room(void); /* make room for one connection more */
void cma_timer_set(struct cma_conn *c, uint64_t deadline);
/* Returns the connection whose timer is first, or NULL. */
struct cma_conn *cma_timer_first(void);
uint64_t cma_now(void); /* ms */

/* ---- neighbour.c, locked */
/*
 * Wait for the link address of the next hop to id->dst: the id gets state CMA_ADDR_QUERY, and an
 * event within timeout_ms. False: the address is known, or cannot be found out; or no memory.
 */
bool cma_neighbour_wait(struct cma_id *id, uint32_t timeout_ms);
/* End the query of an id without an event. */
void cma_neighbour_end(struct cma_id *id);
/* In a forked child: the queries are the parent's. */
void cma_neighbour_forget(void);
void cma_neighbour_round(void);
/* Return when the next round is due, ms; UINT64_MAX: never. */
uint64_t cma_neighbour_next(void);

/* ---- reach.c, locked: hosts on which no process has RoCEv2 any more */
/* After each step of c: start or stop watching its peer's host. */
void cma_reach_update(struct cma_conn *c);
void cma_reach_leave(struct cma_conn *c);
/* Record that a MAD came from this address. */
void cma_reach_heard(const uint8_t gid[16]);
/* Read ICMP messages, send the probes that are due, end connections. */
void cma_reach_round(void);
/* Returns the time of the next probe; UINT64_MAX: none. */
uint64_t cma_reach_next(void);
/* In a forked child: drop the state, as the connections are the parent's. */
void cma_reach_forget(void);

/* ---- engine.c, locked */
/* Open QP1 and start the thread, if that was not done yet. */
int cma_engine_start(void);
void cma_engine_wake(void);
/* Called by the device, without the lock, when a MAD has arrived. arg: the descriptor. */
void cma_engine_ready(void *arg);
/* In a forked child: the engine is the parent's, and is off here. */
void cma_engine_forget(void);
/*
 * Not locked. Wait for MADs and timers in a thread of the program, and handle them for the whole
 * process. False: another thread does so already. Sets *err: 0: an event of ch is in *resp; EAGAIN:
 * there is none yet; EINTR. A cancellation point.
 */
bool cma_lead(struct cma_channel *ch, struct rdma_ucm_event_resp *resp, int *err);
/*
 * Not locked. Start to take over ids of dead processes and to refuse requests without a listener, even
 * if the program makes no event channel.
 */
void cma_watch(void);

/* ---- fork.c, locked */
/* Register the handlers of fork(), if that was not done yet. */
void cma_watch_fork(void);
/* In a forked child: take over the listeners of a parent that has ended. */
void cma_inherit(void);
/* Extend the timers of idle channels, if that is due. */
void cma_fork_round(void);

/* ---- early.c, locked: MADs that wait, and refused requests */
/* Hold a MAD for which cma_receive() returned false. */
void cma_early_keep(const struct dpa_gsi_addr *from, const uint8_t mad[DPA_MAD_BYTES]);
/*
 * Check the MADs that are due again. all: check every MAD; call it so after a listener was added.
 */
void cma_early_look(bool all);
/* Return the time of the next check, ms; UINT64_MAX: never. */
uint64_t cma_early_next(void);
/* In a forked child: the MADs are the parent's. */
void cma_early_forget(void);
/* Drop the REQs of this sender with this communication id: it has given them up (REJ "timeout"). */
void cma_early_withdraw(const struct dpa_gsi_addr *from, uint32_t id);
/* Record that this REQ or SIDR_REQ was refused. */
void cma_refusal_put(const struct dpa_gsi_addr *from, const struct dpa_mad *request,
		     uint16_t reason);
/* Return true, and the reason, if a copy of this REQ or SIDR_REQ was refused a moment ago. */
bool cma_refusal_find(const struct dpa_gsi_addr *from, const struct dpa_mad *request,
		      uint16_t *reason);

/* ---- unsent.c, locked: MADs for which QP1 has no room */
/* Send a MAD, behind those that wait. It waits if there is no room; another failure loses it. */
void cma_unsent_send(const struct dpa_gsi_addr *to, const uint8_t mad[DPA_MAD_BYTES]);
/* Send those that wait, as far as there is room. */
void cma_unsent_round(void);
/* Return the time of the next round, ms; UINT64_MAX: none waits. */
uint64_t cma_unsent_next(void);
/* In a forked child: the MADs are the parent's. */
void cma_unsent_forget(void);

/*
 * ---- mad.c, locked: process one message of QP1. False: the caller keeps the message for another try:
 * a request without a listener, or a DREQ while completions of its QP wait for the program. last: this
 * is the last try: the request is refused, the DREQ is accepted.
 */
bool cma_receive(const struct dpa_gsi_addr *from, const uint8_t mad[DPA_MAD_BYTES], bool last);
/* Send a message, in order; if that fails it counts as lost. */
void cma_send_mad(const struct dpa_gsi_addr *to, const struct dpa_mad *m);

/* ---- mcast.c */
int cma_join(struct cma_channel *ch, uint32_t id, uint64_t uid, const union cma_addr *group,
	     uint16_t flags, uint32_t *num);
int cma_leave(struct cma_channel *ch, uint32_t num, uint32_t *reported);
/* Locked: create a group of this id; NULL: no memory. */
struct cma_mc *cma_mc_new(struct cma_id *id, uint64_t uid);
void cma_mc_free(struct cma_mc *mc);
/* Locked. */
void cma_leave_all(struct cma_id *id);

/* ---- query.c */
int cma_query_route(struct cma_channel *ch, uint32_t id, struct rdma_ucm_query_route_resp *resp);
int cma_query_addr(struct cma_channel *ch, uint32_t id, bool gid,
		   struct rdma_ucm_query_addr_resp *resp);
struct cma_path_resp {
	uint32_t num_paths; /* as struct rdma_ucm_query_path_resp, with room for one */
	uint32_t reserved;
	struct ib_path_rec_data path;
};
int cma_query_path(struct cma_channel *ch, uint32_t id, struct cma_path_resp *resp);
/* An option that is not known: ENOSYS, or what cma_find() returns. */
int cma_query_unknown(struct cma_channel *ch, uint32_t id);

#endif
