/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_steer.c - the kernel passes packets to the process that owns their QP, while processes
 * start, end, die or stop.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "board/board.h"
#include "link/udp/udp.h"
#include "standins.h"

static char dir[] = "/tmp/dpa-steer-XXXXXX";
static char path[64];

static void setup(void)
{
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/board", dir);
}

static void teardown(void)
{
	unlink(path);
	rmdir(dir);
}

TestSuite(udp_steer, .init = setup, .fini = teardown);

#define NEED_NETNS()                                                                               \
	do {                                                                                       \
		if (!ut_netns()) {                                                                 \
			teardown();                                                                \
			cr_skip_test("no network namespace is available");                         \
		}                                                                                  \
	} while (0)

/* Send n packets for a QPN, each from another port, so that a hash would spread them. */
static void send_to(uint32_t qpn, uint32_t n, int family)
{
	uint8_t p[32] = {[5] = (uint8_t)(qpn >> 16), [6] = (uint8_t)(qpn >> 8), [7] = (uint8_t)qpn};
	struct sockaddr_in a4 = {.sin_family = AF_INET,
				 .sin_port = htons(4791),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons(4791),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	for (uint32_t i = 0; i < n; i++) {
		int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		ssize_t ret =
			family == AF_INET
				? sendto(fd, p, sizeof(p), 0, (struct sockaddr *)&a4, sizeof(a4))
				: sendto(fd, p, sizeof(p), 0, (struct sockaddr *)&a6, sizeof(a6));

		cr_assert_eq(ret, (ssize_t)sizeof(p));
		close(fd);
	}
}

#define PROCS 4
static struct ut_proc procs[PROCS];

static void start_all(void)
{
	for (int i = 0; i < PROCS; i++) {
		ut_start(&procs[i], path, 0);
		cr_assert_eq(ut_udp_open(&procs[i]), 0);
		cr_assert_eq(ut_state(&procs[i]), (uint32_t)DPA_UDP_OPEN);
	}
}

/* Run the progress threads of the processes in the mask for their next two ticks. */
static void settle(unsigned mask)
{
	for (int i = 0; i < PROCS; i++)
		if (mask & 1u << i)
			ut_tick(&procs[i]);
	for (int i = 0; i < PROCS; i++)
		if (mask & 1u << i)
			ut_learn(&procs[i]);
	for (int i = 0; i < PROCS; i++)
		if (mask & 1u << i)
			ut_tick(&procs[i]);
	for (int i = 0; i < PROCS; i++)
		if (mask & 1u << i) {
			cr_assert(ut_built(&procs[i]));
			ut_pending(&procs[i]);
		}
}

static void expect_own(unsigned mask, int family)
{
	for (int i = 0; i < PROCS; i++)
		if (mask & 1u << i)
			send_to(procs[i].qpn, 20, family);
	for (int i = 0; i < PROCS; i++) {
		if (!(mask & 1u << i))
			continue;
		cr_expect_eq(ut_take(&procs[i], 20), 20u, "process %d", i);
		cr_expect_eq(ut_pending(&procs[i]), 0u, "process %d", i);
	}
}

Test(udp_steer, each_gets_its_own)
{
	NEED_NETNS();
	start_all();
	settle(0xf);
	expect_own(0xf, AF_INET);
	expect_own(0xf, AF_INET6);
	for (int i = 0; i < PROCS; i++)
		ut_end(&procs[i]);
}

Test(udp_steer, one_dies)
{
	NEED_NETNS();
	start_all();
	settle(0xf);
	ut_kill(&procs[1]);
	settle(0xd);
	expect_own(0xd, AF_INET);
	ut_start(&procs[1], path, 0);
	cr_assert_eq(ut_udp_open(&procs[1]), 0);
	settle(0xf);
	expect_own(0xf, AF_INET);
	for (int i = 0; i < PROCS; i++)
		ut_end(&procs[i]);
}

Test(udp_steer, one_leaves)
{
	NEED_NETNS();
	start_all();
	settle(0xf);
	ut_udp_close(&procs[0]);
	settle(0xe);
	expect_own(0xe, AF_INET);
	for (int i = 0; i < PROCS; i++)
		ut_end(&procs[i]);
}

/* An ending process forwards the packets of others, and gets none afterwards. */
Test(udp_steer, one_leaves_and_nothing_is_lost)
{
	uint32_t n = 0, passed;

	NEED_NETNS();
	start_all();
	settle(0xf);
	for (int i = 0; i < PROCS; i++)
		ut_new_block(&procs[i]);
	/* without an owner: the process that built the program gets it */
	send_to(procs[1].qpn ^ 1u << 16, 50, AF_INET);
	send_to(procs[1].qpn, 50, AF_INET6);
	passed = ut_udp_leave(&procs[3]);
	cr_expect_eq(passed, 50u);
	for (int round = 0; round < 2; round++) {
		/* before and after the others learn of it */
		send_to(procs[1].qpn, 50, AF_INET);
		send_to(procs[1].qpn ^ 1u << 16, 50, AF_INET6);
		cr_expect_eq(ut_pending(&procs[3]), 0u);
		for (int i = 0; i < PROCS - 1; i++)
			n += ut_pending(&procs[i]);
		cr_expect_eq(n, 150u + 100 * (uint32_t)round);
		settle(0x7);
	}
	ut_new_block(&procs[3]); /* it builds no program, and does not claim to have one */
	settle(0x7);
	expect_own(0x7, AF_INET);
	expect_own(0x7, AF_INET6);
	for (int i = 0; i < PROCS; i++)
		ut_end(&procs[i]);
}

/* Packets and places of the others do not depend on a stopped process, old or new. */
Test(udp_steer, one_is_stopped)
{
	int st;

	NEED_NETNS();
	start_all();
	settle(0xf);
	kill(procs[2].pid, SIGSTOP);
	cr_assert_eq(waitpid(procs[2].pid, &st, WUNTRACED), procs[2].pid);
	expect_own(0xb, AF_INET);
	ut_kill(&procs[3]);
	settle(0x3);
	expect_own(0x3, AF_INET);
	kill(procs[2].pid, SIGCONT);
	settle(0x7);
	expect_own(0x7, AF_INET);
	for (int i = 0; i < PROCS - 1; i++)
		ut_end(&procs[i]);
}

/* The first packet for a QP of a new block: no progress thread has run since. */
Test(udp_steer, new_block)
{
	NEED_NETNS();
	start_all();
	settle(0xf);
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < PROCS; i++)
			ut_new_block(&procs[i]);
		expect_own(0xf, AF_INET);
	}
	for (int i = 0; i < PROCS; i++)
		ut_end(&procs[i]);
}

