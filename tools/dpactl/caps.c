/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * caps.c - the libraries that programs for DOCA find here, and the capabilities of each device: the
 * results of the functions that such programs call. libdpa is loaded for it, since a machine with
 * dpactl need not have it.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <doca_clock.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_dma.h>
#include <doca_dpa.h>
#include <doca_mmap.h>
#include <doca_mmap_advise.h>
#include <doca_pcc.h>
#include <doca_rdma.h>
#include <doca_sync_event.h>
#include <doca_telemetry_pcc.h>
#include <doca_version.h>
#include "dpactl.h"
#include "host/system.h"

/* The forms of functions that a capability has. */
typedef doca_error_t yes_fn(const struct doca_devinfo *);
typedef doca_error_t byte_fn(const struct doca_devinfo *, uint8_t *);
typedef doca_error_t word_fn(const struct doca_devinfo *, uint32_t *);
typedef doca_error_t long_fn(const struct doca_devinfo *, uint64_t *);
typedef doca_error_t transport_fn(const struct doca_devinfo *, enum doca_rdma_transport_type);
typedef doca_error_t transport_word_fn(const struct doca_devinfo *, enum doca_rdma_transport_type,
				       uint32_t *);

struct cap {
	const char *name;
	enum { YES, BYTE, WORD, LONG, TRANSPORT, TRANSPORT_WORD } form;
	enum doca_rdma_transport_type transport;
};

/* Does not compile where the header declares fn in another form. */
#define FORM(fn, type, form)                                                                       \
	((int)sizeof(char[__builtin_types_compatible_p(__typeof__(fn), type) ? 1 : -1]) * (form))
#define CAP(fn, type, kind, t)                                                                     \
	{                                                                                          \
		.name = #fn, .form = FORM(fn, type, kind), .transport = (t)                        \
	}
#define CAP_YES(fn)		  CAP(fn, yes_fn, YES, 0)
#define CAP_BYTE(fn)		  CAP(fn, byte_fn, BYTE, 0)
#define CAP_WORD(fn)		  CAP(fn, word_fn, WORD, 0)
#define CAP_LONG(fn)		  CAP(fn, long_fn, LONG, 0)
#define CAP_TRANSPORT(fn, t)	  CAP(fn, transport_fn, TRANSPORT, t)
#define CAP_TRANSPORT_WORD(fn, t) CAP(fn, transport_word_fn, TRANSPORT_WORD, t)
#define RC			  DOCA_RDMA_TRANSPORT_TYPE_RC
#define DC			  DOCA_RDMA_TRANSPORT_TYPE_DC

