/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fake_ibverbs.h - the records of fake_ibverbs.c, for tests that load it. */
#ifndef DPA_COMPAT_FAKE_IBVERBS_H
#define DPA_COMPAT_FAKE_IBVERBS_H

#include <stddef.h>

#define FAKE_MAX_OPS 96
#define FAKE_FRONT   0xa5 /* fills the front of a context that is not in the public header */

struct fake_ibverbs {
	int pabi;
	int late;
	size_t context_size;
	const void *driver; /* as registered: struct verbs_device_ops */
	int registered;	    /* times */
	char *lib_context;  /* begin of the library's part of the last context */
	char *set_ops_context, *uninit_context;
	void (*ops[FAKE_MAX_OPS])(void); /* as set, by position */
};

#define FAKE_FRONT_SIZE(size)                                                                      \
	((size) > sizeof(struct verbs_context) ? (size) - sizeof(struct verbs_context) : 0)

/* Members of struct verbs_context_ops. */
static inline size_t fake_num_ops(int pabi, int late)
{
	if (pabi < 59)
		return 76;
	if (pabi == 59)
		return late ? 81 : 79;
	return pabi == 64 ? 83 : 93;
}

#endif
