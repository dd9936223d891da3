/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_shown.c - the output of dpactl ps, read by another program. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include "rig.h"

TestSuite(gsi_shown, .init = gt_setup, .fini = gt_teardown, .timeout = 60);

/* Return whether a condition of Python holds for d, the output of dpactl ps. */
static bool holds(const char *what)
{
	char cmd[2048], board[128];

	gt_board("board", board, sizeof(board));
	snprintf(cmd, sizeof(cmd),
		 "DPA_BOARD=%s %s --json ps >%s.json && python3 -c 'import json; d = "
		 "json.load(open(\"%s.json\")); assert %s, d'; r=$?; rm %s.json; exit $r",
		 board, DPACTL, board, board, what, board);
	return system(cmd) == 0;
}

Test(gsi_shown, ps)
{
	struct dpa_gsi_service tcp = gt_service_at(7174, 1), udp = gt_service(9);
	struct dpa_gsi_id id = {.state = 9, .remote_id = 77, .remote_qpn = 5, .id = 3};
	struct gt_proc p[2];
	char what[1024];

	gt_start(&p[0], "board", 0, true);
	gt_start(&p[1], "board", 0, true);
	udp.service_id = 0x1110009;
	gt_listen(&p[0], &tcp);
	gt_listen(&p[0], &udp);
	id.local_id = gt_id_new(&p[1]);
	id.addr = gt_path(1, 9);
	gt_id_set(&p[1], &id);
	cr_expect(holds("[[q[\"type\"] for q in p[\"qps\"]] for p in d] == [[\"GSI\"]] * 2"));
	cr_expect(holds(
		"[(s[\"space\"], s[\"port\"], s[\"addr\"]) for s in d[0][\"cm_listeners\"]] == "
		"[(\"TCP\", 7174, \"127.0.0.1\"), (\"UDP\", 9, \"*\")]"));
	cr_expect(holds("d[0][\"cm_ids\"] == [] and d[1][\"cm_listeners\"] == []"));
	snprintf(what, sizeof(what),
		 "d[1][\"cm_ids\"] == [{\"local_id\": %u, \"remote_id\": 77, \"state\": "
		 "\"ESTABLISHED\", \"id\": 3, \"remote_qpn\": 5, \"addr\": \"127.0.0.1\", "
		 "\"peer\": \"127.0.0.9\"}]",
		 id.local_id);
	cr_expect(holds(what));
	gt_stop(&p[0]);
	gt_stop(&p[1]);
}

/* No process is attached, but the next one has work to do. */
Test(gsi_shown, status_of_an_heirless_board)
{
	struct dpa_gsi_id id = {.tell_peer = 1}, got;
	char board[128], cmd[512];
	struct gt_proc p;

	gt_board("board", board, sizeof(board));
	snprintf(cmd, sizeof(cmd),
		 "DPA_BOARD=%s %s status | grep -q 'stale: .* ends its connections at their peers'",
		 board, DPACTL);
	gt_start(&p, "board", 0, true);
	id.local_id = gt_id_new(&p);
	gt_id_set(&p, &id);
	gt_kill(&p);
	cr_expect_eq(system(cmd), 0);
	gt_start(&p, "board", 0, true);
	cr_expect(gt_orphan(&p, &got));
	gt_stop(&p);
	cr_expect_neq(system(cmd), 0);
}

/* 0: they agree; 77: tshark is not available. */
static int dissects(const char *file, const char *attributes)
{
	char cmd[1024];

	snprintf(cmd, sizeof(cmd),
		 "command -v tshark >/dev/null || exit 77; "
		 "tshark -r %s -T fields -e infiniband.bth.destqp -e infiniband.deth.srcqp -e "
		 "infiniband.mad.attributeid 2>/dev/null | sort -u | tr '\\n\\t' ', ' >%s.txt; "
		 "grep -qx '%s' %s.txt || { cat %s.txt; exit 1; }",
		 file, file, attributes, file, file);
	return WEXITSTATUS(system(cmd));
}

/*
 * A capture shows QP 1 at both ends for the rings between processes, too, and the MAD is delivered.
 */
Test(gsi_shown, captured)
{
	struct dpa_gsi_addr there = gt_path(1, 1);
	struct dpa_gsi_service s = gt_service(7174);
	uint8_t mad[DPA_MAD_BYTES];
	char file[128], cmd[256];
	struct gt_proc p[2];
	struct gt_answer a;
	uint32_t id;
	int rc;

	gt_board("capture.pcapng", file, sizeof(file));
	setenv("DPA_CAPTURE", file, 1);
	gt_start(&p[0], "board", 0, true);
	gt_start(&p[1], "board", 0, true);
	gt_listen(&p[1], &s);
	id = gt_id_new(&p[0]);
	gt_req(mad, id, 7174, 1);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[1], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	cr_expect_arr_eq(a.addr.dgid, there.sgid, 16);
	gt_message(mad, DPA_CM_REP, 5, id);
	cr_assert_eq(gt_send(&p[1], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	/* without an owner: it returns to its sender */
	gt_message(mad, DPA_CM_DREQ, 5, id + 1);
	cr_assert_eq(gt_send(&p[0], &there, mad), 0);
	cr_assert(gt_recv(&p[0], &a));
	cr_expect_arr_eq(a.mad, mad, sizeof(mad));
	gt_stop(&p[0]);
	gt_stop(&p[1]);
	snprintf(cmd, sizeof(cmd),
		 "%s decode %s | grep -c 'qp=0x000001 .* sqpn=0x1 .* CM .*ICRC right' | grep -qx 3",
		 DPACTL, file);
	cr_expect_eq(system(cmd), 0, "%s", cmd);
	rc = dissects(file, "0x000001 0x00000001 0x0010,0x000001 0x00000001 0x0013,"
			    "0x000001 0x00000001 0x0015,");
	cr_expect(rc == 0 || rc == 77, "tshark");
	snprintf(cmd, sizeof(cmd), "rm -f %s*", file);
	cr_assert_eq(system(cmd), 0);
}
