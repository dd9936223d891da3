/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_model.c - frames through the modelled network: when they arrive, in which order, marked or
 * not at all.
 */
#include <criterion/criterion.h>
#include <string.h>
#include "ctx/hw.h"
#include "link/peer.h"
#include "link/inspect.h"
#include "ctx/ops.h"
#include "harness.h"
#include "wire/opcode.h"
#include "wire/probe.h"

#define BYTES 1000u /* of a frame with all headers: 8 us at 1 Gbit/s */

static struct dpa_hw hw;
static struct dpa_board board;
static struct dpa_board_proc self;
static _Atomic uint64_t cnt[DPA_BOARD_COUNTERS];
static uint32_t emitted, marked;
static uint8_t order[64];

static void emit(void *arg, const struct dpa_frame *f)
{
	order[emitted++ % 64] = f->p[20];
	marked += (f->net.tclass & DPA_ECN_MASK) == DPA_ECN_CE;
}

static void open_with(const char *network)
{
	char err[128];

	memset(&hw, 0, sizeof(hw));
	memset(cnt, 0, sizeof(cnt));
	hw.board = &board;
	hw.ops = &dpa_ops;
	hw.cnt = cnt;
	board.self = &self;
	emitted = marked = 0;
	cr_assert(dpa_link_parse(network, &hw.cfg.link));
	cr_assert_eq(dpa_inspect_init(&hw, err, sizeof(err)), 0);
	cr_assert_eq(atomic_load(&hw.inspect), (uint32_t)DPA_INSPECT_MODEL);
	cr_expect_eq(atomic_load(&self.asked_link), DPA_BOARD_ASK_OWN);
}

/* Show a frame with this opcode and number from 192.0.2.from. */
static void show(enum dpa_inspect_at at, uint8_t opcode, uint8_t nth, uint8_t from, void *arg)
{
	uint8_t room[DPA_FRAME_ROOM + BYTES] = {[DPA_FRAME_ROOM] = opcode,
						[DPA_FRAME_ROOM + 20] = nth};
	struct dpa_frame f = {.net = {.src = {[10] = 0xff, [11] = 0xff, 192, 0, 2, from},
				      .dst = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1},
				      .tclass = DPA_ECN_ECT0},
			      .p = room + DPA_FRAME_ROOM,
			      .n = BYTES - 66};

	dpa_inspect(&hw, at, &f, emit, arg);
}

Test(model, bytes_of_a_frame)
{
	struct dpa_frame f = {.net = {.dst = {[10] = 0xff, [11] = 0xff}}, .n = 100};

	cr_expect_eq(dpa_model_bytes(&f), 100u + 20 + 8 + 38);
	f.net.dst[0] = 0x20;
	cr_expect_eq(dpa_model_bytes(&f), 100u + 40 + 8 + 38);
}

Test(model, frames_arrive_in_their_time)
{
	open_with("rate=1G,delay=50us");
	for (uint8_t i = 0; i < 3; i++)
		show(i == 1 ? DPA_AT_RX : DPA_AT_SHM, 0x64, i, 2, NULL);
	cr_expect_eq(emitted, 0u);
	cr_expect_eq(dpa_inspect_due(&hw), th_now + 58000);
	cr_expect_eq(dpa_inspect_poll(&hw), 0);
	th_now += 58000;
	cr_expect_eq(dpa_inspect_poll(&hw), 1);
	cr_expect_eq(dpa_inspect_due(&hw), th_now + 8000);
	th_now += 16000;
	cr_expect_eq(dpa_inspect_poll(&hw), 2);
	cr_expect_arr_eq(order, "\0\1\2", 3);
	cr_expect_eq(dpa_inspect_due(&hw), UINT64_MAX);
	dpa_inspect_fini(&hw);
}

/* The network in front of the other side's process belongs to that side. */
Test(model, what_leaves_goes_at_once)
{
	open_with("rate=1G,delay=50us");
	show(DPA_AT_TX, 0x64, 0, 2, NULL);
	cr_expect_eq(emitted, 1u);
	dpa_inspect_fini(&hw);
}

