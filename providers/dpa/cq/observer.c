/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * observer.c - DPA_OBSERVER=IMAGE:KERNEL: a kernel on an EU that gets a copy of every completion of
 * an unmodified program. libdpa runs the kernel. It is loaded when the first CQ is created; its
 * completion context's CQ becomes the mirror CQ of that CQ and of all later ones.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <knobs.h>
#include "dpa.h"
#include "cq/observer.h"

#define LIBRARY "libdpa.so.1"

/* Function of libdpa (host/observer.h). */
typedef int start_fn(const char *device, const char *image, const char *kernel, struct ibv_cq **cq,
		     char *err, size_t errlen);

static struct {
	pthread_mutex_t lock;
	bool asked; /* the other members are valid */
	int err;
	struct dpa_hw_cq *tap; /* NULL: no observer */
} observer = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Loads the library that was built with this provider, beside it; otherwise the one that the loader
 * finds.
 */
static void *load_library(void)
{
	char path[PATH_MAX];
	const char *slash;
	Dl_info own;
	void *dl = NULL;

	if (dladdr((void *)(uintptr_t)&dpa_observe, &own) && own.dli_fname &&
	    (slash = strrchr(own.dli_fname, '/'))) {
		snprintf(path, sizeof(path), "%.*s/" LIBRARY, (int)(slash - own.dli_fname),
			 own.dli_fname);
		dl = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	}
	return dl ? dl : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static int observer_fail(int err, const char *why)
{
	char line[600];

	snprintf(line, sizeof(line), "DPA_OBSERVER: %s", why);
	dpa_log_line(DPA_LOG_ERR, line);
	return err;
}

static int start_observer(const char *device, const char *image, const char *kernel)
{
	char err[512] = "";
	struct ibv_cq *cq;
	start_fn *fn;
	void *dl = load_library();
	int ret;

	if (!dl)
		return observer_fail(ELIBACC, dlerror());
	fn = (start_fn *)(uintptr_t)dlsym(dl, "dpa_observer_start");
	if (!fn)
		return observer_fail(ELIBBAD, LIBRARY " has no observers");
	ret = fn(device, image, kernel, &cq, err, sizeof(err));
	if (ret)
		return observer_fail(ret, err);
	observer.tap = to_dpa_cq(cq)->hw;
	return 0;
}

/*
 * libdpa opens the device and creates its CQ by dpadv_create_cq(), so that CQ is not observed.
 * Context: the lock.
 */
static int ask_for_observer(const char *device)
{
	struct dpa_config cfg;
	char err[512], *kernel;

	if (dpa_config_load(&cfg, err, sizeof(err)) || !cfg.observer[0])
		return 0; /* bad settings were reported when the device was opened */
	kernel = strrchr(cfg.observer, ':');
	if (!kernel || !kernel[1])
		return observer_fail(EINVAL,
				     "use IMAGE:KERNEL, the device image by an absolute path");
	*kernel++ = '\0';
	return start_observer(device, cfg.observer, kernel);
}

int dpa_observe(struct dpa_cq *cq)
{
	int ret;

	pthread_mutex_lock(&observer.lock);
	if (!observer.asked) {
		observer.err = ask_for_observer(cq->vcq.cq.context->device->name);
		observer.asked = true;
	}
	ret = observer.err;
	if (!ret && observer.tap)
		ret = dpa_hw_tap_cq(cq->hw, observer.tap);
	pthread_mutex_unlock(&observer.lock);
	return ret;
}
