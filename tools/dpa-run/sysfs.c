/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sysfs.c - dpa0 in /sys itself, in a private mount namespace of the program: for programs that
 * read /sys by direct system calls, as static ones and those in Go do.
 *
 * A tmpfs is mounted over the folders concerned; the host's entries are bound in it, and ours lie
 * beside them. Only such programs depend on it: where it is not possible they see only the host's
 * devices.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpa-run.h"

#define PCI_BUS "devices/pcid9a0:00"

static const char *const rdma_classes[] = {"infiniband", "infiniband_verbs", "infiniband_mad",
					   NULL};

/* Copy the device, in a child to which the preload shows it. */
static bool copy_device(const struct place *pl, const char *to)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		env_preload(pl);
		execl("/proc/self/exe", "dpa-run", "--copy-sysfs", to, (char *)NULL);
		_exit(EXIT_FAILED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Make a link in `folder` to the entry of an SF, or of dpa0 (0), at `path` below its PCI folder. */
static bool link_ours(const char *folder, const char *name, const char *up, unsigned function,
		      const char *path)
{
	char link[PATH_MAX], target[PATH_MAX];

	path_print(link, "%s/%s", folder, name);
	path_print(target, "%s" PCI_BUS "/d9a0:00:00.%u%s", up, function, path);
	return symlink(target, link) == 0 || errno == EEXIST;
}

/* Show one of the classes of RDMA: the host's entries, and ours. */
static bool show_class(const char *classes, const char *name, const struct place *pl, unsigned sfs)
{
	char dir[PATH_MAX], from[PATH_MAX], entry[40], path[PATH_MAX];
	bool ok = true;

	path_print(dir, "%s/%s", classes, name);
	path_print(from, "/sys/class/%s", name);
	if (tree_bind_dir(dir, from, NULL))
		return false;
	/* A tmpfs lists the latest entry first, and programs take the first device. */
	for (unsigned left = sfs + 1; ok && left > 0; left--) {
		unsigned n = left - 1;

		if (strcmp(name, "infiniband") == 0)
			snprintf(entry, sizeof(entry), n ? "dpa0_sf%u" : "dpa0", n);
		else if (strcmp(name, "infiniband_verbs") == 0)
			uverbs_name(n, entry, sizeof(entry));
		else
			break;
		path_print(path, "/%s/%s", name, entry);
		ok = link_ours(dir, entry, "../../", n, path);
	}
	path_print(from, "%s/sysfs/class/%s/abi_version", pl->tree, name);
	path_print(path, "%s/abi_version", dir);
	if (access(from, F_OK) == 0 && symlink(from, path) && errno != EEXIST)
		return false;
	return ok;
}

static bool show_classes(const char *scratch, const struct place *pl, unsigned sfs)
{
	char dir[PATH_MAX];

	path_print(dir, "%s/class", scratch);
	if (tree_bind_dir(dir, "/sys/class", rdma_classes))
		return false;
	for (size_t i = 0; rdma_classes[i]; i++)
		if (!show_class(dir, rdma_classes[i], pl, sfs))
			return false;
	return mount(dir, "/sys/class", NULL, MS_BIND | MS_REC, NULL) == 0;
}

static bool show_devices(const char *scratch, const struct place *pl)
{
	char dir[PATH_MAX], bus[PATH_MAX];

	path_print(dir, "%s/devices", scratch);
	path_print(bus, "%s/" PCI_BUS, scratch);
	return tree_bind_dir(dir, "/sys/devices", NULL) == 0 && copy_device(pl, bus) &&
	       mount(dir, "/sys/devices", NULL, MS_BIND | MS_REC, NULL) == 0;
}

/* Show the PCI devices. A host may have no PCI bus. */
static bool show_pci(const char *scratch, unsigned sfs)
{
	char dir[PATH_MAX], address[40];

	if (access("/sys/bus/pci/devices", F_OK))
		return true;
	path_print(dir, "%s/pci", scratch);
	if (tree_bind_dir(dir, "/sys/bus/pci/devices", NULL))
		return false;
	for (unsigned n = 0; n <= sfs; n++) {
		snprintf(address, sizeof(address), "d9a0:00:00.%u", n);
		if (!link_ours(dir, address, "../../../", n, ""))
			return false;
	}
	return mount(dir, "/sys/bus/pci/devices", NULL, MS_BIND | MS_REC, NULL) == 0;
}

bool sysfs_show(const char *scratch, const struct place *pl, unsigned sfs)
{
	return show_devices(scratch, pl) && show_pci(scratch, sfs) &&
	       show_classes(scratch, pl, sfs);
}
