/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_np.c - probes for the program of the notification point on the board, and their state after
 * a kill.
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

TestSuite(board_np, .init = setup, .fini = teardown);

static const struct dpa_pcc_ops *const ops = &dpa_board_pcc_ops;
static const struct dpa_pcc_probes ccmad = {.format = DPA_PCC_CCMAD};

static struct dpa_pcc_image *load(const struct dpa_pcc_probes *probes)
{
	struct dpa_pcc_image *img;
	enum dpa_pcc_state state;

	cr_assert_eq(ops->load(b, DPA_PCC_NP, &img, &state), 0);
	cr_assert_eq(state, DPA_PCC_ACTIVE);
	cr_assert_eq(ops->publish_np(img, probes), 0);
	return img;
}

static struct dpa_pcc_probe post(uint8_t first)
{
	struct dpa_pcc_probe p = {
		.size = 100, .l4 = 34, .payload = 42, .came = 77, .packet = {first}};

	p.packet[99] = (uint8_t)(first + 1);
	cr_assert(dpa_board_np_post(b, &p));
	return p;
}

/* Take from the rings that have entries. */
static uint32_t take(struct dpa_pcc_image *img, struct dpa_pcc_probe *out, uint32_t n)
{
	uint64_t rings[DPA_PCC_RINGS / 64];
	uint32_t got = 0;

	if (!ops->pending(img, rings))
		return 0;
	for (uint32_t r = 0; r < DPA_PCC_RINGS; r++)
		if (got < n && rings[r / 64] >> r % 64 & 1 && ops->take_probe(img, r, &out[got]))
			got++;
	return got;
}

static const struct dpa_pcc_reply data = {"twelve bytes", 46};

static void expect_data(const struct dpa_pcc_reply *a)
{
	cr_expect_arr_eq(a->data, data.data, DPA_PCC_ANSWER);
	cr_expect_eq(a->dscp, data.dscp);
}

Test(board_np, a_probe_and_its_answer)
{
	struct dpa_pcc_image *img = load(&ccmad);
	struct dpa_pcc_probe p = post(7), got;
	struct dpa_pcc_reply a;

	cr_expect_eq(dpa_board_np_poll(b, p.ring, p.serial, &a), DPA_NP_WAITS);
	cr_assert_eq(take(img, &got, 1), 1u);
	cr_expect(got.size == 100 && got.l4 == 34 && got.payload == 42 && got.came == 77);
	cr_expect(got.packet[0] == 7 && got.packet[99] == 8);
	cr_expect_eq(dpa_board_np_poll(b, p.ring, p.serial, &a), DPA_NP_WAITS);
	ops->answer_probe(img, &got, &data);
	cr_expect_eq(dpa_board_np_poll(b, p.ring, p.serial, &a), DPA_NP_SENDS);
	expect_data(&a);
	cr_expect_eq(dpa_board_np_poll(b, p.ring, p.serial, &a), DPA_NP_NONE, "once");
	p = post(8);
	cr_assert_eq(take(img, &got, 1), 1u);
	ops->answer_probe(img, &got, NULL);
	cr_expect_eq(dpa_board_np_poll(b, p.ring, p.serial, &a), DPA_NP_NONE, "refused");
	ops->unload(img);
}

/* Another process wrote it. */
Test(board_np, a_dscp_that_is_none_is_that_of_the_path)
{
	const struct dpa_pcc_reply odd = {"twelve bytes", 64};
	struct dpa_pcc_image *img = load(&ccmad);
	struct dpa_pcc_probe p = post(7), got;
	struct dpa_pcc_reply a;

	cr_assert_eq(take(img, &got, 1), 1u);
	ops->answer_probe(img, &got, &odd);
	cr_expect_eq(dpa_board_np_poll(b, p.ring, p.serial, &a), DPA_NP_SENDS);
	cr_expect_eq(a.dscp, DPA_PCC_DSCP_NONE);
	ops->unload(img);
}

