/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_near.c - QP1 between the processes of a board: the receivers of MADs, and the state that
 * dead processes leave.
 */
#include <criterion/criterion.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"

TestSuite(gsi_near, .init = gt_setup, .fini = gt_teardown, .timeout = 60);

static void start(struct gt_proc *p, int n)
{
	for (int i = 0; i < n; i++)
		gt_start(&p[i], "board", 0, true);
}

static void stop(struct gt_proc *p, int n)
{
	for (int i = 0; i < n; i++)
		gt_stop(&p[i]);
}

static bool nothing(struct gt_proc *p)
{
	struct gt_answer a;

	return !gt_look(p, &a);
}

Test(gsi_near, a_request_and_its_answers)
{
	struct dpa_gsi_addr there = gt_path(1, 1);
	struct gt_proc p[3]; /* one connects, one listens, one is a bystander */
	uint8_t mad[DPA_MAD_BYTES];
	struct dpa_gsi_service s = gt_service(7174);
	struct gt_answer a;
	uint32_t ids[2];

	start(p, 3);
	ids[0] = gt_id_new(&p[0]);
	gt_listen(&p[1], &s);
	there.traffic_class = 0x20;
	gt_req(mad, ids[0], 7174, 1);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[1], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	cr_expect_arr_eq(a.addr.dgid, there.sgid, 16, "the sender's address");
	cr_expect_arr_eq(a.addr.sgid, there.dgid, 16);
	cr_expect_eq(a.addr.traffic_class, 0x20, "%#x", a.addr.traffic_class);
	cr_expect_eq(a.addr.hop_limit, 64);

	ids[1] = gt_id_new(&p[1]);
	cr_expect_neq(ids[0], ids[1]);
	gt_message(mad, DPA_CM_REP, ids[1], ids[0]);
	cr_assert_eq(gt_send(&p[1], &a.addr, mad), 0);
	cr_assert(gt_recv(&p[0], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	gt_message(mad, DPA_CM_RTU, ids[0], ids[1]);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[1], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	cr_expect(nothing(&p[0]) && nothing(&p[1]) && nothing(&p[2]));
	stop(p, 3);
}

/* A listener at an address precedes one at all addresses, in any order of creation. */
Test(gsi_near, services_by_address)
{
	struct gt_proc p[3];
	struct dpa_gsi_service all = gt_service(99), one = gt_service_at(99, 2);
	struct dpa_gsi_addr to1 = gt_path(1, 1), to2 = gt_path(1, 2);
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a;
	uint32_t handle;

	/* the test itself adds 127.0.0.2 to the namespace */
	if (system("ip addr add 127.0.0.2/8 dev lo"))
		cr_skip_test("no address can be added: not root");
	start(p, 3);
	gt_listen(&p[1], &all);
	handle = gt_listen(&p[2], &one);
	gt_req(mad, 1, 99, 2);
	cr_assert_eq(gt_send(&p[0], &to2, mad), 0);
	cr_assert(gt_recv(&p[2], &a));
	gt_req(mad, 2, 99, 1);
	cr_assert_eq(gt_send(&p[0], &to1, mad), 0);
	cr_assert(gt_recv(&p[1], &a));
	gt_unlisten(&p[2], handle);
	gt_req(mad, 3, 99, 2);
	cr_assert_eq(gt_send(&p[0], &to2, mad), 0);
	cr_assert(gt_recv(&p[1], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	/* the same number in another port space is another service */
	mad[DPA_MAD_HDR + 8 + 5] = 0x11;
	cr_assert_eq(gt_send(&p[0], &to2, mad), 0);
	cr_assert(gt_recv(&p[0], &a), "nobody's: back to who sent it");
	cr_expect(nothing(&p[1]) && nothing(&p[2]));
	stop(p, 3);
}

Test(gsi_near, families_and_masks)
{
	struct gt_proc p[3];
	struct dpa_gsi_service v6 = gt_service(5), ib = {.service_id = 0x1234000000000000ull,
							 .mask = 0xffff000000000000ull,
							 .v4 = true};
	struct dpa_gsi_addr there = gt_path(1, 1);
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a;

	start(p, 3);
	v6.v4 = false;
	gt_listen(&p[1], &v6);
	gt_listen(&p[2], &ib);
	gt_req(mad, 1, 5, 1);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a), "it listens to IPv6 only");
	memset(mad + DPA_MAD_HDR + 8, 0x56, 8);
	mad[DPA_MAD_HDR + 8] = 0x12;
	mad[DPA_MAD_HDR + 9] = 0x34;
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[2], &a));
	cr_expect(nothing(&p[0]) && nothing(&p[1]));
	stop(p, 3);
}

