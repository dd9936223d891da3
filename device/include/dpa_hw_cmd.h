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

/*
 * Drive progress on the calling thread; poll_cq calls it when it finds nothing. Returns the number
 * of packets and work items handled; 0: none. Yields the processor from time to time if there is
 * nothing to do. Then it costs one load of each watched ring's next entry.
 */
int dpa_hw_progress(struct dpa_hw_ctx *ctx);
/* The same without the yield: other threads may spin for a lock that the caller holds. */
int dpa_hw_progress_held(struct dpa_hw_ctx *ctx);
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
