/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_nl.c - the netlink answerer with fakes: our functions, an injected kernel, the program's
 * end.
 */
#include "nl_fake.h"

#include <rdma/rdma_netlink.h>

/* Compare numbers with the header of the installed kernel. */
_Static_assert((int)NLDEV_CLIENT == (int)RDMA_NL_NLDEV, "ABI");
_Static_assert((int)NLDEV_GET == (int)RDMA_NLDEV_CMD_GET, "ABI");
_Static_assert((int)NLDEV_PORT_GET == (int)RDMA_NLDEV_CMD_PORT_GET, "ABI");
_Static_assert((int)NLDEV_SYS_GET == (int)RDMA_NLDEV_CMD_SYS_GET, "ABI");
_Static_assert((int)NLDEV_RES_GET == (int)RDMA_NLDEV_CMD_RES_GET, "ABI");
_Static_assert((int)NLDEV_RES_QP_GET == (int)RDMA_NLDEV_CMD_RES_QP_GET, "ABI");
_Static_assert((int)NLDEV_GET_CHARDEV == (int)RDMA_NLDEV_CMD_GET_CHARDEV, "ABI");
_Static_assert((int)NLDEV_STAT_GET == (int)RDMA_NLDEV_CMD_STAT_GET, "ABI");
_Static_assert((int)NLDEV_A_NODE_TYPE == (int)RDMA_NLDEV_ATTR_DEV_NODE_TYPE, "ABI");
_Static_assert((int)NLDEV_A_RES_SUMMARY == (int)RDMA_NLDEV_ATTR_RES_SUMMARY, "ABI");
_Static_assert((int)NLDEV_A_RES_QP_ENTRY == (int)RDMA_NLDEV_ATTR_RES_QP_ENTRY, "ABI");
_Static_assert((int)NLDEV_A_RES_PID == (int)RDMA_NLDEV_ATTR_RES_PID, "ABI");
_Static_assert((int)NLDEV_A_NDEV_NAME == (int)RDMA_NLDEV_ATTR_NDEV_NAME, "ABI");
_Static_assert((int)NLDEV_A_PROTOCOL == (int)RDMA_NLDEV_ATTR_DEV_PROTOCOL, "ABI");
_Static_assert((int)NLDEV_A_CHARDEV == (int)RDMA_NLDEV_ATTR_CHARDEV, "ABI");
_Static_assert((int)NLDEV_A_DIM == (int)RDMA_NLDEV_ATTR_DEV_DIM, "ABI");

#define DUMP (NLM_F_REQUEST | NLM_F_DUMP)
#define ONE  NLM_F_REQUEST

static struct req about(unsigned cmd, uint16_t flags, uint32_t index)
{
	struct req r = request(NLDEV_TYPE(cmd), flags);

	add_u32(&r, NLDEV_A_DEV_INDEX, index);
	return r;
}

/* A device in the kernel's form. */
static struct req kernel_device(uint32_t index, const char *name, uint16_t flags)
{
	struct req r = request(NLDEV_TYPE(NLDEV_GET), flags);

	((struct nlmsghdr *)(void *)r.data)->nlmsg_pid = 77;
	add_u32(&r, NLDEV_A_DEV_INDEX, index);
	add_string(&r, NLDEV_A_DEV_NAME, name);
	return r;
}

