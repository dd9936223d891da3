/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "side.h"

#define ACCESS                                                                                     \
	(DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |                          \
	 DOCA_ACCESS_FLAG_RDMA_WRITE)

void side_need(doca_error_t ret, const char *what)
{
	if (ret == DOCA_SUCCESS)
		return;
	fprintf(stderr, "%s: %s\n", what, doca_error_get_descr(ret));
	exit(1);
}

void side_need_cuda(cudaError_t ret, const char *what)
{
	if (ret == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(ret));
	exit(1);
}

static void usage(const char *program)
{
	fprintf(stderr, "usage: %s -g GPU -d DEVICE [-c SERVER] [-p PORT] [-m gpu|host] ...\n", program);
	exit(2);
}

int side_parse(int argc, char **argv, struct side_options *opt)
{
	int c;

	while ((c = getopt(argc, argv, "+g:d:c:p:m:")) != -1)
		if (c == 'g')
			opt->gpu = optarg;
		else if (c == 'd')
			opt->device = optarg;
		else if (c == 'c')
			opt->server = optarg;
		else if (c == 'p')
			opt->port = (uint16_t)atoi(optarg);
		else if (c == 'm' && (!strcmp(optarg, "gpu") || !strcmp(optarg, "host")))
			opt->host_memory = !strcmp(optarg, "host");
		else
			usage(argv[0]);
	if (!opt->gpu || !opt->device || !opt->port)
		usage(argv[0]);
	return optind;
}

/* ------------------------------------------------------------------------- TCP */

bool side_tell(struct side *s, const void *p, size_t n)
{
	return send(s->peer, p, n, MSG_NOSIGNAL) == (ssize_t)n;
}

bool side_hear(struct side *s, void *p, size_t n)
{
	return recv(s->peer, p, n, MSG_WAITALL) == (ssize_t)n;
}

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int serve(uint16_t port)
{
	struct sockaddr_in at = {};
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1, peer;

	at.sin_family = AF_INET;
	at.sin_port = htons(port);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	need(bind(s, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(s, 1) == 0, "listen");
	peer = accept(s, NULL, NULL);
	need(peer >= 0, "accept");
	close(s);
	return peer;
}

static int call(const char *server, uint16_t port)
{
	struct sockaddr_in at = {};
	int s = -1;

	at.sin_family = AF_INET;
	at.sin_port = htons(port);
	if (inet_pton(AF_INET, server, &at.sin_addr) != 1) {
		fprintf(stderr, "-c %s: not an IPv4 address, such as 127.0.0.1\n", server);
		exit(2);
	}
	for (int i = 0; i < 200; i++) {
		s = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(s, (struct sockaddr *)&at, sizeof(at)) == 0)
			return s;
		close(s);
		usleep(50000);
	}
	need(false, "connect");
	return s;
}

/* Send own data and receive that of the peer. NULL if the peer has gone. */
static void *swap(struct side *s, const void *own, size_t n, size_t *got)
{
	uint64_t len = n;
	void *p;

	if (!side_tell(s, &len, sizeof(len)) || !side_tell(s, own, n) ||
	    !side_hear(s, &len, sizeof(len)) || len > 4096)
		need(false, "exchange");
	p = malloc(len);
	need(side_hear(s, p, len), "exchange");
	*got = len;
	return p;
}

/* ------------------------------------------------------------------------ DOCA */

static struct doca_dev *open_device(const char *want)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	struct doca_dev *dev = NULL;
	uint32_t n;

	side_need(doca_devinfo_create_list(&list, &n), "list of devices");
	for (uint32_t i = 0; i < n && !dev; i++)
		if (doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)) == DOCA_SUCCESS &&
		    !strcmp(name, want))
			side_need(doca_dev_open(list[i], &dev), want);
	doca_devinfo_destroy_list(list);
	if (!dev) {
		fprintf(stderr, "-d %s: no such device; dpa0 is there for programs that dpa-run starts\n",
			want);
		exit(1);
	}
	return dev;
}

static struct doca_gpu *open_gpu(const char *gpu)
{
	struct doca_gpu *g;
	doca_error_t ret = doca_gpu_create(gpu, &g);

	if (ret == DOCA_SUCCESS)
		return g;
	fprintf(stderr, "-g %s: %s; a PCI address is needed, on the stand-in da00:00:00.0\n", gpu,
		doca_error_get_descr(ret));
	exit(1);
}

