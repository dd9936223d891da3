/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * device.c - attributes of our functions for netlink: from their files in sysfs, read through the
 * preload, and from the settings. A request for a port or for resources loads the provider's
 * library. A list of devices does not, because libibverbs requests it before it loads its
 * providers.
 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../providers/dpa/discovery/discovery.h"
#include "../preload.h"
#include "knobs.h"
#include "nl.h"
#include "port/port.h"

#define NDEV_TRIES 16 /* indices of the GID table in which an interface is searched */

/* Reads a file of the device's folder in sysfs, without its end of line. False: there is none. */
static bool read_device_text(const char *device, const char *name, char *text, size_t len)
{
	char path[400];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", device, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, len - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static uint64_t read_number(const char *device, const char *name)
{
	char text[64];

	return read_device_text(device, name, text, sizeof(text)) ? strtoull(text, NULL, 0) : 0;
}

static bool nl_device_of(void *arg, unsigned function, struct nl_device *d)
{
	struct dpa_config cfg;
	char err[512];

	if (function >= pl_functions())
		return false;
	pl_entry_name(PL_DEVICE, function, d->name, sizeof(d->name));
	pl_entry_name(PL_UVERBS, function, d->uverbs, sizeof(d->uverbs));
	if (!read_device_text(d->name, "fw_ver", d->fw, sizeof(d->fw)))
		d->fw[0] = '\0';
	d->node_guid = be64toh(dpa_port_node_guid(function));
	d->sys_image_guid = be64toh(dpa_port_node_guid(0));
	d->node_type = (uint8_t)read_number(d->name, "node_type");
	d->caps = DPA_DEVICE_CAPS;
	if (dpa_config_load(&cfg, err, sizeof(err)) == 0) {
		d->lid = dpa_cfg_lid(&cfg, function);
		d->sm_lid = d->lid ? dpa_cfg_lid(&cfg, 0) : 0;
		d->ib = d->lid != 0;
	}
	return true;
}

/* Finds the interface of the first GID that has one. */
static void find_interface(const char *device, struct nl_port *p)
{
	char name[48];

	for (int i = 0; i < NDEV_TRIES && !p->ifindex; i++) {
		snprintf(name, sizeof(name), "ports/1/gid_attrs/ndevs/%d", i);
		if (read_device_text(device, name, p->ifname, sizeof(p->ifname)))
			p->ifindex = if_nametoindex(p->ifname);
	}
}

static bool nl_port_of(void *arg, unsigned function, struct nl_port *p)
{
	char name[32];

	pl_entry_name(PL_DEVICE, function, name, sizeof(name));
	p->state = (uint8_t)read_number(name, "ports/1/state");
	p->phys_state = (uint8_t)read_number(name, "ports/1/phys_state");
	p->caps = read_number(name, "ports/1/cap_mask");
	find_interface(name, p);
	return p->state != 0;
}

/* Lines "NAME NUMBER". The adapter does not record the function on which an object was created. */
static int fill_counts(void *arg, unsigned function, struct nl_count c[NL_COUNTS])
{
	char text[512], *line, *next = text;
	int n = 0, len;

	if (function)
		return 0;
	len = pl_port_text(function, "adapter/counts", text, sizeof(text));
	if (len < 0)
		return -EOPNOTSUPP;
	while (n < NL_COUNTS && (line = strsep(&next, "\n")) && *line)
		if (sscanf(line, "%15s %" SCNu64, c[n].name, &c[n].n) == 2)
			n++;
	return n;
}

/* The files of ports/1/hw_counters. The kernel's `lifespan` is not a counter. */
static int each_counter(void *arg, unsigned function, nl_counter_fn *fn, void *fn_arg)
{
	char name[32], path[128], file[300], text[32];
	const struct dirent *e;
	DIR *d;

	pl_entry_name(PL_DEVICE, function, name, sizeof(name));
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters", name);
	d = opendir(path);
	if (!d)
		return -EOPNOTSUPP;
	while ((e = readdir(d))) {
		snprintf(file, sizeof(file), "ports/1/hw_counters/%s", e->d_name);
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lifespan") != 0 &&
		    read_device_text(name, file, text, sizeof(text)))
			fn(fn_arg, e->d_name, strtoull(text, NULL, 10));
	}
	closedir(d);
	return 0;
}

/* Lines "QPN TYPE STATE PEER PID PSN", as numbers; the QPNs ascend. */
static int each_device_qp(void *arg, unsigned function, nl_qp_fn *fn, void *fn_arg)
{
	char text[4096], name[48], *line, *next;
	struct nl_qp qp = {0};
	uint32_t from;
	int len, ret = 0;

	if (function)
		return 0;
	do {
		from = qp.qpn + 1;
		snprintf(name, sizeof(name), "adapter/qps/%u", from);
		len = pl_port_text(function, name, text, sizeof(text));
		if (len < 0)
			return -EOPNOTSUPP;
		for (next = text; !ret && (line = strsep(&next, "\n")) && *line;)
			if (sscanf(line, "%u %hhu %hhu %u %u %u", &qp.qpn, &qp.type, &qp.state,
				   &qp.dest_qpn, &qp.pid, &qp.sq_psn) == 6)
				ret = fn(fn_arg, &qp);
	} while (len > 0 && !ret && qp.qpn >= from);
	return ret;
}

