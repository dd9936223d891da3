/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct.h - the direct one-sided path: an initiator carries out its RDMA WRITE, READ or atomic
 * itself, in memory of the target that it has mapped (direct/share.h), or by process_vm_writev or
 * _readv.
 *
 *   initiator                                  target
 *   (1) hazard = target, fence                 (a) key = 0, gen++  or  grant = less
 *   (2) read grant, gen, key, the entry, conn  (b) fence
 *   (3) grant, gen, conn as before: copy       (c) wait for the hazards that name it
 *   (4) hazard = 0                             (d) the verb returns
 *
 * Here "hazard" is a hazard pointer and "grant" an access capability.
 *
 * Either (3) sees (a) and nothing is touched, or (c) sees (1) and waits. Between the check and the
 * copy of (3) a thread may be stopped for any time. Therefore both are one restartable sequence
 * (rseq(2)) whose last instruction is the system call: a thread that was interrupted checks again.
 * A thread in the system call completes it, stopped or not. Hence (c) need not wait for a thread
 * that is seen stopped, nor for a dead process. For all others together it waits DPA_HAZARD_WAIT_NS
 * at most. After this time a thread is not waited for again while its hazard pointer is unchanged
 * (peer->vain).
 *
 * In mapped memory the sequence is the copy itself, in segments: a thread that was interrupted
 * checks again before it continues. So it stores nothing late, even if the target has stopped
 * waiting for it.
 *
 * A pid may have been reused by another process. So process_vm_* use it only within DPA_ALIVE_TICKS
 * of a time when the target held its lock byte on the board, and the sequence also checks the time.
 *
 * If any condition is not met the operation goes by packet, and the target checks it.
 */
#ifndef DPA_DIRECT_H
#define DPA_DIRECT_H

#include <sys/uio.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"

#define DPA_HAZARD_WAIT_NS 2000000000ull
/* ticks of the time stamp counter: half a millisecond or more */
#define DPA_ALIVE_TICKS	   (1u << 21)

/*
 * Access capability: 16 + 12 + 15 + 16 bits: the peer's QPN (index part), its process index and
 * generation (low bits), the PD; then 5 flags.
 */
#define DPA_GRANT_SLOT_SHIFT 16
#define DPA_GRANT_GEN_SHIFT  28
#define DPA_GRANT_PD_SHIFT   43
#define DPA_GRANT_WRITE	     (1ull << 59)
#define DPA_GRANT_READ	     (1ull << 60)
#define DPA_GRANT_RC	     (1ull << 61)
#define DPA_GRANT_UC	     (1ull << 62)
#define DPA_GRANT_ATOMIC     (1ull << 63)
#define DPA_GRANT_WHO	     (DPA_GRANT_RC | DPA_GRANT_UC | ((1ull << DPA_GRANT_PD_SHIFT) - 1))
_Static_assert(DPA_MAX_PD <= 1 << 16 && DPA_BOARD_PROCS <= 1 << 12 && DPA_BOARD_QPNS <= 1 << 16,
	       "a grant's fields");

/*
 * The process part of a capability: a new process with the index of an earlier one has another
 * generation.
 */
static inline uint64_t dpa_grant_proc(uint32_t slot, uint32_t gen)
{
	return (uint64_t)slot << DPA_GRANT_SLOT_SHIFT | (uint64_t)(gen & 0x7fff)
								<< DPA_GRANT_GEN_SHIFT;
}

/*
 * A connection as seen by the QP's responder: 24 + 3 bits, the first PSN that it expects and its
 * path MTU code; one bit: it has checked no request yet; 32 bits, a number that the QPN did not
 * have before, never 0. A direct operation must meet the same conditions as packets: direct.c,
 * dpa_in_step().
 */
#define DPA_CONN_MTU_SHIFT 24
#define DPA_CONN_FRESH	   (1ull << 31)
#define DPA_CONN_NR_SHIFT  32
static inline uint32_t dpa_conn_mtu(uint64_t conn)
{
	return 128u << (conn >> DPA_CONN_MTU_SHIFT & 7);
}

/* --- guard.c --- */
/* True if this thread can copy under a guard. */
bool dpa_guard_works(void);
uint64_t dpa_guard_ticks(void);
/*
 * Copy by process_vm_writev or _readv between iov and [addr, addr + n) of the process. Returns 0;
 * ESTALE: a condition of the guard is no longer true, and nothing was touched; or the kernel's
 * errno, EFAULT for less than n bytes.
 */
int dpa_guard_copy(const struct dpa_guard *g, bool write, pid_t pid, const struct iovec *iov,
		   int cnt, uint64_t addr, size_t n);

/*
 * The same between the peer's memory that is mapped here and memory of this process,
 * DPA_GUARD_CHUNK bytes at a time. Returns 0, or ESTALE, and then a part may have been copied.
 * Copies in order, with single stores or loads for whole words of the peer.
 */
#define DPA_GUARD_CHUNK (32u * 1024)
int dpa_guard_move(const struct dpa_guard *g, bool write, void *mapped, void *local, size_t n);
/* compare NULL: adds. *old: the old value. 0 or ESTALE. */
int dpa_guard_atomic(const struct dpa_guard *g, uint64_t *at, const uint64_t *compare,
		     uint64_t swap_add, uint64_t *old);

/* --- area.c --- */
/*
 * Return the address at which [addr, addr + n) of the peer, in the region of that entry, is mapped
 * here. NULL: it is not mapped; if *unmapped is not 0, dpa_area_map() may map it. Context: a hazard
 * pointer and the QP's lock are held.
 */
