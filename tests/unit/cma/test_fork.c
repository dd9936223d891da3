/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_fork.c - fork(): connections belong to the parent, and a child that ends disturbs nothing.
 * Listeners continue in a child whose parent has ended (daemon(3)). A child has its own QP1 here.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "util.h"

static struct pair p;

static void join_child(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "status 0x%x", status);
	cr_assert_eq(WEXITSTATUS(status), 0, "the child left at step %d", WEXITSTATUS(status));
}

/* In a child: exit with the number of the failed step. */
#define STEP(n, cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			_exit(n);                                                                  \
	} while (0)

/* The parent's connection works, its listener accepts more, its port is still claimed. */
static void parent_goes_on(void)
{
	uint32_t id = create(p.c, 1, PS_TCP, QP_RC);
	struct event ev;

	expect_none(p.s);
	expect_none(p.c);
	cr_assert_eq(bind_id(p.c, id, "127.0.0.1", p.port), EADDRINUSE);
	id = pair_route(&p, PS_TCP, QP_RC, UID + 7);
	cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(destroy(p.s, ev.id, NULL), 0);
	expect(p.c, &ev, EV_REJECTED);
	cr_assert_eq(disconnect(p.c, p.active), 0);
	expect_of(p.s, &ev, EV_DISCONNECTED, UID + 1, p.passive);
	cr_assert_eq(disconnect(p.s, p.passive), 0);
	expect_of(p.c, &ev, EV_DISCONNECTED, UID + 2, p.active);
}

Test(cma_fork, a_child_that_exits)
{
	pid_t pid;

	pair_connect(&p);
	pid = fork();
	if (!pid)
		exit(0); /* with its exit handlers */
	join_child(pid);
	parent_goes_on();
}

Test(cma_fork, a_child_that_closes_the_channels)
{
	pid_t pid;

	pair_connect(&p);
	pid = fork();
	if (!pid) {
		channel_close(p.c);
		channel_close(p.s);
		_exit(0);
	}
	join_child(pid);
	parent_goes_on();
}

Test(cma_fork, a_child_that_destroys_the_ids)
{
	pid_t pid;

	pair_connect(&p);
	pid = fork();
	if (!pid) {
		STEP(1, destroy(p.c, p.active, NULL) == 0);
		STEP(2, destroy(p.s, p.passive, NULL) == 0);
		STEP(3, destroy(p.s, p.listener, NULL) == 0);
		_exit(0);
	}
	join_child(pid);
	parent_goes_on();
}

/* An event is queued: operations of the child on its ids leave the parent's descriptor readable. */
Test(cma_fork, events_of_the_parent_stay)
{
	int fd = channel_open(O_CLOEXEC);
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	struct event ev;
	pid_t pid;

	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	pid = fork();
	if (!pid) {
		STEP(1, destroy(fd, id, NULL) == 0);
		channel_close(fd);
		_exit(0);
	}
	join_child(pid);
	cr_assert(has_event(fd));
	expect_of(fd, &ev, EV_ADDR_RESOLVED, UID, id);
}

Test(cma_fork, a_connection_is_none_of_the_child)
{
	pid_t pid;

	pair_connect(&p);
	pid = fork();
	if (!pid) {
		uint8_t a[144];

		STEP(1, qp_attr(p.c, p.active, 2, a) == EINVAL);
		STEP(2, disconnect(p.c, p.active) == EINVAL);
		STEP(3, notify(p.s, p.passive, 4) == EINVAL);
		STEP(4, destroy(p.c, p.active, NULL) == 0);
		_exit(0);
	}
	join_child(pid);
	parent_goes_on();
}

#ifndef __SANITIZE_THREAD__ /* has no threads after a fork */
/* The child's own channels and connections work, beside those of the parent. */
Test(cma_fork, a_child_with_channels_of_its_own)
{
	pid_t pid;

	pair_connect(&p);
	pid = fork();
	if (!pid) {
		struct pair own;
		struct event ev;

		pair_connect(&own);
		STEP(1, disconnect(own.c, own.active) == 0);
		expect(own.s, &ev, EV_DISCONNECTED);
		STEP(2, own.port != p.port);
		pair_close(&own);
		_exit(0);
	}
	join_child(pid);
	parent_goes_on();
}

/*
 * daemon(3): the process that created the listener ends, its child continues it: the first command
 * in the child, or the wait for an event, registers the listener with QP1.
 */
