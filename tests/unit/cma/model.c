/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* model.c - see model.h. Commands are read by the offsets of <rdma/rdma_user_cm.h>. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "cma/kernel.h"
#include "model.h"
#include "util.h"

#define FIRST 70000u /* numbers are those of the system, not of the process */
#define MAX   4096
#define FILES 160

enum state { FREE, IDLE, BOUND, LISTENS, RESOLVED, ROUTED, CONNECTED, DISCONNECTED };

struct file {
	int fd; /* an eventfd: one count for each event; -1: free */
	pid_t pid;
};
struct kid {
	enum state state;
	struct file *file;
	uint64_t uid;
	uint16_t port;
	bool device;
	uint8_t src[28], dst[28];
	uint32_t peer, reported;
};
struct mc {
	bool used;
	uint32_t id, reported;
	uint64_t uid;
};
struct kev {
	struct kev *next;
	struct file *file;
	uint32_t id, mc, type; /* mc: its number + 1 */
	uint32_t request;      /* the new id */
};

struct model model;
static struct file files[FILES];
static struct kid ids[MAX];
static struct mc mcs[16];
static struct kev *events;
static uint16_t next_port = 40000;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct file *file_of(int fd)
{
	for (int i = 0; i < FILES; i++)
		if (files[i].fd == fd)
			return &files[i];
	return NULL;
}

static void inside(void)
{
	if (model.inside)
		model.inside();
}

static int model_open(struct stat *st)
{
	struct file *f = file_of(-1);

	model.opens++;
	if (model.absent || !f)
		return -1;
	f->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK);
	f->pid = getpid();
	st->st_rdev = model.dev;
	model.files++;
	inside();
	return f->fd;
}

/* ------------------------------------------------------------------- events */

static void queue(uint32_t id, uint32_t mc, uint32_t type, uint32_t request)
{
	struct kev *e = calloc(1, sizeof(*e)), **p = &events;
	const uint64_t one = 1;

	*e = (struct kev){
		.file = ids[id].file, .id = id, .mc = mc, .type = type, .request = request};
	while (*p)
		p = &(*p)->next;
	*p = e;
	cr_assert_eq(write(e->file->fd, &one, sizeof(one)), 8);
}

static void taken(struct file *f)
{
	uint64_t n;

	cr_assert_eq(read(f->fd, &n, sizeof(n)), 8);
}

static void free_id(uint32_t id);

static void purge(uint32_t id, uint32_t mc)
{
	for (struct kev **p = &events, *e; (e = *p);) {
		if (e->id != id || (mc && e->mc != mc)) {
			p = &e->next;
			continue;
		}
		*p = e->next;
		taken(e->file);
		if (e->type == EV_CONNECT_REQUEST)
			free_id(e->request);
		free(e);
	}
}

static void free_id(uint32_t id)
{
	struct kid *k = &ids[id];

	if (k->state == CONNECTED && ids[k->peer].state == CONNECTED && ids[k->peer].peer == id) {
		ids[k->peer].state = DISCONNECTED;
		if (ids[k->peer].uid)
			queue(k->peer, 0, EV_DISCONNECTED, 0);
	}
	purge(id, 0);
	for (int i = 0; i < 16; i++)
		if (mcs[i].used && mcs[i].id == id) {
			mcs[i].used = false;
			model.mcs--;
		}
	k->state = FREE;
	model.ids--;
}

static int model_close(int fd)
{
	struct file *f = file_of(fd);

	cr_assert_not_null(f);
	inside();
	if (f->pid == getpid()) {
		pthread_mutex_lock(&lock);
		for (uint32_t i = 0; i < MAX; i++)
			if (ids[i].state != FREE && ids[i].file == f)
				free_id(i);
		pthread_mutex_unlock(&lock);
		model.files--;
	}
	f->fd = -1;
	return close(fd);
}

/* ----------------------------------------------------------------- commands */

static uint32_t new_id(struct file *f, uint64_t uid)
{
	uint32_t i = 0;

	while (ids[i].state != FREE)
		cr_assert_lt(++i, MAX);
	ids[i] = (struct kid){.state = IDLE, .file = f, .uid = uid};
	model.ids++;
	return i;
}

