/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cmd.c - commands that libibverbs writes to a cmd_fd, and its ioctls on it. */
#include <errno.h>
#include <string.h>
#include <rdma/ib_user_verbs.h>
#include "dpa.h"
#include "redirect/fds.h"

/* The answer to CREATE_COMP_CHANNEL must be at `response` when write() returns. */
static ssize_t cmd_write(void *ctx, const void *buf, size_t n)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_comp_channel cmd;
	} req;
	struct ib_uverbs_create_comp_channel_resp resp;

	if (n < sizeof(req.hdr)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&req, buf, n < sizeof(req) ? n : sizeof(req));
	if (req.hdr.command != IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (n != sizeof(req) || req.hdr.out_words * 4 < sizeof(resp)) {
		errno = EINVAL;
		return -1;
	}
	int fd = dpa_channel_create(ctx);

	if (fd < 0)
		return -1;
	resp.fd = (uint32_t)fd;
	memcpy((void *)(uintptr_t)req.cmd.response, &resp, sizeof(resp));
	return (ssize_t)n;
}

static int cmd_ioctl(void *ctx, unsigned long request, void *arg)
{
	return dpa_ioctl(ctx, request, arg);
}

const struct dpa_fd_ops dpa_fd_cmd = {
	.kind = DPA_FD_CMD,
	.write = cmd_write,
	.ioctl = cmd_ioctl,
};
