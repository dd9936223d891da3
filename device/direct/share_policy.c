/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * share_policy.c - may a region's pages be exchanged: the region's answer, the process's, and how
 * everything else stands still meanwhile; share.h.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <dpa_memory.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "util/rest.h"
#include "direct/direct.h"
#include "share.h"

/*
 * The preload, if its functions are the ones that the program finds: without it an allocator that
 * gives pages back by madvise() would read old bytes there. The addresses are those of references
 * as the program's are: dlsym() does not find the preload's (preload/memory.c).
 */
struct dpa_memory_watch *dpa_share_find_watch(void)
{
	void *const calls[] = {(void *)&madvise, (void *)&mmap, (void *)&mremap, (void *)&munmap};
	struct dpa_memory_watch *w = dlsym(RTLD_DEFAULT, "dpa_memory_watch");
	Dl_info of_watch, of_call;

	if (!w || w->version != DPA_MEMORY_VERSION || !dladdr(w, &of_watch))
		return NULL;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!dladdr(calls[i], &of_call) || of_call.dli_fbase != of_watch.dli_fbase)
			return NULL;
	return w;
}

/* The decision for the region itself. */
static enum dpa_share_why of_region(const struct dpa_hw *hw, uint32_t type, uint32_t access,
				    uint64_t addr, uint64_t length)
{
	const uint64_t mib = 1 << 20;

	if (!(access & DPA_SHARE_REMOTE))
		return DPA_SHARE_ACCESS;
	if (type != DPA_MR_MEMORY)
		return DPA_SHARE_KIND;
	if (access & DPA_ACCESS_ON_DEMAND)
		return DPA_SHARE_ON_DEMAND;
	if (hw->cfg.direct == DPA_CFG_DIRECT_NEVER)
		return DPA_SHARE_DIRECT;
	if (!dpa_guard_works())
		return DPA_SHARE_GUARD;
	if (hw->cfg.share_mr == DPA_CFG_SHARE_NEVER)
		return DPA_SHARE_POLICY;
	if (hw->cfg.share_mr == DPA_CFG_SHARE_AUTO && hw->share && !hw->share->watch)
		return DPA_SHARE_PRELOAD;
	if (!hw->share || hw->share->pages.fd < 0 || !dpa_pages_in_limit(DPA_SHARE_BYTES))
		return DPA_SHARE_KERNEL;
	if (addr + length < addr || dpa_first_page(addr) >= dpa_end_page(addr, length))
		return DPA_SHARE_PARTIAL;
	if (hw->cfg.share_mr == DPA_CFG_SHARE_ALWAYS)
		return DPA_SHARE_YES;
	if (dpa_end_page(addr, length) - dpa_first_page(addr) > hw->cfg.share_region * mib)
		return DPA_SHARE_BUDGET;
	return DPA_SHARE_YES;
}

/*
 * True if the process has more threads, by a cheaper look than that at its status: the folder of its
 * threads counts them as links, beside its own two. Where it counts none the status decides.
 */
static bool has_more_threads(uint32_t own)
{
	struct statx st;

	return own < UINT32_MAX - 3 &&
	       !syscall(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &st) &&
	       st.stx_nlink > 3 + own;
}

/* The decision for the process. */
enum dpa_share_why dpa_share_of_process(const struct dpa_hw *hw, bool threads)
{
	uint32_t own = dpa_own_threads();
	struct dpa_proc_status st;

	if (!dpa_proc_open_to_user(hw->cfg.ptracer == DPA_CFG_PTRACER_ANY))
		return DPA_SHARE_APART;
	if (!threads && has_more_threads(own))
		return DPA_SHARE_THREADS;
	if (!dpa_proc_status(&st))
		return DPA_SHARE_KERNEL;
	if (!threads && st.threads != 1 + own)
		return DPA_SHARE_THREADS;
	if (st.pinned || st.locked)
		return DPA_SHARE_PINNED;
	return dpa_proc_pins() ? DPA_SHARE_DEVICE : DPA_SHARE_YES;
}

/* Blocks signals and cancellation, and quiesces the device's threads. True: done. */
bool dpa_share_stand_still(struct dpa_share_plan *plan)
{
	sigset_t all;

	plan->rests = dpa_rest_begin();
	if (!plan->rests)
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &plan->cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &plan->signals);
	return true;
}

void dpa_share_begin(struct dpa_hw *hw, struct dpa_share_plan *plan, const struct dpa_mr_attr *a)
{
	plan->rests = false;
	plan->why = of_region(hw, a->type, a->access, a->addr, a->length);
	if (plan->why == DPA_SHARE_YES)
		plan->why = dpa_share_of_process(hw, hw->cfg.share_mr == DPA_CFG_SHARE_ALWAYS);
	if (plan->why == DPA_SHARE_YES && !dpa_share_stand_still(plan))
		plan->why = DPA_SHARE_THREADS;
}

void dpa_share_end(struct dpa_share_plan *plan)
{
	if (!plan->rests)
		return;
	plan->rests = false;
	pthread_sigmask(SIG_SETMASK, &plan->signals, NULL);
	pthread_setcancelstate(plan->cancel, NULL);
	dpa_rest_end();
}
