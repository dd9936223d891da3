/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_flow.c - the board's flow rules: their owners, their end, and that no reader sees a part of
 * one.
 */
#include <pthread.h>
#include "util.h"
#include "tables/tables.h"

TestSuite(board_flow, .init = bt_setup, .fini = bt_teardown);

#define WORDS (DPA_BOARD_FLOW_RULE / 8)

static uint32_t new_qpn(struct dpa_board *b)
{
	uint32_t qpn;

	cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
	return qpn;
}

static uint32_t add(struct dpa_board *b, uint32_t qpn, uint64_t what)
{
	uint64_t rule[WORDS];
	uint32_t at = UINT32_MAX;

	for (uint32_t i = 0; i < WORDS; i++)
		rule[i] = what;
	cr_assert_eq(dpa_board_flow_add(b, qpn, rule, sizeof(rule), &at), 0);
	return at;
}

/* Existing rules; each must be complete. *sum: sum of their contents. */
static uint32_t rules(struct dpa_board *b, uint64_t *sum)
{
	uint32_t n = 0, qpn;
	uint64_t rule[WORDS];
	dpa_owner_t owner;

	*sum = 0;
	for (uint32_t i = 0; i < dpa_board_flow_end(b); i++) {
		if (dpa_board_flow_get(b, i, rule, &qpn, &owner) != DPA_FLOW_THERE)
			continue;
		for (uint32_t k = 1; k < WORDS; k++)
			cr_assert_eq(rule[k], rule[0], "rule %u: word %u", i, k);
		*sum += rule[0];
		n++;
	}
	return n;
}

Test(board_flow, come_and_go)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qa = new_qpn(a), qb = new_qpn(b), r1, r2, gen = dpa_board_flow_gen(a);
	uint64_t sum;

	cr_expect_eq(rules(a, &sum), 0u);
	r1 = add(a, qa, 1);
	r2 = add(b, qb, 10);
	cr_expect_neq(dpa_board_flow_gen(b), gen);
	cr_expect_eq(rules(b, &sum), 2u);
	cr_expect_eq(sum, 11u);
	cr_expect_eq(dpa_board_flow_remove(a, r2, qb), ENOENT, "another process's");
	cr_expect_eq(dpa_board_flow_remove(a, r1, qb), ENOENT, "another QP's");
	cr_expect_eq(dpa_board_flow_remove(a, 9999, qa), ENOENT);
	gen = dpa_board_flow_gen(a);
	cr_expect_eq(dpa_board_flow_remove(a, r1, qa), 0);
	cr_expect_neq(dpa_board_flow_gen(a), gen);
	cr_expect_eq(dpa_board_flow_remove(a, r1, qa), ENOENT);
	cr_expect_eq(rules(a, &sum), 1u);
	add(a, qa, 100);
	add(a, qa, 1000);
	dpa_board_flow_forget(a, qa);
	cr_expect_eq(rules(b, &sum), 1u);
	dpa_board_close(b);
	cr_expect_eq(rules(a, &sum), 0u, "of a process that left");
	dpa_board_close(a);
}

/*
 * A rule counts for itself: not the count of the previous rule in its place, nor counts of others.
 */
Test(board_flow, counts)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qa = new_qpn(a), qb = new_qpn(b), at = add(a, qa, 1), qpn;
	uint64_t packets, bytes, rule[WORDS];
	dpa_owner_t owner;

	cr_assert_eq(dpa_board_flow_get(b, at, rule, &qpn, &owner), DPA_FLOW_THERE);
	dpa_board_flow_hit(b, at, qpn, owner, 100);
	dpa_board_flow_hit(a, at, qpn, owner, 60);
	cr_assert_eq(dpa_board_flow_counts(a, at, qa, &packets, &bytes), 0);
	cr_expect_eq(packets, 2u);
	cr_expect_eq(bytes, 160u);
	cr_expect_eq(dpa_board_flow_counts(b, at, qa, &packets, &bytes), ENOENT);
	cr_expect_eq(dpa_board_flow_counts(a, at, qb, &packets, &bytes), ENOENT);
	cr_expect_eq(dpa_board_flow_counts(a, 9999, qa, &packets, &bytes), ENOENT);
	cr_assert_eq(dpa_board_flow_remove(a, at, qa), 0);
	cr_assert_eq(add(b, qb, 2), at);
	dpa_board_flow_hit(a, at, qpn, owner, 60); /* of an old copy */
	cr_assert_eq(dpa_board_flow_counts(b, at, qb, &packets, &bytes), 0);
	cr_expect_eq(packets, 0u);
	cr_expect_eq(bytes, 0u);
	dpa_board_close(b);
	dpa_board_close(a);
}

