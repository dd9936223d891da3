/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_pcc.c - the port's congestion control on the board: slots, counters, images and their state
 * after a kill.
 */
#include <tables/pcc.h>
#include "util.h"

static struct dpa_board *b;

static void setup(void)
{
	bt_setup();
	b = bt_open();
}

static void teardown(void)
{
	if (b)
		dpa_board_close(b);
	bt_teardown();
}

TestSuite(board_pcc, .init = setup, .fini = teardown);

static struct dpa_pcc_port port(void)
{
	struct dpa_pcc_port p;

	dpa_board_pcc_query(b, &p);
	return p;
}

static const struct dpa_pcc_ops *const ops = &dpa_board_pcc_ops;

/* An algorithm in slot 2, with two counters and a parameter of 5 to 9. */
static void describe(struct dpa_pcc_slot s[DPA_PCC_USER_SLOTS])
{
	memset(s, 0, DPA_PCC_USER_SLOTS * sizeof(*s));
	s[2] = (struct dpa_pcc_slot){.id = 0xbeef,
				     .major = 3,
				     .minor = 4,
				     .nparams = 2,
				     .ncounters = 2,
				     .text = "an algorithm"};
	s[2].params[0] = (struct dpa_pcc_param_desc){6, 6, 5, 9, 1, "a"};
	s[2].params[1] = (struct dpa_pcc_param_desc){6, 6, 5, 9, 0, "b"};
	strcpy(s[2].counters[1], "the second");
}

static struct dpa_pcc_words words;

static struct dpa_pcc_image *load(void)
{
	struct dpa_pcc_slot s[DPA_PCC_USER_SLOTS];
	struct dpa_pcc_image *img;
	enum dpa_pcc_state state;

	describe(s);
	cr_assert_eq(ops->load(b, DPA_PCC_RP, &img, &state), 0);
	cr_assert_eq(state, DPA_PCC_ACTIVE);
	cr_assert_eq(ops->publish(img, s, 1 << 2, 1 << 2, 0, &(struct dpa_pcc_probes){0}, &words),
		     0);
	return img;
}

Test(board_pcc, a_new_board_has_the_built_in_algorithms)
{
	struct dpa_pcc_slot s;

	cr_expect_eq(port().populated, 1u << DPA_PCC_SLOT_RTT | 1u << DPA_PCC_SLOT_DCQCN);
	cr_expect_eq(port().acting, (int)DPA_PCC_SLOT_DCQCN);
	cr_expect_eq(port().counting, (int)DPA_PCC_SLOT_DCQCN);
	cr_expect_not(port().loaded);
	cr_expect_eq(dpa_board_pcc_read_slot(b, DPA_PCC_SLOT_DCQCN, &s), 0);
	cr_expect_str_eq(s.text, "DCQCN, built in");
	cr_expect_eq(dpa_board_pcc_read_slot(b, 0, &s), ENOENT);
	cr_expect_eq(dpa_board_pcc_read_slot(b, DPA_PCC_SLOTS, &s), ENOENT);
}

Test(board_pcc, slots_are_enabled_and_disabled)
{
	cr_expect_eq(dpa_board_pcc_enable(b, 0, true), ENOENT);
	cr_expect_eq(dpa_board_pcc_enable(b, DPA_PCC_SLOTS, true), ENOENT);
	cr_expect_eq(dpa_board_pcc_enable(b, DPA_PCC_SLOT_RTT, true), 0);
	cr_expect_eq(port().acting, (int)DPA_PCC_SLOT_RTT);
	cr_expect_eq(dpa_board_pcc_enable(b, DPA_PCC_SLOT_RTT, false), 0);
	cr_expect_eq(dpa_board_pcc_enable(b, DPA_PCC_SLOT_DCQCN, false), 0);
	cr_expect_eq(port().acting, -1);
}

