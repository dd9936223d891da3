/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 *     A
 *    / \
 *   C   B    Five kernels: C and B after A, D after C, E after D and B.
 *   |   |
 *   D   |
 *    \ /
 *     E
 */
#include "guide.h"

extern struct doca_dpa_app *dpa_diamond_app;
doca_dpa_func_t diamond_kernel;

int main(void)
{
	/* A kernel waits until its event is greater: one less than it has parents. */
	const uint64_t one_parent = 0, two_parents = 1;
	struct doca_dev *dev = open_doca_dev();
	struct doca_dpa *dpa = start_dpa(dev, dpa_diamond_app);
	struct doca_sync_event *a = start_event(dpa, dev, NULL), *b, *c, *d, *e, *done;
	doca_dpa_dev_sync_event_t hb, hc, hd, he, hdone;
	uint64_t value;

	hb = handle_of(b = start_event(dpa, NULL, NULL), dpa);
	hc = handle_of(c = start_event(dpa, NULL, NULL), dpa);
	hd = handle_of(d = start_event(dpa, NULL, NULL), dpa);
	he = handle_of(e = start_event(dpa, NULL, NULL), dpa);
	hdone = handle_of(done = start_event(dpa, NULL, dev), dpa);

	/* The root's threshold is never looked at: a plain 0 as the guide writes it. */
	OK(doca_dpa_kernel_launch_update_set(dpa, a, 1, NULL, 0, 1, &diamond_kernel, NULL, 0, hb,
					     hc));
	OK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &diamond_kernel, hb,
					     one_parent, he, NULL));
	OK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &diamond_kernel, hc,
					     one_parent, hd, NULL));
	OK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &diamond_kernel, hd,
					     one_parent, he, NULL));
	OK(doca_dpa_kernel_launch_update_set(dpa, NULL, 0, NULL, 0, 1, &diamond_kernel, he,
					     two_parents, hdone, NULL));
	value = let_go(dpa, a, done);
	end_all(dev, dpa, (struct doca_sync_event *[]){a, b, c, d, e, done}, 6);
	printf("diamond: %d\n", (int)value);
	return value != 1;
}
