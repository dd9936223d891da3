/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "rig.h"

enum what {
	OPEN,
	CLOSE,
	SEND,
	RECV,
	LOOK,
	FILL,
	PASS_ON,
	PROBE,
	REFUSED,
	LISTEN,
	UNLISTEN,
	ID_NEW,
	ID_SET,
	ID_FREE,
	ORPHAN,
	ORPHAN_NOW,
	DIED,
	WANT_NEED,
	NEEDED,
	CHILD,
	ROUTE,
	EXIT,
	STOP
};

struct call {
	enum what what;
	uint32_t value;
	struct dpa_gsi_addr addr;
	struct dpa_gsi_id id;
	struct dpa_gsi_service service;
	uint64_t tid;
	uint8_t mad[DPA_MAD_BYTES];
};

static char dir[64];

/* ------------------------------------------------------- in the other process */

static struct dpa_hw_ctx *ctx;
static struct dpa_hw_gsi *gsi;
static int ready_fd, need_fd;

static void signal_fd(void *arg)
{
	const uint64_t one = 1;

	(void)!write(*(int *)arg, &one, sizeof(one));
}

/* False: not within 10 s. */
static bool wait_fd(int fd, uint64_t *n)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 10000) == 1 && read(fd, n, sizeof(*n)) == sizeof(*n);
}

static bool recv_one(struct gt_answer *a)
{
	uint64_t n;

	while (!dpa_hw_gsi_recv(gsi, &a->addr, a->mad))
		if (!wait_fd(ready_fd, &n))
			return false;
	return true;
}

static bool take_orphan(struct gt_answer *a)
{
	uint64_t n;

	while (!dpa_hw_gsi_orphan(gsi, &a->id))
		if (!wait_fd(ready_fd, &n))
			return false;
	return true;
}

static bool take_died(void)
{
	uint64_t n;

	while (!dpa_hw_gsi_died(gsi))
		if (!wait_fd(ready_fd, &n))
			return false;
	return !dpa_hw_gsi_died(gsi);
}

static bool needed(uint32_t times)
{
	uint64_t n;

	for (uint32_t got = 0; got < times; got += (uint32_t)n)
		if (!wait_fd(need_fd, &n))
			return false;
	return true;
}

static bool all_fails(const struct call *c)
{
	struct dpa_gsi_addr from;
	struct dpa_gsi_id id = c->id;
	struct dpa_hw_gsi *again;
	struct dpa_hw_route r;
	uint8_t mad[DPA_MAD_BYTES];
	uint64_t tid;
	uint32_t n;
	bool out = dpa_hw_gsi_send(gsi, &c->addr, c->mad) && !dpa_hw_gsi_recv(gsi, &from, mad) &&
		   !dpa_hw_gsi_pass_on(gsi, &c->addr, c->mad) &&
		   dpa_hw_gsi_probe(gsi, &c->addr, 1) && !dpa_hw_gsi_refused(gsi, mad, &tid) &&
		   dpa_hw_gsi_listen(gsi, &c->service, &n) && dpa_hw_gsi_id_new(gsi, &n) &&
		   !dpa_hw_gsi_orphan(gsi, &id) && !dpa_hw_gsi_died(gsi) &&
		   dpa_hw_gsi_open(ctx, signal_fd, &ready_fd, &again) &&
		   dpa_hw_route(ctx, c->addr.sgid, c->addr.dgid, &r);

	dpa_hw_gsi_id_set(gsi, &c->id);
	dpa_hw_gsi_id_free(gsi, c->id.local_id);
	dpa_hw_gsi_unlisten(gsi, c->value);
	dpa_hw_gsi_close(gsi);
	return out;
}

