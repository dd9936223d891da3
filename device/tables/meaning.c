/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * meaning.c - what a completion status and a vendor error mean: THE table. dpactl explain prints it,
 * docs/vendor-errors.md is made from it.
 */
#include <dpa_hw.h>
#include "tables/meaning.h"

/* By value of enum ibv_wc_status; ibv_wc_status_str() has the same order. */
static const struct dpa_meaning statuses[] = {
	{"IBV_WC_SUCCESS", "the request succeeded", "nothing to do"},
	{"IBV_WC_LOC_LEN_ERR", "a message is longer than the receive or the QP allows",
	 "post receives of the longest message, or send shorter ones"},
	{"IBV_WC_LOC_QP_OP_ERR", "the WQE is not valid on this QP",
	 "compare opcode, flags and number of SGEs with those of ibv_create_qp()"},
	{"IBV_WC_LOC_EEC_OP_ERR", "not used by this device", ""},
	{"IBV_WC_LOC_PROT_ERR", "an SGE does not lie in its region",
	 "check lkey, address and length of each SGE, and that the region still exists"},
	{"IBV_WC_WR_FLUSH_ERR", "the QP was in the error state",
	 "look for the first completion of the QP that has another status"},
	{"IBV_WC_MW_BIND_ERR", "a memory window cannot be bound this way",
	 "check access flags and range of the region"},
	{"IBV_WC_BAD_RESP_ERR", "not used by this device", ""},
	{"IBV_WC_LOC_ACCESS_ERR", "a peer wrote where it may not: its receive failed",
	 "check rkey, range and access flags that the peer got"},
	{"IBV_WC_REM_INV_REQ_ERR", "the peer refused the request as invalid",
	 "post longer receives at the peer; check qp_access_flags and max_dest_rd_atomic there"},
	{"IBV_WC_REM_ACCESS_ERR", "the peer does not allow the access",
	 "check rkey, address, length, and the access flags of the peer's region and QP"},
	{"IBV_WC_REM_OP_ERR", "the peer failed while it carried out the request",
	 "look at the peer's own error: dpactl errors"},
	{"IBV_WC_RETRY_EXC_ERR", "the peer did not answer, retry_cnt times",
	 "check that the peer lives, its QP is in RTR or RTS, and QPN, PSN and address match"},
	{"IBV_WC_RNR_RETRY_EXC_ERR", "the peer had no receive, rnr_retry times",
	 "post more receives, earlier; or set rnr_retry to 7, which never ends"},
	{"IBV_WC_LOC_RDD_VIOL_ERR", "not used by this device", ""},
	{"IBV_WC_REM_INV_RD_REQ_ERR", "not used by this device", ""},
	{"IBV_WC_REM_ABORT_ERR", "the peer ended the operation", "look at the peer's own error"},
	{"IBV_WC_INV_EECN_ERR", "not used by this device", ""},
	{"IBV_WC_INV_EEC_STATE_ERR", "not used by this device", ""},
	{"IBV_WC_FATAL_ERR", "the device has failed", "open the device again"},
	{"IBV_WC_RESP_TIMEOUT_ERR", "not used by this device", ""},
	{"IBV_WC_GENERAL_ERR", "no other status applies", "see the vendor error"},
	{"IBV_WC_TM_ERR", "the tagged buffer does not exist (any more)",
	 "add it before the message comes; do not remove it twice"},
	{"IBV_WC_TM_RNDV_INCOMPLETE", "the buffer of a rendezvous is too small",
	 "read the request in the buffer, and fetch the message"},
};

/*
 * No default: the compiler reports a vendor error that has no entry. Returns false for a number that
 * is none.
 */
