/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * answer.c - answers for our functions, with the attributes of the kernel's nldev. A request that
 * the kernel refuses with EINVAL gets EINVAL here. A request without an answer gets EOPNOTSUPP.
 */
#include <errno.h>
#include <string.h>

#include "nl.h"

/*
 * Number of our character devices: 1:3, see node.c, in the format of the kernel's
 * huge_encode_dev().
 */
#define CHARDEV_NUMBER (1u << 8 | 3u)
#define UVERBS_ABI     1u /* for a device; that of the class is 6, which libibverbs implies */
#define NETNS_SHARED   1u
#define FULL	       3072u /* bytes: a datagram of a dump is sent when it exceeds this */

bool nl_is_ours(uint32_t index)
{
	return index >= NL_INDEX && index < NL_INDEX + NL_DEVICES;
}

int nl_flush(const struct nl_env *env, struct nl_out *o)
{
	int ret = o->len ? env->deliver(env->arg, o->data, o->len) : 0;

	o->len = 0;
	return ret;
}

static void put_device_handle(struct nl_out *o, unsigned function, const struct nl_device *d)
{
	nl_put_u32(o, NLDEV_A_DEV_INDEX, NL_INDEX + function);
	nl_put_string(o, NLDEV_A_DEV_NAME, d->name);
}

static void put_device(struct nl_out *o, unsigned function, const struct nl_device *d)
{
	put_device_handle(o, function, d);
	nl_put_u32(o, NLDEV_A_PORT_INDEX, 1);
	nl_put_u64(o, NLDEV_A_CAP_FLAGS, d->caps);
	if (d->fw[0])
		nl_put_string(o, NLDEV_A_FW_VERSION, d->fw);
	nl_put_u64(o, NLDEV_A_NODE_GUID, d->node_guid);
	nl_put_u64(o, NLDEV_A_SYS_IMAGE_GUID, d->sys_image_guid);
	nl_put_u8(o, NLDEV_A_NODE_TYPE, d->node_type);
	nl_put_u8(o, NLDEV_A_DIM, 0);
	nl_put_string(o, NLDEV_A_PROTOCOL, d->ib ? "ib" : "roce");
}

/* The kernel shows capabilities, subnet prefix and LIDs of InfiniBand ports only. */
static void put_port(struct nl_out *o, unsigned function, const struct nl_device *d,
		     const struct nl_port *p)
{
	put_device_handle(o, function, d);
	nl_put_u32(o, NLDEV_A_PORT_INDEX, 1);
	if (d->ib) {
		nl_put_u64(o, NLDEV_A_CAP_FLAGS, p->caps);
		nl_put_u64(o, NLDEV_A_SUBNET_PREFIX, UINT64_C(0xfe80000000000000));
		nl_put_u32(o, NLDEV_A_LID, d->lid);
		nl_put_u32(o, NLDEV_A_SM_LID, d->sm_lid);
		nl_put_u8(o, NLDEV_A_LMC, 0);
	}
	nl_put_u8(o, NLDEV_A_PORT_STATE, p->state);
	nl_put_u8(o, NLDEV_A_PHYS_STATE, p->phys_state);
	if (p->ifindex) {
		nl_put_u32(o, NLDEV_A_NDEV_INDEX, p->ifindex);
		nl_put_string(o, NLDEV_A_NDEV_NAME, p->ifname);
	}
}

static void put_counts(struct nl_out *o, unsigned function, const struct nl_device *d,
		       const struct nl_count *c, int n)
{
	size_t table, entry;

	put_device_handle(o, function, d);
	table = nl_nest(o, NLDEV_A_RES_SUMMARY);
	for (int i = 0; i < n; i++) {
		entry = nl_nest(o, NLDEV_A_RES_ENTRY);
		nl_put_string(o, NLDEV_A_RES_NAME, c[i].name);
		nl_put_u64(o, NLDEV_A_RES_CURR, c[i].n);
		nl_nest_end(o, entry);
	}
	nl_nest_end(o, table);
}

