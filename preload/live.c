/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * live.c - files of sysfs whose text depends on the host or changes. An open generates the text and
 * puts it into a memfd.
 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../providers/dpa/discovery/discovery.h"
#include "dpa_hw_counters.h"
#include "place.h"
#include "port/port.h"
#include "preload.h"

#define PCI_BUS "/devices/pcid9a0:00/d9a0:00:00."
enum {
	NAMES_LEN = 4096, /* for the interfaces of a function */
	CONFIG_LEN = 256, /* for a PCI function's configuration space */
};

/* Returns what follows the folder of a PCI function of ours: "/..." or ""; NULL: another path. */
static const char *in_pci(const char *rest, unsigned *function)
{
	size_t len = strlen(PCI_BUS);

	if (strncmp(rest, PCI_BUS, len) != 0 || rest[len] < '0' || rest[len] > '7')
		return NULL;
	*function = (unsigned)(rest[len] - '0');
	if (*function && *function >= pl_functions())
		return NULL;
	rest += len + 1;
	return *rest == '/' || *rest == '\0' ? rest : NULL;
}

/* Returns what follows the folder of the RDMA device, for example "/ports/1". */
static const char *path_in_device(const char *pci, unsigned function)
{
	char folder[48] = "/infiniband/";
	size_t n = strlen(folder);

	pl_entry_name(PL_DEVICE, function, folder + n, sizeof(folder) - n);
	return pl_below(pci, folder);
}

static bool one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static const char *const pci_files[] = {"config", "local_cpulist", "local_cpus", "numa_node", NULL};
static const char *const device_files[] = {"node_guid", "sys_image_guid", NULL};
static const char *const port_files[] = {"link_layer", "lid",	"phys_state", "rate",
					 "sm_lid",     "state", NULL};
static const char *const index_folders[] = {"gids", "gid_attrs/ndevs", "gid_attrs/types", NULL};

/* For dpa0: the adapter does not record which function sent a packet. */
static const struct {
	const char *folder;
	const char *const *names;
} counters[] = {
#define X(name) #name,
	{"counters", (const char *const[]){DPA_PORT_COUNTERS(X) NULL}},
	{"hw_counters", (const char *const[]){DPA_HW_COUNTERS(X) NULL}},
#undef X
};
#define NUM_COUNTERS (sizeof(counters) / sizeof(counters[0]))

/* True if port is a path such as "gids/3", with an index of the GID table. */
static bool is_index(const char *port, const char *folder)
{
	const char *in = pl_below(port, folder);
	char *end;

	if (!in || in[0] != '/' || in[1] < '0' || in[1] > '9' || (in[1] == '0' && in[2]))
		return false;
	return strtoul(in + 1, &end, 10) < DPA_MAX_GIDS && !*end;
}

static bool is_port_file(const char *name, unsigned function)
{
	if (one_of(name, port_files))
		return true;
	for (size_t i = 0; !function && i < NUM_COUNTERS; i++) {
		const char *in = pl_below(name, counters[i].folder);

		if (in && *in && one_of(in + 1, counters[i].names))
			return true;
	}
	for (size_t i = 0; index_folders[i]; i++)
		if (is_index(name, index_folders[i]))
			return true;
	return false;
}

const char *pl_live_name(const char *rest, unsigned *function)
{
	const char *pci = in_pci(rest, function), *dev, *port;

	if (!pci || *pci == '\0')
		return NULL;
	if (one_of(pci + 1, pci_files))
		return pci + 1;
	dev = path_in_device(pci, *function);
	if (!dev || *dev == '\0')
		return NULL;
	if (one_of(dev + 1, device_files))
		return dev + 1;
	port = pl_below(dev, "/ports/1");
	return port && *port && is_port_file(port + 1, *function) ? dev + 1 : NULL;
}

int pl_port_text(unsigned function, const char *name, char *text, size_t len)
{
	static _Atomic(dpadv_port_file_fn *) cache;
	dpadv_port_file_fn *fn = atomic_load_explicit(&cache, memory_order_acquire);
	char path[PATH_MAX + 32];
	void *lib;

	if (!fn) {
		snprintf(path, sizeof(path), "%s/libdpadv.so.1", pl_libdir());
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		fn = lib ? (dpadv_port_file_fn *)dlsym(lib, "dpadv_port_file") : NULL;
		if (!fn) {
			errno = ENOENT;
			return -1;
		}
		atomic_store_explicit(&cache, fn, memory_order_release);
	}
	return fn(function, name, text, len);
}

