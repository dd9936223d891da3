/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw.h - the device programming interface of the dpa adapter.
 *
 * The hardware/software boundary. A driver (providers/dpa, libdpa) includes this
 * file and nothing else of device/. What crosses the boundary: the BAR layout, the
 * WQE and CQE formats, doorbell records, the command set and event records.
 * docs/device-reference.md is the prose of this file.
 *
 * Byte order: every multi-byte field is in host byte order unless its comment says
 * "network order". Indices are free running 32-bit counters (producer index, PI;
 * consumer index, CI), masked only on access.
 */
#ifndef DPA_HW_H
#define DPA_HW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPA_HW_VERSION 1

/* A locally administered OUI: dpa0 never claims another vendor's. */
#define DPA_VENDOR_ID	   0x02d9a0u
#define DPA_VENDOR_PART_ID 0xd0a0u

/* ------------------------------------------------------------------ limits */

enum {
	DPA_MAX_SGE = 32,
	DPA_MAX_WR = 16384,    /* of one SQ, RQ or SRQ */
	DPA_MAX_INLINE = 1024, /* bytes */
	DPA_MAX_CQE = 1 << 22,
	DPA_MAX_RD_ATOMIC = 16, /* outstanding READs and atomics of a QP */
	DPA_MAX_GIDS = 256,
	DPA_MAX_MR = 1 << 18,
	DPA_MAX_QP = 32768,  /* of one board */
	DPA_MAX_CQ = 65536,  /* of one process */
	DPA_MAX_SRQ = 16384, /* of one process */
	DPA_MAX_PD = 65536,
	DPA_MAX_AH = 1 << 20,
	/* DPA_MAX_MSG does not fit an enum */
};

#define DPA_MAX_MSG 0x80000000u /* bytes of an RC or UC message */

/* --------------------------------------------------------- BAR: UAR pages */

/*
 * The BAR is an array of UAR pages. A page is DPA_UAR_SLOTS slots; a slot belongs to
 * one QP and is written by whoever posts to that QP and by nobody else, so that no
 * lock is needed whatever the number of QPs.
 *
 * A slot is 256 bytes, four 64-byte blocks. The first 8 bytes of block 0 are the
 * doorbell word. A doorbell is one 8-byte store of struct dpa_db with opcode
 * DPA_OP_DOORBELL. A BlueFlame write stores a whole WQE of 1..DPA_BF_BLOCKS blocks over
 * the slot; its first 8 bytes are the WQE's own first word, whose opcode is not
 * DPA_OP_DOORBELL. Either way the EU watches one word of one cache line.
 *
 * The 8-byte stores of a BlueFlame write may land in any order: the WQE's `check` field
 * holds dpa_wqe_check() of the WQE. An EU that finds another value, or an index other
 * than the next one it expects, takes the WQEs from the SQ instead, which always holds
 * them: the poster writes WQE, then the doorbell record (release), then the slot.
 */
#define DPA_UAR_PAGE_SIZE 4096
#define DPA_UAR_SLOT_SIZE 256
#define DPA_UAR_SLOTS	  (DPA_UAR_PAGE_SIZE / DPA_UAR_SLOT_SIZE)
#define DPA_BF_BLOCKS	  3 /* block 3 holds the slot's statistics */

struct dpa_db {
	uint8_t opcode; /* DPA_OP_DOORBELL */
	uint8_t flags;	/* 0 */
	uint8_t nbb;	/* 0 */
	uint8_t nsge;	/* 0 */
	uint32_t pi;	/* SQ producer index after this doorbell, in blocks */
};

/* 256 = 3 * 64 + 64 */
struct dpa_uar_slot {
	union {
		uint64_t word; /* written by the poster, read by the EU */
		uint8_t bf[DPA_BF_BLOCKS * 64];
	};
	/* statistics, written by the poster under its own SQ lock, relaxed */
	uint64_t doorbells;
	uint64_t blueflames;
	uint8_t rsvd[48];
};

/* -------------------------------------------------------------------- WQEs */

/* Send opcodes. The first group has the values of enum ibv_wr_opcode. */
enum dpa_op {
	DPA_OP_RDMA_WRITE = 0,
	DPA_OP_RDMA_WRITE_IMM = 1,
	DPA_OP_SEND = 2,
	DPA_OP_SEND_IMM = 3,
	DPA_OP_RDMA_READ = 4,
	DPA_OP_ATOMIC_CS = 5,
	DPA_OP_ATOMIC_FA = 6,
	DPA_OP_LOCAL_INV = 7,
	DPA_OP_BIND_MW = 8,
	DPA_OP_SEND_INV = 9,
	DPA_OP_FLUSH = 14,
	DPA_OP_ATOMIC_WRITE = 15,
	DPA_OP_NOP = 0x40,
	DPA_OP_DOORBELL = 0x7f, /* only as the opcode of struct dpa_db */
};

