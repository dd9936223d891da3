/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * msg.c - parses and builds netlink messages and attributes. Requests come from the program and are
 * checked: nothing beyond the sent length is read.
 */
#include <errno.h>
#include <string.h>

#include "nl.h"

const struct nlmsghdr *nl_next(const void *data, size_t len, size_t *at)
{
	const struct nlmsghdr *h = (const void *)((const uint8_t *)data + *at);

	if (*at > len || len - *at < sizeof(*h) || h->nlmsg_len < sizeof(*h) ||
	    h->nlmsg_len > len - *at)
		return NULL;
	*at += NLMSG_ALIGN((size_t)h->nlmsg_len);
	return h;
}

/* Returns the length of an attribute's value: 0: text including its end; -1: not used. */
static int size_of(unsigned type)
{
	switch (type) {
	case NLDEV_A_DEV_INDEX:
	case NLDEV_A_PORT_INDEX:
	case NLDEV_A_RES_LQPN:
	case NLDEV_A_RES_CM_IDN:
		return 4;
	case NLDEV_A_DEV_NAME:
	case NLDEV_A_CHARDEV_TYPE:
		return 0;
	default:
		return -1;
	}
}

static bool attr_fits(const struct nlattr *a)
{
	size_t len = a->nla_len - (size_t)NLA_HDRLEN;
	int size = size_of(a->nla_type & NLA_TYPE_MASK);

	if (size > 0)
		return len >= (size_t)size;
	return size < 0 || memchr((const uint8_t *)a + NLA_HDRLEN, '\0', len);
}

int nl_parse(const struct nlmsghdr *h, struct nl_attrs *attrs)
{
	size_t at = NLMSG_HDRLEN;

	memset(attrs, 0, sizeof(*attrs));
	while (h->nlmsg_len - at >= sizeof(struct nlattr)) {
		const struct nlattr *a = (const void *)((const uint8_t *)h + at);
		unsigned type = a->nla_type & NLA_TYPE_MASK;

		if (a->nla_len < NLA_HDRLEN || a->nla_len > h->nlmsg_len - at || !attr_fits(a))
			return -EINVAL;
		if (type < NLDEV_A_MAX)
			attrs->a[type] = a;
		at += NLA_ALIGN((size_t)a->nla_len);
		if (at > h->nlmsg_len)
			break;
	}
	return 0;
}

uint32_t nl_u32(const struct nl_attrs *attrs, enum nldev_attr type)
{
	uint32_t value;

	memcpy(&value, (const uint8_t *)attrs->a[type] + NLA_HDRLEN, sizeof(value));
	return value;
}

bool nl_is_string(const struct nl_attrs *attrs, enum nldev_attr type, const char *text)
{
	const struct nlattr *a = attrs->a[type];

	return a && strcmp((const char *)a + NLA_HDRLEN, text) == 0;
}

/*
 * Reserves len bytes, zeroed up to the alignment; NULL: no room, and the message counts as
 * overflown.
 */
static void *take_message_room(struct nl_out *o, size_t len)
{
	size_t aligned = NLMSG_ALIGN(len);
	void *at = o->data + o->len;

	if (o->overflown || aligned > sizeof(o->data) - o->len) {
		o->overflown = true;
		return NULL;
	}
	memset(at, 0, aligned);
	o->len += aligned;
	return at;
}

void nl_begin(struct nl_out *o, const struct nlmsghdr *request, uint32_t port_id, uint16_t type,
	      uint16_t flags)
{
	struct nlmsghdr *h;

	o->msg = o->len;
	o->overflown = false;
	h = take_message_room(o, sizeof(*h));
	if (h)
		*h = (struct nlmsghdr){.nlmsg_type = type,
				       .nlmsg_flags = flags,
				       .nlmsg_seq = request->nlmsg_seq,
				       .nlmsg_pid = port_id};
}

void nl_end(struct nl_out *o)
{
	if (o->overflown)
		o->len = o->msg;
	else
		((struct nlmsghdr *)(void *)(o->data + o->msg))->nlmsg_len =
			(uint32_t)(o->len - o->msg);
}

void nl_put(struct nl_out *o, enum nldev_attr type, const void *value, size_t len)
{
	uint8_t *at = take_message_room(o, NLA_HDRLEN + len);

	if (!at)
		return;
	*(struct nlattr *)(void *)at = (struct nlattr){.nla_len = (uint16_t)(NLA_HDRLEN + len),
						       .nla_type = (uint16_t)type};
	if (len)
		memcpy(at + NLA_HDRLEN, value, len);
}

void nl_put_u8(struct nl_out *o, enum nldev_attr type, uint8_t value)
{
	nl_put(o, type, &value, sizeof(value));
}

void nl_put_u32(struct nl_out *o, enum nldev_attr type, uint32_t value)
{
	nl_put(o, type, &value, sizeof(value));
}

void nl_put_u64(struct nl_out *o, enum nldev_attr type, uint64_t value)
{
	nl_put(o, type, &value, sizeof(value));
}

void nl_put_string(struct nl_out *o, enum nldev_attr type, const char *text)
{
	nl_put(o, type, text, strlen(text) + 1);
}

size_t nl_nest(struct nl_out *o, enum nldev_attr type)
{
	size_t start = o->len;

	nl_put(o, (enum nldev_attr)(type | NLA_F_NESTED), NULL, 0);
	return start;
}

void nl_nest_end(struct nl_out *o, size_t start)
{
	if (!o->overflown)
		((struct nlattr *)(void *)(o->data + start))->nla_len = (uint16_t)(o->len - start);
}

void nl_put_error(struct nl_out *o, const struct nlmsghdr *request, uint32_t port_id, int error,
		  bool cap_ack)
{
	bool whole = error && !cap_ack && request->nlmsg_len <= sizeof(o->data) / 2;
	size_t len = whole ? request->nlmsg_len : sizeof(*request);
	struct nlmsgerr *e;

	nl_begin(o, request, port_id, NLMSG_ERROR, whole ? 0 : NLM_F_CAPPED);
	e = take_message_room(o, sizeof(e->error) + len);
	if (e) {
		e->error = error;
		memcpy(&e->msg, request, len);
	}
	nl_end(o);
}

void nl_put_done(struct nl_out *o, const struct nlmsghdr *request, uint32_t port_id, int error)
{
	int32_t *value;

	nl_begin(o, request, port_id, NLMSG_DONE, NLM_F_MULTI);
	value = take_message_room(o, sizeof(*value));
	if (value)
		*value = error;
	nl_end(o);
}
