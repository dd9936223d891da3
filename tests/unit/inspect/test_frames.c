/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_frames.c - frames on their way: duplicated, delayed, dropped; and the names of an entry's
 * packets.
 */
#include <criterion/criterion.h>
#include <string.h>
#include "ctx/hw.h"
#include "link/peer.h"
#include "link/inspect.h"
#include "ctx/ops.h"
#include "harness.h"

static struct dpa_hw hw;
static struct dpa_board board;
static struct dpa_board_proc self;
static _Atomic uint64_t cnt[DPA_BOARD_COUNTERS];
static int emitted;

/* Write in front of the payload, as a receiver of a datagram may. */
static void emit(void *arg, const struct dpa_frame *f)
{
	cr_expect_eq(f->p[0], 0x64, "headers as they were");
	cr_expect_eq(f->n, 64u);
	memset((uint8_t *)(uintptr_t)f->p - 20, 0xee, 40);
	emitted++;
}

static void open_with(const char *faults)
{
	char err[128];

	memset(&hw, 0, sizeof(hw));
	hw.board = &board;
	hw.ops = &dpa_ops;
	hw.cnt = cnt;
	board.self = &self;
	cr_assert(dpa_fault_parse(faults, &hw.cfg.fault));
	cr_assert_eq(dpa_inspect_init(&hw, err, sizeof(err)), 0);
	cr_assert_eq(atomic_load(&hw.inspect), (uint32_t)DPA_INSPECT_FAULT);
}

static void show_of(enum dpa_inspect_at at, void *arg)
{
	uint8_t room[DPA_FRAME_ROOM + 64] = {[DPA_FRAME_ROOM] = 0x64};
	struct dpa_frame f = {.p = room + DPA_FRAME_ROOM, .n = 64};

	dpa_inspect(&hw, at, &f, emit, arg);
}

static void show(enum dpa_inspect_at at)
{
	show_of(at, NULL);
}

Test(frames, twice)
{
	open_with("dup=100%");
	show(DPA_AT_SHM);
	cr_expect_eq(emitted, 2);
	cr_expect_eq(atomic_load(&cnt[DPA_CNT_fault_duplicated]), 1u);
	show(DPA_AT_RX);
	cr_expect_eq(emitted, 3, "what comes off the wire had its faults when it was sent");
	dpa_inspect_fini(&hw);
}

Test(frames, later)
{
	open_with("delay=100%:1ms,dup=100%");
	cr_expect_eq(dpa_inspect_due(&hw), UINT64_MAX);
	show(DPA_AT_TX);
	cr_expect_eq(emitted, 0);
	cr_expect_eq(dpa_inspect_due(&hw), th_now + 1000000);
	cr_expect_eq(dpa_inspect_poll(&hw), 0);
	th_now += 1000000;
	cr_expect_eq(dpa_inspect_poll(&hw), 2);
	cr_expect_eq(emitted, 2);
	cr_expect_eq(dpa_inspect_due(&hw), UINT64_MAX);
	dpa_inspect_fini(&hw);
}

/* Each copy that is held back is a user of its path until it has left. */
Test(frames, keep_their_path)
{
	uint8_t room[DPA_FRAME_ROOM + 64] = {[DPA_FRAME_ROOM] = 0x64};
	struct dpa_frame f = {.p = room + DPA_FRAME_ROOM, .n = 64};
	static const char *const faults[] = {"delay=100%:1ms,dup=100%", "reorder=100%,dup=100%"};
	_Atomic uint32_t users = 1; /* the caller */

	for (size_t i = 0; i < 2; i++) {
		open_with(faults[i]);
		dpa_inspect_tx(&hw, &f, emit, NULL, &users);
		cr_expect_eq(atomic_load(&users), 3u);
		th_now += 1000000;
		cr_expect_eq(dpa_inspect_poll(&hw), 2);
		cr_expect_eq(atomic_load(&users), 1u);
		dpa_inspect_fini(&hw);
	}
	open_with("drop=100%");
	dpa_inspect_tx(&hw, &f, emit, NULL, &users);
	cr_expect_eq(atomic_load(&users), 1u);
	dpa_inspect_fini(&hw);
}

Test(frames, no_more_than_there_is_room_for)
{
	open_with("delay=100%:1ms");
	for (uint32_t i = 0; i < DPA_HELD_FRAMES + 10; i++)
		show(DPA_AT_TX);
	cr_expect_eq(atomic_load(&cnt[DPA_CNT_fault_overflow]), 10u);
	th_now += 1000000;
	cr_expect_eq(dpa_inspect_poll(&hw), (int)DPA_HELD_FRAMES);
	dpa_inspect_fini(&hw);
}

/* The last ACK of a process that ended was held back, and its peer's request failed before. */
Test(frames, frames_of_an_ending_peer_arrive)
{
	static struct dpa_peer ends = {.hw = &hw}, stays = {.hw = &hw};

	dpa_inspect_last(&ends);
	for (int reorder = 0; reorder < 2; reorder++) {
		open_with(reorder ? "reorder=100%" : "delay=100%:1ms");
		emitted = 0;
		dpa_inspect_last(&ends);
		show_of(DPA_AT_SHM, &ends);
		show_of(DPA_AT_SHM, &stays);
		show_of(DPA_AT_SHM, &ends);
		show_of(DPA_AT_TX, &ends);
		cr_assert_eq(emitted, 0);
		dpa_inspect_last(&ends);
		cr_expect_eq(emitted, 2);
		dpa_inspect_last(&ends);
		cr_expect_eq(emitted, 2, "once");
		th_now += 1000000;
		cr_expect_eq(dpa_inspect_poll(&hw), 2, "the others in their time");
		cr_expect_eq(emitted, 4);
		dpa_inspect_fini(&hw);
	}
}

Test(frames, gone)
{
	open_with("drop=100%");
	show(DPA_AT_SHM);
	show(DPA_AT_TX);
	cr_expect_eq(emitted, 0);
	cr_expect_eq(atomic_load(&cnt[DPA_CNT_fault_dropped]), 2u);
	dpa_inspect_fini(&hw);
}