Test(board_pcc, counters_count_in_one_slot_and_are_cleared)
{
	uint32_t v[DPA_PCC_COUNTERS], n;
	_Atomic uint32_t *c = dpa_board_pcc_counts(b, DPA_PCC_SLOT_DCQCN);

	cr_assert(c);
	c[DPA_PCC_N_CNP] = 7;
	cr_expect_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, true, &n, v), 0);
	cr_expect_eq(n, DPA_PCC_N_NUM);
	cr_expect_eq(v[DPA_PCC_N_CNP], 7);
	c[DPA_PCC_N_CNP] = 9;
	cr_expect_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, false, &n, v), 0);
	cr_expect_eq(v[DPA_PCC_N_CNP], 2);
	cr_expect_eq(dpa_board_pcc_count(b, DPA_PCC_SLOT_RTT, true), 0);
	cr_expect_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, false, &n, v), ENODATA);
	cr_expect_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_RTT, false, &n, v), ENODATA,
		     "the algorithm is off");
	cr_expect_eq(dpa_board_pcc_read_counters(b, 0, false, &n, v), ENOENT);
	cr_expect_eq(dpa_board_pcc_count(b, DPA_PCC_SLOT_RTT, false), 0);
	cr_expect_eq(port().counting, -1);
	cr_expect_eq(dpa_board_pcc_count(b, 3, true), ENOENT);
}

static void count_and_end(void *arg)
{
	struct dpa_board *mine = bt_open();

	dpa_board_pcc_counts(mine, DPA_PCC_SLOT_DCQCN)[DPA_PCC_N_TX] = 100;
	if (arg)
		dpa_board_close(mine);
}

Test(board_pcc, counts_of_processes_that_ended_stay)
{
	uint32_t v[DPA_PCC_COUNTERS], n;

	bt_wait(bt_fork(count_and_end, b));
	bt_wait(bt_fork(count_and_end, NULL));
	dpa_board_reap(b);
	cr_expect_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, false, &n, v), 0);
	cr_expect_eq(v[DPA_PCC_N_TX], 200);
}

/* A read before another reader cleared must not appear as a count of 4 * 10^9. */
Test(board_pcc, a_count_behind_the_base_is_none)
{
	uint32_t v[DPA_PCC_COUNTERS], n;
	_Atomic uint32_t *c = dpa_board_pcc_counts(b, DPA_PCC_SLOT_DCQCN);

	c[DPA_PCC_N_TX] = 100;
	cr_assert_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, true, &n, v), 0);
	c[DPA_PCC_N_TX] = 90;
	cr_assert_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, true, &n, v), 0);
	cr_expect_eq(v[DPA_PCC_N_TX], 0);
	c[DPA_PCC_N_TX] = 101;
	cr_assert_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, false, &n, v), 0);
	cr_expect_eq(v[DPA_PCC_N_TX], 1, "the base does not go back");
	c[DPA_PCC_N_TX] = UINT32_MAX - UINT32_MAX / 8;
	cr_assert_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, false, &n, v), 0);
	cr_expect_eq(v[DPA_PCC_N_TX], UINT32_MAX - UINT32_MAX / 8 - 100, "as far as they go");
}

static uint32_t sent(void)
{
	uint32_t v[DPA_PCC_COUNTERS], n;

	cr_assert_eq(dpa_board_pcc_read_counters(b, DPA_PCC_SLOT_DCQCN, false, &n, v), 0);
	return v[DPA_PCC_N_TX];
}

static void open_and_reap(void *arg)
{
	dpa_board_reap(bt_open());
	(void)arg;
}

/* Killed while it adds the counts of a dead process to those of the past. */
Test(board_pcc, counts_are_right_at_each_step_of_adding_them_up)
{
	static const char *const steps[] = {"pcc-fold", "pcc-folded"};

	for (uint32_t i = 0; i < 2; i++) {
		bt_wait(bt_fork(count_and_end, NULL));
		cr_expect_eq(sent(), 100 * (i + 1));
		cr_expect(bt_dies(open_and_reap, NULL, steps[i], 1), "%s", steps[i]);
		cr_expect_eq(sent(), 100 * (i + 1), "%s: before it is mended", steps[i]);
		dpa_board_reap(b);
		cr_expect_eq(sent(), 100 * (i + 1), "%s", steps[i]);
	}
}

