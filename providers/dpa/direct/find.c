/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * find.c - finds the provider behind libdpadv.so.1. libibverbs loads the file with its private ABI
 * number in its name, from any folder (IBV_DRIVERS). The provider is found among the loaded
 * libraries. So this library works with any number, and there is no second copy of the device in
 * the process.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "find.h"

#define MAX_LOADED   4 /* several installations are possible, by IBV_DRIVERS */
#define FIRST_NUMBER 34
#define LAST_NUMBER  127

static _Atomic(const struct dpadv_table *) found;

const struct dpadv_table *dpadv_found(void)
{
	return atomic_load_explicit(&found, memory_order_acquire);
}

/* Refuses a build with another table or other formats. */
static const struct dpadv_table *table_in(const char *path, int flags)
{
	void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL | flags);
	const struct dpadv_table *t = lib ? dlsym(lib, "dpadv_table") : NULL;

	if (t && t->size >= sizeof(*t) && t->hw_version == DPA_HW_VERSION)
		return t;
	if (lib)
		dlclose(lib);
	return NULL;
}

struct loaded {
	int num;
	char path[MAX_LOADED][PATH_MAX];
};

/* Records the path only. Context: the loader's lock. */
static int note_provider(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char prefix[] = "libdpa-rdmav";
	struct loaded *l = arg;
	const char *base = strrchr(info->dlpi_name, '/');

	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, prefix, sizeof(prefix) - 1) || strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	strcpy(l->path[l->num++], info->dlpi_name);
	return l->num == MAX_LOADED;
}

/* device: NULL for any */
static const struct dpadv_table *among_loaded(struct ibv_device *device)
{
	struct loaded l = {0};
	const struct dpadv_table *t;

	dl_iterate_phdr(note_provider, &l);
	for (int i = 0; i < l.num; i++) {
		t = table_in(l.path[i], RTLD_NOLOAD);
		if (t && (!device || t->is_supported(device)))
			return t;
	}
	return NULL;
}

const struct dpadv_table *dpadv_find(struct ibv_device *device)
{
	const struct dpadv_table *t = dpadv_found();

	if (t && t->is_supported(device))
		return t;
	t = among_loaded(device);
	if (t)
		atomic_store_explicit(&found, t, memory_order_release);
	return t;
}

/* Returns N of the version node IBVERBS_PRIVATE_N; 0: no libibverbs, or one without such a node. */
static int private_number(void)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
	char node[32];

	for (int n = FIRST_NUMBER; lib && n <= LAST_NUMBER; n++) {
		snprintf(node, sizeof(node), "IBVERBS_PRIVATE_%d", n);
		if (dlvsym(lib, "verbs_set_ops", node))
			return n;
	}
	return 0;
}

static const struct dpadv_table *beside_us(void)
{
	/* when installed; in a build folder */
	static const char *const folders[] = {"/libibverbs", ""};
	int number = private_number();
	const struct dpadv_table *t = NULL;
	char path[PATH_MAX];
	Dl_info self;
	const char *slash;

	if (!number || !dladdr((void *)&found, &self))
		return NULL;
	slash = strrchr(self.dli_fname, '/');
	for (int i = 0; slash && !t && i < 2; i++)
		if ((size_t)snprintf(path, sizeof(path), "%.*s%s/libdpa-rdmav%d.so",
				     (int)(slash - self.dli_fname), self.dli_fname, folders[i],
				     number) < sizeof(path))
			t = table_in(path, 0);
	return t;
}

const struct dpadv_table *dpadv_any(void)
{
	const struct dpadv_table *t = dpadv_found();

	if (!t)
		t = among_loaded(NULL);
	return t ? t : beside_us();
}
