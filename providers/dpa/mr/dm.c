/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dm.c - device memory. The device's interface copies words: offsets and lengths are multiples of
 * 4. In a forked child new device memory is private to the child, because no QP of its own can
 * reach it; that of its parent is not available.
 */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

#define DM_WORD 4u

struct dpa_dm {
	struct verbs_dm vdm;
	uint8_t *mem;
	uint64_t length;
	bool local; /* created in a forked child */
};

static struct dpa_dm *to_dpa_dm(struct ibv_dm *dm)
{
	return (struct dpa_dm *)dm;
}

static int dm_check(const struct dpa_dm *dm, uint64_t offset, uint64_t length)
{
	if (!dm->local && !dpa_alive(dm->vdm.dm.context))
		return EIO;
	if (offset % DM_WORD || length % DM_WORD || offset > dm->length ||
	    length > dm->length - offset)
		return EINVAL;
	return 0;
}

static int copy_to_dm(struct ibv_dm *ibdm, uint64_t offset, const void *from, size_t length)
{
	struct dpa_dm *dm = to_dpa_dm(ibdm);
	int ret = dm_check(dm, offset, length);

	if (!ret)
		memcpy(dm->mem + offset, from, length);
	return ret;
}

static int copy_from(void *to, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	struct dpa_dm *dm = to_dpa_dm(ibdm);
	int ret = dm_check(dm, offset, length);

	if (!ret)
		memcpy(to, dm->mem + offset, length);
	return ret;
}

static struct dpa_dm *dm_new(struct ibv_context *context, uint64_t length)
{
	struct dpa_dm *dm = calloc(1, sizeof(*dm));

	if (!dm)
		return NULL;
	dm->length = length;
	dm->vdm.dm.context = context;
	dm->vdm.dm.memcpy_to_dm = copy_to_dm;
	dm->vdm.dm.memcpy_from_dm = copy_from;
	return dm;
}

static void dm_handle(struct dpa_dm *dm, uint32_t handle)
{
	dm->vdm.handle = handle;
	dm->vdm.dm.handle = handle;
}

static int dm_get(struct dpa_dm *dm, uint32_t log_align)
{
	struct ibv_context *context = dm->vdm.dm.context;
	uint32_t handle;
	void *mem = NULL;
	int ret;

	if (!dpa_alive(context)) {
		if (log_align > 12)
			return EINVAL;
		if (dm->length > DPA_MAX_DM)
			return ENOMEM;
		dm->local = true;
		ret = posix_memalign(&mem, 4096, dm->length);
		if (!ret)
			memset(mem, 0, dm->length);
		dm->mem = mem;
		return ret;
	}
	ret = dpa_hw_alloc_dm(to_dpa_ctx(context)->hw, dm->length, log_align, &handle, &mem);
	if (ret)
		return ret;
	dm->mem = mem;
	dm_handle(dm, handle);
	return 0;
}

struct ibv_dm *dpa_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct dpa_dm *dm;
	int ret;

	if (attr->comp_mask || !attr->length)
		return dpa_null(EINVAL);
	dm = dm_new(context, attr->length);
	if (!dm)
		return NULL;
	ret = dm_get(dm, attr->log_align_req);
	if (ret) {
		free(dm);
		return dpa_null(ret);
	}
	return &dm->vdm.dm;
}

int dpa_free_dm(struct ibv_dm *ibdm)
{
	struct dpa_dm *dm = to_dpa_dm(ibdm);
	int ret = 0;

	if (dm->local)
		free(dm->mem);
	else if (dpa_alive(ibdm->context))
		ret = dpa_hw_free_dm(to_dpa_ctx(ibdm->context)->hw, dm->vdm.handle);
	if (!ret)
		free(dm);
	return ret;
}

struct ibv_dm *dpa_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct dpa_dm *dm;
	uint64_t length;
	void *mem;
	int ret;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	ret = dpa_hw_find_dm(to_dpa_ctx(context)->hw, handle, &mem, &length);
	if (ret)
		return dpa_null(ret);
	dm = dm_new(context, length);
	if (!dm)
		return NULL;
	dm->mem = mem;
	dm_handle(dm, handle);
	return &dm->vdm.dm;
}

void dpa_unimport_dm(struct ibv_dm *dm)
{
	free(to_dpa_dm(dm));
}

/* man ibv_alloc_dm: such a region is zero based. */
struct ibv_mr *dpa_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			     unsigned int access)
{
	struct dpa_mr_attr attr = {
		.type = DPA_MR_DM,
		.dm = dm->handle,
		.addr = offset,
		.length = length,
	};

	if (!(access & IBV_ACCESS_ZERO_BASED) ||
	    (access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB)) || dm_check(to_dpa_dm(dm), 0, 0))
		return dpa_null(EINVAL);
	return dpav_mr_new(pd, &attr, (int)access, IBV_MR_TYPE_MR);
}
