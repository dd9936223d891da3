/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_maps.h - the state of registered memory with dpa0, from the process's own mappings. With
 * another device nothing is shared, and these functions report that.
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
/* DPA_SHARE_MR, or the default of dpa0. */
const char *vt_share_policy(void);
/*
 * Return whether whole pages of private anonymous memory must be shared when this side registers
 * them.
 */
bool vt_shares(const struct vt *t);
/*
 * Do the same as ibv_reg_mr() with ALL rights, and vt_setup(), and share all that can be shared. A
 * device may skip that if its own threads cannot be quiesced on a busy machine; then these
 * functions try again. Both sides call the second.
 */
struct ibv_mr *vt_reg_shared(struct vt *t, void *p, size_t n);
void vt_setup_shared(struct vt *t, const struct vt_opt *o);
/* Check that the page is shared, or not, as expected. */
void vt_expect_shared(const struct vt *t, const void *p, const char *when);
void vt_expect_not_shared(const void *p, const char *when);
/* Return the number of threads; a joined one may still be counted. */
unsigned int vt_threads(void);

#endif
