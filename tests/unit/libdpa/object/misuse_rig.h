/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* misuse_rig.h - an object of each type on the real device, in the state that most calls accept. */
#ifndef TEST_LIBDPA_MISUSE_RIG_H
#define TEST_LIBDPA_MISUSE_RIG_H

struct misuse_object {
	const char *type; /* struct; NULL: the end */
	void *object;
};

void misuse_make(void);
/* Destroy all; each call succeeds. */
void misuse_unmake(void);
const struct misuse_object *misuse_objects(void);
/* Return an object. NULL: none of that type exists. */
void *misuse_object(const char *type);
/* Make one more of a type, which is not registered; of doca_argp. */
void *misuse_fresh(const char *type);

#endif
