/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * region.c - regions whose pages fault late. A region that a rule selects has a mark: from when on the
 * device cannot access it, or how long an access takes.
 */
#include <stdlib.h>
#include "inject/inject.h"
#include "inject/query.h"
#include "util/clock.h"

/* Written under the device's lock of control verbs, read by the data path: all relaxed. */
struct mark {
	_Atomic uint64_t from; /* ns: accesses fail from then on; 0: they do not */
	_Atomic uint64_t slow; /* ns that an access takes */
};
static _Atomic(struct mark *) marks; /* release once they exist, acquire by readers */

static struct mark *mark_of(uint32_t region)
{
	struct mark *m = atomic_load_explicit(&marks, memory_order_acquire);

	return m ? m + region : NULL;
}

static void set_mark(uint32_t region, uint64_t from, uint64_t slow)
{
	struct mark *m = mark_of(region);

	if (!m)
		return;
	atomic_store_explicit(&m->from, from, memory_order_relaxed);
	atomic_store_explicit(&m->slow, slow, memory_order_relaxed);
}

/* Pages of the table that no region uses stay untouched. */
static bool have_marks(uint32_t most)
{
	struct mark *m;

	if (mark_of(0))
		return true;
	m = calloc(most, sizeof(*m));
	if (m)
		atomic_store_explicit(&marks, m, memory_order_release);
	return m;
}

bool dpa_inject_region(uint32_t region, uint32_t most, uint64_t bytes)
{
	struct dpa_inject_query q = {.line = DPA_INJECT_MR,
				     .effect = DPA_INJECT_ANY,
				     .to = DPA_INJECT_ANY,
				     .op = DPA_INJECT_ANY,
				     .size = bytes};
	uint64_t ns = 0;
	int effect;

	set_mark(region, 0, 0);
	if (!dpa_hw_injecting(DPA_INJECT_MR) || !have_marks(most))
		return false;
	effect = dpa_inject_select(&q, 0, &ns);
	if (effect == DPA_INJECT_FAULTS)
		set_mark(region, dpa_now_ns() + ns, 0);
	else if (effect)
		set_mark(region, 0, ns);
	return effect;
}

bool dpa_inject_region_faults(uint32_t region)
{
	const struct mark *m = mark_of(region);
	uint64_t from = m ? atomic_load_explicit(&m->from, memory_order_relaxed) : 0;

	return from && dpa_now_ns() >= from;
}

uint64_t dpa_inject_region_slow(uint32_t region)
{
	const struct mark *m = mark_of(region);

	return m ? atomic_load_explicit(&m->slow, memory_order_relaxed) : 0;
}
