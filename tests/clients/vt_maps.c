/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_maps.c - mappings of this process: vt_maps.h. */
#include "vt_maps.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAS_RSEQ (__rseq_size != 0)
#else
#define HAS_RSEQ false
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { PAGE = 4096, TRIES = 1000 };

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

enum vt_pages vt_pages(const void *p)
{
	FILE *f = fopen("/proc/self/maps", "re");
	enum vt_pages found = VT_PRIVATE;
	unsigned long from, to;
	char line[512], prot[5];

	CHECK(f, "maps: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %4s", &from, &to, prot) != 3 || (uintptr_t)p < from ||
		    (uintptr_t)p >= to)
			continue;
		if (strstr(line, "memfd:dpa-shared"))
			found = prot[3] == 's' ? VT_SHARED : VT_COPIED;
		break;
	}
	fclose(f);
	return found;
}

/* x86-64, restartable sequences, Linux 5.14: docs/direct-path.md. */
static bool is_possible(void)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can = p != MAP_FAILED && !madvise(p, PAGE, MADV_POPULATE_WRITE);

	if (p != MAP_FAILED)
		munmap(p, PAGE);
#ifdef __x86_64__
	return can && HAS_RSEQ;
#else
	return false;
#endif
}

const char *vt_share_policy(void)
{
	const char *policy = getenv("DPA_SHARE_MR");

	return policy ? policy : "auto";
}

bool vt_shares(const struct vt *t)
{
	const char *policy = vt_share_policy(), *direct = getenv("DPA_DIRECT");

	if ((direct && !strcmp(direct, "never")) || !is_possible())
		return false;
#if defined(__SANITIZE_THREAD__) /* it has a thread of its own */
	if (!strcmp(policy, "auto"))
		return false;
#endif
	return !strcmp(policy, "always") ||
	       (!strcmp(policy, "auto") && !t->threads && dlsym(RTLD_DEFAULT, "dpa_memory_watch"));
}

struct ibv_mr *vt_reg_shared(struct vt *t, void *p, size_t n)
{
	const uint8_t *whole =
		(const uint8_t *)(((uintptr_t)p + PAGE - 1) & ~(uintptr_t)(PAGE - 1));

	for (int i = 0;; i++) {
		struct ibv_mr *mr = ibv_reg_mr(t->pd, p, n, ALL);

		CHECK(mr, "reg_mr: %s", strerror(errno));
		if (!vt_shares(t) || vt_pages(whole) == VT_SHARED)
			return mr;
		CHECK(i < TRIES, "memory is not shared, whatever is tried");
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		sched_yield();
	}
}

void vt_setup_shared(struct vt *t, const struct vt_opt *o)
{
	vt_setup(t, o);
	if (vt_shares(t)) {
		CHECK_EQ(ibv_dereg_mr(t->mr), 0);
		t->mr = vt_reg_shared(t, t->buf, t->len);
		t->me.rkey = t->mr->rkey;
		vt_put(t, &t->me, sizeof(t->me));
		vt_get(t, &t->peer, sizeof(t->peer));
	}
	vt_sync(t);
}

void vt_expect_shared(const struct vt *t, const void *p, const char *when)
{
	const bool is = vt_pages(p) == VT_SHARED;

	CHECK(is == vt_shares(t), "memory is %sshared %s", is ? "" : "not ", when);
}

void vt_expect_not_shared(const void *p, const char *when)
{
	CHECK(vt_pages(p) != VT_SHARED, "memory is shared %s", when);
}

unsigned int vt_threads(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned int n = 0;
	char line[256];

	CHECK(f, "status: %s", strerror(errno));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Threads: %u", &n) == 1)
			break;
	fclose(f);
	return n;
}
