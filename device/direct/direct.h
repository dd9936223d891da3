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
 * Either (3) sees (a) and nothing is touched, or (c) sees (1) and waits. Between the look and the
 * copy of (3) a thread may be stopped for any time: they are one restartable sequence (rseq(2)),
 * whose last instruction is the system call, so that a thread that was interrupted looks again. A
 * thread in the system call finishes it, stopped or not. Hence (c) need not wait for a thread that
 * is seen stopped, nor for a dead process; for all others together it waits DPA_HAZARD_WAIT_NS at
 * most. A thread that was given up is not waited for again while its hazard stays as it was
 * (peer->vain).
 *
 * In mapped memory the sequence is the copy itself, in pieces: who is interrupted looks again
 * before he goes on, so that nothing is stored there late, whoever was given up.
 *
 * A pid may be another process's by now: process_vm_* use it only within DPA_ALIVE_TICKS of the
 * time when the target held its byte of the board, and the sequence looks at the time as well.
 *
 * Anything that is not as it must be goes by packet, where the target judges it.
 */
#ifndef DPA_DIRECT_H
#define DPA_DIRECT_H

#include <sys/uio.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"

#define DPA_HAZARD_WAIT_NS 2000000000ull
#define DPA_ALIVE_TICKS	   (1u << 21) /* of the time stamp counter: half a millisecond or more */

/*
 * A grant: 16 + 12 + 15 + 16 bits, its peer's QPN (index part), process index and generation (low
 * bits), the PD; then 5 flags.
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

/* The process of a grant: an initiator in the slot of an earlier one has another generation. */
static inline uint64_t dpa_grant_proc(uint32_t slot, uint32_t gen)
{
	return (uint64_t)slot << DPA_GRANT_SLOT_SHIFT | (uint64_t)(gen & 0x7fff)
								<< DPA_GRANT_GEN_SHIFT;
}

/*
 * A connection as the QP's responder sees it: 24 + 3 bits, the first PSN that it expects and its
 * path MTU code; it has judged no request yet; 32 bits, a number that the QPN did not have before,
 * never 0. A direct operation meets the same conditions as packets: direct.c, dpa_in_step().
 */
#define DPA_CONN_MTU_SHIFT 24
#define DPA_CONN_FRESH	   (1ull << 31)
#define DPA_CONN_NR_SHIFT  32
static inline uint32_t dpa_conn_mtu(uint64_t conn)
{
	return 128u << (conn >> DPA_CONN_MTU_SHIFT & 7);
}

/* --- guard.c --- */
/* Can this thread copy under a guard? */
bool dpa_guard_works(void);
uint64_t dpa_guard_ticks(void);
/*
 * process_vm_writev or _readv between iov and [addr, addr + n) of the process: 0, ESTALE: something
 * of the guard is not so any more, and nothing was touched; or the kernel's word, EFAULT for less
 * than n bytes.
 */
int dpa_guard_copy(const struct dpa_guard *g, bool write, pid_t pid, const struct iovec *iov,
		   int cnt, uint64_t addr, size_t n);

/*
 * The same between memory of the peer's that is mapped here and memory of this process,
 * DPA_GUARD_CHUNK bytes at a time: 0, or ESTALE, and some of it may have been copied. From the
 * front to the end, whole words of the peer's at once.
 */
#define DPA_GUARD_CHUNK (32u * 1024)
int dpa_guard_move(const struct dpa_guard *g, bool write, void *mapped, void *local, size_t n);
/* compare NULL: adds. *old: the value before; 0 or ESTALE. */
int dpa_guard_atomic(const struct dpa_guard *g, uint64_t *at, const uint64_t *compare,
		     uint64_t swap_add, uint64_t *old);

/* --- area.c --- */
/*
 * Under a hazard and the QP's lock: where [addr, addr + n) of the peer's, in the region of that
 * entry, is mapped here. NULL: it is not; *unmapped, if not 0: it may be, by dpa_area_map().
 */