/* Reads the interfaces of a function, one a line, in the order of its GIDs. */
static bool read_netdevs(unsigned function, char text[NAMES_LEN])
{
	int err = errno, len = pl_port_text(function, "netdevs", text, NAMES_LEN);

	errno = err;
	return len > 0;
}

static bool add_netdevs(unsigned function, pl_add_fn *add, void *arg)
{
	char names[NAMES_LEN], *save, *name;

	if (!read_netdevs(function, names))
		return true;
	for (name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save))
		if (!add(arg, name, DT_LNK))
			return false;
	return true;
}

static bool add_indices(pl_add_fn *add, void *arg)
{
	char name[8];

	for (unsigned i = 0; i < DPA_MAX_GIDS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (!add(arg, name, DT_REG))
			return false;
	}
	return true;
}

static bool add_port_entries(const char *folder, unsigned function, pl_add_fn *add, void *arg)
{
	if (one_of(folder, index_folders))
		return add_indices(add, arg);
	for (size_t i = 0; !function && i < NUM_COUNTERS; i++) {
		if (strcmp(folder, counters[i].folder) != 0)
			continue;
		for (const char *const *name = counters[i].names; *name; name++)
			if (!add(arg, *name, DT_REG))
				return false;
	}
	return true;
}

bool pl_live_entries(const char *rest, pl_add_fn *add, void *arg)
{
	unsigned function;
	const char *pci = in_pci(rest, &function), *dev, *port;

	if (!pci)
		return true;
	if (*pci == '\0')
		return add(arg, "config", DT_REG);
	if (strcmp(pci, "/net") == 0)
		return add_netdevs(function, add, arg);
	dev = path_in_device(pci, function);
	port = dev ? pl_below(dev, "/ports/1") : NULL;
	return port && *port ? add_port_entries(port + 1, function, add, arg) : true;
}

bool pl_live_link(const char *rest, char *target, size_t len)
{
	unsigned function;
	const char *pci = in_pci(rest, &function), *name = pci ? pl_below(pci, "/net") : NULL;
	char names[NAMES_LEN + 1] = "\n", line[IF_NAMESIZE + 2];

	if (!name || !*name || strlen(++name) >= IF_NAMESIZE || strchr(name, '/'))
		return false;
	snprintf(line, sizeof(line), "\n%s\n", name);
	if (!read_netdevs(function, names + 1) || !strstr(names, line))
		return false;
	snprintf(target, len, "../../../../class/net/%s", name);
	return true;
}

/* Reads a file of the host; 0: there is none, or it is empty. */
static size_t read_host(const char *path, char *text, size_t len)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, len - 1);
	syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/*
 * Parses a list of CPUs such as "0-3,8" and sets bits in mask. Returns the number of the last one;
 * -1: not a list.
 */
static long parse_cpus(const char *list, uint32_t *mask, size_t words)
{
	long last = -1;
	char *end;

	for (const char *p = list; *p >= '0' && *p <= '9'; p = *end == ',' ? end + 1 : end) {
		unsigned long from = strtoul(p, &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = from; cpu <= to && cpu / 32 < words; cpu++) {
			mask[cpu / 32] |= UINT32_C(1) << cpu % 32;
			last = (long)cpu;
		}
	}
	return last;
}

/*
 * The adapter is software on the host's processors: all online processors are local. It has a NUMA
 * node only on a host with one node.
 */
static int cpu_text(const char *name, char *text, size_t len)
{
	uint32_t mask[512] = {0};
	char list[1024] = "0\n";
	int at = 0;
	long word;

	if (strcmp(name, "numa_node") == 0) {
		(void)read_host("/sys/devices/system/node/online", list, sizeof(list));
		return snprintf(text, len, "%s\n", strcmp(list, "0\n") == 0 ? "0" : "-1");
	}
	(void)read_host("/sys/devices/system/cpu/online", list, sizeof(list));
	if (strcmp(name, "local_cpulist") == 0)
		return snprintf(text, len, "%s", list);
	word = parse_cpus(list, mask, sizeof(mask) / sizeof(mask[0])) / 32;
	for (at += snprintf(text, len, "%x", mask[word]); word-- > 0;)
		at += snprintf(text + at, len - (size_t)at, ",%08x", mask[word]);
	return at + snprintf(text + at, len - (size_t)at, "\n");
}

