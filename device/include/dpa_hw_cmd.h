/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_cmd.h - the command set: the objects of the device and their commands. Do not include it
 * directly; include dpa_hw.h.
 */
#ifndef DPA_HW_CMD_H
#define DPA_HW_CMD_H

#include <stdbool.h>
#include <stdint.h>
#include "dpa_hw_format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- objects */

/*
 * Handles are opaque to the driver. All calls are thread-safe unless noted otherwise. Every int
 * call returns 0 or a positive errno.
 */
struct dpa_hw;	   /* the function: one per process, shared by its contexts */
struct dpa_hw_ctx; /* one opening of the device */
struct dpa_hw_cq;
struct dpa_hw_srq;
struct dpa_hw_qp;
struct dpa_hw_wq; /* dpa_hw_raw.h */
struct dpa_hw_ind_table;

/* Called by any device thread; must not block nor call back into the device. */
typedef void dpa_event_fn(void *arg, const struct dpa_event *ev);
/*
 * Completion event of an armed CQ: called after the CQE is visible, at most once for each arming.
 */
typedef void dpa_comp_fn(void *arg);

enum dpa_log_level {
	DPA_LOG_USER = 1, /* the device cannot be used until the user does something: to the user */
	DPA_LOG_ERR,
	DPA_LOG_WARN,
	DPA_LOG_INFO,
	DPA_LOG_DEBUG
};
typedef void dpa_log_fn(int level, const char *text);

struct dpa_hw_open_attr {
	uint32_t hw_version; /* DPA_HW_VERSION */
	uint32_t function;   /* 0: the PF; others: the SFs of the setting `functions` */
	dpa_event_fn *event; /* asynchronous events of this context */
	void *event_arg;
	dpa_log_fn *log; /* may be NULL: no logging */
};

/*
 * Open the adapter for this process. The first open attaches to (or creates) the adapter state and
 * starts the progress thread. Errors: ENODEV (no such function), EINVAL (bad DPA_* variable or
 * configuration), EPROTO (the adapter state file is foreign, corrupt, or of another version of the
 * library), EMFILE/ENOMEM/ENOSPC.
 */
int dpa_hw_open(const struct dpa_hw_open_attr *attr, struct dpa_hw_ctx **ctx);
/*
 * Register the device's fork() handlers now instead of at the first open. Handlers that are
 * registered later may take locks that are held during calls of the device.
 */
void dpa_hw_watch_fork(void);
/*
 * Open the adapter once more in the same process, as part of the opening `of`: both share PDs,
 * regions and device memory, which live until the last of the openings is closed.
 */
int dpa_hw_open_again(struct dpa_hw_ctx *of, const struct dpa_hw_open_attr *attr,
		      struct dpa_hw_ctx **ctx);
/* Close. The caller has destroyed its objects; QPs and regions that are left are destroyed here. */
void dpa_hw_close(struct dpa_hw_ctx *ctx);
/*
 * Return a word that reads 0 in a forked child (also after a raw clone), and one of these in the
 * process that opened the context. The driver loads it (relaxed) before each data path call. With
 * ASKS it asks dpa_hw_inject_call() whether that call shall fail.
 */
enum { DPA_HW_ALIVE = 1, DPA_HW_ALIVE_ASKS = 3 };
const uint32_t *dpa_hw_alive(struct dpa_hw_ctx *ctx);

struct dpa_hw_dev_attr {
	char fw_ver[64];
	uint64_t node_guid;	 /* network order */
	uint64_t sys_image_guid; /* the PF's node GUID */
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
	uint8_t rsvd;
	uint16_t lid; /* 0: an Ethernet port */
	uint32_t gid_tbl_len;
	uint32_t bad_pkey_cntr;
	uint32_t qkey_viol_cntr;
	uint32_t rsvd2;
};