Test(board_pcc, parameters_of_built_in_algorithms_have_bounds)
{
	uint64_t word = *dpa_board_pcc_word(b);
	uint32_t v[DPA_PCC_PARAMS];

	cr_expect_eq(dpa_board_pcc_set_param(b, DPA_PCC_SLOT_DCQCN, DPA_PCC_P_DCQCN_GD, 11),
		     ERANGE);
	cr_expect_eq(dpa_board_pcc_set_param(b, DPA_PCC_SLOT_DCQCN, DPA_PCC_PARAMS, 1), ERANGE);
	cr_expect_eq(dpa_board_pcc_set_param(b, 1, 0, 1), ENOENT);
	cr_expect_eq(dpa_board_pcc_set_param(b, DPA_PCC_SLOT_DCQCN, DPA_PCC_P_DCQCN_GD, 3), 0);
	dpa_board_pcc_params(b, DPA_PCC_SLOT_DCQCN, v);
	cr_expect_eq(v[DPA_PCC_P_DCQCN_GD], 3);
	cr_expect_eq(v[DPA_PCC_P_DCQCN_THRESHOLD], 5, "the default");
	cr_expect_neq(*dpa_board_pcc_word(b), word, "flows look again");
}

/* ------------------------------------------------------------------------- images */

Test(board_pcc, an_image_has_its_slots_and_takes_them_along)
{
	struct dpa_pcc_image *img = load();
	struct dpa_pcc_slot s;
	uint32_t v[DPA_PCC_COUNTERS], n;

	cr_expect_eq(port().acting, 2);
	cr_expect_eq(port().counting, 2);
	cr_expect(port().loaded);
	cr_expect_eq(port().pid, (uint32_t)getpid());
	cr_assert_eq(dpa_board_pcc_read_slot(b, 2, &s), 0);
	cr_expect_eq(s.id, 0xbeef);
	cr_expect_str_eq(s.text, "an algorithm");
	cr_expect_str_eq(s.counters[1], "the second");
	words.counters[2][1] = 5;
	cr_expect_eq(dpa_board_pcc_read_counters(b, 2, false, &n, v), 0);
	cr_expect(n == 2 && v[1] == 5);
	cr_expect_eq(dpa_board_pcc_enable(b, 2, false), 0);
	cr_expect_eq(port().acting, (int)DPA_PCC_SLOT_DCQCN);
	cr_expect_eq(dpa_board_pcc_enable(b, 2, true), 0);
	ops->unload(img);
	cr_expect_eq(port().acting, (int)DPA_PCC_SLOT_DCQCN);
	cr_expect_eq(port().counting, (int)DPA_PCC_SLOT_DCQCN);
	cr_expect_not(port().loaded);
	cr_expect_eq(dpa_board_pcc_read_slot(b, 2, &s), ENOENT);
}

Test(board_pcc, a_process_has_one_image)
{
	struct dpa_pcc_image *img = load(), *second;
	enum dpa_pcc_state state;

	cr_expect_eq(ops->load(b, DPA_PCC_RP, &second, &state), EALREADY);
	ops->unload(img);
}

Test(board_pcc, each_image_has_a_number_of_its_own)
{
	uint32_t last = port().image;

	for (int i = 0; i < 100; i++) {
		ops->unload(load());
		cr_expect_neq(port().image, last);
		last = port().image;
	}
}

static struct bt_signal loaded, go;

static void load_and_stay(void *arg)
{
	struct dpa_board *own = bt_open();

	b = own;
	load();
	bt_signal_send(&loaded);
	bt_signal_wait(&go);
	(void)arg;
}

/* Forked before the board is open here: the child has its own. */
static pid_t other_with_image(void)
{
	pid_t pid;

	bt_signal_init(&loaded);
	bt_signal_init(&go);
	pid = bt_fork(load_and_stay, NULL);
	bt_signal_wait(&loaded);
	return pid;
}

Test(board_pcc, a_second_process_stands_by_and_takes_over)
{
	pid_t pid = other_with_image();
	struct dpa_pcc_image *img;
	enum dpa_pcc_state state;

	cr_assert_eq(ops->load(b, DPA_PCC_RP, &img, &state), 0);
	cr_expect_eq(state, DPA_PCC_STANDBY);
	cr_expect_eq(ops->take_over(img), DPA_PCC_STANDBY);
	cr_expect_eq(port().acting, 2);
	bt_kill(pid);
	cr_expect_eq(ops->take_over(img), DPA_PCC_ACTIVE);
	ops->unload(img);
}

Test(board_pcc, a_killed_process_leaves_no_image)
{
	bt_kill(other_with_image());
	cr_expect_eq(port().acting, (int)DPA_PCC_SLOT_DCQCN);
	cr_expect_not(port().loaded);
}

static void load_and_unload(void *arg)
{
	b = bt_open();
	ops->unload(load());
	dpa_board_close(b);
	(void)arg;
}

