/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * host.c - sync events and asynchronous operations on the device itself: host CASE. Exits 0 if all
 * is well.
 */
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <doca_mmap.h>
#include <doca_rdma.h>
#include <doca_sync_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "shared.h"

extern struct doca_dpa_app *sync_app;
extern doca_dpa_func_t walk, go;

enum { SEND = 0, SEND_ERR = 0xd, FLUSH = 1, OPTIMIZE = 2, RW = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE };

#define OK(call)                                                                                   \
	do {                                                                                       \
		doca_error_t ret_ = (call);                                                        \
		if (ret_ != DOCA_SUCCESS)                                                          \
			fail(__LINE__, #call, doca_error_get_name(ret_));                          \
	} while (0)
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			fail(__LINE__, #x, "false");                                               \
	} while (0)

static void fail(int line, const char *what, const char *why)
{
	printf("line %d: %s: %s\n", line, what, why);
	exit(1);
}

static struct {
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_completion *comp;
	struct doca_dpa_async_ops *ops;
	struct doca_sync_event *done;
	uint64_t notify_handle, rounds;
	struct state *s; /* in the DPA's heap, which is this process's */
	uint32_t steps;
} g;

static void open_dev(void)
{
	struct doca_devinfo **list;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !g.dev; i++) {
		OK(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		if (!strcmp(name, "dpa0"))
			OK(doca_dev_open(list[i], &g.dev));
	}
	OK(doca_devinfo_destroy_list(list));
	CHECK(g.dev);
}

static struct doca_sync_event *new_event(uint64_t *word, uint64_t *handle)
{
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, g.dev));
	OK(doca_sync_event_add_publisher_location_dpa(se, g.dpa));
	OK(doca_sync_event_add_publisher_location_remote_net(se));
	OK(doca_sync_event_add_subscriber_location_cpu(se, g.dev));
	OK(doca_sync_event_add_subscriber_location_dpa(se, g.dpa));
	if (word)
		OK(doca_sync_event_set_addr(se, word));
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_get_dpa_handle(se, g.dpa, handle));
	return se;
}

static void set_up(void)
{
	uint64_t state;

	open_dev();
	OK(doca_dpa_create(g.dev, &g.dpa));
	OK(doca_dpa_set_app(g.dpa, sync_app));
	OK(doca_dpa_start(g.dpa));
	OK(doca_dpa_mem_alloc(g.dpa, sizeof(struct state), &state));
	g.s = (struct state *)(uintptr_t)state;
	memset(g.s, 0, sizeof(*g.s));
	OK(doca_dpa_thread_create(g.dpa, &g.thread));
	OK(doca_dpa_thread_set_func_arg(g.thread, &walk, state));
	OK(doca_dpa_thread_start(g.thread));
	OK(doca_dpa_notification_completion_create(g.dpa, g.thread, &g.notify));
	OK(doca_dpa_notification_completion_start(g.notify));
	OK(doca_dpa_notification_completion_get_dpa_handle(g.notify, &g.notify_handle));
	OK(doca_dpa_completion_create(g.dpa, 128, &g.comp));
	OK(doca_dpa_completion_start(g.comp));
	OK(doca_dpa_completion_get_dpa_handle(g.comp, &g.s->comp));
	OK(doca_dpa_async_ops_create(g.dpa, 8, 0x123456, &g.ops));
	OK(doca_dpa_async_ops_attach(g.ops, g.comp));
	OK(doca_dpa_async_ops_start(g.ops));
	OK(doca_dpa_async_ops_get_dpa_handle(g.ops, &g.s->async_ops));
	g.done = new_event(NULL, &g.s->done);
	OK(doca_dpa_thread_run(g.thread));
}

