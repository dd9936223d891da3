/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_table.c - the GID table alone: stable indices, holes, readers beside a writer. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "port/port.h"

static struct dpa_port port;

static struct dpa_port_addr addr(unsigned n)
{
	struct dpa_port_addr a = {.ifindex = n, .mtu = DPA_PORT_MTU_1024};

	memset(a.gid, (int)n, sizeof(a.gid));
	return a;
}

static bool update(unsigned a, unsigned b, unsigned c)
{
	unsigned ids[3] = {a, b, c};
	struct dpa_port_addr list[3];
	int n = 0;

	for (int i = 0; i < 3; i++)
		if (ids[i])
			list[n++] = addr(ids[i]);
	return dpa_port_table_update(&port, list, n);
}

static int find(unsigned n)
{
	struct dpa_port_addr a = addr(n);

	return dpa_port_find(&port, a.gid);
}

Test(port_table, indices_stay)
{
	struct dpa_hw_gid gid;

	cr_expect(update(1, 2, 3));
	cr_expect_not(update(3, 1, 2), "the same set in another order is no change");
	cr_expect(update(1, 3, 0));
	cr_expect_eq(find(1), 0);
	cr_expect_eq(find(2), -1);
	cr_expect_eq(find(3), 2);
	cr_expect_eq(dpa_port_gid(&port, 1, &gid), ENODATA);
	cr_expect(update(1, 3, 4));
	cr_expect_eq(find(4), 1, "the first free index");
	cr_expect_eq(find(3), 2);
	cr_expect_eq(dpa_port_gid(&port, 2, &gid), 0);
	cr_expect(gid.valid && gid.index == 2 && gid.ifindex == 3 && gid.type == DPA_GID_ROCE_V2);
	cr_expect_eq(dpa_port_gid(&port, DPA_MAX_GIDS, &gid), EINVAL);
	cr_expect_eq(dpa_port_gid_mtu(&port, DPA_MAX_GIDS), 0u);
}

Test(port_table, another_mtu_is_no_other_gid)
{
	struct dpa_port_addr a = addr(1);

	cr_expect(dpa_port_table_update(&port, &a, 1));
	a.mtu = DPA_PORT_MTU_4096;
	cr_expect_not(dpa_port_table_update(&port, &a, 1));
	cr_expect_eq(dpa_port_gid_mtu(&port, 0), (uint32_t)DPA_PORT_MTU_4096);
}

Test(port_table, more_addresses_than_indices)
{
	static struct dpa_port_addr many[DPA_MAX_GIDS + 10];

	for (unsigned i = 0; i < DPA_MAX_GIDS + 10; i++) {
		many[i] = (struct dpa_port_addr){.ifindex = 1, .mtu = DPA_PORT_MTU_1024};
		memcpy(many[i].gid, &i, sizeof(i));
	}
	cr_expect(dpa_port_table_update(&port, many, DPA_MAX_GIDS + 10));
	cr_expect_eq(dpa_port_find(&port, many[DPA_MAX_GIDS - 1].gid), DPA_MAX_GIDS - 1);
	cr_expect_eq(dpa_port_find(&port, many[DPA_MAX_GIDS].gid), -1);
	cr_expect_not(dpa_port_table_update(&port, many, DPA_MAX_GIDS + 10));
}

Test(port_table, ib_mtu)
{
	static const uint32_t want[][2] = {{65536, 5}, {9000, 5}, {4192, 5}, {4191, 4}, {1500, 3},
					   {1400, 3},  {1119, 2}, {576, 1},  {0, 1}};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		cr_expect_eq(dpa_port_ib_mtu(want[i][0]), want[i][1], "%u", want[i][0]);
}

Test(port_table, derived_gid)
{
	uint8_t gid[16];
	uint64_t guid = dpa_port_node_guid(0);

	cr_expect_eq(guid, dpa_port_node_guid(0));
	cr_expect_eq(be64toh(guid) >> 40, (uint64_t)DPA_VENDOR_ID);
	dpa_port_derive_gid(guid, gid);
	cr_expect(gid[0] == 0xfe && gid[1] == 0x80 && gid[8] == 0x00 && gid[9] == 0xd9);
	cr_expect_eq(memcmp(gid + 9, (uint8_t *)&guid + 1, 7), 0);
}

#define SEEN 5000

static void *flip(void *stop)
{
	for (int i = 0; !atomic_load((_Atomic bool *)stop); i++)
		update(i & 1 ? 7 : 9, 0, 0);
	return NULL;
}

