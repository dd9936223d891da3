/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_remote.c - paths to other hosts: their number (a process that answered datagrams from ever
 * more addresses kept one for each, for ever), their ports, and the fields for routers.
 */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "pcc/pcc.h"
#include "ctx/hw.h"
#include "link/peer.h"
#include "link/udp/wire.h"

static struct dpa_hw *hw;
static struct dpa_port port;
static bool own_v6; /* the port's address */

int dpa_port_gid(struct dpa_port *p, uint32_t index, struct dpa_hw_gid *gid)
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1}, v6[16] = {[15] = 1};

	memset(gid, 0, sizeof(*gid));
	memcpy(gid->gid, own_v6 ? v6 : v4, 16);
	return 0;
}

static void set_up(void)
{
	cr_assert_eq(posix_memalign((void **)&hw, DPA_CACHE_LINE, sizeof(*hw)), 0);
	memset(hw, 0, sizeof(*hw));
}

static uint32_t remotes(void)
{
	uint32_t n = 0;

	for (struct dpa_peer *p = hw->all_peers; p; p = p->next)
		n++;
	return n;
}

static void tear_down(void)
{
	struct dpa_peer *p, *next;

	for (p = hw->all_peers; p; p = next) {
		next = p->next;
		cr_expect_eq(atomic_load(&dpa_remote_of(p)->users), 0);
		munmap(p->tx_map, DPA_LANES * sizeof(struct dpa_lane_shm));
		free(p);
	}
	dpa_wire_fini(hw);
	free(hw);
}

static struct dpa_wqe_av av_of(uint32_t host)
{
	struct dpa_wqe_av av = {.is_global = 1};

	av.dgid[10] = av.dgid[11] = 0xff;
	av.dgid[12] = 10;
	av.dgid[13] = (uint8_t)(host >> 16);
	av.dgid[14] = (uint8_t)(host >> 8);
	av.dgid[15] = (uint8_t)host;
	return av;
}

static bool leads_to(struct dpa_peer *p, uint32_t host)
{
	struct dpa_wqe_av av = av_of(host);
	struct dpa_remote *r = dpa_remote_of(p);
	const struct sockaddr_in *to = (const struct sockaddr_in *)&r->to;

	return !memcmp(r->net.dst, av.dgid, 16) && !memcmp(&to->sin_addr, av.dgid + 12, 4);
}

static struct dpa_peer *hold(uint32_t host)
{
	struct dpa_wqe_av av = av_of(host);

	return dpa_remote_hold(hw, &port, &av);
}

static struct dpa_peer *connect_to(uint32_t host)
{
	struct dpa_wqe_av av = av_of(host);

	return dpa_remote_get(hw, &port, &av);
}

static void datagram_to(uint32_t host)
{
	struct dpa_peer *p = hold(host);

	cr_assert_not_null(p);
	cr_assert(leads_to(p, host), "%u", host);
	dpa_remote_drop(p);
}

/* Packets that routers may mark: the ECN bits of the application do not decide. */
Test(udp_remote, ect_0_unless_congestion_control_is_off)
{
	static const uint8_t asked[] = {0, 1, 2, 3, 0xfc, 0xff};

	set_up();
	for (size_t i = 0; i < sizeof(asked); i++)
		for (int off = 0; off < 2; off++) {
			struct dpa_wqe_av av = av_of(1);
			struct dpa_peer *p;
			uint8_t want = (asked[i] & 0xfc) | (off ? 0 : DPA_ECN_ECT0);

			hw->cfg.congestion =
				off ? DPA_CFG_CONGESTION_NONE : DPA_CFG_CONGESTION_DCQCN;
			av.traffic_class = asked[i];
			p = dpa_remote_get(hw, &port, &av);
			cr_assert_not_null(p);
			cr_expect_eq(dpa_remote_of(p)->net.tclass, want, "%02x of %02x",
				     dpa_remote_of(p)->net.tclass, asked[i]);
			p = dpa_remote_hold(hw, &port, &av);
			cr_assert_not_null(p);
			cr_expect_eq(dpa_remote_of(p)->net.tclass, want, "datagrams");
			dpa_remote_drop(p);
		}
	tear_down();
}

/* Each ring has its own source port, that of a socket which all paths of its source share. */
Test(udp_remote, one_source_port_a_ring)
{
	struct dpa_remote *first, *other;

	set_up();
	first = dpa_remote_of(connect_to(1));
	other = dpa_remote_of(connect_to(2));
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		uint16_t is = dpa_remote_port(first, i);
		struct sockaddr_in a;
		socklen_t len = sizeof(a);

		cr_expect_geq(is, 49152, "%u", is);
		cr_assert_eq(getsockname(dpa_remote_fd(first, i), (struct sockaddr *)&a, &len), 0);
		cr_expect_eq(ntohs(a.sin_port), is, "the packets' is what the ICRC covers");
		cr_expect_eq(dpa_remote_port(other, i), is);
		for (uint32_t k = 0; k < i; k++)
			cr_expect_neq(dpa_remote_port(first, k), is);
	}
	tear_down();
}

/* Paths without their own sockets share some: these have the same number of ports, in range. */
Test(udp_remote, common_sockets_have_one_port_a_ring_too)
{
	struct dpa_remote *r = NULL;

	set_up();
	for (uint32_t i = 0; i <= DPA_WIRE_FROM; i++) {
		struct dpa_wqe_av av = av_of(1);

		av.hop_limit = (uint8_t)(i + 1);
		r = dpa_remote_of(dpa_remote_get(hw, &port, &av));
		cr_assert_eq(!r->from, i == DPA_WIRE_FROM, "%u", i);
	}
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		cr_expect_geq(dpa_remote_port(r, i), 49152);
		for (uint32_t k = 0; k < i; k++)
			cr_expect_neq(dpa_remote_port(r, k), dpa_remote_port(r, i));
	}
	tear_down();
}

