/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_pci.c - sync events of two processes that map the same page. */
#include "../host.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <doca_sync_event.h>

TestSuite(sync_pci, .timeout = 60);

static struct doca_sync_event *new_event(struct doca_dev *dev)
{
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, dev));
	OK(doca_sync_event_add_publisher_location_remote_pci(se));
	OK(doca_sync_event_add_subscriber_location_cpu(se, dev));
	OK(doca_sync_event_add_subscriber_location_remote_pci(se));
	return se;
}

static struct doca_dev *other_device(void)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	OK(doca_dev_open(list[0], &dev)); /* "other0", which is no dpa */
	OK(doca_devinfo_destroy_list(list));
	return dev;
}

enum { ROUNDS = 300 };

/* The child answers each value of one event by the same value of another. */
static int child(int fd)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se[2];
	uint8_t blob[64];
	uint64_t v;

	for (int i = 0; i < 2; i++) {
		size_t sz;

		if (read(fd, &sz, sizeof(sz)) != sizeof(sz) || sz > sizeof(blob) ||
		    read(fd, blob, sz) != (ssize_t)sz ||
		    doca_sync_event_create_from_export(dev, blob, sz, &se[i]) ||
		    doca_sync_event_start(se[i]))
			return 1;
	}
	for (uint64_t i = 1; i <= ROUNDS; i++)
		if (doca_sync_event_wait_gt(se[0], i - 1, ~0ull) ||
		    doca_sync_event_update_add(se[1], 1, &v) || v != i - 1)
			return 2;
	return doca_sync_event_destroy(se[0]) || doca_sync_event_destroy(se[1]) ||
	       doca_dev_close(dev);
}

Test(sync_pci, two_processes)
{
	struct doca_sync_event *se[2];
	struct doca_dev *dev;
	int fds[2], status;
	pid_t pid;
	uint64_t v;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (!pid)
		_exit(child(fds[0]));
	dev = open_dpa0();
	for (int i = 0; i < 2; i++) {
		const uint8_t *data;
		size_t sz;

		se[i] = new_event(dev);
		OK(doca_sync_event_start(se[i]));
		OK(doca_sync_event_export_to_remote_pci(se[i], dev, &data, &sz));
		cr_assert_eq(write(fds[1], &sz, sizeof(sz)), (ssize_t)sizeof(sz));
		cr_assert_eq(write(fds[1], data, sz), (ssize_t)sz);
	}
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		OK(doca_sync_event_update_set(se[0], i));
		if (i % 100 == 0)
			usleep(5000); /* the child sleeps by then */
		OK(doca_sync_event_wait_eq(se[1], i, ~0ull));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	OK(doca_sync_event_get(se[1], &v));
	cr_assert_eq(v, (uint64_t)ROUNDS);
	for (int i = 0; i < 2; i++)
		OK(doca_sync_event_destroy(se[i]));
	OK(doca_dev_close(dev));
}

Test(sync_pci, outlives_its_exporter_and_keeps_its_value)
{
	struct doca_sync_event *se, *imported;
	struct doca_dev *dev = open_dpa0();
	const uint8_t *data;
	uint64_t v, word;
	size_t sz;

	se = new_event(dev);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_update_set(se, 7));
	OK(doca_sync_event_stop(se));
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_pci(se, dev, &data, &sz));
	OK(doca_sync_event_create_from_export(dev, data, sz, &imported));
	IS(doca_sync_event_get(imported, &v), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_remote_net(imported), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_cpu(imported, dev), INVALID_VALUE);
	IS(doca_sync_event_set_addr(imported, &word), NOT_SUPPORTED);
	OK(doca_sync_event_start(imported));
	IS(doca_sync_event_export_to_remote_pci(imported, dev, &data, &sz), NOT_SUPPORTED);
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_get(imported, &v));
	cr_assert_eq(v, 7u);
	OK(doca_sync_event_destroy(imported));
	OK(doca_dev_close(dev));
}