/* Before all is settled a packet reaches some process, which forwards it. */
Test(udp_steer, nothing_is_lost_before)
{
	uint32_t n = 0;

	NEED_NETNS();
	start_all();
	send_to(procs[3].qpn, 50, AF_INET);
	send_to(0x123456 ^ procs[3].num << 16, 50, AF_INET); /* of another board */
	for (int i = 0; i < PROCS; i++)
		n += ut_pending(&procs[i]);
	cr_expect_eq(n, 100u);
	for (int i = 0; i < PROCS; i++)
		ut_end(&procs[i]);
}

/* ---- the program itself, in an interpreter of the few instructions that it uses */

static uint32_t run(const struct sock_filter *f, int n, const uint8_t *p, uint32_t len)
{
	uint32_t a = 0;

	for (int pc = 0; pc < n; pc++) {
		uint32_t k = f[pc].k;

		switch (f[pc].code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (k + 4 > len)
				return 0;
			a = (uint32_t)p[k] << 24 | p[k + 1] << 16 | p[k + 2] << 8 | p[k + 3];
			break;
		case BPF_LD | BPF_H | BPF_ABS:
			if (k + 2 > len)
				return 0;
			a = (uint32_t)p[k] << 8 | p[k + 1];
			break;
		case BPF_LD | BPF_B | BPF_ABS:
			if (k + 1 > len)
				return 0;
			a = p[k];
			break;
		case BPF_ALU | BPF_RSH | BPF_K:
			a >>= k;
			break;
		case BPF_JMP | BPF_JA:
			pc += (int)k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == k ? f[pc].jt : f[pc].jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= k ? f[pc].jt : f[pc].jf;
			break;
		case BPF_RET | BPF_K:
			return k;
		case BPF_RET | BPF_A:
			return a;
		default:
			cr_assert_fail("instruction 0x%x", f[pc].code);
		}
	}
	cr_assert_fail("no return");
	return 0;
}

/* All sizes of map: every block is mapped as the map says, as far as there is room. */
Test(udp_steer, program)
{
	static uint16_t map[DPA_BOARD_QPN_BLOCKS];
	static struct sock_filter f[4096];
	struct dpa_steer_in in = {
		.map = map, .num = 7, .other = 99, .nonce = {0xff112233, 0x44556677}};

	for (uint32_t used = 0; used <= DPA_BOARD_QPN_BLOCKS; used += used < 8 ? 1 : 127) {
		uint32_t known = 0;
		int n;

		for (uint32_t k = 0; k < DPA_BOARD_QPN_BLOCKS; k++)
			map[k] = k * 5 % DPA_BOARD_QPN_BLOCKS < used ? (uint16_t)(k % 200 + 1) : 0;
		n = dpa_steer_program(&in, f, 4096);
		cr_assert_gt(n, 0);
		for (uint32_t k = 0; k < DPA_BOARD_QPN_BLOCKS; k++) {
			uint8_t p[32] = {
				[5] = 7, [6] = (uint8_t)(k >> 2), [7] = (uint8_t)(k << 6 | 13)};
			uint32_t to = run(f, n, p, sizeof(p));

			if (map[k] && to == map[k] - 1u)
				known++;
			else
				cr_expect_eq(to, 99u, "block %u of %u", k, used);
			p[5] = 8;
			cr_expect_eq(run(f, n, p, sizeof(p)), 99u);
		}
		cr_expect_geq(known, used < 450 ? used : 450u);
	}
}
