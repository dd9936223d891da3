/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_kernel.c - a kernel's rdma_cm beside ours on one event channel: side of an id, numbers,
 * events, fork.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "model.h"
#include "redirect/hooks.h"
#include "util.h"

static int fd;

static void setup(void)
{
	model_install();
	fd = channel_open(O_CLOEXEC);
}

TestSuite(cma_kernel, .init = setup);

static uint64_t guid_of(int f, uint32_t id)
{
	uint8_t r[208] = {0};

	cr_assert_eq(query_route(f, id, r), 0);
	return get64(r, 0);
}

static uint32_t listener(const char *ip, uint16_t port, uint64_t uid)
{
	uint32_t id = create(fd, uid, PS_TCP, QP_RC);

	cr_assert_eq(bind_id(fd, id, ip, port), 0);
	cr_assert_eq(listen_id(fd, id, 0), 0);
	return id;
}

/* At ROUTE_RESOLVED, from the address of the real device, or by 127.0.0.1. */
static uint32_t routed(int f, uint64_t uid, const char *ip, uint16_t port)
{
	uint32_t id = create(f, uid, PS_TCP, QP_RC);
	struct event ev;

	cr_assert_eq(resolve(f, id, ip, ip, port), 0);
	expect_of(f, &ev, EV_ADDR_RESOLVED, uid, id);
	cr_assert_eq(ev.status, 0);
	cr_assert_eq(route(f, id), 0);
	expect_of(f, &ev, EV_ROUTE_RESOLVED, uid, id);
	return id;
}

/* ---------------------------------------------------------------- detection */

Test(cma_kernel, three_descriptors_a_channel)
{
	struct held before = held_now();
	int f = channel_open(O_CLOEXEC);

	cr_assert_eq(held_now().fds, before.fds + 2);
	uint32_t id = create(f, UID, PS_TCP, QP_RC);

	for (int i = 0; i < 8; i++)
		(void)create(f, UID, PS_TCP, QP_RC);
	cr_assert_eq(bind_id(f, id, "0.0.0.0", 0), 0);
	cr_assert_eq(held_now().fds, before.fds + 3, "with the one that has its ports");
	cr_assert_eq(model.files, 2u);
	channel_close(f);
	cr_assert_eq(held_now().fds, before.fds);
	cr_assert_eq(model.files, 1u);
	cr_assert_eq(model.ids, 0u);
}

/* The kernel does it when its descriptor is closed. */
Test(cma_kernel, a_close_destroys_all_ids_without_a_command)
{
	int f = channel_open(O_CLOEXEC);
	uint32_t n;

	for (int i = 0; i < 8; i++)
		(void)create(f, UID, PS_TCP, QP_RC);
	cr_assert_eq(model.ids, 8u);
	n = model.commands;
	channel_close(f);
	cr_assert_eq(model.commands, n);
	cr_assert_eq(model.ids, 0u);
}

Test(cma_kernel, without_a_device_one_descriptor_and_no_command)
{
	uint32_t before = model.commands, opens = model.opens;
	struct held held = held_now();
	struct event ev;
	int f;

	model.absent = true;
	f = channel_open(O_CLOEXEC);
	cr_assert_eq(held_now().fds, held.fds + 1);
	uint32_t id = create(f, UID, PS_TCP, QP_RC);

	cr_assert_eq(resolve(f, id, NULL, "127.0.0.1", 7), 0);
	expect(f, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(destroy(f, id, NULL), 0);
	cr_assert_eq(model.commands, before);
	channel_close(channel_open(O_CLOEXEC));
	cr_assert_eq(model.opens, opens + 1, "it does not look for each channel");
}

Test(cma_kernel, the_descriptor_is_the_nodes_character_device)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	dpa_hook_fstat(fd, &st);
	cr_assert(S_ISCHR(st.st_mode));
	cr_assert_eq(st.st_rdev, model.dev);
}

/* --------------------------------------------------------------- side of an id */

