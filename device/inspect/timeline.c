/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* timeline.c - passes the timeline of this process to a tool: see timeline.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "inspect/feed.h"
#include "inspect/timeline.h"
#include "tables/tables.h"
#include "trace/trace.h"

#define CHECK_NS 100000000ull

struct dpa_timeline {
	struct dpa_hw *hw;
	pthread_mutex_t lock; /* protects the following */
	struct dpa_kept_fd tool;
	bool by_ask;		 /* by a request, not by the setting */
	_Atomic bool live;	 /* a tool is connected; read without the lock (relaxed): a hint */
	enum dpa_trace_mode own; /* of the setting: without a tool */
	_Atomic uint32_t seen;	 /* generation of the last request that was followed */
	uint64_t checked;	 /* ns: of the last check of the tool */
	struct dpa_trace_sums counted;
};

static bool is_timeline_live(struct dpa_timeline *t)
{
	return atomic_load_explicit(&t->live, memory_order_relaxed);
}

static enum dpa_trace_mode trace_mode_of(const struct dpa_cfg_timeline *cfg)
{
	switch (cfg->mode) {
	case DPA_CFG_TIMELINE_ALL:
		return DPA_TRACE_ALL;
	case DPA_CFG_TIMELINE_ON:
		return DPA_TRACE_SOME;
	default:
		return DPA_TRACE_OFF;
	}
}

/* Context: t->lock, or no other thread uses it. The same for the functions below. */
static void count_sums(struct dpa_timeline *t)
{
	struct dpa_trace_sums s = dpa_trace_sums();

	dpa_count(t->hw, DPA_CNT_timeline_dropped,
		  s.lost + s.skipped - t->counted.lost - t->counted.skipped);
	t->counted = s;
}

static void end_tool(struct dpa_timeline *t)
{
	dpa_close_kept_fd(&t->tool);
	atomic_store_explicit(&t->live, false, memory_order_relaxed);
	dpa_trace_set(t->own, false);
}

static int prepare_trace(struct dpa_timeline *t)
{
	int ret = dpa_trace_prepare();

	if (ret)
		dpa_log(t->hw, DPA_LOG_ERR, "cannot record a timeline: %s", strerror(ret));
	return ret;
}

static bool greet_tool(struct dpa_timeline *t, int sock)
{
	const struct dpa_hw *hw = t->hw;
	struct dpa_trace_hello h = {.magic = DPA_TRACE_MAGIC,
				    .bytes = sizeof(struct dpa_trace_shm),
				    .clock = dpa_trace_clock(),
				    .pid = (uint32_t)hw->pid,
				    .board = hw->board->board_num};

	memcpy(h.comm, hw->board->self->comm, sizeof(h.comm));
	return dpa_trace_fd() >= 0 && !dpa_feed_send(sock, &h, sizeof(h), dpa_trace_fd());
}

/* False: try again later. */
static bool begin_tool(struct dpa_timeline *t, const struct dpa_cfg_timeline *cfg)
{
	int fd;

	if (prepare_trace(t)) /* first: a tool counts each process that connects */
		return true;
	fd = dpa_feed_connect(cfg->tool);
	if (fd < 0)
		return errno != EAGAIN; /* its backlog is full, or it is gone */
	dpa_trace_forget();
	if (!greet_tool(t, fd)) {
		close(fd);
	} else if (dpa_keep_fd(&t->tool, fd)) {
		atomic_store_explicit(&t->live, true, memory_order_relaxed);
		dpa_trace_set(trace_mode_of(cfg), true);
	}
	return true;
}

static void follow_timeline_ask(struct dpa_timeline *t)
{
	struct dpa_board *b = t->hw->board;
	struct dpa_cfg_timeline cfg;
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen;

	if (!dpa_board_ask_get(b, DPA_ASK_TIMELINE, text, &gen) ||
	    gen == atomic_load_explicit(&t->seen, memory_order_relaxed))
		return;
	if (!text[0]) {
		if (is_timeline_live(t) && t->by_ask)
			end_tool(t);
	} else if (!is_timeline_live(t) && dpa_cfg_timeline_parse(text, &cfg) && cfg.tool[0]) {
		if (!begin_tool(t, &cfg))
			return;
		t->by_ask = true;
	}
	atomic_store_explicit(&t->seen, gen, memory_order_relaxed);
	atomic_store_explicit(dpa_proc_asked(b->self, DPA_ASK_TIMELINE), gen, memory_order_release);
}

static bool has_timeline_ask(const struct dpa_timeline *t)
{
	return dpa_board_ask_gen(t->hw->board, DPA_ASK_TIMELINE) !=
	       atomic_load_explicit(&t->seen, memory_order_relaxed);
}

bool dpa_timeline_wants_ticks(const struct dpa_timeline *t)
{
	return dpa_trace_is_on() || has_timeline_ask(t);
}

void dpa_timeline_tick(struct dpa_timeline *t)
{
	const bool news = has_timeline_ask(t);

	if (!news && !dpa_trace_is_on())
		return;
	pthread_mutex_lock(&t->lock);
	if (dpa_now_ns() - t->checked >= CHECK_NS) {
		t->checked = dpa_now_ns();
		count_sums(t);
		if (is_timeline_live(t) && dpa_feed_hung_up(&t->tool))
			end_tool(t);
	}
	if (news)
		follow_timeline_ask(t);
	pthread_mutex_unlock(&t->lock);
}

int dpa_timeline_new(struct dpa_hw *hw, struct dpa_timeline **out)
{
	const struct dpa_cfg_timeline *cfg = &hw->cfg.timeline;
	struct dpa_timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->hw = hw;
	t->tool.fd = -1;
	t->counted = dpa_trace_sums();
	*out = t;
	if (cfg->tool[0])
		begin_tool(t, cfg);
	else if (cfg->mode != DPA_CFG_TIMELINE_OFF && !prepare_trace(t)) {
		t->own = trace_mode_of(cfg);
		dpa_trace_set(t->own, false);
	}
	return 0;
}

/* The rings stay: the tool reads what is in them. */
void dpa_timeline_free(struct dpa_timeline *t)
{
	if (!t)
		return;
	dpa_trace_set(DPA_TRACE_OFF, false);
	dpa_close_kept_fd(&t->tool);
	free(t);
}

void dpa_timeline_abandon(struct dpa_timeline *t)
{
	dpa_trace_child();
	if (t)
		dpa_close_kept_fd(&t->tool);
}