static void tear_down(void)
{
	OK(doca_dpa_peek_at_last_error(g.dpa));
	OK(doca_dpa_async_ops_destroy(g.ops));
	OK(doca_dpa_completion_destroy(g.comp));
	OK(doca_dpa_notification_completion_destroy(g.notify));
	OK(doca_dpa_thread_destroy(g.thread));
	OK(doca_sync_event_destroy(g.done));
	OK(doca_dpa_destroy(g.dpa));
	OK(doca_dev_close(g.dev));
}

static void step(struct step s)
{
	g.s->steps[g.steps++] = s;
	g.s->steps[g.steps].op = END;
}

static void start(void)
{
	uint64_t ret;

	g.s->num_log = 0;
	OK(doca_dpa_rpc(g.dpa, &go, &ret, g.notify_handle));
}

static void finish(void)
{
	OK(doca_sync_event_wait_gt(g.done, g.rounds++, ~0ull));
	g.steps = 0;
}

static struct doca_mmap *map(void *addr, size_t len, uint32_t access, uint32_t *key)
{
	struct doca_mmap *m;

	OK(doca_mmap_create(&m));
	OK(doca_mmap_set_memrange(m, addr, len));
	OK(doca_mmap_set_permissions(m, access));
	OK(doca_mmap_add_dev(m, g.dev));
	OK(doca_mmap_start(m));
	OK(doca_mmap_dev_get_dpa_handle(m, g.dev, key));
	return m;
}

static struct step copy(void *dst, uint32_t dst_key, void *src, uint32_t src_key, size_t len,
			uint32_t flags)
{
	return (struct step){.op = COPY,
			     .flags = flags,
			     .dst_key = dst_key,
			     .src_key = src_key,
			     .dst = (uintptr_t)dst,
			     .src = (uintptr_t)src,
			     .length = len};
}

/* Of all sizes, more than the queue holds, several rounds. */
static void copies(void)
{
	static const size_t sizes[] = {0, 1, 8, 63, 64, 65, 1000, 4096, 65536, 1000003};
	enum { N = sizeof(sizes) / sizeof(sizes[0]), SPACE = 1 << 20 };
	char *src = malloc((size_t)N * SPACE), *dst = malloc((size_t)N * SPACE);
	uint32_t src_key, dst_key;
	struct doca_mmap *m1, *m2;

	m1 = map(src, (size_t)N * SPACE, DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &src_key);
	m2 = map(dst, (size_t)N * SPACE, RW, &dst_key);
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < (size_t)N * SPACE; i++)
			src[i] = (char)(i * 7 + i / 251 + (size_t)round);
		memset(dst, 0, (size_t)N * SPACE);
		for (size_t i = 0; i < N; i++)
			step(copy(dst + i * SPACE, dst_key, src + i * SPACE, src_key, sizes[i],
				  round & 1    ? FLUSH
				  : i == N - 1 ? FLUSH
					       : OPTIMIZE));
		step((struct step){.op = TAKE, .length = round & 1 ? N : 1});
		start();
		finish();
		CHECK(g.s->num_log == (round & 1 ? N : 1));
		for (uint64_t i = 0; i < g.s->num_log; i++) {
			CHECK(g.s->log[i].type == SEND);
			CHECK(g.s->log[i].user_data == 0x123456);
		}
		for (size_t i = 0; i < N; i++) {
			CHECK(!memcmp(dst + i * SPACE, src + i * SPACE, sizes[i]));
			CHECK(!dst[i * SPACE + sizes[i]]);
		}
	}
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
	free(src);
	free(dst);
}

