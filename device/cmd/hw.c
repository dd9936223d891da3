/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hw.c - the function of this process: open, close, fork. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "cc/cc.h"
#include "util/sys.h"
#include "ctx/schedule.h"
#include "cmd/dm.h"
#include "cmd/mr.h"
#include "ctx/ops.h"
#include "direct/direct.h"
#include "ctx/mr.h"
#include "ctx/qmem.h"
#include "ctx/xrc.h"
#include "transport/xrc_branch.h"
#include "ctx/copy.h"
#include "link/peer.h"
#include "transport/api.h"
#include "foreign/foreign.h"
#include "eu/eu.h"
#include "eu/inject.h"
#include "eu/quiet.h"
#include "ctx/thread.h"
#include "eu/service.h"
#include "direct/share.h"
#include "gsi/gsi.h"
#include "link/inspect.h"
#include "link/frame.h"
#include "link/udp/wire.h"
#include "raw/raw.h"
#include "link/udp/udp.h"
#include "util/fork.h"

#ifndef DPA_LIB_VERSION
#define DPA_LIB_VERSION "0.1.0"
#endif

struct dpa_hw *dpa_the_hw;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER; /* dpa_the_hw and its users */
static bool atfork_done;

/* ------------------------------------------------------------------- fork */

/*
 * Returns the function of this process. NULL: there is none, or it is the parent's (after a raw
 * clone), whose locks have no owner here. Context: open_lock.
 */
static struct dpa_hw *hw_of_us(void)
{
	struct dpa_hw *hw = dpa_the_hw;

	return hw && dpa_lives(hw) ? hw : NULL;
}

/*
 * Waits until every descriptor is recorded where hw_after_fork_child() finds it: a child that kept
 * one would keep it open beyond this process.
 */
static void hw_before_fork(void)
{
	struct dpa_hw *hw;

	pthread_mutex_lock(&open_lock);
	hw = hw_of_us();
	if (hw)
		dpa_share_before_fork(hw); /* holds hw->ctl */
	dpa_fork_hold();
	if (hw) {
		pthread_mutex_lock(&hw->qmem_lock);
		dpa_spin_lock(&hw->peer_lock);
		dpa_board_num_hold(hw->board);
	}
}

static void hw_after_fork_parent(void)
{
	struct dpa_hw *hw = hw_of_us();

	if (hw) {
		dpa_board_num_release(hw->board);
		dpa_spin_unlock(&hw->peer_lock);
		pthread_mutex_unlock(&hw->qmem_lock);
	}
	dpa_fork_release();
	if (hw)
		dpa_share_after_fork(hw);
	pthread_mutex_unlock(&open_lock);
}

/*
 * The child has the parent's memory but none of its threads: it gives up the device without
 * touching the board. Inherited contexts keep a struct dpa_hw whose alive word reads 0 (fork
 * cleared the page).
 */
static void hw_after_fork_child(void)
{
	struct dpa_hw *hw = dpa_the_hw;

	if (hw) {
		dpa_spin_unlock(&hw->peer_lock);
		pthread_mutex_init(&hw->qmem_lock, NULL);
		dpa_share_child(hw);
		dpa_board_abandon(hw->board);
		dpa_port_abandon(&hw->port);
		dpa_inspect_abandon(hw);
		close(hw->fd.export);
		close(hw->fd.door);
		close(hw->fd.wake);
		close(hw->fd.wait);
		close(hw->fd.listen);
		if (hw->fd.spare >= 0)
			close(hw->fd.spare);
		dpa_qmem_abandon(hw);
		dpa_udp_abandon(hw->udp);
		dpa_wire_abandon(hw);
		if (hw->maps_fd >= 0)
			close(hw->maps_fd);
		if (hw->stage.base)
			close(hw->stage.fd);
		close(hw->fd.epoll);
		for (struct dpa_peer *p = hw->all_peers; p; p = p->next) {
			int *fds[] = {&p->pidfd,   &p->sock,	&p->sock2,
				      &p->wake_fd, &p->wait_fd, &p->tx_fd};

			for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
				if (*fds[i] >= 0)
					close(*fds[i]);
		}
		dpa_the_hw = NULL;
	}
	dpa_fork_reset();
	dpa_inject_forked();
	pthread_mutex_init(&open_lock, NULL);
	dpa_gsi_child();
}

/* Context: open_lock. */
static void watch_fork(void)
{
	if (!atfork_done)
		atfork_done =
			!pthread_atfork(hw_before_fork, hw_after_fork_parent, hw_after_fork_child);
}

void dpa_hw_watch_fork(void)
{
	pthread_mutex_lock(&open_lock);
	watch_fork();
	pthread_mutex_unlock(&open_lock);
}

