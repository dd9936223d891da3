/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_replaced.c - a process ends and another one takes its process index before a thread here has
 * checked it: this process was stopped meanwhile, or the machine is busy. QPs that wait for the
 * first one get the error.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "ctx/schedule.h"
#include "ctx/copy.h"
#include "link/peer.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "gsi/gsi.h"
#include "direct/direct.h"
#include "link/inspect.h"
#include "link/sock.h"
#include "link/udp/wire.h"
#include "eu/peer_end.h"
#include "eu/drain.h"
#include "ctx/ops.h"

enum { SLOT = 3 };

static struct dpa_hw *hw;
static struct dpa_board board;
static uint32_t living_gen; /* of SLOT */
static struct dpa_hw_qp *told;
static int reaps;

/* -------------------------------------------------- stand-ins for peer.c */

uint32_t dpa_spin_pauses = 200;
_Thread_local struct dpa_thread dpa_me;

bool dpa_board_alive(struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	return slot == SLOT && gen == living_gen;
}

bool dpa_board_qpn_owner(struct dpa_board *b, uint32_t qpn, uint32_t *slot, uint32_t *gen)
{
	return false;
}

void dpa_gsi_look(struct dpa_hw *h)
{
}

int dpa_board_reap(struct dpa_board *b)
{
	return reaps++;
}

void dpa_requester_peer_dead(struct dpa_hw_qp *qp)
{
	told = qp;
}

void dpa_qp_leave(struct dpa_hw_qp *qp)
{
	dpa_qplock_leave(&qp->lock);
}

void dpa_acks_wait(struct dpa_peer *p)
{
	(void)p;
}

static uint64_t clock_ns;
static uint32_t drains;

uint64_t dpa_now_ns(void)
{
	return clock_ns += 1000000;
}

/* The first packet of the ring waits for an event that never comes. */
int dpa_lane_drain_wait(struct dpa_rx *rx)
{
	cr_assert_lt(drains, 100000, "endless");
	drains++;
	return 0;
}

void dpa_wake_self(struct dpa_hw *h)
{
}

void dpa_areas_unmap(struct dpa_peer *p)
{
}

static void grant_all(struct dpa_hw *h)
{
}

static const struct dpa_hw_ops ops = {.grant_all = grant_all};

void dpa_inspect_lanes(struct dpa_peer *p)
{
}

void dpa_inspect_last(struct dpa_peer *p)
{
}

int dpa_sock_init(struct dpa_hw *h)
{
	return 0;
}

void dpa_sock_fini(struct dpa_hw *h)
{
}

void dpa_sock_connect(struct dpa_peer *p)
{
}

void dpa_wire_fini(struct dpa_hw *h)
{
}

/* ------------------------------------------------------------------------ */

static struct dpa_hw_qp *qp_of(struct dpa_peer *p, uint32_t index)
{
	struct dpa_hw_qp *qp = aligned_alloc(2 * DPA_CACHE_LINE, sizeof(*qp));

	cr_assert_not_null(qp);
	memset(qp, 0, sizeof(*qp));
	qp->qpn = index + 1;
	qp->peer = p;
	hw->qps.slab[index] = qp;
	atomic_store(&hw->qps.nslab, index + 1);
	return qp;
}

static void setup(void)
{
	static _Atomic uint64_t counters[DPA_BOARD_COUNTERS];

	hw = aligned_alloc(DPA_CACHE_LINE, (sizeof(*hw) + 63) & ~63ul);
	cr_assert_not_null(hw);
	memset(hw, 0, sizeof(*hw));
	memset(&board, 0, sizeof(board));
	board.slot = board.gen = 1;
	hw->board = &board;
	hw->ops = &ops;
	hw->cnt = counters;
	hw->fd.epoll = -1;
	hw->qps.slab = calloc(4, sizeof(*hw->qps.slab));
	cr_assert_not_null(hw->qps.slab);
	told = NULL;
	reaps = 0;
}

static void teardown(void)
{
	for (uint32_t i = 0; i < atomic_load(&hw->qps.nslab); i++)
		free(hw->qps.slab[i]);
	free(hw->qps.slab);
	dpa_link_fini(hw);
	free(hw);
}

TestSuite(replaced, .init = setup, .fini = teardown);

Test(replaced, a_waiter_for_the_first_one_is_notified)
{
	struct dpa_peer *first = dpa_peer_get(hw, SLOT, 5), *second;
	struct dpa_hw_qp *waits, *other;

	cr_assert_not_null(first);
	waits = qp_of(first, 0);
	dpa_peer_suspect(first); /* no process listens at its name any more */
	second = dpa_peer_get(hw, SLOT, 6);
	cr_assert_neq(first, second);
	other = qp_of(second, 1);
	living_gen = 6;
	cr_expect_not(dpa_peers_check(hw), "nothing is left to be asked");
	cr_expect_eq(told, waits);
	cr_expect_neq(told, other);
	cr_expect_eq(atomic_load(&first->state), (uint32_t)DPA_PEER_DEAD);
	cr_expect_eq(atomic_load(&second->state), (uint32_t)DPA_PEER_CONNECTING);
	cr_expect_eq(atomic_load(&hw->peers[SLOT]), second, "the second keeps its place");
	cr_expect_eq(reaps, 1);
	told = NULL;
	cr_expect_not(dpa_peers_check(hw));
	cr_expect_null(told, "once");
}

/* Its lock byte is released later than its sockets: it is checked again. */
Test(replaced, a_suspect_peer_stays_one_while_the_board_has_it_alive)
{
	struct dpa_peer *p = dpa_peer_get(hw, SLOT, 5);
	struct dpa_hw_qp *qp = qp_of(p, 0);

	dpa_peer_suspect(p);
	living_gen = 5;
	cr_expect(dpa_peers_check(hw));
	cr_expect_eq(atomic_load(&hw->live.suspects), 1u);
	cr_expect_null(told);
	living_gen = 0;
	cr_expect_not(dpa_peers_check(hw));
	cr_expect_eq(told, qp);
	cr_expect_null(atomic_load(&hw->peers[SLOT]));
}

static struct dpa_peer *with_a_packet(void)
{
	struct dpa_peer *p = dpa_peer_get(hw, SLOT, 5);
	static struct dpa_lane_shm ring;
	struct dpa_lane_shm *shm = &ring;

	cr_assert_not_null(p);
	for (uint32_t i = 0; i < DPA_LANES; i++)
		atomic_store(&p->rx[i].shm, shm);
	atomic_store(&shm->slots[0].seq, 1);
	atomic_store(&p->rx_up, 1);
	drains = 0;
	return p;
}

/* Such a packet delays neither the end of another connection nor that of its sender. */
Test(replaced, a_packet_that_must_wait)
{
	struct dpa_peer *p = with_a_packet();

	dpa_peers_drain(hw);
	cr_expect_eq(drains, DPA_LANES);
	dpa_peer_suspect(p);
	living_gen = 0;
	cr_expect_not(dpa_peers_check(hw));
	cr_expect_eq(atomic_load(&p->state), (uint32_t)DPA_PEER_DEAD);
}
