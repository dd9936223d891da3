/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* misuse_rig.h - an object of each type on the real device, in the state in which most calls take it. */
#ifndef TEST_LIBDPA_MISUSE_RIG_H
#define TEST_LIBDPA_MISUSE_RIG_H

struct misuse_object {
	const char *type; /* struct; NULL: the end */
	void *object;
};

void misuse_make(void);
/* Each call succeeds. */
void misuse_unmake(void);
const struct misuse_object *misuse_objects(void);
/* NULL: none of that type is here. */
void *misuse_object(const char *type);
/* One more of a type, which is not registered; of doca_argp. */
void *misuse_fresh(const char *type);

#endif