enum dpa_wqe_flags {
	DPA_WQE_SIGNALED = 1 << 0, /* CQE on success */
	DPA_WQE_SOLICITED = 1 << 1,
	DPA_WQE_FENCE = 1 << 2,	 /* wait for earlier READs and atomics */
	DPA_WQE_INLINE = 1 << 3, /* `length` bytes of payload instead of SGEs */
};

#define DPA_WQEBB 64 /* a send WQE is 1..255 blocks of 64 bytes */

/*
 * Control segment, first in every send WQE: 32 bytes.
 * Then, at byte 32:
 *   SEND*:            SGEs or inline data
 *   RDMA_*:           struct dpa_wqe_raddr, then SGEs or inline data (READ: SGEs only)
 *   ATOMIC_*:         struct dpa_wqe_raddr, struct dpa_wqe_atomic, then one SGE
 *   UD SEND*:         struct dpa_wqe_av, then SGEs or inline data
 *   LOCAL_INV:        nothing (imm holds the R_Key)
 *   BIND_MW:          struct dpa_wqe_raddr (address; R_Key of the window), struct dpa_wqe_bind
 */
struct dpa_wqe_ctrl {
	uint8_t opcode; /* enum dpa_op */
	uint8_t flags;	/* enum dpa_wqe_flags */
	uint8_t nbb;	/* length of the WQE in blocks */
	uint8_t nsge;	/* SGEs that follow, 0 with DPA_WQE_INLINE */
	uint32_t index; /* SQ producer index of this WQE's first block */
	uint64_t wr_id;
	uint32_t imm;	 /* immediate (opaque, as the verbs user gave it) or R_Key to invalidate */
	uint32_t length; /* bytes of the message: inline bytes or sum of the SGEs */
	uint32_t check;	 /* dpa_wqe_check(); needed in BlueFlame writes only */
	uint32_t rsvd;
};

struct dpa_wqe_raddr {
	uint64_t addr;
	uint32_t rkey;
	uint32_t rsvd;
};

struct dpa_wqe_atomic {
	uint64_t swap_add; /* CS: swap; FA: add */
	uint64_t compare;  /* CS only */
};

/* Binds a memory window; its new R_Key is in ctrl.imm and differs from the old one in the low
 * 8 bits only. length 0 unbinds (type 1). */
struct dpa_wqe_bind {
	uint64_t length;
	uint32_t lkey;	 /* of the region */
	uint32_t access; /* enum dpa_access: remote bits and ZERO_BASED */
};

struct dpa_sge {
	uint64_t addr;
	uint32_t length; /* 0 stands for nothing, not for 2^31 */
	uint32_t lkey;
};

/* Address vector, 48 bytes; also the body of an address handle and of a QP's path. */
struct dpa_wqe_av {
	uint8_t dgid[16]; /* network order */
	uint32_t dqpn;
	uint32_t qkey;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
	uint16_t dlid;
	uint8_t static_rate;
	uint8_t is_global;
	uint8_t rsvd[12];
};

/*
 * Receive WQE of an RQ or SRQ: 16 bytes, then max_sge SGEs; the stride is
 * dpa_rwqe_stride(max_sge). The device copies a receive WQE when a message takes it, and
 * publishes rq_ci at once.
 */
struct dpa_rwqe {
	uint64_t wr_id;
	uint32_t nsge;
	uint32_t rsvd;
};

static inline uint32_t dpa_rwqe_stride(uint32_t max_sge)
{
	uint32_t need =
		(uint32_t)sizeof(struct dpa_rwqe) + max_sge * (uint32_t)sizeof(struct dpa_sge);
	uint32_t s = 32;

	while (s < need)
		s <<= 1;
	return s;
}

/*
 * Doorbell record of a QP (both halves) or an SRQ (rq half): 128 bytes, 64-byte aligned.
 * First line: written by the poster (release, under its SQ or RQ lock), read by the device
 * (acquire). Second line: written by the device (release), read by the poster (acquire).
 */