/* Its number is different: a late answer is dropped. */
Test(board_np, an_answer_that_is_late_does_not_count)
{
	struct dpa_pcc_image *img = load(&ccmad);
	struct dpa_pcc_probe first = post(1), second, got, late;
	struct dpa_pcc_reply a;

	cr_assert_eq(take(img, &late, 1), 1u);
	dpa_board_np_drop(b, first.ring, first.serial);
	second = post(2);
	cr_assert_eq(second.ring, first.ring);
	ops->answer_probe(img, &late, &data);
	cr_expect_eq(dpa_board_np_poll(b, second.ring, second.serial, &a), DPA_NP_WAITS);
	cr_expect_eq(dpa_board_np_poll(b, first.ring, first.serial, &a), DPA_NP_NONE);
	cr_assert_eq(take(img, &got, 1), 1u);
	cr_expect_eq(got.packet[0], 2);
	ops->unload(img);
}

static const struct dpa_pcc_reply other = {"another data", 10};

Test(board_np, an_answer_that_is_late_leaves_the_next_one)
{
	struct dpa_pcc_image *img = load(&ccmad);
	struct dpa_pcc_probe first = post(1), second, got, late;
	struct dpa_pcc_reply a;

	cr_assert_eq(take(img, &late, 1), 1u);
	dpa_board_np_drop(b, first.ring, first.serial);
	second = post(2);
	cr_assert_eq(take(img, &got, 1), 1u);
	ops->answer_probe(img, &got, &data);
	ops->answer_probe(img, &late, &other);
	cr_expect_eq(dpa_board_np_poll(b, second.ring, second.serial, &a), DPA_NP_SENDS);
	expect_data(&a);
	ops->unload(img);
}

/* The hook runs this while the writer of the late answer is at a step. */
static struct dpa_pcc_image *of_late;
static struct dpa_pcc_probe given_up, next;
static const char *stands_at;
static int stands_in;

static void the_next_is_answered(const char *step)
{
	struct dpa_pcc_probe got;

	if (strcmp(step, stands_at) || stands_in-- != 1)
		return;
	dpa_board_np_drop(b, given_up.ring, given_up.serial);
	next = post(2);
	cr_assert_eq(next.ring, given_up.ring);
	cr_assert_eq(take(of_late, &got, 1), 1u);
	ops->answer_probe(of_late, &got, &data);
}

/*
 * Descheduled at any point of its answer: the next probe gets that answer or none, never a mixture.
 */
Test(board_np, an_answer_that_stops_halfway_is_never_that_of_the_next)
{
	static const struct {
		const char *step;
		int nth;
		enum dpa_np_state then;
	} c[] = {{"np-looked", 1, DPA_NP_NONE}, {"np-word", 1, DPA_NP_NONE},
		 {"np-word", 2, DPA_NP_NONE},	{"np-word", 3, DPA_NP_NONE},
		 {"np-word", 4, DPA_NP_SENDS},	{"np-answer", 1, DPA_NP_SENDS}};

	of_late = load(&ccmad);
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct dpa_pcc_probe late;
		struct dpa_pcc_reply a = {0};

		given_up = post(1);
		cr_assert_eq(take(of_late, &late, 1), 1u);
		stands_at = c[i].step;
		stands_in = c[i].nth;
		dpa_board_step_hook = the_next_is_answered;
		ops->answer_probe(of_late, &late, &other);
		dpa_board_step_hook = NULL;
		cr_expect_eq(dpa_board_np_poll(b, next.ring, next.serial, &a), c[i].then, "%s %d",
			     c[i].step, c[i].nth);
		if (c[i].then == DPA_NP_SENDS)
			expect_data(&a);
	}
	ops->unload(of_late);
}

