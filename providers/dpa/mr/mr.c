/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mr.c - memory regions. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "dpa.h"
#include "dpadv.h"

/*
 * A zero based region has iova 0: the device needs no flag for it. Optional bits that the device
 * does not support may be ignored, by their definition.
 */
static int mr_access(int access, uint32_t *hw_access)
{
	const uint32_t known = DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_WRITE |
			       DPA_ACCESS_REMOTE_READ | DPA_ACCESS_REMOTE_ATOMIC |
			       DPA_ACCESS_MW_BIND | DPA_ACCESS_ON_DEMAND | DPA_ACCESS_HUGETLB |
			       DPA_ACCESS_RELAXED_ORDERING | DPA_ACCESS_FLUSHES;
	uint32_t a = (uint32_t)access & ~(uint32_t)IBV_ACCESS_ZERO_BASED;

	a &= known | ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE;
	if (a & ~known)
		return EINVAL;
	if (a & (DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_ATOMIC) &&
	    !(a & DPA_ACCESS_LOCAL_WRITE))
		return EINVAL;
	*hw_access = a;
	return 0;
}

static int mr_attr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access,
		   struct dpa_mr_attr *attr)
{
	*attr = (struct dpa_mr_attr){
		.pdn = pd ? to_dpa_pd(pd)->pdn : 0,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
	};
	return mr_access(access, &attr->access);
}

static struct ibv_mr *mr_public(struct ibv_pd *pd, enum ibv_mr_type type, int access, uint32_t key)
{
	struct dpav_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	mr->vmr.mr_type = type;
	mr->vmr.access = access;
	mr->vmr.ibv_mr.context = pd->context;
	mr->vmr.ibv_mr.pd = pd;
	mr->vmr.ibv_mr.handle = key;
	mr->vmr.ibv_mr.lkey = key;
	mr->vmr.ibv_mr.rkey = key;
	return &mr->vmr.ibv_mr;
}

struct ibv_mr *dpav_mr_new(struct ibv_pd *pd, struct dpa_mr_attr *attr, int access,
			   enum ibv_mr_type type)
{
	struct dpa_hw_ctx *hw = to_dpa_ctx(pd->context)->hw;
	struct ibv_mr *mr;
	uint32_t key;
	int ret;

	if (!dpa_alive(pd->context))
		return dpa_null(EIO);
	attr->pdn = to_dpa_pd(pd)->pdn;
	ret = mr_access(access, &attr->access);
	if (ret)
		return dpa_null(ret);
	mr = mr_public(pd, type, access, 0);
	if (!mr)
		return NULL;
	ret = dpa_hw_reg_mr(hw, attr, &key);
	if (ret) {
		free(verbs_get_mr(mr));
		return dpa_null(ret);
	}
	mr->length = attr->length;
	mr->handle = mr->lkey = mr->rkey = key;
	return mr;
}

struct ibv_mr *dpa_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct dpa_mr_attr attr = {
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
	};
	struct ibv_mr *mr = dpav_mr_new(pd, &attr, access, IBV_MR_TYPE_MR);

	if (mr)
		mr->addr = addr;
	return mr;
}

struct ibv_mr *dpa_reg_foreign_mr(struct ibv_pd *pd, const struct dpadv_foreign_mr *a)
{
	struct dpa_mr_attr attr = {
		.type = DPA_MR_FOREIGN,
		.addr = a->addr,
		.length = a->length,
		.iova = a->access & IBV_ACCESS_ZERO_BASED ? 0 : a->iova,
		.foreign = a->ops,
		.foreign_arg = a->arg,
	};
	struct ibv_mr *mr;

	if (a->comp_mask || a->rsvd)
		return dpa_null(EINVAL);
	mr = dpav_mr_new(pd, &attr, a->access, IBV_MR_TYPE_MR);
	if (mr)
		mr->addr = (void *)(uintptr_t)a->addr;
	return mr;
}

/* The device gives it all possible access; the R_Key names nothing (man page). */
struct ibv_mr *dpa_alloc_null_mr(struct ibv_pd *pd)
{
	struct dpa_mr_attr attr = {.type = DPA_MR_NULL};
	struct ibv_mr *mr = dpav_mr_new(pd, &attr, 0, IBV_MR_TYPE_NULL_MR);

	if (!mr)
		return NULL;
	mr->rkey = 0;
	mr->length = SIZE_MAX;
	return mr;
}

