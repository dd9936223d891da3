/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * view.h - the published data of the DPA processes of an adapter instance (libdpa/stat/layout.h).
 */
#ifndef DPATOOLS_VIEW_H
#define DPATOOLS_VIEW_H

#include <stat/layout.h>
#include <stdbool.h>

#define VIEW_MAX 4096 /* processes */

struct view {
	struct dpa_stat_file *file; /* mapped, writable */
	int fd;
};

/* Descriptors for as many processes as the limit allows. */
void view_raise_limit(void);
/*
 * Open the living processes of the adapter instance at `board`, in the order of their start;
 * device: only those that run on it (NULL: all). Returns their number; the caller closes each.
 */
int view_open(const char *board, const char *device, struct view views[VIEW_MAX]);
void view_close(struct view *views, int n);

/* Totals of an entry, with present runs, since the last reset. */
struct view_task {
	uint32_t id, context, kind;
	int eu;		 /* -1: it has not run yet */
	uint32_t active; /* EUs that run it now */
	uint64_t runs, ns;
	bool counted; /* the next two are known */
	uint64_t cycles, instructions;
	bool failed;
	char name[DPA_STAT_NAME], error[DPA_STAT_ERROR];
};
/* Get an entry. False: the entry is free. */
bool view_task(const struct view *v, uint32_t index, struct view_task *t);
/* Reset the totals. */
void view_reset(struct view *v);
const char *view_kind(uint32_t kind);
uint64_t view_now(void);

#endif