static int find(struct file *f, uint32_t num, struct kid **k)
{
	if (num < FIRST || num >= FIRST + MAX || ids[num - FIRST].state == FREE)
		return ENOENT;
	*k = &ids[num - FIRST];
	return (*k)->file == f ? 0 : EINVAL;
}

static void answer32(const uint8_t *b, uint32_t v)
{
	memcpy((void *)(uintptr_t)get64(b, 0), &v, 4);
}

static bool is_of(const uint8_t *a, const char *v4, const char *v6)
{
	uint8_t ip[16];

	if (get16(a, 0) == AF_INET)
		return inet_pton(AF_INET, v4, ip) && !memcmp(a + 4, ip, 4);
	return inet_pton(AF_INET6, v6, ip) && !memcmp(a + 8, ip, 16);
}

static bool is_used(uint16_t port, uint8_t family)
{
	for (int i = 0; i < MAX; i++)
		if (ids[i].state != FREE && ids[i].port == port && ids[i].src[0] == family)
			return true;
	return false;
}

/*
 * Find a free port. A listener on a wildcard has the port that our side chose, which may be the
 * next one.
 */
static uint16_t free_port(uint8_t family)
{
	while (is_used(next_port, family))
		next_port++;
	return next_port++;
}

static int bind_to(struct kid *k, const uint8_t *a)
{
	bool any = is_of(a, "0.0.0.0", "::") || is_of(a, "127.0.0.1", "::1");
	uint16_t port = ntohs(get16(a, 2));

	if (k->state != IDLE)
		return EINVAL;
	if (!any && !is_of(a, MODEL_V4, MODEL_V6))
		return EADDRNOTAVAIL;
	if (any && model.refuse_ports) {
		model.refuse_ports--;
		return EADDRINUSE;
	}
	if (!port)
		port = free_port(a[0]);
	else if (port == model.taken)
		return EADDRINUSE;
	if (is_used(port, a[0]))
		return EADDRNOTAVAIL;
	memcpy(k->src, a, 28);
	put16(k->src, 2, htons(port));
	k->port = port;
	k->device = !any;
	k->state = BOUND;
	return 0;
}

static int resolve_addr(struct kid *k, const uint8_t *b)
{
	int err = 0;

	if (k->state == IDLE)
		err = bind_to(k, b + 16);
	if (err)
		return err;
	if (k->state != BOUND)
		return EINVAL;
	memcpy(k->dst, b + 144, 28);
	k->device = true;
	k->state = RESOLVED;
	queue((uint32_t)(k - ids), 0, EV_ADDR_RESOLVED, 0);
	return 0;
}

static int connect_to(struct kid *k)
{
	uint16_t port = ntohs(get16(k->dst, 2));
	uint32_t me = (uint32_t)(k - ids), new;

	if (k->state != ROUTED)
		return EINVAL;
	k->state = CONNECTED;
	for (uint32_t i = 0; i < MAX; i++) {
		if (ids[i].state != LISTENS || ids[i].port != port)
			continue;
		new = new_id(ids[i].file, 0);
		ids[new].state = CONNECTED;
		ids[new].device = true;
		ids[new].peer = me;
		k->peer = new;
		queue(i, 0, EV_CONNECT_REQUEST, new);
		return 0;
	}
	k->peer = me;
	queue(me, 0, EV_REJECTED, 0);
	return 0;
}

static int end(struct kid *k, uint32_t type)
{
	if (k->state != CONNECTED)
		return EINVAL;
	k->state = ids[k->peer].state = DISCONNECTED;
	queue(k->peer, 0, type, 0);
	if (type == EV_DISCONNECTED)
		queue((uint32_t)(k - ids), 0, type, 0);
	return 0;
}

