/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_pabi.c - one provider in the fake of one libibverbs: PABI_PROVIDER, PABI_FAKE; and
 * libdpadv.so.1, which fits all of them: PABI_DIRECT. The table of verbs and the offsets are a
 * second copy here, from rdma-core's history.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <criterion/criterion.h>
#include <infiniband/verbs.h>
#include "dpadv.h"
#include "fake_ibverbs.h"

/*
 * struct verbs_context_ops by rdma-core 65: the number with which each was added (62: late 59), and
 * whether this provider has it.
 */
static const struct op {
	const char *name;
	int since;
	bool ours;
} table[] = {
	{"advise_mr", 0, true},
	{"alloc_buf", 64, false},
	{"alloc_dm", 0, true},
	{"alloc_dmah", 59, false},
	{"alloc_mw", 0, true},
	{"alloc_null_mr", 0, true},
	{"alloc_parent_domain", 0, true},
	{"alloc_pd", 0, true},
	{"alloc_td", 0, true},
	{"async_event", 0, false},
	{"attach_counters_point_flow", 0, true},
	{"attach_mcast", 0, true},
	{"bind_mw", 0, true},
	{"close_xrcd", 0, true},
	{"cq_event", 0, false},
	{"create_ah", 0, true},
	{"create_comp_cntr", 65, false},
	{"create_counters", 0, true},
	{"create_cq", 0, true},
	{"create_cq_ex", 0, true},
	{"create_flow", 0, true},
	{"create_flow_action_esp", 0, false},
	{"create_qp", 0, true},
	{"create_qp_ex", 0, true},
	{"create_rwq_ind_table", 0, true},
	{"create_srq", 0, true},
	{"create_srq_ex", 0, true},
	{"create_wq", 0, true},
	{"dealloc_dmah", 59, false},
	{"dealloc_mw", 0, true},
	{"dealloc_pd", 0, true},
	{"dealloc_td", 0, true},
	{"dereg_mr", 0, true},
	{"destroy_ah", 0, true},
	{"destroy_comp_cntr", 65, false},
	{"destroy_counters", 0, true},
	{"destroy_cq", 0, true},
	{"destroy_flow", 0, true},
	{"destroy_flow_action", 0, false},
	{"destroy_qp", 0, true},
	{"destroy_rwq_ind_table", 0, true},
	{"destroy_srq", 0, true},
	{"destroy_wq", 0, true},
	{"detach_mcast", 0, true},
	{"dm_export_dmabuf_fd", 62, false},
	{"free_buf", 64, false},
	{"free_context", 0, true},
	{"free_dm", 0, true},
	{"get_srq_num", 0, true},
	{"import_dm", 0, true},
	{"import_mr", 0, true},
	{"import_pd", 0, true},
	{"inc_comp_cntr", 65, false},
	{"inc_err_comp_cntr", 65, false},
	{"modify_cq", 0, true},
	{"modify_flow_action_esp", 0, false},
	{"modify_qp", 0, true},
	{"modify_qp_rate_limit", 0, true},
	{"modify_srq", 0, true},
	{"modify_wq", 0, true},
	{"open_qp", 0, true},
	{"open_xrcd", 0, true},
	{"poll_cq", 0, true},
	{"post_recv", 0, true},
	{"post_send", 0, true},
	{"post_srq_ops", 0, true},
	{"post_srq_recv", 0, true},
	{"qp_attach_comp_cntr", 65, false},
	{"query_comp_cntr_caps", 65, true},
	{"query_device_ex", 0, true},
	{"query_ece", 0, true},
	{"query_port", 0, true},
	{"query_port_speed", 62, true},
	{"query_qp", 0, true},
	{"query_qp_data_in_order", 0, true},
	{"query_rt_values", 0, true},
	{"query_srq", 0, true},
	{"read_comp_cntr", 65, false},
	{"read_counters", 0, true},
	{"read_err_comp_cntr", 65, false},
	{"reg_dm_mr", 0, true},
	{"reg_dmabuf_mr", 0, true},
	{"reg_mr", 0, true},
	{"reg_mr_ex", 59, false},
	{"req_notify_cq", 0, true},
	{"rereg_mr", 0, true},
	{"resize_cq", 0, true},
	{"set_comp_cntr", 65, false},
	{"set_ece", 0, true},
	{"set_err_comp_cntr", 65, false},
	{"unimport_dm", 0, true},
	{"unimport_mr", 0, true},
	{"unimport_pd", 0, true},
};
#define NUM_TABLE (sizeof(table) / sizeof(table[0]))