#define DPA_SM_LID 1 /* sm_lid of a port that has a LID: the PF's */

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
/* ENODATA: the index is empty; EINVAL: beyond the table. */
int dpa_hw_query_gid(struct dpa_hw_ctx *ctx, uint32_t index, struct dpa_hw_gid *gid);
/*
 * Text of a file below the port's sysfs folder ("gids/3", "gid_attrs/types/3"), for discovery: from
 * the open function's table, else from the namespace's. For an SF: ifname: name of the interface
 * whose addresses it has, "" all; order: enum dpa_cfg_gid_order. Needs no open device. Returns the
 * length, or -1 and errno.
 */
int dpa_hw_port_file(uint32_t function, const char *ifname, uint32_t order, const char *name,
		     char *text, size_t len);
/*
 * Text of "counters/NAME" or "hw_counters/NAME" (dpa_hw_counters.h) of an adapter instance: the sum
 * over all processes since its file was created; 0 while there is no file. board: path of its file,
 * NULL: the default one. Needs no open device. Returns the length, or -1 and errno (EPROTO: of
 * another version).
 */
int dpa_hw_counter_file(const char *board, const char *name, char *text, size_t len);
/*
 * Text about the objects of an adapter instance. Name "counts": one line "NAME NUMBER" for each
 * kind of object. Name "qps/N": one line "QPN TYPE STATE PEER PID PSN" for each QP from number N
 * on, as far as there is room. Name "port": "down" if dpactl took the port down, else "up". board: path of its file, NULL: the default one. Needs no open
 * device. Returns the length, or -1 and errno (EPROTO: of another version).
 */
int dpa_hw_board_file(const char *board, const char *name, char *text, size_t len);
/* Node GUID, network order: the same as in dpa_hw_dev_attr. Needs no open device. */
uint64_t dpa_hw_node_guid(uint32_t function);

/* PD: a number, never 0. ENOMEM beyond DPA_MAX_PD - 1. dealloc: EBUSY while an object uses it. */
int dpa_hw_alloc_pd(struct dpa_hw_ctx *ctx, uint32_t *pdn);
int dpa_hw_dealloc_pd(struct dpa_hw_ctx *ctx, uint32_t pdn);
/* Return 0, or ENOENT: no PD of this opening has that number. */
int dpa_hw_find_pd(struct dpa_hw_ctx *ctx, uint32_t pdn);

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
	DPA_ACCESS_FLUSH_GLOBAL = 1 << 8,
	/* for QPs; EINVAL for a region: no memory here is known to be persistent */
	DPA_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	DPA_ACCESS_RELAXED_ORDERING = 1 << 20,
};

enum dpa_mr_type {
	DPA_MR_MEMORY, /* memory of the process */
	DPA_MR_NULL,   /* reads as 0, discards writes; local use only, of any length */
	DPA_MR_DM,     /* device memory: addr is the offset in it */
	/* Memory that this process cannot address: addr is never dereferenced. */
	DPA_MR_FOREIGN,
};

/* For dpa_foreign_copy.flags. */
enum dpa_foreign_flags {
	DPA_FOREIGN_TO = 1 << 0, /* from `host` to `foreign`; otherwise the other way */
	/*
	 * This copy and later ones become visible after the earlier ones; otherwise in any order.
	 */
	DPA_FOREIGN_BEHIND = 1 << 1,
};

struct dpa_foreign_copy {
	uint64_t foreign; /* address, in the range of attr.addr */
	void *host;	  /* plain memory of this process */
	uint32_t length;  /* bytes, not 0 */
	uint32_t flags;	  /* enum dpa_foreign_flags */
};

/*
 * Copies for memory of a GPU, or other memory that the CPU cannot address. copy() carries out n
 * copies (256 at most), of one region or of several with the same ops and arg. It returns 0 once
 * users of the memory can see their effect, else an errno; then all of them may be repeated, one by
 * one. It is called by one thread of the device, dpa-foreign, which holds no lock; it may block,
 * and must not call the device. Between two copies with BEHIND, copies with the same flag TO do not
 * overlap.
 */
struct dpa_foreign_ops {
	int (*copy)(void *arg, const struct dpa_foreign_copy *list, uint32_t n);
};