/* ---------------------------------------------------------------- dma-buf */

/*
 * True for a dma-buf, or a file that can become one: a memfd. The device must not map pages of
 * another file.
 */
static bool is_dmabuf(int fd)
{
	char name[64], path[64] = "";

	if (fcntl(fd, F_GET_SEALS) >= 0)
		return true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (readlink(name, path, sizeof(path) - 1) < 0)
		return false;
	return strncmp(path, "/dmabuf:", 8) == 0 || strcmp(path, "anon_inode:dmabuf") == 0;
}

/*
 * True if the exporter has no mmap(2), or none for memory that the CPU does not reach. A GPU's
 * driver returns 524 for that, the kernel's internal ENOTSUPP.
 */
static bool cannot_map(int err)
{
	return err == ENODEV || err == EOPNOTSUPP || err == ENOTTY || err == 524;
}

/* Maps the pages that contain [offset, offset + length). */
static int dmabuf_map(int fd, uint64_t offset, size_t length, int access, struct dpav_mr *mr)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = offset & ~(page - 1);
	off_t size = lseek(fd, 0, SEEK_END);
	int prot = PROT_READ | (access & IBV_ACCESS_LOCAL_WRITE ? PROT_WRITE : 0);

	if (size < 0 || !length || offset > (uint64_t)size || length > (uint64_t)size - offset)
		return EINVAL;
	mr->map_bytes = (size_t)(offset + length - from);
	mr->map = mmap(NULL, mr->map_bytes, prot, MAP_SHARED, fd, (off_t)from);
	if (mr->map == MAP_FAILED) {
		mr->map = NULL;
		return cannot_map(errno) ? EOPNOTSUPP : errno;
	}
	madvise(mr->map, mr->map_bytes, MADV_DONTFORK);
	return 0;
}

/*
 * The device reaches a dma-buf by a mapping of its own. A memfd may shrink below it, so the region
 * is handled like regions whose pages may be missing.
 */
struct ibv_mr *dpa_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	struct dpav_mr map = {.map = NULL};
	struct dpa_mr_attr attr = {.length = length};
	struct ibv_mr *mr;
	uint32_t bits;
	int ret;

	if (!dpa_alive(pd->context))
		return dpa_null(EIO);
	ret = access & IBV_ACCESS_ON_DEMAND ? EOPNOTSUPP : mr_access(access, &bits);
	if (!ret && fcntl(fd, F_GETFD) < 0)
		ret = EBADF;
	if (!ret && !is_dmabuf(fd))
		ret = EINVAL;
	if (!ret)
		ret = dmabuf_map(fd, offset, length, access, &map);
	if (ret)
		return dpa_null(ret);
	attr.addr = (uintptr_t)map.map + map.map_bytes - length;
	attr.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	mr = dpav_mr_new(pd, &attr, access | IBV_ACCESS_ON_DEMAND, IBV_MR_TYPE_DMABUF_MR);
	if (!mr) {
		ret = errno;
		munmap(map.map, map.map_bytes);
		return dpa_null(ret);
	}
	((struct dpav_mr *)verbs_get_mr(mr))->map = map.map;
	((struct dpav_mr *)verbs_get_mr(mr))->map_bytes = map.map_bytes;
	return mr;
}

/* ----------------------------------------------------------------- import */

struct ibv_mr *dpa_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct dpa_mr_attr attr;
	struct ibv_mr *mr;
	int ret;

	if (!dpa_alive(pd->context))
		return dpa_null(EIO);
	ret = dpa_hw_query_mr(to_dpa_ctx(pd->context)->hw, handle, &attr);
	if (!ret && attr.pdn != to_dpa_pd(pd)->pdn)
		ret = EINVAL;
	if (ret)
		return dpa_null(ret);
	mr = mr_public(pd, IBV_MR_TYPE_IMPORTED_MR, (int)attr.access, handle);
	if (!mr)
		return NULL;
	mr->length = attr.length; /* addr stays NULL: man ibv_import_mr */
	if (attr.type == DPA_MR_NULL)
		mr->rkey = 0;
	return mr;
}

void dpa_unimport_mr(struct ibv_mr *mr)
{
	free(verbs_get_mr(mr));
}

/* ----------------------------------------------------------------- advice */