void dpa_gsi_nudge(void)
{
	struct dpa_hw *hw;

	pthread_mutex_lock(&open_lock);
	hw = hw_of_us();
	if (hw) {
		atomic_store_explicit(&hw->gsi.look, 1, memory_order_release);
		dpa_wake_self(hw);
	}
	pthread_mutex_unlock(&open_lock);
}

/* ------------------------------------------------------------------- open */

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
/*
 * LeakSanitizer does not scan mapped memory by itself: the objects of an instance that is open at
 * exit are no leak.
 */
#define SCAN(p, n)   __lsan_register_root_region(p, n)
#define UNSCAN(p, n) __lsan_unregister_root_region(p, n)
#else
#define SCAN(p, n)   ((void)0)
#define UNSCAN(p, n) ((void)0)
#endif

static void *map_zero(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	SCAN(p, n);
	return p;
}

static void unmap_zero(void *p, size_t n)
{
	if (!p)
		return;
	UNSCAN(p, n);
	munmap(p, n);
}

/*
 * Makes a sealed memfd of this process, mapped for writing here; with F_SEAL_FUTURE_WRITE only
 * here.
 */
static void *make_shared(const char *name, size_t n, int more_seals, int *fd)
{
	void *p;

	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return NULL;
	if (ftruncate(*fd, (off_t)n))
		goto err;
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (p == MAP_FAILED)
		goto err;
	if (fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | more_seals)) {
		munmap(p, n);
		goto err;
	}
	dpa_sys_madvise(p, n, MADV_DONTFORK);
	return p;
err:
	close(*fd);
	*fd = -1;
	return NULL;
}

static bool probe_self(pid_t pid)
{
	uint32_t a = 0x5a5a5a5a, b = 0;
	struct iovec l = {.iov_base = &b, .iov_len = sizeof(b)};
	struct iovec r = {.iov_base = &a, .iov_len = sizeof(a)};

	return process_vm_readv(pid, &l, 1, &r, 1, 0) == (ssize_t)sizeof(a) && a == b;
}

static int map_tables(struct dpa_hw *hw)
{
	hw->alive = map_zero(4096);
	hw->pd.refs = map_zero(DPA_MAX_PD * sizeof(*hw->pd.refs));
	hw->pd.owner = map_zero(DPA_MAX_PD * sizeof(*hw->pd.owner));
	hw->qps.tab = map_zero(DPA_BOARD_QPNS * sizeof(*hw->qps.tab));
	hw->xrc.srqs = map_zero(DPA_MAX_SRQ * sizeof(*hw->xrc.srqs));
	hw->qps.slab = map_zero(DPA_MAX_QP * sizeof(*hw->qps.slab));
	if (!hw->alive || !hw->pd.refs || !hw->pd.owner || !hw->xrc.srqs || !hw->qps.tab ||
	    !hw->qps.slab)
		return ENOMEM;
	dpa_sys_madvise(hw->alive, 4096, MADV_WIPEONFORK);
	*hw->alive = DPA_HW_ALIVE;
	hw->export =
		make_shared("dpa-export", sizeof(*hw->export), F_SEAL_FUTURE_WRITE, &hw->fd.export);
	hw->door = make_shared("dpa-door", 4096, 0, &hw->fd.door);
	if (!hw->export || !hw->door)
		return ENOMEM;
	hw->export->slot = hw->board->slot;
	hw->export->gen = hw->board->gen;
	return 0;
}

static void unmap_tables(struct dpa_hw *hw)
{
	unmap_zero(hw->pd.refs, DPA_MAX_PD * sizeof(*hw->pd.refs));
	unmap_zero(hw->pd.owner, DPA_MAX_PD * sizeof(*hw->pd.owner));
	if (hw->mrs.zeros)
		munmap(hw->mrs.zeros, 2 * DPA_NULL_BYTES);
	unmap_zero((void *)hw->xrc.srqs, DPA_MAX_SRQ * sizeof(*hw->xrc.srqs));
	dpa_xrcd_free_all(hw);
	dpa_flows_fini(hw);
	unmap_zero((void *)hw->qps.tab, DPA_BOARD_QPNS * sizeof(*hw->qps.tab));
	if (hw->qps.slab) {
		dpa_kept_fini(hw);
		dpa_hw_free_qps(hw);
		unmap_zero(hw->qps.slab, DPA_MAX_QP * sizeof(*hw->qps.slab));
	}
	if (hw->export)
		munmap(hw->export, sizeof(*hw->export));
	if (hw->door)
		munmap(hw->door, 4096);
	if (hw->fd.export >= 0)
		close(hw->fd.export);
	if (hw->fd.door >= 0)
		close(hw->fd.door);
	if (hw->maps_fd >= 0)
		close(hw->maps_fd);
	dpa_stage_close(&hw->stage);
	dpa_share_fini(hw);
	unmap_zero(hw->alive, 4096);
}

