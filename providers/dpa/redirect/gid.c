/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gid.c - ioctl() of libibverbs on cmd_fd: the GID queries, and the asynchronous event descriptor
 * of an imported context. Every other method gets EPROTONOSUPPORT, which switches off that method;
 * ENOTTY would switch off all methods.
 */
#include <string.h>
#include "dpa.h"
/* after the library's own headers, which change them */
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

static const struct ib_uverbs_attr *find_attr(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	for (uint16_t i = 0; i < hdr->num_attrs; i++) {
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	}
	return NULL;
}

/* An input of up to 8 bytes is in the attribute itself. */
static int in_value(const struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, uint64_t *v)
{
	const struct ib_uverbs_attr *a = find_attr(hdr, id);

	if (!a || a->len > sizeof(a->data))
		return EINVAL;
	*v = 0;
	memcpy(v, &a->data, a->len);
	return 0;
}

static int gid_entry(struct dpa_context *ctx, uint32_t index, struct ib_uverbs_gid_entry *e)
{
	struct dpa_hw_gid gid;
	int ret = dpa_hw_query_gid(ctx->hw, index, &gid);

	if (ret)
		return ret;
	memset(e, 0, sizeof(*e));
	memcpy(e->gid, gid.gid, sizeof(e->gid));
	e->gid_index = index;
	e->port_num = 1;
	e->gid_type = gid.type;
	e->netdev_ifindex = gid.ifindex;
	return 0;
}

static void put_entry(void *to, size_t size, const struct ib_uverbs_gid_entry *e)
{
	memset(to, 0, size);
	memcpy(to, e, size < sizeof(*e) ? size : sizeof(*e));
}

static int query_gid_entry(struct dpa_context *ctx, const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *out = find_attr(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY);
	struct ib_uverbs_gid_entry e;
	uint64_t port, index, flags;
	int ret;

	if (!out || in_value(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, &port) ||
	    in_value(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, &index) ||
	    in_value(hdr, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, &flags))
		return EINVAL;
	if (flags || port != 1 || index > UINT32_MAX)
		return EINVAL;
	ret = gid_entry(ctx, (uint32_t)index, &e);
	if (!ret)
		put_entry((void *)(uintptr_t)out->data, out->len, &e);
	return ret;
}

static int query_gid_table(struct dpa_context *ctx, const struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *out = find_attr(hdr, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	const struct ib_uverbs_attr *num =
		find_attr(hdr, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES);
	uint64_t size, flags, n = 0;
	struct ib_uverbs_gid_entry e;
	int ret;

	if (!out || !num || num->len < sizeof(n) ||
	    in_value(hdr, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, &size) ||
	    in_value(hdr, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, &flags))
		return EINVAL;
	if (flags || !size)
		return EINVAL;
	for (uint32_t i = 0; i < DPA_MAX_GIDS; i++) {
		ret = gid_entry(ctx, i, &e);
		if (ret == ENODATA)
			continue;
		if (ret == EINVAL)
			break; /* beyond the table */
		if (ret)
			return ret;
		if ((n + 1) * size > out->len)
			return EINVAL;
		put_entry((uint8_t *)(uintptr_t)out->data + n * size, size, &e);
		n++;
	}
	memcpy((void *)(uintptr_t)num->data, &n, sizeof(n));
	return 0;
}

static int async_alloc(struct dpa_context *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	for (uint16_t i = 0; i < hdr->num_attrs; i++) {
		if (hdr->attrs[i].attr_id == UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE) {
			hdr->attrs[i].data = (uint64_t)dpa_async_fd(ctx->async);
			return 0;
		}
	}
	return EINVAL;
}

int dpa_ioctl(struct dpa_context *ctx, unsigned long request, void *arg)
{
	const struct ib_uverbs_ioctl_hdr *hdr = arg;

	if (!dpa_word_alive(ctx->alive))
		return EIO;
	if (request != RDMA_VERBS_IOCTL)
		return EPROTONOSUPPORT;
	if (hdr->object_id == UVERBS_OBJECT_ASYNC_EVENT &&
	    hdr->method_id == UVERBS_METHOD_ASYNC_EVENT_ALLOC)
		return async_alloc(ctx, arg);
	if (hdr->object_id != UVERBS_OBJECT_DEVICE)
		return EPROTONOSUPPORT;
	switch (hdr->method_id) {
	case UVERBS_METHOD_QUERY_GID_ENTRY:
		return query_gid_entry(ctx, hdr);
	case UVERBS_METHOD_QUERY_GID_TABLE:
		return query_gid_table(ctx, hdr);
	default:
		return EPROTONOSUPPORT;
	}
}
