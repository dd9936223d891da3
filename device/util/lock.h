/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lock.h - the two locks of the data path, and the wait loop that they share.
 * Lock order: ring (consumer) > QP > SRQ > CQ > schedule list; never two of one kind. A ring's
 * producer lock is a leaf.
 */
#ifndef DPA_LOCK_H
#define DPA_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define DPA_TSAN 1 /* gcc */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DPA_TSAN 1 /* clang */
#endif
#endif

#define DPA_CACHE_LINE	64
/*
 * A step of the data path that its general path and its fast path share: always inlined, so that
 * constant arguments decide at compile time.
 */
#define DPA_STEP	static inline __attribute__((always_inline))
#define dpa_likely(x)	__builtin_expect(!!(x), 1)
#define dpa_unlikely(x) __builtin_expect(!!(x), 0)

/*
 * Full fence: stores before it are visible before loads after it are done. ThreadSanitizer does not
 * model fences; an atomic exchange has the same effect for it.
 */
static inline void dpa_full_fence(void)
{
#ifdef DPA_TSAN
	static _Atomic uint32_t tsan_word;

	atomic_fetch_add_explicit(&tsan_word, 1, memory_order_seq_cst);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Weaker fences. With ThreadSanitizer, which does not model fences, they are full ones. */
static inline void dpa_acquire_fence(void)
{
#ifdef DPA_TSAN
	dpa_full_fence();
#else
	atomic_thread_fence(memory_order_acquire);
#endif
}

static inline void dpa_release_fence(void)
{
#ifdef DPA_TSAN
	dpa_full_fence();
#else
	atomic_thread_fence(memory_order_release);
#endif
}

static inline void dpa_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * A wait loop spins for a while (200 pauses by default), then yields: two threads on one core hand
 * over within microseconds instead of scheduler slices.
 */
extern uint32_t dpa_spin_pauses; /* setting `spin`; written before the first thread starts */

static inline void dpa_relax(uint32_t *n)
{
	if (++*n % dpa_spin_pauses == 0)
		sched_yield();
	else
		dpa_pause();
}

typedef struct {
	_Atomic uint32_t v; /* 0 free, 1 held */
} dpa_spin_t;

static inline bool dpa_spin_try(dpa_spin_t *l)
{
	return !atomic_load_explicit(&l->v, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&l->v, 1, memory_order_acquire);
}

static inline void dpa_spin_lock(dpa_spin_t *l)
{
	uint32_t n = 0;

	while (atomic_exchange_explicit(&l->v, 1, memory_order_acquire))
		while (atomic_load_explicit(&l->v, memory_order_relaxed))
			dpa_relax(&n);
}

static inline void dpa_spin_unlock(dpa_spin_t *l)
{
	atomic_store_explicit(&l->v, 0, memory_order_release);
}

/*
 * The lock of a QP. A thread that finds it taken may leave a note instead of waiting; the holder
 * then carries out the work before it unlocks. States: FREE, HELD, NOTED (held, and work was left).
 */
enum { DPA_QPL_FREE, DPA_QPL_HELD, DPA_QPL_NOTED };

typedef struct {
	_Atomic uint32_t v;
} dpa_qplock_t;

/* True: the caller holds the lock. False: another thread does. */
static inline bool dpa_qplock_try(dpa_qplock_t *l)
{
	uint32_t v = DPA_QPL_FREE;

	return atomic_compare_exchange_strong_explicit(&l->v, &v, DPA_QPL_HELD,
						       memory_order_acquire, memory_order_relaxed);
}

/* True: the caller holds the lock. False: it left a note for the holder. */
static inline bool dpa_qplock_enter_or_note(dpa_qplock_t *l)
{
	uint32_t v = DPA_QPL_FREE;

	for (;;) {
		if (v == DPA_QPL_FREE) {
			if (atomic_compare_exchange_weak_explicit(&l->v, &v, DPA_QPL_HELD,
								  memory_order_acquire,
								  memory_order_relaxed))
				return true;
		} else if (atomic_compare_exchange_weak_explicit(&l->v, &v, DPA_QPL_NOTED,
								 memory_order_acq_rel,
								 memory_order_relaxed)) {
			return false;
		}
	}
}

static inline void dpa_qplock_lock(dpa_qplock_t *l)
{
	uint32_t n = 0, v = DPA_QPL_FREE;

	while (!atomic_compare_exchange_weak_explicit(&l->v, &v, DPA_QPL_HELD, memory_order_acquire,
						      memory_order_relaxed)) {
		v = DPA_QPL_FREE;
		dpa_relax(&n);
	}
}

/* True: unlocked. False: still locked, because a note was left: do the work and call again. */
static inline bool dpa_qplock_leave(dpa_qplock_t *l)
{
	uint32_t v = DPA_QPL_HELD;

	if (atomic_compare_exchange_strong_explicit(&l->v, &v, DPA_QPL_FREE, memory_order_release,
						    memory_order_relaxed))
		return true;
	atomic_exchange_explicit(&l->v, DPA_QPL_HELD, memory_order_acquire);
	return false;
}

#endif