uint8_t *dpa_area_at(struct dpa_peer *p, uint32_t entry, uint64_t addr, uint64_t n,
		     uint32_t *unmapped);
/* Context: this thread holds no hazard pointer. False: not now. */
bool dpa_area_map(struct dpa_peer *p, uint32_t unmapped);
/* Unmap the peer's areas. No thread uses the peer any more. */
void dpa_areas_unmap(struct dpa_peer *p);
/* The device closes: unmap the areas of all peers. */
void dpa_areas_fini(struct dpa_hw *hw);

/* --- direct.c --- */
/* Process index and low bits of the generation, which identify a process in a hazard pointer. */
#define DPA_HAZARD_ID_BITS 18u
static inline uint64_t dpa_hazard_id(uint32_t slot, uint32_t gen)
{
	return slot | (uint64_t)(gen & 0x3f) << 12;
}
/* The QP is set up to receive; it receives its first request. Context: the QP's lock. */
void dpa_conn_begin(struct dpa_hw_qp *qp);
void dpa_conn_used(struct dpa_hw_qp *qp);
/* True if this QP may use the path as initiator. */
bool dpa_direct_able(const struct dpa_hw_qp *qp);
/*
 * Update the QP's capability. Accesses that it withdraws have ended on return. Context: the QP's
 * lock.
 */
void dpa_grant(struct dpa_hw_qp *qp);
/* The same for all QPs. Context: no lock held. */
void dpa_grant_all(struct dpa_hw *hw);
/* Step (1). NULL: all hazard pointers are in use. */
struct dpa_hazard *dpa_hazard_enter(struct dpa_hw *hw, const struct dpa_peer *target);
static inline void dpa_hazard_leave(struct dpa_hazard *h)
{
	atomic_store_explicit(&h->word, 0, memory_order_release);
}
/* Steps (b) and (c): wait until no thread accesses memory here based on what it read before. */
void dpa_hazards_wait(struct dpa_hw *hw);
/*
 * Hazard pointers that name this process, as they were read: those of one peer, or this number of
 * all peers.
 */
#define DPA_HAZARDS_SEEN 64u
_Static_assert(DPA_HAZARDS_SEEN >= DPA_HAZARDS, "those of one peer");
struct dpa_hazards_seen {
	uint32_t n;
	struct {
		struct dpa_peer *p;
		uint32_t i;
		uint64_t w;
	} of[DPA_HAZARDS_SEEN];
};
/*
 * Collect the hazard pointers of the peer's threads that access memory here based on earlier reads,
 * except those that were waited for without success. Context: after a full fence.
 */
void dpa_hazards_see(struct dpa_peer *p, struct dpa_hazards_seen *seen);
/*
 * True if one of them is unchanged; with `closely`, which needs system calls: unchanged and able to
 * do harm. Those that are not are removed.
 */
bool dpa_hazards_stay(struct dpa_hazards_seen *seen, bool closely);
/* The wait for them was without success: no thread waits for them again until they change. */
void dpa_hazards_give_up(const struct dpa_hazards_seen *seen);
/* True if the peer was alive within half of DPA_ALIVE_TICKS; *ticks is set to such a time. */
bool dpa_direct_alive(struct dpa_peer *p, uint64_t *ticks);
/* Call after a system call that used the peer's pid: true if the pid was the peer's then. */
bool dpa_was_alive(struct dpa_peer *p);

/* --- near.c --- */
/*
 * Remember the last operation: in mapped memory of `entry`, by this key, under a hazard pointer and
 * `g`.
 */
void dpa_near_remember(struct dpa_hw_qp *qp, uint32_t rkey, const struct dpa_guard *g,
		       uint32_t entry);
/*
 * Carry out RDMA WRITEs and READs from send_idx up to `pi` that use the region of the QP's last
 * direct operation, *left bytes at most; moved bytes are subtracted from *left. `pi` is the
 * caller's: the poster may advance the doorbell record meanwhile, and a caller whose own `pi` is
 * behind send_idx would go on with WQEs that are not posted. Returns the number carried out. 0: the
 * next one is of another kind or too long, and nothing was done. Context: the QP's lock.
 */
int dpa_near_run(struct dpa_hw_qp *qp, uint32_t pi, uint32_t *left);

/* The rights that a WRITE, READ or atomic needs: in the access capability, and in the key. */
static inline uint64_t dpa_direct_grant(uint8_t op)
{
	return op == DPA_OP_RDMA_WRITE	? DPA_GRANT_WRITE
	       : op == DPA_OP_RDMA_READ ? DPA_GRANT_READ
					: DPA_GRANT_ATOMIC;
}

static inline uint32_t dpa_direct_access(uint8_t op)
{
	return op == DPA_OP_RDMA_WRITE	? DPA_ACCESS_REMOTE_WRITE
	       : op == DPA_OP_RDMA_READ ? DPA_ACCESS_REMOTE_READ
					: DPA_ACCESS_REMOTE_ATOMIC;
}

#define DPA_DIRECT_TOGETHER 64		 /* operations in one call */
#define DPA_DIRECT_ALWAYS   DPA_PULL_MIN /* from this size on the copy dominates, not the call */
static inline void dpa_direct_count(struct dpa_hw *hw, uint32_t ops, uint32_t mapped,
				    uint64_t bytes)
{
	dpa_count(hw, DPA_CNT_direct_ops, ops);
	dpa_count(hw, DPA_CNT_direct_bytes, bytes);
	if (mapped)
		dpa_count(hw, DPA_CNT_mapped_ops, mapped);
}
/* True if this QP's PSNs are those that its peer expects; records it. The peer is UP. */
bool dpa_in_step(struct dpa_hw_qp *qp);

#endif