struct dpa_dbrec {
	uint32_t sq_pi; /* blocks */
	uint32_t rq_pi; /* receive WQEs */
	uint8_t rsvd0[56];
	uint32_t sq_ci; /* blocks whose WQEs are finished: may be overwritten */
	uint32_t rq_ci; /* receive WQEs taken: may be overwritten */
	uint8_t rsvd1[56];
};

/*
 * Mixes every 8-byte word of a WQE except `check` into 32 bits. What it must catch is a
 * BlueFlame write of which some 8-byte words are those of an older WQE.
 */
static inline uint32_t dpa_wqe_check(const void *wqe, uint32_t nbb)
{
	const uint64_t *w = (const uint64_t *)wqe;
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < nbb * 8; i++) {
		uint64_t v = w[i];

		if (i == 3)
			v &= 0xffffffff00000000ull; /* bytes 24..27 are `check` */
		h = (h ^ v) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return (uint32_t)h | 1u; /* never 0: a cleared slot is never valid */
}

/* -------------------------------------------------------------------- CQEs */

enum dpa_cqe_opcode {
	DPA_CQE_SEND = 0, /* values of enum ibv_wc_opcode */
	DPA_CQE_RDMA_WRITE = 1,
	DPA_CQE_RDMA_READ = 2,
	DPA_CQE_COMP_SWAP = 3,
	DPA_CQE_FETCH_ADD = 4,
	DPA_CQE_BIND_MW = 5,
	DPA_CQE_LOCAL_INV = 6,
	DPA_CQE_ATOMIC_WRITE = 9,
	DPA_CQE_RECV = 128,
	DPA_CQE_RECV_RDMA_WITH_IMM = 129,
};

/* Completion status; the provider maps it to enum ibv_wc_status in one switch. */
enum dpa_cqe_status {
	DPA_CQE_OK = 0,
	DPA_CQE_LOC_LEN_ERR,
	DPA_CQE_LOC_QP_OP_ERR,
	DPA_CQE_LOC_PROT_ERR,
	DPA_CQE_WR_FLUSH_ERR,
	DPA_CQE_MW_BIND_ERR,
	DPA_CQE_LOC_ACCESS_ERR,
	DPA_CQE_REM_INV_REQ_ERR,
	DPA_CQE_REM_ACCESS_ERR,
	DPA_CQE_REM_OP_ERR,
	DPA_CQE_RETRY_EXC_ERR,
	DPA_CQE_RNR_RETRY_EXC_ERR,
	DPA_CQE_REM_ABORT_ERR,
	DPA_CQE_FATAL_ERR,
};

enum dpa_cqe_flags {
	DPA_CQE_F_GRH = 1 << 0,
	DPA_CQE_F_IMM = 1 << 1,
	DPA_CQE_F_INV = 1 << 3, /* imm holds the invalidated R_Key */
	DPA_CQE_F_SOLICITED = 1 << 7,
};

/*
 * 64 bytes: 8 + 6*4 + 8 + 8 + 8 + 4 + 4 = 64.
 * `owner` is written last (release): a CQE at consumer index ci of a CQ of 2^log entries is
 * valid when owner == dpa_cqe_owner(ci, log). A new buffer is filled with 0, which is never
 * valid, so that only laps tell entries apart.
 */
struct dpa_cqe {
	uint64_t wr_id;
	uint32_t qpn;
	uint32_t user_index; /* of the QP, as given to CREATE_QP */
	uint32_t byte_len;
	uint32_t imm;	     /* immediate as sent, or the invalidated R_Key */
	uint32_t src_qpn;    /* UD */
	uint32_t vendor_err; /* enum dpa_syndrome */
	uint64_t timestamp;  /* device clock, ns (CLOCK_MONOTONIC); 0 unless the CQ asks for it */
	uint32_t wqe_index;  /* send: SQ block index of the WQE */
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t path_bits;
	uint8_t rsvd[6];
	uint8_t rsvd2[4];
	uint8_t opcode; /* enum dpa_cqe_opcode */
	uint8_t status; /* enum dpa_cqe_status */
	uint8_t flags;	/* enum dpa_cqe_flags */
	uint8_t owner;
};

static inline uint8_t dpa_cqe_owner(uint32_t index, uint32_t log_size)
{
	return (uint8_t)(((index >> log_size) & 1u) + 1u);
}

