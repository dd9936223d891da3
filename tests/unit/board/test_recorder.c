/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_recorder.c - the recorder of dpactl over a board: the test provides its clock and its sleep,
 * and writes the words of the flows.
 */
#include <stdarg.h>
#include <time.h>
#include "util.h"

static int sleep_of_test(clockid_t clock, int flags, const struct timespec *until,
			 struct timespec *left);
#define clock_nanosleep sleep_of_test
#include "recorder.c"
#undef clock_nanosleep

static struct dpa_board *b;
static struct ctl ctl;
static uint64_t time_now;
static bool went_off; /* flows stopped recording while the recorder slept */

uint64_t now_ns(void)
{
	return time_now;
}

/* Return a millisecond late; just before that a flow checks whether a recorder still exists. */
static int sleep_of_test(clockid_t clock, int flags, const struct timespec *until,
			 struct timespec *left)
{
	time_now = (uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec + 1000000;
	dpa_board_pcc_record_check(b, time_now);
	if (!dpa_pcc_word_recorded(atomic_load(dpa_board_pcc_word(b))))
		went_off = true;
	(void)clock;
	(void)flags;
	(void)left;
	return 0;
}

void die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	exit(status);
}

void printable(char *text, size_t len)
{
	text[len - 1] = 0;
}

bool proc_read(struct ctl *c, uint32_t slot, struct proc *p)
{
	*p = (struct proc){.slot = slot, .pid = 1, .alive = true, .comm = "program"};
	return c != NULL;
}

static void setup(void)
{
	struct dpa_board_cfg cfg;

	bt_setup();
	b = bt_open();
	cfg = bt_cfg();
	cr_assert_eq(dpa_board_peek(&cfg, &ctl.b, bt_err, sizeof(bt_err)), 0);
	time_now = UINT64_C(1000000000);
}

static void teardown(void)
{
	dpa_board_unpeek(ctl.b);
	dpa_board_close(b);
	bt_teardown();
}

TestSuite(board_recorder, .init = setup, .fini = teardown);

static struct rec_sample s;

/* Flows check while the recorder sleeps whether they are still recorded, and continue. */
Test(board_recorder, flows_record_however_long_an_interval_is)
{
	static const uint64_t ms[] = {5, 100, 999, 1000, 1280, 2560, 3000, 10240, 3600000};
	struct recorder *r = rec_begin(&ctl);

	for (size_t i = 0; i < sizeof(ms) / sizeof(*ms); i++) {
		r->interval = ms[i] * 1000000;
		for (int k = 0; k < 3; k++) {
			cr_assert(rec_sample(r, &s));
			cr_expect_geq(s.ns, r->interval);
			cr_expect_lt(s.ns, r->interval + 2000000, "%llu",
				     (unsigned long long)ms[i]);
		}
		cr_expect_not(went_off, "%llu ms", (unsigned long long)ms[i]);
		went_off = false;
	}
	rec_end(r);
}

static struct dpa_board_pcc_flow *flow(uint32_t *qpn)
{
	struct dpa_board_pcc_flow *f;

	cr_assert_eq(dpa_board_qpn_alloc(b, qpn), 0);
	f = dpa_board_pcc_flow_begin(b, *qpn);
	cr_assert_not_null(f);
	f->bytes += 1;
	return f;
}

static void sample(struct recorder *r)
{
	cr_assert(rec_sample(r, &s));
	rec_keep(r, &s);
}

#define MANY (REC_FLOWS + 6)
static struct dpa_board_pcc_flow *f[MANY];
static uint32_t qpn[MANY];

/* Read each flow and add the bytes that it sends. */
static void all_send(struct recorder *r, uint32_t n)
{
	sample(r);
	for (uint32_t i = 0; i < n; i++)
		f[i]->bytes += 100 + i;
	sample(r);
}

Test(board_recorder, a_flow_that_is_missed_is_counted_once)
{
	struct recorder *r = rec_begin(&ctl);

	for (uint32_t i = 0; i < MANY; i++)
		f[i] = flow(&qpn[i]);
	for (int i = 0; i < 10; i++)
		all_send(r, MANY);
	cr_expect_eq(r->flows, REC_FLOWS);
	cr_expect_eq(r->missed, MANY - REC_FLOWS);
	rec_end(r);
}

static uint32_t entry_of(struct recorder *r, uint32_t number)
{
	for (uint32_t i = 0; i < r->flows; i++)
		if (r->flow[i].qpn == number)
			return i;
	return REC_FLOWS;
}

/* Of the ended flows the one that sent least loses its entry, and samples do not include it. */
Test(board_recorder, flows_that_ended_hide_no_later_ones)
{
	struct recorder *r = rec_begin(&ctl);
	struct dpa_board_pcc_flow *late;
	uint32_t old, number;

	for (uint32_t i = 0; i < REC_FLOWS; i++)
		f[i] = flow(&qpn[i]);
	all_send(r, REC_FLOWS);
	old = entry_of(r, qpn[7]);
	cr_assert_lt(old, REC_FLOWS);
	cr_expect_eq(r->sample[1].flow[old].bytes, 107u);
	late = flow(&number);
	cr_assert_neq(number, qpn[7]);
	cr_assert_neq(number, qpn[9]);
	sample(r);
	cr_expect_eq(r->missed, 1u);
	dpa_board_qpn_free(b, qpn[7]);
	dpa_board_qpn_free(b, qpn[9]);
	sample(r);
	cr_expect_eq(entry_of(r, number), old);
	cr_expect_eq(r->missed, 2u, "the late one's beginning, and the one that is gone");
	cr_expect_eq(r->sample[1].flow[old].bytes, 0u);
	late->bytes += 50;
	sample(r);
	cr_expect_eq(r->flow[old].sum.bytes, 50u);
	cr_expect_eq(s.flow[old].bytes, 50u);
	/* a QP that is a new flow of its program frees an entry, too: for itself */
	dpa_board_pcc_flow_begin(b, number);
	sample(r);
	cr_expect_eq(r->missed, 2u);
	cr_expect_eq(r->flows, REC_FLOWS);
	rec_end(r);
}