Test(nl, a_dump_of_devices)
{
	struct fake *f = fake_new();
	struct req r = request(NLDEV_TYPE(NLDEV_GET), DUMP);
	const struct nlmsghdr *h;

	f->devices = 3;
	cr_assert_eq(serve(f, &r), 0);
	h = message(f, 0);
	cr_assert_eq(h->nlmsg_type, NLDEV_TYPE(NLDEV_GET));
	cr_assert_eq(h->nlmsg_flags, NLM_F_MULTI);
	cr_assert_eq(h->nlmsg_seq, SEQ);
	cr_assert_eq(h->nlmsg_pid, PORT);
	cr_expect_eq(number(attr(h, NLDEV_A_DEV_INDEX), 4), NL_INDEX);
	cr_expect_str_eq(text(attr(h, NLDEV_A_DEV_NAME)), "dpa0");
	cr_expect_eq(number(attr(h, NLDEV_A_PORT_INDEX), 4), 1u);
	cr_expect_eq(number(attr(h, NLDEV_A_CAP_FLAGS), 8), 0x123456789au);
	cr_expect_str_eq(text(attr(h, NLDEV_A_FW_VERSION)), "9.8.7");
	cr_expect_eq(number(attr(h, NLDEV_A_NODE_GUID), 8), 0x0102030405060708u);
	cr_expect_eq(number(attr(h, NLDEV_A_SYS_IMAGE_GUID), 8), 0x0102030405060708u);
	cr_expect_eq(number(attr(h, NLDEV_A_NODE_TYPE), 1), 1u);
	cr_expect_str_eq(text(attr(h, NLDEV_A_PROTOCOL)), "roce");
	cr_expect_str_eq(text(attr(message(f, 2), NLDEV_A_DEV_NAME)), "dpa0_sf2");
	cr_expect_eq(number(attr(message(f, 2), NLDEV_A_DEV_INDEX), 4), NL_INDEX + 2);
	cr_expect_eq(message(f, 3)->nlmsg_type, NLMSG_DONE);
	cr_expect_null(message(f, 4));
	fake_free(f);
}

/* libibverbs stores the index in an int, where -1 means none; the kernel uses 0 to 2^31 - 1. */
Test(nl, indices)
{
	cr_expect_gt((int)NL_INDEX, 0);
	cr_expect_leq((uint64_t)NL_INDEX + NL_DEVICES, (uint64_t)INT32_MAX);
	cr_expect(!nl_is_ours(0));
	cr_expect(!nl_is_ours(NL_INDEX - 1));
	cr_expect(nl_is_ours(NL_INDEX));
	cr_expect(nl_is_ours(NL_INDEX + NL_DEVICES - 1));
	cr_expect(!nl_is_ours(NL_INDEX + NL_DEVICES));
	cr_expect(!nl_is_ours(UINT32_MAX));
}

Test(nl, the_kernels_devices_come_with_ours)
{
	struct fake *f = fake_new();
	struct req r = request(NLDEV_TYPE(NLDEV_GET), DUMP), d0, d1, done = kernel_done();
	const struct nlmsghdr *h;

	f->has_kernel = true;
	d0 = kernel_device(0, "mlx5_0", NLM_F_MULTI);
	d1 = kernel_device(1, "rxe0", NLM_F_MULTI);
	kernel_says(f, true, &d0);
	kernel_says(f, true, &d1);
	kernel_says(f, false, &done); /* in one datagram with a device, as newer kernels do */
	cr_assert_eq(serve(f, &r), 0);
	h = message(f, 0);
	cr_expect_str_eq(text(attr(h, NLDEV_A_DEV_NAME)), "mlx5_0");
	cr_expect_eq(h->nlmsg_pid, PORT, "libnl and libmnl compare it with the socket's");
	cr_expect_eq(number(attr(h, NLDEV_A_DEV_INDEX), 4), 0u);
	cr_expect_str_eq(text(attr(message(f, 1), NLDEV_A_DEV_NAME)), "rxe0");
	cr_expect_str_eq(text(attr(message(f, 2), NLDEV_A_DEV_NAME)), "dpa0");
	cr_expect_eq(message(f, 3)->nlmsg_type, NLMSG_DONE);
	cr_expect_null(message(f, 4), "one end");
	cr_expect(!f->loaded);
	fake_free(f);
}

Test(nl, a_kernel_that_refuses_a_dump)
{
	struct fake *f = fake_new();
	struct req r = request(NLDEV_TYPE(NLDEV_GET), DUMP), no = kernel_error(-EPERM, &r);

	f->has_kernel = true;
	kernel_says(f, true, &no);
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_str_eq(text(attr(message(f, 0), NLDEV_A_DEV_NAME)), "dpa0");
	cr_expect_eq(message(f, 1)->nlmsg_type, NLMSG_DONE);
	fake_free(f);
}

