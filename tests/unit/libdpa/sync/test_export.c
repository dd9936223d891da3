/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_export.c - sync events for peers: exports, imported events, capabilities. */
#include "../host.h"

#include <string.h>
#include <doca_sync_event.h>
#include "libdpa/host/libdpa.h"
#include "libdpa/sync/sync_event.h"

TestSuite(sync_export, .timeout = 60);

static struct doca_sync_event *of_peers(struct rig *r)
{
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_remote_net(se));
	OK(doca_sync_event_add_subscriber_location_dpa(se, r->dpa));
	return se;
}

Test(sync_export, errors)
{
	struct doca_sync_event *se, *local;
	const uint8_t *data;
	struct rig r;
	size_t sz;

	rig_start(&r);
	se = of_peers(&r);
	IS(doca_sync_event_export_to_remote_net(se, &data, &sz), INVALID_VALUE);
	OK(doca_sync_event_start(se));
	IS(doca_sync_event_export_to_remote_net(NULL, &data, &sz), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_net(se, NULL, &sz), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_net(se, &data, NULL), INVALID_VALUE);
	fake_fail_reg(ENOMEM);
	IS(doca_sync_event_export_to_remote_net(se, &data, &sz), NO_MEMORY);
	fake_fail_reg(0);
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_create(&local));
	OK(doca_sync_event_add_publisher_location_cpu(local, r.dev));
	OK(doca_sync_event_add_subscriber_location_dpa(local, r.dpa));
	OK(doca_sync_event_start(local));
	IS(doca_sync_event_export_to_remote_net(local, &data, &sz), NOT_SUPPORTED);
	OK(doca_sync_event_destroy(local));
	rig_destroy(&r);
}

Test(sync_export, an_export_names_the_word)
{
	struct doca_sync_event_remote_net *remote;
	const uint8_t *data, *again;
	struct doca_sync_event *se;
	struct dpa_object *o;
	uint64_t word = 3, handle, same, addr;
	uint32_t rkey;
	struct rig r;
	size_t sz;

	rig_start(&r);
	se = of_peers(&r);
	OK(doca_sync_event_set_addr(se, &word));
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &data, &sz));
	OK(doca_sync_event_export_to_remote_net(se, &again, &sz));
	cr_assert_eq(data, again);
	cr_assert_eq(fake_mrs(), 1);
	cr_assert_eq(fake_last_access(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	OK(doca_sync_event_remote_net_create_from_export(r.dev, data, sz, &remote));
	OK(doca_sync_event_remote_net_get_dpa_handle(remote, r.dpa, &handle));
	OK(doca_sync_event_remote_net_get_dpa_handle(remote, r.dpa, &same));
	cr_assert_eq(handle, same);
	o = dpa_handle_get(&r.dpa->handles, DPA_H_SYNC_EVENT_REMOTE, handle);
	cr_assert(o);
	dpa_se_remote_where(o, &addr, &rkey);
	cr_assert_eq(addr, (uintptr_t)&word);
	cr_assert_eq(rkey, se->mr->rkey);
	cr_assert_null(dpa_handle_get(&r.dpa->handles, DPA_H_SYNC_EVENT, handle));
	IS(doca_dev_close(r.dev), IN_USE);
	OK(doca_sync_event_stop(se));
	cr_assert_eq(fake_mrs(), 0);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &data, &sz));
	OK(doca_sync_event_destroy(se));
	cr_assert_eq(fake_mrs(), 0);
	OK(doca_sync_event_remote_net_destroy(remote));
	cr_assert_null(dpa_handle_get(&r.dpa->handles, DPA_H_SYNC_EVENT_REMOTE, handle));
	rig_destroy(&r);
}

/* The registration belongs to the device: it stays open as long as there is one. */
Test(sync_export, outlives_the_context_that_it_was_registered_for)
{
	struct doca_sync_event *se;
	const uint8_t *data;
	struct rig r;
	size_t sz;

	rig_start(&r);
	se = of_peers(&r);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &data, &sz));
	OK(doca_dpa_destroy(r.dpa));
	IS(doca_dev_close(r.dev), IN_USE);
	OK(doca_sync_event_destroy(se));
	cr_assert_eq(fake_mrs(), 0);
	OK(doca_dev_close(r.dev));
}

