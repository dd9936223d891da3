/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ucma.c - the command ABI of /dev/infiniband/rdma_cm (<rdma/rdma_user_cm.h>, Linux: ucma.c). A
 * command is one write(): header, body. Its answer is at the body's `response` when write()
 * returns, cut to the room given in the header. Commands that a newer librdmacm has and the header
 * does not are at the end of the table.
 */
#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <knobs.h>
#include "dpa.h"
#include "cma/cma.h"
#include "cma/kernel.h"
#include "redirect/hooks.h"
#include "redirect/fds.h"

#define NODE	 "/dev/infiniband/rdma_cm"
#define MAX_BODY 512
/* A number that no kernel device has: from the range for experiments. */
#define MAJOR	 240
#define MINOR	 4791

struct call {
	struct cma_channel *ch;
	union {
		uint8_t bytes[MAX_BODY]; /* 0 where the program wrote nothing */
		struct rdma_ucm_create_id create_id;
		struct rdma_ucm_destroy_id destroy_id;
		struct rdma_ucm_bind_ip bind_ip;
		struct rdma_ucm_bind bind;
		struct rdma_ucm_resolve_ip resolve_ip;
		struct rdma_ucm_resolve_addr resolve_addr;
		struct rdma_ucm_resolve_route resolve_route;
		struct rdma_ucm_query query;
		struct rdma_ucm_connect connect;
		struct rdma_ucm_listen listen;
		struct rdma_ucm_accept accept;
		struct rdma_ucm_reject reject;
		struct rdma_ucm_disconnect disconnect;
		struct rdma_ucm_init_qp_attr init_qp_attr;
		struct rdma_ucm_get_event get_event;
		struct rdma_ucm_set_option set_option;
		struct rdma_ucm_notify notify;
		struct rdma_ucm_join_ip_mcast join_ip;
		struct rdma_ucm_join_mcast join;
		struct {
			uint64_t response;
			uint32_t id, fd;
		} migrate;
		/* of rdma-core 60 and later */
		struct {
			uint32_t id, reserved;
			uint8_t service[80];
		} ib_service;
		struct {
			uint32_t id, reserved, event, status;
			uint64_t arg; /* of a union of 304 bytes */
		} write_event;
	} in;
	uint16_t room; /* for the answer */
};

/* Copies as much of the answer as fits; the table has the minimum room. */
static int answer_call(const struct call *c, uint64_t response, const void *data, size_t len)
{
	memcpy((void *)(uintptr_t)response, data, c->room < len ? c->room : len);
	return 0;
}

static int create_id(struct call *c)
{
	struct rdma_ucm_create_id_resp r;
	int err;

	err = cma_create_id(c->ch, c->in.create_id.uid, c->in.create_id.ps, c->in.create_id.qp_type,
			    &r.id);
	return err ? err : answer_call(c, c->in.create_id.response, &r, sizeof(r));
}

static int destroy_id(struct call *c)
{
	struct rdma_ucm_destroy_id_resp r;
	int err;

	err = cma_destroy_id(c->ch, c->in.destroy_id.id, &r.events_reported);
	return err ? err : answer_call(c, c->in.destroy_id.response, &r, sizeof(r));
}

/* EINVAL: no family, or a family with longer addresses (rdma_addr_size_in6()). */
static int take_in6(const struct sockaddr_in6 *from, union cma_addr *a)
{
	memset(a, 0, sizeof(*a));
	memcpy(a, from, sizeof(*from));
	return cma_addr_len(a) && cma_addr_len(a) <= sizeof(*from) ? 0 : EINVAL;
}

/* EINVAL: the size does not match the family. */
static int take_any_addr(const void *from, uint16_t size, union cma_addr *a)
{
	memset(a, 0, sizeof(*a));
	if (size > sizeof(a->ss))
		return EINVAL;
	memcpy(a, from, size);
	return size && size == cma_addr_len(a) ? 0 : EINVAL;
}

static int bind_ip(struct call *c)
{
	union cma_addr a;
	int err = take_in6(&c->in.bind_ip.addr, &a);

	return err ? err : cma_bind(c->ch, c->in.bind_ip.id, &a);
}