/* Regression: libibverbs looks in sysfs for devices that netlink does not show only if it fails. */
Test(nl, devices_that_only_sysfs_shows)
{
	struct fake *f = fake_new();
	struct req r = request(NLDEV_TYPE(NLDEV_GET), DUMP), no = kernel_error(-EPERM, &r);

	f->listed = true;
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(error_of(f, 0), -EPROTONOSUPPORT);
	cr_expect_null(message(f, 1));
	f->got.len = 0;
	f->has_kernel = true;
	kernel_says(f, true, &no);
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(error_of(f, 0), -EPERM);
	cr_expect_null(message(f, 1));
	fake_free(f);
}

Test(nl, one_of_ours_is_acknowledged)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_GET, ONE | NLM_F_ACK, NL_INDEX);
	const struct nlmsgerr *e;

	f->has_kernel = true; /* is not queried */
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_str_eq(text(attr(message(f, 0), NLDEV_A_DEV_NAME)), "dpa0");
	cr_expect_eq(message(f, 0)->nlmsg_flags, 0);
	cr_expect_eq(error_of(f, 1), 0);
	e = NLMSG_DATA(message(f, 1));
	cr_expect_eq(message(f, 1)->nlmsg_len, NLMSG_LENGTH(sizeof(*e)));
	cr_expect_eq(message(f, 1)->nlmsg_flags, NLM_F_CAPPED);
	cr_expect_eq(e->msg.nlmsg_flags, ONE | NLM_F_ACK);
	cr_expect_eq(f->got.datagrams, 2u, "the kernel sends each by itself");
	cr_expect_eq(f->kernel_end, -1);
	fake_free(f);
}

Test(nl, a_port)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_PORT_GET, ONE, NL_INDEX);
	const struct nlmsghdr *h;

	add_u32(&r, NLDEV_A_PORT_INDEX, 1);
	cr_assert_eq(serve(f, &r), 0);
	h = message(f, 0);
	cr_expect_eq(number(attr(h, NLDEV_A_PORT_STATE), 1), 4u);
	cr_expect_eq(number(attr(h, NLDEV_A_PHYS_STATE), 1), 5u);
	cr_expect_eq(number(attr(h, NLDEV_A_NDEV_INDEX), 4), 7u);
	cr_expect_str_eq(text(attr(h, NLDEV_A_NDEV_NAME)), "eth7");
	cr_expect_null(attr(h, NLDEV_A_LID), "an Ethernet port");
	cr_expect_null(message(f, 1), "no acknowledgement was asked for");
	fake_free(f);
}

static int error_for(struct fake *f, const struct req *r)
{
	f->got.len = 0;
	cr_assert_eq(serve(f, r), 0);
	cr_expect_null(message(f, 1));
	return error_of(f, 0);
}

Test(nl, refusals)
{
	static const unsigned unknown[] = {
		NLDEV_SET,
		NLDEV_STAT_DEL,
		NLDEV_STAT_SET,
		NLDEV_RES_CQ_GET,
		NLDEV_RES_QP_GET_RAW,
		NLDEV_STAT_GET_STATUS,
		27,
		500,
	};
	struct fake *f = fake_new();
	struct req r;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		r = about(unknown[i], ONE | NLM_F_ACK, NL_INDEX);
		cr_expect_eq(error_for(f, &r), -EOPNOTSUPP, "%u", unknown[i]);
	}
	r = about(NLDEV_GET, ONE, NL_INDEX + 1);
	cr_expect_eq(error_for(f, &r), -EINVAL, "no such SF");
	r = about(NLDEV_GET, ONE, 0);
	cr_expect_eq(error_for(f, &r), -EINVAL, "no such device");
	r = request(NLDEV_TYPE(NLDEV_GET), ONE);
	cr_expect_eq(error_for(f, &r), -EINVAL, "none named");
	r = about(NLDEV_PORT_GET, ONE, NL_INDEX);
	cr_expect_eq(error_for(f, &r), -EINVAL, "no port named");
	add_u32(&r, NLDEV_A_PORT_INDEX, 2);
	cr_expect_eq(error_for(f, &r), -EINVAL, "no such port");
	r = request(4 << 10 | 1, ONE); /* local services, ibacm's */
	cr_expect_eq(error_for(f, &r), -EOPNOTSUPP);
	fake_free(f);
}