static bool in_a_child(const struct call *c)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(all_fails(c) ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void answer(const struct call *c, struct gt_answer *a)
{
	switch (c->what) {
	case OPEN:
		a->rc = dpa_hw_gsi_open(ctx, signal_fd, &ready_fd, &gsi);
		break;
	case CLOSE:
		dpa_hw_gsi_close(gsi);
		gsi = NULL;
		break;
	case SEND:
		a->rc = dpa_hw_gsi_send(gsi, &c->addr, c->mad);
		break;
	case FILL:
		while (a->value < c->value && !(a->rc = dpa_hw_gsi_send(gsi, &c->addr, c->mad)))
			a->value++;
		break;
	case RECV:
		a->rc = recv_one(a);
		break;
	case LOOK:
		a->rc = dpa_hw_gsi_recv(gsi, &a->addr, a->mad);
		break;
	case PASS_ON:
		a->rc = dpa_hw_gsi_pass_on(gsi, &c->addr, c->mad);
		break;
	case PROBE:
		a->rc = dpa_hw_gsi_probe(gsi, &c->addr, c->tid);
		break;
	case REFUSED:
		a->rc = dpa_hw_gsi_refused(gsi, a->addr.dgid, &a->id.tid);
		break;
	case LISTEN:
		a->rc = dpa_hw_gsi_listen(gsi, &c->service, &a->value);
		break;
	case UNLISTEN:
		dpa_hw_gsi_unlisten(gsi, c->value);
		break;
	case ID_NEW:
		a->rc = dpa_hw_gsi_id_new(gsi, &a->value);
		break;
	case ID_SET:
		dpa_hw_gsi_id_set(gsi, &c->id);
		break;
	case ID_FREE:
		dpa_hw_gsi_id_free(gsi, c->value);
		break;
	case ORPHAN:
		a->rc = take_orphan(a);
		break;
	case ORPHAN_NOW:
		a->rc = dpa_hw_gsi_orphan(gsi, &a->id);
		break;
	case DIED:
		a->rc = take_died();
		break;
	case WANT_NEED:
		dpa_hw_gsi_on_need(signal_fd, &need_fd);
		break;
	case NEEDED:
		a->rc = needed(c->value);
		break;
	case CHILD:
		a->rc = in_a_child(c);
		break;
	case ROUTE:
		a->rc = dpa_hw_route(ctx, c->addr.sgid, c->addr.dgid, (void *)a->mad);
		break;
	case EXIT:
		exit(0);
	case STOP:
		break;
	}
}

static void log_line(int level, const char *text)
{
	if (getenv("GT_LOG"))
		fprintf(stderr, "%d: %s\n", level, text);
}

static void serve(const char *board, uid_t uid, bool open, int fd)
{
	struct dpa_hw_open_attr attr = {.hw_version = DPA_HW_VERSION, .log = log_line};
	struct gt_answer a = {0};
	struct call c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (uid && (setgid(uid) || setuid(uid)))
		_exit(1);
	setenv("DPA_BOARD", board, 1);
	ready_fd = eventfd(0, EFD_CLOEXEC);
	need_fd = eventfd(0, EFD_CLOEXEC);
	a.rc = dpa_hw_open(&attr, &ctx);
	if (!a.rc && open)
		a.rc = dpa_hw_gsi_open(ctx, signal_fd, &ready_fd, &gsi);
	if (!a.rc)
		a.value = ctx->hw->board->board_num;
	if (send(fd, &a, sizeof(a), 0) != sizeof(a) || a.rc)
		_exit(2);
	while (recv(fd, &c, sizeof(c), 0) == sizeof(c) && c.what != STOP) {
		memset(&a, 0, sizeof(a));
		answer(&c, &a);
		send(fd, &a, sizeof(a), 0);
	}
	if (gsi)
		dpa_hw_gsi_close(gsi);
	dpa_hw_close(ctx);
	_exit(0);
}

/* ----------------------------------------------------------------- in the test */

static void broken(const char *what, int rc)
{
	fprintf(stderr, "%s: %s\n", what, strerror(rc));
	abort();
}

void gt_setup(void)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		cr_skip_test("no network namespace is available");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr))
		broken("lo", errno);
	close(fd);
	snprintf(dir, sizeof(dir), "/dev/shm/dpa-gsi-XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 01777))
		broken(dir, errno);
}

/* No board may be left. */
void gt_teardown(void)
{
	if (rmdir(dir))
		broken(dir, errno);
}

