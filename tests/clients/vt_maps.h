/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_maps.h - what dpa0 has made of registered memory, as the process's own mappings show it. Of
 * another device nothing is shared: then these say so.
 */
#ifndef DPA_TESTS_VT_MAPS_H
#define DPA_TESTS_VT_MAPS_H

#include "vt.h"

enum vt_pages {
	VT_PRIVATE, /* as the application made them */
	VT_COPIED,  /* private, of pages that were shared before */
	VT_SHARED,  /* with peers */
};

enum vt_pages vt_pages(const void *p);
/* Shall whole pages of private anonymous memory be shared when this side registers them? */
bool vt_shares(const struct vt *t);
/*
 * As ibv_reg_mr() of ALL rights, and vt_setup(), and what can be shared is: a device may well leave
 * that where its own threads are kept from resting, on a machine that has other work; then they try
 * again. Both sides call the second.
 */
struct ibv_mr *vt_reg_shared(struct vt *t, void *p, size_t n);
void vt_setup_shared(struct vt *t, const struct vt_opt *o);
/* The page is shared, if it was to be, or is not. */
void vt_expect_shared(const struct vt *t, const void *p, const char *when);
void vt_expect_not_shared(const void *p, const char *when);
/* How many there are; one that was joined may still be there. */
unsigned int vt_threads(void);

#endif
