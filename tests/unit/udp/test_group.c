/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_group.c - multicast groups: joins in the kernel, and the QPs that get a datagram. */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "link/udp/wire.h"
#include "standins.h"
#include "tables/tables.h"

static char dir[] = "/tmp/dpa-group-XXXXXX";
static char path[64];
static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [15] = 7};
static const uint8_t v6[16] = {0xff, 0x0e, [14] = 0xab, [15] = 7};

/* The port's table: up to two addresses, each of "interface" lo. */
static const uint8_t own4[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};
static const uint8_t own6[16] = {0xfd, 1, [15] = 1};
static const uint8_t *table[2];

int dpa_port_gid(struct dpa_port *port, uint32_t index, struct dpa_hw_gid *gid)
{
	if (index >= 2 || !table[index])
		return ENODATA;
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->gid, table[index], 16);
	gid->ifindex = if_nametoindex("lo");
	return 0;
}

static uint32_t got[4], ngot;

struct dpa_hw_qp *dpa_pkt_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur, struct dpa_peer *peer,
				  const struct dpa_frame *f, const struct dpa_roce_pkt *pkt)
{
	cr_assert_lt(ngot, 4u);
	got[ngot++] = pkt->dqpn;
	return cur;
}

static void setup(void)
{
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/board", dir);
	table[0] = own4;
	table[1] = own6;
	ngot = 0;
}

static void teardown(void)
{
	unlink(path);
	rmdir(dir);
}

TestSuite(udp_group, .init = setup, .fini = teardown);

static struct dpa_hw *open_board(void)
{
	struct dpa_hw *hw;

	if (!ut_netns()) {
		teardown();
		cr_skip_test("no network namespace is available");
	}
	hw = ut_open(path);
	cr_assert_not_null(hw);
	return hw;
}

/* Count the lines of the kernel's list with this text: addresses of groups in the kernel's form. */
static int listed(const char *file, const char *text)
{
	FILE *f = fopen(file, "r");
	char line[256];
	int n = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	fclose(f);
	return n;
}

static void expect_joined(int n4, int n6)
{
	char hex[16];

	snprintf(hex, sizeof(hex), "%08X", *(const uint32_t *)(v4 + 12));
	cr_expect_eq(listed("/proc/net/igmp", hex), n4, "%s: %d", hex,
		     listed("/proc/net/igmp", hex));
	cr_expect_eq(listed("/proc/net/igmp6", "ff0e000000000000000000000000ab07"), n6);
}

/* Before the port is open nothing can be joined; a group is left with its last QP. */
Test(udp_group, joined_while_wanted)
{
	struct dpa_hw *hw = open_board();

	cr_expect_eq(dpa_group_join(hw, v4), 0);
	expect_joined(0, 0);
	cr_assert_eq(dpa_udp_open(hw), 0);
	expect_joined(1, 0);
	cr_expect_eq(dpa_group_join(hw, v6), 0);
	cr_expect_eq(dpa_group_join(hw, v4), 0);
	expect_joined(1, 1);
	dpa_group_leave(hw, v4);
	expect_joined(1, 1);
	dpa_group_leave(hw, v4);
	expect_joined(0, 1);
	dpa_group_leave(hw, v4); /* not joined: no effect */
	ut_close(hw);
	expect_joined(0, 0);
}

