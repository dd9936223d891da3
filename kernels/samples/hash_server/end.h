/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* end.h - shared by server and client. */
#ifndef DPA_SAMPLE_HASH_END_H
#define DPA_SAMPLE_HASH_END_H

#include "hash.h"
#include "link.h"
#include "peer.h"
#include "res.h"

/* Keys of the table: FIRST + i * STEP; the first one is removed again. */
enum { HASH_KEYS = 1000, HASH_FIRST = 17, HASH_STEP = 3 };

struct end {
	struct res res;
	struct doca_dpa_completion *comp;
	struct link link;
	doca_dpa_dev_uintptr_t words; /* memory of question and answer */
	struct doca_mmap *map;
	struct hash_end shared;
};

/* comp's thread; NULL: none. */
bool end_open(struct end *e, const struct args *a, struct doca_dpa_thread *thread);
bool end_connect(struct end *e, int fd);
bool end_close(struct end *e);

#endif