static int bind_addr(struct call *c)
{
	union cma_addr a;
	int err = take_any_addr(&c->in.bind.addr, c->in.bind.addr_size, &a);

	if (!err && c->in.bind.reserved)
		err = EINVAL;
	return err ? err : cma_bind(c->ch, c->in.bind.id, &a);
}

static int resolve_ip(struct call *c)
{
	const struct rdma_ucm_resolve_ip *in = &c->in.resolve_ip;
	union cma_addr src, dst;
	int err = take_in6(&in->dst_addr, &dst);

	memset(&src, 0, sizeof(src));
	if (!err && in->src_addr.sin6_family)
		err = take_in6(&in->src_addr, &src);
	return err ? err : cma_resolve_addr(c->ch, in->id, &src, &dst, in->timeout_ms);
}

static int resolve_addr(struct call *c)
{
	const struct rdma_ucm_resolve_addr *in = &c->in.resolve_addr;
	union cma_addr src, dst;
	int err = take_any_addr(&in->dst_addr, in->dst_size, &dst);

	memset(&src, 0, sizeof(src));
	if (!err && in->src_size)
		err = take_any_addr(&in->src_addr, in->src_size, &src);
	if (!err && in->reserved)
		err = EINVAL;
	return err ? err : cma_resolve_addr(c->ch, in->id, &src, &dst, in->timeout_ms);
}

static int resolve_route(struct call *c)
{
	if (!c->in.resolve_route.timeout_ms)
		return EINVAL;
	return cma_resolve_route(c->ch, c->in.resolve_route.id);
}

/* Without ibdev_index: librdmacm has set its buffer to "any", and finds the device by its GUID. */
static int query_route(struct call *c)
{
	struct rdma_ucm_query_route_resp r;
	const size_t len = offsetof(struct rdma_ucm_query_route_resp, ibdev_index);
	int err;

	memset(&r, 0, sizeof(r));
	err = cma_query_route(c->ch, c->in.query.id, &r);
	return err ? err : answer_call(c, c->in.query.response, &r, len);
}

static int query_call(struct call *c)
{
	const size_t addr_len = offsetof(struct rdma_ucm_query_addr_resp, ibdev_index);
	union {
		struct rdma_ucm_query_addr_resp addr;
		struct cma_path_resp path;
	} r;
	int err;

	memset(&r, 0, sizeof(r));
	switch (c->in.query.option) {
	case RDMA_USER_CM_QUERY_ADDR:
	case RDMA_USER_CM_QUERY_GID:
		if (c->room < addr_len)
			return ENOSPC;
		err = cma_query_addr(c->ch, c->in.query.id,
				     c->in.query.option == RDMA_USER_CM_QUERY_GID, &r.addr);
		return err ? err : answer_call(c, c->in.query.response, &r.addr, addr_len);
	case RDMA_USER_CM_QUERY_PATH:
		err = cma_query_path(c->ch, c->in.query.id, &r.path);
		return err ? err : answer_call(c, c->in.query.response, &r.path, sizeof(r.path));
	default:
		return cma_query_unknown(c->ch, c->in.query.id);
	}
}

static int connect_call(struct call *c)
{
	const struct rdma_ucm_connect *in = &c->in.connect;

	if (!in->conn_param.valid)
		return EINVAL;
	return cma_connect(c->ch, in->id, &in->conn_param, &in->ece);
}

static int listen_id(struct call *c)
{
	return cma_listen(c->ch, c->in.listen.id, c->in.listen.backlog);
}

static int accept_id(struct call *c)
{
	const struct rdma_ucm_accept *in = &c->in.accept;

	return cma_accept(c->ch, in->id, in->uid, &in->conn_param, &in->ece);
}

static int reject_call(struct call *c)
{
	const struct rdma_ucm_reject *in = &c->in.reject;

	return cma_reject(c->ch, in->id, in->private_data, in->private_data_len, in->reason);
}

static int disconnect_id(struct call *c)
{
	return cma_disconnect(c->ch, c->in.disconnect.id);
}

static void put_ah(const struct ibv_ah_attr *ah, struct ib_uverbs_ah_attr *to)
{
	memcpy(to->grh.dgid, ah->grh.dgid.raw, 16);
	to->grh.flow_label = ah->grh.flow_label;
	to->grh.sgid_index = ah->grh.sgid_index;
	to->grh.hop_limit = ah->grh.hop_limit;
	to->grh.traffic_class = ah->grh.traffic_class;
	to->dlid = ah->dlid;
	to->sl = ah->sl;
	to->static_rate = ah->static_rate;
	to->is_global = ah->is_global;
	to->port_num = ah->port_num;
}

