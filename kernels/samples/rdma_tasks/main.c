/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_rdma_tasks [-n ROUNDS]: tasks of a DOCA RDMA on the CPU. The one that connects writes to the other
 * one's memory, reads it back, adds to a word and swaps it, and sends; the one that listens looks at
 * its memory and its messages. No device code.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "peer.h"
#include "tasks.h"

enum {
	PART = 4096,	     /* what is written, read and sent */
	WORD = 4 * PART,     /* where the word is */
	BYTES = WORD + 64,   /* of each side */
	RECEIVES = 3,	     /* messages of a round */
	NUMBER = 0x0a0b0c0d, /* of the immediate data */
};

TASKS_KIND(write)
TASKS_KIND(read)
TASKS_KIND(write_imm)
TASKS_KIND(send)
TASKS_KIND(send_imm)
TASKS_KIND(atomic_fetch_add)
TASKS_KIND(atomic_cmp_swp)
TASKS_KIND(receive)

static const union doca_data none = {.u64 = 0};

static uint8_t byte_of(int round, size_t i)
{
	return (uint8_t)(round * 31 + (int)i * 7 + (int)(i / 251));
}

static void fill(uint8_t *at, int round)
{
	for (size_t i = 0; i < PART; i++)
		at[i] = byte_of(round, i);
}

static bool has(const uint8_t *at, int round, const char *what)
{
	for (size_t i = 0; i < PART; i++)
		if (at[i] != byte_of(round, i)) {
			fprintf(stderr, "round %d: byte %zu that was %s is wrong\n", round, i,
				what);
			return false;
		}
	return true;
}

static bool conf_kinds(struct tasks *t)
{
	return write_conf(t, 1) && read_conf(t, 1) && write_imm_conf(t, 1) && send_conf(t, 1) &&
	       send_imm_conf(t, 1) && atomic_fetch_add_conf(t, 1) && atomic_cmp_swp_conf(t, 1) &&
	       receive_conf(t, RECEIVES);
}

static bool give_back(struct doca_buf *a, struct doca_buf *b)
{
	bool ok = true;

	END(&ok, a, doca_buf_dec_refcount(a, NULL));
	END(&ok, b, doca_buf_dec_refcount(b, NULL));
	return ok;
}

/* ------------------------------------------------------------ the one that connects */

static bool write_and_read(struct tasks *t, int round)
{
	struct doca_buf *out, *there, *from, *in;
	struct doca_rdma_task_write *w;
	struct doca_rdma_task_read *r;

	fill(t->mem, round);
	memset(t->mem + PART, 0, PART);
	if (!tasks_buf(t, t->map, t->mem, PART, true, &out) ||
	    !tasks_buf(t, t->far, t->far_mem, PART, false, &there) ||
	    !tasks_buf(t, t->far, t->far_mem, PART, true, &from) ||
	    !tasks_buf(t, t->map, t->mem + PART, PART, false, &in))
		return false;
	TRY(doca_rdma_task_write_allocate_init(t->rdma, t->connection, out, there, none, &w));
	if (!tasks_run(t, doca_rdma_task_write_as_task(w)))
		return false;
	TRY(doca_rdma_task_read_allocate_init(t->rdma, t->connection, from, in, none, &r));
	return tasks_run(t, doca_rdma_task_read_as_task(r)) &&
	       has(t->mem + PART, round, "written and read") && give_back(out, there) &&
	       give_back(from, in);
}

/* The word is twice the number of rounds before and after: an addition, and a swap of its result. */
static bool count_atomically(struct tasks *t, int round)
{
	const uint64_t before = 2 * (uint64_t)round;
	struct doca_rdma_task_atomic_fetch_add *add;
	struct doca_rdma_task_atomic_cmp_swp *swap;
	struct doca_buf *word, *result;
	uint64_t old;

	if (!tasks_buf(t, t->far, t->far_mem + WORD, 8, true, &word) ||
	    !tasks_buf(t, t->map, t->mem + WORD, 8, false, &result))
		return false;
	TRY(doca_rdma_task_atomic_fetch_add_allocate_init(t->rdma, t->connection, word, result, 1,
							  none, &add));
	if (!tasks_run(t, doca_rdma_task_atomic_fetch_add_as_task(add)))
		return false;
	memcpy(&old, t->mem + WORD, 8);
	if (old != before) {
		fprintf(stderr, "round %d: the word was %llu\n", round, (unsigned long long)old);
		return false;
	}
	TRY(doca_buf_reset_data_len(result));
	TRY(doca_rdma_task_atomic_cmp_swp_allocate_init(t->rdma, t->connection, word, result,
							before + 1, before + 2, none, &swap));
	if (!tasks_run(t, doca_rdma_task_atomic_cmp_swp_as_task(swap)))
		return false;
	memcpy(&old, t->mem + WORD, 8);
	return old == before + 1 && give_back(word, result);
}

