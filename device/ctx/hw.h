/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hw.h - the function of the board that this process has, one struct dpa_hw.
 *
 * Objects that the data path finds by number (QPs) live in type-stable memory: never freed while
 * the device is open, checked under their lock after they were found.
 */
#ifndef DPA_CTX_HW_H
#define DPA_CTX_HW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <dpa_hw.h>
#include "board/board.h"
#include "knobs.h"
#include "ctx/stage.h"
#include "port/port.h"
#include "util/backoff.h"
#include "util/clock.h"
#include "util/lock.h"

#define DPA_HOT_LANES  8
#define DPA_KEPT_SIZES 6 /* of memory for packets out of order that is held ready */

struct dpa_peer;
struct dpa_tx;
struct dpa_rx;
struct dpa_hw_cq;
struct dpa_hw_qp;
struct dpa_hw_srq;
struct dpa_eu;
struct dpa_export;
struct dpa_door;
struct dpa_udp;
struct dpa_hw_ops;
struct dpa_foreigns;

struct dpa_hw_ctx {
	struct dpa_hw *hw;
	uint32_t id;	       /* never 0 */
	struct dpa_port *port; /* of its function: &hw->port or one of hw->port.sf[] */
	dpa_event_fn *event;
	void *event_arg;
	struct dpa_hw_ctx *next;
	uint32_t told_state; /* of the port, in its last event; under hw->ctl */
};

struct dpa_hw {
	uint32_t *alive; /* a page that fork wipes */
	pid_t pid;
	struct dpa_board *board;
	struct dpa_config cfg;
	struct dpa_port port;
	dpa_log_fn *log;
	const struct dpa_hw_ops *ops;
	_Atomic uint64_t *cnt; /* this process's counters */

	/* congestion control: cc/cc.c. The port's word, NULL: flows do not follow it */
	const _Atomic uint64_t *cc_word;
	dpa_spin_t cc_lock;	   /* a leaf */
	_Atomic uint64_t cc_check; /* ns: when to look at the image's process */
	_Atomic bool cc_ring;	   /* this process's ring is fit for use */

	/* control path: objects, under ctl */
	pthread_mutex_t ctl;
	struct dpa_hw_ctx *ctxs;
	_Atomic uint32_t kept_bytes; /* of packets out of order, all QPs */
	dpa_spin_t spare_lock;	     /* a leaf: memory for them that is held ready (kept.c) */
	struct dpa_kept *spare[DPA_KEPT_SIZES];
	uint32_t spare_bytes;
	uint32_t *pd_refs;  /* 0: free; else users + 1 */
	uint32_t *pd_owner; /* id of the context */
	uint32_t next_ctx_id;
	uint32_t pd_used_max, npd, nqp, ncq, nsrq, nmr, next_cqn, next_srqn, next_lane;
	struct dpa_hw_qp *free_qps;

	struct dpa_hw_qp **slab;     /* every QP structure there ever was; grows under ctl */
	struct dpa_hw_qp *slab_next; /* of a large page, slab_left are free: ctl */
	uint32_t slab_left;
	_Atomic uint64_t gone_doorbells, gone_blueflames; /* of QPs that were destroyed */
	_Atomic uint32_t nslab;
	_Atomic(struct dpa_hw_qp *) *qp_tab; /* by index part of the QPN; type-stable entries */

	struct dpa_export *export;
	int export_fd;
	uint32_t mr_free_head, mr_free_tail, mr_used_max;
	void *null_zeros, *null_sink; /* what a null region is read from, written to */
	uint32_t nwq, next_wqn, nind;
	struct dpa_flows *flows; /* NULL: no raw QP yet */
	struct dpa_hw_dm *dms;
	uint64_t dm_bytes;
	struct dpa_hw_xrcd *xrcds;
	_Atomic(struct dpa_hw_srq *) *xrc_srqs; /* by the low bits of the number */
	_Atomic uint32_t nbranch;		/* written under ctl */
	/*
	 * xrc_branch.c; QPNs, 0: none. wanted: a packet waits for a branch of that target; set by
	 * who drains (a CAS from 0), cleared by the service thread (release). refused: it cannot be
	 * had; written by the service thread, read by who drains (relaxed): a hint.
	 */
	_Atomic uint32_t branch_wanted, branch_refused;
	uint32_t next_dm;
	dpa_spin_t mod_lock, mod_run; /* moderate.c */
	struct dpa_hw_cq *mod_list;
	_Atomic uint64_t mod_due;   /* ns; 0: nothing is held */
	dpa_spin_t mw_lock;	    /* binding and unbinding windows; a leaf */
	uint32_t mw_unbinding;	    /* threads that wait for who is in what they unbound: mw_lock */
	dpa_spin_t atomic_lock;	    /* atomics of this function, one at a time */
	struct dpa_share *share;    /* NULL: registered memory is never shared */
	int share_fd;		    /* of the memory that peers map; -1: there is none */
	_Atomic uint32_t no_grants; /* while the process forks: nobody copies here */
	int maps_fd;		    /* /proc/self/maps, -1: not there */
	bool pvm_self;		    /* process_vm_* on ourselves works */
	struct dpa_stage stage;
	/* foreign/foreign.h; NULL: there was no region of its kind. Set once (release) under ctl */
	struct dpa_foreigns *foreigns;
	_Atomic uint32_t
		nforeign; /* regions; written under ctl (relaxed): a hint, see dpa_quiesce() */

	/* peers */
	dpa_spin_t peer_lock; /* table and states */
	struct dpa_peer *all_peers;
	struct dpa_door *door;
	int door_fd, wake_fd, wait_fd,
		listen_fd; /* wake_fd: parked EU's; wait_fd: a blocked application's */
	int spare_fd;	   /* given up for a moment to refuse a connection that cannot be had */

