/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A librpma program of both sides: rpma_client server|client ADDRESS PORT.
 * The client reads the server's memory, writes another pattern there, flushes, reads it back and
 * sends a message with the last byte of the pattern. Both sides check every byte.
 */
#include <librpma.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20, PIECE = 1 << 17, MESSAGE = 64 };

#define TRY(call)                                                                                  \
	do {                                                                                       \
		int ret_ = (call);                                                                 \
		if (ret_) {                                                                        \
			printf("%s: %s\n", #call, rpma_err_2str(ret_));                            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static struct rpma_peer *peer;
static struct rpma_mr_local *mr;
static unsigned char *memory;

static void fill(unsigned char seed)
{
	for (size_t i = 0; i < SIZE; i++)
		memory[i] = (unsigned char)(seed + i * 7 + (i >> 9));
}

static void check(unsigned char seed, const char *what)
{
	for (size_t i = 0; i < SIZE; i++) {
		if (memory[i] == (unsigned char)(seed + i * 7 + (i >> 9)))
			continue;
		printf("%s: byte %zu is wrong\n", what, i);
		exit(1);
	}
}

/* The peer for the device that has, or leads to, the address; memory for data and a message. */
static void prepare(const char *addr, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *context;

	TRY(rpma_utils_get_ibv_context(addr, type, &context));
	TRY(rpma_peer_new(context, &peer));
	if (posix_memalign((void **)&memory, 4096, SIZE + MESSAGE))
		exit(1);
	TRY(rpma_mr_reg(peer, memory, SIZE + MESSAGE,
			RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC |
				RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
				RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
			&mr));
}

static void expect(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	TRY(rpma_conn_next_event(conn, &event));
	if (event == wanted)
		return;
	printf("event %s, not %s\n", rpma_utils_conn_event_2str(event),
	       rpma_utils_conn_event_2str(wanted));
	exit(1);
}

/* Wait for one completion. It must be a success with this context. */
static void complete(struct rpma_conn *conn, const void *context)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;
	int ret;

	TRY(rpma_conn_get_cq(conn, &cq));
	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		TRY(rpma_cq_wait(cq));
	TRY(ret);
	if (wc.status == IBV_WC_SUCCESS && wc.wr_id == (uintptr_t)context)
		return;
	printf("completion %llx: %s\n", (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	exit(1);
}

static void finish(struct rpma_conn *conn)
{
	TRY(rpma_conn_delete(&conn));
	TRY(rpma_mr_dereg(&mr));
	TRY(rpma_peer_delete(&peer));
	free(memory);
}

static void serve(const char *addr, const char *port)
{
	struct rpma_conn_private_data data = {0};
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_ep *ep;
	size_t size;

	prepare(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	fill(1);
	TRY(rpma_ep_listen(peer, addr, port, &ep));
	TRY(rpma_mr_get_descriptor_size(mr, &size));
	data.ptr = calloc(1, size);
	data.len = (uint8_t)size;
	TRY(rpma_mr_get_descriptor(mr, data.ptr));
	TRY(rpma_ep_next_conn_req(ep, NULL, &req));
	TRY(rpma_conn_req_recv(req, mr, SIZE, MESSAGE, &data));
	TRY(rpma_conn_req_connect(&req, &data, &conn));
	expect(conn, RPMA_CONN_ESTABLISHED);
	complete(conn, &data);
	check(2, "what the client wrote");
	if (memory[SIZE] != memory[SIZE - 1])
		exit(1);
	expect(conn, RPMA_CONN_CLOSED);
	TRY(rpma_conn_disconnect(conn));
	TRY(rpma_ep_shutdown(&ep));
	finish(conn);
	free(data.ptr);
}

/* Read the server's memory and check it. */
static void fetch(struct rpma_conn *conn, struct rpma_mr_remote *remote, unsigned char seed)
{
	memset(memory, 0, SIZE);
	for (size_t at = 0; at < SIZE; at += PIECE) {
		TRY(rpma_read(conn, mr, at, remote, at, PIECE, RPMA_F_COMPLETION_ALWAYS, remote));
		complete(conn, remote);
	}
	check(seed, "what was read");
}

static void use(const char *addr, const char *port)
{
	struct rpma_conn_private_data data;
	struct rpma_mr_remote *remote;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	size_t size;

	prepare(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	TRY(rpma_conn_req_new(peer, addr, port, NULL, &req));
	TRY(rpma_conn_req_connect(&req, NULL, &conn));
	expect(conn, RPMA_CONN_ESTABLISHED);
	TRY(rpma_conn_get_private_data(conn, &data));
	/* The REP has room for more: the descriptor's own size is the first that is accepted. */
	TRY(rpma_mr_get_descriptor_size(mr, &size));
	TRY(rpma_mr_remote_from_descriptor(data.ptr, size, &remote));
	TRY(rpma_mr_remote_get_size(remote, &size));
	if (size != SIZE + MESSAGE)
		exit(1);
	fetch(conn, remote, 1);
	fill(2);
	for (size_t at = 0; at < SIZE; at += PIECE)
		TRY(rpma_write(conn, remote, at, mr, at, PIECE, RPMA_F_COMPLETION_ON_ERROR, NULL));
	TRY(rpma_flush(conn, remote, 0, SIZE, RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS,
		       &size));
	complete(conn, &size);
	fetch(conn, remote, 2);
	memory[SIZE] = memory[SIZE - 1];
	TRY(rpma_send(conn, mr, SIZE, MESSAGE, RPMA_F_COMPLETION_ALWAYS, req));
	complete(conn, req);
	TRY(rpma_mr_remote_delete(&remote));
	TRY(rpma_conn_disconnect(conn));
	expect(conn, RPMA_CONN_CLOSED);
	finish(conn);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	if (!strcmp(argv[1], "server"))
		serve(argv[2], argv[3]);
	else
		use(argv[2], argv[3]);
	printf("%s: all right\n", argv[1]);
	return 0;
}
