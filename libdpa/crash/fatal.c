/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fatal.c - entry of a context into the fatal state. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../run/fault.h"
#include "../run/run.h"
#include "../host/libdpa.h"
#include "crash.h"
#include "fatal.h"

void dpa_fatal_init(struct doca_dpa *dpa)
{
	pthread_mutex_init(&dpa->fatal_hooks.lock, NULL);
	dpa_witnesses_init(&dpa->witnesses);
}

void dpa_fatal_reset(struct doca_dpa *dpa)
{
	atomic_store_explicit(&dpa->fatal, 0, memory_order_relaxed);
	dpa_witnesses_open(&dpa->witnesses);
}

void dpa_fatal_fini(struct doca_dpa *dpa)
{
	pthread_mutex_destroy(&dpa->fatal_hooks.lock);
	dpa_witnesses_fini(&dpa->witnesses);
}

bool dpa_fatal_is_of(const struct dpal_eu *eu)
{
	return eu->run && atomic_load_explicit(&eu->run->dpa->fatal, memory_order_relaxed);
}

/* The lock is held. */
static void tell_hook(struct dpa_fatal_hook *h)
{
	if (h->told)
		return;
	h->told = true;
	h->fn(h);
}

/* The thread that sets `fatal` takes the lock afterwards: one of the two sees the other. */
void dpa_fatal_add(struct doca_dpa *dpa, struct dpa_fatal_hook *hook,
		   void (*fn)(struct dpa_fatal_hook *hook))
{
	dpa = dpa_base(dpa);
	pthread_mutex_lock(&dpa->fatal_hooks.lock);
	hook->fn = fn;
	hook->told = false;
	hook->next = dpa->fatal_hooks.first;
	dpa->fatal_hooks.first = hook;
	if (atomic_load_explicit(&dpa->fatal, memory_order_seq_cst))
		tell_hook(hook);
	pthread_mutex_unlock(&dpa->fatal_hooks.lock);
}

void dpa_fatal_remove(struct doca_dpa *dpa, struct dpa_fatal_hook *hook)
{
	struct dpa_fatal_hook **p;

	dpa = dpa_base(dpa);
	pthread_mutex_lock(&dpa->fatal_hooks.lock);
	for (p = &dpa->fatal_hooks.first; *p && *p != hook; p = &(*p)->next)
		;
	if (*p)
		*p = hook->next;
	pthread_mutex_unlock(&dpa->fatal_hooks.lock);
}

static void tell_all(struct doca_dpa *dpa)
{
	pthread_mutex_lock(&dpa->fatal_hooks.lock);
	for (struct dpa_fatal_hook *h = dpa->fatal_hooks.first; h; h = h->next)
		tell_hook(h);
	pthread_mutex_unlock(&dpa->fatal_hooks.lock);
}

static uintptr_t base_of(const struct dpa_loaded *img)
{
	struct link_map *map;

	return img->dl && !dlinfo(img->dl, RTLD_DI_LINKMAP, &map) ? map->l_addr : 0;
}

static int write_files(struct doca_dpa *dpa, const struct dpa_crash *c, const char *kernel, int eu,
		       const char *reason, const struct dpa_witness *others,
		       struct dpa_crash_story *s)
{
	size_t num;
	struct dpa_mem **heap = dpa_mem_hold_all(dpa, &num);
	int ret;

	*s = (struct dpa_crash_story){
		.prefix = dpa->log_path ? dpa->log_path : DPA_CRASH_PREFIX,
		.device = dpa->dev->info.name,
		.app = dpa->app->name,
		.kernel = kernel,
		.reason = reason,
		.others = others,
		.heap = heap,
		.heap_num = num,
		.eu = eu,
		.image_fd = dpa->img.fd,
		.base = base_of(&dpa->img),
		.code = dpa->app->image,
		.code_size = dpa->app->image_size,
	};
	ret = dpa_crash_write(c, s);
	for (size_t i = 0; i < num; i++)
		dpa_mem_release(heap[i]);
	free(heap);
	return ret;
}

static void log_line(struct doca_dpa *dpa, int eu, const char *text)
{
	if (dpa->log_level > DOCA_DPA_DEV_LOG_LEVEL_DISABLE)
		dpa_devlog_put(dpa->log, eu, DOCA_DPA_DEV_LOG_LEVEL_CRIT, text, strlen(text));
}

static void tell_people(struct doca_dpa *dpa, const char *kernel, struct dpal_eu *eu,
			struct dpa_stat_task *task, const struct dpa_witness *others)
{
	struct dpa_crash *c = dpa_crash_self();
	struct dpa_crash_story s;
	char reason[256], text[900];
	int ret;

	if (eu->fault_text)
		snprintf(reason, sizeof(reason), "used %s", eu->fault_text);
	else if (c && c->held)
		dpa_crash_reason(c, reason, sizeof(reason));
	else
		snprintf(reason, sizeof(reason), "%s at address 0x%llx",
			 dpa_crash_signal_name(eu->fault_sig), (unsigned long long)eu->fault_addr);
	dpa_stat_fail(task, reason);
	if (!c || !c->held) {
		snprintf(text, sizeof(text), "%.100s: %s: the context is ended\n", kernel, reason);
		log_line(dpa, eu->id, text);
		return;
	}
	ret = write_files(dpa, c, kernel, eu->id, reason, others, &s);
	c->held = false;
	if (ret)
		snprintf(text, sizeof(text),
			 "%.100s: %s: the context is ended; no files at %.400s: %s\n", kernel,
			 reason, s.prefix, strerror(ret));
	else
		snprintf(text, sizeof(text), "%.100s: %s: the context is ended, see %.400s%s%s\n",
			 kernel, reason, s.text_path, s.core_error ? "; no core: " : "",
			 s.core_error ? strerror(s.core_error) : "");
	log_line(dpa, eu->id, text);
}

void dpa_fatal_enter(struct doca_dpa *dpa, const char *kernel, struct dpal_eu *eu,
		     struct dpa_stat_task *task)
{
	struct dpa_witness *others;

	if (atomic_exchange_explicit(&dpa->fatal, 1, memory_order_seq_cst))
		return; /* another EU has entered it then */
	dpa_witnesses_expect(&dpa->witnesses, dpa);
	dpa_pool_kill_owner(dpa);
	tell_all(dpa);
	others = dpa_witnesses_take(&dpa->witnesses);
	tell_people(dpa, kernel, eu, task, others);
	dpa_witnesses_free(others);
}