static int get_event(struct file *f, const uint8_t *b)
{
	uint8_t *r = (uint8_t *)(uintptr_t)get64(b, 0);
	struct kev **p = &events, *e;

	while (*p && (*p)->file != f)
		p = &(*p)->next;
	e = *p;
	if (!e)
		return EAGAIN;
	*p = e->next;
	taken(f);
	memset(r, 0, 336);
	put64(r, 0, e->mc ? mcs[e->mc - 1].uid : ids[e->id].uid);
	put32(r, 8,
	      FIRST + (e->mc			       ? e->mc - 1
		       : e->type == EV_CONNECT_REQUEST ? e->request
						       : e->id));
	put32(r, 12, e->type);
	ids[e->id].reported++;
	if (e->mc)
		mcs[e->mc - 1].reported++;
	free(e);
	return 0;
}

static int join_group(struct kid *k, const uint8_t *b)
{
	uint32_t i = 0;

	if (k->state != BOUND && k->state != RESOLVED)
		return EINVAL;
	while (i < 16 && mcs[i].used)
		i++;
	if (i == 16)
		return ENOMEM;
	mcs[i] = (struct mc){.used = true, .id = (uint32_t)(k - ids), .uid = get64(b, 8)};
	model.mcs++;
	answer32(b, FIRST + i);
	queue(mcs[i].id, i + 1, EV_MULTICAST_JOIN, 0);
	return 0;
}

static int leave_group(struct file *f, const uint8_t *b)
{
	uint32_t i = get32(b, 8) - FIRST;

	if (i >= 16 || !mcs[i].used)
		return ENOENT;
	if (ids[mcs[i].id].file != f)
		return EINVAL;
	purge(mcs[i].id, i + 1);
	answer32(b, mcs[i].reported);
	mcs[i].used = false;
	model.mcs--;
	return 0;
}

static int migrate_id(struct file *to, const uint8_t *b)
{
	struct file *from = file_of((int)get32(b, 12));
	const uint64_t one = 1;
	struct kid *k;
	int err = from ? find(from, get32(b, 8), &k) : ENOENT;

	if (err)
		return err;
	for (struct kev *e = events; e; e = e->next) {
		if (e->id != (uint32_t)(k - ids))
			continue;
		taken(from);
		e->file = to;
		if (e->type == EV_CONNECT_REQUEST)
			ids[e->request].file = to;
		cr_assert_eq(write(to->fd, &one, sizeof(one)), 8);
	}
	k->file = to;
	answer32(b, k->reported);
	return 0;
}

static int create_id(struct file *f, const uint8_t *b)
{
	int err = model.fail_create;

	model.fail_create = 0;
	if (!err)
		answer32(b + 8, FIRST + new_id(f, get64(b, 0)));
	return err;
}

static int accept_request(struct kid *k, const uint8_t *b)
{
	if (k->state != CONNECTED)
		return EINVAL;
	if (b[8 + 271])
		k->uid = get64(b, 0);
	queue(k->peer, 0, b[8 + 271] ? EV_CONNECT_RESPONSE : EV_ESTABLISHED, 0);
	return 0;
}

static int start_listening(struct kid *k)
{
	static const uint8_t any[28] = {AF_INET};
	int err = model.fail_listen;

	model.fail_listen = 0;
	if (!err && k->state == IDLE)
		err = bind_to(k, any);
	if (!err && k->state != BOUND)
		err = EINVAL;
	if (!err)
		k->state = LISTENS;
	return err;
}

static int show(struct kid *k, const uint8_t *b)
{
	uint8_t *r = (uint8_t *)(uintptr_t)get64(b, 0);

	memset(r, 0, 208);
	put64(r, 0, k->device ? MODEL_GUID : 0);
	memcpy(r + 136, k->src, 28);
	memcpy(r + 164, k->dst, 28);
	return 0;
}

/* Return the place of the id in the body; -1: none, or not needed. */
static int place_of(uint32_t cmd)
{
	static const int at[COMMANDS] = {
		[CREATE_ID] = -1,   [DESTROY_ID] = 8,  [BIND_IP] = 36,	 [RESOLVE_IP] = 56,
		[QUERY_ROUTE] = 8,  [CONNECT] = 272,   [ACCEPT] = 280,	 [INIT_QP_ATTR] = 8,
		[GET_EVENT] = -1,   [GET_OPTION] = -1, [SET_OPTION] = 8, [JOIN_IP_MCAST] = 44,
		[LEAVE_MCAST] = -1, [MIGRATE_ID] = -1, [QUERY] = 8,	 [JOIN_MCAST] = 16,
	};

	return at[cmd];
}

