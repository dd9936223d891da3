/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Figures of QPs for tools: never half, also of a process that was killed; and the lease. */
#include "util.h"
#include "meter/meter.h"

TestSuite(board_meter, .init = bt_setup, .fini = bt_teardown);

#define S UINT64_C(1000000000)

static const struct dpa_meter full = {
	.tx_bytes = UINT64_MAX,
	.rx_bytes = UINT64_MAX - 1,
	.tx_msgs = UINT32_MAX,
	.rx_msgs = 2,
	.again = 3,
	.rnr = 4,
	.send_psn = 0xffffff,
	.una_psn = 0xfffffe,
	.epsn = 0x800000,
	.wait = 5,
	.status = 12,
	.vendor_err = 0x81,
	.queued = 7,
	.window = 65536,
};

/* Field by field: there is padding. */
static bool same(const struct dpa_meter *a, const struct dpa_meter *b)
{
	return a->tx_bytes == b->tx_bytes && a->rx_bytes == b->rx_bytes &&
	       a->tx_msgs == b->tx_msgs && a->rx_msgs == b->rx_msgs && a->again == b->again &&
	       a->rnr == b->rnr && a->send_psn == b->send_psn && a->una_psn == b->una_psn &&
	       a->epsn == b->epsn && a->wait == b->wait && a->status == b->status &&
	       a->vendor_err == b->vendor_err && a->queued == b->queued && a->window == b->window;
}

static bool same_thread(const struct dpa_meter_thread *a, const struct dpa_meter_thread *b)
{
	return a->there == b->there && a->number == b->number && a->busy == b->busy &&
	       a->qps == b->qps && a->asleep == b->asleep && a->waiter == b->waiter &&
	       a->polls == b->polls;
}

Test(board_meter, what_is_written_is_read)
{
	struct dpa_slot_meter slot = {0};
	struct dpa_meter m, none = {0};

	cr_assert(dpa_meter_get(&slot, &m));
	cr_expect(same(&m, &none), "a new slot: zeros");
	for (uint32_t i = 0; i < 70000; i++) /* the number wraps */
		dpa_meter_put(&slot, &full);
	cr_assert(dpa_meter_get(&slot, &m));
	cr_expect(same(&m, &full));
}

Test(board_meter, limits)
{
	struct dpa_slot_meter slot = {0};
	struct dpa_meter m = {.queued = 70000, .window = UINT64_MAX - 1};

	dpa_meter_put(&slot, &m);
	cr_assert(dpa_meter_get(&slot, &m));
	cr_expect_eq(m.queued, 65535);
	cr_expect_eq(m.window, UINT64_C(65534) << 10, "not without a limit");
	m.window = UINT64_MAX;
	dpa_meter_put(&slot, &m);
	cr_assert(dpa_meter_get(&slot, &m));
	cr_expect_eq(m.window, UINT64_MAX);
}

Test(board_meter, half_a_record_is_not_read)
{
	struct dpa_slot_meter slot = {0};
	struct dpa_meter m;

	dpa_meter_put(&slot, &full);
	slot.seq++; /* its writer was killed in the middle */
	cr_expect_not(dpa_meter_get(&slot, &m));
	dpa_meter_put(&slot, &full); /* of the next owner */
	cr_expect(dpa_meter_get(&slot, &m));
}

Test(board_meter, threads)
{
	struct dpa_meter_thread eu = {.there = true, .number = 255, .busy = 1000, .qps = 2047},
				own = {.there = true, .asleep = true, .waiter = true}, t;

	t = dpa_meter_unpack(dpa_meter_pack(&eu));
	cr_expect(same_thread(&t, &eu));
	t = dpa_meter_unpack(dpa_meter_pack(&own));
	cr_expect(same_thread(&t, &own));
	eu.qps = 5000;
	eu.busy = 1200;
	t = dpa_meter_unpack(dpa_meter_pack(&eu));
	cr_expect_eq(t.qps, 2047);
	cr_expect_eq(t.busy, 1000);
	cr_expect_eq(t.number, 255);
	cr_expect_not(dpa_meter_unpack(0).there);
	cr_expect_eq(dpa_meter_pack(&(struct dpa_meter_thread){0}), 0);
}

Test(board_meter, lease)
{
	struct dpa_board *a = bt_open(), *b = bt_open();

	cr_expect_not(dpa_meter_wanted(a, 5 * S));
	dpa_meter_want(b, 5 * S); /* a tool's mapping of the same file */
	cr_expect(dpa_meter_wanted(a, 5 * S));
	cr_expect(dpa_meter_wanted(a, 5 * S + DPA_METER_LEASE - 1));
	cr_expect_not(dpa_meter_wanted(a, 5 * S + DPA_METER_LEASE),
		      "a tool that died asks no more");
	dpa_meter_want(a, 6 * S);
	dpa_meter_want(b, 5 * S); /* another one, whose time is earlier, takes nothing away */
	cr_expect(dpa_meter_wanted(a, 6 * S + DPA_METER_LEASE - 1));
	dpa_board_close(b);
	dpa_board_close(a);
}

Test(board_meter, a_wrong_lease_does_not_last)
{
	struct dpa_board *a = bt_open();

	atomic_store(&a->shm->head.meter_until, UINT64_MAX);
	cr_expect_not(dpa_meter_wanted(a, 5 * S));
	dpa_meter_want(a, 5 * S);
	cr_expect(dpa_meter_wanted(a, 5 * S));
	cr_expect_not(dpa_meter_wanted(a, 5 * S + DPA_METER_LEASE));
	dpa_board_close(a);
}

/* The next process of an entry has no figures of the one before. */
Test(board_meter, an_entry_begins_without_figures)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	const uint32_t slot = b->slot;

	atomic_store(&b->self->meter_at, 5 * S);
	dpa_board_close(b);
	b = bt_open();
	cr_assert_eq(b->slot, slot, "the same entry");
	cr_expect_eq(atomic_load(&b->self->meter_at), 0);
	dpa_board_close(b);
	dpa_board_close(a);
}