struct dpa_mr_attr {
	uint32_t type; /* enum dpa_mr_type */
	uint32_t dm;   /* handle, for DPA_MR_DM only */
	uint32_t pdn;
	uint32_t access; /* enum dpa_access; unknown bits: EINVAL */
	uint64_t addr;	 /* address of the memory in this process */
	uint64_t length; /* bytes */
	uint64_t iova;	 /* address used in SGEs and by peers */
	/* DPA_MR_FOREIGN only; valid until the region is deregistered */
	const struct dpa_foreign_ops *foreign;
	void *foreign_arg;
};

/*
 * Register a region. EFAULT: the range is not mapped with the needed protection; with
 * DPA_ACCESS_ON_DEMAND the range may be unmapped until its first use. ENOMEM beyond DPA_MAX_MR.
 * EOPNOTSUPP: DPA_ACCESS_MW_BIND, DPA_ACCESS_ON_DEMAND or DPA_ACCESS_HUGETLB for a DPA_MR_FOREIGN;
 * EAGAIN: no thread for it.
 * Foreign memory can be the source and the target of all operations of RC, UC and UD QPs. Answers
 * and completions leave after the copies that they depend on; sq_ci may be ahead of these. A copy
 * that fails is a fault of that memory: DPA_SYN_LOCAL_FAULT, or a NAK. Atomics in it are atomic
 * relative to those of all QPs of this function, not to the memory's own users. Memory windows, tag
 * matching, raw packets and dpa_hw_rereg_mr() do not support it.
 */
int dpa_hw_reg_mr(struct dpa_hw_ctx *ctx, const struct dpa_mr_attr *attr, uint32_t *key);
/* True if sends of the QP may read this memory by this key now, at exactly this address. */
bool dpa_hw_may_read(struct dpa_hw_qp *qp, uint32_t lkey, uint64_t addr, uint64_t length);
enum dpa_rereg { DPA_REREG_TRANSLATION = 1, DPA_REREG_PD = 2, DPA_REREG_ACCESS = 4 };
/* Fields without a flag keep their values. The key may change. */
int dpa_hw_rereg_mr(struct dpa_hw_ctx *ctx, uint32_t *key, uint32_t flags,
		    const struct dpa_mr_attr *attr);
/*
 * Deregister. On return no device thread and no peer touches the memory any more. For
 * DPA_MR_FOREIGN it waits for copies in progress: do not call it where these may wait for the
 * caller.
 */
int dpa_hw_dereg_mr(struct dpa_hw_ctx *ctx, uint32_t key);
/* Fill *attr for a region of this opening. ENOENT: there is none with that key. */
int dpa_hw_query_mr(struct dpa_hw_ctx *ctx, uint32_t key, struct dpa_mr_attr *attr);
/*
 * Prefetch of an on-demand region. EFAULT: a part is not in the region, or not mapped as needed.
 * ENOENT: no region of this opening has the key. EPERM: it is of another PD, or not writable.
 * EINVAL: it is not on demand.
 */
enum dpa_prefetch_how {
	DPA_PREFETCH_LOOK,  /* only check the arguments: no page is read in */
	DPA_PREFETCH_START, /* a hint to the kernel */
	DPA_PREFETCH_WAIT,  /* the pages are present on return */
};

struct dpa_prefetch {
	uint32_t pdn, key;
	uint64_t iova, length;
	bool write; /* the pages must be writable */
	enum dpa_prefetch_how how;
};

int dpa_hw_prefetch_mr(struct dpa_hw_ctx *ctx, const struct dpa_prefetch *p);

/*
 * Device memory: `length` bytes, aligned to 1 << log_align (12 at most), mapped at *mem for copies
 * until it is freed. ENOMEM beyond DPA_MAX_DM for the whole process. free: EBUSY while regions use
 * it. ENOENT: no memory of this opening has that handle.
 */
int dpa_hw_alloc_dm(struct dpa_hw_ctx *ctx, uint64_t length, uint32_t log_align, uint32_t *handle,
		    void **mem);
int dpa_hw_free_dm(struct dpa_hw_ctx *ctx, uint32_t handle);
int dpa_hw_find_dm(struct dpa_hw_ctx *ctx, uint32_t handle, void **mem, uint64_t *length);