/* vendor_err: what exactly went wrong. Stable numbers; docs/device-reference.md lists them. */
enum dpa_syndrome {
	DPA_SYN_NONE = 0,
	DPA_SYN_BAD_LKEY = 0x10, /* no such MR, or of another PD */
	DPA_SYN_LKEY_BOUNDS = 0x11,
	DPA_SYN_LKEY_ACCESS = 0x12, /* no local write */
	DPA_SYN_BAD_OPCODE = 0x13,  /* opcode not allowed on this QP */
	DPA_SYN_BAD_WQE = 0x14,	    /* malformed WQE */
	DPA_SYN_MSG_TOO_LONG = 0x15,
	DPA_SYN_LOCAL_FAULT = 0x16, /* the process cannot touch its own buffer */
	DPA_SYN_RECV_TOO_SMALL = 0x20,
	DPA_SYN_NAK_SEQ = 0x30,
	DPA_SYN_NAK_INV_REQ = 0x31,
	DPA_SYN_NAK_ACCESS = 0x32,
	DPA_SYN_NAK_OP = 0x33,
	DPA_SYN_RNR = 0x34,	  /* rnr_retry exhausted */
	DPA_SYN_TIMEOUT = 0x35,	  /* retry_cnt exhausted */
	DPA_SYN_PEER_DEAD = 0x36, /* the peer's process ended */
	DPA_SYN_NO_PATH = 0x37,	  /* no link reaches this address */
	DPA_SYN_BAD_RKEY = 0x40,  /* responder side of 0x32: no such MR or other PD */
	DPA_SYN_RKEY_BOUNDS = 0x41,
	DPA_SYN_RKEY_ACCESS = 0x42,
	DPA_SYN_QP_ACCESS = 0x43, /* the QP's qp_access_flags forbid it */
	DPA_SYN_UNALIGNED = 0x44, /* atomic */
	DPA_SYN_FLUSHED = 0x50,
	DPA_SYN_CQ_OVERRUN = 0x51,
	DPA_SYN_MW_BIND = 0x54,	     /* a window that cannot be bound so */
	DPA_SYN_PULL_REFUSED = 0x53, /* never reported: the ring is used instead */
	DPA_SYN_INV_RKEY = 0x52,     /* invalidate of a key that cannot be */
};

/* ------------------------------------------------------------------ events */

enum dpa_event_type { /* values of enum ibv_event_type */
		      DPA_EVENT_CQ_ERR = 0,
		      DPA_EVENT_QP_FATAL = 1,
		      DPA_EVENT_QP_REQ_ERR = 2,
		      DPA_EVENT_QP_ACCESS_ERR = 3,
		      DPA_EVENT_COMM_EST = 4,
		      DPA_EVENT_SQ_DRAINED = 5,
		      DPA_EVENT_PATH_MIG = 6,
		      DPA_EVENT_DEVICE_FATAL = 8,
		      DPA_EVENT_PORT_ACTIVE = 9,
		      DPA_EVENT_PORT_ERR = 10,
		      DPA_EVENT_SRQ_ERR = 14,
		      DPA_EVENT_SRQ_LIMIT_REACHED = 15,
		      DPA_EVENT_QP_LAST_WQE_REACHED = 16,
		      DPA_EVENT_GID_CHANGE = 18,
};

/* Event record: type, and the user_handle of the QP, CQ or SRQ, or the port number. */
struct dpa_event {
	uint32_t type; /* enum dpa_event_type */
	uint32_t port;
	uint64_t user_handle;
};

/* ----------------------------------------------------------------- objects */

/*
 * Handles are opaque to the driver. All calls are thread-safe unless they say otherwise.
 * Every int call returns 0 or a positive errno.
 */
struct dpa_hw;	   /* the function: one per process, shared by its contexts */
struct dpa_hw_ctx; /* an open of the device */
struct dpa_hw_cq;
struct dpa_hw_srq;
struct dpa_hw_qp;

/* Called by any device thread; must not block nor call back into the device. */
typedef void dpa_event_fn(void *arg, const struct dpa_event *ev);
/* A completion event of an armed CQ: called after the CQE is visible, at most once an arming. */
typedef void dpa_comp_fn(void *arg);

enum dpa_log_level { DPA_LOG_ERR = 2, DPA_LOG_WARN = 3, DPA_LOG_INFO = 4, DPA_LOG_DEBUG = 5 };
typedef void dpa_log_fn(int level, const char *text);

struct dpa_hw_open_attr {
	uint32_t hw_version; /* DPA_HW_VERSION */
	uint32_t rsvd;
	dpa_event_fn *event; /* asynchronous events of this context */
	void *event_arg;
	dpa_log_fn *log; /* may be NULL: nothing is logged */
};

