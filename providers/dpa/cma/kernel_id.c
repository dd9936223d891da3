/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernel_id.c - the kernel side of ids: see kernel.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "cma/kernel.h"
#include <knobs.h>

#define PORT_TRIES 64	      /* search for a port that is free on both sides */
#define NO_MC	   UINT32_MAX /* the kernel has not answered yet */

static int send_command(struct cma_id *id, uint32_t cmd, const void *body, uint16_t in)
{
	return cma_kernel_write(id->channel->kernel, cmd, body, in, 0);
}

/* ---------------------------------------------------------- create, destroy */

/* A new one for each use of a number. See kernel.h. */
static uint64_t new_uid(uint64_t number)
{
	static uint64_t generation;

	return ++generation << CMA_KERNEL_GENERATION | number;
}

static int create_kernel_id(struct cma_kernel *k, const struct cma_id *id, uint32_t *num)
{
	struct rdma_ucm_create_id_resp r = {0};
	const struct rdma_ucm_create_id cmd = {.uid = id->kernel_uid,
					       .response = (uintptr_t)&r,
					       .ps = (uint16_t)id->ps,
					       .qp_type = id->qp_type};
	int err = cma_kernel_write(k, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), sizeof(r));

	*num = r.id;
	return err;
}

static void destroy_kernel_id(struct cma_kernel *k, uint32_t num)
{
	struct rdma_ucm_destroy_id_resp r;
	const struct rdma_ucm_destroy_id cmd = {.response = (uintptr_t)&r, .id = num};

	(void)cma_kernel_write(k, RDMA_USER_CM_CMD_DESTROY_ID, &cmd, sizeof(cmd), sizeof(r));
}

/* EACCES: the process changed its credentials after it opened the node. The id has side DPA. */
int cma_kernel_create(struct cma_id *id)
{
	int err;

	id->kernel_uid = new_uid(id->id);
	err = create_kernel_id(id->channel->kernel, id, &id->kernel_num);
	if (!err)
		id->side = CMA_SIDE_BOTH;
	return err == EACCES ? 0 : err;
}

void cma_kernel_drop(struct cma_id *id)
{
	if (id->channel->kernel)
		destroy_kernel_id(id->channel->kernel, id->kernel_num);
	id->side = CMA_SIDE_DPA;
	id->kernel_bound = false;
}

/* -------------------------------------------------------- side of an address */

static bool prefers_dpa(void)
{
	static enum { UNKNOWN, KERNEL, DPA } prefer; /* under cma.lock */
	struct dpa_config cfg;
	char err[512];

	if (prefer == UNKNOWN)
		prefer =
			!dpa_config_load(&cfg, err, sizeof(err)) && cfg.cm_prefer == DPA_CFG_CMA_DPA
				? DPA
				: KERNEL;
	return prefer == DPA;
}

static int bind_number(struct cma_kernel *k, uint32_t num, const union cma_addr *a)
{
	struct rdma_ucm_bind b = {.id = num, .addr_size = (uint16_t)cma_addr_len(a)};

	memcpy(&b.addr, a, cma_addr_len(a));
	return cma_kernel_write(k, RDMA_USER_CM_CMD_BIND, &b, sizeof(b), 0);
}

/* True if a real device has the address: a new id can be bound to it, with any port. */
static bool kernel_has(const struct cma_id *id, const union cma_addr *a)
{
	const struct cma_id probe = {.ps = id->ps, .qp_type = id->qp_type};
	struct cma_kernel *k = id->channel->kernel;
	union cma_addr addr = *a;
	uint32_t num;
	int err;

	if (addr.family != CMA_AF_IB)
		cma_addr_set_port(&addr, 0);
	if (create_kernel_id(k, &probe, &num))
		return false;
	err = bind_number(k, num, &addr);
	destroy_kernel_id(k, num);
	return !err || err == EADDRINUSE; /* an AF_IB address includes the port */
}

/* True if the kernel gets an id with this source. a: no wildcard. */
static bool is_kernels(const struct cma_id *id, const union cma_addr *a)
{
	struct cma_id ours = {.src = *a};

	if (cma_addr_is_loopback(a))
		return false;
	if (prefers_dpa() && a->family != CMA_AF_IB && !cma_take_device(&ours))
		return false;
	return kernel_has(id, a);
}