/* Builds the header of a PCI function from the values of the tree's files. */
static int config_space(unsigned function, char *text)
{
	static const uint8_t header[0x30] = {
		[0x00] = 0xa0, 0xd9, 0xa0, 0xd0, /* vendor and device */
		[0x08] = 0x01, 0x00, 0x07, 0x02, /* revision and class */
		[0x2c] = 0xa0, 0xd9, 0x01, 0x00, /* of the subsystem */
	};

	memset(text, 0, CONFIG_LEN);
	memcpy(text, header, sizeof(header));
	text[0x0e] = function || pl_functions() > 1 ? (char)0x80 : 0; /* one of several */
	return CONFIG_LEN;
}

static int guid_text(unsigned function, char *text, size_t len)
{
	uint64_t guid = be64toh(dpa_port_node_guid(function));

	return snprintf(text, len, "%04x:%04x:%04x:%04x\n", (unsigned)(guid >> 48),
			(unsigned)(guid >> 32) & 0xffff, (unsigned)(guid >> 16) & 0xffff,
			(unsigned)guid & 0xffff);
}

static int live_text(unsigned function, const char *name, char *text, size_t len)
{
	if (strncmp(name, "ports/1/", 8) == 0)
		return pl_port_text(function, name + 8, text, len);
	if (strcmp(name, "node_guid") == 0)
		return guid_text(function, text, len);
	if (strcmp(name, "sys_image_guid") == 0)
		return guid_text(0, text, len);
	if (strcmp(name, "config") == 0)
		return config_space(function, text);
	return cpu_text(name, text, len);
}

/*
 * Each open creates a memfd whose name contains the function and the file. stat() returns a hash of
 * that name as the memfd's inode number, so that a program that compares the file before and after
 * the open (cp) sees one file. memfd_dev is 0 until the first open.
 */
static _Atomic dev_t memfd_dev;
#define MEMFD_NAME PL_DEVICE ":%u:%s"
#define MEMFD_LINK "/memfd:" PL_DEVICE ":"

void pl_live_look(unsigned function, const char *name, struct stat *st)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + function; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	st->st_ino = h | UINT64_C(1) << 63; /* memfds have small inode numbers */
	st->st_mode = S_IFREG | 0444;
	st->st_nlink = 1;
}

bool pl_is_live(const char *fd_path)
{
	return strncmp(fd_path, MEMFD_LINK, strlen(MEMFD_LINK)) == 0;
}

static PL_OUT_OF_LINE void look_like_file(int fd, struct stat *st)
{
	char name[200], *end;
	unsigned function;

	if (!pl_fd_path(fd, name, sizeof(name)) || !pl_is_live(name))
		return;
	end = strstr(name, " (deleted)");
	if (!end)
		return;
	*end = '\0';
	function = (unsigned)strtoul(name + strlen(MEMFD_LINK), &end, 10);
	pl_live_look(function, end + 1, st);
}

void pl_live_fix(int fd, struct stat *st)
{
	dev_t dev = atomic_load_explicit(&memfd_dev, memory_order_relaxed);
	int err = errno;

	if (__builtin_expect(dev && st->st_dev == dev && st->st_nlink == 0, 0)) {
		look_like_file(fd, st);
		errno = err;
	}
}

/*
 * Opens a memfd once more with the program's flags, and closes it. Without /proc returns the memfd
 * itself; -1 and errno on failure.
 */
static int open_again(int fd, int flags)
{
	char link[PL_FD_LINK];
	int again, err;

	pl_fd_link(fd, link);
	again = (int)syscall(SYS_openat, AT_FDCWD, link, flags & ~O_NOFOLLOW);
	err = errno;
	if (again < 0 && err == ENOENT) {
		(void)fcntl(fd, F_SETFD, flags & O_CLOEXEC ? FD_CLOEXEC : 0);
		return fd;
	}
	syscall(SYS_close, fd);
	errno = err;
	return again;
}

int pl_live_open(unsigned function, const char *name, int flags)
{
	char text[8192], label[160];
	int len, fd, err;
	struct stat st;

	len = live_text(function, name, text, sizeof(text));
	if (len < 0)
		return -1;
	snprintf(label, sizeof(label), MEMFD_NAME, function, name);
	fd = memfd_create(label, MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0)
		atomic_store_explicit(&memfd_dev, st.st_dev, memory_order_relaxed);
	if (pwrite(fd, text, (size_t)len, 0) == len)
		return open_again(fd, flags);
	err = errno;
	syscall(SYS_close, fd);
	errno = err;
	return -1;
}