/*
 * Opens the adapter for this process: the first open attaches to (or creates) the board and
 * starts the parked EU. Errors: EINVAL (bad DPA_* variable or configuration; EPROTO (foreign or
 * corrupt board file, or another version of the library on it), EMFILE/ENOMEM/ENOSPC.
 */
int dpa_hw_open(const struct dpa_hw_open_attr *attr, struct dpa_hw_ctx **ctx);
/* The caller destroyed its objects before; QPs and regions that it left are destroyed here. */
void dpa_hw_close(struct dpa_hw_ctx *ctx);
/*
 * One word that reads 1 in the process that opened the context and 0 in a forked child (raw
 * clone included). The driver loads it (relaxed) before each data path call.
 */
const uint32_t *dpa_hw_alive(struct dpa_hw_ctx *ctx);

struct dpa_hw_dev_attr {
	char fw_ver[64];
	uint64_t node_guid; /* network order */
	uint64_t hca_core_clock_khz;
	uint32_t max_qp, max_cq, max_srq, max_pd, max_mr, max_ah;
	uint32_t uar_pages;
};

enum dpa_port_state { DPA_PORT_DOWN = 1, DPA_PORT_ACTIVE = 4 };

struct dpa_hw_port_attr {
	uint8_t state;	    /* enum dpa_port_state */
	uint8_t active_mtu; /* 1 = 256 .. 5 = 4096 */
	uint8_t max_mtu;
	uint8_t active_speed; /* values of ibv_port_attr */
	uint8_t active_width;
	uint8_t rsvd[3];
	uint32_t gid_tbl_len;
	uint32_t bad_pkey_cntr;
	uint32_t qkey_viol_cntr;
	uint32_t rsvd2;
};

enum dpa_gid_type { DPA_GID_ROCE_V2 = 2 }; /* value of enum ibv_gid_type */

struct dpa_hw_gid {
	uint8_t gid[16]; /* network order; an IPv4 address is ::ffff:a.b.c.d */
	uint32_t index;
	uint32_t ifindex;
	uint32_t type; /* enum dpa_gid_type */
	uint32_t valid;
};

int dpa_hw_query_device(struct dpa_hw_ctx *ctx, struct dpa_hw_dev_attr *attr);
int dpa_hw_query_port(struct dpa_hw_ctx *ctx, struct dpa_hw_port_attr *attr);
/* ENODATA: the index is empty; EINVAL: past the table. */
int dpa_hw_query_gid(struct dpa_hw_ctx *ctx, uint32_t index, struct dpa_hw_gid *gid);
/*
 * Text of a file below the port's sysfs folder ("gids/3", "gid_attrs/types/3"), for discovery: of
 * the open function's table, else of the namespace's. Needs no open device. Length, or -1 and
 * errno.
 */
int dpa_hw_port_file(const char *name, char *text, size_t len);
/* Node GUID, network order: the same as in dpa_hw_dev_attr. Needs no open device. */
uint64_t dpa_hw_node_guid(void);

/* PD: a number. ENOMEM past DPA_MAX_PD. EBUSY on dealloc while something uses it. */
int dpa_hw_alloc_pd(struct dpa_hw_ctx *ctx, uint32_t *pdn);
int dpa_hw_dealloc_pd(struct dpa_hw_ctx *ctx, uint32_t pdn);

/* Access flags: values of enum ibv_access_flags. */
enum dpa_access {
	DPA_ACCESS_LOCAL_WRITE = 1 << 0,
	DPA_ACCESS_REMOTE_WRITE = 1 << 1,
	DPA_ACCESS_REMOTE_READ = 1 << 2,
	DPA_ACCESS_REMOTE_ATOMIC = 1 << 3,
	DPA_ACCESS_MW_BIND = 1 << 4,
	DPA_ACCESS_ZERO_BASED = 1 << 5,
	DPA_ACCESS_ON_DEMAND = 1 << 6,
	DPA_ACCESS_HUGETLB = 1 << 7,
	DPA_ACCESS_RELAXED_ORDERING = 1 << 20,
};

struct dpa_mr_attr {
	uint32_t pdn;
	uint32_t access; /* enum dpa_access; unknown bits: EINVAL */
	uint64_t addr;	 /* of the memory in this process */
	uint64_t length; /* bytes */
	uint64_t iova;	 /* what addr is called in SGEs and by peers */
};