/* A bad key, past either end, no right to write: an error, and nothing is written. */
static void errors(void)
{
	for (int i = 0; i < 4; i++) {
		char src[100] = "abc", dst[100] = "";
		uint32_t src_key, dst_key;
		struct doca_mmap *m1, *m2;

		m1 = map(src, sizeof(src), DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &src_key);
		m2 = map(dst, sizeof(dst), i == 3 ? 0 : RW, &dst_key);
		step(copy(dst + (i == 1 ? 90 : 0), dst_key, src + (i == 2 ? 90 : 0),
			  i ? src_key : src_key ^ 0x5500, 11, FLUSH | OPTIMIZE));
		step((struct step){.op = TAKE, .length = 1});
		start();
		finish();
		CHECK(g.s->log[0].type == SEND_ERR);
		CHECK(g.s->log[0].user_data == 0x123456);
		CHECK(!dst[0]);
		/* the queue is not usable any more, until it is started again */
		OK(doca_dpa_async_ops_stop(g.ops));
		OK(doca_dpa_async_ops_start(g.ops));
		OK(doca_dpa_async_ops_get_dpa_handle(g.ops, &g.s->async_ops));
		OK(doca_mmap_destroy(m1));
		OK(doca_mmap_destroy(m2));
	}
}

/* Wait between copies, for an event that a call or a store completes. */
static void waits(void)
{
	uint64_t src[3] = {1, 2, 3}, dst[3], word = 0, h, v;
	uint32_t src_key, dst_key;
	struct doca_mmap *m1 = map(src, sizeof(src), 0, &src_key);
	struct doca_mmap *m2 = map(dst, sizeof(dst), RW, &dst_key);

	for (int round = 0; round < 40; round++) {
		struct doca_sync_event *se = new_event(round & 1 ? &word : NULL, &h);

		__atomic_store_n(&word, 0, __ATOMIC_RELEASE);
		memset(dst, 0, sizeof(dst));
		step(copy(&dst[0], dst_key, &src[0], src_key, 8, OPTIMIZE));
		step((struct step){.op = round & 2 ? WAIT_NE : WAIT_GT, .dst = h, .src = 0});
		step(copy(&dst[1], dst_key, &src[1], src_key, 8, FLUSH));
		step((struct step){.op = WAIT_GT, .dst = h, .src = 1});
		step(copy(&dst[2], dst_key, &src[2], src_key, 8, FLUSH));
		step((struct step){.op = TAKE, .length = 4});
		start();
		while (__atomic_load_n(&dst[0], __ATOMIC_ACQUIRE) != 1)
			sched_yield();
		for (uint64_t k = 1; k <= 2; k++) {
			CHECK(!__atomic_load_n(&dst[k], __ATOMIC_ACQUIRE));
			if (round & 1)
				__atomic_store_n(&word, k, __ATOMIC_RELEASE);
			else
				OK(doca_sync_event_update_add(se, 1, &v));
			while (__atomic_load_n(&dst[k], __ATOMIC_ACQUIRE) != k + 1)
				sched_yield();
		}
		finish();
		CHECK(g.s->num_log == 4);
		OK(doca_sync_event_destroy(se));
	}
	OK(doca_mmap_destroy(m1));
	OK(doca_mmap_destroy(m2));
}

/*
 * The context is destroyed while a queue waits and the thread polls for an element that never
 * comes.
 */
static void ends(void)
{
	struct doca_sync_event *se;
	uint64_t h;

	se = new_event(NULL, &h);
	step((struct step){.op = WAIT_GT, .dst = h, .src = 0});
	step((struct step){.op = TAKE, .length = 1});
	start();
	OK(doca_dpa_thread_stop(g.thread));
	OK(doca_dpa_async_ops_stop(g.ops));
	OK(doca_sync_event_update_set(se, 1));
	OK(doca_sync_event_destroy(se));
}

/* --------------------------------------------------------- two processes */

enum { ROUNDS = 200 };

static void put(int fd, const void *data, size_t len)
{
	CHECK(write(fd, &len, sizeof(len)) == sizeof(len));
	CHECK(write(fd, data, len) == (ssize_t)len);
}

static size_t get(int fd, void *data, size_t max)
{
	size_t len;

	CHECK(recv(fd, &len, sizeof(len), MSG_WAITALL) == sizeof(len));
	CHECK(len <= max);
	CHECK(recv(fd, data, len, MSG_WAITALL) == (ssize_t)len);
	return len;
}

