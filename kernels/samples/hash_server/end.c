/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "end.h"

bool end_open(struct end *e, const struct args *a, struct doca_dpa_thread *thread)
{
	struct hash_end *s = &e->shared;
	const size_t len = sizeof(struct hash_question) + sizeof(struct hash_answer);

	if (!res_alloc(&e->res, len, &e->words) ||
	    !res_map_heap(&e->res, e->words, len, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &e->map,
			  &s->mmap) ||
	    !res_completion(&e->res, 16, thread, &e->comp, &s->comp) ||
	    !link_open(&e->link, &e->res, a, e->comp, 4, 1))
		return false;
	s->dpa = e->res.dpa_handle;
	s->rdma = e->link.handle;
	s->question = e->words;
	s->answer = e->words + sizeof(struct hash_question);
	return true;
}

bool end_connect(struct end *e, int fd)
{
	if (!link_connect(&e->link, fd, 1))
		return false;
	e->shared.connection = e->link.id[0];
	return true;
}

bool end_close(struct end *e)
{
	bool ok = link_close(&e->link);

	END(&ok, e->map, doca_mmap_destroy(e->map));
	END(&ok, e->comp, doca_dpa_completion_destroy(e->comp));
	END(&ok, e->words, doca_dpa_mem_free(e->res.pf_dpa, e->words));
	return ok;
}
