/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inject_words.c - the words of the grammar of injected failures: see inject_words.h. */
#include <errno.h>
#include <stddef.h>

#include "inject_words.h"

/* Names without ibv_; those of rdma_cm have their rdma_. */
const char *const dpa_inject_calls[] = {
	"open_device",
	"query_device",
	"query_port",
	"query_rt_values",
	"alloc_pd",
	"dealloc_pd",
	"alloc_td",
	"dealloc_td",
	"open_xrcd",
	"close_xrcd",
	"reg_mr",
	"reg_dmabuf_mr",
	"reg_dm_mr",
	"rereg_mr",
	"dereg_mr",
	"advise_mr",
	"alloc_null_mr",
	"alloc_mw",
	"dealloc_mw",
	"alloc_dm",
	"free_dm",
	"import_pd",
	"import_mr",
	"import_dm",
	"create_cq",

	"modify_cq",
	"resize_cq",
	"req_notify_cq",
	"destroy_cq",
	"create_srq",

	"modify_srq",
	"query_srq",
	"destroy_srq",
	"create_qp",

	"open_qp",
	"modify_qp",
	"query_qp",
	"destroy_qp",
	"attach_mcast",
	"detach_mcast",
	"create_ah",
	"destroy_ah",
	"create_wq",
	"modify_wq",
	"destroy_wq",
	"create_flow",
	"destroy_flow",
	"create_counters",
	"read_counters",
	"destroy_counters",
	"post_send",
	"post_recv",
	"post_srq_recv",
	"poll_cq",
	"create_rwq_ind_table",
	"destroy_rwq_ind_table",
	"attach_counters_point_flow",
	"modify_qp_rate_limit",
	"get_srq_num",
	"query_ece",
	"set_ece",
	"alloc_parent_domain",
	"rdma_create_event_channel",
	"rdma_create_id",
	"rdma_destroy_id",
	"rdma_bind_addr",
	"rdma_resolve_addr",
	"rdma_resolve_route",
	"rdma_connect",
	"rdma_listen",
	"rdma_accept",
	"rdma_reject",
	"rdma_disconnect",
	"rdma_get_cm_event",
	"rdma_set_option",
	"rdma_join_multicast",
	"rdma_leave_multicast",
	"rdma_migrate_id",
	"rdma_init_qp_attr",
	"rdma_notify",
	NULL,
};

_Static_assert(sizeof(dpa_inject_calls) / sizeof(dpa_inject_calls[0]) <= DPA_INJECT_CALLS_MAX,
	       "a count for each call");

/* clang-format off */
#define WORD(n, v) {.name = (n), .value = (v)}
#define ERR(e) WORD(#e, e)
/* clang-format on */
static const struct dpa_inject_word errnos[] = {
	ERR(EPERM),	   ERR(ENOENT),	     ERR(EINTR),
	ERR(EIO),	   ERR(ENXIO),	     ERR(EBADF),
	ERR(EAGAIN),	   ERR(ENOMEM),	     ERR(EACCES),
	ERR(EFAULT),	   ERR(EBUSY),	     ERR(EEXIST),
	ERR(ENODEV),	   ERR(EINVAL),	     ERR(ENFILE),
	ERR(EMFILE),	   ERR(ENOSPC),	     ERR(ERANGE),
	ERR(ENOSYS),	   ERR(ENODATA),     ERR(EPROTO),
	ERR(EOVERFLOW),	   ERR(EMSGSIZE),    ERR(EOPNOTSUPP),
	ERR(EAFNOSUPPORT), ERR(EADDRINUSE),  ERR(EADDRNOTAVAIL),
	ERR(ENETDOWN),	   ERR(ENETUNREACH), ERR(ECONNABORTED),
	ERR(ECONNRESET),   ERR(ENOBUFS),     ERR(EISCONN),
	ERR(ENOTCONN),	   ERR(ETIMEDOUT),   ERR(ECONNREFUSED),
	ERR(EHOSTUNREACH), ERR(ESTALE),	     {0},
};
#undef ERR