Test(nl, character_devices)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_GET_CHARDEV, ONE, NL_INDEX), cm, ok, dev;
	char seen[4096];

	add_string(&r, NLDEV_A_CHARDEV_TYPE, "uverbs");
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(number(attr(message(f, 0), NLDEV_A_CHARDEV), 8), 0x103u);
	cr_expect_eq(number(attr(message(f, 0), NLDEV_A_CHARDEV_ABI), 8), 1u);
	cr_expect_str_eq(text(attr(message(f, 0), NLDEV_A_CHARDEV_NAME)), "uverbs_dpa0");
	r = about(NLDEV_GET_CHARDEV, ONE, NL_INDEX);
	cr_expect_eq(error_for(f, &r), -EINVAL, "of no type");
	add_string(&r, NLDEV_A_CHARDEV_TYPE, "umad");
	cr_expect_eq(error_for(f, &r), -EOPNOTSUPP);

	cm = request(NLDEV_TYPE(NLDEV_GET_CHARDEV), ONE);
	add_string(&cm, NLDEV_A_CHARDEV_TYPE, "rdma_cm");
	cr_expect_eq(error_for(f, &cm), -EOPNOTSUPP);
	f->has_kernel = true; /* is queried, and its number held back */
	dev = request(NLDEV_TYPE(NLDEV_GET_CHARDEV), 0);
	add_string(&dev, NLDEV_A_CHARDEV_NAME, "rdma_cm");
	ok = kernel_error(0, &cm);
	kernel_says(f, true, &dev);
	kernel_says(f, true, &ok);
	cr_expect_eq(error_for(f, &cm), -EOPNOTSUPP);
	cr_expect_eq(recv(f->kernel_end, seen, sizeof(seen), 0), (ssize_t)cm.len);
	fake_free(f);
}

Test(nl, a_request_for_the_kernel)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_GET, ONE, 3), dev = kernel_device(3, "mlx5_3", 0), ok;
	struct nlmsghdr seen[64];

	f->has_kernel = true;
	ok = kernel_error(0, &r);
	kernel_says(f, true, &dev);
	kernel_says(f, true, &ok);
	((struct nlmsghdr *)(void *)r.data)->nlmsg_pid = 999;
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_str_eq(text(attr(message(f, 0), NLDEV_A_DEV_NAME)), "mlx5_3");
	cr_expect_null(message(f, 1), "the acknowledgement was ours, not the program's");
	cr_expect_eq(recv(f->kernel_end, seen, sizeof(seen), 0), (ssize_t)r.len);
	cr_expect_eq(seen->nlmsg_flags, ONE | NLM_F_ACK);
	cr_expect_eq(seen->nlmsg_pid, 0u);
	cr_expect_eq(memcmp(seen + 1, r.data + sizeof(*seen), r.len - sizeof(*seen)), 0);

	f->got.len = 0;
	((struct nlmsghdr *)(void *)r.data)->nlmsg_flags |= NLM_F_ACK;
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(error_of(f, 1), 0);
	cr_expect_eq(((struct nlmsgerr *)NLMSG_DATA(message(f, 1)))->msg.nlmsg_pid, 999u,
		     "the header of the request is the program's");
	fake_free(f);
}

