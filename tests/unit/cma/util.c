/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* util.c - commands of rdma_cm byte by byte, and steps that several tests share. */
#include <arpa/inet.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "cma/kernel.h"
#include "redirect/hooks.h"
#include "util.h"

#define WAIT_MS 30000 /* a limit: no test waits that long unless an event is lost */

void put16(void *b, size_t at, uint16_t v)
{
	memcpy((uint8_t *)b + at, &v, sizeof(v));
}

void put32(void *b, size_t at, uint32_t v)
{
	memcpy((uint8_t *)b + at, &v, sizeof(v));
}

void put64(void *b, size_t at, uint64_t v)
{
	memcpy((uint8_t *)b + at, &v, sizeof(v));
}

uint16_t get16(const void *b, size_t at)
{
	uint16_t v;

	memcpy(&v, (const uint8_t *)b + at, sizeof(v));
	return v;
}

uint32_t get32(const void *b, size_t at)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)b + at, sizeof(v));
	return v;
}

uint64_t get64(const void *b, size_t at)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)b + at, sizeof(v));
	return v;
}

/* ----------------------------------------------------------------- channels */

static int no_kernel(struct stat *st)
{
	return -1;
}

/* The tests do not depend on the machine. test_kernel.c uses a model of the kernel. */
__attribute__((constructor(101))) static void leave_the_kernel_out(void)
{
	cma_kernel_ops.open = no_kernel;
}

int channel_open(int flags)
{
	int fd = -1;

	cr_assert(dpa_hook_open("/dev/infiniband/rdma_cm", O_RDWR | flags, &fd));
	cr_assert_geq(fd, 0, "open: %s", strerror(errno));
	return fd;
}

void channel_close(int fd)
{
	cr_assert(dpa_hook_close(fd));
	cr_assert_eq(close(fd), 0);
}

int command(int fd, uint32_t cmd, const void *body, uint16_t in, uint16_t out)
{
	uint8_t buf[8 + 1024] = {0};
	ssize_t ret = -2;

	put32(buf, 0, cmd);
	put16(buf, 4, in);
	put16(buf, 6, out);
	if (in)
		memcpy(buf + 8, body, in);
	cr_assert(dpa_hook_write(fd, buf, 8u + in, &ret));
	if (ret < 0)
		return errno;
	cr_assert_eq(ret, 8 + in, "command %u: write returned %zd", cmd, ret);
	return 0;
}

int command_answer(int fd, uint32_t cmd, void *body, uint16_t in, void *answer, uint16_t out)
{
	put64(body, 0, (uintptr_t)answer);
	return command(fd, cmd, body, in, out);
}

size_t make_addr(void *to, const char *ip, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (!ip)
		return 0;
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1) {
		memcpy(to, &in, sizeof(in));
		return sizeof(in);
	}
	cr_assert_eq(inet_pton(AF_INET6, ip, &in6.sin6_addr), 1, "%s", ip);
	memcpy(to, &in6, sizeof(in6));
	return sizeof(in6);
}

/* ----------------------------------------------------------------- commands */

int try_create(int fd, uint64_t uid, uint16_t ps, uint8_t type, uint32_t *id)
{
	uint8_t b[24] = {0};

	put64(b, 0, uid);
	put64(b, 8, (uintptr_t)id);
	put16(b, 16, ps);
	b[18] = type;
	return command(fd, CREATE_ID, b, sizeof(b), 4);
}

uint32_t create(int fd, uint64_t uid, uint16_t ps, uint8_t type)
{
	uint32_t id = UINT32_MAX;

	cr_assert_eq(try_create(fd, uid, ps, type, &id), 0);
	cr_assert_lt(id, 65536u, "librdmacm indexes ids up to 65,535");
	return id;
}

