/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * device.c - attributes of the device and its port. Limits are those that the code enforces:
 * dpa_hw.h.
 */
#include <string.h>
#include <time.h>
#include "dpa.h"
#include "discovery/discovery.h"

/* Bits of device_cap_flags_ex beyond those of device_cap_flags: the kernel's, which not all headers
 * of libibverbs name. */
#define CAP_EX_ATOMIC_WRITE (1ull << 40)
#ifdef DPA_HAVE_FLUSH
#define CAP_EX_FLUSH (1ull << 38) /* global; no memory is known to be persistent */
#else
#define CAP_EX_FLUSH 0
#endif

static void fill_attr_limits(const struct dpa_context *ctx, struct ibv_device_attr *a)
{
	a->max_mr_size = UINT64_MAX;
	a->page_size_cap = 0xfffffffffffff000ull;
	a->max_qp = (int)ctx->dev.max_qp;
	a->max_qp_wr = DPA_MAX_WR;
	a->max_sge = DPA_MAX_SGE;
	a->max_sge_rd = DPA_MAX_SGE;
	a->max_cq = (int)ctx->dev.max_cq;
	a->max_cqe = DPA_MAX_CQE;
	a->max_mw = (int)ctx->dev.max_mr;
	a->max_mr = (int)ctx->dev.max_mr;
	a->max_pd = (int)ctx->dev.max_pd;
	a->max_ah = (int)ctx->dev.max_ah;
	a->max_qp_rd_atom = DPA_MAX_RD_ATOMIC;
	a->max_qp_init_rd_atom = DPA_MAX_INIT_RD_ATOMIC;
	a->max_res_rd_atom = DPA_MAX_RD_ATOMIC * (int)ctx->dev.max_qp;
	a->max_srq = (int)ctx->dev.max_srq;
	a->max_srq_wr = DPA_MAX_WR;
	a->max_srq_sge = DPA_MAX_SGE;
	a->max_mcast_grp = DPA_MAX_MCAST;
	a->max_mcast_qp_attach = DPA_MAX_MCAST;
	a->max_total_mcast_qp_attach = DPA_MAX_MCAST;
	a->max_pkeys = 1;
}

static void fill_device(const struct dpa_context *ctx, struct ibv_device_attr *a)
{
	memcpy(a->fw_ver, ctx->dev.fw_ver, sizeof(a->fw_ver));
	a->fw_ver[sizeof(a->fw_ver) - 1] = 0;
	a->node_guid = ctx->dev.node_guid;
	a->sys_image_guid = ctx->dev.sys_image_guid;
	a->vendor_id = DPA_VENDOR_ID;
	a->vendor_part_id = DPA_VENDOR_PART_ID;
	a->hw_ver = DPA_HW_VERSION;
	a->device_cap_flags = DPA_DEVICE_CAPS;
	a->atomic_cap = IBV_ATOMIC_HCA;
	a->local_ca_ack_delay = 0;
	a->phys_port_cnt = DPA_PORTS;
	fill_attr_limits(ctx, a);
}

/* In software every region is pageable, for every kind of access. */
static void fill_odp(struct ibv_device_attr_ex *a)
{
	const uint32_t ud = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;

	a->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	a->odp_caps.per_transport_caps.ud_odp_caps = ud;
	a->odp_caps.per_transport_caps.uc_odp_caps = ud | IBV_ODP_SUPPORT_WRITE;
	a->odp_caps.per_transport_caps.rc_odp_caps =
		ud | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	a->xrc_odp_caps = a->odp_caps.per_transport_caps.rc_odp_caps;
}

/* raw_packet_caps stays 0: frames are not changed. */
static void fill_raw(struct ibv_device_attr_ex *a)
{
	a->orig_attr.max_raw_ethy_qp = a->orig_attr.max_qp;
	a->max_wq_type_rq = DPA_MAX_WQ;
	a->rss_caps.supported_qpts = 1 << IBV_QPT_RAW_PACKET;
	a->rss_caps.max_rwq_indirection_tables = DPA_MAX_IND;
	a->rss_caps.max_rwq_indirection_table_size = 1 << DPA_MAX_LOG_IND;
	a->rss_caps.rx_hash_fields_mask = DPA_RSS_FIELDS;
	a->rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
}