/* Offsets in struct verbs_device_ops, verbs_sysfs_dev and verbs_device: the same in all numbers. */
enum {
	DRIVER_NAME = 0,
	DRIVER_MATCH = 32,
	DRIVER_ALLOC_CONTEXT = 40,
	DRIVER_ALLOC_DEVICE = 56,
	DRIVER_UNINIT_DEVICE = 64,
	DEVICE_OPS = 664,
	SYSFS_FLAGS = 32,
	SYSFS_CDEV = 104,
	SYSFS_IBDEV_NAME = 112,
	SYSFS_NODE_GUID = 944,
	SYSFS_SIZE = 992,
	QP_MASK_44 = 352 + sizeof(pthread_mutex_t) - 40,
	QP_MASK_45 = 360 + sizeof(pthread_mutex_t) - 40,
	QP_EX = 2,
};

typedef void any_fn(void);

static struct fake_ibverbs *lib;
static char sysfs_dev[SYSFS_SIZE] __attribute__((aligned(16)));

static any_fn *driver_fn(size_t offset)
{
	any_fn *fn;

	memcpy(&fn, (const char *)lib->driver + offset, sizeof(fn));
	return fn;
}

static bool there(const struct op *op)
{
	int version = lib->late ? 62 : lib->pabi;

	return op->since <= version;
}

static any_fn *op(const char *name)
{
	size_t at = 0;

	for (size_t i = 0; i < NUM_TABLE; i++) {
		if (!strcmp(table[i].name, name))
			return lib->ops[at];
		at += there(&table[i]);
	}
	cr_assert_fail("no op %s", name);
	return NULL;
}

static void load_library(void)
{
	void *fake = dlopen(getenv("PABI_FAKE"), RTLD_NOW | RTLD_GLOBAL);

	cr_assert(fake, "%s", dlerror());
	lib = dlsym(fake, "fake_ibverbs");
	cr_assert(lib);
}

static void load(void)
{
	void *provider;

	load_library();
	provider = dlopen(getenv("PABI_PROVIDER"), RTLD_NOW);
	cr_assert(provider, "%s", dlerror());
	strcpy(sysfs_dev + SYSFS_IBDEV_NAME, "dpa0");
	memcpy(sysfs_dev + SYSFS_CDEV, &(dev_t){makedev(1, 3)}, sizeof(dev_t));
}

static struct ibv_device *new_device(void)
{
	typedef struct ibv_device *alloc_device(void *);
	struct ibv_device *device = ((alloc_device *)driver_fn(DRIVER_ALLOC_DEVICE))(sysfs_dev);

	cr_assert(device);
	strcpy(device->name, "dpa0");
	/* as libibverbs does */
	memcpy((char *)device + DEVICE_OPS, &lib->driver, sizeof(lib->driver));
	return device;
}

static struct ibv_context *open_context(struct ibv_device *device)
{
	typedef char *alloc_context(struct ibv_device *, int, void *);
	char *ctx = ((alloc_context *)driver_fn(DRIVER_ALLOC_CONTEXT))(
		device, open("/dev/null", O_RDWR | O_CLOEXEC), NULL);

	cr_assert(ctx);
	cr_expect_eq(ctx, lib->lib_context, "the context returned is not the library's");
	cr_expect_eq(ctx, lib->set_ops_context, "ops were set for another context");
	return (struct ibv_context *)(ctx + lib->context_size - sizeof(struct ibv_context));
}

static void close_context(struct ibv_context *context)
{
	char *lib_ctx = lib->lib_context;

	for (size_t i = 0; i < FAKE_FRONT_SIZE(lib->context_size); i++)
		cr_assert_eq((unsigned char)lib_ctx[i], FAKE_FRONT, "byte %zu is written to", i);
	((void (*)(struct ibv_context *))op("free_context"))(context);
	cr_expect_eq(lib->uninit_context, lib_ctx);
}

Test(pabi, registers_once, .init = load)
{
	const char *name;

	cr_assert_eq(lib->registered, 1);
	memcpy(&name, (const char *)lib->driver + DRIVER_NAME, sizeof(name));
	cr_expect_str_eq(name, "dpa");
}

