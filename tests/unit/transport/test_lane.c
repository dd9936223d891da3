/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_lane.c - the shared memory link: a ring of entries and a ring of data between one producer
 * and one consumer.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include "link/lane.h"
#include "harness.h"

struct lane {
	struct dpa_tx tx;
	struct dpa_rx rx;
	struct dpa_lane_shm *shm;
};

/*
 * Indices start at the test's value: they are free running. The entries hold the marks of the
 * previous lap: with entries of zeroes, index 2^32 - 1 would look full before it was written.
 */
static void open_lane(struct lane *l, uint32_t start, uint32_t dstart)
{
	memset(l, 0, sizeof(*l));
	l->shm = aligned_alloc(4096, sizeof(*l->shm));
	cr_assert_not_null(l->shm);
	memset(l->shm, 0, sizeof(*l->shm));
	l->tx.shm = l->shm;
	l->tx.head = l->tx.tail = start;
	l->tx.dhead = l->tx.dtail = l->rx.dnext = dstart;
	atomic_store(&l->rx.shm, l->shm);
	atomic_store(&l->rx.next, start);
	atomic_store(&l->shm->tail, start);
	atomic_store(&l->shm->dtail, dstart);
	for (uint32_t i = start - DPA_LANE_SLOTS; start && i != start; i++)
		atomic_store(&l->shm->slots[i % DPA_LANE_SLOTS].seq, i + 1);
}

static bool put(struct lane *l, uint32_t id, uint32_t len)
{
	uint8_t *data = NULL;
	struct dpa_slot *s = dpa_lane_reserve(&l->tx, len, &data);

	if (!s)
		return false;
	s->psn = id;
	s->len = len;
	if (len) {
		/* contiguous, aligned, inside */
		cr_assert_eq((uintptr_t)(data - l->shm->data) % 64, 0);
		cr_assert_leq(data + len, l->shm->data + DPA_LANE_DATA);
		th_fill(data, len, id);
	}
	dpa_lane_publish(&l->tx, s);
	return true;
}

static bool get(struct lane *l, uint32_t id)
{
	uint32_t next = atomic_load_explicit(&l->rx.next, memory_order_relaxed);
	struct dpa_slot s;

	if (!dpa_lane_ready(&l->rx))
		return false;
	memcpy(&s, &l->shm->slots[next % DPA_LANE_SLOTS], sizeof(s));
	cr_assert_eq(s.psn, id);
	if (s.len) {
		cr_assert(
			th_check(l->shm->data + (size_t)(s.data % DPA_LANE_UNITS) * 64, s.len, id));
		l->rx.dnext = s.data + (s.len + 63) / 64;
	}
	atomic_store_explicit(&l->rx.next, next + 1, memory_order_relaxed);
	return true;
}

Test(transport_lane, holds_as_many_slots_as_it_has)
{
	struct lane l;

	for (uint32_t start = 0; start < 2; start++) {
		uint32_t n = 0, m = 0;

		open_lane(&l, start ? 0xffffff00u : 0, 0);
		while (put(&l, n, 0))
			n++;
		cr_expect_eq(n, DPA_LANE_SLOTS);
		cr_expect_not(put(&l, n, 0));
		cr_expect(get(&l, m++));
		cr_expect_not(put(&l, n, 0), "consumed is not yet handed back");
		dpa_lane_release(&l.rx);
		cr_expect(put(&l, n++, 0));
		while (get(&l, m))
			m++;
		cr_expect_eq(m, n);
		free(l.shm);
	}
}

/* Publishes an entry with this opcode. Its opcode in the ring. */
static uint8_t sent_as(struct lane *l, uint8_t opcode)
{
	struct dpa_slot *s = dpa_lane_reserve(&l->tx, 0, NULL);

	cr_assert_not_null(s);
	s->opcode = opcode;
	s->len = 0;
	dpa_lane_publish(&l->tx, s);
	return s->opcode;
}

