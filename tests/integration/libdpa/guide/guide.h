/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* guide.h - code that the guide's fragments omit: errors, and opening the device. */
#ifndef GUIDE_H
#define GUIDE_H

#include <stdio.h>
#include <stdlib.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <doca_error.h>
#include <doca_sync_event.h>

/* End the program if a call fails, with the name of the call. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		doca_error_t ok_ = (call);                                                         \
		if (ok_ != DOCA_SUCCESS) {                                                         \
			fprintf(stderr, "%s: %s\n", #call, doca_error_get_descr(ok_));             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The first device that has a DPA. */
static inline struct doca_dev *open_doca_dev(void)
{
	struct doca_devinfo **list;
	struct doca_dev *dev = NULL;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !dev; i++)
		if (doca_dpa_cap_is_supported(list[i]) == DOCA_SUCCESS)
			OK(doca_dev_open(list[i], &dev));
	OK(doca_devinfo_destroy_list(list));
	if (!dev) {
		fprintf(stderr, "no device has a DPA\n");
		exit(1);
	}
	return dev;
}

static inline struct doca_dpa *start_dpa(struct doca_dev *dev, struct doca_dpa_app *app)
{
	struct doca_dpa *dpa;

	OK(doca_dpa_create(dev, &dpa));
	OK(doca_dpa_set_app(dpa, app));
	OK(doca_dpa_start(dpa));
	return dpa;
}

/*
 * Start an event between the CPU (a device) and the DPA (none), in either direction, or within the
 * DPA.
 */
static inline struct doca_sync_event *start_event(struct doca_dpa *dpa, struct doca_dev *from_cpu,
						  struct doca_dev *to_cpu)
{
	struct doca_sync_event *e;

	OK(doca_sync_event_create(&e));
	if (from_cpu)
		OK(doca_sync_event_add_publisher_location_cpu(e, from_cpu));
	else
		OK(doca_sync_event_add_publisher_location_dpa(e, dpa));
	if (to_cpu)
		OK(doca_sync_event_add_subscriber_location_cpu(e, to_cpu));
	else
		OK(doca_sync_event_add_subscriber_location_dpa(e, dpa));
	OK(doca_sync_event_start(e));
	return e;
}

static inline doca_dpa_dev_sync_event_t handle_of(struct doca_sync_event *e, struct doca_dpa *dpa)
{
	doca_dpa_dev_sync_event_t h;

	OK(doca_sync_event_get_dpa_handle(e, dpa, &h));
	return h;
}

/* No kernel continues before the host lets it; return the final value of `done`. */
static inline uint64_t let_go(struct doca_dpa *dpa, struct doca_sync_event *first,
			      struct doca_sync_event *done)
{
	uint64_t value = 1;

	OK(doca_sync_event_get(done, &value));
	if (value != 0)
		exit(1);
	OK(doca_sync_event_update_set(first, 1));
	OK(doca_sync_event_wait_gt(done, 0, UINT64_MAX));
	OK(doca_sync_event_get(done, &value));
	OK(doca_dpa_peek_at_last_error(dpa));
	return value;
}

/* Stop the context first, then destroy its events. */
static inline void end_all(struct doca_dev *dev, struct doca_dpa *dpa,
			   struct doca_sync_event **events, int n)
{
	OK(doca_dpa_stop(dpa));
	for (int i = 0; i < n; i++)
		OK(doca_sync_event_destroy(events[i]));
	OK(doca_dpa_destroy(dpa));
	OK(doca_dev_close(dev));
}

#endif
