/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_commands.c - the command ABI: lengths, sizes of answers, and the refusals of each command
 * (Linux: ucma.c).
 */
#include <sys/stat.h>
#include "redirect/hooks.h"
#include "util.h"

static int fd, other;

static void setup(void)
{
	fd = channel_open(O_CLOEXEC);
	other = channel_open(O_CLOEXEC);
}

TestSuite(cma_commands, .init = setup);

/* Body sizes of the ABI; where they grew, of the oldest library. */
static const struct {
	uint16_t in, least, out; /* as written now; minimum; room for the answer */
	int id_at;		 /* offset of the id; -1: none */
	bool bound;		 /* needs a device */
} abi[COMMANDS] = {
	[CREATE_ID] = {24, 24, 4, -1, false},
	[DESTROY_ID] = {16, 12, 4, 8, false},
	[BIND_IP] = {40, 40, 0, 36, false},
	[RESOLVE_IP] = {64, 64, 0, 56, false},
	[RESOLVE_ROUTE] = {8, 8, 0, 0, true},
	[QUERY_ROUTE] = {16, 12, 208, 8, false},
	[CONNECT] = {288, 280, 0, 272, true},
	[LISTEN] = {8, 8, 0, 0, false},
	[ACCEPT] = {296, 288, 0, 280, true},
	[REJECT] = {264, 264, 0, 0, true},
	[DISCONNECT] = {4, 4, 0, 0, true},
	[INIT_QP_ATTR] = {16, 16, 144, 8, true},
	[GET_EVENT] = {8, 8, 336, -1, false},
	[SET_OPTION] = {24, 24, 0, 8, false},
	[NOTIFY] = {8, 8, 0, 0, true},
	[JOIN_IP_MCAST] = {48, 48, 4, 44, true},
	[LEAVE_MCAST] = {16, 12, 4, 8, false},
	[MIGRATE_ID] = {16, 16, 4, 8, false},
	[QUERY] = {16, 16, 488, 8, false},
	[BIND] = {136, 136, 0, 0, false},
	[RESOLVE_ADDR] = {272, 272, 0, 0, false},
	[JOIN_MCAST] = {152, 152, 4, 16, true},
	[RESOLVE_IB_SERVICE] = {88, 88, 0, 0, true},
	[WRITE_CM_EVENT] = {320, 24, 0, 0, false},
};
static uint8_t answer[1024];

/* Make a body without errors except those of the test. */
static void fill(uint8_t body[600], uint32_t cmd, uint32_t id)
{
	static const uint8_t tos = 3;

	memset(body, 0, 600);
	switch (cmd) {
	case CREATE_ID:
		put64(body, 8, (uintptr_t)answer);
		put16(body, 16, PS_TCP);
		break;
	case BIND_IP:
		make_addr(body + 8, "127.0.0.1", 0);
		break;
	case RESOLVE_IP:
		make_addr(body + 28, "127.0.0.1", 7);
		put32(body, 60, 1000);
		break;
	case RESOLVE_ROUTE:
		put32(body, 4, 1000);
		break;
	case CONNECT:
		body[271] = 1;
		break;
	case ACCEPT:
		body[8 + 271] = 1;
		break;
	case SET_OPTION:
		put64(body, 0, (uintptr_t)&tos);
		put32(body, 20, 1);
		break;
	case NOTIFY:
		put32(body, 4, 4);
		break;
	case JOIN_IP_MCAST:
		make_addr(body + 16, "239.1.1.1", 0);
		break;
	case MIGRATE_ID:
		put32(body, 12, (uint32_t)fd);
		break;
	case BIND:
		put16(body, 4, (uint16_t)make_addr(body + 8, "127.0.0.1", 0));
		break;
	case RESOLVE_ADDR:
		put16(body, 10, (uint16_t)make_addr(body + 144, "127.0.0.1", 7));
		put32(body, 4, 1000);
		break;
	case JOIN_MCAST:
		put16(body, 20, (uint16_t)make_addr(body + 24, "239.1.1.1", 0));
		break;
	case WRITE_CM_EVENT:
		put32(body, 8, EV_USER);
		break;
	}
	if (abi[cmd].id_at >= 0)
		put32(body, (size_t)abi[cmd].id_at, id);
	if (abi[cmd].out && cmd != CREATE_ID)
		put64(body, 0, (uintptr_t)answer);
}