Test(udp_remote, datagrams_to_many_take_so_much_and_no_more)
{
	set_up();
	for (uint32_t i = 1; i <= 4 * DPA_WIRE_UD; i++)
		datagram_to(i);
	cr_expect_eq(remotes(), DPA_WIRE_UD);
	for (uint32_t i = 1; i <= 10; i++)
		datagram_to(i); /* and back */
	cr_expect_eq(remotes(), DPA_WIRE_UD);
	tear_down();
}

Test(udp_remote, what_is_used_stays)
{
	struct dpa_peer *held, *qp, *later, *often;

	set_up();
	held = hold(1);
	qp = connect_to(2);
	datagram_to(3);
	later = connect_to(3); /* exists for datagrams already */
	often = hold(4);
	dpa_remote_drop(often);
	for (uint32_t i = 10; i < 4 * DPA_WIRE_UD; i++) {
		datagram_to(i);
		if (i % 16 == 0)
			datagram_to(4);
	}
	cr_expect(leads_to(held, 1));
	cr_expect(leads_to(qp, 2));
	cr_expect(leads_to(later, 3));
	cr_expect(leads_to(often, 4), "it is not the least recently used");
	cr_expect_eq(connect_to(2), qp);
	cr_expect_eq(connect_to(3), later);
	cr_expect_eq(remotes(), DPA_WIRE_UD + 2);
	dpa_remote_drop(held);
	tear_down();
}

/* The flow label was never sent, and the answer to a datagram had none either. */
Test(udp_remote, a_flow_label_is_of_the_path)
{
	struct dpa_wqe_av av = {.is_global = 1, .dgid = {0xfd, [15] = 1}, .flow_label = 0x12345};
	struct dpa_peer *one, *same, *other;

	set_up();
	own_v6 = true;
	one = dpa_remote_hold(hw, &port, &av);
	same = dpa_remote_get(hw, &port, &av);
	av.flow_label = 0x12346;
	other = dpa_remote_hold(hw, &port, &av);
	cr_assert(one && same && other, "%s", strerror(errno));
	cr_expect_eq(one, same);
	cr_expect_neq(one, other);
	cr_expect_eq(((struct sockaddr_in6 *)&dpa_remote_of(one)->to)->sin6_flowinfo,
		     htonl(0x12345));
	cr_expect_eq(((struct sockaddr_in6 *)&dpa_remote_of(other)->to)->sin6_flowinfo,
		     htonl(0x12346));
	dpa_remote_drop(one);
	dpa_remote_drop(other);
	own_v6 = false;
	tear_down();
}

/* IPv4 has none: the same host is the same path. */
Test(udp_remote, no_flow_label_without_ipv6)
{
	struct dpa_wqe_av av = av_of(1);
	struct dpa_peer *one;

	set_up();
	one = dpa_remote_hold(hw, &port, &av);
	av.flow_label = 0x12345;
	cr_expect_eq(dpa_remote_get(hw, &port, &av), one);
	dpa_remote_drop(one);
	tear_down();
}

/*
 * A fault layer that holds a frame back keeps the path of that frame, and no other: datagrams to
 * other paths used to be lost. If each path has such a frame, the next peer must wait.
 */
Test(udp_remote, a_frame_that_is_held_back_keeps_its_path_only)
{
	struct dpa_peer *of[DPA_WIRE_UD];

	set_up();
	for (uint32_t i = 0; i < DPA_WIRE_UD; i++)
		of[i] = hold(i + 1);
	for (uint32_t i = 1; i < DPA_WIRE_UD; i++)
		dpa_remote_drop(of[i]);
	atomic_store(&hw->inspect_held, 1);
	for (uint32_t i = 0; i < 3 * DPA_WIRE_UD; i++)
		datagram_to(100000 + i);
	cr_expect(leads_to(of[0], 1));
	dpa_remote_drop(of[0]);
	for (uint32_t i = 0; i < DPA_WIRE_UD; i++)
		of[i] = hold(i + 1);
	errno = 0;
	cr_expect_null(hold(100000));
	cr_expect_eq(errno, EBUSY);
	for (uint32_t i = 0; i < DPA_WIRE_UD; i++)
		dpa_remote_drop(of[i]);
	datagram_to(100000);
	tear_down();
}

static void *send_many(void *arg)
{
	uint32_t x = *(const uint32_t *)arg, wrong = 0;

	for (uint32_t i = 0; i < 30000; i++) {
		uint32_t host;
		struct dpa_peer *p;

		x = x * 1664525u + 1013904223u;
		host = (x >> 8) % (2 * DPA_WIRE_UD);
		p = hold(host);
		if (!p) {
			wrong++;
			continue;
		}
		wrong += !leads_to(p, host);
		dpa_remote_drop(p);
	}
	return (void *)(uintptr_t)wrong;
}

Test(udp_remote, threads_that_send_at_once)
{
	static uint32_t seed[3] = {1, 2, 3};
	pthread_t t[3];

	set_up();
	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, send_many, &seed[i]), 0);
	for (int i = 0; i < 3; i++) {
		void *wrong;

		pthread_join(t[i], &wrong);
		cr_expect_null(wrong);
	}
	cr_expect_eq(remotes(), DPA_WIRE_UD);
	tear_down();
}
