/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * far_owner.c - exports memory of dpa0, writes the export to standard output (far_owner.h), and
 * does nothing more until it is killed. A program of its own: a child that a test forks would go
 * on with the locks of a sanitizer as another thread of the test left them.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <doca_dev.h>
#include <doca_mmap.h>
#include "far_owner.h"

static void must(doca_error_t err)
{
	if (err != DOCA_SUCCESS)
		exit(1);
}

static struct doca_dev *open_dpa0(void)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	struct doca_dev *dev = NULL;
	uint32_t n;

	must(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !dev; i++) {
		must(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		if (!strcmp(name, "dpa0"))
			must(doca_dev_open(list[i], &dev));
	}
	must(doca_devinfo_destroy_list(list));
	if (!dev)
		exit(1);
	return dev;
}

static struct doca_mmap *map_of(struct doca_dev *dev, char *mem)
{
	struct doca_mmap *m;

	must(doca_mmap_create(&m));
	must(doca_mmap_set_memrange(m, mem, FAR_OWNER_MEM));
	must(doca_mmap_set_permissions(m, DOCA_ACCESS_FLAG_PCI_READ_WRITE));
	must(doca_mmap_add_dev(m, dev));
	must(doca_mmap_start(m));
	return m;
}

int main(void)
{
	struct far_owner o = {.mem = malloc(FAR_OWNER_MEM)};
	struct doca_dev *dev;
	const void *blob;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!o.mem)
		return 1;
	memset(o.mem, FAR_OWNER_BYTE, FAR_OWNER_MEM);
	dev = open_dpa0();
	must(doca_mmap_export_pci(map_of(dev, o.mem), dev, &blob, &o.len));
	if (o.len > sizeof(o.blob))
		return 1;
	memcpy(o.blob, blob, o.len);
	if (write(STDOUT_FILENO, &o, sizeof(o)) != sizeof(o))
		return 1;
	for (;;)
		pause();
}
