/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Kernels A, B and C, each after the one before: A waits for the host by its launch, B and C for
 * events on the DPA.
 */
#include "guide.h"

extern struct doca_dpa_app *dpa_linear_app;
doca_dpa_func_t linear_kernel;

int main(void)
{
	struct doca_dev *dev = open_doca_dev();
	struct doca_dpa *dpa = start_dpa(dev, dpa_linear_app);
	struct doca_sync_event *a = start_event(dpa, dev, NULL);
	struct doca_sync_event *b = start_event(dpa, NULL, NULL);
	struct doca_sync_event *c = start_event(dpa, NULL, NULL);
	struct doca_sync_event *done = start_event(dpa, NULL, dev);
	uint64_t value;

	OK(doca_dpa_kernel_launch_update_add(dpa, a, 1, NULL, 0, 1, &linear_kernel, NULL,
					     handle_of(b, dpa)));
	OK(doca_dpa_kernel_launch_update_add(dpa, NULL, 0, NULL, 0, 1, &linear_kernel,
					     handle_of(b, dpa), handle_of(c, dpa)));
	OK(doca_dpa_kernel_launch_update_add(dpa, NULL, 0, NULL, 0, 1, &linear_kernel,
					     handle_of(c, dpa), handle_of(done, dpa)));
	value = let_go(dpa, a, done);
	end_all(dev, dpa, (struct doca_sync_event *[]){a, b, c, done}, 4);
	printf("linear: %d\n", (int)value);
	return value != 1;
}