static const struct cap caps[] = {
	CAP_WORD(doca_ctx_cap_get_num_completion_vectors),
	CAP_BYTE(doca_devinfo_cap_is_accelerate_resource_reclaim_supported),
	CAP_BYTE(doca_devinfo_cap_is_hotplug_manager_supported),
	CAP_BYTE(doca_devinfo_cap_is_notification_moderation_supported),
	CAP_BYTE(doca_devinfo_rep_cap_is_filter_all_supported),
	CAP_BYTE(doca_devinfo_rep_cap_is_filter_emulated_supported),
	CAP_BYTE(doca_devinfo_rep_cap_is_filter_net_supported),
	CAP_YES(doca_clock_cap_nic_dpa_timer_is_supported),
	CAP_YES(doca_clock_cap_nic_free_running_is_supported),
	CAP_YES(doca_clock_cap_nic_real_time_is_supported),
	CAP_YES(doca_mmap_advise_cap_task_cache_invalidate_is_supported),
	CAP_BYTE(doca_mmap_cap_is_create_from_export_pci_supported),
	CAP_BYTE(doca_mmap_cap_is_export_pci_supported),
	CAP_YES(doca_sync_event_cap_is_create_from_export_supported),
	CAP_YES(doca_sync_event_cap_is_export_to_dpa_supported),
	CAP_YES(doca_sync_event_cap_is_export_to_remote_net_supported),
	CAP_YES(doca_sync_event_cap_is_export_to_remote_pci_supported),
	CAP_YES(doca_sync_event_cap_remote_net_is_create_from_export_supported),
	CAP_YES(doca_sync_event_cap_remote_net_is_export_to_dpa_supported),
	CAP_YES(doca_sync_event_cap_task_get_is_supported),
	CAP_YES(doca_sync_event_cap_task_notify_add_is_supported),
	CAP_YES(doca_sync_event_cap_task_notify_set_is_supported),
	CAP_YES(doca_sync_event_cap_task_wait_eq_is_supported),
	CAP_YES(doca_sync_event_cap_task_wait_neq_is_supported),
	CAP_YES(doca_dpa_cap_is_supported),
	CAP_YES(doca_dma_cap_task_memcpy_is_supported),
	CAP_WORD(doca_dma_cap_task_memcpy_get_max_buf_list_len),
	CAP_LONG(doca_dma_cap_task_memcpy_get_max_buf_size),
	CAP_TRANSPORT(doca_rdma_cap_transport_type_is_supported, RC),
	CAP_TRANSPORT(doca_rdma_cap_transport_type_is_supported, DC),
	CAP_WORD(doca_rdma_cap_get_gid_table_size),
	CAP_WORD(doca_rdma_cap_get_max_message_size),
	CAP_WORD(doca_rdma_cap_get_max_recv_queue_size),
	CAP_WORD(doca_rdma_cap_get_max_send_buf_list_len),
	CAP_WORD(doca_rdma_cap_get_max_send_queue_size),
	CAP_YES(doca_rdma_cap_task_atomic_cmp_swp_is_supported),
	CAP_YES(doca_rdma_cap_task_atomic_fetch_add_is_supported),
	CAP_YES(doca_rdma_cap_task_read_is_supported),
	CAP_YES(doca_rdma_cap_task_receive_is_supported),
	CAP_TRANSPORT_WORD(doca_rdma_cap_task_receive_get_max_dst_buf_list_len, RC),
	CAP_YES(doca_rdma_cap_task_remote_net_sync_event_get_is_supported),
	CAP_YES(doca_rdma_cap_task_remote_net_sync_event_notify_add_is_supported),
	CAP_YES(doca_rdma_cap_task_remote_net_sync_event_notify_set_is_supported),
	CAP_YES(doca_rdma_cap_task_send_is_supported),
	CAP_YES(doca_rdma_cap_task_send_imm_is_supported),
	CAP_YES(doca_rdma_cap_task_write_is_supported),
	CAP_YES(doca_rdma_cap_task_write_imm_is_supported),
	CAP_YES(doca_pcc_np_cap_is_supported),
	CAP_YES(doca_pcc_cap_is_ccmad_custom_header_supported),
	CAP_YES(doca_pcc_cap_is_probe_priority_change_supported),
	CAP_YES(doca_telemetry_pcc_cap_is_supported),
	CAP_WORD(doca_telemetry_pcc_cap_get_max_algo_slots),
	CAP_WORD(doca_telemetry_pcc_cap_get_max_algo_info_len),
	CAP_WORD(doca_telemetry_pcc_cap_get_max_num_counters),
	CAP_WORD(doca_telemetry_pcc_cap_get_max_counter_info_len),
};
#define CAPS (sizeof(caps) / sizeof(caps[0]))

/* A library is there if libdpa exports this function of it. */
static const struct {
	const char *name, *function;
} libraries[] = {
	{"doca_common", "doca_pe_create"},
	{"doca_argp", "doca_argp_init"},
	{"doca_dpa", "doca_dpa_create"},
	{"doca_rdma", "doca_rdma_create"},
	{"doca_dma", "doca_dma_create"},
	{"doca_graph", "doca_graph_create"},
	{"doca_telemetry_pcc", "doca_telemetry_pcc_create"},
	{"flexio_resources", "flexio_resources_create"},
	{"doca_aes_gcm", "doca_aes_gcm_create"},
	{"doca_comch", "doca_comch_server_create"},
	{"doca_compress", "doca_compress_create"},
	{"doca_devemu", "doca_devemu_pci_dev_create_rep"},
	{"doca_erasure_coding", "doca_ec_create"},
	{"doca_eth", "doca_eth_rxq_create"},
	{"doca_flow", "doca_flow_init"},
	{"doca_gpunetio", "doca_gpu_create"},
	{"doca_pcc", "doca_pcc_create"},
	{"doca_sha", "doca_sha_create"},
	{"doca_telemetry_exporter", "doca_telemetry_exporter_schema_init"},
	{"doca_verbs", "doca_verbs_context_create"},
};
#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

