/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * nl_fake.h - environment of the netlink answerer for tests: devices, a kernel with prepared
 * answers, and a program that stores the messages that it receives.
 */
#ifndef NL_FAKE_H
#define NL_FAKE_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/nl/nl.h"

#define SEQ  4711u
#define PORT 0x89abcdefu

/* Messages that the program received, one after the other. */
struct got {
	_Alignas(8) uint8_t data[1 << 20];
	size_t len, largest;
	unsigned datagrams;
};

struct fake {
	struct nl_env env;
	struct got got;
	unsigned devices, qps, cm_ids;
	bool has_kernel;
	bool listed;		      /* sysfs has real devices */
	uint8_t kernel_says[8][2048]; /* datagrams */
	size_t kernel_len[8];
	int num_kernel;
	int kernel_end; /* the kernel's end of the last socket */
	bool loaded;	/* the answerer let the kernel load modules */
	int full_after; /* deliver fails after that many datagrams, once; -1: never */
};

/* A request under construction. */
struct req {
	_Alignas(8) uint8_t data[4096];
	size_t len;
};

static inline bool fake_device(void *arg, unsigned function, struct nl_device *d)
{
	struct fake *f = arg;

	if (function >= f->devices)
		return false;
	snprintf(d->name, 16, function ? "dpa0_sf%u" : "dpa0", function);
	snprintf(d->uverbs, sizeof(d->uverbs), "uverbs_%.16s", d->name);
	strcpy(d->fw, "9.8.7");
	d->node_guid = 0x0102030405060708 + function;
	d->sys_image_guid = 0x0102030405060708;
	d->caps = 0x123456789a;
	d->node_type = 1;
	return true;
}

static inline bool fake_port(void *arg, unsigned function, struct nl_port *p)
{
	(void)arg;
	p->state = 4;
	p->phys_state = 5;
	p->ifindex = 7 + function;
	strcpy(p->ifname, "eth7");
	return true;
}

static inline int fake_counts(void *arg, unsigned function, struct nl_count c[NL_COUNTS])
{
	(void)arg;
	if (function)
		return -EOPNOTSUPP;
	strcpy(c[0].name, "qp");
	c[0].n = 3;
	strcpy(c[1].name, "mr");
	c[1].n = UINT64_C(1) << 40;
	return 2;
}

static inline int fake_qps(void *arg, unsigned function, nl_qp_fn *fn, void *fn_arg)
{
	struct fake *f = arg;
	int ret = 0;

	(void)function;
	for (unsigned i = 0; !ret && i < f->qps; i++)
		ret = fn(fn_arg, &(struct nl_qp){.qpn = 100 + i,
						 .dest_qpn = i % 2 ? 5 : 0,
						 .pid = 42,
						 .sq_psn = 0x123456,
						 .type = 2,
						 .state = 3});
	return ret;
}

static inline int fake_cm_ids(void *arg, unsigned function, nl_cm_id_fn *fn, void *fn_arg)
{
	struct nl_cm_id id = {.pid = 42, .ps = 0x106, .state = 8, .type = UINT8_MAX};
	struct fake *f = arg;
	int ret = 0;

	(void)function;
	id.src.ss_family = AF_INET;
	for (unsigned i = 0; !ret && i < f->cm_ids; i++) {
		id.idn = 7 + i;
		if (i) { /* the first one listens */
			id.state = 5;
			id.type = 2;
			id.dst.ss_family = AF_INET6;
		}
		ret = fn(fn_arg, &id);
	}
	return ret;
}

static inline int fake_counters(void *arg, unsigned function, nl_counter_fn *fn, void *fn_arg)
{
	(void)arg;
	if (function)
		return -EOPNOTSUPP;
	fn(fn_arg, "rx_write_requests", UINT64_C(1) << 33);
	fn(fn_arg, "packet_seq_err", 0);
	return 0;
}

static inline int fake_kernel(void *arg, bool load)
{
	struct fake *f = arg;
	int ends[2];

	f->loaded |= load;
	if (!f->has_kernel)
		return -EPROTONOSUPPORT;
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	for (int i = 0; i < f->num_kernel; i++)
		cr_assert_eq(send(ends[1], f->kernel_says[i], f->kernel_len[i], 0),
			     (ssize_t)f->kernel_len[i]);
	shutdown(ends[1], SHUT_WR); /* a relay that waits for more gets an end instead of a hang */
	if (f->kernel_end >= 0)
		close(f->kernel_end);
	f->kernel_end = ends[1];
	return ends[0];
}

static inline bool fake_listed(void *arg)
{
	return ((struct fake *)arg)->listed;
}

static inline int fake_deliver(void *arg, const void *data, size_t len)
{
	struct fake *f = arg;

	if (f->full_after >= 0 && f->full_after-- == 0)
		return -ENOBUFS;
	cr_assert_leq(f->got.len + len, sizeof(f->got.data));
	memcpy(f->got.data + f->got.len, data, len);
	f->got.len += NLMSG_ALIGN(len);
	f->got.datagrams++;
	if (len > f->got.largest)
		f->got.largest = len;
	return 0;
}

static inline struct fake *fake_new(void)
{
	struct fake *f = calloc(1, sizeof(*f));

	cr_assert_not_null(f);
	f->env = (struct nl_env){.arg = f,
				 .device = fake_device,
				 .port = fake_port,
				 .counts = fake_counts,
				 .qps = fake_qps,
				 .cm_ids = fake_cm_ids,
				 .counters = fake_counters,
				 .kernel = fake_kernel,
				 .listed = fake_listed,
				 .deliver = fake_deliver,
				 .port_id = PORT};
	f->devices = 1;
	f->kernel_end = f->full_after = -1;
	return f;
}