Test(model, marks_drops_and_waits_are_counted)
{
	open_with("rate=1G,queue=8K,ecn=2000:2000:1%");
	for (uint8_t i = 0; i < 20; i++)
		show(DPA_AT_SHM, 0x64, i, 2, NULL);
	cr_expect_eq(atomic_load(&cnt[DPA_CNT_link_dropped]), 12u, "8 of 1000 bytes fit");
	cr_expect_eq(atomic_load(&cnt[DPA_CNT_link_marked]), 5u, "all that met more than 2000");
	th_now += 1000000;
	cr_expect_eq(dpa_inspect_poll(&hw), 8);
	cr_expect_eq(marked, 5u);
	dpa_inspect_fini(&hw);
	open_with("rate=1G,queue=8K,pfc");
	for (uint8_t i = 0; i < 20; i++)
		show(DPA_AT_SHM, 0x64, i, 2, NULL);
	cr_expect_eq(atomic_load(&cnt[DPA_CNT_link_dropped]), 0u);
	cr_expect_eq(atomic_load(&cnt[DPA_CNT_link_waited]), 12u);
	dpa_inspect_fini(&hw);
}

Test(model, a_cnp_goes_ahead)
{
	open_with("rate=1G,delay=50us,queue=16K,ecn=0:1K:100%");
	for (uint8_t i = 0; i < 4; i++)
		show(DPA_AT_SHM, i == 3 ? 0x81 : 0x64, i, 2, NULL);
	th_now += 1000000;
	cr_expect_eq(dpa_inspect_poll(&hw), 4);
	cr_expect(order[0] == 0 && order[1] == 3, "with the first, which was on its way");
	cr_expect_eq(marked, 2u);
	dpa_inspect_fini(&hw);
}

/* Each of two senders has its own queue if there is a rule for it; others pass at once. */
Test(model, rules_of_peers)
{
	open_with("peer=192.0.2.2,rate=1G+peer=192.0.2.3,delay=1us");
	show(DPA_AT_SHM, 0x64, 0, 2, NULL);
	show(DPA_AT_SHM, 0x64, 1, 2, NULL);
	show(DPA_AT_SHM, 0x64, 2, 3, NULL);
	show(DPA_AT_SHM, 0x64, 3, 4, NULL);
	cr_expect_eq(emitted, 1u);
	th_now += 1000000;
	cr_expect_eq(dpa_inspect_poll(&hw), 3);
	cr_expect_arr_eq(order, "\3\2\0\1", 4);
	dpa_inspect_fini(&hw);
}

/* As with faults: frames that a process sent before its end arrive. */
Test(model, frames_of_an_ending_peer_arrive)
{
	static struct dpa_peer ends = {.hw = &hw}, stays = {.hw = &hw};

	open_with("rate=1G,delay=1ms");
	show(DPA_AT_SHM, 0x64, 0, 2, &ends);
	show(DPA_AT_SHM, 0x64, 1, 2, &stays);
	show(DPA_AT_SHM, 0x64, 2, 2, &ends);
	show(DPA_AT_RX, 0x64, 3, 2, &ends);
	dpa_inspect_last(&ends);
	cr_expect_eq(emitted, 2u);
	cr_expect_arr_eq(order, "\0\2", 2);
	dpa_inspect_last(&ends);
	cr_expect_eq(emitted, 2u, "once");
	th_now += 2000000;
	cr_expect_eq(dpa_inspect_poll(&hw), 2, "the others in their time");
	dpa_inspect_fini(&hw);
}

static struct dpa_model m;

static bool take(uint8_t nth)
{
	static uint8_t bytes[BYTES];
	struct dpa_shown s = {.at = DPA_AT_SHM, .f = {.p = bytes, .n = 64}};
	struct dpa_linkq_act a;

	bytes[20] = nth;
	return dpa_model_take(&m, 5, &s, &a) == DPA_MODEL_HELD;
}

/* Another network: frames on their way arrive now, in order, and before later frames. */
Test(model, a_change_keeps_the_order)
{
	struct dpa_link_spec slow, off;
	struct dpa_held *h, *list;
	uint8_t nth = 0;

	cr_assert(dpa_link_parse("rate=1M,delay=1ms,queue=1M", &slow));
	cr_assert(dpa_link_parse("off", &off));
	cr_assert_eq(dpa_model_set(&m, &slow), 0);
	for (uint8_t i = 0; i < 50; i++)
		cr_assert(take(i));
	cr_assert_eq(dpa_model_set(&m, &slow), 0);
	cr_expect_eq(dpa_model_next(&m), 0u);
	cr_assert(take(50));
	list = dpa_model_due(&m, 6);
	for (h = list; h; h = h->next)
		cr_expect_eq(h->s.f.p[20], nth++);
	cr_expect_eq(nth, 50u);
	dpa_model_done(&m, list);
	cr_assert_eq(dpa_model_set(&m, &off), 0);
	cr_assert(take(51), "behind the one that is held");
	list = dpa_model_due(&m, 6);
	cr_assert(list && list->next && !list->next->next);
	cr_expect_eq(list->s.f.p[20], 50);
	cr_expect_eq(list->next->s.f.p[20], 51);
	cr_expect(take(52), "those in front of it are not there yet");
	dpa_model_done(&m, list);
	list = dpa_model_due(&m, 6);
	cr_assert(list && !list->next);
	dpa_model_done(&m, list);
	cr_expect_eq(m.held + m.out, 0u);
	cr_expect_not(take(0), "off");
	dpa_model_free(&m);
}