	struct dpa_udp *udp; /* port 4791: link/udp/udp.h */

	/* QPs whose ACK may wait until their EU has nothing else to do */
	dpa_spin_t ack_lock; /* a leaf */
	struct dpa_hw_qp *ack_list;
	_Atomic uint32_t acks_owed; /* the list is not empty */
	/* lanes of the wire whose slots wait for company */
	dpa_spin_t cork_lock; /* under a lane's lock; a leaf */
	struct dpa_tx *cork_list;
	_Atomic uint32_t corks;		 /* the list is not empty */
	_Atomic(struct dpa_wire *) wire; /* the link to other hosts, NULL: not used yet */

	/* progress */
	/* a line that every look reads and hardly anybody writes */
	_Atomic(struct dpa_rx *) hot[DPA_HOT_LANES] __attribute__((aligned(DPA_CACHE_LINE)));
	/* capture and faults (link/inspect.h): DPA_INSPECT_*, frames held back, the first's time */
	_Atomic uint32_t inspect, inspect_held;
	_Atomic uint64_t inspect_due;
	struct dpa_inspect *insp;
	dpa_spin_t hot_lock __attribute__((aligned(DPA_CACHE_LINE)));
	dpa_spin_t pend_lock;
	struct dpa_hw_qp *pend_head, *pend_tail;
	_Atomic uint32_t npending;
	_Atomic uint64_t next_timer; /* ns; earliest timer of the pending QPs, 0: look now */
	/*
	 * While no pending QP can go on, pollers still try each time, but a sleeper does not before
	 * retry_at (ns), which backs off: a stopped peer that keeps a ring full costs no core.
	 */
	_Atomic uint64_t retry_at;
	struct dpa_backoff retry;
	_Atomic uint32_t app_polled; /* set to dpa_here() by polling threads, cleared by the parked
					EU */
	/*
	 * There may be lanes with a kick owed: set (release) by whoever published without kicking
	 * if it is not set, taken (exchange) by whoever settles for all. It stays set while threads
	 * settle for themselves: they would hand its line back and forth.
	 */
	_Atomic uint32_t kicks_owed;
	uint32_t serial; /* of this opening of the device, never 0 */

	/* QP1: gsi/gsi.h */
	dpa_spin_t gsi_lock; /* a leaf, but for `ready` */
	struct dpa_hw_gsi *gsi;
	_Atomic uint32_t gsi_qpn, gsi_look, gsi_orphans, gsi_died;
	uint32_t gsi_seen;

	/* parked EU (service thread) */
	pthread_t service;
	bool service_up;
	int epfd;
	_Atomic uint32_t stop;
	/*
	 * Sleeping. door->sleep is 0, 1 (peers wake the parked EU) or 2 (they wake the application
	 * thread in dpa_hw_wait_fd); always the function of these two, recomputed under sleep_lock.
	 */
	dpa_spin_t sleep_lock;
	dpa_spin_t wait_role;			  /* one waiter at a time is woken by peers */
	_Atomic uint32_t role_beside, role_asked; /* eu/wait.c */
	_Atomic uint32_t service_asleep, waiter;
	_Atomic uint32_t suspects;   /* peers whose liveness is to be checked: 1 still, 2 newly */
	struct dpa_backoff liveness; /* service thread: of these checks, */
	uint64_t liveness_at;	     /* and the time (ns) of the next */
	uint32_t looks;		     /* service thread: times that service_assist() looked */
	bool listen_off;	     /* no descriptors to accept with: the listener rests */
	uint64_t last_tick;	     /* service thread: see watchdog in service.c */
	/*
	 * Adaptive polling (eu/sched.c). Sleeps during which the application's polling is ignored:
	 * written by the service thread, read by pollers (relaxed). The service thread's own: the
	 * back-off of that number, and looks since then that found the application polling.
	 */
	_Atomic uint32_t ignore_polls;
	struct dpa_backoff ignore;
	uint32_t confirmed;

	struct dpa_eu *eus;
	uint32_t neus;

	pthread_mutex_t qmem_lock;
	struct dpa_qmem *qmem;

	/*
	 * By process index; those below peers_end are in use or were. Both are written under
	 * peer_lock (release). Last: its pages are there only where a peer is.
	 */
	_Atomic uint32_t peers_end;
	_Atomic(struct dpa_peer *) peers[DPA_BOARD_PROCS];
};

static inline uint32_t dpa_peers_end(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->peers_end, memory_order_acquire);
}

/* Under hw->peer_lock. */
static inline void dpa_peers_put(struct dpa_hw *hw, uint32_t slot, struct dpa_peer *p)
{
	if (slot >= atomic_load_explicit(&hw->peers_end, memory_order_relaxed))
		atomic_store_explicit(&hw->peers_end, slot + 1, memory_order_release);
	atomic_store_explicit(&hw->peers[slot], p, memory_order_release);
}

/* The function of this process, NULL if the device is not open. */
extern struct dpa_hw *dpa_the_hw;

void dpa_log(struct dpa_hw *hw, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void dpa_count(struct dpa_hw *hw, enum dpa_counter c, uint64_t n)
{
	/* several threads may lose a count to each other; a lost count is not worth a locked add */
	_Atomic uint64_t *p = &hw->cnt[c];

	atomic_store_explicit(p, atomic_load_explicit(p, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

static inline void dpa_stat_add(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/*
 * The board gave none of something (board.h: ENOMEM, ENOSPC, or the errno of a lock): the log gets
 * the limit as fmt says it, or that it is not that one. Returns what the caller is told.
 */
int dpa_limit(struct dpa_hw *hw, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Waits until no thread holds a QP lock that it took before this call. */
void dpa_quiesce(struct dpa_hw *hw);

#endif