Test(cma_kernel, on_both_sides_until_the_address_is_known)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), ours = create(fd, UID + 1, PS_TCP, QP_RC);

	cr_assert_eq(model.ids, 2u);
	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	cr_assert_eq(bind_id(fd, ours, "127.0.0.1", 0), 0);
	cr_assert_eq(model.ids, 1u, "127.0.0.1 is dpa0's");
	cr_assert_eq(guid_of(fd, id), MODEL_GUID);
	cr_assert_neq(guid_of(fd, ours), MODEL_GUID);
	cr_assert_neq(guid_of(fd, ours), 0u);
	cr_assert_eq(destroy(fd, id, NULL), 0);
	cr_assert_eq(model.ids, 0u);
}

Test(cma_kernel, ipv6_and_the_older_command)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);

	cr_assert_eq(bind_ip(fd, id, MODEL_V6, 0), 0);
	cr_assert_eq(guid_of(fd, id), MODEL_GUID);
	cr_assert_eq(bind_ip(fd, create(fd, UID, PS_TCP, QP_RC), "::1", 0), 0);
	cr_assert_eq(model.ids, 1u);
}

Test(cma_kernel, an_address_of_nobody)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);

	cr_assert_eq(bind_id(fd, id, "203.0.113.9", 0), EADDRNOTAVAIL);
	cr_assert_eq(model.ids, 1u, "it may still become either's");
	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	cr_assert_eq(guid_of(fd, id), MODEL_GUID);
}

Test(cma_kernel, a_port_that_the_kernel_refuses)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);

	model.taken = 7174;
	cr_assert_eq(bind_id(fd, id, MODEL_V4, 7174), EADDRINUSE, "not dpa0's for that");
	cr_assert_eq(bind_id(fd, id, MODEL_V4, 7175), 0);
	cr_assert_eq(guid_of(fd, id), MODEL_GUID);
}

Test(cma_kernel, resolving_decides)
{
	uint32_t k = routed(fd, UID, MODEL_V4, 7), d = routed(fd, UID + 1, "127.0.0.1", 7);

	cr_assert_eq(guid_of(fd, k), MODEL_GUID);
	cr_assert_neq(guid_of(fd, d), MODEL_GUID);
	cr_assert_eq(model.ids, 1u);
	cr_assert_eq(resolve(fd, k, NULL, "127.0.0.1", 7), EINVAL);
}

/* Set the preference for an address that both sides have. */
static void prefer(const char *whom, uint64_t guid)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), other = create(fd, UID, PS_TCP, QP_RC);

	cr_assert_eq(setenv("DPA_CM_PREFER", whom, 1), 0);
	cr_assert_eq(inet_pton(AF_INET6, MODEL_V6, fake_gsi.gid), 1);
	cr_assert_eq(bind_id(fd, id, MODEL_V6, 0), 0);
	cr_assert_eq(guid_of(fd, id) == MODEL_GUID, guid == MODEL_GUID);
	/* an address that only the kernel has */
	cr_assert_eq(bind_id(fd, other, MODEL_V4, 0), 0);
	cr_assert_eq(guid_of(fd, other), MODEL_GUID);
}

Test(cma_kernel, prefer_dpa)
{
	prefer("dpa", 0);
}

Test(cma_kernel, prefer_kernel)
{
	prefer("kernel", MODEL_GUID);
}

Test(cma_kernel, a_bound_port_goes_along)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	struct event ev;
	uint16_t port;

	cr_assert_eq(bind_id(fd, id, "0.0.0.0", 0), 0);
	port = port_of(fd, id);
	cr_assert_eq(model_port(model_id(id)), port);
	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	cr_assert_eq(port_of(fd, id), port);
	cr_assert_eq(model.ids, 0u);
}

