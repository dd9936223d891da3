/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel.h - the kernel's rdma_cm beside ours, on one event channel.
 *
 * A channel has a kernel side if the node of rdma_cm and a device that is not ours were there when
 * the channel was opened. Without a kernel side no function here makes a system call. With one, the
 * channel's descriptor (descriptor.c) also holds the kernel's. A channel thus has three descriptors
 * at most: its own, the kernel's, and that of its ports.
 *
 * An id exists on both sides until its device is known (cma_id.side):
 *
 *   no id --CREATE_ID----------------------------------> BOTH   (DPA without a kernel side)
 *   no id --request that dpa0 received-----------------> DPA
 *   no id --request that the kernel received-----------> KERNEL
 *   BOTH  --BIND or LISTEN, wildcard-------------------> BOTH   one port on both, or an error
 *   BOTH  --BIND, address of a real device-------------> KERNEL
 *   BOTH  --BIND, any other address or loopback--------> DPA
 *   BOTH  --RESOLVE_ADDR, source as above--------------> KERNEL or DPA
 *   any   --DESTROY_ID, close of the channel-----------> no id
 *
 * A transition from BOTH destroys the id on the other side. The kernel decides if an address
 * belongs to a real device: a new id can be bound to it or not. With `cm_prefer = dpa` an address
 * that dpa0 has is dpa0's. Side DPA works as without a kernel. Side KERNEL passes the commands of
 * the program on with translated numbers. On side BOTH a command that needs a device is EINVAL; our
 * side answers queries.
 *
 * Numbers: the program sees our numbers only. The kernel gets a uid and returns it in its events:
 * our number, CMA_KERNEL_MC for the number of a multicast group, and above that a generation. A
 * DESTROY_ID that fails leaves an id in the kernel; the generation tells it from the id that has its
 * number next. Commands use kernel_num.
 *
 * Words and their writers and readers. All are under cma.lock, which is held during a command to
 * the kernel as well: the kernel's descriptor is O_NONBLOCK, and DESTROY_ID does not wait for user
 * space. The close of a channel sends no command: the kernel destroys the ids with its descriptor.
 *
 * cma_channel.kernel, .with_kernel: written before the channel is published; a forked child sets
 * kernel to NULL while it has one thread. Readers need no lock.
 * cma_id.side, .kernel_num, .kernel_uid, .kernel_bound, cma_mc.kernel, .kernel_num, .kernel_uid:
 * written by kernel_id.c; side also at a fork (kernel.c) and at the close of the channel.
 * events_reported: counts the events that GET_EVENT returned, of either side. The kernel's own count
 * is the same for its part and is not used.
 *
 * fork: the kernel refuses commands of any process that did not open the descriptor (EACCES). The
 * child therefore closes its copies, of all that are open. Ids of side KERNEL end with the parent; ids of side BOTH become
 * DPA in the child.
 */
#ifndef DPA_CMA_KERNEL_H
#define DPA_CMA_KERNEL_H

#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include "cma/cma.h"

#define CMA_KERNEL_MC	      (UINT64_C(1) << 32)
#define CMA_KERNEL_GENERATION 33 /* the bit where it begins */

/* From the uapi header of rdma-core 60, which may be missing. */
enum { CMA_CMD_RESOLVE_IB_SERVICE = 23, CMA_CMD_WRITE_CM_EVENT };

/* The kernel's side of a channel. */
struct cma_kernel {
	struct cma_kernel *next; /* of all that are open: kernel.c */
	int fd;			 /* O_NONBLOCK */
	dev_t dev;
	bool turn; /* its event is next, if both sides have one */
	bool lost; /* GET_EVENT fails: not asked any more. Under cma.lock */
};

/* Access to the kernel. A test replaces it by a model before the first channel is opened. */
struct cma_kernel_ops {
	int (*open)(struct stat *st); /* the node; -1: no node, or no real device */
	ssize_t (*write)(int fd, const void *buf, size_t n);
	int (*close)(int fd);
};
extern struct cma_kernel_ops cma_kernel_ops;

/* Set when the first channel gets a kernel side, never cleared. False: no id has side KERNEL. */
extern atomic_bool cma_kernel_seen;

/* ---- kernel.c */
/* Open the kernel's descriptor. NULL: no node or no real device. Not locked. */
struct cma_kernel *cma_kernel_open(void);
/* Close it and free k; NULL is allowed. The kernel destroys its ids. Not locked. */
void cma_kernel_close(struct cma_kernel *k);
/* The handlers of fork() call these, with cma.lock: before, then in the parent or in the child. */
void cma_kernel_before_fork(void);
void cma_kernel_after_fork(void);
void cma_kernel_forget(void);
/* Write a command to the kernel. 0 or the kernel's errno. Locked. */
int cma_kernel_write(struct cma_kernel *k, uint32_t cmd, const void *body, uint16_t in,
		     uint16_t out);
/* Take the next event; the sides take turns. False: none is queued. Locked. */
bool cma_kernel_next(struct cma_channel *ch, struct rdma_ucm_event_resp *resp);
/*
 * Wait for an event of either side. again: an earlier wait of this GET_EVENT returned 0 and no
 * event was there. 0: look again; EAGAIN: O_NONBLOCK; EINTR. Not locked; a cancellation point.
 */
int cma_kernel_wait(struct cma_channel *ch, bool again);

/* ---- kernel_id.c, locked */
/* Create the id in the kernel as well: side BOTH. An errno: CREATE_ID fails with it. */
int cma_kernel_create(struct cma_id *id);
/* Destroy the id in the kernel: side DPA. */
void cma_kernel_drop(struct cma_id *id);
/* Side BOTH: these replace the functions of cma.h. Return 0 or an errno. */
int cma_kernel_bind(struct cma_id *id, const union cma_addr *a);
int cma_kernel_listen(struct cma_id *id, uint32_t backlog);
int cma_kernel_option(struct cma_id *id, uint32_t level, uint32_t name, const void *val,
		      uint32_t len);
/* Side BOTH or KERNEL: move the id in the kernel. ENODEV: `to` has no kernel side. */
int cma_kernel_migrate(struct cma_id *id, struct cma_channel *to);
/* Side BOTH: true if the source of this resolution is an address of a real device. */
bool cma_kernel_resolves(const struct cma_id *id, const union cma_addr *src,
			 const union cma_addr *dst);
/* Side BOTH: resolve in the kernel. On success the id has side KERNEL. */
int cma_kernel_resolve(struct cma_id *id, const union cma_addr *src, const union cma_addr *dst,
		       uint32_t timeout_ms);
/* Translate an event of the kernel in place and count it. False: no id has it; dropped. */
bool cma_kernel_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp);
/* LEAVE_MCAST for a group of side KERNEL. */
int cma_kernel_leave(struct cma_mc *mc);
/*
 * Run a command of the program if its id has side KERNEL. body: hdr->in bytes, zero-filled to 512,
 * changed here. False: another side. *err: 0 or an errno. Not locked.
 */
bool cma_kernel_command(struct cma_channel *ch, const struct rdma_ucm_cmd_hdr *hdr, void *body,
			int *err);

#endif