static int init_qp_attr(struct call *c)
{
	struct ib_uverbs_qp_attr r = {0};
	struct ibv_qp_attr a = {0};
	int err, mask = 0;

	if (c->in.init_qp_attr.qp_state > IBV_QPS_ERR)
		return EINVAL;
	err = cma_init_qp_attr(c->ch, c->in.init_qp_attr.id, c->in.init_qp_attr.qp_state, &a,
			       &mask);
	if (err)
		return err;
	r.qp_attr_mask = (uint32_t)mask;
	r.qp_state = a.qp_state;
	r.path_mtu = a.path_mtu;
	r.qkey = a.qkey;
	r.rq_psn = a.rq_psn;
	r.sq_psn = a.sq_psn;
	r.dest_qp_num = a.dest_qp_num;
	r.qp_access_flags = (uint32_t)a.qp_access_flags;
	put_ah(&a.ah_attr, &r.ah_attr);
	r.pkey_index = a.pkey_index;
	r.max_rd_atomic = a.max_rd_atomic;
	r.max_dest_rd_atomic = a.max_dest_rd_atomic;
	r.min_rnr_timer = a.min_rnr_timer;
	r.port_num = a.port_num;
	r.timeout = a.timeout;
	r.retry_cnt = a.retry_cnt;
	r.rnr_retry = a.rnr_retry;
	return answer_call(c, c->in.init_qp_attr.response, &r, sizeof(r));
}

static int get_event(struct call *c)
{
	struct rdma_ucm_event_resp r;
	int err;

	err = cma_get_event(c->ch, &r);
	return err ? err : answer_call(c, c->in.get_event.response, &r, sizeof(r));
}

static int set_cm_option(struct call *c)
{
	const struct rdma_ucm_set_option *in = &c->in.set_option;

	if (in->optlen > 4096)
		return EINVAL;
	return cma_set_option(c->ch, in->id, in->level, in->optname,
			      (const void *)(uintptr_t)in->optval, in->optlen);
}

static int notify_call(struct call *c)
{
	return cma_notify(c->ch, c->in.notify.id, c->in.notify.event);
}

static int join_call(struct call *c, uint64_t response, uint32_t id, uint64_t uid,
		     const union cma_addr *a, uint16_t flags)
{
	struct rdma_ucm_create_id_resp r;
	int err;

	err = cma_join(c->ch, id, uid, a, flags, &r.id);
	return err ? err : answer_call(c, response, &r, sizeof(r));
}

static int join_ip(struct call *c)
{
	const struct rdma_ucm_join_ip_mcast *in = &c->in.join_ip;
	union cma_addr a;
	int err = take_in6(&in->addr, &a);

	return err ? err
		   : join_call(c, in->response, in->id, in->uid, &a, RDMA_MC_JOIN_FLAG_FULLMEMBER);
}

static int join_addr(struct call *c)
{
	union cma_addr a;
	int err = take_any_addr(&c->in.join.addr, c->in.join.addr_size, &a);

	return err ? err
		   : join_call(c, c->in.join.response, c->in.join.id, c->in.join.uid, &a,
			       c->in.join.join_flags);
}

static int leave_call(struct call *c)
{
	struct rdma_ucm_destroy_id_resp r;
	int err;

	err = cma_leave(c->ch, c->in.destroy_id.id, &r.events_reported);
	return err ? err : answer_call(c, c->in.destroy_id.response, &r, sizeof(r));
}

static int migrate_call(struct call *c)
{
	struct rdma_ucm_destroy_id_resp r;
	int err;

	err = cma_migrate(c->ch, (int)c->in.migrate.fd, c->in.migrate.id, &r.events_reported);
	return err ? err : answer_call(c, c->in.migrate.response, &r, sizeof(r));
}

static int resolve_ib_service(struct call *c)
{
	return cma_resolve_ib_service(c->ch, c->in.ib_service.id);
}

static int write_event(struct call *c)
{
	return cma_write_event(c->ch, c->in.write_event.id, c->in.write_event.event,
			       (int)c->in.write_event.status, c->in.write_event.arg);
}