/* The functions of libdpa that are not in the table, under the names of their headers. */
struct lib {
	void *dl;
	char path[PATH_MAX];
	__typeof__(doca_error_get_name) *error_name;
	__typeof__(doca_version_runtime) *version;
	__typeof__(doca_devinfo_create_list) *create_list;
	__typeof__(doca_devinfo_destroy_list) *destroy_list;
	__typeof__(doca_devinfo_get_ibdev_name) *ibdev_name;
	__typeof__(doca_devinfo_get_pci_addr_str) *pci_addr;
	__typeof__(doca_devinfo_get_pci_func_type) *func_type;
};

/* An answer of a capability: a number or a yes, or its error. */
struct answer {
	doca_error_t error;
	bool is_number;
	uint64_t value;
};

static void *lib_function(const struct lib *l, const char *name)
{
	void *fn = dlsym(l->dl, name);

	if (!fn)
		die(EXIT_NONE, "%s has no %s: it is of another version than dpactl", l->path, name);
	return fn;
}

static void lib_load(struct lib *l)
{
	struct where w;

	if (where_am_i(&w) && snprintf(l->path, sizeof(l->path), "%s/libdpa.so.1", w.lib) > 0)
		l->dl = dlopen(l->path, RTLD_NOW);
	if (!l->dl) {
		snprintf(l->path, sizeof(l->path), "libdpa.so.1");
		l->dl = dlopen(l->path, RTLD_NOW);
	}
	if (!l->dl)
		die(EXIT_NONE, "no libdpa.so.1 (%s): install libdpa1 (Debian) or libdpa (Fedora)",
		    dlerror());
	l->error_name = lib_function(l, "doca_error_get_name");
	l->version = lib_function(l, "doca_version_runtime");
	l->create_list = lib_function(l, "doca_devinfo_create_list");
	l->destroy_list = lib_function(l, "doca_devinfo_destroy_list");
	l->ibdev_name = lib_function(l, "doca_devinfo_get_ibdev_name");
	l->pci_addr = lib_function(l, "doca_devinfo_get_pci_addr_str");
	l->func_type = lib_function(l, "doca_devinfo_get_pci_func_type");
}

static bool lib_has(const struct lib *l, size_t library)
{
	return dlsym(l->dl, libraries[library].function) != NULL;
}

static struct answer cap_ask(const struct lib *l, const struct cap *cap,
			     const struct doca_devinfo *dev)
{
	void *fn = lib_function(l, cap->name);
	struct answer a = {.is_number = cap->form == WORD || cap->form == LONG ||
					cap->form == TRANSPORT_WORD};
	uint32_t word = 0;
	uint8_t byte = 0;

	switch (cap->form) {
	case YES:
		a.error = ((yes_fn *)fn)(dev);
		byte = a.error == DOCA_SUCCESS;
		break;
	case BYTE:
		a.error = ((byte_fn *)fn)(dev, &byte);
		break;
	case WORD:
		a.error = ((word_fn *)fn)(dev, &word);
		break;
	case LONG:
		a.error = ((long_fn *)fn)(dev, &a.value);
		return a;
	case TRANSPORT:
		a.error = ((transport_fn *)fn)(dev, cap->transport);
		byte = a.error == DOCA_SUCCESS;
		break;
	case TRANSPORT_WORD:
		a.error = ((transport_word_fn *)fn)(dev, cap->transport, &word);
		break;
	}
	a.value = a.is_number ? word : byte;
	return a;
}

static const char *cap_transport(const struct cap *cap)
{
	if (cap->form != TRANSPORT && cap->form != TRANSPORT_WORD)
		return NULL;
	return cap->transport == RC ? "RC" : "DC";
}

static const char *dev_kind(const struct lib *l, const struct doca_devinfo *dev)
{
	static const char *const names[] = {
		[DOCA_PCI_FUNC_TYPE_PF] = "PF",
		[DOCA_PCI_FUNC_TYPE_VF] = "VF",
		[DOCA_PCI_FUNC_TYPE_SF] = "SF",
	};
	enum doca_pci_func_type type;

	if (l->func_type(dev, &type) || (unsigned int)type >= sizeof(names) / sizeof(names[0]))
		return "-";
	return names[type];
}

