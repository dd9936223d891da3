/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* doctor.h - what the files of `dpactl doctor` share. */
#ifndef DPACTL_DOCTOR_H
#define DPACTL_DOCTOR_H

#include <stdbool.h>
#include "../dpactl.h"
#include "system.h"

enum verdict { OK, NOTE, BAD };

struct visit {
	struct ctl *c;
	struct json_object *list;
	struct where w;
	char ibverbs[PATH_MAX]; /* the library that programs load; "": none */
	int pabi;		/* its private ABI number; 0: not known */
	char prefix[PATH_MAX];	/* of the provider, by the environment; "": there is none */
	bool driver, provider, loads, tree, node, kernel_rdma, board;
};

/*
 * Prints one line, or adds it to the list for programs. what: the subject of the check. fix:
 * the fix, or NULL. BAD sets the exit status.
 */
void say(struct visit *v, enum verdict how, const char *what, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* rdma_cm.c: the library, the file of the ports, and what a connection can be refused for. */
void look_at_rdma_cm(struct visit *v);
/* refusals.c: the last refused connections, ports of other users, adapters with another /dev/shm */
void look_at_refusals(struct visit *v);
/* firewall.c: rules of nftables that concern UDP 4791; needs CAP_NET_ADMIN */
void look_at_firewall(struct visit *v);

#endif
