/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * echo.c - echo PORT GID_INDEX ROUNDS RECEIVES: two RDMA contexts with a DPA thread each, two
 * connections each, that answer a peer. The peer is any program that speaks struct dpa_rdma_details
 * over TCP: for each connection each side sends its own and takes the other's; then the DPA side
 * sends a byte, and the peer one when it has all answers. Exits with 0 when ROUNDS messages of each
 * connection were answered, 3 when a thread has seen an error, 1 for everything else.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <doca_mmap.h>
#include <doca_rdma.h>
#include <doca_sync_event.h>
#include "echo.h"

#define DO(call)                                                                                   \
	do {                                                                                       \
		doca_error_t e_ = (call);                                                          \
		if (e_ != DOCA_SUCCESS) {                                                          \
			fprintf(stderr, "%s: %s\n", #call, doca_error_get_name(e_));               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

extern struct doca_dpa_app *echo_app;
extern doca_dpa_func_t echo_start, echo_thread;

struct side {
	struct doca_dpa_thread *thread;
	struct doca_dpa_completion *comp;
	struct doca_rdma *rdma;
	struct doca_mmap *map;
	doca_dpa_dev_uintptr_t at;
	struct echo s;
};

static struct doca_dev *dev;
static struct doca_dpa *dpa;
static struct doca_sync_event *event;

static void open_device(void)
{
	struct doca_devinfo **list;
	uint32_t n;

	DO(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !dev; i++)
		if (doca_dpa_cap_is_supported(list[i]) == DOCA_SUCCESS &&
		    doca_rdma_cap_task_send_is_supported(list[i]) == DOCA_SUCCESS)
			DO(doca_dev_open(list[i], &dev));
	DO(doca_devinfo_destroy_list(list));
	if (!dev)
		exit(1);
	DO(doca_dpa_create(dev, &dpa));
	DO(doca_dpa_set_app(dpa, echo_app));
	DO(doca_dpa_start(dpa));
	DO(doca_sync_event_create(&event));
	DO(doca_sync_event_add_publisher_location_dpa(event, dpa));
	DO(doca_sync_event_add_subscriber_location_cpu(event, dev));
	DO(doca_sync_event_start(event));
}

static void open_rdma(struct side *s, uint32_t gid)
{
	struct doca_ctx *ctx;

	DO(doca_rdma_create(dev, &s->rdma));
	ctx = doca_rdma_as_ctx(s->rdma);
	DO(doca_ctx_set_datapath_on_dpa(ctx, dpa));
	DO(doca_rdma_set_permissions(s->rdma, DOCA_ACCESS_FLAG_RDMA_WRITE));
	DO(doca_rdma_set_grh_enabled(s->rdma, 1));
	DO(doca_rdma_set_recv_queue_size(s->rdma, s->s.slots));
	DO(doca_rdma_set_gid_index(s->rdma, gid));
	DO(doca_rdma_set_max_num_connections(s->rdma, ECHO_CONNECTIONS));
	DO(doca_rdma_dpa_completion_attach(s->rdma, s->comp));
	DO(doca_ctx_start(ctx));
	DO(doca_rdma_get_dpa_handle(s->rdma, &s->s.rdma));
}

static void open_side(struct side *s, uint32_t gid)
{
	DO(doca_dpa_mem_alloc(dpa, sizeof(s->s), &s->at));
	DO(doca_dpa_thread_create(dpa, &s->thread));
	DO(doca_dpa_thread_set_func_arg(s->thread, echo_thread, s->at));
	DO(doca_dpa_thread_start(s->thread));
	DO(doca_dpa_completion_create(dpa, 16, &s->comp));
	DO(doca_dpa_completion_set_thread(s->comp, s->thread));
	DO(doca_dpa_completion_start(s->comp));
	DO(doca_dpa_completion_get_dpa_handle(s->comp, &s->s.comp));
	DO(doca_mmap_create(&s->map));
	DO(doca_mmap_set_permissions(s->map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE));
	DO(doca_mmap_set_dpa_memrange(s->map, dpa, s->at, sizeof(s->s)));
	DO(doca_mmap_start(s->map));
	DO(doca_mmap_dev_get_dpa_handle(s->map, dev, &s->s.mmap));
	DO(doca_sync_event_get_dpa_handle(event, dpa, &s->s.event));
	open_rdma(s, gid);
	DO(doca_dpa_h2d_memcpy(dpa, s->at, &s->s, sizeof(s->s)));
	DO(doca_dpa_thread_run(s->thread));
}

static int accept_peer(uint16_t port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int on = 1, off = 0, l = socket(AF_INET6, SOCK_STREAM, 0);
	int fd;

	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(l, (struct sockaddr *)&a, sizeof(a)) || listen(l, 1) ||
	    (fd = accept(l, NULL, NULL)) < 0) {
		perror("listen");
		exit(1);
	}
	close(l);
	return fd;
}

static void connect_one(struct side *s, int fd)
{
	struct doca_rdma_connection *c;
	const void *own;
	char peer[4096];
	size_t size;

	DO(doca_rdma_export(s->rdma, &own, &size, &c));
	if (send(fd, own, size, MSG_NOSIGNAL) != (ssize_t)size ||
	    recv(fd, peer, size, MSG_WAITALL) != (ssize_t)size) {
		fprintf(stderr, "the peer is gone\n");
		exit(1);
	}
	DO(doca_rdma_connect(s->rdma, peer, size, c));
}

static int close_side(struct side *s, int n)
{
	int ret;

	DO(doca_dpa_d2h_memcpy(dpa, &s->s, s->at, sizeof(s->s)));
	printf("thread %d: %llu messages, %llu + %llu, %llu errors, %llu activations, %llu for "
	       "nothing, %llu out of order\n",
	       n, (unsigned long long)s->s.count, (unsigned long long)s->s.from[0],
	       (unsigned long long)s->s.from[1], (unsigned long long)s->s.errors,
	       (unsigned long long)s->s.activations, (unsigned long long)s->s.empty,
	       (unsigned long long)s->s.turned);
	DO(doca_ctx_stop(doca_rdma_as_ctx(s->rdma)));
	DO(doca_rdma_destroy(s->rdma));
	DO(doca_mmap_destroy(s->map));
	DO(doca_dpa_completion_destroy(s->comp));
	DO(doca_dpa_thread_destroy(s->thread));
	DO(doca_dpa_mem_free(dpa, s->at));
	if (s->s.errors)
		ret = 3;
	else
		ret = s->s.count != s->s.total || s->s.from[0] != s->s.from[1] || s->s.empty;
	return ret;
}

int main(int argc, char **argv)
{
	struct side sides[ECHO_SIDES] = {0};
	uint64_t posted;
	int fd, ret = 0;
	char done;

	if (argc != 5)
		return 1;
	open_device();
	for (int i = 0; i < ECHO_SIDES; i++) {
		sides[i].s.slots = (uint32_t)atoi(argv[4]);
		sides[i].s.total = (uint64_t)atoi(argv[3]) * ECHO_CONNECTIONS;
		open_side(&sides[i], (uint32_t)atoi(argv[2]));
		DO(doca_dpa_rpc(dpa, echo_start, &posted, sides[i].at));
	}
	fd = accept_peer((uint16_t)atoi(argv[1]));
	for (int i = 0; i < ECHO_SIDES * ECHO_CONNECTIONS; i++)
		connect_one(&sides[i / ECHO_CONNECTIONS], fd);
	if (send(fd, "g", 1, MSG_NOSIGNAL) != 1)
		return 1;
	DO(doca_sync_event_wait_gt(event, ECHO_SIDES - 1, UINT64_MAX));
	/* the peer has all answers, or is gone: a posted answer may not have left yet */
	if (recv(fd, &done, 1, 0) < 0)
		return 1;
	for (int i = 0; i < ECHO_SIDES; i++)
		ret |= close_side(&sides[i], i);
	close(fd);
	DO(doca_sync_event_destroy(event));
	DO(doca_dpa_destroy(dpa));
	DO(doca_dev_close(dev));
	return ret;
}