static int with_number(int fd, uint32_t cmd, uint32_t num, uint32_t *reported)
{
	uint8_t b[16] = {0};
	uint32_t n = UINT32_MAX;
	int err;

	put32(b, 8, num);
	err = command_answer(fd, cmd, b, sizeof(b), &n, 4);
	if (reported)
		*reported = n;
	return err;
}

int destroy(int fd, uint32_t id, uint32_t *reported)
{
	return with_number(fd, DESTROY_ID, id, reported);
}

int leave(int fd, uint32_t mc, uint32_t *reported)
{
	return with_number(fd, LEAVE_MCAST, mc, reported);
}

int migrate(int to, int from, uint32_t id, uint32_t *reported)
{
	uint8_t b[16] = {0};
	uint32_t n = UINT32_MAX;
	int err;

	put32(b, 8, id);
	put32(b, 12, (uint32_t)from);
	err = command_answer(to, MIGRATE_ID, b, sizeof(b), &n, 4);
	if (reported)
		*reported = n;
	return err;
}

int bind_raw(int fd, uint32_t id, const void *addr, size_t len)
{
	uint8_t b[136] = {0};

	put32(b, 0, id);
	put16(b, 4, (uint16_t)len);
	memcpy(b + 8, addr, len);
	return command(fd, BIND, b, sizeof(b), 0);
}

int bind_id(int fd, uint32_t id, const char *ip, uint16_t port)
{
	uint8_t a[28];

	return bind_raw(fd, id, a, make_addr(a, ip, port));
}

int bind_ip(int fd, uint32_t id, const char *ip, uint16_t port)
{
	uint8_t b[40] = {0};

	make_addr(b + 8, ip, port);
	put32(b, 36, id);
	return command(fd, BIND_IP, b, sizeof(b), 0);
}

int resolve(int fd, uint32_t id, const char *src, const char *dst, uint16_t port)
{
	uint8_t b[272] = {0};

	put32(b, 0, id);
	put32(b, 4, 2000);
	put16(b, 8, (uint16_t)make_addr(b + 16, src, 0));
	put16(b, 10, (uint16_t)make_addr(b + 144, dst, port));
	return command(fd, RESOLVE_ADDR, b, sizeof(b), 0);
}

static int two_words(int fd, uint32_t cmd, uint32_t a, uint32_t c)
{
	uint8_t b[8];

	put32(b, 0, a);
	put32(b, 4, c);
	return command(fd, cmd, b, sizeof(b), 0);
}

int route(int fd, uint32_t id)
{
	return two_words(fd, RESOLVE_ROUTE, id, 2000);
}

int listen_id(int fd, uint32_t id, uint32_t backlog)
{
	return two_words(fd, LISTEN, id, backlog);
}

int notify(int fd, uint32_t id, uint32_t event)
{
	return two_words(fd, NOTIFY, id, event);
}

int disconnect(int fd, uint32_t id)
{
	return command(fd, DISCONNECT, &id, 4, 0);
}

int reject(int fd, uint32_t id, const void *data, uint8_t len, uint8_t reason)
{
	uint8_t b[264] = {0};

	put32(b, 0, id);
	b[4] = len;
	b[5] = reason;
	if (len)
		memcpy(b + 8, data, len);
	return command(fd, REJECT, b, sizeof(b), 0);
}

int set_option(int fd, uint32_t id, uint32_t level, uint32_t name, const void *val, uint32_t len)
{
	uint8_t b[24] = {0};

	put64(b, 0, (uintptr_t)val);
	put32(b, 8, id);
	put32(b, 12, level);
	put32(b, 16, name);
	put32(b, 20, len);
	return command(fd, SET_OPTION, b, sizeof(b), 0);
}

int join(int fd, uint32_t id, uint64_t uid, const char *group, uint16_t flags, uint32_t *mc)
{
	uint8_t b[152] = {0};

	put64(b, 8, uid);
	put32(b, 16, id);
	put16(b, 22, flags);
	put16(b, 20, (uint16_t)make_addr(b + 24, group, 0));
	return command_answer(fd, JOIN_MCAST, b, sizeof(b), mc, 4);
}

