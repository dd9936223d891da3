/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sched.h - the scheduler: its constants, and which thread spins, assists or sleeps (sched.c). */
#ifndef DPA_EU_SCHED_H
#define DPA_EU_SCHED_H

#include "ctx/schedule.h"
#include "ctx/thread.h"

/* clang-format off */
/*
 * The constants and the reasons for their values. A poll is a call of dpa_hw_progress(), a pass
 * one of dpa_progress_once(); MIN and MAX are the limits of a struct dpa_backoff.
 *
 * SPIN, an application thread that polls. `spin` is the setting of this name, 200 pauses.
 */
#define DPA_RING_CHECKS        8           /* in place of a pause: a ping-pong's answer comes in the ring drained last */
#define DPA_RING_SKIP          16          /* polls: a check of another thread's ring moves its cache line */
#define DPA_KEEP_MIN           8           /* batches for another thread's QPs until that thread gets the ring: */
#define DPA_KEEP_MAX           8192        /* the lines of its QPs are in its cache */
#define DPA_YIELD              10          /* a yield comes after spin / 10 to spin * 10 polls: threads on one core hand */
                                           /* over in microseconds; without another thread it costs a time slice */
#define DPA_POLLS_STEADY       128         /* polls without result: peers need not wake the progress thread */
#define DPA_WIRE_EAGER         4096        /* empty checks of the socket, a system call each, until it is checked */
#define DPA_WIRE_EVERY         32          /* once in this number of passes, */
#define DPA_WIRE_EVERY_BUSY    256         /* or of these if packets come by shared memory */

/* SPIN, the progress thread and an EU: until they sleep. */
#define DPA_SPIN_PASSES        400u        /* without a socket: two yields and some microseconds */
#define DPA_SPIN_WIRE_NS       25000u      /* with one: a check takes 0.25 us on one machine and 2 us on another, */
#define DPA_SPIN_PACKET_NS     500u        /* after a stream this much longer for each packet: a wake-up costs its */
#define DPA_SPIN_STREAM_NS     300000u     /* sender half as much as the receiver; upper limit */
#define DPA_SPIN_HANDOVER      32u         /* passes with packets: endless work goes to a poller of this core */
#define DPA_SPIN_EU_PASSES     2000u       /* of an EU */
#define DPA_SPIN_EU_MARK       200u        /* passes until an EU marks its processor again for pollers */
#define DPA_WAITER_TRIES       2u          /* of a waiting thread, for work that another thread handles */
#define DPA_ANSWER_NS          100000u     /* it polls for an answer of a peer, whose wake-up takes 45 us and its work */
                                           /* 20: its own wake-up of 45 us comes on top otherwise; */
#define DPA_ANSWER_SKIP_MIN    1           /* answers for which it sleeps at once, after one that came later */
#define DPA_ANSWER_SKIP_MAX    64
#define DPA_WAITER_LAST        4           /* passes of a waiter that leaves: a message, its ACK, none */

/* ASSIST: another thread drives progress. */
#define DPA_ASSIST_NS          1000000u    /* between checks that the application still polls */
#define DPA_ASSIST_BUSY_NS     50000u      /* a busy thread may have lost this core: spinning on took 2 ms, a slice */
#define DPA_ASSIST_POLL_NS     50000u      /* a poller shows within this, unless it posts; */
#define DPA_ASSIST_UNREAD_NS   500000u     /* with packets unread it gets this in addition */
#define DPA_OVERDUE_NS         100000u     /* a timer that no poller ran */
#define DPA_IGNORE_MIN         16          /* sleeps for which polling is ignored if packets stayed unread: ib_write_lat */
#define DPA_IGNORE_MAX         256         /* polls its CQ now and then, and waits on its memory */
#define DPA_IGNORE_RESET       64          /* checks that found the application polling */