Test(cma_commands, an_unknown_id_is_ENOENT)
{
	uint8_t body[600];

	for (uint32_t cmd = 0; cmd < COMMANDS; cmd++) {
		if (abi[cmd].id_at < 0 || cmd == GET_OPTION)
			continue;
		for (int i = 0; i < 3; i++) {
			static const uint32_t nobody[] = {NOBODY, 0, UINT32_MAX};

			fill(body, cmd, nobody[i]);
			cr_expect_eq(command(fd, cmd, body, abi[cmd].in, abi[cmd].out), ENOENT,
				     "command %u, id %u", cmd, nobody[i]);
		}
	}
}

/* A UD id, bound to an address: it has a device, and all commands can find it. */
Test(cma_commands, an_id_of_another_channel_is_EINVAL)
{
	uint32_t id = create(other, 1, PS_UDP, QP_UD), mc = 0;
	uint8_t body[600];

	cr_assert_eq(bind_id(other, id, "127.0.0.1", 0), 0);
	cr_assert_eq(join(other, id, 2, "239.1.1.1", 0, &mc), 0);
	for (uint32_t cmd = 0; cmd < COMMANDS; cmd++) {
		if (abi[cmd].id_at < 0 || cmd == GET_OPTION)
			continue;
		fill(body, cmd, cmd == LEAVE_MCAST ? mc : id);
		cr_expect_eq(command(fd, cmd, body, abi[cmd].in, abi[cmd].out), EINVAL,
			     "command %u", cmd);
	}
}

Test(cma_commands, an_id_without_a_device_is_EINVAL_where_one_is_needed)
{
	uint8_t body[600];

	for (int bound = 0; bound < 2; bound++) {
		uint32_t id = create(fd, 1, PS_UDP, QP_UD);

		if (bound) /* a wildcard has no device */
			cr_assert_eq(bind_id(fd, id, "0.0.0.0", 0), 0);
		for (uint32_t cmd = 0; cmd < COMMANDS; cmd++) {
			if (!abi[cmd].bound)
				continue;
			fill(body, cmd, id);
			cr_expect_eq(command(fd, cmd, body, abi[cmd].in, abi[cmd].out), EINVAL,
				     "command %u", cmd);
		}
	}
}

Test(cma_commands, a_room_that_is_too_small_is_ENOSPC_and_nothing_happens)
{
	static const uint16_t least[COMMANDS] = {
		[CREATE_ID] = 4,   [DESTROY_ID] = 4,	[QUERY_ROUTE] = 200, [INIT_QP_ATTR] = 144,
		[GET_EVENT] = 324, [JOIN_IP_MCAST] = 4, [LEAVE_MCAST] = 4,   [MIGRATE_ID] = 4,
		[QUERY] = 272,	   [JOIN_MCAST] = 4};
	uint32_t id = create(fd, 1, PS_UDP, QP_UD), mc = 0, reported;
	uint8_t body[600];
	struct event ev;

	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_assert_eq(join(fd, id, 2, "239.1.1.1", 0, &mc), 0);
	for (uint32_t cmd = 0; cmd < COMMANDS; cmd++) {
		if (!least[cmd])
			continue;
		for (int room = least[cmd] - 1; room >= 0; room -= room > 8 ? 7 : 1) {
			fill(body, cmd, cmd == LEAVE_MCAST ? mc : id);
			memset(answer, 0xee, sizeof(answer));
			cr_expect_eq(command(fd, cmd, body, abi[cmd].in, (uint16_t)room), ENOSPC,
				     "command %u, room %d", cmd, room);
			for (size_t i = 0; i < sizeof(answer); i++)
				cr_assert_eq(answer[i], 0xee, "command %u wrote", cmd);
		}
	}
	/* the event, the group and the id still exist */
	expect_of(fd, &ev, EV_MULTICAST_JOIN, 2, mc);
	cr_assert_eq(leave(fd, mc, &reported), 0);
	cr_assert_eq(reported, 1);
	cr_assert_eq(destroy(fd, id, &reported), 0);
	cr_assert_eq(reported, 1);
}