/* ------------------------------------------------------------------ options */

/* ENOSYS: the kernel is older than the option. The option then applies to dpa0 only. */
int cma_kernel_option(struct cma_id *id, uint32_t level, uint32_t name, const void *val,
		      uint32_t len)
{
	const struct rdma_ucm_set_option cmd = {.optval = (uintptr_t)val,
						.id = id->kernel_num,
						.level = level,
						.optname = name,
						.optlen = len};
	int err = send_command(id, RDMA_USER_CM_CMD_SET_OPTION, &cmd, sizeof(cmd));

	return err == ENOSYS ? 0 : err;
}

/* --------------------------------------------------------------- bind, listen */

static int bind_kernel(struct cma_id *id, const union cma_addr *a)
{
	int err = bind_number(id->channel->kernel, id->kernel_num, a);

	id->kernel_bound = !err;
	return err;
}

static void unbind_ours(struct cma_id *id)
{
	cma_unbind(id);
	id->has_device = false;
	cma_id_enter(id, CMA_IDLE);
	memset(&id->src, 0, sizeof(id->src));
}

/* Bind both sides to one port, or neither. Port 0: try ports until one is free on both. */
static int bind_wildcard(struct cma_id *id, const union cma_addr *a)
{
	int err = EADDRINUSE;

	if (id->state != CMA_IDLE)
		return EINVAL;
	for (int i = 0; i < PORT_TRIES && (err == EADDRINUSE || err == EADDRNOTAVAIL); i++) {
		err = cma_bind_to(id, a);
		if (err)
			return err;
		err = bind_kernel(id, &id->src);
		if (!err)
			return 0;
		unbind_ours(id);
		if (cma_addr_port(a))
			break;
	}
	return err;
}

int cma_kernel_bind(struct cma_id *id, const union cma_addr *a)
{
	int err;

	if (cma_addr_len(a) && cma_addr_is_any(a))
		return bind_wildcard(id, a);
	if (id->state == CMA_IDLE && cma_addr_len(a) && is_kernels(id, a)) {
		err = bind_kernel(id, a);
		if (!err)
			id->side = CMA_SIDE_KERNEL;
		return err;
	}
	err = cma_bind_to(id, a);
	if (!err)
		cma_kernel_drop(id);
	return err;
}

/* Undo LISTEN on our side: release the port and claim it as before. */
static void stop_listening(struct cma_id *id)
{
	const union cma_addr src = id->src;

	cma_events_drop(id, NULL);
	unbind_ours(id);
	(void)cma_bind_to(id, &src); /* on failure the id is not bound */
}

int cma_kernel_listen(struct cma_id *id, uint32_t backlog)
{
	const struct rdma_ucm_listen cmd = {.id = id->kernel_num, .backlog = backlog};
	const union cma_addr any = {.family = AF_INET};
	int err = 0;

	if (id->state == CMA_IDLE)
		err = bind_wildcard(id, &any);
	if (!err && id->state == CMA_BOUND && !id->kernel_bound)
		err = bind_kernel(id, &id->src);
	if (!err)
		err = cma_listen_on(id, backlog);
	if (err)
		return err;
	err = send_command(id, RDMA_USER_CM_CMD_LISTEN, &cmd, sizeof(cmd));
	if (err)
		stop_listening(id);
	return err;
}

/* ------------------------------------------------------------------ resolve */

bool cma_kernel_resolves(const struct cma_id *id, const union cma_addr *src,
			 const union cma_addr *dst)
{
	union cma_addr from = {.family = 0};

	if (!cma_addr_len(dst) || cma_addr_is_loopback(dst) || cma_addr_is_any(dst))
		return false;
	if (id->state != CMA_IDLE && id->state != CMA_BOUND)
		return false;
	if (id->state == CMA_IDLE && src->family && !cma_addr_is_any(src))
		from = *src;
	else if (dst->family == CMA_AF_IB)
		return true; /* dpa0 has no AF_IB addresses */
	else if (cma_addr_source(dst, &from))
		return false;
	return from.family == dst->family && is_kernels(id, &from);
}

