/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * serve.c - processes a datagram of the program like rdma_nl_rcv_skb() of the kernel. The answer of
 * each request comes from:
 *
 *   a dump of all devices       the kernel, if it has RDMA, followed by us
 *   names a function of ours    us
 *   anything else               the kernel
 */
#include <errno.h>
#include <unistd.h>

#include "nl.h"

/* The answer is complete, including its acknowledgement or end. */
#define COMPLETE 2

/* Requests whose purpose requires the kernel's RDMA modules: the kernel may load them. */
static bool may_load(unsigned cmd)
{
	return cmd == NLDEV_NEWLINK || cmd == NLDEV_SYS_SET;
}

/*
 * Real devices that the kernel does not show here are found in sysfs, but only if the dump fails:
 * in a network namespace without RDMA netlink.
 */
static int all_devices(const struct nl_env *env, const struct nlmsghdr *h, struct nl_out *o)
{
	int fd = env->kernel(env->arg, false), ret = fd < 0 ? fd : 0;

	if (fd >= 0) {
		ret = nl_relay(env, fd, h, NL_RELAY_PART);
		close(fd);
	}
	if (ret == -ENOBUFS || (ret < 0 && env->listed(env->arg)))
		return ret;
	ret = nl_answer_all(env, h, o);
	return ret ? ret : 1;
}

/*
 * The character device of rdma_cm. The request is passed to the kernel, which loads its module for
 * it. The program gets EOPNOTSUPP: librdmacm compares the number in an answer with the number of
 * the descriptor that it opens, which can be the provider's stand-in. Without a number librdmacm
 * accepts any character device.
 */
static int rdma_cm_device(const struct nl_env *env, const struct nlmsghdr *h)
{
	int fd = env->kernel(env->arg, false);

	if (fd >= 0) {
		(void)nl_relay(env, fd, h, NL_RELAY_NOTHING);
		close(fd);
	}
	return -EOPNOTSUPP;
}

/* For a kernel without RDMA: our devices are the only ones. */
static int without_kernel(const struct nl_env *env, const struct nlmsghdr *h,
			  const struct nl_attrs *attrs, struct nl_out *o)
{
	switch (NLDEV_CMD(h->nlmsg_type)) {
	case NLDEV_SYS_GET:
		return nl_answer_system(env, h, o);
	case NLDEV_GET:
	case NLDEV_PORT_GET:
	case NLDEV_RES_GET:
		return -EINVAL; /* no such device, or none named */
	default:
		return attrs->a[NLDEV_A_DEV_INDEX] ? -EINVAL : -EOPNOTSUPP;
	}
}

static int serve_by_kernel(const struct nl_env *env, const struct nlmsghdr *h,
			   const struct nl_attrs *attrs, struct nl_out *o)
{
	int fd = env->kernel(env->arg, may_load(NLDEV_CMD(h->nlmsg_type))), ret;

	if (fd < 0)
		return without_kernel(env, h, attrs, o);
	ret = nl_relay(env, fd, h, NL_RELAY_ALL);
	close(fd);
	return ret ? ret : COMPLETE;
}

/* 0, 1 (a dump without its end), COMPLETE or -errno. */
static int answer_request(const struct nl_env *env, const struct nlmsghdr *h, struct nl_out *o)
{
	unsigned cmd = NLDEV_CMD(h->nlmsg_type);
	struct nl_attrs attrs;

	if (NLDEV_OWNER(h->nlmsg_type) != NLDEV_CLIENT)
		return -EOPNOTSUPP; /* of ibacm and iwpmd: the kernel sends to them by multicast */
	if (nl_parse(h, &attrs))
		return -EINVAL;
	if (h->nlmsg_flags & NLM_F_DUMP && (cmd == NLDEV_GET || cmd == NLDEV_RES_GET))
		return all_devices(env, h, o);
	if (attrs.a[NLDEV_A_DEV_INDEX] && nl_is_ours(nl_u32(&attrs, NLDEV_A_DEV_INDEX)))
		return nl_answer(env, h, &attrs, o);
	if (cmd == NLDEV_GET_CHARDEV && !attrs.a[NLDEV_A_DEV_INDEX] &&
	    nl_is_string(&attrs, NLDEV_A_CHARDEV_TYPE, "rdma_cm"))
		return rdma_cm_device(env, h);
	return serve_by_kernel(env, h, &attrs, o);
}

/* 0, or -errno if the program cannot be answered. */
static int serve_one(const struct nl_env *env, const struct nlmsghdr *h, struct nl_out *o)
{
	int ret = 0;

	/* A message that is no request is ignored. It is acknowledged if it asks for that. */
	if (h->nlmsg_flags & NLM_F_REQUEST && h->nlmsg_type >= NLMSG_MIN_TYPE)
		ret = answer_request(env, h, o);
	if (ret == COMPLETE)
		return 0;
	o->len = 0;
	if (ret == 1)
		nl_put_done(o, h, env->port_id, 0);
	else if (ret || h->nlmsg_flags & NLM_F_ACK)
		nl_put_error(o, h, env->port_id, ret, env->cap_ack);
	return nl_flush(env, o);
}

int nl_serve(const struct nl_env *env, const void *data, size_t len)
{
	const struct nlmsghdr *h;
	struct nl_out o;
	size_t at = 0;
	int ret = 0;

	o.len = 0;
	while (!ret && (h = nl_next(data, len, &at)))
		ret = serve_one(env, h, &o);
	return ret;
}
