/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inspect_ask.c - begins and ends faults, the modelled network and capture: by settings of this process,
 * by rules of injected failures, and by requests of tools. Locks: inspect.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ctx/ops.h"
#include "link/inspect.h"
#include "link/inspect_priv.h"
#include "link/peer.h"
#include "inspect/timeline.h"
#include "tables/tables.h"

#define CHECK_NS 100000000ull

/* Context: in->follow. */
static void set_bit(struct dpa_hw *hw, uint32_t bit, bool on)
{
	uint32_t was = atomic_load_explicit(&hw->inspect, memory_order_relaxed);
	struct dpa_peer *p;

	if (!!(was & bit) == on)
		return;
	atomic_store_explicit(&hw->inspect, was ^ bit, memory_order_seq_cst);
	dpa_spin_lock(&hw->peer_lock);
	p = hw->all_peers;
	dpa_spin_unlock(&hw->peer_lock);
	for (; p; p = p->next)
		dpa_inspect_lanes(p);
	hw->ops->grant_all(hw);
}

void dpa_inspect_inject(struct dpa_hw *hw, bool on, bool peers)
{
	pthread_mutex_lock(&hw->insp->follow);
	set_bit(hw, DPA_INSPECT_INJECT, on);
	set_bit(hw, DPA_INSPECT_PEER, peers);
	pthread_mutex_unlock(&hw->insp->follow);
}

/* Context: in->follow. */
static void set_down(struct dpa_hw *hw)
{
	bool down = hw->insp->rule_down || hw->insp->all_down;

	dpa_port_set_down(&hw->port, down);
	set_bit(hw, DPA_INSPECT_DOWN, down);
	dpa_log(hw, DPA_LOG_INFO, "port: %s", down ? "down" : "up");
}

void dpa_inspect_down(struct dpa_hw *hw, bool down)
{
	pthread_mutex_lock(&hw->insp->follow);
	if (hw->insp->rule_down != down) {
		hw->insp->rule_down = down;
		set_down(hw);
	}
	pthread_mutex_unlock(&hw->insp->follow);
}

static void follow_port(struct dpa_hw *hw, const char *text)
{
	hw->insp->all_down = strcmp(text, DPA_BOARD_PORT_DOWN) == 0;
	set_down(hw);
}

static int set_faults(struct dpa_hw *hw, const struct dpa_fault_spec *spec)
{
	struct dpa_inspect *in = hw->insp;
	int ret;

	dpa_spin_lock(&in->lock);
	ret = dpa_fault_set(&in->fault, spec);
	dpa_inspect_new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
	set_bit(hw, DPA_INSPECT_FAULT, !ret && dpa_fault_any(spec));
	return ret;
}

static void follow_faults(struct dpa_hw *hw, const char *text)
{
	struct dpa_fault_spec spec = {0};
	int ret = 0;

	if (text[0] && !dpa_fault_parse(text, &spec))
		ret = EINVAL;
	if (!ret)
		ret = set_faults(hw, &spec);
	if (ret)
		dpa_log(hw, DPA_LOG_ERR,
			"cannot apply the faults that are set for the adapter instance: %s",
			strerror(ret));
	else
		dpa_log(hw, DPA_LOG_INFO, "faults: %s", text[0] ? text : "off");
}

static int set_model(struct dpa_hw *hw, const struct dpa_link_spec *spec)
{
	struct dpa_inspect *in = hw->insp;
	bool late;
	int ret;

	dpa_spin_lock(&in->lock);
	ret = dpa_model_set(&in->model, spec);
	late = in->model.late;
	dpa_inspect_new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
	set_bit(hw, DPA_INSPECT_MODEL, (!ret && spec->n) || late);
	return ret;
}

/* True if the modelled network was removed and no late frame of it is left. */
static bool model_is_over(struct dpa_hw *hw)
{
	struct dpa_inspect *in = hw->insp;
	bool over;

	if (!is_modelled(hw))
		return false;
	dpa_spin_lock(&in->lock);
	over = !in->model.spec.n && !in->model.late;
	dpa_spin_unlock(&in->lock);
	return over;
}

static void follow_link_ask(struct dpa_hw *hw, const char *text)
{
	struct dpa_link_spec spec = {0};
	int ret = 0;

	if (text[0] && !dpa_link_parse(text, &spec))
		ret = EINVAL;
	if (!ret)
		ret = set_model(hw, &spec);
	if (ret)
		dpa_log(hw, DPA_LOG_ERR,
			"cannot apply the network that is set for the adapter instance: %s",
			strerror(ret));
	else
		dpa_log(hw, DPA_LOG_INFO, "network: %s", text[0] ? text : "off");
}

