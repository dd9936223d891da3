/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * image.c - loading device images. Each context loads its own file, so that the loader gives it its
 * own statics (dlmopen would too, but is limited to about 15 name spaces). The descriptor stays
 * open while the image is loaded: the loader identifies objects by path, and /proc/self/fd/N must
 * not refer to another file.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../run/ops.h"
#include "libdpa.h"

/*
 * Load from a file that is unlinked afterwards: for systems where memfds cannot be executed, or
 * without /proc.
 */
static int load_from_file(const struct doca_dpa_app *app, struct dpa_loaded *out)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int ret;

	snprintf(path, sizeof(path), "%s/dpa-image-XXXXXX", dir && *dir ? dir : "/tmp");
	out->fd = mkostemp(path, O_CLOEXEC);
	if (out->fd < 0)
		return errno;
	ret = dpa_write_all(out->fd, app->image, app->image_size);
	if (!ret) {
		out->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		ret = out->dl ? 0 : ENOEXEC;
	}
	unlink(path);
	if (ret)
		close(out->fd);
	return ret;
}

static int load_from_memfd(const struct doca_dpa_app *app, struct dpa_loaded *out)
{
	char path[64];
	int ret;

	out->fd = memfd_create("dpa-image", MFD_CLOEXEC);
	if (out->fd < 0)
		return errno;
	ret = dpa_write_all(out->fd, app->image, app->image_size);
	if (!ret) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", out->fd);
		out->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		ret = out->dl ? 0 : ENOEXEC;
	}
	if (ret)
		close(out->fd);
	return ret;
}

/* Touch the image, so that neither the search for an entry nor its first call waits for pages. */
static void touch_image(const struct dpa_image *image)
{
	for (uint64_t i = 0; i < image->num_entries; i++) {
		(void)*(const volatile char *)image->entries[i].name;
		(void)*(const volatile char *)(uintptr_t)image->entries[i].fn;
		if (image->entries[i].call)
			(void)*(const volatile char *)(uintptr_t)image->entries[i].call;
	}
}

int dpa_image_load(const struct doca_dpa_app *app, struct dpa_loaded *out)
{
	int ret = load_from_memfd(app, out);

	if (ret)
		ret = load_from_file(app, out);
	if (ret)
		return ret;
	out->image = dlsym(out->dl, "__dpa_image");
	if (!out->image || out->image->magic != DPA_IMAGE_MAGIC ||
	    out->image->version != DPA_IMAGE_VERSION) {
		dpa_image_unload(out);
		return ENOEXEC;
	}
	*out->image->ops = &dpa_ops_table;
	touch_image(out->image);
	return 0;
}

void dpa_image_unload(struct dpa_loaded *img)
{
	if (!img->dl)
		return;
	dlclose(img->dl);
	close(img->fd);
	memset(img, 0, sizeof(*img));
}

const struct dpa_image_entry *dpa_image_entry(const struct dpa_loaded *img, const char *name)
{
	for (uint64_t i = 0; i < img->image->num_entries; i++)
		if (!strcmp(img->image->entries[i].name, name))
			return &img->image->entries[i];
	return NULL;
}

const struct dpa_app_entry *dpa_app_find(const struct doca_dpa_app *app, doca_dpa_func_t *func)
{
	for (uint64_t i = 0; i < app->num_entries; i++)
		if (app->entries[i].stub == func)
			return &app->entries[i];
	return NULL;
}