static void put_chardev(struct nl_out *o, const struct nl_device *d)
{
	nl_put_u64(o, NLDEV_A_CHARDEV, CHARDEV_NUMBER);
	nl_put_u64(o, NLDEV_A_CHARDEV_ABI, UVERBS_ABI);
	nl_put_string(o, NLDEV_A_CHARDEV_NAME, d->uverbs);
}

/* ------------------------------------------------------ QPs, ids of rdma_cm */

struct dump;

/* A kind of objects: the command that lists them, and its attributes. */
struct kind {
	int cmd;
	enum nldev_attr table, entry, number;
	int (*list)(struct dump *q);
};

/* A dump of objects of one kind: messages with one table each. */
struct dump {
	const struct kind *kind;
	const struct nl_env *env;
	const struct nlmsghdr *h;
	struct nl_out *o;
	const struct nl_device *d;
	unsigned function;
	uint16_t flags;
	size_t table;  /* 0: no message is open */
	uint32_t only; /* only this number; 0: all */
	bool found;
};
typedef void put_fn(struct nl_out *o, const void *object);

static int close_table(struct dump *q)
{
	if (!q->table)
		return 0;
	nl_nest_end(q->o, q->table);
	nl_end(q->o);
	q->table = 0;
	return nl_flush(q->env, q->o);
}

static void open_table(struct dump *q)
{
	nl_begin(q->o, q->h, q->env->port_id, q->h->nlmsg_type, q->flags);
	put_device_handle(q->o, q->function, q->d);
	q->table = nl_nest(q->o, q->kind->table);
}

static int one_object(struct dump *q, uint32_t number, put_fn *put, const void *object)
{
	size_t entry;

	if (q->only) { /* one requested object: the message itself has its attributes */
		if (number != q->only)
			return 0;
		nl_begin(q->o, q->h, q->env->port_id, q->h->nlmsg_type, 0);
		put_device_handle(q->o, q->function, q->d);
		put(q->o, object);
		nl_end(q->o);
		q->found = true;
		return 1;
	}
	if (!q->table)
		open_table(q);
	entry = nl_nest(q->o, q->kind->entry);
	put(q->o, object);
	nl_nest_end(q->o, entry);
	return q->o->len > FULL ? close_table(q) : 0;
}

static void put_qp_attributes(struct nl_out *o, const void *object)
{
	const struct nl_qp *qp = object;

	nl_put_u32(o, NLDEV_A_PORT_INDEX, 1);
	nl_put_u32(o, NLDEV_A_RES_LQPN, qp->qpn);
	if (qp->dest_qpn)
		nl_put_u32(o, NLDEV_A_RES_RQPN, qp->dest_qpn);
	nl_put_u32(o, NLDEV_A_RES_SQ_PSN, qp->sq_psn);
	nl_put_u8(o, NLDEV_A_RES_TYPE, qp->type);
	nl_put_u8(o, NLDEV_A_RES_STATE, qp->state);
	nl_put_u32(o, NLDEV_A_RES_PID, qp->pid);
}

static int one_qp(void *arg, const struct nl_qp *qp)
{
	return one_object(arg, qp->qpn, put_qp_attributes, qp);
}

static void put_cm_id(struct nl_out *o, const void *object)
{
	const struct nl_cm_id *id = object;

	nl_put_u32(o, NLDEV_A_PORT_INDEX, 1);
	if (id->type != UINT8_MAX)
		nl_put_u8(o, NLDEV_A_RES_TYPE, id->type);
	nl_put_u32(o, NLDEV_A_RES_PS, id->ps);
	nl_put_u8(o, NLDEV_A_RES_STATE, id->state);
	if (id->src.ss_family)
		nl_put(o, NLDEV_A_RES_SRC_ADDR, &id->src, sizeof(id->src));
	if (id->dst.ss_family)
		nl_put(o, NLDEV_A_RES_DST_ADDR, &id->dst, sizeof(id->dst));
	nl_put_u32(o, NLDEV_A_RES_CM_IDN, id->idn);
	nl_put_u32(o, NLDEV_A_RES_PID, id->pid);
}

