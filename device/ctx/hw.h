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
#include "util/count.h"
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
	/*
	 * Its device has failed (DEVICE_FATAL). Written under hw->ctl before the lock of each of its QPs
	 * is taken to end it; read under hw->ctl or the QP's lock.
	 */
	_Atomic bool failed;
};

struct dpa_hw {
	uint32_t *
		alive; /* DPA_HW_ALIVE_*; a page that fork clears; written by its opener and by the service thread */
	pid_t pid;
	struct dpa_board *board;
	struct dpa_config cfg;
	struct dpa_port port;
	dpa_log_fn *log;
	const struct dpa_hw_ops *ops;
	_Atomic uint64_t *cnt; /* this process's counters */

	/* Congestion control: cc/cc.c. */
	struct {
		const _Atomic uint64_t *word; /* the port's; NULL: flows do not follow it */
		dpa_spin_t lock;	      /* a leaf */
		_Atomic uint64_t check;	      /* ns: next check that the image's process lives */
		_Atomic bool ring;	      /* this process's ring is usable */
	} cc;

	/* Control path: objects, under ctl. */
	pthread_mutex_t ctl;
	struct dpa_hw_ctx *ctxs;
	/* Free memory blocks for out-of-order packets: kept.c. */
	struct {
		_Atomic uint32_t bytes; /* of those packets, of all QPs */
		dpa_spin_t lock;	/* a leaf */
		struct dpa_kept *spare[DPA_KEPT_SIZES];
		uint32_t spare_bytes;
	} kept;
	struct {
		uint32_t *refs;	 /* 0: free; else users + 1 */
		uint32_t *owner; /* id of the owning context */
		uint32_t used_max, n;
	} pd;
	/* The next number of each kind. */
	struct {
		uint32_t ctx_id, cqn, srqn, lane, wqn;
	} next;
	/* Objects that exist. */
	struct {
		uint32_t qp, cq, srq, wq, ind;
	} num;
	struct {
		struct dpa_hw_qp *free;
		struct dpa_hw_qp **slab; /* all QP structures ever allocated; grows */
		/* next free one of a large page, slab_left are free */
		struct dpa_hw_qp *slab_next;
		uint32_t slab_left;
		/* sums over QPs that were destroyed */
		_Atomic uint64_t gone_doorbells, gone_blueflames;
		_Atomic uint32_t nslab;
		/* by index part of the QPN; entries are type-stable */
		_Atomic(struct dpa_hw_qp *) *tab;
	} qps;

	struct dpa_export *export;
	struct {
		uint32_t n, free_head, free_tail;
		_Atomic uint32_t used_max; /* only grows, under ctl */
		void *zeros, *sink; /* source of reads and target of writes of a null region */
	} mrs;
	struct dpa_flows *flows; /* NULL: no raw QP yet */
	struct {
		struct dpa_hw_dm *all;
		uint64_t bytes;
		uint32_t next;
	} dm;
	/*
	 * XRC. wanted, refused: QPNs, 0: none (xrc_branch.c). wanted: a packet waits for a replica
	 * of that target; set by the thread that drains the ring (a CAS from 0), cleared by the
	 * service thread (release). refused: it cannot be created; written by the service thread,
	 * read by the draining thread (relaxed): a hint.
	 */
	struct {
		struct dpa_hw_xrcd *domains;
		_Atomic(struct dpa_hw_srq *) *srqs; /* by the low bits of their number */
		_Atomic uint32_t nbranch;	    /* written under ctl */
		_Atomic uint32_t wanted, refused;
	} xrc;
	/* Events that are held back: moderate.c. */
	struct {
		dpa_spin_t lock, run;
		struct dpa_hw_cq *list;
		_Atomic uint64_t due; /* ns; 0: no event is held back */
	} mod;
	/* Binding and unbinding windows. */
	struct {
		dpa_spin_t lock; /* a leaf */
		/*
		 * number of threads that wait until no operation uses windows that they unbound;
		 * under lock
		 */
		uint32_t unbinding;
	} mw;
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
	/*
	 * Descriptors. wake: of the progress thread; wait: of a blocked application; spare: closed
	 * briefly, to refuse a connection.
	 */
	struct {
		int export, door, wake, wait, listen, spare, epoll;
	} fd;

	struct dpa_udp *udp; /* port 4791: link/udp/udp.h */

	/* QPs whose ACK may wait until their EU is otherwise idle. */
	struct {
		dpa_spin_t lock;       /* a leaf */
		_Atomic uint32_t owed; /* the list is not empty */
		struct dpa_hw_qp *list;
	} acks __attribute__((aligned(DPA_CACHE_LINE)));
	/* Rings of the wire with entries that wait to be sent together. */
	struct {
		dpa_spin_t lock;      /* taken inside of a ring's lock; a leaf */
		_Atomic uint32_t any; /* the list is not empty */
		struct dpa_tx *list;
	} cork;
	_Atomic(struct dpa_wire *) wire; /* the link to other hosts, NULL: not used yet */