static struct doca_rdma *join(int fd)
{
	struct doca_rdma_connection *c;
	struct doca_rdma *rdma;
	char other[4096];
	const void *mine;
	size_t len;

	OK(doca_rdma_create(g.dev, &rdma));
	OK(doca_rdma_set_permissions(rdma, RW | DOCA_ACCESS_FLAG_RDMA_WRITE |
						   DOCA_ACCESS_FLAG_RDMA_READ |
						   DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	OK(doca_rdma_set_grh_enabled(rdma, 1));
	OK(doca_ctx_set_datapath_on_dpa(doca_rdma_as_ctx(rdma), g.dpa));
	OK(doca_rdma_dpa_completion_attach(rdma, g.comp));
	OK(doca_ctx_start(doca_rdma_as_ctx(rdma)));
	OK(doca_rdma_get_dpa_handle(rdma, &g.s->rdma));
	OK(doca_rdma_export(rdma, &mine, &len, &c));
	OK(doca_rdma_connection_get_id(c, &g.s->connection));
	put(fd, mine, len);
	len = get(fd, other, sizeof(other));
	OK(doca_rdma_connect(rdma, other, len, c));
	put(fd, "x", 1); /* no side signals before the other one can receive */
	get(fd, other, 1);
	return rdma;
}

/*
 * Each exports an event of its own and signals the other's in turn. One sets and waits on the CPU;
 * the other adds, and waits in device code or by post_wait.
 */
static void peer(int fd, int which)
{
	struct doca_sync_event_remote_net *remote;
	struct doca_sync_event *se;
	struct doca_rdma *rdma = join(fd);
	uint64_t own, theirs, word = 0;
	const uint8_t *data;
	uint8_t blob[4096];
	size_t len;

	se = new_event(which ? &word : NULL, &own);
	OK(doca_sync_event_export_to_remote_net(se, &data, &len));
	put(fd, data, len);
	len = get(fd, blob, sizeof(blob));
	OK(doca_sync_event_remote_net_create_from_export(g.dev, blob, len, &remote));
	OK(doca_sync_event_remote_net_get_dpa_handle(remote, g.dpa, &theirs));
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		if (which) {
			if (i & 1) {
				step((struct step){.op = WAIT_GT, .dst = own, .src = i - 1});
				step((struct step){.op = TAKE, .length = 1});
			} else {
				step((struct step){.op = EVENT_WAIT, .dst = own, .src = i - 1});
			}
			step((struct step){.op = SIGNAL_ADD, .dst = theirs, .src = 1});
		} else {
			step((struct step){.op = SIGNAL_SET, .dst = theirs, .src = i});
		}
		step((struct step){.op = TAKE, .length = 1}); /* of the signal */
		start();
		if (!which)
			OK(doca_sync_event_wait_gt(se, i - 1, ~0ull));
		finish();
		CHECK(g.s->log[g.s->num_log - 1].type == SEND);
	}
	OK(doca_sync_event_get(se, &own));
	CHECK(own == ROUNDS);
	put(fd, "x", 1);
	get(fd, blob, 1);
	OK(doca_sync_event_remote_net_destroy(remote));
	OK(doca_sync_event_destroy(se));
	OK(doca_ctx_stop(doca_rdma_as_ctx(rdma)));
	OK(doca_rdma_destroy(rdma));
}

static int net(void)
{
	int fds[2], status = 0, which;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	fflush(stdout);
	pid = fork();
	which = pid != 0;
	set_up();
	peer(fds[which], which);
	tear_down();
	if (!pid)
		return 0;
	CHECK(waitpid(pid, &status, 0) == pid);
	return status != 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} cases[] = {{"copies", copies}, {"errors", errors}, {"waits", waits}, {"ends", ends}};

	CHECK(argc == 2);
	if (!strcmp(argv[1], "net"))
		return net();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			set_up();
			cases[i].fn();
			tear_down();
			return 0;
		}
	printf("no case %s\n", argv[1]);
	return 1;
}
