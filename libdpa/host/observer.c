/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* observer.c - the context that the provider creates in an unmodified program, for an observer. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "libdpa.h"
#include "observer.h"

#define QUEUE	65536
#define EXIT_MS 1000

static struct {
	struct doca_dpa_app app;
	struct dpa_app_entry entry;
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	struct doca_dpa_completion *comp;
} obs;

static void observer_stub(void)
{
}

/* Map the file of the image; it stays mapped: the context and its crash files refer to it. */
static int map_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;
	struct stat st;
	void *p;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st))
		ret = errno;
	else if (!S_ISREG(st.st_mode) || st.st_size == 0)
		ret = ENOEXEC;
	if (!ret) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			ret = errno;
		obs.app.image = p;
		obs.app.image_size = (uint64_t)st.st_size;
	}
	close(fd);
	return ret;
}

static doca_error_t open_observed_device(const char *name)
{
	struct doca_devinfo **list;
	doca_error_t ret;
	uint32_t n;

	ret = doca_devinfo_create_list(&list, &n);
	if (ret)
		return ret;
	ret = DOCA_ERROR_NOT_FOUND;
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(list[i]->name, name)) {
			ret = doca_dev_open(list[i], &obs.dev);
			break;
		}
	doca_devinfo_destroy_list(list);
	return ret;
}

static doca_error_t make_observer_thread(void)
{
	doca_error_t ret = doca_dpa_thread_create(obs.dpa, &obs.thread);

	if (!ret)
		ret = doca_dpa_thread_set_func_arg(obs.thread, observer_stub, 0);
	if (!ret)
		ret = doca_dpa_thread_start(obs.thread);
	if (!ret)
		ret = doca_dpa_completion_create(obs.dpa, QUEUE, &obs.comp);
	if (!ret)
		ret = doca_dpa_completion_set_thread(obs.comp, obs.thread);
	if (!ret)
		ret = doca_dpa_completion_start(obs.comp);
	if (ret)
		return ret;
	/* set the argument now: the thread does not run yet */
	obs.thread->arg = obs.comp->obj.handle;
	return doca_dpa_thread_run(obs.thread);
}

static doca_error_t make_context(void)
{
	doca_error_t ret = doca_dpa_create(obs.dev, &obs.dpa);

	if (!ret)
		ret = doca_dpa_set_app(obs.dpa, &obs.app);
	if (!ret)
		ret = doca_dpa_start(obs.dpa);
	return ret;
}

/* Wait at exit, as a program that waits for its last completions. */
static void at_exit(void)
{
	struct timespec ms = {.tv_nsec = 1000000};

	if (dpa_ctx_foreign(obs.dpa))
		return;
	for (int i = 0; i < EXIT_MS && !atomic_load(&obs.dpa->fatal); i++) {
		if (!obs.comp->src.unread(&obs.comp->src) &&
		    dpa_act_state(&obs.thread->act) == DPA_ACT_IDLE)
			break;
		nanosleep(&ms, NULL);
	}
	doca_dpa_thread_stop(obs.thread);
	dpa_devlog_drain(obs.dpa->log);
}

static void undo_observer(void)
{
	if (obs.comp)
		doca_dpa_completion_destroy(obs.comp);
	if (obs.thread)
		doca_dpa_thread_destroy(obs.thread);
	if (obs.dpa)
		doca_dpa_destroy(obs.dpa);
	if (obs.dev)
		doca_dev_close(obs.dev);
	free((void *)obs.entry.name);
	free((void *)obs.app.name);
	if (obs.app.image)
		munmap((void *)obs.app.image, obs.app.image_size);
	memset(&obs, 0, sizeof(obs));
}

int dpa_observer_start(const char *device, const char *image, const char *kernel,
		       struct ibv_cq **cq, char *err, size_t errlen)
{
	const char *base = strrchr(image, '/');
	doca_error_t ret;
	int e;

	if (obs.dpa)
		return EBUSY;
	e = map_image(image);
	if (e) {
		snprintf(err, errlen, "cannot read the image %s: %s", image, strerror(e));
		return e;
	}
	obs.entry = (struct dpa_app_entry){
		.stub = observer_stub, .name = strdup(kernel), .kind = DPA_ENTRY_THREAD};
	obs.app.magic = DPA_IMAGE_MAGIC;
	obs.app.version = DPA_IMAGE_VERSION;
	obs.app.name = strdup(base ? base + 1 : image);
	obs.app.num_entries = 1;
	obs.app.entries = &obs.entry;
	ret = open_observed_device(device);
	if (!ret)
		ret = make_context();
	if (ret) {
		snprintf(err, errlen, "cannot load %s, which must be a device image of dpacc: %s",
			 image, doca_error_get_descr(ret));
		undo_observer();
		return ENOEXEC;
	}
	ret = make_observer_thread();
	if (ret) {
		snprintf(err, errlen, "cannot run %s of %s: %s", kernel, image,
			 doca_error_get_descr(ret));
		undo_observer();
		return ENOENT;
	}
	*cq = obs.comp->cq;
	atexit(at_exit);
	return 0;
}