static bool send_all(struct tasks *t, int round)
{
	const doca_be32_t imm = htonl(NUMBER + (uint32_t)round);
	struct doca_rdma_task_write_imm *written;
	struct doca_rdma_task_send_imm *numbered;
	struct doca_rdma_task_send *plain;
	struct doca_buf *out, *there;

	if (!tasks_buf(t, t->map, t->mem, PART, true, &out) ||
	    !tasks_buf(t, t->far, t->far_mem + 2 * PART, PART, false, &there))
		return false;
	TRY(doca_rdma_task_write_imm_allocate_init(t->rdma, t->connection, out, there, imm, none,
						   &written));
	if (!tasks_run(t, doca_rdma_task_write_imm_as_task(written)))
		return false;
	TRY(doca_rdma_task_send_imm_allocate_init(t->rdma, t->connection, out, imm, none,
						  &numbered));
	if (!tasks_run(t, doca_rdma_task_send_imm_as_task(numbered)))
		return false;
	TRY(doca_rdma_task_send_allocate_init(t->rdma, t->connection, out, none, &plain));
	return tasks_run(t, doca_rdma_task_send_as_task(plain)) && give_back(out, there);
}

static bool ask_rounds(struct tasks *t, int rounds)
{
	for (int round = 0; round < rounds; round++)
		if (!peer_meet(t->fd) || !write_and_read(t, round) || !count_atomically(t, round) ||
		    !send_all(t, round) || !peer_meet(t->fd))
			return false;
	printf("%d rounds of writes, reads, atomics and messages\n", rounds);
	return true;
}

/* ------------------------------------------------------------- the one that listens */

/* Messages come in order: a write with immediate data, a message with it, and one without. */
static bool check_receive(const struct doca_rdma_task_receive *task, int n, int round)
{
	static const enum doca_rdma_opcode opcodes[RECEIVES] = {
		DOCA_RDMA_OPCODE_RECV_WRITE_WITH_IMM,
		DOCA_RDMA_OPCODE_RECV_SEND_WITH_IMM,
		DOCA_RDMA_OPCODE_RECV_SEND,
	};
	const doca_be32_t imm = htonl(NUMBER + (uint32_t)round);

	if (doca_rdma_task_receive_get_result_opcode(task) == opcodes[n] &&
	    doca_rdma_task_receive_get_result_len(task) == PART &&
	    (n == 2 || doca_rdma_task_receive_get_result_immediate_data(task) == imm))
		return true;
	fprintf(stderr, "round %d: message %d is another one\n", round, n);
	return false;
}

static bool receive_round(struct tasks *t, int round)
{
	static const int part[RECEIVES] = {1, 1, 3}; /* the first one brings no data here */
	struct doca_rdma_task_receive *task[RECEIVES];
	struct doca_buf *in[RECEIVES];
	uint64_t word;
	bool ok;

	for (int n = 0; n < RECEIVES; n++) {
		if (!tasks_buf(t, t->map, t->mem + (size_t)part[n] * PART, PART, false, &in[n]))
			return false;
		TRY(doca_rdma_task_receive_allocate_init(t->rdma, in[n], none, &task[n]));
		TRY(doca_task_submit(doca_rdma_task_receive_as_task(task[n])));
	}
	ok = peer_meet(t->fd) && tasks_wait(t, RECEIVES);
	for (int n = 0; n < RECEIVES; n++) {
		ok = ok && check_receive(task[n], n, round);
		doca_task_free(doca_rdma_task_receive_as_task(task[n]));
		END(&ok, in[n], doca_buf_dec_refcount(in[n], NULL));
	}
	memcpy(&word, t->mem + WORD, 8);
	return ok && has(t->mem, round, "written") &&
	       has(t->mem + PART, round, "sent with a number") &&
	       has(t->mem + (size_t)2 * PART, round, "written with a number") &&
	       has(t->mem + (size_t)3 * PART, round, "sent") && word == 2 * (uint64_t)round + 2 &&
	       peer_meet(t->fd);
}

static bool serve_rounds(struct tasks *t, int rounds)
{
	for (int round = 0; round < rounds; round++)
		if (!receive_round(t, round))
			return false;
	printf("%d rounds: all bytes and words are right\n", rounds);
	return true;
}

int main(int argc, char **argv)
{
	struct args a = {.count = 20};
	struct tasks t = {0};
	bool ok;
	int fd;

	if (!args_parse(&a, "dpa_rdma_tasks", ARGS_PEER | ARGS_COUNT, argc, argv))
		return 1;
	fd = peer_open(&a);
	if (fd < 0)
		return 1;
	ok = tasks_open(&t, &a, fd, BYTES) && conf_kinds(&t) && tasks_connect(&t) &&
	     (a.connect[0] ? ask_rounds(&t, a.count) : serve_rounds(&t, a.count));
	ok = tasks_close(&t) && ok;
	close(fd);
	return ok ? 0 : 1;
}