int cma_kernel_resolve(struct cma_id *id, const union cma_addr *src, const union cma_addr *dst,
		       uint32_t timeout_ms)
{
	struct rdma_ucm_resolve_addr cmd = {.id = id->kernel_num,
					    .timeout_ms = timeout_ms,
					    .src_size = (uint16_t)cma_addr_len(src),
					    .dst_size = (uint16_t)cma_addr_len(dst)};
	int err = 0;

	memcpy(&cmd.src_addr, src, cmd.src_size);
	memcpy(&cmd.dst_addr, dst, cmd.dst_size);
	/* an earlier resolution that failed on our side has bound our side only */
	if (id->state == CMA_BOUND && !id->kernel_bound)
		err = bind_kernel(id, &id->src);
	if (!err)
		err = send_command(id, RDMA_USER_CM_CMD_RESOLVE_ADDR, &cmd, sizeof(cmd));
	if (err)
		return err;
	unbind_ours(id);
	id->side = CMA_SIDE_KERNEL;
	return 0;
}

/* ------------------------------------------------------------------ migrate */

int cma_kernel_migrate(struct cma_id *id, struct cma_channel *to)
{
	struct rdma_ucm_migrate_resp r;
	struct rdma_ucm_migrate_id cmd = {.response = (uintptr_t)&r, .id = id->kernel_num};

	if (!id->channel->kernel)
		return EACCES; /* a forked child */
	if (!to->kernel) {     /* no real device when it was opened */
		if (id->side == CMA_SIDE_KERNEL)
			return ENODEV;
		cma_kernel_drop(id);
		return 0;
	}
	cmd.fd = (uint32_t)id->channel->kernel->fd;
	return cma_kernel_write(to->kernel, RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd),
				sizeof(r));
}

/* ------------------------------------------------------------------- events */

static struct cma_id *by_uid(struct cma_channel *ch, uint64_t uid)
{
	struct cma_id *id;

	if (uid & CMA_KERNEL_MC || cma_find(ch, (uint32_t)uid, &id))
		return NULL;
	return id->side == CMA_SIDE_DPA || id->kernel_uid != uid ? NULL : id;
}

static bool request_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	struct cma_id *listener = by_uid(ch, resp->uid), *id;

	id = listener ? cma_id_new(ch) : NULL;
	if (!id) {
		destroy_kernel_id(ch->kernel, resp->id);
		return false;
	}
	id->side = CMA_SIDE_KERNEL;
	id->kernel_num = resp->id;
	id->kernel_uid = new_uid(id->id);
	id->ps = listener->ps;
	id->qp_type = listener->qp_type;
	listener->events_reported++;
	resp->uid = listener->uid;
	resp->id = id->id;
	return true;
}

static bool mc_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	uint32_t num = (uint32_t)resp->uid;
	struct cma_mc *mc = num && num <= cma.num_mcs ? cma.mcs[num - 1] : NULL;

	if (!mc || !mc->kernel || mc->kernel_uid != resp->uid || mc->id->channel != ch)
		return false;
	mc->events_reported++;
	mc->id->events_reported++;
	resp->uid = mc->uid;
	resp->id = mc->num;
	return true;
}

bool cma_kernel_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	struct cma_id *id;

	if (resp->event == CMA_CONNECT_REQUEST)
		return request_event(ch, resp);
	if (resp->uid & CMA_KERNEL_MC)
		return mc_event(ch, resp);
	id = by_uid(ch, resp->uid);
	if (!id || !id->uid)
		return false;
	id->events_reported++;
	resp->uid = id->uid;
	resp->id = id->id;
	return true;
}

/* ------------------------------------------------ commands for side KERNEL */

/* Offset of the id in the body of a command; -1: cma_kernel_command() does not handle it. */
static int id_at(uint32_t cmd)
{
	switch (cmd) {
	case RDMA_USER_CM_CMD_BIND_IP:
		return offsetof(struct rdma_ucm_bind_ip, id);
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		return offsetof(struct rdma_ucm_resolve_ip, id);
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
	case RDMA_USER_CM_CMD_QUERY:
		return offsetof(struct rdma_ucm_query, id);
	case RDMA_USER_CM_CMD_CONNECT:
		return offsetof(struct rdma_ucm_connect, id);
	case RDMA_USER_CM_CMD_ACCEPT:
		return offsetof(struct rdma_ucm_accept, id);
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		return offsetof(struct rdma_ucm_init_qp_attr, id);
	case RDMA_USER_CM_CMD_SET_OPTION:
		return offsetof(struct rdma_ucm_set_option, id);
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		return offsetof(struct rdma_ucm_join_ip_mcast, id);
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		return offsetof(struct rdma_ucm_join_mcast, id);
	case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
	case RDMA_USER_CM_CMD_LISTEN:
	case RDMA_USER_CM_CMD_REJECT:
	case RDMA_USER_CM_CMD_DISCONNECT:
	case RDMA_USER_CM_CMD_NOTIFY:
	case RDMA_USER_CM_CMD_BIND:
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
	case CMA_CMD_RESOLVE_IB_SERVICE:
		return 0;
	default:
		return -1;
	}
}