Test(sync_pci, errors)
{
	struct doca_dev *dev = open_dpa0(), *other = other_device();
	struct doca_sync_event *se, *local;
	const uint8_t *data;
	uint64_t word;
	size_t sz;

	IS(doca_sync_event_add_publisher_location_remote_pci(NULL), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_remote_pci(NULL), INVALID_VALUE);
	se = new_event(dev);
	IS(doca_sync_event_export_to_remote_pci(se, dev, &data, &sz), INVALID_VALUE);
	OK(doca_sync_event_start(se));
	IS(doca_sync_event_add_publisher_location_remote_pci(se), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_remote_pci(se), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_pci(NULL, dev, &data, &sz), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_pci(se, NULL, &data, &sz), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_pci(se, dev, NULL, &sz), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_pci(se, dev, &data, NULL), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_pci(se, other, &data, &sz), NOT_SUPPORTED);
	OK(doca_sync_event_stop(se));
	OK(doca_sync_event_set_addr(se, &word));
	OK(doca_sync_event_start(se));
	IS(doca_sync_event_export_to_remote_pci(se, dev, &data, &sz), NOT_SUPPORTED);
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_create(&local));
	OK(doca_sync_event_add_publisher_location_cpu(local, dev));
	OK(doca_sync_event_add_subscriber_location_cpu(local, dev));
	OK(doca_sync_event_start(local));
	IS(doca_sync_event_export_to_remote_pci(local, dev, &data, &sz), NOT_SUPPORTED);
	OK(doca_sync_event_destroy(local));
	IS(doca_sync_event_cap_is_export_to_remote_pci_supported(NULL), INVALID_VALUE);
	IS(doca_sync_event_cap_is_export_to_remote_pci_supported(doca_dev_as_devinfo(other)),
	   NOT_SUPPORTED);
	OK(doca_sync_event_cap_is_export_to_remote_pci_supported(doca_dev_as_devinfo(dev)));
	IS(doca_sync_event_cap_is_create_from_export_supported(NULL), INVALID_VALUE);
	IS(doca_sync_event_cap_is_create_from_export_supported(doca_dev_as_devinfo(other)),
	   NOT_SUPPORTED);
	OK(doca_sync_event_cap_is_create_from_export_supported(doca_dev_as_devinfo(dev)));
	OK(doca_dev_close(other));
	OK(doca_dev_close(dev));
}

/* DOCA: doca_sync_event_create_from_export NO_MEMORY */
Test(sync_pci, no_descriptor_is_left)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se = new_event(dev), *other = new_event(dev), *out;
	struct rlimit some, none;
	const uint8_t *data;
	size_t sz;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &some), 0);
	none = (struct rlimit){.rlim_cur = 3, .rlim_max = some.rlim_max};
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_pci(se, dev, &data, &sz));
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0); /* this test runs in its own process */
	IS(doca_sync_event_create_from_export(dev, data, sz, &out), NO_MEMORY);
	IS(doca_sync_event_start(other), NO_MEMORY);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &some), 0);
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_destroy(other));
	OK(doca_dev_close(dev));
}

/* Input of a stranger: bytes that are no export, descriptors that are no page. */
Test(sync_pci, what_is_no_export)
{
	struct doca_dev *dev = open_dpa0(), *other = other_device();
	struct doca_sync_event *se, *out;
	const uint8_t *data;
	uint8_t bad[64];
	uint32_t fd;
	int pipes[2];
	size_t sz;

	se = new_event(dev);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_pci(se, dev, &data, &sz));
	IS(doca_sync_event_create_from_export(NULL, data, sz, &out), INVALID_VALUE);
	IS(doca_sync_event_create_from_export(dev, NULL, sz, &out), INVALID_VALUE);
	IS(doca_sync_event_create_from_export(dev, data, sz, NULL), INVALID_VALUE);
	IS(doca_sync_event_create_from_export(other, data, sz, &out), NOT_SUPPORTED);
	for (size_t n = 0; n < sz; n++)
		IS(doca_sync_event_create_from_export(dev, data, n, &out), INVALID_VALUE);
	memcpy(bad, data, sz);
	for (size_t i = 0; i < sz; i++) {
		if (i >= 12 && i < 24) /* version, process, descriptor */
			continue;
		bad[i] ^= 1;
		IS(doca_sync_event_create_from_export(dev, bad, sz, &out), INVALID_VALUE);
		bad[i] ^= 1;
	}
	bad[12] ^= 2;
	IS(doca_sync_event_create_from_export(dev, bad, sz, &out), NOT_SUPPORTED);
	bad[12] ^= 2;
	cr_assert_eq(pipe(pipes), 0); /* opening it would block */
	for (int i = 0; i < 4; i++) {
		const int fds[] = {pipes[0], open("/dev/zero", O_RDWR), memfd_create("unsealed", 0),
				   9999};

		cr_assert_eq(ftruncate(fds[2], 4096), 0);
		fd = (uint32_t)fds[i];
		memcpy(bad + 20, &fd, sizeof(fd));
		IS(doca_sync_event_create_from_export(dev, bad, sz, &out), INVALID_VALUE);
		close(fds[1]);
		close(fds[2]);
	}
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(other));
	OK(doca_dev_close(dev));
}