void gt_board(const char *name, char *path, size_t len)
{
	snprintf(path, len, "%s/%s", dir, name);
}

void gt_start(struct gt_proc *p, const char *board, uid_t uid, bool open)
{
	char path[128];
	struct gt_answer a;
	int fd[2];

	gt_board(board, path, sizeof(path));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		broken("socketpair", errno);
	p->pid = fork();
	if (!p->pid) {
		close(fd[0]);
		serve(path, uid, open, fd[1]);
	}
	close(fd[1]);
	p->fd = fd[0];
	if (recv(p->fd, &a, sizeof(a), 0) != sizeof(a))
		broken("a process did not start", 0);
	if (a.rc)
		broken("a process did not open", a.rc);
	p->num = a.value;
}

static void reap(struct gt_proc *p)
{
	int status;

	waitpid(p->pid, &status, 0);
	close(p->fd);
	p->fd = -1;
}

void gt_stop(struct gt_proc *p)
{
	struct call c = {.what = STOP};

	send(p->fd, &c, sizeof(c), MSG_NOSIGNAL);
	reap(p);
}

void gt_kill(struct gt_proc *p)
{
	kill(p->pid, SIGKILL);
	reap(p);
}

void gt_exit(struct gt_proc *p)
{
	struct call c = {.what = EXIT};

	send(p->fd, &c, sizeof(c), MSG_NOSIGNAL);
	reap(p);
}

static struct gt_answer ask(struct gt_proc *p, const struct call *c)
{
	struct gt_answer a;

	if (send(p->fd, c, sizeof(*c), MSG_NOSIGNAL) != sizeof(*c) ||
	    recv(p->fd, &a, sizeof(a), 0) != sizeof(a)) {
		fprintf(stderr, "process %d did not answer call %d\n", p->pid, (int)c->what);
		abort();
	}
	return a;
}

static struct call with(enum what what, const struct dpa_gsi_addr *addr, const uint8_t *mad)
{
	struct call c = {.what = what};

	if (addr)
		c.addr = *addr;
	if (mad)
		memcpy(c.mad, mad, sizeof(c.mad));
	return c;
}

int gt_open(struct gt_proc *p)
{
	return ask(p, &(struct call){.what = OPEN}).rc;
}

void gt_close(struct gt_proc *p)
{
	ask(p, &(struct call){.what = CLOSE});
}

int gt_send(struct gt_proc *p, const struct dpa_gsi_addr *to, const uint8_t *mad)
{
	struct call c = with(SEND, to, mad);

	return ask(p, &c).rc;
}

int gt_fill(struct gt_proc *p, const struct dpa_gsi_addr *to, const uint8_t *mad, uint32_t *n)
{
	struct call c = with(FILL, to, mad);
	struct gt_answer a;

	c.value = *n;
	a = ask(p, &c);
	*n = a.value;
	return a.rc;
}

bool gt_recv(struct gt_proc *p, struct gt_answer *a)
{
	*a = ask(p, &(struct call){.what = RECV});
	return a->rc;
}

bool gt_look(struct gt_proc *p, struct gt_answer *a)
{
	*a = ask(p, &(struct call){.what = LOOK});
	return a->rc;
}

bool gt_pass_on(struct gt_proc *p, const struct dpa_gsi_addr *from, const uint8_t *mad)
{
	struct call c = with(PASS_ON, from, mad);

	return ask(p, &c).rc;
}

int gt_probe(struct gt_proc *p, const struct dpa_gsi_addr *to, uint64_t tid)
{
	return ask(p, &(struct call){.what = PROBE, .addr = *to, .tid = tid}).rc;
}

bool gt_refused(struct gt_proc *p, uint8_t dgid[16], uint64_t *tid)
{
	struct gt_answer a = ask(p, &(struct call){.what = REFUSED});

	memcpy(dgid, a.addr.dgid, 16);
	*tid = a.id.tid;
	return a.rc;
}

uint32_t gt_listen(struct gt_proc *p, const struct dpa_gsi_service *s)
{
	struct gt_answer a = ask(p, &(struct call){.what = LISTEN, .service = *s});

	if (a.rc)
		broken("listen", a.rc);
	return a.value;
}