/* EFAULT: the range is not mapped with the needed protection. ENOMEM past DPA_MAX_MR. */
int dpa_hw_reg_mr(struct dpa_hw_ctx *ctx, const struct dpa_mr_attr *attr, uint32_t *key);
enum dpa_rereg { DPA_REREG_TRANSLATION = 1, DPA_REREG_PD = 2, DPA_REREG_ACCESS = 4 };
/* Fields that flags do not name keep their value. The key may change. */
int dpa_hw_rereg_mr(struct dpa_hw_ctx *ctx, uint32_t *key, uint32_t flags,
		    const struct dpa_mr_attr *attr);
/* When it returns no device thread and no peer touches the memory any more. */
int dpa_hw_dereg_mr(struct dpa_hw_ctx *ctx, uint32_t key);

/*
 * Memory windows (man ibv_alloc_mw; IBA 10.6.7). The R_Key of a new one grants nothing until it is
 * bound by a BIND_MW WQE. A key's low 8 bits are the consumer's to choose when it binds a type 2
 * window (IBA 10.6.7.2.4), the rest names the window. dealloc unbinds. EINVAL: no such window.
 * Takes its number from DPA_MAX_MR.
 */
enum dpa_mw_type { DPA_MW_TYPE_1 = 1, DPA_MW_TYPE_2 = 2 }; /* values of enum ibv_mw_type */
int dpa_hw_alloc_mw(struct dpa_hw_ctx *ctx, uint32_t pdn, uint32_t type, uint32_t *rkey);
int dpa_hw_dealloc_mw(struct dpa_hw_ctx *ctx, uint32_t rkey);

enum dpa_cq_flags {
	DPA_CQ_IGNORE_OVERRUN = 1 << 0,
	DPA_CQ_TIMESTAMP = 1 << 1,
};

struct dpa_cq_attr {
	void *buf;    /* (1 << log_size) CQEs, zeroed, 64-byte aligned; the driver's */
	uint32_t *ci; /* consumer index; written by the poller (release), read by the device */
	uint32_t log_size;
	uint32_t flags;	      /* enum dpa_cq_flags */
	uint64_t user_handle; /* in asynchronous events */
	dpa_comp_fn *comp;    /* may be NULL */
	void *comp_arg;
};

int dpa_hw_create_cq(struct dpa_hw_ctx *ctx, const struct dpa_cq_attr *attr, struct dpa_hw_cq **cq,
		     uint32_t *cqn);
/* The caller holds off pollers. Entries not yet polled move to buf, from index *ci on. EINVAL if
 * they do not fit. */
int dpa_hw_resize_cq(struct dpa_hw_cq *cq, void *buf, uint32_t log_size);
/* EBUSY while a QP uses it. */
int dpa_hw_destroy_cq(struct dpa_hw_cq *cq);
/* Arms the CQ for one event: at the next CQE, or the next solicited or failed one. */
void dpa_hw_arm_cq(struct dpa_hw_cq *cq, bool solicited_only);
/* Takes the lock under which CQEs are produced, e.g. to purge those of a destroyed QP. */
void dpa_hw_cq_lock(struct dpa_hw_cq *cq);
void dpa_hw_cq_unlock(struct dpa_hw_cq *cq);
/* Under dpa_hw_cq_lock(): producer index (next CQE to be written); set it back after a purge. */
uint32_t dpa_hw_cq_pi(struct dpa_hw_cq *cq);
void dpa_hw_cq_set_pi(struct dpa_hw_cq *cq, uint32_t pi);

struct dpa_srq_attr {
	uint32_t pdn;
	uint32_t max_sge;
	uint32_t log_size;	 /* receive WQEs */
	uint32_t limit;		 /* 0: not armed */
	void *buf;		 /* (1 << log_size) * dpa_rwqe_stride(max_sge) bytes */
	struct dpa_dbrec *dbrec; /* its rq half */
	uint64_t user_handle;
};

int dpa_hw_create_srq(struct dpa_hw_ctx *ctx, const struct dpa_srq_attr *attr,
		      struct dpa_hw_srq **srq, uint32_t *srqn);
int dpa_hw_set_srq_limit(struct dpa_hw_srq *srq, uint32_t limit);
uint32_t dpa_hw_get_srq_limit(struct dpa_hw_srq *srq);
/* New buffer for a resized SRQ: the caller holds off posters and has copied the WQEs [ci, pi). */
int dpa_hw_resize_srq(struct dpa_hw_srq *srq, void *buf, uint32_t log_size);
int dpa_hw_destroy_srq(struct dpa_hw_srq *srq);
/* Locks out the device from the SRQ while the driver changes its buffer. */
void dpa_hw_srq_lock(struct dpa_hw_srq *srq);
void dpa_hw_srq_unlock(struct dpa_hw_srq *srq);