Test(board_pcc, killed_at_any_step_it_leaves_nothing)
{
	static const char *const steps[] = {"reserved", "pcc-unload", "detached"};

	for (size_t i = 0; i < 3; i++) {
		cr_expect(bt_dies(load_and_unload, NULL, steps[i], 1), "%s", steps[i]);
		cr_expect_eq(port().acting, (int)DPA_PCC_SLOT_DCQCN, "%s", steps[i]);
		ops->unload(load());
	}
}

/* ------------------------------------------------------------------------- events */

static const struct dpa_pcc_report event = {
	.flow = 5u << 24 | 77, .type = DPA_PCC_EV_TX, .sn = 1, .word = {1, 2, 3}};

static uint32_t take_all(struct dpa_pcc_image *img, struct dpa_pcc_report *out, uint32_t n)
{
	uint64_t rings[DPA_PCC_RINGS / 64];
	uint32_t got = 0;

	if (!ops->pending(img, rings))
		return 0;
	for (uint32_t r = 0; r < DPA_PCC_RINGS; r++)
		if (rings[r / 64] >> r % 64 & 1)
			got += ops->take(img, r, out + got, n - got);
	return got;
}

Test(board_pcc, events_come_in_order_and_a_full_ring_is_reported)
{
	struct dpa_pcc_report out[DPA_BOARD_PCC_RING + 1], e = event;
	struct dpa_pcc_image *img = load();

	cr_assert_eq(dpa_board_pcc_ring_open(b), 0);
	take_all(img, out, DPA_BOARD_PCC_RING);
	for (int lap = 0; lap < 5; lap++) {
		uint32_t n = 0;

		while (e.sn = n, dpa_board_pcc_report(b, &e))
			n++;
		cr_expect_eq(n, DPA_BOARD_PCC_RING);
		cr_assert_eq(take_all(img, out, DPA_BOARD_PCC_RING + 1), n);
		for (uint32_t i = 0; i < n; i++)
			cr_expect(out[i].sn == i && out[i].flow == event.flow &&
				  out[i].type == event.type && out[i].word[2] == 3);
		cr_expect_eq(take_all(img, out, 1), 0);
	}
	ops->unload(img);
}

/* Positions are modulo 2^32. */
Test(board_pcc, a_ring_goes_on_where_its_positions_wrap)
{
	struct dpa_pcc_report out[DPA_BOARD_PCC_RING + 1], e = event;
	struct dpa_pcc_image *img = load();
	const uint32_t start = UINT32_MAX - 200;

	cr_assert_eq(dpa_board_pcc_ring_open(b), 0);
	for (uint32_t p = start; p - start < DPA_BOARD_PCC_RING; p++)
		b->shm->pcc_rings[b->slot].event[p % DPA_BOARD_PCC_RING].seq =
			p - p % DPA_BOARD_PCC_RING;
	b->shm->pcc_ends[b->slot].tail = b->shm->pcc_ends[b->slot].head = start;
	take_all(img, out, 1);
	for (uint32_t i = 0; i < 400; i++) {
		e.sn = i;
		cr_assert(dpa_board_pcc_report(b, &e), "%u", i);
		cr_assert_eq(take_all(img, out, DPA_BOARD_PCC_RING), 1, "%u", i);
		cr_assert_eq(out[0].sn, i);
	}
	ops->unload(img);
}

static void load_and_take(void *arg)
{
	struct dpa_pcc_report out[3];
	uint32_t ring = *(uint32_t *)arg;

	b = bt_open();
	ops->take(load(), ring, out, 3);
}

/* Killed after an event's last word: flows fill the entry again before the next owner reads it. */
Test(board_pcc, an_owner_that_was_killed_stops_no_ring)
{
	struct dpa_pcc_report out[DPA_BOARD_PCC_RING + 1], e = event;
	struct dpa_pcc_image *img;
	uint32_t n = 0;

	cr_assert_eq(dpa_board_pcc_ring_open(b), 0);
	for (; n < 3; n++) {
		e.sn = n;
		cr_assert(dpa_board_pcc_report(b, &e));
	}
	cr_expect(bt_dies(load_and_take, &b->slot, "pcc-took", 1));
	while (e.sn = n, dpa_board_pcc_report(b, &e))
		n++;
	cr_expect_eq(n, DPA_BOARD_PCC_RING + 1, "the one that was taken is free");
	img = load();
	cr_expect_eq(take_all(img, out, DPA_BOARD_PCC_RING + 1), DPA_BOARD_PCC_RING);
	for (uint32_t i = 0; i < DPA_BOARD_PCC_RING; i++)
		cr_expect_eq(out[i].sn, i + 1);
	ops->unload(img);
}

