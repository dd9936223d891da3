/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * peers.c - peers PORT [ADDRESS] [stay]: an end of a connection by address, tasks of the CPU on it.
 * With ADDRESS it connects, else it listens. Both ends send ROUNDS messages of every length up to
 * MESSAGE, and check each received byte; then the client disconnects. stay: it sends nothing and
 * waits for the end of the peer. Prints "N messages", or "connected" and "disconnected"; exits with
 * 0 when all went well. The peer may be plain.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <stdbool.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <doca_rdma.h>
#include "message.h"

#define DO(call)                                                                                   \
	do {                                                                                       \
		doca_error_t e_ = (call);                                                          \
		if (e_ != DOCA_SUCCESS) {                                                          \
			fprintf(stderr, "%s: %s\n", #call, doca_error_get_name(e_));               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static uint8_t memory[RECEIVES + 1][MESSAGE];
static struct doca_dev *dev;
static struct doca_rdma *rdma;
static struct doca_ctx *ctx;
static struct doca_pe *pe;
static struct doca_mmap *map;
static struct doca_buf_inventory *inventory;
static struct doca_buf *out;
static struct doca_rdma_connection *connection;
static struct doca_rdma_task_receive *receives[RECEIVES];
static struct doca_rdma_task_send *sending;
static int sent, got, server;
static bool stay, stopping, over;

static void send_next(void)
{
	size_t n = length(sent);

	for (size_t k = 0; k < n; k++)
		memory[RECEIVES][k] = byte(server, sent, k);
	DO(doca_buf_set_data(out, memory[RECEIVES], n));
	DO(doca_task_submit(doca_rdma_task_send_as_task(sending)));
}

static void on_sent(struct doca_rdma_task_send *task, union doca_data own, union doca_data of_ctx)
{
	(void)task;
	(void)own;
	(void)of_ctx;
	if (++sent < ROUNDS)
		send_next();
}

static void on_error(struct doca_task *task)
{
	if (stopping)
		return;
	fprintf(stderr, "a task has failed: %s\n", doca_error_get_name(doca_task_get_status(task)));
	exit(1);
}

static void on_send_error(struct doca_rdma_task_send *task, union doca_data own,
			  union doca_data of_ctx)
{
	(void)own;
	(void)of_ctx;
	on_error(doca_rdma_task_send_as_task(task));
}

static void on_receive(struct doca_rdma_task_receive *task, union doca_data own,
		       union doca_data of_ctx)
{
	struct doca_buf *buf = doca_rdma_task_receive_get_dst_buf(task);
	size_t n = doca_rdma_task_receive_get_result_len(task);

	(void)of_ctx;
	if (n != length(got) ||
	    doca_rdma_task_receive_get_result_rdma_connection(task) != connection)
		exit(2);
	for (size_t k = 0; k < n; k++)
		if (memory[own.u64][k] != byte(!server, got, k))
			exit(3);
	got++;
	DO(doca_buf_reset_data_len(buf));
	DO(doca_task_submit(doca_rdma_task_receive_as_task(task)));
}

static void on_receive_error(struct doca_rdma_task_receive *task, union doca_data own,
			     union doca_data of_ctx)
{
	(void)own;
	(void)of_ctx;
	on_error(doca_rdma_task_receive_as_task(task));
}

static void on_request(struct doca_rdma_connection *c, union doca_data of_ctx)
{
	(void)of_ctx;
	connection = c; /* its messages may be faster than the last word of the exchange */
	DO(doca_rdma_connection_accept(c, NULL, 0));
}

static void on_established(struct doca_rdma_connection *c, union doca_data own,
			   union doca_data of_ctx)
{
	(void)own;
	(void)of_ctx;
	connection = c;
	if (stay) {
		printf("connected\n");
		fflush(stdout);
		return;
	}
	DO(doca_rdma_task_send_allocate_init(rdma, c, out, (union doca_data){.u64 = 0}, &sending));
	send_next();
}

static void on_failure(struct doca_rdma_connection *c, union doca_data own, union doca_data of_ctx)
{
	(void)c;
	(void)own;
	(void)of_ctx;
	fprintf(stderr, "no connection\n");
	exit(4);
}

static void on_disconnection(struct doca_rdma_connection *c, union doca_data own,
			     union doca_data of_ctx)
{
	(void)c;
	(void)own;
	(void)of_ctx;
	over = true;
}

static void open_device(void)
{
	struct doca_devinfo **list;
	uint32_t n;

	DO(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !dev; i++)
		if (doca_rdma_cap_task_send_is_supported(list[i]) == DOCA_SUCCESS)
			DO(doca_dev_open(list[i], &dev));
	DO(doca_devinfo_destroy_list(list));
	if (!dev)
		exit(1);
	DO(doca_mmap_create(&map));
	DO(doca_mmap_set_memrange(map, memory, sizeof(memory)));
	DO(doca_mmap_add_dev(map, dev));
	DO(doca_mmap_start(map));
	DO(doca_buf_inventory_create(RECEIVES + 1, &inventory));
	DO(doca_buf_inventory_start(inventory));
	DO(doca_buf_inventory_buf_get_by_addr(inventory, map, memory[RECEIVES], MESSAGE, &out));
}

static void open_rdma(void)
{
	DO(doca_pe_create(&pe));
	DO(doca_rdma_create(dev, &rdma));
	ctx = doca_rdma_as_ctx(rdma);
	DO(doca_rdma_set_connection_request_timeout(rdma, 60000));
	DO(doca_rdma_set_connection_state_callbacks(rdma, on_request, on_established, on_failure,
						    on_disconnection));
	DO(doca_rdma_task_send_set_conf(rdma, on_sent, on_send_error, 1));
	DO(doca_rdma_task_receive_set_conf(rdma, on_receive, on_receive_error, RECEIVES));
	DO(doca_pe_connect_ctx(pe, ctx));
	DO(doca_ctx_start(ctx));
	for (uint64_t i = 0; i < RECEIVES; i++) {
		struct doca_buf *buf;

		DO(doca_buf_inventory_buf_get_by_addr(inventory, map, memory[i], MESSAGE, &buf));
		DO(doca_rdma_task_receive_allocate_init(rdma, buf, (union doca_data){.u64 = i},
							&receives[i]));
		DO(doca_task_submit(doca_rdma_task_receive_as_task(receives[i])));
	}
}

static void progress(void)
{
	if (!doca_pe_progress(pe))
		sched_yield();
}

static void end(void)
{
	enum doca_ctx_states state;
	doca_error_t ret;

	stopping = true;
	ret = doca_ctx_stop(ctx);
	if (ret != DOCA_ERROR_IN_PROGRESS)
		DO(ret);
	while (doca_ctx_get_state(ctx, &state) == DOCA_SUCCESS && state != DOCA_CTX_STATE_IDLE)
		progress();
	if (sending)
		doca_task_free(doca_rdma_task_send_as_task(sending));
	for (int i = 0; i < RECEIVES; i++) {
		DO(doca_buf_dec_refcount(doca_rdma_task_receive_get_dst_buf(receives[i]), NULL));
		doca_task_free(doca_rdma_task_receive_as_task(receives[i]));
	}
	DO(doca_buf_dec_refcount(out, NULL));
	DO(doca_rdma_destroy(rdma));
	DO(doca_pe_destroy(pe));
	DO(doca_buf_inventory_destroy(inventory));
	DO(doca_mmap_destroy(map));
	DO(doca_dev_close(dev));
}

static struct doca_rdma_addr *begin(const char *address, uint16_t port)
{
	struct doca_rdma_addr *addr;

	if (!address) {
		DO(doca_rdma_start_listen_to_port(rdma, port));
		return NULL;
	}
	DO(doca_rdma_addr_create(strchr(address, ':') ? DOCA_RDMA_ADDR_TYPE_IPv6
						      : DOCA_RDMA_ADDR_TYPE_IPv4,
				 address, port, &addr));
	DO(doca_rdma_connect_to_addr(rdma, addr, (union doca_data){.u64 = 0}));
	return addr;
}

int main(int argc, char **argv)
{
	struct doca_rdma_addr *addr;

	if (argc < 2)
		return 1;
	stay = !strcmp(argv[argc - 1], "stay");
	server = argc - stay == 2;
	open_device();
	open_rdma();
	addr = begin(server ? NULL : argv[2], (uint16_t)atoi(argv[1]));
	while (!stay && (sent < ROUNDS || got < ROUNDS))
		progress();
	if (!stay)
		printf("%d messages\n", got);
	fflush(stdout);
	if (!server && !stay)
		DO(doca_rdma_connection_disconnect(connection));
	while (!over)
		progress();
	if (stay)
		printf("disconnected\n");
	end();
	if (addr)
		DO(doca_rdma_addr_destroy(addr));
	return 0;
}