Test(nl, settings_of_real_devices_pass)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_SET, ONE | NLM_F_ACK, 3), no, link;

	add_string(&r, NLDEV_A_DEV_NAME, "other");
	f->has_kernel = true;
	no = kernel_error(-EPERM, &r);
	kernel_says(f, true, &no);
	cr_expect_eq(error_for(f, &r), -EPERM, "the kernel's answer");
	cr_expect(!f->loaded);
	link = request(NLDEV_TYPE(NLDEV_NEWLINK), ONE | NLM_F_ACK);
	add_string(&link, NLDEV_A_DEV_NAME, "rxe0");
	cr_expect_eq(error_for(f, &link), -EPERM);
	cr_expect(f->loaded, "a link is what the kernel loads a driver for");
	fake_free(f);
}

Test(nl, the_kernel_ends_the_dump)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_GET, ONE, 3), dev = kernel_device(3, "mlx5_3", 0);

	f->has_kernel = true;
	kernel_says(f, true, &dev); /* and no acknowledgement */
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_str_eq(text(attr(message(f, 0), NLDEV_A_DEV_NAME)), "mlx5_3");
	cr_expect_eq(error_of(f, 1), -EPIPE);
	fake_free(f);
}

/* A truncated error is not read; the messages after it count. */
Test(nl, a_short_error_of_the_kernel)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_GET, ONE, 3), cut = request(NLMSG_ERROR, 0), no;

	f->has_kernel = true;
	no = kernel_error(-ENODEV, &r);
	kernel_says(f, true, &cut);
	kernel_says(f, true, &no);
	cr_expect_eq(error_for(f, &r), -ENODEV);
	fake_free(f);
}

Test(nl, the_system)
{
	struct fake *f = fake_new();
	struct req r = request(NLDEV_TYPE(NLDEV_SYS_GET), ONE), sys, ok;

	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(number(attr(message(f, 0), NLDEV_A_NETNS_MODE), 1), 1u);
	cr_expect_eq(number(attr(message(f, 0), NLDEV_A_COPY_ON_FORK), 1), 1u);

	f->got.len = 0;
	f->has_kernel = true;
	sys = request(NLDEV_TYPE(NLDEV_SYS_GET), 0);
	add(&sys, NLDEV_A_NETNS_MODE, "", 1);
	ok = kernel_error(0, &r);
	kernel_says(f, true, &sys);
	kernel_says(f, true, &ok);
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(number(attr(message(f, 0), NLDEV_A_NETNS_MODE), 1), 0u, "the kernel's");
	cr_expect_null(message(f, 1));
	fake_free(f);
}

Test(nl, counts)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_RES_GET, ONE, NL_INDEX);
	struct req all = request(NLDEV_TYPE(NLDEV_RES_GET), DUMP);
	const struct nlattr *table, *entry;

	cr_assert_eq(serve(f, &r), 0);
	table = attr(message(f, 0), NLDEV_A_RES_SUMMARY);
	entry = nested(table, NLDEV_A_RES_ENTRY, 1);
	cr_expect_str_eq(text(nested(entry, NLDEV_A_RES_NAME, 0)), "mr");
	cr_expect_eq(number(nested(entry, NLDEV_A_RES_CURR, 0), 8), UINT64_C(1) << 40);
	cr_expect_null(nested(table, NLDEV_A_RES_ENTRY, 2));

	f->got.len = 0;
	f->devices = 3; /* two of which it does not have */
	cr_assert_eq(serve(f, &all), 0);
	cr_expect_str_eq(text(attr(message(f, 0), NLDEV_A_DEV_NAME)), "dpa0");
	cr_expect_eq(message(f, 1)->nlmsg_type, NLMSG_DONE);
	fake_free(f);
}

