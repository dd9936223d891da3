/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_wire.c - QP1 and the network: another host, and other boards of this one. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <dpa_cm_port.h>
#include "rig.h"
#include "wire.h"

#define QKEY 0x80010000u

TestSuite(gsi_wire, .init = gt_setup, .fini = gt_teardown, .timeout = 60);

static const struct gw_pkt right = {.dqpn = 1, .qkey = QKEY};

static bool nothing(struct gt_proc *p)
{
	struct gt_answer a;

	return !gt_look(p, &a);
}

Test(gsi_wire, out)
{
	struct dpa_gsi_addr there = gt_path(1, 9);
	uint8_t mad[DPA_MAD_BYTES], pkt[GW_ALL];
	const uint8_t *bth = pkt + GW_IP + GW_UDP;
	static const uint8_t deth[8] = {0x80, 1, 0, 0, 0, 0, 0, 1}, qpn[4] = {0, 0, 0, 1};
	struct gt_proc p;
	struct gw w;

	gt_start(&p, "board", 0, true);
	gw_open(&w, 9);
	gt_req(mad, 5, 7174, 9);
	cr_assert_eq(gt_send(&p, &there, mad), 0);
	cr_assert(gw_recv(&w, pkt));
	cr_expect_eq(bth[0], 0x64, "UD SEND Only");
	cr_expect_eq(bth[1] & 0x30, 0, "no pad");
	cr_expect(bth[2] == 0xff && bth[3] == 0xff, "P_Key");
	cr_expect_arr_eq(bth + 4, qpn, 4, "destination QP 1");
	cr_expect_arr_eq(bth + GW_BTH, deth, 8, "Q_Key, source QP 1");
	cr_expect_arr_eq(bth + GW_BTH + 8, mad, sizeof(mad));
	there.dgid[12] = 192;
	cr_expect_eq(gt_send(&p, &there, mad), ENETUNREACH);
	gw_close(&w);
	gt_stop(&p);
}

/* The kernel passes it to any process of the board that has the port open: by the sender's port. */
Test(gsi_wire, a_mad_reaches_the_process_of_its_port)
{
	struct dpa_gsi_service s = gt_service(7174);
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_proc p[3];
	struct gt_answer a;
	struct gw_pkt how = right;
	uint32_t id;
	struct gw w;

	for (int i = 0; i < 3; i++)
		gt_start(&p[i], "board", 0, true);
	gw_open(&w, 9);
	gt_listen(&p[1], &s);
	id = gt_id_new(&p[2]);
	for (uint16_t i = 0; i < 32; i++) {
		how.sport = (uint16_t)(0xc000 + 97 * i);
		gt_req(mad, i + 1u, 7174, 1);
		gw_send(&w, &how, mad);
		cr_assert(gt_recv(&p[1], &a));
		cr_assert_arr_eq(a.mad, mad, sizeof(mad));
		cr_expect_eq(a.addr.dgid[15], 9);
		cr_expect_eq(a.addr.sgid[15], 1);
		gt_message(mad, DPA_CM_RTU, i + 1u, id);
		gw_send(&w, &how, mad);
		cr_assert(gt_recv(&p[2], &a));
		cr_assert_arr_eq(a.mad, mad, sizeof(mad));
	}
	cr_expect(nothing(&p[0]));
	gw_close(&w);
	for (int i = 0; i < 3; i++)
		gt_stop(&p[i]);
}

Test(gsi_wire, what_is_not_taken)
{
	struct dpa_gsi_service s = gt_service(7174);
	struct gw_pkt how[] = {{.dqpn = 1, .qkey = 0x11111111},
			       {.dqpn = 1, .qkey = QKEY, .wrong_icrc = true},
			       {.dqpn = 1, .qkey = QKEY, .len = 252},
			       {.dqpn = 2, .qkey = QKEY}};
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_proc p;
	struct gt_answer a;
	struct gw w;

	gt_start(&p, "board", 0, true);
	gw_open(&w, 9);
	gt_listen(&p, &s);
	gt_req(mad, 1, 7174, 1);
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++)
		gw_send(&w, &how[i], mad);
	mad[1] = 4; /* another class */
	gw_send(&w, &right, mad);
	gt_req(mad, 77, 7174, 1);
	gw_send(&w, &right, mad);
	cr_assert(gt_recv(&p, &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad), "the last one alone");
	cr_expect(nothing(&p));
	gw_close(&w);
	gt_stop(&p);
}