static void fill_tm(struct ibv_tm_caps *tm)
{
	tm->max_rndv_hdr_size = DPA_MAX_RNDV;
	tm->max_num_tags = DPA_MAX_TAGS;
	tm->flags = IBV_TM_CAP_RC;
	tm->max_ops = DPA_MAX_TAG_OPS;
	tm->max_sge = DPA_MAX_TAG_SGE;
}

int dpa_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex a;

	if ((input && input->comp_mask) || attr_size < sizeof(a.orig_attr))
		return EINVAL;
	memset(&a, 0, sizeof(a));
	fill_device(to_dpa_ctx(context), &a.orig_attr);
	a.device_cap_flags_ex = a.orig_attr.device_cap_flags | CAP_EX_ATOMIC_WRITE | CAP_EX_FLUSH;
	a.completion_timestamp_mask = UINT64_MAX;
	a.hca_core_clock = to_dpa_ctx(context)->dev.hca_core_clock_khz;
	a.phys_port_cnt_ex = DPA_PORTS;
	a.max_dm_size = DPA_MAX_DM;
	fill_odp(&a);
	fill_raw(&a);
	fill_tm(&a.tm_caps);
	a.packet_pacing_caps.qp_rate_limit_min = 1;
	a.packet_pacing_caps.qp_rate_limit_max = DPA_MAX_RATE_KBPS;
	a.packet_pacing_caps.supported_qpts = 1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD |
					      1 << IBV_QPT_XRC_SEND | 1 << IBV_QPT_RAW_PACKET;
	a.cq_mod_caps.max_cq_count = UINT16_MAX;
	a.cq_mod_caps.max_cq_period = UINT16_MAX;
	memset(attr, 0, attr_size);
	memcpy(attr, &a, attr_size < sizeof(a) ? attr_size : sizeof(a));
	return 0;
}

int dpa_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	struct dpa_hw_port_attr p;
	int ret;

	if (port != 1)
		return EINVAL;
	if (!dpa_alive(context))
		return EIO;
	ret = dpa_hw_query_port(to_dpa_ctx(context)->hw, &p);
	if (ret)
		return ret;
	attr->state = (enum ibv_port_state)p.state;
	attr->max_mtu = (enum ibv_mtu)p.max_mtu;
	attr->active_mtu = (enum ibv_mtu)p.active_mtu;
	attr->gid_tbl_len = (int)p.gid_tbl_len;
	attr->port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
	attr->max_msg_sz = DPA_MAX_MSG;
	attr->bad_pkey_cntr = p.bad_pkey_cntr;
	attr->qkey_viol_cntr = p.qkey_viol_cntr;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->active_width = p.active_width;
	attr->active_speed = p.active_speed;
	attr->phys_state = p.state == DPA_PORT_ACTIVE ? 5 : 3; /* LinkUp, Disabled */
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	attr->flags = IBV_QPF_GRH_REQUIRED;
	if (p.lid) {
		attr->lid = p.lid;
		attr->sm_lid = DPA_SM_LID;
		attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
		attr->flags = 0;
		attr->port_cap_flags &= ~(uint32_t)IBV_PORT_IP_BASED_GIDS;
	}
	return 0;
}

/* The raw clock is that of CQE timestamps. */
int dpa_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK &&
	    clock_gettime(CLOCK_MONOTONIC, &values->raw_clock))
		return errno;
	return 0;
}

static_assert((int)DPA_PORT_DOWN == (int)IBV_PORT_DOWN, "port state");
static_assert((int)DPA_PORT_ACTIVE == (int)IBV_PORT_ACTIVE, "port state");
static_assert((int)DPA_GID_ROCE_V2 == (int)IBV_GID_TYPE_ROCE_V2, "gid type");