static int one_cm_id(void *arg, const struct nl_cm_id *id)
{
	return one_object(arg, id->idn, put_cm_id, id);
}

static int list_qps(struct dump *q)
{
	return q->env->qps(q->env->arg, q->function, one_qp, q);
}

static int list_cm_ids(struct dump *q)
{
	return q->env->cm_ids(q->env->arg, q->function, one_cm_id, q);
}

static const struct kind kinds[] = {
	{NLDEV_RES_QP_GET, NLDEV_A_RES_QP, NLDEV_A_RES_QP_ENTRY, NLDEV_A_RES_LQPN, list_qps},
	{NLDEV_RES_CM_ID_GET, NLDEV_A_RES_CM_ID, NLDEV_A_RES_CM_ID_ENTRY, NLDEV_A_RES_CM_IDN,
	 list_cm_ids},
};

/* NULL: the command does not list objects. */
static const struct kind *object_kind_of(int cmd)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].cmd == cmd)
			return &kinds[i];
	return NULL;
}

static int answer_objects(struct dump *q, const struct nl_attrs *attrs)
{
	const enum nldev_attr number = q->kind->number;
	bool dump = (q->h->nlmsg_flags & NLM_F_DUMP) != 0;
	int ret;

	q->flags = dump ? NLM_F_MULTI : 0;
	if (attrs->a[NLDEV_A_PORT_INDEX] && nl_u32(attrs, NLDEV_A_PORT_INDEX) != 1)
		return -EINVAL;
	if (!dump) {
		if (!attrs->a[number])
			return -EINVAL;
		q->only = nl_u32(attrs, number);
	}
	ret = !dump && !q->only ? 0 : q->kind->list(q);
	if (ret < 0)
		return ret;
	if (!dump)
		return q->found ? nl_flush(q->env, q->o) : -ENOENT;
	ret = close_table(q);
	return ret ? ret : 1;
}

/* -------------------------------------------------------------- requests */

/* Ends one message, or the only one of a dump. */
static int finish_answer(const struct nl_env *env, struct nl_out *o, bool dump)
{
	int ret;

	nl_end(o);
	ret = nl_flush(env, o);
	return ret ? ret : dump;
}

static int answer_port(const struct nl_env *env, const struct nl_attrs *attrs, struct nl_out *o,
		       unsigned function, const struct nl_device *d, bool dump)
{
	struct nl_port p = {0};

	if (!dump && (!attrs->a[NLDEV_A_PORT_INDEX] || nl_u32(attrs, NLDEV_A_PORT_INDEX) != 1))
		return -EINVAL;
	if (!env->port(env->arg, function, &p))
		return -EINVAL;
	put_port(o, function, d, &p);
	return 0;
}

static int answer_counts(const struct nl_env *env, struct nl_out *o, unsigned function,
			 const struct nl_device *d)
{
	struct nl_count c[NL_COUNTS];
	int n = env->counts(env->arg, function, c);

	if (n < 0)
		return n;
	put_counts(o, function, d, c, n);
	return 0;
}

static void put_counter(void *arg, const char *name, uint64_t value)
{
	struct nl_out *o = arg;
	size_t entry = nl_nest(o, NLDEV_A_HWCOUNTER);

	nl_put_string(o, NLDEV_A_HWCOUNTER_NAME, name);
	nl_put_u64(o, NLDEV_A_HWCOUNTER_VALUE, value);
	nl_nest_end(o, entry);
}

/* The counters of the port. QPs and regions have none of their own here. */
static int answer_counters(const struct nl_env *env, const struct nl_attrs *attrs, struct nl_out *o,
			   unsigned function, const struct nl_device *d, bool dump)
{
	size_t table;
	int ret;

	if (dump || attrs->a[NLDEV_A_STAT_RES])
		return -EOPNOTSUPP;
	if (!attrs->a[NLDEV_A_PORT_INDEX] || nl_u32(attrs, NLDEV_A_PORT_INDEX) != 1)
		return -EINVAL;
	put_device_handle(o, function, d);
	nl_put_u32(o, NLDEV_A_PORT_INDEX, 1);
	table = nl_nest(o, NLDEV_A_HWCOUNTERS);
	ret = env->counters(env->arg, function, put_counter, o);
	nl_nest_end(o, table);
	return ret;
}

