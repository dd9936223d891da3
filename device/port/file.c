/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* file.c - the GID table as files of sysfs, for programs that read those (UCX, ibstat). */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/port.h"

/*
 * The port whose table is shown. The lock keeps it from being removed meanwhile. A process that
 * only reads never waits for the lock: in a forked child it may be held by a thread that does not
 * exist there.
 */
static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dpa_port *current;

void dpa_port_publish(struct dpa_port *port)
{
	pthread_mutex_lock(&current_lock);
	if (!current)
		current = port;
	pthread_mutex_unlock(&current_lock);
}

void dpa_port_withdraw(struct dpa_port *port)
{
	pthread_mutex_lock(&current_lock);
	if (current == port)
		current = NULL;
	pthread_mutex_unlock(&current_lock);
}

void dpa_port_withdraw_in_child(void)
{
	pthread_mutex_init(&current_lock, NULL);
	current = NULL;
}

static int gid_text(const struct dpa_hw_gid *g, char *text, size_t len)
{
	int at = 0;

	for (int i = 0; i < 16; i += 2)
		at += snprintf(text + at, len - (size_t)at, "%02x%02x%c", g->gid[i], g->gid[i + 1],
			       i < 14 ? ':' : '\n');
	return at;
}

/* EINVAL for the derived GID, as in the kernel: it belongs to no interface. */
static int ndev_text(const struct dpa_hw_gid *g, char *text, size_t len)
{
	char name[IF_NAMESIZE];

	if (!g->ifindex || !if_indextoname(g->ifindex, name)) {
		errno = EINVAL;
		return -1;
	}
	return snprintf(text, len, "%s\n", name);
}

static int index_text(struct dpa_port *port, const char *folder, uint32_t index, char *text,
		      size_t len)
{
	struct dpa_hw_gid gid = {0};
	int ret = -1;

	if (dpa_port_gid(port, index, &gid) && strcmp(folder, "gids") != 0)
		errno = EINVAL;
	else if (strcmp(folder, "gids") == 0)
		ret = gid_text(&gid, text, len); /* an empty entry is all zeros, as in the kernel */
	else if (strcmp(folder, "gid_attrs/types") == 0)
		ret = snprintf(text, len, "RoCE v2\n");
	else if (strcmp(folder, "gid_attrs/ndevs") == 0)
		ret = ndev_text(&gid, text, len);
	else
		errno = ENOENT;
	return ret;
}

/* Writes the names of the interfaces that have GIDs, one a line, in the order of the table. */
static int netdevs_text(struct dpa_port *port, char *text, size_t len)
{
	char line[IF_NAMESIZE + 2] = "\n", *name = line + 1;
	struct dpa_hw_gid gid;
	size_t at = 1;

	if (len < 2)
		return 0;
	text[0] = '\n'; /* for the search; removed at the end */
	text[1] = '\0';
	for (uint32_t i = 0; i < DPA_MAX_GIDS; i++) {
		if (dpa_port_gid(port, i, &gid) || ndev_text(&gid, name, sizeof(line) - 1) < 0)
			continue;
		if (strstr(text, line) || at + strlen(name) >= len)
			continue;
		strcpy(text + at, name);
		at += strlen(name);
	}
	memmove(text, text + 1, at);
	return (int)at - 1;
}

/* "gids/3" and its kin */
static int in_folder(struct dpa_port *port, const char *name, char *text, size_t len)
{
	const char *slash = strrchr(name, '/');
	char folder[32], *end;
	unsigned long index;

	errno = ENOENT;
	if (!slash || (size_t)(slash - name) >= sizeof(folder) || slash[1] < '0' || slash[1] > '9')
		return -1;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - name), name);
	index = strtoul(slash + 1, &end, 10);
	if (*end || index >= DPA_MAX_GIDS)
		return -1;
	return index_text(port, folder, (uint32_t)index, text, len);
}

static int port_file_text(struct dpa_port *port, const char *name, char *text, size_t len)
{
	struct dpa_hw_port_attr attr = {0};
	bool active;

	if (strcmp(name, "netdevs") == 0)
		return netdevs_text(port, text, len);
	if (strcmp(name, "state") != 0 && strcmp(name, "phys_state") != 0)
		return in_folder(port, name, text, len);
	dpa_port_attr(port, &attr);
	active = attr.state == DPA_PORT_ACTIVE;
	if (strcmp(name, "state") == 0)
		return snprintf(text, len, "%s\n", active ? "4: ACTIVE" : "1: DOWN");
	return snprintf(text, len, "%s\n", active ? "5: LinkUp" : "3: Disabled");
}

/* The same from a table that is made for this call only. */
static int namespace_text(uint32_t function, const char *ifname, uint32_t order, const char *name,
			  char *text, size_t len)
{
	struct dpa_port *port = malloc(sizeof(*port)), *of;
	int ret = -1;

	if (port && dpa_port_init(port, (enum dpa_cfg_gid_order)order) == 0) {
		of = dpa_port_function(port, function, ifname);
		if (of)
			ret = port_file_text(of, name, text, len);
		dpa_port_fini(port);
	}
	free(port);
	return ret;
}

int dpa_hw_port_file(uint32_t function, const char *ifname, uint32_t order, const char *name,
		     char *text, size_t len)
{
	struct dpa_port *of;
	int ret = -1;

	errno = ENOENT;
	if (function >= DPA_MAX_FUNCTIONS || len < 64)
		return -1;
	if (pthread_mutex_trylock(&current_lock) == 0) {
		of = !current ? NULL
		     : !function && !ifname[0]
			     ? current
			     : atomic_load_explicit(&current->sf[function], memory_order_acquire);
		if (of)
			ret = port_file_text(of, name, text, len);
		pthread_mutex_unlock(&current_lock);
		if (of)
			return ret;
	}
	return namespace_text(function, ifname, order, name, text, len);
}

uint64_t dpa_hw_node_guid(uint32_t function)
{
	return dpa_port_node_guid(function);
}
