/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wr_index.c - two circular lists: free, with the next index first; out, with the oldest index
 * first.
 */
#include <stdlib.h>
#include <dpa_hw.h>
#include "wr_index.h"

_Static_assert(DPA_MAX_WR + 2 <= UINT16_MAX, "places are numbered by 16 bits");

static uint32_t free_index_list(const struct dpa_wr_indices *w)
{
	return w->size;
}

static uint32_t out_list(const struct dpa_wr_indices *w)
{
	return w->size + 1;
}

static void append_index(struct dpa_wr_indices *w, uint32_t list, uint32_t i)
{
	struct dpa_wr_place *p = w->places;

	p[i].prev = p[list].prev;
	p[i].next = (uint16_t)list;
	p[p[list].prev].next = (uint16_t)i;
	p[list].prev = (uint16_t)i;
}

static void take_out_index(struct dpa_wr_indices *w, uint32_t i)
{
	struct dpa_wr_place *p = w->places;

	p[p[i].prev].next = p[i].next;
	p[p[i].next].prev = p[i].prev;
}

bool dpa_wr_indices_make(struct dpa_wr_indices *w, uint32_t size)
{
	w->size = size;
	w->places = calloc((size_t)size + 2, sizeof(*w->places));
	if (!w->places)
		return false;
	for (uint32_t list = free_index_list(w); list <= out_list(w); list++)
		w->places[list].next = w->places[list].prev = (uint16_t)list;
	for (uint32_t i = 0; i < size; i++)
		append_index(w, free_index_list(w), i);
	return true;
}

void dpa_wr_indices_free(struct dpa_wr_indices *w)
{
	free(w->places);
	w->places = NULL;
}

uint16_t dpa_wr_index_take(struct dpa_wr_indices *w, uint16_t *turn)
{
	uint16_t i = w->places[free_index_list(w)].next;

	if (i == free_index_list(w)) {
		i = w->places[out_list(w)].next;
		w->places[i].turn++;
	}
	take_out_index(w, i);
	append_index(w, out_list(w), i);
	w->places[i].out = true;
	*turn = w->places[i].turn;
	return i;
}

void dpa_wr_index_give(struct dpa_wr_indices *w, uint32_t index, uint16_t turn)
{
	if (index >= w->size || !w->places[index].out || w->places[index].turn != turn)
		return;
	w->places[index].out = false;
	take_out_index(w, index);
	append_index(w, free_index_list(w), index);
}