Test(sync_export, what_is_no_export)
{
	struct doca_sync_event_remote_net *remote;
	struct doca_sync_event *se;
	const uint8_t *data;
	uint8_t bad[64];
	struct rig r;
	size_t sz;

	rig_start(&r);
	se = of_peers(&r);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &data, &sz));
	cr_assert_lt(sz, sizeof(bad));
	IS(doca_sync_event_remote_net_create_from_export(NULL, data, sz, &remote), INVALID_VALUE);
	IS(doca_sync_event_remote_net_create_from_export(r.dev, NULL, sz, &remote), INVALID_VALUE);
	IS(doca_sync_event_remote_net_create_from_export(r.dev, data, sz, NULL), INVALID_VALUE);
	for (size_t n = 0; n < sz; n++)
		IS(doca_sync_event_remote_net_create_from_export(r.dev, data, n, &remote),
		   INVALID_VALUE);
	memset(bad, 0, sizeof(bad));
	memcpy(bad, data, sz);
	IS(doca_sync_event_remote_net_create_from_export(r.dev, bad, sz + 1, &remote),
	   INVALID_VALUE);
	for (size_t i = 0; i < 12; i++) { /* magic, size */
		bad[i] ^= 1;
		IS(doca_sync_event_remote_net_create_from_export(r.dev, bad, sz, &remote),
		   INVALID_VALUE);
		bad[i] ^= 1;
	}
	bad[12] ^= 2; /* version */
	IS(doca_sync_event_remote_net_create_from_export(r.dev, bad, sz, &remote), NOT_SUPPORTED);
	bad[12] ^= 2;
	bad[16] ^= 1; /* an address that no word has */
	IS(doca_sync_event_remote_net_create_from_export(r.dev, bad, sz, &remote), INVALID_VALUE);
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}

static struct doca_devinfo *other_device(struct doca_devinfo ***list)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	uint32_t n;

	OK(doca_devinfo_create_list(list, &n));
	for (uint32_t i = 0; i < n; i++) {
		OK(doca_devinfo_get_ibdev_name((*list)[i], name, sizeof(name)));
		if (strcmp(name, "dpa0") != 0)
			return (*list)[i];
	}
	return NULL;
}

Test(sync_export, another_device_can_do_nothing)
{
	struct doca_sync_event_remote_net *remote;
	struct doca_sync_event *se;
	struct doca_devinfo **list;
	struct doca_devinfo *info = other_device(&list);
	struct doca_dev *other;
	struct doca_dpa *idle;
	const uint8_t *data;
	uint64_t handle;
	struct rig r;
	size_t sz;

	rig_start(&r);
	cr_assert(info);
	OK(doca_dev_open(info, &other));
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_remote_net(se));
	OK(doca_sync_event_add_subscriber_location_cpu(se, other));
	OK(doca_sync_event_start(se));
	IS(doca_sync_event_export_to_remote_net(se, &data, &sz), NOT_SUPPORTED);
	OK(doca_sync_event_destroy(se));
	se = of_peers(&r);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &data, &sz));
	IS(doca_sync_event_remote_net_create_from_export(other, data, sz, &remote), NOT_SUPPORTED);
	OK(doca_sync_event_remote_net_create_from_export(r.dev, data, sz, &remote));
	IS(doca_sync_event_remote_net_get_dpa_handle(NULL, r.dpa, &handle), INVALID_VALUE);
	IS(doca_sync_event_remote_net_get_dpa_handle(remote, NULL, &handle), INVALID_VALUE);
	IS(doca_sync_event_remote_net_get_dpa_handle(remote, r.dpa, NULL), INVALID_VALUE);
	OK(doca_dpa_create(r.dev, &idle));
	IS(doca_sync_event_remote_net_get_dpa_handle(remote, idle, &handle), INVALID_VALUE);
	OK(doca_dpa_destroy(idle));
	IS(doca_sync_event_remote_net_destroy(NULL), INVALID_VALUE);
	OK(doca_sync_event_remote_net_destroy(remote));
	OK(doca_sync_event_destroy(se));
	OK(doca_devinfo_destroy_list(list));
	OK(doca_dev_close(other));
	rig_destroy(&r);
}