static void follow_inspect_ask(struct dpa_hw *hw, enum dpa_board_ask_what what)
{
	struct dpa_inspect *in = hw->insp;
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen;

	if (!dpa_board_ask_get(hw->board, what, text, &gen) ||
	    gen == atomic_load_explicit(&in->seen[what], memory_order_relaxed))
		return;
	if (what == DPA_ASK_CAPTURE) {
		if (!dpa_capture_live(in->capture, text))
			return; /* not yet; checked again at the next tick */
		set_bit(hw, DPA_INSPECT_CAPTURE, dpa_capture_on(in->capture));
	} else if (!in->own[what]) {
		if (what == DPA_ASK_PORT)
			follow_port(hw, text);
		else if (what == DPA_ASK_FAULT)
			follow_faults(hw, text);
		else
			follow_link_ask(hw, text);
	}
	atomic_store_explicit(&in->seen[what], gen, memory_order_relaxed);
	atomic_store_explicit(dpa_proc_asked(hw->board->self, what),
			      in->own[what] ? DPA_BOARD_ASK_OWN : gen, memory_order_release);
}

/* A request that is not followed yet. */
static bool has_inspect_ask(struct dpa_hw *hw)
{
	bool news = false;

	for (int i = 0; i < ASKS; i++)
		news |= dpa_board_ask_gen(hw->board, (enum dpa_board_ask_what)i) !=
			atomic_load_explicit(&hw->insp->seen[i], memory_order_relaxed);
	return news;
}

bool dpa_inspect_wants_ticks(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->inspect, memory_order_relaxed) || has_inspect_ask(hw) ||
	       dpa_timeline_wants_ticks(hw->timeline);
}

void dpa_inspect_tick(struct dpa_hw *hw)
{
	struct dpa_inspect *in = hw->insp;
	bool news;

	dpa_timeline_tick(hw->timeline);
	news = has_inspect_ask(hw);
	if (!news && !is_captured(hw) && !model_is_over(hw))
		return;
	pthread_mutex_lock(&in->follow);
	for (int i = 0; news && i < ASKS; i++)
		follow_inspect_ask(hw, (enum dpa_board_ask_what)i);
	if (is_captured(hw) && dpa_now_ns() - in->checked >= CHECK_NS) {
		in->checked = dpa_now_ns();
		dpa_capture_check(in->capture);
		set_bit(hw, DPA_INSPECT_CAPTURE, dpa_capture_on(in->capture));
	}
	if (model_is_over(hw))
		set_bit(hw, DPA_INSPECT_MODEL, false);
	pthread_mutex_unlock(&in->follow);
}

int dpa_inspect_init(struct dpa_hw *hw, char *err, size_t errlen)
{
	struct dpa_inspect *in = calloc(1, sizeof(*in));
	int ret;

	if (!in)
		return ENOMEM;
	pthread_mutex_init(&in->follow, NULL);
	hw->insp = in;
	ret = dpa_timeline_new(hw, &hw->timeline);
	if (!ret)
		ret = dpa_capture_new(hw, &in->capture);
	if (!ret && hw->cfg.capture[0]) {
		ret = dpa_capture_file(in->capture, hw->cfg.capture, err, errlen);
		set_bit(hw, DPA_INSPECT_CAPTURE, !ret);
	}
	in->own[DPA_ASK_FAULT] = hw->cfg.fault.set;
	in->own[DPA_ASK_LINK] = hw->cfg.link.set;
	for (int i = 0; i < ASKS; i++)
		if (in->own[i])
			atomic_store_explicit(
				dpa_proc_asked(hw->board->self, (enum dpa_board_ask_what)i),
				DPA_BOARD_ASK_OWN, memory_order_relaxed);
	if (!ret && hw->cfg.fault.set)
		ret = set_faults(hw, &hw->cfg.fault);
	if (!ret && hw->cfg.link.set)
		ret = set_model(hw, &hw->cfg.link);
	if (ret) {
		dpa_inspect_fini(hw);
		return ret;
	}
	dpa_inspect_tick(hw);
	return 0;
}

void dpa_inspect_fini(struct dpa_hw *hw)
{
	struct dpa_inspect *in = hw->insp;

	if (!in)
		return;
	atomic_store_explicit(&hw->inspect, 0, memory_order_relaxed);
	dpa_capture_free(in->capture);
	dpa_fault_free(&in->fault);
	dpa_model_free(&in->model);
	dpa_timeline_free(hw->timeline);
	free(in);
	hw->insp = NULL;
}

void dpa_inspect_abandon(struct dpa_hw *hw)
{
	if (hw->insp)
		dpa_capture_abandon(hw->insp->capture);
	dpa_timeline_abandon(hw->timeline);
}
