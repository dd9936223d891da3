/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* far_rig.h - a DMA on the real device, and memory that is exported and imported in one process. */
#ifndef TEST_LIBDPA_DMA_FAR_RIG_H
#define TEST_LIBDPA_DMA_FAR_RIG_H

#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_dma.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include "far_owner.h"

#define OK(call)       cr_assert_eq((call), DOCA_SUCCESS)
#define IS(call, code) cr_assert_eq((call), DOCA_ERROR_##code)

enum { FAR_MEM = FAR_OWNER_MEM, FAR_TASKS = 300 };

struct far_rig {
	struct doca_dev *dev;
	struct doca_pe *pe;
	struct doca_dma *dma;
	struct doca_ctx *ctx;
	struct doca_buf_inventory *inventory;
	char *near, *far;	  /* FAR_MEM bytes each */
	struct doca_mmap *map;	  /* of near */
	struct doca_mmap *owner;  /* of far, exported */
	struct doca_mmap *import; /* made of that */
	char blob[512];		  /* the export */
	size_t len;
	int done, failed;
	doca_error_t status[FAR_TASKS]; /* by task number */
};
extern struct far_rig rig;

void far_setup(void);
/* Open only the device, the near memory and the DMA. */
void far_open(void);
void far_teardown(void);
/* Make a map of memory, started. */
struct doca_mmap *far_map(char *mem, uint32_t access);
/* Make a buf with data, or one with room for data. */
struct doca_buf *far_data(struct doca_mmap *m, const char *at, size_t len);
struct doca_buf *far_room(struct doca_mmap *m, const char *at, size_t len);
/* Submit a copy, which frees its bufs when it has ended. */
void far_submit(struct doca_buf *src, struct doca_buf *dst, uint64_t number);
/* Run progress until that number has ended. */
void far_await(int ended);
/* Run one copy and return its status. The context runs again after an error. */
doca_error_t far_copy(struct doca_buf *src, struct doca_buf *dst);
void far_restart(void);
/* Destroy the owner's map and all that depends on it. */
void far_drop_import(void);

#endif
