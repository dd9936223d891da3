/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* words.c - names of the things that a replay shows. */
#include <string.h>
#include "tables/meaning.h"
#include "view.h"

const char *replay_role_name(enum dpa_replay_role role)
{
	return role == DPA_REPLAY_REQUESTER ? "requester" : "responder";
}

const char *replay_mark_name(enum dpa_replay_mark mark)
{
	static const char *const names[] = {"", "same", "covered", "addition", "differs"};

	return names[mark];
}

const char *replay_answer_name(uint8_t syndrome)
{
	static const char *const naks[] = {
		"NAK PSN sequence error", "NAK invalid request", "NAK remote access error",
		"NAK remote operational error", "NAK invalid RD request"};

	if (syndrome >> 5 == 0)
		return "ACK";
	if (syndrome >> 5 == 1)
		return "RNR NAK";
	return syndrome >> 5 == 3 && (syndrome & 31) < 5 ? naks[syndrome & 31] : "reserved";
}

const char *replay_wc_name(uint8_t status)
{
	static const char *const names[] = {
		[DPA_CQE_OK] = "SUCCESS",
		[DPA_CQE_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[DPA_CQE_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[DPA_CQE_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[DPA_CQE_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
		[DPA_CQE_MW_BIND_ERR] = "MW_BIND_ERR",
		[DPA_CQE_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
		[DPA_CQE_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[DPA_CQE_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[DPA_CQE_REM_OP_ERR] = "REM_OP_ERR",
		[DPA_CQE_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[DPA_CQE_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
		[DPA_CQE_REM_ABORT_ERR] = "REM_ABORT_ERR",
		[DPA_CQE_FATAL_ERR] = "FATAL_ERR",
		[DPA_CQE_TM_ERR] = "TM_ERR",
		[DPA_CQE_TM_RNDV_INCOMPLETE] = "TM_RNDV_INCOMPLETE",
		[DPA_CQE_GENERAL_ERR] = "GENERAL_ERR",
	};

	return status < sizeof(names) / sizeof(names[0]) ? names[status] : "?";
}

const char *replay_vendor_name(uint32_t vendor_err)
{
	struct dpa_meaning m;

	return vendor_err && dpa_vendor_meaning(vendor_err, &m) ? m.name : "";
}

static const char *post_name(uint8_t op)
{
	static const char *const names[] = {
		[DPA_OP_RDMA_WRITE] = "RDMA_WRITE",
		[DPA_OP_RDMA_WRITE_IMM] = "RDMA_WRITE_IMM",
		[DPA_OP_SEND] = "SEND",
		[DPA_OP_SEND_IMM] = "SEND_IMM",
		[DPA_OP_RDMA_READ] = "RDMA_READ",
		[DPA_OP_ATOMIC_CS] = "COMP_SWAP",
		[DPA_OP_ATOMIC_FA] = "FETCH_ADD",
		[DPA_OP_SEND_INV] = "SEND_INV",
	};

	return op < sizeof(names) / sizeof(names[0]) && names[op] ? names[op] : "?";
}

static const char *wc_op_name(uint8_t op)
{
	static const char *const names[] = {"SEND", "RDMA_WRITE", "RDMA_READ", "COMP_SWAP",
					    "FETCH_ADD"};

	if (op == DPA_CQE_RECV)
		return "RECV";
	if (op == DPA_CQE_RECV_RDMA_WITH_IMM)
		return "RECV_RDMA_WITH_IMM";
	return op < sizeof(names) / sizeof(names[0]) ? names[op] : "?";
}

const char *replay_op_name(const struct dpa_replay_event *e)
{
	return e->what == DPA_REPLAY_POST ? post_name(e->wc.opcode) : wc_op_name(e->wc.opcode);
}

const char *replay_access_text(uint32_t access, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s%s", access & DPA_ACCESS_REMOTE_READ ? "r" : "",
		 access & DPA_ACCESS_REMOTE_WRITE ? "w" : "",
		 access & DPA_ACCESS_REMOTE_ATOMIC ? "a" : "",
		 access & DPA_ACCESS_FLUSH_GLOBAL ? "f" : "");
	return buf;
}

static void add_number(char *buf, size_t len, const char *name, uint32_t n, const char *form)
{
	const size_t at = strlen(buf);

	if (at >= len)
		return;
	snprintf(buf + at, len - at, " --%s ", name);
	if (strlen(buf) < len)
		snprintf(buf + strlen(buf), len - strlen(buf), form, n);
}

void replay_options_text(const struct dpa_replay_opt *o, char *buf, size_t len)
{
	char access[8];

	snprintf(buf, len, "--role %s",
		 o->role == DPA_REPLAY_BOTH ? "both" : replay_role_name(o->role));
	if (o->qpn)
		add_number(buf, len, "qp", o->qpn, "0x%x");
	if (o->receives == DPA_REPLAY_ALWAYS)
		add_number(buf, len, "receives", 0, "always");
	else if (o->receives != DPA_REPLAY_CAPTURED)
		add_number(buf, len, "receives", o->receives, "%u");
	if (o->mtu)
		add_number(buf, len, "mtu", o->mtu, "%u");
	add_number(buf, len, "timeout", o->timeout, "%u");
	add_number(buf, len, "retry", o->retry, "%u");
	add_number(buf, len, "rnr-retry", o->rnr_retry, "%u");
	add_number(buf, len, "rd", o->rd, "%u");
	if (o->min_rnr)
		add_number(buf, len, "rnr-timer", o->min_rnr, "%u");
	if (o->dcqcn)
		add_number(buf, len, "congestion", 0, "dcqcn");
	for (uint32_t i = 0; i < o->nregions; i++) {
		const struct dpa_replay_region *r = &o->region[i];
		const size_t at = strlen(buf);

		snprintf(buf + at, len - at, " --region 0x%x:0x%llx:%llu:%s", r->rkey,
			 (unsigned long long)r->addr, (unsigned long long)r->len,
			 replay_access_text(r->access, access, sizeof(access)));
	}
}