bool dpa_vendor_meaning(uint32_t code, struct dpa_meaning *m)
{
#define IS(code, cause, fix)                                                                       \
	case DPA_SYN_##code:                                                                       \
		*m = (struct dpa_meaning){#code, cause, fix};                                      \
		return true
	switch ((enum dpa_syndrome)code) {
		IS(NONE, "no error", "nothing to do");
		IS(BAD_LKEY, "no region has this lkey, or it is of another PD",
		   "use the lkey of ibv_reg_mr() in the QP's PD; deregister after the completion");
		IS(LKEY_BOUNDS, "an SGE goes past its region",
		   "check address and length of the SGEs");
		IS(LKEY_ACCESS, "the region does not allow local writes",
		   "register it with IBV_ACCESS_LOCAL_WRITE");
		IS(BAD_OPCODE, "the opcode is not allowed on this QP",
		   "use a QP type that has it; ask for it in send_ops_flags of ibv_create_qp_ex()");
		IS(BAD_WQE, "the WQE is malformed",
		   "check the program that writes the queue itself");
		IS(MSG_TOO_LONG, "the message is longer than the QP allows",
		   "UD: send at most the MTU; else at most max_msg_sz of ibv_query_port()");
		IS(LOCAL_FAULT, "the memory behind a region is gone",
		   "deregister a region before its memory is unmapped");
		IS(RECV_TOO_SMALL, "a message is longer than the receive",
		   "post receives of the longest message (UD: and 40 bytes)");
		IS(NAK_SEQ, "packets were lost until retry_cnt was used up",
		   "look for loss: dpactl counters, dpactl capture; raise retry_cnt");
		IS(NAK_INV_REQ, "the peer answered: invalid request",
		   "post longer receives there; check qp_access_flags and max_dest_rd_atomic");
		IS(NAK_ACCESS, "the peer answered: access error",
		   "check rkey, address and length, and the access flags of region and QP");
		IS(NAK_OP, "the peer answered: its receive failed",
		   "look at the peer's own error: dpactl errors");
		IS(RNR, "the peer had no receive, rnr_retry times",
		   "post more receives, earlier; or set rnr_retry to 7");
		IS(TIMEOUT, "no answer came, retry_cnt times",
		   "check that the peer's QP is in RTR or RTS, and that QPN and PSN match");
		IS(PEER_DEAD, "the process of the peer ended", "see why it ended");
		IS(NO_PATH, "no link reaches this address",
		   "check the GID and the route; dpactl doctor; UDP port 4791 in firewalls");
		IS(NO_FDS, "a process had no file descriptor for the link",
		   "raise ulimit -n in both processes");
		IS(BAD_RKEY, "no region has this rkey, or it is of another PD",
		   "send the peer the rkey of a region in the QP's PD, while it exists");
		IS(RKEY_BOUNDS, "the request goes past the region", "check address and length");
		IS(RKEY_ACCESS, "the region does not allow this access",
		   "register it with IBV_ACCESS_REMOTE_READ, REMOTE_WRITE or REMOTE_ATOMIC");
		IS(QP_ACCESS, "the QP does not allow this access",
		   "set qp_access_flags by ibv_modify_qp()");
		IS(UNALIGNED, "the address of an atomic is not a multiple of 8",
		   "align the target to 8 bytes");
		IS(FLUSHED, "the QP was in the error state",
		   "look for the first completion of the QP that has another status");
		IS(CQ_OVERRUN, "the CQ had no room", "create a longer CQ, or poll more often");
		IS(MW_BIND, "the window cannot be bound this way",
		   "register the region with IBV_ACCESS_MW_BIND; stay in its range");
		IS(PULL_REFUSED, "within the device only: never reported", "nothing to do");
		IS(INV_RKEY, "the key cannot be invalidated",
		   "invalidate keys of bound windows of type 2 of this QP only");
	}
#undef IS
	return false;
}

bool dpa_status_meaning(uint32_t status, struct dpa_meaning *m)
{
	if (status >= sizeof(statuses) / sizeof(statuses[0]))
		return false;
	*m = statuses[status];
	return true;
}

const char *dpa_op_name(uint8_t op)
{
	static const char *const names[] = {
		[DPA_OP_RDMA_WRITE] = "WRITE",
		[DPA_OP_RDMA_WRITE_IMM] = "WRITE with immediate",
		[DPA_OP_SEND] = "SEND",
		[DPA_OP_SEND_IMM] = "SEND with immediate",
		[DPA_OP_RDMA_READ] = "READ",
		[DPA_OP_ATOMIC_CS] = "compare and swap",
		[DPA_OP_ATOMIC_FA] = "fetch and add",
		[DPA_OP_LOCAL_INV] = "invalidate",
		[DPA_OP_BIND_MW] = "bind window",
		[DPA_OP_SEND_INV] = "SEND with invalidate",
		[DPA_OP_FLUSH] = "FLUSH",
		[DPA_OP_ATOMIC_WRITE] = "atomic WRITE",
	};

	return op < sizeof(names) / sizeof(names[0]) && names[op] ? names[op] : "WQE";
}

const char *dpa_cqe_opcode_name(uint8_t opcode)
{
	switch (opcode) {
	case DPA_CQE_RECV:
		return "RECV";
	case DPA_CQE_RECV_RDMA_WITH_IMM:
		return "RECV of a WRITE with immediate";
	case DPA_CQE_TM_RECV:
	case DPA_CQE_TM_NO_TAG:
		return "RECV by tag";
	default:
		return "WQE";
	}
}
