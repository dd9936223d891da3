/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* memory.c - control verbs of the device, of domains and of memory. */
#include "control/call.h"

/* --------------------------------------------------------------- the device */

int dpa_ctl_query_device_ex(struct ibv_context *context,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size)
{
	CALL(device_gone(context), dpa_query_device_ex(context, input, attr, attr_size));
}

int dpa_ctl_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	CALL(device_gone(context), dpa_query_port(context, port, attr));
}

/* Not supported (docs/conformance.md, "Flags that are not known"). */
#ifdef DPA_HAVE_PORT_SPEED
int dpa_ctl_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	CALL(0, EOPNOTSUPP);
}
#endif

#ifdef DPA_HAVE_COMP_CNTR
int dpa_ctl_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
				 size_t size)
{
	CALL(0, EOPNOTSUPP);
}
#endif

int dpa_ctl_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	CALL(device_gone(context), dpa_query_rt_values(context, values));
}

/* ------------------------------------------------------------------ domains */

struct ibv_pd *dpa_ctl_alloc_pd(struct ibv_context *context)
{
	MAKE(struct ibv_pd, context, 0, dpa_alloc_pd(context));
}

int dpa_ctl_dealloc_pd(struct ibv_pd *pd)
{
	END(pd, dpa_dealloc_pd(pd));
}

struct ibv_pd *dpa_ctl_import_pd(struct ibv_context *context, uint32_t handle)
{
	MAKE(struct ibv_pd, context, 0, dpa_import_pd(context, handle));
}

void dpa_ctl_unimport_pd(struct ibv_pd *pd)
{
	UNIMPORT(pd, dpa_unimport_pd(pd));
}

struct ibv_td *dpa_ctl_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	MAKE_BARE(struct ibv_td, context, 0, dpa_alloc_td(context, attr));
}

int dpa_ctl_dealloc_td(struct ibv_td *td)
{
	END_BARE(td, dpa_dealloc_td(td));
}

static int with_parent(struct ibv_context *c, const struct ibv_parent_domain_init_attr *attr)
{
	int ret = WITH(c, attr->pd);

	return ret ? ret : WITH_BARE(c, attr->td);
}

struct ibv_pd *dpa_ctl_alloc_parent_domain(struct ibv_context *context,
					   struct ibv_parent_domain_init_attr *attr)
{
	MAKE(struct ibv_pd, context, with_parent(context, attr),
	     dpa_alloc_parent_domain(context, attr));
}

struct ibv_xrcd *dpa_ctl_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	MAKE_BARE(struct ibv_xrcd, context, 0, dpa_open_xrcd(context, attr));
}

int dpa_ctl_close_xrcd(struct ibv_xrcd *xrcd)
{
	END_BARE(xrcd, dpa_close_xrcd(xrcd));
}

/* ------------------------------------------------------------------- memory */

struct ibv_mr *dpa_ctl_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			      int access)
{
	MAKE_ASKED(struct ibv_mr, pd->context, MAY_CALL_SIZED(ON(pd), length),
		   dpa_reg_mr(pd, addr, length, iova, access));
}

struct ibv_mr *dpa_ctl_reg_foreign_mr(struct ibv_pd *pd, const struct dpadv_foreign_mr *mr)
{
	MAKE(struct ibv_mr, pd->context, ON(pd), dpa_reg_foreign_mr(pd, mr));
}

struct ibv_mr *dpa_ctl_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				     uint64_t iova, int fd, int access)
{
	MAKE_ASKED(struct ibv_mr, pd->context, MAY_CALL_SIZED(ON(pd), length),
		   dpa_reg_dmabuf_mr(pd, offset, length, iova, fd, access));
}

static int with_dm(struct ibv_pd *pd, const struct ibv_dm *dm)
{
	int ret = ON(pd);

	return ret ? ret : WITH(pd->context, dm);
}

struct ibv_mr *dpa_ctl_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				 size_t length, unsigned int access)
{
	MAKE_ASKED(struct ibv_mr, pd->context, MAY_CALL_SIZED(with_dm(pd, dm), length),
		   dpa_reg_dm_mr(pd, dm, offset, length, access));
}

struct ibv_mr *dpa_ctl_alloc_null_mr(struct ibv_pd *pd)
{
	MAKE(struct ibv_mr, pd->context, ON(pd), dpa_alloc_null_mr(pd));
}

struct ibv_mr *dpa_ctl_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	MAKE(struct ibv_mr, pd->context, ON(pd), dpa_import_mr(pd, handle));
}

void dpa_ctl_unimport_mr(struct ibv_mr *mr)
{
	UNIMPORT(mr, dpa_unimport_mr(mr));
}

int dpa_ctl_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		      struct ibv_sge *sg, uint32_t n)
{
	CALL(ON(pd), dpa_advise_mr(pd, advice, flags, sg, n));
}

static int with_mr(const struct ibv_mr *mr, int flags, const struct ibv_pd *pd)
{
	int ret = ON(mr);

	return ret || !(flags & IBV_REREG_MR_CHANGE_PD) ? ret : WITH(mr->context, pd);
}

/* The handle may change. */
static int rereg_and_change(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr,
			    size_t length, int access)
{
	struct ibv_mr *mr = &vmr->ibv_mr;
	int ret = dpa_rereg_mr(vmr, flags, pd, addr, length, access);

	if (!ret)
		dpav_handles_change(call_handles(mr->context), mr, mr->handle);
	return ret;
}

int dpa_ctl_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		     int access)
{
	CALL_ASKED(MAY_CALL_SIZED(with_mr(&vmr->ibv_mr, flags, pd), length),
		   rereg_and_change(vmr, flags, pd, addr, length, access));
}

int dpa_ctl_dereg_mr(struct verbs_mr *vmr)
{
	END(&vmr->ibv_mr, dpa_dereg_mr(vmr));
}

struct ibv_mw *dpa_ctl_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	MAKE(struct ibv_mw, pd->context, ON(pd), dpa_alloc_mw(pd, type));
}

int dpa_ctl_dealloc_mw(struct ibv_mw *mw)
{
	END(mw, dpa_dealloc_mw(mw));
}

struct ibv_dm *dpa_ctl_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	MAKE_ASKED(struct ibv_dm, context, MAY_CALL_SIZED(0, attr->length),
		   dpa_alloc_dm(context, attr));
}

int dpa_ctl_free_dm(struct ibv_dm *dm)
{
	END(dm, dpa_free_dm(dm));
}

struct ibv_dm *dpa_ctl_import_dm(struct ibv_context *context, uint32_t handle)
{
	MAKE(struct ibv_dm, context, 0, dpa_import_dm(context, handle));
}

void dpa_ctl_unimport_dm(struct ibv_dm *dm)
{
	UNIMPORT(dm, dpa_unimport_dm(dm));
}