	/* progress */
	/* Alone in a cache line that every check reads and hardly any thread writes. */
	_Atomic(struct dpa_rx *) hot[DPA_HOT_LANES] __attribute__((aligned(DPA_CACHE_LINE)));
	/*
	 * Capture, faults (link/inspect.h) and injected failures: DPA_INSPECT_*, number of frames held back, time of
	 * the first.
	 */
	_Atomic uint32_t inspect, inspect_held;
	/*
	 * On request the device does nothing: no packet arrives, no WQE is carried out, no answer leaves
	 * (docs/inject.md). Read only where `inspect` or slow.inspected is set. Written by a thread that
	 * carries out a request, and by the progress thread; all relaxed: a thread that reads the old
	 * value does one step more.
	 */
	_Atomic bool stopped;
	_Atomic uint64_t inspect_due;
	struct dpa_inspect *insp;
	struct dpa_timeline *timeline; /* inspect/timeline.h */
	/*
	 * Scheduled QPs. While none of them can continue, pollers still try each time, but a sleeper
	 * does not before retry_at (ns), which backs off: a stopped peer that keeps a ring full
	 * costs no core.
	 */
	struct {
		dpa_spin_t lock;
		_Atomic uint32_t n;
		struct dpa_hw_qp *head, *tail;
		_Atomic uint64_t next_timer; /* ns; their earliest timer; 0: check now */
		_Atomic uint64_t retry_at;
		struct dpa_backoff retry;
	} pend __attribute__((aligned(DPA_CACHE_LINE)));
	/* set to dpa_here() by polling threads, cleared by the progress thread */
	_Atomic uint32_t app_polled;
	/*
	 * Rings may have pending wake-ups. Set (release), if it is not set, by a thread that
	 * published without a wake-up; taken (exchange) by a thread that does them for all. Not
	 * cleared by threads that do their own: they would pass its cache line back and forth.
	 */
	_Atomic uint32_t kicks_owed;
	uint32_t serial; /* number of this opening of the device, never 0 */
	/*
	 * 1: the ticks of the progress thread back off (eu/quiet.c). Set by the progress thread
	 * (relaxed, then a full fence), cleared by it, or taken (exchange) by a thread that posts,
	 * takes packets in or makes a peer, which then wakes it: dpa_stir() in ctx/schedule.h.
	 */
	_Atomic uint32_t quiet;
	dpa_spin_t hot_lock;

	/* QP1: gsi/gsi.h */
	struct {
		dpa_spin_t lock; /* a leaf, except for `ready` */
		struct dpa_hw_gsi *end;
		_Atomic uint32_t qpn, look, orphans, died;
		uint32_t seen;
	} gsi;

	/* The progress thread (service thread). */
	pthread_t service;
	bool service_up;
	_Atomic uint32_t stop;
	/*
	 * Sleeping. door->sleep is 0, 1 (peers wake the progress thread) or 2 (they wake the
	 * application thread in dpa_hw_wait_fd). It is always the function of `service` and
	 * `waiter`, recomputed under lock.
	 */
	struct {
		dpa_spin_t lock;
		dpa_spin_t role; /* one waiter at a time is woken by peers */
		_Atomic uint32_t role_beside, role_asked; /* eu/wait.c */
		/*
		 * Polling for an answer (eu/sched.c), by the thread with the role. skip: answers for
		 * which it sleeps at once.
		 */
		struct dpa_sched_answer {
			struct dpa_backoff backoff;
			uint32_t skip;
		} answer;
		_Atomic uint32_t service, waiter;
	} sleep;
	/* Checks that peers live. */
	struct {
		_Atomic uint32_t suspects;  /* peers to be checked: 1 still, 2 newly */
		struct dpa_backoff backoff; /* service thread: of these checks, */
		uint64_t at;		    /* and the time (ns) of the next one */
	} live;
	uint32_t looks; /* service thread: checks by service_assist() */
	/* no file descriptor to accept with: the listener is disabled */
	bool listen_off;
	/*
	 * Ticks of the progress thread, which alone uses this (eu/service.c, eu/quiet.c). last: time (ns);
	 * packets: number when the slots were last read; moved: it was another one at the last tick;
	 * waiting: a QP may have requests outstanding; woken: a descriptor ended the last sleep; quiet:
	 * the ticks back off, or will if the word `quiet` stays 1.
	 */
	struct {
		uint64_t last, packets;
		bool moved, waiting, woken, quiet;
		struct dpa_backoff backoff;
	} tick;
	/* Service thread: figures for tools (eu/meter.c). ns: of the last and the next ones; its time. */
	struct {
		bool on;
		uint64_t at, due, cpu;
	} meter;
	bool told_down; /* service thread: contexts have been told that the port is down */
	/* service thread: when an injected outage of the port ends (ns); 0: none, UINT64_MAX: not by itself */
	uint64_t port_up_at;
	uint64_t goes_on_at; /* the same of a device that has stopped: `stopped` */
	/*
	 * Adaptive polling (eu/sched.c). ignored: number of sleeps during which the application's
	 * polling is ignored; written by the service thread, read by pollers (relaxed). backoff and
	 * confirmed belong to the service thread: the back-off of that number, and the checks since
	 * then that found the application polling.
	 */
	struct {
		_Atomic uint32_t ignored;
		struct dpa_backoff backoff;
		uint32_t confirmed;
	} polls;

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
_Static_assert(offsetof(struct dpa_hw, pend) / DPA_CACHE_LINE ==
		       offsetof(struct dpa_hw, quiet) / DPA_CACHE_LINE,
	       "pollers and posters: one line");
_Static_assert(offsetof(struct dpa_hw, acks) / DPA_CACHE_LINE ==
		       offsetof(struct dpa_hw, wire) / DPA_CACHE_LINE,
	       "what a poll looks at for the wire: one line");

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

/* False in a process that inherited it by a fork or a raw clone. */
static inline bool dpa_lives(const struct dpa_hw *hw)
{
	return __atomic_load_n(hw->alive, __ATOMIC_RELAXED);
}

/* The function of this process; NULL if the device is not open. */
extern struct dpa_hw *dpa_the_hw;

void dpa_log(struct dpa_hw *hw, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void dpa_count(struct dpa_hw *hw, enum dpa_counter c, uint64_t n)
{
	/* Concurrent threads may lose a count; a lost count is not worth a locked add. */
	dpa_count_add(&hw->cnt[c], n);
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