/* The same, and the process of the flows died as well, in the entry one lap ahead. */
Test(board_pcc, an_entry_a_lap_ahead_is_filled_by_the_next_process)
{
	struct dpa_board_pcc_ring *r = &b->shm->pcc_rings[b->slot];

	cr_assert_eq(dpa_board_pcc_ring_open(b), 0);
	for (uint32_t i = 0; i < DPA_BOARD_PCC_RING; i++)
		r->event[i].seq = i ? 1 : DPA_BOARD_PCC_RING;
	b->shm->pcc_ends[b->slot].tail = DPA_BOARD_PCC_RING + 1;
	cr_assert_eq(dpa_board_pcc_ring_open(b), 0);
	cr_expect_eq(r->event[0].seq, DPA_BOARD_PCC_RING + 1);
}

Test(board_pcc, an_answer_has_the_image_and_counts_probes)
{
	struct dpa_pcc_image *img = load();
	uint32_t qpn = b->board_num << 16 | 77;
	_Atomic uint64_t *r = dpa_board_pcc_result(b, qpn);

	cr_assert(r);
	cr_expect_null(dpa_board_pcc_result(b, (b->board_num ^ 1) << 16));
	ops->answer(img, 5u << 24 | qpn, 1000, true);
	ops->answer(img, 5u << 24 | qpn, DPA_PCC_RATE_ONE * 2, true);
	cr_expect_eq(*r, dpa_pcc_result_make(port().image, 5, 2, DPA_PCC_RATE_ONE));
	ops->answer(img, 6u << 24 | qpn, 1, false);
	cr_expect_eq(*r, dpa_pcc_result_make(port().image, 6, 0, 1));
	ops->unload(img);
}

static void report_and_die(void *arg)
{
	struct dpa_board *mine = bt_open();

	dpa_board_pcc_ring_open(mine);
	dpa_board_pcc_report(mine, &event);
	dpa_board_pcc_report(mine, &event);
	dpa_board_close(mine);
	(void)arg;
}

/* The next process takes over the process index and its ring. */
Test(board_pcc, a_ring_of_a_killed_writer_serves_the_next_one)
{
	struct dpa_pcc_report out[DPA_BOARD_PCC_RING];
	struct dpa_pcc_image *img = load();

	take_all(img, out, DPA_BOARD_PCC_RING);
	cr_expect(bt_dies(report_and_die, NULL, "pcc-taken", 2));
	cr_expect_eq(take_all(img, out, DPA_BOARD_PCC_RING), 1);
	cr_expect_eq(dpa_board_reap(b), 1);
	bt_wait(bt_fork(report_and_die, NULL));
	cr_expect_eq(take_all(img, out, DPA_BOARD_PCC_RING), 2);
	cr_expect(bt_dies(report_and_die, NULL, "pcc-pushed", 2));
	ops->unload(img);
	img = load(); /* reads all rings */
	cr_expect_eq(take_all(img, out, DPA_BOARD_PCC_RING), 2);
	ops->unload(img);
}

/* --------------------------------------------------------------------- parameters */

static void set_and_end(void *arg)
{
	struct dpa_board *mine = bt_open();
	int *want = arg;

	if (dpa_board_pcc_set_param(mine, 2, 0, (uint32_t)want[0]) != want[1])
		_exit(1);
	dpa_board_close(mine);
}

Test(board_pcc, a_parameter_is_set_by_the_image)
{
	struct dpa_pcc_image *img = load();
	int want[2] = {8, EINVAL};
	uint32_t slot, id, value;
	pid_t pid;

	cr_expect_eq(dpa_board_pcc_set_param(b, 2, 0, 10), ERANGE);
	cr_expect_eq(dpa_board_pcc_set_param(b, 2, 1, 6), ERANGE, "may not be set");
	cr_expect_not(ops->next_param(img, &slot, &id, &value));
	pid = bt_fork(set_and_end, want);
	while (!ops->next_param(img, &slot, &id, &value))
		ops->wait(img, 100);
	cr_expect(slot == 2 && id == 0 && value == 8);
	ops->answer_param(img, EINVAL);
	cr_expect_eq(bt_wait(pid), 0);
	ops->unload(img);
}

