/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_model_threads.c - threads show frames to the modelled network while others deliver them:
 * each frame arrives once, and those of one sender in their order. Time advances while no thread
 * runs.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include "ctx/hw.h"
#include "link/peer.h"
#include "link/inspect.h"
#include "ctx/ops.h"
#include "harness.h"

#define SENDERS 4u
#define POLLERS 3u
#define FRAMES	TH_FEWER(2000u) /* of a sender and round */
#define ROUNDS	3u

static struct dpa_hw hw;
static struct dpa_board board;
static struct dpa_board_proc self;
static _Atomic uint64_t cnt[DPA_BOARD_COUNTERS];
static uint32_t next_of[SENDERS]; /* written by the only thread that delivers frames */
static _Atomic uint32_t arrived, wrong;
static uint32_t target;

static void emit(void *arg, const struct dpa_frame *f)
{
	uint32_t nth, *next = arg;

	memcpy(&nth, f->p + 20, 4);
	if (nth != *next)
		atomic_fetch_add(&wrong, 1);
	*next = nth + 1;
	atomic_fetch_add(&arrived, 1);
}

struct sender {
	uint32_t i, from;
};

static void *sends(void *arg)
{
	struct sender *s = arg;

	for (uint32_t k = 0; k < FRAMES; k++) {
		uint32_t nth = s->from + k;
		uint8_t room[DPA_FRAME_ROOM + 64] = {[DPA_FRAME_ROOM] = 0x64};
		struct dpa_frame f = {
			.net.tclass = DPA_ECN_ECT0, .p = room + DPA_FRAME_ROOM, .n = 64};

		memcpy(room + DPA_FRAME_ROOM + 20, &nth, 4);
		dpa_inspect(&hw, DPA_AT_RX, &f, emit, &next_of[s->i]);
		if (k % 64 == 0)
			dpa_inspect_poll(&hw);
	}
	return NULL;
}

static void *polls(void *arg)
{
	while (atomic_load(&arrived) < target)
		dpa_inspect_poll(&hw);
	return NULL;
}

Test(model_threads, each_once_and_in_order)
{
	pthread_t t[SENDERS + POLLERS];
	struct sender s[SENDERS];
	char err[128];

	hw.board = &board;
	hw.ops = &dpa_ops;
	hw.cnt = cnt;
	board.self = &self;
	cr_assert(dpa_link_parse("rate=10G,delay=1us,queue=4M,ecn=100K:1M:50%,pfc", &hw.cfg.link));
	cr_assert_eq(dpa_inspect_init(&hw, err, sizeof(err)), 0);
	for (uint32_t r = 0; r < ROUNDS; r++) {
		target = r * SENDERS * FRAMES; /* those of the previous round arrive meanwhile */
		for (uint32_t i = 0; i < SENDERS; i++) {
			s[i] = (struct sender){i, r * FRAMES};
			pthread_create(&t[i], NULL, sends, &s[i]);
		}
		for (uint32_t i = 0; i < POLLERS; i++)
			pthread_create(&t[SENDERS + i], NULL, polls, NULL);
		for (uint32_t i = 0; i < SENDERS + POLLERS; i++)
			pthread_join(t[i], NULL);
		th_now += 1000000000;
	}
	target = ROUNDS * SENDERS * FRAMES;
	polls(NULL);
	cr_expect_eq(atomic_load(&wrong), 0u);
	cr_expect_eq(atomic_load(&arrived), target);
	cr_expect_eq(dpa_inspect_due(&hw), UINT64_MAX);
	cr_expect_gt(atomic_load(&cnt[DPA_CNT_link_marked]), 0u);
	dpa_inspect_fini(&hw);
}