static struct json_object *cap_json(const struct lib *l, const struct cap *cap,
				    const struct doca_devinfo *dev)
{
	struct json_object *o = json_object_new_object();
	struct answer a = cap_ask(l, cap, dev);

	json_add(o, "function", cap->name);
	if (cap_transport(cap))
		json_add(o, "transport", cap_transport(cap));
	if (a.error && a.error != DOCA_ERROR_NOT_SUPPORTED)
		json_add(o, "error", l->error_name(a.error));
	else if (a.is_number && !a.error)
		json_add_num(o, "value", a.value);
	else
		json_add_bool(o, "value", a.value != 0);
	return o;
}

static void cap_text(const struct lib *l, const struct cap *cap, const struct doca_devinfo *dev)
{
	const char *transport = cap_transport(cap);
	struct answer a = cap_ask(l, cap, dev);
	char name[96];

	snprintf(name, sizeof(name), "%s%s%s", cap->name, transport ? ", " : "",
		 transport ? transport : "");
	printf("  %-72s ", name);
	if (a.error && a.error != DOCA_ERROR_NOT_SUPPORTED)
		printf("%s\n", l->error_name(a.error));
	else if (a.is_number && !a.error)
		printf("%" PRIu64 "\n", a.value);
	else
		puts(a.value ? "yes" : "no");
}

static void libraries_text(const struct lib *l, bool there)
{
	int n = 0;

	printf("%-11s ", there ? "libraries" : "not there");
	for (size_t i = 0; i < LIBRARIES; i++)
		if (lib_has(l, i) == there)
			printf("%s%s", n++ ? ", " : "", libraries[i].name);
	puts(n ? "" : "-");
}

static void caps_text(const struct lib *l, struct doca_devinfo **list, uint32_t n)
{
	printf("version     DOCA %s (%s)\n", l->version(), l->path);
	libraries_text(l, true);
	libraries_text(l, false);
	for (uint32_t i = 0; i < n; i++) {
		char name[DOCA_DEVINFO_IBDEV_NAME_SIZE] = "-";
		char pci[DOCA_DEVINFO_PCI_ADDR_SIZE] = "-";

		l->ibdev_name(list[i], name, sizeof(name));
		l->pci_addr(list[i], pci);
		printf("\n%s: %s, %s\n", name, dev_kind(l, list[i]), pci);
		for (size_t k = 0; k < CAPS; k++)
			cap_text(l, &caps[k], list[i]);
	}
}

static struct json_object *dev_json(const struct lib *l, const struct doca_devinfo *dev)
{
	struct json_object *o = json_object_new_object(), *all = json_object_new_array();
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE] = "-";
	char pci[DOCA_DEVINFO_PCI_ADDR_SIZE] = "-";

	l->ibdev_name(dev, name, sizeof(name));
	l->pci_addr(dev, pci);
	json_add(o, "name", name);
	json_add(o, "function", dev_kind(l, dev));
	json_add(o, "pci", pci);
	for (size_t k = 0; k < CAPS; k++)
		json_object_array_add(all, cap_json(l, &caps[k], dev));
	json_object_object_add(o, "capabilities", all);
	return o;
}

static void caps_json(const struct lib *l, struct doca_devinfo **list, uint32_t n)
{
	struct json_object *o = json_object_new_object(), *libs = json_object_new_object();
	struct json_object *devs = json_object_new_array();

	json_add(o, "version", l->version());
	json_add(o, "library", l->path);
	for (size_t i = 0; i < LIBRARIES; i++)
		json_add_bool(libs, libraries[i].name, lib_has(l, i));
	json_object_object_add(o, "libraries", libs);
	for (uint32_t i = 0; i < n; i++)
		json_object_array_add(devs, dev_json(l, list[i]));
	json_object_object_add(o, "devices", devs);
	print_json(o);
}

void cmd_caps(struct ctl *c)
{
	struct doca_devinfo **list = NULL;
	struct lib l = {0};
	uint32_t n = 0;
	doca_error_t ret;

	lib_load(&l);
	ret = l.create_list(&list, &n);
	if (ret && ret != DOCA_ERROR_NOT_FOUND)
		die(EXIT_NONE, "no list of devices: %s", l.error_name(ret));
	if (c->json)
		caps_json(&l, list, n);
	else
		caps_text(&l, list, n);
	if (!n) {
		fprintf(stderr, "dpactl: this process sees no device: use dpa-run dpactl caps, "
				"or dpactl doctor\n");
		c->status = EXIT_NONE;
	}
	l.destroy_list(list);
}