/*
 * Memory windows (man ibv_alloc_mw; IBA 10.6.7). The R_Key of a new window allows nothing until a
 * BIND_MW WQE binds it. The consumer chooses the low 8 bits of a key when it binds a type 2 window
 * (IBA 10.6.7.2.4); the rest identifies the window. dealloc unbinds. EINVAL: no such window.
 * Windows count towards DPA_MAX_MR.
 */
enum dpa_mw_type { DPA_MW_TYPE_1 = 1, DPA_MW_TYPE_2 = 2 }; /* values of enum ibv_mw_type */
int dpa_hw_alloc_mw(struct dpa_hw_ctx *ctx, uint32_t pdn, uint32_t type, uint32_t *rkey);
int dpa_hw_dealloc_mw(struct dpa_hw_ctx *ctx, uint32_t rkey);

enum dpa_cq_flags {
	DPA_CQ_IGNORE_OVERRUN = 1 << 0,
	DPA_CQ_TIMESTAMP = 1 << 1,
	DPA_CQ_CHANNEL = 1 << 2, /* the program waits on a channel: failures are injected */
};

struct dpa_cq_attr {
	void *buf;    /* (1 << log_size) CQEs, zeroed, 64-byte aligned; owned by the driver */
	uint32_t *ci; /* consumer index; written by the poller (release), read by the device */
	uint32_t log_size;
	uint32_t flags;	      /* enum dpa_cq_flags */
	uint64_t user_handle; /* reported in asynchronous events */
	dpa_comp_fn *comp;    /* may be NULL */
	void *comp_arg;
};

int dpa_hw_create_cq(struct dpa_hw_ctx *ctx, const struct dpa_cq_attr *attr, struct dpa_hw_cq **cq,
		     uint32_t *cqn);
/*
 * Resize. The caller stops pollers meanwhile. Entries not yet polled move to buf, from index *ci
 * on. EINVAL if they do not fit.
 */
int dpa_hw_resize_cq(struct dpa_hw_cq *cq, void *buf, uint32_t log_size);
/*
 * Moderation: the event of an armed CQ comes with the count-th entry after arming, or `period`
 * microseconds after the first one. Off with a count below 2 or a period of 0.
 */
int dpa_hw_modify_cq(struct dpa_hw_cq *cq, uint16_t count, uint16_t period);
/*
 * From now on copy each entry of cq to the mirror CQ `tap` as well, after it. tap: a CQ of the same
 * process with DPA_CQ_IGNORE_OVERRUN and no mirror CQ of its own. This lasts until cq is destroyed;
 * destroying tap before is EBUSY. EINVAL: not such a CQ; EBUSY: cq has a mirror CQ.
 */
int dpa_hw_tap_cq(struct dpa_hw_cq *cq, struct dpa_hw_cq *tap);
/* EBUSY while a QP, a WQ, an SRQ or another CQ uses it. */
int dpa_hw_destroy_cq(struct dpa_hw_cq *cq);
/*
 * Arm the CQ for one event: at the next CQE, or the next solicited or failed one. At once if there
 * is such an entry that was not polled and that no event reported, or that was there when the CQ
 * was armed before (not with DPA_CQ_IGNORE_OVERRUN).
 */
void dpa_hw_arm_cq(struct dpa_hw_cq *cq, bool solicited_only);
/* Take the lock under which CQEs are produced, for example to purge those of a destroyed QP. */
void dpa_hw_cq_lock(struct dpa_hw_cq *cq);
void dpa_hw_cq_unlock(struct dpa_hw_cq *cq);
/* Under dpa_hw_cq_lock(): producer index (next CQE to write); set it back after a purge. */
uint32_t dpa_hw_cq_pi(struct dpa_hw_cq *cq);
void dpa_hw_cq_set_pi(struct dpa_hw_cq *cq, uint32_t pi);

/*
 * XRC domains (man ibv_open_xrcd) of the adapter instance: processes share the domain of a file.
 * EAGAIN, EINVAL as there; EBUSY while used.
 */