enum dpa_qp_type { DPA_QP_RC = 2, DPA_QP_UC = 3, DPA_QP_UD = 4 }; /* values of ibv_qp_type */

enum dpa_qp_state { /* values of ibv_qp_state */
		    DPA_QPS_RESET,
		    DPA_QPS_INIT,
		    DPA_QPS_RTR,
		    DPA_QPS_RTS,
		    DPA_QPS_SQD,
		    DPA_QPS_SQE,
		    DPA_QPS_ERR,
};

struct dpa_qp_attr_create {
	uint32_t type; /* enum dpa_qp_type */
	uint32_t pdn;
	uint32_t user_index; /* comes back in CQEs */
	uint32_t sq_sig_all;
	struct dpa_hw_cq *send_cq, *recv_cq;
	struct dpa_hw_srq *srq; /* NULL: own RQ */
	void *sq;		/* (1 << log_sq) blocks of 64 bytes; NULL if log_sq is 0 */
	void *rq; /* (1 << log_rq) receive WQEs; NULL with an SRQ or if max_recv_sge is 0 */
	uint32_t log_sq;
	uint32_t log_rq;
	uint32_t max_recv_sge;
	uint32_t rsvd;
	struct dpa_dbrec *dbrec;
	uint64_t user_handle;
};

struct dpa_qp_info {
	uint32_t qpn;
	uint32_t uar_page, uar_slot; /* place in the BAR */
	uint32_t rsvd;
	struct dpa_uar_slot *slot; /* mapped; owned by this QP until it is destroyed */
	/*
	 * Placement, read by the poster (relaxed) at each post, written by the device:
	 * 0: inline, ring with dpa_hw_ring_sq(); else: EU, write the slot and dpa_hw_kick_sq().
	 */
	const uint32_t *placement;
};

/* ENOMEM: BAR full, QPN space full (a log line names the limit). */
int dpa_hw_create_qp(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *attr,
		     struct dpa_hw_qp **qp, struct dpa_qp_info *info);
/* When it returns nothing of the QP's queues and no memory that its WQEs name is touched. */
int dpa_hw_destroy_qp(struct dpa_hw_qp *qp);

/* Attribute bits: values of enum ibv_qp_attr_mask. */
enum dpa_qp_mask {
	DPA_QPM_STATE = 1 << 0,
	DPA_QPM_CUR_STATE = 1 << 1,
	DPA_QPM_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	DPA_QPM_ACCESS = 1 << 3,
	DPA_QPM_PKEY_INDEX = 1 << 4,
	DPA_QPM_PORT = 1 << 5,
	DPA_QPM_QKEY = 1 << 6,
	DPA_QPM_AV = 1 << 7,
	DPA_QPM_PATH_MTU = 1 << 8,
	DPA_QPM_TIMEOUT = 1 << 9,
	DPA_QPM_RETRY_CNT = 1 << 10,
	DPA_QPM_RNR_RETRY = 1 << 11,
	DPA_QPM_RQ_PSN = 1 << 12,
	DPA_QPM_MAX_RD_ATOMIC = 1 << 13,
	DPA_QPM_ALT_PATH = 1 << 14,
	DPA_QPM_MIN_RNR_TIMER = 1 << 15,
	DPA_QPM_SQ_PSN = 1 << 16,
	DPA_QPM_MAX_DEST_RD_ATOMIC = 1 << 17,
	DPA_QPM_PATH_MIG_STATE = 1 << 18,
	DPA_QPM_CAP = 1 << 19,
	DPA_QPM_DEST_QPN = 1 << 20,
	DPA_QPM_RATE_LIMIT = 1 << 25,
};

struct dpa_qp_attr {
	uint32_t state; /* enum dpa_qp_state */
	uint32_t access;
	uint32_t qkey;
	uint32_t rq_psn, sq_psn; /* 24 bits */
	uint32_t dest_qpn;
	struct dpa_wqe_av av; /* dqpn and qkey unused */
	uint16_t pkey_index;
	uint8_t port;
	uint8_t path_mtu; /* 1 = 256 .. 5 = 4096 */
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t sqd_async_notify;
	uint8_t sq_draining; /* query only */
};

/*
 * Carries out a transition that the driver has found legal (it holds the table of states and
 * masks; the device checks values: EINVAL). To RESET: queues are emptied, indices 0 in the device;
 * the driver resets the doorbell record before the call returns to its user. To ERR: everything
 * outstanding is flushed before it returns.
 */