enum first { ASK, POLL, CONNECT_FIRST };

static void daemon_child(int go, enum first first)
{
	struct pollfd pfd = {.fd = p.s, .events = POLLIN};
	struct event ev;
	uint32_t id;
	char c;
	int before = fake_gsi.services;
	/* it may share the parent's timer of idle channels */
	int other = channel_open(O_CLOEXEC | O_NONBLOCK);

	STEP(10, read(go, &c, 1) == 0); /* the parent has ended and been waited for */
	STEP(11, fcntl(p.s, F_SETFL, O_NONBLOCK) == 0);
	if (first == POLL) /* it is woken, although there is no event */
		STEP(20, poll(&pfd, 1, 30000) == 1);
	if (first != CONNECT_FIRST)
		STEP(12, try_event(p.s, &ev) == EAGAIN);
	STEP(21, try_event(other, &ev) == EAGAIN);
	STEP(22, !has_event(other));
	p.c = channel_open(O_CLOEXEC);
	id = pair_route(&p, PS_TCP, QP_RC, UID + 2);
	if (first == CONNECT_FIRST)
		STEP(12, try_event(p.s, &ev) == EAGAIN);
	STEP(13, fake_gsi.services == before + 1);
	STEP(14, connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}) == 0);
	expect(p.s, &ev, EV_CONNECT_REQUEST);
	STEP(15, ev.uid == UID);
	STEP(16, accept_id(p.s, ev.id, UID + 1, &(struct conn){.qpn = new_qpn()}) == 0);
	expect(p.c, &ev, EV_CONNECT_RESPONSE);
	/* its port is still held, and released with it */
	id = create(p.c, 1, PS_TCP, QP_RC);
	STEP(17, bind_id(p.c, id, "127.0.0.1", p.port) == EADDRINUSE);
	STEP(18, destroy(p.s, p.listener, NULL) == 0);
	STEP(19, bind_id(p.c, id, "127.0.0.1", p.port) == 0);
	_exit(0);
}

static void daemonize(enum first first)
{
	int go[2], done[2], status = -1;
	pid_t pid;

	cr_assert_eq(pipe(go) | pipe(done), 0);
	pid = fork();
	if (!pid) { /* the process that creates the listener */
		pair_listen(&p, PS_TCP, QP_RC);
		close(go[1]);
		pid = fork();
		if (!pid) {
			pid = fork(); /* the daemon; this process reports its end */
			if (!pid)
				daemon_child(go[0], first);
			STEP(1, waitpid(pid, &status, 0) == pid);
			STEP(2, write(done[1], &status, sizeof(status)) == sizeof(status));
		}
		_exit(0);
	}
	join_child(pid);
	close(go[1]);
	close(done[1]);
	cr_assert_eq(read(done[0], &status, sizeof(status)), sizeof(status));
	cr_assert(WIFEXITED(status), "status 0x%x", status);
	cr_assert_eq(WEXITSTATUS(status), 0, "it left at step %d", WEXITSTATUS(status));
}

Test(cma_fork, a_daemon_that_asks_for_an_event)
{
	daemonize(ASK);
}

Test(cma_fork, a_daemon_that_polls)
{
	daemonize(POLL);
}

Test(cma_fork, a_daemon_that_connects_first)
{
	daemonize(CONNECT_FIRST);
}
#endif

/*
 * A child that waits for events while its parent lives: the parent's poll reports each of its own.
 */
Test(cma_fork, a_child_that_waits_takes_nothing_from_its_parent)
{
	struct event ev;
	int ready[2];
	pid_t pid;
	char c;

	pair_listen(&p, PS_TCP, QP_RC);
	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		STEP(1, write(ready[1], "r", 1) == 1);
		(void)try_event(p.s, &ev); /* until SIGKILL */
		_exit(2);
	}
	cr_assert_eq(read(ready[0], &c, 1), 1);
	for (int i = 0; i < 300; i++) {
		uint32_t id = pair_route(&p, PS_TCP, QP_RC, UID + 7);

		cr_assert_eq(connect_id(p.c, id, &(struct conn){.qpn = new_qpn()}), 0);
		settle();
		expect(p.s, &ev, EV_CONNECT_REQUEST);
		cr_assert_eq(destroy(p.s, ev.id, NULL), 0);
		expect(p.c, &ev, EV_REJECTED);
		cr_assert_eq(destroy(p.c, id, NULL), 0);
	}
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}