Test(nl, counters)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_STAT_GET, ONE, NL_INDEX), all = r;
	const struct nlattr *table, *entry;

	cr_expect_eq(error_for(f, &r), -EINVAL, "no port named");
	add_u32(&r, NLDEV_A_PORT_INDEX, 1);
	f->got.len = 0;
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(number(attr(message(f, 0), NLDEV_A_PORT_INDEX), 4), 1u);
	table = attr(message(f, 0), RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	entry = nested(table, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, 0);
	cr_expect_str_eq(text(nested(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, 0)),
			 "rx_write_requests");
	cr_expect_eq(number(nested(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 0), 8),
		     UINT64_C(1) << 33);
	cr_expect_not_null(nested(table, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, 1));
	cr_expect_null(nested(table, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, 2));
	add_u32(&r, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_MR);
	cr_expect_eq(error_for(f, &r), -EOPNOTSUPP, "of regions");
	((struct nlmsghdr *)(void *)all.data)->nlmsg_flags |= NLM_F_DUMP;
	cr_expect_eq(error_for(f, &all), -EOPNOTSUPP);
	fake_free(f);
}

Test(nl, many_qps)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_RES_QP_GET, DUMP, NL_INDEX);
	const struct nlmsghdr *h;
	uint32_t next = 100;
	int i;

	f->qps = 3000;
	cr_assert_eq(serve(f, &r), 0);
	for (i = 0; (h = message(f, i)) && h->nlmsg_type != NLMSG_DONE; i++) {
		const struct nlattr *table = attr(h, NLDEV_A_RES_QP), *qp;

		cr_expect_eq(h->nlmsg_flags, NLM_F_MULTI);
		for (int k = 0; (qp = nested(table, NLDEV_A_RES_QP_ENTRY, k)); k++) {
			cr_expect_eq(number(nested(qp, NLDEV_A_RES_LQPN, 0), 4), next);
			cr_expect_eq(nested(qp, NLDEV_A_RES_RQPN, 0) != NULL, next % 2 != 0);
			cr_expect_eq(number(nested(qp, NLDEV_A_RES_SQ_PSN, 0), 4), 0x123456u,
				     "rdma(8) wants one");
			next++;
		}
	}
	cr_expect_not_null(h);
	cr_expect_eq(next, 3100u);
	cr_expect_gt(f->got.datagrams, 10u);
	cr_expect_leq(f->got.largest, 8192u, "what programs have room for");

	f->got.len = 0;
	r = about(NLDEV_RES_QP_GET, ONE, NL_INDEX);
	add_u32(&r, NLDEV_A_RES_LQPN, 101);
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(number(attr(message(f, 0), NLDEV_A_RES_LQPN), 4), 101u);
	cr_expect_null(message(f, 1));
	add_u32(&r, NLDEV_A_RES_LQPN, 99); /* the last one counts */
	cr_expect_eq(error_for(f, &r), -ENOENT);
	fake_free(f);
}

/* In the form of the kernel's fill_res_cm_id_entry(). */
Test(nl, many_cm_ids)
{
	struct fake *f = fake_new();
	struct req r = about(RDMA_NLDEV_CMD_RES_CM_ID_GET, DUMP, NL_INDEX);
	const struct nlmsghdr *h;
	uint32_t next = 7;
	int i;

	f->cm_ids = 500;
	cr_assert_eq(serve(f, &r), 0);
	for (i = 0; (h = message(f, i)) && h->nlmsg_type != NLMSG_DONE; i++) {
		const struct nlattr *table = attr(h, RDMA_NLDEV_ATTR_RES_CM_ID), *id;

		for (int k = 0; (id = nested(table, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, k)); k++) {
			bool listens = next == 7;

			cr_expect_eq(number(nested(id, RDMA_NLDEV_ATTR_RES_CM_IDN, 0), 4), next);
			cr_expect_eq(number(nested(id, RDMA_NLDEV_ATTR_RES_STATE, 0), 1),
				     listens ? 8u : 5u);
			cr_expect_eq(number(nested(id, RDMA_NLDEV_ATTR_RES_PS, 0), 4), 0x106u);
			cr_expect_eq(number(nested(id, RDMA_NLDEV_ATTR_RES_PID, 0), 4), 42u);
			cr_expect_eq(!nested(id, RDMA_NLDEV_ATTR_RES_TYPE, 0), listens);
			cr_expect_eq(nested(id, RDMA_NLDEV_ATTR_RES_SRC_ADDR, 0)->nla_len,
				     NLA_HDRLEN + sizeof(struct sockaddr_storage));
			cr_expect_eq(!nested(id, RDMA_NLDEV_ATTR_RES_DST_ADDR, 0), listens);
			next++;
		}
	}
	cr_expect_not_null(h);
	cr_expect_eq(next, 507u);

	f->got.len = 0;
	r = about(RDMA_NLDEV_CMD_RES_CM_ID_GET, ONE, NL_INDEX);
	cr_expect_eq(error_for(f, &r), -EINVAL, "none is named");
	add_u32(&r, RDMA_NLDEV_ATTR_RES_CM_IDN, 8);
	f->got.len = 0;
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(number(attr(message(f, 0), RDMA_NLDEV_ATTR_RES_CM_IDN), 4), 8u);
	add_u32(&r, RDMA_NLDEV_ATTR_RES_CM_IDN, 6);
	cr_expect_eq(error_for(f, &r), -ENOENT);
	fake_free(f);
}