static bool parse_gid(const char *hex, unsigned port, struct sockaddr_storage *to)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;
	uint8_t gid[16];

	memset(to, 0, sizeof(*to));
	for (int i = 0; i < 16; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &gid[i]) != 1)
			return false;
	if (memcmp(gid, mapped, sizeof(mapped)) == 0) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		memcpy(&in->sin_addr, gid + 12, 4);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)port);
		memcpy(&in6->sin6_addr, gid, 16);
	}
	return true;
}

/* Converts the driver's enum dpav_cm_qp to the kernel's enum ib_qp_type. */
static uint8_t cm_qp_type(unsigned type)
{
	static const uint8_t types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
					IBV_QPT_UD};

	return type < sizeof(types) ? types[type] : UINT8_MAX;
}

/* Parses a line of the list below. False: it is invalid. */
static bool parse_cm_id(const char *line, uint32_t *at, struct nl_cm_id *id)
{
	unsigned state, type, sport, dport;
	char src[33], dst[33];

	if (sscanf(line, "%u %u %u %u %u %32s %u %32s %u", at, &id->pid, &state, &id->ps, &type,
		   src, &sport, dst, &dport) != 9 ||
	    strlen(src) != 32 || !parse_gid(src, sport, &id->src))
		return false;
	if (strlen(dst) != 32 || !parse_gid(dst, dport, &id->dst))
		id->dst.ss_family = 0;
	id->idn = *at + 1;
	id->state = (uint8_t)state;
	id->type = cm_qp_type(type);
	return true;
}

/* Lines "NUMBER PID STATE PS TYPE SOURCE PORT DESTINATION PORT"; the numbers ascend. */
static int cm_ids(void *arg, unsigned function, nl_cm_id_fn *fn, void *fn_arg)
{
	char text[4096], name[48], *line, *next;
	struct nl_cm_id id;
	uint32_t from, at = 0, next_at = 0;
	int len, ret = 0;

	if (function)
		return 0;
	do {
		from = next_at;
		snprintf(name, sizeof(name), "adapter/cm_ids/%u", from);
		len = pl_port_text(function, name, text, sizeof(text));
		if (len < 0)
			return -EOPNOTSUPP;
		for (next = text; !ret && (line = strsep(&next, "\n")) && *line;)
			if (parse_cm_id(line, &at, &id))
				ret = fn(fn_arg, &id);
		next_at = at + 1;
	} while (len > 0 && !ret && at >= from);
	return ret;
}

/*
 * By system calls, because socket() of the library would lead back here. A kernel without RDMA
 * loads ib_core for such a socket; afterwards no program on this host reads SYSFS_PATH any more.
 * Therefore the socket is created only if the kernel has RDMA already, or for a request that must
 * load it.
 */
static int ask_kernel(void *arg, bool load)
{
	struct timeval limit = {.tv_sec = 10};
	int fd;

	if (!load && syscall(SYS_faccessat, AT_FDCWD, "/sys/module/ib_core", F_OK) < 0)
		return -EPROTONOSUPPORT;
	fd = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

/*
 * True if there are real devices in the folder that libibverbs reads. The next readdir(), because
 * ours adds our entries.
 */
static bool is_listed(void *arg)
{
	const char *root = getenv("SYSFS_PATH");
	const struct dirent *e;
	char path[PATH_MAX];
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "%s/class/infiniband_verbs", root ? root : "/sys");
	d = PL_NEXT(opendir)(path);
	while (d && !found && (e = PL_NEXT(readdir)(d)))
		found = strncmp(e->d_name, "uverbs", 6) == 0 &&
			strncmp(e->d_name, PL_UVERBS, strlen(PL_UVERBS)) != 0;
	if (d)
		PL_NEXT(closedir)(d);
	return found;
}

bool nl_sysfs_only(void)
{
	int err = errno, fd = ask_kernel(NULL, false);
	bool only = fd < 0 && is_listed(NULL);

	if (fd >= 0)
		close(fd);
	errno = err;
	return only;
}

void nl_device_env(struct nl_env *env)
{
	env->device = nl_device_of;
	env->port = nl_port_of;
	env->counts = fill_counts;
	env->qps = each_device_qp;
	env->cm_ids = cm_ids;
	env->counters = each_counter;
	env->kernel = ask_kernel;
	env->listed = is_listed;
}