struct dpa_xrcd_attr {
	bool named; /* identified by a file: its device and inode number */
	bool create, exclusive;
	uint64_t dev, ino;
};

int dpa_hw_open_xrcd(struct dpa_hw_ctx *ctx, const struct dpa_xrcd_attr *attr, uint32_t *num);
int dpa_hw_close_xrcd(struct dpa_hw_ctx *ctx, uint32_t num);

struct dpa_srq_attr {
	uint32_t pdn;
	uint32_t max_sge;
	uint32_t log_size;	 /* receive WQEs */
	uint32_t limit;		 /* 0: not armed */
	void *buf;		 /* (1 << log_size) * dpa_rwqe_stride(max_sge) bytes */
	struct dpa_dbrec *dbrec; /* its rq half is used */
	uint64_t user_handle;
	/* XRC: the SRQ has a number that packets carry, 24 bits. */
	uint32_t xrcd;	      /* 0: none */
	struct dpa_hw_cq *cq; /* CQ of its receives */
	/* Tag matching: maximum of tagged buffers; 0: no tag matching. Not with XRC. */
	uint32_t max_tags;
};

int dpa_hw_create_srq(struct dpa_hw_ctx *ctx, const struct dpa_srq_attr *attr,
		      struct dpa_hw_srq **srq, uint32_t *srqn);
/*
 * Tagged buffers of an SRQ (man ibv_post_srq_ops). RC SENDs to it begin with a struct ibv_tmh. A
 * message takes the first buffer, in the order in which they were added, whose tag matches under
 * the mask. If none matches it takes a receive and is unexpected. From then on new buffers wait
 * until as many unexpected messages were reported as there were. A QP of such an SRQ has no SQ of
 * its driver: the device reads the memory that a rendezvous request names by a READ, and answers
 * with a SEND.
 */
enum dpa_tag_what { DPA_TAG_ADD, DPA_TAG_DEL, DPA_TAG_SYNC }; /* values of ibv_ops_wr_opcode */

struct dpa_tag_op {
	uint32_t what;	     /* enum dpa_tag_what */
	bool signaled;	     /* makes a CQE with wr_id */
	bool sync;	     /* `unexpected` is valid; always set for SYNC */
	uint32_t unexpected; /* total of messages handled so far */
	uint32_t handle;     /* output of ADD, input of DEL */
	uint64_t wr_id, recv_wr_id;
	uint64_t tag, mask;
	uint32_t nsge;
	struct dpa_sge sge[DPA_MAX_TAG_SGE];
};

/*
 * Carry out one operation; complete on return. EINVAL; ENOMEM beyond max_tags. If the buffer is
 * gone: TM_ERR in the CQE.
 */
int dpa_hw_srq_tag(struct dpa_hw_srq *srq, struct dpa_tag_op *op);
int dpa_hw_set_srq_limit(struct dpa_hw_srq *srq, uint32_t limit);
uint32_t dpa_hw_get_srq_limit(struct dpa_hw_srq *srq);
/*
 * New buffer for a resized SRQ. The caller stops posters meanwhile and has copied the WQEs [ci,
 * pi).
 */
int dpa_hw_resize_srq(struct dpa_hw_srq *srq, void *buf, uint32_t log_size);
int dpa_hw_destroy_srq(struct dpa_hw_srq *srq);
/* Lock the device out of the SRQ while the driver changes its buffer. */
void dpa_hw_srq_lock(struct dpa_hw_srq *srq);
void dpa_hw_srq_unlock(struct dpa_hw_srq *srq);

enum dpa_qp_type { /* values of ibv_qp_type; GSI, which is not there, of the kernel's ib_qp_type */
		   DPA_QP_GSI = 1, /* for display: the endpoint of QP1, dpa_hw_gsi.h */
		   DPA_QP_RC = 2,
		   DPA_QP_UC = 3,
		   DPA_QP_UD = 4,
		   DPA_QP_RAW = 8,	/* whole Ethernet frames; needs CAP_NET_RAW */
		   DPA_QP_XRC_SEND = 9, /* no RQ */
		   DPA_QP_XRC_RECV =
			   /*
			    * no queues, CQs or PD of its own: uses those of the SRQs of its domain
			    */
		   10,
};

