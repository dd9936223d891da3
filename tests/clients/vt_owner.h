/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_owner.h - the owner of memory that initiators (vt_initiator.h) access: its connections to
 * them, the keys that it gives them, and every verb that revokes its memory.
 */
#ifndef DPA_TESTS_VT_OWNER_H
#define DPA_TESTS_VT_OWNER_H

#include "vt_initiator.h"

/* Objects whose keys the initiators have: a region, a window of it for all, or one for each QP. */
enum vt_kind { VT_REGION, VT_WINDOW_1, VT_WINDOW_2, VT_KINDS };

enum vt_verb {
	VT_DEREG,
	VT_REREG,
	VT_MOVE,
	VT_REBIND,
	VT_UNBIND,
	VT_LOCAL_INV,
	VT_SEND_INV,
	VT_DEALLOC,
	VT_RESET,
	VT_ERROR,
	VT_NO_ACCESS,
	VT_DESTROY,
	VT_VERBS
};

/* One owner with a QP to each, and a pair of QPs that bind windows of type 1. */
struct vt_owner {
	struct vt t; /* `buf`: the memory that the initiators access */
	struct vt_target *to;
	struct ibv_qp *qp[VT_INITIATORS], *pair[2];
	uint32_t turn[VT_INITIATORS];
	bool met[VT_INITIATORS];  /* it exists, and was connected to */
	bool away[VT_INITIATORS]; /* it is stopped, or dead */
	enum vt_kind kind;
	struct ibv_mw *mw[VT_INITIATORS];
	uint8_t *elsewhere; /* as large as `buf` */
	uint64_t x, next_id;
};

/* Open the device and create everything, and the first keys. `to` exists. */
void vt_owner_open(struct vt_owner *w);
void vt_owner_close(struct vt_owner *w);

/* Connect to new initiators, and to those whose operation has failed. */
void vt_owner_repair(struct vt_owner *w);
/* The nth initiator is dead: the next one there is new. */
void vt_owner_forget(struct vt_owner *w, uint32_t nth);
/* Connect all again, after a verb on QPs. */
void vt_owner_connect(struct vt_owner *w);

/* Make a key for all, or, in a round with windows of type 2, for connected ones: call it again. */
void vt_owner_make_keys(struct vt_owner *w);
void vt_owner_more_keys(struct vt_owner *w);
/* End the keys: later operations of an initiator with one of them are refused. */
void vt_owner_end_keys(struct vt_owner *w);

/* Return a random verb that can revoke the present keys. */
enum vt_verb vt_owner_draw_verb(struct vt_owner *w);
bool vt_is_of_qps(enum vt_verb verb);
const char *vt_verb_name(enum vt_verb verb);
void vt_owner_take_away(struct vt_owner *w, enum vt_verb verb);

#endif
