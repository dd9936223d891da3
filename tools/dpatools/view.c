/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "view.h"

static uint64_t load_eu_counter(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

uint64_t view_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool is_alive(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	return !fcntl(fd, F_GETLK, &l) && l.l_type != F_UNLCK;
}

/*
 * Open a file: it must be of this user, or of root, or be opened by root; complete, of this
 * version, and of a living process.
 */
static bool open_one(const char *path, struct view *v)
{
	struct stat st;

	v->fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (v->fd < 0)
		return false;
	if (fstat(v->fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size != (off_t)sizeof(struct dpa_stat_file) || !is_alive(v->fd))
		goto err;
	v->file = mmap(NULL, sizeof(*v->file), PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	if (v->file == MAP_FAILED)
		goto err;
	if (__atomic_load_n(&v->file->head.magic, __ATOMIC_ACQUIRE) == DPA_STAT_MAGIC &&
	    v->file->head.version == DPA_STAT_VERSION)
		return true;
	munmap(v->file, sizeof(*v->file));
err:
	close(v->fd);
	return false;
}

static int by_start(const void *a_, const void *b_)
{
	const struct view *a = a_, *b = b_;

	if (a->file->head.start_ns != b->file->head.start_ns)
		return a->file->head.start_ns < b->file->head.start_ns ? -1 : 1;
	return 0;
}

/* Raise the limit of descriptors to the maximum: each process takes one. */
void view_raise_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

int view_open(const char *board, const char *device, struct view views[VIEW_MAX])
{
	char pattern[512];
	glob_t g;
	int n = 0;

	snprintf(pattern, sizeof(pattern), "%s" DPA_STAT_PATTERN "*", board);
	if (glob(pattern, GLOB_NOSORT, NULL, &g))
		return 0;
	view_raise_limit();
	for (size_t i = 0; i < g.gl_pathc && n < VIEW_MAX; i++) {
		if (!open_one(g.gl_pathv[i], &views[n]))
			continue;
		if (device && strncmp(views[n].file->head.device, device,
				      sizeof(views[n].file->head.device)) != 0)
			view_close(&views[n], 1);
		else
			n++;
	}
	globfree(&g);
	qsort(views, (size_t)n, sizeof(*views), by_start);
	return n;
}

void view_close(struct view *views, int n)
{
	for (int i = 0; i < n; i++) {
		munmap(views[i].file, sizeof(*views[i].file));
		close(views[i].fd);
	}
}

/* Add the present run, from the EUs' records. */
static void add_active(const struct view *v, uint32_t index, struct view_task *t)
{
	uint64_t now = view_now();

	for (uint32_t i = 0; i < DPA_STAT_EUS; i++) {
		const struct dpa_stat_eu *e = &v->file->eus[i];
		uint64_t since;

		if (atomic_load_explicit(&e->task, memory_order_acquire) != index + 1)
			continue;
		since = load_eu_counter(&e->since_ns);
		if (now > since)
			t->ns += now - since;
		t->active++;
		t->eu = (int)i;
	}
}

static uint64_t counter_minus(const _Atomic uint64_t *n, const _Atomic uint64_t *base)
{
	uint64_t b = load_eu_counter(base), a = load_eu_counter(n);

	return a > b ? a - b : 0;
}

bool view_task(const struct view *v, uint32_t index, struct view_task *t)
{
	const struct dpa_stat_task *e = &v->file->tasks[index];

	memset(t, 0, sizeof(*t));
	t->kind = atomic_load_explicit(&e->kind, memory_order_acquire);
	if (t->kind == DPA_STAT_FREE)
		return false;
	t->id = e->id;
	t->context = e->context;
	t->eu = atomic_load_explicit(&e->eu, memory_order_relaxed);
	t->runs = counter_minus(&e->runs, &e->base_runs);
	t->ns = load_eu_counter(&e->ns);
	t->counted = counter_minus(&e->counted, &e->base_counted) > 0;
	t->cycles = counter_minus(&e->cycles, &e->base_cycles);
	t->instructions = counter_minus(&e->instructions, &e->base_instructions);
	add_active(v, index, t);
	t->ns = t->ns > load_eu_counter(&e->base_ns) ? t->ns - load_eu_counter(&e->base_ns) : 0;
	memcpy(t->name, e->name, sizeof(t->name) - 1);
	t->failed = atomic_load_explicit(&e->failed, memory_order_acquire);
	if (t->failed)
		memcpy(t->error, e->error, sizeof(t->error) - 1);
	return true;
}

static void set_base(_Atomic uint64_t *base, const _Atomic uint64_t *n)
{
	atomic_store_explicit(base, load_eu_counter(n), memory_order_relaxed);
}

/* Reset. A run in progress counts from now: its time so far becomes part of the base. */
void view_reset(struct view *v)
{
	for (uint32_t i = 0; i < DPA_STAT_TASKS; i++) {
		struct dpa_stat_task *e = &v->file->tasks[i];
		struct view_task now = {0};

		set_base(&e->base_runs, &e->runs);
		set_base(&e->base_cycles, &e->cycles);
		set_base(&e->base_instructions, &e->instructions);
		set_base(&e->base_counted, &e->counted);
		add_active(v, i, &now);
		atomic_store_explicit(&e->base_ns, load_eu_counter(&e->ns) + now.ns,
				      memory_order_relaxed);
	}
}

const char *view_kind(uint32_t kind)
{
	static const char *const names[] = {"-", "thread", "kernel", "rpc"};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "?";
}
