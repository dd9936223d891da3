/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * echo_dev.c - messages return to their sender, with the first word incremented; the immediate is
 * the length. The queue of receives is kept full: a receive that is posted again has its index
 * again, and the index is that of its slot.
 */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_rdma.h>
#include <doca_dpa_dev_sync_event.h>
#include <string.h>
#include "echo.h"

static void receive(struct echo *s, uint32_t slot)
{
	doca_dpa_dev_rdma_post_receive(s->rdma, s->mmap, (uintptr_t)s->in[slot], ECHO_SLOT);
}

__dpa_rpc__ uint64_t echo_start(uint64_t at)
{
	struct echo *s = (struct echo *)at;

	for (uint32_t i = 0; i < s->slots; i++) {
		s->order[i] = i;
		receive(s, i);
	}
	return s->slots;
}

/* Messages of two connections sometimes end out of order. */
static void note_order(struct echo *s, uint32_t slot)
{
	uint32_t *turn = &s->order[s->count % s->slots];

	s->turned += *turn != slot;
	*turn = slot;
}

static void end(struct echo *s)
{
	doca_dpa_dev_sync_event_update_add(s->event, 1);
	doca_dpa_dev_thread_finish();
}

static void answer(struct echo *s, doca_dpa_dev_completion_element_t e)
{
	uint32_t conn = doca_dpa_dev_get_completion_user_data(e);
	uint32_t slot = doca_dpa_dev_rdma_completion_get_wr_index(e);
	uint32_t len = doca_dpa_dev_get_completion_immediate(e);

	if (doca_dpa_dev_get_completion_type(e) != DOCA_DPA_DEV_COMP_RECV_SEND_IMM ||
	    conn >= ECHO_CONNECTIONS || slot >= s->slots || len > ECHO_SLOT) {
		s->errors++;
		end(s);
	}
	note_order(s, slot);
	memcpy(s->out[conn], s->in[slot], len);
	++*(uint64_t *)s->out[conn];
	receive(s, slot);
	doca_dpa_dev_rdma_post_send_imm(s->rdma, conn, s->mmap, (uintptr_t)s->out[conn], len, len,
					DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH |
						DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS);
	s->from[conn]++;
	s->count++;
}

__dpa_global__ void echo_thread(uint64_t at)
{
	struct echo *s = (struct echo *)at;
	doca_dpa_dev_completion_element_t e;
	uint64_t before = s->count;

	s->activations++;
	while (s->count < s->total && doca_dpa_dev_get_completion(s->comp, &e)) {
		answer(s, e);
		doca_dpa_dev_completion_ack(s->comp, 1);
	}
	s->empty += s->count == before;
	if (s->count == s->total)
		end(s);
	doca_dpa_dev_completion_request_notification(s->comp);
	doca_dpa_dev_thread_reschedule();
}
