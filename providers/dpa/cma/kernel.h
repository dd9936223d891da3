/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel.h - a real rdma_cm beside ours, on one event channel: the interface to the rest of cma/.
 *
 * A channel has a kernel side if, when it was opened, the node of rdma_cm was there and a device
 * that is not ours. Without one nothing here makes a system call. With one its descriptor is an
 * epoll descriptor over the kernel's and two that all channels share: `ready`, which always is, is
 * in it while an event of dpa0's side is queued; `hold` is the timer of engine.c that idle channels
 * have. So a channel has three at most: these two, and that of its ports.
 *
 * An id is on both sides until its device is known (cma_id.side):
 *
 *   no id --CREATE_ID-------------------------------> BOTH   (DPA: its channel has no kernel side)
 *   no id --request that dpa0 got-------------------> DPA
 *   no id --request that the kernel got-------------> KERNEL
 *   BOTH  --BIND or LISTEN: a wildcard--------------> BOTH   one port on both, or EADDRINUSE etc.
 *   BOTH  --BIND: an address of a real device-------> KERNEL
 *   BOTH  --BIND: another address, all loopback-----> DPA
 *   BOTH  --RESOLVE_ADDR: the same by the source----> KERNEL, DPA
 *   any   --DESTROY_ID, the channel's close---------> no id
 *
 * On the way to one side the id is destroyed on the other one. The kernel is asked whose an address
 * is: an id of its own can be bound to it or not. With `cma_prefer = dpa` an address that dpa0 has
 * is dpa0's. DPA: the rest of cma/ as without a kernel. KERNEL: the program's commands go to the
 * kernel as they are, with other numbers. BOTH: what needs a device is EINVAL, and the rest of cma/
 * answers what the program asks.
 *
 * Numbers: the program sees ours alone. The kernel gets our number as uid, and its events name
 * that; CMA_KERNEL_MC marks a multicast group's. So kernel_num of an id is only for commands.
 *
 * Access: all words here are under cma.lock, which is held over commands of the
 * kernel, too: its descriptor never blocks, and what DESTROY_ID waits for does not wait for us.
 *   cma_channel.kernel   written when the channel is made and when it ends; NULL in a forked child
 *   cma_id.side, .kernel_num, .kernel_bound, cma_mc.kernel, .kernel_num   kernel_id.c alone
 *   events_reported      counts what GET_EVENT delivered, from either side; the kernel's own count
 *                        is not used: it delivers to us exactly when we deliver to the program
 *
 * fork: the kernel refuses commands of a process that did not open the descriptor, its child
 * included (EACCES). So the child closes it. The kernel's side of the ids ends with the parent;
 * an id on both sides goes on as dpa0's.
 */
#ifndef DPA_CMA_KERNEL_H
#define DPA_CMA_KERNEL_H

#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include "cma/cma.h"

#define CMA_KERNEL_MC (UINT64_C(1) << 32)

/* Of the uapi header of rdma-core 60, which need not be there. */
enum { CMA_CMD_RESOLVE_IB_SERVICE = 23, CMA_CMD_WRITE_CM_EVENT };

/* The kernel's side of a channel. */
struct cma_kernel {
	int fd; /* O_NONBLOCK */
	dev_t dev;
	bool turn; /* its event is next, if both sides have one */
};

/* The way to the kernel. A test puts a model of it here before the first channel is opened. */
struct cma_kernel_door {
	int (*open)(struct stat *st); /* the node; -1: it or a real device is not there */
	ssize_t (*write)(int fd, const void *buf, size_t n);
	int (*close)(int fd);
};
extern struct cma_kernel_door cma_kernel_door;

/* Set by the first channel with a kernel side, for good: before that no id can be the kernel's. */
extern atomic_bool cma_kernel_seen;

/* ---- kernel.c */
/* Not locked. NULL: there is none. */
struct cma_kernel *cma_kernel_open(void);
/* Not locked. */
void cma_kernel_close(struct cma_kernel *k);
/* Not locked: a descriptor for the program. 0 or an errno. */
int cma_kernel_join(struct cma_kernel *k, int flags, int *fd);
/* Locked: it shows that an event is queued on our side, or none. Each call is an edge. */
void cma_kernel_show(const struct cma_channel *ch, bool on);
/* Locked: the timer of idle channels. */
void cma_kernel_hold(const struct itimerspec *its);
/* Locked: a command. 0, or the errno. */
int cma_kernel_write(struct cma_kernel *k, uint32_t cmd, const void *body, uint16_t in,
		     uint16_t out);
/* Locked: the next event of either side. */
bool cma_kernel_next(struct cma_channel *ch, struct rdma_ucm_event_resp *resp);
/*
 * Not locked: waits for an event of either side. EAGAIN, EINTR. A cancellation point. again: the
 * caller has waited, and has found none.
 */
int cma_kernel_wait(struct cma_channel *ch, bool again);

/* ---- kernel_id.c, locked */
/* A new id exists there, too. 0, or an errno: then it cannot be made at all. */
int cma_kernel_create(struct cma_id *id);
/* It ends there. */
void cma_kernel_drop(struct cma_id *id);
/* BOTH: the calls of cma.h in their place. */
int cma_kernel_bind(struct cma_id *id, const union cma_addr *a);
int cma_kernel_listen(struct cma_id *id, uint32_t backlog);
int cma_kernel_option(struct cma_id *id, uint32_t level, uint32_t name, const void *val,
		      uint32_t len);
int cma_kernel_migrate(struct cma_id *id, struct cma_channel *to);
/*
 * BOTH: is the source of this resolution an address of a real device? Then the program's command
 * (cma_kernel_resolve()) makes the id the kernel's.
 */
bool cma_kernel_resolves(const struct cma_id *id, const union cma_addr *src,
			 const union cma_addr *dst);
int cma_kernel_resolve(struct cma_id *id, const union cma_addr *src, const union cma_addr *dst,
		       uint32_t timeout_ms);
/* A request that the kernel got, or its other event. False: nobody's, and dropped. */
bool cma_kernel_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp);
/* LEAVE_MCAST of a group that the kernel has. */
int cma_kernel_leave(struct cma_mc *mc);
/*
 * Not locked. A command of the program about an id that is the kernel's alone. False: it is not.
 * `in` bytes of the body, room for 512; *err: 0 or an errno.
 */
bool cma_kernel_command(struct cma_channel *ch, const struct rdma_ucm_cmd_hdr *hdr, void *body,
			int *err);

#endif
