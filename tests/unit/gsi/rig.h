/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rig.h - processes with the device and QP1 open, controlled over a socket. */
#ifndef GSI_RIG_H
#define GSI_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <dpa_hw.h>

struct gt_proc {
	pid_t pid;
	int fd;
	uint32_t num; /* of its board */
};

/* An answer of a process. */
struct gt_answer {
	int rc;		/* errno; of a bool call 0 or 1 */
	uint32_t value; /* id, handle, count */
	struct dpa_gsi_addr addr;
	struct dpa_gsi_id id;
	uint8_t mad[DPA_MAD_BYTES];
};

/* Make a network namespace with lo up, and a folder for boards. */
void gt_setup(void);
void gt_teardown(void);
/* Return the path of the board of that name. */
void gt_board(const char *name, char *path, size_t len);
/* Start a process on the board of that name as that user (0: the present one). open: QP1, too. */
void gt_start(struct gt_proc *p, const char *board, uid_t uid, bool open);
void gt_stop(struct gt_proc *p); /* close everything and exit */
void gt_kill(struct gt_proc *p); /* SIGKILL, and waits */
void gt_exit(struct gt_proc *p); /* call exit() with everything open */

int gt_open(struct gt_proc *p);
void gt_close(struct gt_proc *p);
int gt_send(struct gt_proc *p, const struct dpa_gsi_addr *to, const uint8_t *mad);
/* Send it *n times, or until it fails. Sets *n to the number that was sent; returns as gt_send(). */
int gt_fill(struct gt_proc *p, const struct dpa_gsi_addr *to, const uint8_t *mad, uint32_t *n);
/* Wait for a MAD, 10 s at most. */
bool gt_recv(struct gt_proc *p, struct gt_answer *a);
/* Does not wait. */
bool gt_look(struct gt_proc *p, struct gt_answer *a);
bool gt_pass_on(struct gt_proc *p, const struct dpa_gsi_addr *from, const uint8_t *mad);
int gt_probe(struct gt_proc *p, const struct dpa_gsi_addr *to, uint64_t tid);
/* Does not wait. */
bool gt_refused(struct gt_proc *p, uint8_t dgid[16], uint64_t *tid);
uint32_t gt_listen(struct gt_proc *p, const struct dpa_gsi_service *s);
void gt_unlisten(struct gt_proc *p, uint32_t handle);
uint32_t gt_id_new(struct gt_proc *p);
void gt_id_set(struct gt_proc *p, const struct dpa_gsi_id *id);
void gt_id_free(struct gt_proc *p, uint32_t id);
/* Wait for an orphan, 10 s at most; call `ready` for it first. */
bool gt_orphan(struct gt_proc *p, struct dpa_gsi_id *id);
/* Does not wait. */
bool gt_orphan_now(struct gt_proc *p, struct dpa_gsi_id *id);
/*
 * Wait until the device reports that processes died, 10 s at most. False: not reported, or twice.
 */
bool gt_died(struct gt_proc *p);
/* Wait until `need` was called as often, 10 s at most; call gt_want_need() first. */
void gt_want_need(struct gt_proc *p);
bool gt_needed(struct gt_proc *p, uint32_t times);
/* Return whether in a fork() child of it each call fails. */
bool gt_child_is_out(struct gt_proc *p);
void gt_route(struct gt_proc *p, const struct dpa_gsi_addr *a, struct dpa_hw_route *r, int *rc);

/* ::ffff:127.0.0.n */
void gt_v4(uint8_t gid[16], uint8_t n);
struct dpa_gsi_addr gt_path(uint8_t from, uint8_t to);
/* Make a REQ for port `port` of TCP at 127.0.0.dst, from the id. */
void gt_req(uint8_t *mad, uint32_t local_id, uint16_t port, uint8_t dst);
/* Make a message of that kind between two ids. */
void gt_message(uint8_t *mad, uint16_t attr, uint32_t local_id, uint32_t remote_id);
/* Make the service of all IPv4 and IPv6 addresses, or of one. */
struct dpa_gsi_service gt_service(uint16_t port);
struct dpa_gsi_service gt_service_at(uint16_t port, uint8_t n);
#define GT_TCP(port) (0x0000000001060000ull | (port))

#endif