Test(cma_kernel, what_needs_a_device)
{
	uint32_t id = create(fd, UID, PS_UDP, QP_UD), mc;
	const struct conn c = {.qpn = 1};
	uint8_t a[144];

	cr_assert_eq(bind_id(fd, id, "0.0.0.0", 0), 0);
	cr_assert_eq(route(fd, id), EINVAL);
	cr_assert_eq(connect_id(fd, id, &c), EINVAL);
	cr_assert_eq(accept_id(fd, id, UID, &c), EINVAL);
	cr_assert_eq(disconnect(fd, id), EINVAL);
	cr_assert_eq(qp_attr(fd, id, 1, a), EINVAL);
	cr_assert_eq(join(fd, id, UID, "239.1.1.1", 0, &mc), EINVAL);
	cr_assert_eq(guid_of(fd, id), 0u);
}

Test(cma_kernel, options_are_set_on_both)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	const int on = 1;

	cr_assert_eq(set_option(fd, id, 0, 1, &on, 4), 0);
	cr_assert_eq(model.options, 1u);
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_assert_eq(set_option(fd, id, 0, 1, &on, 4), 0);
	cr_assert_eq(model.options, 1u);
}

Test(cma_kernel, an_id_that_the_kernel_cannot_make)
{
	uint32_t id;

	model.fail_create = ENOMEM;
	cr_assert_eq(try_create(fd, UID, PS_TCP, QP_RC, &id), ENOMEM);
	model.fail_create = EACCES; /* the process changed its credentials */
	cr_assert_eq(try_create(fd, UID, PS_TCP, QP_RC, &id), 0);
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_assert_eq(model.ids, 0u);
}

/* --------------------------------------------------------------------- listeners */

/* Ports are those of the namespace: other tests run at the same time. */
static uint16_t free_port(void)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	uint16_t port;

	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	port = port_of(fd, id);
	cr_assert_eq(destroy(fd, id, NULL), 0);
	return port;
}

Test(cma_kernel, a_wildcard_listener_has_one_port_on_both)
{
	uint32_t id = listener("0.0.0.0", 0, UID);
	uint16_t port = port_of(fd, id);

	cr_assert_neq(port, 0);
	cr_assert(model_listens(port));
	cr_assert_eq(destroy(fd, id, NULL), 0);
	cr_assert(!model_listens(port));
}

Test(cma_kernel, listening_without_binding)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);

	cr_assert_eq(listen_id(fd, id, 0), 0);
	cr_assert(model_listens(port_of(fd, id)));
}

Test(cma_kernel, another_port_is_tried_where_any_will_do)
{
	model.refuse_ports = 5;
	cr_assert(model_listens(port_of(fd, listener("::", 0, UID))));
}

Test(cma_kernel, a_port_that_is_taken_there_fails_and_is_free_here)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC), other = create(fd, UID, PS_TCP, QP_RC);
	uint16_t port = free_port(), next = free_port();
	struct held h = held_now();

	model.taken = port;
	cr_assert_eq(bind_id(fd, id, "0.0.0.0", port), EADDRINUSE);
	cr_assert_eq(bind_id(fd, other, "127.0.0.1", port), 0, "nothing of it is left");
	cr_assert_eq(bind_id(fd, id, "0.0.0.0", next), 0);
	cr_assert_eq(destroy(fd, id, NULL), 0);
	cr_assert_eq(destroy(fd, other, NULL), 0);
	cr_assert_eq(fake_gsi.services, h.services);
}

Test(cma_kernel, a_port_that_is_taken_here_fails_and_is_free_there)
{
	uint32_t first = create(fd, UID, PS_TCP, QP_RC), id = create(fd, UID, PS_TCP, QP_RC);

	cr_assert_eq(bind_id(fd, first, "127.0.0.1", 0), 0);
	cr_assert_eq(bind_id(fd, id, "0.0.0.0", port_of(fd, first)), EADDRNOTAVAIL);
	cr_assert_eq(model_port(model_id(id)), 0);
}