enum dpa_qp_state { /* values of ibv_qp_state */
		    DPA_QPS_RESET,
		    DPA_QPS_INIT,
		    DPA_QPS_RTR,
		    DPA_QPS_RTS,
		    DPA_QPS_SQD,
		    DPA_QPS_SQE,
		    DPA_QPS_ERR,
};

/*
 * Receive side scaling of a raw QP. A frame goes to the table's WQ with the index in the low bits
 * of the Toeplitz hash of its requested fields; to index 0 if it has none of them. The fields have
 * the values of enum ibv_rx_hash_fields.
 */
enum dpa_rss_fields {
	DPA_RSS_SRC_IPV4 = 1 << 0,
	DPA_RSS_DST_IPV4 = 1 << 1,
	DPA_RSS_SRC_IPV6 = 1 << 2,
	DPA_RSS_DST_IPV6 = 1 << 3,
	DPA_RSS_SRC_PORT_TCP = 1 << 4,
	DPA_RSS_DST_PORT_TCP = 1 << 5,
	DPA_RSS_SRC_PORT_UDP = 1 << 6,
	DPA_RSS_DST_PORT_UDP = 1 << 7,
	DPA_RSS_FIELDS = (1 << 8) - 1, /* all fields */
};
#define DPA_RSS_KEY 40 /* bytes */

struct dpa_rss {
	uint64_t fields; /* IPv4 or IPv6, TCP or UDP; 0 only with a table of one entry */
	uint8_t key[DPA_RSS_KEY];
};

struct dpa_qp_attr_create {
	uint32_t type; /* enum dpa_qp_type */
	uint32_t pdn;
	uint32_t user_index; /* returned in CQEs */
	uint32_t sq_sig_all;
	struct dpa_hw_cq *send_cq, *recv_cq;
	struct dpa_hw_srq *srq; /* NULL: own RQ */
	void *sq;		/* (1 << log_sq) blocks of 64 bytes; NULL if log_sq is 0 */
	void *rq; /* (1 << log_rq) receive WQEs; NULL with an SRQ or if max_recv_sge is 0 */
	uint32_t log_sq;
	uint32_t log_rq;
	uint32_t max_recv_sge;
	uint32_t xrcd;	       /* domain of a DPA_QP_XRC_RECV */
	bool block_self_mcast; /* its own multicast datagrams are not delivered to it */
	/*
	 * Raw only. Not NULL: the QP has no queues and CQs of its own, and receives from the start.
	 */
	struct dpa_hw_ind_table *ind_table;
	struct dpa_rss rss;
	struct dpa_dbrec *dbrec;
	uint64_t user_handle; /* 0, or the address that posting reads first */
	const void *poster;   /* NULL, or 128 bytes that posting uses: prefetched */
};

struct dpa_qp_info {
	uint32_t qpn;
	uint32_t uar_page, uar_slot; /* place in the BAR */
	uint32_t rsvd;
	struct dpa_uar_slot *slot; /* mapped; owned by this QP until it is destroyed */
	/*
	 * Placement, read by the poster (relaxed) at each post, written by the device. 0: inline,
	 * ring with dpa_hw_ring_sq(). Else: EU, write the slot and call dpa_hw_kick_sq().
	 */
	const uint32_t *placement;
};

/*
 * ENOMEM: BAR full or QPN space full (a log message names the limit). EPERM: a raw QP without
 * CAP_NET_RAW.
 */
int dpa_hw_create_qp(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *attr,
		     struct dpa_hw_qp **qp, struct dpa_qp_info *info);
/*
 * Destroy. On return the QP's queues and the memory that its WQEs name are not touched any more.
 * Ends its multicast attachments.
 */
int dpa_hw_destroy_qp(struct dpa_hw_qp *qp);
/*
 * Open an XRC_RECV QP of this adapter instance once more. EINVAL: no such QP in that domain. A
 * context that created or opened one closes it by its user_handle; the last one in the creating
 * process destroys it. A QP of another process can be queried, not modified (EOPNOTSUPP). Other
 * types of QPs are destroyed by dpa_hw_destroy_qp().
 */