static int advice_of(enum ibv_advise_mr_advice advice, uint32_t flags, struct dpa_prefetch *p)
{
	switch (advice) {
	case IBV_ADVISE_MR_ADVICE_PREFETCH:
		break;
	case IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		p->write = true;
		break;
	case IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		p->how = DPA_PREFETCH_LOOK;
		return 0;
	default:
		return EOPNOTSUPP;
	}
	p->how = flags & IBV_ADVISE_MR_FLAG_FLUSH ? DPA_PREFETCH_WAIT : DPA_PREFETCH_START;
	return 0;
}

int dpa_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg, uint32_t n)
{
	struct dpa_prefetch p = {.pdn = to_dpa_pd(pd)->pdn};
	int ret;

	if (!dpa_alive(pd->context))
		return EIO;
	if ((flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) || !n)
		return EINVAL;
	ret = advice_of(advice, flags, &p);
	for (uint32_t i = 0; i < n && !ret; i++) {
		p.key = sg[i].lkey;
		p.iova = sg[i].addr;
		p.length = sg[i].length;
		ret = dpa_hw_prefetch_mr(to_dpa_ctx(pd->context)->hw, &p);
	}
	return ret;
}

/* --------------------------------------------------------- rereg, dereg */

int dpa_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct ibv_mr *mr = &vmr->ibv_mr;
	int new_access = flags & IBV_REREG_MR_CHANGE_ACCESS ? access : vmr->access;
	struct dpa_mr_attr attr;
	uint32_t key = mr->lkey;
	int ret;

	if (!dpa_alive(mr->context))
		return EIO;
	/* The memory of an on-demand region may be missing: it was not checked. */
	if ((new_access ^ vmr->access) & IBV_ACCESS_ON_DEMAND &&
	    !(flags & IBV_REREG_MR_CHANGE_TRANSLATION))
		return EOPNOTSUPP;
	if (!flags || ((flags & IBV_REREG_MR_CHANGE_PD) && !pd))
		return EINVAL;
	/* whether the iova is 0 is part of the translation */
	if ((new_access ^ vmr->access) & IBV_ACCESS_ZERO_BASED &&
	    !(flags & IBV_REREG_MR_CHANGE_TRANSLATION))
		return EINVAL;
	ret = mr_attr(flags & IBV_REREG_MR_CHANGE_PD ? pd : NULL, addr, length, (uintptr_t)addr,
		      new_access, &attr);
	if (ret)
		return ret;
	ret = dpa_hw_rereg_mr(to_dpa_ctx(mr->context)->hw, &key, (uint32_t)flags, &attr);
	if (ret)
		return ret;
	mr->handle = key;
	mr->lkey = key;
	mr->rkey = key;
	vmr->access = new_access;
	return 0;
}

int dpa_dereg_mr(struct verbs_mr *vmr)
{
	struct dpav_mr *own = (struct dpav_mr *)vmr;
	struct ibv_mr *mr = &vmr->ibv_mr;
	int ret = 0;

	if (dpa_alive(mr->context))
		ret = dpa_hw_dereg_mr(to_dpa_ctx(mr->context)->hw, mr->lkey);
	if (ret)
		return ret;
	if (own->map && dpa_alive(mr->context))
		munmap(own->map, own->map_bytes);
	free(vmr);
	return 0;
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
SAME(DPA_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
SAME(DPA_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
SAME(DPA_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
SAME(DPA_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND);
SAME(DPA_ACCESS_ZERO_BASED, IBV_ACCESS_ZERO_BASED);
SAME(DPA_ACCESS_ON_DEMAND, IBV_ACCESS_ON_DEMAND);
SAME(DPA_ACCESS_HUGETLB, IBV_ACCESS_HUGETLB);
SAME(DPA_ACCESS_RELAXED_ORDERING, IBV_ACCESS_RELAXED_ORDERING);
SAME(DPA_REREG_TRANSLATION, IBV_REREG_MR_CHANGE_TRANSLATION);
SAME(DPA_REREG_PD, IBV_REREG_MR_CHANGE_PD);
SAME(DPA_REREG_ACCESS, IBV_REREG_MR_CHANGE_ACCESS);
#ifdef DPA_HAVE_FLUSH
SAME(DPA_ACCESS_FLUSH_GLOBAL, IBV_ACCESS_FLUSH_GLOBAL);
SAME(DPA_ACCESS_FLUSH_PERSISTENT, IBV_ACCESS_FLUSH_PERSISTENT);
#endif