Test(pabi, matches_and_allocates, .init = load)
{
	typedef bool match(void *);
	match *matches = (match *)driver_fn(DRIVER_MATCH);
	struct ibv_device *device;
	uint64_t guid;
	unsigned flags;

	cr_expect(matches(sysfs_dev));
	strcpy(sysfs_dev + SYSFS_IBDEV_NAME, "mlx5_0");
	cr_expect_not(matches(sysfs_dev));
	strcpy(sysfs_dev + SYSFS_IBDEV_NAME, "dpa0");
	memcpy(sysfs_dev + SYSFS_CDEV, &(dev_t){makedev(231, 192)}, sizeof(dev_t));
	cr_expect_not(matches(sysfs_dev), "a real device's name and number");
	memcpy(sysfs_dev + SYSFS_CDEV, &(dev_t){makedev(1, 3)}, sizeof(dev_t));
	device = new_device();
	memcpy(&flags, sysfs_dev + SYSFS_FLAGS, sizeof(flags));
	memcpy(&guid, sysfs_dev + SYSFS_NODE_GUID, sizeof(guid));
	cr_expect_eq(flags, 2u, "the node GUID is marked as there");
	cr_expect_neq(guid, 0u);
	((void (*)(struct ibv_device *))driver_fn(DRIVER_UNINIT_DEVICE))(device);
}

Test(pabi, ops_by_position, .init = load)
{
	struct ibv_context *context = open_context(new_device());
	size_t at = 0;

	for (size_t i = 0; i < NUM_TABLE; i++) {
		if (!there(&table[i]))
			continue;
		cr_expect_eq(!!lib->ops[at], table[i].ours, "%zu: %s", at, table[i].name);
		at++;
	}
	cr_expect_eq(at, fake_num_ops(lib->pabi, lib->late));
	close_context(context);
}