/*
 * Without an owner: any process with QP1 open must refuse it; if there is none, a process that
 * could.
 */
Test(gsi_wire, nobodys)
{
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_proc p;
	struct gt_answer a;
	struct gw w;

	gt_start(&p, "board", 0, true);
	gw_open(&w, 9);
	gt_req(mad, 1, 7174, 1);
	gw_send(&w, &right, mad);
	cr_assert(gt_recv(&p, &a));
	gt_want_need(&p);
	gt_close(&p);
	gw_send(&w, &right, mad); /* UDP port 4791 is still open */
	cr_assert(gt_needed(&p, 1));
	cr_assert_eq(gt_open(&p), 0);
	gw_send(&w, &right, mad);
	cr_assert(gt_recv(&p, &a));
	gw_close(&w);
	gt_stop(&p);
}

/* ---------------------------------------------------- two boards of one host */

static uid_t other_user(void)
{
	return getuid() == 0 ? 65534 : 0; /* otherwise the same user */
}

Test(gsi_wire, two_boards)
{
	struct dpa_cm_claim c = {.ps = DPA_CM_PS_TCP, .port = 7174, .afonly = true};
	struct dpa_gsi_addr there = gt_path(1, 1);
	struct dpa_gsi_service s = gt_service(7174);
	struct dpa_cm_ports *ports;
	uint8_t mad[DPA_MAD_BYTES];
	char path[192];
	struct gt_proc p[3];
	struct gt_answer a;
	uint32_t ids[2];

	gt_start(&p[0], "one", 0, true);
	gt_start(&p[1], "two", other_user(), true);
	gt_start(&p[2], "two", other_user(), true);
	cr_assert_neq(p[0].num, p[1].num);
	/* the listener's claim, which the test makes here */
	cr_assert_eq(dpa_cm_ports_path(path, sizeof(path)), 0);
	cr_assert_eq(dpa_cm_ports_open(path, &ports), 0);
	cr_assert_eq(dpa_cm_port_claim(ports, &c), 0);
	cr_expect_not(dpa_cm_port_listens(c.ps, c.port));
	gt_req(mad, 1, 7174, 1);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a), "a port that nobody listens at is nobody's");
	cr_assert_eq(dpa_cm_port_listen(ports, &c), 0);
	cr_expect(dpa_cm_port_listens(c.ps, c.port));
	gt_listen(&p[2], &s);

	ids[0] = gt_id_new(&p[0]);
	ids[1] = gt_id_new(&p[2]);
	cr_expect_eq(ids[0] >> 24, p[0].num);
	cr_expect_eq(ids[1] >> 24, p[1].num);
	gt_req(mad, ids[0], 7174, 1);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[2], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	cr_expect_arr_eq(a.addr.dgid, there.sgid, 16);
	gt_message(mad, DPA_CM_REP, ids[1], ids[0]);
	cr_assert_eq(gt_send(&p[2], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	gt_message(mad, DPA_CM_RTU, ids[0], ids[1]);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[2], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	/* an id that its board does not have any more: one of its processes answers */
	gt_id_free(&p[2], ids[1]);
	gt_message(mad, DPA_CM_DREQ, ids[0], ids[1]);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	while (!gt_look(&p[1], &a) && !gt_look(&p[2], &a))
		; /* the suite's timeout ends it */
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	cr_expect(nothing(&p[0]));
	dpa_cm_ports_close(ports);
	for (int i = 0; i < 3; i++)
		gt_stop(&p[i]);
}

/* From the wire to a board that does not have it. */
Test(gsi_wire, in_to_another_board)
{
	struct dpa_cm_claim c = {.ps = DPA_CM_PS_TCP, .port = 7174, .afonly = true};
	struct dpa_gsi_service s = gt_service(7174);
	struct dpa_cm_ports *ports;
	uint8_t mad[DPA_MAD_BYTES];
	char path[192];
	struct gt_proc p[2];
	struct gt_answer a;
	uint32_t id;
	struct gw w;

	gt_start(&p[0], "one", 0, true);
	gt_start(&p[1], "two", other_user(), true);
	gw_open(&w, 9);
	cr_assert_eq(dpa_cm_ports_path(path, sizeof(path)), 0);
	cr_assert_eq(dpa_cm_ports_open(path, &ports), 0);
	cr_assert_eq(dpa_cm_port_claim(ports, &c), 0);
	cr_assert_eq(dpa_cm_port_listen(ports, &c), 0);
	gt_listen(&p[1], &s);
	id = gt_id_new(&p[1]);
	gt_req(mad, 3, 7174, 1);
	gw_send(&w, &right, mad);
	cr_assert(gt_recv(&p[1], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	cr_expect_eq(a.addr.dgid[15], 9);
	gt_message(mad, DPA_CM_RTU, 3, id);
	gw_send(&w, &right, mad);
	cr_assert(gt_recv(&p[1], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	cr_expect(nothing(&p[0]));
	dpa_cm_ports_close(ports);
	gw_close(&w);
	for (int i = 0; i < 2; i++)
		gt_stop(&p[i]);
}

/* Send datagrams to the port of the packet. */
static void flood(const uint8_t *pkt)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port =
					       htons((uint16_t)(pkt[GW_IP] << 8 | pkt[GW_IP + 1])),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	static const uint8_t data[1000];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	cr_assert_geq(fd, 0);
	for (int i = 0; i < 2000; i++)
		cr_assert_eq(sendto(fd, data, sizeof(data), 0, (const void *)&to, sizeof(to)),
			     (ssize_t)sizeof(data));
	close(fd);
}

/*
 * Check that the host is alive. The packet is one that a receiver ignores, and only an answer that
 * quotes its random number counts.
 */
Test(gsi_wire, a_host_without_roce)
{
	const struct dpa_gsi_addr there = gt_path(1, 9);
	const uint64_t nonce = 0x0123456789abcdefull;
	uint8_t pkt[GW_ALL], probe[GW_ALL], mad[DPA_MAD_BYTES], dgid[16];
	struct dpa_mad m;
	struct gt_proc p;
	uint64_t tid;
	struct gw w;

	gt_start(&p, "board", 0, true);
	gw_open(&w, 9);
	cr_assert_eq(gt_probe(&p, &there, nonce), 0);
	cr_assert(gw_recv(&w, pkt));
	cr_assert_eq(dpa_mad_decode(pkt + GW_HDR, DPA_MAD_BYTES, &m), DPA_MAD_OK);
	cr_expect_eq(m.attr, DPA_CM_DREP);
	cr_expect_eq(m.tid, nonce);
	cr_expect_eq(m.drep.local_id, 0);
	cr_expect_eq(m.drep.remote_id, 0);
	cr_expect_not(gt_refused(&p, dgid, &tid), "no answer yet");
	gw_unreachable(&w, 1, pkt, GW_ALL);
	cr_expect_not(gt_refused(&p, dgid, &tid), "the host is unreachable, not its port");
	gw_unreachable(&w, 3, pkt, GW_IP + 8);
	cr_expect_not(gt_refused(&p, dgid, &tid), "it could be anybody's");
	gw_unreachable(&w, 3, pkt, GW_ALL);
	cr_assert(gt_refused(&p, dgid, &tid));
	cr_expect_arr_eq(dgid, there.dgid, 16);
	cr_expect_eq(tid, nonce);
	cr_expect_not(gt_refused(&p, dgid, &tid));
	/* an answer does not hold back the next packet, nor one for another host */
	gw_unreachable(&w, 3, pkt, GW_ALL);
	cr_assert_eq(gt_probe(&p, &there, nonce + 1), 0);
	cr_assert(gw_recv(&w, probe));
	cr_assert(gt_refused(&p, dgid, &tid));
	gt_req(mad, 5, 7174, 9);
	cr_assert_eq(gt_send(&p, &there, mad), 0);
	cr_assert(gw_recv(&w, pkt));
	flood(probe);
	gw_unreachable(&w, 3, probe, GW_ALL);
	cr_assert(gt_refused(&p, dgid, &tid), "datagrams keep no answer back");
	cr_expect_eq(tid, nonce + 1);
	gw_close(&w);
	gt_stop(&p);
}