/* Never more than the answer, for any size of the buffer. */
Test(cma_commands, nothing_is_written_behind_the_answer)
{
	static const uint16_t full[COMMANDS] = {
		[CREATE_ID] = 4,  [QUERY_ROUTE] = 208, [INIT_QP_ATTR] = 144, [QUERY] = 280,
		[JOIN_MCAST] = 4, [GET_EVENT] = 336,   [DESTROY_ID] = 4};
	uint32_t id = create(fd, 1, PS_UDP, QP_UD);
	uint8_t body[600];

	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	for (int i = 0; i < COMMANDS; i++) {
		static const uint32_t order[] = {CREATE_ID,  QUERY_ROUTE, INIT_QP_ATTR, QUERY,
						 JOIN_MCAST, GET_EVENT,	  DESTROY_ID};

		if (i >= 7)
			break;
		fill(body, order[i], id);
		memset(answer, 0xee, sizeof(answer));
		if (order[i] == INIT_QP_ATTR)
			put32(body, 12, 1);
		cr_assert_eq(command(fd, order[i], body, abi[order[i]].in, 1000), 0, "command %u",
			     order[i]);
		for (size_t k = full[order[i]]; k < sizeof(answer); k++)
			cr_assert_eq(answer[k], 0xee, "command %u, byte %zu", order[i], k);
	}
}

Test(cma_commands, a_body_that_is_too_short_is_EINVAL)
{
	uint32_t id = create(fd, 1, PS_TCP, QP_RC);
	uint8_t body[600];

	for (uint32_t cmd = 0; cmd < COMMANDS; cmd++) {
		if (cmd == GET_OPTION)
			continue;
		for (uint16_t in = 0; in < abi[cmd].least; in++) {
			fill(body, cmd, id);
			cr_assert_eq(command(fd, cmd, body, in, abi[cmd].out), EINVAL,
				     "command %u, %u bytes", cmd, in);
		}
	}
	/* it is unchanged */
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
	cr_assert_eq(destroy(fd, id, NULL), 0);
}

Test(cma_commands, headers)
{
	uint8_t b[64] = {0};
	ssize_t ret;

	for (size_t n = 0; n < 8; n++) {
		cr_assert(dpa_hook_write(fd, b, n, &ret));
		cr_assert_eq(ret, -1);
		cr_assert_eq(errno, EINVAL);
	}
	/* a body that the write does not have */
	put32(b, 0, LISTEN);
	put16(b, 4, 8);
	cr_assert(dpa_hook_write(fd, b, 15, &ret));
	cr_assert_eq(ret, -1);
	cr_assert_eq(errno, EINVAL);
	/* more than the header announces: ignored, but it counts as written */
	uint32_t id = create(fd, 1, PS_TCP, QP_RC);

	put32(b, 8, id);
	cr_assert(dpa_hook_write(fd, b, 40, &ret));
	cr_assert_eq(ret, 40);
}

Test(cma_commands, commands_that_do_not_exist)
{
	uint8_t body[600] = {0};

	cr_expect_eq(command(fd, GET_OPTION, body, 24, 8), ENOSYS);
	cr_expect_eq(command(fd, COMMANDS, body, 24, 8), EINVAL);
	cr_expect_eq(command(fd, 255, body, 24, 8), EINVAL);
	cr_expect_eq(command(fd, UINT32_MAX, body, 24, 8), EINVAL);
}