Test(gsi_near, what_is_nobodys_comes_back)
{
	struct gt_proc p[2];
	struct dpa_gsi_addr there = gt_path(1, 1);
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a;
	uint32_t id;

	start(p, 2);
	gt_req(mad, 1, 4, 1);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	id = gt_id_new(&p[1]);
	gt_id_free(&p[1], id);
	gt_message(mad, DPA_CM_DREQ, 1, id);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a));
	cr_expect(nothing(&p[1]));
	/* now a process owns it */
	cr_expect_not(gt_pass_on(&p[0], &a.addr, a.mad));
	struct dpa_gsi_service s = gt_service(4);

	gt_listen(&p[1], &s);
	gt_req(mad, 1, 4, 1);
	cr_expect(gt_pass_on(&p[0], &a.addr, mad));
	cr_assert(gt_recv(&p[1], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	cr_expect_arr_eq(a.addr.dgid, there.sgid, 16);
	stop(p, 2);
}

/* The same where processes of the board meet on the wire: any of them may get a MAD. */
Test(gsi_near, what_is_nobodys_comes_back_by_wire)
{
	struct dpa_gsi_addr there = gt_path(1, 1);
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_proc p[4];
	struct gt_answer a;

	setenv("DPA_SHM", "never", 1);
	start(p, 4);
	for (int i = 0; i < 8; i++) {
		gt_req(mad, (uint32_t)i, 4, 1);
		cr_assert_eq(gt_send(&p[i % 4], &there, mad), 0);
		cr_assert(gt_recv(&p[i % 4], &a));
		cr_expect_arr_eq(a.mad, mad, sizeof(mad));
		cr_expect_arr_eq(a.addr.dgid, there.sgid, 16);
	}
	stop(p, 4);
}

/* A REJ of a sender that has no id (reason 4) finds its connection by GUID. */
Test(gsi_near, a_reject_without_id)
{
	struct gt_proc p[2];
	struct dpa_gsi_addr there = gt_path(1, 1);
	struct dpa_gsi_id id = {.remote_id = 77, .remote_guid = htobe64(0x1122334455667788ull)};
	struct dpa_mad m = {.attr = DPA_CM_REJ};
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a;

	start(p, 2);
	id.local_id = gt_id_new(&p[1]);
	gt_id_set(&p[1], &id);
	m.rej.local_id = 77;
	m.rej.reason = 4;
	m.rej.info_length = 8;
	for (int i = 0; i < 8; i++)
		m.rej.info[i] = (uint8_t)(0x11 * (i + 1));
	cr_assert(dpa_mad_encode(&m, mad));
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[1], &a));
	mad[DPA_MAD_HDR + 12] ^= 1; /* another GUID */
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a));
	stop(p, 2);
}

Test(gsi_near, what_is_refused)
{
	struct gt_proc p;
	struct dpa_gsi_addr there = gt_path(1, 1), odd = gt_path(7, 1), mixed = gt_path(1, 1);
	uint8_t mad[DPA_MAD_BYTES];

	gt_start(&p, "board", 0, true);
	cr_expect_eq(gt_open(&p), EBUSY);
	gt_req(mad, 1, 4, 1);
	odd.sgid[12] = 10;
	cr_expect_eq(gt_send(&p, &odd, mad), EINVAL, "not an address of this namespace");
	memset(mixed.dgid, 0, 15);
	cr_expect_eq(gt_send(&p, &mixed, mad), EINVAL);
	mad[1] = 3;
	cr_expect_eq(gt_send(&p, &there, mad), EINVAL, "another class");
	mad[1] = 7;
	mad[17] = 0x19;
	cr_expect_eq(gt_send(&p, &there, mad), EINVAL, "LAP");
	cr_expect(gt_child_is_out(&p));
	mad[17] = 0x10;
	cr_expect_eq(gt_send(&p, &there, mad), 0, "the child has harmed nothing");
	gt_stop(&p);
}