int dpa_hw_modify_qp(struct dpa_hw_qp *qp, const struct dpa_qp_attr *attr, uint32_t mask);
int dpa_hw_query_qp(struct dpa_hw_qp *qp, struct dpa_qp_attr *attr);

/*
 * Doorbells. The poster has written WQEs, sq_pi (release) and the slot. None may be called with a
 * device lock held; the driver may hold the QP's SQ lock (EU placement) but should have dropped it
 * before ring_sq, which carries out work of this QP on the calling thread (bounded).
 */
void dpa_hw_ring_sq(struct dpa_hw_qp *qp);
void dpa_hw_kick_sq(struct dpa_hw_qp *qp);
/* Receives were posted: needed only when the QP is in the error state (they are flushed). */
void dpa_hw_ring_rq(struct dpa_hw_qp *qp);

/*
 * Drives progress on the calling thread: what poll_cq does when it finds nothing. Returns the
 * number of packets and work items handled, 0 if there was nothing. Yields the processor now and
 * then when called in vain. With nothing to do it costs a load of each hot lane's next slot.
 */
int dpa_hw_progress(struct dpa_hw_ctx *ctx);
/*
 * The calling thread has driven progress and will not for a while: whoever stands in takes over now
 * rather than within a millisecond. Cheap when that is so already.
 */
void dpa_hw_idle(struct dpa_hw_ctx *ctx);
/*
 * Blocks until fd is readable (returns 0), driving progress meanwhile, so that the wake-up of a
 * peer goes straight to this thread. Returns EINTR if a signal handler ran, as read(2) would,
 * EAGAIN if timeout_ms passed (-1: none).
 */
int dpa_hw_wait_fd(struct dpa_hw_ctx *ctx, int fd, int timeout_ms);

/*
 * Queue memory: zeroed, page aligned, in a sealed memfd of the function (so that another process of
 * the board or a GPU can map it), not inherited by fork. ENOMEM.
 */
int dpa_hw_alloc_queue(struct dpa_hw_ctx *ctx, size_t bytes, void **mem);
void dpa_hw_free_queue(struct dpa_hw_ctx *ctx, void *mem, size_t bytes);

/* EU placement of a QP: DPA_PLACE_*; from the policy when it is created. */
enum dpa_placement { DPA_PLACE_INLINE = 0, DPA_PLACE_EU = 1 };
int dpa_hw_set_placement(struct dpa_hw_qp *qp, uint32_t placement, int eu);

/* Board-wide inventory, for libdpa: number of EUs, and EU numbers for DPA threads. */
uint32_t dpa_hw_num_eus(struct dpa_hw_ctx *ctx);

/* ------------------------------------------------------------ layout checks */

#ifdef __cplusplus
#define DPA_ASSERT_(c) static_assert(c, #c)
#else
#define DPA_ASSERT_(c) _Static_assert(c, #c)
#endif
DPA_ASSERT_(sizeof(struct dpa_db) == 8);
DPA_ASSERT_(sizeof(struct dpa_uar_slot) == DPA_UAR_SLOT_SIZE);
DPA_ASSERT_(offsetof(struct dpa_uar_slot, doorbells) == 192);
DPA_ASSERT_(sizeof(struct dpa_wqe_ctrl) == 32);
DPA_ASSERT_(offsetof(struct dpa_wqe_ctrl, index) == offsetof(struct dpa_db, pi));
DPA_ASSERT_(offsetof(struct dpa_wqe_ctrl, check) == 24);
DPA_ASSERT_(sizeof(struct dpa_wqe_raddr) == 16);
DPA_ASSERT_(sizeof(struct dpa_wqe_atomic) == 16);
DPA_ASSERT_(sizeof(struct dpa_sge) == 16);
DPA_ASSERT_(sizeof(struct dpa_wqe_bind) == 16);
DPA_ASSERT_(sizeof(struct dpa_wqe_av) == 48);
DPA_ASSERT_(sizeof(struct dpa_rwqe) == 16);
DPA_ASSERT_(sizeof(struct dpa_dbrec) == 128);
DPA_ASSERT_(offsetof(struct dpa_dbrec, sq_ci) == 64);
DPA_ASSERT_(sizeof(struct dpa_cqe) == 64);
DPA_ASSERT_(offsetof(struct dpa_cqe, timestamp) == 32);
DPA_ASSERT_(offsetof(struct dpa_cqe, owner) == 63);
DPA_ASSERT_(sizeof(struct dpa_event) == 16);

#ifdef __cplusplus
}
#endif
#endif
