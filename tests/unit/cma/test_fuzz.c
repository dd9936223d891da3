/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_fuzz.c - every command with every length, and bodies that are random, or right but for a few
 * bytes: no crash, no hang, nothing left at the end. Pointers to answers stay valid: a program that
 * passes invalid ones crashes here, where the kernel returns EFAULT.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "clock.h"
#include "redirect/hooks.h"
#include "util.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 1 };
#else
enum { ROUNDS = 6 };
#endif
enum { CHANNELS = 3, LONGEST = 600 };

static int ch[CHANNELS];
static unsigned int seed;
static uint8_t answer[8192], value[8192];

/* Counted by the hook, on any thread that sends. */
static _Atomic unsigned int sends;

static int lossy(const uint8_t *mad)
{
	return atomic_fetch_add(&sends, 1) % 7 ? 1 : 0;
}

static uint32_t rnd(uint32_t n)
{
	return (uint32_t)rand_r(&seed) % n;
}

static void put_random_addr(uint8_t *b, size_t at)
{
	/* the last one is that of the model's real device (model.h) */
	static const char *const some[] = {
		"127.0.0.1", "::1", "0.0.0.0", "::", "239.1.1.1", "127.0.0.2", "10.77.0.2"};

	make_addr(b + at, some[rnd(7)], (uint16_t)(rnd(4) ? 20000 + rnd(8) : 0));
}

/* Fields at their places, with values that are often meaningful. */
static void make_body(uint8_t *b, uint32_t cmd)
{
	static const int id_at[COMMANDS] = {
		[CREATE_ID] = -1,  [DESTROY_ID] = 8, [BIND_IP] = 36,	   [RESOLVE_IP] = 56,
		[QUERY_ROUTE] = 8, [CONNECT] = 272,  [ACCEPT] = 280,	   [INIT_QP_ATTR] = 8,
		[GET_EVENT] = -1,  [SET_OPTION] = 8, [JOIN_IP_MCAST] = 44, [LEAVE_MCAST] = 8,
		[MIGRATE_ID] = 8,  [QUERY] = 8,	     [JOIN_MCAST] = 16};
	static const uint16_t spaces[] = {PS_TCP, PS_UDP, PS_IB, PS_IPOIB};

	for (int i = 0; i < LONGEST; i++)
		b[i] = rnd(3) ? 0 : (uint8_t)rnd(256);
	if (cmd < COMMANDS && id_at[cmd] >= 0 && rnd(16))
		put32(b, (size_t)id_at[cmd], 1 + rnd(30));
	switch (cmd) {
	case CREATE_ID:
		put16(b, 16, spaces[rnd(4)]);
		b[18] = (uint8_t)rnd(12);
		break;
	case BIND_IP:
		put_random_addr(b, 8);
		break;
	case RESOLVE_IP:
		memset(b, 0, 28);
		put_random_addr(b, 28);
		break;
	case BIND:
		put_random_addr(b, 8);
		put16(b, 4, (uint16_t)(rnd(2) ? 16 : 28));
		put16(b, 6, 0);
		break;
	case RESOLVE_ADDR:
		put_random_addr(b, 144);
		put16(b, 8, 0);
		put16(b, 10, (uint16_t)(rnd(2) ? 16 : 28));
		put32(b, 12, 0);
		break;
	case CONNECT:
		b[271] = 1;
		break;
	case ACCEPT:
		b[8 + 271] = (uint8_t)rnd(2);
		break;
	case REJECT:
		b[5] = rnd(2) ? 0 : 35;
		break;
	case SET_OPTION:
		put32(b, 12, rnd(3));
		put32(b, 16, rnd(5));
		put32(b, 20, rnd(2) ? rnd(5) : rnd(8192));
		break;
	case INIT_QP_ATTR:
	case QUERY:
		put32(b, 12, rnd(8));
		break;
	case NOTIFY:
		put32(b, 4, rnd(6));
		break;
	case MIGRATE_ID:
		put32(b, 12, rnd(4) ? (uint32_t)ch[rnd(CHANNELS)] : rnd(50));
		break;
	case JOIN_IP_MCAST:
		put_random_addr(b, 16);
		break;
	case JOIN_MCAST:
		put_random_addr(b, 24);
		put16(b, 20, 16);
		put16(b, 22, (uint16_t)rnd(3));
		break;
	}
	put64(b, 0, cmd == SET_OPTION ? (uintptr_t)value : get64(b, 0));
	switch (cmd) { /* the place of a pointer */
	case CREATE_ID:
		put64(b, 8, (uintptr_t)answer);
		break;
	case DESTROY_ID:
	case QUERY_ROUTE:
	case INIT_QP_ATTR:
	case GET_EVENT:
	case JOIN_IP_MCAST:
	case LEAVE_MCAST:
	case MIGRATE_ID:
	case QUERY:
	case JOIN_MCAST:
		put64(b, 0, (uintptr_t)answer);
		break;
	}
}

/* Send a command with a correct header, or not. */
static void send_one(uint32_t cmd, uint16_t in)
{
	uint8_t buf[8 + LONGEST];
	size_t n = 8u + in;
	ssize_t ret = -2;

	make_body(buf + 8, cmd);
	put32(buf, 0, cmd);
	put16(buf, 4, in);
	put16(buf, 6, (uint16_t)(rnd(4) ? 1000 : rnd(400)));
	if (!rnd(20))
		n = rnd((uint32_t)n + 1);
	cr_assert(dpa_hook_write(ch[rnd(CHANNELS)], buf, n, &ret));
	cr_assert(ret == (ssize_t)n || (ret == -1 && errno > 0), "command %u returned %zd", cmd,
		  ret);
}

/* Close a channel with all its ids; another one takes its place. */
static void renew(int i)
{
	channel_close(ch[i]);
	ch[i] = channel_open(O_CLOEXEC | O_NONBLOCK);
}

static void one_round(void)
{
	for (uint16_t in = 0; in <= LONGEST; in++) {
		for (uint32_t cmd = 0; cmd < COMMANDS + 2; cmd++)
			send_one(cmd, in);
		if (in % 50 == 49)
			renew((int)rnd(CHANNELS));
		if (in % 16 == 0) {
			settle();
			clock_advance(rnd(3) * 1000);
		}
	}
}

/* Only long bodies: most of them are executed. */
static void whole_commands(int n)
{
	while (n--) {
		send_one(rnd(COMMANDS), 320);
		if (n % 500 == 0) {
			renew((int)rnd(CHANNELS));
			clock_advance(rnd(9) * 1000);
		}
	}
}

Test(cma_fuzz, every_command_with_every_length)
{
	seed = test_seed();
	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (uint8_t)rnd(256);
	put32(value, 0, 43); /* flags of a path */
	fake_gsi.copies = lossy;
	for (int i = 0; i < CHANNELS; i++)
		ch[i] = channel_open(O_CLOEXEC | O_NONBLOCK);
	for (int i = 0; i < ROUNDS; i++) {
		one_round();
		whole_commands(4000);
	}
	for (int i = 0; i < CHANNELS; i++)
		channel_close(ch[i]);
	for (int i = 0; i < 100000 && fake_gsi.ids; i++) {
		clock_advance(10000);
		settle();
	}
	cr_assert_eq(fake_gsi.ids, 0, "%d ids", (int)fake_gsi.ids);
	cr_assert_eq(fake_gsi.services, 0);
	/* and it still works */
	static struct pair p;

	fake_gsi.copies = NULL;
	pair_connect(&p);
}