Test(board_np, so_many_wait_at_a_time)
{
	struct dpa_pcc_image *img = load(&ccmad);
	struct dpa_pcc_probe p[DPA_BOARD_NP_PROBES], got[DPA_BOARD_NP_PROBES], more = {.size = 1};

	for (uint32_t i = 0; i < DPA_BOARD_NP_PROBES; i++)
		p[i] = post((uint8_t)i);
	cr_expect_not(dpa_board_np_post(b, &more));
	dpa_board_np_drop(b, p[5].ring, p[5].serial);
	cr_expect(dpa_board_np_post(b, &more));
	cr_expect_eq(more.ring, p[5].ring);
	cr_expect_eq(take(img, got, DPA_BOARD_NP_PROBES), DPA_BOARD_NP_PROBES);
	ops->unload(img);
}

Test(board_np, what_a_program_takes)
{
	struct dpa_pcc_probes p = {.format = DPA_PCC_IFA2, .gns = 6},
			      is = {.format = DPA_PCC_CCMAD};
	struct dpa_pcc_image *img;

	cr_expect_not(dpa_board_np_takes(b, &ccmad), "there is none");
	img = load(&is);
	cr_expect(dpa_board_np_takes(b, &ccmad));
	cr_expect_not(dpa_board_np_takes(b, &p));
	ops->unload(img);
	cr_expect_not(dpa_board_np_takes(b, &ccmad), "it is gone");
	is.format = DPA_PCC_IFA2;
	img = load(&is);
	cr_expect(dpa_board_np_takes(b, &p), "without a mask any name space");
	ops->unload(img);
	is.ignore_mask = 3;
	is.ignore_value = 6;
	img = load(&is);
	cr_expect_not(dpa_board_np_takes(b, &p));
	p.gns = 5;
	cr_expect(dpa_board_np_takes(b, &p));
	ops->unload(img);
	is.format = p.format = DPA_PCC_IFA1;
	is.marker = 8;
	img = load(&is);
	cr_expect_not(dpa_board_np_takes(b, &p));
	p.marker = 8;
	cr_expect(dpa_board_np_takes(b, &p));
	ops->unload(img);
	is.marker = p.marker = 0;
	img = load(&is);
	cr_expect_not(dpa_board_np_takes(b, &p), "0 is no marker");
	ops->unload(img);
}

Test(board_np, both_roles_in_one_process)
{
	struct dpa_pcc_image *np = load(&ccmad), *rp, *second;
	enum dpa_pcc_state state;

	cr_assert_eq(ops->load(b, DPA_PCC_RP, &rp, &state), 0);
	cr_expect_eq(state, DPA_PCC_ACTIVE);
	cr_expect_eq(ops->load(b, DPA_PCC_NP, &second, &state), EALREADY);
	ops->unload(rp);
	cr_expect(dpa_board_np_takes(b, &ccmad));
	ops->unload(np);
}

/* ------------------------------------------------------------------------ kills */

static struct bt_signal loaded, go;

static void load_and_stay(void *arg)
{
	b = bt_open();
	load(&ccmad);
	bt_signal_send(&loaded);
	bt_signal_wait(&go);
	(void)arg;
}

static pid_t other_with_program(void)
{
	pid_t pid;

	bt_signal_init(&loaded);
	bt_signal_init(&go);
	pid = bt_fork(load_and_stay, NULL);
	bt_signal_wait(&loaded);
	return pid;
}

Test(board_np, a_killed_process_has_no_program)
{
	pid_t pid = other_with_program();
	struct dpa_pcc_image *img;
	enum dpa_pcc_state state;

	dpa_board_np_check(b);
	cr_expect(dpa_board_np_takes(b, &ccmad), "it lives");
	cr_assert_eq(ops->load(b, DPA_PCC_NP, &img, &state), 0);
	cr_expect_eq(state, DPA_PCC_STANDBY);
	bt_kill(pid);
	dpa_board_np_check(b);
	cr_expect_not(dpa_board_np_takes(b, &ccmad));
	cr_expect_eq(ops->take_over(img), DPA_PCC_ACTIVE);
	ops->unload(img);
}