/* As ib_port's port_xmit_discards: also what the peer never sees. */
Test(transport_lane, what_a_port_that_is_down_sends_is_lost_and_counted)
{
	static _Atomic uint64_t cnt[DPA_CNT_NUM];
	struct dpa_hw *hw = calloc(1, sizeof(*hw));
	struct dpa_peer *peer = calloc(1, sizeof(*peer));
	struct lane l;

	cr_assert(hw && peer);
	hw->cnt = cnt;
	peer->hw = hw;
	open_lane(&l, 0, 0);
	l.tx.peer = peer;
	cr_assert(put(&l, 0, 64));
	cr_expect_eq(cnt[DPA_CNT_tx_dropped], 0);
	atomic_store(&l.tx.down, true);
	cr_assert(put(&l, 1, 64));
	cr_expect_eq(cnt[DPA_CNT_tx_dropped], 1);
	cr_expect_neq(l.shm->slots[0].opcode, DPA_LINK_LOST);
	cr_expect_eq(l.shm->slots[1].opcode, DPA_LINK_LOST);
	/* a frame of another process goes on, a message between adapters is no packet */
	cr_expect_eq(sent_as(&l, DPA_LINK_FRAME), DPA_LINK_FRAME);
	cr_expect_eq(sent_as(&l, DPA_LINK_ASK), DPA_LINK_LOST);
	cr_expect_eq(sent_as(&l, DPA_LINK_ROOM), DPA_LINK_LOST);
	cr_expect_eq(cnt[DPA_CNT_tx_dropped], 1);
	cr_expect_eq(sent_as(&l, DPA_LINK_RAW), DPA_LINK_LOST);
	cr_expect_eq(cnt[DPA_CNT_tx_dropped], 2);
	free(l.shm);
	free(peer);
	free(hw);
}

Test(transport_lane, a_full_data_area_is_no_room)
{
	struct lane l;
	uint32_t n = 0;

	open_lane(&l, 0, 0xffffffc0u);
	while (put(&l, n, 8192))
		n++;
	cr_expect_eq(n, DPA_LANE_DATA / 8192 - 1, "a piece that would wrap starts the next lap");
	cr_expect(put(&l, n, 0), "a packet without data still fits");
	for (uint32_t i = 0; i <= n; i++)
		cr_expect(get(&l, i));
	cr_expect_not(put(&l, n + 1, 8192));
	dpa_lane_release(&l.rx);
	cr_expect(put(&l, n + 1, 8192));
	cr_expect(get(&l, n + 1));
	free(l.shm);
}

/* All lengths around a unit and around the end of the lap. */
Test(transport_lane, data_is_contiguous)
{
	uint64_t seed = 7;
	struct lane l;

	open_lane(&l, 0xfffffff0u, 0xffffff00u);
	for (uint32_t id = 0; id < 200000; id++) {
		uint32_t len = th_rand(&seed) % 4 ? th_rand(&seed) % 200
						  : th_rand(&seed) % (DPA_LANE_MTU + 1);

		cr_assert(put(&l, id, len));
		cr_assert(get(&l, id));
		dpa_lane_release(&l.rx);
	}
	free(l.shm);
}

/* Also if the mark for "full" is 0: no entry is present before it was published. */
Test(transport_lane, no_index_is_full_before_it_was_written)
{
	struct lane l;

	open_lane(&l, 0xffffff00u, 0);
	for (uint32_t id = 0; id < 2 * DPA_LANE_SLOTS; id++) {
		cr_assert_not(dpa_lane_ready(&l.rx), "packet %u", id);
		cr_assert(put(&l, id, 0));
		cr_assert(get(&l, id));
		dpa_lane_release(&l.rx);
	}
	free(l.shm);
}

/* A packet that was begun and dropped (its memory is gone) occupied its data area for ever. */
Test(transport_lane, what_is_not_published_takes_no_room)
{
	struct lane l;
	uint8_t *data;

	open_lane(&l, 0, 0);
	for (uint32_t i = 0; i < 100; i++)
		cr_assert_not_null(dpa_lane_reserve(&l.tx, DPA_LANE_MTU, &data));
	cr_assert(put(&l, 0, DPA_LANE_MTU));
	cr_assert(get(&l, 0));
	free(l.shm);
}

#define THREAD_PACKETS 100000u

static void *producer(void *arg)
{
	struct lane *l = arg;
	uint64_t seed = 11;
	uint32_t spins = 0;

	for (uint32_t id = 0; id < THREAD_PACKETS; id++) {
		uint32_t len = th_rand(&seed) % 8 ? th_rand(&seed) % 100
						  : th_rand(&seed) % (DPA_LANE_MTU + 1);

		while (!put(l, id, len))
			dpa_relax(&spins);
	}
	return NULL;
}

Test(transport_lane, one_producer_and_one_consumer)
{
	uint32_t id = 0, spins = 0;
	pthread_t t;
	struct lane l;

	open_lane(&l, 0xffffff00u, 0xfffff000u);
	cr_assert_eq(pthread_create(&t, NULL, producer, &l), 0);
	while (id < THREAD_PACKETS) {
		if (!get(&l, id)) {
			dpa_lane_release(&l.rx);
			dpa_relax(&spins);
			continue;
		}
		if (++id % 50 == 0)
			dpa_lane_release(&l.rx);
	}
	pthread_join(t, NULL);
	cr_expect_not(dpa_lane_ready(&l.rx));
	free(l.shm);
}
