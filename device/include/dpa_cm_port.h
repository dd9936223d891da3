/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_cm_port.h - the ports of the communication manager (rdma_cm), of one network namespace.
 *
 * A port belongs to one id of the namespace, whichever process, user or adapter instance has it. A
 * claim is a set of byte locks on one empty file that all users share. The locks belong to the open
 * file of an event channel: a forked child inherits them, and the kernel drops them with the last
 * descriptor, at any death. Nothing is written into the file, so nothing in it can be wrong.
 *
 * Rules: those of the kernel's cma (cma_check_port() of Linux 6.1; man rdma_bind_addr):
 *  - two claims of one port space and port with different addresses coexist;
 *  - with the same address: EADDRINUSE; where one of them is a wildcard: EADDRNOTAVAIL;
 *  - if both have `reuse` they coexist in any case;
 *  - claims of different families coexist if both are `afonly`, or neither is a wildcard.
 *
 * Known limits: processes that share a network namespace but not the folder (two containers of a
 * pod, each with its own /dev/shm) do not see each other's claims. A user of the host can claim
 * every port, as with TCP.
 */
#ifndef DPA_CM_PORT_H
#define DPA_CM_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Port spaces: values of enum rdma_port_space. */
enum dpa_cm_ps {
	DPA_CM_PS_IPOIB = 0x0002,
	DPA_CM_PS_TCP = 0x0106,
	DPA_CM_PS_UDP = 0x0111,
	DPA_CM_PS_IB = 0x013f,
};

/* The claim of one id. */
struct dpa_cm_claim {
	uint16_t ps;	  /* enum dpa_cm_ps */
	uint16_t port;	  /* host order; 0: any free one of the ephemeral range */
	bool v6, afonly;  /* family; an IPv4 claim is always afonly */
	bool reuse;	  /* RDMA_OPTION_ID_REUSEADDR */
	bool listening;	  /* set by dpa_cm_port_listen() */
	uint8_t addr[16]; /* network order; IPv4 in the last four bytes; all 0: wildcard */
	uint32_t scope;	  /* interface index of a link-local address, else 0 */
};

struct dpa_cm_ports; /* of one event channel; the caller serialises its calls */

/* Default place of the file in this network namespace. ENAMETOOLONG. */
int dpa_cm_ports_path(char *path, size_t len);
/*
 * Opens the file, creates it if there is none. ENOMEM, EMFILE; EACCES: another user made a file
 * there that is not for all; EPROTO: what is there is no plain file; EAGAIN: another user has kept
 * it locked for a second or more.
 */
int dpa_cm_ports_open(const char *path, struct dpa_cm_ports **ports);
/*
 * Closes the descriptor and frees. The claims end with the last descriptor of the open file.
 * Removes the file if it is ours and nobody has it open.
 */
void dpa_cm_ports_close(struct dpa_cm_ports *ports);
/*
 * Claims c->port; sets it if it was 0. EADDRINUSE, EADDRNOTAVAIL: see above (EADDRNOTAVAIL, too:
 * no ephemeral port is free). EACCES: below ip_unprivileged_port_start without
 * CAP_NET_BIND_SERVICE. EINVAL: no such port space, or flags that do not fit. ENOMEM, ENOLCK.
 */
int dpa_cm_port_claim(struct dpa_cm_ports *ports, struct dpa_cm_claim *c);
/*
 * The claim is about to listen: it must hold its address alone, whatever `reuse` allowed before.
 * On success it no longer reuses: c->reuse is false, c->listening true. Errors as
 * dpa_cm_port_claim(), and ENOENT.
 */
int dpa_cm_port_listen(struct dpa_cm_ports *ports, struct dpa_cm_claim *c);
/*
 * The claim of a wildcard becomes one of an address: an active id got its source address. Always
 * possible by the rules. Sets c->addr and c->scope. ENOENT; ENOLCK: the claim is as before.
 */
int dpa_cm_port_narrow(struct dpa_cm_ports *ports, struct dpa_cm_claim *c, const uint8_t addr[16],
		       uint32_t scope);
/*
 * Does a claim of the namespace listen at that port, whichever address, channel, process and user
 * it is of? False, too, where the file cannot be read. Some microseconds.
 */
bool dpa_cm_port_listens(uint16_t ps, uint16_t port);
/*
 * For tools: call fn for each port that a claim of the namespace listens at, whichever process and
 * user it is of. 0, or the errno of the file: ENOENT: nobody claims a port.
 */
typedef void dpa_cm_port_fn(void *arg, uint16_t ps, uint16_t port);
int dpa_cm_port_each(dpa_cm_port_fn *fn, void *arg);
/*
 * Removes files of ports in dir that no process has open: the last one was killed. An open at the
 * same time finds a file, or makes one. Files of other users stay if dir is sticky.
 */
void dpa_cm_ports_sweep(const char *dir);
/* Gives the claim up. *c as the claim left it. ENOENT: the channel has none like it. */
int dpa_cm_port_release(struct dpa_cm_ports *ports, const struct dpa_cm_claim *c);

#endif
