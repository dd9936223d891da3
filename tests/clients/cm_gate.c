/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm_gate.c - a preload for a server and a client of rdma_cm that agree on a new connection and do
 * not wait until the server listens, as perftest -R and qperf -cm1. The server's Nth rdma_listen()
 * makes the file $CM_GATE.N. The client's first $CM_GATE_WAITS calls of rdma_connect() wait for it:
 * the Nth for $CM_GATE.N. Server and client on two hosts: the test makes the client's file.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 60000

static _Atomic int listens, connects;

static void *next(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (!fn) {
		fprintf(stderr, "cm_gate: no %s\n", name);
		abort();
	}
	return fn;
}

/* Make the path of the Nth file. False without a gate. */
static bool path(char *to, size_t size, int n)
{
	const char *gate = getenv("CM_GATE");

	return gate && snprintf(to, size, "%s.%d", gate, n) < (int)size;
}

__attribute__((visibility("default"))) int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	int (*fn)(struct rdma_cm_id *, int) =
		(int (*)(struct rdma_cm_id *, int))next("rdma_listen");
	int rc = fn(id, backlog), fd;
	char file[256];

	if (!rc && path(file, sizeof(file), atomic_fetch_add(&listens, 1) + 1)) {
		fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd >= 0)
			close(fd);
	}
	return rc;
}

__attribute__((visibility("default"))) int rdma_connect(struct rdma_cm_id *id,
							struct rdma_conn_param *param)
{
	int (*fn)(struct rdma_cm_id *, struct rdma_conn_param *) =
		(int (*)(struct rdma_cm_id *, struct rdma_conn_param *))next("rdma_connect");
	const char *waits = getenv("CM_GATE_WAITS");
	int n = atomic_fetch_add(&connects, 1) + 1;
	char file[256];

	if (waits && n <= atoi(waits) && path(file, sizeof(file), n)) {
		for (int ms = 0; access(file, F_OK) && ms < LIMIT_MS; ms++)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		if (access(file, F_OK))
			fprintf(stderr,
				"cm_gate: the server's call %d of rdma_listen() did not come\n", n);
	}
	return fn(id, param);
}