static inline void fake_free(struct fake *f)
{
	if (f->kernel_end >= 0)
		close(f->kernel_end);
	free(f);
}

static inline struct req request(uint16_t type, uint16_t flags)
{
	struct req r = {.len = NLMSG_HDRLEN};

	*(struct nlmsghdr *)(void *)r.data = (struct nlmsghdr){.nlmsg_len = NLMSG_HDRLEN,
							       .nlmsg_type = type,
							       .nlmsg_flags = flags,
							       .nlmsg_seq = SEQ};
	return r;
}

static inline void add(struct req *r, uint16_t type, const void *value, size_t len)
{
	struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};

	memcpy(r->data + r->len, &a, sizeof(a));
	memcpy(r->data + r->len + NLA_HDRLEN, value, len);
	r->len += NLA_ALIGN(NLA_HDRLEN + len);
	((struct nlmsghdr *)(void *)r->data)->nlmsg_len = (uint32_t)r->len;
}

static inline void add_u32(struct req *r, uint16_t type, uint32_t value)
{
	add(r, type, &value, sizeof(value));
}

static inline void add_string(struct req *r, uint16_t type, const char *text)
{
	add(r, type, text, strlen(text) + 1);
}

/* Add a message to the kernel's next datagram. `first`: begins a datagram. */
static inline void kernel_says(struct fake *f, bool first, const struct req *r)
{
	int i = first ? f->num_kernel++ : f->num_kernel - 1;

	memcpy(f->kernel_says[i] + f->kernel_len[i], r->data, r->len);
	f->kernel_len[i] += r->len;
}

static inline struct req kernel_error(int error, const struct req *of)
{
	struct req r = request(NLMSG_ERROR, 0);
	struct nlmsgerr e = {.error = error,
			     .msg = *(const struct nlmsghdr *)(const void *)of->data};

	e.msg.nlmsg_flags |= NLM_F_ACK; /* as the answerer requests one */
	e.msg.nlmsg_pid = 1;
	memcpy(r.data + r.len, &e, sizeof(e));
	r.len += sizeof(e);
	((struct nlmsghdr *)(void *)r.data)->nlmsg_len = (uint32_t)r.len;
	return r;
}

static inline struct req kernel_done(void)
{
	struct req r = request(NLMSG_DONE, NLM_F_MULTI);

	r.len += 4;
	((struct nlmsghdr *)(void *)r.data)->nlmsg_len = (uint32_t)r.len;
	return r;
}

static inline int serve(struct fake *f, const struct req *r)
{
	return nl_serve(&f->env, r->data, r->len);
}

/* Return the i-th message that the program got, NULL: there are fewer. */
static inline const struct nlmsghdr *message(const struct fake *f, int i)
{
	const struct nlmsghdr *h = NULL;
	size_t at = 0;

	for (; i >= 0; i--) {
		h = nl_next(f->got.data, f->got.len, &at);
		if (!h)
			return NULL;
	}
	return h;
}

/* Find an attribute of a message, or inside another attribute. */
static inline const struct nlattr *attr_in(const void *data, size_t len, unsigned type, int nth)
{
	for (size_t at = 0; at + NLA_HDRLEN <= len;) {
		const struct nlattr *a = (const void *)((const uint8_t *)data + at);

		cr_assert(a->nla_len >= NLA_HDRLEN && a->nla_len <= len - at);
		if ((a->nla_type & NLA_TYPE_MASK) == type && nth-- == 0)
			return a;
		at += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

static inline const struct nlattr *attr(const struct nlmsghdr *h, unsigned type)
{
	return attr_in((const uint8_t *)h + NLMSG_HDRLEN, h->nlmsg_len - NLMSG_HDRLEN, type, 0);
}

static inline const struct nlattr *nested(const struct nlattr *in, unsigned type, int nth)
{
	cr_assert(in->nla_type & NLA_F_NESTED);
	return attr_in((const uint8_t *)in + NLA_HDRLEN, in->nla_len - NLA_HDRLEN, type, nth);
}

static inline uint64_t number(const struct nlattr *a, size_t size)
{
	uint64_t value = 0; /* these machines are little-endian */

	cr_assert_not_null(a);
	cr_assert_eq(a->nla_len, NLA_HDRLEN + size);
	memcpy(&value, (const uint8_t *)a + NLA_HDRLEN, size);
	return value;
}

static inline const char *text(const struct nlattr *a)
{
	cr_assert_not_null(a);
	cr_assert_not_null(memchr((const uint8_t *)a + NLA_HDRLEN, 0, a->nla_len - NLA_HDRLEN));
	return (const char *)a + NLA_HDRLEN;
}

/* Return the error of the only message, which must be an NLMSG_ERROR for the request. */
static inline int error_of(const struct fake *f, int i)
{
	const struct nlmsghdr *h = message(f, i);
	const struct nlmsgerr *e;

	cr_assert_not_null(h);
	cr_assert_eq(h->nlmsg_type, NLMSG_ERROR);
	cr_assert_eq(h->nlmsg_pid, PORT);
	e = NLMSG_DATA(h);
	cr_assert_eq(e->msg.nlmsg_seq, SEQ);
	return e->error;
}

#endif