int dpa_hw_open_qp(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, uint64_t user_handle,
		   struct dpa_hw_qp **qp, struct dpa_qp_info *info);
/*
 * Destroy all QPs of the context; XRC SRQs that it has left receive nothing any more. For a caller
 * that frees their queues before dpa_hw_close(), which does this, too.
 */
void dpa_hw_destroy_qps(struct dpa_hw_ctx *ctx);
int dpa_hw_close_qp(struct dpa_hw_qp *qp, uint64_t user_handle);

/*
 * Multicast (UD): from now on datagrams to the group reach this QP; a second call changes nothing.
 * EINVAL: gid is no multicast address (ff00::/8 or ::ffff:224.0.0.0/100), the QP is not UD, or
 * (detach) it is not attached. ENOMEM beyond DPA_MAX_MCAST, or if the kernel joins no more groups
 * for this process.
 */
int dpa_hw_attach_mcast(struct dpa_hw_qp *qp, const uint8_t gid[16]);
int dpa_hw_detach_mcast(struct dpa_hw_qp *qp, const uint8_t gid[16]);
/* Return the number of groups to which it is attached. */
uint32_t dpa_hw_num_mcast(struct dpa_hw_qp *qp);

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
 * Carry out a transition that the driver has found legal (the driver has the table of states and
 * masks; the device checks values: EINVAL). To RESET: queues are emptied, indices in the device
 * become 0; the driver resets the doorbell record before the call returns to its user. To ERR:
 * everything outstanding is flushed on return.
 */
int dpa_hw_modify_qp(struct dpa_hw_qp *qp, const struct dpa_qp_attr *attr, uint32_t mask);
int dpa_hw_query_qp(struct dpa_hw_qp *qp, struct dpa_qp_attr *attr);

/*
 * Long-term rate of the QP's packets, headers and retransmissions included; kbps 0: no limit. Sends
 * exceed it by `burst` bytes at most (0: 64 KiB), plus one entry or packet.
 */
struct dpa_rate {
	uint32_t kbps;
	uint32_t burst;
};

#define DPA_MAX_RATE_KBPS 100000000u
/* EINVAL beyond DPA_MAX_RATE_KBPS. */
int dpa_hw_set_rate(struct dpa_hw_qp *qp, const struct dpa_rate *rate);
void dpa_hw_get_rate(struct dpa_hw_qp *qp, struct dpa_rate *rate);

/*
 * Doorbells. The poster has written WQEs, sq_pi (release) and the slot. The caller holds no device
 * lock. The driver may hold the QP's SQ lock (EU placement), but should release it before ring_sq,
 * which carries out work of this QP on the calling thread (bounded).
 */
void dpa_hw_ring_sq(struct dpa_hw_qp *qp);
void dpa_hw_kick_sq(struct dpa_hw_qp *qp);
/* Receives were posted. Needed only if the QP is in the error state, where they are flushed. */
void dpa_hw_ring_rq(struct dpa_hw_qp *qp);