/* A request is checked again: its caller was of another image, or the memory was overwritten. */
Test(board_pcc, a_request_that_no_caller_may_post_is_refused)
{
	static const uint32_t bad[][3] = {{2, 0, 4}, {2, 0, 10}, {2, 1, 6},
					  {2, 2, 6}, {2, 63, 6}, {7, 0, 6}};
	struct dpa_pcc_image *img = load();
	uint32_t slot, id, value;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		b->shm->pcc.req = (uint64_t)bad[i][2] << DPA_BOARD_PCC_REQ_VALUE |
				  bad[i][1] << DPA_BOARD_PCC_REQ_ID |
				  bad[i][0] << DPA_BOARD_PCC_REQ_SLOT | DPA_PCC_REQ_POSTED;
		cr_expect_not(ops->next_param(img, &slot, &id, &value), "%zu", i);
		cr_expect_eq(b->shm->pcc.req & DPA_BOARD_PCC_REQ_STATE, DPA_PCC_REQ_ANSWERED);
		cr_expect_eq(b->shm->pcc.req >> DPA_BOARD_PCC_REQ_VALUE, ERANGE);
	}
	ops->unload(img);
}

/*
 * It was stopped for so long that another process took over: then it finds the other one's request.
 */
Test(board_pcc, an_answer_is_for_the_request_that_was_read)
{
	struct dpa_pcc_image *img = load();
	uint32_t slot, id, value;
	uint64_t second = UINT64_C(8) << DPA_BOARD_PCC_REQ_VALUE |
			  UINT64_C(2) << DPA_BOARD_PCC_REQ_SERIAL | 2 << DPA_BOARD_PCC_REQ_SLOT |
			  DPA_PCC_REQ_POSTED;

	b->shm->pcc.req = UINT64_C(7) << DPA_BOARD_PCC_REQ_VALUE | 2 << DPA_BOARD_PCC_REQ_SLOT |
			  DPA_PCC_REQ_POSTED;
	cr_expect(ops->next_param(img, &slot, &id, &value) && value == 7);
	b->shm->pcc.req = second;
	ops->answer_param(img, 0);
	cr_expect_eq(b->shm->pcc.req, second);
	cr_expect(ops->next_param(img, &slot, &id, &value) && value == 8);
	ops->unload(img);
}

static void ask_and_die(void *arg)
{
	struct dpa_board *mine = bt_open();

	dpa_board_pcc_set_param(mine, 2, 0, 7);
	(void)arg;
}

Test(board_pcc, an_asker_that_was_killed_keeps_nobody_out)
{
	struct dpa_pcc_image *img = load();

	cr_expect(bt_dies(ask_and_die, NULL, "pcc-request", 1));
	cr_expect_eq(dpa_board_pcc_set_param(b, 2, 0, 7), EBUSY, "the image does not answer");
	ops->unload(img);
}

Test(board_pcc, a_tool_writes_through_its_own_mapping)
{
	struct dpa_board_cfg cfg = bt_cfg();
	struct dpa_board *tool;

	cr_assert_eq(dpa_board_peek(&cfg, &tool, bt_err, sizeof(bt_err)), 0);
	cr_assert_eq(dpa_board_pcc_writable(tool), 0);
	cr_expect_eq(dpa_board_pcc_enable(tool, DPA_PCC_SLOT_RTT, true), 0);
	cr_expect_eq(port().acting, (int)DPA_PCC_SLOT_RTT);
	dpa_board_unpeek(tool);
}

/* ------------------------------------------------------------- flows that are recorded */

static bool recorded(struct dpa_board *board)
{
	return dpa_pcc_word_recorded(atomic_load(dpa_board_pcc_word(board)));
}

/* A dead recorder sends no requests any more: the first flow past its time stops the recording. */
Test(board_pcc, recording_ends_without_its_recorder)
{
	cr_expect_not(recorded(b));
	dpa_board_pcc_record(b, 1000, 500);
	cr_expect(recorded(b));
	dpa_board_pcc_record(b, 1200, 100); /* another recorder shortens nothing */
	dpa_board_pcc_record_check(b, 1500);
	cr_expect(recorded(b));
	dpa_board_pcc_record(b, 1400, 500);
	dpa_board_pcc_record_check(b, 1900);
	cr_expect(recorded(b));
	dpa_board_pcc_record_check(b, 1901);
	cr_expect_not(recorded(b));
	cr_expect_eq(port().acting, (int)DPA_PCC_SLOT_DCQCN);
	cr_expect_eq(port().counting, (int)DPA_PCC_SLOT_DCQCN);
}