/* DOCA: doca_sync_event_remote_net_get_dpa_handle NO_MEMORY */
Test(sync_export, remote_handles_run_out)
{
	enum { MANY = 5000 };
	static struct doca_sync_event_remote_net *e[MANY];
	struct doca_sync_event *se;
	doca_error_t ret = DOCA_SUCCESS;
	const uint8_t *data;
	uint64_t handle;
	struct rig r;
	size_t sz;
	int n = 0;

	rig_start(&r);
	se = of_peers(&r);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &data, &sz));
	while (n < MANY && !ret) {
		OK(doca_sync_event_remote_net_create_from_export(r.dev, data, sz, &e[n]));
		ret = doca_sync_event_remote_net_get_dpa_handle(e[n++], r.dpa, &handle);
	}
	cr_assert_eq(ret, DOCA_ERROR_NO_MEMORY);
	while (n)
		OK(doca_sync_event_remote_net_destroy(e[--n]));
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}

/*
 * The checks of each capability:
 * DOCA: doca_sync_event_cap_is_export_to_dpa_supported INVALID_VALUE NOT_SUPPORTED
 * DOCA: doca_sync_event_cap_is_export_to_remote_net_supported INVALID_VALUE
 * DOCA: doca_sync_event_cap_is_export_to_remote_net_supported NOT_SUPPORTED
 * DOCA: doca_sync_event_cap_remote_net_is_create_from_export_supported INVALID_VALUE
 * DOCA: doca_sync_event_cap_remote_net_is_create_from_export_supported NOT_SUPPORTED
 * DOCA: doca_sync_event_cap_remote_net_is_export_to_dpa_supported INVALID_VALUE
 * DOCA: doca_sync_event_cap_remote_net_is_export_to_dpa_supported NOT_SUPPORTED
 */
Test(sync_export, capabilities)
{
	doca_error_t (*const caps[])(const struct doca_devinfo *) = {
		doca_sync_event_cap_is_export_to_dpa_supported,
		doca_sync_event_cap_is_export_to_remote_net_supported,
		doca_sync_event_cap_remote_net_is_create_from_export_supported,
		doca_sync_event_cap_remote_net_is_export_to_dpa_supported,
	};
	struct doca_devinfo **list, *other = other_device(&list);
	struct doca_dev *dev = open_dpa0();

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		IS(caps[i](NULL), INVALID_VALUE);
		IS(caps[i](other), NOT_SUPPORTED);
		OK(caps[i](doca_dev_as_devinfo(dev)));
	}
	OK(doca_devinfo_destroy_list(list));
	OK(doca_dev_close(dev));
}

/* A context on one function, an event that was imported on another one. */
Test(sync_export, another_function_s_event)
{
	struct doca_sync_event_remote_net *remote;
	struct doca_sync_event *se;
	struct doca_devinfo **list;
	struct doca_dev *sf = NULL;
	const uint8_t *data;
	uint64_t handle;
	struct rig r;
	uint32_t n;
	size_t sz;

	rig_start(&r);
	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n; i++) {
		char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];

		OK(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		if (!strncmp(name, "dpa0", 4) && strcmp(name, "dpa0") != 0)
			OK(doca_dev_open(list[i], &sf));
	}
	OK(doca_devinfo_destroy_list(list));
	cr_assert(sf);
	se = of_peers(&r);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &data, &sz));
	OK(doca_sync_event_remote_net_create_from_export(sf, data, sz, &remote));
	IS(doca_sync_event_remote_net_get_dpa_handle(remote, r.dpa, &handle), NOT_SUPPORTED);
	OK(doca_sync_event_remote_net_destroy(remote));
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(sf));
	rig_destroy(&r);
}