Test(cma_commands, port_spaces_and_types)
{
	static const struct {
		uint16_t ps;
		uint8_t type;
		int err;
	} cases[] = {
		{PS_TCP, QP_RC, 0},	{PS_TCP, 0, 0},		 {PS_UDP, QP_UD, 0},
		{PS_UDP, 0, 0},		{PS_IPOIB, QP_UD, 0},	 {PS_IB, QP_RC, 0},
		{PS_IB, QP_UC, 0},	{PS_IB, QP_UD, 0},	 {PS_IB, QP_XRC_SEND, 0},
		{0, 0, EINVAL},		{PS_IB, QP_XRC_RECV, 0}, {0x105, QP_RC, EINVAL},
		{0x112, QP_RC, EINVAL}, {0xffff, QP_RC, EINVAL},
	};
	uint32_t id;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(try_create(fd, 1, cases[i].ps, cases[i].type, &id), cases[i].err,
			     "port space 0x%x, type %u", cases[i].ps, cases[i].type);
}

/*
 * A type that does not fit the port space is replaced by that of the port space: an id of TCP is
 * RC.
 */
Test(cma_commands, the_port_space_decides_the_type)
{
	uint32_t tcp = create(fd, 1, PS_TCP, QP_UD), udp = create(fd, 1, PS_UDP, QP_RC);
	uint8_t a[144];

	cr_assert_eq(bind_id(fd, tcp, "127.0.0.1", 0), 0);
	cr_assert_eq(bind_id(fd, udp, "127.0.0.1", 0), 0);
	cr_assert_eq(qp_attr(fd, tcp, 1, a), 0);
	cr_assert(get32(a, 0) & 8, "ACCESS_FLAGS");
	cr_assert_not(get32(a, 0) & 0x40, "QKEY");
	cr_assert_eq(qp_attr(fd, udp, 1, a), 0);
	cr_assert(get32(a, 0) & 0x40, "QKEY");
}

Test(cma_commands, sizes_of_addresses)
{
	uint8_t body[600], a[48];
	uint32_t id = create(fd, 1, PS_TCP, QP_RC);

	for (uint16_t size = 0; size < 200; size++) {
		fill(body, BIND, id);
		put16(body, 4, size);
		if (size == 16)
			continue;
		cr_assert_eq(command(fd, BIND, body, 136, 0), EINVAL, "size %u", size);
		fill(body, RESOLVE_ADDR, id);
		put16(body, 10, size);
		cr_assert_eq(command(fd, RESOLVE_ADDR, body, 272, 0), EINVAL, "size %u", size);
		if (!size)
			continue;
		fill(body, RESOLVE_ADDR, id);
		make_addr(body + 16, "127.0.0.1", 0);
		put16(body, 8, size);
		cr_assert_eq(command(fd, RESOLVE_ADDR, body, 272, 0), EINVAL, "size %u", size);
	}
	fill(body, BIND, id);
	put16(body, 6, 1); /* reserved */
	cr_assert_eq(command(fd, BIND, body, 136, 0), EINVAL);
	fill(body, RESOLVE_ADDR, id);
	put32(body, 12, 1);
	cr_assert_eq(command(fd, RESOLVE_ADDR, body, 272, 0), EINVAL);
	/* families without a size */
	for (uint16_t family = 0; family < 60; family++) {
		if (family == AF_INET || family == AF_INET6 || family == AF_IB)
			continue;
		memset(a, 0, sizeof(a));
		put16(a, 0, family);
		cr_assert_eq(bind_raw(fd, id, a, 16), EINVAL, "family %u", family);
		fill(body, BIND_IP, id);
		put16(body, 8, family);
		cr_assert_eq(command(fd, BIND_IP, body, 40, 0), EINVAL, "family %u", family);
		fill(body, RESOLVE_IP, id);
		put16(body, 28, family);
		cr_assert_eq(command(fd, RESOLVE_IP, body, 64, 0), EINVAL, "family %u", family);
	}
	/* a sockaddr_ib has no room in the older commands */
	fill(body, BIND_IP, id);
	put16(body, 8, AF_IB);
	cr_assert_eq(command(fd, BIND_IP, body, 40, 0), EINVAL);
	cr_assert_eq(bind_id(fd, id, "127.0.0.1", 0), 0);
}