/* A rule ends with its QP's number; its place can be used again. */
Test(board_flow, end_with_the_qpn)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qb = new_qpn(b), at = add(b, qb, 5);
	uint64_t sum;

	dpa_board_qpn_free(b, qb);
	cr_expect_eq(rules(a, &sum), 0u);
	cr_expect_eq(add(a, new_qpn(a), 7), at);
	cr_expect_eq(rules(b, &sum), 1u);
	cr_expect_eq(sum, 7u);
	dpa_board_close(b);
	dpa_board_close(a);
}

Test(board_flow, all)
{
	struct dpa_board *a = bt_open();
	uint32_t q = new_qpn(a), at;
	uint64_t rule = 1, sum;

	for (uint32_t i = 0; i < DPA_MAX_FLOWS; i++)
		cr_assert_eq(add(a, q, 1), i);
	cr_expect_eq(dpa_board_flow_add(a, q, &rule, sizeof(rule), &at), ENOMEM);
	cr_expect_eq(rules(a, &sum), (uint32_t)DPA_MAX_FLOWS);
	cr_expect_eq(dpa_board_flow_remove(a, 77, q), 0);
	cr_expect_eq(add(a, q, 1), 77u);
	dpa_board_close(a);
}

struct changing {
	struct dpa_board *b;
	uint32_t qpn;
};

static void *change(void *arg)
{
	struct changing *c = arg;

	for (uint64_t i = 1; i <= 3000; i++)
		dpa_board_flow_remove(c->b, add(c->b, c->qpn, i), c->qpn);
	return NULL;
}

/* A reader concurrent with a writer sees complete rules or none. */
Test(board_flow, whole)
{
	struct dpa_board *a = bt_open();
	struct changing c = {.b = a, .qpn = new_qpn(a)};
	pthread_t t;
	uint64_t sum;

	cr_assert_eq(pthread_create(&t, NULL, change, &c), 0);
	for (int i = 0; i < 3000; i++)
		cr_assert_leq(rules(a, &sum), 1u);
	pthread_join(t, NULL);
	cr_expect_eq(rules(a, &sum), 0u);
	dpa_board_close(a);
}

static void adds(void *arg)
{
	struct dpa_board *b = bt_open();

	(void)arg;
	add(b, new_qpn(b), 3);
	_exit(0);
}

static void removes(void *arg)
{
	struct dpa_board *b = bt_open();
	uint32_t q = new_qpn(b);

	(void)arg;
	dpa_board_flow_remove(b, add(b, q, 3), q);
	_exit(0);
}

/* Read that must be repeated: a dead writer causes none once it was found dead. */
static uint32_t changing(struct dpa_board *b)
{
	uint64_t rule[WORDS];
	uint32_t n = 0, qpn;
	dpa_owner_t owner;

	for (uint32_t i = 0; i < dpa_board_flow_end(b); i++)
		n += dpa_board_flow_get(b, i, rule, &qpn, &owner) == DPA_FLOW_CHANGES;
	return n;
}

Test(board_flow, dies_while_writing)
{
	struct dpa_board *a = bt_open();
	uint64_t sum;

	cr_assert(bt_dies(adds, NULL, "flow-odd", 1));
	cr_expect_eq(rules(a, &sum), 0u);
	cr_expect_eq(changing(a), 0u);
	cr_expect_eq(add(a, new_qpn(a), 7), 0u, "its entry serves again");
	cr_assert(bt_dies(removes, NULL, "flow-odd", 2));
	dpa_board_reap(a);
	cr_expect_eq(changing(a), 0u);
	cr_expect_eq(rules(a, &sum), 1u);
	cr_expect_eq(sum, 7u);
	dpa_board_close(a);
}