static int hw_new(const struct dpa_hw_open_attr *attr, struct dpa_hw **out)
{
	struct dpa_board_cfg bcfg = {.lib_version = DPA_LIB_VERSION};
	struct dpa_hw *hw;
	static uint32_t opened;
	int level = DPA_LOG_ERR;
	char err[512] = "";
	int ret;

	hw = map_zero(sizeof(*hw)); /* most of its peer table is never touched */
	if (!hw)
		return ENOMEM;
	hw->fd.export = hw->fd.door = hw->fd.wake = hw->fd.wait = hw->fd.listen = hw->fd.epoll =
		hw->fd.spare = -1;
	hw->serial = ++opened;
	hw->pid = getpid();
	hw->log = attr->log;
	hw->ops = &dpa_ops;
	hw->cfg.log = DPA_CFG_LOG_ERR;
	pthread_mutex_init(&hw->ctl, NULL);
	pthread_mutex_init(&hw->qmem_lock, NULL);
	hw->udp = dpa_udp_new();
	ret = hw->udp ? 0 : ENOMEM;
	if (ret)
		goto err_cfg;
	ret = dpa_config_load(&hw->cfg, err, sizeof(err));
	if (ret)
		goto err_cfg;
	if (hw->cfg.disable) {
		ret = ENODEV;
		goto err_cfg;
	}
	bcfg.path = hw->cfg.board[0] ? hw->cfg.board : NULL;
	bcfg.uar_pages = hw->cfg.uar_pages;
	bcfg.placement =
		hw->cfg.placement.kind == DPA_CFG_PLACE_EU ? DPA_PLACE_EU : DPA_PLACE_INLINE;
	ret = dpa_board_open(&bcfg, &hw->board, err, sizeof(err));
	if (ret == EPROTO) /* another version's file, or none of ours: programs do not say it */
		level = DPA_LOG_USER;
	if (ret)
		goto err_cfg;
	dpa_spin_pauses = hw->cfg.spin ? hw->cfg.spin : 1;
	hw->cnt = hw->board->counters;
	dpa_cc_init(hw);
	hw->pvm_self = probe_self(hw->pid);
	dpa_copy_offer(hw);
	dpa_stage_open(&hw->stage);
	hw->maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ret = map_tables(hw);
	if (ret)
		goto err_tables;
	dpa_mr_init(hw);
	ret = dpa_share_init(hw);
	if (ret)
		goto err_tables;
	hw->pd.refs[0] = 1; /* PD 0 is never used */
	ret = dpa_port_init(&hw->port, hw->cfg.gid_order);
	if (ret)
		goto err_tables;
	dpa_port_publish(&hw->port);
	ret = dpa_inspect_init(hw, err, sizeof(err));
	if (ret)
		goto err_inspect;
	ret = dpa_link_init(hw);
	if (ret)
		goto err_link;
	ret = dpa_eu_init(hw);
	if (ret)
		goto err_eu;
	dpa_inject_open(hw);
	ret = dpa_service_start(hw);
	if (ret)
		goto err_service;
	*out = hw;
	return 0;

err_service:
	dpa_inject_unbind();
	dpa_eu_fini(hw);
err_eu:
	dpa_areas_fini(hw);
	dpa_link_fini(hw);
err_link:
	dpa_inspect_fini(hw);
err_inspect:
	dpa_port_withdraw(&hw->port);
	dpa_port_fini(&hw->port);
err_tables:
	unmap_tables(hw);
	dpa_board_close(hw->board);
err_cfg:
	if (err[0])
		dpa_log(hw, level, "%s", err);
	dpa_udp_free(hw->udp);
	unmap_zero(hw, sizeof(*hw));
	return ret;
}

static void hw_free(struct dpa_hw *hw)
{
	dpa_udp_leave(hw, true);
	dpa_service_stop(hw);
	dpa_inject_unbind();
	dpa_eu_fini(hw);
	dpa_foreign_fini(hw);
	dpa_counters_fold(hw);
	dpa_cc_fini(hw);
	dpa_udp_close(hw);
	/*
	 * Leave the board first: a peer that sees the sockets close must find that this process is
	 * gone.
	 */
	dpa_board_close(hw->board);
	dpa_areas_fini(hw);
	dpa_link_fini(hw);
	dpa_inspect_fini(hw);
	dpa_port_withdraw(&hw->port);
	dpa_port_fini(&hw->port);
	unmap_tables(hw);
	dpa_udp_free(hw->udp);
	unmap_zero(hw, sizeof(*hw));
}

/* Context: open_lock. */
static int open_function(struct dpa_hw_ctx *ctx, uint32_t function)
{
	struct dpa_hw *hw = ctx->hw;
	const char *ifname;

	if (function > hw->cfg.functions.num_sfs)
		return ENODEV;
	ifname = dpa_cfg_interface(&hw->cfg, function);
	ctx->port = dpa_port_function(&hw->port, function, ifname);
	if (ctx->port && ifname[0] && !if_nametoindex(ifname))
		dpa_log(hw, DPA_LOG_WARN, "function %u: there is no interface %s: its port is down",
			function, ifname);
	return ctx->port ? 0 : ENOMEM;
}

