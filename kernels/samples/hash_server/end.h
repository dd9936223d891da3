/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* end.h - what server and client have alike. */
#ifndef DPA_SAMPLE_HASH_END_H
#define DPA_SAMPLE_HASH_END_H

#include "hash.h"
#include "link.h"
#include "peer.h"
#include "res.h"

/* Keys of the table: FIRST + i * STEP, but for the first, which is removed again. */
enum { HASH_KEYS = 1000, HASH_FIRST = 17, HASH_STEP = 3 };

struct end {
	struct res res;
	struct doca_dpa_completion *comp;
	struct link link;
	doca_dpa_dev_uintptr_t words; /* question and answer */
	struct doca_mmap *map;
	struct hash_end shared;
};

/* comp's thread: NULL for none. */
bool end_open(struct end *e, const struct args *a, struct doca_dpa_thread *thread);
bool end_connect(struct end *e, int fd);
bool end_close(struct end *e);

#endif
