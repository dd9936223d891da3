/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_stale.c - every call with each of its objects destroyed, and with one of another type: each
 * is refused by the documented error, and not read (a sanitizer would report it).
 */
#define DPA_DOCA_API 210 /* doca_rdma_bridge_accept() of 3.3 is called by its own name */
#include "host.h"
#include <doca_argp.h>
#include <doca_buf.h>
#include <doca_buf_array.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <doca_rdma.h>
#include <doca_rdma_bridge.h>
#include <doca_sync_event.h>

struct objects {
	struct doca_dev *dev;
	struct doca_devinfo *devinfo;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	struct doca_dpa_tg *group;
	struct doca_dpa_completion *comp;
	struct doca_dpa_async_ops *async;
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_eu_affinity *affinity;
	struct doca_dpa_hash_table *table;
	struct dpa_qp *qp;
	struct doca_mmap *mmap;
	struct doca_buf_arr *arr;
	struct doca_buf_inventory *inventory;
	struct doca_buf *buf;
	struct doca_sync_event *event;
	struct doca_sync_event_remote_net *remote;
	struct doca_rdma *rdma;
	struct doca_rdma_connection *conn; /* the fake device makes none */
	struct doca_rdma_addr *addr;
	struct doca_ctx *ctx; /* of rdma */
	struct doca_pe *pe;
};

static struct objects live, dead;
static _Alignas(64) char memory[4096];
static void *out;
static doca_dpa_func_t *func;
static union doca_data data;

static void call(void)
{
}