/* SLEEP. */
#define DPA_SLEEP_FIRST_NS     1000000u    /* data published without a fence is visible by then */
#define DPA_TICK_NS            500000000u  /* checks of peers and QPs, counters */
#define DPA_QUIET_MIN          2           /* ticks between those of a quiet process (quiet.c): 1 s */
#define DPA_QUIET_MAX          32          /* 16 s: a thousand idle processes wake 60 times a second, all together */
#define DPA_RETRY_MIN_NS       128u        /* QPs that cannot continue: a stopped peer with a full ring takes no core */
#define DPA_RETRY_MAX_NS       2097152u
#define DPA_LIVENESS_MIN_NS    10000000u   /* checks of a suspect peer that is alive on the board */
#define DPA_LIVENESS_MAX_NS    1000000000u
#define DPA_LISTEN_NS          10000000u   /* tries to listen again after descriptors ran out */
#define DPA_WATCH_NS           45000u      /* an EU with posters that wake no thread (watch.c): 50 us with */
#define DPA_WATCH_SLACK_NS     5000u       /* the slack of its timer, which is 50 us by default */
#define DPA_WATCH_SELDOM_MIN_NS 1000000u   /* the same while posted WQEs would be flushed */
#define DPA_WATCH_SELDOM_MAX_NS 256000000u
#define DPA_WATCH_BLOCKS       512u        /* of an SQ, taken from it at a time: 32 KiB copied under its lock */
#define DPA_WATCH_FEW          64u         /* of them, if their payload is DPA_WATCH_BYTES: it is sent while the */
#define DPA_WATCH_BYTES        65536u      /* others are taken, as of writes of 1 to 4 KiB on an H100 */
#define DPA_SLICE_NS           100000u     /* time slice of the device's threads, the kernel's least */
/* clang-format on */

enum dpa_sched {
	DPA_SPIN,
	DPA_ASSIST,
	DPA_SLEEP,
};

/* A SPIN phase of the progress thread. Zeroed at its begin. */
struct dpa_spin {
	uint32_t passes;
	uint32_t idle;	/* successive passes without result */
	uint64_t since; /* with a socket: ns time of the first of these; 0: none */
	uint32_t extra; /* ns by which packets that came make the phase longer */
};

/*
 * Return the state after a pass that moved n packets. SPIN without packets: this call paused or
 * yielded. ASSIST: a thread that polls on this processor takes over.
 * Context: service thread.
 */
enum dpa_sched dpa_sched_service(struct dpa_hw *hw, struct dpa_spin *s, uint32_t n);
/* The same for an EU. *idle: its successive passes without result. Never ASSIST. */
enum dpa_sched dpa_sched_eu(struct dpa_hw *hw, uint32_t *idle, int n);
/*
 * Return the state of a thread that waits for an event. there: work is there; *tries: number of
 * successive calls with work. ASSIST: another thread handles it.
 */
enum dpa_sched dpa_sched_waiter(uint32_t *tries, bool there);
/*
 * A waiter expects an answer of a peer. Return the time (ns) until which it polls before it sleeps; 0: it
 * sleeps at once, because earlier answers came later. now: dpa_now_ns(). Context: one thread at a time.
 */
uint64_t dpa_sched_answer_begin(struct dpa_sched_answer *a, uint64_t now);
/* It polled: the answer came in time, or did not. Context: the same. */
void dpa_sched_answer_end(struct dpa_sched_answer *a, bool came);
/*
 * A poller's yield is due: yield. The next one comes soon if another thread polls on its processor,
 * else later.
 */
void dpa_sched_yield(struct dpa_hw *hw);
/*
 * A poll of the application found nothing: yield if it is due, and wake the progress thread to
 * assist. held: the caller may hold a lock of the program's; the yield waits for a poll without it.
 */
static inline void dpa_sched_idle_poll(struct dpa_hw *hw, bool held)
{
	struct dpa_thread *me = &dpa_me;

	if (++me->idle_polls == DPA_POLLS_STEADY &&
	    atomic_load_explicit(&hw->sleep.service, memory_order_relaxed) &&
	    !atomic_load_explicit(&hw->polls.ignored, memory_order_relaxed))
		dpa_wake_self(hw);
	if (++me->since_yield >= me->yield_after && !held)
		dpa_sched_yield(hw);
}
/*
 * True if a thread of the application polls and its polling is not ignored.
 * Context: service thread, as for the next three.
 */
bool dpa_sched_app_polls(struct dpa_hw *hw);
/* The progress thread assisted, and the application polled. */
void dpa_sched_confirm(struct dpa_hw *hw);
/* The application polled, but packets stayed unread: ignore its polling for a while. */
void dpa_sched_ignore(struct dpa_hw *hw);
/* One of the sleeps during which its polling is ignored has passed. */
void dpa_sched_ignore_less(struct dpa_hw *hw);
/*
 * True if another thread of the adapter instance, of any process, has polled on this processor, or
 * began to wait there in dpa_hw_wait_fd_beside(), since the last call. Marks the processor for the caller.
 */
bool dpa_shares_cpu(struct dpa_hw *hw);
/*
 * Set *who, the word of one of the two sleepers. Returns after a full fence: check again before
 * blocking.
 */
void dpa_set_sleep(struct dpa_hw *hw, _Atomic uint32_t *who, uint32_t on);
/* Ask the kernel to run the calling thread, one of the device's, soon after it wakes. */
void dpa_run_soon(void);

#endif
