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

/* A claim: the port of one id. */
struct dpa_cm_claim {
	uint16_t ps;	  /* enum dpa_cm_ps */
	uint16_t port;	  /* host order; 0: any free port of the ephemeral range */
	bool v6, afonly;  /* v6: family; an IPv4 claim is always afonly */
	bool reuse;	  /* RDMA_OPTION_ID_REUSEADDR */
	bool listening;	  /* set by dpa_cm_port_listen() */
	uint8_t addr[16]; /* network order; IPv4 in the last four bytes; all 0: wildcard */
	uint32_t scope;	  /* interface index of a link-local address, else 0 */
};

struct dpa_cm_ports; /* ports of one event channel; the caller serialises its calls */

/* Write the default path of the file in this network namespace. ENAMETOOLONG. */
int dpa_cm_ports_path(char *path, size_t len);
/*
 * Open the file; create it if there is none. ENOMEM, EMFILE; EACCES: another user created the file
 * without access for others; EPROTO: it is not a plain file; EAGAIN: another user has kept it
 * locked for a second or more.
 */
int dpa_cm_ports_open(const char *path, struct dpa_cm_ports **ports);
/*
 * Close the descriptor and free *ports. The claims end with the last descriptor of the open file.
 * Removes the file if it is ours and no process has it open.
 */
void dpa_cm_ports_close(struct dpa_cm_ports *ports);
/*
 * Claim c->port; set it if it was 0. EADDRINUSE, EADDRNOTAVAIL: see above (EADDRNOTAVAIL also if no
 * ephemeral port is free). EACCES: below ip_unprivileged_port_start without CAP_NET_BIND_SERVICE.
 * EINVAL: no such port space, or conflicting flags. ENOMEM, ENOLCK.
 */
int dpa_cm_port_claim(struct dpa_cm_ports *ports, struct dpa_cm_claim *c);
/*
 * Prepare the claim for listening: it must hold its address alone, even if `reuse` allowed others
 * before. On success it no longer reuses: c->reuse is false, c->listening true. Errors as
 * dpa_cm_port_claim(), and ENOENT.
 */
int dpa_cm_port_listen(struct dpa_cm_ports *ports, struct dpa_cm_claim *c);
/*
 * Change a wildcard claim into a claim of one address, when an active id gets its source address.
 * The rules always allow this. Sets c->addr and c->scope. ENOENT; ENOLCK: the claim is as before.
 */
int dpa_cm_port_narrow(struct dpa_cm_ports *ports, struct dpa_cm_claim *c, const uint8_t addr[16],
		       uint32_t scope);
/*
 * Set `reuse` of a claim that does not listen, and c->reuse: from now on others with `reuse` may claim
 * the same address. The rules always allow this. 0 if it is set already. EINVAL: it listens. ENOENT;
 * ENOLCK: the claim is as before.
 */
int dpa_cm_port_share(struct dpa_cm_ports *ports, struct dpa_cm_claim *c);
/*
 * True if a claim of the namespace listens at that port, for any address, channel, process and
 * user. False, too, if the file cannot be read. Takes some microseconds.
 */
bool dpa_cm_port_listens(uint16_t ps, uint16_t port);
/*
 * For tools: call fn for each port at which a claim of the namespace listens, of any process and
 * user. 0, or the errno of the file; ENOENT: no port is claimed.
 */
typedef void dpa_cm_port_fn(void *arg, uint16_t ps, uint16_t port);
int dpa_cm_port_each(dpa_cm_port_fn *fn, void *arg);
/*
 * Remove files of ports in dir that no process has open, because the last one was killed. A
 * concurrent open finds a file, or creates one. Files of other users stay if dir is sticky.
 */
void dpa_cm_ports_sweep(const char *dir);
/* Release the claim. *c as the last call left it. ENOENT: the channel has no such claim. */
int dpa_cm_port_release(struct dpa_cm_ports *ports, const struct dpa_cm_claim *c);

#endif
