/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hash_dev.c - the server's thread answers; the client's RPC asks and polls for the answer. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_rdma.h>
#include "hash.h"

static void use_device(uint64_t dpa)
{
	if (dpa)
		doca_dpa_dev_device_set(dpa);
}

static void send_message(const struct hash_end *e, uint64_t addr, size_t len)
{
	doca_dpa_dev_rdma_post_send(e->rdma, e->connection, e->mmap, addr, len,
				    DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH |
					    DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS);
}

/* Fills the table. The value of a key is computed from the key. */
__dpa_rpc__ uint64_t hash_fill(doca_dpa_dev_t dpa, doca_dpa_dev_hash_table_t table, uint32_t first,
			       uint32_t step, uint32_t num)
{
	use_device(dpa);
	for (uint32_t i = 0; i < num; i++)
		doca_dpa_dev_hash_table_add(table, first + i * step,
					    (uint64_t)(first + i * step) * 1000003);
	doca_dpa_dev_hash_table_remove(table, first);
	return num - 1;
}

/* Posts the server's first receive; the state is complete by then. */
__dpa_rpc__ uint64_t hash_serve(uint64_t state)
{
	const struct hash_end *e = &((struct hash_server *)state)->end;

	use_device(e->dpa);
	doca_dpa_dev_rdma_post_receive(e->rdma, e->mmap, e->question, sizeof(struct hash_question));
	return 0;
}

static void reply_hash(struct hash_server *s)
{
	const struct hash_end *e = &s->end;
	struct hash_answer *a = (struct hash_answer *)e->answer;

	a->key = ((struct hash_question *)e->question)->key;
	a->value = 0;
	a->found = (uint32_t)doca_dpa_dev_hash_table_find(e->table, a->key, &a->value);
	s->questions++;
	s->hits += a->found;
	doca_dpa_dev_rdma_post_receive(e->rdma, e->mmap, e->question, sizeof(struct hash_question));
	send_message(e, e->answer, sizeof(*a));
}

__dpa_global__ void hash_thread(uint64_t arg)
{
	struct hash_server *s = (struct hash_server *)arg;
	doca_dpa_dev_completion_element_t c;

	use_device(s->end.dpa);
	s->activations++;
	while (doca_dpa_dev_get_completion(s->end.comp, &c)) {
		doca_dpa_dev_completion_ack(s->end.comp, 1);
		if (doca_dpa_dev_get_completion_type(c) != DOCA_DPA_DEV_COMP_RECV_SEND) {
			s->failed++;
			doca_dpa_dev_thread_finish();
		}
		reply_hash(s);
	}
	doca_dpa_dev_completion_request_notification(s->end.comp);
	doca_dpa_dev_thread_reschedule();
}

/* Asks for one key; the answer is in end.answer. Returns 0 if the message is not an answer. */
__dpa_rpc__ uint64_t hash_ask(struct hash_end end, uint32_t key)
{
	doca_dpa_dev_completion_element_t c;

	use_device(end.dpa);
	((struct hash_question *)end.question)->key = key;
	doca_dpa_dev_rdma_post_receive(end.rdma, end.mmap, end.answer, sizeof(struct hash_answer));
	send_message(&end, end.question, sizeof(struct hash_question));
	while (!doca_dpa_dev_get_completion(end.comp, &c))
		;
	doca_dpa_dev_completion_ack(end.comp, 1);
	return doca_dpa_dev_get_completion_type(c) == DOCA_DPA_DEV_COMP_RECV_SEND;
}