static void post_and_end(void *arg)
{
	b = bt_open();
	for (uint32_t i = 0; i < DPA_BOARD_NP_PROBES; i++)
		post(1);
	if (arg) {
		dpa_board_np_leave(b);
		dpa_board_close(b);
	}
}

/* Killed or not: its entries are free again. */
Test(board_np, probes_go_with_their_process)
{
	struct dpa_pcc_probe p = {.size = 1};

	bt_wait(bt_fork(post_and_end, NULL));
	cr_expect(dpa_board_np_post(b, &p), "of a dead process");
	dpa_board_np_drop(b, p.ring, p.serial);
	bt_wait(bt_fork(post_and_end, b));
	for (uint32_t i = 0; i < DPA_BOARD_NP_PROBES; i++)
		cr_expect_eq(b->shm->np_probes[i].owner, 0u);
	cr_expect(dpa_board_np_post(b, &p));
}

static void all_steps(void *arg)
{
	struct dpa_pcc_probe p, got;
	struct dpa_pcc_image *img;
	struct dpa_pcc_reply a;

	b = bt_open();
	img = load(&ccmad);
	p = post(3);
	take(img, &got, 1);
	ops->answer_probe(img, &got, &data);
	dpa_board_np_poll(b, p.ring, p.serial, &a);
	ops->unload(img);
	dpa_board_close(b);
	(void)arg;
}

Test(board_np, killed_at_any_step_it_leaves_a_port_that_works)
{
	static const char *const steps[] = {"np-taken", "np-posted", "np-took",	 "np-looked",
					    "np-word",	"np-answer", "np-ended", "pcc-unload"};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct dpa_pcc_probe p, got[2];
		struct dpa_pcc_image *img;
		struct dpa_pcc_reply a;
		uint32_t n;

		cr_expect(bt_dies(all_steps, NULL, steps[i], 1), "%s", steps[i]);
		dpa_board_np_check(b);
		img = load(&ccmad);
		p = post(9);
		/* that of the dead process may come as well; an answer to it is dropped */
		n = take(img, got, 2);
		cr_assert(n == 1 || n == 2, "%s: %u", steps[i], n);
		for (uint32_t k = 0; k < n; k++)
			ops->answer_probe(img, &got[k], &data);
		cr_expect_eq(dpa_board_np_poll(b, p.ring, p.serial, &a), DPA_NP_SENDS, "%s",
			     steps[i]);
		ops->unload(img);
	}
}

static void check_and_end(void *arg)
{
	b = bt_open();
	dpa_board_np_check(b);
	(void)arg;
}

Test(board_np, killed_while_it_clears_up_after_another)
{
	bt_kill(other_with_program());
	cr_expect(bt_dies(check_and_end, NULL, "np-drop", 1));
	cr_expect_not(dpa_board_np_takes(b, &ccmad));
	ops->unload(load(&ccmad));
}

/* ------------------------------------------------------ data of other processes */

Test(board_np, sizes_that_cannot_be_are_refused)
{
	static const uint32_t bad[][3] = {
		{DPA_PCC_PROBE_BYTES + 1, 1, 2}, {10, 11, 11}, {10, 5, 4}, {UINT32_MAX, 0, 0}};
	struct dpa_pcc_image *img = load(&ccmad);
	struct dpa_pcc_probe got, p;
	struct dpa_pcc_reply a;

	for (size_t i = 0; i < 4; i++) {
		p = post(1);
		b->shm->np_probes[p.ring].size = bad[i][0];
		b->shm->np_probes[p.ring].l4 = bad[i][1];
		b->shm->np_probes[p.ring].payload = bad[i][2];
		cr_expect_eq(take(img, &got, 1), 0u);
		cr_expect_eq(dpa_board_np_poll(b, p.ring, p.serial, &a), DPA_NP_NONE);
	}
	cr_expect_not(ops->take_probe(img, DPA_PCC_RINGS - 1, &got));
	ops->unload(img);
}