static void open_rdma(struct side *s)
{
	side_need(doca_rdma_create(s->dev, &s->rdma), "doca_rdma_create");
	s->ctx = doca_rdma_as_ctx(s->rdma);
	side_need(doca_rdma_set_permissions(s->rdma, ACCESS), "permissions");
	side_need(doca_rdma_set_send_queue_size(s->rdma, s->opt.queue), "queue");
	side_need(doca_rdma_set_max_num_connections(s->rdma, s->opt.conns ? s->opt.conns : 1),
		  "connections");
	side_need(doca_ctx_set_datapath_on_gpu(s->ctx, s->gpu), "data path");
	side_need(doca_rdma_set_recv_queue_size(s->rdma, s->opt.queue), "queue");
	side_need(doca_ctx_start(s->ctx), "doca_ctx_start");
	side_need(doca_rdma_get_gpu_handle(s->rdma, &s->k), "GPU handle");
}

static uint32_t connect_rdma(struct side *s)
{
	struct doca_rdma_connection *conn;
	const void *own;
	size_t n, got;
	uint32_t id;
	void *peer;

	side_need(doca_rdma_export(s->rdma, &own, &n, &conn), "doca_rdma_export");
	peer = swap(s, own, n, &got);
	side_need(doca_rdma_connect(s->rdma, peer, got, conn), "doca_rdma_connect");
	side_need(doca_rdma_connection_get_id(conn, &id), "connection");
	free(peer);
	return id;
}

static void open_memory(struct side *s)
{
	const void *own;
	size_t n, got;
	void *peer, *cpu;

	side_need(doca_gpu_mem_alloc(s->gpu, s->opt.bytes, 4096,
				     s->opt.host_memory ? DOCA_GPU_MEM_TYPE_CPU_GPU
							: DOCA_GPU_MEM_TYPE_GPU,
				     (void **)&s->mem, &cpu),
		  "memory");
	side_need(doca_mmap_create(&s->map), "doca_mmap_create");
	side_need(doca_mmap_set_permissions(s->map, ACCESS), "permissions of the memory");
	side_need(doca_mmap_set_memrange(s->map, s->mem, s->opt.bytes), "range");
	side_need(doca_mmap_add_dev(s->map, s->dev), "device of the memory");
	side_need(doca_mmap_start(s->map), "doca_mmap_start");
	side_need(doca_mmap_export_rdma(s->map, s->dev, &own, &n), "doca_mmap_export_rdma");
	peer = swap(s, own, n, &got);
	side_need(doca_mmap_create_from_export(NULL, peer, got, s->dev, &s->peer_map),
		  "the peer's memory");
	free(peer);
}

/* Log to stderr: at its end the library reports its calls of the CUDA driver. */
static void log_to_stderr()
{
	struct doca_log_backend *log;

	side_need(doca_log_backend_create_with_file_sdk(stderr, &log), "log");
	side_need(doca_log_backend_set_sdk_level(log, DOCA_LOG_LEVEL_INFO), "log");
}

void side_open(struct side *s, const struct side_options *opt)
{
	int one = 1;

	log_to_stderr();
	memset(s, 0, sizeof(*s));
	s->opt = *opt;
	side_need_cuda(cudaFree(0), "CUDA");
	s->dev = open_device(opt->device);
	s->gpu = open_gpu(opt->gpu);
	s->peer = opt->server ? call(opt->server, opt->port) : serve(opt->port);
	setsockopt(s->peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	open_rdma(s);
	s->conn_id = connect_rdma(s);
	for (int i = 1; i < opt->conns; i++)
		connect_rdma(s);
	open_memory(s);
}

void side_close(struct side *s)
{
	side_need(doca_ctx_stop(s->ctx), "doca_ctx_stop");
	side_need(doca_rdma_destroy(s->rdma), "doca_rdma_destroy");
	side_need(doca_mmap_destroy(s->peer_map), "doca_mmap_destroy");
	side_need(doca_mmap_destroy(s->map), "doca_mmap_destroy");
	side_need(doca_gpu_mem_free(s->gpu, s->mem), "doca_gpu_mem_free");
	side_need(doca_gpu_destroy(s->gpu), "doca_gpu_destroy");
	side_need(doca_dev_close(s->dev), "doca_dev_close");
	close(s->peer);
}

struct side_array side_array_make(struct side *s, struct doca_mmap *map, size_t n, size_t size)
{
	struct side_array a;

	side_need(doca_buf_arr_create(n, &a.arr), "doca_buf_arr_create");
	side_need(doca_buf_arr_set_target_gpu(a.arr, s->gpu), "target");
	side_need(doca_buf_arr_set_params(a.arr, map, size, 0), "elements");
	side_need(doca_buf_arr_start(a.arr), "doca_buf_arr_start");
	side_need(doca_buf_arr_get_gpu_handle(a.arr, &a.k), "array");
	return a;
}

void side_array_free(struct side_array *a)
{
	side_need(doca_buf_arr_destroy(a->arr), "doca_buf_arr_destroy");
}