/* More than the ring between two processes holds, and then as much again. */
Test(gsi_near, a_burst)
{
	struct gt_proc p[2];
	struct dpa_gsi_addr there = gt_path(1, 1);
	struct dpa_gsi_service s = gt_service(9);
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a;
	int rc;

	start(p, 2);
	gt_listen(&p[1], &s);
	for (uint32_t lap = 0; lap < 3; lap++) {
		for (uint32_t i = 0; i < 3000; i++) {
			gt_req(mad, i + 1, 9, 1);
			while ((rc = gt_send(&p[0], &there, mad)) == ENOBUFS)
				; /* the receiver has not run yet */
			cr_assert_eq(rc, 0);
		}
		for (uint32_t i = 0; i < 3000; i++) {
			struct dpa_mad m;

			cr_assert(gt_recv(&p[1], &a));
			cr_assert_eq(dpa_mad_decode(a.mad, sizeof(a.mad), &m), DPA_MAD_OK);
			cr_assert_eq(m.req.local_id, i + 1);
		}
	}
	cr_expect(nothing(&p[1]));
	stop(p, 2);
}

/* ------------------------------------------------------------------ the dead */

static struct dpa_gsi_id some_id(struct gt_proc *p, uint32_t n)
{
	struct dpa_gsi_id id = {.local_id = gt_id_new(p),
				.remote_id = n,
				.remote_guid = n * 0x100000001ull,
				.tell_peer = 1,
				.remote_qpn = n + 5,
				.addr = gt_path(1, (uint8_t)n)};

	gt_id_set(p, &id);
	return id;
}

#define IDS 40

/* Each id of a killed process is taken by exactly one of the remaining ones. */
Test(gsi_near, orphans_once_each)
{
	struct gt_proc p[4];
	struct dpa_gsi_id had[IDS], got;
	uint32_t seen[IDS] = {0}, found = 0;

	start(p, 4);
	for (uint32_t i = 0; i < IDS; i++)
		had[i] = some_id(&p[0], i + 1);
	gt_id_new(&p[0]); /* there is nothing to report for that one */
	some_id(&p[1], 500);
	gt_kill(&p[0]);
	cr_assert(gt_orphan(&p[1], &got), "within a second or so");
	for (int i = 1; found < IDS; i = i % 3 + 1) {
		uint32_t n = got.remote_id - 1;

		cr_assert_lt(n, IDS);
		cr_expect_arr_eq(&got, &had[n], sizeof(got));
		cr_assert_eq(seen[n]++, 0, "id %u twice", n);
		if (++found == IDS)
			break;
		while (!gt_orphan_now(&p[i], &got))
			i = i % 3 + 1;
	}
	for (int i = 1; i < 4; i++)
		cr_expect_not(gt_orphan_now(&p[i], &got));
	stop(p + 1, 3);
}

/* It had received nothing, and so has no ids. */
Test(gsi_near, each_process_learns_that_one_died)
{
	struct gt_proc p[3];

	start(p, 3);
	gt_kill(&p[0]);
	cr_assert(gt_died(&p[1]));
	cr_assert(gt_died(&p[2]));
	stop(p + 1, 2);
}

/* It belongs to the heir: messages for it arrive there. */
Test(gsi_near, an_orphan_goes_on)
{
	struct gt_proc p[3];
	struct dpa_gsi_addr there = gt_path(1, 1);
	uint8_t mad[DPA_MAD_BYTES];
	struct dpa_gsi_id id, got;
	struct gt_answer a;

	start(p, 3);
	id = some_id(&p[0], 7);
	gt_kill(&p[0]);
	cr_assert(gt_orphan(&p[1], &got));
	gt_message(mad, DPA_CM_DREP, 7, id.local_id);
	cr_assert_eq(gt_send(&p[2], &there, mad), 0);
	cr_assert(gt_recv(&p[1], &a));
	gt_id_free(&p[1], id.local_id);
	cr_assert_eq(gt_send(&p[2], &there, mad), 0);
	cr_assert(gt_recv(&p[2], &a), "nobody's by now");
	stop(p + 1, 2);
}