Test(cma_kernel, listen_on_both_or_on_none)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	struct held h = held_now();
	uint16_t port;

	cr_assert_eq(bind_id(fd, id, "0.0.0.0", 0), 0);
	port = port_of(fd, id);
	model.fail_listen = EADDRINUSE;
	cr_assert_eq(listen_id(fd, id, 0), EADDRINUSE);
	cr_assert_eq(fake_gsi.services, h.services);
	cr_assert_eq(port_of(fd, id), port, "it is still bound");
	cr_assert_eq(listen_id(fd, id, 0), 0);
	cr_assert(model_listens(port));
	cr_assert_eq(fake_gsi.services, h.services + 1);
}

/* ------------------------------------------------------------------- connections */

struct ends {
	uint32_t listener, active, passive;
};

/* Connect a client of each side to one listener. */
static void connect_from(const char *ip, struct ends *e, uint64_t uid)
{
	const struct conn c = {.qpn = new_qpn(), .responder = 1, .depth = 1};
	struct event ev;

	e->active = routed(fd, uid + 2, ip, port_of(fd, e->listener));
	cr_assert_eq(connect_id(fd, e->active, &c), 0);
	expect(fd, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(ev.uid, UID, "the listener's");
	cr_assert_lt(ev.id, 65536u);
	cr_assert(ev.id != e->listener && ev.id != e->active);
	e->passive = ev.id;
	cr_assert_eq(accept_id(fd, e->passive, uid + 1, &(struct conn){.qpn = new_qpn()}), 0);
	expect_of(fd, &ev, EV_CONNECT_RESPONSE, uid + 2, e->active);
	cr_assert_eq(establish(fd, e->active), 0);
	expect_of(fd, &ev, EV_ESTABLISHED, uid + 1, e->passive);
}

static void disconnect_and_count(const struct ends *e, uint64_t uid)
{
	uint32_t n = UINT32_MAX;
	struct event ev;

	cr_assert_eq(disconnect(fd, e->active), 0);
	for (int i = 0; i < 2; i++) {
		expect(fd, &ev, EV_DISCONNECTED);
		cr_assert(ev.uid == uid + 1 || ev.uid == uid + 2);
		cr_assert_eq(ev.id, ev.uid == uid + 1 ? e->passive : e->active);
		if (ev.uid == uid + 1)
			(void)disconnect(fd, e->passive);
	}
	cr_assert_eq(destroy(fd, e->active, &n), 0);
	cr_assert_eq(n, 4u, "ADDR, ROUTE, RESPONSE, DISCONNECTED: %u", n);
	cr_assert_eq(destroy(fd, e->passive, &n), 0);
	cr_assert_eq(n, 2u, "ESTABLISHED, DISCONNECTED: %u", n);
}

Test(cma_kernel, one_listener_for_clients_of_both_sides)
{
	struct ends k = {.listener = listener("0.0.0.0", 0, UID)}, d = k;
	uint32_t n;

	connect_from(MODEL_V4, &k, UID);
	connect_from("127.0.0.1", &d, UID + 10);
	cr_assert_neq(k.passive, d.passive);
	cr_assert_eq(guid_of(fd, k.active), MODEL_GUID);
	cr_assert_eq(guid_of(fd, k.passive), MODEL_GUID);
	cr_assert_neq(guid_of(fd, d.passive), MODEL_GUID);
	disconnect_and_count(&k, UID);
	disconnect_and_count(&d, UID + 10);
	cr_assert_eq(destroy(fd, k.listener, &n), 0);
	cr_assert_eq(n, 2u, "a request of each side");
	cr_assert_eq(model.ids, 0u);
	expect_none(fd);
}

Test(cma_kernel, a_request_that_nobody_takes_ends_with_the_listener)
{
	uint32_t id = listener("0.0.0.0", 0, UID),
		 c = routed(fd, UID + 1, MODEL_V4, port_of(fd, id)), n;
	struct event ev;

	cr_assert_eq(connect_id(fd, c, &(struct conn){.qpn = 1}), 0);
	cr_assert_eq(destroy(fd, id, &n), 0);
	cr_assert_eq(n, 0u);
	expect_of(fd, &ev, EV_DISCONNECTED, UID + 1, c);
	cr_assert_eq(model.ids, 1u);
}

/* The kernel keeps the old id, whose number the new one has. */
Test(cma_kernel, a_destroy_that_the_kernel_refuses)
{
	uint32_t old = create(fd, UID, PS_TCP, QP_RC), k = model_id(old), id, c;
	struct event ev;

	cr_assert_eq(bind_id(fd, old, MODEL_V4, 7190), 0);
	cr_assert_eq(listen_id(fd, old, 0), 0);
	model.fail_destroy = EACCES;
	cr_assert_eq(destroy(fd, old, NULL), 0);
	model.fail_destroy = 0;
	cr_assert_eq(model.ids, 1u);
	id = listener(MODEL_V4, 7191, UID + 1);
	cr_assert_eq(id, old, "the number is used again");
	model_event(k, EV_ADDR_CHANGE);
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(try_event(fd, &ev), EAGAIN, "an event of the old id");
	c = routed(fd, UID + 2, MODEL_V4, 7190);
	cr_assert_eq(connect_id(fd, c, &(struct conn){.qpn = 1}), 0);
	expect_of(fd, &ev, EV_DISCONNECTED, UID + 2, c);
	cr_assert_eq(model.ids, 3u, "its request is destroyed");
}

Test(cma_kernel, an_accept_that_fails_leaves_the_id_as_it_was)
{
	uint32_t id = listener("0.0.0.0", 0, UID),
		 c = routed(fd, UID + 1, MODEL_V4, port_of(fd, id));
	struct event ev;

	cr_assert_eq(connect_id(fd, c, &(struct conn){.qpn = 1}), 0);
	expect(fd, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(destroy(fd, c, NULL), 0);
	cr_assert_eq(accept_id(fd, ev.id, UID + 2, &(struct conn){.qpn = 1}), EINVAL);
	expect_none(fd);
	cr_assert_eq(destroy(fd, ev.id, NULL), 0);
}

Test(cma_kernel, multicast_of_the_kernel)
{
	uint32_t id = create(fd, UID, PS_UDP, QP_UD), mc = 0, other = 0, n;
	struct event ev;

	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	cr_assert_eq(join(fd, id, UID + 1, "239.1.1.1", 0, &mc), 0);
	cr_assert_eq(join(fd, id, UID + 2, "239.1.1.2", 0, &other), 0);
	cr_assert(mc && other && mc < 65536u && mc != other);
	expect_of(fd, &ev, EV_MULTICAST_JOIN, UID + 1, mc);
	expect_of(fd, &ev, EV_MULTICAST_JOIN, UID + 2, other);
	cr_assert_eq(leave(fd, mc, &n), 0);
	cr_assert_eq(n, 1u);
	cr_assert_eq(model.mcs, 1u);
	cr_assert_eq(leave(fd, mc, &n), ENOENT);
	cr_assert_eq(destroy(fd, id, &n), 0);
	cr_assert_eq(n, 2u);
	cr_assert_eq(model.mcs, 0u);
	cr_assert_eq(leave(fd, other, &n), ENOENT);
}

Test(cma_kernel, of_another_channel)
{
	uint32_t id = create(fd, UID, PS_TCP, QP_RC);
	int f = channel_open(O_CLOEXEC);

	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	cr_assert_eq(listen_id(f, id, 0), EINVAL);
	cr_assert_eq(destroy(f, id, NULL), EINVAL);
	cr_assert_eq(listen_id(f, NOBODY, 0), ENOENT);
}

Test(cma_kernel, a_group_that_the_kernel_did_not_leave)
{
	uint32_t id = create(fd, UID, PS_UDP, QP_UD), old = 0, mc = 0;
	struct event ev;

	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	cr_assert_eq(join(fd, id, UID + 1, "239.1.1.1", 0, &old), 0);
	model.fail_all = EACCES;
	(void)leave(fd, old, NULL);
	(void)destroy(fd, id, NULL);
	model.fail_all = 0;
	id = create(fd, UID + 2, PS_UDP, QP_UD);
	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	cr_assert_eq(join(fd, id, UID + 3, "239.1.1.2", 0, &mc), 0);
	cr_assert_eq(mc, old, "the number is used again");
	expect_of(fd, &ev, EV_MULTICAST_JOIN, UID + 3, mc);
	expect_none(fd);
}

/* ------------------------------------------------------------------------ migrate */

Test(cma_kernel, migrate_with_events)
{
	uint32_t id = listener("0.0.0.0", 0, UID),
		 c = routed(fd, UID + 1, MODEL_V4, port_of(fd, id)), n;
	const struct conn conn = {.qpn = 1};
	int to = channel_open(O_CLOEXEC);
	struct event ev;

	cr_assert_eq(connect_id(fd, c, &conn), 0);
	cr_assert_eq(migrate(to, fd, id, &n), 0);
	cr_assert_eq(n, 0u);
	cr_assert_eq(migrate(to, fd, c, &n), 0);
	cr_assert_eq(n, 2u);
	cr_assert_eq(has_event(fd), false);
	expect(to, &ev, EV_CONNECT_REQUEST);
	cr_assert_eq(accept_id(to, ev.id, UID + 2, &conn), 0);
	channel_close(fd); /* the moved ids stay */
	expect_of(to, &ev, EV_CONNECT_RESPONSE, UID + 1, c);
	cr_assert_eq(model.files, 1u);
	cr_assert(model_listens(port_of(to, id)));
	cr_assert_eq(routed(to, UID + 5, "127.0.0.1", port_of(to, id)) != 0, true);
}

Test(cma_kernel, migrate_to_a_channel_without_a_kernel)
{
	uint32_t both = create(fd, UID, PS_TCP, QP_RC), id = create(fd, UID, PS_TCP, QP_RC);
	int to;

	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	model.absent = true;
	to = channel_open(O_CLOEXEC);
	cr_assert_eq(migrate(to, fd, id, NULL), ENODEV);
	cr_assert_eq(guid_of(fd, id), MODEL_GUID, "it is where it was");
	cr_assert_eq(migrate(to, fd, both, NULL), 0);
	cr_assert_eq(model.ids, 1u);
	cr_assert_eq(bind_id(to, both, "127.0.0.1", 0), 0);
}

/* --------------------------------------------------------------------------- fork */

#ifndef __SANITIZE_THREAD__ /* has no threads after a fork */
#define STEP(n, cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			_exit(n);                                                                  \
	} while (0)

Test(cma_kernel, a_child_has_no_kernel)
{
	uint32_t wild = listener("0.0.0.0", 0, UID), id = create(fd, UID, PS_TCP, QP_RC);
	uint32_t open = create(fd, UID, PS_TCP, QP_RC);
	int status, err, first = dup(0);
	pid_t pid;

	close(first);
	cr_assert_eq(bind_id(fd, id, MODEL_V4, 0), 0);
	pid = fork();
	if (!pid) {
		STEP(1, listen_id(fd, id, 0) == EACCES);
		STEP(2, bind_id(fd, open, "127.0.0.1", 0) == 0);
		STEP(3, destroy(fd, id, NULL) == 0);
		STEP(4, destroy(fd, wild, NULL) == 0);
		STEP(5, dup(0) < first);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "step %d", WEXITSTATUS(status));
	cr_assert_eq(listen_id(fd, id, 0), 0);
	cr_assert(model_listens(port_of(fd, wild)));
	err = bind_id(fd, open, MODEL_V4, 0);
	cr_assert_eq(err, 0, "%s", strerror(err));
}
#endif