int qp_attr(int fd, uint32_t id, uint32_t state, uint8_t answer[144])
{
	uint8_t b[16] = {0};

	put32(b, 8, id);
	put32(b, 12, state);
	return command_answer(fd, INIT_QP_ATTR, b, sizeof(b), answer, 144);
}

int query(int fd, uint32_t id, uint32_t option, void *answer, uint16_t room)
{
	uint8_t b[16] = {0};

	put32(b, 8, id);
	put32(b, 12, option);
	return command_answer(fd, QUERY, b, sizeof(b), answer, room);
}

int query_route(int fd, uint32_t id, uint8_t answer[208])
{
	uint8_t b[16] = {0};

	put32(b, 8, id);
	return command_answer(fd, QUERY_ROUTE, b, sizeof(b), answer, 208);
}

uint16_t port_of(int fd, uint32_t id)
{
	uint8_t r[208] = {0};

	cr_assert_eq(query_route(fd, id, r), 0);
	return ntohs(get16(r, 136 + 2)); /* in and in6 have it at one offset */
}

static void put_conn(uint8_t *b, const struct conn *c, bool valid)
{
	put32(b, 0, c->qpn);
	put32(b, 4, c->qkey);
	if (c->len && c->data)
		memcpy(b + 8, c->data, c->len);
	b[264] = c->len;
	b[265] = c->srq;
	b[266] = c->responder;
	b[267] = c->depth;
	b[268] = c->flow;
	b[269] = c->retry;
	b[270] = c->rnr;
	b[271] = valid;
}

int connect_id(int fd, uint32_t id, const struct conn *c)
{
	uint8_t b[288] = {0};

	put_conn(b, c, true);
	put32(b, 272, id);
	put32(b, 280, c->vendor);
	put32(b, 284, c->attr_mod);
	return command(fd, CONNECT, b, sizeof(b), 0);
}

static int send_accept(int fd, uint32_t id, uint64_t uid, const struct conn *c, bool valid)
{
	uint8_t b[296] = {0};

	put64(b, 0, uid);
	put_conn(b + 8, c, valid);
	put32(b, 280, id);
	put32(b, 288, c->vendor);
	put32(b, 292, c->attr_mod);
	return command(fd, ACCEPT, b, sizeof(b), 0);
}

int accept_id(int fd, uint32_t id, uint64_t uid, const struct conn *c)
{
	return send_accept(fd, id, uid, c, true);
}

int establish(int fd, uint32_t id)
{
	return send_accept(fd, id, 0, &(struct conn){0}, false);
}

/* ------------------------------------------------------------------- events */

int try_event(int fd, struct event *ev)
{
	uint8_t b[8];
	int err;

	memset(ev, 0xa5, sizeof(*ev));
	err = command_answer(fd, GET_EVENT, b, sizeof(b), ev->raw, sizeof(ev->raw));
	ev->uid = get64(ev->raw, 0);
	ev->id = get32(ev->raw, 8);
	ev->type = get32(ev->raw, 12);
	ev->status = (int32_t)get32(ev->raw, 16);
	return err;
}

bool has_event(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

void expect(int fd, struct event *ev, uint32_t type)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	cr_assert_eq(poll(&p, 1, WAIT_MS), 1, "no event; %u was expected", type);
	cr_assert_eq(try_event(fd, ev), 0);
	cr_assert_eq(ev->type, type, "event %u of id %u, status %d; %u was expected", ev->type,
		     ev->id, ev->status, type);
}

void expect_of(int fd, struct event *ev, uint32_t type, uint64_t uid, uint32_t id)
{
	expect(fd, ev, type);
	cr_assert_eq(ev->uid, uid);
	cr_assert_eq(ev->id, id);
}

