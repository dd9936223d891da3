/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hw.h - the adapter function of this process: one struct dpa_hw. Objects that the data path finds
 * by number (QPs) are in type-stable memory: never freed while the device is open, and checked
 * under their lock after they were found.
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
#define DPA_KEPT_SIZES 6 /* sizes of free memory blocks kept for out-of-order packets */

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
	struct dpa_port *port; /* port of its function: &hw->port or one of hw->port.sf[] */
	dpa_event_fn *event;
	void *event_arg;
	struct dpa_hw_ctx *next;
	uint32_t told_state; /* state of the port in its last event; under hw->ctl */
};

struct dpa_hw {
	uint32_t *alive; /* a page that fork clears */
	pid_t pid;
	struct dpa_board *board;
	struct dpa_config cfg;
	struct dpa_port port;
	dpa_log_fn *log;
	const struct dpa_hw_ops *ops;
	_Atomic uint64_t *cnt; /* this process's counters */

	/* Congestion control: cc/cc.c. The port's word; NULL: flows do not follow it. */
	const _Atomic uint64_t *cc_word;
	dpa_spin_t cc_lock;	   /* a leaf */
	_Atomic uint64_t cc_check; /* ns: time of the next check that the image's process lives */
	_Atomic bool cc_ring;	   /* this process's ring is usable */

	/* Control path: objects, under ctl. */
	pthread_mutex_t ctl;
	struct dpa_hw_ctx *ctxs;
	_Atomic uint32_t kept_bytes; /* bytes of out-of-order packets of all QPs */
	dpa_spin_t spare_lock;	     /* a leaf: free memory blocks for them (kept.c) */
	struct dpa_kept *spare[DPA_KEPT_SIZES];
	uint32_t spare_bytes;
	uint32_t *pd_refs;  /* 0: free; else users + 1 */
	uint32_t *pd_owner; /* id of the owning context */
	uint32_t next_ctx_id;
	uint32_t pd_used_max, npd, nqp, ncq, nsrq, nmr, next_cqn, next_srqn, next_lane;
	struct dpa_hw_qp *free_qps;

	struct dpa_hw_qp **slab; /* all QP structures ever allocated; grows under ctl */
	/* next free one of a large page, slab_left are free; under ctl */
	struct dpa_hw_qp *slab_next;
	uint32_t slab_left;
	_Atomic uint64_t gone_doorbells, gone_blueflames; /* sums over QPs that were destroyed */
	_Atomic uint32_t nslab;
	_Atomic(struct dpa_hw_qp *) *qp_tab; /* by index part of the QPN; entries are type-stable */

	struct dpa_export *export;
	int export_fd;
	uint32_t mr_free_head, mr_free_tail;
	_Atomic uint32_t mr_used_max; /* only grows, under ctl */
	void *null_zeros, *null_sink; /* source of reads and target of writes of a null region */
	uint32_t nwq, next_wqn, nind;
	struct dpa_flows *flows; /* NULL: no raw QP yet */
	struct dpa_hw_dm *dms;
	uint64_t dm_bytes;
	struct dpa_hw_xrcd *xrcds;
	_Atomic(struct dpa_hw_srq *) *xrc_srqs; /* by the low bits of their number */
	_Atomic uint32_t nbranch;		/* written under ctl */
	/*
	 * xrc_branch.c; QPNs, 0: none. wanted: a packet waits for a replica of that target; set by
	 * the thread that drains the ring (a CAS from 0), cleared by the service thread (release).
	 * refused: it cannot be created; written by the service thread, read by the draining thread
	 * (relaxed): a hint.
	 */
	_Atomic uint32_t branch_wanted, branch_refused;
	uint32_t next_dm;
	dpa_spin_t mod_lock, mod_run; /* moderate.c */
	struct dpa_hw_cq *mod_list;
	_Atomic uint64_t mod_due; /* ns; 0: no event is held back */
	dpa_spin_t mw_lock;	  /* binding and unbinding windows; a leaf */
	/*
	 * number of threads that wait until no operation uses windows that they unbound; under
	 * mw_lock
	 */
	uint32_t mw_unbinding;
	dpa_spin_t atomic_lock;	 /* serialises the atomics of this function */
	struct dpa_share *share; /* NULL: registered memory is never shared */
	/* while the process forks: no direct copies into this process */
	_Atomic uint32_t no_grants;
	int maps_fd;   /* /proc/self/maps; -1: not available */
	bool pvm_self; /* process_vm_* works on this process */
	struct dpa_stage stage;
	/* foreign/foreign.h; NULL: there was no region of that kind. Set once (release) under ctl. */
	struct dpa_foreigns *foreigns;
	_Atomic uint32_t
		nforeign; /* regions; written under ctl (relaxed); a hint, see dpa_quiesce() */

	/* table and states of peers */
	dpa_spin_t peer_lock; /* table and states */
	struct dpa_peer *all_peers;
	struct dpa_door *door;
	int door_fd, wake_fd, wait_fd,
		listen_fd; /* wake_fd: of the progress thread; wait_fd: of a blocked application */
	int spare_fd;	   /* closed briefly, to refuse a connection */

	struct dpa_udp *udp; /* port 4791: link/udp/udp.h */