static void ask_doca_dev(void)
{
	IS(doca_dev_open(dead.devinfo, out), INVALID_VALUE);
	IS(doca_dev_close(dead.dev), INVALID_VALUE);
	cr_assert_null(doca_dev_as_devinfo(dead.dev));
	IS(doca_devinfo_get_ibdev_name(dead.devinfo, out, 256), INVALID_VALUE);
	IS(doca_devinfo_get_pci_addr_str(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_is_equal_pci_addr(dead.devinfo, out, out), INVALID_VALUE);
	IS(doca_devinfo_get_ipv4_addr(dead.devinfo, out, 256), INVALID_VALUE);
	IS(doca_devinfo_get_ipv6_addr(dead.devinfo, out, 256), INVALID_VALUE);
	IS(doca_devinfo_get_mac_addr(dead.devinfo, out, 256), INVALID_VALUE);
	IS(doca_devinfo_get_iface_name(dead.devinfo, out, 256), INVALID_VALUE);
	IS(doca_devinfo_get_lid(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_get_active_rate(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_cap_is_hotplug_manager_supported(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_cap_is_notification_moderation_supported(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_cap_is_accelerate_resource_reclaim_supported(dead.devinfo, out),
	   INVALID_VALUE);
	IS(doca_dev_accelerate_resource_reclaim(dead.dev), INVALID_VALUE);
	IS(doca_devinfo_get_pci_func_type(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_get_sf_index(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_get_vhca_id(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_rep_cap_is_filter_all_supported(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_rep_cap_is_filter_net_supported(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_rep_cap_is_filter_emulated_supported(dead.devinfo, out), INVALID_VALUE);
	IS(doca_devinfo_rep_create_list(dead.dev, 0, out, out), INVALID_VALUE);
}

static void ask_doca_dpa(void)
{
	IS(doca_dpa_cap_is_supported(dead.devinfo), INVALID_VALUE);
	IS(doca_dpa_create(dead.dev, out), INVALID_VALUE);
	IS(doca_dpa_destroy(dead.dpa), INVALID_VALUE);
	IS(doca_dpa_start(dead.dpa), INVALID_VALUE);
	IS(doca_dpa_stop(dead.dpa), INVALID_VALUE);
	IS(doca_dpa_set_app(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_get_app(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_set_log_level(dead.dpa, 1), INVALID_VALUE);
	IS(doca_dpa_get_log_level(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_log_file_set_path(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_log_file_get_path(dead.dpa, out, out), INVALID_VALUE);
	IS(doca_dpa_trace_file_set_path(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_trace_file_get_path(dead.dpa, out, out), INVALID_VALUE);
	IS(doca_dpa_device_extend(dead.dpa, live.dev, out), INVALID_VALUE);
	IS(doca_dpa_device_extend(live.dpa, dead.dev, out), INVALID_VALUE);
	IS(doca_dpa_get_dpa_handle(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_peek_at_last_error(dead.dpa), INVALID_VALUE);
	IS(doca_dpa_rpc(dead.dpa, func, out), INVALID_VALUE);
	IS(doca_dpa_kernel_launch_update_set(dead.dpa, live.event, 1, live.event, 1, 1, func),
	   INVALID_VALUE);
	IS(doca_dpa_kernel_launch_update_set(live.dpa, dead.event, 1, live.event, 1, 1, func),
	   INVALID_VALUE);
	IS(doca_dpa_kernel_launch_update_set(live.dpa, live.event, 1, dead.event, 1, 1, func),
	   INVALID_VALUE);
	IS(doca_dpa_kernel_launch_update_add(dead.dpa, live.event, 1, live.event, 1, 1, func),
	   INVALID_VALUE);
	IS(doca_dpa_kernel_launch_update_add(live.dpa, dead.event, 1, live.event, 1, 1, func),
	   INVALID_VALUE);
	IS(doca_dpa_kernel_launch_update_add(live.dpa, live.event, 1, dead.event, 1, 1, func),
	   INVALID_VALUE);
	IS(doca_dpa_get_max_threads_per_kernel(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_get_kernel_max_run_time(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_get_core_num(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_get_num_eus_per_core(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_get_total_num_eus_available(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_create(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_destroy(dead.affinity), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_set(dead.affinity, 1), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_clear(dead.affinity), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_get(dead.affinity, out), INVALID_VALUE);
	IS(doca_dpa_mem_alloc(dead.dpa, 256, out), INVALID_VALUE);
	IS(doca_dpa_mem_free(dead.dpa, 1), DRIVER);
	IS(doca_dpa_h2d_memcpy(dead.dpa, 1, out, 256), INVALID_VALUE);
	IS(doca_dpa_d2h_memcpy(dead.dpa, out, 1, 256), INVALID_VALUE);
	IS(doca_dpa_h2d_buf_memcpy(dead.dpa, 1, live.buf, 256), INVALID_VALUE);
	IS(doca_dpa_h2d_buf_memcpy(live.dpa, 1, dead.buf, 256), INVALID_VALUE);
	IS(doca_dpa_d2h_buf_memcpy(dead.dpa, live.buf, 1, 256), INVALID_VALUE);
	IS(doca_dpa_d2h_buf_memcpy(live.dpa, dead.buf, 1, 256), INVALID_VALUE);
	IS(doca_dpa_memset(dead.dpa, 1, 1, 256), INVALID_VALUE);
	IS(doca_dpa_thread_create(dead.dpa, out), INVALID_VALUE);
	IS(doca_dpa_thread_destroy(dead.thread), INVALID_VALUE);
	IS(doca_dpa_thread_set_func_arg(dead.thread, func, 1), INVALID_VALUE);
	IS(doca_dpa_thread_get_func_arg(dead.thread, out, out), INVALID_VALUE);
	IS(doca_dpa_thread_set_local_storage(dead.thread, 1), INVALID_VALUE);
	IS(doca_dpa_thread_get_local_storage(dead.thread, out), INVALID_VALUE);
	IS(doca_dpa_thread_set_affinity(dead.thread, live.affinity), INVALID_VALUE);
	IS(doca_dpa_thread_set_affinity(live.thread, dead.affinity), INVALID_VALUE);
	IS(doca_dpa_thread_get_affinity(dead.thread, out), INVALID_VALUE);
	IS(doca_dpa_thread_start(dead.thread), INVALID_VALUE);
	IS(doca_dpa_thread_stop(dead.thread), INVALID_VALUE);
	IS(doca_dpa_thread_run(dead.thread), INVALID_VALUE);
	IS(doca_dpa_thread_group_create(dead.dpa, 1, out), INVALID_VALUE);
	IS(doca_dpa_thread_group_destroy(dead.group), INVALID_VALUE);
	IS(doca_dpa_thread_group_get_num_threads(dead.group, out), INVALID_VALUE);
	IS(doca_dpa_thread_group_set_thread(dead.group, live.thread, 1), INVALID_VALUE);
	IS(doca_dpa_thread_group_set_thread(live.group, dead.thread, 1), INVALID_VALUE);
	IS(doca_dpa_thread_group_start(dead.group), INVALID_VALUE);
	IS(doca_dpa_thread_group_stop(dead.group), INVALID_VALUE);
	IS(doca_dpa_completion_create(dead.dpa, 256, out), INVALID_VALUE);
	IS(doca_dpa_completion_destroy(dead.comp), INVALID_VALUE);
	IS(doca_dpa_completion_get_queue_size(dead.comp, out), INVALID_VALUE);
	IS(doca_dpa_completion_set_thread(dead.comp, live.thread), INVALID_VALUE);
	IS(doca_dpa_completion_set_thread(live.comp, dead.thread), INVALID_VALUE);
	IS(doca_dpa_completion_get_thread(dead.comp, out), INVALID_VALUE);
	IS(doca_dpa_completion_start(dead.comp), INVALID_VALUE);
	IS(doca_dpa_completion_stop(dead.comp), INVALID_VALUE);
	IS(doca_dpa_completion_get_dpa_handle(dead.comp, out), INVALID_VALUE);
	IS(doca_dpa_notification_completion_create(dead.dpa, live.thread, out), INVALID_VALUE);
	IS(doca_dpa_notification_completion_create(live.dpa, dead.thread, out), INVALID_VALUE);
	IS(doca_dpa_notification_completion_destroy(dead.notify), INVALID_VALUE);
	IS(doca_dpa_notification_completion_get_thread(dead.notify, out), INVALID_VALUE);
	IS(doca_dpa_notification_completion_start(dead.notify), INVALID_VALUE);
	IS(doca_dpa_notification_completion_stop(dead.notify), INVALID_VALUE);
	IS(doca_dpa_notification_completion_get_dpa_handle(dead.notify, out), INVALID_VALUE);
	IS(doca_dpa_async_ops_create(dead.dpa, 256, 1, out), INVALID_VALUE);
	IS(doca_dpa_async_ops_destroy(dead.async), INVALID_VALUE);
	IS(doca_dpa_async_ops_get_queue_size(dead.async, out), INVALID_VALUE);
	IS(doca_dpa_async_ops_get_user_data(dead.async, out), INVALID_VALUE);
	IS(doca_dpa_async_ops_attach(dead.async, live.comp), INVALID_VALUE);
	IS(doca_dpa_async_ops_attach(live.async, dead.comp), INVALID_VALUE);
	IS(doca_dpa_async_ops_start(dead.async), INVALID_VALUE);
	IS(doca_dpa_async_ops_stop(dead.async), INVALID_VALUE);
	IS(doca_dpa_async_ops_get_dpa_handle(dead.async, out), INVALID_VALUE);
	IS(doca_dpa_hash_table_create(dead.dpa, 1, out), INVALID_VALUE);
	IS(doca_dpa_hash_table_destroy(dead.table), INVALID_VALUE);
	IS(doca_dpa_hash_table_get_dpa_handle(dead.table, out), INVALID_VALUE);
}

static void ask_doca_ctx(void)
{
	IS(doca_ctx_start(dead.ctx), INVALID_VALUE);
	IS(doca_ctx_stop(dead.ctx), INVALID_VALUE);
	IS(doca_ctx_get_num_inflight_tasks(dead.ctx, out), INVALID_VALUE);
	IS(doca_ctx_set_user_data(dead.ctx, data), INVALID_VALUE);
	IS(doca_ctx_get_user_data(dead.ctx, out), INVALID_VALUE);
	IS(doca_ctx_set_state_changed_cb(dead.ctx, (void *)call), INVALID_VALUE);
	IS(doca_ctx_get_state(dead.ctx, out), INVALID_VALUE);
	doca_ctx_flush_tasks(dead.ctx);
	IS(doca_ctx_set_datapath_on_dpa(dead.ctx, live.dpa), INVALID_VALUE);
	IS(doca_ctx_set_datapath_on_dpa(live.ctx, dead.dpa), INVALID_VALUE);
	IS(doca_ctx_set_completion_vector(dead.ctx, 1), INVALID_VALUE);
	IS(doca_ctx_cap_get_num_completion_vectors(dead.devinfo, out), INVALID_VALUE);
}

static void ask_doca_mmap(void)
{
	IS(doca_mmap_destroy(dead.mmap), INVALID_VALUE);
	IS(doca_mmap_start(dead.mmap), INVALID_VALUE);
	IS(doca_mmap_stop(dead.mmap), INVALID_VALUE);
	IS(doca_mmap_add_dev(dead.mmap, live.dev), INVALID_VALUE);
	IS(doca_mmap_add_dev(live.mmap, dead.dev), INVALID_VALUE);
	IS(doca_mmap_rm_dev(dead.mmap, live.dev), INVALID_VALUE);
	IS(doca_mmap_rm_dev(live.mmap, dead.dev), INVALID_VALUE);
	IS(doca_mmap_export_pci(dead.mmap, live.dev, out, out), INVALID_VALUE);
	IS(doca_mmap_export_pci(live.mmap, dead.dev, out, out), INVALID_VALUE);
	IS(doca_mmap_export_rdma(dead.mmap, live.dev, out, out), INVALID_VALUE);
	IS(doca_mmap_export_rdma(live.mmap, dead.dev, out, out), INVALID_VALUE);
	IS(doca_mmap_dev_get_dpa_handle(dead.mmap, live.dev, out), INVALID_VALUE);
	IS(doca_mmap_dev_get_dpa_handle(live.mmap, dead.dev, out), INVALID_VALUE);
	IS(doca_mmap_create_from_export(out, out, 256, dead.dev, out), INVALID_VALUE);
	IS(doca_mmap_set_memrange(dead.mmap, out, 256), INVALID_VALUE);
	IS(doca_mmap_set_dmabuf_memrange(dead.mmap, 1, out, 256, 256), INVALID_VALUE);
	IS(doca_mmap_set_dpa_memrange(dead.mmap, live.dpa, 1, 256), INVALID_VALUE);
	IS(doca_mmap_set_dpa_memrange(live.mmap, dead.dpa, 1, 256), INVALID_VALUE);
	IS(doca_mmap_get_memrange(dead.mmap, out, out), INVALID_VALUE);
	IS(doca_mmap_set_free_cb(dead.mmap, (void *)call, out), INVALID_VALUE);
	IS(doca_mmap_set_permissions(dead.mmap, 1), INVALID_VALUE);
	IS(doca_mmap_set_max_num_devices(dead.mmap, 1), INVALID_VALUE);
	IS(doca_mmap_get_max_num_devices(dead.mmap, out), INVALID_VALUE);
	IS(doca_mmap_set_user_data(dead.mmap, data), INVALID_VALUE);
	IS(doca_mmap_get_user_data(dead.mmap, out), INVALID_VALUE);
	IS(doca_mmap_get_num_bufs(dead.mmap, out), INVALID_VALUE);
	IS(doca_mmap_get_exported(dead.mmap, out), INVALID_VALUE);
	IS(doca_mmap_get_from_export(dead.mmap, out), INVALID_VALUE);
	IS(doca_mmap_enable_thread_safety(dead.mmap), INVALID_VALUE);
	IS(doca_mmap_cap_is_export_pci_supported(dead.devinfo, out), INVALID_VALUE);
	IS(doca_mmap_cap_is_create_from_export_pci_supported(dead.devinfo, out), INVALID_VALUE);
}

static void ask_doca_buf(void)
{
	IS(doca_buf_inc_refcount(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_dec_refcount(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_get_refcount(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_get_len(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_get_head(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_get_data_len(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_get_data(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_set_data(dead.buf, out, 256), INVALID_VALUE);
	IS(doca_buf_set_data_len(dead.buf, 256), INVALID_VALUE);
	IS(doca_buf_reset_data_len(dead.buf), INVALID_VALUE);
	IS(doca_buf_get_next_in_list(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_get_last_in_list(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_is_last_in_list(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_is_first_in_list(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_is_in_list(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_get_list_len(dead.buf, out), INVALID_VALUE);
	IS(doca_buf_chain_list(dead.buf, live.buf), INVALID_VALUE);
	IS(doca_buf_chain_list(live.buf, dead.buf), INVALID_VALUE);
	IS(doca_buf_chain_list_tail(dead.buf, live.buf, live.buf), INVALID_VALUE);
	IS(doca_buf_chain_list_tail(live.buf, dead.buf, live.buf), INVALID_VALUE);
	IS(doca_buf_chain_list_tail(live.buf, live.buf, dead.buf), INVALID_VALUE);
	IS(doca_buf_unchain_list(dead.buf, live.buf), INVALID_VALUE);
	IS(doca_buf_unchain_list(live.buf, dead.buf), INVALID_VALUE);
}

static void ask_doca_buf_array(void)
{
	IS(doca_buf_arr_set_target_dpa(dead.arr, live.dpa), INVALID_VALUE);
	IS(doca_buf_arr_set_target_dpa(live.arr, dead.dpa), INVALID_VALUE);
	IS(doca_buf_arr_set_params(dead.arr, live.mmap, 256, 1), INVALID_VALUE);
	IS(doca_buf_arr_set_params(live.arr, dead.mmap, 256, 1), INVALID_VALUE);
	IS(doca_buf_arr_start(dead.arr), INVALID_VALUE);
	IS(doca_buf_arr_stop(dead.arr), INVALID_VALUE);
	IS(doca_buf_arr_destroy(dead.arr), INVALID_VALUE);
	IS(doca_buf_arr_get_dpa_handle(dead.arr, out), INVALID_VALUE);
}

static void ask_doca_buf_inventory(void)
{
	IS(doca_buf_inventory_destroy(dead.inventory), INVALID_VALUE);
	IS(doca_buf_inventory_start(dead.inventory), INVALID_VALUE);
	IS(doca_buf_inventory_stop(dead.inventory), INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(dead.inventory, live.mmap, out, 256, out, 256, out),
	   INVALID_VALUE);
	IS(doca_buf_inventory_buf_get_by_args(live.inventory, dead.mmap, out, 256, out, 256, out),
	   INVALID_VALUE);
	IS(doca_buf_inventory_buf_dup(dead.inventory, live.buf, out), INVALID_VALUE);
	IS(doca_buf_inventory_buf_dup(live.inventory, dead.buf, out), INVALID_VALUE);
	IS(doca_buf_inventory_set_user_data(dead.inventory, data), INVALID_VALUE);
	IS(doca_buf_inventory_get_user_data(dead.inventory, out), INVALID_VALUE);
	IS(doca_buf_inventory_get_num_elements(dead.inventory, out), INVALID_VALUE);
	IS(doca_buf_inventory_get_num_free_elements(dead.inventory, out), INVALID_VALUE);
	IS(doca_buf_inventory_expand(dead.inventory, 1), INVALID_VALUE);
}

static void ask_doca_pe(void)
{
	IS(doca_pe_destroy(dead.pe), INVALID_VALUE);
	cr_assert_eq(doca_pe_progress(dead.pe), 0);
	IS(doca_pe_connect_ctx(dead.pe, live.ctx), INVALID_VALUE);
	IS(doca_pe_connect_ctx(live.pe, dead.ctx), INVALID_VALUE);
	IS(doca_pe_get_notification_handle(dead.pe, out), INVALID_VALUE);
	IS(doca_pe_set_notification_handle(dead.pe, 1, data), INVALID_VALUE);
	IS(doca_pe_clear_notification(dead.pe, 1), INVALID_VALUE);
	IS(doca_pe_request_notification(dead.pe), INVALID_VALUE);
	IS(doca_pe_get_num_inflight_tasks(dead.pe, out), INVALID_VALUE);
	IS(doca_pe_set_event_mode(dead.pe, 1), INVALID_VALUE);
}

static void ask_doca_rdma(void)
{
	IS(doca_rdma_create(dead.dev, out), INVALID_VALUE);
	IS(doca_rdma_destroy(dead.rdma), INVALID_VALUE);
	cr_assert_null(doca_rdma_as_ctx(dead.rdma));
	IS(doca_rdma_dpa_completion_attach(dead.rdma, live.comp), INVALID_VALUE);
	IS(doca_rdma_dpa_completion_attach(live.rdma, dead.comp), INVALID_VALUE);
	IS(doca_rdma_get_dpa_handle(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_get_gpu_handle(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_export(dead.rdma, out, out, out), INVALID_VALUE);
	IS(doca_rdma_connect(dead.rdma, out, 256, live.conn), INVALID_VALUE);
	IS(doca_rdma_connect(live.rdma, out, 256, dead.conn), BAD_STATE); /* not started */
	IS(doca_rdma_connection_get_id(dead.conn, out), INVALID_VALUE);
	IS(doca_rdma_connection_set_user_data(dead.conn, data), INVALID_VALUE);
	IS(doca_rdma_connection_get_user_data(dead.conn, out), INVALID_VALUE);
	IS(doca_rdma_set_connection_state_callbacks(dead.rdma, (void *)call, (void *)call,
						    (void *)call, (void *)call),
	   INVALID_VALUE);
	IS(doca_rdma_addr_destroy(dead.addr), INVALID_VALUE);
	IS(doca_rdma_addr_get_params(dead.addr, out, out, out), INVALID_VALUE);
	IS(doca_rdma_start_listen_to_port(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_stop_listen_to_port(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_connect_to_addr(dead.rdma, live.addr, data), INVALID_VALUE);
	IS(doca_rdma_connect_to_addr(live.rdma, dead.addr, data), INVALID_VALUE);
	IS(doca_rdma_connection_accept(dead.conn, out, 255), INVALID_VALUE);
	IS(doca_rdma_connection_reject(dead.conn), INVALID_VALUE);
	IS(doca_rdma_connection_disconnect(dead.conn), INVALID_VALUE);
	IS(doca_rdma_connection_get_addr(dead.conn, out), INVALID_VALUE);
	IS(doca_rdma_bridge_accept(dead.rdma, out, out, 255, out), INVALID_VALUE);
	IS(doca_rdma_bridge_prepare_connection(dead.rdma, out, out), INVALID_VALUE);
	IS(doca_rdma_bridge_accept_303(dead.rdma, out, 1, live.conn), INVALID_VALUE);
	IS(doca_rdma_bridge_accept_303(live.rdma, out, 1, dead.conn), INVALID_VALUE);
	IS(doca_rdma_bridge_established(dead.rdma, live.conn), INVALID_VALUE);
	IS(doca_rdma_bridge_established(live.rdma, dead.conn), INVALID_VALUE);
	IS(doca_rdma_set_send_queue_size(dead.rdma, 256), INVALID_VALUE);
	IS(doca_rdma_set_recv_queue_size(dead.rdma, 256), INVALID_VALUE);
	IS(doca_rdma_get_send_queue_size(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_get_recv_queue_size(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_max_send_buf_list_len(dead.rdma, 256), INVALID_VALUE);
	IS(doca_rdma_get_max_send_buf_list_len(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_task_receive_set_dst_buf_list_len(dead.rdma, 256), INVALID_VALUE);
	IS(doca_rdma_task_receive_get_dst_buf_list_len(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_transport_type(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_get_transport_type(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_mtu(dead.rdma, 256), INVALID_VALUE);
	IS(doca_rdma_get_mtu(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_permissions(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_get_permissions(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_grh_enabled(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_get_grh_enabled(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_gid_index(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_get_gid_index(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_sl(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_get_sl(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_max_num_connections(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_get_max_num_connections(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_rnr_retry_count(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_get_rnr_retry_count(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_set_connection_request_timeout(dead.rdma, 1), INVALID_VALUE);
	IS(doca_rdma_get_connection_request_timeout(dead.rdma, out), INVALID_VALUE);
	IS(doca_rdma_cap_get_max_recv_queue_size(dead.devinfo, out), INVALID_VALUE);
	IS(doca_rdma_cap_get_max_send_queue_size(dead.devinfo, out), INVALID_VALUE);
	IS(doca_rdma_cap_get_max_send_buf_list_len(dead.devinfo, out), INVALID_VALUE);
	IS(doca_rdma_cap_get_max_message_size(dead.devinfo, out), INVALID_VALUE);
	IS(doca_rdma_cap_get_gid_table_size(dead.devinfo, out), INVALID_VALUE);
	IS(doca_rdma_cap_get_gid(dead.devinfo, 1, 1, out), INVALID_VALUE);
	IS(doca_rdma_cap_transport_type_is_supported(dead.devinfo, 1), INVALID_VALUE);
}

static void ask_doca_rdma_bridge(void)
{
	IS(doca_rdma_bridge_get_dev_pd(dead.dev, out), INVALID_VALUE);
	IS(doca_rdma_bridge_get_buf_mkey(dead.buf, live.dev, out), INVALID_VALUE);
	IS(doca_rdma_bridge_get_buf_mkey(live.buf, dead.dev, out), INVALID_VALUE);
	IS(doca_rdma_bridge_get_mmap_mkey_from_pd(dead.mmap, out, out), INVALID_VALUE);
}

static void ask_doca_sync_event(void)
{
	IS(doca_sync_event_destroy(dead.event), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_cpu(dead.event, live.dev), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_cpu(live.event, dead.dev), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_dpa(dead.event, live.dpa), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_dpa(live.event, dead.dpa), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_remote_net(dead.event), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_remote_pci(dead.event), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_remote_pci(dead.event), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_cpu(dead.event, live.dev), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_cpu(live.event, dead.dev), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_dpa(dead.event, live.dpa), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_dpa(live.event, dead.dpa), INVALID_VALUE);
	IS(doca_sync_event_set_addr(dead.event, out), INVALID_VALUE);
	IS(doca_sync_event_set_doca_buf(dead.event, live.buf), INVALID_VALUE);
	IS(doca_sync_event_set_doca_buf(live.event, dead.buf), INVALID_VALUE);
	IS(doca_sync_event_start(dead.event), INVALID_VALUE);
	IS(doca_sync_event_stop(dead.event), INVALID_VALUE);
	IS(doca_sync_event_get_dpa_handle(dead.event, live.dpa, out), INVALID_VALUE);
	IS(doca_sync_event_get_dpa_handle(live.event, dead.dpa, out), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_net(dead.event, out, out), INVALID_VALUE);
	IS(doca_sync_event_remote_net_create_from_export(dead.dev, out, 256, out), INVALID_VALUE);
	IS(doca_sync_event_remote_net_destroy(dead.remote), INVALID_VALUE);
	IS(doca_sync_event_remote_net_get_dpa_handle(dead.remote, live.dpa, out), INVALID_VALUE);
	IS(doca_sync_event_remote_net_get_dpa_handle(live.remote, dead.dpa, out), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_pci(dead.event, live.dev, out, out), INVALID_VALUE);
	IS(doca_sync_event_export_to_remote_pci(live.event, dead.dev, out, out), INVALID_VALUE);
	IS(doca_sync_event_create_from_export(dead.dev, out, 256, out), INVALID_VALUE);
	IS(doca_sync_event_cap_is_export_to_dpa_supported(dead.devinfo), INVALID_VALUE);
	IS(doca_sync_event_cap_is_export_to_remote_pci_supported(dead.devinfo), INVALID_VALUE);
	IS(doca_sync_event_cap_is_create_from_export_supported(dead.devinfo), INVALID_VALUE);
	IS(doca_sync_event_cap_is_export_to_remote_net_supported(dead.devinfo), INVALID_VALUE);
	IS(doca_sync_event_cap_remote_net_is_create_from_export_supported(dead.devinfo),
	   INVALID_VALUE);
	IS(doca_sync_event_cap_remote_net_is_export_to_dpa_supported(dead.devinfo), INVALID_VALUE);
	IS(doca_sync_event_get(dead.event, out), INVALID_VALUE);
	IS(doca_sync_event_update_add(dead.event, 1, out), INVALID_VALUE);
	IS(doca_sync_event_update_set(dead.event, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_gt(dead.event, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_gt_yield(dead.event, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_eq(dead.event, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_eq_yield(dead.event, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_neq(dead.event, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_neq_yield(dead.event, 1, 1), INVALID_VALUE);
	cr_assert_null(doca_sync_event_as_ctx(dead.event));
}

static void ask_dpa_dpa_native(void)
{
	IS(dpa_dev_get_ibv_context(dead.dev, out), INVALID_VALUE);
	IS(dpa_completion_get_ibv_cq(dead.comp, out), INVALID_VALUE);
	IS(dpa_qp_export(dead.dpa, out, out), INVALID_VALUE);
	IS(dpa_qp_unexport(dead.qp), INVALID_VALUE);
	IS(dpa_qp_get_dpa_handle(dead.qp, out), INVALID_VALUE);
	IS(dpa_thread_wait(dead.thread, 1), INVALID_VALUE);
}

static void ask_all(void)
{
	static char answers[4096];

	out = answers;
	func = call;
	ask_doca_dev();
	ask_doca_dpa();
	ask_doca_ctx();
	ask_doca_mmap();
	ask_doca_buf();
	ask_doca_buf_array();
	ask_doca_buf_inventory();
	ask_doca_pe();
	ask_doca_rdma();
	ask_doca_rdma_bridge();
	ask_doca_sync_event();
	ask_dpa_dpa_native();
	/* objects that were passed as well are unchanged */
	OK(doca_dpa_peek_at_last_error(live.dpa));
}

static void make(struct objects *o)
{
	struct ibv_context *ctx;
	const uint8_t *blob;
	size_t size;

	o->dev = open_dpa0();
	OK(doca_dpa_create(o->dev, &o->dpa));
	OK(doca_dpa_set_app(o->dpa, test_app));
	OK(doca_dpa_start(o->dpa));
	OK(doca_dpa_thread_create(o->dpa, &o->thread));
	OK(doca_dpa_thread_group_create(o->dpa, 2, &o->group));
	OK(doca_dpa_completion_create(o->dpa, 4, &o->comp));
	OK(doca_dpa_async_ops_create(o->dpa, 4, 0, &o->async));
	OK(doca_dpa_notification_completion_create(o->dpa, o->thread, &o->notify));
	OK(doca_dpa_eu_affinity_create(o->dpa, &o->affinity));
	OK(doca_dpa_hash_table_create(o->dpa, 4, &o->table));
	OK(dpa_dev_get_ibv_context(o->dev, &ctx));
	OK(dpa_qp_export(o->dpa, fake_qp(ctx), &o->qp));
	OK(doca_mmap_create(&o->mmap));
	OK(doca_mmap_set_memrange(o->mmap, memory, sizeof(memory)));
	OK(doca_mmap_add_dev(o->mmap, o->dev));
	OK(doca_mmap_start(o->mmap));
	OK(doca_buf_arr_create(4, &o->arr));
	OK(doca_buf_inventory_create(4, &o->inventory));
	OK(doca_buf_inventory_start(o->inventory));
	OK(doca_buf_inventory_buf_get_by_addr(o->inventory, o->mmap, memory, 64, &o->buf));
	OK(doca_sync_event_create(&o->event));
	OK(doca_sync_event_add_publisher_location_remote_net(o->event));
	OK(doca_sync_event_add_publisher_location_dpa(o->event, o->dpa));
	OK(doca_sync_event_add_subscriber_location_cpu(o->event, o->dev));
	OK(doca_sync_event_start(o->event));
	OK(doca_sync_event_export_to_remote_net(o->event, &blob, &size));
	OK(doca_sync_event_remote_net_create_from_export(o->dev, blob, size, &o->remote));
	OK(doca_rdma_create(o->dev, &o->rdma));
	o->ctx = doca_rdma_as_ctx(o->rdma);
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv6, "::1", 1, &o->addr));
	OK(doca_pe_create(&o->pe));
	o->devinfo = doca_dev_as_devinfo(o->dev);
}

static void unmake(struct objects *o)
{
	OK(doca_pe_destroy(o->pe));
	OK(doca_rdma_addr_destroy(o->addr));
	OK(doca_rdma_destroy(o->rdma));
	OK(doca_sync_event_remote_net_destroy(o->remote));
	OK(doca_sync_event_destroy(o->event));
	OK(doca_buf_dec_refcount(o->buf, NULL));
	OK(doca_buf_inventory_destroy(o->inventory));
	OK(doca_buf_arr_destroy(o->arr));
	OK(doca_mmap_destroy(o->mmap));
	OK(dpa_qp_unexport(o->qp));
	OK(doca_dpa_hash_table_destroy(o->table));
	OK(doca_dpa_eu_affinity_destroy(o->affinity));
	OK(doca_dpa_notification_completion_destroy(o->notify));
	OK(doca_dpa_async_ops_destroy(o->async));
	OK(doca_dpa_completion_destroy(o->comp));
	OK(doca_dpa_thread_group_destroy(o->group));
	OK(doca_dpa_thread_destroy(o->thread));
	OK(doca_dpa_destroy(o->dpa));
	OK(doca_dev_close(o->dev));
}

Test(libdpa_stale, destroyed)
{
	make(&dead);
	unmake(&dead);
	dead.conn = (void *)dead.rdma;
	make(&live);
	ask_all();
	unmake(&live);
	cr_assert_eq(fake_opens(), 0);
	cr_assert_eq(fake_mrs(), 0);
}

static void fill(struct objects *o, void *p)
{
	void **member = (void **)o;

	for (size_t i = 0; i < sizeof(*o) / sizeof(*member); i++)
		member[i] = p;
}

/* An engine in place of another object, and a map in place of an engine. */
Test(libdpa_stale, of_another_type)
{
	make(&live);
	fill(&dead, live.pe);
	dead.pe = (void *)live.mmap;
	ask_all();
	unmake(&live);
}

/* Memory that is no object, and unreadable memory. */
Test(libdpa_stale, of_nobody)
{
	make(&live);
	fill(&dead, memory);
	ask_all();
	fill(&dead, (void *)16);
	ask_all();
	unmake(&live);
}