/* Slot 0 changes between two addresses and empty; no reader may see a mixture. */
Test(port_table, readers_see_whole_entries)
{
	_Atomic bool stop = false;
	struct dpa_hw_gid gid;
	pthread_t writer;
	unsigned seen = 0;

	cr_assert_eq(pthread_create(&writer, NULL, flip, &stop), 0);
	while (seen < SEEN) { /* even if one of the threads starts late */
		if (dpa_port_gid(&port, 0, &gid))
			continue;
		seen++;
		for (int i = 0; i < 16; i++)
			cr_assert_eq(gid.gid[i], gid.ifindex);
		cr_assert(gid.ifindex == 7 || gid.ifindex == 9);
	}
	atomic_store(&stop, true);
	pthread_join(writer, NULL);
}

static struct dpa_port_addr v4(uint8_t last, uint32_t kind)
{
	struct dpa_port_addr a = {.gid = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = last},
				  .ifindex = 7,
				  .mtu = DPA_PORT_MTU_1024,
				  .rank = kind * 8};

	return a;
}

static struct dpa_port_addr v6(uint8_t first, uint8_t second, uint32_t kind)
{
	struct dpa_port_addr a = {.gid = {first, second, [15] = 1},
				  .ifindex = 7,
				  .mtu = DPA_PORT_MTU_1024,
				  .rank = kind * 8};

	return a;
}

static int shown_at(const struct dpa_port_addr *a)
{
	struct dpa_hw_gid gid;

	for (uint32_t i = 0; i < DPA_MAX_GIDS; i++)
		if (!dpa_port_gid(&port, i, &gid) && !memcmp(gid.gid, a->gid, 16))
			return (int)i;
	return -1;
}

static void fill(enum dpa_cfg_gid_order order, const struct dpa_port_addr *addrs, int n, int shown)
{
	struct dpa_port_addr list[8];

	memcpy(list, addrs, (size_t)n * sizeof(*list));
	port.order = order;
	cr_expect_eq(dpa_port_hide(order, list, n), shown);
	dpa_port_table_update(&port, list, n);
}

/* Two IPv4, a global and a link-local IPv6, and the loopback addresses, as a scan returns them. */
static void usual(struct dpa_port_addr a[6])
{
	a[0] = v4(1, 0);
	a[1] = v4(2, 0);
	a[2] = v6(0xfd, 0, 1);
	a[3] = v6(0xfe, 0x80, 2);
	a[4] = v4(127, DPA_PORT_RANK_LO);
	a[5] = v6(0, 0, DPA_PORT_RANK_LO + 1);
}

Test(port_table, loopback_left_out_has_no_index)
{
	struct dpa_port_addr a[6];

	usual(a);
	fill(DPA_CFG_GIDS_NO_LOOPBACK, a, 6, 4);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(shown_at(&a[i]), i);
	for (int i = 4; i < 6; i++) {
		cr_expect_eq(shown_at(&a[i]), -1);
		cr_expect_geq(dpa_port_find(&port, a[i].gid), 0, "an own address all the same");
	}
}

Test(port_table, an_adapters_table)
{
	static const int at[6] = {3, 5, 7, 1, -1, -1};
	struct dpa_port_addr a[6];
	struct dpa_hw_gid gid;

	usual(a);
	fill(DPA_CFG_GIDS_ADAPTER, a, 6, 4);
	for (int i = 0; i < 6; i++)
		cr_expect_eq(shown_at(&a[i]), at[i], "address %d", i);
	for (uint32_t i = 0; i < DPA_MAX_GIDS; i += 2)
		cr_expect_eq(dpa_port_gid(&port, i, &gid), ENODATA, "index %u", i);
}

/* 127.0.0.1 has index 3 until another IPv4 address appears. */
Test(port_table, an_adapters_table_of_loopback)
{
	struct dpa_port_addr a[6];

	usual(a);
	fill(DPA_CFG_GIDS_ADAPTER, a + 2, 4, 3);
	cr_expect_eq(shown_at(&a[4]), 3);
	cr_expect_eq(shown_at(&a[2]), 5);
	cr_expect_eq(shown_at(&a[5]), -1);
	fill(DPA_CFG_GIDS_ADAPTER, a, 6, 4);
	cr_expect_eq(shown_at(&a[4]), -1);
	cr_expect_eq(shown_at(&a[0]), 3);
	cr_expect_eq(shown_at(&a[2]), 5, "an address keeps its index");
}