static int about(struct kid *k, uint32_t cmd, const uint8_t *b)
{
	switch (cmd) {
	case DESTROY_ID:
		if (model.fail_destroy)
			return model.fail_destroy;
		answer32(b, k->reported);
		free_id((uint32_t)(k - ids));
		return 0;
	case BIND:
		return bind_to(k, b + 8);
	case RESOLVE_ADDR:
		return resolve_addr(k, b);
	case RESOLVE_ROUTE:
		if (k->state != RESOLVED)
			return EINVAL;
		k->state = ROUTED;
		queue((uint32_t)(k - ids), 0, EV_ROUTE_RESOLVED, 0);
		return 0;
	case LISTEN:
		return start_listening(k);
	case CONNECT:
		return connect_to(k);
	case ACCEPT:
		return accept_request(k, b);
	case REJECT:
		return end(k, EV_REJECTED);
	case DISCONNECT:
		return end(k, EV_DISCONNECTED);
	case SET_OPTION:
		model.options++;
		return 0;
	case JOIN_MCAST:
		return join_group(k, b);
	case QUERY_ROUTE:
		return show(k, b);
	default:
		return ENOSYS;
	}
}

static int run(struct file *f, uint32_t cmd, const uint8_t *b)
{
	struct kid *k;
	int err;

	if (cmd >= COMMANDS)
		return EINVAL;
	if (place_of(cmd) >= 0) {
		err = find(f, get32(b, (size_t)place_of(cmd)), &k);
		return err ? err : about(k, cmd, b);
	}
	switch (cmd) {
	case CREATE_ID:
		return create_id(f, b);
	case GET_EVENT:
		return get_event(f, b);
	case LEAVE_MCAST:
		return leave_group(f, b);
	case MIGRATE_ID:
		return migrate_id(f, b);
	default:
		return ENOSYS;
	}
}

static ssize_t model_write(int fd, const void *buf, size_t n)
{
	struct file *f = file_of(fd);
	uint8_t m[8 + 512] = {0};
	int err;

	cr_assert_not_null(f, "a command for the descriptor %d", fd);
	cr_assert(n >= 8 && n <= sizeof(m) && n == 8u + get16(buf, 4));
	memcpy(m, buf, n);
	model.commands++;
	inside();
	pthread_mutex_lock(&lock);
	if (model.fail_all)
		err = model.fail_all;
	else
		err = f->pid == getpid() ? run(f, get32(m, 0), m + 8) : EACCES;
	pthread_mutex_unlock(&lock);
	errno = err ? err : errno;
	return err ? -1 : (ssize_t)n;
}

/* ----------------------------------------------------------------- the test */

void model_install(void)
{
	for (int i = 0; i < FILES; i++)
		files[i].fd = -1;
	model.dev = makedev(10, 99);
	cma_kernel_ops = (struct cma_kernel_ops){model_open, model_write, model_close};
}

int model_open_files(void)
{
	int n = 0;

	for (int i = 0; i < FILES; i++)
		n += files[i].fd >= 0;
	return n;
}

uint32_t model_id(uint32_t num)
{
	for (uint32_t i = 0; i < MAX; i++)
		if (ids[i].state != FREE && (uint32_t)ids[i].uid == num)
			return i;
	return UINT32_MAX;
}

uint16_t model_port(uint32_t id)
{
	return ids[id].state == FREE ? 0 : ids[id].port;
}

bool model_listens(uint16_t port)
{
	for (int i = 0; i < MAX; i++)
		if (ids[i].state == LISTENS && ids[i].port == port)
			return true;
	return false;
}

void model_event(uint32_t id, uint32_t type)
{
	pthread_mutex_lock(&lock);
	queue(id, 0, type, 0);
	pthread_mutex_unlock(&lock);
}