Test(board_pcc, a_record_is_of_the_qp_that_has_the_number)
{
	struct dpa_board_pcc_flow *f;
	uint32_t qpn = 0, begun;

	cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
	cr_expect_null(dpa_board_pcc_flow_of(b, qpn));
	f = dpa_board_pcc_flow_begin(b, qpn);
	cr_assert_not_null(f);
	begun = f->begun;
	cr_expect_eq(dpa_board_pcc_flow_of(b, qpn), f);
	cr_expect_eq(dpa_board_pcc_flow_begin(b, qpn), f);
	cr_expect_eq(f->begun, begun + 1);
	cr_expect_leq(dpa_board_pcc_flow_next(b, 0), qpn & (DPA_BOARD_QPNS - 1));
	cr_expect_null(dpa_board_pcc_flow_begin(b, qpn ^ 1 << 16), "another board's");
	dpa_board_qpn_free(b, qpn);
	cr_expect_null(dpa_board_pcc_flow_of(b, qpn));
}

/* ------------------------------------------------------- headers and priorities of probes */

#define FLOW(i) (UINT32_C(3) << 24 | (uint32_t)b->board_num << 16 | (i))

static uint32_t number(void)
{
	return port().image;
}

/* QPNs that have an owner. */
static void own_qpns(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		atomic_store(&b->shm->qpns[i].owner, dpa_board_me(b));
}

static void free_qpns(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		atomic_store(&b->shm->qpns[i].owner, 0);
}

Test(board_pcc, a_flow_has_the_header_that_was_set_last)
{
	struct dpa_pcc_image *img = load();
	uint32_t hdr[DPA_PCC_HEADER], first = number();

	own_qpns(16);
	cr_assert(dpa_board_pcc_header(b, number(), FLOW(5), hdr));
	cr_expect_eq(hdr[0], 0u, "none was set");
	cr_assert_eq(ops->set_header(img, FLOW(5), (uint32_t[]){1, 2, 3}, 3), 0);
	cr_assert(dpa_board_pcc_header(b, number(), FLOW(5), hdr));
	cr_expect(hdr[0] == 1 && hdr[2] == 3 && hdr[3] == 0);
	cr_assert_eq(ops->set_header(img, FLOW(5), (uint32_t[]){4}, 1), 0);
	cr_assert(dpa_board_pcc_header(b, number(), FLOW(5), hdr));
	cr_expect(hdr[0] == 4 && hdr[1] == 0, "the rest becomes 0");
	cr_assert(dpa_board_pcc_header(b, number(), FLOW(6), hdr));
	cr_expect_eq(hdr[0], 0u, "of another flow");
	cr_assert(dpa_board_pcc_header(b, number(), FLOW(5) ^ 1u << 24, hdr));
	cr_expect_eq(hdr[0], 0u, "of a later flow with the QPN");
	ops->unload(img);
	img = load();
	cr_expect_neq(number(), first);
	cr_assert(dpa_board_pcc_header(b, number(), FLOW(5), hdr));
	cr_expect_eq(hdr[0], 0u, "of another image");
	ops->unload(img);
	free_qpns(16);
}

static uint32_t torn, steps;

static void look_at_it(const char *step)
{
	uint32_t hdr[DPA_PCC_HEADER];

	if (strcmp(step, "pcc-header"))
		return;
	steps++;
	torn += !dpa_board_pcc_header(b, number(), FLOW(5), hdr);
}

/* At any word: the flow finds the header whole, or waits. */
Test(board_pcc, a_header_is_never_half_of_two)
{
	struct dpa_pcc_image *img = load();
	uint32_t hdr[DPA_PCC_HEADER];

	own_qpns(16);
	for (uint32_t n = 0; n < 2; n++) {
		torn = steps = 0;
		dpa_board_step_hook = look_at_it;
		cr_assert_eq(ops->set_header(img, FLOW(5), (uint32_t[]){n + 7}, 1), 0);
		dpa_board_step_hook = NULL;
		cr_expect_eq(steps, DPA_PCC_HEADER);
		cr_expect_eq(torn, DPA_PCC_HEADER);
		cr_assert(dpa_board_pcc_header(b, number(), FLOW(5), hdr));
		cr_expect_eq(hdr[0], n + 7);
	}
	ops->unload(img);
	free_qpns(16);
}

