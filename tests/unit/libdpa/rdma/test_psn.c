/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_psn.c - the first PSN of a connection: random, and never a constant. It was 0 where the
 * kernel had no random numbers.
 */
#include <endian.h>
#include <errno.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "rig.h"

TestSuite(psn, .timeout = 60);

enum { CONNS = 16 };

static _Atomic int no_random; /* errno of every call; 0: the kernel answers */
static _Atomic int interrupted;

/* Called before that of the C library, by libdpa and the device too. */
__attribute__((visibility("default"))) ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	int err = interrupted ? EINTR : no_random;

	interrupted -= interrupted > 0;
	if (!err)
		return syscall(SYS_getrandom, buf, len, flags);
	errno = err;
	return -1;
}

static uint32_t exported(struct rig *r)
{
	struct doca_rdma_connection *c;
	const void *details;
	size_t size;

	OK(doca_rdma_export(r->rdma, &details, &size, &c));
	return be32toh(((const struct dpa_rdma_details *)details)->psn);
}

Test(psn, each_connection_has_another_one)
{
	uint32_t psn[CONNS];
	struct rig r;

	rig_make(&r);
	OK(doca_rdma_set_max_num_connections(r.rdma, CONNS));
	OK(doca_ctx_start(r.ctx));
	for (uint32_t i = 0; i < CONNS; i++) {
		interrupted = i % 3;
		psn[i] = exported(&r);
		cr_expect_leq(psn[i], 0xffffffu);
		for (uint32_t k = 0; k < i; k++)
			cr_expect_neq(psn[i], psn[k]);
	}
	rig_down(&r);
}

Test(psn, without_random_numbers_there_is_no_connection)
{
	static const int errors[] = {ENOSYS, EPERM, EAGAIN};
	struct doca_rdma_connection *c;
	const void *details;
	struct rig r;
	size_t size;

	rig_make(&r);
	OK(doca_rdma_set_max_num_connections(r.rdma, 1));
	OK(doca_ctx_start(r.ctx));
	for (int i = 0; i < 3; i++) {
		no_random = errors[i];
		IS(doca_rdma_export(r.rdma, &details, &size, &c), CONNECTION_ABORTED);
	}
	no_random = 0;
	exported(&r); /* no part of the failed ones is left */
	rig_down(&r);
}