static int answer_chardev(const struct nl_attrs *attrs, struct nl_out *o, const struct nl_device *d,
			  bool dump)
{
	if (dump || !attrs->a[NLDEV_A_CHARDEV_TYPE])
		return -EINVAL;
	if (!nl_is_string(attrs, NLDEV_A_CHARDEV_TYPE, "uverbs"))
		return -EOPNOTSUPP; /* as in the kernel for a client that a device does not have */
	put_chardev(o, d);
	return 0;
}

int nl_answer(const struct nl_env *env, const struct nlmsghdr *h, const struct nl_attrs *attrs,
	      struct nl_out *o)
{
	unsigned function = nl_u32(attrs, NLDEV_A_DEV_INDEX) - NL_INDEX;
	bool dump = (h->nlmsg_flags & NLM_F_DUMP) != 0;
	struct nl_device d = {0};
	struct dump q = {.kind = object_kind_of(NLDEV_CMD(h->nlmsg_type)),
			 .env = env,
			 .h = h,
			 .o = o,
			 .d = &d,
			 .function = function};
	int ret = 0;

	if (!env->device(env->arg, function, &d))
		return -EINVAL;
	if (q.kind)
		return answer_objects(&q, attrs);
	nl_begin(o, h, env->port_id, h->nlmsg_type, dump ? NLM_F_MULTI : 0);
	switch (NLDEV_CMD(h->nlmsg_type)) {
	case NLDEV_GET:
		put_device(o, function, &d);
		break;
	case NLDEV_PORT_GET:
		ret = answer_port(env, attrs, o, function, &d, dump);
		break;
	case NLDEV_RES_GET:
		ret = answer_counts(env, o, function, &d);
		break;
	case NLDEV_STAT_GET:
		ret = answer_counters(env, attrs, o, function, &d, dump);
		break;
	case NLDEV_GET_CHARDEV:
		ret = answer_chardev(attrs, o, &d, dump);
		break;
	default:
		ret = -EOPNOTSUPP;
	}
	if (ret) {
		o->len = o->msg;
		return ret;
	}
	return finish_answer(env, o, dump);
}

int nl_answer_all(const struct nl_env *env, const struct nlmsghdr *h, struct nl_out *o)
{
	struct nl_device d;
	int ret = 0;

	for (unsigned f = 0; !ret && f < NL_DEVICES; f++) {
		memset(&d, 0, sizeof(d));
		if (!env->device(env->arg, f, &d))
			break;
		nl_begin(o, h, env->port_id, h->nlmsg_type, NLM_F_MULTI);
		if (NLDEV_CMD(h->nlmsg_type) == NLDEV_GET)
			put_device(o, f, &d);
		else if (answer_counts(env, o, f, &d)) {
			o->len = o->msg; /* the kernel's devices are shown nevertheless */
			continue;
		}
		nl_end(o);
		if (o->len > FULL)
			ret = nl_flush(env, o);
	}
	return ret ? ret : nl_flush(env, o);
}

/*
 * The namespace has its own dpa0, so the mode is "shared". A child sees its parent's registered
 * memory as of the fork: the adapter reads it by address, and sharing ends before a fork.
 */
int nl_answer_system(const struct nl_env *env, const struct nlmsghdr *h, struct nl_out *o)
{
	nl_begin(o, h, env->port_id, h->nlmsg_type, 0);
	nl_put_u8(o, NLDEV_A_NETNS_MODE, NETNS_SHARED);
	nl_put_u8(o, NLDEV_A_COPY_ON_FORK, 1);
	return finish_answer(env, o, false);
}
