/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * relay.c - answers of the kernel. The request is sent on a NETLINK_RDMA socket of our own. The
 * program gets the answer, datagram by datagram. A request other than a dump is sent with
 * NLM_F_ACK, so that the end of its answer is detected.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nl.h"

#define CAPACITY 65536u
/*
 * The kernel makes datagrams of a dump as large as the largest buffer of a receive call so far.
 * Programs have buffers of at least this size (MNL_SOCKET_BUFFER_SIZE; libnl: four pages).
 */
#define OFFERED	 8192u

struct relay {
	const struct nl_env *env;
	const struct nlmsghdr *h;
	enum nl_relay how;
	bool ended;
	int error; /* of NLMSG_ERROR */
};

static int ask_for_dump(int fd, const struct nlmsghdr *h, uint8_t *buf)
{
	struct nlmsghdr *copy = (void *)buf;
	ssize_t n;

	memcpy(buf, h, h->nlmsg_len);
	copy->nlmsg_pid = 0;
	if (!(h->nlmsg_flags & NLM_F_DUMP))
		copy->nlmsg_flags |= NLM_F_ACK;
	do
		n = send(fd, buf, h->nlmsg_len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Receives the next datagram, of any length. Returns its length or -errno. */
static ssize_t receive_answer(int fd, uint8_t *buf)
{
	ssize_t n;

	do
		n = recv(fd, buf, OFFERED, MSG_PEEK | MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n > (ssize_t)CAPACITY)
		return -EMSGSIZE;
	if (n >= 0)
		n = recv(fd, buf, n > (ssize_t)OFFERED ? (size_t)n : OFFERED, 0);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return n ? n : -EPIPE;
}

/*
 * NLMSG_ERROR contains the request: replaces our request by the program's. True: the program gets
 * it.
 */
static bool end_by_error(struct relay *r, struct nlmsghdr *m)
{
	struct nlmsgerr *e = NLMSG_DATA(m);

	if (m->nlmsg_len < NLMSG_LENGTH(sizeof(*e)))
		return false;
	r->ended = true;
	r->error = e->error;
	e->msg = *r->h;
	return r->how == NL_RELAY_ALL && (e->error || r->h->nlmsg_flags & NLM_F_ACK);
}

/* True: the program gets this message. */
static bool judge_message(struct relay *r, struct nlmsghdr *m)
{
	if (m->nlmsg_seq != r->h->nlmsg_seq)
		return false;
	m->nlmsg_pid = r->env->port_id;
	switch (m->nlmsg_type) {
	case NLMSG_DONE:
		r->ended = true;
		return r->how == NL_RELAY_ALL;
	case NLMSG_ERROR:
		return end_by_error(r, m);
	default:
		return r->how != NL_RELAY_NOTHING;
	}
}

/* Keeps in buf the messages of a datagram that the program gets. Returns their length. */
static size_t pick_messages(struct relay *r, uint8_t *buf, size_t len)
{
	const struct nlmsghdr *m;
	size_t at = 0, kept = 0;

	for (size_t start = 0; !r->ended && (m = nl_next(buf, len, &at)); start = at) {
		size_t n = NLMSG_ALIGN((size_t)m->nlmsg_len);

		if (!judge_message(r, (struct nlmsghdr *)(void *)(buf + start)))
			continue;
		if (n > len - start)
			n = len - start;
		memmove(buf + kept, buf + start, n);
		kept += n;
	}
	return kept;
}

static int relay_answer(struct relay *r, int fd, uint8_t *buf)
{
	int ret = 0;

	while (!r->ended && !ret) {
		ssize_t n = receive_answer(fd, buf);
		size_t kept;

		if (n < 0)
			return (int)n;
		kept = pick_messages(r, buf, (size_t)n);
		if (kept)
			ret = r->env->deliver(r->env->arg, buf, kept);
	}
	return ret ? ret : r->how == NL_RELAY_PART ? r->error : 0;
}

static void set_ack_options(const struct nl_env *env, int fd)
{
	int one = 1;

	if (env->cap_ack)
		(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	if (env->ext_ack)
		(void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
}

int nl_relay(const struct nl_env *env, int fd, const struct nlmsghdr *h, enum nl_relay how)
{
	struct relay r = {.env = env, .h = h, .how = how};
	uint8_t *buf;
	int ret;

	if (h->nlmsg_len > CAPACITY)
		return -EMSGSIZE;
	buf = malloc(CAPACITY);
	if (!buf)
		return -ENOMEM;
	set_ack_options(env, fd);
	ret = ask_for_dump(fd, h, buf);
	if (!ret)
		ret = relay_answer(&r, fd, buf);
	free(buf);
	return ret;
}