uint8_t *dpa_area_at(struct dpa_peer *p, uint32_t entry, uint64_t addr, uint64_t n,
		     uint32_t *unmapped);
/* Under no hazard of this thread. False: not now. */
bool dpa_area_map(struct dpa_peer *p, uint32_t unmapped);
/* Nobody is at work with the peer any more. */
void dpa_areas_unmap(struct dpa_peer *p);
/* The device closes: of all peers. */
void dpa_areas_fini(struct dpa_hw *hw);

/* --- direct.c --- */
/* Process index and low bits of the generation, as a hazard names a process. */
#define DPA_HAZARD_ID_BITS 18u
static inline uint64_t dpa_hazard_id(uint32_t slot, uint32_t gen)
{
	return slot | (uint64_t)(gen & 0x3f) << 12;
}
/* Under the QP's lock: it is set up to receive; and it meets its first request. */
void dpa_conn_begin(struct dpa_hw_qp *qp);
void dpa_conn_used(struct dpa_hw_qp *qp);
/* May this QP, as initiator, use the path at all? */
bool dpa_direct_able(const struct dpa_hw_qp *qp);
/* Under the QP's lock; what it takes back has ended when it returns. */
void dpa_grant(struct dpa_hw_qp *qp);
/* The same for all QPs; no lock may be held. */
void dpa_grant_all(struct dpa_hw *hw);
/* (1); NULL: all are taken. */
struct dpa_hazard *dpa_hazard_enter(struct dpa_hw *hw, const struct dpa_peer *target);
static inline void dpa_hazard_leave(struct dpa_hazard *h)
{
	atomic_store_explicit(&h->word, 0, memory_order_release);
}
/* (b) and (c): nobody is at work here with what he saw before. */
void dpa_hazards_wait(struct dpa_hw *hw);
/* Hazards that name this process, as they were: those of one peer, or as many of all. */
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
/* Behind a full fence: who of the peer is at work here with what he saw before it, but for those
 * that were waited for in vain. */
void dpa_hazards_see(struct dpa_peer *p, struct dpa_hazards_seen *seen);
/*
 * Is one of them still as it was? `closely`, which takes system calls: and may do harm? Those that
 * are not are forgotten.
 */
bool dpa_hazards_stay(struct dpa_hazards_seen *seen, bool closely);
/* They were waited for in vain: until they change nobody waits for them again. */
void dpa_hazards_give_up(const struct dpa_hazards_seen *seen);
/* Was the peer alive within half of DPA_ALIVE_TICKS? Then *ticks is such a time. */
bool dpa_direct_alive(struct dpa_peer *p, uint64_t *ticks);
/* Behind a system call that named its pid: was it the peer's then? */
bool dpa_was_alive(struct dpa_peer *p);

/* --- near.c --- */
/* The last operation was in mapped memory of `entry`, by this key, under a hazard and `g`. */
void dpa_near_remember(struct dpa_hw_qp *qp, uint32_t rkey, const struct dpa_guard *g,
		       uint32_t entry);
/*
 * RDMA WRITEs and READs at send_idx that go where the QP's last direct operation went, under the
 * QP's lock, *left bytes at most, of which those that were moved are taken off: how many were
 * carried out. 0: the next one is not of that kind, or too long, and nothing was done.
 */
int dpa_near_run(struct dpa_hw_qp *qp, uint32_t *left);

/* The rights that a WRITE, READ or atomic needs: of the access capability, and of the key. */
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

#define DPA_DIRECT_TOGETHER 64		 /* operations of one call */
#define DPA_DIRECT_ALWAYS   DPA_PULL_MIN /* from this size on the copy counts, not the call */
static inline void dpa_direct_count(struct dpa_hw *hw, uint32_t ops, uint32_t mapped,
				    uint64_t bytes)
{
	dpa_count(hw, DPA_CNT_direct_ops, ops);
	dpa_count(hw, DPA_CNT_direct_bytes, bytes);
	if (mapped)
		dpa_count(hw, DPA_CNT_mapped_ops, mapped);
}

#endif