/* Head of rdma-core writes these two; a RoCE device has no service records. */
Test(cma_commands, ib_services_are_not_on_RoCE)
{
	uint32_t id = create(fd, 1, PS_TCP, QP_RC);
	uint8_t body[600];
	struct event ev;

	cr_assert_eq(resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	expect(fd, &ev, EV_ADDR_RESOLVED);
	fill(body, RESOLVE_IB_SERVICE, id);
	cr_assert_eq(command(fd, RESOLVE_IB_SERVICE, body, 88, 0), EOPNOTSUPP);
	/* the id is unchanged */
	cr_assert_eq(route(fd, id), 0);
	expect(fd, &ev, EV_ROUTE_RESOLVED);
	cr_assert_eq(command(fd, RESOLVE_IB_SERVICE, body, 88, 0), EINVAL, "not in this state");
}

Test(cma_commands, events_that_the_program_writes)
{
	uint32_t id = create(fd, 0xabcdef0123456789, PS_TCP, QP_RC), reported;
	uint8_t body[320] = {0};
	struct event ev;

	put32(body, 0, id);
	put32(body, 8, EV_USER);
	put32(body, 12, (uint32_t)-7);
	put64(body, 16, 0x1122334455667788);
	cr_assert_eq(command(fd, WRITE_CM_EVENT, body, 320, 0), 0);
	put32(body, 8, EV_INTERNAL);
	put64(body, 16, 42);
	cr_assert_eq(command(fd, WRITE_CM_EVENT, body, 320, 0), 0);
	expect_of(fd, &ev, EV_USER, 0xabcdef0123456789, id);
	cr_assert_eq(ev.status, -7);
	cr_assert_eq(get64(ev.raw, 20), 0x1122334455667788);
	expect_of(fd, &ev, EV_INTERNAL, 0xabcdef0123456789, id);
	cr_assert_eq(get64(ev.raw, 20), 42);
	for (uint32_t type = 0; type < 30; type++) {
		if (type == EV_USER || type == EV_INTERNAL)
			continue;
		put32(body, 8, type);
		cr_assert_eq(command(fd, WRITE_CM_EVENT, body, 320, 0), EINVAL, "event %u", type);
	}
	cr_assert_not(has_event(fd));
	cr_assert_eq(destroy(fd, id, &reported), 0);
	cr_assert_eq(reported, 2);
}

Test(cma_commands, migrate_names_a_channel)
{
	uint32_t id = create(fd, 1, PS_TCP, QP_RC);
	int pipefd[2];

	cr_assert_eq(pipe(pipefd), 0);
	cr_assert_eq(migrate(other, pipefd[0], id, NULL), EINVAL, "no channel");
	cr_assert_eq(migrate(other, 9999, id, NULL), ENOENT, "no descriptor");
	cr_assert_eq(migrate(other, -1, id, NULL), ENOENT);
	cr_assert_eq(migrate(other, other, id, NULL), EINVAL, "not its id");
}

Test(cma_commands, the_descriptor_is_a_character_device)
{
	struct stat st;
	char byte;
	ssize_t ret;

	cr_assert_eq(fstat(fd, &st), 0);
	dpa_hook_fstat(fd, &st);
	cr_assert(S_ISCHR(st.st_mode));
	cr_assert(dpa_hook_read(fd, &byte, 1, &ret));
	cr_assert_eq(ret, -1);
	cr_assert_eq(errno, EINVAL, "ucma has no read");
	cr_assert_not(dpa_hook_open("/dev/infiniband/uverbs0", O_RDWR, &(int){0}));
}

Test(cma_commands, descriptors_run_out)
{
	static int fds[4096];
	int n = 0, ret = -1;

	while (n < 4096 && dpa_hook_open("/dev/infiniband/rdma_cm", O_RDWR, &ret) && ret >= 0)
		fds[n++] = ret;
	if (n < 4096) {
		cr_assert_eq(ret, -1);
		cr_assert_eq(errno, EMFILE);
	}
	while (n)
		channel_close(fds[--n]);
	cr_assert_eq(destroy(fd, NOBODY, NULL), ENOENT);
}