Test(model, no_more_than_there_is_room_for)
{
	struct dpa_link_spec l;
	struct dpa_held *list;
	uint32_t n = 0;

	cr_assert(dpa_link_parse("delay=1s", &l));
	cr_assert_eq(dpa_model_set(&m, &l), 0);
	while (take(0))
		n++;
	cr_expect_eq(n, DPA_MODEL_FRAMES);
	list = dpa_model_due(&m, UINT64_MAX);
	cr_expect_not(take(0), "those that are given out have their room");
	dpa_model_done(&m, list);
	cr_expect(take(0));
	dpa_model_free(&m);
}

/* ------------------------------------------------------- data of the switch for probes */

static struct dpa_roce_pkt last;
static uint8_t last_bytes[512];
static bool last_whole;

static void emit_probe(void *arg, const struct dpa_frame *f)
{
	cr_assert_leq(f->n, sizeof(last_bytes));
	memcpy(last_bytes, f->p, f->n);
	cr_assert_eq(dpa_roce_decode(last_bytes, f->n, &last), DPA_ROCE_OK);
	last_whole = dpa_icrc_ok(&f->net, f->p, f->n);
	emitted++;
}

/* A probe of IFA2 from a UDP socket, which does not show its IPv4 identification. */
static void show_probe(uint8_t hops, uint32_t damage)
{
	uint8_t room[DPA_FRAME_ROOM + 256], payload[DPA_IFA_HEAD];
	struct dpa_frame f = {.net = {.src = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 2},
				      .dst = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1},
				      .sport = 0xc000,
				      .dport = DPA_ROCE_PORT,
				      .hop = 63,
				      .ip_id = 5},
			      .p = room + DPA_FRAME_ROOM};
	struct dpa_roce_pkt pkt = {.opcode = DPA_BTH_PROBE,
				   .pkey = DPA_ROCE_PKEY,
				   .dqpn = 9,
				   .rkey = DPA_PCC_IFA2 | DPA_PROBE_PROGRAM,
				   .payload = payload};

	pkt.len = dpa_ifa2_begin(payload, hops);
	f.n = dpa_roce_encode_all(&f.net, &pkt, room + DPA_FRAME_ROOM, 256);
	room[DPA_FRAME_ROOM + 30] ^= (uint8_t)damage;
	f.net.ip_id = 0;
	dpa_inspect(&hw, DPA_AT_RX, &f, emit_probe, NULL);
	th_now += 1000000000;
	dpa_inspect_poll(&hw);
}

static uint32_t word_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

Test(model, a_probe_takes_the_data_of_its_queue_along)
{
	uint64_t came = th_now;
	const uint8_t *md;

	open_with("rate=1G,delay=50us");
	for (uint8_t i = 0; i < 3; i++)
		show(DPA_AT_RX, 0x64, i, 2, NULL);
	show_probe(9, 0);
	cr_assert_eq(emitted, 4u);
	cr_expect(last_whole);
	cr_assert_eq(last.len, DPA_IFA2_HEAD + DPA_IFA_HOP);
	cr_expect_eq(last.payload[2], 8);
	md = last.payload + DPA_IFA2_HEAD;
	cr_expect_eq(word_at(md + 8) << 16 | (word_at(md + 20) & 0xffff), 3000u,
		     "bytes in the queue");
	cr_expect_gt(word_at(md + 28), 3000u, "and those that have left");
	/* it left after 3000 bytes, 8 ns each, and its own */
	cr_expect_gt((word_at(md + 16) << 16 | word_at(md + 20) >> 16) - (uint32_t)came, 24000u);
	cr_expect_lt((word_at(md + 16) << 16 | word_at(md + 20) >> 16) - (uint32_t)came, 26000u);
	show_probe(0, 0);
	cr_expect_eq(last.len, DPA_IFA2_HEAD, "no more hops");
	show_probe(9, 1);
	cr_expect_not(last_whole);
	cr_expect_eq(last.len, DPA_IFA2_HEAD, "a damaged one stays damaged");
	dpa_inspect_fini(&hw);
}