/* Regression: for the number of an rdma_cm id bytes behind the request were read. */
Test(nl, numbers_that_are_cut_off)
{
	static const struct {
		uint16_t cmd, attr;
	} list[] = {{RDMA_NLDEV_CMD_GET, NLDEV_A_DEV_INDEX},
		    {RDMA_NLDEV_CMD_PORT_GET, NLDEV_A_PORT_INDEX},
		    {RDMA_NLDEV_CMD_RES_QP_GET, NLDEV_A_RES_LQPN},
		    {RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_IDN}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		for (size_t len = 0; len < 4; len++) {
			struct fake *f = fake_new();
			struct req r = about(list[i].cmd, ONE, NL_INDEX);

			add(&r, list[i].attr, "\1\2\3", len);
			cr_expect_eq(error_for(f, &r), -EINVAL, "attribute %u of %zu bytes",
				     list[i].attr, len);
			fake_free(f);
		}
}

Test(nl, the_programs_queue_is_full)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_RES_QP_GET, DUMP, NL_INDEX);

	f->qps = 3000;
	f->full_after = 5;
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_eq(error_of(f, 5), -ENOBUFS, "the dump ends, and says that it is not whole");
	cr_expect_null(message(f, 6));
	fake_free(f);
}

Test(nl, several_requests_in_a_datagram)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_GET, ONE, NL_INDEX), second = about(NLDEV_GET, ONE, 12);
	struct req note = request(NLDEV_TYPE(NLDEV_GET), 0), noop = request(NLMSG_NOOP, ONE);

	memcpy(r.data + r.len, second.data, second.len);
	r.len += second.len;
	memcpy(r.data + r.len, note.data, note.len);
	r.len += note.len;
	memcpy(r.data + r.len, noop.data, noop.len);
	r.len += noop.len;
	cr_assert_eq(serve(f, &r), 0);
	cr_expect_str_eq(text(attr(message(f, 0), NLDEV_A_DEV_NAME)), "dpa0");
	cr_expect_eq(error_of(f, 1), -EINVAL);
	cr_expect_null(message(f, 2), "neither a request nor an acknowledgement");
	fake_free(f);
}

Test(nl, errors_hold_the_request)
{
	struct fake *f = fake_new();
	struct req r = about(NLDEV_SET, ONE, NL_INDEX);
	static char large[3000];

	add(&r, NLDEV_A_FW_VERSION, large, sizeof(large));
	cr_expect_eq(error_for(f, &r), -EOPNOTSUPP);
	cr_expect_eq(message(f, 0)->nlmsg_len, NLMSG_LENGTH(4) + r.len, "all of it");
	f->env.cap_ack = true;
	cr_expect_eq(error_for(f, &r), -EOPNOTSUPP);
	cr_expect_eq(message(f, 0)->nlmsg_len, NLMSG_LENGTH(sizeof(struct nlmsgerr)));
	cr_expect_eq(message(f, 0)->nlmsg_flags, NLM_F_CAPPED);
	fake_free(f);
}