static int pass_command(struct cma_kernel *k, const struct rdma_ucm_cmd_hdr *hdr, const void *body)
{
	return cma_kernel_write(k, hdr->cmd, body, hdr->in, hdr->out);
}

/* Set the uid first: another thread can take an event of the id before the command returns. */
static int pass_accept(struct cma_id *id, const struct rdma_ucm_cmd_hdr *hdr,
		       struct rdma_ucm_accept *cmd)
{
	const uint64_t before = id->uid;
	int err;

	if (cmd->conn_param.valid)
		id->uid = cmd->uid;
	cmd->uid = id->kernel_uid;
	err = pass_command(id->channel->kernel, hdr, cmd);
	if (err)
		id->uid = before;
	return err;
}

/* Both JOIN commands begin with response and uid. */
static int pass_join(struct cma_id *id, const struct rdma_ucm_cmd_hdr *hdr, void *body)
{
	struct rdma_ucm_create_id_resp r = {.id = NO_MC};
	struct {
		uint64_t response, uid;
	} start;
	void *answer;
	struct cma_mc *mc;
	int err;

	memcpy(&start, body, sizeof(start));
	answer = (void *)(uintptr_t)start.response;
	mc = cma_mc_new(id, start.uid);
	if (!mc)
		return ENOMEM;
	mc->kernel = true;
	start.response = (uintptr_t)&r;
	mc->kernel_uid = new_uid(CMA_KERNEL_MC | mc->num);
	start.uid = mc->kernel_uid;
	memcpy(body, &start, sizeof(start));
	err = pass_command(id->channel->kernel, hdr, body);
	if (err) {
		cma_mc_free(mc);
		return err;
	}
	mc->kernel_num = r.id;
	r.id = mc->num;
	memcpy(answer, &r, sizeof(r));
	return 0;
}

static int pass_leave(struct cma_channel *ch, struct cma_mc *mc)
{
	struct rdma_ucm_destroy_id_resp r;
	const struct rdma_ucm_destroy_id cmd = {.response = (uintptr_t)&r, .id = mc->kernel_num};

	return cma_kernel_write(ch->kernel, RDMA_USER_CM_CMD_LEAVE_MCAST, &cmd, sizeof(cmd),
				sizeof(r));
}

static int run_in_kernel(struct cma_id *id, const struct rdma_ucm_cmd_hdr *hdr, uint8_t *body,
			 int at)
{
	if (!id->channel->kernel)
		return EACCES; /* a forked child */
	memcpy(body + at, &id->kernel_num, sizeof(id->kernel_num));
	switch (hdr->cmd) {
	case RDMA_USER_CM_CMD_ACCEPT:
		return pass_accept(id, hdr, (struct rdma_ucm_accept *)(void *)body);
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		return pass_join(id, hdr, body);
	default:
		return pass_command(id->channel->kernel, hdr, body);
	}
}

bool cma_kernel_command(struct cma_channel *ch, const struct rdma_ucm_cmd_hdr *hdr, void *body,
			int *err)
{
	int at = id_at(hdr->cmd);
	struct cma_id *id;
	uint32_t num;
	bool kernels;

	if (at < 0 || !atomic_load_explicit(&cma_kernel_seen, memory_order_relaxed))
		return false;
	memcpy(&num, (const uint8_t *)body + at, sizeof(num));
	cma_lock();
	kernels = !cma_find(ch, num, &id) && id->side == CMA_SIDE_KERNEL;
	if (kernels)
		*err = run_in_kernel(id, hdr, body, at);
	cma_unlock();
	return kernels;
}

int cma_kernel_leave(struct cma_mc *mc)
{
	struct cma_channel *ch = mc->id->channel;

	return ch->kernel ? pass_leave(ch, mc) : 0;
}
