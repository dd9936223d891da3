/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_nl_fuzz.c - requests that no program sends: cut short, with wrong lengths, random. The
 * answerer reads nothing beyond them (they end at the end of a heap block), and its answers are
 * well formed.
 */
#include "nl_fake.h"

#include <stdio.h>
#include <time.h>

#define ROUNDS 60000

static uint64_t state;

static uint32_t rnd(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33);
}

static struct req some_request(void)
{
	static const uint16_t cmds[] = {NLDEV_GET,	    NLDEV_PORT_GET,   NLDEV_SYS_GET,
					NLDEV_RES_GET,	    NLDEV_RES_QP_GET, NLDEV_GET_CHARDEV,
					NLDEV_RES_CQ_GET,   NLDEV_STAT_GET,   NLDEV_SET,
					NLDEV_RES_CM_ID_GET};
	static const uint32_t indices[] = {NL_INDEX, NL_INDEX + 1, NL_INDEX + 7, NL_INDEX + 8, 0,
					   1};
	static const uint16_t flags[] = {0, NLM_F_ROOT, NLM_F_DUMP, NLM_F_ACK,
					 NLM_F_DUMP | NLM_F_ACK};
	struct req r =
		request(NLDEV_TYPE(cmds[rnd() % 10]), (uint16_t)(NLM_F_REQUEST | flags[rnd() % 5]));

	if (rnd() % 8)
		add_u32(&r, NLDEV_A_DEV_INDEX, indices[rnd() % 6]);
	if (rnd() % 2)
		add_u32(&r, NLDEV_A_PORT_INDEX, rnd() % 3);
	if (rnd() % 2)
		add_string(&r, NLDEV_A_CHARDEV_TYPE, rnd() % 2 ? "uverbs" : "rdma_cm");
	if (rnd() % 4 == 0)
		add_u32(&r, NLDEV_A_RES_LQPN, 100 + rnd() % 4);
	if (rnd() % 4 == 0)
		add_u32(&r, NLDEV_A_RES_CM_IDN, 6 + rnd() % 4);
	return r;
}

static void spoil(struct req *r)
{
	for (uint32_t n = rnd() % 4; n; n--)
		switch (rnd() % 4) {
		case 0:
			r->len = rnd() % (r->len + 1);
			break;
		case 1: /* a length of a message or an attribute */
			if (r->len >= 20)
				r->data[rnd() % 2 ? rnd() % 4 : 16 + rnd() % 2] = (uint8_t)rnd();
			break;
		default:
			if (r->len)
				r->data[rnd() % r->len] ^= (uint8_t)(1u << rnd() % 8);
		}
	if (rnd() % 16 == 0)
		for (size_t i = 0; i < r->len; i++)
			r->data[i] = (uint8_t)rnd();
}

/* Check for complete messages, to this program, with attributes inside of them. */
static void check_answers(const struct fake *f)
{
	const struct nlmsghdr *h;
	size_t at = 0;

	while ((h = nl_next(f->got.data, f->got.len, &at))) {
		cr_assert_eq(h->nlmsg_pid, PORT);
		if (h->nlmsg_type >= NLMSG_MIN_TYPE)
			(void)attr(h, 0xffff & NLA_TYPE_MASK);
		else if (h->nlmsg_type == NLMSG_ERROR)
			cr_assert_geq(h->nlmsg_len, NLMSG_LENGTH(sizeof(struct nlmsgerr)));
		else
			cr_assert_eq(h->nlmsg_type, NLMSG_DONE);
	}
	cr_assert_eq(at, f->got.len, "nothing is left over");
}

Test(nl_fuzz, requests)
{
	struct fake *f = fake_new();
	uint64_t seed = (uint64_t)time(NULL);

	state = seed;
	f->devices = 2;
	f->qps = 5;
	f->cm_ids = 5;
	for (int i = 0; i < ROUNDS; i++) {
		struct req r = some_request();
		uint8_t *exact;

		spoil(&r);
		exact = malloc(r.len ? r.len : 1);
		cr_assert_not_null(exact);
		memcpy(exact, r.data, r.len);
		f->got.len = 0;
		cr_assert_eq(nl_serve(&f->env, exact, r.len), 0, "seed %llu",
			     (unsigned long long)seed);
		check_answers(f);
		free(exact);
	}
	fake_free(f);
}

/* The kernel is checked like the program: its answers are random, too. */
Test(nl_fuzz, a_kernel)
{
	struct fake *f = fake_new();

	state = (uint64_t)time(NULL);
	f->has_kernel = true;
	for (int i = 0; i < ROUNDS / 20; i++) {
		struct req r = some_request();

		f->num_kernel = 1 + (int)(rnd() % 3);
		memset(f->kernel_len, 0, sizeof(f->kernel_len));
		for (int k = 0; k < f->num_kernel; k++) {
			struct req a = some_request();

			spoil(&a);
			if (!a.len)
				a.data[a.len++] = 0;
			memcpy(f->kernel_says[k], a.data, a.len);
			f->kernel_len[k] = a.len;
		}
		f->got.len = 0;
		cr_assert_eq(nl_serve(&f->env, r.data, r.len), 0);
	}
	fake_free(f);
}