	/* QPs whose ACK may wait until their EU is otherwise idle. */
	dpa_spin_t ack_lock; /* a leaf */
	struct dpa_hw_qp *ack_list;
	_Atomic uint32_t acks_owed; /* the list is not empty */
	/* Rings of the wire with entries that wait to be sent together. */
	dpa_spin_t cork_lock; /* taken inside of a ring's lock; a leaf */
	struct dpa_tx *cork_list;
	_Atomic uint32_t corks;		 /* the list is not empty */
	_Atomic(struct dpa_wire *) wire; /* the link to other hosts, NULL: not used yet */

	/* progress */
	/* Alone in a cache line that every check reads and hardly any thread writes. */
	_Atomic(struct dpa_rx *) hot[DPA_HOT_LANES] __attribute__((aligned(DPA_CACHE_LINE)));
	/*
	 * Capture and faults (link/inspect.h): DPA_INSPECT_*, number of frames held back, time of
	 * the first.
	 */
	_Atomic uint32_t inspect, inspect_held;
	_Atomic uint64_t inspect_due;
	struct dpa_inspect *insp;
	dpa_spin_t hot_lock __attribute__((aligned(DPA_CACHE_LINE)));
	dpa_spin_t pend_lock;
	struct dpa_hw_qp *pend_head, *pend_tail;
	_Atomic uint32_t npending;
	_Atomic uint64_t next_timer; /* ns; earliest timer of the scheduled QPs; 0: check now */
	/*
	 * While no scheduled QP can continue, pollers still try each time, but a sleeper does not
	 * before retry_at (ns), which backs off: a stopped peer that keeps a ring full costs no
	 * core.
	 */
	_Atomic uint64_t retry_at;
	struct dpa_backoff retry;
	/* set to dpa_here() by polling threads, cleared by the progress thread */
	_Atomic uint32_t app_polled;
	/*
	 * Rings may have pending wake-ups. Set (release), if it is not set, by a thread that
	 * published without a wake-up; taken (exchange) by a thread that does them for all. Not
	 * cleared by threads that do their own: they would pass its cache line back and forth.
	 */
	_Atomic uint32_t kicks_owed;
	uint32_t serial; /* number of this opening of the device, never 0 */

	/* QP1: gsi/gsi.h */
	dpa_spin_t gsi_lock; /* a leaf, except for `ready` */
	struct dpa_hw_gsi *gsi;
	_Atomic uint32_t gsi_qpn, gsi_look, gsi_orphans, gsi_died;
	uint32_t gsi_seen;

	/* The progress thread (service thread). */
	pthread_t service;
	bool service_up;
	int epfd;
	_Atomic uint32_t stop;
	/*
	 * Sleeping. door->sleep is 0, 1 (peers wake the progress thread) or 2 (they wake the
	 * application thread in dpa_hw_wait_fd). It is always the function of these two, recomputed
	 * under sleep_lock.
	 */
	dpa_spin_t sleep_lock;
	dpa_spin_t wait_role;			  /* one waiter at a time is woken by peers */
	_Atomic uint32_t role_beside, role_asked; /* eu/wait.c */
	_Atomic uint32_t service_asleep, waiter;
	_Atomic uint32_t suspects;   /* peers whose liveness must be checked: 1 still, 2 newly */
	struct dpa_backoff liveness; /* service thread: back-off of these checks, */
	uint64_t liveness_at;	     /* and the time (ns) of the next one */
	uint32_t looks;		     /* service thread: checks by service_assist() */
	/* no file descriptor to accept with: the listener is disabled */
	bool listen_off;
	uint64_t last_tick; /* service thread: see watchdog in service.c */
	/*
	 * Adaptive polling (eu/sched.c). ignore_polls: number of sleeps during which the
	 * application's polling is ignored; written by the service thread, read by pollers
	 * (relaxed). ignore and confirmed belong to the service thread: the back-off of that
	 * number, and the checks since then that found the application polling.
	 */
	_Atomic uint32_t ignore_polls;
	struct dpa_backoff ignore;
	uint32_t confirmed;

	struct dpa_eu *eus;
	uint32_t neus;

	pthread_mutex_t qmem_lock;
	struct dpa_qmem *qmem;

	/*
	 * By process index; those below peers_end are or were in use. Both are written under
	 * peer_lock (release). Last member: it has memory only where there is a peer.
	 */
	_Atomic uint32_t peers_end;
	_Atomic(struct dpa_peer *) peers[DPA_BOARD_PROCS];
};

static inline uint32_t dpa_peers_end(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->peers_end, memory_order_acquire);
}

/* Context: hw->peer_lock. */
static inline void dpa_peers_put(struct dpa_hw *hw, uint32_t slot, struct dpa_peer *p)
{
	if (slot >= atomic_load_explicit(&hw->peers_end, memory_order_relaxed))
		atomic_store_explicit(&hw->peers_end, slot + 1, memory_order_release);
	atomic_store_explicit(&hw->peers[slot], p, memory_order_release);
}

/* The function of this process; NULL if the device is not open. */
extern struct dpa_hw *dpa_the_hw;

void dpa_log(struct dpa_hw *hw, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void dpa_count(struct dpa_hw *hw, enum dpa_counter c, uint64_t n)
{
	/* Concurrent threads may lose a count; a lost count is not worth a locked add. */
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
 * The board has no free entry (board.h: ENOMEM, ENOSPC, or the errno of a lock): log the limit, as
 * given by fmt, or the other reason. Returns the errno for the caller.
 */
int dpa_limit(struct dpa_hw *hw, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Wait until no thread holds a QP lock that it took before this call. */
void dpa_quiesce(struct dpa_hw *hw);

#endif