Test(pabi, verbs_work, .init = load)
{
	struct ibv_context *context = open_context(new_device());
	struct ibv_pd *pd = ((struct ibv_pd * (*)(struct ibv_context *)) op("alloc_pd"))(context);
	struct ibv_cq *cq = ((struct ibv_cq * (*)(struct ibv_context *, int, void *, int))
				     op("create_cq"))(context, 8, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_port_attr port;
	struct ibv_qp *qp;
	uint32_t mask;

	cr_assert(pd && cq);
	memset(&port, 0, sizeof(port));
	cr_assert_eq(((int (*)(struct ibv_context *, uint8_t, struct ibv_port_attr *))op(
			     "query_port"))(context, 1, &port),
		     0);
	cr_expect_eq(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	qp = ((struct ibv_qp * (*)(struct ibv_context *, struct ibv_qp_init_attr_ex *))
		      op("create_qp_ex"))(context, &attr);
	cr_assert(qp);
	/* the place where ibv_qp_to_qp_ex() of the library reads */
	memcpy(&mask,
	       (char *)qp + (lib->pabi == 34 && sizeof(struct ibv_qp_ex) == QP_MASK_44
				     ? QP_MASK_44
				     : QP_MASK_45),
	       sizeof(mask));
	cr_expect(mask & QP_EX);
	memcpy(&mask, (char *)qp + QP_MASK_45, sizeof(mask));
	cr_expect(mask & QP_EX, "rdma-core 45 and later look here");
	cr_expect_eq(((int (*)(struct ibv_qp *))op("destroy_qp"))(qp), 0);
	cr_expect_eq(((int (*)(struct ibv_cq *))op("destroy_cq"))(cq), 0);
	cr_expect_eq(((int (*)(struct ibv_pd *))op("dealloc_pd"))(pd), 0);
	close_context(context);
}

/* A call of libdpadv.so.1. */
#define DIRECT(handle, name) ((__typeof__(&name))dlsym(handle, #name))

static void *load_direct(const char *path)
{
	void *direct = dlopen(path, RTLD_NOW);

	cr_assert(direct, "%s", dlerror());
	return direct;
}

/* The calls of libdpa, with any number of libibverbs. */
Test(pabi, direct_verbs_are_this_providers, .init = load)
{
	void *direct = load_direct(getenv("PABI_DIRECT"));
	struct ibv_device *device = new_device();
	struct dpadv_function fn = {.number = 7};
	struct dpadv_cq_init_attr attr = {.cqe = 8};
	struct dpadv_cq out = {0};
	struct dpadv_obj obj = {.cq = {.out = &out}};
	struct ibv_context *context;
	struct ibv_cq *cq;

	cr_assert(DIRECT(direct, dpadv_is_supported)(device));
	cr_assert_eq(DIRECT(direct, dpadv_query_function)(device, &fn), 0);
	cr_expect_eq(fn.number, 0u);
	cr_expect_str_eq(fn.pci_addr, "d9a0:00:00.0");
	context = open_context(device);
	context->device = device;
	cr_expect_gt(DIRECT(direct, dpadv_num_eus)(context), 0u);
	cq = DIRECT(direct, dpadv_create_cq)(context, &attr);
	cr_assert(cq);
	obj.cq.in = cq;
	cr_assert_eq(DIRECT(direct, dpadv_init_obj)(&obj, DPADV_OBJ_CQ), 0);
	cr_expect(out.buf && out.hw);
	cr_expect_eq(((int (*)(struct ibv_cq *))op("destroy_cq"))(cq), 0);
	close_context(context);
	cr_expect_eq(lib->registered, 1, "the device is in the process once");
}

/* No provider, or a device of another provider: an error, not a crash. */
Test(pabi, direct_verbs_without_a_provider, .init = load_library)
{
	void *direct = load_direct(getenv("PABI_DIRECT"));
	char *theirs = calloc(1, 4096);
	struct ibv_device *device = (struct ibv_device *)theirs;
	struct ibv_context context = {.device = device};
	struct ibv_pd pd = {.context = &context};
	struct ibv_qp_init_attr init = {0};
	struct dpadv_qp_init_attr dv = {0};
	struct dpadv_cq_init_attr attr = {.cqe = 8};
	struct dpadv_function fn = {0};
	struct dpadv_pd out = {0};
	struct dpadv_obj obj = {.pd = {.in = &pd, .out = &out}};

	for (int provider = 0; provider < 2; provider++) {
		cr_expect_not(DIRECT(direct, dpadv_is_supported)(device));
		cr_expect_eq(DIRECT(direct, dpadv_query_function)(device, &fn), EINVAL);
		cr_expect_eq(DIRECT(direct, dpadv_init_obj)(&obj, DPADV_OBJ_PD), EINVAL);
		cr_expect_eq(DIRECT(direct, dpadv_init_obj)(&obj, 0), EINVAL);
		errno = 0;
		cr_expect_null(DIRECT(direct, dpadv_create_cq)(&context, &attr));
		cr_expect_eq(errno, EINVAL);
		errno = 0;
		cr_expect_null(DIRECT(direct, dpadv_create_qp)(&pd, &init, &dv));
		cr_expect_eq(errno, EINVAL);
		cr_expect_eq(DIRECT(direct, dpadv_progress)(&context), -EINVAL);
		cr_expect_eq(DIRECT(direct, dpadv_num_eus)(&context), 0u);
		cr_assert(dlopen(getenv("PABI_PROVIDER"), RTLD_NOW), "%s", dlerror());
	}
	free(theirs);
}

static void link_into(const char *folder, const char *file)
{
	char to[PATH_MAX];

	snprintf(to, sizeof(to), "%s/%s", folder, strrchr(file, '/') + 1);
	cr_assert_eq(symlink(file, to), 0, "%s: %m", to);
}

/* As installed: of several providers it takes the one of the library's number. */
Test(pabi, loads_the_one_that_fits, .init = load_library)
{
	int (*port_file)(unsigned int, const char *, char *, size_t);
	char top[] = "/tmp/dpa-pabi-XXXXXX", folder[64], path[128], text[128];
	void *direct;

	cr_assert(mkdtemp(top));
	link_into(top, getenv("PABI_DIRECT"));
	snprintf(path, sizeof(path), "%s%s", top, strrchr(getenv("PABI_DIRECT"), '/'));
	snprintf(folder, sizeof(folder), "%s/libibverbs", top);
	cr_assert_eq(mkdir(folder, 0700), 0);
	direct = load_direct(path);
	port_file = (__typeof__(port_file))dlsym(direct, "dpadv_port_file");
	cr_assert(port_file);
	errno = 0;
	cr_expect_eq(port_file(0, "gids/0", text, sizeof(text)), -1);
	cr_expect_eq(errno, ENOENT);
	link_into(folder, getenv("PABI_PROVIDER"));
	cr_expect_gt(port_file(0, "gids/0", text, sizeof(text)), 0, "%m");
	cr_expect_eq(lib->registered, 1);
	cr_expect_eq(system((snprintf(path, sizeof(path), "rm -r %s", top), path)), 0);
}
