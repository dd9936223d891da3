/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_gid.c - the pair of addresses that two sides choose: the same one, from either side. */
#include <arpa/inet.h>
#include <string.h>
#include <criterion/criterion.h>
#include "libdpa/rdma/rdma.h"

TestSuite(gid, .timeout = 60);

/* "10.0.0.1" or an IPv6 address. */
static void put_gid(uint8_t gid[16], const char *text)
{
	memset(gid, 0, 16);
	if (strchr(text, ':')) {
		cr_assert_eq(inet_pton(AF_INET6, text, gid), 1);
		return;
	}
	gid[10] = gid[11] = 0xff;
	cr_assert_eq(inet_pton(AF_INET, text, gid + 12), 1);
}

static struct dpa_rdma_details side(uint64_t guid, uint32_t qpn, const char *const *gids)
{
	struct dpa_rdma_details d = {.node_guid = guid, .qpn = htonl(qpn)};

	for (; gids[d.num_gids]; d.num_gids++)
		put_gid(d.gids[d.num_gids], gids[d.num_gids]);
	return d;
}

/* Check that both choose a's `own` and b's `peer`. */
static void choose(struct dpa_rdma_details a, struct dpa_rdma_details b, const char *own,
		   const char *peer)
{
	uint8_t want_a[16], want_b[16];
	uint32_t i, j;

	put_gid(want_a, own);
	put_gid(want_b, peer);
	dpa_rdma_choose_gids(&a, &b, &i, &j);
	cr_assert_eq(memcmp(a.gids[i], want_a, 16), 0, "%u", i);
	cr_assert_eq(memcmp(b.gids[j], want_b, 16), 0, "%u", j);
	dpa_rdma_choose_gids(&b, &a, &i, &j);
	cr_assert_eq(memcmp(b.gids[i], want_b, 16), 0, "%u", i);
	cr_assert_eq(memcmp(a.gids[j], want_a, 16), 0, "%u", j);
}

#define GIDS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(gid, wishes_that_fit)
{
	choose(side(1, 5, GIDS("10.0.0.1", "fe80::1")), side(2, 5, GIDS("10.0.0.2", "fe80::2")),
	       "10.0.0.1", "10.0.0.2");
	choose(side(1, 5, GIDS("fd00::1", "10.0.0.1")), side(2, 5, GIDS("fd00::2", "10.0.0.2")),
	       "fd00::1", "fd00::2");
	choose(side(1, 5, GIDS("fe80::1", "10.0.0.1")), side(2, 5, GIDS("fe80::2", "10.0.0.2")),
	       "fe80::1", "fe80::2");
}

/* Programs hard-code an index that is the loopback address on a host with one address. */
Test(gid, loopback_is_one_host)
{
	choose(side(1, 5, GIDS("127.0.0.1", "10.0.0.1")), side(2, 6, GIDS("127.0.0.1", "10.0.0.2")),
	       "10.0.0.1", "10.0.0.2");
	choose(side(1, 5, GIDS("127.0.0.1", "10.0.0.1")), side(1, 6, GIDS("127.0.0.1", "10.0.0.1")),
	       "127.0.0.1", "127.0.0.1");
	choose(side(1, 5, GIDS("::1", "10.0.0.1")),
	       side(1, 6, GIDS("127.0.0.1", "10.0.0.1", "::1")), "::1", "::1");
	choose(side(1, 5, GIDS("127.0.0.1", "10.0.0.1")), side(2, 6, GIDS("10.0.0.2")), "10.0.0.1",
	       "10.0.0.2");
}

Test(gid, families)
{
	choose(side(7, 5, GIDS("10.0.0.1", "fd00::1")), side(2, 6, GIDS("fd00::2", "10.0.0.2")),
	       "fd00::1", "fd00::2");
	choose(side(2, 5, GIDS("10.0.0.1", "fd00::1")), side(7, 6, GIDS("fd00::2", "10.0.0.2")),
	       "10.0.0.1", "10.0.0.2");
	choose(side(1, 5, GIDS("fd00::1", "fe80::1")), side(2, 6, GIDS("fe80::2")), "fe80::1",
	       "fe80::2");
}

/* The same node and the same QP number give the same answer on both sides. */
Test(gid, with_itself)
{
	choose(side(1, 5, GIDS("127.0.0.1", "fd00::1")), side(1, 5, GIDS("127.0.0.1", "fd00::1")),
	       "127.0.0.1", "127.0.0.1");
}

/* A verbs program has taken the first one; if no pair matches, the preferred ones stay, too. */
Test(gid, no_choice)
{
	choose(side(1, 5, GIDS("127.0.0.1", "10.0.0.1")), side(0, 6, GIDS("10.0.0.2")), "127.0.0.1",
	       "10.0.0.2");
	choose(side(1, 5, GIDS("10.0.0.1")), side(2, 6, GIDS("fd00::2")), "10.0.0.1", "fd00::2");
}
