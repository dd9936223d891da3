/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qpn.c - the QPN space. A QPN is taken by CAS on its owner word, without a lock.
 *
 * Its index is random within a block of 64, which the process picks at random among the blocks
 * without another owner as long as there are some. So the records of a process's QPs lie together
 * (4 KiB for 64 of them), and late packets for a destroyed QP find no other QP. A freed QPN is
 * quarantined for REST_MS. Only if nothing else is left, the one that was freed first is taken
 * sooner.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "board_priv.h"

#define BLOCK	     DPA_BOARD_QPN_BLOCK
#define BLOCKS	     (DPA_BOARD_QPNS / BLOCK)
#define ROOMY	     (BLOCK / 4) /* with fewer QPNs to choose from, try another block */
#define REST_MS	     1000u
#define RANDOM_TRIES 32

/* Odd, so never 0; wraps after 49 days. */
static uint32_t qpn_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint32_t)((uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u) | 1u;
}

static uint32_t random_u32(void)
{
	uint32_t r;

	/* Cannot fail for 4 bytes once the kernel's pool is ready; open() needed it too. */
	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = qpn_now_ms() * 2654435761u;
	return r;
}

static bool is_rested(const struct dpa_board_qpn *q, uint32_t now)
{
	uint32_t freed = atomic_load_explicit(&q->freed, memory_order_relaxed);

	return freed == 0 || now - freed >= REST_MS;
}

static bool is_usable(const struct dpa_board_qpn *q, uint32_t now, bool need_rest)
{
	return atomic_load_explicit(&q->owner, memory_order_acquire) == 0 &&
	       (!need_rest || is_rested(q, now));
}

static int reserve_block(struct dpa_board *b, uint32_t block)
{
	uint32_t i = block * BLOCK;
	int rc = dpa_board_reserve_entry(b, DPA_BOARD_OFF_QPNS + i * sizeof(struct dpa_board_qpn),
					 BLOCK * sizeof(struct dpa_board_qpn));

	return rc ? rc
		  : dpa_board_reserve_entry(
			    b, DPA_BOARD_OFF_QPINFO + i * sizeof(struct dpa_board_qpinfo),
			    BLOCK * sizeof(struct dpa_board_qpinfo));
}

static bool take_index(struct dpa_board *b, uint32_t i, bool need_rest)
{
	struct dpa_board_qpn *q = &b->shm->qpns[i];
	dpa_owner_t none = 0;

	if (!atomic_compare_exchange_strong_explicit(&q->owner, &none, dpa_board_me(b),
						     memory_order_acq_rel, memory_order_relaxed))
		return false;
	DPA_BOARD_STEP("qpn-owned");
	/* Another thread may have taken and freed it between the check and the CAS. */
	if (need_rest && !is_rested(q, qpn_now_ms())) {
		atomic_store_explicit(&q->owner, 0, memory_order_release);
		return false;
	}
	memset(&b->shm->qpinfo[i], 0, sizeof(struct dpa_board_qpinfo));
	return true;
}

/* Takes a random usable QPN of the block if the block has at least `least` of them. */
static int take_in_block(struct dpa_board *b, uint32_t block, uint32_t least, uint32_t *index)
{
	uint32_t cand[BLOCK], n = 0, now = qpn_now_ms();
	int rc = reserve_block(b, block);

	if (rc)
		return rc;
	for (uint32_t i = block * BLOCK; i < (block + 1) * BLOCK; i++)
		if (is_usable(&b->shm->qpns[i], now, true))
			cand[n++] = i;
	while (n >= least && n > 0) {
		uint32_t k = random_u32() % n;

		if (take_index(b, cand[k], true)) {
			*index = cand[k];
			return 0;
		}
		cand[k] = cand[--n];
	}
	return EAGAIN;
}

/* All are taken or in quarantine: takes the one that was freed first. */
static int take_oldest(struct dpa_board *b, uint32_t *index)
{
	uint32_t now = qpn_now_ms(), best = 0, best_age = 0;
	bool found = false;

	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++) {
		struct dpa_board_qpn *q = &b->shm->qpns[i];
		uint32_t age;

		if (!dpa_board_present(b, DPA_BOARD_OFF_QPNS + i * sizeof(*q)) ||
		    !dpa_board_present(b, DPA_BOARD_OFF_QPINFO +
						  i * sizeof(struct dpa_board_qpinfo)) ||
		    !is_usable(q, now, false))
			continue;
		age = now - atomic_load_explicit(&q->freed, memory_order_relaxed);
		if (!found || age > best_age) {
			found = true;
			best = i;
			best_age = age;
		}
	}
	if (!found)
		return ENOMEM;
	*index = best;
	return take_index(b, best, false) ? 0 : EAGAIN;
}

