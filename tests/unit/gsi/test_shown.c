/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What dpactl ps shows of it, read by another program. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include "rig.h"

TestSuite(gsi_shown, .init = gt_setup, .fini = gt_teardown, .timeout = 60);

/* Python's opinion on d, what dpactl ps says. */
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