/*
 * Watch the SQ of a QP whose poster cannot call the device: a GPU, another process, any thread that
 * maps the memory.
 *
 * Such a poster writes WQEs into the SQ, their blocks counted from 0 (the first one after RESET) in
 * ctrl.index. After them it stores the SQ producer index in blocks into *word, by one 64-bit store
 * that releases (system scope): in its low 32 bits; the others are 0. An EU reads the word, takes
 * the WQEs and carries them out. It spins while the word moves, then checks it every 50 us. It does
 * not check while the QP is in RESET, INIT, RTR or SQD; in SQE or ERR, where posted WQEs are
 * flushed, it checks less and less often. The QP gets no posts by doorbell. As always, sq_ci of the
 * doorbell record is the SQ's consumer index: the poster lets the producer index exceed it by the
 * size of the SQ at most. Receives are posted by a store of rq_pi (release, system scope) without a
 * doorbell. They are flushed when the QP enters ERR; later ones only by dpa_hw_ring_rq().
 *
 * Each WQE is read once, when the word passes it: later writes of the poster have no effect. An
 * invalid WQE gets an error completion. If the word goes back, exceeds the SQ's size, or passes a
 * WQE of length 0 or one that extends beyond the word, the WQE at that index gets one, and no more
 * WQEs are taken before RESET.
 *
 * qp: RC, UC or UD, and no other call for it runs. word: 8-byte aligned, valid until the watch
 * ends; it holds the current producer index of the QP, 0 after RESET. NULL ends the watch: on
 * return the word is not read any more. RESET and destroy end it, too. After NULL the WQEs that
 * were taken are still carried out; more can be posted only by another watch, until RESET.
 * Meanwhile the QP is placed on an EU (the first of the policy; dpa_hw_set_placement() moves it).
 * Returns 0; EBUSY: it is watched already, or has WQEs that are not complete; EINVAL: word not
 * aligned, QP without SQ; EOPNOTSUPP: another type of QP, or its SRQ matches tags; ENOMEM; EAGAIN:
 * no thread for an EU.
 */
int dpa_hw_watch_sq(struct dpa_hw_qp *qp, const uint64_t *word);

/*
 * Drive progress on the calling thread; poll_cq calls it when it finds nothing. Returns the number
 * of packets and work items handled; 0: none. Yields the processor from time to time if there is
 * nothing to do. Then it costs one load of each watched ring's next entry.
 */
int dpa_hw_progress(struct dpa_hw_ctx *ctx);
/*
 * The calling thread has driven progress and will not for a while: the progress thread takes over
 * now instead of within 1 ms. Cheap if it has done so already.
 */
void dpa_hw_idle(struct dpa_hw_ctx *ctx);
/*
 * Block until fd is readable (returns 0) and drive progress meanwhile, so that a peer's wake-up
 * goes directly to this thread. EINTR: a signal handler ran, as for read(2). EAGAIN: timeout_ms
 * passed (-1: no timeout).
 */
int dpa_hw_wait_fd(struct dpa_hw_ctx *ctx, int fd, int timeout_ms);
/*
 * The same for a thread that waits for a rare event: it passes the wake-ups of peers on as soon as
 * another thread is in dpa_hw_wait_fd(). answer: this side has just sent what a peer answers at once; the
 * call polls for some microseconds before it sleeps, unless such answers came later before. One thread
 * at a time.
 */
int dpa_hw_wait_fd_beside(struct dpa_hw_ctx *ctx, int fd, int timeout_ms, bool answer);

/*
 * Queue memory: zeroed, page aligned, part of a sealed memfd of the function (so that another
 * process of the adapter instance or a GPU can map it), not inherited by fork, not in core files.
 * All queues share a few memfds: a queue needs no descriptor and no mapping of its own, and memory
 * only where it was written. ENOMEM; EMFILE and ENFILE: no descriptor for a further memfd.
 */
int dpa_hw_alloc_queue(struct dpa_hw_ctx *ctx, size_t bytes, void **mem);
void dpa_hw_free_queue(struct dpa_hw_ctx *ctx, void *mem, size_t bytes);

/*
 * EU placement of a QP: DPA_PLACE_*; initially by the policy. EBUSY: inline, for a QP whose SQ is
 * watched.
 */
enum dpa_placement { DPA_PLACE_INLINE = 0, DPA_PLACE_EU = 1 };
int dpa_hw_set_placement(struct dpa_hw_qp *qp, uint32_t placement, int eu);

/* Inventory of the adapter instance, for libdpa: number of EUs, and EU numbers for DPA threads. */
uint32_t dpa_hw_num_eus(struct dpa_hw_ctx *ctx);

/*
 * The adapter instance, and the configuration for libdpa. path: valid until the context is closed.
 */
struct dpa_hw_board_attr {
	const char *path;
	uint32_t max_run_time; /* maximum run time of device code in seconds; 0: no limit */
};
void dpa_hw_query_board(struct dpa_hw_ctx *ctx, struct dpa_hw_board_attr *attr);

#ifdef __cplusplus
}
#endif

#endif
