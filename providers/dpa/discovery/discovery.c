/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* discovery.c - functions of the provider's library for callers other than libibverbs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <dpa_hw.h>
#include <dpa_hw_trace.h>
#include <knobs.h>

#include "discovery/discovery.h"
#include "dpadv_table.h"

/* Files whose text comes from a setting. 0: another file. */
static int setting_text(const struct dpa_config *cfg, unsigned function, const char *name,
			char *text, size_t len)
{
	uint16_t lid = dpa_cfg_lid(cfg, function);

	if (strcmp(name, "rate") == 0)
		return snprintf(text, len, "%s\n", dpa_cfg_speed(cfg)->rate);
	if (strcmp(name, "link_layer") == 0)
		return snprintf(text, len, "%s\n", lid ? "InfiniBand" : "Ethernet");
	if (strcmp(name, "lid") == 0)
		return snprintf(text, len, "0x%x\n", lid);
	if (strcmp(name, "sm_lid") == 0)
		return snprintf(text, len, "0x%x\n", dpa_cfg_lid(cfg, 0) ? DPA_SM_LID : 0);
	return 0;
}

/*
 * The port of the adapter was taken down (dpactl port): also for a process that has not opened the
 * device. 0: it was not, or it is another file.
 */
static int down_text(const struct dpa_config *cfg, const char *name, char *text, size_t len)
{
	const bool state = strcmp(name, "state") == 0;
	char port[8];

	if (!state && strcmp(name, "phys_state") != 0)
		return 0;
	if (dpa_hw_board_file(cfg->board[0] ? cfg->board : NULL, "port", port, sizeof(port)) < 0 ||
	    strcmp(port, "down") != 0)
		return 0;
	return snprintf(text, len, "%s\n", state ? "1: DOWN" : "3: Disabled");
}

int dpadv_port_file(unsigned function, const char *name, char *text, size_t len)
{
	struct dpa_config cfg;
	char err[512];
	int ret;

	if (dpa_config_load(&cfg, err, sizeof(err)) || function > cfg.functions.num_sfs) {
		errno = ENOENT;
		return -1;
	}
	if (strncmp(name, "counters/", 9) == 0 || strncmp(name, "hw_counters/", 12) == 0)
		return dpa_hw_counter_file(cfg.board[0] ? cfg.board : NULL, name, text, len);
	if (strncmp(name, "adapter/", 8) == 0)
		return dpa_hw_board_file(cfg.board[0] ? cfg.board : NULL, name + 8, text, len);
	ret = setting_text(&cfg, function, name, text, len);
	if (!ret)
		ret = down_text(&cfg, name, text, len);
	if (ret)
		return ret;
	return dpa_hw_port_file(function, dpa_cfg_interface(&cfg, function), cfg.gid_order, name,
				text, len);
}

extern const struct dpadv_table dpadv_table;

__attribute__((visibility("default"))) const struct dpadv_table dpadv_table = {
	.size = sizeof(dpadv_table),
	.hw_version = DPA_HW_VERSION,
	.is_supported = dpadv_is_supported,
	.query_function = dpadv_query_function,
	.init_obj = dpadv_init_obj,
	.create_cq = dpadv_create_cq,
	.create_qp = dpadv_create_qp,
	.set_placement = dpadv_set_placement,
	.progress = dpadv_progress,
	.idle = dpadv_idle,
	.wait_fd = dpadv_wait_fd,
	.num_eus = dpadv_num_eus,
	.query_board = dpadv_query_board,
	.ring_sq = dpadv_ring_sq,
	.kick_sq = dpadv_kick_sq,
	.ring_rq = dpadv_ring_rq,
	.arm_cq = dpadv_arm_cq,
	.may_read = dpadv_may_read,
	.port_file = dpadv_port_file,
	.watch_sq = dpadv_watch_sq,
	.reg_foreign_mr = dpadv_reg_foreign_mr,
	.query_pcc = dpadv_query_pcc,
	.trace_points = &dpa_trace_ops,
	.inject_points = &dpa_inject_ops,
};