void gt_unlisten(struct gt_proc *p, uint32_t handle)
{
	ask(p, &(struct call){.what = UNLISTEN, .value = handle});
}

uint32_t gt_id_new(struct gt_proc *p)
{
	struct gt_answer a = ask(p, &(struct call){.what = ID_NEW});

	if (a.rc)
		broken("id_new", a.rc);
	return a.value;
}

void gt_id_set(struct gt_proc *p, const struct dpa_gsi_id *id)
{
	ask(p, &(struct call){.what = ID_SET, .id = *id});
}

void gt_id_free(struct gt_proc *p, uint32_t id)
{
	ask(p, &(struct call){.what = ID_FREE, .value = id});
}

bool gt_orphan(struct gt_proc *p, struct dpa_gsi_id *id)
{
	struct gt_answer a = ask(p, &(struct call){.what = ORPHAN});

	*id = a.id;
	return a.rc;
}

bool gt_orphan_now(struct gt_proc *p, struct dpa_gsi_id *id)
{
	struct gt_answer a = ask(p, &(struct call){.what = ORPHAN_NOW});

	*id = a.id;
	return a.rc;
}

bool gt_died(struct gt_proc *p)
{
	return ask(p, &(struct call){.what = DIED}).rc;
}

void gt_want_need(struct gt_proc *p)
{
	ask(p, &(struct call){.what = WANT_NEED});
}

bool gt_needed(struct gt_proc *p, uint32_t times)
{
	return ask(p, &(struct call){.what = NEEDED, .value = times}).rc;
}

bool gt_child_is_out(struct gt_proc *p)
{
	struct call c = {.what = CHILD, .addr = gt_path(1, 1), .service = gt_service(1)};

	gt_req(c.mad, 1, 1, 1);
	return ask(p, &c).rc;
}

void gt_route(struct gt_proc *p, const struct dpa_gsi_addr *to, struct dpa_hw_route *r, int *rc)
{
	struct call c = with(ROUTE, to, NULL);
	struct gt_answer a = ask(p, &c);

	*rc = a.rc;
	memcpy(r, a.mad, sizeof(*r));
}

/* ------------------------------------------------------------------ messages */

void gt_v4(uint8_t gid[16], uint8_t n)
{
	static const uint8_t lo[16] = {[10] = 0xff, [11] = 0xff, [12] = 127};

	memcpy(gid, lo, 16);
	gid[15] = n;
}

struct dpa_gsi_addr gt_path(uint8_t from, uint8_t to)
{
	struct dpa_gsi_addr a = {.hop_limit = 64};

	gt_v4(a.sgid, from);
	gt_v4(a.dgid, to);
	return a;
}

void gt_req(uint8_t *mad, uint32_t local_id, uint16_t port, uint8_t dst)
{
	struct dpa_mad m = {.attr = DPA_CM_REQ, .tid = local_id};
	struct dpa_cm_ip ip = {.ip_version = 4,
			       .sport = 40000,
			       .src = {[12] = 127, [15] = 1},
			       .dst = {[12] = 127, [15] = dst}};

	m.req.local_id = local_id;
	m.req.service_id = GT_TCP(port);
	if (!dpa_cm_ip_encode(&ip, m.req.data) || !dpa_mad_encode(&m, mad))
		abort();
}

void gt_message(uint8_t *mad, uint16_t attr, uint32_t local_id, uint32_t remote_id)
{
	struct dpa_mad m = {.attr = attr, .tid = remote_id};

	m.rtu.local_id = local_id; /* the same offset in all of them */
	m.rtu.remote_id = remote_id;
	if (!dpa_mad_encode(&m, mad))
		abort();
}

struct dpa_gsi_service gt_service(uint16_t port)
{
	return (struct dpa_gsi_service){.service_id = GT_TCP(port), .v4 = true, .v6 = true};
}

struct dpa_gsi_service gt_service_at(uint16_t port, uint8_t n)
{
	struct dpa_gsi_service s = {.service_id = GT_TCP(port)};

	gt_v4(s.addr, n);
	return s;
}