/* Wait for all MADs: each is handled under the lock that a command takes, too. */
void settle(void)
{
	int fd = channel_open(O_CLOEXEC);

	while (fake_gsi_pending())
		sched_yield();
	cr_assert_eq(destroy(fd, NOBODY, NULL), ENOENT);
	channel_close(fd);
}

void expect_none(int fd)
{
	struct event ev;

	settle();
	if (!has_event(fd))
		return;
	cr_assert_eq(try_event(fd, &ev), 0);
	cr_assert_fail("event %u of id %u, status %d", ev.type, ev.id, ev.status);
}

/* -------------------------------------------------------------- connections */

uint32_t new_qpn(void)
{
	static uint32_t qpn = 0x100;

	return ++qpn;
}

void pair_listen(struct pair *p, uint16_t ps, uint8_t type)
{
	memset(p, 0, sizeof(*p));
	p->uid = UID;
	p->s = channel_open(O_CLOEXEC);
	p->c = channel_open(O_CLOEXEC);
	p->listener = create(p->s, UID, ps, type);
	cr_assert_eq(bind_id(p->s, p->listener, "127.0.0.1", 0), 0);
	cr_assert_eq(listen_id(p->s, p->listener, 0), 0);
	p->port = port_of(p->s, p->listener);
}

uint32_t pair_route(struct pair *p, uint16_t ps, uint8_t type, uint64_t uid)
{
	uint32_t id = create(p->c, uid, ps, type);
	struct event ev;

	cr_assert_eq(resolve(p->c, id, NULL, "127.0.0.1", p->port), 0);
	expect_of(p->c, &ev, EV_ADDR_RESOLVED, uid, id);
	cr_assert_eq(ev.status, 0);
	cr_assert_eq(route(p->c, id), 0);
	expect_of(p->c, &ev, EV_ROUTE_RESOLVED, uid, id);
	cr_assert_eq(ev.status, 0);
	return id;
}

void pair_request(struct pair *p)
{
	const struct conn c = {.qpn = new_qpn(), .responder = 1, .depth = 1};
	struct event ev;

	pair_listen(p, PS_TCP, QP_RC);
	p->active = pair_route(p, PS_TCP, QP_RC, UID + 2);
	cr_assert_eq(connect_id(p->c, p->active, &c), 0);
	expect(p->s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, UID);
	p->passive = ev.id;
}

void pair_connect(struct pair *p)
{
	const struct conn c = {.qpn = new_qpn(), .responder = 1, .depth = 1};
	struct event ev;

	pair_request(p);
	cr_assert_eq(accept_id(p->s, p->passive, UID + 1, &c), 0);
	expect_of(p->c, &ev, EV_CONNECT_RESPONSE, UID + 2, p->active);
	cr_assert_eq(establish(p->c, p->active), 0);
	expect_of(p->s, &ev, EV_ESTABLISHED, UID + 1, p->passive);
}

void pair_close(struct pair *p)
{
	channel_close(p->c);
	channel_close(p->s);
}

/* --------------------------------------------------------------------- rest */

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	cr_assert_not_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

bool sleeps(int t)
{
	char path[64], c = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", t);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &c) != 1)
		c = 0;
	if (f)
		fclose(f);
	return c == 'S';
}

struct held held_now(void)
{
	return (struct held){
		.fds = count_fds(), .ids = fake_gsi.ids, .services = fake_gsi.services};
}

void expect_held(const struct held *h)
{
	settle();
	cr_assert_eq(count_fds(), h->fds, "%d descriptors more", count_fds() - h->fds);
	cr_assert_eq(fake_gsi.services, h->services);
	cr_assert_eq(fake_gsi.ids, h->ids, "%d ids more", fake_gsi.ids - h->ids);
}

unsigned int test_seed(void)
{
	const char *s = getenv("DPA_TEST_SEED");
	unsigned int seed = s ? (unsigned int)strtoul(s, NULL, 0) : 1;

	cr_log_info("DPA_TEST_SEED=%u", seed);
	return seed;
}