struct command {
	int (*run)(struct call *c);
	uint16_t body; /* minimum bytes */
	uint16_t room; /* minimum room for its answer; more if that depends on the body */
};

#define PATH_ROOM  sizeof(struct rdma_ucm_query_path_resp)
/* Room for an event in librdmacm before ECE. */
#define EVENT_ROOM offsetof(struct rdma_ucm_event_resp, reserved)

#define BODY(type) sizeof(struct rdma_ucm_##type)
#define RESP(type) sizeof(struct rdma_ucm_##type##_resp)
static const struct command commands[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = {create_id, BODY(create_id), RESP(create_id)},
	[RDMA_USER_CM_CMD_DESTROY_ID] = {destroy_id, BODY(destroy_id), RESP(destroy_id)},
	[RDMA_USER_CM_CMD_BIND_IP] = {bind_ip, BODY(bind_ip), 0},
	[RDMA_USER_CM_CMD_RESOLVE_IP] = {resolve_ip, BODY(resolve_ip), 0},
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = {resolve_route, BODY(resolve_route), 0},
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = {query_route, offsetof(struct rdma_ucm_query, option),
					  offsetof(struct rdma_ucm_query_route_resp, ibdev_index)},
	[RDMA_USER_CM_CMD_CONNECT] = {connect_call, offsetof(struct rdma_ucm_connect, ece), 0},
	[RDMA_USER_CM_CMD_LISTEN] = {listen_id, BODY(listen), 0},
	[RDMA_USER_CM_CMD_ACCEPT] = {accept_id, offsetof(struct rdma_ucm_accept, ece), 0},
	[RDMA_USER_CM_CMD_REJECT] = {reject_call, BODY(reject), 0},
	[RDMA_USER_CM_CMD_DISCONNECT] = {disconnect_id, BODY(disconnect), 0},
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = {init_qp_attr, BODY(init_qp_attr),
					   sizeof(struct ib_uverbs_qp_attr)},
	[RDMA_USER_CM_CMD_GET_EVENT] = {get_event, BODY(get_event), EVENT_ROOM},
	[RDMA_USER_CM_CMD_SET_OPTION] = {set_cm_option, BODY(set_option), 0},
	[RDMA_USER_CM_CMD_NOTIFY] = {notify_call, BODY(notify), 0},
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = {join_ip,
					    offsetof(struct rdma_ucm_join_ip_mcast, id) + 4,
					    RESP(create_id)},
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = {leave_call, BODY(destroy_id) - 4, RESP(destroy_id)},
	[RDMA_USER_CM_CMD_MIGRATE_ID] = {migrate_call, 16, RESP(destroy_id)},
	[RDMA_USER_CM_CMD_QUERY] = {query_call, BODY(query), PATH_ROOM},
	[RDMA_USER_CM_CMD_BIND] = {bind_addr, BODY(bind), 0},
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = {resolve_addr, BODY(resolve_addr), 0},
	[RDMA_USER_CM_CMD_JOIN_MCAST] = {join_addr, BODY(join_mcast), RESP(create_id)},
	[CMA_CMD_RESOLVE_IB_SERVICE] = {resolve_ib_service, 88, 0},
	[CMA_CMD_WRITE_CM_EVENT] = {write_event, 24, 0},
};

/* The calls of librdmacm that may fail on request (docs/inject.md). */
static const char *const call_names[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = "rdma_create_id",
	[RDMA_USER_CM_CMD_DESTROY_ID] = "rdma_destroy_id",
	[RDMA_USER_CM_CMD_BIND_IP] = "rdma_bind_addr",
	[RDMA_USER_CM_CMD_RESOLVE_IP] = "rdma_resolve_addr",
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = "rdma_resolve_route",
	[RDMA_USER_CM_CMD_CONNECT] = "rdma_connect",
	[RDMA_USER_CM_CMD_LISTEN] = "rdma_listen",
	[RDMA_USER_CM_CMD_ACCEPT] = "rdma_accept",
	[RDMA_USER_CM_CMD_REJECT] = "rdma_reject",
	[RDMA_USER_CM_CMD_DISCONNECT] = "rdma_disconnect",
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = "rdma_init_qp_attr",
	[RDMA_USER_CM_CMD_GET_EVENT] = "rdma_get_cm_event",
	[RDMA_USER_CM_CMD_SET_OPTION] = "rdma_set_option",
	[RDMA_USER_CM_CMD_NOTIFY] = "rdma_notify",
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = "rdma_join_multicast",
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = "rdma_leave_multicast",
	[RDMA_USER_CM_CMD_MIGRATE_ID] = "rdma_migrate_id",
	[RDMA_USER_CM_CMD_BIND] = "rdma_bind_addr",
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = "rdma_resolve_addr",
	[RDMA_USER_CM_CMD_JOIN_MCAST] = "rdma_join_multicast",
};