static int take_qpn(struct dpa_board *b, uint32_t *index)
{
	uint32_t block = atomic_load_explicit(&b->qpn_block, memory_order_relaxed);
	int rc, full = ENOMEM;

	if (block >= BLOCKS)
		block = random_u32() % BLOCKS;
	for (int i = 0; i < RANDOM_TRIES; i++) {
		/*
		 * port 4791 is steered by blocks: two processes in one block cost packets a detour
		 */
		bool ours = i > RANDOM_TRIES / 2 ||
			    block == atomic_load_explicit(&b->qpn_block, memory_order_relaxed);

		if (take_in_block(b, block, ours ? ROOMY : BLOCK, index) == 0) {
			atomic_store_explicit(&b->qpn_block, block, memory_order_relaxed);
			return 0;
		}
		block = random_u32() % BLOCKS;
	}
	for (uint32_t i = 0; i < BLOCKS; i++) {
		rc = take_in_block(b, (block + i) % BLOCKS, 1, index);
		if (!rc)
			return 0;
		if (rc == ENOSPC)
			full = ENOSPC;
	}
	do
		rc = take_oldest(b, index);
	while (rc == EAGAIN);
	return rc == ENOMEM ? full : rc;
}

int dpa_board_qpn_alloc(struct dpa_board *b, uint32_t *qpn)
{
	uint32_t index;
	int rc = take_qpn(b, &index);

	if (rc && dpa_board_reap(b) > 0)
		rc = take_qpn(b, &index);
	if (rc)
		return rc;
	atomic_fetch_add_explicit(&b->nqpn, 1, memory_order_relaxed);
	*qpn = b->board_num << 16 | index;
	return 0;
}

/* owner: this process or a dead one, which owns it. */
void dpa_board_qpn_clear(struct dpa_board *b, uint32_t index, dpa_owner_t owner)
{
	struct dpa_board_qpn *q = &b->shm->qpns[index];

	if (dpa_board_present(b, DPA_BOARD_OFF_QPINFO + index * sizeof(struct dpa_board_qpinfo)))
		memset(&b->shm->qpinfo[index], 0, sizeof(struct dpa_board_qpinfo));
	atomic_store_explicit(&q->freed, qpn_now_ms(), memory_order_relaxed);
	atomic_compare_exchange_strong_explicit(&q->owner, &owner, 0, memory_order_release,
						memory_order_relaxed);
}

static struct dpa_board_qpn *qpn_entry(struct dpa_board *b, uint32_t qpn)
{
	uint32_t i = qpn & (DPA_BOARD_QPNS - 1);

	if (qpn >> 16 != b->board_num ||
	    !dpa_board_present(b, DPA_BOARD_OFF_QPNS + i * sizeof(struct dpa_board_qpn)))
		return NULL;
	return &b->shm->qpns[i];
}

void dpa_board_qpn_free(struct dpa_board *b, uint32_t qpn)
{
	struct dpa_board_qpn *q = qpn_entry(b, qpn);

	if (!q || atomic_load_explicit(&q->owner, memory_order_relaxed) != dpa_board_me(b))
		return;
	dpa_board_qpn_clear(b, qpn & (DPA_BOARD_QPNS - 1), dpa_board_me(b));
	atomic_fetch_sub_explicit(&b->nqpn, 1, memory_order_relaxed);
}

bool dpa_board_qpn_owner(struct dpa_board *b, uint32_t qpn, uint32_t *slot, uint32_t *gen)
{
	struct dpa_board_qpn *q = qpn_entry(b, qpn);
	dpa_owner_t o = q ? atomic_load_explicit(&q->owner, memory_order_acquire) : 0;

	if (o == 0 || dpa_owner_slot(o) >= DPA_BOARD_PROCS)
		return false;
	*slot = dpa_owner_slot(o);
	*gen = dpa_owner_gen(o);
	return true;
}