/* Values of enum ibv_wc_status. The flush of a QP that is not in error is not a failure of its own. */
static const struct dpa_inject_word statuses[] = {
	WORD("LOC_LEN_ERR", 1),
	WORD("LOC_QP_OP_ERR", 2),
	WORD("LOC_PROT_ERR", 4),
	WORD("MW_BIND_ERR", 6),
	WORD("REM_INV_REQ_ERR", 9),
	WORD("REM_ACCESS_ERR", 10),
	WORD("REM_OP_ERR", 11),
	WORD("RETRY_EXC_ERR", 12),
	WORD("RNR_RETRY_EXC_ERR", 13),
	WORD("REM_ABORT_ERR", 16),
	WORD("FATAL_ERR", 19),
	WORD("GENERAL_ERR", 21),
	{0},
};
static const struct dpa_inject_word overruns[] = {WORD("overrun", 1), {0}};
static const struct dpa_inject_word comps[] = {
	WORD("lost", DPA_INJECT_LOST), {"late", DPA_INJECT_LATE, DPA_INJECT_TIMED}, {0}};
/* Values of enum ibv_event_type. */
static const struct dpa_inject_word events[] = {
	WORD("QP_FATAL", 1),
	{"DEVICE_FATAL", DPA_INJECT_DEVICE_FATAL, DPA_INJECT_LASTS},
	{"PORT_ERR", DPA_INJECT_PORT_ERR, DPA_INJECT_LASTS},
	WORD("SRQ_LIMIT_REACHED", 15),
	WORD("GID_CHANGE", DPA_INJECT_GID_CHANGE),
	{0},
};
/* Values of enum rdma_cm_event_type. */
static const struct dpa_inject_word cm_events[] = {WORD("ADDR_ERROR", 1),    WORD("ROUTE_ERROR", 3),
						   WORD("CONNECT_ERROR", 6), WORD("UNREACHABLE", 7),
						   WORD("REJECTED", 8),	     {0}};
/* Values of enum ibv_qp_state. */
const struct dpa_inject_word dpa_inject_states[] = {
	WORD("RESET", 0), WORD("INIT", 1), WORD("RTR", 2), WORD("RTS", 3),
	WORD("SQD", 4),	  WORD("SQE", 5),  WORD("ERR", 6), {0},
};
/* Values of enum ibv_wc_opcode. */
const struct dpa_inject_word dpa_inject_opcodes[] = {
	WORD("SEND", 0),
	WORD("RDMA_WRITE", 1),
	WORD("RDMA_READ", 2),
	WORD("COMP_SWAP", 3),
	WORD("FETCH_ADD", 4),
	WORD("BIND_MW", DPA_INJECT_BIND_MW),
	WORD("LOCAL_INV", DPA_INJECT_LOCAL_INV),
	WORD("FLUSH", 8),
	WORD("ATOMIC_WRITE", 9),
	WORD("RECV", 128),
	WORD("RECV_RDMA_WITH_IMM", 129),
	{0},
};

static const struct dpa_inject_word peers[] = {
	{"slow", DPA_INJECT_SLOW, DPA_INJECT_TIMED},
	{"stopped", DPA_INJECT_STOPPED, DPA_INJECT_LASTS},
	{"rnr", DPA_INJECT_RNR, DPA_INJECT_LASTS},
	{0},
};

static const struct dpa_inject_word regions[] = {
	{"fault", DPA_INJECT_FAULTS, DPA_INJECT_LASTS},
	{"slow", DPA_INJECT_SLOW_PAGES, DPA_INJECT_TIMED},
	{0},
};
static const struct dpa_inject_word steals[] = {{"stolen", DPA_INJECT_STOLEN, DPA_INJECT_TIMED},
						{0}};
static const struct dpa_inject_word crashes[] = {WORD("crash", DPA_INJECT_CRASH), {0}};
static const struct dpa_inject_word updates[] = {WORD("lost", DPA_INJECT_UPDATE_LOST), {0}};
static const struct dpa_inject_word copies[] = {WORD("IO_FAILED", DPA_INJECT_IO_FAILED), {0}};

const struct dpa_inject_line_words dpa_inject_lines[DPA_INJECT_LINES] = {
	[DPA_INJECT_CALL] = {NULL, errnos},	      [DPA_INJECT_WC] = {"wc", statuses},
	[DPA_INJECT_CQ] = {"cq", overruns},	      [DPA_INJECT_COMP] = {"comp_event", comps},
	[DPA_INJECT_EVENT] = {"event", events},	      [DPA_INJECT_CM] = {"cm_event", cm_events},
	[DPA_INJECT_PEER] = {"peer", peers},	      [DPA_INJECT_MR] = {"mr", regions},
	[DPA_INJECT_PROGRESS] = {"progress", steals}, [DPA_INJECT_EU] = {"eu", steals},
	[DPA_INJECT_DPA] = {"dpa_thread", crashes},   [DPA_INJECT_SYNC] = {"sync_event", updates},
	[DPA_INJECT_DMA] = {"dma", copies},
};