Test(board_pcc, so_many_flows_have_a_header)
{
	struct dpa_pcc_image *img = load();
	uint32_t hdr[DPA_PCC_HEADER], n = DPA_PCC_HEADER_FLOWS;

	own_qpns(n + 2);
	for (uint32_t i = 0; i < n; i++)
		cr_assert_eq(ops->set_header(img, FLOW(i), &i, 1), 0, "%u", i);
	cr_expect_eq(ops->set_header(img, FLOW(n), &n, 1), ENOSPC);
	cr_assert(dpa_board_pcc_header(b, number(), FLOW(3), hdr));
	cr_expect_eq(hdr[0], 3u);
	/* QP 3 ends: its place is free */
	atomic_store(&b->shm->qpns[3].owner, 0);
	cr_assert_eq(ops->set_header(img, FLOW(n), &n, 1), 0);
	cr_assert(dpa_board_pcc_header(b, number(), FLOW(n), hdr));
	cr_expect_eq(hdr[0], n);
	cr_expect_eq(ops->set_header(img, FLOW(n + 1), &n, 1), ENOSPC);
	ops->unload(img);
	/* of the next image nothing is taken yet */
	img = load();
	cr_expect_eq(ops->set_header(img, FLOW(n + 1), &n, 1), 0);
	ops->unload(img);
	free_qpns(n + 2);
}

Test(board_pcc, a_priority_stays_until_it_is_set_again)
{
	struct dpa_pcc_image *img = load();
	_Atomic uint64_t *r;

	cr_expect_eq(ops->set_dscp(img, FLOW(5), 46), ENOENT, "no flow has asked yet");
	r = dpa_board_pcc_result(b, FLOW(5) & 0xffffff);
	cr_assert_not_null(r);
	cr_expect_eq(dpa_pcc_result_dscp(*r), DPA_PCC_DSCP_NONE);
	cr_assert_eq(ops->set_dscp(img, FLOW(5), 0), 0);
	cr_expect_eq(dpa_pcc_result_dscp(*r), 0);
	cr_expect_eq(*r & (2 * DPA_PCC_RATE_ONE - 1), DPA_PCC_RATE_ONE,
		     "not paced before an answer");
	ops->answer(img, FLOW(5), 77, true);
	cr_assert_eq(ops->set_dscp(img, FLOW(5), 63), 0);
	ops->answer(img, FLOW(5), 78, true);
	cr_expect_eq(dpa_pcc_result_dscp(*r), 63);
	cr_expect_eq(*r & (2 * DPA_PCC_RATE_ONE - 1), 78u);
	cr_expect_eq(*r >> 24 & 0xff, 2u, "probes");
	cr_expect_eq(*r >> 32 & 0xff, 3u, "epoch");
	cr_assert_eq(ops->set_dscp(img, FLOW(5), DPA_PCC_DSCP_NONE), 0);
	cr_expect_eq(dpa_pcc_result_dscp(*r), DPA_PCC_DSCP_NONE);
	cr_assert_eq(ops->set_dscp(img, FLOW(5), 63), 0);
	ops->answer(img, FLOW(5) ^ 1u << 24, 78, false);
	cr_expect_eq(dpa_pcc_result_dscp(*r), DPA_PCC_DSCP_NONE, "of a later flow with the QPN");
	ops->unload(img);
}

Test(board_pcc, queues_are_of_the_process_that_has_the_index)
{
	struct dpa_board_pcc_queue *q;

	cr_expect_null(dpa_board_pcc_queue_of(b, b->slot));
	q = dpa_board_pcc_queue_mine(b);
	cr_assert_not_null(q);
	cr_expect_eq(dpa_board_pcc_queue_of(b, b->slot), q);
	cr_expect_null(dpa_board_pcc_queue_of(b, b->slot + 1));
	cr_expect_null(dpa_board_pcc_queue_of(b, DPA_BOARD_PROCS));
	q->owner ^= 1;
	cr_expect_null(dpa_board_pcc_queue_of(b, b->slot));
}
