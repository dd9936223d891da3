/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Stand-ins for the board, the port, the transport and the clock. */
#include <errno.h>
#include "ctx/thread.h"
#include "ctx/schedule.h"
#include "link/peer.h"
#include "transport/api.h"
#include "direct/direct.h"
#include "link/inspect.h"
#include "ctx/ops.h"
#include "tables/tables.h"

uint64_t st_now = 1000000000;
uint32_t dpa_spin_pauses = 200;

uint64_t dpa_now_ns(void)
{
	return st_now;
}

uint64_t dpa_now_about(void)
{
	return dpa_now_ns();
}

void dpa_log(struct dpa_hw *hw, int level, const char *fmt, ...)
{
}

void dpa_wake_self(struct dpa_hw *hw)
{
}

uint32_t dpa_board_ask_gen(struct dpa_board *b, enum dpa_board_ask_what what)
{
	return 0;
}

bool dpa_board_ask_get(struct dpa_board *b, enum dpa_board_ask_what what,
		       char text[DPA_BOARD_ASK_TEXT], uint32_t *gen)
{
	return false;
}

int dpa_port_gid(struct dpa_port *port, uint32_t index, struct dpa_hw_gid *gid)
{
	return ENODATA;
}

void dpa_frame_in(struct dpa_hw *hw, struct dpa_peer *peer, const struct dpa_frame *f,
		  bool may_forward)
{
}

void dpa_pkt_of_slot(const struct dpa_slot *s, struct dpa_roce_pkt *pkt)
{
}

static void answer(struct dpa_hw_qp *qp)
{
}

void dpa_qp_leave(struct dpa_hw_qp *qp)
{
}

static void grant_all(struct dpa_hw *hw)
{
}

static const struct dpa_qp_ops qp_ops = {.answer = answer};
extern const struct dpa_hw_ops hw_ops;
const struct dpa_hw_ops hw_ops = {.rdma = &qp_ops, .grant_all = grant_all};
