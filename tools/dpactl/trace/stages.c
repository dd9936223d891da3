/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* stages.c - the stages of WQEs, and their medians. */
#include <stdlib.h>
#include <dpa_hw.h>
#include "../dpactl.h"
#include "output.h"

/* The way of the acknowledgement begins at PLACED; that to the peer's program ends with its poll. */
enum wqe_moment wqe_before(const struct wqe *w, enum wqe_moment m)
{
	int i = (int)m - 1;

	for (; i >= 0; i--) {
		const bool receive = i == WQE_RECV_CQE || i == WQE_RECV_POLLED;

		if (w->at[i] && !(receive && m >= WQE_ACKED))
			break;
	}
	return i < 0 || w->at[i] > w->at[m] ? WQE_MOMENTS : (enum wqe_moment)i;
}

static int by_duration(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median_of(const struct store *s, const struct wqes *w, uint8_t opcode,
			  enum wqe_moment m, uint64_t *room, uint32_t *count)
{
	uint32_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct wqe *q = &w->w[i];
		enum wqe_moment from;

		if (q->opcode != opcode || q->status || !q->at[m])
			continue;
		from = wqe_before(q, m);
		if (from != WQE_MOMENTS)
			room[n++] = store_ns(s, q->at[m]) - store_ns(s, q->at[from]);
	}
	*count = n;
	if (!n)
		return 0;
	qsort(room, n, sizeof(*room), by_duration);
	return room[n / 2];
}

static struct stage_sum *sum_of(struct stage_sum *sum, uint32_t *n, uint32_t max, uint8_t opcode)
{
	for (uint32_t i = 0; i < *n; i++)
		if (sum[i].opcode == opcode)
			return &sum[i];
	if (*n == max)
		return NULL;
	sum[*n] = (struct stage_sum){.opcode = opcode};
	return &sum[(*n)++];
}

uint32_t stage_sums(const struct store *s, const struct wqes *w, struct stage_sum *sum,
		    uint32_t max)
{
	uint64_t *room = need_memory(calloc(w->n + 1, sizeof(*room)));
	uint32_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct stage_sum *t = w->w[i].status ? NULL : sum_of(sum, &n, max, w->w[i].opcode);

		if (t)
			t->n++;
	}
	for (uint32_t i = 0; i < n; i++)
		for (int m = WQE_DOORBELL; m < WQE_MOMENTS; m++)
			sum[i].median[m] = median_of(s, w, sum[i].opcode, (enum wqe_moment)m, room,
						     &sum[i].count[m]);
	free(room);
	return n;
}