static int injected_call(uint32_t cmd)
{
	if (!dpa_hw_injecting(DPA_INJECT_CALL) ||
	    cmd >= sizeof(call_names) / sizeof(call_names[0]) || !call_names[cmd])
		return 0;
	return dpav_injected(call_names[cmd], 0, 0, DPA_INJECT_ANY);
}

static int run_cm_command(struct cma_channel *ch, const void *buf, size_t n)
{
	struct rdma_ucm_cmd_hdr hdr;
	struct call c = {.ch = ch};
	const struct command *cmd;
	int err;

	if (n < sizeof(hdr))
		return EINVAL;
	memcpy(&hdr, buf, sizeof(hdr));
	if (hdr.cmd >= sizeof(commands) / sizeof(commands[0]))
		return EINVAL;
	if (hdr.in + sizeof(hdr) > n)
		return EINVAL;
	cmd = &commands[hdr.cmd];
	if (!cmd->run)
		return ENOSYS;
	if (hdr.in < cmd->body)
		return EINVAL;
	if (hdr.out < cmd->room)
		return ENOSPC;
	memcpy(c.in.bytes, (const uint8_t *)buf + sizeof(hdr),
	       hdr.in < MAX_BODY ? hdr.in : MAX_BODY);
	c.room = hdr.out;
	if (hdr.in > MAX_BODY)
		hdr.in = MAX_BODY;
	err = injected_call(hdr.cmd);
	if (err)
		return err;
	return cma_kernel_command(ch, &hdr, c.in.bytes, &err) ? err : cmd->run(&c);
}

static ssize_t cm_write(void *owner, const void *buf, size_t n)
{
	int before = errno, err = run_cm_command(owner, buf, n);

	errno = err ? err
		    : before; /* a call that succeeds does not change it, like a system call */
	return err ? -1 : (ssize_t)n;
}

/* As in the kernel, which has no read for it. */
static ssize_t cm_read(void *owner, int fd, void *buf, size_t n)
{
	errno = EINVAL;
	return -1;
}

/* A character device: the kernel's, if there is one beside it. */
static void cm_stat(const void *owner, struct stat *st)
{
	const struct cma_channel *ch = owner;

	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = ch->kernel ? ch->kernel->dev : makedev(MAJOR, MINOR);
}

static void cm_hold(void *owner)
{
	cma_channel_hold(owner);
}

static void cm_put(void *owner)
{
	cma_channel_put(owner);
}

static void cm_closing(void *owner)
{
	cma_channel_let_in(owner);
}

static void cm_closed(void *owner)
{
	cma_channel_close(owner);
}

static const struct dpa_fd_ops cm_fd = {
	.kind = DPA_FD_CM,
	.hold = cm_hold,
	.put = cm_put,
	.write = cm_write,
	.read = cm_read,
	.stat = cm_stat,
	.closing = cm_closing,
	.closed = cm_closed,
};

bool dpa_hook_open(const char *path, int flags, int *fd)
{
	struct cma_channel *ch;
	int err;

	if (strcmp(path, NODE) != 0)
		return false;
	*fd = -1;
	dpav_inject_begin();
	err = 0;
	if (dpa_hw_injecting(DPA_INJECT_CALL))
		err = dpav_injected("rdma_create_event_channel", 0, 0, DPA_INJECT_ANY);
	if (!err)
		err = cma_channel_open(flags, fd, &ch);
	if (!err) {
		err = dpa_fd_add(*fd, &cm_fd, ch);
		if (err) {
			int made = *fd;

			cma_channel_close(ch);
			close(made);
			*fd = -1;
		}
	}
	if (err)
		errno = err;
	return true;
}