/* All of them were killed: the next process of the board finds their ids. */
Test(gsi_near, the_next_comer)
{
	struct gt_proc p[2], next;
	struct dpa_gsi_id ids[2], got[2];

	start(p, 2);
	ids[0] = some_id(&p[0], 1);
	ids[1] = some_id(&p[1], 2);
	gt_kill(&p[0]);
	gt_kill(&p[1]);
	gt_start(&next, "board", 0, true);
	cr_assert_eq(next.num, p[0].num, "the ids have its number");
	cr_assert(gt_orphan(&next, &got[0]));
	cr_assert(gt_orphan(&next, &got[1]));
	cr_expect_neq(got[0].local_id, got[1].local_id);
	for (int i = 0; i < 2; i++)
		cr_expect(got[i].local_id == ids[0].local_id || got[i].local_id == ids[1].local_id);
	gt_stop(&next);
}

/* exit() leaves the same state as SIGKILL. */
Test(gsi_near, exit_without_a_word)
{
	struct gt_proc p, next;
	struct dpa_gsi_id id, got;

	gt_start(&p, "board", 0, true);
	id = some_id(&p, 1);
	gt_exit(&p);
	gt_start(&next, "board", 0, true);
	cr_assert(gt_orphan(&next, &got));
	cr_expect_eq(got.local_id, id.local_id);
	gt_stop(&next);
}

/* A process that closes QP1 leaves nothing; the adapter state goes with the last process. */
Test(gsi_near, closed)
{
	struct gt_proc p[2];
	struct dpa_gsi_addr there = gt_path(1, 1);
	struct dpa_gsi_service s = gt_service(3);
	uint8_t mad[DPA_MAD_BYTES];
	struct dpa_gsi_id got;
	struct gt_answer a;

	start(p, 2);
	some_id(&p[0], 1);
	gt_listen(&p[0], &s);
	gt_close(&p[0]);
	gt_req(mad, 1, 3, 1);
	cr_assert_eq(gt_send(&p[1], &there, mad), 0);
	cr_assert(gt_recv(&p[1], &a));
	cr_expect_not(gt_orphan_now(&p[1], &got));
	cr_assert_eq(gt_open(&p[0]), 0, "and again");
	gt_listen(&p[0], &s);
	cr_assert_eq(gt_send(&p[1], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a));
	stop(p, 2);
}

/* No process has QP1 open, but one could: it is notified. */
Test(gsi_near, need)
{
	struct gt_proc p, idle, late;
	struct dpa_gsi_id id, got;

	gt_start(&p, "board", 0, true);
	gt_start(&idle, "board", 0, false);
	gt_want_need(&idle);
	id = some_id(&p, 1);
	gt_kill(&p);
	cr_assert(gt_needed(&idle, 1));
	cr_assert_eq(gt_open(&idle), 0);
	cr_assert(gt_orphan(&idle, &got));
	cr_expect_eq(got.local_id, id.local_id);
	gt_id_free(&idle, got.local_id);
	id = some_id(&idle, 2);
	gt_kill(&idle);
	/* a later process, too */
	gt_start(&late, "board", 0, false);
	gt_want_need(&late);
	cr_assert(gt_needed(&late, 1));
	cr_assert_eq(gt_open(&late), 0);
	cr_assert(gt_orphan(&late, &got));
	cr_expect_eq(got.local_id, id.local_id);
	gt_stop(&late);
}

Test(gsi_near, routes)
{
	struct gt_proc p;
	struct dpa_gsi_addr near = gt_path(1, 1), none = gt_path(1, 1), far = gt_path(1, 1);
	struct dpa_hw_route r;
	int rc;

	gt_start(&p, "board", 0, true);
	gt_route(&p, &near, &r, &rc);
	cr_assert_eq(rc, 0);
	cr_expect(r.local);
	cr_expect_eq(r.ifindex, 1);
	cr_expect_eq(r.mtu, 5);
	none.sgid[12] = 10;
	gt_route(&p, &none, &r, &rc);
	cr_expect_eq(rc, EADDRNOTAVAIL);
	none = gt_path(1, 1);
	none.sgid[14] = 3;
	gt_route(&p, &none, &r, &rc);
	cr_expect_eq(rc, ENODEV, "127.0.3.1 is this host's, too");
	far.dgid[12] = 192;
	gt_route(&p, &far, &r, &rc);
	cr_expect(rc == ENETUNREACH || rc == EHOSTUNREACH || rc == EINVAL, "%s", strerror(rc));
	gt_stop(&p);
}