static int open_ctx(uint32_t id, const struct dpa_hw_open_attr *attr, struct dpa_hw_ctx **out)
{
	struct dpa_hw_ctx *ctx;
	int ret = 0;

	if (attr->hw_version != DPA_HW_VERSION)
		return EINVAL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return ENOMEM;
	pthread_mutex_lock(&open_lock);
	watch_fork();
	if (dpa_the_hw && !dpa_lives(dpa_the_hw))
		dpa_the_hw = NULL; /* a raw clone: no atfork handler ran */
	if (!dpa_the_hw)
		ret = hw_new(attr, &dpa_the_hw);
	ctx->hw = dpa_the_hw;
	if (!ret)
		ret = open_function(ctx, attr->function);
	if (!ret) {
		ctx->event = attr->event;
		ctx->event_arg = attr->event_arg;
		pthread_mutex_lock(&ctx->hw->ctl);
		ctx->id = id ? id : ++ctx->hw->next.ctx_id;
		ctx->told_state = dpa_port_state(ctx->port);
		ctx->next = ctx->hw->ctxs;
		ctx->hw->ctxs = ctx;
		ctx->hw->board->self->nctx += !id;
		pthread_mutex_unlock(&ctx->hw->ctl);
		*out = ctx;
	} else {
		if (dpa_the_hw && !dpa_the_hw->ctxs) {
			hw_free(dpa_the_hw);
			dpa_the_hw = NULL;
		}
		free(ctx);
	}
	pthread_mutex_unlock(&open_lock);
	return ret;
}

int dpa_hw_open(const struct dpa_hw_open_attr *attr, struct dpa_hw_ctx **ctx)
{
	return open_ctx(0, attr, ctx);
}

int dpa_hw_open_again(struct dpa_hw_ctx *of, const struct dpa_hw_open_attr *attr,
		      struct dpa_hw_ctx **ctx)
{
	if (!dpa_lives(of->hw))
		return EIO;
	return open_ctx(of->id, attr, ctx);
}

/* True if there is another context of the same opening. Context: open_lock. */
static bool is_opening_shared(const struct dpa_hw_ctx *ctx)
{
	const struct dpa_hw_ctx *c = ctx->hw->ctxs;

	while (c && (c == ctx || c->id != ctx->id))
		c = c->next;
	return c;
}

/* Frees the PDs that no object uses. PDs of CQs and SRQs that are left end with the process. */
static void pd_forget(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;

	pthread_mutex_lock(&hw->ctl);
	for (uint32_t i = 1; i < DPA_MAX_PD && i <= hw->pd.used_max; i++)
		if (hw->pd.refs[i] == 1 && hw->pd.owner[i] == ctx->id) {
			hw->pd.refs[i] = 0;
			hw->board->self->npd--;
		}
	pthread_mutex_unlock(&hw->ctl);
}

void dpa_hw_close(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_ctx **p;
	bool last;

	/* inherited by fork, the parent's: frees only the memory of this process */
	if (!dpa_lives(hw)) {
		free(ctx);
		return;
	}
	dpa_hw_destroy_qps(ctx);
	pthread_mutex_lock(&open_lock);
	if (!is_opening_shared(ctx)) {
		dpa_mr_forget(ctx);
		dpa_dm_forget(ctx);
		pd_forget(ctx);
		hw->board->self->nctx--;
	}
	pthread_mutex_lock(&hw->ctl);
	for (p = &hw->ctxs; *p; p = &(*p)->next) {
		if (*p == ctx) {
			*p = ctx->next;
			break;
		}
	}
	dpa_branches_forget(ctx);
	last = !hw->ctxs;
	pthread_mutex_unlock(&hw->ctl);
	free(ctx);
	if (last) {
		hw_free(hw);
		dpa_the_hw = NULL;
	}
	pthread_mutex_unlock(&open_lock);
}

/*
 * At exit() with the device open. Other threads may still run, and one of them may be closing it.
 */
__attribute__((destructor)) static void at_exit(void)
{
	struct dpa_hw *hw;

	if (pthread_mutex_trylock(&open_lock))
		return;
	hw = hw_of_us();
	if (hw && hw->pid == getpid()) {
		dpa_acks_leave(hw);
		dpa_udp_leave(hw, false);
		dpa_quiet_hand_over(hw);
		dpa_board_exit(hw->board);
	}
	pthread_mutex_unlock(&open_lock);
}

const uint32_t *dpa_hw_alive(struct dpa_hw_ctx *ctx)
{
	return ctx->hw->alive;
}