/* An interface counts for a family while it has an address of it; addresses of lo do not count. */
Test(udp_group, follows_the_addresses)
{
	static const uint8_t lo4[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
	struct dpa_hw *hw = open_board();

	table[0] = table[1] = NULL;
	cr_assert_eq(dpa_udp_open(hw), 0);
	cr_expect_eq(dpa_group_join(hw, v4), 0);
	cr_expect_eq(dpa_group_join(hw, v6), 0);
	expect_joined(0, 0);
	table[0] = own4;
	dpa_groups_refresh(hw);
	expect_joined(1, 0);
	table[1] = own6;
	dpa_groups_refresh(hw);
	expect_joined(1, 1);
	table[0] = lo4;
	dpa_groups_refresh(hw);
	expect_joined(0, 1);
	table[1] = NULL;
	dpa_groups_refresh(hw);
	expect_joined(0, 0);
	ut_close(hw);
}

/* More than one socket may join (20); the kernel's total limit is an error that leaves nothing. */
Test(udp_group, more_than_a_socket_joins)
{
	struct dpa_hw *hw = open_board();
	uint8_t g[16];
	uint32_t n = 0;
	int ret;

	memcpy(g, v4, 16);
	g[13] = 2;
	cr_assert_eq(dpa_udp_open(hw), 0);
	for (;; n++) {
		g[14] = (uint8_t)(n >> 8);
		g[15] = (uint8_t)n;
		ret = dpa_group_join(hw, g);
		if (ret)
			break;
		cr_assert_lt(n, 2000u);
	}
	cr_expect_eq(ret, ENOMEM);
	cr_expect_eq(n, 20u * (1 + DPA_GROUP_SOCKS));
	cr_expect_eq(listed("/proc/net/igmp", "02EF"), (int)n, "all but the refused one");
	cr_expect_eq(dpa_group_join(hw, v4), ENOMEM);
	for (uint32_t i = 0; i < n; i++) {
		g[14] = (uint8_t)(i >> 8);
		g[15] = (uint8_t)i;
		dpa_group_leave(hw, g);
	}
	cr_expect_eq(listed("/proc/net/igmp", "02EF"), 0);
	cr_expect_eq(dpa_group_join(hw, v4), 0);
	expect_joined(1, 0);
	ut_close(hw);
}

static uint32_t qpn_of(struct dpa_hw *hw)
{
	static struct dpa_hw_qp qp;
	uint32_t qpn;

	cr_assert_eq(dpa_board_qpn_alloc(hw->board, &qpn), 0);
	atomic_store(&hw->qps.tab[qpn & DPA_QPN_INDEX], &qp);
	return qpn;
}

/* IBA 9.6 (multicast) */
Test(udp_group, members_receive_it)
{
	static const uint8_t far4[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 9};
	struct dpa_hw *hw = open_board(), *other = ut_open(path);
	struct dpa_frame f = {.group = true};
	struct dpa_roce_pkt pkt = {.dqpn = DPA_QPN_MCAST, .sqpn = 0x330011};
	uint32_t a, b, c, theirs;

	hw->qps.tab = calloc(DPA_QPN_INDEX + 1, sizeof(*hw->qps.tab));
	a = qpn_of(hw);
	b = qpn_of(hw);
	c = qpn_of(hw);

	cr_assert_not_null(other);
	cr_assert_eq(dpa_board_qpn_alloc(other->board, &theirs), 0);
	memcpy(f.net.src, far4, 16);
	memcpy(f.net.dst, v4, 16);
	cr_assert_eq(dpa_board_mcast_attach(hw->board, v4, a), 0);
	cr_assert_eq(dpa_board_mcast_attach(hw->board, v4, b), 0);
	cr_assert_eq(dpa_board_mcast_attach(hw->board, v6, c), 0);
	cr_assert_eq(dpa_board_mcast_attach(other->board, v4, theirs), 0);
	dpa_group_deliver(hw, NULL, &f, &pkt);
	cr_assert_eq(ngot, 2u, "another group's and another process's do not");
	cr_expect_eq(got[0] + got[1], a + b);
	/*
	 * from one of our addresses: of another board, but not of this one, whose packets come by
	 * memory
	 */
	ngot = 0;
	memcpy(f.net.src, ut_gid, 16);
	pkt.sqpn = (hw->board->board_num ^ 1) << 16 | 5;
	dpa_group_deliver(hw, NULL, &f, &pkt);
	cr_expect_eq(ngot, 2u);
	pkt.sqpn = hw->board->board_num << 16 | 5;
	dpa_group_deliver(hw, NULL, &f, &pkt);
	cr_expect_eq(ngot, 2u);
	/* another host may have a board of the same number */
	memcpy(f.net.src, far4, 16);
	dpa_group_deliver(hw, NULL, &f, &pkt);
	cr_expect_eq(ngot, 4u);
	cr_expect_eq(hw->cnt[DPA_CNT_rx_dropped], 0u);
	/* a group without the QPN of groups, that QPN without a group, a group without members */
	pkt.dqpn = a;
	dpa_group_deliver(hw, NULL, &f, &pkt);
	pkt.dqpn = DPA_QPN_MCAST;
	f.group = false;
	dpa_group_deliver(hw, NULL, &f, &pkt);
	f.group = true;
	f.net.dst[15]++;
	dpa_group_deliver(hw, NULL, &f, &pkt);
	cr_expect_eq(ngot, 4u);
	cr_expect_eq(hw->cnt[DPA_CNT_rx_dropped], 3u);
	ut_close(other);
	free(hw->qps.tab);
	ut_close(hw);
}
